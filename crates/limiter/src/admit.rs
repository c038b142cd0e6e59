//! Admission of a request: takes one token from each window counter of the request, of all subjects, or no token.

use assay_tenancy::{directory::Limit, manifest::Counts};

use crate::{
    Admission, DecisionContext, LimitStatus, RequestKind, SpentTokens, StoreLossPolicy,
    SubjectLimits, window_counter::Shortage,
};

/// The limits of a request that apply to one subject.
#[derive(Debug)]
pub struct ApplicableLimits<'a> {
    /// The replica's state for the subject.
    pub state: &'a mut SubjectLimits,
    /// The limits of the request, of which those of the subject's kind apply.
    pub limits: &'a [Limit],
}

impl<'a> ApplicableLimits<'a> {
    /// Returns the limits that count the subject's requests.
    fn limits(&self) -> impl Iterator<Item = &'a Limit> + use<'a> {
        let per = self.state.subject().per;
        self.limits.iter().filter(move |limit| limit.per == per)
    }

    /// Returns those of the limits that count `counts`.
    fn limits_on(&self, counts: Counts) -> impl Iterator<Item = &'a Limit> + use<'a> {
        self.limits().filter(move |limit| limit.counts == counts)
    }
}

/// Room left in all limits of one kind; `No` carries the worst shortage.
enum Room {
    Enough,
    Refillable,
    No(Admission),
}

/// Records a demand of `count` requests of `kind`: once for each request, before it is decided.
pub fn note(
    applicable: &mut [ApplicableLimits<'_>],
    policy: StoreLossPolicy,
    kind: RequestKind,
    count: u64,
    context: &DecisionContext<'_>,
) {
    for entry in applicable {
        for limit in entry.limits() {
            if limit.counts == Counts::Requests || kind == RequestKind::Check {
                entry.state.counter(limit, policy, context.settings).note(count, context);
            }
        }
    }
}

/// Decides on one request.
///
/// All limits hold at once: a request is charged to all limits or refused by one. A request that only a limit on checks
/// refuses still counts as a request.
pub fn admit(
    applicable: &mut [ApplicableLimits<'_>],
    policy: StoreLossPolicy,
    kind: RequestKind,
    context: &DecisionContext<'_>,
) -> Admission {
    let requests = room(applicable, policy, Counts::Requests, 1, context);
    if let Room::No(verdict) = requests {
        return verdict;
    }
    let checks = match kind {
        RequestKind::Request => Room::Enough,
        RequestKind::Check => room(applicable, policy, Counts::Checks, 1, context),
    };
    match (requests, checks) {
        (Room::Refillable, _) | (_, Room::Refillable) => {
            wait(applicable, policy, Counts::Requests, 1, context);
            if kind == RequestKind::Check {
                wait(applicable, policy, Counts::Checks, 1, context);
            }
            Admission::Wait
        }
        (_, Room::No(verdict)) => {
            let _ = spend(applicable, policy, Counts::Requests, 1, context);
            verdict
        }
        (_, Room::Enough) => {
            let mut spent = spend(applicable, policy, Counts::Requests, 1, context);
            if kind == RequestKind::Check {
                spent.extend(spend(applicable, policy, Counts::Checks, 1, context));
            }
            Admission::Admitted { spent }
        }
    }
}

/// Takes up to `wanted` checks: as many as every limit on checks has room for, once no token store may grant more
/// tokens. Limits on requests are not consulted: the checks are rows of one request. Returns the tokens spent, the
/// number of checks taken, and the reason why there are no more checks; `None` if a token store must be asked first.
pub fn take_checks(
    applicable: &mut [ApplicableLimits<'_>],
    policy: StoreLossPolicy,
    wanted: u64,
    context: &DecisionContext<'_>,
) -> Option<(Vec<SpentTokens>, u64, Admission)> {
    let verdict = match room(applicable, policy, Counts::Checks, wanted, context) {
        Room::Enough => Admission::Admitted { spent: Vec::new() },
        Room::No(verdict) => verdict,
        Room::Refillable => {
            wait(applicable, policy, Counts::Checks, wanted, context);
            return None;
        }
    };
    let mut count = wanted;
    for entry in &mut *applicable {
        for limit in entry.limits_on(Counts::Checks) {
            count = count.min(entry.state.room(limit, policy, context));
        }
    }
    Some((spend(applicable, policy, Counts::Checks, count, context), count, verdict))
}

/// Returns the status of every limit. `wall` is the time since 1970 by the replica's own clock, in
/// microseconds.
pub fn statuses(
    applicable: &mut [ApplicableLimits<'_>],
    policy: StoreLossPolicy,
    wall: u64,
    context: &DecisionContext<'_>,
) -> Vec<LimitStatus> {
    let mut statuses = Vec::new();
    for entry in applicable {
        for limit in entry.limits() {
            statuses.push(entry.state.status(limit, policy, wall, context));
        }
    }
    statuses
}

fn room(
    applicable: &mut [ApplicableLimits<'_>],
    policy: StoreLossPolicy,
    counts: Counts,
    count: u64,
    context: &DecisionContext<'_>,
) -> Room {
    let (mut used_up, mut unknown) = (Vec::new(), Vec::new());
    let (mut retry_after, mut known_after, mut closed, mut refillable) = (0, 0, false, false);
    for entry in applicable {
        for limit in entry.limits_on(counts) {
            let store = context.settings.store(limit.window.seconds());
            if entry.state.room(limit, policy, context) >= count {
                continue;
            }
            let lost = entry.state.is_unreachable(store);
            let given_up = entry.state.is_given_up(store, context);
            let counter = entry.state.counter(limit, policy, context.settings);
            match counter.shortage(given_up, context) {
                Shortage::Refillable => refillable = true,
                Shortage::Exhausted => {
                    used_up.push(limit.name.clone());
                    retry_after = retry_after.max(counter.resets_in(context.now));
                }
                Shortage::Unknown => {
                    unknown.push(limit.name.clone());
                    closed |= counter.is_closed();
                    // A store that is unreachable may respond again at any time.
                    known_after =
                        known_after.max(if lost { 1 } else { counter.resets_in(context.now) });
                }
            }
        }
    }
    if !used_up.is_empty() {
        Room::No(Admission::Refused { violated: used_up, retry_after })
    } else if !unknown.is_empty() {
        Room::No(Admission::Unavailable { violated: unknown, closed, retry_after: known_after })
    } else if refillable {
        Room::Refillable
    } else {
        Room::Enough
    }
}

/// Adds the tokens that each counter lacks to the tokens that requests wait for.
fn wait(
    applicable: &mut [ApplicableLimits<'_>],
    policy: StoreLossPolicy,
    counts: Counts,
    count: u64,
    context: &DecisionContext<'_>,
) {
    for entry in applicable {
        for limit in entry.limits_on(counts) {
            let short = count.saturating_sub(entry.state.room(limit, policy, context));
            if short > 0 {
                entry.state.counter(limit, policy, context.settings).wait(short);
            }
        }
    }
}

/// Spends `count` tokens of each counter of one kind; all of these counters have room.
fn spend(
    applicable: &mut [ApplicableLimits<'_>],
    policy: StoreLossPolicy,
    counts: Counts,
    count: u64,
    context: &DecisionContext<'_>,
) -> Vec<SpentTokens> {
    let mut all = Vec::new();
    for entry in applicable {
        for limit in entry.limits_on(counts) {
            let subject = entry.state.subject().clone();
            let counter = entry.state.counter(limit, policy, context.settings);
            let (leased, fallback) = counter.spend(count, context);
            all.push(SpentTokens {
                subject,
                limit: limit.name.clone(),
                window_seconds: counter.window_seconds,
                counts,
                leased,
                window: counter.window(),
                fallback,
            });
        }
    }
    all
}
