//! Undo records of a node's block files (`rev*.dat`): the outputs that each block spends.
//!
//! A record does not name its block. Its checksum, the double SHA-256 of the hash of the block's parent and of the
//! record, identifies the block.

use super::{RawError, compressed::SpentOutput, cursor::Cursor, hash256, reversed};

/// True if `checksum` belongs to a record of a block with this parent.
#[must_use]
pub fn is_undo_of(parent: &[u8; 32], record: &[u8], checksum: &[u8; 32]) -> bool {
    hash256(&[&reversed(*parent), record]) == *checksum
}

/// Returns the number of transactions with which a record begins; `None` if it does not begin with one.
#[must_use]
pub fn transaction_count(start: &[u8]) -> Option<u64> {
    Cursor::new(start).compact("transactions").ok()
}

/// Parses the outputs that each transaction of a block spends, in order, without the coinbase. With `extended`, further
/// data may follow, as with Litecoin's extension blocks.
///
/// # Errors
///
/// Returns an error if the bytes are not in this form.
pub fn parse_block_undo(bytes: &[u8], extended: bool) -> Result<Vec<Vec<SpentOutput>>, RawError> {
    let mut cursor = Cursor::new(bytes);
    let spent = (0..cursor.count(1, "transactions")?)
        .map(|_| {
            let inputs = cursor.count(SMALLEST_SPENT, "spent outputs")?;
            (0..inputs).map(|_| read_spent(&mut cursor)).collect()
        })
        .collect::<Result<_, _>>()?;
    if cursor.offset() < cursor.length() && !extended {
        return Err(RawError::Longer { at: cursor.offset(), length: cursor.length() });
    }
    Ok(spent)
}

/// Smallest spent output in bytes: a height, an amount and the length of its script.
const SMALLEST_SPENT: usize = 3;

fn read_spent(bytes: &mut Cursor<'_>) -> Result<SpentOutput, RawError> {
    // The number is twice the height, plus one for a coinbase, followed by the transaction's version or 0. Nodes before
    // 2017 wrote both for a transaction's last unspent output only.
    let height_and_coinbase = bytes.base128("a spent output's height")?;
    if height_and_coinbase > 1 {
        bytes.base128("a spent output's version")?;
    }
    SpentOutput::read(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::raw::compressed::tests::{base128, compressed};

    /// Returns a record of a spent coinbase of height 5, and of an output without a height.
    fn record() -> Vec<u8> {
        let mut bytes = vec![2, 1];
        base128(5 << 1 | 1, &mut bytes);
        bytes.push(0);
        bytes.extend(compressed(5_000_000_000, 0, &[7; 20]));
        bytes.extend([2, 0]);
        bytes.extend(compressed(70, 1, &[8; 20]));
        bytes.push(0);
        bytes.extend(compressed(71, 7, &[0x51]));
        bytes
    }

    #[test]
    fn spent_outputs_by_transaction() {
        let spent = parse_block_undo(&record(), false).unwrap();
        let values: Vec<Vec<u64>> = spent
            .iter()
            .map(|outputs| outputs.iter().map(|output| output.value).collect())
            .collect();
        assert_eq!(values, [vec![5_000_000_000], vec![70, 71]]);
        assert_eq!(spent[1][1].script, [0x51]);
        assert_eq!(parse_block_undo(&[0], false), Ok(vec![]));
        for length in 0..record().len() {
            assert!(parse_block_undo(&record()[..length], true).is_err(), "{length}");
        }
        let longer = [record(), vec![9]].concat();
        assert!(matches!(parse_block_undo(&longer, false), Err(RawError::Longer { .. })));
        assert_eq!(parse_block_undo(&longer, true), Ok(spent));
    }

    #[test]
    fn a_record_of_bitcoin_core() {
        // Written by version 31 on regtest: one payment spends five coinbases of every form of script,
        // and another one spends its output.
        let record = "0205470032006acc2bb9271197c64f59a932c357cfe6e4448b5f490032019664085f6340cade21\
            44b97d2d578c549d56d76a4b00321c00146acc2bb9271197c64f59a932c357cfe6e4448b5f4d00320175f0b0\
            741db93c38148a9ad29318575b86340bda4f0032280020db80eee303cc710c34008c290a18e7f1a0ee9ed416\
            4e9a58f5efb22ae69d096a018154008cdc651c001473124bea92b5a66f395a90e606ce017c0a696f84";
        let record = hex::decode(record).unwrap();
        let hash = |text: &str| -> [u8; 32] { hex::decode(text).unwrap().try_into().unwrap() };
        let parent = hash("6edb586325c8e21161192b41543da50c9cf2cf5460aec2fd3032fabf16d0c504");
        let checksum = hash("35515c8d15621abc4c52c87f2612cc92ef15a3dcdd93c94c74e8799cd524879a");
        assert!(is_undo_of(&parent, &record, &checksum));
        assert!(!is_undo_of(&checksum, &record, &checksum));
        assert!(!is_undo_of(&parent, &record[1..], &checksum));
        assert_eq!(transaction_count(&record), Some(2));
        let spent = parse_block_undo(&record, false).unwrap();
        let read: Vec<Vec<_>> = spent
            .iter()
            .map(|outputs| {
                outputs.iter().map(|out| (hex::encode(&out.script), out.value)).collect()
            })
            .collect();
        let of = |script: &str, value: u64| (script.to_owned(), value);
        let expected = vec![
            vec![
                of("76a9146acc2bb9271197c64f59a932c357cfe6e4448b5f88ac", 5_000_000_000),
                of("a9149664085f6340cade2144b97d2d578c549d56d76a87", 5_000_000_000),
                of("00146acc2bb9271197c64f59a932c357cfe6e4448b5f", 5_000_000_000),
                of("a91475f0b0741db93c38148a9ad29318575b86340bda87", 5_000_000_000),
                of(
                    "0020db80eee303cc710c34008c290a18e7f1a0ee9ed4164e9a58f5efb22ae69d096a",
                    5_000_000_000,
                ),
            ],
            vec![of("001473124bea92b5a66f395a90e606ce017c0a696f84", 24_999_000_000)],
        ];
        assert_eq!(read, expected);
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = parse_block_undo(&bytes, bytes.len() % 2 == 0);
        }
    }
}
