//! Reading of an unconfirmed transaction with its unconfirmed ancestors, and their resolution in a graph.
//!
//! A source tells the transactions; the outputs that they spend, with owners and amounts, are those of the graph. A
//! transaction that contradicts the graph, or cannot be looked up there, is not assessed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, hash_map::Entry};

use assay_address::ChainId;
use assay_chain::mempool::{MempoolEntry, UnconfirmedTransaction};
use assay_engine::{
    ledger::TransactionNumber,
    reading::{
        ChainView, LookupResult, ReadRequest, RecordedNumbers, TransactionEntry,
        UnconfirmedTransactions, ViewError,
    },
    utxo::{OutPoint, ScriptOwner, Transaction, TxInput, TxOut, Txid, Unconfirmed},
};
use assay_graph::{GraphError, GraphTip, GraphView, ReadSource};
use async_trait::async_trait;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::mempool::{Mempool, TIME};

/// Largest number of unconfirmed transactions that are read for a transfer, its own included: as many as nodes keep in
/// one chain by default.
pub const MOST_UNCONFIRMED: usize = 25;
/// Largest number of transactions that a source is asked for at once, where old ones are not recorded.
const MOST_ASKED: usize = 250;

/// Reason for which an unconfirmed transaction is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRead {
    /// The source does not have the transaction.
    Absent,
    /// A block of the source holds the transaction, and the graph does not have that block yet.
    InNewerBlock,
    /// The source did not answer, or its answer is invalid.
    Unreadable,
    /// The transaction spends outputs of more unconfirmed transactions than are read.
    TooManyAncestors,
    /// An output that the transaction or an ancestor spends is in no recorded block and in no mempool.
    UnknownOutput(OutPoint),
    /// A recorded transaction spends the same output: the unconfirmed one can never be mined.
    DoubleSpend(DoubleSpend),
}

/// An output that an unconfirmed and a recorded transaction spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoubleSpend {
    /// The output.
    pub output: OutPoint,
    /// The recorded transaction.
    pub spent_by: Txid,
}

/// Error of reading an unconfirmed transaction.
#[derive(Debug)]
pub(super) enum UnconfirmedError {
    NotRead(NotRead),
    Graph(GraphError),
}

impl From<NotRead> for UnconfirmedError {
    fn from(reason: NotRead) -> Self {
        Self::NotRead(reason)
    }
}

impl From<GraphError> for UnconfirmedError {
    fn from(error: GraphError) -> Self {
        Self::Graph(error)
    }
}

impl From<ViewError> for UnconfirmedError {
    fn from(error: ViewError) -> Self {
        Self::Graph(error.into())
    }
}

/// An unconfirmed transaction over a view of its graph.
#[derive(Debug)]
pub(super) struct ReadUnconfirmed {
    /// The transaction with its unconfirmed ancestors.
    pub(super) transactions: UnconfirmedTransactions,
    /// Number of the transaction.
    pub(super) number: TransactionNumber,
    /// The transaction, with the outputs that it spends.
    pub(super) transaction: Transaction,
    /// Properties of the transaction that an answer states.
    pub(super) unconfirmed: Unconfirmed,
    /// True if all spent outputs are known.
    pub(super) is_whole: bool,
    /// Digest of the identifiers of the transactions.
    pub(super) revision: String,
}

/// A graph and the mempool of its chain.
#[derive(Clone, Copy)]
pub(super) struct UnconfirmedReader<'a> {
    pub(super) chain: ChainId,
    pub(super) view: &'a dyn GraphView,
    pub(super) tip: &'a GraphTip,
    pub(super) mempool: &'a Mempool,
}

/// Transactions by their identifiers.
type ByTxid = BTreeMap<Txid, UnconfirmedTransaction>;

impl UnconfirmedReader<'_> {
    /// Reads a transaction that the graph does not have, as if a block at `now` held it.
    pub(super) async fn read(
        self,
        txid: Txid,
        now: Timestamp,
    ) -> Result<ReadUnconfirmed, UnconfirmedError> {
        let (found, recorded) = self.with_ancestors(txid).await?;
        let mut lookups = Resolver { of: self, recorded: &recorded, outputs: HashMap::new() };
        let (mut resolved, mut spent) = (Vec::with_capacity(found.len()), HashSet::new());
        for of in parents_first(txid, &found) {
            let Some(UnconfirmedTransaction { transaction, .. }) = found.get(&of) else { continue };
            resolved.push(lookups.resolve(transaction.clone(), &resolved, &mut spent).await?);
        }
        let mut numbers = RecordedNumbers::default();
        numbers.transactions.extend(recorded);
        for owner in resolved.iter().flat_map(Transaction::all_outputs).map(|output| &output.owner)
        {
            if !numbers.owners.contains_key(owner)
                && let Some(number) = self.view.owner_number(owner).await?
            {
                numbers.owners.insert(owner.clone(), number);
            }
        }
        let inputs = || resolved.iter().flat_map(|it| &it.inputs);
        let is_whole = inputs().all(|input| input.spent.is_some());
        let next = (self.tip.block.height.saturating_add(1), now);
        let mut transactions = UnconfirmedTransactions::new(self.chain, next, numbers);
        let number = self.view.read(|view| {
            let added = resolved.into_iter().map(|it| transactions.add(view, it));
            let numbers = added.collect::<Result<Vec<_>, _>>()?;
            numbers.last().copied().ok_or_else(|| ViewError::new("no transaction was read"))
        })?;
        let transaction = transactions.transaction(number).cloned();
        let transaction = transaction.ok_or(NotRead::Unreadable)?;
        let unconfirmed = Unconfirmed {
            ancestors: u32::try_from(found.len().saturating_sub(1)).unwrap_or(u32::MAX),
            signals_replacement: found.values().any(|it| it.signals_replacement),
        };
        let revision = digest(found.keys());
        Ok(ReadUnconfirmed { transactions, number, transaction, unconfirmed, is_whole, revision })
    }

    /// Returns a transaction with its unconfirmed ancestors, and the numbers of the recorded transactions whose outputs
    /// they spend.
    async fn with_ancestors(
        self,
        txid: Txid,
    ) -> Result<(ByTxid, HashMap<Txid, TransactionNumber>), UnconfirmedError> {
        let deadline = Instant::now() + TIME;
        let starts_late = self.tip.start > 0;
        let (mut found, mut recorded) = (ByTxid::new(), HashMap::new());
        let (mut wanted, mut looked_up) = (BTreeSet::from([txid]), HashSet::from([txid]));
        while !wanted.is_empty() {
            // A graph from the first block on lacks only what is unconfirmed or in a block that it did not read yet.
            let left = MOST_UNCONFIRMED.saturating_sub(found.len());
            let most = if starts_late { MOST_ASKED } else { left };
            if wanted.len() > most {
                return Err(NotRead::TooManyAncestors.into());
            }
            let asked: Vec<Txid> = wanted.iter().copied().collect();
            let entries = self.mempool.entries(asked, deadline).await.map_err(|error| {
                tracing::warn!(chain = %self.chain, %error, "failed to read unconfirmed transactions");
                NotRead::Unreadable
            })?;
            let mut spent = Vec::new();
            for (of, entry) in std::mem::take(&mut wanted).into_iter().zip(entries) {
                match entry {
                    MempoolEntry::Unconfirmed(entry) => {
                        spent.extend(spends(&entry.transaction).map(|input| input.outpoint));
                        found.insert(of, *entry);
                    }
                    MempoolEntry::Absent if of == txid => return Err(NotRead::Absent.into()),
                    // Money of a block that is not recorded yet has origins that are not known yet.
                    MempoolEntry::Confirmed if of == txid || !starts_late => {
                        return Err(NotRead::InNewerBlock.into());
                    }
                    // An output from before the first recorded block, if there is one.
                    MempoolEntry::Absent | MempoolEntry::Confirmed => {}
                }
            }
            if found.len() > MOST_UNCONFIRMED {
                return Err(NotRead::TooManyAncestors.into());
            }
            for output in spent {
                if looked_up.insert(output.txid) {
                    match self.view.transaction_number(&output.txid).await? {
                        Some(number) => {
                            recorded.insert(output.txid, number);
                        }
                        None => {
                            wanted.insert(output.txid);
                        }
                    }
                }
            }
        }
        Ok((found, recorded))
    }
}

/// Looks up the outputs that unconfirmed transactions spend.
struct Resolver<'a> {
    of: UnconfirmedReader<'a>,
    recorded: &'a HashMap<Txid, TransactionNumber>,
    /// Outputs of recorded transactions.
    outputs: HashMap<TransactionNumber, Vec<TransactionEntry>>,
}

impl Resolver<'_> {
    /// Fills in the outputs that a transaction spends, of the graph or of unconfirmed transactions `before` it. `spent`
    /// holds the outputs that those spend.
    async fn resolve(
        &mut self,
        mut transaction: Transaction,
        before: &[Transaction],
        spent: &mut HashSet<OutPoint>,
    ) -> Result<Transaction, UnconfirmedError> {
        let txid = transaction.txid;
        for input in transaction.inputs.iter_mut().filter(|input| !input.is_from_pool(txid)) {
            let output = input.outpoint;
            let known = match before.iter().find(|made| made.txid == output.txid) {
                Some(made) => Some(output_of(made, output.index).ok_or(NotRead::Unreadable)?),
                None => self.recorded_output(output).await?,
            };
            let contradicts = known.is_some() && input.spent.is_some() && input.spent != known;
            if contradicts || !spent.insert(output) {
                return Err(NotRead::Unreadable.into());
            }
            // What a source alone states of an output has no evidence.
            input.spent = known;
            // Only outputs from before the first recorded block are not known to a graph that is up to date.
            if input.spent.is_none() && self.of.tip.start == 0 {
                return Err(NotRead::UnknownOutput(output).into());
            }
        }
        if transaction.input_total() < transaction.output_total() {
            return Err(NotRead::Unreadable.into());
        }
        Ok(transaction)
    }

    /// Returns an unspent output of a recorded transaction; `None` if the transaction is not recorded.
    async fn recorded_output(
        &mut self,
        output: OutPoint,
    ) -> Result<Option<TxOut>, UnconfirmedError> {
        let Some(number) = self.recorded.get(&output.txid).copied() else { return Ok(None) };
        let view = self.of.view;
        let outputs = match self.outputs.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(view.outputs_of(number).await?),
        };
        let entry = outputs.iter().find(|entry| entry.index == output.index);
        let entry = *entry.ok_or(NotRead::UnknownOutput(output))?;
        let spender = match entry.leads_to {
            Some(waypoint) => {
                let mut request = ReadRequest::default();
                request.push(waypoint);
                view.fetch(&request).await?;
                view.read(|view| view.look_up(waypoint))?
            }
            None => LookupResult::Nothing,
        };
        match spender {
            LookupResult::Nothing => {}
            LookupResult::Transaction { number, .. } => {
                let spent_by = view.read(|view| view.txid(number))?;
                return Err(NotRead::DoubleSpend(DoubleSpend { output, spent_by }).into());
            }
            LookupResult::Failed | LookupResult::Unread => return Err(NotRead::Unreadable.into()),
        }
        let owner = view.read(|view| view.owner(entry.owner))?;
        if matches!(owner, ScriptOwner::Pool(_)) {
            return Err(NotRead::UnknownOutput(output).into());
        }
        Ok(Some(TxOut { owner, value: entry.value }))
    }
}

/// The inputs of a transaction that spend outputs.
fn spends(transaction: &Transaction) -> impl Iterator<Item = &TxInput> {
    let txid = transaction.txid;
    transaction.inputs.iter().filter(move |input| !input.is_from_pool(txid))
}

fn output_of(transaction: &Transaction, index: u32) -> Option<TxOut> {
    transaction.outputs.get(usize::try_from(index).ok()?).cloned()
}

/// Returns transactions in an order in which each comes after those whose outputs it spends; the last one is `last`. No
/// transaction can spend outputs of its descendants, whose identifiers depend on its own; where a source says so all the
/// same, the order is cut there, and the output is not known.
fn parents_first(last: Txid, of: &ByTxid) -> Vec<Txid> {
    let (mut ordered, mut seen) = (Vec::with_capacity(of.len()), HashSet::new());
    let mut waiting = vec![(last, false)];
    while let Some((txid, has_parents)) = waiting.pop() {
        if has_parents {
            ordered.push(txid);
        } else if let Some(found) = of.get(&txid)
            && seen.insert(txid)
        {
            waiting.push((txid, true));
            waiting.extend(spends(&found.transaction).map(|input| (input.outpoint.txid, false)));
        }
    }
    ordered
}

fn digest<'a>(txids: impl Iterator<Item = &'a Txid>) -> String {
    let mut hash = Sha256::new();
    for txid in txids {
        hash.update(txid.as_bytes());
    }
    let mut digest = hex::encode(hash.finalize());
    digest.truncate(12);
    digest
}

/// A view with unconfirmed transactions, as a source of data.
pub(super) struct UnconfirmedSource<'v> {
    pub(super) view: &'v dyn GraphView,
    pub(super) unconfirmed: &'v UnconfirmedTransactions,
}

#[async_trait]
impl ReadSource for UnconfirmedSource<'_> {
    type Error = GraphError;

    fn with_view(&mut self, read: &mut dyn FnMut(&dyn ChainView)) {
        self.view.with_view(&mut |below| read(&self.unconfirmed.over(below)));
    }

    async fn fetch(&mut self, mut request: ReadRequest) -> Result<(), GraphError> {
        request.transactions.retain(|number| !UnconfirmedTransactions::has_number(*number));
        self.view.fetch(&request).await
    }
}

#[cfg(test)]
mod tests;
