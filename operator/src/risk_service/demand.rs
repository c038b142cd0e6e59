//! What tenants may ask for at once, and how many replicas that takes.

use std::collections::{BTreeMap, BTreeSet};

use assay_crds::ScalingSpec;
use assay_tenancy::{
    Directory,
    directory::Tenant,
    manifest::{ChainMode, Per},
};
use jiff::Timestamp;

use crate::ports;

/// A thousandth of a request a second, so that daily limits count too.
type MilliRequests = u128;

/// What tenants may ask for, and whom the API asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    /// Who may ask for most, and for how much.
    largest: Option<(String, MilliRequests)>,
    /// What all may ask for together.
    sum: MilliRequests,
    /// The ports at which APIs are asked for histories.
    pub(crate) endpoint_ports: BTreeSet<u16>,
}

impl Demand {
    /// What tenants may ask for at `now`. Of a tenant's limits the one of the shortest window counts,
    /// which says how much may come at once; those of a whole plan count once. Who may not call at all
    /// does not count.
    #[must_use]
    pub(crate) fn of<P>(directory: &Directory<P>, now: Timestamp) -> Self {
        let mut rates: BTreeMap<String, MilliRequests> = BTreeMap::new();
        for tenant in directory.tenants.values() {
            if let Some((who, rate)) = rate(tenant, now) {
                let known = rates.entry(who).or_default();
                *known = rate.max(*known);
            }
        }
        let on_demand = directory
            .chains
            .values()
            .filter(|chain| chain.spec.mode == ChainMode::OnDemand && !chain.spec.suspended);
        Self {
            sum: rates.values().sum(),
            largest: rates.into_iter().max_by_key(|(_, rate)| *rate),
            endpoint_ports: on_demand
                .flat_map(|chain| ports::of_url(&chain.spec.endpoint))
                .collect(),
        }
    }
}

/// For whom a tenant's limit counts, and what it lets pass.
fn rate<P>(tenant: &Tenant<P>, now: Timestamp) -> Option<(String, MilliRequests)> {
    if tenant.suspended || !tenant.plan.api_access {
        return None;
    }
    let limits = tenant.limits(now);
    let limit = limits.iter().min_by_key(|limit| (limit.window.seconds(), limit.requests))?;
    let who = match limit.per {
        Per::Plan => format!("Plan {}", tenant.plan.name),
        Per::Key | Per::Tenant => format!("Tenant {}", tenant.name),
    };
    let seconds = u128::from(limit.window.seconds().max(1));
    Some((who, (u128::from(limit.requests) * 1000).div_ceil(seconds)))
}

/// Fewest replicas that tenants' limits ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Floor {
    /// How many, within the bounds.
    pub(crate) replicas: i32,
    /// Whether that is as many as the limits ask for.
    pub(crate) is_enough: bool,
    /// How that number came about.
    pub(crate) words: String,
}

/// Fewest replicas: the most of what one may ask for and the part that all ask for at once, divided by
/// what a replica is good for, within the bounds.
#[must_use]
pub(crate) fn floor(demand: &Demand, scaling: &ScalingSpec) -> Floor {
    let percent = u128::from(scaling.oversubscription_percent.max(1).unsigned_abs());
    let rated = u128::from(scaling.rated_requests_per_replica.max(1).unsigned_abs());
    let [fewest, most] = [scaling.min_replicas, scaling.max_replicas]
        .map(|bound| u128::from(bound.max(1).unsigned_abs()));
    let largest = demand.largest.as_ref().map_or(0, |(_, rate)| *rate);
    let share = (demand.sum * percent).div_ceil(100);
    let asked = largest.max(share);
    let needed = asked.div_ceil(rated * 1000);
    let replicas = needed.max(fewest).min(most);
    let who = demand.largest.as_ref().map_or("nobody", |(who, _)| who);
    let bound = match needed {
        needed if needed > most => format!(", at most {most}"),
        needed if needed < fewest => format!(", at least {fewest}"),
        _ => String::new(),
    };
    let words = format!(
        "most is {}/s for {who}, {percent} % of all {}/s are {}/s; {}/s at {rated}/s a replica are \
         {needed}{bound}",
        decimal(largest),
        decimal(demand.sum),
        decimal(share),
        decimal(asked),
    );
    Floor {
        replicas: i32::try_from(replicas).unwrap_or(i32::MAX),
        is_enough: needed <= most,
        words,
    }
}

/// Thousandths as a decimal number.
fn decimal(thousandths: MilliRequests) -> String {
    let (whole, rest) = (thousandths / 1000, thousandths % 1000);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:03}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use assay_tenancy::{
        Period,
        directory::{Limit, Override, Plan},
        manifest::{Counts, OnStoreLoss, RetentionSpec, TraceCeiling},
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
            screen_rows: 0,
            trace: TraceCeiling::default(),
            on_store_loss: OnStoreLoss::default(),
            floor_share: 0,
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

    fn demand(tenants: Vec<Tenant<()>>, second: i64) -> Demand {
        let mut directory = Directory::default();
        for tenant in tenants {
            directory.tenants.insert(tenant.name.clone(), Arc::new(tenant));
        }
        Demand::of(&directory, Timestamp::from_second(second).unwrap())
    }

    fn burst_and_daily() -> Plan {
        plan(
            "gold",
            vec![limit("daily", 9, 86_400, Per::Tenant), limit("burst", 20, 1, Per::Tenant)],
        )
    }

    #[test]
    fn the_shortest_window_says_what_may_come_at_once() {
        let two = demand(vec![tenant("a", burst_and_daily()), tenant("b", burst_and_daily())], 0);
        assert_eq!((two.largest, two.sum), (Some(("Tenant b".into(), 20_000)), 40_000));
        let daily = plan("slow", vec![limit("daily", 86_400, 86_400, Per::Tenant)]);
        assert_eq!(demand(vec![tenant("c", daily)], 0).sum, 1000);
    }

    #[test]
    fn a_limit_of_a_whole_plan_counts_once_and_who_may_not_call_does_not() {
        let shared = || plan("team", vec![limit("burst", 30, 1, Per::Plan)]);
        let both = demand(vec![tenant("a", shared()), tenant("b", shared())], 0);
        assert_eq!((both.largest, both.sum), (Some(("Plan team".into(), 30_000)), 30_000));
        let mut suspended = tenant("a", burst_and_daily());
        suspended.suspended = true;
        let mut closed = tenant("b", burst_and_daily());
        Arc::make_mut(&mut closed.plan).api_access = false;
        assert_eq!(demand(vec![suspended, closed], 0), Demand::default());
    }

    #[test]
    fn a_rate_limit_counts_until_its_time_is_over() {
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
    fn the_sum_is_told_in_words() {
        let scaling = ScalingSpec::default();
        let asked = |largest, sum| Demand {
            largest: Some(("Tenant acme".into(), largest)),
            sum,
            ..Demand::default()
        };
        let four = floor(&asked(1_600_500, 9_000_000), &scaling);
        assert_eq!((four.replicas, four.is_enough), (4, true));
        assert_eq!(
            four.words,
            "most is 1600.5/s for Tenant acme, 10 % of all 9000/s are 900/s; 1600.5/s at 500/s a \
             replica are 4"
        );
        let too_many = floor(&asked(1_000_000, 90_000_000), &scaling);
        assert_eq!((too_many.replicas, too_many.is_enough), (10, false));
        assert!(too_many.words.ends_with("9000/s at 500/s a replica are 18, at most 10"));
        let nobody = floor(&Demand::default(), &scaling);
        assert_eq!(nobody.replicas, 2);
        assert!(nobody.words.ends_with("are 0, at least 2"), "{}", nobody.words);
    }

    proptest! {
        #[test]
        fn there_are_as_many_as_needed_within_the_bounds_and_not_one_more(
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
            let asked = |more: u64| Demand {
                largest: Some(("a".into(), u128::from(largest))),
                sum: u128::from(largest) + u128::from(others) + u128::from(more),
                ..Demand::default()
            };
            let demand = asked(0);
            let floor_now = floor(&demand, &scaling);
            let replicas = floor_now.replicas;
            prop_assert!((scaling.min_replicas..=scaling.max_replicas).contains(&replicas));
            prop_assert!(floor(&asked(more), &scaling).replicas >= replicas, "more asks for no fewer");
            // In hundred thousandths of a request, so that nothing is rounded.
            let needed = (u128::from(largest) * 100)
                .max(demand.sum * u128::from(percent.unsigned_abs()));
            let good_for = |replicas: i32| {
                u128::from(replicas.unsigned_abs()) * u128::from(rated.unsigned_abs()) * 100_000
            };
            prop_assert_eq!(floor_now.is_enough, good_for(scaling.max_replicas) >= needed);
            if floor_now.is_enough {
                prop_assert!(good_for(replicas) >= needed);
            }
            if replicas > scaling.min_replicas {
                prop_assert!(good_for(replicas - 1) < needed, "one fewer would not do");
            }
        }
    }
}
