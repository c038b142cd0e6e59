//! What a reader keeps while it reads one state: the places of pages and blocks that it found.

use std::cell::{Cell, OnceCell};

use super::record::StoredBlock;

/// What is looked up before anything is kept: most readers look up little and end.
const FIRST: u32 = 48;
/// Pages of a column that are kept, by the last bits of their numbers.
const PAGES: usize = 1 << 13;
/// Blocks that are kept.
const BLOCKS: usize = 1 << 9;

/// A page that was found, with its number.
type Slot<'t> = Cell<(u64, &'t [u8])>;

/// Pages of a column by their numbers.
#[derive(Default)]
pub(super) struct KeptPages<'t> {
    looked_up: Cell<u32>,
    slots: OnceCell<Box<[Slot<'t>]>>,
}

impl<'t> KeptPages<'t> {
    /// The page of a number; `find` looks it up where it is not kept.
    #[inline]
    pub(super) fn get<E>(
        &self,
        page: u64,
        find: impl FnOnce() -> Result<Option<&'t [u8]>, E>,
    ) -> Result<Option<&'t [u8]>, E> {
        let Some(slots) = self.slots.get() else {
            if is_often(&self.looked_up) {
                let _ = self.slots.set(vec![Cell::new((u64::MAX, &[][..])); PAGES].into());
            }
            return find();
        };
        let Some(slot) = slots.get(index(page, PAGES)) else { return find() };
        let (kept, bytes) = slot.get();
        if kept == page {
            return Ok(Some(bytes));
        }
        let found = find()?;
        if let Some(bytes) = found {
            slot.set((page, bytes));
        }
        Ok(found)
    }
}

/// Blocks by their heights.
#[derive(Default)]
pub(super) struct KeptBlocks {
    looked_up: Cell<u32>,
    slots: OnceCell<Box<[Cell<Option<StoredBlock>>]>>,
}

impl KeptBlocks {
    /// The block at a height; `find` looks it up where it is not kept.
    #[inline]
    pub(super) fn get<E>(
        &self,
        height: u64,
        find: impl FnOnce() -> Result<Option<StoredBlock>, E>,
    ) -> Result<Option<StoredBlock>, E> {
        let Some(slots) = self.slots.get() else {
            if is_often(&self.looked_up) {
                let _ = self.slots.set(vec![Cell::new(None); BLOCKS].into());
            }
            return find();
        };
        let Some(slot) = slots.get(index(height, BLOCKS)) else { return find() };
        if let Some(kept) = slot.get().filter(|kept| kept.block.height == height) {
            return Ok(Some(kept));
        }
        let found = find()?;
        if found.is_some() {
            slot.set(found);
        }
        Ok(found)
    }
}

/// Counts a look-up; true from the one on from which it is worth to keep what is found.
fn is_often(looked_up: &Cell<u32>) -> bool {
    let count = looked_up.get();
    looked_up.set(count.saturating_add(1));
    count >= FIRST
}

/// The slot of a number among so many, which are a power of two.
#[inline]
fn index(number: u64, slots: usize) -> usize {
    usize::try_from(number).unwrap_or(0) & (slots - 1)
}
