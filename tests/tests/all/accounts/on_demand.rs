//! Histories that are read account by account: an answer says what it does not know.

use std::collections::BTreeMap;

use assay_engine::{
    account::{AccountAddress, FreezeChange},
    score::Verdict,
    taxonomy::Category,
};
use assay_tests::{
    accounts::{
        AccountChain, AccountWorld, DOLLAR, USDT,
        economy::{Economy, EconomySize},
        on_demand::{Comparison, OnDemandWorld},
    },
    is_full,
};

/// Accounts of each kind that are checked.
const OF_EACH_KIND: usize = 25;
/// Rounds of reading lists of severe parties, which are enough for all.
const ROUNDS: u32 = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn answers_by_histories_agree_with_those_by_the_whole_chain() {
    let (seeds, size) = if is_full() {
        (0..6, EconomySize { people: 400, days: 200, heat: 2 })
    } else {
        (0..1, EconomySize { people: 150, days: 120, heat: 2 })
    };
    let mut all = Comparison::default();
    let mut of_kinds: BTreeMap<&str, Comparison> = BTreeMap::new();
    for seed in seeds {
        let economy = Economy::simulate(seed, size);
        let on_demand = OnDemandWorld::of(&economy.world).await;
        on_demand.read_reached(ROUNDS).await;
        for (kind, accounts) in &economy.kinds {
            let mut comparison = Comparison::default();
            for account in accounts.iter().take(OF_EACH_KIND) {
                let whole = economy.world.assess_with_behavior(*account);
                let (answer, requests) = on_demand.assess(*account, 20).await;
                comparison.add(&whole, &answer, requests);
            }
            of_kinds.entry(kind).or_default().add_all(&comparison);
            all.add_all(&comparison);
        }
    }
    for (kind, comparison) in &of_kinds {
        eprintln!("{kind}: {comparison}");
    }
    eprintln!("all: {} accounts, {all}", all.count);
    for error in &all.errors {
        eprintln!("  {error}");
    }
    assert_eq!(all.wrong[0], 0, "complete answers are never wrong: {:?}", all.errors);
    assert!(!is_full() || all.count >= 1_000, "{all}");
}

/// Checks an account of a chain again and again, as somebody would who waits for an `allow`.
async fn assert_is_never_allowed(chain: AccountChain, account: AccountAddress) {
    let world = AccountWorld::new(chain);
    let whole = world.assess_with_behavior(account).verdict;
    assert!(matches!(whole, Verdict::Review | Verdict::Block), "{whole:?}");
    let on_demand = OnDemandWorld::of(&world).await;
    for check in 1..=20 {
        let (answer, _) = on_demand.assess(account, 20).await;
        assert_ne!(answer.verdict, Verdict::Allow, "check {check}: {:?}", answer.reasons);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn small_payments_do_not_hide_the_payment_of_a_thief() {
    let mut chain = AccountChain::new();
    let exchange = chain.party(Category::Exchange, "Some Exchange");
    let thief = chain.party(Category::StolenFunds, "Some Hack");
    let [through, subject] = chain.accounts();
    chain.pay(thief, through, USDT, 50_000 * DOLLAR);
    for number in 0..1_500 {
        let payer = chain.account();
        chain.pay(exchange, payer, USDT, 20 * DOLLAR);
        // Half of them to the thief's own account, so that its list is long as well.
        chain.pay(payer, if number % 2 == 0 { subject } else { through }, USDT, 20 * DOLLAR);
    }
    chain.pay(through, subject, USDT, 50_000 * DOLLAR);
    assert_is_never_allowed(chain, subject).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn worthless_tokens_do_not_hide_the_payment_of_a_thief() {
    let mut chain = AccountChain::new();
    let thief = chain.party(Category::StolenFunds, "Some Hack");
    let [through, subject, spammer] = chain.accounts();
    let token = chain.token();
    chain.pay(thief, through, USDT, 50_000 * DOLLAR);
    chain.pay(through, subject, USDT, 50_000 * DOLLAR);
    for _ in 0..1_200 {
        chain.mint(token, spammer, 1);
        chain.pay(spammer, subject, token, 1);
    }
    assert_is_never_allowed(chain, subject).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn many_small_payers_of_stolen_money_are_never_allowed() {
    for (payers, percent) in [(40, 100), (150, 100), (40, 15), (150, 15)] {
        let mut chain = AccountChain::new();
        let exchange = chain.party(Category::Exchange, "Some Exchange");
        let thief = chain.party(Category::StolenFunds, "Some Hack");
        let subject = chain.account();
        for number in 0..payers {
            let [payer, other] = chain.accounts();
            let is_stolen = number * percent / 100 != (number + 1) * percent / 100;
            let source = if is_stolen { thief } else { exchange };
            chain.pay(source, other, USDT, 1_000 * DOLLAR);
            chain.pay(other, payer, USDT, 1_000 * DOLLAR);
            chain.pay(payer, subject, USDT, 1_000 * DOLLAR);
        }
        assert_is_never_allowed(chain, subject).await;
    }
}

/// Given many payers alike, a quarter of whom a thief paid, then a check that knows the thief's payees reads these first and finds him.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn payers_whom_a_thief_paid_are_read_first() {
    let mut chain = AccountChain::new();
    let exchange = chain.party(Category::Exchange, "Some Exchange");
    let thief = chain.party(Category::StolenFunds, "Some Hack");
    let subject = chain.account();
    for number in 0..32 {
        let payer = chain.account();
        let source = if number % 4 == 3 { thief } else { exchange };
        chain.pay(source, payer, USDT, 1_000 * DOLLAR);
        chain.pay(payer, subject, USDT, 1_000 * DOLLAR);
    }
    let world = AccountWorld::new(chain);
    let unprepared = OnDemandWorld::of(&world).await;
    let (answer, _) = unprepared.assess(subject, 20).await;
    assert_eq!(answer.verdict, Verdict::Indeterminate, "{:?}", answer.reasons);
    let prepared = OnDemandWorld::of(&world).await;
    prepared.read_reached(2).await;
    let (answer, requests) = prepared.assess(subject, 20).await;
    assert_eq!(answer.verdict, Verdict::Review, "{:?}", answer.reasons);
    assert!(requests <= 20, "{requests}");
    let detail = &answer.coverage.exposure.detail;
    assert!(
        detail.contains("payees in the newest transfers of 1 of 1 listed and severe addresses"),
        "{detail}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_wage_from_an_exchange_is_allowed_after_few_requests() {
    let mut chain = AccountChain::new();
    let exchange = chain.party(Category::Exchange, "Some Exchange");
    let [employer, subject] = chain.accounts();
    chain.pay(exchange, employer, USDT, 90_000 * DOLLAR);
    for _ in 0..12 {
        chain.wait_days(30);
        chain.pay(employer, subject, USDT, 3_000 * DOLLAR);
    }
    let world = AccountWorld::new(chain);
    let on_demand = OnDemandWorld::of(&world).await;
    let (answer, requests) = on_demand.assess(subject, 20).await;
    assert_eq!((answer.verdict, answer.complete), (Verdict::Allow, true), "{:?}", answer.reasons);
    assert!(requests <= 9, "{requests}");
    assert!(answer.coverage.exposure.detail.contains("not checked against the chain"));
    let (again, more) = on_demand.assess(subject, 20).await;
    assert_eq!((again.verdict, more), (Verdict::Allow, 0), "all of it is stored");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_freeze_by_the_issuer_counts_from_its_block_until_it_is_lifted() {
    let mut chain = AccountChain::new();
    let exchange = chain.party(Category::Exchange, "Some Exchange");
    let [frozen, lifted, payee] = chain.accounts();
    for account in [frozen, lifted] {
        chain.pay(exchange, account, USDT, 9_000 * DOLLAR);
        chain.pay(account, payee, USDT, 1_000 * DOLLAR);
        chain.freeze(account, USDT, FreezeChange::Frozen);
    }
    chain.freeze(lifted, USDT, FreezeChange::Lifted);
    let world = AccountWorld::new(chain);
    let on_demand = OnDemandWorld::of(&world).await;
    let (before, _) = on_demand.assess(frozen, 20).await;
    assert!(before.coverage.exposure.detail.contains("no freezes by issuers of tokens yet"));
    on_demand.read_freezes().await;
    let (answer, _) = on_demand.assess(frozen, 20).await;
    assert_eq!(answer.verdict, Verdict::Review, "{:?}", answer.reasons);
    assert!(answer.labels.iter().any(|label| label.category == Category::IssuerFrozen));
    let (answer, _) = on_demand.assess(lifted, 20).await;
    assert_eq!(answer.verdict, Verdict::Allow, "{:?}", answer.reasons);
    let (answer, _) = on_demand.assess(payee, 20).await;
    assert_eq!(answer.verdict, Verdict::Allow, "it was paid before: {:?}", answer.reasons);
}
