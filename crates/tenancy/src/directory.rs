//! The directory of all manifests: every tenant with its plan, policy and limits.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;

use crate::{
    Name, Period,
    manifest::{
        ChainSourceSpec, Counts, FetchSchedule, FormerTenantSpec, IntelSourceSpec, LimitName,
        OnTokenStoreLoss, Per, RetentionSpec, TraceCeiling,
    },
};

/// All tenants with their plans, policies and limits, and all sources. `P` is a compiled risk policy.
#[derive(Clone, Debug)]
pub struct Directory<P> {
    /// Plans by name.
    pub plans: BTreeMap<Name, Arc<Plan>>,
    /// Policies by name.
    pub policies: BTreeMap<Name, Arc<P>>,
    /// Tenants by name.
    pub tenants: BTreeMap<Name, Arc<Tenant<P>>>,
    /// Tenants that were deleted and not restored, by name. Their keys are refused.
    pub former_tenants: BTreeMap<Name, FormerTenantSpec>,
    /// Lists and label sets that are fetched on a schedule, by name.
    pub feeds: BTreeMap<Name, Arc<Feed>>,
    /// Sources of chains, by the chain's identifier.
    pub chains: BTreeMap<String, Arc<ChainFeed>>,
}

/// The source of a chain.
#[derive(Clone, Debug)]
pub struct ChainFeed {
    /// The source's name.
    pub name: Name,
    /// The spec of its manifest.
    pub spec: ChainSourceSpec,
}

/// A list or label set that is fetched on a schedule.
#[derive(Clone, Debug)]
pub struct Feed {
    /// The source's name.
    pub name: Name,
    /// The spec of its manifest.
    pub spec: IntelSourceSpec,
    /// The times at which it is fetched.
    pub schedule: FetchSchedule,
}

/// A list or label source without which no risk policy gives the verdict `allow`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredSource {
    /// A list, or a source of labels.
    pub name: String,
    /// The longest time, in hours, since it was last verified.
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

/// A plan: the access, limits and retention of its tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its name.
    pub name: Name,
    /// Its name as customers know it.
    pub display_name: String,
    /// True if keys of its tenants may call the API.
    pub api_access: bool,
    /// Its limits.
    pub limits: Vec<Limit>,
    /// The longest time for which an answer is served from the cache.
    pub cache_lifetime: Period,
    /// Retention of the records of its tenants.
    pub retention: RetentionSpec,
    /// The largest number of rows of one bulk request.
    pub max_screen_rows: u64,
    /// The largest number of rows of one bulk request with flows.
    pub max_full_screen_rows: u64,
    /// The largest number of a tenant's requests in flight on one server.
    pub max_in_flight: Option<u32>,
    /// The largest number of a tenant's bulk requests in flight on one server.
    pub max_streams: Option<u32>,
    /// Upper bounds for traces.
    pub trace: TraceCeiling,
    /// Behavior while the token store cannot be reached.
    pub on_token_store_loss: OnTokenStoreLoss,
    /// The share of each limit that stays usable during that time, in percent from 0 to 50.
    pub fallback_share: u8,
}

/// A number of requests, or checks, in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Its name.
    pub name: LimitName,
    /// The number in one window.
    pub requests: u64,
    /// The highest number that a rate limit may raise it to.
    pub ceiling: u64,
    /// The window's length.
    pub window: Period,
    /// The events that are counted.
    pub counts: Counts,
    /// The callers whose requests are counted together.
    pub per: Per,
}

/// A changed number for one limit, without end or until a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The rate limit that changes it.
    pub rate_limit: Name,
    /// The limit.
    pub limit: LimitName,
    /// The number in one window.
    pub requests: u64,
    /// The end of the change. `None`: it does not end.
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
    /// True if the tenant is suspended: its keys are refused.
    pub suspended: bool,
    /// Changes of its limits; a later one takes precedence over an earlier one.
    pub overrides: Vec<Override>,
}

impl<P> Tenant<P> {
    /// The limits that hold at `now`.
    #[must_use]
    pub fn limits(&self, now: Timestamp) -> Vec<Limit> {
        self.limits_with_overrides(now).map(|(limit, _)| limit).collect()
    }

    /// Why a limit of the plan has another number at `now`; `None` where it has the plan's own.
    #[must_use]
    pub fn override_of(&self, limit: &Limit, now: Timestamp) -> Option<&Override> {
        let in_force = |change: &&Override| change.until.is_none_or(|until| now < until);
        self.overrides.iter().filter(in_force).rfind(|change| change.limit == limit.name)
    }

    /// The limits that hold at `now`, each with what changed the plan's number.
    pub fn limits_with_overrides(
        &self,
        now: Timestamp,
    ) -> impl Iterator<Item = (Limit, Option<&Override>)> {
        self.plan.limits.iter().map(move |limit| {
            let change = self.override_of(limit, now);
            let requests = change.map_or(limit.requests, |change| change.requests);
            (Limit { requests, ..limit.clone() }, change)
        })
    }
}
