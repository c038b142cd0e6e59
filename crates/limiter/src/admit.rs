//! Whether a request passes: one token of each of its cells, whoever pays for them, or none.

use assay_tenancy::{
    directory::Limit,
    manifest::{Counts, LimitName},
};

use crate::{
    LimitStatus, LimiterSettings, RequestKind, SlotView, SpentTokens, StoreLossPolicy,
    SubjectLimits,
    window_counter::{DecisionContext, Shortage},
};

/// The limits of a request that one payer pays for.
#[derive(Debug)]
pub struct ApplicableLimits<'a> {
    /// What is known of the payer.
    pub state: &'a mut SubjectLimits,
    /// The limits.
    pub limits: Vec<&'a Limit>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It passes.
    Admitted {
        /// What was spent, of limits on requests too.
        spent: Vec<SpentTokens>,
    },
    /// Banks are to be asked first: send what is due, and try again once one has answered.
    Wait,
    /// Limits are used up.
    Refused {
        /// The limits that are used up.
        violated: Vec<LimitName>,
        /// Seconds until all of them have room again.
        retry_after: u64,
    },
    /// Banks do not answer, and what may be spent without them is spent.
    Unavailable {
        /// The limits that cannot be counted.
        violated: Vec<LimitName>,
        /// Whether the plan refuses everything meanwhile.
        closed: bool,
        /// Seconds after which trying again may help.
        retry_after: u64,
    },
}

/// Whether every limit of one kind has room, or the worst that one of them lacks.
enum Room {
    Enough,
    Refillable,
    No(Admission),
}

/// Notes that `count` of what `ask` is are asked for: once for each request, before it is decided.
pub fn note(
    applicable: &mut [ApplicableLimits<'_>],
    policy: StoreLossPolicy,
    ask: RequestKind,
    count: u64,
    now: u64,
    slots: &SlotView,
    settings: &LimiterSettings,
) {
    let context = DecisionContext { now, slots, settings };
    for entry in applicable {
        for limit in &entry.limits {
            if limit.counts == Counts::Requests || ask == RequestKind::Check {
                entry.state.counter(limit, policy, settings).note(count, &context);
            }
        }
    }
}

/// Decides on one request at local time `now`.
///
/// All limits hold at once: it is charged to all or refused by one. A request that only a limit on checks
/// refuses still counts as a request.
pub fn admit(
    applicable: &mut [ApplicableLimits<'_>],
    policy: StoreLossPolicy,
    ask: RequestKind,
    now: u64,
    slots: &SlotView,
    settings: &LimiterSettings,
) -> Admission {
    let context = DecisionContext { now, slots, settings };
    let requests = room(applicable, policy, Counts::Requests, 1, &context);
    if let Room::No(verdict) = requests {
        return verdict;
    }
    let checks = match ask {
        RequestKind::Request => Room::Enough,
        RequestKind::Check => room(applicable, policy, Counts::Checks, 1, &context),
    };
    match (requests, checks) {
        (Room::Refillable, _) | (_, Room::Refillable) => {
            wait(applicable, policy, Counts::Requests, 1, &context);
            if ask == RequestKind::Check {
                wait(applicable, policy, Counts::Checks, 1, &context);
            }
            Admission::Wait
        }
        (_, Room::No(verdict)) => {
            let _ = spend(applicable, policy, Counts::Requests, 1, &context);
            verdict
        }
        (_, Room::Enough) => {
            let mut spent = spend(applicable, policy, Counts::Requests, 1, &context);
            if ask == RequestKind::Check {
                spent.extend(spend(applicable, policy, Counts::Checks, 1, &context));
            }
            Admission::Admitted { spent }
        }
    }
}

/// Takes as many of `wanted` checks as every limit on checks has room for, once no bank may have more.
/// Limits on requests are not asked: the checks are rows of one request. Returns what was spent, how many
/// that are, and what hinders more; `None` where banks are to be asked first.
pub fn take_checks(
    applicable: &mut [ApplicableLimits<'_>],
    policy: StoreLossPolicy,
    wanted: u64,
    now: u64,
    slots: &SlotView,
    settings: &LimiterSettings,
) -> Option<(Vec<SpentTokens>, u64, Admission)> {
    let context = DecisionContext { now, slots, settings };
    let verdict = match room(applicable, policy, Counts::Checks, wanted, &context) {
        Room::Enough => Admission::Admitted { spent: Vec::new() },
        Room::No(verdict) => verdict,
        Room::Refillable => {
            wait(applicable, policy, Counts::Checks, wanted, &context);
            return None;
        }
    };
    let mut count = wanted;
    for entry in &mut *applicable {
        for limit in entry.limits.iter().filter(|limit| limit.counts == Counts::Checks) {
            let lost = entry.state.is_unreachable(settings.store(limit.window.seconds()));
            count = count.min(entry.state.counter(limit, policy, settings).room(lost, &context));
        }
    }
    Some((spend(applicable, policy, Counts::Checks, count, &context), count, verdict))
}

/// Where every limit stands. `wall` is the time since 1970 by the replica's own clock, in microseconds.
pub fn statuses(
    applicable: &mut [ApplicableLimits<'_>],
    policy: StoreLossPolicy,
    wall: u64,
    now: u64,
    slots: &SlotView,
    settings: &LimiterSettings,
) -> Vec<LimitStatus> {
    let context = DecisionContext { now, slots, settings };
    let mut statuses = Vec::new();
    for entry in applicable {
        for limit in &entry.limits {
            statuses.push(entry.state.status(limit, policy, wall, &context));
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
    let (mut retry_after, mut known_after, mut closed, mut ask) = (0, 0, false, false);
    for entry in applicable {
        for limit in entry.limits.iter().filter(|limit| limit.counts == counts) {
            let lost = entry.state.is_unreachable(context.settings.store(limit.window.seconds()));
            let counter = entry.state.counter(limit, policy, context.settings);
            if counter.room(lost, context) >= count {
                continue;
            }
            match counter.shortage(lost, context) {
                Shortage::Refillable => ask = true,
                Shortage::Exhausted => {
                    used_up.push(limit.name.clone());
                    retry_after = retry_after.max(counter.resets_in(context.now));
                }
                Shortage::Unknown => {
                    unknown.push(limit.name.clone());
                    closed |= counter.is_closed();
                    // A store that does not answer may do so at any time.
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
    } else if ask {
        Room::Refillable
    } else {
        Room::Enough
    }
}

/// Notes for every cell that has too little that somebody waits for the rest.
fn wait(
    applicable: &mut [ApplicableLimits<'_>],
    policy: StoreLossPolicy,
    counts: Counts,
    count: u64,
    context: &DecisionContext<'_>,
) {
    for entry in applicable {
        for limit in entry.limits.iter().filter(|limit| limit.counts == counts) {
            let lost = entry.state.is_unreachable(context.settings.store(limit.window.seconds()));
            let counter = entry.state.counter(limit, policy, context.settings);
            let short = count.saturating_sub(counter.room(lost, context));
            if short > 0 {
                counter.wait(short);
            }
        }
    }
}

/// Spends `count` of each cell of one kind; there is room.
fn spend(
    applicable: &mut [ApplicableLimits<'_>],
    policy: StoreLossPolicy,
    counts: Counts,
    count: u64,
    context: &DecisionContext<'_>,
) -> Vec<SpentTokens> {
    let mut all = Vec::new();
    for entry in applicable {
        for limit in entry.limits.iter().filter(|limit| limit.counts == counts) {
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
