//! What all manifests together say: every tenant with its plan, policy and limits.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;

use crate::{
    Name, Period,
    manifest::{
        ChainSourceSpec, Counts, FormerTenantSpec, IntelSourceSpec, LimitName, OnTokenStoreLoss,
        Per, RetentionSpec, Schedule, TraceCeiling,
    },
};

/// Everybody who may ask. `P` is a compiled risk policy.
#[derive(Clone, Debug)]
pub struct Directory<P> {
    /// Plans by name.
    pub plans: BTreeMap<Name, Arc<Plan>>,
    /// Policies by name.
    pub policies: BTreeMap<Name, Arc<P>>,
    /// Tenants by name.
    pub tenants: BTreeMap<Name, Arc<Tenant<P>>>,
    /// Tenants that were deleted and did not come back, by name. They let nobody in.
    pub former_tenants: BTreeMap<Name, FormerTenantSpec>,
    /// Lists and labels that are fetched by themselves, by name.
    pub feeds: BTreeMap<Name, Arc<Feed>>,
    /// Where chains are read from, by the chain's identifier.
    pub chains: BTreeMap<String, Arc<ChainFeed>>,
}

/// Where a chain is read from.
#[derive(Clone, Debug)]
pub struct ChainFeed {
    /// The source's name.
    pub name: Name,
    /// What its manifest says.
    pub spec: ChainSourceSpec,
}

/// A list or label set that is fetched by itself.
#[derive(Clone, Debug)]
pub struct Feed {
    /// The source's name.
    pub name: Name,
    /// What its manifest says.
    pub spec: IntelSourceSpec,
    /// When it is fetched.
    pub schedule: Schedule,
}

/// Something without which a risk policy allows nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mandatory {
    /// A list, or a source of labels.
    pub name: String,
    /// How long ago it may have been verified.
    pub maximum_age_hours: u32,
}

impl<P> Default for Directory<P> {
    fn default() -> Self {
        Self {
            plans: BTreeMap::new(),
            policies: BTreeMap::new(),
            tenants: BTreeMap::new(),
            former_tenants: BTreeMap::new(),
            feeds: BTreeMap::new(),
            chains: BTreeMap::new(),
        }
    }
}

/// What tenants on a plan may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its name.
    pub name: Name,
    /// Its name as customers know it.
    pub display_name: String,
    /// Whether its tenants may call the API.
    pub api_access: bool,
    /// How often.
    pub limits: Vec<Limit>,
    /// How long answers may be repeated from the cache.
    pub cache_lifetime: Period,
    /// How long what is recorded of its tenants is kept.
    pub retention: RetentionSpec,
    /// Most rows of one bulk request.
    pub max_screen_rows: u64,
    /// How far money is followed at most.
    pub trace: TraceCeiling,
    /// What becomes of requests while the shared counters cannot be reached.
    pub on_token_store_loss: OnTokenStoreLoss,
    /// The share of each limit that is set aside for that time, in percent from 0 to 50.
    pub fallback_share: u8,
}

/// So many requests in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its name.
    pub name: LimitName,
    /// How many in one window.
    pub requests: u64,
    /// The highest number that a rate limit may raise it to.
    pub ceiling: u64,
    /// The window's length.
    pub window: Period,
    /// What is counted.
    pub counts: Counts,
    /// Whose requests are counted together.
    pub per: Per,
}

/// Another number for one limit, for ever or until a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The rate limit that says so.
    pub rate_limit: Name,
    /// The limit.
    pub limit: LimitName,
    /// How many in one window.
    pub requests: u64,
    /// Until when.
    pub until: Option<Timestamp>,
}

/// A customer.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant<P> {
    /// Its name.
    pub name: Name,
    /// Its name as people know it.
    pub display_name: String,
    /// Its plan.
    pub plan: Arc<Plan>,
    /// The name of its policy.
    pub policy_name: Name,
    /// Its policy.
    pub policy: Arc<P>,
    /// Whether its keys are refused for the time being.
    pub suspended: bool,
    /// Other numbers for its limits; a later one goes before an earlier one.
    pub overrides: Vec<Override>,
}

impl<P> Tenant<P> {
    /// The limits that hold at `now`.
    #[must_use]
    pub fn limits(&self, now: Timestamp) -> Vec<Limit> {
        self.limits_and_changes(now).map(|(limit, _)| limit).collect()
    }

    /// Why a limit of the plan has another number at `now`; `None` where it has the plan's own.
    #[must_use]
    pub fn change_of(&self, limit: &Limit, now: Timestamp) -> Option<&Override> {
        let in_force = |change: &&Override| change.until.is_none_or(|until| now < until);
        self.overrides.iter().filter(in_force).rfind(|change| change.limit == limit.name)
    }

    /// The limits that hold at `now`, each with what changed the plan's number.
    pub fn limits_and_changes(
        &self,
        now: Timestamp,
    ) -> impl Iterator<Item = (Limit, Option<&Override>)> {
        self.plan.limits.iter().map(move |limit| {
            let change = self.change_of(limit, now);
            let requests = change.map_or(limit.requests, |change| change.requests);
            (Limit { requests, ..limit.clone() }, change)
        })
    }
}
