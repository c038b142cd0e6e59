//! What is known about each address, in memory. Built whole, never changed, swapped atomically.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use assay_engine::{
    address::{CanonicalAddress, KeyIdentity},
    evidence::{ChainState, Label, ListedAddresses, Listing, SourceState},
    facts::{AccountControl, Environment, Facts, SameKey},
};

use crate::intel::Intel;

/// An immutable index of all recorded listings and labels.
#[derive(Debug, Default)]
pub struct IntelSnapshot {
    environment: Environment,
    generation: u64,
    data_revision: String,
    sources: Vec<SourceState>,
    listings: Vec<Listing>,
    labels: Vec<Label>,
    known: HashMap<Arc<CanonicalAddress>, Known>,
    /// Known addresses by the keys, scripts and accounts that control them.
    controlled: HashMap<KeyIdentity, Vec<Arc<CanonicalAddress>>>,
}

/// Places in the snapshot's listings and labels.
#[derive(Debug, Default)]
struct Known {
    listings: Vec<usize>,
    labels: Vec<usize>,
}

impl IntelSnapshot {
    /// Indexes everything in `intel`. Listings whose address is not valid, or whose chain is not read
    /// yet, stay out of the index: they name no address that could be asked for.
    #[must_use]
    pub fn new(intel: Intel) -> Self {
        let mut snapshot = Self {
            environment: intel.environment,
            generation: intel.generation,
            data_revision: intel.data_revision,
            sources: intel.sources,
            ..Self::default()
        };
        for (place, listing) in intel.listings.iter().enumerate() {
            match listing.entry.addresses() {
                ListedAddresses::Valid(addresses) | ListedAddresses::Misfiled(addresses, _) => {
                    for address in addresses {
                        snapshot.entry(address).listings.push(place);
                    }
                }
                ListedAddresses::Invalid(_) | ListedAddresses::Unsupported => {}
            }
        }
        for (place, labelled) in intel.labels.iter().enumerate() {
            snapshot.entry(labelled.address.clone()).labels.push(place);
        }
        snapshot.listings = intel.listings;
        snapshot.labels = intel.labels.into_iter().map(|labelled| labelled.label).collect();
        for addresses in snapshot.controlled.values_mut() {
            addresses.sort();
        }
        snapshot
    }

    fn entry(&mut self, address: CanonicalAddress) -> &mut Known {
        let address = Arc::new(address);
        if !self.known.contains_key(&address) {
            for identity in address.key_identities() {
                self.controlled.entry(identity).or_default().push(Arc::clone(&address));
            }
        }
        self.known.entry(address).or_default()
    }

    /// Whether the data is real.
    #[must_use]
    pub const fn environment(&self) -> Environment {
        self.environment
    }

    /// How often the data had changed when this was built.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Names the data.
    #[must_use]
    pub fn data_revision(&self) -> &str {
        &self.data_revision
    }

    /// Every source.
    #[must_use]
    pub fn sources(&self) -> &[SourceState] {
        &self.sources
    }

    /// Every recorded listing, ended ones included.
    #[must_use]
    pub fn listings(&self) -> &[Listing] {
        &self.listings
    }

    /// How many addresses are known.
    #[must_use]
    pub fn addresses(&self) -> usize {
        self.known.len()
    }

    /// What is known about `subject` from lists and labels.
    #[must_use]
    pub fn facts(&self, subject: &CanonicalAddress) -> Facts {
        let own = self.known.get(subject);
        Facts {
            environment: self.environment,
            data_revision: self.data_revision.clone(),
            sources: self.sources.clone(),
            listings: own.map(|known| self.listings_at(&known.listings)).unwrap_or_default(),
            labels: own.map(|known| self.labels_at(&known.labels)).unwrap_or_default(),
            same_key: self.same_key(subject, own),
            cluster: None,
            chain: ChainState::NotFollowed,
        }
    }

    /// Other known addresses that the subject's key controls, each with what is known of it beyond what
    /// is known of the subject: an entry that lists both (a token on many chains) counts as the
    /// subject's own.
    fn same_key(&self, subject: &CanonicalAddress, own: Option<&Known>) -> Vec<SameKey> {
        let identities = subject.key_identities();
        let others: BTreeSet<&Arc<CanonicalAddress>> = identities
            .iter()
            .filter_map(|identity| self.controlled.get(identity))
            .flatten()
            .filter(|other| ***other != *subject)
            .collect();
        let shared = |listing: &usize| own.is_some_and(|own| own.listings.contains(listing));
        others
            .into_iter()
            .filter_map(|other| {
                let known = self.known.get(other)?;
                let listings: Vec<usize> =
                    known.listings.iter().copied().filter(|listing| !shared(listing)).collect();
                if listings.is_empty() && known.labels.is_empty() {
                    return None;
                }
                Some(SameKey {
                    address: CanonicalAddress::clone(other),
                    control: control(other),
                    listings: self.listings_at(&listings),
                    labels: self.labels_at(&known.labels),
                })
            })
            .collect()
    }

    fn listings_at(&self, places: &[usize]) -> Vec<Listing> {
        places.iter().filter_map(|place| self.listings.get(*place)).cloned().collect()
    }

    fn labels_at(&self, places: &[usize]) -> Vec<Label> {
        places.iter().filter_map(|place| self.labels.get(*place)).cloned().collect()
    }
}

/// Bitcoin-like addresses commit to a key or script, which is the same on every fork. Whether a key or
/// a contract controls an account takes a look at its chain.
fn control(address: &CanonicalAddress) -> AccountControl {
    match address.kind() {
        assay_engine::address::AddressKind::Account => AccountControl::Unknown,
        _ => AccountControl::Key,
    }
}
