//! Labels of an address with their status: which of them count, and which repeat others.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, hash_map::Entry},
};

use jiff::civil::Date;
use rustc_hash::FxHashMap;

use super::{
    conflicts::{Conflicts, resolve_conflicts},
    evidence::{LabelEvidence, LabeledParty},
};
use crate::{
    assess::{
        claims::Upstreams,
        cluster::{self, InheritedLabel},
        ended::EndedListings,
    },
    assessment::LabelStatus,
    evidence::{AddressLabels, Label, Listing, ListingStatus, SourceState, Tier},
    facts::{Cluster, ClusterMember},
    names::ListId,
    policy::Policy,
    score::Confidence,
    taxonomy::{Category, RISKY_FROM},
};

/// A label that is being evaluated.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'f> {
    pub(super) label: &'f Label,
    /// Tier as which the label counts.
    pub(super) tier: Tier,
    /// Confidence with which the label counts.
    pub(super) confidence: Confidence,
    /// The member of the co-spend cluster from which the label is inherited.
    pub(super) inherited: Option<&'f ClusterMember>,
    /// Number of the upstream.
    pub(super) upstream: u32,
    /// The index among the labels of the address itself.
    place: Option<usize>,
    /// True if another label may make the same claim.
    may_repeat: bool,
    pub(super) status: LabelStatus,
    pub(super) severity: u8,
}

impl<'f> Candidate<'f> {
    /// Severity times confidence.
    pub(super) fn risk(&self) -> u16 {
        u16::from(self.severity) * u16::from(self.confidence.percent())
    }

    pub(super) const fn is_risky(&self) -> bool {
        self.severity >= RISKY_FROM
    }

    pub(super) fn counts(&self) -> bool {
        self.status == LabelStatus::InForce
    }

    pub(super) fn evidence(&self) -> LabelEvidence<'f> {
        let Self { label, tier, confidence, severity, .. } = *self;
        let holder = self.inherited.map_or(LabeledParty::Subject, LabeledParty::Member);
        LabelEvidence { label, tier, confidence, severity, holder }
    }

    /// The order of labels: by status, strongest first. Of labels that are alike, those of the address itself come
    /// first.
    fn order(&self) -> u64 {
        u64::from(self.status as u8) << 48
            | u64::from(u16::MAX - self.risk()) << 32
            | u64::from(self.tier as u8) << 24
            | u64::from(self.label.category as u8) << 16
            | u64::from(self.inherited.is_some())
    }
}

/// Labels and related data of one address.
#[derive(Clone, Copy)]
pub(in crate::assess) struct LabelContext<'f> {
    pub(in crate::assess) listings: &'f [Listing],
    pub(in crate::assess) labels: &'f AddressLabels,
    pub(in crate::assess) cluster: Option<&'f Cluster>,
    pub(in crate::assess) sources: &'f [SourceState],
    /// True if nobody controls the address, so that no label of it counts.
    pub(in crate::assess) is_unowned: bool,
}

/// Labels with their status, the strongest claims first.
pub(super) struct ResolvedLabels<'f> {
    pub(super) candidates: Vec<Candidate<'f>>,
    pub(super) conflicts: Conflicts,
}

pub(super) fn resolve_labels<'f>(
    known: LabelContext<'f>,
    upstreams: &mut Upstreams<'_>,
    policy: &Policy,
    today: Date,
) -> ResolvedLabels<'f> {
    let severities: Vec<u8> =
        Category::ALL.iter().map(|category| policy.severity(*category)).collect();
    let severity = |category: Category| severities.get(category as usize).copied().unwrap_or(0);
    let is_contract = known.labels.iter().any(|label| {
        let is_sure = label.tier.at_least(Tier::Investigation) && label.in_force(today);
        is_sure && label.category.is_contract()
    });
    // Issuers freeze what users sent to a contract by mistake: that is no proof against the contract.
    let tier = |category: Category, tier: Tier| {
        let is_others = is_contract && category == Category::IssuerFrozen;
        tier.weaker(if is_others { Tier::Investigation } else { Tier::OnChainProof })
    };
    let inherited: Vec<InheritedLabel<'f>> = match known.cluster {
        Some(cluster) => {
            let own = (known.labels, known.listings);
            cluster::inherit(cluster, own, known.sources, policy, today).labels
        }
        None => Vec::new(),
    };
    let statuses = OwnStatuses::of(&known, today);
    let (mut candidates, numbers): (Vec<Candidate<'f>>, Vec<u32>) = known
        .labels
        .with_upstreams()
        .enumerate()
        .map(|(place, (label, upstream))| {
            let candidate = Candidate {
                label,
                tier: tier(label.category, label.tier),
                confidence: label.confidence,
                inherited: None,
                upstream,
                place: Some(place),
                may_repeat: !inherited.is_empty(),
                status: statuses.status(label, today),
                severity: severity(label.category),
            };
            (candidate, upstream)
        })
        .unzip();
    // Labels with one claim stand together.
    for (index, upstream) in numbers.iter().enumerate().skip(1) {
        let (before, from_here) = candidates.split_at_mut(index);
        if let (Some(previous), Some(next)) = (before.last_mut(), from_here.first_mut())
            && previous.upstream == *upstream
            && previous.label.category == next.label.category
        {
            (previous.may_repeat, next.may_repeat) = (true, true);
        }
    }
    candidates.extend(inherited.iter().map(|it| Candidate {
        label: it.label,
        tier: tier(it.label.category, it.tier),
        confidence: it.confidence,
        inherited: Some(it.from),
        upstream: upstreams.number(&it.label.upstream),
        place: None,
        may_repeat: true,
        status: statuses.status(it.label, today),
        severity: severity(it.label.category),
    }));
    candidates.sort_by_cached_key(Candidate::order);
    mark_repeated(&mut candidates);
    mark_uncategorized(&mut candidates, known.labels);
    let conflicts = resolve_conflicts(&mut candidates);
    ResolvedLabels { candidates, conflicts }
}

/// Decides the status that a label has regardless of other labels.
struct OwnStatuses<'f> {
    ended: EndedListings<'f>,
    /// Lists that a source provides.
    loaded: BTreeSet<&'f ListId>,
    /// Lists that name the address now.
    active: BTreeSet<&'f ListId>,
    is_unowned: bool,
}

impl<'f> OwnStatuses<'f> {
    fn of(known: &LabelContext<'f>, today: Date) -> Self {
        let active =
            known.listings.iter().filter(|listing| listing.status(today) == ListingStatus::Active);
        Self {
            ended: EndedListings::of(known.listings, today),
            loaded: known.sources.iter().flat_map(|source| &source.lists).collect(),
            active: active.map(|listing| &listing.entry.list).collect(),
            is_unowned: known.is_unowned,
        }
    }

    fn status(&self, label: &Label, today: Date) -> LabelStatus {
        if !label.in_force(today) {
            return LabelStatus::NotInForce;
        }
        if self.is_unowned {
            return LabelStatus::Unowned;
        }
        match &label.cites_list {
            // A list that is not loaded leaves the claim to count by itself.
            Some(list) if self.loaded.contains(list) => {
                if self.active.contains(list) {
                    LabelStatus::Duplicate
                } else {
                    LabelStatus::ContradictedByList
                }
            }
            _ if self.ended.are_basis_of(label) => LabelStatus::ListingEnded,
            _ => LabelStatus::InForce,
        }
    }
}

/// Marks labels that repeat a claim of an earlier label, which is at least as strong: repeated claims do not count. An
/// inherited label never replaces an own label.
fn mark_repeated(candidates: &mut [Candidate<'_>]) {
    let (mut own, mut all): (FxHashMap<_, Tier>, FxHashMap<_, Tier>) = Default::default();
    for candidate in candidates {
        if !candidate.counts() || !candidate.may_repeat {
            continue;
        }
        let claim = (candidate.upstream, candidate.label.category);
        let tier = candidate.tier;
        let known = if candidate.inherited.is_some() { &all } else { &own };
        if known.get(&claim).is_some_and(|known| known.at_least(tier)) {
            candidate.status = LabelStatus::Duplicate;
            continue;
        }
        if candidate.inherited.is_none() {
            own.insert(claim, tier);
        }
        let strongest = all.entry(claim).or_insert(tier);
        *strongest = (*strongest).min(tier);
    }
}

/// Labels with a category that give one name: the highest risk of those in force, by tier.
type Namesakes = [Option<u16>; Tier::ALL.len()];

/// Marks labels that name an owner without a category, and beside which another label gives the same name and a
/// category: such a label adds nothing to a claim that is at least as strong and as risky, and nothing to a claim of its
/// own upstream whose listing has ended.
fn mark_uncategorized(candidates: &mut [Candidate<'_>], labels: &AddressLabels) {
    let is_plain = |it: &Candidate<'_>| it.label.category == Category::Uncategorized;
    if !candidates.iter().any(|it| is_plain(it) && it.counts()) || candidates.iter().all(is_plain) {
        return;
    }
    let names = labels.names();
    let name = |it: &Candidate<'_>| names.get(it.place?).copied().flatten();
    let mut in_force: Vec<Namesakes> = Vec::new();
    let mut ended: FxHashMap<(u32, u32), LabelStatus> = FxHashMap::default();
    for other in candidates.iter().filter(|it| !is_plain(it)) {
        let Some(name) = name(other) else { continue };
        if matches!(other.status, LabelStatus::ListingEnded | LabelStatus::ContradictedByList) {
            // In the order of statuses.
            ended.entry((name, other.upstream)).or_insert(other.status);
        } else if other.counts() {
            let index = usize::try_from(name).unwrap_or(usize::MAX);
            if in_force.len() <= index {
                in_force.resize(index + 1, Namesakes::default());
            }
            let known = in_force.get_mut(index).and_then(|it| it.get_mut(other.tier as usize));
            if let Some(risk) = known {
                *risk = (*risk).max(Some(other.risk()));
            }
        }
    }
    for unnamed in candidates.iter_mut().filter(|it| is_plain(it) && it.counts()) {
        let Some(name) = name(unnamed) else { continue };
        let known = usize::try_from(name).ok().and_then(|name| in_force.get(name));
        let mut stronger = known.into_iter().flatten().take(unnamed.tier as usize + 1).flatten();
        if stronger.any(|risk| *risk >= unnamed.risk()) {
            unnamed.status = LabelStatus::Duplicate;
        } else if let Some(status) = ended.get(&(name, unnamed.upstream)) {
            unnamed.status = *status;
        }
    }
}

/// The strongest label of each tier and category, of equal ones the first in the order of the labels.
pub(super) fn strongest_of_each<'c, 'f>(
    candidates: impl Iterator<Item = &'c Candidate<'f>>,
) -> Vec<&'c Candidate<'f>>
where
    'f: 'c,
{
    let mut places: FxHashMap<(Tier, Category), usize> = FxHashMap::default();
    let mut strongest: Vec<&Candidate<'f>> = Vec::new();
    for candidate in candidates {
        match places.entry((candidate.tier, candidate.label.category)) {
            Entry::Vacant(free) => {
                free.insert(strongest.len());
                strongest.push(candidate);
            }
            Entry::Occupied(place) => {
                let key = |it: &Candidate<'f>| (Reverse(it.confidence), it.label.entity.as_deref());
                if let Some(known) = strongest.get_mut(*place.get())
                    && key(candidate) < key(known)
                {
                    *known = candidate;
                }
            }
        }
    }
    strongest
}
