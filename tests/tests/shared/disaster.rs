//! Recovery from a backup after the loss of database and Redis, by the documented steps.

use std::{env, fs, path::Path, process::Command};

use assay_tests::{
    Caller, Postgres, Server, binary, plan_with_tenant, platform::Platform, redis::Redis,
};
use serde_json::Value;

use crate::support::{ADDRESSES, checked};

const DOCUMENT: &str = include_str!("../../../docs/operations.md");
/// A quota that is partly used before the backup.
const QUOTA: &str = "{name: daily, requests: 500, window: 1d, counts: checks}";
const USED: u64 = 40;

/// The commands that the document gives under `heading`.
fn documented(heading: &str) -> &'static str {
    let (_, section) = DOCUMENT.split_once(&format!("\n### {heading}\n")).unwrap();
    let (_, rest) = section.split_once("```sh\n").unwrap();
    rest.split_once("```").unwrap().0
}

/// Runs documented commands in `directory`, with the database `postgres`.
fn run(commands: &str, directory: &Path, postgres: &Postgres) {
    let assay = binary();
    let folders =
        [assay.parent().unwrap(), postgres.programs(), "/usr/bin".as_ref(), "/bin".as_ref()];
    let path = env::join_paths(folders);
    let run = Command::new("sh")
        .args(["-eu", "-c", commands])
        .current_dir(directory)
        .env_clear()
        .env("PATH", path.unwrap())
        .env("ASSAY_DATABASE_URL", postgres.url())
        .env("ASSAY_REVOCATIONS", directory.join("revoked-keys.jsonl"))
        .output()
        .unwrap();
    assert!(run.status.success(), "{commands}\n{}", String::from_utf8_lossy(&run.stderr));
}

/// Digest, verdict and repeated flag of a check's answer.
fn answer_fields(caller: &Caller) -> [Value; 3] {
    let answer = checked(caller, "btc", ADDRESSES[0]);
    ["assessment_digest", "verdict", "cached"].map(|field| answer[field].clone())
}

fn remaining(caller: &Caller) -> u64 {
    let answer = caller.get("/api/v1/sources");
    let limits = answer.header("ratelimit");
    let (_, rest) = limits.split_once("\"daily\";r=").unwrap();
    rest.split(';').next().unwrap().parse().unwrap()
}

#[test]
fn a_backup_restores_keys_quotas_and_answers_and_no_revoked_key() {
    let platform = Platform::start();
    platform.apply(&plan_with_tenant("daily", QUOTA));
    platform.write(
        "labels.csv",
        &format!("blockchain,address,category\nbtc,{},gambling\n", ADDRESSES[0]),
    );
    let labels = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "made-up"];
    let _ = platform.assay(&labels).ok();
    let (key, dead) = (platform.key(), platform.key());
    let mut servers = platform.servers(2, &key, &[]);
    for _ in 0..USED / 2 {
        for (_, caller) in &servers {
            let _ = answer_fields(caller);
        }
    }
    let [digest, verdict, _] = answer_fields(&servers[0].1);
    let kept = checked(&servers[0].1, "btc", ADDRESSES[0])["check_id"].clone();
    let used = USED + 2;
    // Servers that stop in good order return unused tokens.
    for (server, _) in &mut servers {
        server.signal("TERM");
        assert_eq!(server.wait(), Some(0), "{}", server.log());
    }
    let here = platform.server(&[]).directory();
    run(documented("Backing up"), here.path(), &platform.postgres);
    // After the backup a key is revoked, and more is used.
    let _ = platform.assay(&["keys", "revoke", dead.split('_').nth(2).unwrap()]).ok();
    let later = platform.servers(1, &key, &[]);
    let _ = answer_fields(&later[0].1);
    drop(later);

    // Given nothing but the backup and the list of revoked keys, on new servers,
    let there = tempfile::tempdir().unwrap();
    for name in ["assay.dump", "revoked-keys.jsonl"] {
        fs::copy(here.path().join(name), there.path().join(name)).unwrap();
    }
    drop(platform);
    let (postgres, redis) = (Postgres::start(), Redis::start());
    run(documented("Restoring"), there.path(), &postgres);
    let arguments = ["--database-url", &postgres.url(), "--redis-url", &redis.url()];
    let server = Server::start(std::sync::Arc::new(there), &arguments);
    let caller = server.caller(&key);

    // then checks say the same as before, assessed anew,
    assert_eq!(answer_fields(&caller), [digest, verdict, false.into()]);
    // quotas are those of the backup, and one check,
    assert_eq!(remaining(&caller), 500 - used - 1);
    // answers can be looked up, and dead keys stay dead.
    let found = caller.get(&format!("/api/v1/checks/{}", kept.as_str().unwrap()));
    assert_eq!(found.status, 200, "{}", found.text);
    let status = |key: &str| server.caller(key).get("/api/v1/sources").status;
    assert_eq!((status(&dead), status(&key)), (401, 200));
}
