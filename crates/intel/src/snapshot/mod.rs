//! In-memory index of lists and labels by address, and prices. An index is immutable; a new one replaces it atomically.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

mod entities;
mod labels;
mod look_alike;

use assay_address::{CanonicalAddress, ChainId, KeyIdentity};
use assay_engine::{
    account::{AccountAddress, MoneyEnd, Prices, ends_money},
    attribute,
    evidence::{ChainState, Listing, SourceState, assessment_day},
    facts::{AccountControl, Counterparties, Environment, Facts, SameKey},
    names::SourceId,
    policy::Policy,
    trace::Attribution,
    utxo::ScriptOwner,
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};

pub use entities::{FoundAddress, FoundEntity};
use labels::LabelIndexFile;
pub use labels::{LabelIndex, LabelIndexBuilder};

use assay_store::{
    IntelStore, StoreError,
    intel::{Intel, LabelFilter, LabelRequest, LabelRevision, PriceRequest, RecordedLabel},
};

/// An immutable index of all recorded listings and labels, with all prices.
#[derive(Debug, Default)]
pub struct IntelSnapshot {
    environment: Environment,
    generation: u64,
    data_revision: String,
    sources: Vec<SourceState>,
    listings: Vec<Listing>,
    /// Indices in `listings` by listed address.
    listed: HashMap<Arc<CanonicalAddress>, Vec<usize>>,
    /// Listed addresses by the keys, scripts and accounts that control them.
    controlled: HashMap<KeyIdentity, Vec<Arc<CanonicalAddress>>>,
    /// Listings whose text is no address, by the chain that they name.
    unmatched: HashMap<ChainId, Arc<[Listing]>>,
    /// Listed addresses by a hash of their visible ends.
    listed_ends: look_alike::ListedEnds,
    labels: LabelIndex,
    price_sources: Vec<SourceState>,
    /// Number of changes of prices.
    price_generation: u64,
    prices: Arc<Prices>,
}

impl IntelSnapshot {
    /// Reads lists, labels and prices from a store. Labels and prices are read only if an import changed them since
    /// `previous` was loaded, and labels only if the store's folder has no index of them, which is then written;
    /// suppressions always hold at once.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn load(store: &dyn IntelStore, previous: Option<&Self>) -> Result<Self, StoreError> {
        let file = store.cache_folder().map(LabelIndexFile::in_folder);
        let mut found: Option<LabelIndex> = None;
        let mut is_known = |revision: &LabelRevision| {
            let known = previous.map(|previous| &previous.labels);
            let known = known.filter(|known| known.revision() == revision).cloned();
            found = known.or_else(|| file.as_ref()?.open(revision));
            found.is_some()
        };
        let mut builder = LabelIndexBuilder::default();
        let mut each = |label| builder.add(label);
        let prices = PriceRequest { known: previous.map(|previous| previous.price_generation) };
        let labels = LabelRequest { is_known: &mut is_known, each: &mut each };
        let intel = store.intel(Some(labels), Some(prices)).await?;
        let has_prices = intel.prices.is_some();
        let labels = found.unwrap_or_else(|| {
            let built = builder.finish(intel.label_revision);
            if let Some(file) = &file {
                file.keep(&built);
            }
            built
        });
        let mut snapshot = Self::new(intel, &labels);
        if let Some(previous) = previous.filter(|_| !has_prices) {
            snapshot.prices = Arc::clone(&previous.prices);
        }
        Ok(snapshot)
    }

    /// Reads lists and labels as they are for a check of a past moment: of each label source that was imported by then,
    /// the labels that it had; of one whose first publication is dated by then, the labels of that publication; of others
    /// the labels whose stated validity began by then. Labels that were suppressed then do not count. Listings and
    /// prices have their own dates.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn load_as_of(store: &dyn IntelStore, moment: Timestamp) -> Result<Self, StoreError> {
        let mut intel = store.intel(None, Some(PriceRequest::default())).await?;
        let all = LabelFilter { history: true, ..LabelFilter::default() };
        let mut first: HashMap<SourceId, Timestamp> = HashMap::new();
        let mut note = |recorded: RecordedLabel| {
            let from = recorded.recorded_from;
            let first = first.entry(recorded.label.label.source).or_insert(from);
            *first = from.min(*first);
        };
        store.labels(&all, &mut note).await?;
        let day = moment.to_zoned(TimeZone::UTC).date();
        let is_published: BTreeSet<SourceId> = intel
            .sources
            .iter()
            .filter(|source| source.publications.iter().any(|published| *published <= day))
            .map(|source| source.id.clone())
            .collect();
        let mut builder = LabelIndexBuilder::default();
        let mut each = |recorded: RecordedLabel| {
            let RecordedLabel { label, recorded_from, recorded_to } = recorded;
            let first = first.get(&label.label.source).copied();
            let counts = if first.is_some_and(|first| first <= moment) {
                recorded_from <= moment && recorded_to.is_none_or(|to| moment < to)
            } else if is_published.contains(&label.label.source) {
                first == Some(recorded_from)
            } else {
                recorded_to.is_none() && label.label.valid_from.is_some_and(|from| from <= day)
            };
            if counts {
                builder.add(label);
            }
        };
        store.labels(&all, &mut each).await?;
        intel.suppressions = store.suppressions().await?;
        intel.suppressions.retain(|suppression| suppression.holds_at(moment));
        // A past state is no revision.
        let labels = builder.finish(LabelRevision::default());
        Ok(Self::new(intel, &labels))
    }

    /// Indexes the listings in `intel`. A text that no check of its chain can match is kept apart, by chain.
    #[must_use]
    pub fn new(intel: Intel, labels: &LabelIndex) -> Self {
        let mut snapshot = Self {
            environment: intel.environment,
            generation: intel.generation,
            data_revision: intel.data_revision,
            sources: intel.sources,
            labels: labels.with_suppressions(&intel.suppressions),
            price_sources: intel.price_sources,
            price_generation: intel.price_generation,
            prices: Arc::new(intel.prices.unwrap_or_default()),
            ..Self::default()
        };
        let mut unmatched: HashMap<ChainId, Vec<Listing>> = HashMap::new();
        for (place, listing) in intel.listings.iter().enumerate() {
            let listed = listing.entry.addresses();
            for address in listed.addresses {
                snapshot.entry(address).push(place);
            }
            if let Some(text) = listed.unmatched {
                snapshot.count_unmatched(listing, text.chain);
                unmatched.entry(text.chain).or_default().push(listing.clone());
            }
        }
        snapshot.unmatched =
            unmatched.into_iter().map(|(chain, listings)| (chain, listings.into())).collect();
        snapshot.listings = intel.listings;
        for addresses in snapshot.controlled.values_mut() {
            addresses.sort();
        }
        snapshot
    }

    /// Counts an entry of a source's newest publication that no check of a chain can match.
    fn count_unmatched(&mut self, listing: &Listing, chain: ChainId) {
        let source = self.sources.iter_mut().find(|source| source.id == listing.source);
        if let Some(source) = source.filter(|_| listing.delisted_on.is_none()) {
            *source.unmatched.entry(chain).or_default() += 1;
        }
    }

    fn entry(&mut self, address: CanonicalAddress) -> &mut Vec<usize> {
        let address = Arc::new(address);
        if !self.listed.contains_key(&address) {
            if let Some(ends) = look_alike::ends_hash(address.chain(), address.as_str()) {
                self.listed_ends.entry(ends).or_default().push(Arc::clone(&address));
            }
            for identity in address.spendable_identities() {
                self.controlled.entry(identity).or_default().push(Arc::clone(&address));
            }
        }
        self.listed.entry(address).or_default()
    }

    /// The environment of the data: production or demo.
    #[must_use]
    pub const fn environment(&self) -> Environment {
        self.environment
    }

    /// Number of changes to the data before this snapshot was built.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Identifier of the data.
    #[must_use]
    pub fn data_revision(&self) -> &str {
        &self.data_revision
    }

    /// Every source of prices.
    #[must_use]
    pub fn price_sources(&self) -> &[SourceState] {
        &self.price_sources
    }

    /// All prices.
    #[must_use]
    pub const fn prices(&self) -> &Arc<Prices> {
        &self.prices
    }

    /// Every source of lists and labels.
    #[must_use]
    pub fn sources(&self) -> &[SourceState] {
        &self.sources
    }

    /// Every recorded listing, ended ones included.
    #[must_use]
    pub fn listings(&self) -> &[Listing] {
        &self.listings
    }

    /// Labels by address.
    #[must_use]
    pub fn labels(&self) -> &LabelIndex {
        &self.labels
    }

    /// The day of an assessment at `now`.
    #[must_use]
    pub fn day(&self, now: Timestamp) -> Date {
        assessment_day(&self.sources, now)
    }

    /// Number of addresses that are listed or labelled; an address that is both counts twice.
    #[must_use]
    pub fn addresses(&self) -> usize {
        self.listed.len() + self.labels.addresses()
    }

    /// Numbers of listed and of labelled addresses of each chain.
    #[must_use]
    pub fn addresses_by_chain(&self) -> BTreeMap<ChainId, (u64, u64)> {
        let mut numbers: BTreeMap<ChainId, (u64, u64)> = BTreeMap::new();
        for address in self.listed.keys() {
            numbers.entry(address.chain()).or_default().0 += 1;
        }
        for chain in self.labels.chains() {
            numbers.entry(chain).or_default().1 += 1;
        }
        numbers
    }

    /// True if an address itself is listed or labelled.
    #[must_use]
    pub fn is_attributed(&self, address: &CanonicalAddress) -> bool {
        self.listed.contains_key(address) || self.labels.has_labels(address)
    }

    /// The listed or labelled addresses of a chain; an address that is both comes twice.
    pub fn attributed(&self, chain: ChainId) -> impl Iterator<Item = CanonicalAddress> {
        let listed = self.listed.keys().filter(move |address| address.chain() == chain);
        listed.map(|address| CanonicalAddress::clone(address)).chain(self.labels.labelled(chain))
    }

    /// The owners on a Bitcoin-like chain whom lists and labels name, some of them several times: those of the listed
    /// and labelled addresses, and those whose key or script controls a listed one. A key of which only the nested
    /// script is listed is not included: the hash of a script does not reveal the key.
    pub fn named_owners(&self, chain: ChainId) -> impl Iterator<Item = ScriptOwner> {
        let attributed = self.attributed(chain);
        let own = attributed.filter_map(|address| ScriptOwner::from_address(&address));
        own.chain(self.controlled.keys().flat_map(owners_of))
    }

    /// The accounts of 20 bytes on a chain that lists and labels name, some of them several times: those of the listed and
    /// labelled addresses, and those whose key controls a listed one.
    pub fn named_accounts(&self, chain: ChainId) -> impl Iterator<Item = AccountAddress> {
        let attributed = self.attributed(chain);
        let own = attributed.filter_map(|address| AccountAddress::of(&address));
        let of_keys = self.controlled.keys().filter_map(|identity| match identity {
            KeyIdentity::Account(bytes) => Some(AccountAddress(*bytes)),
            _ => None,
        });
        own.chain(of_keys)
    }

    /// The accounts of a chain at which money ends on a day under the default policy.
    pub fn account_ends(
        &self,
        chain: ChainId,
        today: Date,
    ) -> impl Iterator<Item = (AccountAddress, MoneyEnd)> {
        let policy = Policy::default();
        self.named_accounts(chain).filter_map(move |account| {
            let end = self.account_attribution(chain, account, &policy, today).end?;
            let money_end = MoneyEnd { category: end.category, listed_on: end.listed_on };
            ends_money(&end).then_some((account, money_end))
        })
    }

    /// Attribution of an address at a time.
    #[must_use]
    pub fn address_attribution(
        &self,
        address: &CanonicalAddress,
        policy: &Policy,
        now: Timestamp,
    ) -> Attribution {
        if address.unowned_kind().is_some() {
            return Attribution::of_nobody();
        }
        if !self.has_attribution(address) {
            return Attribution::default();
        }
        attribute(&self.facts(address), policy, self.day(now))
    }

    /// Attribution of an account of a chain. Nearly all accounts are unknown.
    #[must_use]
    pub fn account_attribution(
        &self,
        chain: ChainId,
        account: AccountAddress,
        policy: &Policy,
        today: Date,
    ) -> Attribution {
        if account.is_unowned() {
            return Attribution::of_nobody();
        }
        let Some(address) = account.on(chain).filter(|address| self.has_attribution(address))
        else {
            return Attribution::default();
        };
        attribute(&self.facts(&address), policy, today)
    }

    /// The owners on a Bitcoin-like chain whom lists name, in force or not, some of them several times, and those whose
    /// key or script controls a listed address.
    pub fn listed_owners(&self, chain: ChainId) -> impl Iterator<Item = ScriptOwner> {
        let listed = self.listed.keys().filter(move |address| address.chain() == chain);
        let own = listed.filter_map(|address| ScriptOwner::from_address(address));
        own.chain(self.controlled.keys().flat_map(owners_of))
    }

    /// Listings of an address itself, ended ones included.
    #[must_use]
    pub fn listings_of(&self, address: &CanonicalAddress) -> Vec<Listing> {
        self.listings_at(self.listed.get(address).map(Vec::as_slice).unwrap_or_default())
    }

    /// Number of listings of an address itself, ended ones included.
    #[must_use]
    pub fn number_of_listings(&self, address: &CanonicalAddress) -> usize {
        self.listed.get(address).map_or(0, Vec::len)
    }

    /// Facts about `subject` from lists and labels.
    #[must_use]
    pub fn facts(&self, subject: &CanonicalAddress) -> Facts {
        let own = self.listed.get(subject).map(Vec::as_slice).unwrap_or_default();
        let labels = self.labels.labels_of(subject);
        // What is known about the subject itself says more than what it looks like.
        let is_known = !own.is_empty() || !labels.is_empty();
        let look_alikes = if is_known { Vec::new() } else { self.look_alikes(subject) };
        Facts {
            environment: self.environment,
            data_revision: self.data_revision.clone(),
            sources: self.sources.clone(),
            never_fetched: Vec::new(),
            listings: self.listings_at(own),
            unmatched: self.unmatched.get(&subject.chain()).cloned().unwrap_or_default(),
            labels,
            same_key: self.same_key(subject, own),
            look_alikes,
            cluster: None,
            counterparties: Counterparties::default(),
            possible_owners: Vec::new(),
            chain: ChainState::NotFollowed,
            intel_stale: false,
            prices: Arc::clone(&self.prices),
            differing_branches: None,
        }
    }

    /// Attribution of a party on a path of money. Nearly all parties are unknown, and cost no allocation.
    #[must_use]
    pub fn attribution(
        &self,
        chain: ChainId,
        owner: &ScriptOwner,
        policy: &Policy,
        today: Date,
    ) -> Attribution {
        if owner.unowned_kind().is_some() {
            return Attribution::of_nobody();
        }
        let Some(address) = owner.address(chain).filter(|address| self.has_attribution(address))
        else {
            return Attribution::default();
        };
        attribute(&self.facts(&address), policy, today)
    }

    /// True if an address is listed or labelled, or if its key or script controls a listed one. Only an address with
    /// this property can have an attribution, under any policy and on any day.
    #[must_use]
    pub fn has_attribution(&self, address: &CanonicalAddress) -> bool {
        self.is_attributed(address)
            || address.spendable_identities().iter().any(|key| self.controlled.contains_key(key))
    }

    /// Other known addresses that the subject's key controls, each with its evidence beyond the subject's own: an entry
    /// that lists both addresses (a token on many chains) counts as the subject's own.
    fn same_key(&self, subject: &CanonicalAddress, own: &[usize]) -> Vec<SameKey> {
        let identities = subject.key_identities();
        let spendable = subject.spendable_identities();
        let listed = spendable
            .iter()
            .filter_map(|identity| self.controlled.get(identity))
            .flatten()
            .map(|address| CanonicalAddress::clone(address));
        let labelled = identities.iter().flat_map(|identity| self.labels.controlled(identity));
        let others: BTreeSet<CanonicalAddress> =
            listed.chain(labelled).filter(|other| other != subject).collect();
        others
            .into_iter()
            .filter_map(|other| {
                let listings = self.listed.get(&other).map(Vec::as_slice).unwrap_or_default();
                let beyond: Vec<usize> =
                    listings.iter().copied().filter(|listing| !own.contains(listing)).collect();
                let labels = self.labels.labels_of(&other);
                if beyond.is_empty() && labels.is_empty() {
                    return None;
                }
                let (control, listings) = (control(&other), self.listings_at(&beyond));
                Some(SameKey { address: other, control, listings, labels })
            })
            .collect()
    }

    fn listings_at(&self, places: &[usize]) -> Vec<Listing> {
        places.iter().filter_map(|place| self.listings.get(*place)).cloned().collect()
    }
}

/// The script owners that a key or script can be on a Bitcoin-like chain.
fn owners_of(identity: &KeyIdentity) -> Vec<ScriptOwner> {
    match identity {
        KeyIdentity::PublicKeyHash(hash) => {
            vec![ScriptOwner::KeyHash(*hash), ScriptOwner::Witness(0, hash.to_vec())]
        }
        KeyIdentity::ScriptHash(hash) => vec![ScriptOwner::ScriptHash(*hash)],
        KeyIdentity::LongScriptHash(hash) => vec![ScriptOwner::LongScriptHash(*hash)],
        KeyIdentity::Witness(version, program) => {
            vec![ScriptOwner::Witness(*version, program.clone())]
        }
        _ => vec![],
    }
}

/// Bitcoin-like addresses commit to a key or script, which is the same on every fork. Only the
/// chain itself shows if a key or a contract controls an account.
fn control(address: &CanonicalAddress) -> AccountControl {
    match address.kind() {
        assay_address::AddressKind::Account => AccountControl::Unknown,
        _ => AccountControl::Key,
    }
}
