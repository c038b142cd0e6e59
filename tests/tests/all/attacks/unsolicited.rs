//! Nobody is blocked by what he neither asked for nor moved, nor by what a thief gave back to him.

use assay_address::ChainId;
use assay_engine::{
    assessment::Assessment,
    score::{Score, Verdict},
    taxonomy::Category,
};
use assay_tests::laundering::{Example, unsolicited};

fn chains() -> [ChainId; 2] {
    [ChainId::BTC, "ltc".parse().unwrap()]
}

#[track_caller]
fn expect(example: &Example, verdict: Verdict) -> Assessment {
    let found = example.assess();
    assert_eq!(found.verdict, verdict, "{}: {found:#?}", example.title);
    found
}

fn details(assessment: &Assessment) -> String {
    let details = assessment.scoring_components.iter().map(|component| component.detail.as_str());
    details.collect::<Vec<_>>().join("\n")
}

#[test]
fn little_money_of_a_thief_and_a_listed_party_that_nobody_asked_for_blocks_no_saver() {
    for chain in chains() {
        let found = expect(&unsolicited::saver(chain), Verdict::Review);
        let told = details(&found);
        let is_told =
            |one: &str| one.contains("exchange") || one.contains("came unasked and was not moved");
        assert!(told.lines().all(is_told), "{told}");
        let lines = found.exposure.iter().filter(|line| line.untouched);
        assert_eq!(lines.count(), 2, "{:#?}", found.exposure);
        let mut rules = found.scoring_components.iter().filter_map(|one| one.rule.as_deref());
        assert!(rules.any(|rule| rule == "direct_listed_counterparty"), "{told}");
    }
}

#[test]
fn a_thief_who_is_the_first_to_pay_a_published_address_blocks_it_only_once_the_money_moves() {
    for chain in chains() {
        for satoshi in [1_001, 100_000_000] {
            let _held = expect(&unsolicited::published(chain, satoshi, false), Verdict::Review);
            let _moved = expect(&unsolicited::published(chain, satoshi, true), Verdict::Block);
        }
    }
}

#[test]
fn whoever_got_back_what_was_stolen_is_a_possible_victim() {
    for chain in chains() {
        for example in [unsolicited::robbed(chain), unsolicited::robbed_wallet(chain)] {
            let found = expect(&example, Verdict::Review);
            let told = details(&found);
            assert!(told.contains("possibly given back to a victim"), "{told}");
        }
        let found = expect(&unsolicited::deceived(chain, 9), Verdict::Allow);
        assert!(details(&found).contains("possibly given back to a victim"));
        let _much = expect(&unsolicited::deceived(chain, 40), Verdict::Review);
    }
}

#[test]
fn stolen_money_that_is_marked_as_given_back_still_leads_to_a_review() {
    for chain in chains() {
        for category in [Category::StolenFunds, Category::PhishingDrainer, Category::Scam] {
            let found =
                expect(&unsolicited::marked_as_given_back(chain, category), Verdict::Review);
            assert!(found.risk_score >= Score::from_tenths(500));
        }
    }
}

#[test]
fn no_risky_money_that_nobody_asked_for_blocks_a_random_person() {
    let mut reviewed = 0;
    for seed in 0..200 {
        let chain = chains()[usize::from(seed % 4 == 0)];
        let example = unsolicited::pestered(chain, seed);
        let found = example.assess();
        assert_ne!(found.verdict, Verdict::Block, "{}: {found:#?}", example.title);
        reviewed += u32::from(found.verdict == Verdict::Review);
    }
    assert_eq!(reviewed, 200, "a listed party above dust leads to a review at least");
}

#[test]
fn clean_money_that_goes_round_through_an_exchange_hides_no_stolen_money() {
    for chain in chains() {
        let found = expect(&unsolicited::round_an_exchange(chain, 10), Verdict::Review);
        let line = found.exposure.iter().find(|line| line.endpoint_type == "exchange").unwrap();
        let (amount, most) = (&line.amount.value, &line.outstanding.as_ref().unwrap().value);
        let (amount, most): (f64, f64) = (amount.parse().unwrap(), most.parse().unwrap());
        assert!((0.099..0.101).contains(&(most / amount)), "{line:#?}");
        let reason = &found.reasons[0].message;
        assert!(
            reason.contains("47.3 % of all funds received, without what went round"),
            "{reason}"
        );
    }
}
