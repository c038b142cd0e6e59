//! A Redis user with exactly the rights in the documents.

use assay_tests::{
    plan_with_tenant,
    platform::Platform,
    redis::{Cluster, Redis, SentinelRedis},
    wait_at_most,
};

use crate::support::{ADDRESSES, PATIENCE, checked, health};

const DOCUMENT: &str = include_str!("../../../docs/limits.md");
const LIMIT: &str = "{name: burst, requests: 2000, window: 1m, counts: requests}";

/// Creates the user on servers by the documented command, with a password and a documented addition.
fn allow(servers: &[&Redis], more: &str) {
    let mut lines = DOCUMENT.lines().filter(|line| line.starts_with("ACL SETUSER assay "));
    let line = lines.next().unwrap().replace("PASSWORD", "secret");
    assert!(DOCUMENT.contains(more), "{more}");
    let words: Vec<&str> = line.split(' ').chain(more.split_whitespace()).collect();
    for server in servers {
        assert_eq!(server.cli(&words), "OK", "{words:?}");
    }
}

/// Number of calls of a command on all servers of Redis together.
fn calls(servers: &[&Redis], command: &str) -> u64 {
    servers.iter().map(|server| server.calls(command)).sum()
}

/// Tests shared limits, answers and revocations through a URL, with the user on these servers.
fn share(servers_of_redis: &[&Redis], url: &str) {
    let platform = Platform::start();
    platform.apply(&plan_with_tenant("minutely", LIMIT));
    let (scheme, rest) = url.split_once("://").unwrap();
    let url = format!("{scheme}://assay:secret@{rest}");
    let key = platform.key();
    let servers = platform.servers(2, &key, &["--redis-url", &url]);

    // Limits are kept together: what one server admits the other one does not have.
    let draws = || calls(servers_of_redis, "evalsha") + calls(servers_of_redis, "eval");
    let before = draws();
    for (_, caller) in &servers {
        wait_at_most(PATIENCE, "requests pass", || caller.check("btc", ADDRESSES[1]).status == 200);
    }
    assert!(draws() > before);
    // Answers are shared.
    let first = checked(&servers[0].1, "btc", ADDRESSES[0]);
    let again = checked(&servers[1].1, "btc", ADDRESSES[0]);
    assert_eq!((&first["cached"], &again["cached"]), (&false.into(), &true.into()));
    assert_eq!(first["assessment_digest"], again["assessment_digest"]);
    // Revocations are published, and heard by both.
    let id = key.split('_').nth(2).unwrap();
    let _ = platform.assay(&["keys", "revoke", id, "--redis-url", &url]).ok();
    for (server, caller) in &servers {
        wait_at_most(PATIENCE, "the key is dead", || {
            caller.check("btc", ADDRESSES[0]).status == 401
        });
        assert!(!health(server).1["degraded"].to_string().contains("redis"));
        assert!(!server.log().contains("NOPERM"), "{}", server.log());
    }
    // Sentinels publish too.
    assert!(calls(servers_of_redis, "publish") >= 1);
    assert!(calls(servers_of_redis, "subscribe") >= 2);
    // No command was refused, except for commands by which a connection describes itself.
    for server in servers_of_redis {
        let log = server.cli(&["acl", "log"]);
        let lines: Vec<&str> = log.lines().collect();
        let refused = lines.windows(2).filter(|pair| pair[0] == "object").map(|pair| pair[1]);
        assert!(refused.clone().all(|command| command == "client|setinfo"), "{log}");
    }
}

#[test]
fn the_documented_rights_are_enough_on_one_server() {
    let redis = Redis::start();
    allow(&[&redis], "");
    share(&[&redis], &redis.url());
}

#[test]
fn the_documented_rights_are_enough_behind_sentinels() {
    let watched = SentinelRedis::start();
    allow(&[&watched.master, &watched.replica], "+role");
    share(&[&watched.master], &watched.url());
}

#[test]
fn the_documented_rights_are_enough_in_a_cluster() {
    let cluster = Cluster::start();
    let nodes: Vec<&Redis> = cluster.nodes().iter().collect();
    allow(&nodes, "+cluster|slots +ping");
    share(&nodes, &cluster.url());
}
