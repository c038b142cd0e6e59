//! Tracing the flows of a subject on its chain, whichever reader the chain has.

use assay_address::CanonicalAddress;
use assay_chain_protocol::AskError;
use assay_engine::{evidence::Unavailable, policy::Policy, trace::TraceRules};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;

use super::{
    reader::{ReadError, TraceRequest, Traced},
    registry::Chains,
};

/// Details to show beyond those that an assessment needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceView {
    /// Hops to follow. `None`: as many as the policy says.
    pub hops: Option<u16>,
    /// Paths to keep of each part. `None`: as many as an answer shows.
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

/// Traces the flows of a subject. An unreadable chain is no error: the answer states it.
pub async fn trace(
    chains: &Chains,
    intel: &IntelSnapshot,
    policy: &Policy,
    subject: &CanonicalAddress,
    view: TraceView,
    now: Timestamp,
) -> Traced {
    let chain = subject.chain();
    let Some(reader) = chains.reader(chain) else {
        return if chains.is_followed(chain) {
            Traced::unavailable(Unavailable::NotYetRead)
        } else {
            Traced::not_followed()
        };
    };
    let rules = view.rules(policy, subject);
    let request = TraceRequest { subject, rules, policy, intel, now };
    reader.trace(request).await.unwrap_or_else(|error| {
        if matches!(error, ReadError::Servers(AskError::Silent(_) | AskError::BranchesDiffer(_))) {
            // The log says so once, and not of every check, which fails at once.
            tracing::debug!(%error, %chain, "failed to read a chain");
        } else {
            tracing::error!(%error, %chain, "failed to read a chain");
        }
        Traced::unavailable(error.unavailable())
    })
}
