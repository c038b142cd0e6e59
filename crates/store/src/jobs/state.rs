//! The state machine of a job. The state machine reads no clock and does no I/O.

use jiff::{SignedDuration, Timestamp};

use super::{Job, JobClaim, JobOutcome, JobStatus, NewJob, RetryPolicy};

/// Longest error message that is stored, in bytes.
const LONGEST_ERROR: usize = 1_000;
/// Doublings after which no delay grows any longer.
const MAX_DOUBLINGS: u32 = 20;

impl Job {
    /// A job that was enqueued at `now`. A due time in the past means: at once.
    #[must_use]
    pub fn new(new: &NewJob, now: Timestamp) -> Self {
        Self {
            id: new.id.clone(),
            payload: new.payload.clone(),
            status: JobStatus::Pending,
            due_at: new.due_at.max(now),
            failures: 0,
            finished_at: None,
            succeeded_at: None,
            last_error: None,
        }
    }

    /// The job after it was enqueued once more; `None` if that changes nothing.
    ///
    /// - A request that was due before the last success needs no work.
    /// - A job that is being worked on stays as it is.
    /// - A job that is done or failed becomes pending again.
    /// - A pending job is moved forward if it is now due earlier, unless it waits for a retry.
    /// - With another payload, a retry does not wait any longer: its cause may be gone.
    #[must_use]
    pub fn enqueued(&self, new: &NewJob, now: Timestamp) -> Option<Self> {
        let due_at = new.due_at.max(now);
        let is_served = self.succeeded_at.is_some_and(|succeeded| new.due_at <= succeeded);
        if is_served {
            return None;
        }
        let pending = match self.status {
            JobStatus::Done | JobStatus::Failed => Self {
                status: JobStatus::Pending,
                payload: new.payload.clone(),
                due_at,
                failures: 0,
                ..self.clone()
            },
            JobStatus::Pending if self.payload != new.payload => Self {
                payload: new.payload.clone(),
                due_at: self.due_at.min(due_at),
                failures: 0,
                ..self.clone()
            },
            JobStatus::Pending if self.failures == 0 => {
                Self { due_at: self.due_at.min(due_at), ..self.clone() }
            }
            JobStatus::Pending | JobStatus::Claimed(_) => return None,
        };
        (pending != *self).then_some(pending)
    }

    /// True if a worker may claim the job.
    #[must_use]
    pub fn is_claimable(&self, now: Timestamp) -> bool {
        match &self.status {
            JobStatus::Pending => self.due_at <= now,
            JobStatus::Claimed(claim) => claim.until <= now,
            JobStatus::Done | JobStatus::Failed => false,
        }
    }

    /// The job after a worker claimed it; `None` if it is not claimable. A claim that expired counts as a
    /// failed attempt: its worker died.
    #[must_use]
    pub fn claimed(&self, claim: &JobClaim, now: Timestamp) -> Option<Self> {
        let has_expired = matches!(self.status, JobStatus::Claimed(_));
        self.is_claimable(now).then(|| Self {
            status: JobStatus::Claimed(claim.clone()),
            failures: self.failures.saturating_add(u32::from(has_expired)),
            ..self.clone()
        })
    }

    /// The job with the claim extended; `None` if the worker no longer has the claim.
    #[must_use]
    pub fn extended(&self, claim: &JobClaim) -> Option<Self> {
        self.is_claimed_by(&claim.worker)
            .then(|| Self { status: JobStatus::Claimed(claim.clone()), ..self.clone() })
    }

    /// The job after an attempt; `None` if the worker no longer has the claim.
    #[must_use]
    pub fn finished(&self, worker: &str, outcome: &JobOutcome, now: Timestamp) -> Option<Self> {
        if !self.is_claimed_by(worker) {
            return None;
        }
        let ended = Self { finished_at: Some(now), ..self.clone() };
        let succeeded =
            Self { succeeded_at: Some(now), failures: 0, last_error: None, ..ended.clone() };
        Some(match outcome {
            JobOutcome::Done => Self { status: JobStatus::Done, ..succeeded },
            JobOutcome::DoneUntil(due_at) => {
                Self { status: JobStatus::Pending, due_at: *due_at, ..succeeded }
            }
            JobOutcome::Obsolete => {
                Self { status: JobStatus::Done, failures: 0, last_error: None, ..ended }
            }
            JobOutcome::Failed { error, retry } => {
                let failures = self.failures.saturating_add(1);
                let due_at = now.saturating_add(retry.delay(failures)).unwrap_or(Timestamp::MAX);
                let is_last = retry.attempts.is_some_and(|attempts| failures >= attempts);
                let status = if is_last { JobStatus::Failed } else { JobStatus::Pending };
                let last_error = Some(storable(error));
                Self { status, due_at, failures, last_error, ..ended }
            }
        })
    }

    fn is_claimed_by(&self, worker: &str) -> bool {
        matches!(&self.status, JobStatus::Claimed(claim) if claim.worker == worker)
    }
}

impl RetryPolicy {
    /// The delay before the next attempt after a number of failures.
    #[must_use]
    pub fn delay(&self, failures: u32) -> SignedDuration {
        let doublings = failures.saturating_sub(1).min(MAX_DOUBLINGS);
        let delay = self.first_delay.checked_mul(1 << doublings);
        delay.unwrap_or(self.longest_delay).min(self.longest_delay)
    }
}

/// An error as it is stored: shortened, and without NUL, which PostgreSQL stores in no text.
fn storable(error: &str) -> String {
    let end = (0..=LONGEST_ERROR).rev().find(|&end| error.is_char_boundary(end));
    error.get(..end.unwrap_or_default()).unwrap_or(error).replace('\0', "\u{FFFD}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::JobId;

    const RETRY: RetryPolicy = RetryPolicy {
        first_delay: SignedDuration::from_mins(1),
        longest_delay: SignedDuration::from_mins(60),
        attempts: Some(3),
    };

    fn at(minute: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minute)
    }

    fn new(payload: &str, due: i64) -> NewJob {
        NewJob { id: JobId::new("fetch", "a"), payload: payload.into(), due_at: at(due) }
    }

    fn claim(worker: &str, until: i64) -> JobClaim {
        JobClaim { worker: worker.into(), until: at(until) }
    }

    /// A job that `x` claimed at minute 1 until minute 5.
    fn claimed() -> Job {
        Job::new(&new("p", 1), at(0)).claimed(&claim("x", 5), at(1)).unwrap()
    }

    fn failed(job: &Job, now: i64) -> Job {
        let outcome = JobOutcome::Failed { error: "no route".into(), retry: RETRY };
        job.finished("x", &outcome, at(now)).unwrap()
    }

    #[test]
    fn a_job_is_claimed_once_it_is_due_and_by_one_worker() {
        let job = Job::new(&new("p", 1), at(0));
        assert_eq!(job.claimed(&claim("x", 5), at(0)), None);
        assert_eq!(claimed().claimed(&claim("y", 6), at(4)), None);
        assert_eq!(claimed().extended(&claim("y", 9)), None);
        assert_eq!(claimed().finished("y", &JobOutcome::Done, at(2)), None);
        let extended = claimed().extended(&claim("x", 9)).unwrap();
        assert!(!extended.is_claimable(at(8)) && extended.is_claimable(at(9)));
    }

    #[test]
    fn the_claim_of_a_crashed_worker_expires_and_counts_as_a_failure() {
        let taken = claimed().claimed(&claim("y", 9), at(5)).unwrap();
        assert_eq!((taken.failures, taken.status.as_str()), (1, "claimed"));
        // The worker was only slow: its outcome no longer counts.
        assert_eq!(taken.finished("x", &JobOutcome::Done, at(6)), None);
    }

    #[test]
    fn a_failure_is_retried_with_growing_delays_until_attempts_are_used_up() {
        let once = failed(&claimed(), 2);
        assert_eq!(
            (once.status.clone(), once.due_at, once.failures),
            (JobStatus::Pending, at(3), 1)
        );
        assert_eq!(once.last_error.as_deref(), Some("no route"));
        let twice = failed(&once.claimed(&claim("x", 9), at(3)).unwrap(), 4);
        assert_eq!((twice.status.clone(), twice.due_at), (JobStatus::Pending, at(6)));
        let thrice = failed(&twice.claimed(&claim("x", 9), at(6)).unwrap(), 7);
        assert_eq!(thrice.status, JobStatus::Failed);
        assert!(!thrice.is_claimable(Timestamp::MAX));
        assert_eq!(RETRY.delay(40), RETRY.longest_delay);
    }

    #[test]
    fn a_success_forgets_failures() {
        let retried = failed(&claimed(), 2).claimed(&claim("x", 9), at(3)).unwrap();
        let done = retried.finished("x", &JobOutcome::Done, at(4)).unwrap();
        assert_eq!((done.status, done.failures, done.last_error), (JobStatus::Done, 0, None));
        let again = retried.finished("x", &JobOutcome::DoneUntil(at(60)), at(4)).unwrap();
        assert_eq!((again.status, again.due_at), (JobStatus::Pending, at(60)));
    }

    #[test]
    fn a_success_serves_all_earlier_requests() {
        let done = claimed().finished("x", &JobOutcome::Done, at(4)).unwrap();
        assert_eq!(done.enqueued(&new("p", 4), at(0)), None);
        let again = done.enqueued(&new("q", 5), at(0)).unwrap();
        assert_eq!((again.status, again.payload.as_str()), (JobStatus::Pending, "q"));
        let recurring = claimed().finished("x", &JobOutcome::DoneUntil(at(60)), at(4)).unwrap();
        assert_eq!(recurring.enqueued(&new("p", 3), at(0)), None, "a server whose memory is old");
        assert_eq!(recurring.enqueued(&new("p", 60), at(0)), None);
        assert_eq!(
            recurring.enqueued(&new("p", 30), at(0)).unwrap().due_at,
            at(30),
            "a new schedule"
        );
    }

    #[test]
    fn a_canceled_job_can_be_requested_again() {
        let obsolete = claimed().finished("x", &JobOutcome::Obsolete, at(4)).unwrap();
        assert_eq!(obsolete.status, JobStatus::Done);
        assert!(obsolete.enqueued(&new("p", 0), at(0)).is_some(), "it never succeeded");
    }

    #[test]
    fn a_pending_job_is_not_enqueued_twice() {
        let job = Job::new(&new("p", 5), at(0));
        assert_eq!(job.enqueued(&new("p", 7), at(0)), None);
        assert_eq!(job.enqueued(&new("p", 3), at(0)).unwrap().due_at, at(3));
        assert_eq!(claimed().enqueued(&new("q", 0), at(0)), None);
        let retrying = failed(&claimed(), 2);
        assert_eq!(retrying.enqueued(&new("p", 0), at(0)), None, "it waits for its retry");
        let mended = retrying.enqueued(&new("q", 0), at(0)).unwrap();
        assert_eq!((mended.due_at, mended.failures), (at(0), 0));
    }

    #[test]
    fn long_errors_are_cut_between_characters() {
        assert_eq!(storable(&"é".repeat(600)), "é".repeat(500));
        assert_eq!(storable("short"), "short");
    }
}
