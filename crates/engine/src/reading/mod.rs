//! Interface by which queries read one state of a chain, by numbers.
//!
//! A query, such as a [trace](crate::trace), is a state machine. A query reads from a [`ChainView`] without waiting,
//! and requests data that the view has not read yet ([`QueryProgress::Reads`]). A local store answers everything at
//! once; an API on demand and a remote database read in batches. One loop therefore runs every query over every source,
//! and the answer depends on the chain alone.
//!
//! - [`own`]: selection of the entries that are read of an owner's transactions
//! - [`gathered`]: the part of a chain that a source on demand has read
//! - [`unconfirmed`]: unconfirmed transactions over a view

pub mod gathered;
pub mod own;
pub mod unconfirmed;

use jiff::Timestamp;

pub use gathered::{BlockPosition, GatheredChain};
pub use own::{entries_of_each, read_own};
pub use unconfirmed::{RecordedNumbers, UnconfirmedTransactions, UnconfirmedView};

use crate::{
    composition::Composition,
    evidence::Direction,
    ledger::{OwnerNumber, Statistics, TransactionNumber},
    utxo::{OutputNumber, ScriptOwner, TransactionKind, Txid},
};

/// One state of a chain.
pub trait ChainView {
    /// Looks up the transaction at a waypoint (a point at which funds wait to be followed), with the transaction's
    /// position in the chain.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn look_up(&self, waypoint: Waypoint) -> Result<LookupResult, ViewError>;

    /// Reads a transaction with its `most` largest inputs (source) or outputs (destination), in the order of their
    /// indexes. Callers pass transactions that [`ChainView::look_up`] found, or transactions of a history.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn read(
        &self,
        transaction: TransactionNumber,
        direction: Direction,
        most: u32,
        into: &mut TransactionRead,
    ) -> Result<(), ViewError>;

    /// The cluster of an owner, identified by one of its members; the owner itself if the cluster has no other member.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn cluster_of(&self, owner: OwnerNumber) -> Result<OwnerNumber, ViewError>;

    /// The owner to which a number was assigned.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn owner(&self, number: OwnerNumber) -> Result<ScriptOwner, ViewError>;

    /// The identifier of a transaction.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn txid(&self, number: TransactionNumber) -> Result<Txid, ViewError>;

    /// The composition (breakdown of the funds by origin) of a transaction; `None` if the view does not know the
    /// composition.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn composition(&self, _of: TransactionNumber) -> Result<Option<Composition>, ViewError> {
        Ok(None)
    }

    /// The first new owner in the block of a transaction: owners with smaller numbers appeared earlier. `None` if the
    /// numbers of owners do not follow the order of the chain.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn first_new_owner(&self, _of: TransactionNumber) -> Result<Option<OwnerNumber>, ViewError> {
        Ok(None)
    }

    /// The statistics of an owner over its lifetime; `None` if the view does not know them.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn statistics(&self, _of: OwnerNumber) -> Result<Option<Statistics>, ViewError> {
        Ok(None)
    }

    /// Number of times that transactions got another position after they were read: a source on demand may learn
    /// positions within a block later. Always 0 for other views.
    fn moves(&self) -> u64 {
        0
    }
}

/// A point at which funds wait to be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Waypoint {
    /// An output whose spending transaction comes next.
    Output(OutputNumber),
    /// A transaction whose inputs (source) or outputs (destination) come next.
    Transaction(TransactionNumber),
}

/// The result of a lookup of a waypoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupResult {
    /// The waypoint's transaction, or the transaction that spends its output.
    Transaction {
        /// Number of the transaction.
        number: TransactionNumber,
        /// Position in the chain, which increases with later transactions.
        position: u64,
    },
    /// The output is unspent.
    Nothing,
    /// The transaction was requested, and reading it failed or ran out of time.
    Failed,
    /// The transaction was not requested yet.
    Unread,
}

/// A transaction with one side (inputs or outputs), in memory that is reused for each read.
#[derive(Clone, Debug)]
pub struct TransactionRead {
    /// Number.
    pub number: TransactionNumber,
    /// Position in the chain, as [`ChainView::look_up`] returns it.
    pub position: u64,
    /// Height of the transaction's block.
    pub height: u64,
    /// Time of the transaction's block.
    pub time: Timestamp,
    /// Kind.
    pub kind: TransactionKind,
    /// Totals of the transaction's inputs.
    pub inputs: SideTotals,
    /// Totals of the transaction's outputs.
    pub outputs: SideTotals,
    /// The largest inputs or outputs of the requested side, in the order of their indexes, without inputs of unknown
    /// value.
    pub entries: Vec<TransactionEntry>,
    /// Payers of a coinbase's fees, as [`FeePayer::of_block`] orders them; empty for other transactions, for a read of
    /// outputs, and if the source does not know them.
    pub fee_payers: Vec<FeePayer>,
}

impl Default for TransactionRead {
    fn default() -> Self {
        Self {
            number: TransactionNumber(0),
            position: 0,
            height: 0,
            time: Timestamp::UNIX_EPOCH,
            kind: TransactionKind::Payment,
            inputs: SideTotals::default(),
            outputs: SideTotals::default(),
            entries: Vec::new(),
            fee_payers: Vec::new(),
        }
    }
}

/// Totals of one side (inputs or outputs) of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideTotals {
    /// Number of entries, known or not.
    pub count: u64,
    /// Total of all entries in base units, including `unknown`.
    pub total: u128,
    /// Smallest possible total of the inputs of unknown value, in base units. At most `total`; 0 for outputs.
    pub unknown: u128,
}

/// An input or output of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionEntry {
    /// Index among the transaction's inputs or outputs, from 0.
    pub index: u32,
    /// Value in base units.
    pub value: u64,
    /// Owner of the output that the entry spends or creates.
    pub owner: OwnerNumber,
    /// Waypoint at which the entry's funds are followed: for an input the transaction that created the spent output,
    /// `None` if that transaction is not known; for an output the output itself.
    pub leads_to: Option<Waypoint>,
}

/// A transaction that pays a fee to the coinbase of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeePayer {
    /// Number of the transaction.
    pub transaction: TransactionNumber,
    /// The fee in base units, above 0.
    pub fee: u64,
}

impl FeePayer {
    /// The fee payers of a coinbase, largest fees first, equal fees in the order of the block. `transactions` are all
    /// transactions of the block in order, each with its fee.
    #[must_use]
    pub fn of_block(transactions: impl Iterator<Item = (TransactionNumber, u128)>) -> Vec<Self> {
        let paid = transactions.filter_map(|(transaction, fee)| {
            let fee = u64::try_from(fee).ok().filter(|fee| *fee > 0)?;
            Some(Self { transaction, fee })
        });
        let mut payers: Vec<Self> = paid.collect();
        payers.sort_by_key(|payer| std::cmp::Reverse(payer.fee));
        payers
    }
}

impl TransactionRead {
    /// The totals of the side (inputs or outputs) that a direction reads.
    #[must_use]
    pub const fn side(&self, direction: Direction) -> &SideTotals {
        match direction {
            Direction::Source => &self.inputs,
            Direction::Destination => &self.outputs,
        }
    }

    /// True if all inputs or outputs of the side were read.
    #[must_use]
    pub const fn is_whole(&self, direction: Direction) -> bool {
        let side = self.side(direction);
        self.entries.len() as u64 >= side.count && side.unknown == 0
    }

    /// The fee in base units: the inputs' total less the outputs'; 0 for a coinbase.
    #[must_use]
    pub const fn fee(&self) -> u128 {
        match self.kind {
            TransactionKind::Coinbase => 0,
            TransactionKind::Payment | TransactionKind::Coinjoin(_) => {
                self.inputs.total.saturating_sub(self.outputs.total)
            }
        }
    }

    /// Keeps the `most` largest inputs or outputs, by value, then by index, in the order of their indexes.
    pub fn keep_largest(&mut self, most: u32) {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        if self.entries.len() > most {
            self.entries
                .sort_unstable_by_key(|entry| (std::cmp::Reverse(entry.value), entry.index));
            self.entries.truncate(most);
            self.entries.sort_unstable_by_key(|entry| entry.index);
        }
    }
}

/// Reads that a query needs before it can continue, in the order in which it needs them, each read once. Waypoints that
/// are not read then [fail](LookupResult::Failed).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadRequest {
    /// Transactions to read with their inputs.
    pub transactions: Vec<TransactionNumber>,
    /// Outputs whose spending transactions are to be read with their outputs.
    pub outputs: Vec<OutputNumber>,
}

impl ReadRequest {
    /// True if the request names nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.transactions.is_empty() && self.outputs.is_empty()
    }

    /// Adds a waypoint.
    pub fn push(&mut self, waypoint: Waypoint) {
        match waypoint {
            Waypoint::Output(output) => self.outputs.push(output),
            Waypoint::Transaction(transaction) => self.transactions.push(transaction),
        }
    }
}

/// State of a query after [`Query::advance`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryProgress {
    /// The query is complete.
    Complete,
    /// The query can continue; the caller may do other work or cancel it first.
    Paused,
    /// The query needs these reads.
    Reads(ReadRequest),
}

/// A state machine that computes an answer about a chain from many reads.
pub trait Query: Send {
    /// Continues for a bounded number of steps, as far as the view has data.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn advance(&mut self, view: &dyn ChainView) -> Result<QueryProgress, ViewError>;
}

/// The store behind a view failed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ViewError(Box<dyn std::error::Error + Send + Sync>);

impl ViewError {
    /// Wraps the error of a store.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }

    /// The cause.
    #[must_use]
    pub fn into_cause(self) -> Box<dyn std::error::Error + Send + Sync> {
        self.0
    }
}
