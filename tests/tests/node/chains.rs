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

    // Losses, while callers go on.
    let over = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&over);
    let asking = caller.clone();
    let callers = thread::spawn(move || {
        let (mut answers, mut wrong) = (0, Vec::new());
        repeat(
            Duration::from_millis(20),
            || ended.load(Ordering::Relaxed),
            || match check(&asking) {
                Some(answer) if has_flows(&answer) => answers += 1,
                other => wrong.push(format!("{other:?}")),
            },
        );
        (answers, wrong)
    });
    // Ready for as long as DNS servers remember names: so a rolling update waits, too.
    let both_available = || {
        wait_at_most(PATIENCE, "both are available", || {
            world.field(&["statefulset/chain-litecoin"], ".status.availableReplicas") == "2"
        });
    };
    both_available();
    for pod in ["chain-litecoin-0", "chain-litecoin-1"] {
        world.cluster.process_of("assay", pod).signal("KILL");
        let restarted =
            || world.field(&["pod", pod], ".status.containerStatuses[0].restartCount") == "1";
        wait_at_most(PATIENCE, "another container", restarted);
        both_available();
        world.kubectl(&["delete", "pod", pod]);
        both_available();
    }
    over.store(true, Ordering::Relaxed);
    let (answers, wrong) = callers.join().unwrap();
    println!("two chain servers killed and evicted: {answers} answers");
    assert!(wrong.is_empty(), "{} wrong, such as {}", wrong.len(), wrong[0]);
    world.cluster.kubectl(&["delete", "chainsource", "litecoin"]);
    world.kubectl(&["delete", "pvc", "--all"]);
    world.cluster.kubectl(&["delete", "pv", "--all"]);
}
