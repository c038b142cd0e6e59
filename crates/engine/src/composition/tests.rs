use proptest::prelude::*;

use super::*;
use crate::{
    evidence::{CarriedLabel, ListingPeriod, Tier},
    score::Confidence,
    taxonomy::Category,
};

const MIXER: Origin = Origin::Party(Category::Mixer, None);
const LISTED: Origin = Origin::Party(Category::Sanctions, Some(ListingPeriod::Since));

/// Labels by a number, mostly none.
fn labels(number: u64) -> Vec<PassedLabel> {
    let category = Category::ALL[usize::try_from(number / 5 % 9).unwrap()];
    let tier = if number.is_multiple_of(2) { Tier::Community } else { Tier::Investigation };
    let confidence = Confidence::from_percent(u8::try_from(number % 101).unwrap());
    let label = PassedLabel { category, tier, confidence };
    if number.is_multiple_of(3) { vec![label] } else { vec![] }
}

fn composition_of(parts: &[(Option<Origin>, u64)], is_joint: bool) -> Composition {
    let mut mixture = Mixture::default();
    for (origin, amount) in parts {
        if let Some(origin) = origin {
            mixture.add_origin(*origin, *amount);
        }
        // Labels are met with some origins, whichever.
        if amount % 5 == 3 {
            mixture.add_labelled(*amount, &labels(*amount), None);
        }
    }
    mixture.finish(parts.iter().map(|(_, amount)| u128::from(*amount)).sum(), is_joint)
}

#[test]
fn money_is_made_of_what_went_in() {
    let composition = composition_of(&[(Some(MIXER), 1), (Some(LISTED), 2), (None, 1)], false);
    assert_eq!(composition.share(MIXER).units(), 1 << 30);
    assert_eq!(composition.share(LISTED).units(), 1 << 31);
    assert_eq!(composition.unknown().units(), 1 << 30);
    assert_eq!(composition.mixed(), CoinShare::NOTHING);
    assert_eq!(composition.share(LISTED).of_amount(1_000), 500);
}

#[test]
fn a_joint_transaction_mixes_all_and_hides_no_origin() {
    let joint = composition_of(&[(Some(MIXER), 1), (None, 3)], true);
    assert_eq!((joint.mixed(), joint.share(MIXER).units()), (CoinShare::WHOLE, 1 << 30));
    let mut after = Mixture::default();
    after.add_composition(&joint, 50);
    let after = after.finish(100, false);
    assert_eq!(after.mixed().units(), 1 << 31);
    assert_eq!(after.share(MIXER).units(), 1 << 29);
}

#[test]
fn a_label_on_the_way_is_told_beside_the_origin() {
    let mut mixture = Mixture::default();
    mixture.add_origin(MIXER, 1);
    mixture.add_labelled(1, &[], None);
    let first = mixture.finish(4, false);
    assert_eq!((first.share(MIXER).units(), first.labelled().units()), (1 << 30, 1 << 30));
    // Money that passes another label counts once.
    mixture.add_composition(&first, 8);
    mixture.add_labelled(8, &[], Some(&first));
    let second = mixture.finish(16, false);
    assert_eq!((second.share(MIXER).units(), second.labelled().units()), (1 << 29, 1 << 31));
}

#[test]
fn a_severe_label_on_the_way_is_told_by_its_category() {
    let label = |tier, category, percent| PassedLabel {
        category,
        tier,
        confidence: Confidence::from_percent(percent),
    };
    let scam = label(Tier::Community, Category::Scam, 60);
    let mut mixture = Mixture::default();
    mixture.add_origin(MIXER, 1);
    mixture.add_labelled(1, &[scam], None);
    let first = mixture.finish(4, false);
    assert_eq!(first.passed().collect::<Vec<_>>(), [(scam, CoinShare::from_units(1 << 30))]);
    // Another label of the category marks the rest; the stronger tier and the higher confidence count.
    mixture.add_composition(&first, 8);
    mixture.add_labelled(8, &[label(Tier::Investigation, Category::Scam, 50)], Some(&first));
    let second = mixture.finish(16, false);
    let stronger = label(Tier::Investigation, Category::Scam, 60);
    assert_eq!(second.passed().collect::<Vec<_>>(), [(stronger, CoinShare::from_units(1 << 31))]);
}

#[test]
fn of_many_severe_labels_those_of_most_money_are_told() {
    let mut mixture = Mixture::default();
    for (index, category) in Category::ALL.iter().take(6).enumerate() {
        let (tier, confidence) = (Tier::Community, Confidence::CERTAIN);
        let label = PassedLabel { category: *category, tier, confidence };
        mixture.add_labelled(u64::try_from(index).unwrap() + 1, &[label], None);
    }
    let made_of = mixture.finish(100, false);
    let told: Vec<Category> = made_of.passed().map(|(label, _)| label.category).collect();
    assert_eq!(told, Category::ALL[2..6]);
}

#[test]
fn an_owner_has_one_severe_label_of_a_category() {
    let label = |tier, category: Category, percent| CarriedLabel {
        tier,
        category,
        confidence: Confidence::from_percent(percent),
        severity: category.info().severity,
        entity: None,
        coinjoin: None,
    };
    let passed = PassedLabel::of(&[
        label(Tier::Community, Category::Scam, 70),
        label(Tier::Heuristic, Category::Scam, 90),
        label(Tier::Community, Category::Gambling, 100),
        // No rule hears so doubtful a report.
        label(Tier::Community, Category::StolenFunds, 10),
        label(Tier::Community, Category::Malware, 65),
    ]);
    let told = |label: &PassedLabel| (label.category, label.tier, label.confidence.percent());
    assert_eq!(
        passed.iter().map(told).collect::<Vec<_>>(),
        [(Category::Scam, Tier::Community, 90), (Category::Malware, Tier::Community, 65)]
    );
}

#[test]
fn what_remains_after_known_inputs_is_made_of_the_rest() {
    let made_of = composition_of(&[(Some(MIXER), 6), (Some(LISTED), 2), (None, 8)], false);
    let mut mixture = Mixture::default();
    mixture.add_composition(&made_of, 16);
    mixture.remove_origin(MIXER, 4);
    let known = composition_of(&[(Some(LISTED), 1), (None, 3)], false);
    mixture.remove_composition(&known, 4);
    let rest = mixture.finish(8, false);
    assert_eq!((rest.share(MIXER).units(), rest.share(LISTED).units()), (1 << 30, 1 << 29));
}

#[test]
fn what_is_too_little_is_unknown() {
    let composition = composition_of(&[(Some(MIXER), 1), (None, (1 << 24) - 1)], false);
    assert_eq!(composition.share(MIXER), CoinShare::LEAST);
    let composition = composition_of(&[(Some(MIXER), 1), (None, 1 << 24)], false);
    assert!(composition.is_unknown());
}

#[test]
fn one_chain_of_payments_changes_nothing() {
    let mut composition = composition_of(&[(Some(MIXER), 1), (Some(LISTED), 6), (None, 23)], false);
    let first = composition.clone();
    for paid in 1..2_000_u64 {
        let mut mixture = Mixture::default();
        mixture.add_composition(&composition, paid);
        composition = mixture.finish(paid.into(), false);
    }
    assert_eq!(composition, first);
}

#[test]
fn a_sole_origin_takes_few_bytes() {
    let mut bytes = Vec::new();
    composition_of(&[(Some(MIXER), 7)], false).put_bytes(&mut bytes);
    assert_eq!(bytes.len(), 3);
    bytes.clear();
    Composition::default().put_bytes(&mut bytes);
    assert_eq!(bytes, [0]);
}

fn origins() -> impl Strategy<Value = Origin> {
    let category = proptest::sample::select(Category::ALL);
    let period =
        proptest::option::of(prop_oneof![Just(ListingPeriod::Before), Just(ListingPeriod::Since)]);
    prop_oneof![9 => (category, period).prop_map(|(it, period)| Origin::Party(it, period)),
        1 => Just(Origin::Mining)]
}

fn amounts() -> impl Strategy<Value = Vec<(Option<Origin>, u64)>> {
    let amount = prop_oneof![0..1_000_u64, 0..=u64::from(u32::MAX), any::<u64>()];
    proptest::collection::vec((proptest::option::of(origins()), amount), 0..40)
}

proptest! {
    #[test]
    fn shares_are_at_most_the_whole_and_ordered(parts in amounts(), is_joint: bool) {
        let composition = composition_of(&parts, is_joint);
        let sum: u64 = composition.origins().map(|(_, share)| share.units()).sum();
        prop_assert!(sum <= CoinShare::WHOLE.units());
        prop_assert!(composition.origins().is_sorted_by_key(|(origin, _)| origin));
        prop_assert!(composition.origins().all(|(_, share)| share >= CoinShare::LEAST));
    }

    #[test]
    fn the_order_of_inputs_does_not_matter(parts in amounts()) {
        let mut turned = parts.clone();
        turned.reverse();
        prop_assert_eq!(composition_of(&parts, false), composition_of(&turned, false));
    }

    #[test]
    fn more_from_an_origin_is_no_smaller_share(parts in amounts(), origin in origins(), more: u32) {
        let before = composition_of(&parts, false).share(origin);
        let after = [&parts[..], &[(Some(origin), more.into())]].concat();
        prop_assert!(composition_of(&after, false).share(origin) >= before);
    }

    #[test]
    fn bytes_are_read_as_they_were_written(parts in amounts(), is_joint: bool, after: [u8; 3]) {
        let composition = composition_of(&parts, is_joint);
        let mut bytes = Vec::new();
        composition.put_bytes(&mut bytes);
        bytes.extend(after);
        prop_assert_eq!(Composition::read(&bytes), Some((composition, &after[..])));
    }

    #[test]
    fn neighbours_are_read_as_they_were_written(
        all in proptest::collection::vec((amounts(), any::<bool>()), 1..8),
    ) {
        let all: Vec<Composition> = all.iter().map(|(parts, joint)| composition_of(parts, *joint)).collect();
        let mut dictionary = OriginDictionary::default();
        for composition in &all {
            dictionary.add(composition);
        }
        let mut bytes = Vec::new();
        dictionary.put_bytes(&mut bytes);
        prop_assert_eq!(OriginDictionary::read(&bytes), Some((dictionary.clone(), &[][..])));
        for composition in all {
            bytes.clear();
            dictionary.put(&composition, &mut bytes);
            prop_assert_eq!(dictionary.get(&bytes), Some(composition));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        let _ = Composition::read(&bytes);
        if let Some((dictionary, rest)) = OriginDictionary::read(&bytes) {
            let _ = dictionary.get(rest);
        }
    }
}
