//! Small helpers.

use std::time::Duration;

use assay_tests::{Caller, Server, plan_with_tenant, platform::Platform, wait_at_most};
use serde_json::Value;

/// Longest wait for what fails or heals.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// Addresses that nothing is known of.
pub(crate) const ADDRESSES: [&str; 3] = [
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
    "12cbQLTFMXRnSzktFkuoG3eHoMeFtpTu3S",
    "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",
];

/// A plan whose limits are no matter, with `acme` on it: nothing but short windows.
pub(crate) fn roomy() -> String {
    plan_with_tenant("roomy", "{name: burst, requests: 100000, window: 5s, counts: requests}")
}

/// Imports a label set, and lets the policy ask for no other source.
pub(crate) fn rest_on_labels(platform: &Platform) {
    platform.write(
        "labels.csv",
        "blockchain,address,category\nbtc,1BitcoinEaterAddressDontSendf59kuE,burn\n",
    );
    let labels = ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "made-up"];
    let _ = platform.assay(&labels).ok();
    platform.apply(
        "apiVersion: assay.dev/v1alpha1\nkind: RiskPolicy\nmetadata: {name: default}\n\
         spec: {mandatorySources: [{name: made-up}]}\n",
    );
}

/// The answer to a check of an address. On a busy machine a server may not get tokens in time and
/// refuses; then the check is repeated.
pub(crate) fn checked(caller: &Caller, chain: &str, address: &str) -> Value {
    let mut body = None;
    let _ = wait_at_most(PATIENCE, "limits that can be counted", || {
        let answer = caller.check(chain, address);
        if answer.status != 200 {
            assert_eq!(answer.problem(), (429, "reduced_capacity".into()));
            return false;
        }
        body = Some(answer.json());
        true
    });
    body.unwrap()
}

/// The health that a server tells, and with which status.
pub(crate) fn health(server: &Server) -> (u16, Value) {
    let answer = Caller::new(server.admin, "").get("/readyz");
    (answer.status, answer.json())
}

/// True if a server is ready.
pub(crate) fn is_ready(server: &Server) -> bool {
    health(server).0 == 200
}

/// Charges according to the store.
pub(crate) fn charged(platform: &Platform) -> u64 {
    let rows = platform.assay(&["usage", "--json"]).ok().json();
    let counts = rows.as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap());
    counts.sum()
}
