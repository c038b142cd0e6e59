//! Tests of spent outputs from undo files next to block files.

use assay_engine::utxo::TxOut;

use super::*;
use crate::raw::{compressed::tests::compressed, hash256, reversed};

const NEEDED: FileOptions = TEST;
const NOT_NEEDED: FileOptions =
    FileOptions { prevouts: false, test_networks: TestNetworks::Allowed };

/// Returns a chain whose block with number n spends n outputs, with the undo record of each block.
fn spending(first: Option<[u8; 32]>) -> Vec<TestBlock> {
    let mut parent = first.unwrap_or([0; 32]);
    let mut blocks = Vec::new();
    for number in 0..6_u8 {
        let mut transactions = vec![coinbase(700 + u32::from(number), 0, &[(50, &[0x51])])];
        if first.is_none() && number == 0 {
            transactions = vec![transaction(&[([0; 32], u32::MAX)], &[(50, &[0x51])])];
        }
        let mut undo = Vec::new();
        if number > 0 {
            let spends: Vec<_> =
                (0..number).map(|input| ([100 + number; 32], u32::from(input))).collect();
            transactions.push(transaction(&spends, &[(1, &[0x51])]));
            undo = vec![1, number];
            for input in 0..number {
                undo.extend([14, 0]);
                undo.extend(compressed(value(number, input), 0, &[number; 20]));
            }
        }
        let (bytes, hash) = block(parent, &transactions);
        let record = record(&parent, if number == 0 { &[0] } else { &undo });
        blocks.push(TestBlock { bytes, hash, record, number });
        parent = hash;
    }
    blocks
}

struct TestBlock {
    bytes: Vec<u8>,
    hash: [u8; 32],
    record: Vec<u8>,
    number: u8,
}

fn value(number: u8, input: u8) -> u64 {
    1000 * u64::from(number) + u64::from(input)
}

fn record(parent: &[u8; 32], undo: &[u8]) -> Vec<u8> {
    let checksum = hash256(&[&reversed(*parent), undo]);
    [framed(REGTEST, undo), checksum.to_vec()].concat()
}

/// Writes block and undo files, obfuscated with a key.
fn write(folder: &Path, files: &[(&str, Vec<u8>)], key: [u8; 8]) {
    fs::write(folder.join("xor.dat"), key).unwrap();
    for (name, bytes) in files {
        let obscured = bytes.iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key);
        fs::write(folder.join(name), obscured.collect::<Vec<_>>()).unwrap();
    }
}

fn blocks_of(blocks: &[TestBlock]) -> Vec<u8> {
    blocks.iter().flat_map(|block| framed(REGTEST, &block.bytes)).collect()
}

fn records_of(blocks: &[TestBlock]) -> Vec<u8> {
    blocks.iter().flat_map(|block| block.record.clone()).collect()
}

/// Returns the outputs that the block of each height spends, as far as they are known.
fn spent(source: &mut FileSource) -> Vec<Vec<Option<TxOut>>> {
    (source.first_height()..=source.tip().unwrap().height)
        .map(|height| {
            let block = source.block_at(height).unwrap();
            let inputs = block.transactions.into_iter().flat_map(|payment| payment.inputs);
            inputs.map(|input| input.spent).collect()
        })
        .collect()
}

fn expected(block: &TestBlock) -> Vec<Option<TxOut>> {
    let owner = ScriptOwner::KeyHash([block.number; 20]);
    (0..block.number)
        .map(|input| Some(TxOut { owner: owner.clone(), value: value(block.number, input) }))
        .collect()
}

#[test]
fn records_belong_to_blocks_by_checksum_not_by_order() {
    // Given blocks out of order in two obscured files, with their records in the order of validation, the
    // remains of a record, one of a block that is not there, and space for more...
    let all = spending(Some([3; 32]));
    let records = |places: &[usize]| -> Vec<u8> {
        places.iter().flat_map(|place| all[*place].record.clone()).collect()
    };
    let blocks = |places: &[usize]| -> Vec<u8> {
        places.iter().flat_map(|place| framed(REGTEST, &all[*place].bytes)).collect()
    };
    let foreign = record(&[9; 32], &all[3].record[8..all[3].record.len() - 32]);
    let remains = [&REGTEST[..], &[9, 0, 0, 0, 1, 2]].concat();
    let one = [records(&[0, 1]), foreign, records(&[3]), vec![0; 500]].concat();
    let two = [records(&[2]), remains, records(&[4, 5])].concat();
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("blk00000.dat", blocks(&[3, 0, 1])),
        ("rev00000.dat", one),
        ("blk00001.dat", blocks(&[5, 2, 4])),
        ("rev00001.dat", two),
    ];
    write(folder.path(), &files, [7, 1, 2, 3, 4, 5, 6, 9]);
    let paths = [folder.path().to_owned()];
    let mut source = FileSource::open(ChainId::BTC, &paths, NEEDED).unwrap();
    // ...every input has the owner and amount of what it spends, also read again and backwards.
    assert_eq!(spent(&mut source), all.iter().map(expected).collect::<Vec<_>>());
    for block in all.iter().rev() {
        let read = source.block(&block.hash).unwrap();
        let inputs = read.transactions.into_iter().flat_map(|payment| payment.inputs);
        assert_eq!(inputs.map(|input| input.spent).collect::<Vec<_>>(), expected(block));
    }
    // Files that begin late are read with them in any case, and one of them may lack some.
    fs::remove_file(folder.path().join("rev00001.dat")).unwrap();
    let mut source = FileSource::open(ChainId::BTC, &paths, NOT_NEEDED).unwrap();
    let known = |block: &TestBlock| {
        let lacks = [2, 4, 5].contains(&block.number);
        if lacks { vec![None; block.number.into()] } else { expected(block) }
    };
    assert_eq!(spent(&mut source), all.iter().map(known).collect::<Vec<_>>());
}

#[test]
fn a_chain_from_its_first_block_on_is_read_without_them_unless_they_are_needed() {
    let all = spending(None);
    let folder = tempfile::tempdir().unwrap();
    let files = [("blk00000.dat", blocks_of(&all)), ("rev00000.dat", records_of(&all))];
    write(folder.path(), &files, [0; 8]);
    let paths = [folder.path().to_owned()];
    let read = |options| spent(&mut FileSource::open(ChainId::BTC, &paths, options).unwrap());
    assert_eq!(read(NEEDED), all.iter().map(expected).collect::<Vec<_>>());
    assert!(read(NOT_NEEDED).iter().flatten().all(Option::is_none));
}

#[test]
fn a_record_that_does_not_fit_its_block_is_reported() {
    let all = spending(Some([3; 32]));
    let block = &all[2];
    // Given records with the right checksum, but for another number of inputs, or with other contents...
    let parent = all[1].hash;
    let one = [&[1, 1, 14, 0][..], &compressed(5, 0, &[7; 20])].concat();
    for (undo, expected) in [
        (&one[..], "but spends another number of outputs"),
        (&one[..9], "rev00000.dat, from byte 8: it is cut off"),
        (&[&one[..], &[0]].concat(), "it should end at byte"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let files = [("blk00000.dat", blocks_of(&all)), ("rev00000.dat", record(&parent, undo))];
        write(folder.path(), &files, [0; 8]);
        let mut source =
            FileSource::open(ChainId::BTC, &[folder.path().to_owned()], NEEDED).unwrap();
        // ...the error names the undo file and the position or the block.
        let error = source.block(&block.hash).unwrap_err();
        let said = error.to_string();
        assert!(error.is_input() && said.contains("rev00000.dat"), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}
