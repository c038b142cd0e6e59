//! Records of blocks, and the state of a graph.

use assay_address::ChainId;
use assay_columns::bytes::{ByteReader, number};
use assay_engine::ledger::BlockRef;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::account::{RecordCounts, RecordedBlock, RecordedState};

/// A block with its place in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoredBlock {
    pub(super) block: BlockRef,
    /// Digest of all blocks up to this one.
    pub(super) digest: [u8; 32],
    /// The numbers of the first transaction, account and token outside the table of scored assets that are new in the block.
    pub(super) first_transaction: u64,
    pub(super) first_owner: u64,
    pub(super) first_token: u32,
    /// Counts of all blocks up to this one.
    pub(super) counts: RecordCounts,
}

impl StoredBlock {
    pub(super) fn key(height: u64) -> [u8; 8] {
        height.to_be_bytes()
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(200);
        let BlockRef { height, hash, parent, time } = self.block;
        bytes.extend_from_slice(&height.to_be_bytes());
        bytes.extend_from_slice(&hash);
        bytes.extend_from_slice(&parent);
        put_timestamp(&mut bytes, time);
        bytes.extend_from_slice(&self.digest);
        bytes.extend_from_slice(&number(self.first_transaction));
        bytes.extend_from_slice(&number(self.first_owner));
        bytes.extend_from_slice(&self.first_token.to_be_bytes());
        for count in counts(&self.counts) {
            bytes.extend_from_slice(&count.to_be_bytes());
        }
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reading = ByteReader(bytes);
        let height = reading.u64()?;
        let (hash, parent) = (reading.array()?, reading.array()?);
        let time = take_timestamp(&mut reading)?;
        Some(Self {
            block: BlockRef { height, hash, parent, time },
            digest: reading.array()?,
            first_transaction: reading.number()?,
            first_owner: reading.number()?,
            first_token: reading.u32()?,
            counts: take_counts(&mut reading)?,
        })
    }
}

const fn counts(of: &RecordCounts) -> [u64; 8] {
    let RecordCounts {
        blocks,
        transactions,
        transfers,
        of_other_tokens,
        too_large,
        without_initiator,
        internal,
        contracts,
    } = *of;
    [
        blocks,
        transactions,
        transfers,
        of_other_tokens,
        too_large,
        without_initiator,
        internal,
        contracts,
    ]
}

fn take_counts(reading: &mut ByteReader<'_>) -> Option<RecordCounts> {
    Some(RecordCounts {
        blocks: reading.u64()?,
        transactions: reading.u64()?,
        transfers: reading.u64()?,
        of_other_tokens: reading.u64()?,
        too_large: reading.u64()?,
        without_initiator: reading.u64()?,
        internal: reading.u64()?,
        contracts: reading.u64()?,
    })
}

fn put_timestamp(into: &mut Vec<u8>, time: Timestamp) {
    into.extend_from_slice(&time.as_second().to_be_bytes());
    into.extend_from_slice(&time.subsec_nanosecond().to_be_bytes());
}

fn take_timestamp(reading: &mut ByteReader<'_>) -> Option<Timestamp> {
    Timestamp::new(reading.i64()?, reading.u32()?.cast_signed()).ok()
}

/// The state of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GraphState {
    pub(super) chain: ChainId,
    /// True if the graph holds demo data.
    pub(super) sample: bool,
    /// The first block; `None` without blocks.
    pub(super) first: Option<StoredBlock>,
    /// The newest block; `None` without blocks.
    pub(super) tip: Option<StoredBlock>,
    /// Time at which a source last confirmed the newest block.
    pub(super) verified_at: Timestamp,
    /// Height of the highest recorded block since the operator last accepted a branch, also if it was rolled back.
    pub(super) highest: u64,
    /// The numbers of the next transaction, account and token outside the table of scored assets.
    pub(super) next_transaction: u64,
    pub(super) next_owner: u64,
    pub(super) next_token: u32,
    /// The lowest height whose block can be rolled back.
    pub(super) reorganizable_from: u64,
    /// Lowest height whose entries are in the table of recent entries.
    pub(super) recent_from: u64,
    /// Digest of the recorded symbols; zeros without symbols.
    pub(super) symbols: [u8; 32],
    /// Number of updates of the ledgers for other ends.
    pub(super) update: u64,
    /// Revision of the ends of the ledgers.
    pub(super) ends: String,
}

impl GraphState {
    /// Description of the recorded blocks; `None` without blocks.
    pub(super) fn recorded(&self) -> Option<RecordedState> {
        let (first, tip) = self.first.zip(self.tip)?;
        let block = |stored: StoredBlock| RecordedBlock {
            height: stored.block.height,
            time: stored.block.time,
        };
        let RecordCounts { blocks, transactions, transfers, without_initiator, .. } = tip.counts;
        Some(RecordedState {
            first: block(first),
            tip: block(tip),
            blocks,
            transactions,
            transfers,
            without_initiator,
            digest: self.digest(tip.digest),
            sample: self.sample,
        })
    }

    /// The digest of blocks together with the symbols, of which answers tell too.
    fn digest(&self, of_blocks: [u8; 32]) -> [u8; 32] {
        if self.symbols == [0; 32] {
            return of_blocks;
        }
        Sha256::new().chain_update(of_blocks).chain_update(self.symbols).finalize().into()
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(512);
        bytes.extend_from_slice(&self.symbols);
        bytes.push(self.sample.into());
        put_timestamp(&mut bytes, self.verified_at);
        for height in [self.highest, self.next_transaction, self.next_owner] {
            bytes.extend_from_slice(&height.to_be_bytes());
        }
        bytes.extend_from_slice(&self.next_token.to_be_bytes());
        bytes.extend_from_slice(&self.reorganizable_from.to_be_bytes());
        bytes.extend_from_slice(&self.recent_from.to_be_bytes());
        bytes.extend_from_slice(&self.update.to_be_bytes());
        for block in [self.first, self.tip] {
            bytes.push(block.is_some().into());
            bytes.extend(block.map(StoredBlock::to_bytes).unwrap_or_default());
        }
        let chain = self.chain.as_str();
        bytes.push(u8::try_from(chain.len()).unwrap_or_default());
        bytes.extend_from_slice(chain.as_bytes());
        bytes.extend_from_slice(self.ends.as_bytes());
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reading = ByteReader(bytes);
        let symbols = reading.array()?;
        let sample = reading.byte()? != 0;
        let verified_at = take_timestamp(&mut reading)?;
        let [highest, next_transaction, next_owner] =
            [reading.u64()?, reading.u64()?, reading.u64()?];
        let next_token = reading.u32()?;
        let (reorganizable_from, recent_from) = (reading.u64()?, reading.u64()?);
        let update = reading.u64()?;
        let mut block = || {
            Some(match reading.byte()? {
                0 => None,
                _ => Some(StoredBlock::parse(reading.take(StoredBlock::BYTES)?)?),
            })
        };
        let (first, tip) = (block()?, block()?);
        let length = usize::from(reading.byte()?);
        let chain = std::str::from_utf8(reading.take(length)?).ok()?.parse().ok()?;
        let ends = std::str::from_utf8(reading.0).ok()?.to_owned();
        Some(Self {
            chain,
            sample,
            first,
            tip,
            verified_at,
            highest,
            next_transaction,
            next_owner,
            next_token,
            reorganizable_from,
            recent_from,
            symbols,
            update,
            ends,
        })
    }
}

impl StoredBlock {
    /// Length of a record in bytes.
    const BYTES: usize = 8 + 32 + 32 + 12 + 32 + 5 + 5 + 4 + 8 * 8;
}
