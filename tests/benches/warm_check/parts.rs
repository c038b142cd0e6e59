//! Checks with flows of the demo chain: a server of the demo data set, checks that no cache answers, and the times of
//! their parts, which the server's traces tell.

use std::{collections::BTreeMap, fs, sync::Arc, thread, time::Duration};

use assay_address::ChainId;
use assay_tests::{Collector, Connection, Server, wait_until};

use super::{LIMIT, WRITING_TIME};

/// Number of checks whose parts are measured.
const CHECKS: usize = 2_000;

/// A tenant of the demo data set without limits.
const TENANT: &str = "
---
apiVersion: assay.dev/v1alpha1
kind: Tenant
metadata: {name: acme}
spec: {displayName: Acme, plan: roomy, policy: sample}
";

/// A server of the demo data set, and checks of the addresses of its chain.
pub(crate) struct Demo {
    pub(crate) server: Server,
    pub(crate) requests: Vec<Arc<[u8]>>,
}

impl Demo {
    /// Starts the server with further arguments.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let directory = Arc::new(tempfile::tempdir().expect("a directory"));
        let arguments = [&["--sample", "--log-format", "json"], arguments].concat();
        let server = Server::start(Arc::clone(&directory), &arguments);
        let plan = format!(
            "apiVersion: assay.dev/v1alpha1\nkind: Plan\nmetadata: {{name: roomy}}\n\
             spec: {{displayName: Roomy, apiAccess: true, limits: [{LIMIT}]}}\n{TENANT}"
        );
        fs::write(directory.path().join("acme.yaml"), plan).expect("a manifest");
        let _ = server.assay(&["apply", "--sample", "-f", "acme.yaml"]).ok();
        let key = server.assay(&["keys", "create", "--sample", "--tenant", "acme"]).ok().stdout;
        let examples = assay_sample::examples().into_iter();
        let addresses = examples.map(|example| example.address);
        let addresses = addresses.filter(|address| address.chain() == ChainId::BTC);
        let requests = addresses
            .map(|address| {
                let request = Connection::check(key.trim(), "btc", address.as_str());
                let request = String::from_utf8(request).expect("a text");
                // An answer of the cache has no parts.
                let new = request.replacen("\r\n", "\r\ncache-control: no-cache\r\n", 1);
                Arc::from(new.into_bytes())
            })
            .collect();
        let demo = Self { server, requests };
        let mut connection = Connection::open(demo.server.api);
        wait_until("the key is known", || connection.ask(&demo.request(0)) == 200);
        demo
    }

    /// Returns the request with a number.
    pub(crate) fn request(&self, number: usize) -> Arc<[u8]> {
        self.requests.get(number % self.requests.len()).map(Arc::clone).expect("a request")
    }
}

/// Prints the mean time of each part of a check with flows.
#[expect(clippy::print_stdout, reason = "a program for people at a terminal")]
pub(crate) fn print_times() {
    let collector = Collector::start();
    let demo = Demo::start(&["--otlp-endpoint", &collector.endpoint()]);
    let mut connection = Connection::open(demo.server.api);
    for number in 0..CHECKS {
        let status = connection.ask(&demo.request(number));
        assert!(status == 200, "status {status}");
    }
    // Spans are sent once a second.
    thread::sleep(2 * WRITING_TIME);
    let mut times: BTreeMap<String, (u32, u64)> = BTreeMap::new();
    for span in collector.all_spans() {
        let name = if span.name.starts_with("POST ") { "request".to_owned() } else { span.name };
        let (count, time) = times.entry(name).or_default();
        *count += 1;
        *time += span.end_time_unix_nano.saturating_sub(span.start_time_unix_nano);
    }
    let requests = times.get("request").map_or(1, |(count, _)| *count);
    let parts = times.iter().map(|(name, (count, time))| {
        let mean = Duration::from_nanos(*time).as_secs_f64() * 1e6 / f64::from(requests);
        format!("{name} {mean:.0} ({:.1})", f64::from(*count) / f64::from(requests))
    });
    let parts: Vec<String> = parts.collect();
    println!("parts of a check with flows, traced, in us, with their number: {}", parts.join(", "));
}
