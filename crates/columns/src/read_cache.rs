//! What a reader keeps while it reads one state: the places of pages and records that it found.

use std::cell::{Cell, OnceCell};

/// What is looked up before anything is kept: most readers look up little and end.
const FIRST: u32 = 48;

/// Values by their numbers, in so many slots, which are a power of two: by the last bits of their numbers.
#[derive(Debug)]
pub struct ReadCache<T: Copy, const SLOTS: usize> {
    looked_up: Cell<u32>,
    slots: OnceCell<Box<[Slot<T>]>>,
}

/// A value that was found, with its number.
type Slot<T> = Cell<Option<(u64, T)>>;

impl<T: Copy, const SLOTS: usize> Default for ReadCache<T, SLOTS> {
    fn default() -> Self {
        Self { looked_up: Cell::default(), slots: OnceCell::new() }
    }
}

impl<T: Copy, const SLOTS: usize> ReadCache<T, SLOTS> {
    /// The value of a number; `find` looks it up where it is not kept.
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
