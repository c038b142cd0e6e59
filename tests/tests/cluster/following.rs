//! Given a chain server that follows a real node, when the node is of another network or is gone, then the condition of the
//! `ChainSource` says so. Pods have no programs here: the server runs beside, at the address of a pod.

use std::{fs, sync::Arc};

use assay_tests::{
    Operator, Server, assay,
    evm::{EvmNode, EvmNodeKind},
    tenant,
};

use crate::{modes::CLUSTER, platform::Platform, service::DATABASE};

const CHAIN: [&str; 2] = ["chainsource", "ethereum"];
const REASON: &str = ".status.conditions[?(@.type==\"SourceFollowed\")].reason";
const MESSAGE: &str = ".status.conditions[?(@.type==\"SourceFollowed\")].message";
/// The address of the pod.
const POD: &str = "127.77.0.1";
const TOKEN: &str = "the token of chain servers in a test of their sources";

/// The pod of a chain server, without a program.
const SERVER_POD: &str = "
---
apiVersion: v1
kind: Pod
metadata:
  name: by-hand
  namespace: default
  labels:
    app.kubernetes.io/name: assay
    app.kubernetes.io/instance: ethereum
    app.kubernetes.io/component: chain
spec:
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: assay
      image: assay.test/assay:1.0
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
";

#[test]
#[ignore = "needs Kubernetes, geth"]
fn a_source_tells_that_its_node_is_of_another_network_followed_or_gone() {
    // Given an operator that may ask chain servers, a node, and the pod of a server,
    let mut platform = Platform::start();
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    fs::write(&token, TOKEN).unwrap();
    let token = token.display().to_string();
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
    let mut node = EvmNode::start(EvmNodeKind::Geth);
    node.make_empty(3, 0);
    platform.cluster.apply(&[DATABASE, SERVER_POD].concat());
    let address = format!("{{\"status\": {{\"podIP\": \"{POD}\"}}}}");
    let patch = ["patch", "pod", "by-hand", "--subresource=status", "--type=merge", "-p", &address];
    platform.cluster.kubectl(&patch);
    let serve = |more: &[&str]| {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        // A server needs a database.
        fs::write(directory.path().join("tenant.yaml"), tenant("acme", "business")).unwrap();
        let _ = assay(directory.path(), ["apply", "--file", "tenant.yaml"]).ok();
        let rpc = format!("--rpc={}", node.url());
        let (listen, token) =
            (format!("--listen={POD}:8080"), format!("--chain-token-file={token}"));
        Server::start_chain(directory, &[&["eth", &rpc, &listen, &token], more].concat())
    };
    // when the node is of a test network that the source does not allow,
    let refusing = serve(&[]);
    platform.cluster.apply(
        "
apiVersion: assay.dev/v1alpha1
kind: ChainSource
metadata: {name: ethereum}
spec: {chain: eth, endpoint: 'http://node.example:8545', mode: follow, protocol: rpc}
",
    );
    // then it says so before there is a block,
    platform.wait_for(&CHAIN, REASON, "WrongNetwork");
    platform.wait_for_reason(&CHAIN, "WrongNetwork");
    let message = platform.cluster.field(&CHAIN, MESSAGE);
    assert!(message.contains(POD) && message.contains("serves a test network"), "{message}");
    assert_eq!(platform.cluster.field(&CHAIN, ".status.tipHeight"), "");
    drop(refusing);
    // and what holds once the network is allowed, and once the node is gone.
    let _following = serve(&["--test-network"]);
    platform.wait_for(&CHAIN, REASON, "Followed");
    platform.wait_for(&CHAIN, ".status.tipHeight", "3");
    node.stop();
    platform.wait_for(&CHAIN, REASON, "EndpointUnreachable");
    platform.wait_for_reason(&CHAIN, "EndpointUnreachable");
    let message = platform.cluster.field(&CHAIN, MESSAGE);
    assert!(message.contains("does not answer"), "{message}");
}
