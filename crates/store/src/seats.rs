//! Seats: numbered places that servers hold in a shared store, each worth a fixed share of every limit.
//!
//! Whoever holds a seat may spend its share, the floor, without asking anybody; so nobody else may give
//! out what a seat can still spend. All times here are by the database's clock, and only differences
//! between them mean anything to a server, whose own clock may be wrong.
//!
//! What a holder may rely on:
//!
//! - A seat belongs to nobody else before [`Seat::expires_at`]. Reckoned by a server's own clock from
//!   before it asked, that moment is never too late.
//! - Whoever held it before can have spent until [`Seat::previous_expiry`]: in a window that had begun by
//!   then, the seat is spent.

use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::StoreError;

/// A seat that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its number, from 0.
    pub number: u32,
    /// When the holder took it; renewals do not change that.
    pub claimed_at: Timestamp,
    /// From when on somebody else may take it, unless it is renewed.
    pub expires_at: Timestamp,
    /// Until when the holder before could spend; `None` where there was none.
    pub previous_expiry: Option<Timestamp>,
}

/// All seats at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seating {
    /// The moment.
    pub now: Timestamp,
    /// How many seats there are.
    pub total: u32,
    /// Of every seat that was ever held, when it expires or expired.
    pub expiries: Vec<Timestamp>,
}

impl Seating {
    /// How many seats can have been spent in a window that began at `start`, or still can.
    ///
    /// A seat that expired before counts nothing: its holder did not spend any more then. One that
    /// expired since does, however long its holder is gone: nobody knows what it spent.
    #[must_use]
    pub fn live_since(&self, start: Timestamp) -> u32 {
        let live = self.expiries.iter().filter(|expiry| **expiry > start).count();
        u32::try_from(live).unwrap_or(u32::MAX)
    }

    /// How many seats can have been spent, or still can, in any window that runs now and is no longer
    /// than `longest`.
    #[must_use]
    pub fn live(&self, longest: Duration) -> u32 {
        let longest = SignedDuration::try_from(longest).unwrap_or(SignedDuration::MAX);
        self.live_since(self.now.saturating_sub(longest).unwrap_or(Timestamp::MIN))
    }
}

/// What became of asking for a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seated {
    /// The seat that the holder has now, if any.
    pub seat: Option<Seat>,
    /// All seats, this one included.
    pub seating: Seating,
}

/// Seats of a store. Each call is one statement.
#[async_trait]
pub trait Seats {
    /// Takes the lowest seat that is free (never held, or expired) for as long as `lease`. A holder that
    /// has one gets the same again, renewed: an answer that was lost costs nothing.
    async fn claim_seat(&self, holder: &str, lease: Duration) -> Result<Seated, StoreError>;

    /// Makes a seat last `lease` from now. None where it expired: then it must be claimed again, as by
    /// anybody else.
    async fn renew_seat(&self, holder: &str, lease: Duration) -> Result<Seated, StoreError>;

    /// Gives a seat up: others can take it at once. In windows that run, it counts as spent.
    async fn release_seat(&self, holder: &str) -> Result<(), StoreError>;

    /// All seats.
    async fn seating(&self) -> Result<Seating, StoreError>;

    /// Makes as many seats as `total`.
    ///
    /// # Errors
    ///
    /// [`StoreError::SeatsInUse`] where another number would change what a seat is worth while one can
    /// have been spent in a window of up to `longest`.
    async fn set_seats(&self, total: u32, longest: Duration) -> Result<(), StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_seat_counts_in_every_window_in_which_it_can_have_been_spent() {
        // One held, one that expired 10 s ago, one long ago.
        let expiries = vec![second(1_030), second(990), second(10)];
        let seating = Seating { now: second(1_000), total: 16, expiries };
        assert_eq!(seating.live_since(second(1_000)), 1, "a window that begins now");
        assert_eq!(
            seating.live_since(second(989)),
            2,
            "a window that began before the second died"
        );
        assert_eq!(seating.live_since(second(990)), 1, "a window that began as it died");
        assert_eq!(seating.live(Duration::from_secs(5)), 1);
        assert_eq!(seating.live(Duration::from_hours(1)), 3, "it may have begun before time began");
        assert_eq!(seating.live(Duration::MAX), 3);
    }
}
