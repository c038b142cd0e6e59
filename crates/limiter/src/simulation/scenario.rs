//! Scenarios: number of replicas, load, and faults of a simulation.

use assay_tenancy::{
    Period,
    directory::Limit,
    manifest::{Counts, OnTokenStoreLoss, Per},
};
use assay_test_random::Random;

use crate::{LimiterSettings, SECOND, StoreLossPolicy};

/// Shortest window of the long token store.
const LONG_FROM_SECONDS: u64 = 5;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A replica crashes, and restarts.
    Crash,
    /// A replica shuts down, and restarts.
    Restart,
    /// A replica cannot reach the short token store, the long token store, or both, for a while.
    CutOff,
    /// The first replica can no longer reach the long token store.
    Strand,
    /// The short token store pauses: messages in flight are processed later.
    Pause,
    /// The short token store's memory is flushed.
    Flush,
    /// The short token store restarts with an old snapshot, or with none.
    Revert,
    /// Another server takes over, with a lagging copy and another clock.
    Failover,
    /// The short token store's clock is set back.
    StepBack,
    /// The long token store and the slot registry are unreachable for a while.
    LongLost,
}

/// Parameters of a simulation.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) replicas: usize,
    pub(super) slots: u32,
    pub(super) policy: StoreLossPolicy,
    pub(super) limits: Vec<Limit>,
    pub(super) settings: LimiterSettings,
    /// Length in microseconds.
    pub(super) length: u64,
    /// Average time between two requests to one replica while the replica is busy, in microseconds.
    pub(super) pause: u64,
    /// Share of requests to the first replica, in thousandths.
    pub(super) skew: u64,
    /// Share of messages that are lost, duplicated, or delayed beyond the timeout, in thousandths.
    pub(super) lost: u64,
    pub(super) doubled: u64,
    pub(super) late: u64,
    /// Longest delay of a message.
    pub(super) delay: u64,
    /// Largest error of a clock's rate in either direction, in parts per million.
    pub(super) drift: i64,
    pub(super) faults: Vec<Fault>,
    /// True if the replicas join one after the other.
    pub(super) joining: bool,
    /// True if the first replica permanently loses the long token store and the slot registry after
    /// a few seconds.
    pub(super) stranded: bool,
    /// True if the short token store's first epoch is known to be the installation's first.
    pub(super) first_epoch_known: bool,
}

impl Scenario {
    /// Returns a scenario with faults of any kind.
    pub(super) fn hostile(random: &mut Random) -> Self {
        let steps = random.per_mille(150);
        // A clock that is set back lengthens a window, which fallback allowances cannot know.
        let share = if steps { 0 } else { *random.pick(&[0, 10, 50, 50]) };
        let mut kinds =
            vec![Fault::Crash, Fault::Restart, Fault::CutOff, Fault::Pause, Fault::LongLost];
        // A store that loses its memory while its clock is set back by more than the margin cannot know
        // its past.
        if steps {
            kinds.push(Fault::StepBack);
        } else {
            kinds.extend([Fault::Flush, Fault::Revert, Fault::Failover]);
        }
        let faults = (0..random.number(0..7)).map(|_| *random.pick(&kinds)).collect();
        Self {
            replicas: usize::try_from(*random.pick(&[1, 2, 2, 3, 3, 4, 5, 10])).unwrap(),
            slots: *random.pick(&[1, 2, 4, 16]),
            policy: StoreLossPolicy {
                on_token_store_loss: *random.pick(&[
                    OnTokenStoreLoss::Fallback,
                    OnTokenStoreLoss::Fallback,
                    OnTokenStoreLoss::Refuse,
                ]),
                fallback_share: share,
            },
            limits: limits(random),
            settings: settings(),
            length: random.number(8..36) * SECOND,
            pause: random.number(20_000..200_000),
            skew: *random.pick(&[0, 0, 900]),
            lost: *random.pick(&[0, 0, 20, 200]),
            doubled: *random.pick(&[0, 0, 50, 300]),
            late: *random.pick(&[0, 0, 20, 100]),
            delay: *random.pick(&[500, 2_000, 10_000, 24_000]),
            drift: 250,
            faults,
            joining: random.per_mille(300),
            stranded: random.per_mille(100),
            first_epoch_known: random.per_mille(800),
        }
    }

    /// Returns a scenario without faults, under ten times the limit's load.
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

    /// Returns a scenario without faults, under exactly the limit's load.
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

/// Returns several limits of a tenant and its plan, some of them with long windows.
fn limits(random: &mut Random) -> Vec<Limit> {
    let all = [
        limit("burst", random.number(2..30), 1, Counts::Requests, Per::Tenant),
        limit("wide", random.number(10..80), 3, Counts::Requests, Per::Tenant),
        limit("quota", random.number(10..150), 7, Counts::Checks, Per::Tenant),
        limit("shared", random.number(10..100), 2, Counts::Requests, Per::Plan),
        limit("checks", random.number(5..40), 2, Counts::Checks, Per::Plan),
    ];
    let first = all[random.index(5)].clone();
    let mut limits = vec![first];
    for limit in all {
        if random.per_mille(400) && limits[0].name != limit.name {
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
