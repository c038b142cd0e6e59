//! What is told of the objects: nothing where nothing changed.

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
    apply::Writes,
    fetch::{Held, Key, is_deleted},
    validate::Verdict,
};
use crate::{
    compact::Compact,
    conditions::{Fact, Standing, condition, conditions, ready_reason},
    plan, rate_limit,
    reason::Reason,
    risk_policy,
    source::{self, Known},
    system, tenant,
};

/// What was told of an object, and which object that was.
#[derive(Clone, Debug)]
pub(super) struct Told {
    uid: Option<String>,
    status: Compact,
}

/// What is to be told of an object.
struct News {
    key: Key,
    object: Arc<Held>,
    status: Compact,
    /// Where the reason is another one than before: the standing, for an event.
    changed: Option<Standing>,
}

impl Publisher {
    /// Tells of every object how it stands, where that is news.
    pub(super) async fn tell(
        &mut self,
        objects: &BTreeMap<Key, Arc<Held>>,
        kept: &BTreeSet<Key>,
        verdict: &Verdict,
    ) {
        let now = system::now();
        let in_force = self.in_force.borrow().clone();
        let users = Users::count(&in_force);
        let known = self.known.borrow_and_update().clone();
        self.waiting.retain(|key, _| objects.contains_key(key));
        let mut news = Vec::new();
        for (key, object) in objects {
            let waits = self.waiting.get(key).is_some_and(|(_, at)| *at > Instant::now());
            let goes = is_deleted(object) && verdict.is_gone(key);
            if waits || goes || !kept.contains(key) {
                continue;
            }
            let before = self.before(key, object);
            let standing = standing(key, object, verdict);
            let context = Context { in_force: &in_force, users: &users, known: &known, now };
            let status = status_of(key, object, &standing, before.as_ref(), &context);
            let is_news = before.as_ref() != Some(&status);
            self.health.metrics.reconciled(key.0.as_str(), is_news);
            if !standing.is_ready() {
                self.health.metrics.failed(key.0.as_str(), standing.reason());
            }
            if is_news {
                let before = conditions_of(before.as_ref());
                let is_same = ready_reason(&before) == Some(standing.reason().as_str());
                let changed = (!is_same).then_some(standing);
                let status = Compact::from(&status);
                news.push(News { key: key.clone(), object: Arc::clone(object), status, changed });
            }
        }
        let mut all = Writes::new();
        for news in news {
            all.room().await;
            all.begin(self.write(news));
        }
        for (key, told) in all.end().await {
            if let Some(told) = told {
                self.waiting.remove(&key);
                self.told.insert(key, told);
            } else {
                self.postpone(key);
            }
        }
    }

    /// Tells of objects that changed since they were last told of that the store failed. The others are
    /// in force as they were.
    pub(super) async fn tell_of_failure(&mut self) {
        let words = "the database cannot be reached or refuses; it is tried again".to_owned();
        let standing = Standing::Waiting(Reason::StoreUnavailable, words);
        let now = system::now();
        let mut all = Writes::new();
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
            let conditions = conditions(&standing, &conditions_of(before.as_ref()), None, now);
            // The generation stays: what it says was not looked at yet.
            facts.insert("conditions".into(), json!(conditions));
            let status = Value::Object(facts);
            if Some(&status) != before.as_ref() {
                let status = Compact::from(&status);
                all.room().await;
                all.begin(self.write(News { key, object, status, changed: None }));
            }
        }
        let written = all.end().await;
        self.told.extend(written.into_iter().filter_map(|(key, told)| Some((key, told?))));
    }

    /// Lets go of what was told and came back by the watch.
    pub(super) fn forget_told(&mut self, objects: &BTreeMap<Key, Arc<Held>>) {
        self.told.retain(|key, told| {
            let object = objects.get(key);
            object.is_some_and(|object| object.status.as_ref() != Some(&told.status))
        });
    }

    /// What was told of an object before.
    fn before(&self, key: &Key, object: &Held) -> Option<Value> {
        let told = self.told.get(key).filter(|told| told.uid == object.meta().uid);
        let status = told.map(|told| &told.status).or(object.status.as_ref());
        status.map(Compact::value)
    }

    async fn write(&self, news: News) -> (Key, Option<Told>) {
        let News { key, object, status, changed } = news;
        let Some((api, resource)) = self.caches.of(key.0) else { return (key, None) };
        let uid = object.meta().uid.clone();
        match self.writer.status(api, &*object, resource, &status).await {
            Err(error) if error.is_gone() => {}
            Err(error) => {
                tracing::warn!(%error, kind = key.0.as_str(), name = %key.1, "failed to write a status");
                return (key, None);
            }
            Ok(()) => {
                if let Some(standing) = changed.filter(|standing| !standing.is_ready()) {
                    let note = standing.message().to_owned();
                    let reference = object.object_ref(resource);
                    let reason = standing.reason().as_str();
                    self.writer.event(&reference, true, reason, "Publish", note).await;
                }
            }
        }
        (key, Some(Told { uid, status }))
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
fn standing(key: &Key, object: &Held, verdict: &Verdict) -> Standing {
    let refusal = match &verdict.outcome {
        Err(problems) => {
            let words = problems.first().map(ToString::to_string).unwrap_or_default();
            let message = format!("the store holds what is wrong by itself: {words}");
            return Standing::Stalled(Reason::StoreInconsistent, message);
        }
        Ok(_) => verdict.refusal(key),
    };
    let Some(refusal) = refusal else {
        return Standing::Ready(Reason::Published, "what it says is in force".into());
    };
    let reason = Reason::of(key.0, is_deleted(object), refusal);
    let words = format!("{}: {}", refusal.problem.path, refusal.problem.message);
    Standing::Stalled(
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
pub(crate) struct Users {
    plans: BTreeMap<Name, u32>,
    policies: BTreeMap<Name, u32>,
}

impl Users {
    fn count(in_force: &InForce) -> Self {
        let mut users = Self::default();
        for tenant in in_force.directory.tenants.values() {
            *users.plans.entry(tenant.plan.name.clone()).or_default() += 1;
            *users.policies.entry(tenant.policy_name.clone()).or_default() += 1;
        }
        users
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
pub(crate) struct Context<'a> {
    /// What is in force.
    pub(crate) in_force: &'a InForce,
    /// How many tenants use what.
    pub(crate) users: &'a Users,
    /// What is known of sources.
    pub(crate) known: &'a Known,
    /// The time.
    pub(crate) now: Timestamp,
}

fn status_of(
    key: &Key,
    object: &Held,
    standing: &Standing,
    before: Option<&Value>,
    context: &Context<'_>,
) -> Value {
    let (kind, name) = key;
    let generation = object.meta().generation;
    let now = context.now;
    match kind {
        Kind::Plan => {
            finish((plan::status(name, context), None), standing, before, generation, now)
        }
        Kind::Tenant => {
            finish((tenant::status(name, context), None), standing, before, generation, now)
        }
        Kind::RateLimit => {
            finish((rate_limit::status(name, context), None), standing, before, generation, now)
        }
        Kind::RiskPolicy => {
            finish((risk_policy::status(name, context), None), standing, before, generation, now)
        }
        // No object is one.
        Kind::FormerTenant => Value::Null,
        Kind::IntelSource => {
            let facts = source::feed_status(name, context, read(before));
            finish(facts, standing, before, generation, now)
        }
        Kind::ChainSource => {
            let facts = source::chain_status(name, context, read(before));
            finish(facts, standing, before, generation, now)
        }
    }
}

/// What was told before; nothing where that was something else.
fn read<S: Default + DeserializeOwned>(before: Option<&Value>) -> S {
    before.and_then(|before| serde_json::from_value(before.clone()).ok()).unwrap_or_default()
}

/// The facts with the conditions: how it stands, and what the facts bring with them.
fn finish<S: Status + Serialize + DeserializeOwned>(
    facts: (S, Option<Fact>),
    standing: &Standing,
    before: Option<&Value>,
    generation: Option<i64>,
    now: Timestamp,
) -> Value {
    let (mut facts, fact) = facts;
    let old: S = read(before);
    let mut all = conditions(standing, old.conditions(), generation, now);
    all.extend(fact.map(|fact| condition(&fact, old.conditions(), generation, now)));
    facts.set(generation, all);
    serde_json::to_value(facts).unwrap_or_default()
}
