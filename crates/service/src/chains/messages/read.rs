//! Conversion of messages to questions and answers.

use assay_address::{CanonicalAddress, ChainId};
use assay_chain_protocol::message::{
    ChainStateMessage, ClusterAnswer, ClusterMemberAnswer, CounterpartyAnswer, InvalidOutputs,
    ListedDealingAnswer, ListedDealingsAnswer, PossibleOwnerAnswer, ReadTransfer, TraceAnswer,
    TracingPolicy, TransactionAnswer, TransferAnswer,
};
use assay_engine::{
    evidence::ChainState,
    facts::{
        Cluster, ClusterMember, Counterparties, Counterparty, ListedDealing, ListedDealings,
        PossibleOwner,
    },
    policy::{Policy, PolicySpec},
    taxonomy::Category,
    transfer::{FoundTransfer, TransferQuery, TransferSelector},
    utxo::{InvalidTransfer, OutputSelector, Transfer},
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;

use super::types::{InvalidAnswer, MessageForm};
use crate::chains::{
    accounts::labels,
    forms::TransactionWithForms,
    subject::SubjectData,
    transfer::{TransferError, TransferRead},
};

/// Returns a policy that attributes owners as the policy of a question does, or a description of the problem.
pub(in crate::chains) fn attributing(policy: &TracingPolicy) -> Result<Policy, String> {
    let TracingPolicy { severities, lists, .. } = policy;
    let is_known = |(name, _): &(&String, &u8)| name.parse::<Category>().is_ok();
    let severities = severities.iter().filter(is_known);
    let lists = lists
        .iter()
        .map(|(list, effect)| Ok((MessageForm::read(list.clone())?, MessageForm::read(*effect)?)));
    let lists = lists.collect::<Result<_, InvalidAnswer>>().map_err(|error| error.0)?;
    let compiled = Policy::compile(PolicySpec {
        severities: severities.map(|(name, severity)| (name.clone(), *severity)).collect(),
        lists,
        ..PolicySpec::default()
    });
    compiled.map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        problems.join("; ")
    })
}

/// Converts answers about one chain, and looks up the listings and labels of their addresses.
#[derive(Clone, Copy, Debug)]
pub(in crate::chains) struct AnswerReader<'a> {
    pub(in crate::chains) chain: ChainId,
    pub(in crate::chains) intel: &'a IntelSnapshot,
}

impl AnswerReader<'_> {
    /// Converts the data about a subject. The data's revision names the lists and labels of the chain server if they
    /// differ from this server's lists and labels.
    pub(in crate::chains) fn traced(
        self,
        answer: TraceAnswer,
    ) -> Result<SubjectData, InvalidAnswer> {
        let TraceAnswer { lists, data_revision, mut state, revision, .. } = answer;
        let TraceAnswer { cluster, counterparties, possible_owners, freezes, .. } = answer;
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
        let limits = match &mut state {
            ChainStateMessage::Followed(facts) => facts.flows.account.take(),
            ChainStateMessage::NotFollowed | ChainStateMessage::Unavailable(_) => None,
        };
        let mut state: ChainState = MessageForm::read(state)?;
        if let Some(limits) = limits
            && let ChainState::Followed(chain) = &mut state
        {
            chain.flows.account = Some(Box::new(self.account_limits(*limits)?));
        }
        if !is_same
            && let ChainState::Followed(chain) = &mut state
            && let Some(used) = &mut chain.flows.compositions
        {
            // The chain server compared its compositions with lists and labels other than those of the assessment.
            used.is_outdated = true;
        }
        Ok(SubjectData {
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
            freezes: self.freezes(freezes)?,
        })
    }

    pub(super) fn address(self, text: &str) -> Result<CanonicalAddress, InvalidAnswer> {
        CanonicalAddress::parse(self.chain, text).map_err(|error| InvalidAnswer(error.to_string()))
    }

    fn cluster(self, answer: ClusterAnswer) -> Result<Cluster, InvalidAnswer> {
        let ClusterAnswer { id, root, size, confidence, members, .. } = answer;
        let ClusterAnswer { attributed, examined, dealings, .. } = answer;
        let member = |ClusterMemberAnswer { address, co_spends }| {
            let address = self.address(&address)?;
            let labels = self.intel.labels().labels_of(&address);
            let listings = self.intel.listings_of(&address);
            let co_spends = MessageForm::read(co_spends)?;
            Ok(ClusterMember { address, labels, listings, co_spends })
        };
        let members = members.into_iter().map(member).collect::<Result<_, _>>()?;
        let (id, root) = (self.address(&id)?, self.address(&root)?);
        let confidence = MessageForm::read(confidence)?;
        let dealings = self.dealings(dealings)?;
        Ok(Cluster { id, root, size, confidence, members, attributed, examined, dealings })
    }

    fn dealings(self, answer: ListedDealingsAnswer) -> Result<ListedDealings, InvalidAnswer> {
        let ListedDealingsAnswer { largest, found, is_limited } = answer;
        let dealing = |answer: ListedDealingAnswer| {
            let ListedDealingAnswer { member, co_spends, party, entity, listed_by, .. } = answer;
            let ListedDealingAnswer { direction, transaction, time, amount, .. } = answer;
            Ok(ListedDealing {
                member: self.address(&member)?,
                co_spends: MessageForm::read(co_spends)?,
                party: self.address(&party)?,
                entity,
                listed_by: MessageForm::read(listed_by)?,
                direction: MessageForm::read(direction)?,
                transaction,
                time,
                amount,
            })
        };
        let largest = largest.into_iter().map(dealing).collect::<Result<_, InvalidAnswer>>()?;
        Ok(ListedDealings { largest, found, is_limited })
    }

    fn counterparty(self, answer: CounterpartyAnswer) -> Result<Counterparty, InvalidAnswer> {
        let CounterpartyAnswer { address, is_funder, received, sent, .. } = answer;
        let CounterpartyAnswer { transactions, first_seen, last_seen, .. } = answer;
        let CounterpartyAnswer { by_asset, role, freezes, .. } = answer;
        let address = self.address(&address)?;
        let freezes = self.freezes(freezes)?;
        let labels = labels(self.intel, &address, &freezes);
        let listings = self.intel.listings_of(&address);
        Ok(Counterparty {
            address,
            freezes,
            is_funder,
            by_asset: MessageForm::read(by_asset)?,
            role: MessageForm::read(role)?,
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
        let labels = self.intel.labels().labels_of(&address);
        let listings = self.intel.listings_of(&address);
        Ok(PossibleOwner {
            address,
            by: MessageForm::read(by)?,
            confidence: MessageForm::read(confidence)?,
            labels,
            listings,
            transactions,
            first_seen,
            last_seen,
        })
    }

    /// Converts a transfer, or the reason for which it was not read.
    pub(in crate::chains) fn transfer(
        self,
        query: &TransferQuery,
        answer: TransferAnswer,
        now: Timestamp,
    ) -> Result<Result<TransferRead, TransferError>, InvalidAnswer> {
        let read = match answer {
            TransferAnswer::Read(read) => *read,
            TransferAnswer::UnknownTransaction { height, time, mempool } => {
                let unknown = TransferError::unknown(query, height, time, now);
                return Ok(Err(unknown.with_mempool(MessageForm::read(mempool)?)));
            }
            TransferAnswer::Invalid(invalid) => {
                return Ok(Err(TransferError::Invalid(of_selector(invalid, &query.selector)?)));
            }
            TransferAnswer::Unavailable(reason) => {
                return Ok(Err(TransferError::Unavailable(self.chain, MessageForm::read(reason)?)));
            }
        };
        let ReadTransfer { transaction, receiver, outputs, traced, .. } = read;
        let ReadTransfer { destinations, tip_height, unconfirmed, .. } = read;
        let receiver = self.address(&receiver)?;
        let transaction = MessageForm::read(transaction)?;
        let outputs = MessageForm::read(outputs)?;
        let no_owner = || InvalidAnswer(format!("{receiver} owns no output"));
        let transfer =
            Transfer::of_outputs(transaction, &receiver, outputs).ok_or_else(no_owner)?;
        let transfer = transfer.with_unconfirmed(MessageForm::read(unconfirmed)?);
        let destinations = MessageForm::read(destinations)?;
        let traced = self.traced(traced)?;
        let transfer = FoundTransfer::Outputs(Box::new(transfer));
        Ok(Ok(TransferRead { transfer, traced, destinations, tip_height }))
    }
}

fn of_selector(
    invalid: InvalidOutputs,
    selector: &TransferSelector,
) -> Result<InvalidTransfer, InvalidAnswer> {
    let TransferSelector::Outputs(selector) = selector else {
        return Err(InvalidAnswer(format!("{invalid:?} of {selector:?}")));
    };
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

/// Converts a transaction with its structural forms.
pub(in crate::chains) fn transaction(
    answer: TransactionAnswer,
) -> Result<TransactionWithForms, InvalidAnswer> {
    let TransactionAnswer { transaction, forms } = answer;
    Ok(TransactionWithForms {
        transaction: MessageForm::read(transaction)?,
        forms: MessageForm::read(forms)?,
    })
}
