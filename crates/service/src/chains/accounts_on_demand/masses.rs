//! Money of a subject by the payers whose histories are not read: their share of what it received, half of their share of the
//! last 90 days, and half of their share of what it holds.
//!
//! A pass backwards over the payments gives the shares of all payers at once: of what an account held after a receipt, the receipt
//! is as much as it is of the balance then, and as much of all that the account paid afterwards goes back to it.

use std::collections::BTreeMap;

use assay_engine::{
    account::{
        AccountAddress, AccountView, Asset, AssetNumber, MoneyUnit, MovementKind, Payment,
        Valuation,
    },
    ledger::OwnerNumber,
};
use assay_graph::account::MemoryAccounts;
use jiff::Timestamp;
use ruint::aliases::U256;
use rustc_hash::FxHashMap;

/// All of the subject's money, in units of shares.
pub(super) const WHOLE: u64 = 1 << 40;

/// The unread money of one payer in one asset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UnreadMass {
    /// Its weight for the order of reading, at most twice the [`WHOLE`].
    pub(super) weight: u64,
    /// Its share of the subject's money: the greatest of those of all that it received, of the last 90 days and of what it holds, in parts of the [`WHOLE`].
    pub(super) share: u64,
    /// The newest block in which the payer paid it.
    pub(super) newest: u64,
    /// The account that it paid then.
    pub(super) payee: Option<AccountAddress>,
}

/// Unread money by payer and asset.
pub(super) type UnreadMasses = BTreeMap<(AccountAddress, Asset), UnreadMass>;

/// Shares of the subject's money: of all that it received, of the last 90 days, of what it holds.
pub(super) type Shares = [u64; 3];

/// Returns the unread masses of a subject. `is_known` tells whether the payments of an account in an asset are read in a block;
/// `recent_since` is the begin of the last 90 days. Money of ends has no mass.
pub(super) fn unread_masses(
    accounts: &MemoryAccounts,
    subject: OwnerNumber,
    is_known: impl Fn(AccountAddress, Asset, u64) -> bool,
    values: &mut Valuation<'_>,
    recent_since: Timestamp,
) -> UnreadMasses {
    let payments = accounts.ledgers().payments();
    let balances = balances_after(accounts, payments);
    let mut demands = Demands::of_subject(accounts, subject, values, recent_since);
    let mut masses = UnreadMasses::new();
    for (payment, balance) in payments.iter().zip(balances).rev() {
        let shares = demands.of(payment, subject, balance);
        if shares == [0; 3] {
            continue;
        }
        let given = match payment.kind {
            MovementKind::Exchange => given(accounts, payment, values),
            _ => Vec::new(),
        };
        demands.pass(accounts, payment, (shares, &given), &is_known, &mut masses);
    }
    masses
}

/// The balance of each payment's receiver in its asset, right after the payment.
pub(super) fn balances_after(accounts: &MemoryAccounts, payments: &[Payment]) -> Vec<u128> {
    let mut balances: FxHashMap<(OwnerNumber, AssetNumber), u128> = FxHashMap::default();
    let holds = |owner: OwnerNumber| accounts.ledgers().ends().get(owner).is_none();
    let after = payments.iter().map(|payment| {
        if holds(payment.from) {
            let balance = balances.entry((payment.from, payment.asset)).or_default();
            *balance = balance.saturating_sub(payment.amount);
        }
        let balance = balances.entry((payment.to, payment.asset)).or_default();
        *balance = balance.saturating_add(payment.amount);
        *balance
    });
    after.collect()
}

/// Sums of the subject's money in one unit.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    received: u128,
    recent: u128,
    held: u128,
}

impl Sums {
    const fn receive(&mut self, worth: u128, recent: u128) {
        self.received = self.received.saturating_add(worth);
        self.recent = self.recent.saturating_add(recent);
    }

    const fn hold(&mut self, worth: u128) {
        self.held = self.held.saturating_add(worth);
    }
}

/// Shares of the subject's money that go back to what accounts held at one time, while the pass goes back.
pub(super) struct Demands {
    /// The part of each receipt of the subject, by the position among its receipts from the newest on.
    receipts: Vec<Shares>,
    next: usize,
    held: FxHashMap<(OwnerNumber, AssetNumber), Shares>,
}

impl Demands {
    /// The shares of a subject's money, before the pass.
    pub(super) fn of_subject(
        accounts: &MemoryAccounts,
        subject: OwnerNumber,
        values: &mut Valuation<'_>,
        recent_since: Timestamp,
    ) -> Self {
        let mut value = |asset: AssetNumber, amount: u128, at: Timestamp| {
            Some(values.value(accounts.scored(asset)?, amount, at))
        };
        // Amounts in several units are not compared: each unit is a whole of its own.
        let mut totals: BTreeMap<MoneyUnit, Sums> = BTreeMap::new();
        let mut worths = Vec::new();
        for payment in accounts.ledgers().payments().iter().rev() {
            if payment.to != subject || payment.kind.is_own_money() {
                continue;
            }
            let time = accounts.time(payment.transaction);
            if let Some((unit, worth)) = value(payment.asset, payment.amount, time) {
                let recent = if time >= recent_since { worth } else { 0 };
                totals.entry(unit).or_default().receive(worth, recent);
                worths.push(Some((unit, worth, recent)));
            } else {
                worths.push(None);
            }
        }
        let newest = accounts.transactions().transactions().last().map(|it| it.time);
        let newest = newest.unwrap_or(Timestamp::UNIX_EPOCH);
        let mut held = Vec::new();
        for (asset, ledger) in AccountView::ledgers(accounts, subject) {
            if let Some((unit, worth)) = value(asset, ledger.balance, newest) {
                totals.entry(unit).or_default().hold(worth);
                held.push((asset, unit, worth));
            }
        }
        let total = |unit: MoneyUnit| totals.get(&unit).copied().unwrap_or_default();
        let receipts = worths.into_iter().map(|known| {
            let Some((unit, worth, recent)) = known else { return [0; 3] };
            let total = total(unit);
            [part(WHOLE, worth, total.received), part(WHOLE, recent, total.recent), 0]
        });
        let held = held.into_iter().map(|(asset, unit, worth)| {
            ((subject, asset), [0, 0, part(WHOLE, worth, total(unit).held)])
        });
        Self { receipts: receipts.collect(), next: 0, held: held.collect() }
    }

    /// The shares of each receipt of the subject, the newest first.
    pub(super) fn receipts(&self) -> &[Shares] {
        &self.receipts
    }

    /// The shares of what the subject holds in each asset.
    pub(super) fn held(&self) -> Vec<(AssetNumber, Shares)> {
        let mut held: Vec<_> =
            self.held.iter().map(|((_, asset), shares)| (*asset, *shares)).collect();
        held.sort_unstable_by_key(|(asset, _)| *asset);
        held
    }

    /// The shares that go back to a payment, which are no longer demanded of its receiver.
    fn of(&mut self, payment: &Payment, subject: OwnerNumber, balance: u128) -> Shares {
        let mut shares = [0; 3];
        if let Some(demand) = self.held.get_mut(&(payment.to, payment.asset)) {
            for (share, left) in shares.iter_mut().zip(demand) {
                *share = part(*left, payment.amount.min(balance), balance);
                *left -= *share;
            }
        }
        if payment.to == subject && !payment.kind.is_own_money() {
            let own = self.receipts.get(self.next).copied().unwrap_or_default();
            self.next += 1;
            for (share, own) in shares.iter_mut().zip(own) {
                *share += own;
            }
        }
        shares
    }

    /// Demands shares of the money from which a payment came.
    fn pass(
        &mut self,
        accounts: &MemoryAccounts,
        payment: &Payment,
        (shares, given): (Shares, &[(AssetNumber, u128)]),
        is_known: &impl Fn(AccountAddress, Asset, u64) -> bool,
        masses: &mut UnreadMasses,
    ) {
        let mut demand = |owner: OwnerNumber, asset: AssetNumber, shares: Shares| {
            let party = accounts.address(owner).zip(accounts.asset(asset));
            let Some((payer, named)) = party else { return };
            let block = accounts.transaction(payment.transaction).map_or(0, |it| it.block);
            if is_known(payer, named, block) {
                self.demand(owner, asset, shares);
                return;
            }
            let mass = masses.entry((payer, named)).or_default();
            let [received, recent, held] = shares;
            mass.share = mass.share.saturating_add(received.max(recent).max(held));
            mass.weight = mass.weight.saturating_add(received + recent / 2 + held / 2);
            if block >= mass.newest {
                mass.newest = block;
                mass.payee = accounts.address(payment.to).filter(|payee| *payee != payer);
            }
        };
        let is_end = payment.from == OwnerNumber::NOBODY
            || payment.kind == MovementKind::New
            || accounts.ledgers().ends().get(payment.from).is_some();
        if payment.kind == MovementKind::Exchange {
            // The receiver's own money, in the asset that it gave.
            let total = given
                .iter()
                .map(|(_, worth)| worth)
                .fold(0, |sum: u128, worth| sum.saturating_add(*worth));
            for (asset, worth) in given {
                demand(payment.to, *asset, shares.map(|share| part(share, *worth, total)));
            }
        } else if !is_end {
            demand(payment.from, payment.asset, shares);
        }
    }

    fn demand(&mut self, of: OwnerNumber, asset: AssetNumber, shares: Shares) {
        let demand = self.held.entry((of, asset)).or_default();
        for (demand, share) in demand.iter_mut().zip(shares) {
            *demand += share;
        }
    }
}

/// The assets that the receiver of an exchange's part gave in it, with their worth in one unit. Assets of several units, and those
/// without a worth, count alike.
pub(super) fn given(
    accounts: &MemoryAccounts,
    got: &Payment,
    values: &mut Valuation<'_>,
) -> Vec<(AssetNumber, u128)> {
    let of_transaction = accounts.payments_of_transaction(got.transaction);
    let gave = of_transaction.iter().filter(|it| {
        it.from == got.to && it.kind == MovementKind::Exchange && it.asset != got.asset
    });
    let mut amounts: BTreeMap<AssetNumber, u128> = BTreeMap::new();
    for payment in gave {
        let amount = amounts.entry(payment.asset).or_default();
        *amount = amount.saturating_add(payment.amount);
    }
    let time = accounts.time(got.transaction);
    let worths = amounts.iter().map(|(asset, amount)| {
        let (unit, worth) = values.value(accounts.scored(*asset)?, *amount, time);
        Some((*asset, unit, worth))
    });
    let worths: Option<Vec<_>> = worths.collect();
    let comparable = worths.filter(|worths| {
        let is_worth = worths.iter().any(|(.., worth)| *worth > 0);
        is_worth && worths.windows(2).all(|pair| matches!(pair, [one, other] if one.1 == other.1))
    });
    match comparable {
        Some(worths) => worths.into_iter().map(|(asset, _, worth)| (asset, worth)).collect(),
        None => amounts.into_keys().map(|asset| (asset, 1)).collect(),
    }
}

/// The part of a share.
pub(super) fn part(share: u64, of: u128, whole: u128) -> u64 {
    let product = U256::from(share) * U256::from(of);
    let part = product.checked_div(U256::from(whole)).unwrap_or(U256::ZERO);
    u64::try_from(part).unwrap_or(share)
}
