//! Views: one state of a graph, and the loop that runs queries over a view.

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

/// One state of a graph. All methods of the view, also the methods of [`Graph`], read the view's state.
#[async_trait]
pub trait GraphView: Graph {
    /// Passes the view to `read`, on this thread. A view of a remote store shows the data that was fetched before.
    fn with_view(&self, read: &mut dyn FnMut(&dyn ChainView));

    /// The number of an owner; `None` if the owner never appeared.
    async fn owner_number(&self, owner: &ScriptOwner) -> Result<Option<OwnerNumber>, GraphError>;

    /// The number of the newest transaction with an identifier; `None` if no such transaction is recorded.
    async fn transaction_number(
        &self,
        txid: &Txid,
    ) -> Result<Option<TransactionNumber>, GraphError>;

    /// The history of an owner: its statistics, and the transactions of its largest outputs in each direction (by
    /// value, then by position in the chain), as many as `limits` allow. After the call, a remote view has these
    /// transactions, with as many inputs and outputs as `limits` allow.
    async fn history(
        &self,
        owner: OwnerNumber,
        limits: ReadLimits,
    ) -> Result<OwnHistory, GraphError>;

    /// The history of an owner that never spent an output; `None` for other owners, and for more received outputs than
    /// `limits` allow. After the call, a remote view has the transactions.
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

    /// Adds the transactions between the owner and `others`, of any amount, to a history that was read within `limits`.
    /// After the call, a remote view has the entries of `others` in all transactions of the history.
    async fn add_dealings(
        &self,
        owner: OwnerNumber,
        limits: ReadLimits,
        others: &[ScriptOwner],
        history: &mut OwnHistory,
    ) -> Result<(), GraphError>;

    /// Number of owners that no reorganization removes: smaller numbers stand for the same owners in every later state.
    /// 0 if numbers are valid in one view only.
    async fn finalized_owners(&self) -> Result<u64, GraphError> {
        Ok(0)
    }

    /// The revision of the trace ends for which the view's compositions (origin breakdowns) were computed; `None`
    /// without compositions.
    fn compositions(&self) -> Option<TraceEndsRevision> {
        None
    }

    /// All outputs of a transaction.
    async fn outputs_of(
        &self,
        transaction: TransactionNumber,
    ) -> Result<Vec<TransactionEntry>, GraphError>;

    /// Fetches the data that a query requests, so that the view can read it.
    async fn fetch(&self, _request: &ReadRequest) -> Result<(), GraphError> {
        Ok(())
    }
}

impl dyn GraphView + '_ {
    /// Reads the view in a blocking call ([`blocking`]).
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

/// Reads all outputs of a transaction from a local view.
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

/// A source of the data that queries read, fetched in batches.
#[async_trait]
pub trait ReadSource: Send {
    /// A failure of the source.
    type Error: From<ViewError>;

    /// Passes a view of the fetched data to `read`.
    fn with_view(&mut self, read: &mut dyn FnMut(&dyn ChainView));

    /// Fetches the data that a query requests. Unavailable data is marked as
    /// [failed](assay_engine::reading::LookupResult::Failed).
    async fn fetch(&mut self, request: ReadRequest) -> Result<(), Self::Error>;

    /// Reads the fetched data in a blocking call ([`blocking`]).
    ///
    /// # Errors
    ///
    /// Returns an error if the source fails.
    fn read_view<T>(
        &mut self,
        read: impl FnOnce(&dyn ChainView) -> Result<T, ViewError>,
    ) -> Result<T, Self::Error>
    where
        Self: Sized,
    {
        Ok(blocking(|| read_lent(|with_view| self.with_view(with_view), read))?)
    }
}

/// A view as a source of data.
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

/// Runs a query to its end. Other tasks run between the steps, and dropping the future stops the query.
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

/// Calls `with_view` with a function that runs `read`, and returns the result of `read`.
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

/// Runs `work`, which computes or waits for the disk for some milliseconds. A multi-threaded runtime moves the thread's
/// other tasks to another thread meanwhile.
pub fn blocking<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            tokio::task::block_in_place(work)
        }
        _ => work(),
    }
}
