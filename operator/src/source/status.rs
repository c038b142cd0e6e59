//! The parts of a source's status that the controllers of sources write. Each part has its own field manager:
//! server-side apply merges the parts, and removes fields that a manager no longer applies.

use assay_crds::status::{ChainSourceStatus, Status};
use k8s_openapi::{api::apps::v1::StatefulSet, apimachinery::pkg::apis::meta::v1::Condition};
use kube::{Api, api::ApiResource};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use super::{
    branches::BRANCHES_AGREE, chain_client::ObservedChain, following::SOURCE_FOLLOWED,
    graphs::GRAPHS_READABLE,
};
use crate::{
    conditions::{ConditionState, READY, condition},
    shared::SharedContext,
    watched::{WatchedObject, parse_status},
    writer::WriteError,
};

/// The condition type: the workload of a source exists and works.
pub(super) const WORKING: &str = "Working";

/// A part of a source's status.
#[derive(Debug)]
pub(super) struct StatusPart {
    /// The field manager that owns the part.
    manager: &'static str,
    /// The types of the conditions in this part.
    conditions: &'static [&'static str],
    /// The other fields in this part.
    fields: &'static [&'static str],
}

/// The status part about the workload: the condition, and the number of chain servers.
pub(super) const WORKLOAD: StatusPart = StatusPart {
    manager: "assay-operator/workload",
    conditions: &[WORKING],
    fields: &["replicas", "readyReplicas", "servers"],
};
/// The status part about the source as a whole.
pub(super) const SUMMARY: StatusPart =
    StatusPart { manager: "assay-operator/summary", conditions: &[READY], fields: &[] };
/// The status part about the imported list or label set.
pub(super) const STORED: StatusPart = StatusPart {
    manager: "assay-operator/stored",
    conditions: &[],
    fields: &["verifiedAt", "publishedAt", "digest", "entries"],
};
/// The status part about the graph of a followed chain.
pub(super) const CHAIN: StatusPart = StatusPart {
    manager: "assay-operator/chain",
    conditions: &[BRANCHES_AGREE, SOURCE_FOLLOWED, GRAPHS_READABLE],
    fields: &["tipHeight", "tipTime", "blocksPerSecond", "sourceHeight", "diskUsed"],
};

impl StatusPart {
    /// Writes the part, unless the object already has it: the fields of `status`, and the conditions. Fields and
    /// conditions that are absent are removed from the object.
    pub(super) async fn write<S>(
        &self,
        object: &WatchedObject,
        kind: &ApiResource,
        (status, wanted): (&S, &[&ConditionState]),
        shared: &SharedContext,
    ) -> Result<(), WriteError>
    where
        S: Status + Serialize + DeserializeOwned,
    {
        let before: S = parse_status(object);
        let generation = object.metadata.generation;
        let now = shared.clock.now();
        let condition =
            |state: &&ConditionState| condition(state, before.conditions(), generation, now);
        let conditions: Vec<Condition> = wanted.iter().map(condition).collect();
        self.write_conditions(object, kind, (status, &conditions), shared).await
    }

    /// Writes the part with conditions as they are, unless the object already has it.
    pub(super) async fn write_conditions<S>(
        &self,
        object: &WatchedObject,
        kind: &ApiResource,
        (status, conditions): (&S, &[Condition]),
        shared: &SharedContext,
    ) -> Result<(), WriteError>
    where
        S: Status + Serialize + DeserializeOwned,
    {
        let before: S = parse_status(object);
        let next = self.extract(status, conditions);
        let has_it = next == self.extract(&before, before.conditions());
        // An earlier release wrote the whole status by one manager, which removes what it no longer applies.
        let is_manager = next.is_empty() || self.manages(object);
        if has_it && is_manager {
            return Ok(());
        }
        let api = Api::all_with(shared.client.clone(), kind);
        let part = (!next.is_empty()).then_some(next);
        match shared.writer.status(&api, object, kind, self.manager, &part).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    /// Extracts the fields and conditions of this part from a status.
    fn extract(&self, status: &impl Serialize, conditions: &[Condition]) -> Map<String, Value> {
        let status = json!(status);
        let field = |name: &&str| Some(((*name).to_owned(), status.get(*name)?.clone()));
        let mut part: Map<String, Value> = self.fields.iter().filter_map(field).collect();
        let is_own = |known: &&Condition| self.conditions.contains(&&*known.type_);
        let own: Vec<&Condition> = conditions.iter().filter(is_own).collect();
        if !own.is_empty() {
            part.insert("conditions".to_owned(), json!(own));
        }
        part
    }

    fn manages(&self, object: &WatchedObject) -> bool {
        let mut managers = object.metadata.managed_fields.iter().flatten();
        managers.any(|known| known.manager.as_deref() == Some(self.manager))
    }
}

/// The number of chain servers of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Replicas {
    /// The desired number of servers.
    pub(super) desired: i32,
    /// The number of ready servers.
    pub(super) ready: i32,
}

impl Replicas {
    /// The chain servers of a `StatefulSet`.
    pub(super) fn of_stateful_set(stateful_set: &StatefulSet) -> Self {
        let desired = stateful_set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        let ready = stateful_set.status.as_ref().and_then(|status| status.ready_replicas);
        Self { desired, ready: ready.unwrap_or(0).min(desired) }
    }
}

/// The status fields about the number of chain servers.
pub(super) fn replica_fields(replicas: Option<Replicas>) -> ChainSourceStatus {
    ChainSourceStatus {
        replicas: replicas.map(|replicas| replicas.desired),
        ready_replicas: replicas.map(|replicas| replicas.ready),
        servers: replicas.map(|Replicas { ready, desired }| format!("{ready}/{desired}")),
        ..ChainSourceStatus::default()
    }
}

/// The status fields about the graph of a chain.
pub(super) fn chain_fields(chain: &ObservedChain) -> ChainSourceStatus {
    ChainSourceStatus {
        tip_height: chain.newest.map(|newest| newest.height),
        tip_time: chain.newest.map(|newest| newest.time),
        blocks_per_second: chain.blocks_per_second.map(two_digits),
        source_height: chain.source_height,
        disk_used: chain.bytes.map(disk_size),
        ..ChainSourceStatus::default()
    }
}

/// Rounds a rate to two significant digits, so that the status does not change with each measurement.
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

/// Formats a number of bytes in a binary unit with at most three digits.
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

#[cfg(test)]
mod tests {
    use assay_crds::status::IntelSourceStatus;
    use jiff::Timestamp;

    use super::*;
    use crate::source::{branches, chain_client::ObservedBlock, following, graphs};

    fn condition(kind: &str) -> Condition {
        serde_json::from_value(json!({
            "type": kind, "status": "True", "reason": "Any", "message": "",
            "lastTransitionTime": "2026-11-22T01:00:00Z",
        }))
        .unwrap()
    }

    #[test]
    fn a_part_has_all_its_fields_and_its_condition() {
        let time = Timestamp::UNIX_EPOCH;
        let chain = ObservedChain {
            newest: Some(ObservedBlock { height: 9, time }),
            blocks_per_second: Some(1.0),
            source_height: Some(10),
            bytes: Some(1),
            branches: Some(branches::condition(None, &[])),
            following: Some(following::condition(&[])),
            graphs: graphs::condition(1, &[]),
        };
        let stored = IntelSourceStatus {
            verified_at: Some(time),
            published_at: Some(time),
            digest: Some("ab".into()),
            entries: Some(1),
            ..IntelSourceStatus::default()
        };
        let conditions = ["Ready", "Working", "BranchesAgree", "SourceFollowed", "GraphsReadable"]
            .map(condition);
        for (part, mut status, own) in [
            (STORED, json!(stored), &conditions[..0]),
            (CHAIN, json!(chain_fields(&chain)), &conditions[2..]),
            (
                WORKLOAD,
                json!(replica_fields(Some(Replicas { desired: 2, ready: 1 }))),
                &conditions[1..2],
            ),
        ] {
            let mut expected = status.clone();
            let fields = expected.as_object_mut().unwrap();
            fields.remove("conditions").unwrap();
            if !own.is_empty() {
                fields.insert("conditions".to_owned(), json!(own));
            }
            status["observedGeneration"] = json!(3);
            assert_eq!(json!(part.extract(&status, &conditions)), expected, "{}", part.manager);
            assert_eq!(json!(part.extract(&json!({}), &[])), json!({}), "{}", part.manager);
        }
    }

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
