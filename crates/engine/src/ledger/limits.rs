//! Limits of reads.

/// Most inputs or outputs that are read of one transaction, the largest first, to bound the memory of a read. No
/// transaction of Bitcoin has more inputs, because a block of 4,000,000 weight units has room for 24,390. Nobody can
/// therefore hide stolen inputs below larger ones.
pub const ENTRIES_PER_TRANSACTION: u32 = 50_000;

/// The limits of a read of an address's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// Number of transfers of an address that are read in each direction, the largest first.
    pub transfers: u32,
    /// Number of inputs or outputs of all transactions together, in each direction.
    pub entries: u32,
}

impl ReadLimits {
    /// Most inputs or outputs that are read of one transaction.
    #[must_use]
    pub fn max_entries_per_transaction(self) -> u32 {
        self.entries.min(ENTRIES_PER_TRANSACTION)
    }
}
