//! The server: its settings, its pods, and how many there are.

use serde_json::{Value, json};

use super::{ADMIN, API, migration::MIGRATED_BY};
use crate::{
    egress,
    owned::{OwnedKind, OwnedObject, hash},
    pod::{CONFIG, DATA, Pod, Restart, SecretFile},
    risk_service::fetch::Fetched,
};

/// The key of the settings in their `ConfigMap`, and the file's name.
const FILE: &str = "assay.toml";
/// Noted on pods, so that other settings make other pods.
const SETTINGS: &str = "assay.dev/settings";
/// What servers call how many requests are under way.
const IN_FLIGHT: &str = "assay_http_requests_in_flight";
/// How long a server goes on accepting after the signal to stop, in seconds: as long as it may take
/// until nobody sends new connections any more.
const DRAIN: u32 = 5;
/// Longest time for requests under way, in seconds.
const GRACE: u32 = 30;
/// Time for what is written last, in seconds: the store and Redis may each let a server wait.
const LAST_WORDS: u32 = 15;
/// How long a pod may take to load lists and labels: looks, and seconds between them.
const STARTUP: (u32, u32) = (150, 2);

/// The Secrets of a server: the database's URL, and the cache's.
fn secrets(fetched: &Fetched) -> (SecretFile, Option<SecretFile>) {
    let spec = &fetched.object.spec;
    let cache = spec.cache_secret.as_ref().map(|key| SecretFile::new("cache", key));
    (SecretFile::new("database", &spec.database_secret), cache)
}

/// The settings. Lists and chains are fetched by workloads of their own, once for all servers.
pub(super) fn settings(fetched: &Fetched) -> OwnedObject {
    let (database, cache) = secrets(fetched);
    let mut lines = vec![
        ("listen", format!("0.0.0.0:{}", API.1)),
        ("admin-listen", format!("0.0.0.0:{}", ADMIN.1)),
        ("data-dir", DATA.to_owned()),
        ("database-url-file", database.path()),
        ("feeds", "off".to_owned()),
        ("log-format", "json".to_owned()),
        ("drain-delay", format!("{DRAIN}s")),
        ("shutdown-grace", format!("{GRACE}s")),
    ];
    if let Some(cache) = cache {
        lines.push(("redis-url-file", cache.path()));
        let authorities = egress::certificates_file(&fetched.object.spec.egress);
        lines.extend(authorities.map(|path| ("redis-ca-file", path)));
    }
    let lines: Vec<String> =
        lines.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
    let text = lines.join("\n") + "\n";
    let content = json!({"data": {FILE: text}});
    OwnedObject::new(&fetched.parent, OwnedKind::ConfigMap, &fetched.name(), &[], content)
}

pub(super) fn deployment(
    fetched: &Fetched,
    settings: &OwnedObject,
    migration: &str,
) -> OwnedObject {
    let spec = &fetched.object.spec;
    let (database, cache) = secrets(fetched);
    let name = fetched.name();
    let pod = Pod {
        image: &spec.image,
        pull_secrets: &spec.image_pull_secrets,
        arguments: vec!["serve".into(), format!("--config={CONFIG}/{FILE}")],
        secrets: [database].into_iter().chain(cache).collect(),
        config_map: Some(&name),
        egress: &spec.egress,
        telemetry: &spec.telemetry,
        restart: Restart::Always,
        // The server drains by itself, so that nothing has to happen before the signal.
        grace_seconds: DRAIN + GRACE + LAST_WORDS,
        requests: ["250m", "512Mi"],
    };
    let port =
        |(name, port): (&str, u16)| json!({"name": name, "containerPort": port, "protocol": "TCP"});
    let container = json!({
        "ports": [port(API), port(ADMIN)],
        "startupProbe": probe("/healthz", STARTUP.1, STARTUP.0),
        "readinessProbe": probe("/readyz", 2, 2),
        "livenessProbe": probe("/healthz", 10, 6),
    });
    let spread = |key: &str| {
        json!({
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": fetched.parent.selector()},
            "matchLabelKeys": ["pod-template-hash"],
        })
    };
    let more = json!({"topologySpreadConstraints":
        [spread("topology.kubernetes.io/zone"), spread("kubernetes.io/hostname")]});
    // How many replicas there are the autoscaler decides, which owns that field.
    let content = json!({"spec": {
        "revisionHistoryLimit": 3,
        "progressDeadlineSeconds": STARTUP.0 * STARTUP.1 + 60,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        "selector": {"matchLabels": fetched.parent.selector()},
        "template": {
            "metadata": {
                "labels": fetched.parent.labels,
                "annotations": {SETTINGS: hash(&[&settings.body().to_string()])},
            },
            "spec": pod.spec(container, more),
        },
    }});
    let noted = [(MIGRATED_BY, migration)];
    OwnedObject::new(&fetched.parent, OwnedKind::Deployment, &name, &noted, content)
}

fn probe(path: &str, every: u32, failures: u32) -> Value {
    json!({
        "httpGet": {"path": path, "port": ADMIN.0},
        "periodSeconds": every,
        "timeoutSeconds": 2,
        "failureThreshold": failures,
    })
}

pub(super) fn autoscaler(fetched: &Fetched, fewest: i32) -> OwnedObject {
    let (scaling, name) = (&fetched.object.spec.scaling, fetched.name());
    let cpu = json!({"type": "Utilization", "averageUtilization": scaling.cpu_percent});
    let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": cpu}});
    let in_flight = scaling.requests_in_flight.map(|most| {
        let target = json!({"type": "AverageValue", "averageValue": most.to_string()});
        json!({"type": "Pods", "pods": {"metric": {"name": IN_FLIGHT}, "target": target}})
    });
    let metrics: Vec<Value> = [cpu].into_iter().chain(in_flight).collect();
    let content = json!({"spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "minReplicas": fewest,
        "maxReplicas": scaling.max_replicas,
        "metrics": metrics,
    }});
    OwnedObject::new(&fetched.parent, OwnedKind::HorizontalPodAutoscaler, &name, &[], content)
}

pub(super) fn disruption_budget(fetched: &Fetched) -> OwnedObject {
    let content = json!({"spec": {
        "maxUnavailable": 1,
        "selector": {"matchLabels": fetched.parent.selector()},
        // A pod that serves nobody must not keep a node from being emptied.
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }});
    OwnedObject::new(&fetched.parent, OwnedKind::PodDisruptionBudget, &fetched.name(), &[], content)
}
