//! A cache for a reader of one state of the tables: the pages and records that it read.

use std::cell::{Cell, OnceCell};

/// Number of lookups before the cache is allocated: most readers look up less and finish.
const FIRST: u32 = 48;

/// A cache of values by number with `SLOTS` slots, a power of two: the last bits of a number choose its slot.
#[derive(Debug)]
pub struct ReadCache<T: Copy, const SLOTS: usize> {
    looked_up: Cell<u32>,
    slots: OnceCell<Box<[Slot<T>]>>,
}

/// A cached value with its number.
type Slot<T> = Cell<Option<(u64, T)>>;

impl<T: Copy, const SLOTS: usize> Default for ReadCache<T, SLOTS> {
    fn default() -> Self {
        Self { looked_up: Cell::default(), slots: OnceCell::new() }
    }
}

impl<T: Copy, const SLOTS: usize> ReadCache<T, SLOTS> {
    /// The value of a number; `find` looks it up if it is not cached.
    ///
    /// # Errors
    ///
    /// Returns the error of `find`.
    #[inline]
    pub fn get<E>(
        &self,
        number: u64,
        find: impl FnOnce() -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        let Some(slots) = self.slots.get() else {
            let count = self.looked_up.get();
            self.looked_up.set(count.saturating_add(1));
            if count >= FIRST {
                let _ = self.slots.set(vec![Cell::new(None); SLOTS].into());
            }
            return find();
        };
        let index = usize::try_from(number).unwrap_or(0) & (SLOTS - 1);
        let Some(slot) = slots.get(index) else { return find() };
        if let Some((kept, value)) = slot.get()
            && kept == number
        {
            return Ok(Some(value));
        }
        let found = find()?;
        if let Some(value) = found {
            slot.set(Some((number, value)));
        }
        Ok(found)
    }
}
