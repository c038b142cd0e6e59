//! Numbers of claims: pieces of evidence with one claim count once.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{evidence::AddressLabels, taxonomy::Category};

/// A claim about the address. Of terms with one claim only the strongest adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim(u32);

/// Numbers below this one are those of categories.
const FIRST_UPSTREAM: u32 = 256;

impl Claim {
    /// The risky claims of an upstream, whatever their categories: one source has one voice.
    pub(super) const fn of_upstream(upstream: u32) -> Self {
        Self(FIRST_UPSTREAM.saturating_add(upstream))
    }

    /// The benign claims of one category, of any source.
    pub(super) fn benign(category: Category) -> Self {
        Self(u32::from(category as u8))
    }

    /// A small number, different for each claim.
    pub(super) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Numbers of the upstreams of an assessment: those of the subject's own labels first.
pub(super) struct Upstreams<'f> {
    own: &'f AddressLabels,
    /// Numbers by name, filled when another address's label is met.
    numbers: FxHashMap<Arc<str>, u32>,
    next: u32,
}

impl<'f> Upstreams<'f> {
    pub(super) fn of(own: &'f AddressLabels) -> Self {
        Self { own, numbers: FxHashMap::default(), next: own.upstreams() }
    }

    /// The number of an upstream.
    pub(super) fn number(&mut self, upstream: &Arc<str>) -> u32 {
        if self.numbers.is_empty() {
            for (label, number) in self.own.with_upstreams() {
                self.numbers.entry(Arc::clone(&label.upstream)).or_insert(number);
            }
        }
        let next = &mut self.next;
        *self.numbers.entry(Arc::clone(upstream)).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }
}
