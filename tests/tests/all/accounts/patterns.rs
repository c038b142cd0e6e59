//! The search finds planted patterns of accounts and hardly any others, and none of the innocent.

use std::collections::BTreeMap;

use assay_engine::{
    account::TransferKind,
    assessment::{AssessedPattern, Assessment, CoverageStatus},
    evidence::{Pattern, PatternRole, UnscoredReason},
    patterns::rules::{AROUND_READS, CHAIN_READS},
};
use assay_tests::{
    accounts::{
        AccountChain, AccountWorld, DOLLAR, ETH, ETHER, USDC, USDT,
        behavior::{
            innocents::{AccountProfile, innocents},
            planted::{PATTERNS, count, planted},
        },
        move_of,
    },
    behavior::planted::DetectionCount,
};
use jiff::SignedDuration;

/// The least recall and precision of each pattern, in percent.
const LEAST: u32 = 98;
/// Worlds with five accounts of each pattern.
const WORLDS: u64 = 8;

#[test]
fn planted_patterns_of_accounts_are_found_and_others_are_not() {
    let mut counts: BTreeMap<Pattern, DetectionCount> = BTreeMap::new();
    for seed in 0..WORLDS {
        let (world, all) = planted(seed, 5);
        for (pattern, count) in count(&world, &all) {
            counts.entry(pattern).or_default().add(count);
        }
    }
    for (pattern, count) in &counts {
        eprintln!(
            "{:20} recall {:3} %, precision {:3} %  ({count:?})",
            pattern.as_str(),
            count.recall(),
            count.precision(),
        );
    }
    for pattern in PATTERNS {
        let count = counts.get(&pattern).copied().unwrap_or_default();
        assert!(count.right >= 40, "{pattern:?}: {count:?}");
        assert!(count.recall() >= LEAST && count.precision() >= LEAST, "{pattern:?}: {count:?}");
    }
    let others = counts.keys().filter(|pattern| !PATTERNS.contains(pattern));
    assert_eq!(others.count(), 0, "patterns that nobody planted: {counts:?}");
}

#[test]
fn bots_market_makers_treasuries_hunters_and_payrolls_keep_their_verdicts() {
    let mut scored: BTreeMap<(AccountProfile, Pattern), u32> = BTreeMap::new();
    let (mut number, mut of_contracts) = (0, 0);
    for seed in 0..4 {
        // Given ten accounts of each kind over a year and more.
        let (world, all, contracts) = innocents(seed, 10);
        for (profile, account) in all {
            // When they are checked with and without the search for patterns.
            let answer = world.assess_with_behavior(account);
            let bare = world.assess(account);
            // Then the verdict is the same, and no pattern counts.
            assert_eq!(answer.verdict, bare.verdict, "{profile:?}");
            for pattern in answer.transaction_patterns.iter().filter(|it| it.scored) {
                eprintln!("{profile:?}: {} {}", pattern.pattern.as_str(), pattern.description);
                *scored.entry((profile, pattern.pattern)).or_default() += 1;
            }
            number += 1;
        }
        // No pattern of a contract counts.
        for contract in contracts {
            for pattern in world.assess_with_behavior(contract).transaction_patterns {
                assert_eq!(pattern.unscored_reason, Some(UnscoredReason::Contract), "{pattern:?}");
                of_contracts += 1;
            }
        }
    }
    eprintln!("{of_contracts} patterns of contracts");
    assert!(number >= 200);
    assert_eq!(scored, BTreeMap::new());
}

/// The pattern of an account in an answer; `None` if it is not found.
fn found(answer: &Assessment, pattern: Pattern) -> Option<&AssessedPattern> {
    answer.transaction_patterns.iter().find(|it| it.pattern == pattern)
}

#[test]
fn amounts_are_dollars_of_the_day_and_sentences_say_so() {
    // Given an account that ten owners pay half an ether each, with and without a price of ethers.
    for (chain, amount) in
        [(AccountChain::new(), "15000"), (AccountChain::without_prices(), "12500")]
    {
        let mut chain = chain;
        let account = chain.account();
        for _ in 0..10 {
            let payer = chain.outsider();
            chain.pay(payer, account, ETH, ETHER / 2);
        }
        // When it is checked.
        let answer = AccountWorld::new(chain).assess_with_behavior(account);
        // Then the sum is told in dollars of the day, or by the order of worth.
        let fan_in = found(&answer, Pattern::FanIn).unwrap();
        let description = format!("received {amount} USD from 10 owners, within 2 minutes");
        assert_eq!(fan_in.description, description);
        assert_eq!((fan_in.amount.asset.as_str(), fan_in.scored), ("USD", true));
        assert_eq!(fan_in.amount.usd.as_deref(), Some(format!("{amount}.00").as_str()));
        assert_eq!(answer.coverage.behavior.status, CoverageStatus::Assessed);
    }
}

#[test]
fn contracts_are_no_owners_and_exchanges_no_payments() {
    // Given an account that deals with twelve contracts and swaps with twelve unknown accounts on one day.
    let mut chain = AccountChain::new();
    let [account, creator] = chain.accounts();
    let friend = chain.outsider();
    chain.pay(friend, account, ETH, 100 * ETHER);
    chain.pay(friend, creator, ETH, ETHER);
    for _ in 0..12 {
        let contract = chain.account();
        chain.transact(creator, vec![move_of(TransferKind::Create, (creator, contract, ETH, 1))]);
        chain.pay(account, contract, ETH, ETHER);
        chain.pay(contract, account, ETH, ETHER);
        let other = chain.outsider();
        let swap = [(account, other, ETH, ETHER), (other, account, USDC, 2_990 * DOLLAR)];
        chain.send(account, &swap);
    }
    // When it is checked, then it shows no pattern.
    let behavior = AccountWorld::new(chain).behavior(account);
    assert_eq!(behavior.patterns, []);
    assert_eq!(behavior.searched.transactions, 37);
}

#[test]
fn a_price_that_rose_wakes_nobody() {
    // Given an account that slept for 400 days, while its ethers became ten times as dear.
    for (ethers, is_awake) in [(1, false), (6, true)] {
        let mut chain = AccountChain::new();
        let (account, friend) = (chain.account(), chain.outsider());
        chain.pay(friend, account, ETH, 10 * ETHER);
        chain.wait_days(400);
        chain.set_price(ETH, 30_000);
        // When it pays a tenth of them, or more than half.
        let other = chain.account();
        chain.pay(account, other, ETH, ethers * ETHER);
        let answer = AccountWorld::new(chain).assess_with_behavior(account);
        // Then only the latter is a reactivation.
        let dormant = found(&answer, Pattern::DormantReactivation);
        assert_eq!(dormant.is_some(), is_awake, "{answer:#?}");
    }
}

#[test]
fn nobody_becomes_a_poisoner_by_what_others_log() {
    for is_own in [false, true] {
        // Given a victim who paid a friend, and an account that looks like the friend.
        let mut chain = AccountChain::new();
        let [victim, friend] = chain.accounts();
        let payer = chain.outsider();
        chain.pay(payer, victim, USDT, 900 * DOLLAR);
        chain.pay(victim, friend, USDT, 500 * DOLLAR);
        let mut alike = chain.account();
        alike.0[..2].copy_from_slice(&friend.0[..2]);
        alike.0[18..].copy_from_slice(&friend.0[18..]);
        chain.pay(payer, alike, USDT, 100 * DOLLAR);
        // When it sends a hundredth of a dollar, or somebody else logs a transfer of nothing to it.
        if is_own {
            chain.pay(alike, victim, USDT, DOLLAR / 100);
        } else {
            let other = chain.outsider();
            chain.send(other, &[(victim, alike, USDT, 0)]);
        }
        let world = AccountWorld::new(chain);
        // Then it is shown either way, and scored for its own doing alone.
        let answer = world.assess_with_behavior(alike);
        let actor = found(&answer, Pattern::AddressPoisoning).unwrap();
        let reason = (!is_own).then_some(UnscoredReason::LittleReceived);
        assert_eq!((actor.role, actor.unscored_reason), (PatternRole::Actor, reason));
        // The victim is told, and not scored.
        let answer = world.assess_with_behavior(victim);
        let suffered = found(&answer, Pattern::AddressPoisoning).unwrap();
        assert_eq!(suffered.unscored_reason, Some(UnscoredReason::Victim));
        assert_eq!(
            suffered.description,
            "got transfers of dust, nothing or worthless tokens with an address that looks like its \
             earlier counterparties"
        );
    }
}

#[test]
fn a_search_around_an_account_is_bounded_and_says_where_it_ended() {
    // Given an account that pays and is paid by sixty owners, each of whom has a hundred other payments.
    let mut chain = AccountChain::new();
    let (account, payer) = (chain.account(), chain.outsider());
    chain.pay(payer, account, USDT, 1_000_000 * DOLLAR);
    for _ in 0..60 {
        let other = chain.account();
        chain.pay(account, other, USDT, 9_000 * DOLLAR);
        for _ in 0..100 {
            let shop = chain.account();
            chain.pay(other, shop, USDT, 80 * DOLLAR);
        }
        chain.pay(other, account, USDT, 500 * DOLLAR);
    }
    // When its patterns are searched.
    let searched = AccountWorld::new(chain).behavior(account).searched;
    // Then the answer tells that the search stopped.
    assert!(searched.is_whole && !searched.is_whole_around, "{searched:?}");
    let most = u64::from(CHAIN_READS + AROUND_READS);
    assert!((1..=most).contains(&searched.around), "{searched:?}");
}

#[test]
fn who_passes_money_on_day_after_day_is_no_launderer_for_that() {
    for (days, reason) in [(4, None), (40, Some(UnscoredReason::RegularActivity))] {
        // Given an account that passes a payment on within the hour, on some days.
        let mut chain = AccountChain::new();
        let account = chain.account();
        for _ in 0..days {
            let (from, to) = (chain.outsider(), chain.account());
            chain.pay(from, account, USDC, 7_000 * DOLLAR);
            chain.wait(SignedDuration::from_mins(20));
            chain.pay(account, to, USDC, 6_900 * DOLLAR);
            chain.wait_days(1);
        }
        // When it is checked, then a few days count, and many do not.
        let answer = AccountWorld::new(chain).assess_with_behavior(account);
        let passed = found(&answer, Pattern::RapidPassThrough).unwrap();
        assert_eq!((passed.count, passed.unscored_reason), (days, reason));
    }
}
