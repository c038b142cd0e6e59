//! Any bytes as a raw block, transaction, list of spent outputs or undo record: no panic; what was parsed serializes to
//! the same bytes, none of which was skipped.

use assay_chain::{
    ChainParams,
    params::TransactionForm,
    raw::{
        ExpectedBlock, RawBlock,
        block_undo::parse_block_undo,
        parse_block,
        transaction::{RawTransaction, transaction_id},
        undo::parse_spent,
    },
};
use assay_engine::utxo::TransactionKind;

/// Checks the promise of this module for an input.
///
/// # Panics
///
/// Panics if the promise does not hold.
pub fn run(bytes: &[u8]) {
    for chain in ["btc", "ltc", "bch", "doge"] {
        let chain = chain.parse().unwrap();
        let params = ChainParams::for_chain(chain).unwrap();
        if let Ok(raw) = RawBlock::parse(bytes, params, None) {
            let expected = ExpectedBlock { hash: Some(raw.hash), height: Some(5) };
            let block = parse_block(chain, bytes, expected).unwrap();
            assert_eq!(block.transactions.len(), raw.transactions.len());
            assert!(
                block.transactions.iter().skip(1).all(|read| read.kind == TransactionKind::Payment)
            );
            // Of Litecoin's extension blocks nothing is read.
            let extended = raw.transactions.last().is_some_and(|last| last.moves_extension);
            let shorter = &bytes[..bytes.len() - 1];
            assert!(extended || parse_block(chain, shorter, expected).is_err());
        }
    }
    for form in [TransactionForm::Plain, TransactionForm::Witness, TransactionForm::Mweb] {
        if let Ok(read) = RawTransaction::parse(bytes, form) {
            let (inputs, outputs) = (read.inputs.iter().copied(), read.outputs.iter().copied());
            let again = transaction_id(read.version, inputs, outputs, read.lock_time, None);
            assert_eq!(again, read.txid);
        }
    }
    let _ = RawTransaction::parse(bytes, TransactionForm::DashSpecial);
    let _ = parse_spent(bytes);
    // What an undo record holds may be followed by something else only where that is allowed.
    if let Ok(spent) = parse_block_undo(bytes, false) {
        assert_eq!(parse_block_undo(bytes, true), Ok(spent));
        assert!(parse_block_undo(&[bytes, &[0]].concat(), false).is_err());
    }
}
