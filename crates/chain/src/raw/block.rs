//! A whole raw block.

use assay_address::ChainId;
use assay_engine::{ledger::BlockRef, utxo::Block};
use jiff::Timestamp;

use super::{
    RawError,
    auxpow::AuxPow,
    cursor::Cursor,
    header::Header,
    merkle::{RepeatedTransactions, merkle_root},
    transaction::{RawTransaction, SMALLEST_TRANSACTION},
};
use crate::params::{ChainParams, HeaderForm, TEST_NETWORK_LIMIT, WorkHash};

/// Lowest version of blocks whose coinbase begins with the height (BIP 34).
const WITH_HEIGHT: u32 = 2;

/// Block after its checks: its header states a target within the easiest difficulty limit of any network and has the
/// work for it, and commits to exactly these transactions, the first of which is the only coinbase.
/// [`Header::check_target`] checks the limit of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawBlock<'a> {
    /// Header of the block.
    pub header: Header,
    /// Hash of the block, in display order.
    pub hash: [u8; 32],
    /// Transactions of the block, in order.
    pub transactions: Vec<RawTransaction<'a>>,
}

/// Properties of a block that are known before it is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpectedBlock {
    /// Height of the block.
    pub height: Option<u64>,
    /// Hash of the block, in display order.
    pub hash: Option<[u8; 32]>,
}

impl<'a> RawBlock<'a> {
    /// Parses a block of a chain that fills `bytes`.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are no block, not the expected block, or do not match the
    /// header's commitments.
    pub fn parse(
        bytes: &'a [u8],
        params: &ChainParams,
        expected: Option<[u8; 32]>,
    ) -> Result<Self, RawError> {
        let mut cursor = Cursor::new(bytes);
        let (header, hash) = read_header(&mut cursor, params)?;
        if let Some(wanted) = expected
            && wanted != hash
        {
            let (found, wanted) = (hex::encode(hash), hex::encode(wanted));
            return Err(RawError::OtherBlock { found, wanted });
        }
        let count = cursor.count(SMALLEST_TRANSACTION, "transactions")?;
        let transactions = (0..count)
            .map(|_| RawTransaction::read(&mut cursor, params.transactions))
            .collect::<Result<Vec<_>, _>>()?;
        if transactions.last().is_some_and(|last| last.moves_extension) {
            // The rest is the extension block, which has no public payments.
            cursor.finish();
        }
        if cursor.offset() < cursor.length() {
            return Err(RawError::Longer { at: cursor.offset(), length: cursor.length() });
        }
        let block = Self { header, hash, transactions };
        block.check()?;
        Ok(block)
    }

    /// Checks that the header commits to these transactions.
    fn check(&self) -> Result<(), RawError> {
        let hash = || hex::encode(self.hash);
        let root = merkle_root(self.transactions.iter().map(|transaction| transaction.txid))
            .map_err(|RepeatedTransactions| RawError::RepeatedTransactions { hash: hash() })?;
        if root != self.header.merkle_root {
            return Err(RawError::MerkleRoot {
                hash: hash(),
                committed: hex::encode(self.header.merkle_root),
                computed: hex::encode(root),
            });
        }
        let mut coinbases = self.transactions.iter().map(RawTransaction::is_coinbase);
        if coinbases.next() != Some(true) || coinbases.any(|coinbase| coinbase) {
            return Err(RawError::Coinbase { hash: hash() });
        }
        Ok(())
    }

    /// Returns the height that the block states: 0 without a parent, otherwise the height in the coinbase (BIP 34);
    /// `None` for older blocks.
    #[must_use]
    pub fn height(&self) -> Option<u64> {
        if self.header.parent == [0; 32] {
            return Some(0);
        }
        let input = self.transactions.first()?.inputs.first()?;
        height_in_coinbase(self.header.version, input.script)
    }

    /// Converts the block to the common form of all sources.
    ///
    /// # Errors
    ///
    /// Returns an error if neither `height` nor the block itself states its height.
    pub fn into_block(self, chain: ChainId, height: Option<u64>) -> Result<Block, RawError> {
        let height = height
            .or_else(|| self.height())
            .ok_or_else(|| RawError::Height { hash: hex::encode(self.hash) })?;
        let reference = BlockRef {
            height,
            hash: self.hash,
            parent: self.header.parent,
            time: Timestamp::from_second(self.header.time.into()).unwrap_or_default(),
        };
        let transactions = self.transactions.into_iter();
        let transactions = transactions.map(|raw| raw.to_transaction(chain)).collect();
        Ok(Block { reference, work: Some(self.header.work()), transactions })
    }
}

/// Parses a raw block of `chain` that fills `bytes`.
///
/// # Errors
///
/// Returns an error if raw blocks of the chain are not supported, and the errors of
/// [`RawBlock::parse`] and [`RawBlock::into_block`].
pub fn parse_block(
    chain: ChainId,
    bytes: &[u8],
    expected: ExpectedBlock,
) -> Result<Block, RawError> {
    let unsupported = || RawError::Unsupported { chain: chain.info().name };
    let params = ChainParams::for_chain(chain).ok_or_else(unsupported)?;
    RawBlock::parse(bytes, params, expected.hash)?.into_block(chain, expected.height)
}

/// Reads a header with all data before the transactions, computes its hash, and checks its target and its work.
fn read_header(
    bytes: &mut Cursor<'_>,
    params: &ChainParams,
) -> Result<(Header, [u8; 32]), RawError> {
    let header = match params.header {
        HeaderForm::Plain { .. } | HeaderForm::AuxPow => Header::read(bytes)?,
        HeaderForm::Equihash | HeaderForm::Other => {
            return Err(RawError::Unsupported { chain: params.name() });
        }
    };
    header.check_target(TEST_NETWORK_LIMIT)?;
    match params.header {
        HeaderForm::Plain { work } => header.check_work(work, params)?,
        _ if header.has_auxpow() => AuxPow::read(bytes)?.check(&header)?,
        _ => header.check_work(WorkHash::Scrypt, params)?,
    }
    Ok((header, header.hash()))
}

/// Returns the height with which a coinbase begins, if the block's version requires one.
pub(crate) fn height_in_coinbase(version: u32, script: &[u8]) -> Option<u64> {
    const OP_1: u8 = 0x51;
    const OP_16: u8 = 0x60;
    if version < WITH_HEIGHT || version > i32::MAX.unsigned_abs() {
        return None;
    }
    let (first, rest) = script.split_first()?;
    match *first {
        small @ OP_1..=OP_16 => Some(u64::from(small - OP_1) + 1),
        length @ 1..=4 => {
            let bytes = rest.get(..usize::from(length))?;
            // The last bit is the sign.
            if bytes.last()? & 0x80 != 0 {
                return None;
            }
            Some(bytes.iter().rev().fold(0, |height, byte| height << 8 | u64::from(*byte)))
        }
        _ => None,
    }
}
