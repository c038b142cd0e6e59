//! The extent of stored compositions (origin breakdowns).

use assay_columns::bytes::ByteReader;

/// The extent of stored compositions (origin breakdowns), and the trace ends for which they were computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompositionState {
    /// The table with the compositions (origin breakdowns): 0 or 1.
    pub(super) half: u8,
    /// Height of the graph's first block: origins before it are unknown.
    pub(super) start: u64,
    /// Number of transactions with a composition (origin breakdown): the first transactions of the chain.
    pub transactions: u64,
    /// The trace ends for which the compositions (origin breakdowns) were computed.
    pub ends: TraceEndsRevision,
    /// Number of transactions in blocks that no rollback removes.
    pub finalized_transactions: u64,
    /// The trace ends among the owners in finalized blocks.
    pub finalized_ends: TraceEndsRevision,
    /// Height and hash of the newest block; `None` without blocks.
    pub newest: Option<(u64, [u8; 32])>,
}

/// The revision of the trace ends among the first owners of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEndsRevision {
    /// Number of the first owners that the revision covers.
    pub owners: u64,
    /// Digest of the trace ends: see [`TraceEnds::up_to`](super::TraceEnds::up_to).
    pub revision: [u8; 32],
}

impl CompositionState {
    /// The state before the first composition (origin breakdown).
    pub(super) const fn begin(half: u8, start: u64, ends: TraceEndsRevision) -> Self {
        Self {
            half,
            start,
            transactions: 0,
            ends,
            finalized_transactions: 0,
            finalized_ends: ends,
            newest: None,
        }
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = vec![self.half];
        bytes.extend_from_slice(&self.start.to_be_bytes());
        for (transactions, ends) in
            [(self.transactions, self.ends), (self.finalized_transactions, self.finalized_ends)]
        {
            bytes.extend_from_slice(&transactions.to_be_bytes());
            bytes.extend_from_slice(&ends.owners.to_be_bytes());
            bytes.extend_from_slice(&ends.revision);
        }
        if let Some((height, hash)) = self.newest {
            bytes.extend_from_slice(&height.to_be_bytes());
            bytes.extend_from_slice(&hash);
        }
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut reading = ByteReader(bytes);
        let half = reading.byte().filter(|half| *half < 2)?;
        let start = reading.u64()?;
        let mut part = || {
            let (transactions, owners) = (reading.u64()?, reading.u64()?);
            Some((transactions, TraceEndsRevision { owners, revision: reading.array()? }))
        };
        let (transactions, ends) = part()?;
        let (finalized_transactions, finalized_ends) = part()?;
        let newest = match reading.0 {
            [] => None,
            _ => Some((reading.u64()?, reading.array()?)),
        };
        Some(Self {
            half,
            start,
            transactions,
            ends,
            finalized_transactions,
            finalized_ends,
            newest,
        })
    }
}
