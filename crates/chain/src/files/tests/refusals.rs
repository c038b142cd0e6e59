//! Tests of refused block files: of another network, with blocks that violate the chain's rules, or with a gap.

use super::*;
use crate::{
    params::WorkHash,
    raw::RawError,
    testing::{block_with, header_bytes, mined},
};

const LITECOIN: [u8; 4] = [0xfb, 0xc0, 0xb6, 0xdb];
const DASH: [u8; 4] = [0xbf, 0x0c, 0x6b, 0xbd];
const MAIN_ONLY: FileOptions = FileOptions { prevouts: true, test_networks: TestNetworks::Refused };

type TestBlock = (Vec<u8>, [u8; 32]);

/// Creates a folder of block files, each with these frames.
fn folder(files: &[(&str, Vec<Vec<u8>>)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, frames) in files {
        fs::write(folder.path().join(name), frames.concat()).unwrap();
    }
    folder
}

fn frames(magic: [u8; 4], blocks: &[TestBlock]) -> Vec<Vec<u8>> {
    blocks.iter().map(|(bytes, _)| framed(magic, bytes)).collect()
}

fn open(id: &str, folder: &tempfile::TempDir, options: FileOptions) -> Result<(), SourceError> {
    FileSource::open(id.parse().unwrap(), &[folder.path().to_owned()], options).map(|_| ())
}

fn refusal(id: &str, folder: &tempfile::TempDir, options: FileOptions) -> String {
    let error = open(id, folder, options).unwrap_err();
    assert!(error.is_input() && !error.is_transient(), "{error}");
    error.to_string()
}

/// Returns a block with a coinbase and another target, without the work for it.
fn with_bits(parent: [u8; 32], bits: u32) -> TestBlock {
    let (mut bytes, _) = block(parent, &[coinbase(9, 9, &[(50, &[0x51])])]);
    bytes[72..76].copy_from_slice(&bits.to_le_bytes());
    let hash = Header::parse(&bytes).unwrap().hash();
    (bytes, hash)
}

#[test]
fn another_networks_magic_number_is_named_with_the_file_and_the_expected_one() {
    let blocks = chain([3; 32], 700..703, 0);
    let other = chain(blocks[2].1, 703..704, 0);
    let cases = [
        (LITECOIN, "fbc0b6db (Litecoin)"),
        // A chain whose files are not read is known as well, and any other number is shown.
        (DASH, "bf0c6bbd (Dash)"),
        (*b"abcd", "61626364 (of no network that is known here)"),
    ];
    for (magic, named) in cases {
        // Given a file that begins with the number, or one where it follows other blocks...
        let begins = frames(magic, &blocks);
        let follows = [frames(REGTEST, &blocks), frames(magic, &other)].concat();
        let length: usize = frames(REGTEST, &blocks).concat().len();
        for (file, at) in [(begins, 0), (follows, length)] {
            // ...the refusal names the file, the place, both numbers and the network.
            let said = refusal("btc", &folder(&[("blk00007.dat", file)]), TEST);
            let expected = format!("blk00007.dat: the magic number at byte {at} is {named}");
            assert!(said.contains(&expected), "{said}");
            assert!(said.contains("blocks of Bitcoin stand behind f9beb4d9 or 0b110907"), "{said}");
        }
    }
}

#[test]
fn a_test_networks_magic_number_needs_permission() {
    let folder = folder(&[("blk00000.dat", frames(REGTEST, &chain([3; 32], 700..703, 0)))]);
    assert!(open("btc", &folder, TEST).is_ok());
    let said = refusal("btc", &folder, MAIN_ONLY);
    assert!(said.contains("fabfb5da (a test network of Bitcoin)"), "{said}");
    assert!(said.contains("blocks of Bitcoin stand behind f9beb4d9. To read a test"), "{said}");
    assert!(said.contains("--test-network"), "{said}");
}

#[test]
fn targets_above_the_limit_of_their_network_are_refused() {
    // Given blocks with the easy target of a test network...
    let blocks = chain([3; 32], 700..703, 0);
    let hash = hex::encode(blocks[0].1);
    // ...behind the main network's number, or as single files without any: both are refused.
    let behind_main = folder(&[("blk00000.dat", frames(MAIN, &blocks))]);
    let single: Vec<_> = blocks.iter().map(|(bytes, _)| vec![bytes.clone()]).collect();
    let single = folder(&[("a.raw", single[0].clone()), ("b.raw", single[1].clone())]);
    for (folder, options, file) in [
        (&behind_main, MAIN_ONLY, "blk00000.dat, from byte 8"),
        (&behind_main, TEST, "blk00000.dat, from byte 8"),
        (&single, MAIN_ONLY, "a.raw, from byte 0"),
    ] {
        let said = refusal("btc", folder, options);
        assert!(said.contains(&format!("{file}: block {hash} states the target")), "{said}");
        assert!(said.contains("0x207fffff") && said.contains("0x1d00ffff"), "{said}");
    }
    assert!(open("btc", &single, TEST).is_ok());
}

#[test]
fn a_connected_block_with_an_impossible_header_is_not_passed_over() {
    let blocks = chain([3; 32], 700..703, 0);
    // Negative, zero, too large, and a target that the block does not meet.
    for bits in [0x1d80_0001, 0x1d00_0000, 0x2300_ffff, 0x1d00_ffff] {
        let wrong = with_bits(blocks[2].1, bits);
        let file = [frames(REGTEST, &blocks), frames(REGTEST, std::slice::from_ref(&wrong))];
        let said = refusal("btc", &folder(&[("blk00000.dat", file.concat())]), TEST);
        let named = format!("block {} ", hex::encode(wrong.1));
        assert!(said.contains("blk00000.dat, from byte") && said.contains(&named), "{said}");
        // The same bytes that connect to nothing are what a killed node left.
        let remains = frames(REGTEST, &[with_bits([0xee; 32], bits)]);
        let file = [frames(REGTEST, &blocks), remains].concat();
        assert!(open("btc", &folder(&[("blk00000.dat", file)]), TEST).is_ok(), "{bits:#x}");
    }
}

#[test]
fn a_chain_of_scrypt_refuses_the_work_of_bitcoin() {
    let made = |work, parent| block_with(work, parent, &[coinbase(700, 0, &[(50, &[0x51])])]);
    for (id, magic) in [("ltc", REGTEST), ("doge", REGTEST)] {
        let file = |work| folder(&[("blk00000.dat", frames(magic, &[made(work, [3; 32])]))]);
        assert!(open(id, &file(WorkHash::Scrypt), TEST).is_ok());
        let said = refusal(id, &file(WorkHash::DoubleSha256), TEST);
        assert!(said.contains("blk00000.dat, from byte 8: block"), "{said}");
        assert!(said.contains("a chain of scrypt"), "{said}");
    }
    // A header that only looks like a block is none of Bitcoin either.
    let header = Header { bits: crate::testing::EASY, time: 7, ..Header::default() };
    let scrypt = header_bytes(&mined(WorkHash::Scrypt, header));
    let error = RawBlock::parse(&scrypt, ChainParams::for_chain(ChainId::BTC).unwrap(), None);
    assert!(matches!(error, Err(RawError::Proof { .. })));
}

#[test]
fn a_missing_file_is_reported_with_the_block_behind_the_gap() {
    let first = block([0; 32], &[transaction(&[([0; 32], u32::MAX)], &[(50, &[0x51])])]);
    let blocks = [&[first.clone()][..], &chain(first.1, 1..9, 0)].concat();
    for (from, to) in [(3, 5), (1, 8), (2, 3)] {
        // Given files of a chain without one in the middle, whichever side has more blocks...
        let (one, three) = (frames(REGTEST, &blocks[..from]), frames(REGTEST, &blocks[to..]));
        let folder = folder(&[("blk00000.dat", one), ("blk00002.dat", three)]);
        // ...the refusal names the first file behind the gap, its block and the missing one.
        let said = refusal("btc", &folder, TEST);
        let (hash, parent) = (hex::encode(blocks[to].1), hex::encode(blocks[to - 1].1));
        assert!(
            said.contains(&format!(
                "blk00002.dat, from byte 8: block {hash} does not connect: its parent {parent} is in \
                 none of the files"
            )),
            "{said}"
        );
        // With the missing file it is read.
        let two = frames(REGTEST, &blocks[from..to]).concat();
        fs::write(folder.path().join("blk00001.dat"), two).unwrap();
        assert!(open("btc", &folder, TEST).is_ok());
    }
}

#[test]
fn blocks_that_a_node_received_ahead_are_no_gaps() {
    let blocks = chain([3; 32], 100..120, 0);
    // Given files of a pruned node: block 103 was stored in an earlier one, which is gone; and at the tip, 118
    // has not arrived yet.
    let part = |range: std::ops::Range<usize>| frames(REGTEST, &blocks[range]);
    let first = [part(0..3), part(4..10)].concat();
    let last = [part(10..18), part(19..20)].concat();
    let folder = folder(&[("blk00007.dat", first), ("blk00008.dat", last)]);
    // Then the rest is one chain.
    let id = "btc".parse().unwrap();
    let mut source = FileSource::open(id, &[folder.path().to_owned()], TEST).unwrap();
    assert_eq!(source.orphaned_blocks(), 4);
    assert_eq!(source.hash_at(104).unwrap(), Some(blocks[4].1));
}

#[test]
fn what_a_power_cut_left_is_no_block() {
    let blocks = chain([3; 32], 700..703, 0);
    // A magic number and a length at the end of one page, and zeros from the next one on.
    let torn = [&REGTEST[..], &200_u32.to_le_bytes(), &[0; 300]].concat();
    let file = [frames(REGTEST, &blocks), vec![torn]].concat();
    assert!(open("btc", &folder(&[("blk00000.dat", file)]), TEST).is_ok());
}

#[test]
fn side_branches_and_a_late_start_are_no_gaps() {
    let blocks = chain([3; 32], 700..706, 0);
    let side = chain(blocks[2].1, 703..705, 1);
    let mut all = frames(REGTEST, &blocks);
    all.extend(frames(REGTEST, &side));
    assert!(open("btc", &folder(&[("blk00000.dat", all)]), TEST).is_ok());
    // A second first block is none of the same chain.
    let first = |own| block([0; 32], &[coinbase(0, own, &[(50, &[0x51])])]);
    let two = folder(&[("blk00000.dat", frames(REGTEST, &[first(1), first(2)]))]);
    let said = refusal("btc", &two, TEST);
    assert!(
        said.contains(&format!("block {} does not connect", hex::encode(first(2).1))),
        "{said}"
    );
}
