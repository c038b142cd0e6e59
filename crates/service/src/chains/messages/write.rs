//! Conversion of questions and answers to messages.

use assay_address::CanonicalAddress;
use assay_chain_protocol::message::{
    ClusterAnswer, ClusterMemberAnswer, CounterpartiesAnswer, CounterpartyAnswer, HistoryAnswer,
    HistoryEntry, InvalidOutputs, ListedDealingAnswer, ListedDealingsAnswer, Outputs,
    PossibleOwnerAnswer, ReadTransfer, TraceAnswer, TracingPolicy, TransactionAnswer,
    TransferAnswer,
};
use assay_engine::{
    facts::{Cluster, ClusterMember, Counterparty, ListedDealing, ListedDealings, PossibleOwner},
    ledger::{OwnHistory, OwnTransaction},
    policy::Policy,
    trace::TraceRules,
    transfer::FoundTransfer,
    utxo::{InvalidTransfer, OutputSelector, Transfer},
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;

use super::{accounts::freeze_message, types::MessageForm};
use crate::chains::{
    forms::TransactionWithForms,
    reader::NamedHistory,
    subject::SubjectData,
    transfer::{TransferError, TransferRead},
};

/// Returns the part of a policy that a trace depends on, with the bounds of the trace.
pub(in crate::chains) fn tracing_policy(policy: &Policy, rules: TraceRules) -> TracingPolicy {
    let spec = policy.spec();
    let lists = spec
        .lists
        .iter()
        .map(|(list, effect)| (list.clone().into_message(), effect.into_message()));
    TracingPolicy {
        rules: rules.into_message(),
        severities: spec.severities.clone(),
        lists: lists.collect(),
    }
}

/// Returns the outputs that a query selects.
pub(in crate::chains) fn outputs(selector: &OutputSelector) -> Outputs {
    match selector {
        OutputSelector::Index(index) => Outputs::Index(*index),
        OutputSelector::Address(address) => Outputs::Address(text(address)),
    }
}

/// Converts the data about a subject, read by `intel`.
pub(in crate::chains) fn trace_answer(traced: SubjectData, intel: &IntelSnapshot) -> TraceAnswer {
    let SubjectData { state, revision, cluster, counterparties, possible_owners, freezes } = traced;
    let strongest = counterparties.strongest.into_iter().map(counterparty_answer).collect();
    TraceAnswer {
        lists: intel.generation(),
        data_revision: intel.data_revision().to_owned(),
        state: state.into_message(),
        revision,
        cluster: cluster.map(cluster_answer),
        counterparties: CounterpartiesAnswer { strongest, found: counterparties.found },
        possible_owners: possible_owners.into_iter().map(possible_owner_answer).collect(),
        freezes: freezes.iter().map(freeze_message).collect(),
    }
}

pub(super) fn text(address: &CanonicalAddress) -> String {
    address.as_str().to_owned()
}

pub(in crate::chains) fn cluster_answer(cluster: Cluster) -> ClusterAnswer {
    let Cluster { id, root, size, confidence, members, attributed, examined, dealings } = cluster;
    let member = |ClusterMember { address, co_spends, .. }: ClusterMember| ClusterMemberAnswer {
        address: text(&address),
        co_spends: co_spends.into_message(),
    };
    let members = members.into_iter().map(member).collect();
    let (id, root) = (text(&id), text(&root));
    ClusterAnswer {
        id,
        root,
        size,
        confidence: confidence.into_message(),
        members,
        attributed,
        examined,
        dealings: dealings_answer(dealings),
    }
}

fn dealings_answer(dealings: ListedDealings) -> ListedDealingsAnswer {
    let ListedDealings { largest, found, is_limited } = dealings;
    let dealing = |dealing: ListedDealing| {
        let ListedDealing { member, co_spends, party, entity, listed_by, .. } = dealing;
        let ListedDealing { direction, transaction, time, amount, .. } = dealing;
        ListedDealingAnswer {
            member: text(&member),
            co_spends: co_spends.into_message(),
            party: text(&party),
            entity,
            listed_by: listed_by.into_message(),
            direction: direction.into_message(),
            transaction,
            time,
            amount,
        }
    };
    let largest = largest.into_iter().map(dealing).collect();
    ListedDealingsAnswer { largest, found, is_limited }
}

/// Converts a history with the identifiers of its transactions.
pub(in crate::chains) fn history_answer(
    NamedHistory { history, names }: NamedHistory,
) -> HistoryAnswer {
    let entry = |own: OwnTransaction| {
        let OwnTransaction { number, time, received, sent, .. } = own;
        let transaction = names.get(&number).copied()?.into_message();
        Some(HistoryEntry { transaction, time, received, sent })
    };
    let OwnHistory { statistics, incoming, outgoing } = history;
    HistoryAnswer {
        statistics: statistics.into_message(),
        incoming: incoming.into_iter().filter_map(entry).collect(),
        outgoing: outgoing.into_iter().filter_map(entry).collect(),
    }
}

fn counterparty_answer(party: Counterparty) -> CounterpartyAnswer {
    let Counterparty { address, is_funder, received, sent, .. } = party;
    let Counterparty { transactions, first_seen, last_seen, by_asset, role, freezes, .. } = party;
    CounterpartyAnswer {
        address: text(&address),
        is_funder,
        received,
        sent,
        by_asset: by_asset.into_message(),
        role: role.into_message(),
        freezes: freezes.iter().map(freeze_message).collect(),
        transactions,
        first_seen,
        last_seen,
    }
}

fn possible_owner_answer(owner: PossibleOwner) -> PossibleOwnerAnswer {
    let PossibleOwner { address, by, confidence, transactions, first_seen, last_seen, .. } = owner;
    let address = text(&address);
    PossibleOwnerAnswer {
        address,
        by: by.into_message(),
        confidence: confidence.into_message(),
        transactions,
        first_seen,
        last_seen,
    }
}

/// Converts a transfer, or an error that is an answer; returns any other error.
pub(in crate::chains) fn transfer_answer(
    read: Result<TransferRead, TransferError>,
    intel: &IntelSnapshot,
    now: Timestamp,
) -> Result<TransferAnswer, TransferError> {
    match read {
        Ok(TransferRead { transfer, traced, destinations, tip_height }) => {
            let chain = transfer.receiver().chain();
            let FoundTransfer::Outputs(transfer) = transfer else {
                return Err(TransferError::OtherLedger(chain));
            };
            let Transfer { transaction, receiver, outputs, unconfirmed, .. } = *transfer;
            Ok(TransferAnswer::Read(Box::new(ReadTransfer {
                transaction: transaction.into_message(),
                receiver: text(&receiver),
                outputs: outputs.into_message(),
                traced: trace_answer(traced, intel),
                destinations: destinations.into_message(),
                tip_height,
                unconfirmed: unconfirmed.into_message(),
            })))
        }
        Err(TransferError::UnknownTransaction(unknown)) => {
            let time = now.checked_sub(unknown.age).unwrap_or(now);
            let (height, mempool) = (unknown.height, unknown.mempool.into_message());
            Ok(TransferAnswer::UnknownTransaction { height, time, mempool })
        }
        Err(TransferError::Invalid(invalid)) => {
            Ok(TransferAnswer::Invalid(invalid_outputs(&invalid)))
        }
        Err(TransferError::Unavailable(_, reason)) => {
            Ok(TransferAnswer::Unavailable(reason.into_message()))
        }
        Err(error) => Err(error),
    }
}

const fn invalid_outputs(invalid: &InvalidTransfer) -> InvalidOutputs {
    match invalid {
        InvalidTransfer::NoSuchOutput { count, .. } => InvalidOutputs::NoSuchOutput(*count),
        InvalidTransfer::NotPaid(_) => InvalidOutputs::NotPaid,
        InvalidTransfer::NoAddress(_) => InvalidOutputs::NoAddress,
        InvalidTransfer::NoAmount => InvalidOutputs::NoAmount,
        InvalidTransfer::Coinbase => InvalidOutputs::Coinbase,
    }
}

/// Converts a transaction with its structural forms.
pub(in crate::chains) fn transaction_answer(read: TransactionWithForms) -> TransactionAnswer {
    let TransactionWithForms { transaction, forms } = read;
    TransactionAnswer { transaction: transaction.into_message(), forms: forms.into_message() }
}
