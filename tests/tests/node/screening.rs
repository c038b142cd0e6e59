//! The Job that screens a large file, as the page about Kubernetes describes it: a lost pod repeats its span alone.

use std::{fmt::Write, fs, path::Path, time::Duration};

use assay_tests::{Postgres, assay, wait_at_most, wait_every};
use serde_json::Value;

use crate::{
    outside::{forward, list_of, serve},
    traffic::ADDRESS,
    world::{PATIENCE, World, file},
};

/// Hosts and ports that no other test uses.
const DATABASE: &str = "10.20.0.5:7432";
const MIRROR: &str = "10.20.0.9:8002";
/// Image that the page's reader replaces.
const IMAGE: &str = "registry.example/assay:0.1.0";
const JOB_NAME: &str = "batch.kubernetes.io/job-name";
const JOB_INDEX: &str = "batch.kubernetes.io/job-completion-index";
const SPANS: usize = 8;
/// Rows of the file: a span takes seconds.
const ROWS: usize = 400_000;
/// Index of the span whose pod is lost.
const LOST: usize = 1;
/// Interval between two looks at the Job.
const INTERVAL: Duration = Duration::from_millis(200);
/// Time limit for the Job.
const JOB_PATIENCE: Duration = Duration::from_mins(10);

/// The claim that the page's Job names.
const CLAIM: &str = "
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: customers, namespace: assay}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ''
  resources: {requests: {storage: 1Gi}}
";

/// The Secret that the page's Job names, which is also that of the installation.
fn secret(database_url: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Namespace
metadata: {{name: assay}}
---
apiVersion: v1
kind: Secret
metadata: {{name: assay-database, namespace: assay}}
stringData: {{url: '{database_url}'}}
"
    )
}

/// The page's Job, with the image of the node.
fn job() -> String {
    let page = fs::read_to_string(file("docs/kubernetes.md")).unwrap();
    let (_, section) = page.split_once("### Screen a large file").unwrap();
    let manifest = section.split("```").nth(1).unwrap().strip_prefix("yaml\n").unwrap();
    assert!(manifest.contains(IMAGE) && manifest.contains(&format!("completions: {SPANS}\n")));
    manifest.replace(IMAGE, concat!("docker.io/assay/assay:", env!("CARGO_PKG_VERSION")))
}

/// The file of customers, of whom some are listed, and some have an invalid address.
fn customers() -> String {
    let mut rows = "id,blockchain,address\n".to_owned();
    for id in 0..ROWS {
        match id % 1000 {
            0 => writeln!(rows, "{id},btc,{ADDRESS}"),
            1 => writeln!(rows, "{id},btc,invalid"),
            _ => writeln!(rows, "{id},eth,0x{id:040x}"),
        }
        .unwrap();
    }
    rows
}

impl World {
    /// Installs the chart with a database outside of the cluster, and imports a list.
    fn install_with_list(&self, postgres: &Postgres) {
        let local = format!("127.0.0.1:{}", postgres.port());
        forward(self.cluster.listen_outside(DATABASE), local.parse().unwrap());
        serve(self.cluster.listen_outside(MIRROR), list_of(ADDRESS));
        self.cluster.apply(&secret(&postgres.url().replace(&local, DATABASE)));
        let stores = "mode=production,database.secret.name=assay-database";
        let networks =
            "networkPolicy.allowedPrivateCidrs={10.20.0.0/16},networkPolicy.database.ports={7432}";
        let chart = file("charts/assay").display().to_string();
        self.install(&chart, &["--set", stores, "--set", networks]);
        self.cluster.apply(&format!(
            "
apiVersion: assay.dev/v1alpha1
kind: IntelSource
metadata: {{name: mirror}}
spec: {{location: 'http://{MIRROR}/list.csv', format: listings-csv, lists: [ofac-sdn], schedule: '0 0 1 1 *'}}
"
        ));
        self.wait_for("Ready", "intelsource/mirror");
    }

    /// The pods of the Job, lost ones included.
    fn pods_of_job(&self) -> Vec<Value> {
        self.cluster.list("pods", "assay", &format!("{JOB_NAME}=screen-customers"))
    }

    /// Kills the container of a span that is not complete, once it has written rows, and returns the number of these.
    fn lose_pod(&self, span: usize, part: &Path) -> usize {
        let running = || {
            let mut pods = self.pods_of_job().into_iter();
            pods.find(|pod| {
                let container = &pod["status"]["containerStatuses"][0];
                index_of(pod) == span && !container["state"]["running"].is_null()
            })
        };
        let mut pod = None;
        wait_every(INTERVAL, PATIENCE, "a pod of the span", || {
            pod = running();
            pod.is_some()
        });
        let name = pod.unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
        let process = self.cluster.process_of("assay", &name);
        wait_at_most(PATIENCE, "rows of the span", || {
            fs::metadata(part).is_ok_and(|part| part.len() > 0)
        });
        process.signal("STOP");
        let written = fs::read(part).unwrap();
        let rows = String::from_utf8_lossy(&written).lines().count();
        assert!(rows < ROWS / SPANS, "the span is complete: {rows} rows");
        process.signal("KILL");
        rows
    }
}

/// Index of the span of a pod.
fn index_of(pod: &Value) -> usize {
    pod["metadata"]["labels"][JOB_INDEX].as_str().unwrap().parse().unwrap()
}

#[test]
#[ignore = "needs Kubernetes node"]
#[expect(clippy::print_stdout, reason = "a figure is for people")]
fn a_lost_pod_of_the_screening_job_repeats_its_span_alone() {
    // Given an installation with a list, and a file of customers on a volume...
    let world = World::new();
    let postgres = Postgres::start();
    world.install_with_list(&postgres);
    let volumes = world.volumes(1, "");
    let files = volumes[0].path();
    let input = files.join("customers.csv");
    fs::write(&input, customers()).unwrap();
    let part = |span: usize| files.join(format!("part-{span}.csv"));

    // ...when the page's Job screens it, and a pod is lost in the middle of its span...
    world.cluster.apply(CLAIM);
    world.cluster.apply(&job());
    let rows = world.lose_pod(LOST, &part(LOST));
    println!("a pod is lost after {rows} of {} rows", ROWS / SPANS);
    let status = |field: &str| world.field(&["job/screen-customers"], &format!(".status.{field}"));
    wait_every(INTERVAL, JOB_PATIENCE, "the Job is complete", || {
        assert_eq!(status("failedIndexes"), "");
        status("conditions[?(@.type==\"Complete\")].status") == "True"
    });

    // ...then another pod repeats that span, and each other span had one pod...
    let pods = world.pods_of_job();
    for span in 0..SPANS {
        let count = pods.iter().filter(|pod| index_of(pod) == span).count();
        assert_eq!(count, if span == LOST { 2 } else { 1 }, "pods of span {span}");
    }
    assert_eq!((status("succeeded"), status("failed")), (SPANS.to_string(), "1".to_owned()));

    // ...and the parts one after another are the output of a single run.
    let directory = tempfile::tempdir().unwrap();
    postgres.connect_directory(directory.path());
    let output = directory.path().join("whole.csv");
    let [from, to] = [&input, &output].map(|path| path.display().to_string());
    let _ = assay(directory.path(), ["screen", &from, "--output", &to]).ok();
    let whole = fs::read_to_string(&output).unwrap();
    assert_eq!(whole.lines().count(), ROWS + 1);
    assert_eq!(whole.matches(",block,sanctions,").count(), ROWS / 1000);
    let parts: String = (0..SPANS).map(|span| fs::read_to_string(part(span)).unwrap()).collect();
    // Both are too long to be shown.
    assert!(parts == whole, "the parts are not the output of a single run");
    world.kubectl(&["delete", "job/screen-customers"]);
}
