//! Small helpers.

use assay_tests::{Caller, Server, platform::Platform};
use serde_json::Value;

/// Addresses that nothing is known of.
pub(crate) const ADDRESSES: [&str; 3] = [
    "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
    "12cbQLTFMXRnSzktFkuoG3eHoMeFtpTu3S",
    "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2",
];

/// A plan whose limits are no matter, with `acme` on it: nothing but short windows.
pub(crate) const ROOMY: &str = "apiVersion: assay.dev/v1alpha1\nkind: Plan\nmetadata: {name: roomy}\n\
    spec:\n  displayName: Roomy\n  apiAccess: true\n  limits:\n  \
    - {name: burst, requests: 100000, window: 5s, counts: requests}\n---\n\
    apiVersion: assay.dev/v1alpha1\nkind: Tenant\nmetadata: {name: acme}\n\
    spec: {displayName: Acme, plan: roomy, policy: default}\n";

/// The health that a server tells, and with which status.
pub(crate) fn health(server: &Server) -> (u16, Value) {
    let answer = Caller::new(server.admin, "").get("/readyz");
    (answer.status, answer.json())
}

/// Whether a server is ready.
pub(crate) fn is_ready(server: &Server) -> bool {
    health(server).0 == 200
}

/// What the store knows to be charged.
pub(crate) fn charged(platform: &Platform) -> u64 {
    let rows = platform.assay(&["usage", "--json"]).ok().json();
    let counts = rows.as_array().unwrap().iter().map(|row| row["count"].as_u64().unwrap());
    counts.sum()
}

/// Imports labels that the policy needs: addresses of which nothing is known are allowed from then on.
pub(crate) fn import_labels(platform: &Platform) {
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
