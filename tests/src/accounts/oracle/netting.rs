//! Netting of one asset's transfers within a transaction, without rounding.

use num_rational::BigRational;
use num_traits::Zero;

/// A sum that one account pays another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Paid<A> {
    pub(super) from: A,
    pub(super) to: A,
    pub(super) amount: BigRational,
}

/// The payments to which transfers amount, in the order of the first transfer of each pair. `may_pass` tells the accounts
/// that can pass money on.
pub(super) fn net<A: Copy + PartialEq>(
    transfers: &[(A, A, u128)],
    may_pass: impl Fn(A) -> bool,
) -> Vec<Paid<A>> {
    let mut paid: Vec<Paid<A>> = Vec::new();
    for (from, to, amount) in transfers {
        if from != to && *amount > 0 {
            add(&mut paid, *from, *to, BigRational::from_integer((*amount).into()));
        }
    }
    for one in 0..paid.len() {
        for other in 0..paid.len() {
            let less = paid[one].amount.clone().min(paid[other].amount.clone());
            if paid[one].from == paid[other].to && paid[one].to == paid[other].from {
                paid[one].amount -= &less;
                paid[other].amount -= less;
            }
        }
    }
    paid.retain(|it| !it.amount.is_zero());
    while let Some(circle) = circle(&paid) {
        let least = circle.iter().map(|index| paid[*index].amount.clone()).min().expect("a circle");
        for index in circle {
            paid[index].amount -= &least;
        }
        paid.retain(|it| !it.amount.is_zero());
    }
    while let Some(account) = next_passing(&paid, &may_pass) {
        pass(&mut paid, account);
    }
    let first_transfer = |it: &Paid<A>| {
        let is_of_pair =
            |(from, to, amount): &(A, A, u128)| (*from, *to) == (it.from, it.to) && *amount > 0;
        transfers.iter().position(is_of_pair).unwrap_or(transfers.len())
    };
    paid.sort_by_key(first_transfer);
    paid
}

fn add<A: Copy + PartialEq>(paid: &mut Vec<Paid<A>>, from: A, to: A, amount: BigRational) {
    match paid.iter_mut().find(|it| it.from == from && it.to == to) {
        Some(known) => known.amount += amount,
        None => paid.push(Paid { from, to, amount }),
    }
}

/// The payments of the first circle that a search in depth finds.
pub(super) fn circle<A: Copy + PartialEq>(paid: &[Paid<A>]) -> Option<Vec<usize>> {
    fn search<A: Copy + PartialEq>(
        paid: &[Paid<A>],
        path: &mut Vec<usize>,
        at: A,
        done: &mut Vec<A>,
    ) -> Option<usize> {
        for (index, it) in paid.iter().enumerate().filter(|(_, it)| it.from == at) {
            if let Some(start) = path.iter().position(|on_path| paid[*on_path].from == it.to) {
                path.push(index);
                return Some(start);
            }
            if !done.contains(&it.to) {
                path.push(index);
                if let Some(start) = search(paid, path, it.to, done) {
                    return Some(start);
                }
                path.pop();
            }
        }
        done.push(at);
        None
    }
    let mut done = Vec::new();
    for it in paid {
        let mut path = Vec::new();
        if !done.contains(&it.from)
            && let Some(start) = search(paid, &mut path, it.from, &mut done)
        {
            return Some(path.split_off(start));
        }
    }
    None
}

fn next_passing<A: Copy + PartialEq>(paid: &[Paid<A>], may_pass: &impl Fn(A) -> bool) -> Option<A> {
    let passes = |account: A| {
        may_pass(account)
            && paid.iter().any(|it| it.from == account)
            && paid.iter().any(|it| it.to == account)
    };
    let in_order = || paid.iter().map(|it| it.to).filter(|account| passes(*account));
    in_order()
        .find(|account| paid.iter().all(|it| it.to != *account || !passes(it.from)))
        .or_else(|| in_order().next())
}

/// Has the payers of an account pay its payees.
fn pass<A: Copy + PartialEq>(paid: &mut Vec<Paid<A>>, account: A) {
    let part = |takes: &dyn Fn(&Paid<A>) -> bool| -> Vec<Paid<A>> {
        paid.iter().filter(|it| takes(it)).cloned().collect()
    };
    let (incoming, outgoing) = (part(&|it| it.to == account), part(&|it| it.from == account));
    let sum = |of: &[Paid<A>]| of.iter().map(|it| it.amount.clone()).sum::<BigRational>();
    let (received, sent) = (sum(&incoming), sum(&outgoing));
    let passed = received.clone().min(sent.clone());
    for it in paid.iter_mut() {
        if it.to == account {
            it.amount -= &passed * &it.amount / &received;
        } else if it.from == account {
            it.amount -= &passed * &it.amount / &sent;
        }
    }
    for payer in &incoming {
        for payee in &outgoing {
            if payer.from != payee.to {
                let amount = &passed * &payer.amount / &received * &payee.amount / &sent;
                add(paid, payer.from, payee.to, amount);
            }
        }
    }
    paid.retain(|it| !it.amount.is_zero());
}
