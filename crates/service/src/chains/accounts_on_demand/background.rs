//! Reading beside the checks, with requests of its own: freezes by issuers of tokens, and lists of severe parties.

use std::{sync::PoisonError, time::Duration};

use assay_intel::IntelSnapshot;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::{AccountsOnDemand, freezes::KnownFreezes, reached::ReachedAccounts};
use crate::chains::subject::ReadError;

/// Time after which the API is asked for newer freezes.
const FREEZES_AGE: SignedDuration = SignedDuration::from_mins(30);
/// Time after which freezes are asked for again that could not all be read.
const RETRY_AFTER: SignedDuration = SignedDuration::from_mins(1);
/// Most requests for all freezes of a chain.
const REQUESTS_FOR_FREEZES: u32 = 100;
/// Time after which further lists of severe parties are read.
const REACHED_AGE: SignedDuration = SignedDuration::from_mins(10);
/// Time for which a list of a severe party, or of a payee of one, is used.
const LISTS_AGE: SignedDuration = SignedDuration::from_hours(24);
/// Most requests for such lists at once: 4,320 a day, a small part of a free plan.
const REQUESTS_FOR_REACHED: u32 = 30;

impl AccountsOnDemand {
    /// Reads freezes by issuers of tokens if they were not read for a while. One call at a time reads.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn refresh_freezes(&self, bound: Duration, now: Timestamp) -> Result<(), ReadError> {
        let Ok(_reading) = self.reading_freezes.try_lock() else { return Ok(()) };
        if !self.asks_for_freezes(now) {
            return Ok(());
        }
        let deadline = Instant::now() + bound;
        let tip = self.newest(deadline, now).await.map_or(0, |(tip, _)| tip.height);
        let mut fetcher = self.fetcher(deadline, (tip, now), REQUESTS_FOR_FREEZES);
        // Another server may have asked just before.
        fetcher.stored.longest_age = FREEZES_AGE / 2;
        let mut known = KnownFreezes::read(self.chain, &mut fetcher, now).await?;
        if fetcher.stopped.is_some() {
            known.read_at = now.checked_sub(FREEZES_AGE.saturating_sub(RETRY_AFTER)).ok();
        }
        *self.freezes.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }

    /// The freezes that are known: at first those that are stored.
    pub(super) async fn known_freezes(
        &self,
        at: (u64, Timestamp),
    ) -> Result<KnownFreezes, ReadError> {
        let known = self.freezes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if known.read_at.is_some() {
            return Ok(known);
        }
        let mut stored = self.fetcher(Instant::now(), at, 0);
        stored.stored.longest_age = FREEZES_AGE * 2;
        let mut known = KnownFreezes::read(self.chain, &mut stored, at.1).await?;
        if !known.are_known {
            // Old freezes are freezes too, and newer ones are not known.
            stored.stored.longest_age = SignedDuration::MAX;
            known = KnownFreezes::read(self.chain, &mut stored, at.1).await?;
            known.are_known = false;
        }
        known.read_at = at.1.checked_sub(FREEZES_AGE).ok();
        let mut kept = self.freezes.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.read_at.is_none() {
            kept.clone_from(&known);
        }
        Ok(known)
    }

    /// True if freezes were not read for a while.
    #[must_use]
    pub fn asks_for_freezes(&self, now: Timestamp) -> bool {
        let known = self.freezes.lock().unwrap_or_else(PoisonError::into_inner);
        known.read_at.is_none_or(|at| now.duration_since(at) >= FREEZES_AGE)
    }

    /// Reads lists of severe parties and of their payees if none were read for a while. One call at a time reads, with few requests:
    /// the lists are read in the course of hours.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub async fn refresh_reached(
        &self,
        bound: Duration,
        intel: &IntelSnapshot,
        now: Timestamp,
    ) -> Result<(), ReadError> {
        let Ok(_reading) = self.reading_reached.try_lock() else { return Ok(()) };
        let read_at = self.reached.lock().unwrap_or_else(PoisonError::into_inner).read_at;
        if read_at.is_some_and(|at| now.duration_since(at) < REACHED_AGE) {
            return Ok(());
        }
        let deadline = Instant::now() + bound;
        // The next time comes also if this one fails: requests that were made are not made again at once.
        self.reached.lock().unwrap_or_else(PoisonError::into_inner).read_at = Some(now);
        let Some((tip, _)) = self.newest(deadline, now).await else { return Ok(()) };
        let named = self.named(intel, intel.day(now));
        let mut fetcher = self.fetcher(deadline, (tip.height, now), REQUESTS_FOR_REACHED);
        fetcher.stored.longest_age = LISTS_AGE;
        fetcher.stored.newest_age = LISTS_AGE;
        let of = (self.chain, self.source.abilities().internal_transfers);
        let found = ReachedAccounts::read(of, &named.ends, &mut fetcher, now).await?;
        self.reached.lock().unwrap_or_else(PoisonError::into_inner).replace_by(found);
        Ok(())
    }
}
