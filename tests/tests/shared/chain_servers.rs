//! Effects on callers of chain servers that are killed, replaced, behind, on another branch or on a broken disk.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use assay_tests::{
    CHAIN_TOKEN, Caller, Server, SmallDisk, nodes::Credentials, platform::Platform, repeat,
    wait_at_most,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    node_away::{Chain, check, height},
    restart::Balancer,
    support::{PATIENCE, health, is_ready, plan_with_high_limits},
};

/// Checks per second of all callers.
const CHECKS_A_SECOND: u32 = 60;
const CALLERS: u32 = 6;

/// A chain's node, and the database and cache that servers share.
struct World {
    chain: Chain,
    platform: Platform,
    key: String,
}

impl World {
    fn start(blocks: u64) -> Self {
        let (chain, platform) = (Chain::start(blocks), Platform::start());
        platform.apply(&plan_with_high_limits());
        chain.followed_by(&platform);
        platform.write("token", CHAIN_TOKEN);
        let key = platform.key();
        Self { chain, platform, key }
    }

    fn token(&self) -> String {
        format!("--chain-token-file={}", self.platform.file("token").display())
    }

    /// A data directory for a chain server.
    fn directory(&self) -> Arc<TempDir> {
        let directory = tempfile::tempdir().unwrap();
        self.prepare(directory.path());
        Arc::new(directory)
    }

    fn prepare(&self, directory: &Path) {
        fs::copy(self.platform.file("assay.toml"), directory.join("assay.toml")).unwrap();
    }

    /// The arguments of a chain server that follows the node.
    fn following(&self) -> Vec<String> {
        let Credentials::Password { user, password } = self.chain.0.credentials() else {
            panic!("a node with a cookie")
        };
        self.platform.write("node", &format!("{user}:{password}"));
        let cookie = format!("--cookie={}", self.platform.file("node").display());
        let rpc = format!("--rpc={}", self.chain.0.url());
        vec!["ltc".into(), rpc, cookie, "--test-network".into(), self.token()]
    }

    /// A chain server that follows the node.
    fn chain_server(&self, directory: &Arc<TempDir>, more: &[&str]) -> Server {
        let arguments = self.following();
        let arguments: Vec<&str> =
            arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
        Server::start_chain(Arc::clone(directory), &arguments)
    }

    /// A chain server that follows no node.
    fn unfollowing_server(&self, directory: &Arc<TempDir>, more: &[&str]) -> Server {
        let token = self.token();
        let arguments: Vec<&str> =
            ["ltc", token.as_str()].into_iter().chain(more.iter().copied()).collect();
        Server::start_chain(Arc::clone(directory), &arguments)
    }

    /// An API server that asks these chain servers, with a caller.
    fn api(&self, chain: &[SocketAddr]) -> (Server, Caller) {
        let urls: Vec<String> = chain.iter().map(|it| format!("ltc=http://{it}")).collect();
        let (servers, token) = (format!("--chain-servers={}", urls.join(",")), self.token());
        let server = self.platform.server(&[&servers, &token]);
        let caller = server.caller(&self.key);
        (server, caller)
    }
}

/// The address of a server as an argument of its successor.
fn same_address(server: &Server) -> String {
    format!("--listen={}", server.api)
}

/// A check without cached answers.
fn check_uncached(caller: &Caller) -> Option<Value> {
    let body = json!({"blockchain": "ltc", "address": crate::node_away::MINER[1]}).to_string();
    let answer = caller.post("/api/v1/check/address", &body, &[("cache-control", "no-cache")]);
    (answer.status == 200).then(|| answer.json())
}

fn digest(answer: &Value) -> String {
    answer["assessment_digest"].as_str().unwrap().to_owned()
}

/// Callers who send checks continuously and collect errors.
struct CheckLoad {
    over: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    callers: Vec<thread::JoinHandle<Vec<String>>>,
}

impl CheckLoad {
    fn start(balancer: &Arc<Balancer>, expected: &Value) -> Self {
        let (over, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let pause = Duration::from_secs(1) * CALLERS / CHECKS_A_SECOND;
        let callers = (0..CALLERS).map(|_| {
            let (balancer, over) = (Arc::clone(balancer), Arc::clone(&over));
            let (answered, expected) = (Arc::clone(&answered), digest(expected));
            thread::spawn(move || {
                let mut wrong = Vec::new();
                repeat(
                    pause,
                    || over.load(Ordering::Relaxed),
                    || match check_uncached(&balancer.pick()) {
                        Some(answer) if digest(&answer) == expected => {
                            answered.fetch_add(1, Ordering::Relaxed);
                        }
                        other => wrong.push(format!("{other:?}")),
                    },
                );
                wrong
            })
        });
        let callers = callers.collect();
        Self { over, answered, callers }
    }

    /// Waits until the callers sent `checks` more checks.
    fn wait_for_checks(&self, checks: usize) {
        let before = self.answered.load(Ordering::Relaxed);
        wait_at_most(PATIENCE, "there is load", || {
            self.answered.load(Ordering::Relaxed) >= before + checks
        });
    }

    fn stop(self) -> (usize, Vec<String>) {
        self.over.store(true, Ordering::Relaxed);
        let wrong = self.callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect();
        (self.answered.load(Ordering::Relaxed), wrong)
    }
}

#[test]
#[ignore = "needs Litecoin Core"]
fn servers_are_killed_and_replaced_without_an_effect_on_callers() {
    let world = World::start(5);
    let directories = [(), ()].map(|()| world.directory());
    let mut chain = directories.each_ref().map(|it| world.chain_server(it, &[]));
    let addresses = chain.each_ref().map(|it| it.api);
    for server in &chain {
        wait_at_most(PATIENCE, "the chain is followed", || is_ready(server));
    }
    let mut apis = [(), ()].map(|()| world.api(&addresses));
    let all_at = |height_wanted| {
        apis.iter().all(|(_, caller)| {
            let answer = check_uncached(caller);
            answer.is_some_and(|it| height(&it) == Some(height_wanted) && it["verdict"] == "allow")
        })
    };
    wait_at_most(PATIENCE, "all is there", || all_at(5));
    let expected = check_uncached(&apis[0].1).unwrap();
    let balancer = Arc::new(Balancer::default());
    balancer.add(&apis[0].1);
    balancer.add(&apis[1].1);
    let load = CheckLoad::start(&balancer, &expected);
    load.wait_for_checks(120);
    for nth in 0..2 {
        // Killed, and back after a while.
        let listen = same_address(&chain[nth]);
        chain[nth].signal("KILL");
        let _ = chain[nth].wait();
        load.wait_for_checks(240);
        chain[nth] = world.chain_server(&directories[nth], &[&listen]);
        wait_at_most(PATIENCE, "it is back", || is_ready(&chain[nth]));
        load.wait_for_checks(120);
    }
    for nth in 0..2 {
        // Replaced in order.
        let listen = same_address(&chain[nth]);
        chain[nth].signal("TERM");
        assert_eq!(chain[nth].wait(), Some(0), "{}", chain[nth].log());
        chain[nth] = world.chain_server(&directories[nth], &[&listen]);
        wait_at_most(PATIENCE, "it is back", || is_ready(&chain[nth]));
        load.wait_for_checks(120);
    }
    for api in &mut apis {
        let (server, caller) = world.api(&addresses);
        wait_at_most(PATIENCE, "the new one is ready", || is_ready(&server));
        balancer.add(&caller);
        balancer.remove(&api.1);
        let mut old = std::mem::replace(api, (server, caller)).0;
        // A request that was sent just now is answered.
        old.signal("TERM");
        assert_eq!(old.wait(), Some(0), "{}", old.log());
        load.wait_for_checks(120);
    }
    let (answered, wrong) = load.stop();
    eprintln!("chain servers killed and replaced, API servers replaced: {answered} answers");
    assert!(wrong.is_empty(), "{} wrong or failed, such as {}", wrong.len(), wrong[0]);
}

#[test]
#[ignore = "needs Litecoin Core"]
fn answers_state_what_is_missing_and_no_server_that_is_behind_is_asked() {
    let world = World::start(5);
    let directories = [(), ()].map(|()| world.directory());
    let mut one = world.chain_server(&directories[0], &[]);
    wait_at_most(PATIENCE, "the chain is followed", || is_ready(&one));
    let other = world.chain_server(&directories[1], &[]);
    wait_at_most(PATIENCE, "the chain is followed", || is_ready(&other));
    let (api, caller) = world.api(&[one.api, other.api]);
    let state = || {
        let answer = check_uncached(&caller).unwrap();
        (height(&answer), answer["verdict"].as_str().unwrap().to_owned())
    };
    let is = |height: u64, verdict: &str| (Some(height), verdict.to_owned());
    wait_at_most(PATIENCE, "all is there", || state() == is(5, "allow"));

    // Given a server that follows no more, and new blocks,
    let listen = same_address(&other);
    drop(other);
    let mut other = world.unfollowing_server(&directories[1], &[&listen]);
    world.chain.grow(3);
    wait_at_most(PATIENCE, "they are read", || state() == is(8, "allow"));
    wait_at_most(PATIENCE, "the other is back", || is_ready(&other));
    // then only the one that has them is asked.
    let asked = |server: &Server| {
        server.metric::<u64>("assay_chain_questions_total{question=\"trace\",outcome=\"answered\"}")
    };
    wait_at_most(PATIENCE, "the one that has them is asked alone", || {
        let before = asked(&one);
        for _ in 0..20 {
            assert_eq!(state(), is(8, "allow"));
        }
        asked(&one) == before + 20
    });

    // Given a reorganisation, which the other one does not know of,
    let hash = world.chain.0.block_hash(5);
    let _ = world.chain.0.call("invalidateblock", &[json!(hash)]).unwrap();
    let elsewhere = "rltc1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq9xqkzs";
    let moved = world.chain.0.call("generatetoaddress", &[json!(6), json!(elsewhere)]);
    if moved.is_err() {
        world.chain.grow(6);
    }
    // then answers are of the new branch,
    wait_at_most(PATIENCE, "the new branch is read", || state().0 >= Some(10));
    for _ in 0..20 {
        assert!(state().0 >= Some(10));
    }
    // and once nobody else is there, of the old one, which the answer names.
    let listen_one = same_address(&one);
    one.signal("KILL");
    let _ = one.wait();
    wait_at_most(PATIENCE, "the other one answers", || state() == is(5, "allow"));

    // Given no chain server, nothing is allowed, and what is missing is told.
    other.signal("KILL");
    let _ = other.wait();
    wait_at_most(PATIENCE, "that is told", || state().1 == "indeterminate");
    let answer = check(&caller);
    assert_eq!(answer["verdict"], "indeterminate");
    let codes: Vec<&str> = answer["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|reason| reason["code"].as_str())
        .collect();
    assert!(codes.contains(&"flows_missing"), "{codes:?}");
    wait_at_most(PATIENCE, "probes are told", || {
        let (status, body) = health(&api);
        status == 200 && body["degraded"] == json!(["chains_unreachable"])
    });
    // Keys, limits and addresses of other chains go on.
    let eth = caller.check("eth", "0x00000000219ab540356cBB839Cbe05303d7705Fa");
    assert_eq!((eth.status, &eth.json()["verdict"]), (200, &"allow".into()));

    // Given one again, all is as before.
    let _one = world.chain_server(&directories[0], &[&listen_one]);
    wait_at_most(PATIENCE, "it is back", || {
        state().1 == "allow" && health(&api).1["degraded"] == json!([])
    });
}

#[test]
#[ignore = "needs Litecoin Core, root"]
fn a_broken_disk_of_one_server_changes_no_answer() {
    let world = World::start(5);
    let good = world.directory();
    let one = world.chain_server(&good, &[]);
    wait_at_most(PATIENCE, "the chain is followed", || is_ready(&one));

    // Given a full disk,
    let disk = SmallDisk::mount(192);
    world.prepare(disk.path());
    let on_disk = |more: &[&str]| {
        let data = format!("--data-dir={}", disk.path().display());
        let arguments: Vec<&str> =
            [data.as_str()].into_iter().chain(more.iter().copied()).collect();
        world.chain_server(&good, &arguments)
    };
    let mut small = on_disk(&[]);
    wait_at_most(PATIENCE, "the chain is followed", || is_ready(&small));
    let (_api, caller) = world.api(&[one.api, small.api]);
    let state = || {
        let answer = check_uncached(&caller).unwrap();
        (height(&answer), answer["verdict"].as_str().unwrap().to_owned())
    };
    wait_at_most(PATIENCE, "all is there", || state() == (Some(5), "allow".to_owned()));
    disk.fill();
    world.chain.grow(40);
    // then the others go on, and the log says why this one does not,
    wait_at_most(PATIENCE, "new blocks", || state() == (Some(45), "allow".to_owned()));
    wait_at_most(PATIENCE, "that is told", || small.log().contains("no space is left"));
    // and it catches up once there is room.
    disk.clear();
    let tip = |server: &Server| server.metric::<u64>("assay_chain_height{chain=\"ltc\"}");
    wait_at_most(PATIENCE, "it catches up", || tip(&small) == 45);

    // Given a graph that was cut, as by a power cut,
    let listen = same_address(&small);
    small.signal("KILL");
    let _ = small.wait();
    let data = disk.path().join("chains/ltc.graph/data.mdb");
    let file = fs::File::options().write(true).open(&data).unwrap();
    file.set_len(20 << 10).unwrap();
    drop(file);
    let mut small = on_disk(&[&listen]);
    // then it says so and is not asked,
    let told = || health(&small).1["problem"].as_str().unwrap_or_default().to_owned();
    wait_at_most(PATIENCE, "that is told", || told().contains("is damaged"));
    assert_eq!(health(&small).0, 503);
    for _ in 0..20 {
        assert_eq!(state(), (Some(45), "allow".to_owned()));
    }
    // and without the graph it is filled from the other one.
    small.signal("KILL");
    let _ = small.wait();
    fs::remove_dir_all(disk.path().join("chains/ltc.graph")).unwrap();
    let neighbors = format!("--neighbors=http://{}", one.api);
    let mut small = on_disk(&[&listen, &neighbors]);
    wait_at_most(PATIENCE, "it is filled", || is_ready(&small));
    assert!(small.log().contains("filled from a neighbor"), "{}", small.log());

    // Given a volume that cannot be written, it is not ready, and says why.
    small.signal("KILL");
    let _ = small.wait();
    disk.make_read_only();
    let small = on_disk(&[&listen]);
    let told = || health(&small).1["problem"].as_str().unwrap_or_default().to_owned();
    wait_at_most(PATIENCE, "that is told", || told().to_lowercase().contains("read-only"));
    for _ in 0..20 {
        assert_eq!(state(), (Some(45), "allow".to_owned()));
    }
}
