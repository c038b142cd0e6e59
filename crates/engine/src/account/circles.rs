//! Circles of payments, one after another: a search in depth in the order of the payments. It goes on from where it was, so that
//! the cost of a transaction grows with its payments and with the lengths of its circles.

use rustc_hash::FxHashMap;

use crate::ledger::OwnerNumber;

/// A search for circles among payments, by their positions.
#[derive(Debug)]
pub(super) struct Circles {
    /// Payer and payee of each payment, as positions of accounts.
    payments: Vec<(usize, usize)>,
    /// The payments of each account, in order.
    paid: Vec<Vec<usize>>,
    /// Number of each account's payments that lead to no circle.
    done: Vec<usize>,
    visits: Vec<Visit>,
    /// Number of payments from the beginning whose payers are on no circle.
    first: usize,
    start: Option<usize>,
    /// The payments from the start to the account at which the search is.
    path: Vec<usize>,
    /// Number of payments of the path before the last circle that was found.
    unchanged: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Visit {
    New,
    OnPath,
    /// The account is on no circle.
    Done,
}

impl Circles {
    /// A search among payments from a payer to another payee.
    pub(super) fn among(payments: impl Iterator<Item = (OwnerNumber, OwnerNumber)>) -> Self {
        let mut positions: FxHashMap<OwnerNumber, usize> = FxHashMap::default();
        let mut position = |owner: OwnerNumber| {
            let next = positions.len();
            *positions.entry(owner).or_insert(next)
        };
        let payments: Vec<(usize, usize)> =
            payments.map(|(from, to)| (position(from), position(to))).collect();
        let mut paid = vec![Vec::new(); positions.len()];
        for (index, (from, _)) in payments.iter().enumerate() {
            if let Some(of_payer) = paid.get_mut(*from) {
                of_payer.push(index);
            }
        }
        Self {
            done: vec![0; paid.len()],
            visits: vec![Visit::New; paid.len()],
            payments,
            paid,
            first: 0,
            start: None,
            path: Vec::new(),
            unchanged: 0,
        }
    }

    /// The payments of the next circle, in its order; `None` if there is none. `is_live` tells payments that are left; it may
    /// change between two calls for payments of the circle that was found.
    pub(super) fn next(&mut self, is_live: impl Fn(usize) -> bool) -> Option<Vec<usize>> {
        let changed = self.path.iter().skip(self.unchanged).position(|index| !is_live(*index));
        if let Some(changed) = changed {
            self.return_to(self.unchanged + changed);
        }
        loop {
            let account = self.account(&is_live)?;
            let next = self.paid.get(account)?.get(*self.done.get(account)?).copied();
            let Some(payment) = next else {
                self.finish(account);
                continue;
            };
            let (_, payee) = *self.payments.get(payment)?;
            match *self.visits.get(payee)? {
                Visit::OnPath if is_live(payment) => return self.circle(payee, payment),
                Visit::New if is_live(payment) => {
                    self.visit(payee, Visit::OnPath);
                    self.path.push(payment);
                }
                Visit::New | Visit::OnPath | Visit::Done => self.pass(account),
            }
        }
    }

    /// The account at which the search is: it begins with the payer of the first payment that may be on a circle.
    fn account(&mut self, is_live: &impl Fn(usize) -> bool) -> Option<usize> {
        let payer = loop {
            let (payer, _) = *self.payments.get(self.first)?;
            if is_live(self.first) && self.visits.get(payer) != Some(&Visit::Done) {
                break payer;
            }
            self.first += 1;
        };
        if self.start != Some(payer) {
            self.return_to(0);
            if let Some(start) =
                self.start.filter(|it| self.visits.get(*it) == Some(&Visit::OnPath))
            {
                self.visit(start, Visit::New);
            }
            self.visit(payer, Visit::OnPath);
            self.start = Some(payer);
        }
        let last = self.path.last().and_then(|index| self.payments.get(*index));
        Some(last.map_or(payer, |(_, payee)| *payee))
    }

    /// Goes back along the path until it has so many payments.
    fn return_to(&mut self, length: usize) {
        while self.path.len() > length {
            let payment = self.path.pop().and_then(|index| self.payments.get(index));
            if let Some((_, payee)) = payment.copied() {
                self.visit(payee, Visit::New);
            }
        }
    }

    /// Leaves an account that is on no circle.
    fn finish(&mut self, account: usize) {
        self.visit(account, Visit::Done);
        let payment = self.path.pop().and_then(|index| self.payments.get(index));
        if let Some((payer, _)) = payment.copied() {
            self.pass(payer);
        }
    }

    fn visit(&mut self, account: usize, visit: Visit) {
        if let Some(known) = self.visits.get_mut(account) {
            *known = visit;
        }
    }

    /// Goes on to an account's next payment.
    fn pass(&mut self, account: usize) {
        if let Some(done) = self.done.get_mut(account) {
            *done += 1;
        }
    }

    /// The part of the path from an account, with the payment that closes it.
    fn circle(&mut self, from: usize, last: usize) -> Option<Vec<usize>> {
        let pays =
            |index: &usize| self.payments.get(*index).is_some_and(|(payer, _)| *payer == from);
        self.unchanged = self.path.iter().rposition(pays)?;
        let path = self.path.get(self.unchanged..)?;
        Some(path.iter().copied().chain([last]).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The first circle that a search from the beginning finds.
    fn first_circle(payments: &[(u64, u64, u64)], left: &[u64]) -> Option<Vec<usize>> {
        fn search(
            (payments, left): (&[(u64, u64, u64)], &[u64]),
            account: u64,
            (path, done): (&mut Vec<usize>, &mut Vec<u64>),
        ) -> Option<Vec<usize>> {
            for (index, (from, to, _)) in payments.iter().enumerate() {
                if *from != account || left[index] == 0 || done.contains(to) {
                    continue;
                }
                path.push(index);
                if let Some(start) = path.iter().position(|it| payments[*it].0 == *to) {
                    return Some(path[start..].to_vec());
                }
                let found = search((payments, left), *to, (&mut *path, &mut *done));
                if found.is_some() {
                    return found;
                }
                path.pop();
            }
            done.push(account);
            None
        }
        let mut done = Vec::new();
        let mut live = (0..payments.len()).filter(|index| left[*index] > 0);
        live.find_map(|index| {
            let (payer, ..) = payments[index];
            let is_new = !done.contains(&payer);
            let circle = || search((payments, left), payer, (&mut Vec::new(), &mut done));
            is_new.then(circle).flatten()
        })
    }

    /// Cancels all circles by their least amounts. Returns their payments.
    fn circles_of(payments: &[(u64, u64, u64)]) -> Vec<Vec<usize>> {
        let mut left: Vec<u64> = payments.iter().map(|(.., amount)| *amount).collect();
        let pairs = payments.iter().map(|(from, to, _)| (OwnerNumber(*from), OwnerNumber(*to)));
        let mut search = Circles::among(pairs);
        let mut found = Vec::new();
        while let Some(circle) = search.next(|index| left[index] > 0) {
            let least = circle.iter().map(|index| left[*index]).min().unwrap();
            for index in &circle {
                left[*index] -= least;
            }
            found.push(circle);
        }
        found
    }

    #[test]
    fn circles_are_found_in_the_order_of_their_payments() {
        assert_eq!(circles_of(&[(1, 2, 5), (2, 3, 5)]), Vec::<Vec<usize>>::new());
        assert_eq!(circles_of(&[(1, 2, 5), (2, 1, 3)]), [[0, 1]]);
        let payments = [(9, 1, 1), (1, 2, 5), (2, 3, 4), (3, 1, 3), (3, 2, 1)];
        assert_eq!(circles_of(&payments), [vec![1, 2, 3], vec![2, 4]]);
    }

    #[test]
    fn a_search_begins_anew_with_the_first_payment_that_is_left() {
        // The first payment of account 1 is canceled, so that account 4 pays before it does.
        let payments = [(1, 2, 1), (2, 1, 1), (4, 5, 1), (1, 5, 1), (5, 4, 1), (5, 1, 1)];
        assert_eq!(circles_of(&payments), [[0, 1], [2, 4], [3, 5]]);
    }

    #[test]
    fn many_circles_of_many_payments_are_found() {
        let chain = (0..20_000).map(|account| (account, account + 1, 1));
        let back = (0..20_000).map(|account| (account + 1, account, 1));
        let payments: Vec<_> = chain.chain(back).collect();
        assert_eq!(circles_of(&payments).len(), 20_000);
    }

    proptest! {
        #[test]
        fn going_on_finds_what_searches_from_the_beginning_find(
            payments in prop::collection::vec((0..7_u64, 1..7_u64, 1..4_u64), 0..25),
        ) {
            // Each pays another one.
            let payments: Vec<_> =
                payments.iter().map(|(from, by, amount)| (*from, (from + by) % 7, *amount)).collect();
            let mut left: Vec<u64> = payments.iter().map(|(.., amount)| *amount).collect();
            let mut found = Vec::new();
            while let Some(circle) = first_circle(&payments, &left) {
                let least = circle.iter().map(|index| left[*index]).min().unwrap();
                for index in &circle {
                    left[*index] -= least;
                }
                found.push(circle);
            }
            prop_assert_eq!(circles_of(&payments), found);
        }
    }
}
