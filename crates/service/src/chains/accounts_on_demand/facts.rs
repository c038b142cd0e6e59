//! The facts about a subject by the lists that were read.

use std::{cmp::Reverse, collections::BTreeMap, sync::Mutex};

use assay_address::ChainId;
use assay_chain::histories::accounts::{ApiAbilities, ApiTip};
use assay_engine::{
    account::{
        AccountAddress, AccountSubject, AccountView, Asset, AssetNumber, MOST_PAYMENTS, Valuation,
        issuer_freezes, scored_assets,
    },
    evidence::{
        ChainFacts, FlowEnd, FlowFacts, IngestMode, ReadHistories, ReadingStop, Tip,
        UnresolvedReason, UsedCompositions,
    },
    ledger::OwnerNumber,
    trace::recent_since,
};
use assay_graph::account::MemoryAccounts;
use jiff::Timestamp;
use ruint::aliases::U256;
use sha2::{Digest, Sha256};

use super::{
    draws::Draws,
    freezes::KnownFreezes,
    gathered::gather,
    lists::ReadLists,
    masses::{UnreadMasses, WHOLE, unread_masses},
    reached::ReachedAccounts,
    walk::drawn_payers,
};
use crate::chains::{
    accounts::{CheckAttributions, NamedAccounts, PaymentFacts},
    subject::{SubjectData, TraceRequest},
};

/// Most balances of a subject that are compared with its transfers.
const COMPARED_BALANCES: usize = 2;
/// The whole, in millionths.
const MILLIONTHS: u64 = 1_000_000;

/// The part of a chain that was read for one subject.
pub(super) struct Read<'a> {
    pub(super) chain: ChainId,
    pub(super) api: &'static str,
    pub(super) abilities: ApiAbilities,
    pub(super) lists: &'a ReadLists,
    /// The newest block, and the time at which the API reported it.
    pub(super) tip: (ApiTip, Timestamp),
    pub(super) named: &'a NamedAccounts,
    /// The freezes by issuers of tokens.
    pub(super) freezes: &'a KnownFreezes,
    /// Accounts that severe money reached, as far as lists that were read beside the checks tell.
    pub(super) reached: &'a ReachedAccounts,
    /// The draws of the subject's money, once payers are drawn.
    pub(super) draws: Option<Draws>,
    /// The reason for which reading stopped.
    pub(super) stopped: Option<ReadingStop>,
    /// True if background work reads on.
    pub(super) continues: bool,
}

/// Facts, and the unread money that is left.
pub(super) struct SubjectFacts {
    pub(super) data: SubjectData,
    pub(super) masses: UnreadMasses,
    /// The unread payers that were drawn, the first one first.
    pub(super) drawn: Vec<(AccountAddress, Asset)>,
    /// The assets in which the subject has most payments, of which balances are compared.
    pub(super) assets: Vec<Asset>,
}

/// Returns the facts about a subject by what was read.
pub(super) fn facts_of(
    request: TraceRequest<'_>,
    subject: AccountAddress,
    read: &Read<'_>,
) -> SubjectFacts {
    let TraceRequest { intel, now, policy, rules, .. } = request;
    let today = intel.day(now);
    let internal = read.abilities.internal_transfers;
    let prices = intel.prices().as_ref();
    let accounts = gather(
        (read.chain, subject),
        read.lists,
        (internal, read.freezes),
        (read.named.ends.iter(), prices),
    );
    let view = &accounts;
    let attributions = CheckAttributions {
        chain: read.chain,
        view,
        named: read.named,
        intel,
        policy,
        today,
        known: Mutex::default(),
        frozen: Mutex::default(),
    };
    let owner = view.owner(subject);
    let mut drawn = Vec::new();
    let (mut found, masses, freezes) = match owner {
        None => (PaymentFacts::of_nobody(), UnreadMasses::new(), Vec::new()),
        Some(owner) => {
            let own = view.history(owner, MOST_PAYMENTS);
            let of = AccountSubject { view, owner, attributions: &attributions, prices, today };
            let found = PaymentFacts::of(of, &own, (&attributions, rules));
            let mut values = Valuation::new(prices);
            let is_known = |account: AccountAddress, asset: Asset, block: u64| {
                block < read.lists.read_until(account, asset, internal)
            };
            let since = recent_since(today);
            let masses = unread_masses(view, owner, is_known, &mut values, since);
            if let Some(of_subject) = &read.draws {
                drawn = drawn_payers((view, owner), is_known, (&mut values, since), of_subject);
            }
            (found, masses, issuer_freezes(view, owner))
        }
    };
    let histories = read.histories(subject, &accounts, &masses);
    found.flows.complete = histories.is_subject_whole;
    mark_unread(&mut found.flows);
    found.flows.histories = Some(Box::new(histories));
    let PaymentFacts { flows, activity, counterparties, behavior, .. } = found;
    let compositions =
        UsedCompositions { revision: read.named.revision.clone(), is_outdated: false };
    let flows = FlowFacts { compositions: Some(compositions), ..flows };
    let (tip, revision) = read.state(&accounts);
    let facts = ChainFacts { tip, flows, behavior: Some(behavior), activity };
    let data = SubjectData { counterparties, freezes, ..SubjectData::facts(facts, revision) };
    let assets = owner.map(|owner| most_paid(view, owner)).unwrap_or_default();
    SubjectFacts { data, masses, drawn, assets }
}

/// The assets in which an account has most payments.
fn most_paid(accounts: &MemoryAccounts, owner: OwnerNumber) -> Vec<Asset> {
    let mut counts: BTreeMap<AssetNumber, usize> = BTreeMap::new();
    for payment in accounts.payments(owner, MOST_PAYMENTS).payments {
        *counts.entry(payment.asset).or_default() += 1;
    }
    let mut counts: Vec<(AssetNumber, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(number, count)| (Reverse(*count), *number));
    let assets = counts.into_iter().take(COMPARED_BALANCES);
    assets.filter_map(|(number, _)| accounts.asset(number)).collect()
}

/// Names the reason for which origins and destinations are not known: they were not read.
fn mark_unread(flows: &mut FlowFacts) {
    let unread = FlowEnd::Unresolved(UnresolvedReason::TraceLimit);
    for ledger in &mut flows.ledgers {
        for part in ledger.source.parts.iter_mut().chain(&mut ledger.held.parts) {
            if part.end == FlowEnd::Unresolved(UnresolvedReason::UnknownOrigin) {
                part.end = unread;
            }
        }
        for part in &mut ledger.destination.parts {
            let is_of_others = part.distance.hops().is_none_or(|hops| hops > 0);
            if part.end == FlowEnd::Unspent && is_of_others {
                part.end = unread;
            }
        }
    }
}

impl Read<'_> {
    fn histories(
        &self,
        subject: AccountAddress,
        accounts: &MemoryAccounts,
        masses: &UnreadMasses,
    ) -> ReadHistories {
        let internal = self.abilities.internal_transfers;
        let is_whole = |asset: Asset| self.lists.is_whole(subject, asset, internal);
        let mut scored = scored_assets(self.chain).map(|scored| scored.id.asset);
        let largest = self.largest(masses);
        let of_payers = masses.values().map(|mass| mass.share).fold(0, u64::saturating_add);
        let other_balances = self.other_balances(subject, accounts);
        let reached = masses.iter().filter(|((payer, _), _)| {
            // Money of contracts is mixed: all of them count as one payer.
            let is_named =
                self.lists.has_code(*payer) != Some(true) && self.reached.contains(*payer);
            is_named || accounts.owner(*payer).is_some_and(|owner| is_reached(accounts, owner))
        });
        let reached = reached.map(|(_, mass)| mass.share).fold(0, u64::saturating_add);
        ReadHistories {
            api: self.api.to_owned(),
            requests: self.lists.requests(),
            accounts: u32::try_from(self.lists.accounts().saturating_sub(1)).unwrap_or(u32::MAX),
            rows: u64::try_from(self.lists.rows_of(subject)).unwrap_or(u64::MAX),
            is_subject_whole: scored.all(is_whole),
            largest_unread: in_millionths(largest),
            of_payers: in_millionths(of_payers),
            lacks_receipts: other_balances.iter().any(|(_, is_more)| *is_more),
            reached_unread: in_millionths(reached),
            lacks_internal_transfers: !internal,
            lacks_freezes: !self.freezes.are_known,
            severe_parties: self.reached.parties,
            lacks_order: !self.abilities.log_indexes || !self.abilities.positions,
            lacks_exchange_orders: !self.abilities.orders,
            continues: self.continues,
            other_balances: other_balances.into_iter().map(|(ticker, _)| ticker).collect(),
            stopped: self.stopped,
        }
    }

    /// The greatest share of one unread payer, in all assets; all contracts, and accounts that may be some, count as one.
    fn largest(&self, masses: &UnreadMasses) -> u64 {
        let mut by_payer: BTreeMap<Option<AccountAddress>, u64> = BTreeMap::new();
        for ((payer, _), mass) in masses {
            let is_person = self.lists.has_code(*payer) == Some(false);
            let share = by_payer.entry(is_person.then_some(*payer)).or_default();
            *share = share.saturating_add(mass.share);
        }
        by_payer.into_values().max().unwrap_or(0)
    }

    /// Tickers of the assets of which the API states another balance than the subject's transfers amount to, each with true if it
    /// states a higher one. Balances of rebasing
    /// tokens change without transfers.
    fn other_balances(
        &self,
        subject: AccountAddress,
        accounts: &MemoryAccounts,
    ) -> Vec<(String, bool)> {
        let Some(owner) = accounts.owner(subject) else { return Vec::new() };
        let ledgers = AccountView::ledgers(accounts, owner);
        let differing = scored_assets(self.chain).filter_map(|scored| {
            let asset = scored.id.asset;
            let stated = self.lists.balance(subject, asset);
            let of_asset =
                ledgers.iter().find(|(number, _)| accounts.asset(*number) == Some(asset));
            let ledger = of_asset.map_or(0, |(_, ledger)| ledger.balance);
            let (stated, ledger) = (stated.filter(|_| !scored.is_rebasing)?, U256::from(ledger));
            (stated != ledger).then(|| (scored.ticker.to_owned(), stated > ledger))
        });
        differing.collect()
    }

    /// The newest block as a fact, and the revision of what was read: explorers state no hashes, so that a digest of all rows stands
    /// for the hash.
    fn state(&self, accounts: &MemoryAccounts) -> (Tip, String) {
        let (tip, reported_at) = self.tip;
        let mut digest = Sha256::new();
        for transaction in accounts.transactions().transactions() {
            digest.update(transaction.id.as_bytes());
            digest.update(transaction.block.to_be_bytes());
            for transfer in &transaction.transfers {
                digest.update(transfer.from.0);
                digest.update(transfer.to.0);
                digest.update(transfer.asset.text(self.chain));
                digest.update(transfer.amount.to_be_bytes::<32>());
            }
        }
        let hash = hex::encode(digest.finalize());
        let name = hash.get(..12).unwrap_or_default();
        let revision = format!("{}@{}-{name}+{}", self.chain, tip.height, self.named.revision);
        let time = tip.time.unwrap_or(reported_at);
        let ingest_mode = IngestMode::OnDemand;
        let tip = Tip {
            height: tip.height,
            hash,
            time,
            reported_at,
            start: 0,
            ingest_mode,
            sample: false,
        };
        (tip, revision)
    }
}

/// True if severe money reached an account, as far as its receipts are known.
fn is_reached(accounts: &MemoryAccounts, owner: OwnerNumber) -> bool {
    let ledgers = AccountView::ledgers(accounts, owner);
    ledgers.iter().any(|(_, ledger)| ledger.shares.known().iter().any(|it| it.origin.is_severe()))
}

/// A share in millionths, rounded up.
fn in_millionths(share: u64) -> u32 {
    let millionths = u128::from(share) * u128::from(MILLIONTHS);
    u32::try_from(millionths.div_ceil(u128::from(WHOLE))).unwrap_or(u32::MAX)
}
