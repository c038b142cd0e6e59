//! Clients of the API against the real server: those that generators make of its description, and our own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use assay_tests::{Server, plan_with_tenant, run, sample, wait_until};
use serde_json::{Value, json};
use tempfile::TempDir;

mod generated;
mod newcomer;
mod own;
mod snippets;

const WRONG_LENGTH: &str = "not a valid btc address: wrong length: 6 bytes when decoded, expected 25 bytes (26 to \
                            34 characters)";

/// A server of the demo data set, a key without a limit that the tests meet, and tenants with few requests an hour and
/// a second.
struct Api {
    server: Server,
    key: String,
}

impl Api {
    fn start() -> Self {
        let (server, _, enterprise) = sample();
        // One request finds out that the server knows the key.
        for (name, limit) in
            [("hourly", "requests: 2, window: 1h"), ("quick", "requests: 1, window: 1s")]
        {
            let limit = format!("{{name: {name}, {limit}, counts: requests}}");
            let manifests = plan_with_tenant(name, &limit).replace("acme", name);
            fs::write(server.directory().path().join("plan.yaml"), manifests).unwrap();
            let _ = server.assay(&["apply", "--sample", "-f", "plan.yaml"]).ok();
        }
        Self { server, key: enterprise.key }
    }

    fn url(&self) -> String {
        format!("http://{}", self.server.api)
    }

    /// A new key of a tenant, which the server knows.
    fn new_key(&self, tenant: &str) -> String {
        self.key_of(&["--tenant", tenant])
    }

    /// A new key of the sandbox, which the server knows.
    fn sandbox_key(&self) -> String {
        self.key_of(&["--tenant", "sample-business", "--sandbox"])
    }

    fn key_of(&self, arguments: &[&str]) -> String {
        let create = [&["keys", "create", "--sample"], arguments].concat();
        let new = self.server.assay(&create).ok();
        let key = new.stdout.trim().to_owned();
        let caller = self.server.caller(&key);
        wait_until("the server knows the key", || caller.get("/api/v1/sources").status != 401);
        key
    }

    /// The description in a version, in a file.
    fn description(&self, version: &str, folder: &Path) -> PathBuf {
        let file = folder.join(version);
        let answer = self.server.caller("").get(&format!("/{version}"));
        fs::write(&file, answer.text).unwrap();
        file
    }

    /// Output of a program of the tests about the answers that its client got.
    fn told_by(&self, mut program: Command) -> Value {
        let (hourly, quick) = (self.new_key("hourly"), self.new_key("quick"));
        run(program.args([&self.url(), &self.key, &hourly, &quick])).json()
    }
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Answers that every client gets: a check, three rows, an error, a limit, a search.
fn expected() -> Value {
    json!({
        "check": ["block", "severe", 100, "active"],
        "screen": ["block", "review", WRONG_LENGTH],
        "error": [422, "invalid_address"],
        "limit": [429, "quota_exceeded", true],
        "search": ["GREYMARSH, Ilja"],
    })
}
