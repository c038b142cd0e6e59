//! Reading a chain for a query: by numbers, from one state of the chain.
//!
//! A query, such as a [trace](crate::trace), is a state machine. It reads what a [`ChainView`] can tell at once, and
//! where the view has not read something yet it says what it needs ([`QueryProgress::Reads`]). A store on the same machine
//! tells everything at once; an API on demand and a distant database read in batches. So there is one loop that runs
//! every query over every source, and the answer depends on the chain alone.
//!
//! - [`own`]: which entries of an owner's transactions are read
//! - [`gathered`]: a chain as far as it was gathered, transaction by transaction

pub mod gathered;
pub mod own;

use jiff::Timestamp;

pub use gathered::{BlockPosition, GatheredChain};
pub use own::{entries_of_each, read_own};

use crate::{
    composition::Composition,
    evidence::Direction,
    ledger::{OwnerNumber, Statistics, TransactionNumber},
    utxo::{OutputNumber, ScriptOwner, TransactionKind, Txid},
};

/// One state of a chain.
pub trait ChainView {
    /// What follows a waypoint, and where that stands in the chain.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn look_up(&self, waypoint: Waypoint) -> Result<LookupResult, ViewError>;

    /// Reads a transaction with its `most` largest inputs (source) or outputs (destination), in the order of their
    /// indexes. To be called of transactions that [`ChainView::look_up`] found, and of those of a history.
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

    /// The cluster of an owner, named by one of its members; the owner itself if it shares its cluster with nobody.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn cluster_of(&self, owner: OwnerNumber) -> Result<OwnerNumber, ViewError>;

    /// The owner of a number.
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

    /// What the money of a transaction is made of; `None` where the view does not know.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn composition(&self, _of: TransactionNumber) -> Result<Option<Composition>, ViewError> {
        Ok(None)
    }

    /// The first owner that appeared in the block of a transaction: smaller numbers appeared before. `None` where the
    /// numbers of owners are in no order of the chain.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn first_new_owner(&self, _of: TransactionNumber) -> Result<Option<OwnerNumber>, ViewError> {
        Ok(None)
    }

    /// The statistics of an owner over its lifetime; `None` where the view does not know them.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    fn statistics(&self, _of: OwnerNumber) -> Result<Option<Statistics>, ViewError> {
        Ok(None)
    }

    /// How often transactions got another position after they were read first: a source on demand may tell positions
    /// within a block late. Always 0 for other views.
    fn moves(&self) -> u64 {
        0
    }
}

/// Where money waits to be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Waypoint {
    /// An output, of which the transaction that spends it is to be found.
    Output(OutputNumber),
    /// A transaction, whose inputs (source) or outputs (destination) come next.
    Transaction(TransactionNumber),
}

/// What follows a waypoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupResult {
    /// A transaction: the waypoint itself, or the one that spends the output.
    Transaction {
        /// Its number.
        number: TransactionNumber,
        /// Its position: later transactions of the chain have larger ones.
        position: u64,
    },
    /// Nothing: the output is not spent.
    Nothing,
    /// It was asked for and could not be read: time ran out, or the source failed.
    Failed,
    /// It was not asked for yet.
    Unread,
}

/// A transaction with one of its sides, read into the same memory again and again.
#[derive(Clone, Debug)]
pub struct TransactionRead {
    /// Number.
    pub number: TransactionNumber,
    /// Position in the chain, as [`ChainView::look_up`] tells it.
    pub position: u64,
    /// Height of its block.
    pub height: u64,
    /// Time of its block.
    pub time: Timestamp,
    /// Kind.
    pub kind: TransactionKind,
    /// Totals of its inputs.
    pub inputs: SideTotals,
    /// Totals of its outputs.
    pub outputs: SideTotals,
    /// The largest entries of the side that was asked for, in the order of their indexes. Inputs of unknown value are
    /// none.
    pub entries: Vec<TransactionEntry>,
    /// Who pays a coinbase, beyond its new coins, as [`FeePayer::of_block`] orders them; empty for others, for a read
    /// of outputs, and where the source does not know.
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

/// Totals of one side of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideTotals {
    /// Number of entries, known or not.
    pub count: u64,
    /// All entries' total in base units, `unknown` included.
    pub total: u128,
    /// The least that inputs of unknown value are worth together, in base units. At most `total`; 0 for outputs.
    pub unknown: u128,
}

/// An input or output of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionEntry {
    /// Index on its side, from 0.
    pub index: u32,
    /// Value in base units.
    pub value: u64,
    /// Owner of the output that it spends or is.
    pub owner: OwnerNumber,
    /// Where its money is followed on: of an input the transaction that made the output, `None` if that is not known;
    /// of an output the output itself.
    pub leads_to: Option<Waypoint>,
}

/// A transaction that pays a fee to the coinbase of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeePayer {
    /// Its number.
    pub transaction: TransactionNumber,
    /// The fee in base units, above 0.
    pub fee: u64,
}

impl FeePayer {
    /// The payers of a coinbase, of all transactions of its block in their order, each with its fee: the largest
    /// fees first, equal ones in the order of the block.
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
    /// The totals of the side that a direction reads.
    #[must_use]
    pub const fn side(&self, direction: Direction) -> &SideTotals {
        match direction {
            Direction::Source => &self.inputs,
            Direction::Destination => &self.outputs,
        }
    }

    /// True if all entries of the side that was read are among its entries.
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

    /// Keeps the `most` largest entries, by value, then by index, in the order of their indexes.
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

/// What a query needs to go on, in the order in which it needs it, without duplicates. What is not read then
/// [fails](LookupResult::Failed).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadRequest {
    /// Transactions, to be read with their inputs.
    pub transactions: Vec<TransactionNumber>,
    /// Outputs, whose spending transactions are to be read with their outputs.
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

/// How far a query got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryProgress {
    /// It is complete.
    Complete,
    /// It made some steps and can make more: the chance to do something else, or to give up.
    Paused,
    /// It needs these.
    Reads(ReadRequest),
}

/// A question about a chain that takes many reads: a state machine.
pub trait Query: Send {
    /// Goes on as far as the view allows, for a bounded number of steps.
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
    /// The failure of a store.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(error.into())
    }

    /// The cause.
    #[must_use]
    pub fn into_cause(self) -> Box<dyn std::error::Error + Send + Sync> {
        self.0
    }
}
