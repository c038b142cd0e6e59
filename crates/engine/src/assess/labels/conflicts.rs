//! Conflicts between risky and benign labels.

use std::{cmp::Ordering, collections::BTreeSet};

use super::candidates::Candidate;
use crate::{
    assess::bounds::MOST_SHOWN,
    assessment::{Conflict, ConflictResolution, LabelStatus},
    evidence::Tier,
};

/// The conflicts of an address's labels.
#[derive(Default)]
pub(in crate::assess) struct Conflicts {
    /// The first conflicts, in the order of the risky labels.
    pub(in crate::assess) shown: Vec<Conflict>,
    pub(in crate::assess) further: u64,
    /// Tiers whose cap is lowered below the block threshold because labels of equal strength conflict.
    pub(in crate::assess) capped_tiers: BTreeSet<Tier>,
    /// True if a risky label counts in a conflict.
    pub(super) risky_counts: bool,
}

/// Resolves conflicts between risky and benign labels: the stronger tier counts; of equal tiers the risky label counts,
/// but its tier cannot block. Only an own label of tier investigation or stronger overrules another: anyone could hide a
/// label by a free report. An inherited label overrules no other label.
pub(super) fn resolve_conflicts(candidates: &mut [Candidate<'_>]) -> Conflicts {
    let strongest_benign = candidates
        .iter()
        .filter(|it| it.counts() && it.inherited.is_none() && !it.is_risky())
        .min_by_key(|candidate| candidate.tier)
        .copied();
    let mut conflicts = Conflicts::default();
    let Some(benign) = strongest_benign else {
        return conflicts;
    };
    let is_sure = benign.tier.at_least(Tier::Investigation);
    let risky = candidates.iter_mut().filter(|candidate| {
        candidate.counts()
            && candidate.is_risky()
            && (is_sure || candidate.inherited.is_none() && candidate.tier <= benign.tier)
    });
    for candidate in risky {
        let resolution = match candidate.tier.cmp(&benign.tier) {
            Ordering::Less => ConflictResolution::RiskyCounts,
            Ordering::Equal => {
                conflicts.capped_tiers.insert(candidate.tier);
                ConflictResolution::RiskyCountsWithoutBlock
            }
            Ordering::Greater => {
                candidate.status = LabelStatus::Overruled;
                ConflictResolution::RiskyOverruled
            }
        };
        conflicts.risky_counts |= resolution != ConflictResolution::RiskyOverruled;
        if conflicts.shown.len() == MOST_SHOWN {
            conflicts.further += 1;
            continue;
        }
        conflicts.shown.push(Conflict {
            risky_category: candidate.label.category,
            risky_source: candidate.label.source.clone(),
            benign_category: benign.label.category,
            benign_source: benign.label.source.clone(),
            resolution,
        });
    }
    conflicts
}
