//! What readers find, as messages between chain servers and API servers, and back.
//!
//! Listings and labels of addresses do not travel: the API server looks them up among its own.

use std::collections::HashMap;

use assay_address::{CanonicalAddress, ChainId};
use assay_chain_protocol::message::{
    ClusterAnswer, ClusterMemberAnswer, CounterpartiesAnswer, CounterpartyAnswer, HistoryAnswer,
    HistoryEntry, InvalidOutputs, Outputs, PossibleOwnerAnswer, ReadTransfer, TraceAnswer,
    TracingPolicy, TransferAnswer,
};
use assay_engine::{
    facts::{Cluster, ClusterMember, Counterparties, Counterparty, PossibleOwner},
    ledger::{OwnHistory, OwnTransaction, TransactionNumber},
    policy::{Policy, PolicyProblem, PolicySpec},
    taxonomy::Category,
    trace::TraceRules,
    transfer::TransferQuery,
    utxo::{InvalidTransfer, OutputSelector, Transfer, Txid},
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;

use super::{
    reader::Traced,
    transfer::{TransferError, TransferRead},
};

/// An answer of a chain server that this program does not understand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a chain server gave an answer that cannot be read: {0}")]
pub struct InvalidAnswer(String);

/// The part of a policy that a trace depends on, with the bounds of the trace.
pub(super) fn tracing_policy(policy: &Policy, rules: TraceRules) -> TracingPolicy {
    let spec = policy.spec();
    TracingPolicy { rules, severities: spec.severities.clone(), lists: spec.lists.clone() }
}

/// A policy that attributes owners as the one of a question does.
pub(super) fn attributing(policy: &TracingPolicy) -> Result<Policy, Vec<PolicyProblem>> {
    let TracingPolicy { severities, lists, .. } = policy;
    let is_known = |(name, _): &(&String, &u8)| name.parse::<Category>().is_ok();
    let severities = severities.iter().filter(is_known);
    Policy::compile(PolicySpec {
        severities: severities.map(|(name, severity)| (name.clone(), *severity)).collect(),
        lists: lists.clone(),
        ..PolicySpec::default()
    })
}

/// What was read about a subject, by lists and labels of a revision.
pub(super) fn trace_answer(traced: Traced, intel: &IntelSnapshot) -> TraceAnswer {
    let Traced { state, revision, cluster, counterparties, possible_owners } = traced;
    let strongest = counterparties.strongest.into_iter().map(counterparty_answer).collect();
    TraceAnswer {
        lists: intel.generation(),
        data_revision: intel.data_revision().to_owned(),
        state,
        revision,
        cluster: cluster.map(cluster_answer),
        counterparties: CounterpartiesAnswer { strongest, found: counterparties.found },
        possible_owners: possible_owners.into_iter().map(possible_owner_answer).collect(),
    }
}

fn text(address: &CanonicalAddress) -> String {
    address.as_str().to_owned()
}

pub(super) fn cluster_answer(cluster: Cluster) -> ClusterAnswer {
    let Cluster { id, root, size, confidence, members, attributed, examined } = cluster;
    let member = |ClusterMember { address, co_spends, .. }: ClusterMember| ClusterMemberAnswer {
        address: text(&address),
        co_spends,
    };
    let members = members.into_iter().map(member).collect();
    let (id, root) = (text(&id), text(&root));
    ClusterAnswer { id, root, size, confidence, members, attributed, examined }
}

/// A history with the identifiers of its transactions.
pub(super) fn history_answer(
    history: OwnHistory,
    names: &HashMap<TransactionNumber, Txid>,
) -> HistoryAnswer {
    let entry = |own: OwnTransaction| {
        let OwnTransaction { number, time, received, sent, .. } = own;
        let transaction = *names.get(&number)?;
        Some(HistoryEntry { transaction, time, received, sent })
    };
    let OwnHistory { statistics, incoming, outgoing } = history;
    HistoryAnswer {
        statistics,
        incoming: incoming.into_iter().filter_map(entry).collect(),
        outgoing: outgoing.into_iter().filter_map(entry).collect(),
    }
}

fn counterparty_answer(party: Counterparty) -> CounterpartyAnswer {
    let Counterparty { address, is_funder, received, sent, .. } = party;
    let Counterparty { transactions, first_seen, last_seen, .. } = party;
    let address = text(&address);
    CounterpartyAnswer { address, is_funder, received, sent, transactions, first_seen, last_seen }
}

fn possible_owner_answer(owner: PossibleOwner) -> PossibleOwnerAnswer {
    let PossibleOwner { address, by, confidence, transactions, first_seen, last_seen, .. } = owner;
    let address = text(&address);
    PossibleOwnerAnswer { address, by, confidence, transactions, first_seen, last_seen }
}

/// Reads answers about one chain, and looks up the listings and labels of the addresses in them.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerReader<'a> {
    pub(super) chain: ChainId,
    pub(super) intel: &'a IntelSnapshot,
}

impl AnswerReader<'_> {
    /// What was read about a subject. Its revision names the lists and labels that it rests on if they are not those
    /// of this server.
    pub(super) fn traced(self, answer: TraceAnswer) -> Result<Traced, InvalidAnswer> {
        let TraceAnswer { lists, data_revision, state, revision, .. } = answer;
        let TraceAnswer { cluster, counterparties, possible_owners, .. } = answer;
        let is_same = lists == self.intel.generation();
        if is_same && data_revision != self.intel.data_revision() {
            let here = self.intel.data_revision();
            return Err(InvalidAnswer(format!(
                "it rests on the lists and labels {data_revision}, and those of this server are {here}: give both the \
                 same database"
            )));
        }
        let revision = revision.map(|it| if is_same { it } else { format!("{it}+lists{lists}") });
        let strongest = counterparties.strongest.into_iter();
        Ok(Traced {
            state,
            revision,
            cluster: cluster.map(|cluster| self.cluster(cluster)).transpose()?,
            counterparties: Counterparties {
                strongest: strongest.map(|it| self.counterparty(it)).collect::<Result<_, _>>()?,
                found: counterparties.found,
            },
            possible_owners: possible_owners
                .into_iter()
                .map(|it| self.possible_owner(it))
                .collect::<Result<_, _>>()?,
        })
    }

    fn address(self, text: &str) -> Result<CanonicalAddress, InvalidAnswer> {
        CanonicalAddress::parse(self.chain, text).map_err(|error| InvalidAnswer(error.to_string()))
    }

    fn cluster(self, answer: ClusterAnswer) -> Result<Cluster, InvalidAnswer> {
        let ClusterAnswer { id, root, size, confidence, members, attributed, examined } = answer;
        let member = |ClusterMemberAnswer { address, co_spends }| {
            let address = self.address(&address)?;
            let labels = self.intel.labels().of(&address);
            let listings = self.intel.listings_of(&address);
            Ok(ClusterMember { address, labels, listings, co_spends })
        };
        let members = members.into_iter().map(member).collect::<Result<_, _>>()?;
        let (id, root) = (self.address(&id)?, self.address(&root)?);
        Ok(Cluster { id, root, size, confidence, members, attributed, examined })
    }

    fn counterparty(self, answer: CounterpartyAnswer) -> Result<Counterparty, InvalidAnswer> {
        let CounterpartyAnswer { address, is_funder, received, sent, .. } = answer;
        let CounterpartyAnswer { transactions, first_seen, last_seen, .. } = answer;
        let address = self.address(&address)?;
        let labels = self.intel.labels().of(&address);
        let listings = self.intel.listings_of(&address);
        Ok(Counterparty {
            address,
            is_funder,
            labels,
            listings,
            received,
            sent,
            transactions,
            first_seen,
            last_seen,
        })
    }

    fn possible_owner(self, answer: PossibleOwnerAnswer) -> Result<PossibleOwner, InvalidAnswer> {
        let PossibleOwnerAnswer { address, by, confidence, .. } = answer;
        let PossibleOwnerAnswer { transactions, first_seen, last_seen, .. } = answer;
        let address = self.address(&address)?;
        let labels = self.intel.labels().of(&address);
        let listings = self.intel.listings_of(&address);
        Ok(PossibleOwner {
            address,
            by,
            confidence,
            labels,
            listings,
            transactions,
            first_seen,
            last_seen,
        })
    }

    /// A transfer, or the reason why there is none.
    pub(super) fn transfer(
        self,
        query: &TransferQuery,
        answer: TransferAnswer,
        now: Timestamp,
    ) -> Result<Result<TransferRead, TransferError>, InvalidAnswer> {
        let read = match answer {
            TransferAnswer::Read(read) => *read,
            TransferAnswer::UnknownTransaction { height, time } => {
                return Ok(Err(TransferError::unknown(query, height, time, now)));
            }
            TransferAnswer::Invalid(invalid) => {
                return Ok(Err(TransferError::Invalid(of_selector(invalid, &query.selector)?)));
            }
            TransferAnswer::Unavailable(reason) => {
                return Ok(Err(TransferError::Unavailable(self.chain, reason)));
            }
        };
        let ReadTransfer { transaction, receiver, outputs, traced, destinations, tip_height } =
            read;
        let receiver = self.address(&receiver)?;
        let no_owner = || InvalidAnswer(format!("{receiver} owns no output"));
        let transfer =
            Transfer::of_outputs(transaction, &receiver, outputs).ok_or_else(no_owner)?;
        let traced = self.traced(traced)?;
        Ok(Ok(TransferRead { transfer, traced, destinations, tip_height }))
    }
}

/// The outputs that a query asks for.
pub(super) fn outputs(selector: &OutputSelector) -> Outputs {
    match selector {
        OutputSelector::Index(index) => Outputs::Index(*index),
        OutputSelector::Address(address) => Outputs::Address(text(address)),
    }
}

/// A transfer as an answer; an error that is none is given back.
pub(super) fn transfer_answer(
    read: Result<TransferRead, TransferError>,
    intel: &IntelSnapshot,
    now: Timestamp,
) -> Result<TransferAnswer, TransferError> {
    match read {
        Ok(TransferRead { transfer, traced, destinations, tip_height }) => {
            let Transfer { transaction, receiver, outputs, .. } = transfer;
            Ok(TransferAnswer::Read(Box::new(ReadTransfer {
                transaction,
                receiver: text(&receiver),
                outputs,
                traced: trace_answer(traced, intel),
                destinations,
                tip_height,
            })))
        }
        Err(TransferError::UnknownTransaction(unknown)) => {
            let time = now.checked_sub(unknown.age).unwrap_or(now);
            Ok(TransferAnswer::UnknownTransaction { height: unknown.height, time })
        }
        Err(TransferError::Invalid(invalid)) => {
            Ok(TransferAnswer::Invalid(invalid_outputs(&invalid)))
        }
        Err(TransferError::Unavailable(_, reason)) => Ok(TransferAnswer::Unavailable(reason)),
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

fn of_selector(
    invalid: InvalidOutputs,
    selector: &OutputSelector,
) -> Result<InvalidTransfer, InvalidAnswer> {
    Ok(match (invalid, selector) {
        (InvalidOutputs::NoSuchOutput(count), OutputSelector::Index(index)) => {
            InvalidTransfer::NoSuchOutput { index: *index, count }
        }
        (InvalidOutputs::NotPaid, OutputSelector::Address(address)) => {
            InvalidTransfer::NotPaid(address.clone())
        }
        (InvalidOutputs::NoAddress, OutputSelector::Index(index)) => {
            InvalidTransfer::NoAddress(*index)
        }
        (InvalidOutputs::NoAmount, _) => InvalidTransfer::NoAmount,
        (InvalidOutputs::Coinbase, _) => InvalidTransfer::Coinbase,
        (other, _) => return Err(InvalidAnswer(format!("{other:?} of {selector:?}"))),
    })
}
