//! A sequel on Litecoin: coins enter the extension blocks, which hide owners, and some leave them again.
//!
//! ```text
//! block
//!   147    erin ──► walter 3.92                     the last block that is made here
//!   432    walter ──► extension blocks              3.92 less the fee: the wallet keeps its change there
//!   435    extension blocks ──► yvonne 2            by the block's last transaction
//! ```
//!
//! Walter is a wallet of the node, which alone can build transactions into the extension blocks. The amount is
//! therefore what remains after the node's fee, and hashes differ from run to run.

use assay_engine::utxo::{OutPoint, Pool, ScriptOwner, Txid};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Scenario, blocks,
    cast::{address, lock},
    check::{End, ExpectedAnswer, Money},
    expected::NORTH,
    payments::coins,
};
use crate::{
    block_builder::{BlockTemplate, Transaction, TxIn, TxOut},
    nodes::Node,
};

/// The block from which on extension blocks are part of every block.
pub const FIRST: u64 = 432;
/// The block in which coins come out again.
pub const PAID_OUT: u64 = FIRST + 3;
/// The last block of the sequel.
pub const END: u64 = PAID_OUT + 1;

const FUNDED: u64 = blocks::END + 1;
const FUNDS: &str = "3.92";

/// Endpoint of money that entered or left the extension blocks, a protocol without an operator.
const POOL: &str = "privacy_protocol";
const POOLS_NAME: &str = Pool::Mweb.as_str();

/// Result of the sequel.
#[derive(Clone, Debug)]
pub struct Sequel {
    /// The transaction by which walter pays in.
    pub paid_in: Txid,
    /// The transaction by which yvonne is paid out.
    pub paid_out: Txid,
    /// Expected answers to checks of walter and of yvonne.
    pub wanted: [ExpectedAnswer; 2],
}

/// Runs the sequel on a node on which the scenario is complete.
///
/// # Panics
///
/// Panics if a call to the node does not have the expected result.
#[must_use]
pub fn play(scenario: &Scenario, node: &Node) -> Sequel {
    call(node, "createwallet", &[json!("walter")]);
    let walter = words(&call(node, "getnewaddress", &[json!(""), json!("bech32")]));
    let script = words(&call(node, "getaddressinfo", &[json!(walter)])["scriptPubKey"]);
    let script = hex::decode(script).expect("hexadecimal");
    let funding = fund(scenario, node, script.clone());

    // Another party's, so that walter has one coin only.
    let miner = test_network_address(node, "rival");
    let mine_up_to = |height: u64| {
        call(node, "generatetoaddress", &[json!(height - node.height()), json!(miner)]);
    };
    mine_up_to(FIRST - 1);
    let inside = words(&call(node, "getnewaddress", &[json!(""), json!("mweb")]));
    let paid_in = words(&call(node, "sendtoaddress", &[json!(inside), json!(3)]));
    mine_up_to(PAID_OUT - 1);
    call(node, "sendtoaddress", &[json!(test_network_address(node, "yvonne")), json!(2)]);
    mine_up_to(END);

    let first = block(node, FIRST);
    let entry = find(&first, |transaction| transaction["txid"] == *paid_in);
    // The amount is a plain decimal with at most eight decimals.
    let went_in = coins(&entry["vout"][0]["value"].to_string());
    let paying = block(node, PAID_OUT);
    let paid_out = words(&paying["tx"].as_array().and_then(|all| all.last()).expect("one")["txid"]);

    let chain = scenario.network.chain();
    let whole = coins(FUNDS);
    let walter = ExpectedAnswer {
        person: "walter".to_owned(),
        chain,
        address: ScriptOwner::from_script(chain, &script).address(chain).expect("an address"),
        tip: END,
        seen: Some((time(&block(node, FUNDED)), time(&first))),
        transfers: (1, 1),
        received: whole,
        sent: whole,
        source: vec![money("exchange", NORTH, 2, whole, &[funding, scenario.txid("payouts")])],
        destination: vec![
            money(POOL, POOLS_NAME, 1, went_in, &[txid(&paid_in)]),
            money("fee", "", 1, whole - went_in, &[txid(&paid_in)]),
        ],
    };
    let yvonne = ExpectedAnswer {
        person: "yvonne".to_owned(),
        chain,
        address: address(chain, "yvonne"),
        tip: END,
        seen: Some((time(&paying), time(&paying))),
        transfers: (1, 0),
        received: coins("2"),
        sent: 0,
        source: vec![money(POOL, POOLS_NAME, 1, coins("2"), &[txid(&paid_out)])],
        destination: vec![],
    }
    .with_held_balance();
    Sequel { paid_in: txid(&paid_in), paid_out: txid(&paid_out), wanted: [walter, yvonne] }
}

/// Pays Erin's whole balance to `script`, in the last block that this crate mines.
fn fund(scenario: &Scenario, node: &Node, script: Vec<u8>) -> Txid {
    let parent = scenario.kept.last().expect("the scenario's last block");
    let output = OutPoint { txid: scenario.txid("payouts"), index: 1 };
    let payment = Transaction::new(
        vec![TxIn::new(output, &lock("erin"))],
        vec![TxOut { value: coins(FUNDS), script }],
    );
    let txid = payment.txid();
    let template = BlockTemplate {
        network: scenario.network,
        height: FUNDED,
        parent: parent.hash,
        time: scenario.times.of_block(FUNDED),
        mark: "/sequel/",
        miner: &lock("pool"),
        fees: coins("0.01"),
        payments: vec![payment],
    };
    node.submit(&template.mine());
    txid
}

fn call(node: &Node, method: &str, parameters: &[Value]) -> Value {
    node.call(method, parameters).unwrap_or_else(|error| panic!("{method}: {error:?}"))
}

/// Address of a party in the form of the node's own test network.
fn test_network_address(node: &Node, person: &str) -> String {
    let script = json!(hex::encode(lock(person).script()));
    words(&call(node, "decodescript", &[script])["addresses"][0])
}

fn block(node: &Node, height: u64) -> Value {
    call(node, "getblock", &[json!(node.block_hash(height)), json!(2)])
}

fn find(block: &Value, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut transactions = block["tx"].as_array().into_iter().flatten();
    transactions.find(|transaction| wanted(transaction)).expect("the block holds it").clone()
}

fn time(block: &Value) -> Timestamp {
    let seconds = block["time"].as_i64().expect("seconds");
    Timestamp::from_second(seconds).expect("a time")
}

fn txid(written: &str) -> Txid {
    written.parse().expect("an identifier")
}

fn words(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn money(end: &str, entity: &str, hops: u64, amount: u64, path: &[Txid]) -> Money {
    Money {
        end: End {
            end: end.to_owned(),
            entity: entity.to_owned(),
            solicited: true,
            ..End::default()
        },
        hops,
        amount,
        share: 0,
        transactions: path.iter().map(Txid::to_string).collect(),
    }
}
