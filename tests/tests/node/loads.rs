//! Number of replicas under load.

use std::time::Duration;

use assay_tests::wait_at_most;

use crate::{
    traffic::Traffic,
    world::{PATIENCE, World, file},
};

#[test]
#[ignore = "needs Kubernetes node"]
fn replicas_are_added_when_they_have_much_to_do() {
    let world = World::new();
    let chart = file("charts/assay").display().to_string();
    world.install(&chart, &["--set", "api.scaling.maxReplicas=3,api.scaling.cpuPercent=10"]);
    let key = world.key();
    let told = |field: &str| world.field(&["riskservice/assay"], &format!(".status.{field}"));
    assert_eq!(told("replicas"), "2");
    let traffic = Traffic::start(world.service(), &key, Duration::from_millis(10));
    wait_at_most(PATIENCE, "a third replica that answers", || told("readyReplicas") == "3");
    assert_eq!(told("replicas"), "3");
    assert_eq!(told("requiredReplicas"), "2", "as many as limits ask for");
    assert!(
        told("requiredReplicasReason").contains("(Tenant acme)"),
        "{}",
        told("requiredReplicasReason")
    );
    assert_eq!(told("conditions[?(@.type==\"Autoscaled\")].reason"), "MetricsAvailable");
    let why = world.kubectl(&["describe", "hpa", "assay"]);
    assert!(why.contains("New size: 3; reason: cpu resource utilization"), "{why}");
    assert_eq!(traffic.take_lost("a replica is added"), 0);
}
