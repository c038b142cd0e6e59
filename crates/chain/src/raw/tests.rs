use assay_address::ChainId;
use assay_engine::utxo::{Block, TransactionKind};
use proptest::prelude::*;

use super::*;
use crate::{
    ChainParams,
    params::{TransactionForm, WorkHash},
    raw::transaction::RawTransaction,
    testing,
};

const OP_TRUE: &[u8] = &[0x51];

fn chain(id: &str) -> ChainId {
    id.parse().unwrap()
}

fn read(id: &str, bytes: &[u8]) -> Result<Block, RawError> {
    parse_block(chain(id), bytes, ExpectedBlock::default())
}

/// Returns a block with a coinbase and a payment.
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
        let expected = ExpectedBlock { hash: Some(small().1), height: None };
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
    let told = ExpectedBlock { height: Some(77), hash: Some(old.1) };
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
fn a_block_of_scrypt_needs_the_work_of_scrypt() {
    let mined = testing::coinbase(371_400, 0, &[(10_000, OP_TRUE)]);
    let transactions = std::slice::from_ref(&mined);
    for id in ["ltc", "doge"] {
        let (scrypt, hash) = testing::block_with(WorkHash::Scrypt, [9; 32], transactions);
        assert_eq!(read(id, &scrypt).unwrap().reference.hash, hash);
        // Given a block whose header has the work of Bitcoin, the chain's name is in the refusal.
        let (sha, _) = testing::block([9; 32], transactions);
        let error = read(id, &sha).unwrap_err();
        let RawError::ScryptProof { chain, .. } = error else { panic!("{id}: {error}") };
        assert_eq!(chain, ChainParams::for_chain(self::chain(id)).unwrap().name());
        // And the other way round.
        assert!(read("btc", &sha).is_ok());
        assert!(matches!(read("btc", &scrypt), Err(RawError::Proof { .. })));
    }
}

#[test]
fn a_target_that_no_network_allows_is_refused() {
    let (bytes, _) = small();
    for (bits, above) in
        [(0x2100_ffff_u32, true), (0x2080_0000, false), (0, false), (0xff12_3456, false)]
    {
        let mut changed = bytes.clone();
        changed[72..76].copy_from_slice(&bits.to_le_bytes());
        let error = read("btc", &changed).unwrap_err();
        let expected = if above {
            matches!(error, RawError::AboveLimit { limit: testing::EASY, .. })
        } else {
            matches!(error, RawError::NoTarget { .. })
        };
        assert!(expected, "{bits:#x}: {error}");
    }
}

/// Parts of a merge-mined block of Dogecoin.
struct Merged {
    header: Header,
    /// The other chain's coinbase.
    coinbase: Vec<u8>,
    /// Merkle branch of the coinbase in the other chain's block, with its index.
    beside: Vec<[u8; 32]>,
    index: u32,
    /// Merkle branch of the block in the tree of merge-mined chains; its index is 1.
    chains: Vec<[u8; 32]>,
    other: Header,
    mined: Vec<u8>,
}

impl Merged {
    fn new(work: WorkHash) -> Self {
        let mined = testing::coinbase(371_400, 0, &[(10_000, OP_TRUE)]);
        let (plain, _) = testing::block([9; 32], std::slice::from_ref(&mined));
        let header = Header::parse(&plain).unwrap();
        let header = Header { version: header.version | 1 << 8, ..header };
        let (beside, chains) = (vec![[4; 32], [5; 32]], vec![[6; 32]]);
        // The block is the right child of the root that the coinbase names, as it is written.
        let root = reversed(hash256(&[&chains[0], &reversed(header.hash())]));
        let script = [&[0xfa, 0xbe, b'm', b'm'][..], &root, &[2, 0, 0, 0, 7, 0, 0, 0]].concat();
        let coinbase = testing::coinbase_with(&script, &[(25, OP_TRUE)]);
        let txid = RawTransaction::parse(&coinbase, TransactionForm::Witness).unwrap().txid;
        let level = hash256(&[&reversed(*txid.as_bytes()), &beside[0]]);
        let merkle_root = reversed(hash256(&[&level, &beside[1]]));
        // Its own target is hopeless: the block's counts.
        let other = Header { merkle_root, bits: testing::EASY, time: 7, ..Header::default() };
        let other = testing::mined(work, other);
        Self { header, coinbase, beside, index: 0, chains, other, mined }
    }

    fn bytes(&self) -> Vec<u8> {
        let branch = |hashes: &[[u8; 32]], index: u32| {
            let count = [u8::try_from(hashes.len()).unwrap()];
            [&count[..], &hashes.concat(), &index.to_le_bytes()].concat()
        };
        [
            testing::header_bytes(&self.header),
            self.coinbase.clone(),
            vec![3; 32],
            branch(&self.beside, self.index),
            branch(&self.chains, 1),
            testing::header_bytes(&self.other),
            vec![1],
            self.mined.clone(),
        ]
        .concat()
    }
}

#[test]
fn dogecoin_blocks_carry_the_work_of_other_chains() {
    let merged = Merged::new(WorkHash::Scrypt);
    let block = read("doge", &merged.bytes()).unwrap();
    assert_eq!(block.reference.hash, merged.header.hash());
    assert_eq!((block.reference.height, block.transactions.len()), (371_400, 1));
    // Bitcoin knows no such thing.
    assert!(read("btc", &merged.bytes()).is_err());
}

#[test]
fn a_merged_block_needs_work_that_commits_to_it() {
    let refused = |change: &dyn Fn(&mut Merged)| {
        let mut merged = Merged::new(WorkHash::Scrypt);
        change(&mut merged);
        match read("doge", &merged.bytes()).unwrap_err() {
            RawError::AuxPow { hash, reason } => {
                assert_eq!(hash, hex::encode(merged.header.hash()));
                reason
            }
            other => panic!("{other}"),
        }
    };
    // Given the work for another block of Dogecoin...
    let reason = refused(&|merged| merged.header.time += 1);
    assert_eq!(reason, "the other block's coinbase does not commit to it");
    let reason = refused(&|merged| merged.chains[0] = [7; 32]);
    assert_eq!(reason, "the other block's coinbase does not commit to it");
    // ...a coinbase that is not in the block with the work...
    let reason = refused(&|merged| merged.beside[1] = [7; 32]);
    assert_eq!(reason, "the commitment to it is not in the other block");
    // ...a transaction that anyone could put there...
    let reason = refused(&|merged| merged.index = 1);
    assert_eq!(reason, "the commitment to it is not in the other block's coinbase");
    let reason = refused(&|merged| merged.chains = vec![[6; 32]; 31]);
    assert_eq!(reason, "the tree of merge-mined chains has more than 30 levels");
    // ...and the work of Bitcoin, or too little: each is refused with what is wrong.
    let sha = Merged::new(WorkHash::DoubleSha256);
    let reason = refused(&|merged| merged.other = sha.other);
    assert_eq!(reason, "the other block's header does not meet its target");
}

#[test]
fn litecoin_blocks_may_have_an_extension_block_behind() {
    let mined = testing::coinbase(2_300_000, 0, &[(50, OP_TRUE)]);
    let paid = testing::transaction(&[([7; 32], 1)], &[(20, OP_TRUE)]);
    let (bytes, hash) = testing::block_with(WorkHash::Scrypt, [9; 32], &[mined, paid]);
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
