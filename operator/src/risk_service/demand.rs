//! The demand on servers, and the number of replicas that it requires.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use assay_crds::{ScalingSpec, SecretKey};
use assay_tenancy::{
    Directory,
    directory::{ChainFeed, Tenant},
    manifest::{ChainMode, Per},
};
use jiff::Timestamp;

use crate::{
    destinations::{self, Destination},
    source::chain_servers_url,
};

/// Thousandths of a request per second, so that daily limits are not rounded to zero.
type MilliRequests = u128;

/// Demand of the configuration in force on servers: request rates that tenants' limits allow, and endpoints of chains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServerDemand {
    /// The plan or tenant with the highest rate, and that rate.
    largest: Option<(String, MilliRequests)>,
    /// The sum of all rates.
    sum: MilliRequests,
    /// The endpoints that servers fetch histories from.
    pub(crate) endpoints: BTreeSet<Destination>,
    /// The sources that servers read on demand with credentials.
    pub(crate) on_demand: Vec<OnDemandSource>,
    /// The URL of the chain servers of each followed chain.
    pub(crate) chain_servers: BTreeMap<String, String>,
}

/// Source of histories that servers read on demand, with credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnDemandSource {
    /// The source's name.
    pub(crate) name: String,
    /// The chain.
    pub(crate) chain: String,
    /// The URL of the API.
    pub(crate) endpoint: String,
    /// The key of the Secret with the credentials, in the namespace of the servers.
    pub(crate) secret: SecretKey,
}

impl OnDemandSource {
    fn of(feed: &ChainFeed) -> Option<Self> {
        let spec = &feed.spec;
        Some(Self {
            name: feed.name.to_string(),
            chain: spec.chain.clone(),
            endpoint: spec.endpoint.clone(),
            secret: spec.credentials_secret.clone()?,
        })
    }
}

impl ServerDemand {
    /// The demand at `now`. Each tenant counts with its limit of the shortest window, which bounds bursts; a limit of a
    /// whole plan counts once. A tenant without access to the API does not count. `chain_servers` is the namespace of
    /// chain servers, if the operator runs any.
    #[must_use]
    pub(crate) fn from_directory<P>(
        directory: &Directory<P>,
        chain_servers: Option<&str>,
        now: Timestamp,
    ) -> Self {
        let mut rates: BTreeMap<String, MilliRequests> = BTreeMap::new();
        for tenant in directory.tenants.values() {
            if let Some((subject, rate)) = rate(tenant, now) {
                let known = rates.entry(subject).or_default();
                *known = rate.max(*known);
            }
        }
        let on_demand = || {
            let chains = directory.chains.values();
            chains.filter(|chain| chain.spec.mode == ChainMode::OnDemand && !chain.spec.suspended)
        };
        let chains = directory.chains.values();
        let followed = chains.filter(|chain| chain.spec.mode == ChainMode::Follow);
        let url = |chain: &Arc<ChainFeed>| {
            let url = chain_servers_url(chain.name.as_str(), chain_servers?);
            Some((chain.spec.chain.clone(), url))
        };
        Self {
            chain_servers: followed.filter_map(url).collect(),
            sum: rates.values().sum(),
            largest: rates.into_iter().max_by_key(|(_, rate)| *rate),
            on_demand: on_demand().filter_map(|feed| OnDemandSource::of(feed)).collect(),
            endpoints: on_demand()
                .flat_map(|chain| destinations::of_url(&chain.spec.endpoint))
                .collect(),
        }
    }
}

/// The plan or tenant whose limit applies to a tenant, and the rate that it allows.
fn rate<P>(tenant: &Tenant<P>, now: Timestamp) -> Option<(String, MilliRequests)> {
    if tenant.suspended || !tenant.plan.api_access {
        return None;
    }
    let limits = tenant.limits(now);
    let limit = limits.iter().min_by_key(|limit| (limit.window.seconds(), limit.requests))?;
    let subject = match limit.per {
        Per::Plan => format!("Plan {}", tenant.plan.name),
        Per::Key | Per::Tenant => format!("Tenant {}", tenant.name),
    };
    let seconds = u128::from(limit.window.seconds().max(1));
    Some((subject, (u128::from(limit.requests) * 1000).div_ceil(seconds)))
}

/// The number of replicas that tenants' limits require.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequiredReplicas {
    /// The number of replicas, within the bounds of the spec.
    pub(crate) replicas: i32,
    /// True if `maxReplicas` covers what the limits require.
    pub(crate) is_sufficient: bool,
    /// The calculation.
    pub(crate) explanation: String,
}

/// The number of replicas that the demand requires: the highest rate, or the share of all rates that is
/// expected at the same time if that is larger, divided by the rate of one replica.
#[must_use]
pub(crate) fn required_replicas(demand: &ServerDemand, scaling: &ScalingSpec) -> RequiredReplicas {
    let percent = u128::from(scaling.oversubscription_percent.max(1).unsigned_abs());
    let rated = u128::from(scaling.rated_requests_per_replica.max(1).unsigned_abs());
    let [min, max] = [scaling.min_replicas, scaling.max_replicas]
        .map(|bound| u128::from(bound.max(1).unsigned_abs()));
    let largest = demand.largest.as_ref().map_or(0, |(_, rate)| *rate);
    let share = (demand.sum * percent).div_ceil(100);
    let expected = largest.max(share);
    let required = expected.div_ceil(rated * 1000);
    let replicas = required.max(min).min(max);
    let subject = demand.largest.as_ref().map_or("none", |(subject, _)| subject);
    let bound = match required {
        required if required > max => format!(", at most {max}"),
        required if required < min => format!(", at least {min}"),
        _ => String::new(),
    };
    let noun = if required == 1 { "replica" } else { "replicas" };
    let explanation = format!(
        "highest limit {}/s ({subject}); {percent} % of all limits ({}/s) is {}/s; {}/s at \
         {rated}/s per replica requires {required} {noun}{bound}",
        decimal(largest),
        decimal(demand.sum),
        decimal(share),
        decimal(expected),
    );
    RequiredReplicas {
        replicas: i32::try_from(replicas).unwrap_or(i32::MAX),
        is_sufficient: required <= max,
        explanation,
    }
}

/// Formats thousandths of a request per second as a decimal number.
fn decimal(thousandths: MilliRequests) -> String {
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:03}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use assay_tenancy::{
        Period,
        directory::{Limit, Override, Plan},
        manifest::{Counts, OnTokenStoreLoss, RetentionSpec, TraceCeiling},
    };
    use proptest::prelude::*;

    use super::*;

    fn limit(name: &str, requests: u64, window: u64, per: Per) -> Limit {
        let (counts, window) = (Counts::Requests, Period::from_seconds(window));
        let name = name.parse().unwrap();
        Limit { name, requests, ceiling: requests, window, counts, per }
    }

    fn plan(name: &str, limits: Vec<Limit>) -> Plan {
        Plan {
            name: name.parse().unwrap(),
            display_name: name.into(),
            api_access: true,
            limits,
            cache_lifetime: Period::from_seconds(0),
            retention: RetentionSpec::default(),
            max_screen_rows: 0,
            max_full_screen_rows: 0,
            max_in_flight: None,
            max_streams: None,
            trace: TraceCeiling::default(),
            on_token_store_loss: OnTokenStoreLoss::default(),
            fallback_share: 0,
        }
    }

    fn tenant(name: &str, plan: Plan) -> Tenant<()> {
        Tenant {
            name: name.parse().unwrap(),
            display_name: name.into(),
            plan: Arc::new(plan),
            policy_name: "default".parse().unwrap(),
            policy: Arc::new(()),
            suspended: false,
            overrides: vec![],
        }
    }

    fn demand(tenants: Vec<Tenant<()>>, second: i64) -> ServerDemand {
        let mut directory = Directory::default();
        for tenant in tenants {
            directory.tenants.insert(tenant.name.clone(), Arc::new(tenant));
        }
        ServerDemand::from_directory(&directory, None, Timestamp::from_second(second).unwrap())
    }

    fn burst_and_daily() -> Plan {
        plan(
            "gold",
            vec![limit("daily", 9, 86_400, Per::Tenant), limit("burst", 20, 1, Per::Tenant)],
        )
    }

    #[test]
    fn the_limit_with_the_shortest_window_counts() {
        let two = demand(vec![tenant("a", burst_and_daily()), tenant("b", burst_and_daily())], 0);
        assert_eq!((two.largest, two.sum), (Some(("Tenant b".into(), 20_000)), 40_000));
        let daily = plan("slow", vec![limit("daily", 86_400, 86_400, Per::Tenant)]);
        assert_eq!(demand(vec![tenant("c", daily)], 0).sum, 1000);
    }

    #[test]
    fn a_limit_of_a_whole_plan_counts_once_and_tenants_without_access_do_not_count() {
        let shared = || plan("team", vec![limit("burst", 30, 1, Per::Plan)]);
        let both = demand(vec![tenant("a", shared()), tenant("b", shared())], 0);
        assert_eq!((both.largest, both.sum), (Some(("Plan team".into(), 30_000)), 30_000));
        let mut suspended = tenant("a", burst_and_daily());
        suspended.suspended = true;
        let mut closed = tenant("b", burst_and_daily());
        Arc::make_mut(&mut closed.plan).api_access = false;
        assert_eq!(demand(vec![suspended, closed], 0), ServerDemand::default());
    }

    #[test]
    fn a_rate_limit_counts_until_it_ends() {
        let raised = || {
            let mut tenant = tenant("a", burst_and_daily());
            let until = Some(Timestamp::from_second(10).unwrap());
            let limit = "burst".parse().unwrap();
            let rate_limit = "more".parse().unwrap();
            tenant.overrides.push(Override { rate_limit, limit, requests: 50, until });
            tenant
        };
        assert_eq!(demand(vec![raised()], 9).sum, 50_000);
        assert_eq!(demand(vec![raised()], 10).sum, 20_000);
    }

    #[test]
    fn followed_chains_have_servers_where_the_operator_runs_any() {
        let mut directory: Directory<()> = Directory::default();
        for (chain, mode) in [("ltc", "follow"), ("btc", "follow"), ("doge", "on_demand")] {
            let spec = serde_json::json!({
                "chain": chain, "mode": mode, "protocol": "esplora", "endpoint": "http://node",
                "suspended": chain == "btc",
            });
            let (name, spec) = ("name-".to_owned() + chain, serde_json::from_value(spec).unwrap());
            let feed = ChainFeed { name: name.parse().unwrap(), spec };
            directory.chains.insert(chain.to_owned(), Arc::new(feed));
        }
        let urls = |namespace| {
            ServerDemand::from_directory(&directory, namespace, Timestamp::UNIX_EPOCH).chain_servers
        };
        let wanted = [
            ("btc", "http://chain-name-btc.here.svc:8080"),
            ("ltc", "http://chain-name-ltc.here.svc:8080"),
        ];
        let wanted = wanted.map(|(chain, url)| (chain.to_owned(), url.to_owned()));
        assert_eq!(urls(Some("here")), BTreeMap::from(wanted));
        assert_eq!(urls(None), BTreeMap::new());
    }

    #[test]
    fn the_calculation_is_explained() {
        let scaling = ScalingSpec::default();
        let asked = |largest, sum| ServerDemand {
            largest: Some(("Tenant acme".into(), largest)),
            sum,
            ..ServerDemand::default()
        };
        let four = required_replicas(&asked(1_600_500, 9_000_000), &scaling);
        assert_eq!((four.replicas, four.is_sufficient), (4, true));
        assert_eq!(
            four.explanation,
            "highest limit 1600.5/s (Tenant acme); 10 % of all limits (9000/s) is 900/s; 1600.5/s at \
             500/s per replica requires 4 replicas"
        );
        let too_many = required_replicas(&asked(1_000_000, 90_000_000), &scaling);
        assert_eq!((too_many.replicas, too_many.is_sufficient), (10, false));
        assert!(too_many.explanation.ends_with("requires 18 replicas, at most 10"));
        let nobody = required_replicas(&ServerDemand::default(), &scaling);
        assert_eq!(nobody.replicas, 2);
        assert!(nobody.explanation.ends_with("requires 0 replicas, at least 2"));
    }

    proptest! {
        #[test]
        fn replicas_are_the_fewest_within_the_bounds_that_cover_the_demand(
            largest in 0_u64..=1_000_000_000_000,
            others in 0_u64..=1_000_000_000_000,
            more in 0_u64..=1_000_000_000,
            bounds in (1_i32..=1000, 1_i32..=1000),
            rated in 1_i32..=1_000_000,
            percent in 1_i32..=100,
        ) {
            let scaling = ScalingSpec {
                min_replicas: bounds.0.min(bounds.1),
                max_replicas: bounds.0.max(bounds.1),
                rated_requests_per_replica: rated,
                oversubscription_percent: percent,
                ..ScalingSpec::default()
            };
            let asked = |more: u64| ServerDemand {
                largest: Some(("a".into(), u128::from(largest))),
                sum: u128::from(largest) + u128::from(others) + u128::from(more),
                ..ServerDemand::default()
            };
            let demand = asked(0);
            let required = required_replicas(&demand, &scaling);
            let replicas = required.replicas;
            prop_assert!((scaling.min_replicas..=scaling.max_replicas).contains(&replicas));
            prop_assert!(required_replicas(&asked(more), &scaling).replicas >= replicas, "more demand never requires fewer");
            // In hundred-thousandths of a request, so that nothing is rounded.
            let needed = (u128::from(largest) * 100)
                .max(demand.sum * u128::from(percent.unsigned_abs()));
            let capacity = |replicas: i32| {
                u128::from(replicas.unsigned_abs()) * u128::from(rated.unsigned_abs()) * 100_000
            };
            prop_assert_eq!(required.is_sufficient, capacity(scaling.max_replicas) >= needed);
            if required.is_sufficient {
                prop_assert!(capacity(replicas) >= needed);
            }
            if replicas > scaling.min_replicas {
                prop_assert!(capacity(replicas - 1) < needed, "one fewer would not suffice");
            }
        }
    }
}
