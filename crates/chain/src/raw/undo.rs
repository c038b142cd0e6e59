//! Outputs that a block spends, in the binary form of Bitcoin Core's REST interface.

use super::{
    RawError,
    cursor::Cursor,
    transaction::{RawOutput, read_outputs},
};

/// Parses the outputs that each transaction of a block spends, in order; none for the coinbase.
///
/// # Errors
///
/// Returns an error if the bytes are not in this form.
pub fn parse_spent(bytes: &[u8]) -> Result<Vec<Vec<RawOutput<'_>>>, RawError> {
    let mut cursor = Cursor::new(bytes);
    let spent = (0..cursor.count(1, "transactions")?)
        .map(|_| read_outputs(&mut cursor))
        .collect::<Result<_, _>>()?;
    if cursor.offset() < cursor.length() {
        return Err(RawError::Longer { at: cursor.offset(), length: cursor.length() });
    }
    Ok(spent)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spent_outputs_by_transaction() {
        let bytes = [&[2, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0x51, 0x52][..]].concat();
        let spent = parse_spent(&bytes).unwrap();
        assert_eq!(spent, [vec![], vec![RawOutput { value: 7, script: &[0x51, 0x52] }]]);
        assert!(parse_spent(&bytes[..9]).is_err());
        assert!(parse_spent(&[&bytes[..], &[0]].concat()).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = parse_spent(&bytes);
        }
    }
}
