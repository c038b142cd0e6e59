//! A user of Redis with the rights that the documents name, and no others.

use assay_tests::{Postgres, on_plan, platform::Platform, redis::Redis, wait_at_most};

use crate::support::{ADDRESSES, PATIENCE, checked, health};

const DOCUMENT: &str = include_str!("../../../docs/limits.md");
const LIMIT: &str = "{name: burst, requests: 2000, window: 1m, counts: requests}";

/// The words of the document's line that makes the user, with a password in its place.
fn documented() -> Vec<String> {
    let mut lines = DOCUMENT.lines().filter(|line| line.starts_with("ACL SETUSER assay "));
    let line = lines.next().unwrap();
    line.split(' ').map(|word| word.replace("PASSWORD", "secret")).collect()
}

#[test]
fn the_documented_rights_are_enough_for_limits_answers_and_revocations() {
    let redis = Redis::start();
    let user = documented();
    let made = redis.cli(&user.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(made, "OK", "{user:?}");
    let platform = Platform::on(Postgres::start(), redis);
    platform.apply(&on_plan("minutely", LIMIT));
    let url = platform.redis.url().replace("redis://", "redis://assay:secret@");
    let arguments = ["--redis-url", &url];
    let key = platform.key();
    let servers = platform.servers(2, &key, &arguments);

    // Limits are kept together: what one server admits the other one does not have.
    let draws = platform.redis.calls("evalsha") + platform.redis.calls("eval");
    for (_, caller) in &servers {
        wait_at_most(PATIENCE, "requests pass", || caller.check("btc", ADDRESSES[1]).status == 200);
    }
    assert!(platform.redis.calls("evalsha") + platform.redis.calls("eval") > draws);
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
    assert_eq!(platform.redis.calls("publish"), 1);
    assert!(platform.redis.calls("subscribe") >= 2);
    // Nothing was refused, whether anybody noticed or not; but what a connection says of itself may be.
    let log = platform.redis.cli(&["acl", "log"]);
    let lines: Vec<&str> = log.lines().collect();
    let refused = lines.windows(2).filter(|pair| pair[0] == "object").map(|pair| pair[1]);
    assert!(refused.clone().all(|command| command == "client|setinfo"), "{log}");
}
