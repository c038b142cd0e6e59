//! The facts about an address that an assessment uses, gathered before the assessment starts.

use std::sync::Arc;

use crate::{
    account::{IssuerFreeze, Prices},
    evidence::{
        AddressLabels, ChainState, Direction, Listing, NeverFetched, PartyListing, SourceState,
        assessment_day,
    },
    score::Confidence,
    utxo::cluster::{LinkKind, UNCONFIRMED_CONFIDENCE},
};
use assay_address::CanonicalAddress;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The facts about one subject. The assessment depends on these facts, the policy and the time only: the same values
/// give the same assessment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Kind of data.
    pub environment: Environment,
    /// Identifier of the data.
    pub data_revision: String,
    /// All sources, by name.
    pub sources: Vec<SourceState>,
    /// Sources that are fetched on a schedule, and of which nothing was ever imported, by name.
    pub never_fetched: Vec<NeverFetched>,
    /// Listings of the subject itself, ended ones included.
    pub listings: Vec<Listing>,
    /// Listings under the subject's chain whose text is no address, so that no check of the chain can match them.
    pub unmatched: Arc<[Listing]>,
    /// Labels of the subject itself, ended ones included.
    pub labels: AddressLabels,
    /// Other addresses controlled by the same key that are listed or labelled.
    pub same_key: Vec<SameKey>,
    /// Other listed or labelled addresses that share the first and last characters, which wallets show.
    pub look_alikes: Vec<LookAlike>,
    /// The co-spend cluster of the subject; `None` if clusters of its chain were not read.
    pub cluster: Option<Cluster>,
    /// The subject's strongest counterparties in the history that was read.
    pub counterparties: Counterparties,
    /// Addresses that may belong to the subject's owner, by single payments of the subject's history.
    pub possible_owners: Vec<PossibleOwner>,
    /// State of the subject's chain, and the flows on that chain.
    pub chain: ChainState,
    /// True if this replica could not confirm its lists and labels with the database for too long.
    pub intel_stale: bool,
    /// Prices of assets by day. They fill the values in US dollars of an answer's amounts.
    pub prices: Arc<Prices>,
    /// A difference between the chain servers' blocks; `None` while all servers have one branch.
    pub differing_branches: Option<DifferingBranches>,
}

impl Facts {
    /// Number of labels and listings from which on facts are large.
    pub const LARGE: usize = 1_000;

    /// True if an assessment of the facts takes long, because many labels or listings are about the address or its
    /// associates.
    #[must_use]
    pub fn is_large(&self) -> bool {
        let members = self.cluster.iter().flat_map(|cluster| &cluster.members);
        let claims = (self.labels.len() + self.listings.len())
            + self.same_key.iter().map(|it| it.labels.len() + it.listings.len()).sum::<usize>()
            + members.map(|it| it.labels.len() + it.listings.len()).sum::<usize>();
        claims >= Self::LARGE
    }

    /// The day of an assessment of these facts at `now`.
    #[must_use]
    pub fn day(&self, now: Timestamp) -> Date {
        assessment_day(&self.sources, now)
    }

    /// The facts without the publications after a moment in the past.
    #[must_use]
    pub fn as_of(mut self, past: Timestamp) -> Self {
        let day = past.to_zoned(TimeZone::UTC).date();
        for source in &mut self.sources {
            source.publications.retain(|published| *published <= day);
            source.fetched_at = source.fetched_at.min(past);
        }
        self
    }
}

/// Chain servers whose blocks are of several branches, which differ by more than an ordinary reorganization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DifferingBranches {
    /// Height of the last block that all servers have; `None` if that height is not known.
    pub last_common: Option<u64>,
    /// True if a majority of the servers has one branch, which is then read; false if no branch has a majority.
    pub is_decided: bool,
}

/// Kind of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Environment {
    /// Real data.
    #[default]
    Production,
    /// The demo data set.
    Sample,
    /// The sandbox, whose answers are chosen by the request.
    Sandbox,
}

impl Environment {
    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Production => "production",
            Self::Sample => "sample",
            Self::Sandbox => "sandbox",
        }
    }
}

/// Listed or labelled address that looks like the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookAlike {
    /// The other address.
    pub address: CanonicalAddress,
    /// Number of characters that both addresses share at the beginning, fixed prefixes left out.
    pub first: usize,
    /// Number of characters that both addresses share at the end.
    pub last: usize,
    /// Description of the similar address's listing or label, such as `listed on OFAC SDN List: NAME`.
    pub what: String,
}

/// Another address that the subject's key controls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SameKey {
    /// The other address.
    pub address: CanonicalAddress,
    /// Controller of the account.
    pub control: AccountControl,
    /// Its listings.
    pub listings: Vec<Listing>,
    /// Its labels.
    pub labels: AddressLabels,
}

/// Controller of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountControl {
    /// A key, whose holder controls the same account on every chain.
    Key,
    /// A contract on at least one of the chains: the same address need not mean the same party.
    Contract,
    /// Not known. An account with an unknown controller is treated as controlled by a key, with a warning, so that no
    /// listed party is missed.
    Unknown,
}

/// Addresses that one party controls, because the party spent their outputs together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Identifier: the member that appeared first on the chain.
    pub id: CanonicalAddress,
    /// Member that identifies the cluster in the graph; a new block may change that member.
    pub root: CanonicalAddress,
    /// Number of the cluster's members, the subject included; 1 for an address that was never spent together with
    /// others.
    pub size: u64,
    /// Confidence that a co-spend connects addresses of one owner, if the transaction cannot have several parties or
    /// the co-spend was repeated.
    pub confidence: Confidence,
    /// Members other than the subject: the listed members, the labelled members by severity, and some of the rest.
    pub members: Vec<ClusterMember>,
    /// Number of members other than the subject that are listed or labelled.
    pub attributed: u64,
    /// Number of the listed or labelled members whose listings and labels were looked up.
    pub examined: u64,
    /// Direct dealings of other members with listed parties.
    pub dealings: ListedDealings,
}

impl Cluster {
    /// The cluster of an address that was never spent together with others.
    #[must_use]
    pub fn alone(address: CanonicalAddress) -> Self {
        Self {
            id: address.clone(),
            root: address,
            size: 1,
            confidence: CO_SPEND_CONFIDENCE,
            members: vec![],
            attributed: 0,
            examined: 0,
            dealings: ListedDealings::default(),
        }
    }

    /// Confidence that a member has the subject's owner.
    #[must_use]
    pub fn confidence_of(&self, member: &ClusterMember) -> Confidence {
        if member.is_certain() {
            self.confidence
        } else {
            self.confidence.min(UNCONFIRMED_CONFIDENCE)
        }
    }
}

/// Confidence of clusters, which exclude co-spends that several parties may have signed.
pub const CO_SPEND_CONFIDENCE: Confidence = Confidence::from_percent(90);

/// Direct dealings of other members of the subject's cluster with parties on lists in force, outside the cluster: above
/// dust, since the listing, and of members whom co-spends connect with the subject that cannot all be a `PayJoin`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedDealings {
    /// The largest dealings.
    pub largest: Vec<ListedDealing>,
    /// Number of dealings that were found.
    pub found: u64,
    /// True if the cluster has more dealings with listed parties than were examined.
    pub is_limited: bool,
}

/// A payment between a member of a cluster and a listed party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedDealing {
    /// The member.
    pub member: CanonicalAddress,
    /// The co-spends that connect the member with the subject, starting at the subject.
    pub co_spends: Vec<CoSpend>,
    /// Address of the listed party.
    pub party: CanonicalAddress,
    /// Name of the listed party, if known.
    pub entity: Option<String>,
    /// The entry of the list that names the party.
    pub listed_by: Option<PartyListing>,
    /// Direction of the money: from the party as its source, or to the party as its destination.
    pub direction: Direction,
    /// Identifier of the transaction.
    pub transaction: String,
    /// Time of the transaction's block.
    pub time: Timestamp,
    /// Amount in base units.
    pub amount: u128,
}

/// Another member of the subject's cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterMember {
    /// Its address.
    pub address: CanonicalAddress,
    /// Its labels.
    pub labels: AddressLabels,
    /// Its listings.
    pub listings: Vec<Listing>,
    /// The co-spends that connect the member with the subject, starting at the subject; `None` if the search for them
    /// reached its limit.
    pub co_spends: Option<Vec<CoSpend>>,
}

impl ClusterMember {
    /// True if every co-spend between the subject and the member was repeated or cannot be a `PayJoin`.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        let certain = |found: &CoSpend| found.is_conclusive || found.confirmed_by.is_some();
        self.co_spends.as_ref().is_some_and(|found| found.iter().all(certain))
    }
}

/// A transaction that spends outputs of two members together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoSpend {
    /// Identifier of the transaction.
    pub transaction: String,
    /// Time of the transaction's block.
    pub time: Timestamp,
    /// True if the transaction cannot be one of several parties, such as a `PayJoin`.
    pub is_conclusive: bool,
    /// A second transaction that spends outputs of both members together.
    pub confirmed_by: Option<String>,
}

/// An address that may belong to the subject's owner, by single payments. Such an address does not change the score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PossibleOwner {
    /// The address.
    pub address: CanonicalAddress,
    /// Kind of the link between both addresses; of several links, the kind of that with the highest confidence.
    pub by: LinkKind,
    /// Confidence that one party controls both addresses.
    pub confidence: Confidence,
    /// Its labels.
    pub labels: AddressLabels,
    /// Its listings.
    pub listings: Vec<Listing>,
    /// Identifiers of the payments, the earliest first.
    pub transactions: Vec<String>,
    /// Time of the first payment.
    pub first_seen: Timestamp,
    /// Time of the last payment.
    pub last_seen: Timestamp,
}

/// An address that paid the subject, or was paid by the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterparty {
    /// The address.
    pub address: CanonicalAddress,
    /// True if the counterparty made the first payment to the subject.
    pub is_funder: bool,
    /// Its labels, those of its freezes included.
    pub labels: AddressLabels,
    /// Its listings.
    pub listings: Vec<Listing>,
    /// Its freezes by issuers of tokens.
    pub freezes: Vec<IssuerFreeze>,
    /// Amount that the subject received from the counterparty, in base units of the chain's coin.
    pub received: u128,
    /// Amount that the subject sent to the counterparty, in base units of the chain's coin.
    pub sent: u128,
    /// On an account chain, the amounts of each asset; empty on other chains.
    pub by_asset: Vec<CounterpartyAsset>,
    /// Role of the counterparty on an account chain, where one is recognized.
    pub role: Option<AccountRole>,
    /// Identifiers of the largest transactions between the subject and the counterparty, the largest first.
    pub transactions: Vec<String>,
    /// Time of the first transaction between the subject and the counterparty.
    pub first_seen: Timestamp,
    /// Time of the last transaction between the subject and the counterparty.
    pub last_seen: Timestamp,
}

/// Amounts of one asset between the subject and a counterparty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterpartyAsset {
    /// The asset's ticker.
    pub asset: String,
    /// Amount that the subject received, in base units.
    pub received: u128,
    /// Amount that the subject sent, in base units.
    pub sent: u128,
}

/// Role of an account that is associated with the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccountRole {
    /// A deposit address of a service: everything that it received went to the service.
    ServiceDeposit,
    /// The account that created the subject, which is a contract.
    Deployer,
    /// A contract that the subject created.
    Deployed,
    /// A contract that the creator of the subject created too.
    SameDeployer,
    /// Lends the subject resources that pay for its transactions.
    ResourceLender,
    /// Borrows such resources from the subject.
    ResourceBorrower,
}

/// The strongest counterparties of the subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counterparties {
    /// The subject's funders, and the counterparties with the largest amounts.
    pub strongest: Vec<Counterparty>,
    /// Number of all counterparties that were found, including those in `strongest`.
    pub found: u64,
}
