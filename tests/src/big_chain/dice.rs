//! Numbers that follow from a seed, the same on every machine.

/// `SplitMix64`: small, and good enough for made-up data.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The numbers of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero; for bounds far below 2^64 all are equally likely.
    pub const fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound
    }

    /// A number below `bound`; small ones are likelier, the smallest the most.
    pub const fn rather_small(&mut self, bound: u64) -> u64 {
        // The least of three.
        let (mut least, mut left) = (self.below(bound), 2);
        while left > 0 {
            let other = self.below(bound);
            if other < least {
                least = other;
            }
            left -= 1;
        }
        least
    }

    /// Some bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for chunk in bytes.chunks_mut(8) {
            let rolled = self.roll().to_be_bytes();
            chunk.iter_mut().zip(rolled).for_each(|(byte, rolled)| *byte = rolled);
        }
        bytes
    }
}
