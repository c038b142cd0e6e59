//! Generated raw blocks for tests: valid in form, with a proof of work that takes four tries.

use super::raw::{
    Header, cursor::write_compact, hash256, merkle::merkle_root, reversed,
    transaction::RawTransaction,
};
use crate::params::{TransactionForm, WorkHash};

/// Easiest target, of test networks.
pub(crate) const EASY: u32 = 0x207f_ffff;

/// Serializes a transaction with inputs (transaction, index) and outputs (value, script).
pub(crate) fn transaction(spends: &[([u8; 32], u32)], pays: &[(u64, &[u8])]) -> Vec<u8> {
    let inputs: Vec<_> = spends.iter().map(|(txid, place)| (*txid, *place, Vec::new())).collect();
    write(&inputs, pays)
}

/// Serializes a coinbase with a height (BIP 34) and a number of its own.
pub(crate) fn coinbase(height: u32, own: u8, pays: &[(u64, &[u8])]) -> Vec<u8> {
    let [a, b, c, ..] = height.to_le_bytes();
    write(&[([0; 32], u32::MAX, vec![3, a, b, c, 1, own])], pays)
}

/// Serializes a coinbase with any script.
pub(crate) fn coinbase_with(script: &[u8], pays: &[(u64, &[u8])]) -> Vec<u8> {
    write(&[([0; 32], u32::MAX, script.to_vec())], pays)
}

fn write(inputs: &[([u8; 32], u32, Vec<u8>)], pays: &[(u64, &[u8])]) -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    write_compact(inputs.len(), &mut bytes);
    for (txid, place, script) in inputs {
        bytes.extend(reversed(*txid));
        bytes.extend(place.to_le_bytes());
        write_compact(script.len(), &mut bytes);
        bytes.extend(script);
        bytes.extend(u32::MAX.to_le_bytes());
    }
    write_compact(pays.len(), &mut bytes);
    for (value, script) in pays {
        bytes.extend(value.to_le_bytes());
        write_compact(script.len(), &mut bytes);
        bytes.extend(*script);
    }
    bytes.extend(0_u32.to_le_bytes());
    bytes
}

/// Serializes a block of these transactions with the work of Bitcoin; returns it with its hash.
pub(crate) fn block(parent: [u8; 32], transactions: &[Vec<u8>]) -> (Vec<u8>, [u8; 32]) {
    block_with(WorkHash::DoubleSha256, parent, transactions)
}

/// Serializes a block of these transactions with some kind of work; returns it with its hash.
pub(crate) fn block_with(
    work: WorkHash,
    parent: [u8; 32],
    transactions: &[Vec<u8>],
) -> (Vec<u8>, [u8; 32]) {
    let ids = transactions
        .iter()
        .map(|bytes| RawTransaction::parse(bytes, TransactionForm::Witness).unwrap().txid);
    let merkle_root = merkle_root(ids).unwrap();
    let header =
        Header { version: 4, parent, merkle_root, time: 1_700_000_000, bits: EASY, nonce: 0 };
    let header = mined(work, header);
    let mut bytes = header_bytes(&header);
    write_compact(transactions.len(), &mut bytes);
    bytes.extend(transactions.concat());
    (bytes, header.hash())
}

/// Returns the header with the first nonce that has this kind of work, and not the other kind.
pub(crate) fn mined(work: WorkHash, mut header: Header) -> Header {
    let other = match work {
        WorkHash::DoubleSha256 => WorkHash::Scrypt,
        WorkHash::Scrypt => WorkHash::DoubleSha256,
    };
    while !header.has_work(work) || header.has_work(other) {
        header.nonce += 1;
    }
    header
}

pub(crate) fn header_bytes(header: &Header) -> Vec<u8> {
    let mut bytes = header.version.to_le_bytes().to_vec();
    bytes.extend(reversed(header.parent));
    bytes.extend(reversed(header.merkle_root));
    bytes.extend(header.time.to_le_bytes());
    bytes.extend(header.bits.to_le_bytes());
    bytes.extend(header.nonce.to_le_bytes());
    assert_eq!(reversed(hash256(&[&bytes])), header.hash());
    bytes
}

/// Returns a chain of blocks with one coinbase each; `own` distinguishes branches.
pub(crate) fn chain(
    mut parent: [u8; 32],
    heights: std::ops::Range<u32>,
    own: u8,
) -> Vec<(Vec<u8>, [u8; 32])> {
    let mut blocks = Vec::new();
    for height in heights {
        let made = block(parent, &[coinbase(height, own, &[(50, &[0x51])])]);
        parent = made.1;
        blocks.push(made);
    }
    blocks
}
