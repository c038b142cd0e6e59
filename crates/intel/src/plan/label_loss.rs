//! Plausibility of a label set beside those before it.
//!
//! Numbers of labels count, not labels: publishers give their labels other names and categories all the time.

use std::collections::BTreeMap;

use assay_address::ChainId;
use assay_engine::evidence::AddressLabel;
use assay_store::intel::LabelCounts;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};

use super::{
    PublicationRefusal,
    plausibility::{LOSS_DAYS, LOSS_FROM_ROWS, is_mostly_lost, lost_since},
};

/// True if more than half of the labels before are gone, whatever replaced them.
pub(crate) const fn is_mostly_replaced(before: u64, removed: u64) -> bool {
    before >= LOSS_FROM_ROWS as u64 && removed.saturating_mul(2) > before
}

/// Compares the number of labels, and that of each chain, with those that the source has, and the number with those of
/// the days before, since the last import that was accepted by its digest.
pub(crate) fn check(
    known: &LabelCounts,
    labels: &[AddressLabel],
    now: Timestamp,
    digest: &str,
) -> Result<(), PublicationRefusal> {
    let mut found: BTreeMap<ChainId, usize> = BTreeMap::new();
    for label in labels {
        *found.entry(label.address.chain()).or_default() += 1;
    }
    let day = |at: Timestamp| at.to_zoned(TimeZone::UTC).date();
    let refused = |chain, before, after, compared| {
        Err(PublicationRefusal::FewerLabels {
            chain,
            before,
            after,
            compared: day(compared),
            digest: digest.to_owned(),
        })
    };
    let earliest = now.saturating_sub(SignedDuration::from_hours(24 * LOSS_DAYS));
    let earliest = earliest.unwrap_or(Timestamp::MIN);
    let Some(newest) = known.imports.last() else { return Ok(()) };
    let recent = known.imports.iter().filter(|import| import.at >= earliest || *import == newest);
    let counts =
        recent.map(|import| (import.at, usize::try_from(import.labels).unwrap_or(usize::MAX)));
    if let Some((at, before)) = lost_since(counts, labels.len()) {
        return refused(None, before, labels.len(), at);
    }
    for (chain, before) in &known.by_chain {
        let before = usize::try_from(*before).unwrap_or(usize::MAX);
        let after = found.get(chain).copied().unwrap_or_default();
        if is_mostly_lost(before, before.saturating_sub(after)) {
            return refused(Some(*chain), before, after, newest.at);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use assay_address::CanonicalAddress;
    use assay_engine::{
        evidence::{Label, Tier},
        score::Confidence,
        taxonomy::Category,
    };
    use assay_store::intel::LabelImportCount;

    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365 + hours)
    }

    fn labels(chain: &str, count: usize) -> Vec<AddressLabel> {
        let label = |number: usize| AddressLabel {
            address: CanonicalAddress::parse(chain.parse().unwrap(), &format!("0x{number:040x}"))
                .unwrap(),
            label: Label {
                category: Category::Scam,
                entity: None,
                tier: Tier::Community,
                confidence: Confidence::from_percent(50),
                source: "own".parse().unwrap(),
                upstream: "own".into(),
                author: None,
                term: None,
                cites_list: None,
                reason: None,
                reference: None,
                valid_from: None,
                valid_until: None,
            },
        };
        (0..count).map(label).collect()
    }

    /// The labels of imports at hours, all of Ethereum.
    fn known(imports: &[(i64, u64)]) -> LabelCounts {
        let count = |(hours, labels): &(i64, u64)| LabelImportCount {
            at: at(*hours),
            labels: *labels,
            digest: format!("{hours}"),
        };
        let by_chain = imports.last().map(|(_, labels)| (ChainId::ETH, *labels));
        LabelCounts {
            imports: imports.iter().map(count).collect(),
            by_chain: by_chain.into_iter().collect(),
        }
    }

    fn is_accepted(known: &LabelCounts, hours: i64, labels: &[AddressLabel]) -> bool {
        check(known, labels, at(hours), "d").is_ok()
    }

    #[test]
    fn more_than_half_is_missed_from_ten_labels_on() {
        for (before, after, accepted) in [
            (0, 0, true),
            (9, 1, true),
            (9, 900, true),
            (10, 5, true),
            (10, 4, false),
            (3000, 1500, true),
            (3000, 1, false),
        ] {
            let known = known(&[(0, before)]);
            assert_eq!(is_accepted(&known, 1, &labels("eth", after)), accepted, "{before} {after}");
        }
        assert!(is_accepted(&LabelCounts::default(), 1, &labels("eth", 1)), "a first import");
        let refusal = check(&known(&[(0, 3000)]), &labels("eth", 1), at(24), "d").unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "it holds 1 of the 3000 labels that there were on 1971-01-01: losing more than half is \
             implausible; its digest is d"
        );
    }

    #[test]
    fn losses_of_a_week_add_up_until_one_is_accepted() {
        let step = |imports: &[(i64, u64)], hours, after| {
            is_accepted(&known(imports), hours, &labels("eth", after))
        };
        assert!(step(&[(0, 1000)], 12, 550));
        assert!(!step(&[(0, 1000), (12, 550)], 24, 303), "45 % twice a day");
        assert!(step(&[(0, 1000), (12, 550)], 24 * 8, 303), "a week later");
        assert!(step(&[(0, 1000), (12, 303)], 24, 300), "303 were accepted");
        assert!(step(&[(0, 1000), (12, 550), (24, 303)], 36, 200), "303 were accepted");
        assert!(!step(&[(0, 1000), (12, 303), (24, 200)], 36, 150));
        assert!(!step(&[(0, 1000)], 24 * 365, 100), "the newest import counts at any age");
    }

    #[test]
    fn a_chain_is_missed_in_a_set_of_several() {
        let mut counts = known(&[(0, 1000)]);
        counts.by_chain = [(ChainId::ETH, 900), ("bsc".parse().unwrap(), 100)].into();
        let mut mixed = labels("eth", 980);
        let refusal = check(&counts, &mixed, at(1), "d").unwrap_err().to_string();
        assert!(refusal.starts_with("it holds 0 of the 100 labels of bsc that"), "{refusal}");
        mixed.extend(labels("bsc", 50));
        assert!(is_accepted(&counts, 1, &mixed));
    }
}
