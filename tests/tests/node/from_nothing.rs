//! From an empty cluster to a verdict, and back to an empty cluster.

use std::{fs, io::ErrorKind, time::Instant};

use assay_tests::{Finished, TestData, wait_at_most};
use serde_json::Value;

use crate::{
    outside::serve,
    traffic::ADDRESS,
    world::{PATIENCE, World, file},
};

/// The first block of code after `before` in a text.
fn block<'a>(text: &'a str, before: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap();
    rest.split("```").nth(1).unwrap()
}

/// The five commands of the README.
fn commands_of_the_readme() -> String {
    let readme = fs::read_to_string(file("README.md")).unwrap();
    let commands = block(&readme, "## In a cluster");
    assert_eq!(commands.replace("\\\n", "").trim().lines().count(), 5);
    commands.to_owned()
}

/// The answer of a check at the end of the output of commands.
fn verdict(finished: &Finished) -> Value {
    let (_, answer) = finished.stdout.split_once("\n{\"").unwrap_or_else(|| panic!("{finished:?}"));
    serde_json::from_str(&format!("{{\"{answer}")).unwrap_or_else(|_| panic!("{answer}"))
}

/// Hosts and ports of mirrors of lists: a test each, because servers stay.
const MIRROR: &str = "10.20.0.9:8000";
const OTHER_MIRROR: &str = "10.20.0.9:8003";

/// The day of the mirror's list.
const DAY: &str = "2025-05-29";

/// The commands of the README in a cluster without internet: OFAC's list comes from a mirror in a private network.
fn commands_with_mirror(world: &World, mirror: &str) -> String {
    let list = fs::read(TestData::find().ofac_unpacked(DAY)).unwrap();
    serve(world.cluster.listen_outside(mirror), list);
    let install = "--create-namespace --wait";
    let allowing = format!("{install} --set networkPolicy.allowedPrivateCidrs={{10.20.0.0/16}}");
    let wait = "kubectl wait";
    let location = format!("{{\"spec\": {{\"location\": \"http://{mirror}/sdn_advanced.xml\"}}}}");
    let patch = format!(
        "kubectl patch --namespace assay intelsource/ofac-sdn --type=merge --patch='{location}'\n{wait}"
    );
    let commands = commands_of_the_readme();
    assert!(commands.contains(install) && commands.contains(wait), "{commands}");
    commands.replacen(install, &allowing, 1).replacen(wait, &patch, 1)
}

/// A pod that checks the address through the Service, by its name.
fn checking_pod(key: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Pod
metadata: {{name: asks, namespace: assay}}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  securityContext: {{runAsNonRoot: true, seccompProfile: {{type: RuntimeDefault}}}}
  containers:
  - name: asks
    image: localhost/curl:1
    args:
    - --silent
    - --show-error
    - --header
    - 'Content-Type: application/json'
    - --header
    - 'X-API-Key: {key}'
    - --data
    - '{{\"blockchain\": \"btc\", \"address\": \"{ADDRESS}\"}}'
    - http://assay.assay.svc.cluster.local/api/v1/check/address
    securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}
"
    )
}

/// Asserts that an answer is final: it rests on OFAC's list.
fn assert_final(answer: &Value) {
    let (verdict, complete) = (&answer["verdict"], &answer["complete"]);
    assert_eq!((verdict, complete), (&"block".into(), &true.into()), "{answer:#}");
}

#[test]
#[ignore = "needs Kubernetes node, test data"]
#[expect(clippy::print_stdout, reason = "a figure is for people")]
fn the_commands_of_the_readme_lead_from_nothing_to_a_verdict_and_back() {
    let world = World::new();

    // Processes that the commands of the README leave in the background are ended.
    let commands = commands_with_mirror(&world, MIRROR);
    let begun = Instant::now();
    let said = world.shell(&format!("set -e\n{commands}\nkill $!")).ok();
    println!("from nothing to a final verdict: {:.1} s", begun.elapsed().as_secs_f64());
    assert_final(&verdict(&said));

    // The commands of the notes work too; their prose ends with colons.
    let notes = world.helm(&["get", "notes", "assay"], &[]).ok().stdout;
    let (_, commands) = notes.split_once("\n\nkubectl wait").unwrap();
    let commands: Vec<&str> = commands.lines().filter(|line| !line.ends_with(':')).collect();
    let commands = format!("set -e\nkubectl wait{}\nkill $!", commands.join("\n"));
    let said = world.shell(&commands).ok();
    assert!(said.stdout.contains("Succeeded"), "helm test: {}", said.stdout);
    assert_final(&verdict(&said));

    // A pod calls the Service by its name.
    let template = "go-template={{index .data \"api-key\" | base64decode}}";
    let key = world.kubectl(&["get", "secret", "acme", "-o", template]);
    world.cluster.add_image("localhost/curl:1", &[("/usr/bin/curl", "/usr/bin/curl")]);
    let mut answer = Value::Null;
    wait_at_most(PATIENCE, "the list in the answer", || {
        world.cluster.apply(&checking_pod(&key));
        world.kubectl(&["wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/asks"]);
        answer = serde_json::from_str(&world.kubectl(&["logs", "asks"])).unwrap();
        world.kubectl(&["delete", "pod", "asks", "--now"]);
        answer["verdict"] == "block"
    });
    assert!(answer["sanctions"][0].to_string().contains("ofac-sdn"), "{answer:#}");

    let seen = world.containers_are_restricted();
    assert!(seen.contains(&"server".to_owned()), "{seen:?}");

    let _ = world.helm(&["uninstall", "assay", "--wait"], &[]).ok();
    for kept in ["tenant/acme", "apikey/acme", "plan/business", "riskpolicy/default"] {
        assert_eq!(world.field(&[kept], ".metadata.deletionTimestamp"), "", "{kept}");
    }
    assert_eq!(world.cluster.kubectl(&["get", "crd", "-o", "name"]).lines().count(), 9);
    // The jobs that fetch lists belong to the sources, which stay.
    wait_at_most(PATIENCE, "nothing else of Assay runs", || {
        let kinds = "pods,deployment,hpa,service,pdb,riskservice";
        let left = world.kubectl(&["get", kinds, "-o", "name"]);
        left.lines().all(|name| name.starts_with("pod/intel-"))
    });
}

#[test]
#[ignore = "needs Kubernetes node, test data"]
fn the_commands_of_the_readme_lead_to_a_verdict_with_rights_in_a_few_namespaces() {
    let world = World::new();
    let install = "--create-namespace --wait";
    let scoped = format!("{install} --set operator.scope=namespaces");
    let commands = commands_with_mirror(&world, OTHER_MIRROR).replacen(install, &scoped, 1);
    let said = world.shell(&format!("set -e\n{commands}\nkill $!")).ok();
    assert_final(&verdict(&said));
    let account = "--as=system:serviceaccount:assay:assay-operator";
    let elsewhere = ["auth", "can-i", account, "get", "secret/any", "-n", "kube-system"];
    assert_eq!(world.cluster.try_kubectl(&elsewhere).stdout.trim(), "no");
    let _ = world.helm(&["uninstall", "assay", "--wait"], &[]).ok();
}

impl World {
    /// Asserts, from inside, that every container is restricted, and returns the components that have containers.
    fn containers_are_restricted(&self) -> Vec<String> {
        let label = "jsonpath={range .items[?(@.status.phase==\"Running\")]}{.metadata.name} \
                     {.metadata.labels.app\\.kubernetes\\.io/component}{\"\\n\"}{end}";
        let pods = self.kubectl(&["get", "pods", "-o", label]);
        let parts = pods.lines().map(|line| {
            let (pod, part) = line.split_once(' ').unwrap();
            let process = self.cluster.process_of("assay", pod);
            assert_eq!(process.status("Seccomp"), "2", "{pod}: system calls are filtered");
            assert_eq!(process.status("NoNewPrivs"), "1", "{pod}");
            assert_eq!(process.status("CapEff"), "0000000000000000", "{pod}");
            let user = if matches!(part, "postgresql" | "redis") { "999" } else { "65532" };
            assert_eq!(process.status("Uid"), [user; 4].join(" "), "{pod}");
            // Not even root writes there.
            let written = fs::write(process.path_of("/intruder"), "");
            let refused = written.unwrap_err().kind();
            assert_eq!(refused, ErrorKind::ReadOnlyFilesystem, "{pod}");
            let token = process.path_of("/var/run/secrets/kubernetes.io/serviceaccount/token");
            assert_eq!(token.exists(), part == "operator", "{pod}");
            part.to_owned()
        });
        parts.collect()
    }
}
