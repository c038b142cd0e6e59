//! Search of the deposits that belong to a subject's receipts from bridges (`docs/model/accounts.md` B18).
//!
//! Ledgers keep `bridge`, whatever other chains tell: a receipt is joined to its deposit only when a check asks.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use assay_address::ChainId;
use jiff::Timestamp;
use ruint::aliases::U256;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    AccountPayments, AccountSubject, ScoredAsset,
    bridge_messages::{ReadMessages, has_message},
    bridged::{BRIDGE_TIME, BridgePayment, unique_pairs},
    path::named,
    shares::Hop,
    step::{AssetNumber, MovementKind, Payment},
    unit::whole_units,
    view::{AccountAttributions, AccountView},
};
use crate::{
    evidence::{BridgeTransaction, BridgedReceipts, CarriedLabel, JoinedBy, JoinedReceipt},
    ledger::{OwnerNumber, TransactionNumber},
    taxonomy::Category,
    trace::Attribution,
};

/// Most receipts of a subject for which deposits are searched: those of the greatest worth.
pub(super) const MOST_RECEIPTS: usize = 20;
/// Most payments of the account in one asset of another chain that are read for one receipt.
const MOST_READ: usize = 500;

/// Another chain, on which deposits are searched.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "views have nothing to show")]
pub struct OtherChain<'a> {
    /// One state of the chain.
    pub view: &'a dyn AccountView,
    /// Attributions of the chain's accounts.
    pub attributions: &'a dyn AccountAttributions,
    /// Time of the newest recorded block.
    pub until: Timestamp,
}

/// A deposit into a bridge, on its own chain.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "views have nothing to show")]
pub struct BridgeDeposit<'a> {
    /// The chain.
    pub chain: OtherChain<'a>,
    /// The payment into the bridge.
    pub payment: &'a Payment,
    /// The ground on which the receipt was joined to it.
    pub by: JoinedBy,
}

/// The receipts of a subject that were joined to deposits on other chains.
#[derive(Default)]
#[expect(missing_debug_implementations, reason = "views have nothing to show")]
pub struct JoinedReceipts<'a> {
    chains: Vec<OtherChain<'a>>,
    /// The deposits by their receipts.
    deposits: FxHashMap<PaymentKey, FoundDeposit>,
}

/// A deposit that belongs to a receipt.
struct FoundDeposit {
    /// The position of its chain.
    chain: usize,
    payment: Payment,
    by: JoinedBy,
}

/// A payment within its chain.
pub(super) type PaymentKey = (TransactionNumber, u32);

pub(super) const fn key(payment: &Payment) -> PaymentKey {
    (payment.transaction, payment.sequence)
}

impl<'a> JoinedReceipts<'a> {
    /// Searches the deposits of a subject's receipts from bridges on other chains: by the messages that both log, and those of
    /// receipts without messages among the payments of the same address. Only receipts that were read one by one are joined.
    #[must_use]
    pub fn search(
        of: AccountSubject<'_>,
        own: &AccountPayments,
        chains: Vec<OtherChain<'a>>,
    ) -> Self {
        let messages = ReadMessages::of(of, own, &chains);
        let mut deposits = Self::by_amount(of, own, &chains);
        deposits.extend(messages.joined.into_iter().map(|(receipt, (chain, payment))| {
            (receipt, FoundDeposit { chain, payment, by: JoinedBy::Message })
        }));
        Self { chains, deposits }
    }

    /// The deposits of receipts without messages, by address, asset, amount and time.
    fn by_amount(
        of: AccountSubject<'_>,
        own: &AccountPayments,
        chains: &[OtherChain<'a>],
    ) -> FxHashMap<PaymentKey, FoundDeposit> {
        let view = of.view;
        let received: Vec<_> = receipts_from_bridges(of, own).collect();
        let Some(account) = view.address(of.owner).filter(|_| !received.is_empty()) else {
            return FxHashMap::default();
        };
        let mut receipts: Vec<usize> = (0..received.len()).collect();
        receipts.sort_by_key(|at| Reverse(received.get(*at).map(|(_, payment)| worth(payment))));
        receipts.truncate(MOST_RECEIPTS);
        let mut found = FoundPayments::default();
        let mut searched: Vec<usize> = Vec::new();
        for at in receipts {
            let Some((_, payout)) = received.get(at) else { continue };
            let Some(since) = payout.time.saturating_sub(BRIDGE_TIME).ok() else { continue };
            let is_read = is_told_since(own, view, payout.asset, since)
                && (0..).zip(chains).all(|(index, chain)| {
                    // A chain that ends before the payout may lack its deposit.
                    chain.until < payout.time
                        || found.read((index, *chain), account, payout.asset.ticker, payout.time)
                });
            if is_read {
                searched.push(at);
            }
        }
        let mut payouts: Vec<BridgePayment> = received.iter().map(|(_, payout)| *payout).collect();
        payouts.extend(found.payouts.values());
        let (deposits, given): (Vec<_>, Vec<_>) = found.deposits.into_iter().unzip();
        let given_of: Vec<BridgePayment> = given.iter().map(|(_, deposit)| *deposit).collect();
        let pairs = unique_pairs(&payouts, &given_of).into_iter();
        let joined = pairs.filter(|(payout, _)| searched.contains(payout));
        let deposits = joined.filter_map(|(payout, deposit)| {
            let (chain, _) = *deposits.get(deposit)?;
            let payment = given.get(deposit)?.0.clone();
            let receipt = received.get(payout)?.0;
            // What has a message of its amount is joined by it or not at all; as a rival it counts.
            let OtherChain { view: other, attributions, .. } = *chains.get(chain)?;
            let given_by = ((other, attributions), (payment.transaction, payment.amount));
            let paid_by = ((view, of.attributions), (receipt.transaction, receipt.amount));
            if has_message(given_by.0, given_by.1) || has_message(paid_by.0, paid_by.1) {
                return None;
            }
            let found = FoundDeposit { chain, payment, by: JoinedBy::Amount };
            Some((key(receipt), found))
        });
        deposits.collect()
    }

    /// The deposit to which a receipt of the subject was joined.
    #[must_use]
    pub fn deposit_of(&self, receipt: &Payment) -> Option<BridgeDeposit<'_>> {
        let FoundDeposit { chain, payment, by } = self.deposits.get(&key(receipt))?;
        Some(BridgeDeposit { chain: *self.chains.get(*chain)?, payment, by: *by })
    }

    /// The positions of the chains on which deposits were found.
    pub fn chains_of_deposits(&self) -> impl Iterator<Item = usize> {
        let chains: std::collections::BTreeSet<usize> =
            self.deposits.values().map(|found| found.chain).collect();
        chains.into_iter()
    }
}

/// Payments between the account and bridges on other chains, by the position of the chain.
#[derive(Default)]
struct FoundPayments {
    deposits: BTreeMap<(usize, PaymentKey), (Payment, BridgePayment)>,
    payouts: BTreeMap<(usize, PaymentKey), BridgePayment>,
}

impl FoundPayments {
    /// Reads the payments of an account in assets of a ticker around a payout: deposits before it, and other payouts of them.
    /// Returns false if there are too many to read.
    fn read(
        &mut self,
        (index, OtherChain { view, attributions, .. }): (usize, OtherChain<'_>),
        account: super::AccountAddress,
        ticker: &str,
        payout: Timestamp,
    ) -> bool {
        let Some(owner) = view.owner(account) else { return true };
        let since = payout.saturating_sub(BRIDGE_TIME).unwrap_or(Timestamp::MIN);
        let until = payout.saturating_add(BRIDGE_TIME).unwrap_or(Timestamp::MAX);
        let Some(end) = first_after(view, owner, until) else { return true };
        let assets = AssetNumber::all_scored(view.chain())
            .filter(|asset| view.scored(*asset).is_some_and(|asset| asset.ticker == ticker));
        for asset in assets {
            let read = view.payments_before(owner, asset, end, MOST_READ);
            let is_in_time = |payment: &Payment| view.time(payment.transaction) >= since;
            if read.len() == MOST_READ && read.last().is_some_and(is_in_time) {
                return false;
            }
            let in_time: Vec<Payment> = read.into_iter().take_while(is_in_time).collect();
            let with_bridges = payments_with_bridges(view, attributions, owner, in_time.iter());
            for (payment, of_bridge) in with_bridges {
                let key = (index, key(payment));
                if payment.to == owner {
                    self.payouts.insert(key, of_bridge);
                } else {
                    self.deposits.insert(key, (with_breakdown(view, payment), of_bridge));
                }
            }
        }
        true
    }
}

/// A payment with its breakdown, which a store keeps with the receiver's entries alone.
fn with_breakdown(view: &dyn AccountView, payment: &Payment) -> Payment {
    let booked = view.payments_of_transaction(payment.transaction).into_iter();
    let mut same = booked.filter(|it| key(it) == key(payment) && it.asset == payment.asset);
    same.next().unwrap_or_else(|| payment.clone())
}

/// The first transaction after a time, up to the one that follows the account's newest payment; `None` without payments.
fn first_after(
    view: &dyn AccountView,
    owner: OwnerNumber,
    time: Timestamp,
) -> Option<TransactionNumber> {
    let newest = view.payments(owner, 1).payments.pop()?.transaction;
    let (mut low, mut high) = (0, newest.0.saturating_add(1));
    while low < high {
        let middle = low + (high - low) / 2;
        if view.time(TransactionNumber(middle)) <= time {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Some(TransactionNumber(low))
}

/// True if a subject's payments in an asset since a time are read one by one: sums, and payments that are not read, may hide
/// another payout of a deposit.
fn is_told_since(
    own: &AccountPayments,
    view: &dyn AccountView,
    asset: &ScoredAsset,
    since: Timestamp,
) -> bool {
    let of_ticker = own.sums.iter().filter(|sum| {
        view.scored(sum.payment.asset).is_some_and(|summed| summed.ticker == asset.ticker)
    });
    // A sum is of one day.
    let last = of_ticker.map(|sum| sum.first.saturating_add(BRIDGE_TIME).unwrap_or(Timestamp::MAX));
    let first_read = own.payments.first().map(|payment| view.time(payment.transaction));
    let is_whole =
        own.left_out == 0 || own.sums.is_empty() && first_read.is_some_and(|first| first < since);
    is_whole && last.max().is_none_or(|last| last < since)
}

/// The receipts of a subject from bridges that were read one by one.
fn receipts_from_bridges<'p>(
    of: AccountSubject<'p>,
    own: &'p AccountPayments,
) -> impl Iterator<Item = (&'p Payment, BridgePayment)> {
    let AccountSubject { view, attributions, owner, .. } = of;
    let received = own.payments.iter().filter(move |payment| payment.to == owner);
    payments_with_bridges(view, attributions, owner, received)
}

/// The payments between an account and bridges, in both directions.
fn payments_with_bridges<'p>(
    view: &'p dyn AccountView,
    attributions: &'p dyn AccountAttributions,
    owner: OwnerNumber,
    payments: impl Iterator<Item = &'p Payment>,
) -> impl Iterator<Item = (&'p Payment, BridgePayment)> {
    let of_bridges = payments.filter(move |payment| {
        let is_received = payment.to == owner;
        let other = if is_received { payment.from } else { payment.to };
        // Most payers are no ends, which spares looking them up.
        let is_possible =
            payment.kind == MovementKind::Payment && (!is_received || payment.hop == Hop::FromEnd);
        is_possible && is_bridge(attributions, other)
    });
    of_bridges.filter_map(move |payment| {
        let asset = view.scored(payment.asset)?;
        let (chain, amount) = (view.chain(), payment.amount);
        let time = view.time(payment.transaction);
        Some((payment, BridgePayment { chain, asset, amount, time }))
    })
}

/// True for an account at which money ends as a bridge: a bridge on a list is a listed party.
pub(super) fn is_bridge(attributions: &dyn AccountAttributions, account: OwnerNumber) -> bool {
    let attribution = attributions.of_account(account);
    let end = attribution.as_ref().and_then(|it| it.end.as_ref());
    end.is_some_and(|end| end.category == Category::Bridge && !end.listed)
}

/// The order of worth of a payment in US cents, in units of 10^-18.
pub(super) fn worth(payment: &BridgePayment) -> U256 {
    let ScoredAsset { decimals, .. } = payment.asset;
    let cents = U256::from(payment.asset.worth_in_cents().unwrap_or(1));
    let scale = U256::from(10).pow(U256::from(18_u8.saturating_sub(*decimals)));
    U256::from(payment.amount) * cents * scale
}

/// Attributions of a check that joins receipts from bridges to their deposits.
#[expect(missing_debug_implementations, reason = "views have nothing to show")]
pub struct BridgedAttributions<'a> {
    /// Attributions of the subject's chain.
    pub own: &'a dyn AccountAttributions,
    /// The joined receipts.
    pub joined: JoinedReceipts<'a>,
}

impl AccountAttributions for BridgedAttributions<'_> {
    fn of_account(&self, owner: OwnerNumber) -> Option<Arc<Attribution>> {
        self.own.of_account(owner)
    }

    fn name_of(&self, owner: OwnerNumber) -> Option<Arc<str>> {
        self.own.name_of(owner)
    }

    fn freeze_of(&self, owner: OwnerNumber) -> Option<(Timestamp, CarriedLabel)> {
        self.own.freeze_of(owner)
    }

    fn deposit_of(&self, receipt: &Payment) -> Option<BridgeDeposit<'_>> {
        self.joined.deposit_of(receipt)
    }

    fn searched_chains(&self) -> Vec<ChainId> {
        self.joined.chains.iter().map(|chain| chain.view.chain()).collect()
    }
}

/// A receipt with the breakdown of its deposit, as if the account had been paid by itself across the bridge; `None` if it was
/// not joined.
pub(super) fn across(attributions: &dyn AccountAttributions, receipt: &Payment) -> Option<Payment> {
    let deposit = attributions.deposit_of(receipt)?.payment;
    Some(Payment { shares: deposit.shares.clone(), hop: deposit.hop, ..receipt.clone() })
}

impl BridgedReceipts {
    /// The receipts of a subject from bridges.
    pub(super) fn of(of: AccountSubject<'_>, own: &AccountPayments) -> Self {
        let AccountSubject { view, attributions, .. } = of;
        let mut receipts = 0;
        let mut joined = Vec::new();
        let from_bridges: FxHashSet<_> =
            receipts_from_bridges(of, own).map(|(payment, _)| key(payment)).collect();
        for payment in &own.payments {
            let deposit = attributions.deposit_of(payment);
            // New units that a message tells to be a bridge's come from nobody.
            receipts += u64::from(deposit.is_some() || from_bridges.contains(&key(payment)));
            let Some(BridgeDeposit { chain, payment: deposit, by }) = deposit else { continue };
            let (Some(paid), Some(given)) = (shown(view, payment), shown(chain.view, deposit))
            else {
                continue;
            };
            let bridge = attributions.name_of(payment.from);
            let entity = attributions.of_account(payment.from).and_then(|it| it.end.clone());
            let entity = entity.and_then(|end| end.entity).or(bridge);
            let bridge = entity.as_deref().map(str::to_owned);
            joined.push(JoinedReceipt { bridge, by, payout: paid, deposit: given });
        }
        Self { receipts, searched: attributions.searched_chains(), joined }
    }
}

/// A payment into or out of a bridge, as an answer shows it.
fn shown(view: &dyn AccountView, payment: &Payment) -> Option<BridgeTransaction> {
    let asset = view.scored(payment.asset)?;
    Some(BridgeTransaction {
        blockchain: view.chain(),
        transaction: named(view, payment),
        time: view.time(payment.transaction),
        amount: whole_units(payment.amount, asset.decimals),
        asset: asset.ticker.to_owned(),
    })
}
