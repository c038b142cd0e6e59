//! Chain servers on a real node: from a `ChainSource` to an answer with flows, and losses of servers without effect on
//! callers.

use std::{
    fs,
    io::{self, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use assay_tests::{
    Caller,
    evm::{EvmNode, EvmNodeKind, Key, NewBlock, NewTransaction, genesis::ETHER},
    nodes::{Credentials, Node, NodeKind},
    repeat, wait_at_most,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::{PATIENCE, World, file};

/// Two addresses of one owner: on the node's test network, and in checks.
const MINER: [&str; 2] =
    ["rltc1qw508d6qejxtdg4y5r3zarvary0c5xw7k693xs3", "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9"];
const BLOCKS: u64 = 5;

/// Forwards connections from pods to a program that listens on loopback only. Returns the port.
fn forwarded(to: SocketAddr) -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let copy = |from: &TcpStream, to: &TcpStream| {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.flush();
            let _ = to.shutdown(std::net::Shutdown::Write);
        })
    };
    thread::spawn(move || {
        for inside in listener.incoming().map_while(Result::ok) {
            let Ok(outside) = TcpStream::connect(to) else { continue };
            let _ = copy(&inside, &outside);
            let _ = copy(&outside, &inside);
        }
    });
    port
}

/// A volume that any pod may claim, of a folder that any user may write.
fn volume(world: &World, name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    world.cluster.apply(&format!(
        "
apiVersion: v1
kind: PersistentVolume
metadata: {{name: {name}}}
spec:
  capacity: {{storage: 1Gi}}
  accessModes: [ReadWriteOnce]
  hostPath: {{path: {}, type: Directory}}
",
        folder.path().display()
    ));
    folder
}

/// Loses each of a chain's two servers twice, while a caller goes on asking. Returns the number of its answers.
fn lose_servers(
    world: &World,
    chain_source: &str,
    ask: impl Fn() -> Option<Value> + Send + 'static,
) -> usize {
    let over = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&over);
    let caller = thread::spawn(move || {
        let (mut answers, mut wrong) = (0, 0);
        repeat(
            Duration::from_millis(20),
            || ended.load(Ordering::Relaxed),
            || match ask() {
                Some(_) => answers += 1,
                None => wrong += 1,
            },
        );
        (answers, wrong)
    });
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
    over.store(true, Ordering::Relaxed);
    let (answers, wrong) = caller.join().unwrap();
    assert_eq!(wrong, 0, "wrong, besides {answers} right answers");
    answers
}

/// Removes a chain's source and servers with their volumes.
fn remove(world: &World, chain_source: &str) {
    world.cluster.kubectl(&["delete", "chainsource", chain_source]);
    world.kubectl(&["delete", "pvc", "--all"]);
    world.cluster.kubectl(&["delete", "pv", "--all"]);
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
    let port = forwarded(address);
    let _volumes = ["chain-volume-0", "chain-volume-1"].map(|name| volume(&world, name));
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
  annotations: {{assay.dev/source-hosts: '10.99.0.1:{port}'}}
stringData: {{login: '{user}:{password}'}}
---
apiVersion: assay.dev/v1alpha1
kind: ChainSource
metadata: {{name: litecoin}}
spec:
  chain: ltc
  mode: follow
  protocol: rpc
  endpoint: http://10.99.0.1:{port}
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
    let answers = lose_servers(&world, "litecoin", move || check(&asking).filter(has_flows));
    println!("two chain servers killed and evicted: {answers} answers");
    remove(&world, "litecoin");
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
    let port = forwarded(node.url().trim_start_matches("http://").parse().unwrap());
    let _volumes = ["chain-volume-0", "chain-volume-1"].map(|name| volume(&world, name));
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
  endpoint: http://10.99.0.1:{port}
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
    let answers = lose_servers(&world, "ethereum", move || asking(&asked));
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
    remove(&world, "ethereum");
}
