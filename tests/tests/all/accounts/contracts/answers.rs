//! Answers about money that goes through contracts.

use assay_engine::{
    account::AccountAddress,
    assessment::{AssessedContractUse, Assessment, HoldingKind},
    evidence::{Direction, KeptWay},
    score::Verdict::Allow,
    taxonomy::Category,
};
use assay_tests::{
    accounts::{
        DOLLAR, ETH, ETHER, Pool, USDC,
        contracts::{Call, Protocols, Vault, named_depositor},
    },
    world::Claim,
};

use crate::accounts::theft::{Theft, assert_allow, assert_review, assert_verdict};

/// A theft of 600 ether on a chain with a pool that labels call `Some Pool`.
fn theft_at_named_pool() -> (Theft<Protocols>, Pool) {
    let mut theft = Theft::at_protocols(600);
    let pool = theft.on.ether_usdc;
    let claim = Claim::investigated(Category::Dex, "Some Pool");
    theft.chain.label(pool.contract, claim);
    (theft, pool)
}

#[track_caller]
fn contracts(assessment: &Assessment) -> &AssessedContractUse {
    assessment.contracts.as_deref().unwrap_or_else(|| panic!("no contracts: {assessment:#?}"))
}

fn warning<'a>(assessment: &'a Assessment, code: &str) -> Option<&'a str> {
    let found = assessment.warnings.iter().find(|warning| warning.code == code);
    found.map(|warning| warning.message.as_str())
}

#[test]
fn a_swap_is_told_with_the_contract_both_amounts_and_the_transaction() {
    let (mut theft, pool) = theft_at_named_pool();
    theft.swap_all(pool, theft.accomplice, ETH);
    let person = theft.clean(ETH, 10 * ETHER);
    let got = theft.swap_all(pool, person, ETH);
    let [person] = theft.assess([person]);
    assert_allow(&person);
    let [kept] = &*contracts(&person).kept else { panic!("{person:#?}") };
    assert_eq!((kept.way, kept.payments), (KeptWay::Exchanged, 1));
    assert_eq!(kept.via.entity.as_deref(), Some("Some Pool"));
    let [gave] = &*kept.gave else { panic!("{kept:#?}") };
    assert_eq!((&*kept.got[0].value, &*kept.got[0].asset), (&*got.to_string(), "USDC"));
    // Both sides have the same value: the pool pays less than the price of the day, and the person paid it the difference.
    let dollars = got / DOLLAR;
    let value: u128 = gave.value.parse().expect("an amount");
    assert_eq!((value / (ETHER / 3_000), &*gave.asset), (dollars, "ETH"));
    assert_eq!(kept.transactions.len(), 1);
    let ending = " ETH at Some Pool: what the contract holds is not the address's";
    assert!(kept.detail.starts_with("bought ") && kept.detail.ends_with(ending), "{}", kept.detail);
    // The ether of the exchange is all that came.
    let received = person.exposure.iter().filter(|it| it.direction == Direction::Source);
    assert_eq!(received.map(|it| it.endpoint_type).collect::<Vec<_>>(), ["exchange"]);
}

#[test]
fn a_receipt_is_a_holding_until_the_money_comes_back() {
    let mut theft = Theft::at_protocols(0);
    let person = theft.clean(USDC, 9_000 * DOLLAR);
    theft.run(|on, _| on.lending.supply((person, person), USDC, 9_000 * DOLLAR));
    let mut later = Theft { chain: theft.chain.clone(), on: theft.on.clone(), ..theft };
    let [holder] = theft.assess([person]);
    assert_allow(&holder);
    let [held] = &*contracts(&holder).holdings else { panic!("{holder:#?}") };
    assert_eq!(held.kind, HoldingKind::Token);
    assert!(held.token.is_some() && held.contract.is_some(), "{held:#?}");
    let [backing] = &*held.backing else { panic!("{held:#?}") };
    assert_eq!((&*backing.amount.value, &*backing.severe_share), ("9000000000", "0.000000"));
    assert_eq!(backing.amount.usd.as_deref(), Some("9000.00"));

    later.run(|on, _| on.lending.withdraw((person, person), USDC, 9_000 * DOLLAR));
    let [person] = later.assess([person]);
    let shown = contracts(&person);
    assert!(shown.holdings.is_empty(), "{shown:#?}");
    let [kept] = &*shown.kept else { panic!("{shown:#?}") };
    assert_eq!(kept.way, KeptWay::Returned);
    assert!(
        kept.detail.starts_with("got 9000 USDC of its own money back from "),
        "{}",
        kept.detail
    );
}

#[test]
fn stolen_money_behind_a_claim_is_told() {
    let mut theft = Theft::at_protocols(100);
    let vault = theft.chain.contract();
    theft.chain.pay_all(theft.accomplice, vault, ETH);
    let accomplice = theft.accomplice;
    let [holder] = theft.assess([accomplice]);
    let [claim] = &*contracts(&holder).holdings else { panic!("{holder:#?}") };
    assert_eq!((claim.kind, &claim.token), (HoldingKind::Claim, &None));
    assert_eq!(claim.backing[0].severe_share, "1.000000");
    assert!(
        claim.detail.ends_with("100 ETH that it put in (of severe categories)"),
        "{}",
        claim.detail
    );
}

#[test]
fn money_that_a_thief_puts_in_for_somebody_is_told_as_that_of_others() {
    let mut theft = Theft::at_protocols(100);
    let vault = theft.chain.contract();
    let person = theft.clean(ETH, 2 * ETHER);
    theft.chain.pay(person, vault, ETH, ETHER);
    let deposit = Call::new(theft.accomplice, &[(theft.accomplice, vault, ETH, 100 * ETHER)]);
    theft.chain.execute(deposit.naming(named_depositor(vault, person)));
    let [person] = theft.assess([person]);
    assert_allow(&person);
    let [claim] = &*contracts(&person).holdings else { panic!("{person:#?}") };
    let whose: Vec<bool> = claim.backing.iter().map(|money| money.of_others).collect();
    assert_eq!(whose, [false, true], "{claim:#?}");
    let ending = "1 ETH that it put in and 100 ETH of others (of severe categories)";
    assert!(claim.detail.ends_with(ending), "{}", claim.detail);
}

#[test]
fn two_persons_who_exchange_are_no_contracts() {
    let mut theft = Theft::at_protocols(0);
    let (ann, bob) = (theft.clean(ETH, ETHER), theft.clean(USDC, 3_000 * DOLLAR));
    let desk = theft.chain.account();
    theft.chain.send(desk, &[(ann, bob, ETH, ETHER), (bob, ann, USDC, 3_000 * DOLLAR)]);
    let [ann] = theft.assess([ann]);
    let [kept] = &*contracts(&ann).kept else { panic!("{ann:#?}") };
    assert!(kept.detail.ends_with("each within one transaction"), "{}", kept.detail);
}

#[test]
fn money_that_came_back_is_a_destination_that_returned() {
    let mut theft = Theft::at_protocols(0);
    let vault = theft.chain.contract();
    let person = theft.clean(ETH, 2 * ETHER);
    theft.chain.pay(person, vault, ETH, ETHER);
    theft.chain.send(person, &[(vault, person, ETH, ETHER)]);
    let [person] = theft.assess([person]);
    let sent = person.exposure.iter().filter(|it| it.direction == Direction::Destination);
    assert_eq!(sent.map(|it| it.endpoint_type).collect::<Vec<_>>(), ["returned"], "{person:#?}");
}

#[test]
fn a_friend_who_swaps_and_pays_a_thief_leads_there() {
    let (mut theft, pool) = theft_at_named_pool();
    let (person, friend) = (theft.clean(ETH, 10 * ETHER), theft.chain.account());
    theft.chain.pay_all(person, friend, ETH);
    theft.swap_all(pool, friend, ETH);
    theft.chain.pay_all(friend, theft.thief, USDC);
    let [person] = theft.assess([person]);
    let stolen = person.exposure.iter().find(|it| it.category == Some(Category::StolenFunds));
    let stolen = stolen.unwrap_or_else(|| panic!("{person:#?}"));
    assert_eq!((stolen.direction, stolen.hops), (Direction::Destination, Some(2)));
}

#[test]
fn a_gain_is_told_as_money_of_the_contract() {
    let mut theft = Theft::at_protocols(0);
    let game = theft.chain.contract();
    let loser = theft.clean(USDC, 50_000 * DOLLAR);
    theft.chain.pay_all(loser, game, USDC);
    let winner = theft.clean(USDC, 1_000 * DOLLAR);
    theft.chain.pay_all(winner, game, USDC);
    theft.chain.send(winner, &[(game, winner, USDC, 9_000 * DOLLAR)]);
    let [winner] = theft.assess([winner]);
    assert_allow(&winner);
    let [pool] = &*contracts(&winner).contract_pool else { panic!("{winner:#?}") };
    // It got 1,000 from the exchange, 1,000 back, and 8,000 more.
    assert_eq!((&*pool.amount.value, &*pool.share), ("800000", "0.888888"));
    assert_eq!(pool.transactions.len(), 1);
    let reason = winner.reasons.iter().find(|reason| reason.code == "contract_pool");
    assert!(reason.is_some_and(|it| it.message.starts_with("contracts paid 88.8 %")), "{reason:?}");
    let coverage = &winner.coverage.exposure.detail;
    assert!(coverage.contains("88.8 % of funds received are what contracts paid"), "{coverage}");
}

#[test]
fn a_path_leads_over_a_swap_to_the_thief() {
    let (mut theft, pool) = theft_at_named_pool();
    let receiver = theft.chain.account();
    theft.swap_all(pool, theft.accomplice, ETH);
    theft.chain.pay_all(theft.accomplice, receiver, USDC);
    let accomplice = theft.accomplice.on(theft.chain.id()).expect("an address");
    let [receiver] = theft.assess([receiver]);
    assert_review(&receiver);
    let stolen = receiver.exposure.iter().find(|it| it.category == Some(Category::StolenFunds));
    let steps = &stolen.expect("stolen money").paths[0].steps;
    let [last, first] = &**steps else { panic!("{steps:#?}") };
    assert_eq!(last.address.as_deref(), Some(accomplice.as_str()));
    let [via] = &*last.via else { panic!("{last:#?}") };
    assert_eq!((via.entity.as_deref(), via.gave.as_deref()), (Some("Some Pool"), Some("native")));
    assert_eq!(first.label.as_ref().map(|label| label.category), Some(Category::StolenFunds));
}

#[test]
fn a_path_leads_over_a_deposit_that_came_back() {
    let mut theft = Theft::at_protocols(600);
    let (receiver, accomplice) = (theft.chain.account(), theft.accomplice);
    let vault = Vault::new(&mut theft.chain, ETH);
    let deposit = vault.deposit(&theft.chain, accomplice, 600 * ETHER);
    theft.chain.execute(deposit);
    let shares = theft.balance(accomplice, vault.shares);
    let withdrawal = vault.withdraw(&theft.chain, (accomplice, accomplice), shares);
    theft.chain.execute(withdrawal);
    theft.chain.pay_all(accomplice, receiver, ETH);
    let [receiver] = theft.assess([receiver]);
    let stolen = receiver.exposure.iter().find(|it| it.category == Some(Category::StolenFunds));
    let steps = &stolen.expect("stolen money").paths[0].steps;
    let [last, _] = &**steps else { panic!("{steps:#?}") };
    assert_eq!(last.via.iter().map(|via| &via.gave).collect::<Vec<_>>(), [&None]);
}

/// A person with tokens, and a listed party.
fn person_with_tokens() -> (Theft, AccountAddress, AccountAddress, assay_engine::account::Asset) {
    let mut theft = Theft::of(0);
    let (person, listed) = (theft.clean(ETH, ETHER), theft.listed());
    let token = theft.chain.token();
    theft.chain.mint(token, person, 1_000);
    (theft, person, listed, token)
}

#[test]
fn tokens_sent_to_a_listed_party_lead_to_a_review() {
    let (mut theft, person, listed, token) = person_with_tokens();
    theft.chain.pay(person, listed, token, 10);
    let [person] = theft.assess([person]);
    assert_review(&person);
    let rule = person.scoring_components.iter().find_map(|it| it.rule.as_deref());
    assert_eq!(rule, Some("listed_token_dealing"), "{person:#?}");
    let [dealing] = &*contracts(&person).token_dealings else { panic!("{person:#?}") };
    assert!(dealing.initiated && dealing.entity.as_deref() == Some("DOE, Jane"), "{dealing:#?}");
    assert!(warning(&person, "listed_token_transfer").is_none(), "{person:#?}");
}

#[test]
fn tokens_that_others_move_between_an_account_and_a_listed_party_are_a_warning_only() {
    let (mut theft, person, listed, token) = person_with_tokens();
    theft.chain.mint(token, listed, 50);
    theft.chain.send(listed, &[(listed, person, token, 50), (person, listed, token, 1)]);
    let [person] = theft.assess([person]);
    assert_verdict(&person, Allow);
    let message = warning(&person, "listed_token_transfer").expect("a warning");
    assert!(message.contains("from DOE, Jane (sanctions); to DOE, Jane"), "{message}");
}

#[test]
fn money_paid_to_somebody_who_swaps_beside_thieves_goes_to_no_thief() {
    let (mut theft, pool) = theft_at_named_pool();
    let (person, friend) = (theft.clean(ETH, 10 * ETHER), theft.chain.account());
    theft.chain.pay_all(person, friend, ETH);
    theft.swap_all(pool, friend, ETH);
    let thief = theft.listed();
    theft.withdraw(thief, USDC, 9_000 * DOLLAR);
    theft.swap_all(pool, thief, USDC);
    let [person, friend] = theft.assess([person, friend]);
    for answer in [person, friend] {
        assert_allow(&answer);
        let listed = answer.exposure.iter().find(|it| it.listed);
        assert!(listed.is_none(), "{listed:#?}");
    }
}
