//! Chain servers on a real node: from a `ChainSource` to an answer with flows, and losses of servers without effect on
//! callers.

use std::time::Instant;

use assay_tests::{
    Caller,
    evm::{EvmNode, EvmNodeKind, Key, NewBlock, NewTransaction, genesis::ETHER},
    nodes::{Credentials, Node, NodeKind},
    wait_at_most,
};
use serde_json::{Value, json};

use crate::{
    outside::forward,
    traffic::while_asking,
    world::{PATIENCE, World, file},
};

/// Two addresses of one owner: on the node's test network, and in checks.
const MINER: [&str; 2] =
    ["rltc1qw508d6qejxtdg4y5r3zarvary0c5xw7k693xs3", "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9"];
const BLOCKS: u64 = 5;
/// Hosts and ports of nodes, which no other test uses.
const LITECOIN: &str = "10.20.0.7:9332";
const GETH: &str = "10.20.0.8:9545";

/// Loses each of a chain's two servers twice.
fn lose_servers(world: &World, chain_source: &str) {
    // Ready for as long as DNS servers remember names: so a rolling update waits, too.
    let servers = format!("statefulset/chain-{chain_source}");
    let both_available = || {
        wait_at_most(PATIENCE, "both are available", || {
            world.field(&[&servers], ".status.availableReplicas") == "2"
        });
    };
    both_available();
    for number in 0..2 {
        let pod = format!("chain-{chain_source}-{number}");
        world.cluster.process_of("assay", &pod).signal("KILL");
        let restarted =
            || world.field(&["pod", &pod], ".status.containerStatuses[0].restartCount") == "1";
        wait_at_most(PATIENCE, "another container", restarted);
        both_available();
        world.kubectl(&["delete", "pod", &pod]);
        both_available();
    }
}

/// A check of the miner without cached answers.
fn check(caller: &Caller) -> Option<Value> {
    let body = json!({"blockchain": "ltc", "address": MINER[1]}).to_string();
    let answer = caller.post("/api/v1/check/address", &body, &[("cache-control", "no-cache")]);
    (answer.status == 200).then(|| answer.json())
}

fn has_flows(answer: &Value) -> bool {
    let revision = answer["data_revision"].as_str().unwrap_or_default();
    revision.contains(&format!("ltc@{BLOCKS}")) && !answer["reasons"].to_string().contains("flows_")
}

#[test]
#[ignore = "needs Kubernetes node, Litecoin Core"]
#[expect(clippy::print_stdout, reason = "figures are for people")]
fn a_chain_source_leads_to_flows_and_losses_of_chain_servers_change_no_answer() {
    let world = World::new();
    let node = Node::start(NodeKind::Litecoin { mweb: false });
    let _ = node.call("generatetoaddress", &[json!(BLOCKS), json!(MINER[0])]).unwrap();
    let Credentials::Password { user, password } = node.credentials() else {
        panic!("a node with a cookie")
    };
    let address = node.url().trim_start_matches("http://").parse().unwrap();
    forward(world.cluster.listen_outside(LITECOIN), address);
    let _volumes = world.volumes(2, "");
    world.install(&file("charts/assay").display().to_string(), &[]);
    let key = world.key();
    let caller = Caller::new(world.service(), &key);

    // From nothing to flows.
    let begun = Instant::now();
    world.cluster.apply(&format!(
        "
apiVersion: v1
kind: Secret
metadata:
  name: node
  namespace: assay
  labels: {{assay.dev/source-credentials: 'true'}}
  annotations: {{assay.dev/source-hosts: '{LITECOIN}'}}
stringData: {{login: '{user}:{password}'}}
---
apiVersion: assay.dev/v1alpha1
kind: ChainSource
metadata: {{name: litecoin}}
spec:
  chain: ltc
  mode: follow
  protocol: rpc
  endpoint: http://{LITECOIN}
  credentialsSecret: {{name: node, key: login}}
  allowTestNetwork: true
  replicas: 2
  volume: {{size: 1Gi}}
"
    ));
    let status = |field: &str| world.field(&["chainsource/litecoin"], &format!(".status.{field}"));
    wait_at_most(PATIENCE, "both servers", || status("servers") == "2/2");
    wait_at_most(PATIENCE, "flows", || check(&caller).as_ref().is_some_and(has_flows));
    println!("from a ChainSource to flows: {:.1} s", begun.elapsed().as_secs_f64());
    wait_at_most(PATIENCE, "the height in its status", || {
        status("tipHeight") == BLOCKS.to_string()
    });
    println!("{}", world.kubectl(&["get", "chainsource,statefulset,pvc,pods"]));

    let asking = caller.clone();
    let is_right = move || check(&asking).as_ref().is_some_and(has_flows);
    let answers = while_asking(is_right, || lose_servers(&world, "litecoin"));
    println!("two chain servers killed and evicted: {answers} answers");
    world.cluster.kubectl(&["delete", "chainsource", "litecoin"]);
}

#[test]
#[ignore = "needs Kubernetes node, geth"]
#[expect(clippy::print_stdout, reason = "figures are for people")]
fn two_servers_of_an_ethereum_node_answer_about_deposits_and_a_lost_node_is_told() {
    // Given a node with a deposit, and a source of its chain with two servers...
    let world = World::new();
    let mut node = EvmNode::start(EvmNodeKind::Geth);
    let mut payer = Key::of("exchange");
    let receiver = Key::of("alice").address;
    let mut deposit = |node: &mut EvmNode| {
        let signed = payer.sign(&NewTransaction::payment(receiver, ETHER));
        node.make(&NewBlock::of(vec![signed]));
        let height = node.height();
        node.receipts(height)[0]["transactionHash"].as_str().unwrap().to_owned()
    };
    let first = deposit(&mut node);
    let address = node.url().trim_start_matches("http://").parse().unwrap();
    forward(world.cluster.listen_outside(GETH), address);
    let _volumes = world.volumes(2, "");
    world.install(&file("charts/assay").display().to_string(), &[]);
    let caller = Caller::new(world.service(), &world.key());
    world.cluster.apply(&format!(
        "
apiVersion: assay.dev/v1alpha1
kind: ChainSource
metadata: {{name: ethereum}}
spec:
  chain: eth
  mode: follow
  protocol: rpc
  endpoint: http://{GETH}
  allowTestNetwork: true
  replicas: 2
  volume: {{size: 1Gi}}
"
    ));
    let status = |field: &str| world.field(&["chainsource/ethereum"], &format!(".status.{field}"));
    let check = move |transaction: &str| {
        let body = json!({"blockchain": "eth", "transaction": transaction, "direction": "deposit"});
        let answer = caller.post(
            "/api/v1/check/transfer",
            &body.to_string(),
            &[("cache-control", "no-cache")],
        );
        (answer.status == 200).then(|| answer.json())
    };
    // ...when it is mined, then both servers know it, and go on answering while either is lost...
    wait_at_most(PATIENCE, "both servers", || status("servers") == "2/2");
    wait_at_most(PATIENCE, "the deposit", || check(&first).is_some());
    let answer = check(&first).unwrap();
    assert_eq!(answer["transfer"]["amount"]["value"], ETHER.to_string(), "{answer:#}");
    let (asking, asked) = (check.clone(), first.clone());
    let is_right = move || asking(&asked).is_some();
    let answers = while_asking(is_right, || lose_servers(&world, "ethereum"));
    println!("two chain servers killed and evicted: {answers} answers");
    let later = deposit(&mut node);
    wait_at_most(PATIENCE, "a later deposit", || check(&later).is_some());
    // ...and a node that is gone is told where its operator looks, until it is back.
    let is_followed = || {
        let condition = ".status.conditions[?(@.type==\"SourceFollowed\")].status";
        world.field(&["chainsource/ethereum"], condition)
    };
    wait_at_most(PATIENCE, "the node is followed", || is_followed() == "True");
    node.stop();
    wait_at_most(PATIENCE, "the node is missed", || is_followed() == "False");
    println!("{}", world.kubectl(&["get", "chainsource,statefulset,pvc,pods"]));
    node.launch();
    wait_at_most(PATIENCE, "the node is back", || is_followed() == "True");
    assert!(check(&first).is_some() && check(&later).is_some());
    world.cluster.kubectl(&["delete", "chainsource", "ethereum"]);
}
