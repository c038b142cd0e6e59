//! Rules for the search of kept checks that every backend must keep.

use assay_store::checks::{CheckFilter, CheckKey, CheckPage, CheckQuery, FoundCheck};
use assay_test_random::Random;

use super::*;

const CHAINS: [&str; 3] = ["btc", "eth", "trx"];
const VERDICTS: [&str; 4] = ["allow", "allow", "review", "block"];
const RULES: [&str; 4] = ["no_findings", "exposure", "funds_taken", "funds"];

/// The answer of a check with random properties, of which few have each one.
fn answer(dice: &mut Random) -> String {
    let reference = match dice.index(4) {
        0 => json!(null),
        number => json!(format!("order {number}% _")),
    };
    let (first, second) = (RULES[dice.index(4)], RULES[dice.index(4)]);
    json!({
        "reference": reference,
        "blockchain": CHAINS[dice.index(3)],
        "address": format!("address-{}", dice.index(4)),
        "risk_score": 10.5,
        "verdict": VERDICTS[dice.index(4)],
        "reasons": [{ "code": first, "message": "m" }],
        "scoring_components": [{ "rule": second }, { "rule": null }],
    })
    .to_string()
}

fn any_filter(dice: &mut Random) -> CheckFilter {
    let mut given = |text: String| dice.one_in(3).then_some(text);
    let mut filter = CheckFilter {
        blockchain: given("eth".into()),
        address: given("address-1".into()),
        reference: given("order 2% _".into()),
        verdict: given("allow".into()),
        rule: given("funds".into()),
        ..CheckFilter::default()
    };
    if dice.one_in(3) {
        filter.verdict = filter.verdict.map(|_| "block".into());
        filter.rule = filter.rule.map(|_| "no_findings".into());
    }
    filter.from = dice.one_in(4).then(|| at(20));
    filter.to = dice.one_in(4).then(|| at(60));
    filter
}

/// Random checks of a tenant in the period of tests: many have the same time.
fn checks(tenant: &str, prefix: &str, count: usize, dice: &mut Random) -> Vec<KeptCheck> {
    (0..count)
        .map(|number| {
            let made_at = at(i64::try_from(dice.index(80)).unwrap());
            KeptCheck::new(
                format!("{prefix}-{number}"),
                tenant.parse().unwrap(),
                made_at,
                answer(dice),
            )
        })
        .collect()
}

/// All pages of a search, while `between` runs after each.
async fn pages(
    store: &dyn Store,
    filter: &CheckFilter,
    limit: usize,
    mut between: impl AsyncFnMut(),
) -> Vec<FoundCheck> {
    let tenant = "a".parse().unwrap();
    let mut query = CheckQuery { filter: filter.clone(), after: None, limit };
    let mut all = Vec::new();
    loop {
        let CheckPage { checks, next } = store.find_checks(&tenant, &query).await.unwrap();
        assert!(checks.len() <= limit);
        all.extend(checks);
        between().await;
        let Some(next) = next else { return all };
        query.after = Some(next);
    }
}

fn expected(checks: &[KeptCheck], filter: &CheckFilter) -> Vec<CheckKey> {
    let query = CheckQuery { filter: filter.clone(), after: None, limit: 1 };
    let mut keys: Vec<CheckKey> =
        checks.iter().filter_map(|check| check.found_by(&query)).map(|found| found.key).collect();
    keys.sort_by(|one, other| other.cmp(one));
    keys
}

pub(crate) async fn pages_of_any_search_give_each_check_once(store: Arc<dyn Store>) {
    let dice = &mut Random::new(7);
    // Given checks of two tenants.
    let ours = checks("a", "old", 600, dice);
    store.keep_checks(&ours).await.unwrap();
    store.keep_checks(&checks("b", "other", 300, dice)).await.unwrap();
    let mut added = 0;
    for _ in 0..120 {
        let filter = any_filter(dice);
        // When the pages of a search are read, and other checks are kept meanwhile.
        let limit = 1 + dice.index(40);
        let found = pages(&*store, &filter, limit, async || {
            if added < 200 {
                added += 1;
                let new = checks("a", &format!("new-{added}"), 2, &mut Random::new(added));
                store.keep_checks(&new).await.unwrap();
            }
        })
        .await;
        // Then they have each check from before once, the newest first, and of the others each at most once.
        assert!(found.is_sorted_by(|one, next| one.key > next.key), "{filter:?}");
        let is_old = |key: &&CheckKey| key.id.starts_with("old");
        let keys: Vec<CheckKey> = found.iter().map(|found| found.key.clone()).collect();
        let old: Vec<CheckKey> = keys.iter().filter(is_old).cloned().collect();
        assert_eq!(old, expected(&ours, &filter), "{filter:?}");
        assert!(found.iter().all(|found| filter.matches(&found.key, &found.summary)));
    }
}

pub(crate) async fn a_page_ends_early_where_few_of_many_checks_are_found(store: Arc<dyn Store>) {
    // Given 9,000 checks, of which the oldest alone is of another verdict on its chain.
    let kept = |number: i64, verdict: &str| {
        let answer = json!({
            "blockchain": "btc", "address": "a", "risk_score": 0, "verdict": verdict,
        });
        let made_at = at(0) + jiff::SignedDuration::from_secs(number);
        KeptCheck::new(format!("{number:05}"), "a".parse().unwrap(), made_at, answer.to_string())
    };
    let mut all = vec![kept(0, "indeterminate"), kept(1, "review")];
    all.extend(
        (2..9_000).map(|number| kept(number, if number % 2 == 0 { "review" } else { "allow" })),
    );
    store.keep_checks(&all).await.unwrap();
    // When it is searched for by conditions that many others meet, then pages lead to it.
    let filter = CheckFilter {
        blockchain: Some("btc".into()),
        address: Some("a".into()),
        verdict: Some("indeterminate".into()),
        ..CheckFilter::default()
    };
    let mut read = 0;
    let found = pages(&*store, &filter, 100, async || read += 1).await;
    assert_eq!(found.iter().map(|found| &*found.key.id).collect::<Vec<_>>(), ["00000"]);
    assert!(read > 1, "one page reads a bounded number of rows");
    // And what is purged is not found any more.
    let purge = Purge {
        tenant: "a".parse().unwrap(),
        checks_before: at(1),
        usage_before: date(2026, 1, 1),
    };
    assert_eq!(store.purge_tenant(&purge).await.unwrap().checks, 60);
    assert_eq!(pages(&*store, &filter, 100, async || ()).await, []);
    let all = pages(&*store, &CheckFilter::default(), 1_000, async || ()).await;
    assert_eq!(all.len(), 8_940);
}

/// Conditions that lead to each index.
fn any_condition() -> [CheckFilter; 6] {
    let none = CheckFilter::default;
    [
        none(),
        CheckFilter { reference: Some("order 2% _".into()), ..none() },
        CheckFilter { address: Some("address-1".into()), ..none() },
        CheckFilter { rule: Some("funds_taken".into()), ..none() },
        CheckFilter { verdict: Some("block".into()), ..none() },
        CheckFilter { blockchain: Some("trx".into()), ..none() },
    ]
}

/// Keeps checks, undoes the migration by `undo`, and returns what is found before and after another program opens the
/// store.
pub(crate) async fn found_before_and_after<S: Store>(
    store: S,
    undo: impl AsyncFnOnce(),
    open: impl AsyncFnOnce() -> S,
) -> [Vec<Vec<FoundCheck>>; 2] {
    let found = async |store: &S| {
        let mut found = Vec::new();
        for filter in any_condition() {
            found.push(pages(store, &filter, 50, async || ()).await);
        }
        found
    };
    let mut kept = checks("a", "old", 200, &mut Random::new(11));
    kept.push(KeptCheck::new("none".into(), "a".parse().unwrap(), at(1), "{}".into()));
    store.keep_checks(&kept).await.unwrap();
    let charged = UsageCount { charged: charged("a", 1, "allow"), count: 1 };
    store.add_usage(&batch(&[charged])).await.unwrap();
    let before = found(&store).await;
    store.close().await;
    undo().await;
    let after = found(&open().await).await;
    [before, after]
}
