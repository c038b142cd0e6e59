//! Attributions: listings and labels of an address, as far as a trace needs them (`docs/model/trace.md` T7.2).

use std::{
    collections::hash_map::Entry,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::civil::Date;
use rustc_hash::FxHashMap;

use crate::{
    evidence::{CarriedLabel, LabelDistance, PartyListing, Tier},
    ledger::OwnerNumber,
    reading::{ChainView, ViewError},
    score::Confidence,
    taxonomy::Category,
    utxo::{Pool, ScriptOwner},
};

/// Looks up attributions of owners. A trace calls this lookup for each input and output, so it must be fast.
pub trait Attributions: Send + Sync {
    /// The attribution of an owner; `None` if the owner has none.
    ///
    /// # Errors
    ///
    /// Returns an error if the store behind the view fails.
    fn of_owner(
        &self,
        owner: OwnerNumber,
        view: &dyn ChainView,
    ) -> Result<Option<Arc<Attribution>>, ViewError>;
}

/// Attributions by script, cached for each owner.
pub struct AttributionsByScript<F> {
    attribute: F,
    known: Mutex<FxHashMap<OwnerNumber, Option<Arc<Attribution>>>>,
}

impl<F> std::fmt::Debug for AttributionsByScript<F> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AttributionsByScript")
    }
}

impl<F: Fn(&ScriptOwner) -> Attribution + Send + Sync> AttributionsByScript<F> {
    /// Attributions by a function, which is not called for pools and owners whose outputs nobody can spend: their
    /// attribution is fixed.
    pub fn new(attribute: F) -> Self {
        Self { attribute, known: Mutex::default() }
    }
}

impl<F: Fn(&ScriptOwner) -> Attribution + Send + Sync> Attributions for AttributionsByScript<F> {
    fn of_owner(
        &self,
        owner: OwnerNumber,
        view: &dyn ChainView,
    ) -> Result<Option<Arc<Attribution>>, ViewError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let unknown = match known.entry(owner) {
            Entry::Occupied(known) => return Ok(known.get().clone()),
            Entry::Vacant(unknown) => unknown,
        };
        let attribution = match view.owner(owner)? {
            ScriptOwner::Pool(pool) => Attribution::of_pool(pool),
            owner if owner.unowned_kind().is_some() => Attribution::of_nobody(),
            owner => (self.attribute)(&owner),
        };
        Ok(unknown.insert((!attribution.is_nothing()).then(|| Arc::new(attribution))).clone())
    }
}

/// True if a list in force names an owner or its key: entries of the owner are read regardless of their size.
pub(super) fn is_listed(
    view: &dyn ChainView,
    attributions: &dyn Attributions,
    owner: OwnerNumber,
) -> Result<bool, ViewError> {
    let attribution = attributions.of_owner(owner, view)?;
    Ok(attribution.as_ref().and_then(|it| it.end.as_ref()).is_some_and(|end| end.listed))
}

/// The attribution of an address by listings and labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    /// The party at which a trace ends; `None` if the trace continues.
    pub end: Option<AttributedEnd>,
    /// Risky labels that are too weak to end a trace.
    pub carried: Vec<CarriedLabel>,
    /// True if nobody controls the address: funds sent to it are destroyed, and nobody's labels count.
    pub is_unowned: bool,
}

impl Attribution {
    /// The attribution of an address or script that nobody controls.
    #[must_use]
    pub fn of_nobody() -> Self {
        Self { is_unowned: true, ..Self::default() }
    }

    /// True if a trace passes the address as if nothing were known about it.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.end.is_none() && self.carried.is_empty() && !self.is_unowned
    }

    /// The attribution of a shielded pool, which the chain itself proves.
    #[must_use]
    pub fn of_pool(pool: Pool) -> Self {
        Self {
            end: Some(AttributedEnd {
                category: Category::PrivacyProtocol,
                entity: Some(pool.as_str().into()),
                tier: Tier::OnChainProof,
                confidence: Confidence::CERTAIN,
                listed: false,
                listed_by: None,
                listed_on: None,
            }),
            ..Self::default()
        }
    }
}

/// A party that is attributed reliably enough to end a trace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttributedEnd {
    /// Category.
    pub category: Category,
    /// Name, if known.
    pub entity: Option<Arc<str>>,
    /// Strength of the attribution.
    pub tier: Tier,
    /// Confidence of the attribution.
    pub confidence: Confidence,
    /// True if a list in force names the party or its key.
    pub listed: bool,
    /// The entry of the list that names the party.
    pub listed_by: Option<Arc<PartyListing>>,
    /// Day of the listing, where known.
    pub listed_on: Option<Date>,
}

/// True if default rules hear a carried label: severity times confidence reaches the default review threshold, or the
/// label stands for a joint transaction.
pub(super) fn is_heard(label: &CarriedLabel) -> bool {
    const REVIEW: u32 = 50 * 100;
    let risk = u32::from(label.severity) * u32::from(label.confidence.percent());
    label.coinjoin.is_some() || risk >= REVIEW
}

/// Maximum number of labels that a flow carries; the strongest ones are kept.
const MOST_CARRIED: usize = 12;

/// Labels with the distances at which the funds passed them, in the order of the labels.
pub(super) type CarriedLabels = (Vec<CarriedLabel>, Vec<LabelDistance>);

/// Adds labels that the funds pass at `distance` to the labels that the funds carry. Of labels of one tier and
/// category, a farther label is kept only if it has more confidence than the nearer labels, because a label's weight
/// decreases with its distance. Of labels at one distance the label with the highest confidence is kept; of equal
/// confidence, the first by the name of the entity.
pub(super) fn carry(
    (labels, distances): (&[CarriedLabel], &[LabelDistance]),
    met: &[CarriedLabel],
    distance: LabelDistance,
) -> CarriedLabels {
    let mut carried: Vec<(CarriedLabel, LabelDistance)> =
        labels.iter().cloned().zip(distances.iter().copied()).collect();
    let mut met: Vec<&CarriedLabel> = met.iter().collect();
    met.sort_by(|a, b| b.confidence.cmp(&a.confidence).then_with(|| a.cmp(b)));
    for label in met {
        let is_known = carried.iter().any(|(known, _)| {
            (known.tier, known.category) == (label.tier, label.category)
                && known.confidence >= label.confidence
        });
        if !is_known {
            carried.push((label.clone(), distance));
        }
    }
    if carried.len() > MOST_CARRIED {
        carried.sort_by(|(a, _), (b, _)| {
            let standalone_risk = |label: &CarriedLabel| {
                u32::from(label.severity) * u32::from(label.confidence.percent())
            };
            (a.tier, standalone_risk(b), a).cmp(&(b.tier, standalone_risk(a), b))
        });
        carried.truncate(MOST_CARRIED);
    }
    carried.sort_by(|(a, _), (b, _)| a.cmp(b));
    carried.into_iter().unzip()
}
