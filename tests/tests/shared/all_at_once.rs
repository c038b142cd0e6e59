//! Redis, the database and the chain's node fail together, and recover in another order.

use std::{fmt::Debug, time::Duration};

use assay_tests::{Answer, Caller, Server, platform::Platform, wait_at_most};

use crate::{
    node_away::{Chain, check, height},
    support::{ADDRESSES, PATIENCE, checked, health, plan_with_high_limits},
};

/// Problems that a caller may get while a server is unavailable.
const REASONS: [(u16, &str); 2] = [(429, "reduced_capacity"), (503, "key_data_stale")];

/// True if an answer has the same digest as before, or one of the permitted problems.
fn is_right_or_says_why(answer: &Answer, digest: &str) -> bool {
    if answer.status != 200 {
        let problem = answer.problem();
        let known = REASONS.iter().any(|(status, code)| problem == (*status, (*code).to_owned()));
        assert!(known && !answer.header("retry-after").is_empty(), "{}", answer.text);
        return false;
    }
    let body = answer.json();
    let same = body["assessment_digest"] == digest;
    // While data is missing, no answer is `allow`, and each states the reason.
    let says = body["verdict"] != "allow" && body["reasons"][0]["code"].is_string();
    assert!(same || says, "{body}");
    same
}

fn degraded(server: &Server, what: &str) -> bool {
    health(server).1["degraded"].to_string().contains(what)
}

fn until(what: impl Debug, holds: impl FnMut() -> bool) {
    let _ = wait_at_most(PATIENCE, &format!("{what:?}"), holds);
}

#[test]
#[ignore = "needs Litecoin Core"]
fn every_answer_is_correct_or_names_the_reason_and_everything_recovers() {
    let mut chain = Chain::start(5);
    let mut platform = Platform::start_with_own_database();
    platform.apply(&plan_with_high_limits());
    chain.followed_by(&platform);
    let key = platform.key();
    let following = ["--feeds", "on", "--max-intel-age", "8s", "--max-key-data-age", "16s"];
    let servers = platform.servers(2, &key, &following);
    let callers: Vec<&Caller> = servers.iter().map(|(_, caller)| caller).collect();
    until("the chain is followed", || {
        callers.iter().all(|caller| height(&check(caller)) == Some(5))
    });
    let ask = |caller: &Caller| caller.check("btc", ADDRESSES[0]);
    let first = checked(callers[0], "btc", ADDRESSES[0]);
    let digest = first["assessment_digest"].as_str().unwrap();
    let everywhere_right =
        || callers.iter().all(|caller| is_right_or_says_why(&ask(caller), digest));
    until("all is well", everywhere_right);

    // Given all of it away,
    platform.redis.kill();
    platform.postgres.stop();
    chain.0.stop();
    // then no answer is wrong, from the first moment until all requests are refused.
    until("it is told what is away", || {
        let _ = everywhere_right();
        servers.iter().all(|(server, _)| degraded(server, "database_unreachable"))
    });
    until("nobody is let in", || {
        let _ = everywhere_right();
        callers.iter().all(|caller| ask(caller).status == 503)
    });
    assert!(servers.iter().all(|(server, _)| health(server).0 == 503), "unready");

    // Given the node first, then Redis, and the database last.
    chain.0.launch();
    chain.grow(2);
    platform.redis.start_again();
    // Time in which a server would let callers in that must not.
    std::thread::sleep(Duration::from_secs(2));
    assert!(callers.iter().all(|caller| ask(caller).status == 503), "who may ask is not known yet");
    platform.postgres.start_again();
    until("every server is ready", || servers.iter().all(|(server, _)| health(server).0 == 200));
    until("every answer is what it was", everywhere_right);
    // Following waits longer after each failure.
    let _ = wait_at_most(3 * PATIENCE, "new blocks are known", || {
        callers.iter().all(|caller| {
            let answer = caller.check("ltc", "ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9");
            answer.status == 200 && height(&answer.json()) == Some(7)
        })
    });
    until("nothing is missing", || {
        servers.iter().all(|(server, _)| health(server).1["degraded"].to_string().len() <= 4)
    });
}
