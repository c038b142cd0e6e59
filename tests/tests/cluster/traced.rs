//! Given a collector, when an operator works, then the collector receives spans with durations, and metrics.

use assay_tests::Collector;

use crate::{
    pages::{GOLD, key, tenant},
    platform::{Platform, wait_until},
};

#[test]
#[ignore = "needs Kubernetes"]
fn looking_after_an_object_is_a_trace_and_figures_arrive_before_the_end() {
    let mut platform = Platform::start();
    let collector = Collector::start();
    platform.replace_operator(&[&format!("--otlp-endpoint={}", collector.endpoint())]);
    platform.cluster.apply(&[GOLD, &tenant("acme", "gold"), &key("backend", "acme")].concat());
    platform.wait_for_reason(&["apikey", "backend"], "KeyReady");

    let root = || {
        collector.all_spans().into_iter().find(|span| {
            let says = |key: &str, value: &str| {
                let mut all = span.attributes.iter();
                all.any(|known| known.key == key && format!("{:?}", known.value).contains(value))
            };
            let is_it = span.name == "reconcile" && says("kind", "ApiKey");
            is_it
                && says("name", "backend")
                && says("namespace", "default")
                && collector
                    .spans(&hex::encode(&span.trace_id))
                    .iter()
                    .any(|span| span.name == "apply")
        })
    };
    wait_until("the trace of a key that is made arrives", || root().is_some());
    let root = root().unwrap();
    assert!(root.parent_span_id.is_empty(), "it begins here");
    let trace = collector.spans(&hex::encode(&root.trace_id));
    for stage in ["fetch", "apply", "status"] {
        let span = trace.iter().find(|span| span.name == stage);
        let span = span.unwrap_or_else(|| panic!("no {stage}"));
        assert_eq!(span.parent_span_id, root.span_id, "{stage} is a part of it");
        assert!(span.start_time_unix_nano >= root.start_time_unix_nano, "{stage}");
        assert!(span.end_time_unix_nano <= root.end_time_unix_nano, "{stage}");
    }
    wait_until("so does that of publishing", || {
        collector.all_spans().iter().any(|span| span.name == "publish")
    });

    // Metrics are sent every so often, and once more at the end.
    platform.operator.stop();
    assert!(collector.figure("assay_operator_keys_issued").is_some_and(|made| made >= 1.0));
    assert!(collector.services().iter().any(|name| name.contains("\"assay-operator\"")));
    let secret = platform.key("default", "backend");
    let (_, secret) = secret.rsplit_once('_').unwrap();
    let sent = String::from_utf8_lossy(&collector.bytes()).into_owned();
    assert!(!sent.contains(secret), "no key is in a trace");
}
