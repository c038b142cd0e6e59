//! Memory of a server: it grows while the cache of answers fills, and hardly by further addresses.

use std::{fs, ops::Range, sync::Arc};

use assay_tests::{Caller, Server, assay, plan_with_tenant, to_megabytes};
use serde_json::{Value, json};

/// The number of addresses in a request.
const AT_ONCE: usize = 100;
/// The number of addresses whose answers are more than the cache holds.
const MORE_THAN_CACHED: u64 = 30_000;
const ADDRESSES: u64 = 100_000;
/// The default of `cache-bytes`.
const CACHE: u64 = 64 << 20;

/// Checks accounts that no list or label names.
fn check(caller: &Caller, accounts: Range<u64>) {
    let accounts: Vec<Value> = accounts
        .map(|number| json!({"blockchain": "eth", "address": format!("0x{number:040x}")}))
        .collect();
    for checks in accounts.chunks(AT_ONCE) {
        let body = json!({"checks": checks}).to_string();
        let answer = caller.post("/api/v1/check/addresses", &body, &[]);
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
}

#[test]
#[ignore = "needs more time"]
fn memory_is_flat_once_the_cache_of_answers_is_full() {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let limit = "{name: burst, requests: 1000000, window: 5s, counts: requests}";
    fs::write(directory.path().join("roomy.yaml"), plan_with_tenant("roomy", limit)).unwrap();
    let run = |arguments: &[&str]| assay(directory.path(), arguments).ok().stdout;
    run(&["apply", "-f", "roomy.yaml"]);
    let key = run(&["keys", "create", "--tenant", "acme"]).trim().to_owned();
    // Given a server whose cache is full,
    let server = Server::start(Arc::clone(&directory), &[]);
    let (caller, first) = (server.caller(&key), server.peak_resident_bytes());
    check(&caller, 0..MORE_THAN_CACHED);
    let full = server.peak_resident_bytes();
    // when it checks many more addresses,
    check(&caller, MORE_THAN_CACHED..ADDRESSES);
    let last = server.peak_resident_bytes();
    eprintln!(
        "peak memory in MB: {:.0} at first, {:.0} after {MORE_THAN_CACHED} addresses, {:.0} after {ADDRESSES}",
        to_megabytes(first),
        to_megabytes(full),
        to_megabytes(last)
    );
    // then they took less than a third of what the first ones took, which were less than half as many.
    assert!(full > first + CACHE / 2, "the cache is not full");
    assert!(3 * (last - full) < full - first, "{first}, {full}, {last}");
}
