//! The pauses of a runner: functions of what happened.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Mutex, time::Instant};

use super::contract::FailureKind;

/// Pause after a failure that passes; doubled with each further one...
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// ...up to this.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// Pause while another program does the work.
const STANDBY: Duration = Duration::from_secs(10);
/// Retries of a stage that is not kept up to date, while what it reads is reorganized.
pub(crate) const RETRIES: u32 = 3;

/// A turn that stages take, so that one of them works at a time.
pub type StageLock = Arc<Mutex<()>>;

/// When a runner goes on with a stage.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Interval at which a stage that has reached its target is looked at again; `None`: the stage ends there.
    pub poll: Option<Duration>,
    /// First pause after a failure that does not pass by itself, doubled each time up to a minute; `None`: the stage ends
    /// with its error.
    pub restart: Option<Duration>,
    /// A turn that the stage takes for each step, and keeps afterwards for as long as the step took: stages with one turn
    /// take at most half of one processor's time. `None`: steps follow each other at once.
    pub lock: Option<StageLock>,
}

/// The failures of a stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failures {
    /// Kind of the last one, if no step has succeeded since.
    pub(super) last: Option<FailureKind>,
    /// Number since the last step or restart, and number of pauses since then.
    in_turn: u32,
    pauses: u32,
    restarts: u32,
    /// Time of the last restart.
    restarted: Instant,
}

impl Failures {
    /// None, of a stage that is started now.
    pub(super) const fn none(now: Instant) -> Self {
        Self { last: None, in_turn: 0, pauses: 0, restarts: 0, restarted: now }
    }

    /// Notes a step. Returns the kind of the failure before it.
    pub(super) const fn end(&mut self) -> Option<FailureKind> {
        (self.in_turn, self.pauses) = (0, 0);
        self.last.take()
    }

    /// Notes a failure. Returns the pause after it; `None` if the stage ends with its error.
    pub(super) fn pause(
        &mut self,
        failure: FailureKind,
        schedule: &Schedule,
        now: Instant,
    ) -> Option<Duration> {
        let (before, is_kept) = (self.in_turn, schedule.poll.is_some());
        self.in_turn += 1;
        match failure {
            FailureKind::Stray if before == 0 => Some(Duration::ZERO),
            FailureKind::Stray | FailureKind::Unavailable if !is_kept => None,
            FailureKind::Reorganized if !is_kept && before >= RETRIES => None,
            FailureKind::Stray | FailureKind::Unavailable | FailureKind::Reorganized => {
                Some(next(&mut self.pauses, FIRST_PAUSE))
            }
            FailureKind::Busy | FailureKind::Permanent => {
                let first = schedule.restart?;
                if now.duration_since(self.restarted) > LONGEST_PAUSE {
                    // It went well for a while.
                    self.restarts = 0;
                }
                let is_busy = failure == FailureKind::Busy;
                let pause = if is_busy { STANDBY } else { next(&mut self.restarts, first) };
                (self.in_turn, self.pauses, self.restarted) = (0, 0, now + pause);
                Some(pause)
            }
        }
    }
}

/// The next of pauses that double.
fn next(pauses: &mut u32, first: Duration) -> Duration {
    let pause = first.saturating_mul(2_u32.saturating_pow(*pauses)).min(LONGEST_PAUSE);
    *pauses = pauses.saturating_add(1);
    pause
}
