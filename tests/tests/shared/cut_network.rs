//! A network partition between a server and the servers that it shares with others: no connection
//! is closed, none is refused, and none gets an answer.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    thread,
};

use assay_tests::{
    Caller, Finished, Postgres, Server, assay,
    big_chain::{BigChain, Shape},
    cut::Wire,
    platform::Platform,
    wait_at_most,
};

use crate::support::{ADDRESSES, PATIENCE, charged, checked, health, rest_on_labels, roomy};

/// A platform, and a server that reaches it by wires.
struct Wired {
    platform: Platform,
    postgres: Wire,
    redis: Wire,
    server: Server,
    caller: Caller,
    /// Number of answers.
    answered: u64,
}

impl Wired {
    fn start() -> Self {
        let platform = Platform::start();
        platform.apply(&roomy());
        rest_on_labels(&platform);
        let postgres = Wire::to(platform.postgres.port());
        let redis = Wire::to(platform.redis.port());
        let server = platform.server(&[
            "--database-url",
            &platform.postgres.url_by(postgres.port()),
            "--redis-url",
            &format!("redis://127.0.0.1:{}", redis.port()),
        ]);
        let caller = server.caller(&platform.key());
        Self { platform, postgres, redis, server, caller, answered: 0 }
    }

    /// Asks, and counts the answer: by lists, nothing speaks against any of these addresses.
    fn status(&mut self, address: &str) -> u16 {
        let answer = self.caller.check("btc", address);
        if answer.status == 200 {
            self.answered += 1;
            assert!(answer.text.contains(r#""verdict":"allow""#), "{}", answer.text);
        }
        answer.status
    }

    /// Waits until the server says of itself that something is not there, or is again.
    fn until_told(&self, what: &str, is_degraded: bool) {
        let _ = wait_at_most(PATIENCE, what, || {
            health(&self.server).1.to_string().contains(what) == is_degraded
        });
    }

    fn until_known(&mut self) {
        let _ = wait_at_most(PATIENCE, "the key is known", || self.status(ADDRESSES[0]) == 200);
    }
}

/// Revokes a key without a word to Redis.
fn revoke_quietly(platform: &Platform, key: &str) {
    let elsewhere = tempfile::tempdir().unwrap();
    platform.postgres.used_by(elsewhere.path());
    let id = key.split('_').nth(2).unwrap();
    let _ = assay(elsewhere.path(), ["keys", "revoke", id]).ok();
}

#[test]
fn without_the_database_checks_go_on_and_pending_changes_apply_after_recovery() {
    let mut wired = Wired::start();
    wired.until_known();
    let doomed = wired.server.caller(&wired.platform.key());
    let _ = wait_at_most(PATIENCE, "the other key is known", || {
        let status = doomed.check("btc", ADDRESSES[0]).status;
        wired.answered += u64::from(status == 200);
        status == 200
    });

    // When the network is cut while requests read and write.
    wired.postgres.cut();
    for _ in 0..50 {
        // Then cached addresses are answered, and new ones too.
        assert_eq!(wired.status(ADDRESSES[0]), 200);
        assert_eq!(wired.status(ADDRESSES[1]), 200);
    }
    wired.until_told("database_unreachable", true);
    revoke_quietly(&wired.platform, &doomed.key);
    assert_eq!(wired.status(ADDRESSES[2]), 200);
    assert_eq!(health(&wired.server).0, 200, "degraded is not unready");
    let before = charged(&wired.platform);
    assert!(before < wired.answered, "what was answered since waits");

    // When the network is restored, the revocation arrives, and every answer is charged, once.
    wired.postgres.heal();
    let _ = wait_at_most(PATIENCE, "the key is dead", || {
        let status = doomed.check("btc", ADDRESSES[0]).status;
        wired.answered += u64::from(status == 200);
        status == 401
    });
    wired.until_told("database_unreachable", false);
    let _ = wait_at_most(PATIENCE, "it is charged", || charged(&wired.platform) >= wired.answered);
    wired.server.signal("TERM");
    assert_eq!(wired.server.wait(), Some(0), "{}", wired.server.log());
    assert_eq!(charged(&wired.platform), wired.answered);
}

#[test]
fn without_the_cache_checks_go_on_and_answers_are_shared_after_recovery() {
    let mut wired = Wired::start();
    wired.until_known();
    // A server may spend its share of the limits some time after it began.
    wired.redis.cut();
    let _ = wait_at_most(PATIENCE, "its share of the limits is there", || {
        wired.status(ADDRESSES[0]) == 200 && wired.status(ADDRESSES[1]) == 200
    });
    wired.until_told("redis_unreachable", true);
    // The database says by itself who is dead.
    let doomed = wired.server.caller(&wired.platform.key());
    let _ = wait_at_most(PATIENCE, "a new key", || doomed.check("btc", ADDRESSES[0]).status == 200);
    revoke_quietly(&wired.platform, &doomed.key);
    let _ =
        wait_at_most(PATIENCE, "it is dead", || doomed.check("btc", ADDRESSES[0]).status == 401);
    wired.redis.heal();
    let _ = wait_at_most(PATIENCE, "it heals", || {
        let body = format!("{{\"blockchain\":\"btc\",\"address\":\"{}\"}}", ADDRESSES[2]);
        let fresh = [("cache-control", "no-cache")];
        let _ = wired.caller.post("/api/v1/check/address", &body, &fresh);
        !health(&wired.server).1.to_string().contains("redis_unreachable")
    });
    assert_eq!(wired.status(ADDRESSES[0]), 200);
}

#[test]
fn a_server_that_is_cut_off_from_everything_stops_in_order() {
    let mut wired = Wired::start();
    wired.until_known();
    wired.postgres.cut();
    assert_eq!(wired.status(ADDRESSES[0]), 200);
    wired.redis.cut();
    let _ = wired.status(ADDRESSES[0]);
    wired.server.signal("TERM");
    let took = wait_at_most(PATIENCE, "it stops", || wired.server.has_ended());
    assert_eq!(wired.server.wait(), Some(0), "{}", wired.server.log());
    eprintln!("cut off from everything, it stopped after {:.1} s", took.as_secs_f64());
    let log = wired.server.log();
    assert!(
        log.contains("charges and answers whose writing was not confirmed may be lost"),
        "{log}"
    );
    assert!(log.contains("stopped"), "{log}");
}

#[test]
fn a_graph_database_that_is_cut_off_is_reported_and_delays_no_key() {
    // Given graphs in a database of their own, and a server that reads one.
    let (platform, graphs) = (Platform::start(), Postgres::shared(None));
    rest_on_labels(&platform);
    let file = platform.file("chain.jsonl");
    BigChain::new(Shape { seed: 1, blocks: 20, transactions: 5, hub: None }).write(&file).unwrap();
    let url = graphs.url();
    let ingest = ["ingest", "chain", "btc", "--jsonl", "chain.jsonl"];
    let _ = platform.assay(&[&ingest[..], &["--graph-database-url", &url]].concat()).ok();
    let wire = Wire::to(graphs.port());
    let server = platform.server(&["--graph-database-url", &graphs.url_by(wire.port())]);
    let degraded = || health(&server).1["degraded"].clone();
    assert_eq!(degraded(), serde_json::json!([]));
    // An answer that was given before the cut, and could be repeated.
    let asked_before = server.caller(&platform.key());
    let _ = wait_at_most(PATIENCE, "a key", || asked_before.get("/api/v1/usage").status == 200);
    let _ = wait_at_most(PATIENCE, "an answer is repeated", || {
        checked(&asked_before, "btc", ADDRESSES[1])["cached"] == true
    });

    // When its network is cut, then the server says so, of that database only, and remains ready.
    wire.cut();
    let _ = wait_at_most(PATIENCE, "it is reported", || {
        degraded() == serde_json::json!(["graph_database_unreachable"])
    });
    assert_eq!(health(&server).0, 200, "degraded is not unready");
    let reachable = |name: &str| {
        server.metric::<u8>(&format!("assay_dependency_reachable{{dependency=\"{name}\"}}"))
    };
    assert_eq!((reachable("database"), reachable("graph_database")), (1, 0));
    // New blocks are unknown: nothing that rests on the chain is repeated.
    let answer = checked(&asked_before, "btc", ADDRESSES[1]);
    assert_eq!((&answer["verdict"], &answer["cached"]), (&"indeterminate".into(), &false.into()));
    // Keys begin and end as before, and checks are answered without the chain.
    let caller = server.caller(&platform.key());
    let _ = wait_at_most(PATIENCE, "a new key", || caller.get("/api/v1/usage").status == 200);
    let answer = checked(&caller, "btc", ADDRESSES[0]);
    assert_eq!(answer["verdict"], "indeterminate", "{answer}");
    assert!(answer.to_string().contains("the chain source could not be read"), "{answer}");
    revoke_quietly(&platform, &caller.key);
    let _ = wait_at_most(PATIENCE, "it is dead", || caller.get("/api/v1/usage").status == 401);

    // When it heals, then all is well again.
    wire.heal();
    let _ = wait_at_most(PATIENCE, "it heals", || degraded() == serde_json::json!([]));
}

/// A session that holds locks until this is dropped.
struct Holding(Child);

impl Holding {
    /// Returns once the locks of the statement are held.
    fn by(database: &Postgres, statement: &str) -> Self {
        let mut child = Command::new(database.programs().join("psql"))
            .args(["--no-psqlrc", "--quiet", "--dbname", &database.url()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "BEGIN; {statement};\n\\echo held").unwrap();
        let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "held"), "psql ended");
        Self(child)
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn long_operations_fail_when_the_database_is_cut_off_and_can_be_repeated() {
    // Given a list and blocks that are on their way into the database...
    // It counts all locks of the server.
    let platform = Platform::start_alone();
    let wire = Wire::to(platform.postgres.port());
    let url = platform.postgres.url_by(wire.port());
    platform.write(
        "labels.csv",
        "blockchain,address,category\nbtc,1BitcoinEaterAddressDontSendf59kuE,burn\n",
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chain.jsonl");
    BigChain::new(Shape { seed: 1, blocks: 20, transactions: 5, hub: None }).write(&file).unwrap();
    let file = file.display().to_string();
    let chain = ["ingest", "chain", "btc", "--jsonl", &file];
    let labels = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "made-up"];
    let _ = platform.assay(&[&chain[..], &["--to", "9"]].concat()).ok();
    let by_wire = |arguments: &[&str]| {
        let elsewhere = tempfile::tempdir().unwrap();
        let path = platform.file("labels.csv").display().to_string();
        let arguments =
            arguments.iter().map(|word| if *word == "labels.csv" { &path } else { *word });
        assay(elsewhere.path(), arguments.chain(["--database-url", &url]))
    };
    let statement = "SELECT FROM installation FOR UPDATE; LOCK TABLE chain_btc.tx IN SHARE MODE";
    let holding = Holding::by(&platform.postgres, statement);
    let (listed, ingested) = thread::scope(|scope| {
        let listing = scope.spawn(|| by_wire(&labels));
        let ingesting = scope.spawn(|| by_wire(&chain));
        let _ = wait_at_most(PATIENCE, "both write", || {
            platform.postgres.query("SELECT count(*) FROM pg_locks WHERE NOT granted") == "2"
        });
        // When the network is cut, so that neither gets an answer,
        wire.cut();
        drop(holding);
        (listing.join().unwrap(), ingesting.join().unwrap())
    });
    // Then both report it,
    for Finished { code, stderr, .. } in [listed, ingested] {
        assert_ne!(code, 0);
        assert!(stderr.contains("did not answer for 10 s"), "{stderr}");
    }
    // and both succeed once the network is restored.
    wire.heal();
    let _ = by_wire(&labels).ok();
    let done = by_wire(&chain).ok();
    assert!(done.stdout.contains("19"), "{}", done.stdout);
}
