//! Following money, twice.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test stops at the first surprise")]

use assay_tests::oracle::{Case, flows};
use futures_util::FutureExt;

#[test]
fn compare() {
    let from: u64 = std::env::var("SEED").ok().map_or(0, |seed| seed.parse().unwrap());
    let count: u64 = std::env::var("COUNT").ok().map_or(200, |seed| seed.parse().unwrap());
    let show: u64 = std::env::var("SHOW").ok().map_or(4, |seed| seed.parse().unwrap());
    let mut bad = 0;
    for seed in from..from + count {
        let case = Case::generate(seed);
        let memory = case.in_memory();
        let mut engine = case.trace(&memory, 256).now_or_never().unwrap().unwrap().unwrap();
        let ledger = engine.ledgers.remove(0);
        let oracle = flows(&case);
        for (name, mut engine, oracle) in
            [("source", ledger.source, &oracle[0]), ("destination", ledger.destination, &oracle[1])]
        {
            engine.parts.retain(|part| part.amount > 0);
            for part in &mut engine.parts {
                part.paths.clear();
                part.transactions.clear();
            }
            if engine != *oracle {
                bad += 1;
                if bad > show {
                    continue;
                }
                println!("seed {seed} {name} {:?}", case.rules);
                for part in &engine.parts {
                    if !oracle.parts.contains(part) {
                        println!("  engine {part:?}");
                    }
                }
                for part in &oracle.parts {
                    if !engine.parts.contains(part) {
                        println!("  oracle {part:?}");
                    }
                }
                if engine.parts.iter().all(|part| oracle.parts.contains(part))
                    && engine.parts.len() == oracle.parts.len()
                {
                    println!("  order");
                }
            }
        }
    }
    assert_eq!(bad, 0);
}
