//! Given two operators, when the leader is killed again and again, then the other one leads.

use std::time::{Duration, Instant};

use assay_tests::wait_at_most;

use crate::{
    traffic::Traffic,
    world::{PATIENCE, World, file},
};

/// Keys that are issued one after the other.
fn key(name: &str) -> String {
    format!(
        "
apiVersion: assay.dev/v1alpha1
kind: ApiKey
metadata: {{name: {name}, namespace: assay}}
spec: {{tenant: acme}}
"
    )
}

impl World {
    /// The pod of the operator that leads.
    fn leader(&self) -> String {
        self.field(&["lease/assay-operator"], ".spec.holderIdentity")
    }

    /// Applies a key, and returns the time until it is issued.
    fn issue(&self, name: &str) -> Duration {
        let begun = Instant::now();
        self.cluster.apply(&key(name));
        self.wait_for("Ready", &format!("apikey/{name}"));
        begun.elapsed()
    }
}

#[test]
#[ignore = "needs Kubernetes node"]
#[expect(clippy::print_stdout, reason = "figures are for people")]
fn another_operator_leads_when_the_leader_is_killed() {
    // Given two operators, of which one leads, and callers...
    let world = World::new();
    world.install(&file("charts/assay").display().to_string(), &[]);
    let key = world.key();
    let traffic = Traffic::start(world.service(), &key, Duration::from_millis(15));
    let first = world.leader();
    assert_eq!(world.pods("operator").len(), 2);

    // ...when the leader is killed once, then it is back, or the other one leads, before the Lease expires...
    world.cluster.process_of("assay", &first).signal("KILL");
    let seconds = world.issue("one").as_secs_f64();
    println!("the leader is killed: a key is issued after {seconds:.1} s");
    assert!(seconds < 20.0, "{seconds}");

    // ...and when it is killed whenever it runs, then the other one leads...
    let begun = Instant::now();
    let status = |field: &str| {
        world.field(&["pod", &first], &format!(".status.containerStatuses[0].{field}"))
    };
    let mut kills = 1;
    wait_at_most(PATIENCE, "another leader", || {
        let is_back =
            || status("restartCount") == kills.to_string() && !status("state.running").is_empty();
        let leads = world.leader() == first;
        if leads && is_back() {
            world.cluster.process_of("assay", &first).signal("KILL");
            kills += 1;
        }
        !leads
    });
    println!("another operator leads after {:.1} s", begun.elapsed().as_secs_f64());
    let seconds = world.issue("two").as_secs_f64();
    println!("the other operator issues a key after {seconds:.1} s");

    // ...while no request is lost, and the first operator comes back as a standby.
    assert_eq!(traffic.take_lost("the leader is killed"), 0);
    let second = world.leader();
    let ready = || world.field(&["deployment/assay-operator"], ".status.readyReplicas");
    wait_at_most(PATIENCE, "both operators", || ready() == "2");
    assert_eq!(world.leader(), second);
}
