//! Effects on callers when parts of a running API fail.

use std::time::Duration;

use assay_tests::wait_at_most;

use crate::{
    traffic::Traffic,
    world::{PATIENCE, World, file},
};

/// Pause between two requests of a caller.
const PAUSE: Duration = Duration::from_millis(15);

#[test]
#[ignore = "needs Kubernetes node"]
fn upgrades_and_losses_of_pods_are_invisible_to_callers() {
    let world = World::new();
    let chart = file("charts/assay").display().to_string();
    world.install(&chart, &[]);
    let key = world.key();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let own = concat!("docker.io/assay/assay:", env!("CARGO_PKG_VERSION"));
    let operator = concat!("docker.io/assay/assay-operator:", env!("CARGO_PKG_VERSION"));
    let traffic = Traffic::start(world.service(), &key, PAUSE);
    traffic.wait_for_requests(100);

    // A new version, and back.
    world.cluster.name_image(own, "docker.io/assay/assay:9.9.9");
    world.cluster.name_image(operator, "docker.io/assay/assay-operator:9.9.9");
    let version = ["--version", "9.9.9", "--app-version", "9.9.9", "--destination", place];
    let _ = world.helm.run(&[&["package", &chart], &version[..]].concat()).ok();
    let before = world.pods("server");
    world.install(&format!("{place}/assay-9.9.9.tgz"), &[]);
    assert!(world.pods("server").iter().all(|pod| !before.contains(pod)), "all were replaced");
    assert_eq!(traffic.take_lost("upgrade"), 0);
    let _ = world.helm(&["rollback", "assay", "1", "--wait", "--timeout", "3m"], &[]).ok();
    world.wait_until_version(env!("CARGO_PKG_VERSION"));
    assert_eq!(traffic.take_lost("rollback"), 0);

    // A pod is deleted, and a container told to stop.
    for pod in world.pods("server") {
        world.kubectl(&["delete", "pod", &pod, "--wait=false"]);
        world.wait_for_reason("RollingOut");
        world.wait_for_reason("ServiceReady");
        assert_eq!(traffic.take_lost("a pod is deleted"), 0);
    }
    let pod = &world.pods("server")[0];
    world.cluster.process_of("assay", pod).signal("TERM");
    let restarted =
        || world.field(&["pod", pod], ".status.containerStatuses[0].restartCount") == "1";
    wait_at_most(PATIENCE, "another container", restarted);
    world.wait_for_reason("ServiceReady");
    assert_eq!(traffic.take_lost("a container is told to stop"), 0);

    // A version that does not come up, and one whose migration fails.
    let image = |name: &str| {
        let patch = format!("{{\"spec\": {{\"image\": \"{name}\"}}}}");
        world.kubectl(&["patch", "riskservice", "assay", "--type=merge", "-p", &patch]);
    };
    // It ends at once with exit code 0, for any arguments.
    world.cluster.add_image("localhost/nothing:1", &[("/bin/true", "/bin/true")]);
    image("localhost/nothing:1");
    let ended = "jsonpath={.items[*].status.containerStatuses[?(@.image==\"localhost/nothing:1\")].restartCount}";
    let selector = "--selector=app.kubernetes.io/component=server";
    wait_at_most(PATIENCE, "a pod that ends again and again", || {
        let restarts = world.kubectl(&["get", "pods", selector, "-o", ended]);
        restarts.trim().parse::<u32>().is_ok_and(|count| count > 1)
    });
    wait_at_most(PATIENCE, "what its pod complains of", || {
        world.ready_condition().1.contains("run `localhost/nothing:1`, 2 available; pod `assay-")
            && world.ready_condition().1.ends_with(": Completed, exit code 0")
    });
    assert_eq!(world.ready_condition().0, "RollingOut");
    assert_eq!(traffic.take_lost("an image does not come up"), 0);

    world.cluster.add_image("localhost/refuses:1", &[("/bin/false", "/bin/false")]);
    image("localhost/refuses:1");
    let message = world.wait_for_reason("MigrationFailed");
    assert!(message.contains("earlier replicas keep serving"), "{message}");
    assert!(message.ends_with(": Error, exit code 1"), "{message}");
    assert_eq!(traffic.take_lost("a migration fails"), 0);
    image(concat!("assay/assay:", env!("CARGO_PKG_VERSION")));
    world.wait_for_reason("ServiceReady");

    // Without the operator.
    let before = world.pods("server");
    world.kubectl(&["scale", "deployment/assay-operator", "--replicas=0"]);
    wait_at_most(PATIENCE, "no operator", || world.pods("operator").is_empty());
    assert_eq!(traffic.take_lost("the operator is gone"), 0);
    assert_eq!(world.pods("server"), before);
}

impl World {
    /// Waits until every pod runs a version and answers.
    fn wait_until_version(&self, version: &str) {
        wait_at_most(PATIENCE, version, || {
            self.field(&["riskservice/assay"], ".status.version") == version
                && self.ready_condition().0 == "ServiceReady"
        });
    }
}
