//! Reader of account chains.

use std::{collections::BTreeMap, sync::Arc};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    account::{
        AccountAddress, AccountPayments, AccountSubject, AccountView, IssuerFreeze, MOST_PAYMENTS,
        Valuation, issuer_freezes, unfollowed_transfers,
    },
    evidence::{ChainFacts, FlowFacts, IngestMode, Tip, Unavailable, UsedCompositions},
    ledger::{BlockId, BlockRef, OwnerNumber},
    timeline::Timeline,
    trace::is_bounded,
    transfer::{FoundTransfer, TransferDirection},
    utxo::Txid,
};
use assay_graph::{
    EmbeddedGraphs, GraphError, GraphTip,
    account::{AccountGraphView, RecordedState},
};
use assay_intel::IntelSnapshot;
use assay_telemetry::stage;
use async_trait::async_trait;
use jiff::Timestamp;
use tracing::Instrument;

use super::{
    attributions::CheckAttributions,
    bridges::{AccountStates, JoinedDeposits, OtherStates},
    payments::PaymentFacts,
    state::{AccountState, CheckState},
    tokens::add_tokens,
    transaction,
    transfer::ReadTransfer,
};
use crate::chains::{
    booked::BookedTransaction,
    changes::ChainChanges,
    reader::{BlockWithWork, ChainReader},
    subject::{ReadError, SubjectData, TraceRequest},
    transfer::{TransferError, TransferRead, TransferReadRequest},
};
use crate::large::beside_others_if;

/// Most payments of a screened subject that is decided without its associates.
const MOST_SCREENED: usize = 1_000;
/// Most payments that a timeline reads one by one; older ones are read as sums.
const TIMELINE_PAYMENTS: usize = 2_000;
/// Number of payments from which on a check takes long.
const MANY_PAYMENTS: u64 = 1_000;

/// Reader of the transfers of one account chain.
#[derive(Debug)]
pub struct AccountReader {
    chain: ChainId,
    state: Arc<AccountState>,
    states: AccountStates,
}

/// Readers of all account chains with recorded transfers.
#[derive(Clone, Debug, Default)]
pub struct AccountReaders {
    readers: BTreeMap<ChainId, Arc<AccountReader>>,
    states: AccountStates,
}

impl AccountReaders {
    /// Returns the reader of a chain.
    #[must_use]
    pub fn get(&self, chain: ChainId) -> Option<&Arc<AccountReader>> {
        self.readers.get(&chain)
    }

    /// Iterates over the chains.
    pub fn chains(&self) -> impl Iterator<Item = ChainId> {
        self.readers.keys().copied()
    }

    /// Returns the reader of a chain that has recorded transfers now; `None` for another chain. The reader keeps what it knows.
    pub(in crate::chains) fn renew_reader(
        &mut self,
        chain: ChainId,
        graphs: &Arc<EmbeddedGraphs>,
    ) -> Result<Option<Arc<AccountReader>>, GraphError> {
        if graphs.accounts(chain)?.is_none() {
            self.readers.remove(&chain);
            return Ok(None);
        }
        let new = || Arc::new(AccountReader::new(chain, graphs, &self.states));
        Ok(Some(Arc::clone(self.readers.entry(chain).or_insert_with(new))))
    }

    /// Returns the readers of the chains that have recorded transfers now. A reader keeps what it knows.
    #[must_use]
    pub fn renewed(&self, graphs: &Arc<EmbeddedGraphs>) -> Self {
        let chains = graphs.account_chains().into_iter();
        let readers = chains.map(|chain| {
            let known = self.readers.get(&chain).map(Arc::clone);
            let new = || Arc::new(AccountReader::new(chain, graphs, &self.states));
            (chain, known.unwrap_or_else(new))
        });
        Self { readers: readers.collect(), states: self.states.clone() }
    }
}

impl AccountReader {
    fn new(chain: ChainId, graphs: &Arc<EmbeddedGraphs>, states: &AccountStates) -> Self {
        Self { chain, state: states.of(chain, graphs), states: states.clone() }
    }

    /// The states of the other chains; none for a subject that never appeared.
    async fn others(&self, request: TraceRequest<'_>, state: &CheckState) -> OtherStates {
        let TraceRequest { intel, now, subject, .. } = request;
        let owner = AccountAddress::of(subject).and_then(|it| state.accounts.owner(it));
        if owner.is_none() {
            return OtherStates::default();
        }
        let others = (&self.states, self.state.shared_graphs());
        OtherStates::on_day((self.chain, state), others, intel, intel.day(now)).await
    }

    async fn read(&self, request: TraceRequest<'_>) -> Result<SubjectData, GraphError> {
        let TraceRequest { intel, now, .. } = request;
        match self.state.on_day(intel, intel.day(now)).await? {
            Some(state) => {
                let others = self.others(request, &state).await;
                self.subject_data(request, &state, &others)
            }
            None => Ok(SubjectData::unavailable(Unavailable::NotYetRead)),
        }
    }

    fn subject_data(
        &self,
        request: TraceRequest<'_>,
        state: &CheckState,
        others: &OtherStates,
    ) -> Result<SubjectData, GraphError> {
        let view = &*state.accounts;
        let owner = AccountAddress::of(request.subject).and_then(|account| view.owner(account));
        let is_large = owner.is_some_and(|owner| view.payment_count(owner) > MANY_PAYMENTS);
        let data = beside_others_if(is_large, || {
            let own = owner.map(|owner| (owner, view.history(owner, MOST_PAYMENTS)));
            self.data_of_payments(request, (state, others), own)
        });
        view.check()?;
        Ok(data)
    }

    /// Returns the data about a subject by its own payments, without its associates, if no risky money came to it.
    async fn without_associates(
        &self,
        request: TraceRequest<'_>,
    ) -> Result<Option<SubjectData>, GraphError> {
        let TraceRequest { intel, now, policy, subject, .. } = request;
        let today = intel.day(now);
        let Some(state) = self.state.on_day(intel, today).await? else { return Ok(None) };
        if state.is_outdated || !is_bounded(policy) {
            return Ok(None);
        }
        let view = &*state.accounts;
        let Some(owner) = AccountAddress::of(subject).and_then(|account| view.owner(account))
        else {
            let data = self.data_of_payments(request, (&state, &OtherStates::default()), None);
            view.check()?;
            return Ok(Some(data));
        };
        let own = view.payments(owner, MOST_SCREENED);
        let attributions = self.attributions(request, &state);
        let prices = intel.prices().as_ref();
        let of = AccountSubject { view, owner, attributions: &attributions, prices, today };
        let others = self.others(request, &state).await;
        let others = others.attributions((intel, policy), today);
        let (bridged, deposits) = others.join(of, &own, state_revision);
        let of = AccountSubject { attributions: &bridged, ..of };
        let is_bounded = !of.may_be_risky(&own) && !may_deal_in_tokens(of);
        let flows = is_bounded.then(|| of.flows(&own));
        let freezes = issuer_freezes(view, owner);
        view.check()?;
        Ok(flows.map(|flows| {
            let flows = FlowFacts { compositions: Some(used(&state, Some(&deposits))), ..flows };
            let tip = tip(&state.recorded);
            let facts = ChainFacts { tip, flows, behavior: None, activity: of.activity(&own) };
            let revision = state_revision(self.chain, &state) + &deposits.revision;
            SubjectData { freezes, ..SubjectData::facts(facts, revision) }
        }))
    }

    /// Returns the data about a subject with its own payments; `None` for one that never appeared.
    fn data_of_payments(
        &self,
        request: TraceRequest<'_>,
        (state, others): (&CheckState, &OtherStates),
        of: Option<(OwnerNumber, AccountPayments)>,
    ) -> SubjectData {
        let TraceRequest { intel, now, rules, policy, .. } = request;
        let (view, today) = (&*state.accounts, intel.day(now));
        let freezes = of.as_ref().map(|(owner, _)| issuer_freezes(view, *owner));
        let attributions = self.attributions(request, state);
        let prices = intel.prices().as_ref();
        let others = others.attributions((intel, policy), today);
        let mut deposits = None;
        let found = match of {
            None => PaymentFacts::of_nobody(),
            Some((owner, own)) => {
                let of = AccountSubject { view, owner, attributions: &attributions, prices, today };
                let (bridged, joined) = others.join(of, &own, state_revision);
                deposits = Some(joined);
                let of = AccountSubject { attributions: &bridged, ..of };
                let mut found = PaymentFacts::of(of, &own, (&attributions, rules));
                if let Some(limits) = &mut found.flows.account {
                    limits.exceeding_ledgers = self.exceeding_ledgers(request);
                    add_tokens((self.chain, &state.lookalikes), &found.unfollowed, limits);
                }
                found
            }
        };
        let PaymentFacts { flows, activity, counterparties, behavior, .. } = found;
        let tip = tip(&state.recorded);
        let mut revision = state_revision(self.chain, state);
        revision.push_str(deposits.as_ref().map_or("", |deposits| &deposits.revision));
        let flows = FlowFacts { compositions: Some(used(state, deposits.as_ref())), ..flows };
        let facts = ChainFacts { tip, flows, behavior: Some(behavior), activity };
        let freezes = freezes.unwrap_or_default();
        SubjectData { counterparties, freezes, ..SubjectData::facts(facts, revision) }
    }

    /// Returns the assets of which the ledgers of the subject held more than a node said, and requests another comparison.
    fn exceeding_ledgers(&self, request: TraceRequest<'_>) -> Vec<String> {
        let Some(account) = AccountAddress::of(request.subject) else { return Vec::new() };
        let comparisons = self.state.graphs().ledger_comparisons();
        comparisons.request(self.chain, account, request.now);
        let exceeding = comparisons.exceeding(self.chain, account).into_iter();
        exceeding.map(str::to_owned).collect()
    }

    fn attributions<'a>(
        &self,
        request: TraceRequest<'a>,
        state: &'a CheckState,
    ) -> CheckAttributions<'a> {
        let TraceRequest { policy, intel, now, .. } = request;
        let of = (self.chain, &*state.accounts as &dyn AccountView);
        CheckAttributions::new(of, &state.named, (intel, policy), intel.day(now))
    }

    async fn read_transfer(
        &self,
        request: TransferReadRequest<'_>,
    ) -> Result<TransferRead, TransferError> {
        let TransferReadRequest { query, intel, now, .. } = request;
        let today = intel.day(now);
        let state = self.state.on_day(intel, today).await?;
        let state = state.ok_or(TransferError::Unavailable(self.chain, Unavailable::NotYetRead))?;
        let (view, prices) = (&*state.accounts, intel.prices().as_ref());
        let mut values = Valuation::new(prices);
        let read = ReadTransfer::find(view, &state.recorded, query, &mut values, now)?;
        let of_receiver = request.of_receiver(&read.found.transfer.receiver);
        let attributions = self.attributions(of_receiver, &state);
        let owner = read.receiver;
        let of = AccountSubject { view, owner, attributions: &attributions, prices, today };
        if query.direction == TransferDirection::Deposit {
            let flows = of.origins_of(read.booked.payments());
            view.check()?;
            let flows = FlowFacts { compositions: Some(used(&state, None)), ..flows };
            let revision = state_revision(self.chain, &state);
            let (activity, tip) = (read.activity(), tip(&state.recorded));
            let transfer = FoundTransfer::OfAccounts(Box::new(read.found));
            return Ok(TransferRead::of_origins(transfer, activity, flows, (tip, revision)));
        }
        let destinations = read.destinations(&of);
        // The check of the receiver's data covers the destinations as well.
        let others = self.others(of_receiver, &state).await;
        let traced = self.subject_data(of_receiver, &state, &others)?;
        let transfer = FoundTransfer::OfAccounts(Box::new(read.found));
        let tip_height = state.recorded.tip.height;
        Ok(TransferRead { transfer, traced, destinations, tip_height })
    }
}

/// Returns the ledgers that a check rests on, also by deposits on other chains.
fn used(state: &CheckState, deposits: Option<&JoinedDeposits>) -> UsedCompositions {
    let is_outdated = state.is_outdated || deposits.is_some_and(|deposits| deposits.is_outdated);
    UsedCompositions { revision: state.revision.clone(), is_outdated }
}

#[async_trait]
impl ChainReader for AccountReader {
    async fn trace(&self, request: TraceRequest<'_>) -> Result<SubjectData, ReadError> {
        let span = stage!("read_accounts", chain = self.chain.info().id);
        Ok(self.read(request).instrument(span).await?)
    }

    async fn flows_at_most(&self, of: TraceRequest<'_>) -> Result<Option<SubjectData>, ReadError> {
        Ok(self.without_associates(of).await?)
    }

    async fn transfer(
        &self,
        request: TransferReadRequest<'_>,
    ) -> Result<TransferRead, TransferError> {
        let span = stage!("read_transfer", chain = self.chain.info().id);
        self.read_transfer(request).instrument(span).await
    }

    async fn changes(&self, since: Option<BlockRef>) -> Result<Option<ChainChanges>, ReadError> {
        let Some(GraphTip { block: newest, .. }) = self.tip().await? else { return Ok(None) };
        Ok(Some(if since == Some(newest) {
            ChainChanges::nothing(newest)
        } else {
            // New transfers change ledgers of any account.
            ChainChanges { newest, addresses: None }
        }))
    }

    async fn latest_block(&self) -> Result<Option<Tip>, ReadError> {
        Ok(self.state.snapshot()?.map(|snapshot| tip(snapshot.recorded())))
    }

    async fn tip(&self) -> Result<Option<GraphTip>, ReadError> {
        Ok(self.state.snapshot()?.map(|snapshot| snapshot.graph_tip()).transpose()?)
    }

    async fn has(&self, block: BlockId) -> Result<bool, ReadError> {
        let Some(snapshot) = self.state.snapshot()? else { return Ok(false) };
        let found = snapshot.block_reference(block.height)?;
        Ok(found.is_some_and(|found| found.hash == block.hash))
    }

    async fn branch_blocks(
        &self,
        newest: BlockId,
        heights: &[u64],
    ) -> Result<Option<Vec<BlockWithWork>>, ReadError> {
        let Some(snapshot) = self.state.snapshot()? else { return Ok(None) };
        let found = snapshot.block_reference(newest.height)?;
        if found.is_none_or(|found| found.hash != newest.hash) {
            return Ok(None);
        }
        let mut blocks = Vec::new();
        for height in heights.iter().filter(|height| **height <= newest.height) {
            // No work is known of account chains: the majority of the servers decides between branches.
            blocks.extend(snapshot.block_reference(*height)?.map(|block| (block, None)));
        }
        Ok(Some(blocks))
    }

    async fn timeline(
        &self,
        subject: &CanonicalAddress,
        _intel: &IntelSnapshot,
        _now: Timestamp,
    ) -> Result<Option<Timeline>, ReadError> {
        let Some(view) = self.state.snapshot()? else { return Ok(None) };
        let Some(owner) = AccountAddress::of(subject).and_then(|account| view.owner(account))
        else {
            return Ok(None);
        };
        let is_large = view.payment_count(owner) > MANY_PAYMENTS;
        let timeline = beside_others_if(is_large, || {
            Timeline::of_payments(&view, owner, &view.history(owner, TIMELINE_PAYMENTS))
        });
        view.check()?;
        Ok(Some(timeline))
    }

    async fn freezes(&self, subject: &CanonicalAddress) -> Result<Vec<IssuerFreeze>, ReadError> {
        let Some(view) = self.state.snapshot()? else { return Ok(Vec::new()) };
        let owner = AccountAddress::of(subject).and_then(|account| view.owner(account));
        let freezes = owner.map(|owner| issuer_freezes(&view, owner)).unwrap_or_default();
        view.check()?;
        Ok(freezes)
    }

    async fn account_transaction(
        &self,
        txid: &Txid,
        most: u32,
        intel: &IntelSnapshot,
        now: Timestamp,
    ) -> Result<Option<BookedTransaction>, ReadError> {
        let state = self.state.on_day(intel, intel.day(now)).await?;
        let Some(state) = state else { return Ok(None) };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Ok(transaction::find(&*state.accounts, txid, most)?)
    }
}

/// True if a subject may have dealt in tokens with listed parties, which leads to a review.
fn may_deal_in_tokens(of: AccountSubject<'_>) -> bool {
    let with_tokens = of.view.with_other_tokens(of.owner, MOST_SCREENED).len();
    with_tokens == MOST_SCREENED
        || with_tokens > 0
            && !of.token_dealings(&unfollowed_transfers(of.view, of.owner)).is_empty()
}

/// Returns the newest recorded block. Files of transfers state no hashes of blocks: the digest of all transfers stands for
/// the hash.
fn tip(recorded: &RecordedState) -> Tip {
    Tip {
        height: recorded.tip.height,
        hash: hex::encode(recorded.digest),
        time: recorded.tip.time,
        reported_at: recorded.tip.time,
        start: recorded.first.height,
        ingest_mode: IngestMode::Ingested,
        sample: recorded.sample,
    }
}

/// Returns the revision: the chain, the height and the digest of all transfers, and the ends of the ledgers.
fn state_revision(chain: ChainId, state: &CheckState) -> String {
    let CheckState { recorded, revision: ends, .. } = state;
    let digest = hex::encode(recorded.digest);
    format!("{chain}@{}-{}+{ends}", recorded.tip.height, digest.get(..12).unwrap_or_default())
}

#[cfg(test)]
mod tests;
