//! Helpers of several tests.

use std::time::Duration;

use assay_tests::{Caller, Server, plan_with_tenant, platform::Platform, wait_at_most};
use serde_json::Value;

/// Time limit for a failure or a recovery.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// Addresses without labels, listings or history.
pub(crate) const ADDRESSES: [&str; 3] = [
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
    "12cbQLTFMXRnSzktFkuoG3eHoMeFtpTu3S",
    "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",
];

/// A plan with high limits of short windows, and `acme` on this plan.
pub(crate) fn plan_with_high_limits() -> String {
    plan_with_tenant("roomy", "{name: burst, requests: 100000, window: 5s, counts: requests}")
}

/// Imports a label set, and applies a policy that requires no other source.
pub(crate) fn require_labels_only(platform: &Platform) {
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

/// The answer to a check of an address, repeated if the server refuses it because it got no tokens in time.
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

/// Status and body of a server's health endpoint.
pub(crate) fn health(server: &Server) -> (u16, Value) {
    let answer = Caller::new(server.admin, "").get("/readyz");
    (answer.status, answer.json())
}

/// True if a server is ready.
pub(crate) fn is_ready(server: &Server) -> bool {
    health(server).0 == 200
}

/// Number of charges in the store.
pub(crate) fn charged(platform: &Platform) -> u64 {
    let rows = platform.assay(&["usage", "--json"]).ok().json();
    let counts = rows.as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap());
    counts.sum()
}
