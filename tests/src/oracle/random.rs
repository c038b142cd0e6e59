//! Random choices that a seed decides, the same on every machine and with every compiler.

/// A stream of random choices: `SplitMix64`.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub(super) const fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A number from `low` to `high`, both included.
    pub(super) const fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Yes, in so many of a hundred cases.
    pub(super) const fn percent(&mut self, cases: u64) -> bool {
        self.below(100) < cases
    }

    /// One of several.
    pub(super) fn of<'a, T>(&mut self, several: &'a [T]) -> &'a T {
        let index = self.place(several.len());
        several.get(index).expect("one of several")
    }

    /// A place in something of this length.
    pub(super) fn place(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("a place")
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next().to_le_bytes()[0])
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.place(last + 1);
            items.swap(last, other);
        }
    }
}
