//! Outage and return of a chain's node, and servers that follow it.

use assay_tests::{
    Caller, Server, WallClock,
    nodes::{Credentials, Node, NodeKind},
    platform::Platform,
    wait_at_most,
};
use serde_json::{Value, json};

use crate::support::{PATIENCE, checked, health, plan_with_high_limits, require_labels_only};

/// Two addresses of one owner: on the node's test network, and in checks.
pub(crate) const MINER: [&str; 2] =
    ["rltc1qw508d6qejxtdg4y5r3zarvary0c5xw7k693xs3", "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9"];
/// Seconds without a block after which a chain counts as stale.
const LONG: i64 = 3 * 3600;

/// A Litecoin Core node that can mine blocks.
pub(crate) struct Chain(pub(crate) Node);

impl Chain {
    /// A node with `blocks` blocks.
    pub(crate) fn start(blocks: u64) -> Self {
        let chain = Self(Node::start(NodeKind::Litecoin { mweb: false }));
        chain.grow(blocks);
        chain
    }

    pub(crate) fn grow(&self, blocks: u64) {
        let _ = self.0.call("generatetoaddress", &[json!(blocks), json!(MINER[0])]).unwrap();
    }

    /// Applies a source by which the platform's servers follow the node.
    pub(crate) fn followed_by(&self, platform: &Platform) {
        let Credentials::Password { user, password } = self.0.credentials() else {
            panic!("a node with a cookie")
        };
        std::fs::create_dir_all(platform.file("sources")).unwrap();
        platform.write("sources/node", &format!("{user}:{password}"));
        platform.apply(&format!(
            "apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {{name: litecoin}}\nspec:\n  \
             chain: ltc\n  mode: follow\n  protocol: rpc\n  endpoint: {}\n  allowTestNetwork: true\n  \
             credentialsFile: {}\n",
            self.0.url(),
            platform.file("sources/node").display()
        ));
        require_labels_only(platform);
        // Nothing is fetched from outside.
        platform.apply(
            "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {name: ofac-sdn}\n\
             spec: {location: \"http://127.0.0.1:9/list.xml\", format: ofac-advanced, \
             schedule: \"0 0 1 1 *\", suspended: true}\n",
        );
    }
}

/// A check of an address that appears on the chain.
pub(crate) fn check(caller: &Caller) -> Value {
    checked(caller, "ltc", MINER[1])
}

/// The height of the newest block that an answer is based on.
pub(crate) fn height(answer: &Value) -> Option<u64> {
    let mut sources = answer["sources"].as_array().into_iter().flatten();
    sources.find_map(|source| source["latest_block"]["height"].as_u64())
}

/// Time of the newest block that an answer is based on.
fn tip_time(answer: &Value) -> Value {
    let mut sources = answer["sources"].as_array().into_iter().flatten();
    sources.find(|source| source["latest_block"].is_object()).unwrap()["latest_block"]["time"]
        .clone()
}

#[test]
#[ignore = "needs Litecoin Core, faketime"]
fn answers_go_on_and_name_their_latest_block_and_the_chain_catches_up() {
    let (mut chain, clock) = (Chain::start(5), WallClock::new());
    let platform = Platform::start();
    platform.apply(&plan_with_high_limits());
    chain.followed_by(&platform);
    let key = platform.key();
    let follower = platform.server(&["--feeds", "on"]);
    let reader = Server::start_in(follower.directory(), &[], &clock.environment());
    let callers = [follower.caller(&key), reader.caller(&key)];
    let heights = || callers.each_ref().map(|caller| height(&check(caller)));
    let all_at = |height| heights() == [Some(height); 2];
    wait_at_most(PATIENCE, "the chain is followed", || all_at(5));
    assert_eq!(check(&callers[1])["verdict"], "allow");

    // Given a node that is away,
    chain.0.stop();
    let told = "asking again later";
    wait_at_most(PATIENCE, "that is told", || follower.log().contains(told));
    // then known data is still answered, with the newest block and its time,
    let away = check(&callers[1]);
    assert_eq!((height(&away), &away["verdict"]), (Some(5), &"allow".into()));
    let tip = tip_time(&away).as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let age = reader.metric::<f64>("assay_chain_tip_age_seconds{chain=\"ltc\"}");
    // and after two hours nothing is allowed any more.
    clock.set_ahead(LONG);
    let later = check(&callers[1]);
    assert_eq!((&later["verdict"], &later["complete"]), (&"indeterminate".into(), &false.into()));
    assert_eq!(later["reasons"][0]["code"], "flows_stale", "{later}");
    assert_eq!(tip_time(&later), tip.to_string());
    let aged = reader.metric::<f64>("assay_chain_tip_age_seconds{chain=\"ltc\"}");
    assert!(aged - age >= 10_000.0, "{age} and then {aged}");
    assert_eq!(health(&reader).0, 200, "other chains are answered");
    clock.set_ahead(0);

    // Given the node again, and blocks that came meanwhile, they are read.
    chain.0.launch();
    chain.grow(3);
    wait_at_most(PATIENCE, "it is caught up with", || all_at(8));
    assert_eq!(check(&callers[1])["verdict"], "allow");
}
