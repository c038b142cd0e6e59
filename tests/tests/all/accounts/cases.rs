//! The cases of the model of account chains that concern money without contracts, each on a chain of its own. A name
//! ends with the number of the case in the model's table.

use assay_engine::{
    account::{AccountAddress, TransferKind},
    assessment::{Assessment, Exposure},
    policy::Role,
    score::Verdict,
    taxonomy::Category,
};
use assay_tests::{
    accounts::{AccountChain, AccountWorld, DOLLAR, ETH, ETHER, USDT, move_of},
    world::Claim,
};

use super::theft::{Theft, assert_allow, assert_review, assert_verdict};

fn reason_codes(assessment: &Assessment) -> Vec<&'static str> {
    assessment.reasons.iter().map(|reason| reason.code).collect()
}

fn line(assessment: &Assessment, category: Category) -> Option<&Exposure> {
    assessment.exposure.iter().find(|line| line.category == Some(category))
}

#[test]
fn a_flash_loan_around_a_payment_hides_nothing_1() {
    let mut theft = Theft::new();
    let lender = theft.chain.account();
    theft.withdraw(lender, ETH, 5_000 * ETHER);
    let (thief, payee) = (theft.accomplice, theft.chain.account());

    theft.chain.send(
        thief,
        &[
            (lender, thief, ETH, 4_000 * ETHER),
            (thief, payee, ETH, 100 * ETHER),
            (thief, lender, ETH, 4_000 * ETHER),
        ],
    );

    let [payee, lender] = theft.assess([payee, lender]);
    assert_review(&payee);
    assert_allow(&lender);
}

/// One clean ether goes round, and then 0.9 stolen ether come.
fn after_circles(turns: u32, circle: impl Fn(&mut Theft, AccountAddress)) -> Theft {
    let mut theft = Theft::of(0);
    let account = theft.clean(ETH, ETHER);
    for _ in 0..turns {
        circle(&mut theft, account);
    }
    theft.chain.pay(theft.thief, account, ETH, 9 * ETHER / 10);
    theft.accomplice = account;
    theft
}

#[test]
fn circles_with_an_own_account_make_no_whole_8() {
    let other = AccountAddress([0x51; 20]);
    let theft = after_circles(40, |theft, account| {
        theft.chain.pay(account, other, ETH, ETHER);
        theft.chain.pay(other, account, ETH, ETHER);
    });
    let account = theft.accomplice;
    let [assessment] = theft.assess([account]);
    assert_review(&assessment);
}

#[test]
fn circles_through_an_exchange_make_no_whole_8b() {
    let theft = after_circles(40, |theft, account| {
        theft.chain.pay(account, theft.exchange, ETH, ETHER);
        theft.chain.pay(theft.exchange, account, ETH, ETHER);
    });
    let account = theft.accomplice;
    let [assessment] = theft.assess([account]);
    assert_review(&assessment);
}

/// A ring of three accounts.
fn after_rings(turns: u32) -> Theft {
    let ring = [0x51, 0x52].map(|byte| AccountAddress([byte; 20]));
    after_circles(turns, |theft, account| {
        let [second, third] = ring;
        theft.chain.pay(account, second, ETH, ETHER);
        theft.chain.pay(second, third, ETH, ETHER);
        theft.chain.pay(third, account, ETH, ETHER);
    })
}

#[test]
fn a_ring_of_three_does_not_clean_what_is_held_8c() {
    // In 60 turns the stolen sum falls below 2 % of all that was received.
    for turns in [40, 60, 200] {
        let theft = after_rings(turns);
        let account = theft.accomplice;
        let [assessment] = theft.assess([account]);
        assert_eq!(assessment.verdict, Verdict::Review, "{turns} turns: {assessment:#?}");
    }
}

#[test]
fn a_ring_of_ether_without_a_price_does_not_clean_what_is_held_8c() {
    let mut theft = Theft::on(AccountChain::without_prices(), 0);
    let ring: [AccountAddress; 3] = theft.chain.accounts();
    theft.withdraw(ring[0], ETH, ETHER);
    for _ in 0..500 {
        for (from, to) in [(0, 1), (1, 2), (2, 0)] {
            theft.chain.pay(ring[from], ring[to], ETH, ETHER);
        }
    }
    theft.chain.pay(theft.thief, ring[0], ETH, 3 * ETHER);
    let [answer] = theft.assess([ring[0]]);
    assert_review(&answer);
    assert!(reason_codes(&answer).contains(&"severe_funds_held"), "{answer:#?}");
}

#[test]
fn a_large_sum_of_ether_without_a_price_is_reviewed_among_very_much() {
    // 25 ether are about 60,000 dollars, 10 are not 50,000; both are less than a hundredth.
    for (ether, expected) in [(25, Verdict::Review), (10, Verdict::Allow)] {
        let mut theft = Theft::on(AccountChain::without_prices(), 0);
        let account = theft.clean(ETH, 9_000 * ETHER);
        theft.chain.pay(theft.thief, account, ETH, ether * ETHER);
        let [answer] = theft.assess([account]);
        assert_eq!(answer.verdict, expected, "{answer:#?}");
    }
}

#[test]
fn small_stolen_parts_beside_a_ring_are_reviewed_where_they_lie_8c() {
    // Nine hundred stolen dollars beside 60,000 that only went round.
    let mut theft = Theft::of(0);
    let ring: [AccountAddress; 3] = theft.chain.accounts();
    for account in ring {
        theft.chain.pay(theft.thief, theft.accomplice, USDT, 900 * DOLLAR);
        theft.chain.pay(theft.accomplice, account, USDT, 900 * DOLLAR);
    }
    theft.withdraw(ring[0], ETH, ETHER / 2);
    for _ in 0..40 {
        for (from, to) in [(0, 1), (1, 2), (2, 0)] {
            theft.chain.pay(ring[from], ring[to], ETH, ETHER / 2);
        }
    }
    for answer in theft.assess(ring) {
        assert_review(&answer);
        assert!(reason_codes(&answer).contains(&"severe_funds_held"), "{answer:#?}");
    }
}

#[test]
fn an_emptied_ring_is_allowed_and_its_payee_reviewed_8d() {
    let mut theft = after_rings(40);
    let (account, payee) = (theft.accomplice, theft.chain.account());
    theft.chain.pay_all(account, payee, ETH);
    let [account, payee] = theft.assess([account, payee]);
    assert_allow(&account);
    assert_review(&payee);
}

#[test]
fn three_thousand_receipts_of_dust_dilute_nothing_9() {
    let mut theft = Theft::new();
    let (thief, payee) = (theft.accomplice, theft.chain.account());
    for _ in 0..3_000 {
        let duster = theft.chain.outsider();
        theft.chain.pay(duster, thief, ETH, ETHER / 10_000);
    }
    theft.chain.pay(thief, payee, ETH, 100 * ETHER);
    let [payee] = theft.assess([payee]);
    assert_review(&payee);
}

#[test]
fn five_dollars_of_a_listed_party_count_among_two_million_10() {
    let mut theft = Theft::of(0);
    let listed = theft.listed();
    let account = theft.chain.account();
    for _ in 0..2_000 {
        theft.withdraw(account, USDT, 1_000 * DOLLAR);
    }
    theft.chain.pay(listed, account, USDT, 5 * DOLLAR);
    let [assessment] = theft.assess([account]);
    assert_review(&assessment);
    assert!(reason_codes(&assessment).contains(&"direct_listed_counterparty"), "{assessment:#?}");
}

#[test]
fn a_token_that_logs_a_transfer_of_an_exchange_proves_nothing_11() {
    let mut theft = Theft::new();
    let (thief, token) = (theft.accomplice, theft.chain.token());
    let (payee, trader) = (theft.chain.account(), theft.chain.account());
    // The token's own contract logs what it likes.
    let forged = |to| move_of(TransferKind::Transfer, (theft.exchange, to, token, 50_000));
    let forged = [forged(payee), forged(trader)];
    let [to_payee, to_trader] = forged;
    let paid = move_of(TransferKind::Transfer, (thief, payee, ETH, 50 * ETHER));
    theft.chain.record(Some(thief), vec![to_payee, paid.clone(), to_trader], Vec::new());

    let [assessment] = theft.assess([payee]);
    assert_review(&assessment);
    assert!(line(&assessment, Category::Exchange).is_none(), "{assessment:#?}");
}

/// A party pays 300 dollars, unasked, to an account with 40,000 clean dollars.
fn unasked(payer: impl Fn(&mut Theft) -> AccountAddress) -> Assessment {
    let mut theft = Theft::of(0);
    let payer = payer(&mut theft);
    let account = theft.chain.account();
    // A transfer of nothing that the account did not send.
    theft.chain.send(payer, &[(account, payer, USDT, 0)]);
    theft.withdraw(account, USDT, 40_000 * DOLLAR);
    theft.chain.pay(payer, account, USDT, 300 * DOLLAR);
    let [assessment] = theft.assess([account]);
    assessment
}

#[test]
fn a_thief_who_pays_unasked_is_shown_and_accuses_nobody_12() {
    let assessment = unasked(|theft| theft.thief);
    assert_allow(&assessment);
    let stolen = line(&assessment, Category::StolenFunds).expect("a line");
    assert_eq!((stolen.amount.value.as_str(), stolen.direct), ("30000", true), "{stolen:#?}");
}

#[test]
fn a_listed_party_that_pays_unasked_leads_to_a_review_12() {
    assert_review(&unasked(Theft::listed));
}

#[test]
fn a_priority_fee_is_a_payment_14() {
    let mut theft = Theft::new();
    let (thief, builder) = (theft.accomplice, theft.chain.account());
    let fee = move_of(TransferKind::Fee, (thief, builder, ETH, 99 * ETHER));
    theft.chain.transact(thief, vec![fee]);
    let [builder] = theft.assess([builder]);
    assert_review(&builder);
    assert!(builder.exposure.iter().all(|line| !line.direct), "{builder:#?}");
}

#[test]
fn seven_forwarders_are_no_distance_15() {
    let mut theft = Theft::new();
    let mut holder = theft.accomplice;
    for _ in 0..7 {
        theft.chain.wait_days(1);
        let [forwarder, next] = theft.chain.accounts();
        theft.chain.send(
            holder,
            &[(holder, forwarder, ETH, 100 * ETHER), (forwarder, next, ETH, 100 * ETHER)],
        );
        holder = next;
    }
    let [holder] = theft.assess([holder]);
    assert_review(&holder);
}

#[test]
fn a_fake_deposit_address_is_an_account_16() {
    let mut theft = Theft::new();
    let (thief, [fake, payee]) = (theft.accomplice, theft.chain.accounts());
    for _ in 0..3 {
        theft.withdraw(fake, ETH, 5 * ETHER / 1_000);
        theft.chain.pay_all(fake, theft.exchange, ETH);
    }
    theft.chain.pay(thief, fake, ETH, 100 * ETHER);
    theft.chain.pay_all(fake, payee, ETH);
    let [fake, payee] = theft.assess([fake, payee]);
    assert_review(&fake);
    assert_review(&payee);
}

#[test]
fn money_that_came_by_unrecorded_internal_transfers_is_not_allowed_17() {
    let mut theft = Theft::new();
    let (thief, [forwarder, payee, next]) = (theft.accomplice, theft.chain.accounts());
    // The forwarder pays the payee, which only traces of calls would show.
    theft.chain.pay(thief, forwarder, ETH, 100 * ETHER);
    let paid = move_of(TransferKind::Transfer, (payee, next, ETH, 100 * ETHER));
    theft.chain.record(Some(payee), vec![paid], Vec::new());
    let [payee] = theft.assess([payee]);
    assert_verdict(&payee, Verdict::Indeterminate);
}

#[test]
fn dust_of_many_payers_is_money_18() {
    let mut theft = Theft::of(0);
    let account = theft.chain.account();
    for _ in 0..300 {
        let payer = theft.chain.account();
        theft.chain.pay(theft.thief, payer, USDT, 20 * DOLLAR);
        for _ in 0..20 {
            theft.chain.pay(payer, account, USDT, 9 * DOLLAR / 10);
        }
    }
    let [assessment] = theft.assess([account]);
    assert_review(&assessment);
}

#[test]
fn stolen_money_without_a_price_is_reviewed_19() {
    let mut chain = AccountChain::without_prices();
    let exchange = chain.party(Category::Exchange, "Some Exchange");
    let thief = chain.party(Category::StolenFunds, "Some Hack");
    let [accomplice, payee, rich] = chain.accounts();
    chain.pay(thief, accomplice, ETH, 100 * ETHER);
    chain.pay_all(accomplice, payee, ETH);
    // Among any sum of clean money that has a price.
    chain.pay(exchange, rich, USDT, 10_000_000 * DOLLAR);
    chain.pay(payee, rich, ETH, 50 * ETHER);
    let world = AccountWorld::new(chain);
    for account in [payee, rich] {
        let assessment = world.assess(account);
        assert_review(&assessment);
        let told = format!("{:?} {:?}", assessment.reasons, assessment.coverage);
        assert!(told.contains("ETH"), "{told}");
    }
}

#[test]
fn a_bridge_ends_what_can_be_known_19b() {
    let mut theft = Theft::new();
    let bridge = theft.chain.party(Category::Bridge, "Some Bridge");
    let clean = theft.clean(ETH, 100 * ETHER);
    theft.chain.pay(clean, bridge, ETH, 100 * ETHER);
    theft.chain.pay(theft.accomplice, bridge, ETH, 100 * ETHER);
    let payee = theft.chain.account();
    theft.chain.pay(bridge, payee, ETH, 100 * ETHER);
    let [assessment] = theft.assess([payee]);
    assert!(
        matches!(assessment.verdict, Verdict::Allow | Verdict::Indeterminate),
        "{assessment:#?}"
    );
    let received: Vec<_> = assessment.exposure.iter().map(|line| line.endpoint_type).collect();
    assert_eq!(received, ["bridge"], "{assessment:#?}");
}

#[test]
fn a_mixer_that_pays_through_a_relayer_is_the_payer_20() {
    let mut theft = Theft::new();
    let mixer = theft.chain.party(Category::Mixer, "Some Mixer");
    let [relayer, payee] = theft.chain.accounts();
    theft.chain.pay(theft.accomplice, mixer, ETH, 100 * ETHER);
    theft.chain.send(
        relayer,
        &[(mixer, payee, ETH, 995 * ETHER / 10), (mixer, relayer, ETH, 5 * ETHER / 10)],
    );
    let [payee] = theft.assess([payee]);
    assert_review(&payee);
    assert!(reason_codes(&payee).contains(&"direct_mixing"), "{payee:#?}");
}

#[test]
fn the_airdrop_of_a_protocol_that_was_hacked_is_harmless_26() {
    let mut theft = Theft::of(0);
    let protocol = theft.chain.account();
    theft.withdraw(protocol, USDT, 1_000_000 * DOLLAR);
    // The attribution names a victim: it says nothing about the money.
    theft.chain.label(protocol, Claim::investigated(Category::Defi, "Hacked Protocol"));
    theft.chain.pay(protocol, theft.thief, USDT, 500_000 * DOLLAR);
    let person = theft.chain.account();
    theft.chain.pay(protocol, person, USDT, 2_000 * DOLLAR);
    let [person] = theft.assess([person]);
    assert_allow(&person);
}

#[test]
fn transfers_of_nothing_and_of_lookalike_tokens_poison_nobody_27() {
    let mut theft = Theft::new();
    let person = theft.clean(ETH, ETHER);
    let (lookalike, fake) = (theft.chain.account(), theft.chain.token());
    theft.chain.mint(fake, lookalike, 100_000);
    theft.chain.send(
        theft.thief,
        &[
            (theft.thief, person, USDT, 0),
            (person, lookalike, USDT, 0),
            (lookalike, person, fake, 100_000),
        ],
    );
    let [person] = theft.assess([person]);
    assert_allow(&person);
    assert!(line(&person, Category::StolenFunds).is_none(), "{person:#?}");
}

#[test]
fn a_drained_person_is_reviewed_as_a_possible_victim_28() {
    let mut theft = Theft::of(0);
    let drainer = theft.chain.party(Category::StolenFunds, "Some Drainer");
    let person = theft.clean(USDT, 9_000 * DOLLAR);
    // The drainer sends the transaction, by an approval that the person signed.
    theft.chain.send(drainer, &[(person, drainer, USDT, 9_000 * DOLLAR)]);
    let [person] = theft.assess([person]);
    assert_review(&person);
    let reasons = format!("{:?}", person.reasons);
    assert!(reasons.contains("as a victim"), "{person:#?}");
}

/// A person who sends transactions, with 90,000 dollars from the exchange and a drainer's label of a category.
fn person_and_drainer(theft: &mut Theft, category: Category) -> (AccountAddress, AccountAddress) {
    let drainer = theft.chain.party(category, "Some Drainer");
    let person = theft.clean(USDT, 90_000 * DOLLAR);
    let shop = theft.chain.account();
    theft.chain.pay(person, shop, USDT, 60_000 * DOLLAR);
    (person, drainer)
}

#[test]
fn a_hundredth_that_a_drainer_takes_makes_a_possible_victim_28() {
    for category in Role::HARMS_PAYERS {
        // A drainer sends the transaction, alone or over a contract.
        for is_over_contract in [false, true] {
            let mut theft = Theft::of(0);
            let (person, drainer) = person_and_drainer(&mut theft, category);
            let [sender, contract] = theft.chain.accounts();
            let amount = 900 * DOLLAR;
            let moves = if is_over_contract {
                vec![(person, contract, USDT, amount), (contract, drainer, USDT, amount)]
            } else {
                vec![(person, drainer, USDT, amount)]
            };
            theft.chain.send(sender, &moves);
            let [person] = theft.assess([person]);
            assert_review(&person);
            let taken = person.reasons.iter().find(|reason| reason.code == "funds_taken");
            let message = &taken.expect("the reason").message;
            assert!(message.contains("900 USD (Some Drainer, "), "{message}");
            assert!(!reason_codes(&person).contains(&"severe_category_exposure"), "{person:#?}");
        }
    }
}

#[test]
fn what_the_owner_sends_itself_is_not_taken_28() {
    let mut theft = Theft::of(0);
    let (person, drainer) = person_and_drainer(&mut theft, Category::Scam);
    theft.chain.pay(person, drainer, USDT, 900 * DOLLAR);
    let [person] = theft.assess([person]);
    assert_allow(&person);
    // The possible victim's role is still told.
    let detail = format!("{:?}", person.scoring_components);
    assert!(detail.contains("as a victim"), "{person:#?}");
}

#[test]
fn nothing_is_taken_from_contracts_by_others_than_thieves_or_of_a_dollar_28() {
    let mut theft = Theft::of(0);
    let drainer = theft.chain.party(Category::Scam, "Some Drainer");
    let [member, relayer, shop] = theft.chain.accounts();
    // Contracts pay in transactions of others: a wallet of several owners.
    let wallet = theft.clean(USDT, 90_000 * DOLLAR);
    theft.chain.send(member, &[(wallet, drainer, USDT, 900 * DOLLAR)]);
    // A relayer carries out what a person signed, to a shop and to an exchange.
    let (person, exchange) = (theft.clean(USDT, 90_000 * DOLLAR), theft.exchange);
    theft.chain.pay(person, shop, USDT, 100 * DOLLAR);
    theft.chain.send(relayer, &[(person, shop, USDT, 9_000 * DOLLAR)]);
    theft.chain.send(relayer, &[(person, exchange, USDT, 9_000 * DOLLAR)]);
    // Cents, and transfers of nothing in somebody's name, as poisoners make them.
    let (poisoned, scam) = person_and_drainer(&mut theft, Category::Scam);
    theft.chain.send(scam, &[(poisoned, scam, USDT, 0)]);
    theft.chain.send(scam, &[(poisoned, scam, USDT, DOLLAR / 2)]);
    for answer in theft.assess([wallet, person, poisoned]) {
        assert!(!reason_codes(&answer).contains(&"funds_taken"), "{answer:#?}");
    }
}

#[test]
fn a_thief_gains_nothing_by_being_drained_28() {
    // The accomplice passes a half on to a party of his that is labelled, by himself or by a contract of his.
    for category in Role::HARMS_PAYERS {
        let of = |is_taken: bool| {
            let mut theft = Theft::new();
            let own = theft.chain.party(category, "Some Drainer");
            let (accomplice, helper, shop) =
                (theft.accomplice, theft.chain.account(), theft.chain.account());
            theft.chain.pay(accomplice, shop, ETH, ETHER);
            let sender = if is_taken { helper } else { accomplice };
            theft.chain.send(sender, &[(accomplice, own, ETH, 50 * ETHER)]);
            let [answer] = theft.assess([accomplice]);
            answer
        };
        let (taken, sent) = (of(true), of(false));
        assert!(reason_codes(&taken).contains(&"funds_taken"), "{taken:#?}");
        assert!(taken.risk_score >= sent.risk_score && taken.verdict == sent.verdict, "{taken:#?}");
    }
}

#[test]
fn without_senders_nobody_says_that_funds_were_taken_28() {
    let mut theft = Theft::of(0);
    theft.chain.hide_senders();
    let (person, drainer) = person_and_drainer(&mut theft, Category::PhishingDrainer);
    theft.chain.send(drainer, &[(person, drainer, USDT, 900 * DOLLAR)]);
    let [person] = theft.assess([person]);
    assert!(!reason_codes(&person).contains(&"funds_taken"), "{person:#?}");
    let coverage = format!("{:?}", person.coverage);
    assert!(coverage.contains("`funds_taken` was not assessed"), "{coverage}");
}

#[test]
fn gas_of_half_a_dollar_from_a_listed_party_is_dust_29() {
    let mut theft = Theft::of(0);
    let listed = theft.listed();
    let person = theft.clean(USDT, 1_000 * DOLLAR);
    theft.chain.pay(listed, person, ETH, 15 * ETHER / 100_000);
    let [person] = theft.assess([person]);
    assert_allow(&person);
}

#[test]
fn wages_by_multisend_beside_a_bundle_of_a_thief_are_wages_30() {
    let mut theft = Theft::new();
    let employer = theft.clean(USDT, 90_000 * DOLLAR);
    let [multisend, bundler, entry_point, shop] = theft.chain.accounts();
    let people: [AccountAddress; 10] = theft.chain.accounts();
    let mut batch = vec![(employer, multisend, USDT, 30_000 * DOLLAR)];
    batch.extend(people.map(|person| (multisend, person, USDT, 3_000 * DOLLAR)));
    theft.chain.send(employer, &batch);
    // One bundle of user operations carries a thief's fee and a person's purchase.
    let thief = theft.accomplice;
    theft.chain.send(
        bundler,
        &[
            (thief, entry_point, ETH, ETHER / 100),
            (entry_point, bundler, ETH, 9 * ETHER / 1_000),
            (people[1], shop, USDT, 100 * DOLLAR),
        ],
    );
    let [one, five, shop] = theft.assess([people[1], people[5], shop]);
    for person in [&one, &five] {
        assert_allow(person);
        let wages = line(person, Category::Exchange).expect("wages");
        assert_eq!(wages.hops, Some(2), "{wages:#?}");
    }
    assert_ne!(shop.verdict, Verdict::Review, "{shop:#?}");
}

#[test]
fn a_salary_of_which_one_percent_is_stolen_is_a_salary_31() {
    let mut theft = Theft::of(ETHER);
    let employer = theft.clean(ETH, 99 * ETHER);
    theft.chain.pay(theft.accomplice, employer, ETH, ETHER);
    let person = theft.chain.account();
    theft.chain.pay(employer, person, ETH, 10 * ETHER);
    let [person] = theft.assess([person]);
    assert_allow(&person);
    let stolen = line(&person, Category::StolenFunds).expect("a line");
    assert_eq!(stolen.share, "0.010000", "{stolen:#?}");
}

#[test]
fn a_validator_with_five_percent_of_tips_from_a_thief_is_allowed_32() {
    let mut theft = Theft::of(2 * ETHER);
    let validator = theft.clean(ETH, 38 * ETHER);
    let tip = move_of(TransferKind::Fee, (theft.accomplice, validator, ETH, 2 * ETHER));
    theft.chain.transact(theft.accomplice, vec![tip]);
    let [validator] = theft.assess([validator]);
    assert_allow(&validator);
}

#[test]
fn an_account_that_the_issuer_froze_is_reviewed_33() {
    let mut theft = Theft::of(0);
    let frozen = theft.clean(USDT, 5_000 * DOLLAR);
    theft.chain.label(frozen, Claim::investigated(Category::IssuerFrozen, ""));
    let payee = theft.chain.account();
    theft.chain.pay(frozen, payee, USDT, 1_000 * DOLLAR);
    let [frozen, payee] = theft.assess([frozen, payee]);
    assert!(matches!(frozen.verdict, Verdict::Review | Verdict::Block), "{frozen:#?}");
    assert!(matches!(payee.verdict, Verdict::Review | Verdict::Block), "{payee:#?}");
}

#[test]
fn customers_of_a_hot_wallet_without_a_label_are_allowed_34() {
    let mut theft = Theft::of(ETHER);
    let wallet = theft.clean(ETH, 99 * ETHER);
    theft.chain.pay(theft.accomplice, wallet, ETH, ETHER);
    let (customer, other) = (theft.chain.account(), theft.clean(ETH, 10 * ETHER));
    theft.chain.pay(wallet, customer, ETH, 10 * ETHER);
    let [customer, other] = theft.assess([customer, other]);
    assert_allow(&customer);
    assert_allow(&other);
}

#[test]
fn a_treasury_that_a_thief_pays_one_percent_is_allowed_35() {
    let mut theft = Theft::of(4 * ETHER);
    let treasury = theft.clean(ETH, 300 * ETHER);
    let buyer = theft.clean(ETH, 100 * ETHER);
    theft.chain.pay(buyer, treasury, ETH, 100 * ETHER);
    theft.chain.pay(theft.accomplice, treasury, ETH, 4 * ETHER);
    let [treasury] = theft.assess([treasury]);
    assert_allow(&treasury);
}
