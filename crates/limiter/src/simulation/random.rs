//! Deterministic pseudorandom numbers.

/// `SplitMix64` generator.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Returns a number from `low` to below `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low).max(1)
    }

    /// Returns a number from `low` to below `high`.
    pub(crate) fn signed(&mut self, low: i64, high: i64) -> i64 {
        low + i64::try_from(self.next() % high.abs_diff(low).max(1)).unwrap()
    }

    /// Returns true with a probability of `per_mille` thousandths.
    pub(crate) fn chance(&mut self, per_mille: u64) -> bool {
        self.between(0, 1000) < per_mille
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.between(0, from.len() as u64)).unwrap()]
    }

    pub(crate) fn pick_from<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.between(0, from.len() as u64);
        from.get(usize::try_from(index).unwrap())
    }
}
