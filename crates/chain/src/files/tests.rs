mod refusals;
mod undo;

use std::{fs, slice};

use super::*;
use crate::testing::{block, chain, coinbase, transaction};

const MAIN: [u8; 4] = [0xf9, 0xbe, 0xb4, 0xd9];
/// The magic number of regtest, whose targets are easy.
const REGTEST: [u8; 4] = [0xfa, 0xbf, 0xb5, 0xda];
const TEST: FileOptions = FileOptions { prevouts: true, test_networks: TestNetworks::Allowed };
const NO_TEXT: &str =
    "no block file, and long enough for a header that it does not have at all.....";

fn framed(magic: [u8; 4], block: &[u8]) -> Vec<u8> {
    let length = u32::try_from(block.len()).unwrap();
    [&magic[..], &length.to_le_bytes(), block].concat()
}

fn all(source: &mut FileSource) -> Vec<(u64, [u8; 32])> {
    let (first, tip) = (source.first_height(), source.tip().unwrap().height);
    (first..=tip)
        .map(|height| {
            let block = source.block_at(height).unwrap();
            assert_eq!(source.hash_at(height).unwrap(), Some(block.reference.hash));
            (block.reference.height, block.reference.hash)
        })
        .collect()
}

fn numbered(blocks: &[(Vec<u8>, [u8; 32])], first: u64) -> Vec<(u64, [u8; 32])> {
    (first..).zip(blocks.iter().map(|(_, hash)| *hash)).collect()
}

#[test]
fn the_chain_with_the_most_work_is_read_in_order_from_two_obscured_files() {
    let folder = tempfile::tempdir().unwrap();
    let first = block([0; 32], &[transaction(&[([0; 32], u32::MAX)], &[(50, &[0x51])])]);
    let main = [&[first.clone()][..], &chain(first.1, 1..8, 0)].concat();
    let side = chain(main[3].1, 4..7, 1);
    let take = |blocks: &[&(Vec<u8>, [u8; 32])]| -> Vec<u8> {
        blocks.iter().flat_map(|(bytes, _)| framed(REGTEST, bytes)).collect()
    };
    // Out of order, with side branches, one block twice, the remains of a killed node, and empty
    // space.
    let one = take(&[&main[0], &main[2], &main[1], &side[0], &main[3]]);
    let junk = [&REGTEST[..], &[90, 0, 0, 0], NO_TEXT.as_bytes(), &[0; 30]].concat();
    let two = [
        take(&[&side[2], &main[5]]),
        junk,
        take(&[&main[4], &main[7], &main[6], &main[5], &side[1]]),
        vec![0; 5000],
    ]
    .concat();
    let three = framed(REGTEST, &main[7].0);
    let key = [0x9a, 1, 2, 3, 4, 5, 6, 0x77];
    fs::write(folder.path().join("xor.dat"), key).unwrap();
    for (name, bytes) in
        [("blk00000.dat", &one[..]), ("blk00001.dat", &two), ("blk00002.dat", &three[..100])]
    {
        let mut bytes = bytes.to_vec();
        // Space that was taken beforehand is not obscured.
        let written = bytes.len() - if name == "blk00001.dat" { 5000 } else { 0 };
        for (byte, key) in bytes.iter_mut().take(written).zip(key.iter().cycle()) {
            *byte ^= key;
        }
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    fs::write(folder.path().join("blk00003.dat"), [0; 64]).unwrap();
    fs::write(folder.path().join("rev00000.dat"), "something else").unwrap();

    let path = folder.path().to_owned();
    let mut source = FileSource::open(ChainId::BTC, slice::from_ref(&path), TEST).unwrap();
    assert_eq!(all(&mut source), numbered(&main, 0));
    assert_eq!((source.orphaned_blocks(), source.truncated_blocks()), (3, 1));
    assert_eq!(source.tip().unwrap(), TipRef { height: 7, hash: main[7].1 });
    assert_eq!(source.block(&main[2].1).unwrap().reference.height, 2);
    assert!(matches!(source.block(&side[1].1), Err(SourceError::NotOnChain { .. })));
    assert!(matches!(source.block_at(8), Err(SourceError::NoBlock { height: 8, tip: 7 })));
    assert_eq!(source.hash_at(8).unwrap(), None);
    let origin = source.origin(1).unwrap();
    assert!(origin.contains("blk00000.dat, from byte"), "{origin}");
    assert_eq!(source.origin(8), None);

    // A node's data folder means its block files.
    let data = tempfile::tempdir().unwrap();
    fs::rename(&path, data.path().join("blocks")).unwrap();
    let mut source = FileSource::open(ChainId::BTC, &[data.path().to_owned()], TEST).unwrap();
    assert_eq!(source.tip().unwrap().height, 7);
}

#[test]
fn blocks_from_the_middle_of_a_chain_contain_their_height() {
    let folder = tempfile::tempdir().unwrap();
    let mut blocks = chain([3; 32], 700..705, 0);
    // The first ones are as old as if they did not say it.
    let old = block([2; 32], &[transaction(&[([0; 32], u32::MAX)], &[(50, &[0x51])])]);
    blocks[0] = block(old.1, &[coinbase(700, 9, &[(50, &[0x51])])]);
    let rest = chain(blocks[0].1, 701..705, 0);
    let expected = [&[old, blocks[0].clone()][..], &rest].concat();
    for (number, (bytes, _)) in expected.iter().enumerate() {
        fs::write(folder.path().join(format!("block{number}.raw")), bytes).unwrap();
    }
    let mut source = FileSource::open(ChainId::BTC, &[folder.path().to_owned()], TEST).unwrap();
    assert_eq!(all(&mut source), numbered(&expected, 699));
    // Without one that says it, there is none.
    let only = folder.path().join("block0.raw");
    let error = FileSource::open(ChainId::BTC, &[only], TEST).unwrap_err().to_string();
    assert!(error.contains("does not say its height (it is older than BIP 34)"), "{error}");
}

#[test]
fn a_file_without_blocks_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let text = write("notes.txt", NO_TEXT.as_bytes());
    let litecoin = write("blk00000.dat", &framed([0xfb, 0xc0, 0xb6, 0xdb], &[0; 100]));
    // Test networks share their magic number; the first block tells them apart.
    let first = "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12\
        b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4adae5494dffff7f20020000000101000000010000000000\
        000000000000000000000000000000000000000000000000000000ffffffff4d04ffff001d0104455468652054696d65\
        732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c\
        6f757420666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a8\
        28e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000";
    let regtest =
        write("blk00003.dat", &framed([0xfa, 0xbf, 0xb5, 0xda], &hex::decode(first).unwrap()));
    let open = |chain: &str, test_networks| {
        let options = FileOptions { prevouts: true, test_networks };
        FileSource::open(chain.parse().unwrap(), slice::from_ref(&regtest), options)
    };
    assert_eq!(open("btc", TestNetworks::Allowed).unwrap().first_height(), 0);
    let mistaken = open("ltc", TestNetworks::Allowed).unwrap_err().to_string();
    assert!(mistaken.ends_with("blk00003.dat serves btc, not ltc"), "{mistaken}");
    let blank = write("blk00001.dat", &[0; 100]);
    let long = write("blk00002.dat", &[&REGTEST[..], &[0xff; 100]].concat());
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let refusal = |path: &Path| {
        FileSource::open(ChainId::BTC, &[path.to_owned()], TEST).unwrap_err().to_string()
    };
    for (path, expected) in [
        (&*text, "it is neither a block file nor a raw block of Bitcoin"),
        (&*litecoin, "the magic number at byte 0 is fbc0b6db (Litecoin)"),
        (&*blank, "there is no block of Bitcoin in it"),
        (&*long, "has 4294967295 bytes: blocks of 80 to 134217728 are read"),
        (&*empty, "there is no block file (`blk*.dat`) in it"),
        (&*folder.path().join("none"), "failed to read"),
    ] {
        let said = refusal(path);
        assert!(said.contains(expected), "{said} does not say {expected}");
    }
    let zcash = FileSource::open("zec".parse().unwrap(), &[text], TEST).unwrap_err().to_string();
    assert_eq!(zcash, "zec is not read from block files: read it from a node (--rpc)");
    fs::write(folder.path().join("xor.dat"), [1; 7]).unwrap();
    let key = refusal(&blank);
    assert!(key.contains("it has 7 bytes: a key has 8"), "{key}");
}

#[test]
fn of_two_branches_with_the_same_work_the_first_found_is_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    let trunk = chain([5; 32], 20..22, 0);
    let (one, two) = (chain(trunk[1].1, 22..24, 1), chain(trunk[1].1, 22..24, 2));
    for (first, second) in [(&one, &two), (&two, &one)] {
        let order = [&trunk[..], first, second].concat();
        let bytes: Vec<u8> = order.iter().flat_map(|(bytes, _)| framed(REGTEST, bytes)).collect();
        let path = folder.path().join("blk00000.dat");
        fs::write(&path, bytes).unwrap();
        let mut source = FileSource::open(ChainId::BTC, &[path], TEST).unwrap();
        assert_eq!(source.tip().unwrap(), TipRef { height: 23, hash: first[1].1 });
        assert_eq!(source.orphaned_blocks(), 2);
    }
}

#[test]
fn a_file_that_changes_meanwhile_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (chain([5; 32], 20..22, 1), chain([5; 32], 20..22, 2));
    let path = folder.path().join("blk00000.dat");
    let write = |blocks: &[(Vec<u8>, [u8; 32])]| {
        let bytes: Vec<u8> = blocks.iter().flat_map(|(bytes, _)| framed(REGTEST, bytes)).collect();
        fs::write(&path, bytes).unwrap();
    };
    write(&one);
    let mut source = FileSource::open(ChainId::BTC, slice::from_ref(&path), TEST).unwrap();
    write(&two);
    let error = source.block_at(20).unwrap_err().to_string();
    assert!(error.contains("not the one that was there before"), "{error}");
}
