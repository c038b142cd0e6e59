//! A network partition between an API server and the database and cache: no connection is closed or refused, and none
//! gets an answer.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
    thread,
};

use assay_tests::{
    Caller, Finished, Postgres, Server, assay, cut::CuttableProxy, platform::Platform, wait_at_most,
};

use crate::support::{
    ADDRESSES, PATIENCE, charged, health, plan_with_high_limits, require_labels_only,
};

/// A platform, and a server that connects to it through proxies that can be cut.
struct PlatformBehindProxies {
    platform: Platform,
    postgres: CuttableProxy,
    redis: CuttableProxy,
    server: Server,
    caller: Caller,
    /// Number of answers.
    answered: u64,
}

impl PlatformBehindProxies {
    fn start() -> Self {
        let platform = Platform::start();
        platform.apply(&plan_with_high_limits());
        require_labels_only(&platform);
        let postgres = CuttableProxy::start(platform.postgres.port());
        let redis = CuttableProxy::start(platform.redis.port());
        let server = platform.server(&[
            "--database-url",
            &platform.postgres.url_with_port(postgres.port()),
            "--redis-url",
            &format!("redis://127.0.0.1:{}", redis.port()),
        ]);
        let caller = server.caller(&platform.key());
        Self { platform, postgres, redis, server, caller, answered: 0 }
    }

    /// Checks an address that no list names, counts the answer, and returns its status.
    fn status(&mut self, address: &str) -> u16 {
        let answer = self.caller.check("btc", address);
        if answer.status == 200 {
            self.answered += 1;
            assert!(answer.text.contains(r#""verdict":"allow""#), "{}", answer.text);
        }
        answer.status
    }

    /// Waits until the server's health reports a dependency as degraded, or as recovered.
    fn wait_until_reported(&self, what: &str, is_degraded: bool) {
        let _ = wait_at_most(PATIENCE, what, || {
            health(&self.server).1.to_string().contains(what) == is_degraded
        });
    }

    fn wait_until_key_is_known(&mut self) {
        let _ = wait_at_most(PATIENCE, "the key is known", || self.status(ADDRESSES[0]) == 200);
    }
}

/// Revokes a key without a notification through Redis.
fn revoke_without_notification(platform: &Platform, key: &str) {
    let elsewhere = tempfile::tempdir().unwrap();
    platform.postgres.connect_directory(elsewhere.path());
    let id = key.split('_').nth(2).unwrap();
    let _ = assay(elsewhere.path(), ["keys", "revoke", id]).ok();
}

#[test]
fn without_the_database_checks_go_on_and_pending_changes_apply_after_recovery() {
    let mut wired = PlatformBehindProxies::start();
    wired.wait_until_key_is_known();
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
    wired.wait_until_reported("database_unreachable", true);
    revoke_without_notification(&wired.platform, &doomed.key);
    assert_eq!(wired.status(ADDRESSES[2]), 200);
    assert_eq!(health(&wired.server).0, 200, "degraded is not unready");
    let before = charged(&wired.platform);
    assert!(before < wired.answered, "what was answered since waits");

    // When the network is restored, the revocation arrives, and every answer is charged, once.
    wired.postgres.restore();
    let _ = wait_at_most(PATIENCE, "the key is dead", || {
        let status = doomed.check("btc", ADDRESSES[0]).status;
        wired.answered += u64::from(status == 200);
        status == 401
    });
    wired.wait_until_reported("database_unreachable", false);
    let _ = wait_at_most(PATIENCE, "it is charged", || charged(&wired.platform) >= wired.answered);
    wired.server.signal("TERM");
    assert_eq!(wired.server.wait(), Some(0), "{}", wired.server.log());
    assert_eq!(charged(&wired.platform), wired.answered);
}

#[test]
fn without_the_cache_checks_go_on_and_answers_are_shared_after_recovery() {
    let mut wired = PlatformBehindProxies::start();
    wired.wait_until_key_is_known();
    // A server may spend its share of the limits some time after it began.
    wired.redis.cut();
    let _ = wait_at_most(PATIENCE, "its share of the limits is there", || {
        wired.status(ADDRESSES[0]) == 200 && wired.status(ADDRESSES[1]) == 200
    });
    wired.wait_until_reported("redis_unreachable", true);
    // The database says by itself who is dead.
    let doomed = wired.server.caller(&wired.platform.key());
    let _ = wait_at_most(PATIENCE, "a new key", || doomed.check("btc", ADDRESSES[0]).status == 200);
    revoke_without_notification(&wired.platform, &doomed.key);
    let _ =
        wait_at_most(PATIENCE, "it is dead", || doomed.check("btc", ADDRESSES[0]).status == 401);
    wired.redis.restore();
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
    let mut wired = PlatformBehindProxies::start();
    wired.wait_until_key_is_known();
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

/// A database session that holds locks until the value is dropped.
struct LockHolder(Child);

impl LockHolder {
    /// Runs a statement in a session, and returns once its locks are held.
    fn start(database: &Postgres, statement: &str) -> Self {
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

impl Drop for LockHolder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn long_operations_fail_when_the_database_is_cut_off_and_can_be_repeated() {
    // Given labels that are on their way into the database...
    // It counts all locks of the server.
    let platform = Platform::start_with_own_database();
    let wire = CuttableProxy::start(platform.postgres.port());
    let url = platform.postgres.url_with_port(wire.port());
    platform.write(
        "labels.csv",
        "blockchain,address,category\nbtc,1BitcoinEaterAddressDontSendf59kuE,burn\n",
    );
    let path = platform.file("labels.csv").display().to_string();
    let labels = ["ingest", "labels", &path, "--format", "csv", "--source", "made-up"];
    let by_wire = || {
        let elsewhere = tempfile::tempdir().unwrap();
        assay(elsewhere.path(), labels.iter().chain(&["--database-url", &url]))
    };
    let holding = LockHolder::start(&platform.postgres, "SELECT FROM installation FOR UPDATE");
    let Finished { code, stderr, .. } = thread::scope(|scope| {
        let ingesting = scope.spawn(by_wire);
        let _ = wait_at_most(PATIENCE, "it writes", || {
            platform.postgres.query("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1"
        });
        // When the network is cut, so that it gets no answer,
        wire.cut();
        drop(holding);
        ingesting.join().unwrap()
    });
    // Then it reports that,
    assert_ne!(code, 0);
    assert!(stderr.contains("did not answer for 10 s"), "{stderr}");
    // and succeeds once the network is restored.
    wire.restore();
    let _ = by_wire().ok();
}
