//! Request for one transfer, and the data that a reader of any kind returns.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    account::InvalidAccountTransfer,
    evidence::{
        ActivityFacts, ChainFacts, ChainState, Direction, DirectionFlows, FlowFacts, Tip,
        Unavailable,
    },
    ledger::{OwnerNumber, Statistics},
    policy::Policy,
    reading::{ChainView, LookupResult, TransactionRead, ViewError, Waypoint},
    trace::TraceRules,
    transfer::{FoundTransfer, TransferQuery, TransferSelector},
    utxo::{InvalidTransfer, Spending, TransactionView, Transfer, Txid},
};
use assay_graph::GraphError;
use assay_intel::IntelSnapshot;
use assay_store::StoreError;
use jiff::{SignedDuration, Timestamp};

use super::{
    mempool::Mempool,
    subject::{ReadError, SubjectData, TraceRequest, activity},
    unconfirmed::{DoubleSpend, MOST_UNCONFIRMED, NotRead},
};

/// Error of reading or assessing a transfer.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// No source follows the chain.
    #[error(
        "no node or indexer that knows single transactions of {0} is configured: check the address instead"
    )]
    NotFollowed(ChainId),
    /// The chain cannot be read now.
    #[error("the transactions of {0} cannot be read at present: {why}", why = .1.as_str())]
    Unavailable(ChainId, Unavailable),
    /// The chain does not have the transaction.
    #[error("{0}")]
    UnknownTransaction(Box<UnknownTransaction>),
    /// The selected outputs cannot be assessed.
    #[error("{0}")]
    Invalid(#[from] InvalidTransfer),
    /// The selected transfer of an account chain cannot be assessed.
    #[error("{0}")]
    InvalidOfAccounts(Box<InvalidAccountTransfer>),
    /// The transfer is named by properties that transfers of the chain do not have.
    #[error(
        "transfers of {0} are named otherwise: by an output on chains of outputs, by a place on account chains"
    )]
    OtherLedger(ChainId),
    /// A database failed.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<InvalidAccountTransfer> for TransferError {
    fn from(error: InvalidAccountTransfer) -> Self {
        Self::InvalidOfAccounts(Box::new(error))
    }
}

impl From<GraphError> for TransferError {
    fn from(error: GraphError) -> Self {
        Self::Read(error.into())
    }
}

impl From<ViewError> for TransferError {
    fn from(error: ViewError) -> Self {
        Self::Read(error.into())
    }
}

impl From<StoreError> for TransferError {
    fn from(error: StoreError) -> Self {
        Self::Read(error.into())
    }
}

/// A transaction that a chain does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no transaction {txid} on {chain} up to block {height}, the newest known one, which is {age} \
     old. {}",
    of_mempool(.mempool.as_ref()),
    age = in_words(*.age)
)]
pub struct UnknownTransaction {
    /// The chain.
    pub chain: ChainId,
    /// The transaction.
    pub txid: Txid,
    /// Height of the newest known block.
    pub height: u64,
    /// Age of the newest known block.
    pub age: SignedDuration,
    /// Reason for which the transaction was not read as an unconfirmed one; `None` if no mempool was searched.
    pub mempool: Option<NotRead>,
}

/// Describes a search for an unconfirmed transaction.
fn of_mempool(reason: Option<&NotRead>) -> String {
    let Some(reason) = reason else {
        return "Unconfirmed transactions are not known: ask again after the first confirmation"
            .to_owned();
    };
    match reason {
        NotRead::Absent => "The mempool of the node does not have it either: it was replaced, dropped or never sent, or \
                            has not reached the node yet"
            .to_owned(),
        NotRead::InNewerBlock => {
            "The node has it in a block that is not recorded yet: ask again in a moment".to_owned()
        }
        NotRead::Unreadable => "The mempool of the node could not be read: ask again later".to_owned(),
        NotRead::TooManyAncestors => format!(
            "The mempool of the node has it, but it spends outputs of more than {} other unconfirmed transactions: ask \
             again after the first confirmation",
            MOST_UNCONFIRMED - 1
        ),
        NotRead::UnknownOutput(output) => format!(
            "The mempool of the node has it, but the output {output} that it spends is neither in a recorded block nor \
             in the mempool: ask again after the first confirmation"
        ),
        NotRead::DoubleSpend(DoubleSpend { output, spent_by }) => format!(
            "The mempool of the node has it, but it is a double spend: transaction {spent_by} in a block spends the \
             output {output}, so that it can never be mined"
        ),
    }
}

/// Formats a duration in its largest unit.
fn in_words(age: SignedDuration) -> String {
    let seconds = age.as_secs().max(0);
    let (number, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

impl TransferError {
    /// Returns the error of a transaction that is not on a chain with this newest block.
    pub(super) fn unknown(
        query: &TransferQuery,
        height: u64,
        time: Timestamp,
        now: Timestamp,
    ) -> Self {
        Self::UnknownTransaction(Box::new(UnknownTransaction {
            chain: query.chain,
            txid: query.txid,
            height,
            age: now.duration_since(time),
            mempool: None,
        }))
    }

    /// Adds the reason for which the transaction was not read as an unconfirmed one.
    pub(super) fn with_mempool(mut self, reason: Option<NotRead>) -> Self {
        if let Self::UnknownTransaction(unknown) = &mut self {
            unknown.mempool = reason;
        }
        self
    }
}

/// Request for one transfer.
#[derive(Clone, Copy, Debug)]
pub struct TransferReadRequest<'a> {
    /// The transfer.
    pub query: &'a TransferQuery,
    /// The bounds of a trace.
    pub rules: TraceRules,
    /// The policy that decides which listings and labels end a flow.
    pub policy: &'a Policy,
    /// Listings and labels.
    pub intel: &'a IntelSnapshot,
    /// The current time.
    pub now: Timestamp,
    /// Unconfirmed transactions of the chain; `None` if this program follows the chain from no node.
    pub mempool: Option<&'a Mempool>,
}

impl<'a> TransferReadRequest<'a> {
    /// Selects the transfer from its transaction, whose inputs and outputs were all read.
    pub(super) fn select(self, transaction: TransactionView) -> Result<Transfer, TransferError> {
        let TransferQuery { chain, selector, .. } = self.query;
        let TransferSelector::Outputs(selector) = selector else {
            return Err(TransferError::OtherLedger(*chain));
        };
        Ok(Transfer::select(*chain, transaction, selector, self.rules.read_limits())?)
    }

    /// Returns the request for the flows of the receiver.
    pub(super) const fn of_receiver(self, receiver: &'a CanonicalAddress) -> TraceRequest<'a> {
        let Self { rules, policy, intel, now, .. } = self;
        TraceRequest { subject: receiver, rules, policy, intel, now }
    }

    /// Returns the bounds of a trace of the transfer's own money. No part of the transfer's money is unsolicited,
    /// because the receiver requested the money or the caller checks it.
    pub(super) const fn own_rules(self) -> TraceRules {
        TraceRules { unsolicited_below: 0, largest_dust: 0, held_from: 0, ..self.rules }
    }
}

/// A transfer as a reader found it.
#[derive(Clone, Debug)]
pub struct TransferRead {
    /// The transfer.
    pub(super) transfer: FoundTransfer,
    /// Origins of the money of a deposit, or flows of the receiver of a withdrawal.
    pub(super) traced: SubjectData,
    /// The destinations of a withdrawal's money.
    pub(super) destinations: Option<DirectionFlows>,
    /// Height of the newest known block.
    pub(super) tip_height: u64,
}

impl TransferRead {
    /// Returns a deposit with the flows of its own money, up to a block.
    pub(super) fn deposit(
        transfer: Transfer,
        statistics: &Statistics,
        flows: FlowFacts,
        (tip, revision): (Tip, String),
    ) -> Self {
        let activity = activity(&transfer.receiver, statistics);
        Self::of_origins(
            FoundTransfer::Outputs(Box::new(transfer)),
            activity,
            flows,
            (tip, revision),
        )
    }

    /// Returns a deposit with the origins of its money.
    pub(super) fn of_origins(
        transfer: FoundTransfer,
        activity: ActivityFacts,
        mut flows: FlowFacts,
        (tip, revision): (Tip, String),
    ) -> Self {
        // The destinations of the receiver's money are left out: the receiver is the caller's own address.
        for ledger in &mut flows.ledgers {
            ledger.destination = DirectionFlows::default();
        }
        let activity = Some(activity);
        let tip_height = tip.height;
        let facts = ChainFacts { tip, flows, behavior: None, activity };
        Self {
            transfer,
            traced: SubjectData::facts(facts, revision),
            destinations: None,
            tip_height,
        }
    }

    /// Returns a withdrawal with the flows of its receiver and of its own money.
    pub(super) fn withdrawal(transfer: Transfer, mut traced: SubjectData, own: FlowFacts) -> Self {
        let mut tip_height = 0;
        if let ChainState::Followed(facts) = &mut traced.state {
            facts.flows.complete &= own.complete;
            tip_height = facts.tip.height;
        }
        let own = own.ledgers.into_iter().next();
        let destinations = own.map(|ledger| ledger.destination);
        Self {
            transfer: FoundTransfer::Outputs(Box::new(transfer)),
            traced,
            destinations,
            tip_height,
        }
    }

    /// Adds the unconfirmed transactions that were read to the revision of the data.
    pub(super) fn with_mempool(mut self, revision: &str) -> Self {
        let read = self.traced.revision.take().unwrap_or_default();
        self.traced.revision = Some(format!("{read}+mempool-{revision}"));
        self
    }
}

/// Returns the transactions that spend outputs of an owner, each output given by its index.
pub(super) fn spent_by(
    view: &dyn ChainView,
    outputs: impl IntoIterator<Item = (u32, Waypoint)>,
    owner: OwnerNumber,
) -> Result<Vec<Spending>, ViewError> {
    let (mut spent_by, mut read) = (Vec::new(), TransactionRead::default());
    for (output, waypoint) in outputs {
        let LookupResult::Transaction { number, position } = view.look_up(waypoint)? else {
            continue;
        };
        view.read(number, Direction::Destination, u32::MAX, &mut read)?;
        let received = read.entries.iter().filter(|entry| entry.owner == owner);
        let received = received.map(|entry| u128::from(entry.value)).sum();
        let (time, inputs) = (read.time, read.inputs.total);
        spent_by.push(Spending { output, number, position, time, inputs, received });
    }
    Ok(spent_by)
}
