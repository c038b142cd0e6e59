//! Histories that are read account by account: an answer says what it does not know.

use assay_tests::{
    accounts::{
        economy::{Economy, EconomySize},
        on_demand::{Comparison, OnDemandWorld},
    },
    is_full,
};

/// Accounts of each kind that are checked.
const OF_EACH_KIND: usize = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn answers_by_histories_agree_with_those_by_the_whole_chain() {
    let (seeds, size) = if is_full() {
        (0..3, EconomySize { people: 400, days: 200, heat: 2 })
    } else {
        (0..1, EconomySize { people: 150, days: 120, heat: 2 })
    };
    let mut all = Comparison::default();
    for seed in seeds {
        let economy = Economy::simulate(seed, size);
        let on_demand = OnDemandWorld::of(&economy.world).await;
        for (kind, accounts) in &economy.kinds {
            let mut comparison = Comparison::default();
            for account in accounts.iter().take(OF_EACH_KIND) {
                let whole = economy.world.assess_with_behavior(*account);
                let (answer, requests) = on_demand.assess(*account, 20).await;
                comparison.add(&whole, &answer, requests);
            }
            eprintln!("{kind}: {comparison}");
            all.add_all(&comparison);
        }
    }
    eprintln!("all: {all}");
    for error in &all.errors {
        eprintln!("  {error}");
    }
    assert_eq!(all.wrong[0], 0, "complete answers are never wrong: {:?}", all.errors);
}
