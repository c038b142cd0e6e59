//! Time until all servers have applied a change by a command.

use std::env;

use assay_tests::{Caller, Figures, platform::Platform, wait_until};

use crate::support::{ADDRESSES, plan_with_high_limits};

/// Number of trials; `ASSAY_TRIALS` overrides it.
fn trials() -> usize {
    env::var("ASSAY_TRIALS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

#[test]
fn a_revocation_reaches_every_server() {
    let platform = Platform::start();
    platform.apply(&plan_with_high_limits());
    let servers = platform.servers(3, &platform.key(), &[]);
    let took: Vec<_> = (0..trials())
        .map(|_| {
            let key = platform.key();
            let callers: Vec<Caller> =
                servers.iter().map(|(server, _)| server.caller(&key)).collect();
            let all =
                |status| callers.iter().all(|caller| caller.get("/api/v1/usage").status == status);
            wait_until("the new key is known", || all(200));
            let id = key.split('_').nth(2).unwrap();
            let _ = platform.assay(&["keys", "revoke", id]).ok();
            // From the command's end, a moment after the commit.
            wait_until("it is dead everywhere", || all(401))
        })
        .collect();
    eprintln!(
        "from a revocation to the last of 3 servers, {} times, in ms: {}",
        took.len(),
        Figures::from_times(took)
    );
}

#[test]
fn a_new_listing_shows_on_every_server_though_the_answer_was_cached() {
    let platform = Platform::start();
    platform.apply(&plan_with_high_limits());
    let servers = platform.servers(3, &platform.key(), &[]);
    let verdicts = || -> Vec<String> {
        let answers = servers.iter().map(|(_, caller)| caller.check("btc", ADDRESSES[0]));
        answers
            .map(|answer| {
                assert_eq!(answer.status, 200, "{}", answer.text);
                answer.json()["verdict"].as_str().unwrap().to_owned()
            })
            .collect()
    };
    let mut took = Vec::new();
    for round in 0..trials().div_ceil(5) {
        // The address gets a sanctions label, and then a benign one.
        for category in ["sanctions", "exchange"] {
            let before = verdicts();
            assert_eq!(verdicts(), before, "repeated");
            let labels = format!(
                "blockchain,address,category,entity,tier,confidence\n\
                 btc,{},{category},Party {round},investigation,100\n",
                ADDRESSES[0]
            );
            platform.write("labels.csv", &labels);
            let ingest =
                ["ingest", "labels", "labels.csv", "--format", "csv", "--source", "made-up"];
            let _ = platform.assay(&ingest).ok();
            took.push(wait_until("it shows everywhere", || {
                verdicts().iter().all(|verdict| (verdict == "block") == (category == "sanctions"))
            }));
        }
    }
    eprintln!(
        "from an import to the last of 3 servers, {} times, in ms: {}",
        took.len(),
        Figures::from_times(took)
    );
}
