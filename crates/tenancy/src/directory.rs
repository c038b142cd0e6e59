//! The directory of all manifests: every tenant with its plan, policy and limits.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

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
    /// Tenants that were deleted and not restored, by name. The API refuses the keys of such tenants.
    pub former_tenants: BTreeMap<Name, FormerTenantSpec>,
    /// Lists, label sets and prices that are fetched on a schedule, by name.
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

/// A list, label set or file of prices that is fetched on a schedule.
#[derive(Clone, Debug)]
pub struct Feed {
    /// The source's name.
    pub name: Name,
    /// The spec of its manifest.
    pub spec: IntelSourceSpec,
    /// Times at which the source is fetched.
    pub schedule: FetchSchedule,
}

/// A list or label source without which no risk policy gives the verdict `allow`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredSource {
    /// A list, or a source of labels.
    pub name: String,
    /// The longest time, in hours, since the last verification of the list or labels.
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
    /// Name of the plan.
    pub name: Name,
    /// Name of the plan as customers know it.
    pub display_name: String,
    /// True if keys of the plan's tenants may call the API.
    pub api_access: bool,
    /// Limits of the plan.
    pub limits: Vec<Limit>,
    /// The longest time for which an answer to the plan's tenants is served from the cache.
    pub cache_lifetime: Period,
    /// Retention of the records of the plan's tenants.
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
    /// The share of each limit that stays usable while the token store cannot be reached, in percent from 0 to 50.
    pub fallback_share: u8,
}

/// A number of requests, or of checks, that a plan allows in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Name of the limit.
    pub name: LimitName,
    /// Requests or checks that are allowed in one window.
    pub requests: u64,
    /// The highest number to which a `RateLimit` may raise `requests`.
    pub ceiling: u64,
    /// The window's length.
    pub window: Period,
    /// Events that the limit counts.
    pub counts: Counts,
    /// The callers whose requests are counted together.
    pub per: Per,
}

/// A number that replaces the `requests` of one limit, permanently or until a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The `RateLimit` that sets the number.
    pub rate_limit: Name,
    /// The limit whose number is replaced.
    pub limit: LimitName,
    /// Requests or checks that are allowed in one window.
    pub requests: u64,
    /// The end of the time for which the override applies. `None`: the override does not end.
    pub until: Option<Timestamp>,
}

/// A customer.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant<P> {
    /// Name of the tenant.
    pub name: Name,
    /// Name of the tenant as people know it.
    pub display_name: String,
    /// Plan of the tenant.
    pub plan: Arc<Plan>,
    /// Name of the tenant's risk policy.
    pub policy_name: Name,
    /// Risk policy of the tenant.
    pub policy: Arc<P>,
    /// True if the tenant is suspended: its keys are refused.
    pub suspended: bool,
    /// Overrides of the plan's limits; a later override takes precedence over an earlier override.
    pub overrides: Vec<Override>,
}

impl<P> Tenant<P> {
    /// The limits that hold at `now`.
    #[must_use]
    pub fn limits(&self, now: Timestamp) -> Cow<'_, [Limit]> {
        if self.overrides.is_empty() {
            return Cow::Borrowed(&self.plan.limits);
        }
        self.limits_with_overrides(now).map(|(limit, _)| limit).collect()
    }

    /// The override of a limit at `now`; `None` if the plan's own number applies.
    #[must_use]
    pub fn override_of(&self, limit: &Limit, now: Timestamp) -> Option<&Override> {
        let in_force = |change: &&Override| change.until.is_none_or(|until| now < until);
        self.overrides.iter().filter(in_force).rfind(|change| change.limit == limit.name)
    }

    /// The limits that hold at `now`, each with the override of the plan's number, if there is one.
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
