//! A scenario of real transactions and contracts on real nodes of Ethereum's kind.

use std::collections::BTreeMap;

use assay_tests::evm::{
    Address, EvmNode, EvmNodeKind, Key, NewBlock, NewTransaction, PRODUCER, address_text,
    contracts::{
        FACTORY_AT, FAILING_AT, HEIR, PROXY_AT, SPLITTER_AT, USDT, WETH, account, call, mortal,
        number, parts,
    },
    genesis::{ETHER, PARTIES},
};
use serde_json::json;

/// A validator's account that gets a withdrawal.
const VALIDATOR: Address = [0xda; 20];
/// Hundredths of an ether.
const CENTS: u128 = ETHER / 100;

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
            (*b"\x00\x00\x00\x00\x21\x9a\xb5\x40\x35\x6c\xbb\x83\x9c\xbe\x05\x30\x3d\x77\x05\xfa", "staked"),
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
            call("transfer(address,uint256)", &[account(to), number(amount)])
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
        let withdraw = call("withdraw(uint256)", &[number(25 * CENTS)]);
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
