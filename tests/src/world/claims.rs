//! Listings and labels of a world.

use std::sync::Arc;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    account::Prices,
    evidence::{
        AddressLabel, Label, ListedEntity, Listing, ListingEntry, SourceKind, SourceState, Tier,
    },
    facts::Environment,
    score::Confidence,
    taxonomy::Category,
    utxo::ScriptOwner,
};
use assay_intel::{IntelSnapshot, LabelIndexBuilder};
use assay_store::intel::Intel;
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};

/// The sanctions list of every world.
const LIST: &str = "ofac-sdn";

/// A label's content.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Category.
    pub category: Category,
    /// Name of the entity.
    pub entity: &'static str,
    /// Strength.
    pub tier: Tier,
    /// Confidence in percent.
    pub percent: u8,
    /// Source of the label, also the first claimant.
    pub source: &'static str,
}

impl Claim {
    /// A claim of an investigation with a confidence of 95 %.
    #[must_use]
    pub const fn investigated(category: Category, entity: &'static str) -> Self {
        Self { category, entity, tier: Tier::Investigation, percent: 95, source: "investigators" }
    }

    /// A community's claim.
    #[must_use]
    pub const fn reported(category: Category, percent: u8, source: &'static str) -> Self {
        Self { category, entity: "", tier: Tier::Community, percent, source }
    }
}

/// Listings and labels.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    labels: Vec<(ScriptOwner, Claim)>,
    listings: Vec<(ScriptOwner, String, Date)>,
}

impl Claims {
    /// Labels an owner.
    pub fn label(&mut self, owner: &ScriptOwner, claim: Claim) {
        self.labels.push((owner.clone(), claim));
    }

    /// Adds a listing of an owner under a name, since a day.
    pub fn list(&mut self, owner: &ScriptOwner, name: &str, since: Date) {
        self.listings.push((owner.clone(), name.to_owned(), since));
    }

    /// The intel snapshot of these claims on a chain; all sources are fresh at `now`.
    ///
    /// # Panics
    ///
    /// Panics if an owner has no address.
    #[must_use]
    pub fn snapshot(self, chain: ChainId, now: Timestamp) -> IntelSnapshot {
        let address = |owner: &ScriptOwner| {
            owner.address(chain).expect("an owner with claims has an address")
        };
        let mut labels = self.labels;
        labels.sort_by(|(one, _), (other, _)| one.cmp(other));
        let labels = labels.iter().map(|(owner, claim)| (address(owner), *claim)).collect();
        let listings = self.listings.into_iter();
        let listings = listings.map(|(owner, name, since)| (address(&owner), name, since));
        snapshot_of(chain, labels, listings.collect(), now)
    }
}

/// The intel snapshot of labels and listings on a chain, the labels in the order of their addresses; all sources are
/// fresh at `now`.
///
/// # Panics
///
/// Panics if no list names the chain.
#[must_use]
pub fn snapshot_of(
    chain: ChainId,
    labels: Vec<(CanonicalAddress, Claim)>,
    listings: Vec<(CanonicalAddress, String, Date)>,
    now: Timestamp,
) -> IntelSnapshot {
    snapshot_with_prices(chain, labels, listings, (None, now))
}

/// Labels, listings and prices as imports store them, at a point in time.
#[must_use]
pub fn snapshot_with_prices(
    chain: ChainId,
    labels: Vec<(CanonicalAddress, Claim)>,
    listings: Vec<(CanonicalAddress, String, Date)>,
    (prices, now): (Option<Prices>, Timestamp),
) -> IntelSnapshot {
    let mut index = LabelIndexBuilder::default();
    for (address, claim) in labels {
        index.add(AddressLabel { address, label: label(claim) });
    }
    let code = chain.info().list_codes.first().expect("lists name this chain");
    let listings = listings.into_iter();
    let listings = listings.map(|(address, name, since)| listing(&address, name, since, code));
    let listings: Vec<Listing> = listings.collect();
    let intel = Intel {
        environment: Environment::Production,
        generation: 1,
        data_revision: "1-world".to_owned(),
        sources: vec![source(listings.len() as u64, now)],
        listings,
        label_generation: 1,
        label_revision: [1; 32],
        suppressions: Vec::new(),
        price_sources: Vec::new(),
        price_generation: 0,
        prices,
    };
    IntelSnapshot::new(intel, &index.finish([1; 32]))
}

fn label(claim: Claim) -> Label {
    let Claim { category, entity, tier, percent, source } = claim;
    Label {
        category,
        entity: (!entity.is_empty()).then(|| entity.into()),
        tier,
        confidence: Confidence::from_percent(percent),
        source: source.parse().expect("a name"),
        upstream: source.into(),
        author: None,
        term: None,
        cites_list: None,
        reason: None,
        reference: None,
        valid_from: None,
        valid_until: None,
    }
}

fn listing(address: &CanonicalAddress, name: String, since: Date, code: &str) -> Listing {
    let entity = ListedEntity {
        id: name.clone(),
        name,
        aliases: Vec::new(),
        programs: vec!["CYBER2".to_owned()],
        remarks: None,
        listed_on: Some(since),
        ..ListedEntity::default()
    };
    Listing {
        source: LIST.parse().expect("a name"),
        entry: ListingEntry {
            list: LIST.parse().expect("a name"),
            list_name: "OFAC SDN List".to_owned(),
            entity: Arc::new(entity),
            asset_code: code.to_owned(),
            address_as_published: address.as_str().to_owned(),
            address_remarks: None,
            expires_on: None,
        },
        listed_on: Some(since),
        delisted_on: None,
    }
}

fn source(entries: u64, now: Timestamp) -> SourceState {
    SourceState {
        id: LIST.parse().expect("a name"),
        kind: SourceKind::Sanctions,
        lists: vec![LIST.parse().expect("a name")],
        publications: vec![TimeZone::UTC.to_datetime(now).date()],
        fetched_at: now - SignedDuration::from_hours(1),
        digest: "00".repeat(32),
        entries,
        sample: false,
        unmatched: std::collections::BTreeMap::new(),
    }
}
