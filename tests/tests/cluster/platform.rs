//! A platform in a cluster: the API on PostgreSQL, and an operator.

use std::{
    sync::{Arc, MutexGuard},
    time::{Duration, Instant},
};

use assay_tests::{
    Answer, Cluster, Operator, Postgres, Server, holds_within, migrated_database, wait_at_most,
    wait_every,
};
use serde_json::Value;

use crate::{
    cluster,
    pages::{key, tenant},
};

/// Time limit for the operator on a busy machine. A benchmark measures its speed.
const PATIENCE: Duration = Duration::from_mins(1);
pub(crate) const ADDRESS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";

/// Waits until `holds`.
pub(crate) fn wait_until(what: &str, holds: impl FnMut() -> bool) {
    let _ = wait_every(Duration::from_millis(50), PATIENCE, what, holds);
}

/// The value of `look` after it stayed the same for two seconds.
pub(crate) fn stable_value<T: PartialEq>(look: impl Fn() -> T) -> T {
    let (mut before, mut since) = (look(), Instant::now());
    let _ = wait_every(Duration::from_millis(500), PATIENCE, "nothing changes any more", || {
        let now = look();
        if now != before {
            (before, since) = (now, Instant::now());
        }
        since.elapsed() >= Duration::from_secs(2)
    });
    before
}

/// A platform. The order of fields is the order in which they are dropped.
pub(crate) struct Platform {
    pub(crate) operator: Operator,
    pub(crate) server: Server,
    pub(crate) postgres: Postgres,
    pub(crate) cluster: MutexGuard<'static, Cluster>,
}

impl Platform {
    /// A platform without a tenant.
    pub(crate) fn start() -> Self {
        Self::with_database(migrated_database())
    }

    /// A platform with a plan and further manifests, a tenant on the plan, and its key, which the API accepts.
    pub(crate) fn with_key(plan: &str, more: &str) -> (Self, String) {
        let platform = Self::start();
        let page = [plan, &tenant("acme", "gold"), &key("backend", "acme"), more];
        platform.cluster.apply(&page.concat());
        platform.wait_for_reason(&["apikey", "backend"], "KeyReady");
        let text = platform.key("default", "backend");
        platform.wait_for_answer(&text, 200);
        (platform, text)
    }

    /// A platform with a database.
    pub(crate) fn with_database(postgres: Postgres) -> Self {
        let cluster = cluster();
        clear(&cluster);
        let directory = Arc::new(tempfile::tempdir().unwrap());
        postgres.connect_directory(directory.path());
        let server = Server::start(directory, &[]);
        let operator = Operator::start(&cluster, &postgres.url(), "first");
        operator.wait_until_it_works();
        Self { operator, server, postgres, cluster }
    }

    /// Stops the operator and starts one with other flags.
    pub(crate) fn replace_operator(&mut self, flags: &[&str]) {
        self.operator.stop();
        let (cluster, url) = (&self.cluster, self.postgres.url());
        self.operator = Operator::start_in(cluster, "default", &url, "replaced", flags);
    }

    /// Waits until a field of an object has a value.
    pub(crate) fn wait_for(&self, object: &[&str], path: &str, wanted: &str) {
        let mut last = String::new();
        let is_there = holds_within(Duration::from_millis(20), PATIENCE, || {
            last = self.cluster.field(object, path);
            last == wanted
        });
        assert!(
            is_there,
            "{object:?} {path} is `{last}` and not `{wanted}`: {}\n{}",
            self.cluster.try_kubectl(object_as_yaml(object).as_slice()).stdout,
            self.operator.log()
        );
    }

    /// Waits until the condition `Ready` of an object has a reason.
    pub(crate) fn wait_for_reason(&self, object: &[&str], reason: &str) {
        let path = ".status.conditions[?(@.type==\"Ready\")].reason";
        self.wait_for(object, path, reason);
    }

    /// Waits until the condition `Published` of a source has a reason.
    pub(crate) fn wait_for_publication(&self, source: &[&str], reason: &str) {
        let path = ".status.conditions[?(@.type==\"Published\")].reason";
        self.wait_for(source, path, reason);
    }

    /// Message of an object's `Ready` condition.
    pub(crate) fn message(&self, object: &[&str]) -> String {
        self.cluster.field(object, ".status.conditions[?(@.type==\"Ready\")].message")
    }

    /// The API key in a Secret.
    pub(crate) fn key(&self, namespace: &str, secret: &str) -> String {
        let template = "go-template={{index .data \"api-key\" | base64decode}}";
        self.cluster.kubectl(&["get", "secret", "-n", namespace, secret, "-o", template])
    }

    /// Answer of the API to a check with a key.
    pub(crate) fn check(&self, key: &str) -> Answer {
        self.server.caller(key).check("btc", ADDRESS)
    }

    /// Waits until a check with a key has the status.
    pub(crate) fn wait_for_answer(&self, key: &str, status: u16) {
        wait_at_most(PATIENCE, "the API's answer", || self.check(key).status == status);
    }

    /// A field of an object's status.
    pub(crate) fn status(&self, object: &[&str]) -> Value {
        self.cluster.find(object).unwrap()["status"].take()
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        // It would write what the next test is to find untouched.
        self.operator.kill();
        clear(&self.cluster);
    }
}

fn object_as_yaml<'a>(object: &[&'a str]) -> Vec<&'a str> {
    ["get", "-o", "yaml"].iter().chain(object).copied().collect()
}

/// Removes the remains of tests, with their finalizers.
fn clear(cluster: &Cluster) {
    let kinds =
        "riskservices,apikeys,ratelimits,tenants,riskpolicies,intelsources,chainsources,plans";
    cluster.remove_all(kinds);
    let _ = cluster.try_kubectl(&["delete", "lease", "assay-operator", "-n", "default"]);
}
