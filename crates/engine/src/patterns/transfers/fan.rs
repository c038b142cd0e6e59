//! Fans: windows of time in which an owner pays, or is paid by, many distinct parties.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    ops::Range,
    time::Duration,
};

use jiff::Timestamp;
use rustc_hash::FxHashMap;

use super::later;
use crate::ledger::OwnerNumber;

/// A window of time with many distinct parties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FanWindow {
    /// Indexes of the window's transfers in the list.
    pub transfers: Range<usize>,
    /// Number of distinct parties of the window's transfers.
    pub parties: u32,
}

/// The fans of a list of transfers, each transfer with its time and the other party, sorted by time.
///
/// A window is a run of the list whose times are at most `within` apart. The search takes the window with the most
/// distinct parties, of several windows the earliest, at its longest; the search then repeats the search in the lists
/// before and after the window, until no window has at least `fewest` parties (at least 1). The windows do not overlap.
///
/// A time that is earlier than the previous time in the list counts as the previous time.
#[must_use]
pub fn fan_windows(
    transfers: impl IntoIterator<Item = (Timestamp, OwnerNumber)>,
    within: Duration,
    fewest: u32,
) -> Vec<FanWindow> {
    let mut search = Search::new(transfers);
    let mut windows = search.windows(within);
    // The best first: by the number of parties, then the earliest.
    let mut waiting: BinaryHeap<(u32, Reverse<usize>)> = windows
        .iter()
        .enumerate()
        .map(|(start, window)| (window.parties, Reverse(start)))
        .collect();
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    let mut found = Vec::new();
    while let Some((parties, Reverse(start))) = waiting.pop() {
        if parties < fewest.max(1) {
            break;
        }
        let Some(window) = windows.get(start).cloned() else { continue };
        let is_taken = taken.range(..=start).next_back().is_some_and(|(_, end)| start < *end);
        if is_taken || window.parties != parties {
            continue;
        }
        taken.insert(start, window.transfers.end);
        found.push(window);
        // What reaches into it ends before it from now on.
        search.forget();
        let mut count = 0;
        for (earlier, window) in windows.iter_mut().enumerate().take(start).rev() {
            if window.transfers.end <= start {
                break;
            }
            count += u32::from(search.is_new(earlier));
            window.transfers.end = start;
            if window.parties != count {
                window.parties = count;
                waiting.push((count, Reverse(earlier)));
            }
        }
    }
    found
}

struct Search {
    times: Vec<Timestamp>,
    /// The party of each transfer, counted from 0.
    parties: Vec<usize>,
    /// For each party the number of its transfers in the window, or the number of the round in which the party was
    /// seen.
    marks: Vec<u32>,
    round: u32,
}

impl Search {
    fn new(transfers: impl IntoIterator<Item = (Timestamp, OwnerNumber)>) -> Self {
        let mut ids = FxHashMap::default();
        let (mut times, mut parties) = (Vec::new(), Vec::new());
        let mut latest = Timestamp::MIN;
        for (time, party) in transfers {
            latest = latest.max(time);
            times.push(latest);
            let next = ids.len();
            parties.push(*ids.entry(party).or_insert(next));
        }
        Self { times, parties, marks: vec![0; ids.len()], round: 0 }
    }

    /// The longest window from each transfer on.
    fn windows(&mut self, within: Duration) -> Vec<FanWindow> {
        let mut windows = Vec::with_capacity(self.times.len());
        let (mut end, mut count) = (0, 0);
        for (start, time) in self.times.iter().enumerate() {
            let last = later(*time, within);
            while self.times.get(end).is_some_and(|time| *time <= last) {
                if let Some(mark) =
                    self.parties.get(end).and_then(|party| self.marks.get_mut(*party))
                {
                    count += u32::from(*mark == 0);
                    *mark += 1;
                }
                end += 1;
            }
            windows.push(FanWindow { transfers: start..end, parties: count });
            if let Some(mark) = self.parties.get(start).and_then(|party| self.marks.get_mut(*party))
            {
                *mark -= 1;
                count -= u32::from(*mark == 0);
            }
        }
        windows
    }

    /// Begins a new round, in which no party has been seen.
    fn forget(&mut self) {
        self.round += 1;
    }

    /// Returns true if the party of a transfer was not seen in this round, and marks it as seen.
    fn is_new(&mut self, transfer: usize) -> bool {
        let mark = self.parties.get(transfer).and_then(|party| self.marks.get_mut(*party));
        mark.is_some_and(|mark| std::mem::replace(mark, self.round) != self.round)
    }
}
