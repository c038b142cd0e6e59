//! Pauses of a runner, as functions of the outcomes of its steps.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Mutex, time::Instant};

use super::contract::FailureKind;

/// First pause after a transient failure; doubled with each further failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause after a transient failure.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// Pause while another program does the work.
const STANDBY: Duration = Duration::from_secs(10);
/// Number of retries of a stage that is not kept up to date, while the chain is reorganized.
pub(crate) const RETRIES: u32 = 3;

/// Lock that several stages share, so that one of them works at a time.
pub type StageLock = Arc<Mutex<()>>;

/// Schedule of a runner.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Interval at which a stage without work is checked again; `None`: a stage without work ends.
    pub poll: Option<Duration>,
    /// First pause after a failure that lasts, doubled each time up to a minute; `None`: the stage ends with its error.
    pub restart: Option<Duration>,
    /// Lock that the stage holds during each step, and afterwards for as long as the step took: stages with one lock
    /// take at most half of one processor's time. `None`: steps follow each other at once.
    pub lock: Option<StageLock>,
}

/// Failures of a stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failures {
    /// Kind of the last failure, if no step has succeeded since.
    pub(super) last: Option<FailureKind>,
    /// Number of failures since the last step or restart, and number of pauses since then.
    in_turn: u32,
    pauses: u32,
    restarts: u32,
    /// Time of the last restart.
    restarted: Instant,
}

impl Failures {
    /// Returns the state of a stage that starts now.
    pub(super) const fn new(now: Instant) -> Self {
        Self { last: None, in_turn: 0, pauses: 0, restarts: 0, restarted: now }
    }

    /// Records a successful step. Returns the kind of the failure before the step.
    pub(super) const fn record_success(&mut self) -> Option<FailureKind> {
        (self.in_turn, self.pauses) = (0, 0);
        self.last.take()
    }

    /// Records a failure. Returns the pause after the failure; `None` if the stage ends with its error.
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
                    // The stage worked for longer than the longest pause.
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

/// Returns the next pause in a series of pauses that double.
fn next(pauses: &mut u32, first: Duration) -> Duration {
    let pause = first.saturating_mul(2_u32.saturating_pow(*pauses)).min(LONGEST_PAUSE);
    *pauses = pauses.saturating_add(1);
    pause
}
