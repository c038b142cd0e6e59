//! The labels that a flow carries.

use assay_engine::trace::attribution::CarriedLabel;

const MOST: usize = 12;

/// Adds the labels met at `hops` to those met before. Of labels of one tier and category one is not
/// carried if another is at least as sure and at least as near; the first of equals is.
pub(super) fn carry(before: &[CarriedLabel], met: &[CarriedLabel], hops: u8) -> Vec<CarriedLabel> {
    let mut all = before.to_vec();
    all.extend(met.iter().cloned().map(|label| CarriedLabel { hops, ..label }));
    all.sort();
    all.dedup();
    let is_beaten = |label: &CarriedLabel| {
        all.iter().any(|other| {
            let alike = (other.tier, other.category) == (label.tier, label.category);
            let as_good = other.confidence >= label.confidence && other.hops <= label.hops;
            let better = (other.confidence, other.hops) != (label.confidence, label.hops);
            alike && as_good && (better || other < label)
        })
    };
    let mut kept: Vec<CarriedLabel> =
        all.iter().filter(|label| !is_beaten(label)).cloned().collect();
    kept.sort_by_key(|label| {
        let worth = u32::from(label.severity) * u32::from(label.confidence.percent());
        (label.tier, std::cmp::Reverse(worth))
    });
    kept.truncate(MOST);
    kept.sort();
    kept
}
