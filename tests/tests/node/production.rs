//! The page about a production installation: every command of it, in its order, leads to final verdicts of two tenants, and
//! evictions of its pods lose no request.

use std::{
    fs,
    time::{Duration, Instant},
};

use assay_tests::{
    Caller, Postgres, TestData,
    block_builder::{Block, BlockTemplate, Network},
    evm::{EvmNode, EvmNodeKind, NewBlock},
    nodes::{Credentials, Node, NodeKind},
    redis::Redis,
    scenario::{address, cast::lock},
    wait_at_most, wait_every,
};
use serde_json::{Value, json};

use crate::{
    outside::{forward, serve},
    traffic::{ADDRESS, Traffic},
    world::{PATIENCE, World, file},
};

const DATABASE: &str = "10.20.0.5:6432";
const CACHE: &str = "10.20.0.6:6380";
const BITCOIN: &str = "10.20.0.7:18443";
const ETHEREUM: &str = "10.20.0.8:8545";
const MIRROR: &str = "10.20.0.9:8001";
/// The day of the list of sanctions.
const DAY: &str = "2025-05-29";
/// The namespaces of the tenants, which have their names.
const TENANTS: [&str; 2] = ["payments", "treasury"];
/// The miner of the newest block of Bitcoin.
const MINER: &str = "bystander";
/// Pause between two requests of a caller.
const PAUSE: Duration = Duration::from_millis(50);
/// Interval between two attempts to evict a pod, and between two looks at pods.
const INTERVAL: Duration = Duration::from_secs(1);

/// The page's blocks of commands. The first one has the variables that its reader sets.
fn blocks() -> Vec<String> {
    let page = fs::read_to_string(file("docs/production.md")).unwrap();
    let blocks = page.split("```sh\n").skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// The names of the variables that a block of commands sets.
fn variables(block: &str) -> Vec<&str> {
    let names = block.lines().map(|line| line.strip_prefix("export ").unwrap());
    names.map(|setting| setting.split('=').next().unwrap()).collect()
}

/// The answers of the page's last commands.
fn verdicts(output: &str) -> Vec<Value> {
    let lines = output.lines().filter(|line| line.starts_with("{\""));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A node of Bitcoin with a block of now, and its login.
#[expect(clippy::disallowed_methods, reason = "the newest block is one of now")]
fn bitcoin() -> (Node, String) {
    let (network, miner) = (Network::BitcoinRegtest, lock(MINER));
    let block = BlockTemplate {
        network,
        height: 1,
        parent: Block::genesis(network).hash,
        time: jiff::Timestamp::now().as_second().try_into().unwrap(),
        mark: "production",
        miner: &miner,
        fees: 0,
        payments: vec![],
    };
    let node = Node::start(NodeKind::BitcoinCore);
    node.submit(&block.mine());
    let login = match node.credentials() {
        Credentials::Cookie(file) => fs::read_to_string(file).unwrap(),
        Credentials::Password { user, password } => format!("{user}:{password}"),
        Credentials::None | Credentials::Secret(_) => panic!("a node without a login"),
    };
    (node, login)
}

/// A node of Ethereum with a block of now.
#[expect(clippy::disallowed_methods, reason = "the newest block is one of now")]
fn ethereum() -> EvmNode {
    let mut node = EvmNode::start(EvmNodeKind::Geth);
    let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap();
    node.make(&NewBlock { seconds: now - node.time(), ..NewBlock::default() });
    node
}

impl World {
    /// Forwards what comes to a host outside of the cluster to a server on loopback.
    fn forward(&self, from: &str, to: &str) {
        forward(self.cluster.listen_outside(from), to.parse().unwrap());
    }

    /// A caller with the key of a tenant.
    fn caller_of(&self, tenant: &str) -> Caller {
        let template = "go-template={{index .data \"api-key\" | base64decode}}";
        let secret = ["get", "secret", "backend", "--namespace", tenant, "-o", template];
        Caller::new(self.service(), &self.cluster.kubectl(&secret))
    }

    /// Evicts a pod once its disruption budget allows it, and returns the number of refusals before.
    fn evict(&self, pod: &str) -> usize {
        let eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod, "namespace": "assay"},
        });
        let path = format!("/api/v1/namespaces/assay/pods/{pod}/eviction");
        let command = format!("echo '{eviction}' | kubectl create --raw {path} --filename -");
        let mut refusals = 0;
        wait_every(INTERVAL, PATIENCE, &format!("{pod} is evicted"), || {
            let finished = self.shell(&command);
            let is_evicted = finished.code == 0;
            if !is_evicted {
                assert!(finished.stderr.contains("disruption budget"), "{pod}: {finished:?}");
                refusals += 1;
            }
            is_evicted
        });
        refusals
    }

    /// Evicts all pods of a component, one after another, and waits until others replaced them. Returns the number of
    /// refusals by disruption budgets.
    fn evict_all(&self, component: &str) -> usize {
        let selector = format!("app.kubernetes.io/component={component}");
        let pods = || self.cluster.list("pods", "assay", &selector);
        let before = pods();
        assert!(before.len() > 1, "{component}: {before:?}");
        let names = before.iter().map(|pod| pod["metadata"]["name"].as_str().unwrap());
        let refusals = names.map(|name| self.evict(name)).sum();
        let is_new = |pod: &Value| {
            before.iter().all(|evicted| evicted["metadata"]["uid"] != pod["metadata"]["uid"])
        };
        wait_every(INTERVAL, PATIENCE, &format!("each {component} is replaced"), || {
            let pods = pods();
            pods.len() >= before.len() && pods.iter().all(|pod| is_new(pod) && is_ready(pod))
        });
        refusals
    }
}

fn is_ready(pod: &Value) -> bool {
    let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// True if an answer that no cache has is complete.
fn is_complete(caller: &Caller, (chain, address): (&str, &str)) -> bool {
    let body = json!({"blockchain": chain, "address": address}).to_string();
    let answer = caller.post("/api/v1/check/address", &body, &[("cache-control", "no-cache")]);
    answer.status == 200 && answer.json()["complete"] == true
}

/// Evicts all pods, component by component, and asserts that callers lose no request, and that answers about addresses
/// are complete afterwards.
#[expect(clippy::print_stdout, reason = "a figure is for people")]
fn assert_evictions_lose_nothing(world: &World, addresses: [(&str, &str); 2]) {
    let key = world.key();
    let traffic = Traffic::start(world.service(), &key, PAUSE);
    traffic.wait_for_requests(100);
    for component in ["server", "chain", "operator"] {
        let refusals = world.evict_all(component);
        println!("each {component} is evicted: budgets refused {refusals} evictions");
        assert!(refusals > 0, "no budget protects each {component}");
        let caller = Caller::new(world.service(), &key);
        for address in addresses {
            wait_at_most(PATIENCE, "a complete answer", || is_complete(&caller, address));
        }
        assert_eq!(traffic.take_lost(&format!("each {component} is evicted")), 0);
    }
}

#[test]
#[ignore = "needs Kubernetes node, Bitcoin Core, geth, test data"]
#[expect(clippy::print_stdout, reason = "figures are for people")]
fn the_commands_of_the_page_lead_to_final_verdicts_of_two_tenants() {
    // Given a database, a cache, two nodes and a mirror of lists outside of the cluster...
    let world = World::new();
    let (postgres, redis) = (Postgres::start(), Redis::start());
    let (bitcoin, login) = bitcoin();
    let ethereum = ethereum();
    world.forward(DATABASE, &format!("127.0.0.1:{}", postgres.port()));
    world.forward(CACHE, &format!("127.0.0.1:{}", redis.port()));
    world.forward(BITCOIN, bitcoin.url().trim_start_matches("http://"));
    world.forward(ETHEREUM, ethereum.url().trim_start_matches("http://"));
    let list = fs::read(TestData::find().ofac_unpacked(DAY)).unwrap();
    serve(world.cluster.listen_outside(MIRROR), list);
    let _volumes = world.volumes(4, "fast");
    let settings = [
        ("DATABASE", DATABASE.to_owned()),
        ("DATABASE_PARAMETERS", "sslmode=disable".to_owned()),
        ("DATABASE_ADMIN_URL", postgres.url()),
        ("CACHE", CACHE.to_owned()),
        ("CACHE_SCHEME", "redis".to_owned()),
        ("CACHE_ADMIN_URL", redis.url()),
        ("BITCOIN", BITCOIN.to_owned()),
        ("BITCOIN_LOGIN", login),
        ("ETHEREUM", ETHEREUM.to_owned()),
        ("TEST_NETWORKS", "true".to_owned()),
        ("NETWORKS", "10.20.0.0/16".to_owned()),
        ("STORAGE_CLASS", "fast".to_owned()),
    ];
    let blocks = blocks();
    let (first, commands) = blocks.split_first().unwrap();
    assert_eq!(variables(first), settings.each_ref().map(|(name, _)| *name));
    let exports = settings.map(|(name, value)| format!("export {name}='{value}'")).join("\n");

    // ...when a person runs the page's commands...
    let begun = Instant::now();
    let mut script = format!("set -e\n{exports}\nexport MIRROR=http://{MIRROR}/sdn_advanced.xml\n");
    script += &commands.join("\n");
    let said = world.shell(&format!("{script}\nkill $!")).ok();
    println!("from nothing to final verdicts: {:.1} s", begun.elapsed().as_secs_f64());

    // ...then both tenants have final verdicts, about both chains...
    let answers = verdicts(&said.stdout);
    assert_eq!(answers.len(), 2, "{said:?}");
    for answer in &answers {
        let (complete, verdict) = (&answer["complete"], &answer["verdict"]);
        assert_eq!((complete, verdict), (&true.into(), &"block".into()), "{answer:#}");
    }
    let kinds = "pods,riskservices,chainsources,intelsources,tenants,apikeys";
    println!("{}", world.kubectl(&["get", kinds, "--all-namespaces"]));
    let miner = address("btc".parse().unwrap(), MINER);
    let receiver = "0x00000000219ab540356cBB839Cbe05303d7705Fa";
    let addresses = [("btc", miner.as_str()), ("eth", receiver)];
    for (chain, address) in addresses {
        let answer = world.caller_of(TENANTS[0]).check(chain, address).json();
        assert_eq!(answer["complete"], true, "{answer:#}");
        assert_ne!(answer["verdict"], "indeterminate", "{answer:#}");
    }

    // ...no pod reaches more than it is configured for...
    for component in ["server", "chain", "operator"] {
        for pod in world.pods(component) {
            let process = world.cluster.process_of("assay", &pod);
            let metadata = "169.254.169.254:80".parse().unwrap();
            assert!(!process.connects_to(metadata), "{pod} reaches the metadata service");
        }
    }

    // ...a tenant sees its own checks alone...
    let [own, other] = TENANTS.map(|tenant| world.caller_of(tenant));
    let asked = own.check("btc", ADDRESS).json();
    let path = format!("/api/v1/checks/{}", asked["check_id"].as_str().unwrap());
    wait_at_most(PATIENCE, "the check is kept", || own.get(&path).status == 200);
    assert_eq!(other.get(&path).status, 404);
    let searched = other.get("/api/v1/checks").text;
    assert!(!searched.contains(asked["check_id"].as_str().unwrap()), "{searched}");

    // ...and callers lose nothing when all pods are evicted.
    assert_evictions_lose_nothing(&world, addresses);
    world.cluster.kubectl(&["delete", "chainsource", "--all"]);
}
