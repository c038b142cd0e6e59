//! What a simulated world is like: how many replicas, how much they are asked, and what goes wrong.

use assay_tenancy::{
    Period,
    directory::Limit,
    manifest::{Counts, OnTokenStoreLoss, Per},
};

use super::random::Random;
use crate::{LimiterSettings, SECOND, StoreLossPolicy};

/// Windows from this length on are of the long bank here.
const LONG_FROM_SECONDS: u64 = 5;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A replica stops without a word, and starts again.
    Crash,
    /// A replica stops in good order, and starts again.
    Restart,
    /// A replica does not reach the short bank, the long one, or either, for a while.
    CutOff,
    /// The first replica does not reach the long bank any more.
    Strand,
    /// Nobody reaches the short bank for a while; what is under way arrives later.
    Pause,
    /// The short bank's memory is emptied.
    Flush,
    /// It starts again with a snapshot that is a while old, or with none.
    Revert,
    /// Another server takes over, with a copy that lags behind and another clock.
    Failover,
    /// Its clock is set back.
    StepBack,
    /// The long bank, and the seats with it, are gone for a while.
    LongLost,
}

/// What a simulated world is like.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) replicas: usize,
    pub(super) slots: u32,
    pub(super) policy: StoreLossPolicy,
    pub(super) limits: Vec<Limit>,
    pub(super) settings: LimiterSettings,
    /// How long, in microseconds.
    pub(super) length: u64,
    /// Microseconds between two requests to one replica, on average, while it is busy.
    pub(super) pause: u64,
    /// How many of a thousand requests go to the first replica.
    pub(super) skew: u64,
    /// How many of a thousand messages are lost, doubled, or late by more than a time-out.
    pub(super) lost: u64,
    pub(super) doubled: u64,
    pub(super) late: u64,
    /// Longest way of a message.
    pub(super) delay: u64,
    /// Largest error of a clock's rate, in parts per million, either way.
    pub(super) drift: i64,
    pub(super) faults: Vec<Fault>,
    /// Whether replicas join one after the other.
    pub(super) joining: bool,
    /// Whether the first replica never reaches the long bank and the seats again, after a few seconds.
    pub(super) stranded: bool,
    /// Whether the first epoch of the short bank is known to be the first.
    pub(super) first_epoch_known: bool,
}

impl Scenario {
    /// Anything may happen.
    pub(super) fn hostile(random: &mut Random) -> Self {
        let steps = random.chance(150);
        // A clock that is set returned makes one window longer than a fallback can know.
        let share = if steps { 0 } else { random.pick(&[0, 10, 50, 50]) };
        let mut kinds =
            vec![Fault::Crash, Fault::Restart, Fault::CutOff, Fault::Pause, Fault::LongLost];
        // A memory that is lost while the clock is set returned further than clocks differ cannot know
        // where it was.
        if steps {
            kinds.push(Fault::StepBack);
        } else {
            kinds.extend([Fault::Flush, Fault::Revert, Fault::Failover]);
        }
        let faults = (0..random.between(0, 7)).map(|_| random.pick(&kinds)).collect();
        Self {
            replicas: usize::try_from(random.pick(&[1, 2, 2, 3, 3, 4, 5, 10])).unwrap(),
            slots: random.pick(&[1, 2, 4, 16]),
            policy: StoreLossPolicy {
                on_token_store_loss: random.pick(&[
                    OnTokenStoreLoss::Fallback,
                    OnTokenStoreLoss::Fallback,
                    OnTokenStoreLoss::Refuse,
                ]),
                fallback_share: share,
            },
            limits: limits(random),
            settings: settings(),
            length: random.between(8, 36) * SECOND,
            pause: random.between(20_000, 200_000),
            skew: random.pick(&[0, 0, 900]),
            lost: random.pick(&[0, 0, 20, 200]),
            doubled: random.pick(&[0, 0, 50, 300]),
            late: random.pick(&[0, 0, 20, 100]),
            delay: random.pick(&[500, 2_000, 10_000, 24_000]),
            drift: 250,
            faults,
            joining: random.chance(300),
            stranded: random.chance(100),
            first_epoch_known: random.chance(800),
        }
    }

    /// Nothing goes wrong, and ten times the limit is asked for.
    pub(super) fn overloaded(replicas: usize, skew: u64, share: u8) -> Self {
        let limits = vec![limit("wide", 1000, 4, Counts::Requests, Per::Tenant)];
        Self {
            replicas,
            slots: 16,
            policy: StoreLossPolicy {
                on_token_store_loss: OnTokenStoreLoss::Fallback,
                fallback_share: share,
            },
            limits,
            settings: settings(),
            length: 40 * SECOND,
            pause: 400 * replicas as u64,
            skew,
            lost: 0,
            doubled: 0,
            late: 0,
            delay: 1_000,
            drift: 100,
            faults: Vec::new(),
            joining: false,
            stranded: false,
            first_epoch_known: true,
        }
    }

    /// Nothing goes wrong, and as much is asked for as is allowed.
    pub(super) fn at_the_limit(replicas: usize, a_minute: u64) -> Self {
        let limits = vec![limit("minute", a_minute, 60, Counts::Requests, Per::Tenant)];
        let pause = 60 * SECOND * replicas as u64 / a_minute;
        let settings = LimiterSettings::default();
        let length = 125 * SECOND;
        Self { limits, settings, length, pause, ..Self::overloaded(replicas, 0, 10) }
    }
}

fn settings() -> LimiterSettings {
    LimiterSettings { long_from_seconds: LONG_FROM_SECONDS, ..LimiterSettings::default() }
}

/// Several windows of a tenant, one of its plan, some of them long.
fn limits(random: &mut Random) -> Vec<Limit> {
    let all = [
        limit("burst", random.between(2, 30), 1, Counts::Requests, Per::Tenant),
        limit("wide", random.between(10, 80), 3, Counts::Requests, Per::Tenant),
        limit("quota", random.between(10, 150), 7, Counts::Checks, Per::Tenant),
        limit("shared", random.between(10, 100), 2, Counts::Requests, Per::Plan),
        limit("checks", random.between(5, 40), 2, Counts::Checks, Per::Plan),
    ];
    let first = all[usize::try_from(random.between(0, 5)).unwrap()].clone();
    let mut limits = vec![first];
    for limit in all {
        if random.chance(400) && limits[0].name != limit.name {
            limits.push(limit);
        }
    }
    limits
}

fn limit(name: &str, requests: u64, seconds: u64, counts: Counts, per: Per) -> Limit {
    Limit {
        name: name.parse().unwrap(),
        requests,
        ceiling: requests,
        window: Period::from_seconds(seconds),
        counts,
        per,
    }
}
