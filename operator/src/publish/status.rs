//! What is written of the objects: nothing where nothing changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use assay_crds::status::Status;
use assay_tenancy::{Name, manifest::Kind};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    InForce, Publisher,
    apply::BoundedWrites,
    fetch::{ObjectKey, WatchedObject, is_deleted},
    validate::Validated,
};
use crate::{
    compact::CompactJson,
    conditions::{ConditionState, ReadyState, condition, conditions, ready_reason},
    plan, rate_limit,
    reason::Reason,
    risk_policy,
    source::{self, Observed},
    system, tenant,
};

/// What was written of an object, and which object that was.
#[derive(Clone, Debug)]
pub(super) struct WrittenStatus {
    uid: Option<String>,
    status: CompactJson,
}

/// What is to be written of an object.
struct StatusUpdate {
    key: ObjectKey,
    object: Arc<WatchedObject>,
    status: CompactJson,
    /// Where the reason is another one than before: its state, for an event.
    changed: Option<ReadyState>,
}

impl Publisher {
    /// Tells of every object how it stands, where that changed.
    pub(super) async fn write_statuses(
        &mut self,
        objects: &BTreeMap<ObjectKey, Arc<WatchedObject>>,
        finalized: &BTreeSet<ObjectKey>,
        validated: &Validated,
    ) {
        let now = system::now();
        let in_force = self.in_force.borrow().clone();
        let tenant_counts = TenantCounts::count(&in_force);
        let known = self.known.borrow_and_update().clone();
        self.retries.retain(|key, _| objects.contains_key(key));
        let mut updates = Vec::new();
        for (key, object) in objects {
            let waits = self.retries.get(key).is_some_and(|(_, at)| *at > Instant::now());
            let goes = is_deleted(object) && validated.is_gone(key);
            if waits || goes || !finalized.contains(key) {
                continue;
            }
            let before = self.before(key, object);
            let ready_state = ready_state(key, object, validated);
            let context = StatusContext {
                in_force: &in_force,
                tenant_counts: &tenant_counts,
                known: &known,
                now,
            };
            let status = status_of(key, object, &ready_state, before.as_ref(), &context);
            let is_changed = before.as_ref() != Some(&status);
            self.health.metrics.reconciled(key.0.as_str(), is_changed);
            if !ready_state.is_ready() {
                self.health.metrics.failed(key.0.as_str(), ready_state.reason());
            }
            if is_changed {
                let before = conditions_of(before.as_ref());
                let is_same = ready_reason(&before) == Some(ready_state.reason().as_str());
                let changed = (!is_same).then_some(ready_state);
                let status = CompactJson::from(&status);
                updates.push(StatusUpdate {
                    key: key.clone(),
                    object: Arc::clone(object),
                    status,
                    changed,
                });
            }
        }
        let mut all = BoundedWrites::new();
        for updates in updates {
            all.wait_for_slot().await;
            all.push(self.write(updates));
        }
        for (key, written) in all.finish().await {
            if let Some(written) = written {
                self.retries.remove(&key);
                self.written.insert(key, written);
            } else {
                self.postpone(key);
            }
        }
    }

    /// Tells of objects that changed since they were last written of that the store failed. The others are
    /// in force as they were.
    pub(super) async fn report_store_failure(&mut self) {
        let words = "the database cannot be reached or refuses; it is tried again".to_owned();
        let ready_state = ReadyState::Waiting(Reason::StoreUnavailable, words);
        let now = system::now();
        let mut all = BoundedWrites::new();
        for (key, object) in self.caches.objects() {
            let before = self.before(&key, &object);
            let changed = observed(before.as_ref()) != object.meta().generation;
            if is_deleted(&object) || !changed {
                continue;
            }
            let mut facts = match before.clone() {
                Some(Value::Object(facts)) => facts,
                _ => serde_json::Map::new(),
            };
            let conditions = conditions(&ready_state, &conditions_of(before.as_ref()), None, now);
            // The generation stays: what it says was not looked at yet.
            facts.insert("conditions".into(), json!(conditions));
            let status = Value::Object(facts);
            if Some(&status) != before.as_ref() {
                let status = CompactJson::from(&status);
                all.wait_for_slot().await;
                all.push(self.write(StatusUpdate { key, object, status, changed: None }));
            }
        }
        let written = all.finish().await;
        self.written.extend(written.into_iter().filter_map(|(key, written)| Some((key, written?))));
    }

    /// Lets go of what was written and came back by the watch.
    pub(super) fn forget_written(&mut self, objects: &BTreeMap<ObjectKey, Arc<WatchedObject>>) {
        self.written.retain(|key, written| {
            let object = objects.get(key);
            object.is_some_and(|object| object.status.as_ref() != Some(&written.status))
        });
    }

    /// What was written of an object before.
    fn before(&self, key: &ObjectKey, object: &WatchedObject) -> Option<Value> {
        let written = self.written.get(key).filter(|written| written.uid == object.meta().uid);
        let status = written.map(|written| &written.status).or(object.status.as_ref());
        status.map(CompactJson::value)
    }

    async fn write(&self, updates: StatusUpdate) -> (ObjectKey, Option<WrittenStatus>) {
        let StatusUpdate { key, object, status, changed } = updates;
        let Some((api, resource)) = self.caches.of(key.0) else { return (key, None) };
        let uid = object.meta().uid.clone();
        match self.writer.status(api, &*object, resource, &status).await {
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                tracing::warn!(%error, kind = key.0.as_str(), name = %key.1, "failed to write a status");
                return (key, None);
            }
            Ok(()) => {
                if let Some(ready_state) = changed.filter(|ready_state| !ready_state.is_ready()) {
                    let note = ready_state.message().to_owned();
                    let reference = object.object_ref(resource);
                    let reason = ready_state.reason().as_str();
                    self.writer.event(&reference, true, reason, "Publish", note).await;
                }
            }
        }
        (key, Some(WrittenStatus { uid, status }))
    }
}

/// The conditions in a status.
fn conditions_of(status: Option<&Value>) -> Vec<Condition> {
    let conditions = status.and_then(|status| status.get("conditions"));
    conditions.and_then(|conditions| Vec::deserialize(conditions).ok()).unwrap_or_default()
}

/// The generation that a status is about.
fn observed(status: Option<&Value>) -> Option<i64> {
    status?.get("observedGeneration")?.as_i64()
}

/// How it stands with an object.
fn ready_state(key: &ObjectKey, object: &WatchedObject, validated: &Validated) -> ReadyState {
    let refusal = match &validated.outcome {
        Err(problems) => {
            let words = problems.first().map(ToString::to_string).unwrap_or_default();
            let message = format!("the store holds what is wrong by itself: {words}");
            return ReadyState::Stalled(Reason::StoreInconsistent, message);
        }
        Ok(_) => validated.refusal(key),
    };
    let Some(refusal) = refusal else {
        return ReadyState::Ready(Reason::Published, "what it says is in force".into());
    };
    let reason = Reason::of(key.0, is_deleted(object), refusal);
    let words = format!("{}: {}", refusal.problem.path, refusal.problem.message);
    ReadyState::Stalled(
        reason,
        match (&refusal.breaks, is_deleted(object)) {
            (Some(other), true) => format!("kept until nothing needs it; {other}: {words}"),
            (Some(other), false) => format!("not in force: it would break {other}: {words}"),
            (None, _) => words,
        },
    )
}

/// How many tenants use what.
#[derive(Debug, Default)]
pub(crate) struct TenantCounts {
    plans: BTreeMap<Name, u32>,
    policies: BTreeMap<Name, u32>,
}

impl TenantCounts {
    fn count(in_force: &InForce) -> Self {
        let mut tenant_counts = Self::default();
        for tenant in in_force.directory.tenants.values() {
            *tenant_counts.plans.entry(tenant.plan.name.clone()).or_default() += 1;
            *tenant_counts.policies.entry(tenant.policy_name.clone()).or_default() += 1;
        }
        tenant_counts
    }

    /// Tenants on a plan.
    pub(crate) fn of_plan(&self, name: &Name) -> u32 {
        self.plans.get(name).copied().unwrap_or(0)
    }

    /// Tenants that a policy judges.
    pub(crate) fn of_policy(&self, name: &Name) -> u32 {
        self.policies.get(name).copied().unwrap_or(0)
    }
}

/// What the facts about an object are drawn from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusContext<'a> {
    /// What is in force.
    pub(crate) in_force: &'a InForce,
    /// How many tenants use what.
    pub(crate) tenant_counts: &'a TenantCounts,
    /// What is known of sources.
    pub(crate) known: &'a Observed,
    /// The time.
    pub(crate) now: Timestamp,
}

fn status_of(
    key: &ObjectKey,
    object: &WatchedObject,
    ready_state: &ReadyState,
    before: Option<&Value>,
    context: &StatusContext<'_>,
) -> Value {
    let (kind, name) = key;
    let generation = object.meta().generation;
    let now = context.now;
    match kind {
        Kind::Plan => {
            finish((plan::status(name, context), None), ready_state, before, generation, now)
        }
        Kind::Tenant => {
            finish((tenant::status(name, context), None), ready_state, before, generation, now)
        }
        Kind::RateLimit => {
            finish((rate_limit::status(name, context), None), ready_state, before, generation, now)
        }
        Kind::RiskPolicy => {
            finish((risk_policy::status(name, context), None), ready_state, before, generation, now)
        }
        // No object is one.
        Kind::FormerTenant => Value::Null,
        Kind::IntelSource => {
            let facts = source::feed_status(name, context, read(before));
            finish(facts, ready_state, before, generation, now)
        }
        Kind::ChainSource => {
            let facts = source::chain_status(name, context, read(before));
            finish(facts, ready_state, before, generation, now)
        }
    }
}

/// What was written before; nothing where that was something else.
fn read<S: Default + DeserializeOwned>(before: Option<&Value>) -> S {
    before.and_then(|before| serde_json::from_value(before.clone()).ok()).unwrap_or_default()
}

/// The facts with the conditions: how it stands, and what the facts bring with them.
fn finish<S: Status + Serialize + DeserializeOwned>(
    facts: (S, Option<ConditionState>),
    ready_state: &ReadyState,
    before: Option<&Value>,
    generation: Option<i64>,
    now: Timestamp,
) -> Value {
    let (mut facts, fact) = facts;
    let old: S = read(before);
    let mut all = conditions(ready_state, old.conditions(), generation, now);
    all.extend(fact.map(|fact| condition(&fact, old.conditions(), generation, now)));
    facts.set(generation, all);
    serde_json::to_value(facts).unwrap_or_default()
}
