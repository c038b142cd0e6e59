//! Bounds of an answer: it shows the strongest items of each kind and the number of the rest, which count all the same.

use super::decisive::{OfOrigin, Origin};
use crate::{
    assessment::{ComponentKind, ScoringComponent},
    score::Score,
};

/// Largest number of items of one kind that an answer shows.
pub(super) const MOST_SHOWN: usize = 100;

/// Items that an answer shows, and the number of the others.
pub(super) struct Shown<T> {
    pub(super) items: Vec<T>,
    pub(super) further: u64,
}

impl<T> Default for Shown<T> {
    fn default() -> Self {
        Self { items: Vec::new(), further: 0 }
    }
}

/// Counts what is shown: at most [`MOST_SHOWN`] items, and of items with long texts the first ones whose texts have at
/// most a number of bytes together.
pub(super) struct Room {
    items: usize,
    bytes: usize,
}

impl Room {
    /// Room for texts of `bytes` bytes.
    pub(super) const fn for_texts(bytes: usize) -> Self {
        Self { items: MOST_SHOWN, bytes }
    }

    /// Takes the room of one item with texts of `bytes` bytes; false if no room is left, for this item and all later
    /// ones. The first item always has room.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let is_first = self.items == MOST_SHOWN;
        if self.items == 0 || bytes > self.bytes && !is_first {
            self.items = 0;
            return false;
        }
        self.items -= 1;
        self.bytes = self.bytes.saturating_sub(bytes);
        true
    }

    /// The first items for which there is room.
    pub(super) fn first<T>(
        mut self,
        items: impl IntoIterator<Item = T>,
        bytes: impl Fn(&T) -> usize,
    ) -> Shown<T> {
        let mut shown = Shown::default();
        for item in items {
            if self.take(bytes(&item)) {
                shown.items.push(item);
            } else {
                shown.further += 1;
            }
        }
        shown
    }
}

/// Keeps the first [`MOST_SHOWN`] components of flows, and adds one component with the number and the contribution of
/// the others.
pub(super) fn bound_flows(components: &mut Vec<OfOrigin>) {
    let (mut shown, mut further, mut tenths) = (0, 0_u64, 0_u16);
    let mut origins = Origin::default();
    components.retain(|OfOrigin { component, origin }| {
        if component.kind != ComponentKind::Exposure {
            return true;
        }
        shown += 1;
        if shown > MOST_SHOWN {
            further += 1;
            tenths += component.contribution.tenths();
            origins.add(origin.clone());
        }
        shown <= MOST_SHOWN
    });
    if further > 0 {
        let component = ScoringComponent {
            kind: ComponentKind::Exposure,
            contribution: Score::from_tenths(tenths),
            detail: format!("further flows: {further}"),
            ..ScoringComponent::default()
        };
        components.push(OfOrigin { component, origin: origins });
    }
}
