//! Seats: places that servers hold in a shared store, each worth a fixed share of every limit.
//!
//! Whoever holds a seat may spend its share, the floor, without asking anybody; so nobody else may give
//! out what a seat can still spend. All times here are by the database's clock, and only differences
//! between them mean anything to a server, whose own clock may be wrong.
//!
//! A seat belongs to nobody else before it expires. Reckoned by a server's own clock from before it asked,
//! that moment is never too late.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::StoreError;

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

/// What became of asking for a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seated {
    /// Whether the holder has one now.
    pub has_seat: bool,
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
}
