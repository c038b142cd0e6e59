//! Reads of one owner's transactions: selects the inputs and outputs that are read.
//!
//! The largest inputs or outputs of each transaction are read, up to a limit for all transactions together.
//! Transactions that moved the largest amounts for the owner come first, so that many small payments cannot displace a
//! large payment with many inputs. Entries of certain owners, such as listed ones, are always read.

use std::cmp::Reverse;

use super::{ChainView, TransactionRead, ViewError};
use crate::{
    evidence::Direction,
    ledger::{OwnHistory, OwnTransaction, OwnerNumber, ReadLimits, TransactionNumber},
};

/// Number of entries that are read of each of an owner's transactions in one direction: the largest inputs towards
/// sources, or outputs towards destinations.
///
/// # Errors
///
/// Returns an error if the store behind the view fails.
pub fn entries_of_each(
    view: &dyn ChainView,
    own: &[OwnTransaction],
    direction: Direction,
    limits: ReadLimits,
) -> Result<Vec<u32>, ViewError> {
    let all = vec![limits.max_entries_per_transaction(); own.len()];
    if own.len() as u64 * u64::from(limits.max_entries_per_transaction())
        <= u64::from(limits.entries)
    {
        return Ok(all);
    }
    let mut order: Vec<usize> = (0..own.len()).collect();
    // Sorting keeps the order of the chain among equals.
    order.sort_by_key(|index| own.get(*index).map(|own| Reverse(amount_moved(own, direction))));
    let (mut left, mut read) = (u64::from(limits.entries), TransactionRead::default());
    let mut most = all;
    for index in order {
        let (Some(own), Some(most)) = (own.get(index), most.get_mut(index)) else { continue };
        view.read(own.number, direction, 0, &mut read)?;
        let count = read.side(direction).count.min(u64::from(*most));
        if count > left {
            *most = u32::try_from(left).unwrap_or(*most);
        }
        left = left.saturating_sub(count);
    }
    Ok(most)
}

/// Amount that a transaction moved for its owner, change included.
const fn amount_moved(own: &OwnTransaction, direction: Direction) -> u128 {
    match direction {
        Direction::Source => own.received,
        Direction::Destination => own.sent,
    }
}

/// Reads the `most` largest inputs or outputs of a transaction, and all entries of owners that `always` selects.
///
/// # Errors
///
/// Returns an error if the store behind the view fails.
pub fn read_own(
    view: &dyn ChainView,
    (number, direction): (TransactionNumber, Direction),
    most: u32,
    always: &mut dyn FnMut(OwnerNumber) -> Result<bool, ViewError>,
    into: &mut TransactionRead,
) -> Result<(), ViewError> {
    view.read(number, direction, most, into)?;
    if into.entries.len() as u64 >= into.side(direction).count {
        return Ok(());
    }
    let mut all = TransactionRead::default();
    view.read(number, direction, u32::MAX, &mut all)?;
    let is_read = |index| into.entries.binary_search_by_key(&index, |entry| entry.index).is_ok();
    let mut more = Vec::new();
    for entry in all.entries {
        if !is_read(entry.index) && always(entry.owner)? {
            more.push(entry);
        }
    }
    into.entries.append(&mut more);
    into.entries.sort_unstable_by_key(|entry| entry.index);
    Ok(())
}

impl OwnHistory {
    /// True if the history holds all transactions of the owner, and all inputs or outputs of these transactions are
    /// read within `limits`.
    ///
    /// # Errors
    ///
    /// Returns an error if the store behind the view fails.
    pub fn is_whole(&self, view: &dyn ChainView, limits: ReadLimits) -> Result<bool, ViewError> {
        let income = self.incoming.iter().map(|own| own.income(own.inputs));
        let spending = self.outgoing.iter().map(|own| own.spending(own.inputs));
        if income.sum::<u128>() < self.statistics.received
            || spending.sum::<u128>() < self.statistics.sent
        {
            return Ok(false);
        }
        let mut read = TransactionRead::default();
        for (direction, own) in
            [(Direction::Source, &self.incoming), (Direction::Destination, &self.outgoing)]
        {
            let most = entries_of_each(view, own, direction, limits)?;
            for (own, most) in own.iter().zip(most) {
                view.read(own.number, direction, 0, &mut read)?;
                if read.side(direction).count > u64::from(most) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Adds transactions, each once, to a history. The view's numbers must follow the order of the chain.
    pub fn add(&mut self, direction: Direction, added: impl IntoIterator<Item = OwnTransaction>) {
        let own = match direction {
            Direction::Source => &mut self.incoming,
            Direction::Destination => &mut self.outgoing,
        };
        own.extend(added);
        own.sort_by_key(|own| own.number);
        own.dedup_by_key(|own| own.number);
    }
}
