//! The node, and the release `assay` on it.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use assay_tests::{Cluster, Finished, Helm, wait_at_most};
use serde_json::Value;

/// Time limit for any step on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);

/// The namespaces of tests.
const NAMESPACES: [&str; 5] = ["assay", "stores", "others", "payments", "treasury"];
/// A plan with limits that no test reaches.
const PLAN: &str = "
apiVersion: assay.dev/v1alpha1
kind: Plan
metadata: {name: roomy}
spec:
  displayName: Roomy
  apiAccess: true
  limits: [{name: hourly, requests: 1000000, window: 1h, counts: requests}]
";

/// The tenant `acme` with a key, on that plan.
const TENANT: &str = "
apiVersion: assay.dev/v1alpha1
kind: Tenant
metadata: {name: acme}
spec: {displayName: Acme, plan: roomy, policy: default, namespaces: [assay]}
---
apiVersion: assay.dev/v1alpha1
kind: ApiKey
metadata: {name: acme, namespace: assay}
spec: {tenant: acme}
";

/// The node, used by one test at a time.
pub(crate) struct World {
    pub(crate) cluster: MutexGuard<'static, Cluster>,
    pub(crate) helm: Helm,
}

/// A file of the project.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

impl World {
    /// A node without anything of Assay.
    pub(crate) fn new() -> Self {
        static CLUSTER: OnceLock<Mutex<Cluster>> = OnceLock::new();
        let helm = Helm::find();
        let cluster = CLUSTER.get_or_init(|| Mutex::new(Cluster::start_on_node()));
        let cluster = cluster.lock().unwrap_or_else(PoisonError::into_inner);
        cluster.enter();
        let helm = helm.with_cluster(&cluster);
        let world = Self { cluster, helm };
        world.clear();
        world
    }

    /// Removes the remains of an earlier test.
    fn clear(&self) {
        let kubectl = |arguments: &[&str]| self.cluster.try_kubectl(arguments);
        let kinds = kubectl(&["get", "crd", "-o", "name"]).stdout;
        if kinds.is_empty() {
            return;
        }
        let _ = self.helm(&["uninstall", "assay", "--ignore-not-found"], &[]);
        // Without the operator nothing removes their finalizers.
        let all = "plan,tenant,riskpolicy,ratelimit,intelsource,chainsource,apikey";
        let names = "jsonpath={range .items[*]}{.kind}/{.metadata.name}{\"\\n\"}{end}";
        for name in kubectl(&["get", all, "--namespace", "assay", "-o", names]).stdout.lines() {
            let none = "{\"metadata\": {\"finalizers\": null}}";
            let _ = kubectl(&["patch", name, "--namespace", "assay", "--type=merge", "-p", none]);
        }
        for kind in kinds.lines() {
            let _ = self.cluster.kubectl(&["delete", kind, "--timeout=60s"]);
        }
        self.cluster
            .kubectl(&[&["delete", "namespace", "--ignore-not-found"], &NAMESPACES[..]].concat());
        self.cluster.kubectl(&["delete", "persistentvolume", "--all"]);
    }

    /// Helm in the namespace of the release.
    pub(crate) fn helm(&self, command: &[&str], more: &[&str]) -> Finished {
        self.helm.run(&[command, &["--namespace", "assay"], more].concat())
    }

    /// Runs a shell command in the project's folder.
    pub(crate) fn shell(&self, text: &str) -> Finished {
        self.helm.shell(&file("."), text)
    }

    /// `kubectl` in the namespace of the release.
    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.cluster.kubectl(&[&["--namespace", "assay"], arguments].concat())
    }

    /// Installs a chart, or a later version of it, and waits until the API answers.
    pub(crate) fn install(&self, chart: &str, more: &[&str]) {
        let command = ["upgrade", "assay", chart, "--install", "--create-namespace", "--wait"];
        let _ = self.helm(&[&command[..], &["--timeout", "3m"]].concat(), more).ok();
        self.wait_for("Ready", "riskservice/assay");
    }

    /// Creates a tenant, and returns its key.
    pub(crate) fn key(&self) -> String {
        self.cluster.apply(PLAN);
        self.cluster.apply(TENANT);
        self.wait_for("Ready", "apikey/acme");
        let template = "go-template={{index .data \"api-key\" | base64decode}}";
        self.kubectl(&["get", "secret", "acme", "-o", template])
    }

    /// Waits for a condition of an object.
    pub(crate) fn wait_for(&self, condition: &str, object: &str) {
        self.kubectl(&["wait", &format!("--for=condition={condition}"), object, "--timeout=3m"]);
    }

    /// A field of an object, as text.
    pub(crate) fn field(&self, object: &[&str], path: &str) -> String {
        let template = format!("jsonpath={{{path}}}");
        self.kubectl(&[&["get", "-o", &template], object].concat())
    }

    /// Reason and message of the running API's condition `Ready`.
    pub(crate) fn ready_condition(&self) -> (String, String) {
        let ready = |field: &str| {
            let path = format!(".status.conditions[?(@.type==\"Ready\")].{field}");
            self.field(&["riskservice/assay"], &path)
        };
        (ready("reason"), ready("message"))
    }

    /// Waits until the running API's condition `Ready` has a reason, and returns the message.
    pub(crate) fn wait_for_reason(&self, reason: &str) -> String {
        wait_at_most(PATIENCE, reason, || self.ready_condition().0 == reason);
        self.ready_condition().1
    }

    /// The pods of a component that are not being deleted.
    pub(crate) fn pods(&self, component: &str) -> Vec<String> {
        let selector = format!("app.kubernetes.io/component={component}");
        let list = self.kubectl(&["get", "pods", "--selector", &selector, "-o", "json"]);
        let list: Value = serde_json::from_str(&list).unwrap();
        let items = list["items"].as_array().unwrap().iter();
        items
            .filter(|pod| pod["metadata"]["deletionTimestamp"].is_null())
            .map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Address of the API's Service.
    pub(crate) fn service(&self) -> SocketAddr {
        format!("{}:80", self.field(&["service/assay"], ".spec.clusterIP")).parse().unwrap()
    }
}
