use std::io::Cursor;

use assay_engine::{
    ledger::BlockRef,
    utxo::{
        Block, OutPoint, Pool, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid,
    },
};
use proptest::prelude::*;

use super::*;
use crate::BatchLimit;

const FIRST: &str = r#"{"block":{"height":5,"hash":"0505050505050505050505050505050505050505050505050505050505050505","parent":"0404040404040404040404040404040404040404040404040404040404040404","time":"2026-01-31T12:00:00Z"},"txid":"a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1","inputs":[],"outputs":[{"address":"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa","value":5000000000}]}"#;
const SECOND: &str = r#"{"block":{"height":6,"hash":"0606060606060606060606060606060606060606060606060606060606060606","parent":"0505050505050505050505050505050505050505050505050505050505050505","time":1769860800},"txid":"b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2","inputs":[{"txid":"a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1","index":0},{"txid":"a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1","index":1,"script":"51","value":"7"}],"outputs":[{"script":"76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac","value":"4999999999"}]}"#;
const EMPTY: &str = r#"{"block":{"height":7,"hash":"0707070707070707070707070707070707070707070707070707070707070707","parent":"0606060606060606060606060606060606060606060606060606060606060606","time":"2026-01-31T12:20:00Z"}}"#;

fn lines(text: &str) -> Result<JsonLinesSource<Cursor<Vec<u8>>>, SourceError> {
    JsonLinesSource::index(ChainId::BTC, "blocks.jsonl", Cursor::new(text.as_bytes().to_vec()))
}

fn refusal(text: &str) -> String {
    match lines(text) {
        Err(error) => error.to_string(),
        Ok(mut read) => read.block_at(read.first).unwrap_err().to_string(),
    }
}

#[test]
fn blocks_are_read_in_any_order() {
    let mut read = lines(&format!("{FIRST}\n\n{SECOND}\r\n{EMPTY}")).unwrap();
    assert_eq!(read.tip().unwrap(), TipRef { height: 7, hash: [7; 32] });
    assert_eq!(read.hash_at(5).unwrap(), Some([5; 32]));
    assert_eq!((read.hash_at(4).unwrap(), read.hash_at(8).unwrap()), (None, None));

    assert!(read.block_at(7).unwrap().transactions.is_empty());
    let second = read.block(&[6; 32]).unwrap();
    assert_eq!((second.reference.height, second.reference.parent), (6, [5; 32]));
    let [spending] = &*second.transactions else { panic!("one transaction") };
    assert_eq!(spending.kind, TransactionKind::Payment);
    assert_eq!(spending.inputs[0].spent, None);
    assert_eq!(spending.inputs[1].spent.as_ref().unwrap().value, 7);
    let first = read.block_at(5).unwrap();
    let mined = &first.transactions[0];
    assert_eq!(mined.kind, TransactionKind::Coinbase);
    // Paid by address and by script: the same owner.
    assert_eq!(mined.outputs[0].owner, spending.outputs[0].owner);
    assert_eq!(first.reference.time.to_string(), "2026-01-31T12:00:00Z");
    assert_eq!(second.reference.time, first.reference.time);

    assert!(matches!(read.block_at(8), Err(SourceError::NoBlock { height: 8, tip: 7 })));
    assert!(matches!(read.block(&[8; 32]), Err(SourceError::NotOnChain { .. })));
    let heights: Vec<_> = read
        .blocks(6, BatchLimit::of_blocks(9))
        .unwrap()
        .iter()
        .map(|block| block.reference.height)
        .collect();
    assert_eq!(heights, [6, 7]);
}

#[test]
fn errors_are_reported_with_their_lines() {
    let cases = [
        (String::new(), "line 1: there is no transaction in the file"),
        (format!("{FIRST}\n{EMPTY}"), "line 2: block 7 stands behind block 5: expected 6"),
        (
            format!("{FIRST}\n{}", SECOND.replace("\"parent\":\"05", "\"parent\":\"09")),
            "line 2: block 6 has the parent 09",
        ),
        (
            format!("{FIRST}\n{}", FIRST.replace("12:00", "13:00")),
            "line 2: block 5 has another parent or time than before",
        ),
        (format!("{FIRST}\n{{}}"), "line 2: missing field `block`"),
        (FIRST.replace("5000000000", "50.5"), "line 1: invalid type: floating point `50.5`"),
        (FIRST.replace("5000000000", "-1"), "expected a whole number of base units"),
        (FIRST.replace("5000000000", "\"+1\""), "expected a whole number of base units"),
        (FIRST.replace("1A1z", "1A1y"), "line 1: output 0: `address`: "),
        (FIRST.replace("\"outputs\"", "\"output\""), "line 1: unknown field `output`"),
        (FIRST.replace("a1a1a1", "a1a1"), "is not a transaction identifier"),
        (FIRST.replace("\"0505", "\"05"), "line 1: `hash` of the block is no hash"),
        (FIRST.replace("\"inputs\":[]", "\"inputs\":[{}]"), "input 0: it needs `txid`"),
        (
            FIRST.replace("\"inputs\":[]", "\"inputs\":[{\"index\":1}]"),
            "input 0: `txid` and `index` belong together",
        ),
        (SECOND.replace(",\"value\":\"7\"", ""), "input 1: its value and whose it is belong"),
        (
            FIRST.replace("\"address\"", "\"script\":\"51\",\"address\""),
            "output 0: it has several of `address`, `script`",
        ),
        (FIRST.replace("2026-01-31T12:00:00Z", "noon"), "`time` is a text such as"),
    ];
    for (text, expected) in cases {
        let said = refusal(&text);
        assert!(said.contains(expected), "{said} does not say {expected}");
        assert!(said.starts_with("blocks.jsonl, line "), "{said}");
    }
}

#[test]
fn the_example_of_the_documentation() {
    let documentation = include_str!("../../../../docs/formats.md");
    let example = documentation.lines().find(|line| line.starts_with("{\"block\"")).unwrap();
    let block = lines(example).unwrap().block_at(170).unwrap();
    let read = &block.transactions[0];
    let paid = read.inputs[0].spent.as_ref().unwrap().value;
    assert_eq!(paid, read.outputs.iter().map(|coin| coin.value).sum::<u64>());
    let mut written = Vec::new();
    write_block(ChainId::BTC, &block, &mut written).unwrap();
    assert_eq!(String::from_utf8(written).unwrap().trim_end(), example);
}

#[test]
fn a_packed_file_is_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blocks.jsonl.gz");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    io::Write::write_all(&mut packed, FIRST.as_bytes()).unwrap();
    std::fs::write(&path, packed.finish().unwrap()).unwrap();
    let mut read = JsonLinesSource::open(ChainId::BTC, &path).unwrap();
    assert_eq!(read.block_at(5).unwrap().transactions.len(), 1);
    let marked = format!("\u{FEFF}{}", FIRST.replace('\n', "\r"));
    let wide: Vec<u8> = marked.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [marked.into_bytes(), wide, FIRST.replace('\n', "\r\n").into_bytes()] {
        std::fs::write(&path, &bytes).unwrap();
        let mut read = JsonLinesSource::open(ChainId::BTC, &path).unwrap();
        assert_eq!(read.block_at(5).unwrap().transactions.len(), 1);
    }
    std::fs::write(&path, b"%PDF-1.7\n").unwrap();
    let refused = JsonLinesSource::open(ChainId::BTC, &path).unwrap_err().to_string();
    assert!(refused.contains("it is a PDF document"), "{refused}");
    let missing = JsonLinesSource::open(ChainId::BTC, &folder.path().join("none")).unwrap_err();
    assert!(missing.to_string().starts_with("failed to read "));
}

fn owner() -> impl Strategy<Value = ScriptOwner> {
    prop_oneof![
        any::<[u8; 20]>().prop_map(ScriptOwner::KeyHash),
        any::<[u8; 20]>().prop_map(ScriptOwner::ScriptHash),
        any::<[u8; 32]>().prop_map(ScriptOwner::Script),
        any::<[u8; 32]>().prop_map(ScriptOwner::Unspendable),
        (0_u8..=16, prop::collection::vec(any::<u8>(), 2..=40))
            .prop_filter("not of a pool", |(version, _)| ![8, 9].contains(version))
            .prop_map(|(version, program)| ScriptOwner::Witness(version, program)),
        Just(ScriptOwner::Pool(Pool::Mweb)),
        Just(ScriptOwner::Pool(Pool::ZcashShielded)),
    ]
}

fn output() -> impl Strategy<Value = TxOut> {
    (owner(), any::<u64>()).prop_map(|(owner, value)| TxOut { owner, value })
}

fn input() -> impl Strategy<Value = TxInput> {
    let outpoint = (any::<[u8; 32]>(), any::<u32>())
        .prop_map(|(txid, index)| OutPoint { txid: Txid::from_bytes(txid), index });
    (outpoint, prop::option::of(output()), any::<bool>()).prop_map(
        |(outpoint, spent, is_signed)| TxInput { is_signed, ..TxInput::new(outpoint, spent) },
    )
}

/// Generates the amount that leaves a pool, if any: known or unknown.
fn from_pool() -> impl Strategy<Value = Option<Option<u64>>> {
    prop_oneof![Just(None), any::<u64>().prop_map(|value| Some(Some(value))), Just(Some(None))]
}

fn transaction() -> impl Strategy<Value = Transaction> {
    let sides = (prop::collection::vec(input(), 0..4), prop::collection::vec(output(), 0..4));
    (any::<[u8; 32]>(), sides, from_pool()).prop_map(|(txid, (mut inputs, outputs), from_pool)| {
        let txid = Txid::from_bytes(txid);
        let shielded = |value| TxOut { owner: ScriptOwner::Pool(Pool::ZcashShielded), value };
        inputs.extend(from_pool.map(|value| TxInput::from_pool(txid, value.map(shielded))));
        let kind =
            if inputs.is_empty() { TransactionKind::Coinbase } else { TransactionKind::Payment };
        Transaction { txid, kind, inputs, outputs }
    })
}

proptest! {
    #[test]
    fn written_blocks_read_back(transactions in prop::collection::vec(transaction(), 0..5)) {
        let time = "2026-01-31T12:00:00Z".parse().unwrap();
        let reference = BlockRef { height: 9, hash: [9; 32], parent: [8; 32], time };
        let block = Block { reference, work: None, transactions };
        let chain = "ltc".parse().unwrap();
        let mut written = Vec::new();
        write_block(chain, &block, &mut written).unwrap();
        let mut read = JsonLinesSource::index(chain, "written", Cursor::new(written)).unwrap();
        prop_assert_eq!(read.block_at(9).unwrap(), block);
    }

    #[test]
    fn no_text_causes_a_panic(text in ".{0,300}", at in 0_usize..900) {
        let _ = lines(&text).map(|mut read| read.block_at(0).is_ok());
        let broken: String = FIRST.chars().take(at).chain(text.chars()).collect();
        if let Ok(mut read) = lines(&broken) {
            let _ = read.block_at(5);
        }
    }
}
