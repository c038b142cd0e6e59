//! Comparison of two graphs of the same account chain, as checks read them.

use assay_engine::{
    account::{AccountView, AssetNumber, Payment, Shares},
    ledger::{OwnerNumber, TransactionNumber},
};

/// Asserts that two views answer alike about all accounts and transactions. `name` names the chain in messages.
///
/// # Panics
///
/// Panics if they do not.
pub fn assert_equal_views(
    name: &str,
    one: &dyn AccountView,
    other: &dyn AccountView,
    (owners, transactions): (u64, u64),
) {
    assert_eq!(one.chain(), other.chain(), "{name}");
    assert_eq!(one.has_initiators(), other.has_initiators(), "{name}");
    assert_eq!(one.has_internal_transfers(), other.has_internal_transfers(), "{name}");
    for owner in (0..=owners).map(OwnerNumber) {
        assert_eq!(one.address(owner).is_some(), owner.0 < owners, "{name}, {owner:?}");
        assert_equal_accounts(name, (one, other), owner, transactions);
    }
    for number in (0..=transactions).map(TransactionNumber) {
        assert_eq!(one.transaction(number).is_some(), number.0 < transactions, "{name}");
        assert_equal_transactions(name, (one, other), number);
    }
}

/// Asserts that two views answer alike about an account of a chain of so many transactions.
///
/// # Panics
///
/// Panics if they do not.
pub fn assert_equal_accounts(
    name: &str,
    (one, other): (&dyn AccountView, &dyn AccountView),
    owner: OwnerNumber,
    transactions: u64,
) {
    let name = format!("{name}, account {}", owner.0);
    let address = one.address(owner);
    assert_eq!(address, other.address(owner), "{name}");
    if let Some(address) = address {
        assert_eq!(one.owner(address), Some(owner), "{name}");
        assert_eq!(other.owner(address), Some(owner), "{name}");
    }
    assert_eq!(one.ledgers(owner), other.ledgers(owner), "{name}");
    assert_eq!(one.state(owner), other.state(owner), "{name}");
    assert_eq!(one.dealings(owner), other.dealings(owner), "{name}");
    assert_eq!(one.payment_count(owner), other.payment_count(owner), "{name}");
    for most in [1, 3, usize::MAX] {
        let (ours, theirs) = (one.payments(owner, most), other.payments(owner, most));
        assert_eq!(ours.left_out, theirs.left_out, "{name}");
        assert_eq!(received(owner, ours.payments), received(owner, theirs.payments), "{name}");
        assert_eq!(
            one.with_other_tokens(owner, most),
            other.with_other_tokens(owner, most),
            "{name}"
        );
        assert_eq!(one.with_freezes(owner, most), other.with_freezes(owner, most), "{name}");
        assert_eq!(
            one.with_delegations(owner, most),
            other.with_delegations(owner, most),
            "{name}"
        );
        assert_eq!(one.with_message(owner, most), other.with_message(owner, most), "{name}");
        assert_eq!(one.deployed(owner, most), other.deployed(owner, most), "{name}");
    }
    assert_equal_histories(&name, (one, other), owner, &[0, 1_000, usize::MAX]);
    assert_eq!(one.deployer(owner), other.deployer(owner), "{name}");
    for asset in AssetNumber::all_scored(one.chain()) {
        let places = [0, 1, transactions / 2, transactions].map(TransactionNumber);
        for (place, most) in places.into_iter().flat_map(|place| [(place, 2), (place, 100)]) {
            let before = |view: &dyn AccountView| {
                received(owner, view.payments_before(owner, asset, place, most))
            };
            assert_eq!(before(one), before(other), "{name}, {asset:?}, before {place:?}");
            let from = |view: &dyn AccountView| {
                received(owner, view.payments_from(owner, asset, place, most))
            };
            assert_eq!(from(one), from(other), "{name}, {asset:?}, from {place:?}");
        }
    }
}

/// Asserts that two views read and sum the payments of an account alike.
///
/// # Panics
///
/// Panics if they do not.
pub fn assert_equal_histories(
    name: &str,
    (one, other): (&dyn AccountView, &dyn AccountView),
    owner: OwnerNumber,
    budgets: &[usize],
) {
    for most in budgets {
        let (ours, theirs) = (one.history(owner, *most), other.history(owner, *most));
        assert_eq!(ours.sums, theirs.sums, "{name}, {most}");
        assert_eq!(ours.left_out, theirs.left_out, "{name}, {most}");
        let own = |payments| received(owner, payments);
        assert_eq!(own(ours.payments), own(theirs.payments), "{name}, {most}");
    }
}

/// Asserts that two views answer alike about a transaction.
///
/// # Panics
///
/// Panics if they do not.
pub fn assert_equal_transactions(
    name: &str,
    (one, other): (&dyn AccountView, &dyn AccountView),
    number: TransactionNumber,
) {
    let name = format!("{name}, transaction {}", number.0);
    let found = one.transaction(number);
    assert_eq!(found, other.transaction(number), "{name}");
    let Some(found) = found else { return };
    assert_eq!(other.txid(number), found.id, "{name}");
    assert_eq!(other.time(number), found.time, "{name}");
    assert_eq!(one.find(&found.id), other.find(&found.id), "{name}");
    let payments = one.payments_of_transaction(number);
    assert_eq!(payments, other.payments_of_transaction(number), "{name}");
}

/// Payments with the breakdowns of those that an account received: others may leave it out.
fn received(owner: OwnerNumber, mut payments: Vec<Payment>) -> Vec<Payment> {
    for payment in payments.iter_mut().filter(|it| it.to != owner && it.to != OwnerNumber::NOBODY) {
        payment.shares = Shares::UNKNOWN;
    }
    payments
}
