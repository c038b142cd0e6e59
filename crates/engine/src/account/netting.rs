//! Netting: the payments between accounts that a transaction amounts to (`docs/model/accounts.md` B2).
//!
//! Within a transaction, money often passes through contracts and comes back. Per asset, what went both ways or round in
//! a circle cancels, and an account that passes money on is left out: its payers pay its payees.

use std::collections::{BTreeMap, BTreeSet};

use ruint::aliases::U512;
use rustc_hash::{FxHashMap, FxHashSet};

use super::circles::Circles;
use crate::ledger::OwnerNumber;

/// A sum that one account paid another in one asset within a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The payer.
    pub from: OwnerNumber,
    /// The receiver.
    pub to: OwnerNumber,
    /// The sum in base units.
    pub amount: u128,
}

/// The payments to which the transfers of one asset amount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Netted {
    /// Payments without the accounts that passed money on, in the order of the first transfer of each pair.
    pub paid: Vec<Edge>,
    /// Dealings: payments that are left after opposite payments and circles cancel, and payments through others.
    pub dealings: Vec<Edge>,
}

/// Most pairs of a payer and a payee of an account that is left out: more would make one transaction a burden for all.
pub(super) const MOST_PAIRS: usize = 10_000;

/// Most pairs of a payer and a payee of all accounts that are left out of one asset's payments in a transaction.
const MOST_PAIRS_OF_ALL: usize = 100_000;

/// Most times that an account's pairs become too many or few enough: afterwards it stays.
const MOST_TURNS: u8 = 16;

/// Nets the transfers of one asset within a transaction, in the order of their logs. `is_end` tells the accounts that
/// never pass money on.
#[must_use]
pub fn net(
    transfers: impl IntoIterator<Item = Edge>,
    is_end: impl Fn(OwnerNumber) -> bool,
) -> Netted {
    let mut pairs = Pairs::default();
    for edge in transfers {
        if edge.amount > 0 && edge.from != edge.to {
            pairs.add(edge);
        }
    }
    if pairs.edges.len() < 2 || !pairs.is_connected() {
        let paid = pairs.edges;
        return Netted { dealings: paid.clone(), paid };
    }
    pairs.cancel_opposite();
    pairs.cancel_circles();
    let before = pairs.edges.clone();
    Joining::new(&mut pairs, is_end).join();
    let through = pairs.edges.iter().enumerate().filter_map(|(index, edge)| {
        let known = before.get(index).map_or(0, |edge| edge.amount);
        let more = edge.amount.saturating_sub(known);
        (more > 0).then_some(Edge { amount: more, ..*edge })
    });
    let live = |edge: &Edge| edge.amount > 0;
    let dealings = before.iter().copied().filter(live).chain(through).collect();
    pairs.edges.retain(live);
    Netted { paid: pairs.edges, dealings }
}

/// Sums by ordered pair, in the order of their first transfers.
#[derive(Debug, Default)]
struct Pairs {
    edges: Vec<Edge>,
    positions: FxHashMap<(OwnerNumber, OwnerNumber), usize>,
}

impl Pairs {
    /// Adds an amount. Returns the position of the pair.
    fn add(&mut self, edge: Edge) -> usize {
        let next = self.edges.len();
        let position = *self.positions.entry((edge.from, edge.to)).or_insert(next);
        match self.edges.get_mut(position) {
            Some(known) => known.amount = known.amount.saturating_add(edge.amount),
            None => self.edges.push(edge),
        }
        position
    }

    /// True if an account both pays and receives.
    fn is_connected(&self) -> bool {
        let receivers: FxHashSet<OwnerNumber> = self.edges.iter().map(|edge| edge.to).collect();
        self.edges.iter().any(|edge| receivers.contains(&edge.from))
    }

    fn amount(&self, position: usize) -> u128 {
        self.edges.get(position).map_or(0, |edge| edge.amount)
    }

    /// Takes an amount off a pair. Returns what is left.
    fn take(&mut self, position: usize, amount: u128) -> u128 {
        let Some(edge) = self.edges.get_mut(position) else { return 0 };
        edge.amount = edge.amount.saturating_sub(amount);
        edge.amount
    }

    fn cancel_opposite(&mut self) {
        for position in 0..self.edges.len() {
            let Some(Edge { from, to, amount }) = self.edges.get(position).copied() else { return };
            let Some(opposite) = self.positions.get(&(to, from)).copied() else { continue };
            let less = amount.min(self.amount(opposite));
            self.take(position, less);
            self.take(opposite, less);
        }
    }

    fn cancel_circles(&mut self) {
        let mut search = Circles::among(self.edges.iter().map(|edge| (edge.from, edge.to)));
        while let Some(circle) = search.next(|position| self.amount(position) > 0) {
            let least = circle.iter().map(|position| self.amount(*position)).min().unwrap_or(0);
            for position in circle {
                self.take(position, least);
            }
        }
    }
}

/// Accounts that pass money on, while they are left out one after another: payers pay payees, in proportion.
struct Joining<'p> {
    pairs: &'p mut Pairs,
    accounts: FxHashMap<OwnerNumber, Account>,
    /// Accounts that are left out next, by the first pairs that pay them.
    ready: BTreeMap<usize, OwnerNumber>,
    /// Pairs that may still be made.
    room: usize,
}

/// An account with its pairs that have an amount left.
#[derive(Debug, Default)]
struct Account {
    incoming: BTreeSet<usize>,
    outgoing: BTreeSet<usize>,
    /// True if it is to be left out.
    passes: bool,
    /// True if it is never left out.
    stays: bool,
    /// Times that `passes` changed.
    turns: u8,
    /// Number of its payers that are to be left out.
    waits_for: usize,
    /// Its place among the accounts that are left out next.
    ready_at: Option<usize>,
}

impl Account {
    fn pairs(&self) -> usize {
        self.incoming.len().saturating_mul(self.outgoing.len())
    }
}

impl<'p> Joining<'p> {
    fn new(pairs: &'p mut Pairs, is_end: impl Fn(OwnerNumber) -> bool) -> Self {
        let mut accounts: FxHashMap<OwnerNumber, Account> = FxHashMap::default();
        for (position, edge) in pairs.edges.iter().enumerate().filter(|(_, edge)| edge.amount > 0) {
            accounts.entry(edge.from).or_default().outgoing.insert(position);
            accounts.entry(edge.to).or_default().incoming.insert(position);
        }
        for (owner, account) in &mut accounts {
            account.stays = is_end(*owner);
        }
        let owners: Vec<OwnerNumber> = accounts.keys().copied().collect();
        let mut joining = Self { pairs, accounts, ready: BTreeMap::new(), room: MOST_PAIRS_OF_ALL };
        for owner in owners {
            joining.update(owner);
        }
        joining
    }

    /// Leaves accounts out: first, in the order of the transfers, those none of whose payers is to be left out. Accounts with too
    /// many pairs of payers and payees stay.
    fn join(mut self) {
        while let Some((_, owner)) = self.ready.pop_first() {
            let pairs = self.accounts.get(&owner).map_or(0, Account::pairs);
            if let Some(room) = self.room.checked_sub(pairs) {
                self.room = room;
                self.join_at(owner);
            } else if let Some(account) = self.accounts.get_mut(&owner) {
                account.stays = true;
                self.update(owner);
            }
        }
    }

    /// Finds out whether an account is to be left out, after its pairs changed.
    fn update(&mut self, owner: OwnerNumber) {
        let Some(account) = self.accounts.get_mut(&owner) else { return };
        let passes = !account.stays && (1..=MOST_PAIRS).contains(&account.pairs());
        if account.passes != passes {
            account.turns = account.turns.saturating_add(1);
            account.stays |= account.turns >= MOST_TURNS && !passes;
            self.set(owner, passes);
        }
        self.note(owner);
    }

    /// Sets whether an account is to be left out, which its payees wait for.
    fn set(&mut self, owner: OwnerNumber, passes: bool) {
        let Some(account) = self.accounts.get_mut(&owner) else { return };
        account.passes = passes;
        for position in account.outgoing.clone() {
            let Some(payee) = self.pairs.edges.get(position).map(|edge| edge.to) else { continue };
            if let Some(account) = self.accounts.get_mut(&payee) {
                let others = account.waits_for.saturating_sub(1);
                account.waits_for = if passes { account.waits_for + 1 } else { others };
            }
            self.note(payee);
        }
    }

    /// Notes whether an account is one of those that are left out next.
    fn note(&mut self, owner: OwnerNumber) {
        let Some(account) = self.accounts.get_mut(&owner) else { return };
        let is_ready = account.passes && account.waits_for == 0;
        let ready_at = account.incoming.first().copied().filter(|_| is_ready);
        if account.ready_at == ready_at {
            return;
        }
        if let Some(before) = std::mem::replace(&mut account.ready_at, ready_at) {
            self.ready.remove(&before);
        }
        if let Some(ready_at) = ready_at {
            self.ready.insert(ready_at, owner);
        }
    }

    fn edges(&self, positions: &BTreeSet<usize>) -> Vec<Edge> {
        positions.iter().filter_map(|position| self.pairs.edges.get(*position).copied()).collect()
    }

    /// Lets the payers of an account pay its payees.
    fn join_at(&mut self, owner: OwnerNumber) {
        self.set(owner, false);
        let Some(account) = self.accounts.get_mut(&owner) else { return };
        account.stays = true;
        let (from, to) = (account.incoming.clone(), account.outgoing.clone());
        let (incoming, outgoing) = (self.edges(&from), self.edges(&to));
        let (received, paid) = (sum(&incoming), sum(&outgoing));
        let passed = received.min(paid);
        let taken_in = divided(passed, &incoming, received);
        let taken_out = divided(passed, &outgoing, paid);
        let matrix = Matrix::of(passed, (&incoming, received), (&outgoing, paid));
        let matrix = matrix.with_remainders(&taken_in, &taken_out);
        for (position, part) in from.iter().zip(&taken_in).chain(to.iter().zip(&taken_out)) {
            if self.pairs.take(*position, *part) == 0 {
                self.forget(*position);
            }
        }
        for (payer, row) in incoming.iter().zip(&matrix.rows) {
            for (payee, part) in outgoing.iter().zip(row) {
                if payer.from != payee.to && *part > 0 {
                    self.pay(Edge { from: payer.from, to: payee.to, amount: *part });
                }
            }
        }
        let payees = outgoing.iter().map(|edge| edge.to);
        for account in incoming.iter().map(|edge| edge.from).chain(payees).chain([owner]) {
            self.update(account);
        }
    }

    /// Adds an amount that a payer pays a payee in the place of an account that is left out.
    fn pay(&mut self, edge: Edge) {
        let position = self.pairs.add(edge);
        self.accounts.entry(edge.from).or_default().outgoing.insert(position);
        self.accounts.entry(edge.to).or_default().incoming.insert(position);
    }

    /// Drops a pair of which nothing is left.
    fn forget(&mut self, position: usize) {
        let Some(Edge { from, to, .. }) = self.pairs.edges.get(position).copied() else { return };
        if let Some(payer) = self.accounts.get_mut(&from) {
            payer.outgoing.remove(&position);
        }
        if let Some(payee) = self.accounts.get_mut(&to) {
            payee.incoming.remove(&position);
        }
    }
}

fn sum(edges: &[Edge]) -> u128 {
    edges.iter().map(|edge| edge.amount).fold(0, u128::saturating_add)
}

/// `passed` divided in proportion to the edges, rounded down, with the remainder to the first edges that have room.
fn divided(passed: u128, edges: &[Edge], sum: u128) -> Vec<u128> {
    let part = |edge: &Edge| product_over(&[passed, edge.amount], &[sum]);
    let mut parts: Vec<u128> = edges.iter().map(part).collect();
    let all = parts.iter().fold(0, |sum: u128, part| sum.saturating_add(*part));
    let mut rest = passed.saturating_sub(all);
    for (part, edge) in parts.iter_mut().zip(edges) {
        let more = rest.min(edge.amount.saturating_sub(*part));
        *part += more;
        rest -= more;
    }
    parts
}

/// Payments of each payer (a row) to each payee through the account that is left out.
struct Matrix {
    rows: Vec<Vec<u128>>,
}

impl Matrix {
    fn of(
        passed: u128,
        (incoming, received): (&[Edge], u128),
        (outgoing, paid): (&[Edge], u128),
    ) -> Self {
        let row = |payer: &Edge| {
            let part = |payee: &Edge| {
                product_over(&[passed, payer.amount, payee.amount], &[received, paid])
            };
            outgoing.iter().map(part).collect()
        };
        Self { rows: incoming.iter().map(row).collect() }
    }

    /// Adds the remainders row by row, so that rows and columns have their sums.
    fn with_remainders(mut self, rows: &[u128], columns: &[u128]) -> Self {
        let mut of_columns = columns.to_vec();
        for row in &self.rows {
            for (left, part) in of_columns.iter_mut().zip(row) {
                *left = left.saturating_sub(*part);
            }
        }
        for (row, whole) in self.rows.iter_mut().zip(rows) {
            let all = row.iter().fold(0, |sum: u128, part| sum.saturating_add(*part));
            let mut left = whole.saturating_sub(all);
            for (part, of_column) in row.iter_mut().zip(&mut of_columns) {
                let more = left.min(*of_column);
                *part += more;
                *of_column -= more;
                left -= more;
            }
        }
        self
    }
}

/// The product of the factors over the product of the divisors, rounded down. The quotient is at most the first factor.
fn product_over(factors: &[u128], divisors: &[u128]) -> u128 {
    let small = factors.iter().try_fold(1_u128, |product, factor| product.checked_mul(*factor));
    let divisor = divisors.iter().try_fold(1_u128, |product, it| product.checked_mul(*it));
    if let (Some(product), Some(divisor)) = (small, divisor) {
        return product.checked_div(divisor).unwrap_or(0);
    }
    let wide = |of: &[u128]| of.iter().fold(U512::from(1), |product, it| product * U512::from(*it));
    let quotient = wide(factors).checked_div(wide(divisors)).unwrap_or_default();
    u128::try_from(quotient).unwrap_or(u128::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn owner(number: u64) -> OwnerNumber {
        OwnerNumber(number)
    }

    fn edge((from, to, amount): (u64, u64, u128)) -> Edge {
        Edge { from: owner(from), to: owner(to), amount }
    }

    fn netted(transfers: &[(u64, u64, u128)], ends: &[u64]) -> Netted {
        net(transfers.iter().copied().map(edge), |account| ends.contains(&account.0))
    }

    #[test]
    fn opposite_payments_cancel() {
        let paid = netted(&[(1, 2, 100), (2, 1, 30)], &[]).paid;
        assert_eq!(paid, [edge((1, 2, 70))]);
        assert_eq!(netted(&[(1, 2, 100), (2, 1, 100)], &[]).paid, []);
    }

    #[test]
    fn circles_cancel_by_their_least_amount() {
        // A flash loan around a payment: 9 lends 4,000 and gets them back.
        let paid = netted(&[(9, 1, 4000), (1, 2, 100), (1, 9, 4000)], &[]).paid;
        assert_eq!(paid, [edge((1, 2, 100))]);
        let paid = netted(&[(1, 2, 50), (2, 3, 40), (3, 1, 30)], &[]).paid;
        assert_eq!(paid, [edge((1, 2, 10)), edge((1, 3, 10))]);
    }

    #[test]
    fn an_account_that_passes_money_on_is_left_out() {
        let found = netted(&[(1, 5, 100), (5, 2, 60), (5, 3, 40)], &[]);
        assert_eq!(found.paid, [edge((1, 2, 60)), edge((1, 3, 40))]);
        assert!(found.dealings.contains(&edge((1, 5, 100))), "{:?}", found.dealings);
        assert!(found.dealings.contains(&edge((1, 2, 60))), "{:?}", found.dealings);
        // A party at which money ends is not passed.
        let found = netted(&[(1, 5, 100), (5, 2, 60)], &[5]);
        assert_eq!(found.paid, [edge((1, 5, 100)), edge((5, 2, 60))]);
    }

    #[test]
    fn what_it_keeps_stays_with_it() {
        let paid = netted(&[(1, 5, 100), (4, 5, 100), (5, 2, 50)], &[]).paid;
        assert_eq!(paid, [edge((1, 5, 75)), edge((4, 5, 75)), edge((1, 2, 25)), edge((4, 2, 25))]);
    }

    #[test]
    fn an_account_of_too_many_pairs_stays() {
        let paying = (1..=200).map(|payer| (payer, 999, 10));
        let receiving = (1001..=1200).map(|payee| (999, payee, 10));
        let transfers: Vec<_> = paying.chain(receiving).collect();
        assert_eq!(netted(&transfers, &[]).paid.len(), transfers.len());
    }

    #[test]
    fn sums_of_more_than_128_bits_end_no_program() {
        let large = u128::MAX;
        let paid = netted(&[(1, 5, large), (2, 5, large), (5, 3, 100)], &[]).paid;
        assert!(!paid.is_empty());
        let half = 1 << 127;
        let paid =
            netted(&[(1, 5, half), (2, 5, half), (3, 5, half), (5, 4, 100), (5, 6, half)], &[])
                .paid;
        assert!(!paid.is_empty());
    }

    #[test]
    fn a_chain_of_many_accounts_is_one_payment() {
        let transfers: Vec<_> = (0..2_000).map(|account| (account, account + 1, 7)).collect();
        assert_eq!(netted(&transfers, &[]).paid, [edge((0, 2_000, 7))]);
    }

    proptest! {
        #[test]
        fn each_account_gains_what_its_transfers_gave(
            transfers in prop::collection::vec((0..6_u64, 0..6_u64, 0..1_000_000_u128), 0..14),
            scale in 0..70_u32,
        ) {
            let scaled: Vec<_> = transfers.iter()
                .map(|(from, to, amount)| (*from, *to, amount << scale)).collect();
            let found = netted(&scaled, &[0]);
            let gains = |edges: &[Edge]| {
                let mut gains = [0_i128; 6];
                for edge in edges.iter().filter(|edge| edge.from != edge.to) {
                    let amount = i128::try_from(edge.amount).unwrap();
                    gains[usize::try_from(edge.from.0).unwrap()] -= amount;
                    gains[usize::try_from(edge.to.0).unwrap()] += amount;
                }
                gains
            };
            let all: Vec<Edge> = scaled.iter().copied().map(edge).collect();
            prop_assert_eq!(gains(&found.paid), gains(&all));
            // Nobody but an end both receives and pays.
            for account in 1..6 {
                let pays = found.paid.iter().any(|edge| edge.from == owner(account));
                let receives = found.paid.iter().any(|edge| edge.to == owner(account));
                prop_assert!(!(pays && receives), "{account}: {:?}", found.paid);
            }
        }
    }
}
