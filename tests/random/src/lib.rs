//! Random choices that follow from a seed, the same on every machine and with every compiler.
//!
//! All tests of all crates draw from this one generator. It has no dependencies, so that unit tests of the lowest
//! crates use it too.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use std::ops::Range;

/// A pseudorandom generator: `SplitMix64`, which is small and sufficient for generated data.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator with a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero; for bounds far below 2^64 all numbers are equally likely.
    pub const fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A number from `least` to `most`, both included.
    pub const fn within(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// A number of a range; its start if the range is empty.
    pub fn number(&mut self, range: Range<u64>) -> u64 {
        range.start + self.below((range.end - range.start).max(1))
    }

    /// A number of a range of numbers that may be negative.
    pub fn signed(&mut self, range: Range<i64>) -> i64 {
        range.start.wrapping_add_unsigned(self.below(range.end.abs_diff(range.start).max(1)))
    }

    /// A number below `bound`; the smaller a number, the likelier.
    pub fn rather_small(&mut self, bound: u64) -> u64 {
        // The least of three.
        let [first, second, third] = [(); 3].map(|()| self.below(bound));
        first.min(second).min(third)
    }

    /// True with probability 1/`cases`.
    pub const fn one_in(&mut self, cases: u64) -> bool {
        self.below(cases) == 0
    }

    /// True with a probability of `cases` percent.
    pub const fn percent(&mut self, cases: u64) -> bool {
        self.below(100) < cases
    }

    /// True with a probability of `cases` per thousand.
    pub const fn per_mille(&mut self, cases: u64) -> bool {
        self.below(1_000) < cases
    }

    /// An index into a slice of this length.
    ///
    /// # Panics
    ///
    /// Panics if the length is zero.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("an index")
    }

    /// An item of a slice.
    ///
    /// # Panics
    ///
    /// Panics if the slice is empty.
    pub fn pick<'a, T>(&mut self, several: &'a [T]) -> &'a T {
        &several[self.index(several.len())]
    }

    /// Random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_be_bytes()[..chunk.len()]);
        }
        bytes
    }

    /// Puts items in a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published test vector of `SplitMix64` with the seed 1234567: worlds of tests depend on it.
    #[test]
    fn numbers_are_those_of_splitmix64() {
        let mut random = Random::new(1_234_567);
        let first = [(); 3].map(|()| random.next());
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn choices_keep_to_their_bounds() {
        let mut random = Random::new(1);
        for _ in 0..1_000 {
            assert!((3..=5).contains(&random.within(3, 5)));
            assert!((-4..-1).contains(&random.signed(-4..-1)));
            assert!(random.rather_small(7) < 7 && random.index(4) < 4);
        }
        assert_eq!((random.number(9..9), random.signed(-3..-3)), (9, -3));
        let mut shuffled: Vec<usize> = (0..50).collect();
        random.shuffle(&mut shuffled);
        assert!(!shuffled.is_sorted());
        shuffled.sort_unstable();
        assert!(shuffled.into_iter().eq(0..50));
    }
}
