//! The merkle tree of a block's transactions.

use assay_engine::utxo::Txid;

use super::{hash256, reversed};

/// Repeated transactions: the merkle root does not distinguish them from single ones (CVE-2012-2459).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepeatedTransactions;

/// Returns the merkle root of these transactions, in serialized byte order; zeros if there are no transactions.
///
/// # Errors
///
/// Returns an error if fewer transactions would have the same root.
pub fn merkle_root(
    transactions: impl IntoIterator<Item = Txid>,
) -> Result<[u8; 32], RepeatedTransactions> {
    let mut level: Vec<[u8; 32]> =
        transactions.into_iter().map(|txid| reversed(*txid.as_bytes())).collect();
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| match pair {
                [left, right] if left == right => Err(RepeatedTransactions),
                [left, right] => Ok(hash256(&[left, right])),
                [only] => Ok(hash256(&[only, only])),
                _ => Ok([0; 32]),
            })
            .collect::<Result<_, _>>()?;
    }
    Ok(reversed(level.first().copied().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(txids: &[&str]) -> Result<String, RepeatedTransactions> {
        merkle_root(txids.iter().map(|txid| txid.parse().unwrap())).map(hex::encode)
    }

    // Block 50001 of Bitcoin.
    const BLOCK: [&str; 3] = [
        "e1882d41800d96d0fddc196cd8d3f0b45d65b030c652d97eaba79a1174e64d58",
        "7940cdde4d713e171849efc6bd89939185be270266c94e92369e3877ad89455a",
        "f84761459a00c6df3176ae5d94c99e69f25100d09548e5686bd0c354bb8cc60a",
    ];

    #[test]
    fn of_a_real_block() {
        let expected = "ee3a2d2b895cafacff526d06a55b55e049cf84a9735e4a63f7fd08f96d0f4649";
        assert_eq!(root(&BLOCK).unwrap(), expected);
        assert_eq!(root(&BLOCK[..1]).unwrap(), BLOCK[0]);
    }

    #[test]
    fn a_repeated_end_is_noticed() {
        let [one, two, three] = BLOCK;
        assert_eq!(root(&[one, two, three, three]), Err(RepeatedTransactions));
        // A whole pair is repeated one level up.
        let pairs = [one, two, three, one, two, three];
        assert!(root(&pairs).is_ok());
        assert_eq!(root(&[&pairs[..], &pairs[4..]].concat()), Err(RepeatedTransactions));
    }
}
