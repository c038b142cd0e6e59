//! The statuses of `IntelSource` and `ChainSource`.

use std::sync::Arc;

use assay_crds::status::{ChainSourceStatus, IntelSourceStatus};
use assay_tenancy::{
    Name,
    directory::ChainFeed,
    manifest::{ChainMode, Kind},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::context::StatusContext;
use crate::{
    conditions::ConditionState,
    reason::Reason,
    source::{BRANCHES_AGREE, Replicas, WORKING},
};

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
    let observed = context.observed;
    if !is_followed(name, context) {
        return ChainSourceStatus::default();
    }
    let mut status = before;
    if let Some(workload) = observed.workloads.get(&(Kind::ChainSource, name.clone())) {
        let replicas = workload.replicas;
        status.replicas = replicas.map(|replicas| replicas.desired);
        status.ready_replicas = replicas.map(|replicas| replicas.ready);
        status.servers = replicas.map(|Replicas { ready, desired }| format!("{ready}/{desired}"));
    }
    if let Some(chain) = observed.chains.get(name) {
        status.tip_height = Some(chain.height);
        status.tip_time = Some(chain.time);
        status.blocks_per_second = chain.blocks_per_second.map(two_digits);
        status.disk_used = Some(disk_size(chain.bytes));
    }
    status
}

/// A rate with two significant digits, so that it does not change each time that it is measured.
fn two_digits(rate: f64) -> f64 {
    if !rate.is_normal() {
        return 0.0;
    }
    let unit = 10_f64.powf(rate.abs().log10().floor() - 1.0);
    // The quotient of whole numbers is exact in decimals, and a product with 0.1 is not.
    if unit < 1.0 {
        (rate / unit).round() / unit.recip().round()
    } else {
        (rate / unit).round() * unit
    }
}

/// A number of bytes in the largest binary unit that leaves three digits.
fn disk_size(bytes: u64) -> String {
    let mut number = bytes.div_ceil(1 << 20);
    let mut units = ["Mi", "Gi", "Ti"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for larger in units {
        if number < 10_000 {
            break;
        }
        (number, unit) = (number.div_ceil(1024), larger);
    }
    format!("{number}{unit}")
}

/// The condition of a source's workload. Values that are not known yet keep their last state.
pub(super) fn workload(
    kind: Kind,
    name: &Name,
    context: &StatusContext<'_>,
    before: &[Condition],
) -> Option<ConditionState> {
    let state = context.observed.workloads.get(&(kind, name.clone()));
    state.map(|workload| workload.condition.clone()).or_else(|| last(WORKING, before))
}

/// The condition of the branches of a followed chain's servers. Values that are not known yet keep their last state.
pub(super) fn branches(
    name: &Name,
    context: &StatusContext<'_>,
    before: &[Condition],
) -> Option<ConditionState> {
    if !is_followed(name, context) {
        return None;
    }
    let chain = context.observed.chains.get(name);
    chain.map(|chain| chain.branches.clone()).or_else(|| last(BRANCHES_AGREE, before))
}

/// The last state of a condition.
fn last(kind: &'static str, before: &[Condition]) -> Option<ConditionState> {
    let old = before.iter().find(|condition| condition.type_ == kind)?;
    let reason = Reason::ALL.iter().find(|reason| reason.as_str() == old.reason)?;
    let (holds, message) = (old.status == "True", old.message.clone());
    Some(ConditionState { kind, holds, reason: *reason, message })
}

/// True if the source follows its chain.
fn is_followed(name: &Name, context: &StatusContext<'_>) -> bool {
    let mut chains = context.in_force.directory.chains.values();
    let is_followed =
        |chain: &Arc<ChainFeed>| chain.name == *name && chain.spec.mode == ChainMode::Follow;
    chains.any(is_followed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_rates_are_rounded() {
        for (bytes, size) in [
            (1, "1Mi"),
            (20 << 30, "20Gi"),
            ((9999 << 20) + 1, "10Gi"),
            (598 << 30, "598Gi"),
            (11_u64 << 40, "11Ti"),
        ] {
            assert_eq!(disk_size(bytes), size);
        }
        for (rate, rounded) in
            [(0.0, 0.0), (0.123, 0.12), (7.49, 7.5), (123.0, 120.0), (9.99, 10.0)]
        {
            assert!((two_digits(rate) - rounded).abs() < 1e-9, "{rate}");
            assert!(two_digits(rate).to_string().len() <= 5, "{}", two_digits(rate));
        }
    }
}
