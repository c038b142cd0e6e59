//! Look-ups of a batch by several threads.
//!
//! The accounts and ledgers that a batch needs are scattered over the chain. Each of them is a read of the disk if memory does
//! not hold the chain, and a disk answers many readers together sooner than one after another.

use std::{panic::resume_unwind, thread};

use super::reader::Reader;
use crate::GraphError;

/// Most threads that look keys up: the disks that were measured answer no more than about as many readers together sooner.
const MOST_THREADS: usize = 16;
/// Fewest keys of a thread, whose start costs about as much as a few look-ups.
const FEWEST_KEYS: usize = 256;

/// Looks keys up, in parts of equal size by as many threads as pay, and returns what is found in the order of the keys. Each
/// thread reads in a transaction of its own: the caller holds the writer's lock and writes nothing meanwhile, so that all
/// read the same state.
///
/// # Errors
///
/// Returns the error of the first part that fails.
pub(super) fn in_parts<K: Sync, F: Send>(
    reader: &Reader<'_>,
    keys: &[K],
    look_up: impl Fn(&Reader<'_>, &[K]) -> Result<Vec<F>, GraphError> + Sync,
) -> Result<Vec<F>, GraphError> {
    let threads = (keys.len() / FEWEST_KEYS).clamp(1, MOST_THREADS);
    if threads == 1 {
        return look_up(reader, keys);
    }
    let (twin, look_up) = (reader.twin(), &look_up);
    thread::scope(|scope| {
        let parts = keys.chunks(keys.len().div_ceil(threads)).map(|part| {
            let read = move || {
                let transaction = twin.environment().read()?;
                look_up(&twin.read(&transaction), part)
            };
            // Without a further thread, this one reads the part.
            thread::Builder::new().spawn_scoped(scope, read).map_err(|_| part)
        });
        let mut found = Vec::with_capacity(keys.len());
        for part in parts.collect::<Vec<_>>() {
            let of_part = match part {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(part) => look_up(reader, part),
            };
            found.append(&mut of_part?);
        }
        Ok(found)
    })
}
