use assay_engine::{
    chain::ChainId,
    utxo::{Block, TransactionKind},
};
use proptest::prelude::*;

use super::*;
use crate::{params::TransactionForm, raw::transaction::RawTransaction, testing};

const OP_TRUE: &[u8] = &[0x51];

fn chain(id: &str) -> ChainId {
    id.parse().unwrap()
}

fn read(id: &str, bytes: &[u8]) -> Result<Block, RawError> {
    parse_block(chain(id), bytes, Expected::default())
}

/// A block with a coinbase and a payment.
fn small() -> (Vec<u8>, [u8; 32]) {
    let mined = testing::coinbase(300, 0, &[(50, OP_TRUE)]);
    let paid = testing::transaction(&[([7; 32], 1)], &[(20, OP_TRUE), (10, OP_TRUE)]);
    testing::block([9; 32], &[mined, paid])
}

#[test]
fn a_block_shows_its_content() {
    let (bytes, hash) = small();
    let block = read("btc", &bytes).unwrap();
    assert_eq!(
        (block.reference.height, block.reference.hash, block.reference.parent),
        (300, hash, [9; 32])
    );
    assert_eq!(block.reference.time.as_second(), 1_700_000_000);
    let [mined, paid] = &*block.transactions else { panic!("two transactions") };
    assert_eq!([mined.kind, paid.kind], [TransactionKind::Coinbase, TransactionKind::Payment]);
    assert!(mined.inputs.is_empty());
    assert_eq!(paid.inputs[0].outpoint.to_string(), format!("{}:1", "07".repeat(32)));
    assert_eq!(paid.outputs.iter().map(|coin| coin.value).sum::<u64>(), 30);
}

#[test]
fn every_byte_matters() {
    let (bytes, _) = small();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        // If the easy target is still met after a change in the header, it is another block.
        match read("btc", &changed) {
            Ok(_) => assert!(at < Header::LENGTH, "byte {at} was changed and nobody noticed"),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        let expected = Expected { hash: Some(small().1), height: None };
        let asked = parse_block(chain("btc"), &changed, expected);
        assert!(asked.is_err(), "byte {at} was changed and nobody noticed");
    }
}

#[test]
fn a_truncated_block_is_reported_with_the_position() {
    let (bytes, _) = small();
    for length in 0..bytes.len() {
        let error = read("btc", &bytes[..length]).unwrap_err();
        let said = matches!(error, RawError::Ends { length: end, .. } if end == length)
            || matches!(error, RawError::Count { .. });
        assert!(said, "{length}: {error}");
    }
    let longer = [&*bytes, &[0]].concat();
    assert!(matches!(read("btc", &longer), Err(RawError::Longer { .. })));
}

#[test]
fn heights_come_from_the_coinbase_the_first_block_or_the_caller() {
    let height = |version, script: &[u8]| block::height_in_coinbase(version, script);
    assert_eq!(height(2, &[3, 0x8e, 0x83, 0x06]), Some(426_894));
    assert_eq!(height(0x2000_0000, &[0x51, 0]), Some(1));
    assert_eq!(height(4, &[0x60, 0]), Some(16));
    assert_eq!(height(4, &[1, 0x11]), Some(17));
    // A version that did not know it yet, a negative number, none at all.
    for (version, script) in
        [(1, &[3, 1, 2, 3][..]), (2, &[1, 0x80]), (2, &[3, 1]), (2, &[]), (2, &[0]), (2, &[8])]
    {
        assert_eq!(height(version, script), None, "{version} {script:?}");
    }

    let old =
        testing::block([9; 32], &[testing::transaction(&[([0; 32], u32::MAX)], &[(5, OP_TRUE)])]);
    let unknown = read("btc", &old.0).unwrap_err();
    assert!(matches!(unknown, RawError::Height { .. }), "{unknown}");
    let told = Expected { height: Some(77), hash: Some(old.1) };
    assert_eq!(parse_block(chain("btc"), &old.0, told).unwrap().reference.height, 77);
    let first =
        testing::block([0; 32], &[testing::transaction(&[([0; 32], u32::MAX)], &[(5, OP_TRUE)])]);
    assert_eq!(read("btc", &first.0).unwrap().reference.height, 0);
}

#[test]
fn a_block_has_one_coinbase_and_it_is_the_first() {
    let mined = |own| testing::coinbase(5, own, &[(50, OP_TRUE)]);
    let paid = testing::transaction(&[([7; 32], 1)], &[(20, OP_TRUE)]);
    for transactions in [vec![], vec![paid.clone()], vec![paid, mined(1)], vec![mined(1), mined(2)]]
    {
        let (bytes, _) = testing::block([9; 32], &transactions);
        let error = read("btc", &bytes).unwrap_err();
        assert!(matches!(error, RawError::Coinbase { .. }), "{error}");
    }
}

#[test]
fn dogecoin_blocks_carry_the_work_of_other_chains() {
    let mined = testing::coinbase(371_400, 0, &[(10_000, OP_TRUE)]);
    let (plain, _) = testing::block([9; 32], std::slice::from_ref(&mined));
    assert_eq!(read("doge", &plain).unwrap().reference.height, 371_400);

    let mut header = Header::parse(&plain).unwrap();
    header.version |= 1 << 8;
    let merged = [
        testing::header_bytes(&header),
        testing::coinbase(1, 1, &[(25, OP_TRUE)]),
        vec![3; 32],
        [vec![2], vec![4; 64], vec![0; 4]].concat(),
        [vec![0], vec![0; 4]].concat(),
        vec![5; 80],
    ]
    .concat();
    let bytes = [&*merged, &[1], &*mined].concat();
    let block = read("doge", &bytes).unwrap();
    assert_eq!(block.reference.hash, header.hash());
    assert_eq!((block.reference.height, block.transactions.len()), (371_400, 1));
    // Bitcoin knows no such thing.
    assert!(read("btc", &bytes).is_err());
}

#[test]
fn litecoin_blocks_may_have_an_extension_block_behind() {
    let mined = testing::coinbase(2_300_000, 0, &[(50, OP_TRUE)]);
    let paid = testing::transaction(&[([7; 32], 1)], &[(20, OP_TRUE)]);
    let (bytes, hash) = testing::block([9; 32], &[mined, paid]);
    // The last transaction with the flag that announces what follows.
    let (before, last) = bytes.split_at(bytes.len() - 4 - (41 + 1 + 10) - 1 - 4);
    let (version, body) = last.split_at(4);
    let (body, lock_time) = body.split_at(body.len() - 4);
    let moving = [before, version, &[0, 8], body, &[0], lock_time].concat();
    let extended = [&*moving, &[1, 2, 3, 4]].concat();
    assert_eq!(read("ltc", &extended).unwrap().reference.hash, hash);
    assert_eq!(read("ltc", &bytes), read("ltc", &extended));
    // Nothing may follow where no extension block is announced.
    assert!(matches!(read("ltc", &[&*bytes, &[1]].concat()), Err(RawError::Longer { .. })));
}

#[test]
fn chains_not_read_raw_name_the_alternative() {
    let (bytes, _) = small();
    for id in ["zec", "dash", "btg", "xvg", "eth"] {
        let error = read(id, &bytes).unwrap_err().to_string();
        assert!(error.ends_with("are not read: read it from a node (--rpc)"), "{error}");
    }
}

#[test]
fn an_unreachable_target_is_refused() {
    let header = Header::parse(&[0; 80]).unwrap();
    // The mantissa is worth less than one, nothing at all, less than nothing, or is too far up.
    for bits in [0x0000_0001, 0x0100_3456, 0x0400_0000, 0x0492_3456, 0xff12_3456] {
        let header = Header { bits, ..header };
        assert_eq!((header.target(), header.work()), (None, 0), "{bits:08x}");
    }
    let lowest = Header { bits: 0x0112_3456, ..header }.target().unwrap();
    assert_eq!((lowest[31], lowest.iter().filter(|byte| **byte != 0).count()), (0x12, 1));
}

proptest! {
    #[test]
    fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), at in 0_usize..250) {
        for id in ["btc", "ltc", "bch", "doge"] {
            let _ = read(id, &bytes);
            let begun = [&small().0[..at.min(small().0.len())], &bytes].concat();
            let _ = read(id, &begun);
        }
        for form in [TransactionForm::Plain, TransactionForm::Mweb, TransactionForm::DashSpecial] {
            let _ = RawTransaction::parse(&bytes, form);
        }
        if let Ok(header) = Header::parse(&bytes) {
            let _ = (header.work(), header.is_met_by(&header.hash()));
        }
    }

    #[test]
    fn more_work_for_lower_targets(one in any::<u32>(), other in any::<u32>()) {
        let header = Header::parse(&[0; 80]).unwrap();
        let (one, other) = (Header { bits: one, ..header }, Header { bits: other, ..header });
        if let (Some(low), Some(high)) = (one.target(), other.target()) && low < high {
            prop_assert!(one.work() >= other.work());
        }
    }
}
