//! The total work of a range of blocks.

/// The sum of the work of consecutive blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkSum {
    /// The height of the next block; `None` after a block of unknown work.
    next: Option<u64>,
    to: u64,
    sum: u128,
}

impl WorkSum {
    /// An empty sum for the blocks above height `above` up to height `to`.
    pub(crate) const fn above(above: u64, to: u64) -> Self {
        Self { next: above.checked_add(1), to, sum: 0 }
    }

    /// Adds the next block. Returns false once no further block is needed.
    pub(crate) fn add(&mut self, height: u64, work: Option<u128>) -> bool {
        if height > self.to {
            return false;
        }
        let follows = self.next == Some(height);
        self.next = work.filter(|_| follows).and_then(|work| {
            // No chain's work is near 128 bits, but a header may claim more than any hash can meet.
            self.sum = self.sum.saturating_add(work);
            height.checked_add(1)
        });
        self.next.is_some()
    }

    /// The total work; `None` if a block is missing or its work is not known.
    pub(crate) fn total(&self) -> Option<u128> {
        self.next.filter(|next| *next > self.to).map(|_| self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(above: u64, to: u64, blocks: &[(u64, Option<u128>)]) -> Option<u128> {
        let mut sum = WorkSum::above(above, to);
        for (height, work) in blocks {
            if !sum.add(*height, *work) {
                break;
            }
        }
        sum.total()
    }

    #[test]
    fn the_work_of_a_range_is_known_if_that_of_every_block_is() {
        let blocks = [(6, Some(2)), (7, Some(3)), (8, None), (9, Some(7))];
        assert_eq!(sum(5, 7, &blocks), Some(5));
        assert_eq!(sum(5, 8, &blocks), None, "one is not known");
        assert_eq!(sum(4, 7, &blocks), None, "the first one is missing");
        assert_eq!(sum(8, 9, &blocks[3..]), Some(7));
        assert_eq!(sum(8, 10, &blocks[3..]), None, "the last one is missing");
        assert_eq!(sum(9, 9, &[]), Some(0), "no block");
        assert_eq!(sum(0, 2, &[(1, Some(u128::MAX)), (2, Some(1))]), Some(u128::MAX));
    }
}
