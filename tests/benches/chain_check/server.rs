//! Checks over HTTP, each for the first time.

use std::{
    fmt::Write,
    fs,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use assay_engine::utxo::ScriptOwner;
use assay_tests::{
    Caller, Figures, Postgres, Server, assay,
    big_chain::{BigChain, Hub, Label, Person},
    tenant, to_megabytes,
};
use serde_json::Value;

use super::CHAIN;

pub(super) fn check(database: &Postgres, chain: &BigChain, hub: Hub) {
    let directory = Arc::new(tempfile::tempdir().expect("a directory"));
    database.used_by(directory.path());
    fs::write(directory.path().join("acme.yaml"), tenant("acme", "enterprise"))
        .expect("a manifest");
    let mut labels = String::from("blockchain,address,category,entity,tier,confidence\n");
    for (person, label) in chain.labelled() {
        let address = address(&person.owner());
        let Label { category, entity } = label;
        let _ = writeln!(labels, "btc,{address},{category},{entity},investigation,90");
    }
    fs::write(directory.path().join("labels.csv"), labels).expect("labels");
    let run = |arguments: &[&str]| assay(directory.path(), arguments).ok().stdout;
    let _ = run(&["apply", "-f", "acme.yaml"]);
    let _ = run(&["ingest", "labels", "labels.csv", "--format", "csv", "--source", "made-up"]);
    let key = run(&["keys", "create", "--tenant", "acme"]);
    let server = Server::start(directory, &[]);
    let caller = server.caller(key.trim());

    let (mut times, mut followed) = (Vec::new(), [Vec::new(), Vec::new()]);
    let leaves = chain.leaves();
    let checked = (0..CUSTOMERS.min(leaves)).map(|nth| Person::Leaf(nth * leaves / CUSTOMERS));
    for leaf in checked {
        let (took, answer) = timed(&caller, leaf);
        times.push(took);
        for (shares, direction) in followed.iter_mut().zip(DIRECTIONS) {
            shares.push(share_followed(&answer, direction));
        }
    }
    let times = Figures::of_times(times);
    println!(
        "checks of {CUSTOMERS} of {leaves} customers of a hub of {} outputs, in ms: {times}",
        hub.outputs
    );
    for (mut shares, direction) in followed.into_iter().zip(DIRECTIONS) {
        shares.sort_by(f64::total_cmp);
        let at = |place: usize| shares.get(place).copied().unwrap_or(0.0) * 100.0;
        println!(
            "  coverage, {direction}: {:.1} % followed to an end (median), {:.1} % at least",
            at(shares.len() / 2),
            at(0)
        );
    }
    let (took, answer) = timed(&caller, Person::Hub);
    let coverage = answer.get("coverage").and_then(|coverage| coverage.get("exposure"));
    println!(
        "check of the hub: {:.1} ms, coverage {}",
        took.as_secs_f64() * 1_000.0,
        coverage.expect("coverage")
    );
    let peak = to_megabytes(server.peak_resident_bytes());
    println!("  the server took {peak:.0} MB of memory at most");
}

/// Customers of the hub that are checked.
const CUSTOMERS: u64 = 4;

const DIRECTIONS: [&str; 2] = ["source", "destination"];

/// Checks an address and returns the time until there was an answer. A limited request is repeated,
/// and so is one that takes longer than a request may: its assessment continues meanwhile.
fn timed(caller: &Caller, person: Person) -> (Duration, Value) {
    let address = address(&person.owner());
    let mut begun = Instant::now();
    let mut timeouts = 0;
    loop {
        let answer = caller.check("btc", &address);
        match answer.status {
            429 => {
                thread::sleep(Duration::from_millis(200));
                begun = Instant::now();
            }
            503 => {
                assert_eq!(answer.problem().1, "unavailable", "{}", answer.text);
                timeouts += 1;
                println!(
                    "{person:?} is asked for again: {timeouts} times longer than a request may take"
                );
            }
            _ => {
                let answer = answer.json();
                assert_eq!(answer.get("cached"), Some(&Value::Bool(timeouts > 0)), "{answer}");
                return (begun.elapsed(), answer);
            }
        }
    }
}

/// The share of a direction's money whose end was found.
fn share_followed(answer: &Value, direction: &str) -> f64 {
    let exposure = answer.get("exposure").and_then(Value::as_array).expect("exposure");
    let open = exposure.iter().filter(|part| {
        part.get("direction").is_some_and(|of| of == direction)
            && part.get("endpoint_type").is_some_and(|end| end == "unresolved")
    });
    let share = |part: &Value| part.get("share")?.as_str()?.parse::<f64>().ok();
    1.0 - open.filter_map(share).sum::<f64>()
}

fn address(owner: &ScriptOwner) -> String {
    owner.address(CHAIN).expect("an address").to_string()
}
