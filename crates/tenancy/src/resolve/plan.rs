//! Validation of `Plan` manifests.

use super::{Cause, ManifestProblem, ValidManifest};
use crate::{
    directory::{Limit, Plan},
    manifest::{
        Counts, LARGEST_FALLBACK_SHARE, LONGEST_CACHE, LONGEST_RETENTION, LONGEST_WINDOW,
        MOST_IN_FLIGHT, MOST_REQUESTS, MOST_SCREEN_ROWS, PlanSpec,
    },
};

/// Most limits that a plan may have.
const MOST_LIMITS: usize = 8;

pub(super) fn check(
    plan: &ValidManifest<'_, PlanSpec>,
    problems: &mut Vec<ManifestProblem>,
) -> Plan {
    let spec = plan.spec;
    let mut require = |holds: bool, path: &str, message: String| {
        if !holds {
            problems.push(plan.problem(path, message));
        }
    };
    require(
        !spec.limits.is_empty() || !spec.api_access,
        "spec.limits",
        "a plan with API access needs at least one limit".into(),
    );
    require(
        spec.limits.len() <= MOST_LIMITS,
        "spec.limits",
        format!("{} limits are too many: at most {MOST_LIMITS}", spec.limits.len()),
    );
    require(
        spec.cache_lifetime <= LONGEST_CACHE,
        "spec.cacheLifetime",
        format!("{} is too long: at most 24h", spec.cache_lifetime),
    );
    for (path, period) in [
        ("spec.retention.checks", spec.retention.checks),
        ("spec.retention.usage", spec.retention.usage),
    ] {
        require(period <= LONGEST_RETENTION, path, format!("{period} is too long: at most 3660d"));
    }
    for (path, rows) in [
        ("spec.maxScreenRows", spec.max_screen_rows),
        ("spec.maxFullScreenRows", spec.max_full_screen_rows),
    ] {
        let message = format!("{rows} is not from 1 to {MOST_SCREEN_ROWS}");
        require((1..=MOST_SCREEN_ROWS).contains(&rows), path, message);
    }
    require(
        spec.fallback_share <= LARGEST_FALLBACK_SHARE,
        "spec.fallbackShare",
        format!("{} is not from 0 to {LARGEST_FALLBACK_SHARE} percent", spec.fallback_share),
    );
    for (index, limit) in spec.limits.iter().enumerate() {
        let path = format!("spec.limits[{index}]");
        require(
            spec.limits.iter().take(index).all(|other| other.name != limit.name),
            &format!("{path}.name"),
            format!("`{}` is named twice", limit.name),
        );
        require(
            (1..=MOST_REQUESTS).contains(&limit.requests),
            &format!("{path}.requests"),
            format!("{} is not from 1 to {MOST_REQUESTS}", limit.requests),
        );
        require(
            limit.window.seconds() > 0 && limit.window <= LONGEST_WINDOW,
            &format!("{path}.window"),
            format!("{} is not from 1s to 31d", limit.window),
        );
        require(
            limit.ceiling.is_none_or(|ceiling| limit.requests <= ceiling),
            &format!("{path}.ceiling"),
            format!("must be at least `requests` ({})", limit.requests),
        );
    }
    check_bounds(plan, problems);
    let limits: Vec<Limit> = spec
        .limits
        .iter()
        .map(|limit| Limit {
            name: limit.name.clone(),
            requests: limit.requests,
            ceiling: limit.ceiling.unwrap_or(limit.requests),
            window: limit.window,
            counts: limit.counts,
            per: limit.per,
        })
        .collect();
    if let Some(message) = contradiction(&limits) {
        let problem = plan.problem("spec.limits", message);
        problems.push(problem.with_cause(Cause::LimitsContradict));
    }
    Plan {
        name: plan.name.clone(),
        display_name: spec.display_name.clone(),
        api_access: spec.api_access,
        limits,
        cache_lifetime: spec.cache_lifetime,
        retention: spec.retention,
        max_screen_rows: spec.max_screen_rows,
        max_full_screen_rows: spec.max_full_screen_rows,
        max_in_flight: spec.max_in_flight,
        max_streams: spec.max_streams,
        trace: spec.trace,
        on_token_store_loss: spec.on_token_store_loss,
        fallback_share: spec.fallback_share,
    }
}

/// Refuses bounds of requests in flight and of traces that no request could satisfy.
fn check_bounds(plan: &ValidManifest<'_, PlanSpec>, problems: &mut Vec<ManifestProblem>) {
    let spec = plan.spec;
    let mut require = |holds: bool, path: &str, message: String| {
        if !holds {
            problems.push(plan.problem(path, message));
        }
    };
    for (path, bound) in
        [("spec.maxInFlight", spec.max_in_flight), ("spec.maxStreams", spec.max_streams)]
    {
        require(
            bound.is_none_or(|bound| (1..=MOST_IN_FLIGHT).contains(&bound)),
            path,
            format!("{} is not from 1 to {MOST_IN_FLIGHT}", bound.unwrap_or_default()),
        );
    }
    for (path, ceiling) in [
        ("spec.trace.hops", spec.trace.hops.map(u32::from)),
        ("spec.trace.transactions", spec.trace.transactions),
        ("spec.trace.entries", spec.trace.entries),
        ("spec.trace.transfersPerAddress", spec.trace.transfers_per_address),
    ] {
        require(ceiling != Some(0), path, "must be from 1; leave it out for no ceiling".into());
    }
}

/// A description of two limits, one of which can never be reached.
pub(super) fn contradiction(limits: &[Limit]) -> Option<String> {
    let pairs = limits
        .iter()
        .flat_map(|a| limits.iter().map(move |b| (a, b)))
        .filter(|(a, b)| a.name != b.name);
    let never_reached = |short: &Limit, long: &Limit| {
        // What counts checks is reached no later than what counts all requests, and what one key asks
        // is asked by its tenant and on its plan too.
        let comparable = (short.counts == long.counts || long.counts == Counts::Requests)
            && short.per <= long.per;
        let within = short.window < long.window
            || (short.window == long.window && short.per < long.per && short.counts == long.counts);
        comparable && within && short.requests > long.requests
    };
    pairs.clone().find(|(a, b)| never_reached(a, b)).map_or_else(
        || {
            let mut same = pairs;
            let equal = |a: &Limit, b: &Limit| {
                a.counts == b.counts && a.window == b.window && a.per == b.per
            };
            same.find(|(a, b)| equal(a, b)).map(|(a, b)| {
                format!("`{}` and `{}` count the same in the same window: keep one", a.name, b.name)
            })
        },
        |(short, long)| {
            Some(format!(
                "`{}` allows {} in {}, but `{}` only {} in {}: the wider one must allow at least as \
                 many",
                short.name, short.requests, short.window, long.name, long.requests, long.window
            ))
        },
    )
}
