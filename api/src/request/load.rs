//! Load shedding: when too many requests are in flight, refuses requests without a valid key first,
//! then bulk requests, then single checks. No queue builds up, and valid single checks are answered
//! longest.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use assay_request::problem::{Code, Problem};
use axum::http::header;

/// Priority class of a request, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Without a valid key.
    Unauthenticated,
    /// Many rows in one request.
    Bulk,
    /// All other requests with a valid key.
    Single,
}

impl Class {
    /// Returns the name in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unauthenticated => "unauthenticated",
            Self::Bulk => "bulk",
            Self::Single => "single",
        }
    }

    /// Returns the share of the capacity open to this class, in quarters.
    const fn quarters(self) -> usize {
        match self {
            Self::Unauthenticated => 2,
            Self::Bulk => 3,
            Self::Single => 4,
        }
    }
}

/// Number and capacity of requests in flight.
#[derive(Debug)]
pub struct Load {
    capacity: usize,
    in_flight: Arc<AtomicUsize>,
}

impl Load {
    /// Allows at most `capacity` requests in flight.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, in_flight: Arc::default() }
    }

    /// Returns a permit for a request; `None` if the capacity of its class is used up.
    #[must_use]
    pub fn acquire(&self, class: Class) -> Option<Permit> {
        let before = self.in_flight.fetch_add(1, Ordering::Relaxed);
        // Dropped, and thereby given back, if there is no capacity.
        let permit = Permit(Arc::clone(&self.in_flight));
        (before < self.capacity_of(class)).then_some(permit)
    }

    fn capacity_of(&self, class: Class) -> usize {
        (self.capacity * class.quarters()).div_ceil(4)
    }
}

/// Permit of one request in flight, released on drop.
#[derive(Debug)]
pub struct Permit(Arc<AtomicUsize>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the problem of a request without a permit.
pub fn overloaded() -> Problem {
    let detail = "too many requests are in flight on this server; try again in one second";
    Problem::new(Code::Overloaded, detail).header(header::RETRY_AFTER, "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unauthenticated_requests_are_shed_first_then_bulk_then_single_checks() {
        let load = Load::new(8);
        let mut permits = Vec::new();
        let mut fill = |class: Class| {
            let before = permits.len();
            while let Some(permit) = load.acquire(class) {
                permits.push(permit);
            }
            permits.len() - before
        };
        assert_eq!(fill(Class::Unauthenticated), 4);
        assert_eq!(fill(Class::Bulk), 2);
        assert_eq!(fill(Class::Single), 2);
        assert_eq!(fill(Class::Unauthenticated) + fill(Class::Bulk), 0);
        permits.truncate(3);
        assert!(load.acquire(Class::Unauthenticated).is_some(), "permits are released");
    }

    #[test]
    fn a_capacity_of_one_is_open_to_every_class() {
        let load = Load::new(1);
        let permit = load.acquire(Class::Unauthenticated);
        assert!(permit.is_some() && load.acquire(Class::Single).is_none());
    }
}
