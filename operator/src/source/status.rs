//! What is told of sources. Until something is known, what was told before stays.

use assay_crds::status::{ChainSourceStatus, IntelSourceStatus};
use assay_tenancy::{Name, manifest::Kind};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::work::WORKING;
use crate::{conditions::ConditionState, publish::StatusContext, reason::Reason};

/// The status about a list or label set, and how its workload does.
pub(crate) fn feed_status(
    name: &Name,
    context: &StatusContext<'_>,
    before: IntelSourceStatus,
) -> (IntelSourceStatus, Option<ConditionState>) {
    let fact = fact(Kind::IntelSource, name, context, &before.conditions);
    let Some(feeds) = &context.known.feeds else { return (before, fact) };
    let state = feeds.get(name.as_str());
    let status = state.map_or_else(IntelSourceStatus::default, |state| IntelSourceStatus {
        verified_at: Some(state.verified_at),
        published_at: state.published_at,
        digest: Some(state.digest.clone()),
        entries: Some(state.entries),
        ..IntelSourceStatus::default()
    });
    (status, fact)
}

/// The status about a chain, and how its workload does.
pub(crate) fn chain_status(
    name: &Name,
    context: &StatusContext<'_>,
    before: ChainSourceStatus,
) -> (ChainSourceStatus, Option<ConditionState>) {
    let fact = fact(Kind::ChainSource, name, context, &before.conditions);
    let Some(tips) = &context.known.chains else { return (before, fact) };
    let mut chains = context.in_force.directory.chains.values();
    let source = chains.find(|chain| chain.name == *name);
    let tip = source.and_then(|chain| tips.get(&chain.spec.chain));
    let status = tip.map_or_else(ChainSourceStatus::default, |tip| ChainSourceStatus {
        tip_height: Some(tip.height),
        tip_time: Some(tip.time),
        ..ChainSourceStatus::default()
    });
    (status, fact)
}

/// How the workload of a source does.
fn fact(
    kind: Kind,
    name: &Name,
    context: &StatusContext<'_>,
    before: &[Condition],
) -> Option<ConditionState> {
    let known = context.known.workloads.get(&(kind, name.clone())).cloned();
    known.or_else(|| {
        let told = before.iter().find(|condition| condition.type_ == WORKING)?;
        let reason = Reason::ALL.iter().find(|reason| reason.as_str() == told.reason)?;
        let (holds, message) = (told.status == "True", told.message.clone());
        Some(ConditionState { kind: WORKING, holds, reason: *reason, message })
    })
}
