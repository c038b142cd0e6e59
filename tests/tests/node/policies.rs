//! Given an installation under enforced network policies, then its pods reach what is configured, and nothing else.

use std::{net::SocketAddr, thread};

use assay_tests::{ContainerProcess, Postgres, wait_at_most};
use serde_json::{Value, json};

use crate::{
    outside::{forward, list_of, serve},
    traffic::ADDRESS,
    world::{PATIENCE, World, file},
};

const DATABASE: &str = "10.20.0.5:5432";
const NODE: &str = "10.20.0.7:8332";
const ISSUER: &str = "10.20.0.9:8443";
const LISTS: &str = "1.2.3.4:8000";
/// The server of lists may redirect to TLS.
const LISTS_BY_TLS: &str = "1.2.3.4:443";
/// A server in the internet that nothing is configured to reach.
const PUBLIC: &str = "1.2.3.5:443";
/// Another host with a database in the same network.
const OTHER_HOST: &str = "10.20.0.6:5432";
/// Servers that nothing is configured to reach: other ports of configured hosts, other hosts on configured ports, and the
/// metadata service of a cloud.
const OTHERS: [&str; 6] =
    ["10.20.0.5:5433", OTHER_HOST, "10.20.0.7:8333", "1.2.3.4:8001", PUBLIC, "169.254.169.254:80"];

/// A cache in a namespace, with a Service.
fn cache(namespace: &str) -> String {
    format!(
        "
---
apiVersion: v1
kind: Namespace
metadata: {{name: {namespace}}}
---
apiVersion: v1
kind: Service
metadata: {{name: cache, namespace: {namespace}}}
spec: {{selector: {{app: cache}}, ports: [{{port: 6379}}]}}
---
apiVersion: v1
kind: Pod
metadata: {{name: cache, namespace: {namespace}, labels: {{app: cache}}}}
spec:
  automountServiceAccountToken: false
  securityContext: {{runAsNonRoot: true, seccompProfile: {{type: RuntimeDefault}}}}
  containers:
  - name: cache
    image: docker.io/library/redis:8
    args: [--protected-mode, 'no', --save, '', --maxmemory-policy, noeviction]
    securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}
"
    )
}

/// The Secrets of an installation.
fn secrets(database_url: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Namespace
metadata: {{name: assay}}
---
apiVersion: v1
kind: Secret
metadata: {{name: database, namespace: assay}}
stringData: {{url: '{database_url}'}}
---
apiVersion: v1
kind: Secret
metadata: {{name: cache, namespace: assay}}
stringData: {{url: 'redis://cache.stores.svc:6379'}}
"
    )
}

/// A list that is fetched, and a chain that is followed.
fn sources() -> String {
    format!(
        "
apiVersion: assay.dev/v1alpha1
kind: IntelSource
metadata: {{name: lists}}
spec: {{location: 'http://{LISTS}/list.csv', format: listings-csv, lists: [ofac-sdn], schedule: '0 0 1 1 *'}}
---
apiVersion: assay.dev/v1alpha1
kind: ChainSource
metadata: {{name: bitcoin}}
spec:
  chain: btc
  mode: follow
  protocol: rpc
  endpoint: http://{NODE}
  volume: {{size: 1Gi}}
"
    )
}

/// A pod that waits, with the labels of the pods that import the list.
fn importer(world: &World) -> Value {
    let cron_job = world.cluster.get(&["cronjob/intel-lists", "--namespace", "assay"]);
    let labels = &cron_job["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["labels"];
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "importer", "namespace": "assay", "labels": labels},
        "spec": {
            "automountServiceAccountToken": false,
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "waits",
                "image": "localhost/pause:1",
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "capabilities": {"drop": ["ALL"]},
                },
            }],
        },
    })
}

/// Asserts that a pod connects to `allowed`, and to none of the other `destinations`, all at the same time: a connection
/// that is dropped takes seconds to fail.
fn assert_reaches(
    name: &str,
    pod: &ContainerProcess,
    allowed: &[SocketAddr],
    destinations: &[SocketAddr],
) {
    thread::scope(|scope| {
        let connections = destinations
            .iter()
            .map(|destination| (destination, scope.spawn(move || pod.connects_to(*destination))));
        let connections: Vec<_> = connections.collect();
        let wrong = connections.into_iter().filter_map(|(destination, connects)| {
            let connects = connects.join().unwrap();
            (connects != allowed.contains(destination))
                .then(|| format!("{destination}: {connects}"))
        });
        let wrong: Vec<String> = wrong.collect();
        assert!(wrong.is_empty(), "{name} connects to {wrong:?}");
    });
}

#[test]
#[ignore = "needs Kubernetes node"]
fn pods_reach_what_is_configured_and_nothing_else_until_policies_are_switched_off() {
    // Given an installation with a database, a cache, an issuer, a list and a chain, and servers that it does not use...
    let world = World::new();
    let postgres = Postgres::start();
    let local = format!("127.0.0.1:{}", postgres.port());
    let cluster = &world.cluster;
    forward(cluster.listen_outside(DATABASE), local.parse().unwrap());
    serve(cluster.listen_outside(LISTS), list_of(ADDRESS));
    let listeners = [&[NODE, ISSUER, LISTS_BY_TLS], &OTHERS[..]].concat();
    let _listeners: Vec<_> =
        listeners.iter().map(|address| cluster.listen_outside(address)).collect();
    cluster.apply(
        &[secrets(&postgres.url().replace(&local, DATABASE)), cache("stores"), cache("others")]
            .concat(),
    );
    let _volumes = world.volumes(1, "");
    let console = json!({
        "issuer": format!("https://{ISSUER}"),
        "clientId": "assay",
        "url": "https://risk.example.com",
        "roleMapping": [{"claim": "groups", "value": "risk", "tenant": "acme", "role": "admin"}],
    });
    let console = format!("api.console={console}");
    let stores = "mode=production,database.secret.name=database,cache.secret.name=cache";
    // The operator's connections, as narrow as they can be. docs/kubernetes.md has the command that prints the addresses.
    let addresses = cluster.kubectl(&[
        "get",
        "endpointslices",
        "--namespace",
        "default",
        "--selector",
        "kubernetes.io/service-name=kubernetes",
        "-o",
        "jsonpath={.items[*].endpoints[*].addresses[*]}",
    ]);
    let private = "networkPolicy.allowedPrivateCidrs={10.20.0.0/16}";
    let narrow = format!(
        "networkPolicy.database.cidrs={{10.20.0.5/32}},networkPolicy.apiServer.cidrs={{{}/32}}",
        addresses.trim()
    );
    let values = ["--set", stores, "--set", private, "--set", &narrow, "--set-json", &console];
    let chart = file("charts/assay").display().to_string();
    world.install(&chart, &values);
    let _key = world.key();
    let before = world.pods("server");
    cluster.apply(&sources());
    world.wait_for("Ready", "intelsource/lists");
    cluster.apply(&importer(&world).to_string());
    world.kubectl(&["wait", "--for=condition=Ready", "pod/importer", "--timeout=3m"]);
    let is_running = || world.field(&["pod/chain-bitcoin-0"], ".status.phase") == "Running";
    wait_at_most(PATIENCE, "a chain server", || !world.pods("chain").is_empty() && is_running());
    // Servers that ask it replace those before them.
    wait_at_most(PATIENCE, "servers that ask it", || {
        world.pods("server").iter().all(|pod| !before.contains(pod))
    });
    world.wait_for_reason("ServiceReady");

    // ...when each of its pods connects to each of them, then it reaches those that are configured for it.
    let process = |pod: &str| cluster.process_of("assay", pod);
    let at = |address: &str| address.parse::<SocketAddr>().unwrap();
    let service = |namespace: &str| {
        let address = cluster.kubectl(&[
            "get",
            "service",
            "cache",
            "--namespace",
            namespace,
            "-o",
            "jsonpath={.spec.clusterIP}",
        ]);
        at(&format!("{address}:6379"))
    };
    let of_pod = |pod: &str, port: u16| {
        at(&format!("{}:{port}", world.field(&["pod", pod], ".status.podIP")))
    };
    let (server, operator) = (world.pods("server")[0].clone(), world.pods("operator")[0].clone());
    let (own_cache, other_cache) = (service("stores"), service("others"));
    let chain = of_pod("chain-bitcoin-0", 8080);
    let configured = [DATABASE, NODE, ISSUER, LISTS, LISTS_BY_TLS];
    let outside = configured.iter().chain(&OTHERS).map(|address| at(address));
    let destinations: Vec<_> = outside.chain([own_cache, other_cache, chain]).collect();
    let reaches = |pod: &str, allowed: &[SocketAddr]| {
        assert_reaches(pod, &process(pod), allowed, &destinations);
    };
    reaches(&server, &[at(DATABASE), at(ISSUER), own_cache, chain]);
    reaches("chain-bitcoin-0", &[at(DATABASE), at(NODE), chain]);
    reaches("importer", &[at(DATABASE), at(LISTS), at(LISTS_BY_TLS)]);
    reaches(&operator, &[at(DATABASE), chain]);
    // Other pods reach the API, and metrics alone of chain servers.
    let stranger = cluster.process_of("others", "cache");
    let admin = of_pod("chain-bitcoin-0", 9090);
    let api = of_pod(&server, 8080);
    assert_reaches("another pod", &stranger, &[api, admin], &[api, admin, chain]);

    // When the addresses of the API server and of the database are not named, then the operator reaches those that may be
    // theirs: any on the port 443, and those of the private network on the port of the database.
    let wide = "networkPolicy.database.cidrs=[],networkPolicy.apiServer.cidrs=[]";
    world.install(&chart, &["--reuse-values", "--set-json", wide]);
    wait_at_most(PATIENCE, "the operator's policy", || process(&operator).connects_to(at(PUBLIC)));
    reaches(&operator, &[at(DATABASE), at(OTHER_HOST), at(LISTS_BY_TLS), at(PUBLIC), chain]);

    // When policies are switched off, then none is left, and nothing is out of reach.
    let off = ["--reuse-values", "--set", "networkPolicy.enabled=false"];
    world.install(&chart, &off);
    wait_at_most(PATIENCE, "no policy is left", || {
        cluster.kubectl(&["get", "networkpolicies", "--all-namespaces", "-o", "name"]).is_empty()
    });
    assert_reaches("importer", &process("importer"), &destinations, &destinations);
    // Its pods end before the folders of their volumes.
    cluster.kubectl(&["delete", "chainsource/bitcoin"]);
}
