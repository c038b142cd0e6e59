//! Payments of the accounts around an account, read within a budget, in micro-dollars.

use std::rc::Rc;

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};

use super::worth::Worth;
use crate::{
    account::{AccountView, AssetNumber, Payment},
    evidence::Direction,
    ledger::{OwnerNumber, TransactionNumber},
    patterns::rules::AROUND_WITHIN,
};

/// Most payments of an account that is read whole.
const MOST_OF_WHOLE: u64 = 20;
/// Most payments of a larger account that are read from one payment on or back, in the asset of that payment.
const MOST_OF_LARGE: usize = 10;

/// A payment of one account to another with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) transaction: TransactionNumber,
    pub(super) time: Timestamp,
    pub(super) from: OwnerNumber,
    pub(super) to: OwnerNumber,
    pub(super) asset: AssetNumber,
    pub(super) amount: u128,
}

/// Reads payments of other accounts.
pub(super) struct Neighbors<'a> {
    view: &'a dyn AccountView,
    owner: OwnerNumber,
    /// Accounts that were read whole; `None` for large ones.
    known: FxHashMap<OwnerNumber, Option<Rc<[Moved]>>>,
    /// Transactions of others that were read.
    read: FxHashSet<TransactionNumber>,
    /// Number of payments that may be read.
    pub(super) left: usize,
    /// False if a limit of the search was reached.
    pub(super) is_whole: bool,
}

impl<'a> Neighbors<'a> {
    pub(super) fn new(view: &'a dyn AccountView, owner: OwnerNumber) -> Self {
        let (known, read) = (FxHashMap::default(), FxHashSet::default());
        Self { view, owner, known, read, left: 0, is_whole: true }
    }

    /// Number of transactions of others that were read.
    pub(super) fn transactions(&self) -> u64 {
        self.read.len() as u64
    }

    /// All payments of an account, fees aside, in the order of the chain; `None` for a large account, or if no more may be
    /// read.
    pub(super) fn whole(&mut self, of: OwnerNumber, worth: &mut Worth<'_>) -> Option<Rc<[Moved]>> {
        if let Some(known) = self.known.get(&of) {
            return known.clone();
        }
        let count = self.view.payment_count(of);
        let is_small = count <= MOST_OF_WHOLE;
        if is_small && usize::try_from(count).is_ok_and(|count| count > self.left) {
            self.is_whole = false;
            return None;
        }
        let whole = is_small.then(|| {
            let payments = self.view.payments(of, usize::try_from(count).unwrap_or(0)).payments;
            self.left = self.left.saturating_sub(payments.len());
            self.moved(payments, worth)
        });
        self.known.insert(of, whole.clone());
        whole
    }

    /// The payments of an account within the time of a cycle after (`Destination`) or before (`Source`) a transaction, in
    /// the order of the chain.
    pub(super) fn near(
        &mut self,
        of: OwnerNumber,
        (at, time, asset): (TransactionNumber, Timestamp, AssetNumber),
        direction: Direction,
        worth: &mut Worth<'_>,
    ) -> Vec<Moved> {
        let moved = match self.whole(of, worth) {
            Some(whole) => whole,
            None => self.of_large((of, asset), at, direction, worth),
        };
        let is_near = |moved: &&Moved| {
            let is_in_order = match direction {
                Direction::Destination => moved.transaction > at,
                Direction::Source => moved.transaction < at,
            };
            is_in_order && moved.time.duration_since(time).abs() <= AROUND_WITHIN
        };
        moved.iter().filter(is_near).copied().collect()
    }

    fn of_large(
        &mut self,
        (of, asset): (OwnerNumber, AssetNumber),
        at: TransactionNumber,
        direction: Direction,
        worth: &mut Worth<'_>,
    ) -> Rc<[Moved]> {
        let most = MOST_OF_LARGE.min(self.left);
        let mut payments = match direction {
            Direction::Destination => {
                let after = TransactionNumber(at.0.saturating_add(1));
                self.view.payments_from(of, asset, after, most)
            }
            Direction::Source => self.view.payments_before(of, asset, at, most),
        };
        self.left = self.left.saturating_sub(payments.len());
        // Payments in other assets are not read.
        self.is_whole = false;
        payments.sort_by_key(|payment| (payment.transaction, payment.sequence));
        self.moved(payments, worth)
    }

    fn moved(&mut self, payments: Vec<Payment>, worth: &mut Worth<'_>) -> Rc<[Moved]> {
        let moved = payments.into_iter().filter(|it| it.kind.is_payment());
        let moved = moved.filter_map(|payment| {
            let Payment { transaction, from, to, asset, amount, .. } = payment;
            let scored = self.view.scored(asset)?;
            if from != self.owner && to != self.owner {
                self.read.insert(transaction);
            }
            let time = self.view.time(transaction);
            let amount = worth.of(scored, amount, time);
            Some(Moved { transaction, time, from, to, asset, amount })
        });
        moved.collect()
    }
}
