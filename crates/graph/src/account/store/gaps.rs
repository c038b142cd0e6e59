//! Blocks of which transfers inside of transactions are not recorded, because the source could not trace all of their transactions: a
//! bounded list of ranges of heights.

use assay_columns::bytes::ByteReader;
use jiff::Timestamp;

use super::{block::StoredBlock, reader::Reader, tables::INTERNAL_GAPS, view::time_of};
use crate::{GraphError, error::damaged};

/// Most ranges. Beyond it, the two ranges with the fewest blocks between them become one, so that more is told than is missing.
const MOST_RANGES: usize = 1_000;

/// Ranges of heights, each with its first and last one, in their order and with heights between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InternalGaps(Vec<(u64, u64)>);

impl InternalGaps {
    /// True if a block is in a range.
    pub(super) fn contains(&self, height: u64) -> bool {
        let before = self.0.partition_point(|(first, _)| *first <= height);
        before.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|(_, last)| height <= *last)
    }

    /// True if a block above a height is in a range.
    pub(super) fn contains_above(&self, height: u64) -> bool {
        self.0.last().is_some_and(|(_, last)| *last > height)
    }

    /// Adds a block above all others.
    pub(super) fn add(&mut self, height: u64) {
        match self.0.last_mut() {
            Some((_, last)) if height <= last.saturating_add(1) => *last = height.max(*last),
            _ => self.0.push((height, height)),
        }
        if self.0.len() > MOST_RANGES {
            self.join_closest();
        }
    }

    /// Removes the blocks above a height.
    pub(super) fn truncate(&mut self, height: u64) {
        self.0.retain(|(first, _)| *first <= height);
        if let Some((_, last)) = self.0.last_mut() {
            *last = height.min(*last);
        }
    }

    fn join_closest(&mut self) {
        let distances = self.0.iter().zip(self.0.iter().skip(1));
        let distances = distances.map(|((_, end), (begin, _))| begin.saturating_sub(*end));
        let closest = distances.enumerate().min_by_key(|(_, distance)| *distance);
        let Some((at, _)) = closest else { return };
        let (_, end) = self.0.remove(at + 1);
        if let Some((_, last)) = self.0.get_mut(at) {
            *last = end;
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let heights = self.0.iter().flat_map(|(first, last)| [first, last]);
        heights.flat_map(|height| height.to_be_bytes()).collect()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reading = ByteReader(bytes);
        let mut ranges = Vec::new();
        while !reading.0.is_empty() {
            ranges.push((reading.u64()?, reading.u64()?));
        }
        Some(Self(ranges))
    }
}

impl Reader<'_> {
    /// The blocks of which transfers inside of transactions are not recorded.
    pub(super) fn internal_gaps(&self) -> Result<InternalGaps, GraphError> {
        let Some(bytes) = self.tables.meta.get(self.txn, INTERNAL_GAPS)? else {
            return Ok(InternalGaps::default());
        };
        InternalGaps::parse(bytes).ok_or_else(|| damaged("meta", "blocks without traces"))
    }

    /// The times of the first and the last block of each range of [`Self::internal_gaps`].
    pub(super) fn times_of_internal_gaps(&self) -> Result<Vec<(Timestamp, Timestamp)>, GraphError> {
        let gaps = self.internal_gaps()?;
        let time = |block: Option<StoredBlock>| -> Result<_, GraphError> {
            let block = block.ok_or_else(|| damaged("block", "one without traces"))?;
            Ok(time_of(block.block.time.as_millisecond()))
        };
        let range = |(first, last): &(u64, u64)| -> Result<_, GraphError> {
            Ok((time(self.block_from(*first)?)?, time(self.block_up_to(*last)?)?))
        };
        gaps.0.iter().map(range).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(heights: impl IntoIterator<Item = u64>) -> InternalGaps {
        let mut gaps = InternalGaps::default();
        heights.into_iter().for_each(|height| gaps.add(height));
        gaps
    }

    #[test]
    fn neighbors_are_one_range() {
        let mut found = gaps([4, 5, 6, 9, 20]);
        assert_eq!(found.0, [(4, 6), (9, 9), (20, 20)]);
        assert!(found.contains(5) && found.contains(9) && !found.contains(7) && !found.contains(3));
        assert_eq!(InternalGaps::parse(&found.to_bytes()), Some(found.clone()));
        found.truncate(5);
        assert_eq!(found.0, [(4, 5)]);
        found.truncate(3);
        assert_eq!(found, InternalGaps::default());
        assert_eq!(InternalGaps::parse(&[1; 9]), None);
    }

    #[test]
    fn many_ranges_are_joined_where_they_are_closest() {
        // Given one range too many, two of which are close...
        let heights = (0..MOST_RANGES as u64).map(|number| number * 100).chain([99_903]);
        let found = gaps(heights);
        // ...then these are one, and every block stays in a range.
        assert_eq!(found.0.len(), MOST_RANGES);
        assert_eq!(found.0.last(), Some(&(99_900, 99_903)));
        assert!((0..1_000).all(|number| found.contains(number * 100)));
    }
}
