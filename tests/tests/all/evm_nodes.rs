//! A scenario of real transactions and contracts on real nodes of Ethereum's kind, and what is read of it.
//!
//! Every transfer is written down beforehand. Fees are compared by the node's own balances: with them, what each account
//! received and paid is what the node says it has.

use std::{
    collections::BTreeMap, env, fs, path::Path, process::Command, sync::Arc, thread, time::Duration,
};

use assay_tests::{
    Answer, Caller, Server, assay, binary,
    evm::{
        self, Address, EvmNode, EvmNodeKind, Key, NewBlock, NewTransaction, PRODUCER,
        abi::call,
        address_text,
        contracts::{
            FACTORY_AT, FAILING_AT, HEIR, PROXY_AT, SPLITTER_AT, USDT, WETH, mortal, parts,
        },
        genesis::{ETHER, FUNDS, PARTIES},
        limited_node::{LimitedNode, LimitedTraces},
    },
};
use assay_tests::{free_port, is_full, start_assay, tenant, wait_at_most};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A validator's account that gets a withdrawal.
const VALIDATOR: Address = [0xda; 20];
/// Time limit for a server to notice a change: it asks a node that does not answer for some time.
const PATIENCE: Duration = Duration::from_mins(3);
/// Hundredths of an ether.
const CENTS: u128 = ETHER / 100;

/// A transfer: block, kind, asset, payer, receiver and amount. Amounts of ether and of wrapped ether are in [`CENTS`], and of
/// USDT in its units.
type Expected = (u64, &'static str, &'static str, &'static str, &'static str, u128);

/// The transfers of the scenario, fees aside, in the order of the chain.
const EXPECTED: &[Expected] = &[
    (1, "transfer", "ether", "exchange", "alice", 1_000),
    (2, "transfer", "usdt", "exchange", "alice", 500_000_000),
    // The part for a contract that fails stays with the splitter, and what that contract passed on never moved.
    (3, "transfer", "ether", "alice", "splitter", 300),
    (3, "transfer", "ether", "splitter", "bob", 100),
    (3, "transfer", "ether", "splitter", "carol", 100),
    // Code of the splitter in the proxy's name pays from the proxy.
    (4, "transfer", "ether", "bob", "proxy", 200),
    (4, "transfer", "ether", "proxy", "carol", 200),
    // Ether in, units of the token out: the token logs no transfer.
    (5, "transfer", "ether", "carol", "weth", 150),
    (5, "mint", "weth", "nobody", "carol", 150),
    (6, "transfer", "weth", "carol", "bob", 50),
    (6, "burn", "weth", "carol", "nobody", 25),
    (6, "transfer", "ether", "weth", "carol", 25),
    (7, "create", "ether", "alice", "mortal", 70),
    (8, "transfer", "ether", "bob", "mortal", 10),
    (8, "transfer", "ether", "mortal", "heir", 80),
    (9, "transfer", "ether", "carol", "factory", 30),
    (9, "create", "ether", "factory", "child", 30),
    // A transfer of nothing is recorded: it is how addresses are imitated. One that fails is not.
    (10, "transfer", "usdt", "stranger", "alice", 0),
    (11, "transfer", "ether", "mixer", "exchange", 500),
    (11, "transfer", "ether", "bob", "alice", 1),
];

/// The withdrawal that only geth's block has. The record has no payer: ledgers book it from the contract of deposits.
const WITHDRAWN: Expected = (1, "withdrawal", "ether", "nobody", "validator", 300);

/// The parties of the scenario on a node.
struct Scenario {
    node: EvmNode,
    keys: BTreeMap<&'static str, Key>,
    names: BTreeMap<String, &'static str>,
}

impl Scenario {
    fn new(kind: EvmNodeKind) -> Self {
        let keys: BTreeMap<_, _> = PARTIES.map(|name| (name, Key::of(name))).into();
        let contracts = [
            (SPLITTER_AT, "splitter"),
            (PROXY_AT, "proxy"),
            (FAILING_AT, "failing"),
            (FACTORY_AT, "factory"),
            (HEIR, "heir"),
            (USDT, "usdt"),
            (WETH, "weth"),
            (PRODUCER, "producer"),
            (VALIDATOR, "validator"),
            ([0; 20], "nobody"),
        ];
        let parties = keys.iter().map(|(name, key)| (key.address, *name));
        let names = parties.chain(contracts).map(|(at, name)| (address_text(&at), name)).collect();
        Self { node: EvmNode::start(kind), keys, names }
    }

    fn address(&self, name: &str) -> Address {
        self.keys[name].address
    }

    fn sign(&mut self, from: &'static str, transaction: &NewTransaction) -> Vec<u8> {
        self.keys.get_mut(from).unwrap().sign(transaction)
    }

    /// Makes a block of transactions: senders, receivers, hundredths of an ether, and inputs.
    fn block(&mut self, transactions: &[(&'static str, Address, u128, Vec<u8>)]) {
        let signed = transactions.iter().map(|(from, to, value, input)| {
            self.sign(from, &NewTransaction::call(*to, value * CENTS, input.clone()))
        });
        let block = NewBlock::of(signed.collect());
        self.node.make(&block);
    }

    /// Plays blocks 1 to 11.
    fn play(&mut self) {
        let [alice, bob, carol, exchange] =
            ["alice", "bob", "carol", "exchange"].map(|name| self.address(name));
        let transfer = |to: &Address, amount: u128| {
            call("transfer(address,uint256)", &[(*to).into(), amount.into()])
        };
        let withdrawals = match self.node.kind {
            EvmNodeKind::Geth => vec![(VALIDATOR, 3_000_000_000)],
            EvmNodeKind::Anvil => Vec::new(),
        };
        let funds = self.sign("exchange", &NewTransaction::payment(alice, 10 * ETHER));
        self.node.make(&NewBlock { withdrawals, ..NewBlock::of(vec![funds]) });
        self.block(&[("exchange", USDT, 0, transfer(&alice, 500_000_000))]);
        let split = [(bob, ETHER), (FAILING_AT, ETHER), (carol, ETHER)];
        self.block(&[("alice", SPLITTER_AT, 300, parts(&split))]);
        self.block(&[("bob", PROXY_AT, 200, parts(&[(carol, 2 * ETHER)]))]);
        self.block(&[("carol", WETH, 150, call("deposit()", &[]))]);
        let withdraw = call("withdraw(uint256)", &[(25 * CENTS).into()]);
        self.block(&[("carol", WETH, 0, transfer(&bob, 50 * CENTS)), ("carol", WETH, 0, withdraw)]);
        let created =
            NewTransaction { to: None, ..NewTransaction::call([0; 20], 70 * CENTS, mortal()) };
        let created = self.sign("alice", &created);
        self.node.make(&NewBlock::of(vec![created]));
        let receipt = &self.node.receipts(7)[0];
        let at = receipt["contractAddress"].as_str().unwrap().to_owned();
        let mut contract = [0; 20];
        hex::decode_to_slice(&at[2..], &mut contract).unwrap();
        self.names.insert(at, "mortal");
        self.block(&[("bob", contract, 10, Vec::new())]);
        self.block(&[("carol", FACTORY_AT, 30, Vec::new())]);
        self.block(&[
            ("stranger", USDT, 0, transfer(&alice, 0)),
            ("bob", USDT, 0, transfer(&alice, 1)),
        ]);
        self.block(&[("mixer", exchange, 500, Vec::new()), ("bob", alice, 1, Vec::new())]);
    }

    /// The command that ingests the node's chain.
    fn ingest(&self) -> Vec<String> {
        let url = self.node.url();
        let words = ["ingest", "chain", "eth", "--test-network", "--rpc", &url];
        words.map(str::to_owned).to_vec()
    }

    /// The recorded transfers.
    fn recorded(&self, directory: &Path) -> Vec<Recorded> {
        let rows = export_rows(directory).into_iter();
        rows.filter(|row| !is_fact(row)).map(|row| self.named(&row)).collect()
    }

    /// The accounts that are recorded as contracts, by the blocks that show it.
    fn contracts(&self, directory: &Path) -> Vec<(u64, String)> {
        let rows = export_rows(directory).into_iter().filter(|row| row["kind"] == "code");
        let name =
            |row: &Value| self.names[&row["from"].as_str().unwrap().to_lowercase()].to_owned();
        rows.map(|row| (row["block"].as_u64().unwrap(), name(&row))).collect()
    }

    fn named(&self, row: &Value) -> Recorded {
        let name = |field: &str| {
            let text = row[field].as_str().unwrap().to_lowercase();
            // Accounts that contracts create have no other name.
            self.names.get(&text).copied().unwrap_or("child").to_owned()
        };
        let asset = match row["asset"].as_str().unwrap() {
            "native" => "ether".to_owned(),
            _ => name("asset"),
        };
        Recorded {
            block: row["block"].as_u64().unwrap(),
            kind: row["kind"].as_str().unwrap().to_owned(),
            asset,
            from: name("from"),
            to: name("to"),
            amount: row["amount"].as_str().unwrap().parse().unwrap(),
        }
    }

    /// Asserts that the recorded transfers are the expected ones, and that with the fees they give the node's balances.
    fn check(&self, directory: &Path, expected: &[Expected]) {
        let recorded = self.recorded(directory);
        let payments = recorded.iter().filter(|it| it.kind != "fee" && it.block > 0);
        let payments: Vec<Recorded> = payments.cloned().collect();
        let expected: Vec<Recorded> = expected.iter().map(Recorded::of).collect();
        assert_eq!(payments, expected, "{}", self.node.kind);
        let mut sums: BTreeMap<&str, i128> = BTreeMap::new();
        for transfer in recorded.iter().filter(|it| it.asset == "ether" && it.block > 0) {
            let amount = i128::try_from(transfer.amount).unwrap();
            *sums.entry(&transfer.from).or_default() -= amount;
            *sums.entry(&transfer.to).or_default() += amount;
        }
        for (address, name) in self.names.iter().filter(|(_, name)| **name != "nobody") {
            let mut at = [0; 20];
            hex::decode_to_slice(&address[2..], &mut at).unwrap();
            let funds = if PARTIES.contains(name) { FUNDS } else { 0 };
            let sum = sums.get(name).copied().unwrap_or_default();
            let balance = i128::try_from(self.node.balance(&at)).unwrap();
            assert_eq!(
                i128::try_from(funds).unwrap() + sum,
                balance,
                "{name} on {}",
                self.node.kind
            );
        }
    }
}

/// The recorded transfers and facts about contracts, as `assay export` writes them.
fn export_rows(directory: &Path) -> Vec<Value> {
    let export = ["export", "transfers", "eth", "--format", "jsonl"];
    let lines = assay(directory, export).ok().stdout;
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// True for a row that moves nothing: it says that an account is a contract, or whom a contract names.
fn is_fact(row: &Value) -> bool {
    ["code", "beneficiary", "holder"].iter().any(|kind| row["kind"] == *kind)
}

/// A recorded transfer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Recorded {
    block: u64,
    kind: String,
    asset: String,
    from: String,
    to: String,
    amount: u128,
}

impl Recorded {
    fn of(&(block, kind, asset, from, to, amount): &Expected) -> Self {
        let amount = if asset == "usdt" { amount } else { amount * CENTS };
        let [kind, asset, from, to] = [kind, asset, from, to].map(str::to_owned);
        Self { block, kind, asset, from, to, amount }
    }
}

/// The expected transfers on a kind of node.
fn expected(kind: EvmNodeKind) -> Vec<Expected> {
    let mut all = EXPECTED.to_vec();
    if kind == EvmNodeKind::Geth {
        all.insert(1, WITHDRAWN);
    }
    all
}

fn is_played(kind: EvmNodeKind) {
    // Given a node on which the scenario was played...
    let mut scenario = Scenario::new(kind);
    scenario.play();
    // ...then all transactions succeeded but the one that pays more than the payer has...
    let failed: Vec<(u64, usize)> = (1..=11)
        .flat_map(|height| {
            let receipts = scenario.node.receipts(height).into_iter().enumerate();
            let failed = receipts.filter(|(_, receipt)| receipt["status"] == "0x0");
            failed.map(|(at, _)| (height, at)).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(failed, [(10, 1)], "{kind}");
    // ...and the contracts hold what they should.
    for (at, cents) in [(SPLITTER_AT, 100), (FAILING_AT, 0), (PROXY_AT, 0), (HEIR, 80), (WETH, 125)]
    {
        assert_eq!(
            scenario.node.balance(&at),
            cents * CENTS,
            "{} on {kind}",
            scenario.names[&address_text(&at)]
        );
    }
    // Another branch has other blocks of the same heights.
    let node = &mut scenario.node;
    let before = [9, 10].map(|height| node.hash_at(height));
    node.rewind(9);
    node.make_empty(3, 1);
    assert_eq!((node.height(), node.hash_at(9)), (12, before[0].clone()));
    assert_ne!(node.hash_at(10), before[1]);
}

#[test]
#[ignore = "needs geth"]
fn geth_plays_the_scenario_and_calls_blocks_final() {
    is_played(EvmNodeKind::Geth);
    let mut node = EvmNode::start(EvmNodeKind::Geth);
    node.make_empty(5, 0);
    node.finalize(3);
    let last = node.call("eth_getBlockByNumber", &[json!("finalized"), json!(false)]).unwrap();
    assert_eq!(last["number"], "0x3");
}

#[test]
#[ignore = "needs anvil"]
fn anvil_plays_the_scenario() {
    is_played(EvmNodeKind::Anvil);
}

fn is_read_as_expected(kind: EvmNodeKind) {
    // Given a node on which the scenario was played...
    let mut scenario = Scenario::new(kind);
    scenario.play();
    // ...then its transfers are those of the scenario.
    let directory = tempfile::tempdir().unwrap();
    let report = assay(directory.path(), [scenario.ingest(), vec!["--json".into()]].concat());
    let report = report.ok().json();
    assert_eq!(report["latest_block_height"], 11, "{report}");
    scenario.check(directory.path(), &expected(kind));
    // Contracts that log or call are told from other accounts.
    let contracts = [(3, "splitter"), (4, "proxy"), (5, "weth"), (6, "weth"), (9, "factory")];
    let contracts = contracts.map(|(block, name)| (block, name.to_owned()));
    assert_eq!(scenario.contracts(directory.path()), contracts, "{kind}");
    if kind == EvmNodeKind::Geth {
        // The coins of the first block are in the file that the node was started with.
        let file = directory.path().join("genesis.json");
        fs::write(&file, evm::genesis::genesis().to_string()).unwrap();
        let genesis = vec!["--genesis".to_owned(), file.display().to_string()];
        let whole = tempfile::tempdir().unwrap();
        let _ = assay(whole.path(), [scenario.ingest(), genesis].concat()).ok();
        let mut first = scenario.recorded(whole.path());
        first.retain(|it| it.block == 0);
        let has_funds = |name: &str| {
            first.iter().any(|it| it.kind == "reward" && it.to == name && it.amount == FUNDS)
        };
        assert!(PARTIES.into_iter().all(has_funds), "{first:?}");
    }
}

#[test]
#[ignore = "needs geth"]
fn the_scenario_on_geth_is_read_as_expected() {
    is_read_as_expected(EvmNodeKind::Geth);
}

#[test]
#[ignore = "needs anvil"]
fn the_scenario_on_anvil_is_read_as_expected() {
    is_read_as_expected(EvmNodeKind::Anvil);
}

fn both_tracers_give_equal_transfers(kind: EvmNodeKind) {
    // Given a node on which the scenario was played, and the same node without its call tracer...
    let mut scenario = Scenario::new(kind);
    scenario.play();
    let flat = LimitedNode::start(&scenario.node, LimitedTraces::Flat);
    let read = |url: String| {
        let directory = tempfile::tempdir().unwrap();
        let ingest = ["ingest", "chain", "eth", "--test-network", "--rpc", &url];
        let _ = assay(directory.path(), ingest).ok();
        // Flat traces do not say which transfers of coins are before the logs of a transaction.
        let mut recorded = scenario.recorded(directory.path());
        recorded.sort();
        (recorded, scenario.contracts(directory.path()))
    };
    // ...then the transfers and contracts of both are equal, and those of the scenario.
    let recorded = read(flat.url());
    assert_eq!(recorded, read(scenario.node.url()), "{kind}");
    let (recorded, _) = recorded;
    let is_payment = |it: &&Recorded| it.kind != "fee" && it.block > 0;
    let mut wanted: Vec<Recorded> = expected(kind).iter().map(Recorded::of).collect();
    wanted.sort();
    assert_eq!(recorded.iter().filter(is_payment).cloned().collect::<Vec<_>>(), wanted);
}

#[test]
#[ignore = "needs geth"]
fn both_tracers_of_geth_give_equal_transfers() {
    both_tracers_give_equal_transfers(EvmNodeKind::Geth);
}

#[test]
#[ignore = "needs anvil"]
fn both_tracers_of_anvil_give_equal_transfers() {
    both_tracers_give_equal_transfers(EvmNodeKind::Anvil);
}

/// Given a node on which the scenario was played, and one that cannot trace its transactions and states balances before and after
/// them, then every account has the same coins by both, but in a block of which it is told that not all is known.
fn balances_show_what_accounts_have(kind: EvmNodeKind) {
    let mut scenario = Scenario::new(kind);
    scenario.play();
    let limited = LimitedNode::start(&scenario.node, LimitedTraces::Balances);
    let read = |url: String| {
        let directory = tempfile::tempdir().unwrap();
        let ingest = ["ingest", "chain", "eth", "--test-network", "--rpc", &url];
        let said = assay(directory.path(), ingest).ok().stderr;
        let mut coins: BTreeMap<(u64, String), i128> = BTreeMap::new();
        let recorded = scenario.recorded(directory.path()).into_iter();
        for it in recorded.filter(|it| it.asset == "ether" && it.block > 0) {
            let amount = i128::try_from(it.amount).unwrap();
            *coins.entry((it.block, it.to)).or_default() += amount;
            *coins.entry((it.block, it.from)).or_default() -= amount;
        }
        coins.retain(|_, sum| *sum != 0);
        (coins, said)
    };
    let (traced, _) = read(scenario.node.url());
    let (by_balances, said) = read(limited.url());
    let lacking: Vec<u64> = (1..=11)
        .filter(|block| {
            said.lines().any(|line| {
                line.contains(&format!("height={block} ")) && !line.contains("lacking=0")
            })
        })
        .collect();
    let known = |coins: &BTreeMap<(u64, String), i128>| {
        let known = coins.iter().filter(|((block, _), _)| !lacking.contains(block));
        known.map(|(key, sum)| (key.clone(), *sum)).collect::<Vec<_>>()
    };
    assert_eq!(known(&by_balances), known(&traced), "{said}");
    // A contract that destroys itself may be left out of the balances afterwards.
    assert!(lacking.iter().all(|block| *block == 8), "{lacking:?}: {said}");
}

#[test]
#[ignore = "needs geth"]
fn balances_of_geth_show_what_accounts_have() {
    balances_show_what_accounts_have(EvmNodeKind::Geth);
}

#[test]
#[ignore = "needs anvil"]
fn balances_of_anvil_show_what_accounts_have() {
    balances_show_what_accounts_have(EvmNodeKind::Anvil);
}

#[test]
#[ignore = "needs geth"]
fn a_killed_ingest_and_reorganizations_leave_what_one_pass_gives() {
    // Given a follower of a node that is killed again and again...
    let mut scenario = Scenario::new(EvmNodeKind::Geth);
    scenario.play();
    let directory = tempfile::tempdir().unwrap();
    let follow =
        [scenario.ingest(), vec!["--follow".into(), "--every".into(), "1".into()]].concat();
    let (rounds, deepest) = if is_full() { (50, 70) } else { (6, 9) };
    let alice = scenario.address("alice");
    for round in 0..rounds {
        let mut follower = start_assay(directory.path(), &follow);
        // ...at a moment of its own each time...
        thread::sleep(Duration::from_millis(40 + 97 * (round * 7 % 12)));
        follower.kill().unwrap();
        follower.wait().unwrap();
        // ...while the node replaces blocks, a few and many.
        let depth = round * 31 % (deepest + 1);
        let height = scenario.node.height();
        scenario.node.rewind(height - depth.min(height - 11));
        // A transaction of blocks that were replaced is lost.
        let nonce = scenario.node.nonce(&scenario.address("stranger"));
        scenario.keys.get_mut("stranger").unwrap().nonce = nonce;
        let branch = u8::try_from(round).unwrap();
        let paid = scenario.sign("stranger", &NewTransaction::payment(alice, u128::from(branch)));
        let block = NewBlock { branch, ..NewBlock::of(vec![paid]) };
        scenario.node.make(&block);
        scenario.node.make_empty(2 + depth, branch);
    }
    let _ = assay(directory.path(), scenario.ingest()).ok();
    // ...then what is recorded is what one pass over the last branch gives.
    let anew = tempfile::tempdir().unwrap();
    let _ = assay(anew.path(), scenario.ingest()).ok();
    let recorded = scenario.recorded(directory.path());
    assert_eq!(recorded, scenario.recorded(anew.path()));
    let newest = recorded.last().unwrap().block;
    assert_eq!(revision(directory.path()), revision(anew.path()), "up to {newest}");
}

/// The block and the digest of all transfers that a check rests on.
fn revision(directory: &Path) -> Value {
    let account = address_text(&Key::of("alice").address);
    let check = ["check", "eth", &account, "--json"];
    assay(directory, check).json()["data_revision"]["chain"].clone()
}

#[test]
#[ignore = "needs geth"]
fn a_branch_below_a_final_block_is_refused_until_it_is_accepted() {
    // Given an ingested node that called block 4 final...
    let mut node = EvmNode::start(EvmNodeKind::Geth);
    node.make_empty(8, 0);
    node.finalize(4);
    let directory = tempfile::tempdir().unwrap();
    let url = node.url();
    let ingest = ["ingest", "chain", "eth", "--test-network", "--json", "--rpc", &url];
    let report = assay(directory.path(), ingest).ok().json();
    assert_eq!(report["finalized_block_height"], 4, "{report}");
    // ...and another node whose chain leaves below this block...
    let mut other = EvmNode::start(EvmNodeKind::Geth);
    other.make_empty(3, 0);
    other.make_empty(9, 1);
    let url = other.url();
    let ingest = ["ingest", "chain", "eth", "--test-network", "--json", "--rpc", &url];
    // ...then it is not followed, and the error says how it would be.
    let refused = assay(directory.path(), ingest);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("although a source called block 4 final"),
        "{}",
        refused.stderr
    );
    let newest = other.hash_at(12);
    assert!(refused.stderr.contains(&newest[2..]), "{}", refused.stderr);
    let accept = [&ingest[..], &["--accept-branch", &newest[2..]]].concat();
    let report = assay(directory.path(), accept).ok().json();
    assert_eq!(report["reorganizations"][0]["removed_blocks"], 5, "{report}");
}

#[test]
#[ignore = "needs geth"]
fn a_node_is_read_up_to_the_block_that_it_calls_final() {
    // Given a node that calls block 4 of 8 safe and final...
    let mut node = EvmNode::start(EvmNodeKind::Geth);
    node.make_empty(8, 0);
    node.finalize(4);
    let url = node.url();
    let read_up_to = |newest: &str| {
        let directory = tempfile::tempdir().unwrap();
        let ingest = [
            "ingest",
            "chain",
            "eth",
            "--test-network",
            "--json",
            "--rpc",
            &url,
            "--newest",
            newest,
        ];
        let report = assay(directory.path(), ingest).ok().json();
        report["latest_block_height"].as_u64().unwrap()
    };
    // ...then it is read up to it where that is wanted.
    assert_eq!(["latest", "safe", "final"].map(read_up_to), [8, 4, 4]);
}

/// Starts a server that follows a node by its manifest, with a caller of its tenant.
fn serve(node: &EvmNode, directory: TempDir) -> (Server, Caller) {
    let manifest = format!(
        "apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {{name: ethereum}}\nspec:\n  chain: eth\n  \
         mode: follow\n  protocol: rpc\n  endpoint: {}\n  allowTestNetwork: true\n---\n{}",
        node.url(),
        tenant("acme", "business")
    );
    fs::write(directory.path().join("manifests.yaml"), manifest).unwrap();
    let _ = assay(directory.path(), ["apply", "--file", "manifests.yaml"]).ok();
    let key = assay(directory.path(), ["keys", "create", "--tenant", "acme"]).ok().stdout;
    let server = Server::start(Arc::new(directory), &["--feeds", "on"]);
    let caller = server.caller(key.trim());
    (server, caller)
}

/// The answer to a question that is repeated until the tenant's plan permits it.
fn within_limits(ask: impl Fn() -> Answer) -> Answer {
    loop {
        let answer = ask();
        if answer.status != 429 {
            return answer;
        }
        thread::sleep(Duration::from_secs(1));
    }
}

#[test]
#[ignore = "needs geth"]
fn two_chain_servers_follow_a_node_and_answer_while_one_is_stopped() {
    // Given two chain servers, each with a graph of its own, that follow a node, and an API server that asks both...
    let mut scenario = Scenario::new(EvmNodeKind::Geth);
    scenario.play();
    let url = scenario.node.url();
    let prepared = || {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join("tenant.yaml"), tenant("acme", "business")).unwrap();
        let _ = assay(directory.path(), ["apply", "--file", "tenant.yaml"]).ok();
        directory
    };
    let servers = [(), ()].map(|()| {
        Server::start_chain(Arc::new(prepared()), &["eth", "--rpc", &url, "--test-network"])
    });
    let directory = prepared();
    let key = assay(directory.path(), ["keys", "create", "--tenant", "acme"]).ok().stdout;
    let asked = servers.each_ref().map(|server| format!("eth=http://{}", server.api)).join(",");
    let api = Server::start(Arc::new(directory), &["--chain-servers", &asked]);
    let caller = api.caller(key.trim());
    let of_transfer = |transaction: &str| {
        let body =
            json!({ "blockchain": "eth", "transaction": transaction, "direction": "deposit" });
        let answer =
            within_limits(|| caller.post("/api/v1/check/transfer", &body.to_string(), &[]));
        let mut answer = (answer.status == 200).then(|| answer.json()["transfer"].take())?;
        // A server has read as many of the later blocks as it had time for.
        answer.as_object_mut().unwrap().remove("confirmations");
        Some(answer)
    };
    // ...when a deposit is mined, then its check finds it...
    let exchange = scenario.address("exchange");
    let mut deposit = |block: u64| {
        let paid = scenario.sign("bob", &NewTransaction::payment(exchange, ETHER));
        scenario.node.make(&NewBlock::of(vec![paid]));
        scenario.node.receipts(block)[0]["transactionHash"].as_str().unwrap().to_owned()
    };
    let first = deposit(12);
    wait_at_most(PATIENCE, "the deposit is read", || of_transfer(&first).is_some());
    let told = of_transfer(&first);
    // ...and goes on finding it, and a later one, while either server is stopped.
    for (stopped, block) in servers.iter().zip(13..) {
        stopped.signal("STOP");
        assert_eq!(of_transfer(&first), told);
        let later = deposit(block);
        wait_at_most(PATIENCE, "the later deposit is read", || of_transfer(&later).is_some());
        stopped.signal("CONT");
        wait_at_most(PATIENCE, "both servers are heard", || {
            api.metric::<u64>("assay_chain_servers_silent{chain=\"eth\"}") == 0
        });
    }
}

#[test]
#[ignore = "needs geth"]
fn a_token_that_logged_more_than_it_says_is_told_by_a_later_check() {
    // Given two accounts that got dollars by their logs, of which the token says less of one afterwards...
    let mut scenario = Scenario::new(EvmNodeKind::Geth);
    let [alice, bob] = ["alice", "bob"].map(|name| scenario.address(name));
    let dollars =
        |to: &Address| call("transfer(address,uint256)", &[(*to).into(), 500_000_000.into()]);
    scenario.block(&[("exchange", USDT, 0, dollars(&alice)), ("exchange", USDT, 0, dollars(&bob))]);
    let lie = call("setBalance(address,uint256)", &[alice.into(), 1.into()]);
    scenario.block(&[("exchange", USDT, 0, lie)]);
    let directory = tempfile::tempdir().unwrap();
    let _ = assay(directory.path(), scenario.ingest()).ok();
    let (_server, caller) = serve(&scenario.node, directory);
    // ...when a server that follows the node is asked about both...
    let told = |account: &Address| {
        let body = json!({ "blockchain": "eth", "address": address_text(account) });
        let headers = [("Cache-Control", "no-cache")];
        let answer =
            within_limits(|| caller.post("/api/v1/check/address", &body.to_string(), &headers));
        assert_eq!(answer.status, 200, "{}", answer.json());
        let answer = answer.json();
        let reasons = answer["reasons"].as_array().unwrap().clone();
        reasons.into_iter().find(|reason| reason["code"] == "ledger_mismatch")
    };
    assert_eq!(told(&bob), None);
    // ...then a later answer tells it of the one.
    wait_at_most(PATIENCE, "the mismatch is told", || {
        thread::sleep(Duration::from_secs(1));
        told(&alice).is_some()
    });
    let message = told(&alice).unwrap()["message"].as_str().unwrap().to_owned();
    assert!(message.contains("less USDT"), "{message}");
    assert_eq!(told(&bob), None);
}

#[test]
#[ignore = "needs geth"]
fn a_deposit_on_a_node_is_guarded_by_a_check_of_its_transfer() {
    // Given a server that follows a node by its manifest, and a label of a mixer...
    let mut scenario = Scenario::new(EvmNodeKind::Geth);
    scenario.play();
    let directory = TempDir::new().unwrap();
    let mixer = address_text(&scenario.address("mixer"));
    let labels = format!(
        "blockchain,address,category,tier,confidence,entity\neth,{mixer},mixer,investigation,95,Example Mixer\n"
    );
    fs::write(directory.path().join("labels.csv"), labels).unwrap();
    let import = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "own"];
    let _ = assay(directory.path(), import).ok();
    let (server, caller) = serve(&scenario.node, directory);
    // ...when the mixer pays into the exchange's wallet...
    let exchange = scenario.address("exchange");
    let deposit = scenario.sign("mixer", &NewTransaction::payment(exchange, 2 * ETHER));
    scenario.node.make(&NewBlock::of(vec![deposit]));
    let txid = scenario.node.receipts(12)[0]["transactionHash"].as_str().unwrap().to_owned();
    let body = json!({ "blockchain": "eth", "transaction": txid, "direction": "deposit" });
    let check = || within_limits(|| caller.post("/api/v1/check/transfer", &body.to_string(), &[]));
    let mut answer = Value::Null;
    wait_at_most(PATIENCE, "the deposit is read", || {
        answer = check().json();
        answer["verdict"].is_string()
    });
    // ...then the check of the deposit withholds it.
    assert_eq!(answer["verdict"], "review", "{answer:#}");
    let parties = answer["exposure"].as_array().unwrap();
    assert!(parties.iter().any(|line| line["category"] == "mixer"), "{answer:#}");
    // A node that is gone is told where sources are listed, until it is back.
    let told = || server.assay(&["sources"]).stdout;
    assert!(!told().contains("chain-eth: "), "{}", told());
    scenario.node.stop();
    wait_at_most(PATIENCE, "the node is missed", || told().contains("does not answer"));
    scenario.node.launch();
    wait_at_most(PATIENCE, "the node is back", || !told().contains("chain-eth: "));
}

/// The answer about an account on a day, or today.
fn check_of(directory: &Path, account: &Address, day: Option<&str>) -> Value {
    let account = address_text(account);
    let mut check = vec!["check", "eth", &account, "--json"];
    check.extend(day.into_iter().flat_map(|day| ["--as-of", day]));
    assay(directory, check).json()
}

/// The verdict on an account on a day, or today, and the statuses of its labels.
fn frozen_state(
    directory: &Path,
    account: &Address,
    day: Option<&str>,
) -> (String, Vec<(String, String)>) {
    let answer = check_of(directory, account, day);
    let labels = answer["labels"].as_array().unwrap().iter();
    let labels = labels.map(|label| {
        let text = |field: &str| label[field].as_str().unwrap().to_owned();
        (text("category"), text("status"))
    });
    (answer["verdict"].as_str().unwrap().to_owned(), labels.collect())
}

#[test]
#[ignore = "needs geth"]
fn freezes_of_an_issuer_are_labels_from_their_block_on_until_they_are_lifted() {
    // Given a payer of dollars, whom the issuer froze two days after the payment, with an account that was never used...
    const DAY: u64 = 86_400;
    let mut scenario = Scenario::new(EvmNodeKind::Geth);
    let [alice, bob] = ["alice", "bob"].map(|name| scenario.address(name));
    let unused = Key::of("unused").address;
    let token = |name: &str, of: &Address| call(name, &[(*of).into()]);
    let dollars = call("transfer(address,uint256)", &[alice.into(), 500_000_000.into()]);
    scenario.block(&[("exchange", USDT, 0, dollars)]);
    let dollars = call("transfer(address,uint256)", &[bob.into(), 100_000_000.into()]);
    scenario.block(&[("alice", USDT, 0, dollars)]);
    let of_issuer = |scenario: &mut Scenario, inputs: Vec<Vec<u8>>| {
        let signed = inputs
            .into_iter()
            .map(|input| scenario.sign("exchange", &NewTransaction::call(USDT, 0, input)));
        let block = NewBlock { seconds: 2 * DAY, ..NewBlock::of(signed.collect()) };
        scenario.node.make(&block);
    };
    let freeze = "addBlackList(address)";
    let frozen = [&alice, &unused].map(|account| token(freeze, account));
    of_issuer(&mut scenario, frozen.to_vec());
    let directory = tempfile::tempdir().unwrap();
    let _ = assay(directory.path(), scenario.ingest()).ok();
    let label = |status: &str| vec![("issuer_frozen".to_owned(), status.to_owned())];
    // ...then both are reviewed, with the transaction as evidence, but nobody whom it had paid...
    let state = |account: &Address, day| frozen_state(directory.path(), account, day);
    for account in [&alice, &unused] {
        assert_eq!(state(account, None), ("review".to_owned(), label("in_force")));
    }
    let transaction = scenario.node.receipts(3)[0]["transactionHash"].as_str().unwrap().to_owned();
    let evidence = &check_of(directory.path(), &alice, None)["labels"][0];
    assert_eq!(evidence["reference"], transaction, "{evidence:#}");
    assert_eq!(evidence["tier"], "on_chain_proof", "{evidence:#}");
    let of_payee = check_of(directory.path(), &bob, None);
    assert_ne!(of_payee["verdict"], "review", "{of_payee:#}");
    let wallets = of_payee["associated_wallets"].as_array().unwrap();
    let is_payer = |wallet: &&Value| {
        wallet["address"].as_str().unwrap().eq_ignore_ascii_case(&address_text(&alice))
    };
    let payer = wallets.iter().find(is_payer).unwrap();
    assert_eq!(payer["categories"], json!(["issuer_frozen"]), "{of_payee:#}");
    // ...and on the day before neither was.
    assert_eq!(state(&alice, Some("2023-11-15")).1, []);
    assert_ne!(state(&alice, Some("2023-11-15")).0, "review");
    assert_eq!(state(&alice, Some("2023-11-16")), ("review".to_owned(), label("in_force")));
    // When the freeze is lifted, then it is history...
    of_issuer(&mut scenario, vec![token("removeBlackList(address)", &alice)]);
    let _ = assay(directory.path(), scenario.ingest()).ok();
    assert_ne!(state(&alice, None).0, "review");
    assert_eq!(state(&alice, None).1, label("not_in_force"));
    assert_eq!(state(&alice, Some("2023-11-17")), ("review".to_owned(), label("in_force")));
    // ...unless the chain loses the block that did it...
    scenario.node.rewind(3);
    scenario.node.make_empty(2, 1);
    let _ = assay(directory.path(), scenario.ingest()).ok();
    assert_eq!(state(&alice, None), ("review".to_owned(), label("in_force")));
    // ...or the one that froze them.
    scenario.node.rewind(2);
    scenario.node.make_empty(4, 2);
    let _ = assay(directory.path(), scenario.ingest()).ok();
    for account in [&alice, &unused] {
        assert_eq!(state(account, None).1, []);
        assert_ne!(state(account, None).0, "review");
    }
}

#[test]
#[ignore = "needs geth"]
fn what_a_frozen_account_pays_afterwards_is_reviewed() {
    // Given an account that pays ether before an issuer of dollars froze it, and after...
    let mut scenario = Scenario::new(EvmNodeKind::Geth);
    let [alice, bob] = ["alice", "bob"].map(|name| scenario.address(name));
    let later = Key::of("unused").address;
    scenario.block(&[("exchange", alice, 1_000, Vec::new())]);
    scenario.block(&[("alice", bob, 200, Vec::new())]);
    scenario.block(&[("exchange", USDT, 0, call("addBlackList(address)", &[alice.into()]))]);
    scenario.block(&[("alice", later, 200, Vec::new())]);
    let directory = tempfile::tempdir().unwrap();
    let _ = assay(directory.path(), scenario.ingest()).ok();
    // ...then the later payment is reviewed, by its transaction and by its receiver, and the earlier one is not.
    for (account, block, is_later) in [(&later, 4, true), (&bob, 2, false)] {
        let id = scenario.node.receipts(block)[0]["transactionHash"].as_str().unwrap().to_owned();
        let check = ["check-transfer", "eth", &id, "--direction", "deposit", "--json"];
        let of_transfer = assay(directory.path(), check).json();
        let of_receiver = check_of(directory.path(), account, None);
        for answer in [of_transfer, of_receiver] {
            assert_eq!(answer["verdict"] == "review", is_later, "{answer:#}");
            let carries = answer["exposure"].to_string().contains("issuer_frozen");
            assert_eq!(carries, is_later, "{answer:#}");
        }
    }
}

#[test]
#[ignore = "needs geth"]
fn the_commands_of_the_evaluation_lead_to_a_review() {
    // Given the commands of the page, on free ports...
    let page = include_str!("../../../docs/ethereum.md");
    let commands: Vec<&str> =
        page.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    assert_eq!(commands.len(), 4);
    let mut script = "set -eu\ntrap 'kill $(jobs -p)' EXIT\n".to_owned() + &commands.concat();
    for port in ["8545", "8080", "9090"] {
        script = script.replace(port, &free_port().to_string());
    }
    // ...in an empty folder...
    let directory = tempfile::tempdir().unwrap();
    let search = [binary(), evm::geth()].map(|program| program.parent().unwrap().to_owned());
    let usual = env::split_paths(&env::var_os("PATH").unwrap()).collect::<Vec<_>>();
    let ran = Command::new("bash")
        .args(["-c", &script])
        .current_dir(directory.path())
        .env("PATH", env::join_paths(search.into_iter().chain(usual)).unwrap())
        .env("HOME", directory.path())
        .output()
        .unwrap();
    let log = fs::read_to_string(directory.path().join("assay.log")).unwrap_or_default();
    let told = format!("{}\n{}\n{log}", text(&ran.stdout), text(&ran.stderr));
    assert!(ran.status.success(), "{told}");
    // ...then they print what the page says.
    let printed = text(&ran.stdout);
    let last = printed.rsplit_once("\n{").map(|(_, last)| format!("{{{last}"));
    let last: Value = serde_json::from_str(&last.expect(&told)).expect(&told);
    assert_eq!(last["verdict"], "review", "{told}");
    assert!(last["exposure"].as_array().unwrap().contains(&json!("mixer")), "{told}");
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
