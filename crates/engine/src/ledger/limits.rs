//! Limits of reads.

/// Inputs or outputs that are read of one transaction, the largest ones. It bounds the memory of a read. No
/// transaction of Bitcoin has more inputs: a block of 4,000,000 weight units has room for 24,390. So nobody hides
/// stolen inputs below larger ones of his own.
pub const ENTRIES_PER_TRANSACTION: u32 = 50_000;

/// The limits of a read of an address's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// The number of largest transfers of an address in each direction.
    pub transfers: u32,
    /// Inputs or outputs of all transactions together, in each direction.
    pub entries: u32,
}

impl ReadLimits {
    /// The number of largest inputs or outputs to be read of one transaction at most.
    #[must_use]
    pub fn entries_of_one(self) -> u32 {
        self.entries.min(ENTRIES_PER_TRANSACTION)
    }
}
