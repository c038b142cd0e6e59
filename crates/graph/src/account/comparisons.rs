//! Comparison of ledgers with the balances that a node of the chain states: the accounts that wait for it, and what it found.
//! It is in the memory of the program that follows the chain: readers request it, and the follower does it.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use assay_address::ChainId;
use assay_engine::account::AccountAddress;
use jiff::{SignedDuration, Timestamp};

/// Most accounts of a chain that wait: a later request is dropped.
const MOST_WAITING: usize = 100;
/// Most accounts of a chain whose comparison is remembered.
const MOST_KNOWN: usize = 10_000;
/// Time between two comparisons of one account.
const INTERVAL: SignedDuration = SignedDuration::from_hours(1);

/// The comparisons of all chains that this program follows from a node.
#[derive(Debug, Default)]
pub struct LedgerComparisons(Mutex<HashMap<ChainId, OfChain>>);

#[derive(Debug, Default)]
struct OfChain {
    waiting: VecDeque<AccountAddress>,
    known: HashMap<AccountAddress, LastComparison>,
    dropped: u64,
}

/// The last comparison of an account.
#[derive(Debug)]
struct LastComparison {
    requested_at: Timestamp,
    exceeding: Vec<&'static str>,
}

impl LedgerComparisons {
    /// Begins to accept requests for a chain.
    pub fn begin(&self, chain: ChainId) {
        self.all().entry(chain).or_default();
    }

    /// Requests the comparison of an account, unless one was requested within the hour or nobody compares the chain's ledgers.
    /// A request is dropped while too many wait.
    pub fn request(&self, chain: ChainId, account: AccountAddress, now: Timestamp) {
        let mut all = self.all();
        let Some(OfChain { waiting, known, dropped }) = all.get_mut(&chain) else { return };
        let is_recent = |known: &LastComparison| now.duration_since(known.requested_at) < INTERVAL;
        if known.get(&account).is_some_and(is_recent) {
            return;
        }
        if known.len() >= MOST_KNOWN {
            known.retain(|_, known| is_recent(known));
        }
        if waiting.len() >= MOST_WAITING || known.len() >= MOST_KNOWN {
            *dropped += 1;
            return;
        }
        let exceeding = known.remove(&account).map(|known| known.exceeding).unwrap_or_default();
        known.insert(account, LastComparison { requested_at: now, exceeding });
        waiting.push_back(account);
    }

    /// The next account of a chain to compare.
    #[must_use]
    pub fn next(&self, chain: ChainId) -> Option<AccountAddress> {
        self.all().get_mut(&chain)?.waiting.pop_front()
    }

    /// Keeps the tickers of the assets of which the ledgers of an account hold more than the node says.
    pub fn keep(&self, chain: ChainId, account: AccountAddress, exceeding: Vec<&'static str>) {
        let mut all = self.all();
        let known = all.get_mut(&chain).and_then(|of_chain| of_chain.known.get_mut(&account));
        if let Some(known) = known {
            known.exceeding = exceeding;
        }
    }

    /// The tickers of the assets of which the ledgers of an account held more than the node said at the last comparison.
    #[must_use]
    pub fn exceeding(&self, chain: ChainId, account: AccountAddress) -> Vec<&'static str> {
        let all = self.all();
        let known = all.get(&chain).and_then(|of_chain| of_chain.known.get(&account));
        known.map(|known| known.exceeding.clone()).unwrap_or_default()
    }

    /// Number of requests for a chain that were dropped.
    #[must_use]
    pub fn dropped(&self, chain: ChainId) -> u64 {
        self.all().get(&chain).map_or(0, |of_chain| of_chain.dropped)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<ChainId, OfChain>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(number: usize) -> AccountAddress {
        let mut bytes = [7; 20];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        AccountAddress(bytes)
    }

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    /// Given requests for one account, then it is compared once an hour, and what was found last stays until then.
    #[test]
    fn an_account_is_compared_once_an_hour() {
        let comparisons = LedgerComparisons::default();
        comparisons.request(ChainId::ETH, account(1), at(0));
        assert_eq!(comparisons.next(ChainId::ETH), None, "nobody compares yet");
        comparisons.begin(ChainId::ETH);
        comparisons.request(ChainId::ETH, account(1), at(0));
        comparisons.request(ChainId::ETH, account(1), at(59));
        assert_eq!(comparisons.next(ChainId::ETH), Some(account(1)));
        assert_eq!(comparisons.next(ChainId::ETH), None);
        comparisons.keep(ChainId::ETH, account(1), vec!["USDT"]);
        comparisons.request(ChainId::ETH, account(1), at(60));
        assert_eq!(comparisons.exceeding(ChainId::ETH, account(1)), ["USDT"]);
        assert_eq!(comparisons.next(ChainId::ETH), Some(account(1)));
        comparisons.keep(ChainId::ETH, account(1), Vec::new());
        assert!(comparisons.exceeding(ChainId::ETH, account(1)).is_empty());
    }

    /// Given more requests than may wait, then later ones are dropped and counted, and can be repeated.
    #[test]
    fn requests_are_dropped_while_too_many_wait() {
        let comparisons = LedgerComparisons::default();
        comparisons.begin(ChainId::ETH);
        for number in 0..MOST_WAITING + 3 {
            comparisons.request(ChainId::ETH, account(number), at(0));
        }
        assert_eq!(comparisons.dropped(ChainId::ETH), 3);
        let waiting = || std::iter::from_fn(|| comparisons.next(ChainId::ETH)).count();
        assert_eq!(waiting(), MOST_WAITING);
        comparisons.request(ChainId::ETH, account(MOST_WAITING), at(0));
        assert_eq!(waiting(), 1);
    }

    /// Given more accounts than are remembered, then those of the last hour stay.
    #[test]
    fn remembered_accounts_are_bounded() {
        let comparisons = LedgerComparisons::default();
        comparisons.begin(ChainId::ETH);
        for number in 0..MOST_KNOWN {
            comparisons.request(ChainId::ETH, account(number), at(i64::from(number >= 10)));
            let _ = comparisons.next(ChainId::ETH);
        }
        comparisons.request(ChainId::ETH, account(MOST_KNOWN), at(59));
        assert_eq!(comparisons.dropped(ChainId::ETH), 1);
        comparisons.request(ChainId::ETH, account(MOST_KNOWN), at(60));
        assert_eq!(comparisons.dropped(ChainId::ETH), 1);
    }
}
