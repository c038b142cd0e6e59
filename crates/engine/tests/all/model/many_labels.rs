//! Addresses with very many labels and listings: answers are bounded, and everything counts.

use std::collections::BTreeMap;

use assay_engine::{
    assessment::{Assessment, ComponentKind, LabelStatus},
    evidence::{Label, Listing, Tier},
    facts::{AccountControl, Facts},
    policy::Policy,
    score::Confidence,
    taxonomy::{Category, RISKY_FROM},
};
use proptest::prelude::*;

use super::common::*;

/// Largest number of items of a kind.
const MOST: usize = 100;
/// Largest answer about an address with many labels, in bytes.
const MOST_BYTES: usize = 200_000;

/// A label of an upstream of its own.
fn numbered(number: u32) -> Label {
    let risky: Vec<Category> =
        Category::ALL.iter().copied().filter(|it| it.info().severity >= RISKY_FROM).collect();
    let number_of = |some: usize| number as usize % some;
    let tiers = [Tier::Investigation, Tier::Community, Tier::Heuristic];
    let percent = u8::try_from(number % 100 + 1).unwrap();
    let upstream = format!("upstream-{number}");
    label(risky[number_of(risky.len())], tiers[number_of(tiers.len())], percent, &upstream)
}

/// Points of the components that match.
fn points(answer: &Assessment, kind: ComponentKind) -> u16 {
    let all = answer.scoring_components.iter().filter(|component| component.kind == kind);
    all.map(|component| component.contribution.tenths()).sum()
}

/// The score of risky labels, by the formulas of `docs/model/score.md` S6 in floating point, in tenths.
fn score_of(labels: &[Label]) -> f64 {
    let policy = Policy::default();
    let risk = |label: &Label| {
        f64::from(label.category.info().severity) / 100.0 * f64::from(label.confidence.percent())
            / 100.0
    };
    let upto = |weakest: Option<Tier>| {
        let mut claims: BTreeMap<&str, f64> = BTreeMap::new();
        for label in labels.iter().filter(|label| Some(label.tier) <= weakest) {
            let best = claims.entry(&label.upstream).or_default();
            *best = risk(label).max(*best);
        }
        claims.values().map(|risk| 1.0 - risk).product::<f64>()
    };
    let mut left = upto(Some(Tier::Behavior));
    let mut stronger = None;
    for tier in Tier::ALL {
        let cap = f64::from(policy.cap(tier).tenths()) / 1000.0;
        left = left.max((1.0 - cap) * upto(stronger));
        stronger = Some(tier);
    }
    let can_block = labels
        .iter()
        .any(|label| label.tier <= Tier::Investigation && risk(label) >= 0.5 - f64::EPSILON);
    let score = (1.0 - left) * 1000.0;
    if can_block { score } else { score.min(749.0) }
}

#[test]
fn of_many_labels_the_strongest_are_shown_and_all_count() {
    // Given 3,000 risky labels, and a benign one that contradicts each
    let mut labels: Vec<Label> = (0..3_000).map(numbered).collect();
    labels.push(label(Category::Exchange, Tier::Investigation, 90, "explorer"));
    let answer = assess_facts(&Facts { labels: labels.into(), ..nothing_known() });
    // Then the answer has 100 labels and conflicts, in which those that count come first
    assert_eq!((answer.labels.len(), answer.further_items().labels), (MOST, 2_901));
    assert_eq!((answer.conflicts.len(), answer.further_items().conflicts), (MOST, 2_900));
    assert!(answer.labels.iter().all(|label| label.status == LabelStatus::InForce));
    // And one component stands for the labels without one, with what they contribute.
    let owned = answer.scoring_components.iter().filter(|it| it.kind == ComponentKind::Ownership);
    let further = |detail: &str| detail.starts_with("further labels: ");
    let (rest, shown): (Vec<_>, Vec<_>) = owned.partition(|it| further(&it.detail));
    assert_eq!((rest.len(), shown.len()), (1, MOST));
    assert_eq!(rest[0].detail, "further labels: 901");
    assert!(rest[0].contribution.tenths() > 0);
    assert_eq!(points(&answer, ComponentKind::Ownership), tenths(&answer));
    assert!(answer.reasons.iter().any(|reason| reason.message == "further labels: 900"));
    assert!(answer.reasons.len() <= MOST + 2);
}

#[test]
fn an_answer_about_a_hundred_thousand_labels_is_small() {
    let many = 100_000;
    let benign = |number: u32| label(Category::Exchange, Tier::Community, 90, &number.to_string());
    let plain = |number: u32| Label {
        entity: Some(format!("Owner {number}").into()),
        ..label(Category::Uncategorized, Tier::Community, 50, &number.to_string())
    };
    let same = |number: u32| Label { upstream: "one".into(), ..numbered(number) };
    let kinds: [&dyn Fn(u32) -> Label; 4] = [&numbered, &benign, &plain, &same];
    for kind in kinds {
        let labels: Vec<Label> = (0..many).map(kind).collect();
        let key = same_key(AccountControl::Key, vec![], labels.clone());
        let cluster = cluster_with(90, labels.clone(), vec![]);
        let subjects = [
            Facts { labels: labels.into(), ..nothing_known() },
            Facts { same_key: vec![key], ..nothing_known() },
            Facts { cluster: Some(cluster), ..nothing_known() },
        ];
        for facts in subjects {
            let answer = assess_facts(&facts);
            let bytes = serde_json::to_string(&answer).unwrap().len();
            assert!(bytes <= MOST_BYTES, "{bytes} bytes: {:?}", answer.reasons);
            assert!(answer.scoring_components.len() <= MOST + 1);
        }
    }
}

#[test]
fn long_texts_leave_room_for_fewer_labels() {
    let long = |number: u32| Label {
        entity: Some("é".repeat(300).into()),
        author: Some("é".repeat(300).into()),
        term: Some("é".repeat(100).into()),
        reason: Some("é".repeat(1_000).into()),
        reference: Some("é".repeat(2_000).into()),
        ..numbered(number)
    };
    let answer = assess_facts(&Facts { labels: (0..500).map(long).collect(), ..nothing_known() });
    assert!((1..MOST).contains(&answer.labels.len()), "{}", answer.labels.len());
    assert_eq!(answer.labels.len() as u64 + answer.further_items().labels, 500);
    assert!(serde_json::to_string(&answer).unwrap().len() <= MOST_BYTES);
}

#[test]
fn of_many_listings_some_are_shown_and_the_address_is_blocked() {
    let numbered = |number: usize| {
        let mut entry = listing("ofac-sdn");
        entry.entry.address_as_published.push_str(&number.to_string());
        entry
    };
    let listings: Vec<Listing> = (0..5_000).map(numbered).collect();
    let ended: Vec<Listing> = listings
        .iter()
        .map(|listing| Listing {
            delisted_on: Some(jiff::civil::date(2025, 3, 21)),
            ..listing.clone()
        })
        .collect();
    let answer = assess_facts(&Facts { listings, ..nothing_known() });
    assert_eq!((verdict(&answer), answer.sanctions.len()), ("block", MOST));
    assert_eq!(answer.further_items().sanctions, 4_900);
    assert!(serde_json::to_string(&answer).unwrap().len() <= MOST_BYTES);
    let answer = assess_facts(&Facts { listings: ended, ..nothing_known() });
    assert_eq!(verdict(&answer), "allow");
    assert!(answer.reasons.iter().any(|it| it.message == "further ended listings: 4900"));
    assert!(serde_json::to_string(&answer).unwrap().len() <= MOST_BYTES);
}

#[test]
fn many_flows_are_bounded_too() {
    let mut parts = Vec::new();
    for number in 0..400_u32 {
        let mut one = part(Category::Scam, 1_000 + u128::from(number));
        one.entity = Some(format!("Shop {number}"));
        parts.push(one);
    }
    let answer = assess_flows(flows(parts, vec![]));
    let shown = answer.scoring_components.iter().filter(|it| it.kind == ComponentKind::Exposure);
    assert_eq!(shown.count(), MOST + 1);
    let rest = answer.scoring_components.iter().find(|it| it.detail == "further flows: 300");
    assert!(rest.unwrap().contribution.tenths() > 0);
}

fn any_risky_label() -> impl Strategy<Value = Label> {
    let risky = Category::ALL.iter().copied().filter(|it| it.info().severity >= RISKY_FROM);
    let risky = prop::sample::select(risky.collect::<Vec<_>>());
    let tiers = prop::sample::select(Tier::ALL[1..].to_vec());
    (risky, tiers, 0..=100_u8, 0..300_u16).prop_map(|(category, tier, percent, upstream)| Label {
        confidence: Confidence::from_percent(percent),
        ..label(category, tier, percent, &format!("u{upstream}"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn labels_are_bounded_and_all_count(
        labels in prop::collection::vec(any_risky_label(), 0..400),
        more in any_risky_label(),
        cut in 0..400_usize,
    ) {
        let of = |labels: Vec<Label>| assess_facts(&Facts { labels: labels.into(), ..nothing_known() });
        let answer = of(labels.clone());
        // The score is that of all labels.
        let expected = score_of(&labels);
        prop_assert!((f64::from(tenths(&answer)) - expected).abs() <= 1.0, "{} {expected}", tenths(&answer));
        // Shown and further ones are all labels, at most 100 shown.
        prop_assert!(answer.labels.len() <= MOST && answer.scoring_components.len() <= MOST + 1);
        prop_assert_eq!(answer.labels.len() as u64 + answer.further_items().labels, labels.len() as u64);
        // The order in which they were imported changes nothing.
        let mut rotated = labels.clone();
        rotated.rotate_left(cut.min(labels.len()));
        rotated.reverse();
        prop_assert_eq!(of(rotated).digest(), answer.digest());
        // Another risky label lowers no score.
        let with_more: Vec<Label> = labels.into_iter().chain([more]).collect();
        prop_assert!(of(with_more).risk_score >= answer.risk_score);
    }
}
