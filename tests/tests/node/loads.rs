//! Number of replicas under load.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use assay_tests::wait_at_most;

use crate::{
    traffic::{ADDRESS, Traffic},
    world::{PATIENCE, World, file},
};

/// Requests that are held in flight: more than two replicas may have.
const HELD: usize = 12;
/// End of a row's result.
const RESULT_END: &str = "\"error\":null}";
/// End of a whole answer in chunks.
const ANSWER_END: &str = "\r\n0\r\n\r\n";

/// Bulk requests that stay in flight, because their callers send a row every second.
struct HeldRequests {
    is_over: Arc<AtomicBool>,
    callers: Vec<JoinHandle<io::Result<String>>>,
}

impl HeldRequests {
    fn start(server: SocketAddr, key: &str) -> Self {
        let is_over = Arc::<AtomicBool>::default();
        let callers = (0..HELD).map(|_| {
            let (is_over, key) = (Arc::clone(&is_over), key.to_owned());
            thread::spawn(move || screen_slowly(server, &key, &is_over))
        });
        let callers = callers.collect();
        Self { is_over, callers }
    }

    /// Finishes the requests, and returns their answers.
    fn finish(self) -> Vec<String> {
        self.is_over.store(true, Ordering::Relaxed);
        self.callers.into_iter().map(|caller| caller.join().unwrap().unwrap()).collect()
    }
}

/// Sends a row every second and reads its result, until the caller is over. Returns the answer, with its head.
fn screen_slowly(server: SocketAddr, key: &str, is_over: &AtomicBool) -> io::Result<String> {
    let mut stream = BufReader::new(TcpStream::connect(server)?);
    let head = format!(
        "POST /api/v1/screen HTTP/1.1\r\nhost: assay\r\nx-api-key: {key}\r\n\
         content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\
         connection: close\r\n\r\n"
    );
    stream.get_mut().write_all(head.as_bytes())?;
    let row = format!("{{\"blockchain\":\"btc\",\"address\":\"{ADDRESS}\"}}\n");
    let chunk = format!("{:x}\r\n{row}\r\n", row.len());
    let mut answer = String::new();
    while !is_over.load(Ordering::Relaxed) {
        stream.get_mut().write_all(chunk.as_bytes())?;
        let results = answer.matches(RESULT_END).count();
        while answer.matches(RESULT_END).count() == results {
            // A refusal has no results.
            if stream.read_line(&mut answer)? == 0 {
                return Ok(answer);
            }
        }
        // A slow caller is what the test is about.
        thread::sleep(Duration::from_secs(1));
    }
    stream.get_mut().write_all(b"0\r\n\r\n")?;
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

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

#[test]
#[ignore = "needs Kubernetes node"]
fn replicas_are_added_when_many_requests_are_in_flight() {
    // Given an API that also scales by requests in flight, and callers...
    let world = World::new();
    let chart = file("charts/assay").display().to_string();
    let scaling =
        "api.scaling.maxReplicas=3,api.scaling.cpuPercent=100,api.scaling.requestsInFlight=3";
    world.install(&chart, &["--set", scaling]);
    let key = world.key();
    let told = |field: &str| world.field(&["riskservice/assay"], &format!(".status.{field}"));
    let autoscaled = || told("conditions[?(@.type==\"Autoscaled\")].reason");
    wait_at_most(PATIENCE, "no metric", || autoscaled() == "MetricsUnavailable");
    let traffic = Traffic::start(world.service(), &key, Duration::from_millis(50));

    // ...when an adapter serves the metric, then the autoscaler has all of its metrics, and two replicas are enough...
    world.add_metrics_adapter();
    wait_at_most(PATIENCE, "all metrics", || autoscaled() == "MetricsAvailable");
    assert_eq!(told("replicas"), "2");

    // ...and when requests stay in flight, then a third replica is added, and no request is lost.
    let held = HeldRequests::start(world.service(), &key);
    wait_at_most(PATIENCE, "a third replica that answers", || told("readyReplicas") == "3");
    let why = world.kubectl(&["describe", "hpa", "assay"]);
    assert!(why.contains("\"assay_http_requests_in_flight\" on pods:"), "{why}");
    let reason = "New size: 3; reason: pods metric assay_http_requests_in_flight above target";
    assert!(why.contains(reason), "{why}");
    assert_eq!(autoscaled(), "MetricsAvailable");
    for answer in held.finish() {
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains(RESULT_END) && answer.ends_with(ANSWER_END), "{answer}");
    }
    assert_eq!(traffic.take_lost("a replica is added"), 0);
    world.remove_metrics_adapter();
}
