//! Views: one state of a graph, and the loop that runs queries over it.

use assay_engine::{
    evidence::Direction,
    ledger::{OwnHistory, OwnerNumber, ReadLimits, TransactionNumber},
    reading::{
        ChainView, Query, QueryProgress, ReadRequest, TransactionEntry, TransactionRead, ViewError,
    },
    utxo::{ScriptOwner, Txid},
};
use async_trait::async_trait;

use crate::{Graph, GraphError, compositions::TraceEndsRevision};

/// One state of a graph, with its newest block. All of its answers, those of [`Graph`] included, are of that state.
#[async_trait]
pub trait GraphView: Graph {
    /// Lends the view to what reads it at once, on this thread. A view of a distant store tells what was fetched before.
    fn with_view(&self, read: &mut dyn FnMut(&dyn ChainView));

    /// The number of an owner; `None` if it never appeared.
    async fn owner_number(&self, owner: &ScriptOwner) -> Result<Option<OwnerNumber>, GraphError>;

    /// The number of a transaction, of the newest one with this identifier; `None` if it is not recorded.
    async fn transaction_number(
        &self,
        txid: &Txid,
    ) -> Result<Option<TransactionNumber>, GraphError>;

    /// The history of an owner: its statistics, and the transactions of its largest outputs in each direction (by
    /// value, then by position in the chain), as many as `limits` allow. Afterwards these can be read, with as many
    /// entries.
    async fn history(
        &self,
        owner: OwnerNumber,
        limits: ReadLimits,
    ) -> Result<OwnHistory, GraphError>;

    /// The history of an owner that never spent anything; `None` if it did, or if it received more outputs than
    /// `limits` allow. Afterwards its transactions can be read.
    async fn unspent_history(
        &self,
        owner: OwnerNumber,
        limits: ReadLimits,
    ) -> Result<Option<OwnHistory>, GraphError> {
        let history = self.history(owner, limits).await?;
        let OwnHistory { statistics, incoming, outgoing } = &history;
        let received: u128 = incoming.iter().map(|own| own.income(own.inputs)).sum();
        let is_whole = received == statistics.received;
        let is_unspent = outgoing.is_empty() && statistics.sent == 0;
        Ok((is_unspent && is_whole).then_some(history))
    }

    /// Adds to a history, read within `limits`, the transactions in which one of `others` is on the other side of the
    /// owner, whatever their size. Afterwards the entries of these others can be read of all its transactions.
    async fn add_dealings(
        &self,
        owner: OwnerNumber,
        limits: ReadLimits,
        others: &[ScriptOwner],
        history: &mut OwnHistory,
    ) -> Result<(), GraphError>;

    /// Owners with smaller numbers are those that they are in every later state too: no reorganisation reaches them.
    /// 0 where numbers belong to one view.
    async fn finalized_owners(&self) -> Result<u64, GraphError> {
        Ok(0)
    }

    /// The ends that the compositions of this view rest on; `None` where it knows none.
    fn compositions(&self) -> Option<TraceEndsRevision> {
        None
    }

    /// All outputs of a transaction.
    async fn outputs_of(
        &self,
        transaction: TransactionNumber,
    ) -> Result<Vec<TransactionEntry>, GraphError>;

    /// Fetches what a query needs, so that it can be read at once.
    async fn fetch(&self, _request: &ReadRequest) -> Result<(), GraphError> {
        Ok(())
    }
}

impl dyn GraphView + '_ {
    /// Reads the view at once. Other tasks of this thread go on elsewhere meanwhile ([`blocking`]).
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn read<T>(
        &self,
        read: impl FnOnce(&dyn ChainView) -> Result<T, ViewError>,
    ) -> Result<T, GraphError> {
        Ok(blocking(|| read_lent(|with_view| self.with_view(with_view), read))?)
    }
}

/// All outputs of a transaction, from a view that tells everything at once.
///
/// # Errors
///
/// Returns an error if the store fails.
pub fn read_outputs(
    view: &dyn ChainView,
    transaction: TransactionNumber,
) -> Result<Vec<TransactionEntry>, ViewError> {
    let mut read = TransactionRead::default();
    view.read(transaction, Direction::Destination, u32::MAX, &mut read)?;
    Ok(read.entries)
}

/// A source of what queries read, in batches.
#[async_trait]
pub trait ReadSource: Send {
    /// A failure of the source.
    type Error: From<ViewError>;

    /// Lends what was read so far.
    fn with_view(&mut self, read: &mut dyn FnMut(&dyn ChainView));

    /// Reads what a query needs. What cannot be read [fails](assay_engine::reading::LookupResult::Failed).
    async fn fetch(&mut self, request: ReadRequest) -> Result<(), Self::Error>;
}

/// A view as a source.
#[derive(Debug)]
pub struct ViewSource<'v>(pub &'v dyn GraphView);

#[async_trait]
impl ReadSource for ViewSource<'_> {
    type Error = GraphError;

    fn with_view(&mut self, read: &mut dyn FnMut(&dyn ChainView)) {
        self.0.with_view(read);
    }

    async fn fetch(&mut self, request: ReadRequest) -> Result<(), GraphError> {
        self.0.fetch(&request).await
    }
}

/// Runs a query to its end. Between its steps other tasks get their turn, and it stops if nobody waits for it any more.
///
/// # Errors
///
/// Returns an error if the source fails.
pub async fn run_query<S: ReadSource>(
    query: &mut dyn Query,
    source: &mut S,
) -> Result<(), S::Error> {
    loop {
        let step =
            || read_lent(|with_view| source.with_view(with_view), |view| query.advance(view));
        match blocking(step)? {
            QueryProgress::Complete => return Ok(()),
            QueryProgress::Paused => tokio::task::yield_now().await,
            QueryProgress::Reads(request) => source.fetch(request).await?,
        }
    }
}

/// The result of a read by what is lent.
fn read_lent<T>(
    with_view: impl FnOnce(&mut dyn FnMut(&dyn ChainView)),
    read: impl FnOnce(&dyn ChainView) -> Result<T, ViewError>,
) -> Result<T, ViewError> {
    let (mut read, mut result) = (Some(read), None);
    with_view(&mut |view| {
        if let Some(read) = read.take() {
            result = Some(read(view));
        }
    });
    result.unwrap_or_else(|| Err(ViewError::new("the view was not lent")))
}

/// Runs what computes, or waits for a disk, for some milliseconds: other tasks of this thread move to another one
/// meanwhile, where the runtime has several.
pub fn blocking<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(work)
        }
        _ => work(),
    }
}
