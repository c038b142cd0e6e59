//! Trace of the flows of a subject or a transfer with the chain's reader, of any kind.

use assay_address::CanonicalAddress;
use assay_chain_protocol::AskError;
use assay_engine::{
    evidence::{AddressLabels, Unavailable},
    policy::Policy,
    trace::TraceRules,
    transfer::{FoundTransfer, TransferDirection, TransferFacts, TransferQuery},
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;

use super::{
    registry::ChainReaders,
    subject::{ReadError, SubjectData, TraceRequest},
    transfer::{TransferError, TransferRead, TransferReadRequest},
};

/// Details to show in addition to those that an assessment needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceView {
    /// Number of hops to follow; `None` for the number of the policy.
    pub hops: Option<u16>,
    /// Number of paths to keep of each exposure part; `None` for the number that an answer shows.
    pub paths: Option<usize>,
}

impl TraceView {
    fn rules(self, policy: &Policy, subject: &CanonicalAddress) -> TraceRules {
        let mut rules = TraceRules::new(policy, subject.chain().info());
        rules.hops = self.hops.or(rules.hops);
        rules.paths_per_part = self.paths.unwrap_or(rules.paths_per_part);
        rules
    }
}

/// Traces the flows of a subject. An unreadable chain is no error: the answer states that the chain is unreadable.
pub async fn trace(
    chains: &ChainReaders,
    intel: &IntelSnapshot,
    policy: &Policy,
    subject: &CanonicalAddress,
    view: TraceView,
    now: Timestamp,
) -> SubjectData {
    let chain = subject.chain();
    let Some(reader) = chains.reader(chain) else {
        return if chains.is_followed(chain) {
            SubjectData::unavailable(Unavailable::NotYetRead)
        } else {
            SubjectData::not_followed()
        };
    };
    let rules = view.rules(policy, subject);
    let request = TraceRequest { subject, rules, policy, intel, now };
    reader.trace(request).await.unwrap_or_else(|error| {
        if matches!(error, ReadError::Servers(AskError::Silent(_) | AskError::BranchesDiffer(_))) {
            // The client of chain servers logs this error once, not for every check.
            tracing::debug!(%error, %chain, "failed to read a chain");
        } else {
            chains.report_unreadable(chain, &error);
        }
        SubjectData::unavailable(error.unavailable())
    })
}

/// Returns the facts about a transfer from lists, labels and its chain.
///
/// # Errors
///
/// Returns an error if the chain does not have the transfer or cannot be read, or if the transfer cannot be
/// assessed.
pub async fn transfer_facts(
    chains: &ChainReaders,
    intel: &IntelSnapshot,
    policy: &Policy,
    query: &TransferQuery,
    now: Timestamp,
) -> Result<TransferFacts, TransferError> {
    let chain = query.chain;
    let Some(reader) = chains.reader(chain) else {
        return Err(if chains.is_followed(chain) {
            TransferError::Unavailable(chain, Unavailable::NotYetRead)
        } else {
            TransferError::NotFollowed(chain)
        });
    };
    let rules = TraceRules::new(policy, chain.info());
    let mempool = chains.mempool(chain);
    let mempool = mempool.as_deref();
    let request = TransferReadRequest { query, rules, policy, intel, now, mempool };
    let TransferRead { transfer, traced, destinations, tip_height } =
        reader.transfer(request).await?;
    let today = intel.day(now);
    let senders = match &transfer {
        FoundTransfer::Outputs(transfer) => {
            let senders = transfer.senders().into_iter();
            senders.map(|(owner, _)| intel.attribution(chain, owner, policy, today).end).collect()
        }
        FoundTransfer::OfAccounts(found) => {
            let attribution = |account| intel.account_attribution(chain, account, policy, today);
            let senders = found.senders.iter();
            senders.map(|(account, _)| account.and_then(|it| attribution(it).end)).collect()
        }
    };
    let mut receiver = intel.facts(transfer.receiver());
    if query.direction == TransferDirection::Deposit {
        receiver.labels = AddressLabels::default();
        receiver.same_key.clear();
    }
    let mut receiver = traced.added_to(receiver);
    receiver.differing_branches = chains.differing_branches(chain);
    Ok(TransferFacts {
        direction: query.direction,
        transfer,
        senders,
        receiver,
        destinations,
        tip_height,
    })
}
