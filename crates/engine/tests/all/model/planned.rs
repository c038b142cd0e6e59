//! Withdrawals that are not sent yet: their receiver decides, and rules by the amount that is about to be paid.

use std::sync::Arc;

use assay_address::{CanonicalAddress, ChainId, Resemblance};
use assay_engine::{
    account::{AssetId, Prices},
    assess, assess_planned,
    assessment::{Assessment, TransferBasis, TransferStatus},
    evidence::{Direction, Tier},
    facts::Facts,
    planned::{EarlierReceiver, EarlierReceivers, PlannedAsset, PlannedFacts, PlannedWithdrawal},
    policy::{Policy, PolicySpec, Quantity, RuleSpec, Share},
    score::Verdict,
    taxonomy::Category,
};

use super::common::{label, listing, nothing_known, now, subject as to};

const BITCOIN: u128 = 100_000_000;

fn planned(receiver: Facts, amount: u128) -> PlannedFacts {
    let asset = PlannedAsset::parse(ChainId::BTC, "native").unwrap();
    let withdrawal = PlannedWithdrawal { to: to(), from: None, asset, amount };
    PlannedFacts {
        withdrawal,
        receiver,
        sender: None,
        earlier_receivers: EarlierReceivers::default(),
    }
}

fn labelled(category: Category) -> Facts {
    let label = label(category, Tier::Investigation, 90, "a");
    Facts { labels: vec![label].into(), ..nothing_known() }
}

/// A policy with one rule for gambling.
fn policy(rule: RuleSpec) -> Policy {
    let rule = RuleSpec {
        id: "large_bets".into(),
        description: "A large payment to a gambling service".into(),
        categories: vec!["gambling".into()],
        direction: Some(Direction::Destination),
        ..rule
    };
    Policy::compile(PolicySpec { rules: vec![rule], ..PolicySpec::default() }).unwrap()
}

fn from(unit: &str, whole: u32) -> RuleSpec {
    let amount_from = [(unit.to_owned(), Quantity::whole(whole.into()))].into();
    RuleSpec { amount_from, ..RuleSpec::default() }
}

fn assessed(facts: &PlannedFacts, policy: &Policy) -> Assessment {
    assess_planned(facts, policy, now())
}

#[test]
fn a_withdrawal_without_a_rule_is_judged_as_a_check_of_its_receiver() {
    for receiver in [nothing_known(), labelled(Category::Gambling), labelled(Category::Ransomware)]
    {
        let facts = planned(receiver, 1);
        let mut assessment = assessed(&facts, &Policy::default());
        let transfer = assessment.transfer.take().unwrap();
        assert_eq!(transfer.status, TransferStatus::Planned);
        assert_eq!(transfer.basis, TransferBasis::Receiver);
        assert_eq!((transfer.transaction, transfer.block_height), (None, None));
        assert_eq!(transfer.amount.value, "1");
        assert_eq!(assessment, assess(&to(), &facts.receiver, &Policy::default(), now()));
    }
}

#[test]
fn a_payment_to_a_listed_party_is_blocked_and_is_a_dealing_with_it() {
    let receiver = Facts { listings: vec![listing("ofac-sdn")], ..nothing_known() };
    let blocked = assessed(&planned(receiver, 1), &Policy::default());
    assert_eq!(blocked.verdict, Verdict::Block);
    let codes: Vec<_> = blocked.reasons.iter().map(|reason| reason.code).collect();
    assert!(codes.contains(&"payment_rule"), "{codes:?}");
}

#[test]
fn a_rule_by_amount_is_met_by_the_payment_itself() {
    let policy = policy(from("BTC", 2));
    let verdict = |amount| assessed(&planned(labelled(Category::Gambling), amount), &policy);
    // Given a rule from two bitcoins, when less is about to be sent, then the receiver alone decides.
    assert_eq!(verdict(2 * BITCOIN - 1).verdict, Verdict::Allow);
    // When as much is about to be sent, then a person decides, and the answer says why.
    let reviewed = verdict(2 * BITCOIN);
    assert_eq!(reviewed.verdict, Verdict::Review);
    let transfer = reviewed.transfer.unwrap();
    assert_eq!(transfer.basis, TransferBasis::Payment);
    let reason = reviewed.reasons.iter().find(|reason| reason.code == "payment_rule").unwrap();
    assert!(reason.message.contains("this payment of 2 BTC goes there"), "{}", reason.message);
    let sum: i64 =
        reviewed.scoring_components.iter().map(|it| i64::from(it.contribution.tenths())).sum();
    assert_eq!(sum, i64::from(reviewed.risk_score.tenths()));
    // A payment to somebody else meets no rule about gambling.
    let other = assessed(&planned(nothing_known(), 2 * BITCOIN), &policy);
    assert_eq!(other.verdict, Verdict::Allow);
}

#[test]
fn an_amount_in_dollars_has_the_price_of_the_day() {
    let policy = policy(from("USD", 10_000));
    let mut receiver = labelled(Category::Gambling);
    let coin = AssetId::native(ChainId::BTC);
    let price = (coin, "2026-11-20".parse().unwrap(), "50000".parse().unwrap());
    receiver.prices = Arc::new(Prices::new([price]));
    let verdict = |amount| assessed(&planned(receiver.clone(), amount), &policy);
    assert_eq!(verdict(BITCOIN / 5 - 1).verdict, Verdict::Allow);
    let reviewed = verdict(BITCOIN / 5);
    assert_eq!(reviewed.verdict, Verdict::Review);
    assert_eq!(reviewed.transfer.unwrap().amount.usd.as_deref(), Some("10000.00"));
}

/// A payment of a token whose decimals are not known.
fn unknown_token(receiver: Facts) -> PlannedFacts {
    let mut facts = planned(receiver, 1_000);
    facts.withdrawal.asset = PlannedAsset { text: "SHELL".to_owned(), known: None };
    facts
}

#[test]
fn a_rule_in_dollars_without_a_price_withholds_an_allow() {
    let policy = policy(from("USD", 10_000));
    let coin = AssetId::native(ChainId::BTC);
    let mut receiver = labelled(Category::Gambling);
    let check = |receiver: &Facts| assessed(&planned(receiver.clone(), BITCOIN), &policy);
    // Given a coin without a price, then nobody can say that the rule does not hold; with a price, the price decides.
    let withheld = check(&receiver);
    assert_eq!(withheld.verdict, Verdict::Indeterminate);
    let reason = withheld.reasons.iter().find(|reason| reason.code == "payment_unmeasured");
    assert!(reason.unwrap().message.contains("the price of BTC is not known"), "{reason:?}");
    let price = (coin, "2026-11-20".parse().unwrap(), "9999".parse().unwrap());
    receiver.prices = Arc::new(Prices::new([price]));
    assert_eq!(check(&receiver).verdict, Verdict::Allow);
}

#[test]
fn a_payment_of_an_unknown_token_meets_rules_without_amounts() {
    let facts = unknown_token(labelled(Category::Gambling));
    let reviewed = assessed(&facts, &policy(RuleSpec { direct: true, ..RuleSpec::default() }));
    assert_eq!(reviewed.verdict, Verdict::Review);
    let reason = reviewed.reasons.iter().find(|reason| reason.code == "payment_rule").unwrap();
    assert!(reason.message.contains("payment of 1000 base units of SHELL"), "{}", reason.message);
}

#[test]
fn a_rule_that_an_unknown_amount_might_meet_withholds_an_allow() {
    // Given a rule by an amount in dollars about the receiver's party, when the token has no known decimals...
    let policy = policy(from("USD", 10_000));
    let withheld = assessed(&unknown_token(labelled(Category::Gambling)), &policy);
    // ...then nobody can say that the rule does not hold.
    assert_eq!((withheld.verdict, withheld.complete), (Verdict::Indeterminate, false));
    assert!(withheld.reasons.iter().any(|reason| reason.code == "payment_unmeasured"));
    // A receiver that the rule is not about is allowed.
    assert_eq!(assessed(&unknown_token(nothing_known()), &policy).verdict, Verdict::Allow);
    // An amount in another unit may be one of the token, too; that of another known asset is no obstacle.
    let other = self::policy(from("ETH", 1));
    let withheld = assessed(&unknown_token(labelled(Category::Gambling)), &other);
    assert_eq!(withheld.verdict, Verdict::Indeterminate);
    let allowed = assessed(&planned(labelled(Category::Gambling), BITCOIN), &other);
    assert_eq!(allowed.verdict, Verdict::Allow);
}

#[test]
fn a_rule_by_a_share_of_all_funds_is_not_met_by_one_payment() {
    let share = RuleSpec { share_from: Some(Share::from_percent(10)), ..RuleSpec::default() };
    let facts = planned(labelled(Category::Gambling), BITCOIN);
    assert_eq!(assessed(&facts, &policy(share)).verdict, Verdict::Allow);
}

#[test]
fn receivers_that_look_alike_are_a_warning_and_no_verdict() {
    let mut facts = planned(nothing_known(), BITCOIN);
    let plain = assessed(&facts, &Policy::default());
    // Given a receiver that the tenant checked before and that looks like this one.
    let found = EarlierReceiver {
        address: CanonicalAddress::parse(ChainId::BTC, "1BoatSLRHtKNngkdXEeobR76b53LETtpyT")
            .unwrap(),
        first_checked_at: now(),
        by: Resemblance::Ends,
    };
    facts.earlier_receivers = EarlierReceivers::Found(vec![found]);
    let mut warned = assessed(&facts, &Policy::default());
    // When the withdrawal is assessed, then there is a warning that names it, and nothing else changes.
    let warning = warned.warnings.pop().unwrap();
    assert_eq!(warning.code, "look_alike_receiver");
    assert!(warning.message.contains("1BoatSLRHtKNngkdXEeobR76b53LETtpyT"), "{}", warning.message);
    assert_eq!(warned, plain);
    // A search that failed is told.
    facts.earlier_receivers = EarlierReceivers::Unreadable;
    let unread = assessed(&facts, &Policy::default());
    assert_eq!(unread.warnings[0].code, "earlier_receivers_unknown");
}
