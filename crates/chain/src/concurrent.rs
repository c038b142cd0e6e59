//! Fetching of many blocks over several connections.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::http::MAX_RESPONSE_BYTES;

/// Bounds of requests to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchBounds {
    /// Number of connections.
    pub connections: usize,
    /// Maximum number of bytes of one of several concurrent responses; a larger block is fetched alone.
    pub shared_answer: u64,
    /// Maximum number of bytes of a response that is fetched alone.
    pub largest_answer: u64,
}

impl Default for FetchBounds {
    /// Returns bounds of four connections, as many as a node on two cores can serve. Responses have about 4 MB each, and at
    /// most 96 MB together if blocks suddenly grow.
    fn default() -> Self {
        Self { connections: 4, shared_answer: 24 * 1024 * 1024, largest_answer: MAX_RESPONSE_BYTES }
    }
}

/// Fetches chunks of blocks over several connections, up to a number of entries, and returns the results up to the first
/// chunk that is incomplete. `weight` is the number of entries of a block; `fetch` gets a chunk, and a function that says
/// after some results whether to go on.
pub(crate) fn fetch_chunks<Q: Sync, T: Send, E: Send>(
    chunks: &[&[Q]],
    connections: usize,
    entries: usize,
    weight: impl Fn(&T) -> usize + Sync,
    fetch: impl Fn(&[Q], GoesOn<'_, T, E>) -> Vec<Result<T, E>> + Sync,
) -> Vec<Result<T, E>> {
    let fetched: Vec<_> = chunks.iter().map(|_| Mutex::new(Vec::new())).collect();
    let (next, so_far) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // Keeps sums within range.
    let entries = entries.min(usize::MAX / 2);
    let goes_on = |fetched: &[Result<T, E>]| {
        let more: usize = fetched.iter().flatten().map(&weight).sum();
        if fetched.iter().any(Result::is_err) {
            // Blocks after a failed one cannot be used.
            so_far.fetch_max(entries, Ordering::Relaxed);
        }
        so_far.fetch_add(more, Ordering::Relaxed).saturating_add(more) < entries
    };
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let (Some(chunk), Some(place)) = (chunks.get(at), fetched.get(at)) else { break };
            if at > 0 && !goes_on(&[]) {
                break;
            }
            let blocks = fetch(chunk, &goes_on);
            *place.lock().unwrap_or_else(PoisonError::into_inner) = blocks;
        }
    };
    if chunks.len() > 1 {
        thread::scope(|scope| {
            for _ in 0..connections.min(chunks.len()) {
                scope.spawn(work);
            }
        });
    } else {
        work();
    }
    let mut whole = Vec::with_capacity(chunks.iter().map(|chunk| chunk.len()).sum());
    for (chunk, place) in chunks.iter().zip(fetched) {
        let blocks = place.into_inner().unwrap_or_else(PoisonError::into_inner);
        let complete = blocks.len() == chunk.len();
        whole.extend(blocks);
        if !complete {
            break;
        }
    }
    whole
}

/// Says after some results whether to go on.
type GoesOn<'a, T, E> = &'a dyn Fn(&[Result<T, E>]) -> bool;
/// Fetches blocks together, or refuses to.
type FetchWhole<'a, Q, T, E> = &'a dyn Fn(&[Q]) -> Option<Vec<Result<T, E>>>;

/// Fetches blocks together by `whole`. If it does not fetch so many together, or the answer is too large, fetches one half
/// after the other, down to single blocks. Ends after at least one block once `goes_on` returns `false` for the results so
/// far.
pub(crate) fn fetch_in_parts<Q, T, E>(
    wanted: &[Q],
    whole: FetchWhole<'_, Q, T, E>,
    is_too_large: &dyn Fn(&Result<T, E>) -> bool,
    goes_on: GoesOn<'_, T, E>,
) -> Vec<Result<T, E>> {
    let (first, second) = wanted.split_at(wanted.len() / 2);
    if let Some(fetched) = whole(wanted)
        && (first.is_empty() || !fetched.iter().any(is_too_large))
    {
        goes_on(&fetched);
        return fetched;
    }
    if first.is_empty() {
        return Vec::new();
    }
    let mut fetched = fetch_in_parts(first, whole, is_too_large, goes_on);
    if fetched.iter().all(Result::is_ok) && goes_on(&[]) {
        fetched.extend(fetch_in_parts(second, whole, is_too_large, goes_on));
    }
    fetched
}
