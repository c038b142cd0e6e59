//! Rules of what moves money on account chains, in one place for files and nodes: calls that failed with a call above them, kinds of
//! token transfers, fees and withdrawals.

use assay_engine::account::{AccountAddress, TransferKind};
use ruint::aliases::U256;

/// Base units of one unit of a withdrawal of a validator.
const WITHDRAWAL_UNIT: u64 = 1_000_000_000;

/// The amount of a withdrawal in base units.
pub(crate) fn withdrawn(amount: u64) -> U256 {
    U256::from(amount) * U256::from(WITHDRAWAL_UNIT)
}

/// The kind of a token's transfer: new units come from the zero address, and destroyed ones go to it.
pub(crate) fn kind_of_token_transfer(from: AccountAddress, to: AccountAddress) -> TransferKind {
    if from == AccountAddress::ZERO {
        TransferKind::Mint
    } else if to == AccountAddress::ZERO {
        TransferKind::Burn
    } else {
        TransferKind::Transfer
    }
}

/// The parts of a transaction's fee.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fee {
    /// Price of gas at the base fee, and of blobs.
    pub(crate) base: U256,
    /// Part of the producer of the block.
    pub(crate) tip: U256,
}

impl Fee {
    /// The fee of a transaction; `None` if it exceeds 256 bits.
    pub(crate) fn new(gas: U256, price: U256, base_fee: U256, blob_fee: U256) -> Option<Self> {
        let paid = gas.checked_mul(price)?;
        let base = base_fee.saturating_mul(gas).min(paid);
        Some(Self { base: base.checked_add(blob_fee)?, tip: paid - base })
    }
}

/// Calls in the order of their paths, in which each call stands behind the call above it.
#[derive(Debug, Default)]
pub(crate) struct CallTree {
    failed: Option<Box<[u32]>>,
    open: Vec<Box<[u32]>>,
}

/// A call in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeCall {
    /// True if the call or one above it failed.
    pub(crate) is_failed: bool,
    /// True if the call above it was there, or it is the first one.
    pub(crate) has_above: bool,
}

impl CallTree {
    /// Adds the next call. A call that failed takes everything below it along.
    pub(crate) fn add(&mut self, path: &[u32], is_failed: bool) -> TreeCall {
        self.open.retain(|above| path.starts_with(above));
        let is_below = self.failed.as_ref().is_some_and(|failed| path.starts_with(failed));
        if is_failed && !is_below {
            self.failed = Some(path.into());
        }
        let has_above =
            path.split_last().is_none_or(|(_, above)| self.open.iter().any(|it| **it == *above));
        self.open.push(path.into());
        TreeCall { is_failed: is_failed || is_below, has_above }
    }
}

/// The path of a call as explorers write it, such as `0,1`; empty for the call of the transaction itself.
pub(crate) fn path_text(path: &[u32]) -> Box<str> {
    let parts: Vec<_> = path.iter().map(u32::to_string).collect();
    parts.join(",").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_takes_everything_below_it_along() {
        let mut tree = CallTree::default();
        let calls: [(&[u32], bool); 6] = [
            (&[], false),
            (&[0], true),
            (&[0, 0], false),
            (&[0, 0, 1], false),
            (&[1], false),
            (&[10], false),
        ];
        let failed: Vec<_> =
            calls.iter().map(|(path, failed)| tree.add(path, *failed).is_failed).collect();
        assert_eq!(failed, [false, true, true, true, false, false]);
        assert!(!tree.add(&[11, 0], false).has_above);
    }

    #[test]
    fn the_base_fee_is_never_more_than_the_fee() {
        let of = |gas: u64, price: u64, base: u64| {
            Fee::new(U256::from(gas), U256::from(price), U256::from(base), U256::from(7))
        };
        assert_eq!(of(10, 5, 3), Some(Fee { base: U256::from(37), tip: U256::from(20) }));
        assert_eq!(of(10, 5, 9), Some(Fee { base: U256::from(57), tip: U256::ZERO }));
        assert_eq!(Fee::new(U256::MAX, U256::from(2), U256::ZERO, U256::ZERO), None);
    }
}
