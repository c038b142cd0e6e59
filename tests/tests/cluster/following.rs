//! Given a chain server that follows a real node, when the node is of another network or is gone, or the server cannot read
//! its graph, then the conditions of the `ChainSource` say so. Pods have no programs here: the server runs beside, at the
//! address of a pod.

use std::{
    fs::{self, File},
    path::Path,
    sync::Arc,
};

use assay_tests::{
    Operator, Server, assay,
    evm::{EvmNode, EvmNodeKind},
    tenant,
};
use tempfile::TempDir;

use crate::{
    modes::CLUSTER,
    platform::{Platform, wait_until},
    service::DATABASE,
};

const CHAIN: [&str; 2] = ["chainsource", "ethereum"];
const REASON: &str = ".status.conditions[?(@.type==\"SourceFollowed\")].reason";
const MESSAGE: &str = ".status.conditions[?(@.type==\"SourceFollowed\")].message";
const READABLE: &str = ".status.conditions[?(@.type==\"GraphsReadable\")].reason";
/// The address of a pod.
const POD: &str = "127.77.0.1";
/// The address of another pod.
const OTHER_POD: &str = "127.77.0.2";
/// The graph of the chain in a data directory.
const GRAPH: &str = "chains/eth.accounts/1/data.mdb";
const TOKEN: &str = "the token of chain servers in a test of their sources";

/// A source with a node that no pod reaches.
const SOURCE: &str = "
apiVersion: assay.dev/v1alpha1
kind: ChainSource
metadata: {name: ethereum}
spec: {chain: eth, endpoint: 'http://node.example:8545', mode: follow, protocol: rpc}
";

/// The pod of a chain server, without a program.
fn server_pod(name: &str) -> String {
    format!(
        "
---
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: default
  labels:
    app.kubernetes.io/name: assay
    app.kubernetes.io/instance: ethereum
    app.kubernetes.io/component: chain
spec:
  automountServiceAccountToken: false
  securityContext: {{runAsNonRoot: true, seccompProfile: {{type: RuntimeDefault}}}}
  containers:
    - name: assay
      image: assay.test/assay:1.0
      securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}
"
    )
}

/// A platform whose operator asks chain servers with the token in a file, and pods of such servers at addresses.
fn asking(token: &str, pods: &[(&str, &str)]) -> Platform {
    let mut platform = Platform::start();
    fs::write(token, TOKEN).unwrap();
    let flags = [
        "--image=assay.test/assay:1.0",
        "--database-secret=database/url",
        "--chain-token-secret=chains/token",
        &format!("--chain-token-file={token}"),
    ];
    platform.operator.stop();
    let config = platform.cluster.config_of_account("default", CLUSTER.account);
    let flags = [&flags, CLUSTER.flags].concat();
    let url = platform.postgres.url();
    platform.operator = Operator::start_by(&config, "default", &url, "asking", 6, &flags);
    platform.operator.wait_until_it_works();
    platform.cluster.apply(DATABASE);
    for &(name, address) in pods {
        platform.cluster.apply(&server_pod(name));
        let status = format!("{{\"status\": {{\"podIP\": \"{address}\"}}}}");
        let patch = ["patch", "pod", name, "--subresource=status", "--type=merge", "-p", &status];
        platform.cluster.kubectl(&patch);
    }
    platform
}

/// A data directory with a database, which a server needs.
fn directory() -> Arc<TempDir> {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    fs::write(directory.path().join("tenant.yaml"), tenant("acme", "business")).unwrap();
    let _ = assay(directory.path(), ["apply", "--file", "tenant.yaml"]).ok();
    directory
}

/// A chain server at the address of a pod.
fn serve(directory: &Arc<TempDir>, pod: &str, token: &str, more: &[&str]) -> Server {
    let (listen, token) = (format!("--listen={pod}:8080"), format!("--chain-token-file={token}"));
    Server::start_chain(Arc::clone(directory), &[&["eth", &listen, &token], more].concat())
}

/// The path of a file for the token.
fn token_file(folder: &Path) -> String {
    folder.join("token").display().to_string()
}

#[test]
#[ignore = "needs Kubernetes, geth"]
fn a_source_tells_that_its_node_is_of_another_network_followed_or_gone() {
    // Given an operator that may ask chain servers, a node, and the pod of a server,
    let folder = tempfile::tempdir().unwrap();
    let token = token_file(folder.path());
    let platform = asking(&token, &[("by-hand", POD)]);
    let mut node = EvmNode::start(EvmNodeKind::Geth);
    node.make_empty(3, 0);
    let rpc = format!("--rpc={}", node.url());
    // when the node is of a test network that the source does not allow,
    let refusing = serve(&directory(), POD, &token, &[&rpc]);
    platform.cluster.apply(SOURCE);
    // then it says so before there is a block,
    platform.wait_for(&CHAIN, REASON, "WrongNetwork");
    platform.wait_for_reason(&CHAIN, "WrongNetwork");
    let message = platform.cluster.field(&CHAIN, MESSAGE);
    assert!(message.contains(POD) && message.contains("serves a test network"), "{message}");
    assert_eq!(platform.cluster.field(&CHAIN, ".status.tipHeight"), "");
    drop(refusing);
    // and what holds once the network is allowed, and once the node is gone.
    let _following = serve(&directory(), POD, &token, &[&rpc, "--test-network"]);
    platform.wait_for(&CHAIN, REASON, "Followed");
    platform.wait_for(&CHAIN, ".status.tipHeight", "3");
    node.stop();
    platform.wait_for(&CHAIN, REASON, "EndpointUnreachable");
    platform.wait_for_reason(&CHAIN, "EndpointUnreachable");
    let message = platform.cluster.field(&CHAIN, MESSAGE);
    assert!(message.contains("does not answer"), "{message}");
}

#[test]
#[ignore = "needs Kubernetes, geth"]
fn a_source_tells_that_a_server_of_two_cannot_read_its_graph_until_it_is_replaced() {
    // Given a source with two servers, which have a graph,
    let folder = tempfile::tempdir().unwrap();
    let token = token_file(folder.path());
    let platform = asking(&token, &[("by-hand", POD), ("by-hand-too", OTHER_POD)]);
    let mut node = EvmNode::start(EvmNodeKind::Geth);
    node.make_empty(3, 0);
    let rpc = format!("--rpc={}", node.url());
    let following = [rpc.as_str(), "--test-network"];
    let (whole, cut) = (directory(), directory());
    let _whole = serve(&whole, POD, &token, &following);
    let server = serve(&cut, OTHER_POD, &token, &following);
    platform.cluster.apply(SOURCE);
    platform.wait_for(&CHAIN, READABLE, "GraphsReadable");
    platform.wait_for(&CHAIN, ".status.tipHeight", "3");
    let has_graph = || assay(cut.path(), ["chain", "verify", "eth"]).code == 0;
    wait_until("both have the graph", has_graph);
    // when the graph of one is cut, as after a power cut,
    drop(server);
    let graph = File::options().write(true).open(cut.path().join(GRAPH)).unwrap();
    graph.set_len(2 * 4096).unwrap();
    let server = serve(&cut, OTHER_POD, &token, &[]);
    // then the source is not ready, and names the server with the cause and the remedy,
    platform.wait_for(&CHAIN, READABLE, "GraphUnreadable");
    platform.wait_for_reason(&CHAIN, "GraphUnreadable");
    let message = platform.message(&CHAIN);
    for part in ["1 of 2", OTHER_POD, "is damaged", "delete the PersistentVolumeClaim"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(platform.cluster.field(&CHAIN, ".status.tipHeight"), "3", "of the other one");
    // until the server has a new volume.
    drop(server);
    let _new = serve(&directory(), OTHER_POD, &token, &following);
    platform.wait_for(&CHAIN, READABLE, "GraphsReadable");
}
