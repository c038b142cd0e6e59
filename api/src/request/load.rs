//! What is refused when too many requests are under way: who cannot be served anyway first, then bulk,
//! then single checks. So whoever pays keeps being answered, and no queue grows.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use assay_request::problem::{Code, Problem};
use axum::http::header;

/// What a request is worth when not all can be answered, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Without a good key.
    Unauthenticated,
    /// Many rows in one request.
    Bulk,
    /// Everything else that has a good key.
    Single,
}

impl Class {
    /// Its name in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unauthenticated => "unauthenticated",
            Self::Bulk => "bulk",
            Self::Single => "single",
        }
    }

    /// How many quarters of all places this class may fill.
    const fn quarters(self) -> usize {
        match self {
            Self::Unauthenticated => 2,
            Self::Bulk => 3,
            Self::Single => 4,
        }
    }
}

/// How many requests are under way, and how many may be.
#[derive(Debug)]
pub struct Load {
    most: usize,
    under_way: Arc<AtomicUsize>,
}

impl Load {
    /// At most so many requests at once.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, under_way: Arc::default() }
    }

    /// A place for a request; `None` where its class has none left.
    #[must_use]
    pub fn enter(&self, class: Class) -> Option<Permit> {
        let before = self.under_way.fetch_add(1, Ordering::Relaxed);
        // Given back where there was no room.
        let place = Permit(Arc::clone(&self.under_way));
        (before < self.room(class)).then_some(place)
    }

    fn room(&self, class: Class) -> usize {
        (self.most * class.quarters()).div_ceil(4)
    }
}

/// One request's place, until it is dropped.
#[derive(Debug)]
pub struct Permit(Arc<AtomicUsize>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a request is told that found no place.
pub fn overloaded() -> Problem {
    let detail = "too many requests are under way here; try again in a second";
    Problem::new(Code::Overloaded, detail).header(header::RETRY_AFTER, "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_refused_first_then_bulk_then_single_checks() {
        let load = Load::new(8);
        let mut places = Vec::new();
        let mut fill = |class: Class| {
            let before = places.len();
            while let Some(place) = load.enter(class) {
                places.push(place);
            }
            places.len() - before
        };
        assert_eq!(fill(Class::Unauthenticated), 4);
        assert_eq!(fill(Class::Bulk), 2);
        assert_eq!(fill(Class::Single), 2);
        assert_eq!(fill(Class::Unauthenticated) + fill(Class::Bulk), 0);
        places.truncate(3);
        assert!(load.enter(Class::Unauthenticated).is_some(), "places are given back");
    }

    #[test]
    fn one_place_is_one_for_everybody() {
        let load = Load::new(1);
        let place = load.enter(Class::Unauthenticated);
        assert!(place.is_some() && load.enter(Class::Single).is_none());
    }
}
