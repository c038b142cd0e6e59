//! Three blocks of Bitcoin's main network in the form of nodes' files, compared with facts that a second, independent
//! program computed from the same bytes: counts, sums, and digests over every transaction identifier, output address,
//! value and spent output.

#![expect(clippy::expect_used, reason = "a test stops where its data cannot be read")]

use std::{env, fmt::Write as _, path::PathBuf};

use assay_address::ChainId;
use assay_chain::{
    BlockSource, ChainParams, SourceError,
    files::{FileOptions, FileSource, read_block},
    raw::{ExpectedBlock, RawBlock, merkle::merkle_root},
    resolve::outputs_to_look_up,
};
use assay_engine::utxo::{Block, OutPoint, ScriptOwner, TransactionKind};
use sha2::{Digest, Sha256};

/// Facts about a block from the other program.
struct Facts {
    file: &'static str,
    height: u64,
    hash: &'static str,
    parent: &'static str,
    merkle_root: &'static str,
    time: i64,
    transactions: usize,
    inputs: usize,
    outputs: usize,
    /// Total value of all outputs, and of the coinbase's outputs.
    value: u64,
    mined: u64,
    without_address: usize,
    /// Digests over lines: `TXID`, `TXID:INDEX ADDRESS VALUE`, `TXID SPENT:INDEX`.
    ids: &'static str,
    made: &'static str,
    spent: &'static str,
}

const BLOCKS: [Facts; 3] = [
    Facts {
        file: "277647.dat.bz2",
        height: 277_647,
        hash: "0000000000000000054a714e580b16c583701712ab91060e92dbde6eb1e052a8",
        parent: "0000000000000000c86826ab2fbe4639ec413004955a36e77c2267988579e653",
        merkle_root: "36ac31298eb05c23be1f775d635104705e4560c6532b95c158023c6dc9af06c3",
        time: 1_388_367_102,
        transactions: 213,
        inputs: 732,
        outputs: 769,
        value: 177_966_312_176,
        mined: 2_504_737_355,
        without_address: 0,
        ids: "ad2d21c79147adc8db2accf2a16ac7b094319f965d172b0618eb48707839c198",
        made: "1395736e8a42b0cb833ceca4f10b307a0547363e8e247a50776cf876745893bd",
        spent: "726a7a620524b44b243d274894527d24146a1b39d87ca802678009ec0b949a5f",
    },
    Facts {
        file: "block426884.raw",
        height: 426_884,
        hash: "00000000000000000431d0ead6e0bd9f90ff0d469e9b05d51e3d04971f472973",
        parent: "00000000000000000466f3ddcb180662417db0c96099d98b0d5bb9293f580808",
        merkle_root: "7f973e382b2151667eba21e657a7d4900fdddcb214cb9dfbca88a322910d403b",
        time: 1_472_181_459,
        transactions: 409,
        inputs: 6_031,
        outputs: 798,
        value: 607_985_168_305,
        mined: 1_259_494_873,
        without_address: 19,
        ids: "ed716210c771312d98e64685223b1339b60cd6b215f66f923bda7f4d9567b221",
        made: "21f57de5b9464ef1663a2979493a7c11571bd6c9bed8fcb12db26ae20f826b58",
        spent: "b53209a78567a715c7b7515644a26eb6caf5758ee52e20408eea7b91ac1fb1a6",
    },
    Facts {
        file: "block482683.raw",
        height: 482_683,
        hash: "000000000000000000c238240ef6dcb26c37e75e16514e6ffc0aef7eee73e747",
        parent: "0000000000000000004f8568aa0bc28c7ca94785da07a49272f7124516aaac87",
        merkle_root: "0888bc2983c7a07818586346a6da7b0596310166de538cfbcf2fe37694aecf9f",
        time: 1_504_119_737,
        transactions: 12,
        inputs: 51,
        outputs: 25,
        value: 24_529_107_298,
        mined: 1_256_817_877,
        // The commitment to witnesses: two transactions have some.
        without_address: 1,
        ids: "7c52ab122d10d4ec487a4d4f82655342aaa282b414d8c1566e733ab31cc378f7",
        made: "936363f071f17e081768963f30a77fa232d4aa5a96ad9f484319e0f4ba9669f1",
        spent: "24e75326b5370a2b81d8c8d430347253b03b8e2ad1272343234eeff3256a180e",
    },
];

/// Returns the path of a file of blocks in the test data.
fn file(name: &str) -> PathBuf {
    let data =
        env::var_os("ASSAY_TEST_DATA").expect("ASSAY_TEST_DATA names the folder of test data");
    PathBuf::from(data).join("chains/bitcoin/blocks").join(name)
}

fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

fn check(block: &Block, facts: &Facts) {
    assert_eq!(hex::encode(block.reference.hash), facts.hash);
    assert_eq!(hex::encode(block.reference.parent), facts.parent);
    assert_eq!(block.reference.time.as_second(), facts.time);
    assert_eq!(block.reference.height, facts.height);
    let all = &block.transactions;
    let root = merkle_root(all.iter().map(|read| read.txid)).expect("a root");
    assert_eq!(hex::encode(root), facts.merkle_root);

    let outputs: Vec<_> = all.iter().flat_map(|read| &read.outputs).collect();
    assert_eq!(all.len(), facts.transactions);
    assert_eq!(all.iter().map(|read| read.inputs.len()).sum::<usize>(), facts.inputs);
    assert_eq!(outputs.len(), facts.outputs);
    assert_eq!(outputs.iter().map(|coin| coin.value).sum::<u64>(), facts.value);
    let without = outputs.iter().filter(|coin| coin.owner.address(ChainId::BTC).is_none());
    assert_eq!(without.count(), facts.without_address);
    let mined: Vec<_> = all.iter().filter(|read| read.kind == TransactionKind::Coinbase).collect();
    assert_eq!(mined.len(), 1);
    let mined = mined.iter().flat_map(|read| &read.outputs).map(|coin| coin.value);
    assert_eq!(mined.sum::<u64>(), facts.mined);

    let (mut ids, mut made, mut spent) = (Vec::new(), String::new(), String::new());
    for read in all {
        ids.extend(read.txid.as_bytes());
        for (place, coin) in read.outputs.iter().enumerate() {
            let address = coin.owner.address(ChainId::BTC);
            let address = address.map_or_else(|| "-".to_owned(), |address| address.to_string());
            writeln!(made, "{}:{place} {address} {}", read.txid, coin.value).expect("a text");
        }
        for input in &read.inputs {
            writeln!(spent, "{} {}", read.txid, input.outpoint).expect("a text");
        }
    }
    assert_eq!(hex::encode(Sha256::digest(ids)), facts.ids);
    assert_eq!(digest(&made), facts.made);
    assert_eq!(digest(&spent), facts.spent);
}

#[test]
#[ignore = "needs test data"]
fn three_blocks_of_bitcoin() {
    for facts in &BLOCKS {
        let file = file(facts.file);
        let mut source =
            FileSource::open(ChainId::BTC, &[file], FileOptions::default()).expect("a block");
        assert_eq!(source.first_height(), facts.height);
        let block = source.block_at(facts.height).expect("a block");
        check(&block, facts);
        assert_eq!(hex::encode(source.tip().expect("a tip").hash), facts.hash);
        // Everything that it spends of itself is known, everything else has to be looked up.
        let own: std::collections::HashSet<_> =
            block.transactions.iter().map(|read| read.txid).collect();
        let inputs = block.transactions.iter().flat_map(|read| &read.inputs);
        let other = inputs.filter(|input| !own.contains(&input.outpoint.txid)).count();
        assert_eq!(outputs_to_look_up(&[block]).len(), other);
    }
}

#[test]
#[ignore = "needs test data"]
fn a_single_block_is_the_requested_one() {
    let path = file("block482683.raw");
    let hash = |text: &str| hex::decode(text).expect("hex").try_into().expect("a hash");
    let right = ExpectedBlock { hash: Some(hash(BLOCKS[2].hash)), height: None };
    check(&read_block(ChainId::BTC, &path, right).expect("the block"), &BLOCKS[2]);
    let wrong = ExpectedBlock { hash: Some(hash(BLOCKS[1].hash)), height: None };
    let error = read_block(ChainId::BTC, &path, wrong).expect_err("another block");
    assert!(matches!(error, SourceError::Raw { .. }), "{error}");
}

#[test]
#[ignore = "needs test data"]
fn blocks_that_do_not_connect_are_refused_by_name() {
    // Given three blocks of different years, the error names the second file and its block.
    let error = FileSource::open(ChainId::BTC, &[file("")], FileOptions::default());
    let error = error.expect_err("a gap").to_string();
    assert!(
        error.contains("block426884.raw, from byte 0: block 00000000000000000431d0"),
        "{error}"
    );
    assert!(error.contains("its parent 00000000000000000466f3"), "{error}");
}

#[test]
#[ignore = "needs test data"]
fn owners_that_inputs_tell_are_those_of_the_outputs() {
    let params = ChainParams::for_chain(ChainId::BTC).expect("parameters");
    let (mut known, mut told, mut all) = (0, 0, 0);
    for facts in &BLOCKS[1..] {
        let bytes = std::fs::read(file(facts.file)).expect("a block");
        let block = RawBlock::parse(&bytes, params, None).expect("a block");
        let mut owners = std::collections::HashMap::new();
        for transaction in &block.transactions {
            for (index, input) in transaction.inputs.iter().enumerate() {
                let derived = transaction.owner_from_input(ChainId::BTC, index);
                all += usize::from(!transaction.is_coinbase());
                told += usize::from(derived.is_some());
                // Where the block itself has the output, the owner is the same.
                let output: Option<&ScriptOwner> = owners.get(&input.outpoint);
                if let (Some(output), Some(derived)) = (output, derived) {
                    assert_eq!(*output, derived, "input {index} of {}", transaction.txid);
                    known += 1;
                }
            }
            for (output, index) in transaction.outputs.iter().zip(0..) {
                let owner = ScriptOwner::from_script(ChainId::BTC, output.script);
                owners.insert(OutPoint { txid: transaction.txid, index }, owner);
            }
        }
    }
    // All of them are payments of keys and scripts by hash.
    assert_eq!((known, told, all), (101, 6_082, 6_082));
}
