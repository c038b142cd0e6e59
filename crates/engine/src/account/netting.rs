//! Netting: the payments between accounts that a transaction amounts to (`docs/model/accounts.md` B2).
//!
//! Within a transaction, money often passes through contracts and comes back. Per asset, what went both ways or round in
//! a circle cancels, and an account that passes money on is left out: its payers pay its payees.

use std::collections::HashMap;

use ruint::aliases::U512;
use rustc_hash::{FxHashMap, FxHashSet};

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

/// Numbers of payments by account.
type Counts = FxHashMap<OwnerNumber, usize>;

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
            pairs.add(edge.from, edge.to, edge.amount);
        }
    }
    if pairs.len() < 2 || !pairs.is_connected() {
        let paid = pairs.edges();
        return Netted { dealings: paid.clone(), paid };
    }
    pairs.cancel_opposite();
    pairs.cancel_circles();
    let before = pairs.clone();
    pairs.join(&is_end);
    let through = pairs.edges().into_iter().filter_map(|edge| {
        let known = before.get(edge.from, edge.to);
        let more = edge.amount.saturating_sub(known);
        (more > 0).then_some(Edge { amount: more, ..edge })
    });
    let dealings = before.edges().into_iter().chain(through).collect();
    Netted { paid: pairs.edges(), dealings }
}

/// Sums by ordered pair, in the order of their first transfers.
#[derive(Clone, Debug, Default)]
struct Pairs {
    order: Vec<(OwnerNumber, OwnerNumber)>,
    sums: FxHashMap<(OwnerNumber, OwnerNumber), u128>,
}

impl Pairs {
    fn add(&mut self, from: OwnerNumber, to: OwnerNumber, amount: u128) {
        let order = &mut self.order;
        let sum = self.sums.entry((from, to)).or_insert_with(|| {
            order.push((from, to));
            0
        });
        *sum = sum.saturating_add(amount);
    }

    fn get(&self, from: OwnerNumber, to: OwnerNumber) -> u128 {
        self.sums.get(&(from, to)).copied().unwrap_or(0)
    }

    fn len(&self) -> usize {
        self.sums.len()
    }

    /// The pairs with a sum above zero.
    fn live(&self) -> impl Iterator<Item = (OwnerNumber, OwnerNumber, u128)> {
        self.order.iter().filter_map(|(from, to)| {
            let amount = *self.sums.get(&(*from, *to))?;
            (amount > 0).then_some((*from, *to, amount))
        })
    }

    fn edges(&self) -> Vec<Edge> {
        self.live().map(|(from, to, amount)| Edge { from, to, amount }).collect()
    }

    /// True if an account both pays and receives.
    fn is_connected(&self) -> bool {
        let receivers: FxHashSet<OwnerNumber> = self.live().map(|(_, to, _)| to).collect();
        self.live().any(|(from, ..)| receivers.contains(&from))
    }

    fn take(&mut self, from: OwnerNumber, to: OwnerNumber, amount: u128) {
        if let Some(sum) = self.sums.get_mut(&(from, to)) {
            *sum = sum.saturating_sub(amount);
        }
    }

    fn cancel_opposite(&mut self) {
        for (from, to) in self.order.clone() {
            let less = self.get(from, to).min(self.get(to, from));
            if less > 0 {
                self.take(from, to, less);
                self.take(to, from, less);
            }
        }
    }

    fn cancel_circles(&mut self) {
        while let Some(circle) = circle_of(self.live().map(|(from, to, _)| (from, to))) {
            let least = circle.iter().map(|(from, to)| self.get(*from, *to)).min().unwrap_or(0);
            for (from, to) in circle {
                self.take(from, to, least);
            }
        }
    }

    /// Leaves out accounts that pass money on: payers pay payees, in proportion.
    fn join(&mut self, is_end: &impl Fn(OwnerNumber) -> bool) {
        while let Some(account) = self.next_to_join(is_end) {
            self.join_at(account);
        }
    }

    /// The first account, in the order of the transfers, that receives and pays and none of whose payers does. Accounts with
    /// too many pairs of payers and payees are not left out.
    fn next_to_join(&self, is_end: &impl Fn(OwnerNumber) -> bool) -> Option<OwnerNumber> {
        let (mut incoming, mut outgoing) = (Counts::default(), Counts::default());
        for (from, to, _) in self.live() {
            *outgoing.entry(from).or_default() += 1;
            *incoming.entry(to).or_default() += 1;
        }
        let passes = |account: OwnerNumber| {
            let number = |of: &Counts| of.get(&account).copied().unwrap_or(0);
            let pairs: usize = number(&incoming).saturating_mul(number(&outgoing));
            (1..=MOST_PAIRS).contains(&pairs) && !is_end(account)
        };
        let after_others: FxHashSet<OwnerNumber> =
            self.live().filter(|(from, ..)| passes(*from)).map(|(_, to, _)| to).collect();
        let mut receivers = self.live().map(|(_, to, _)| to).filter(|to| passes(*to));
        receivers.find(|account| !after_others.contains(account))
    }

    fn join_at(&mut self, account: OwnerNumber) {
        let live: Vec<_> = self.live().collect();
        let incoming: Vec<Edge> = edges(live.iter().filter(|(_, to, _)| *to == account).copied());
        let outgoing: Vec<Edge> = edges(live.iter().filter(|(from, ..)| *from == account).copied());
        let (received, paid) = (sum(&incoming), sum(&outgoing));
        let passed = received.min(paid);
        let taken_in = divided(passed, &incoming, received);
        let taken_out = divided(passed, &outgoing, paid);
        let matrix = Matrix::of(passed, (&incoming, received), (&outgoing, paid));
        let matrix = matrix.with_remainders(&taken_in, &taken_out);
        for (edge, part) in incoming.iter().zip(&taken_in).chain(outgoing.iter().zip(&taken_out)) {
            self.take(edge.from, edge.to, *part);
        }
        for (payer, row) in incoming.iter().zip(&matrix.rows) {
            for (payee, part) in outgoing.iter().zip(row) {
                if payer.from != payee.to && *part > 0 {
                    self.add(payer.from, payee.to, *part);
                }
            }
        }
    }
}

/// The first circle of payments, by a search in depth in the order of the pairs of a payer and a payee.
pub(super) fn circle_of(
    pairs: impl Iterator<Item = (OwnerNumber, OwnerNumber)>,
) -> Option<Vec<(OwnerNumber, OwnerNumber)>> {
    let mut payees: HashMap<OwnerNumber, Vec<OwnerNumber>> = HashMap::new();
    let mut order = Vec::new();
    for (from, to) in pairs {
        let of_payer = payees.entry(from).or_insert_with(|| {
            order.push(from);
            Vec::new()
        });
        of_payer.push(to);
    }
    let mut finished: HashMap<OwnerNumber, bool> = HashMap::new();
    for start in order {
        if finished.contains_key(&start) {
            continue;
        }
        finished.insert(start, false);
        let mut path = vec![(start, 0)];
        while let Some((account, next)) = path.last_mut() {
            let account = *account;
            let payee = payees.get(&account).and_then(|payees| payees.get(*next)).copied();
            *next += 1;
            let Some(payee) = payee else {
                finished.insert(account, true);
                path.pop();
                continue;
            };
            match finished.get(&payee) {
                Some(false) => {
                    let on_circle = path.iter().skip_while(|(on_path, _)| *on_path != payee);
                    let mut members: Vec<_> = on_circle.map(|(member, _)| *member).collect();
                    members.push(payee);
                    return Some(members.windows(2).filter_map(pair).collect());
                }
                None if payees.contains_key(&payee) => {
                    finished.insert(payee, false);
                    path.push((payee, 0));
                }
                Some(true) | None => {}
            }
        }
    }
    None
}

fn pair(two: &[OwnerNumber]) -> Option<(OwnerNumber, OwnerNumber)> {
    match two {
        [from, to] => Some((*from, *to)),
        _ => None,
    }
}

fn edges(pairs: impl Iterator<Item = (OwnerNumber, OwnerNumber, u128)>) -> Vec<Edge> {
    pairs.map(|(from, to, amount)| Edge { from, to, amount }).collect()
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
