//! The statuses of `IntelSource` and `ChainSource`.

use assay_crds::status::{ChainSourceStatus, IntelSourceStatus};
use assay_tenancy::{Name, manifest::Kind};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::context::StatusContext;
use crate::{conditions::ConditionState, reason::Reason, source::WORKING};

/// The status of a list or label set. Values that are not known yet keep their last state.
pub(super) fn intel_status(
    name: &Name,
    context: &StatusContext<'_>,
    before: IntelSourceStatus,
) -> IntelSourceStatus {
    let Some(feeds) = &context.observed.feeds else { return before };
    feeds.get(name.as_str()).map_or_else(IntelSourceStatus::default, |feed| IntelSourceStatus {
        verified_at: Some(feed.verified_at),
        published_at: feed.published_at,
        digest: Some(feed.digest.clone()),
        entries: Some(feed.entries),
        ..IntelSourceStatus::default()
    })
}

/// The status of a chain. Values that are not known yet keep their last state.
pub(super) fn chain_status(
    name: &Name,
    context: &StatusContext<'_>,
    before: ChainSourceStatus,
) -> ChainSourceStatus {
    let Some(blocks) = &context.observed.chains else { return before };
    let mut chains = context.in_force.directory.chains.values();
    let source = chains.find(|chain| chain.name == *name);
    let block = source.and_then(|chain| blocks.get(&chain.spec.chain));
    block.map_or_else(ChainSourceStatus::default, |block| ChainSourceStatus {
        tip_height: Some(block.height),
        tip_time: Some(block.time),
        ..ChainSourceStatus::default()
    })
}

/// The condition of a source's workload. Values that are not known yet keep their last state.
pub(super) fn workload(
    kind: Kind,
    name: &Name,
    context: &StatusContext<'_>,
    before: &[Condition],
) -> Option<ConditionState> {
    let state = context.observed.workloads.get(&(kind, name.clone())).cloned();
    state.or_else(|| {
        let old = before.iter().find(|condition| condition.type_ == WORKING)?;
        let reason = Reason::ALL.iter().find(|reason| reason.as_str() == old.reason)?;
        let (holds, message) = (old.status == "True", old.message.clone());
        Some(ConditionState { kind: WORKING, holds, reason: *reason, message })
    })
}
