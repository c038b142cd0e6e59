//! Errors of reading blocks in bytes.

use assay_engine::utxo::Txid;

/// Reason for which bytes are no block, or not the expected one. Offsets count bytes from 0.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RawError {
    /// The bytes end too early.
    #[error(
        "it is cut off: {what} at byte {at} needs {needed} bytes, but it ends at byte {length}"
    )]
    Ends {
        /// Item that was being read.
        what: &'static str,
        /// Offset of the item.
        at: usize,
        /// Length of the item in bytes.
        needed: u64,
        /// Number of bytes in all.
        length: usize,
    },
    /// A count for which there are not enough bytes.
    #[error("at byte {at} there should be {count} {what}, more than {left} bytes can hold")]
    Count {
        /// Items that are counted.
        what: &'static str,
        /// Offset of the count.
        at: usize,
        /// The count.
        count: u64,
        /// Number of remaining bytes.
        left: usize,
    },
    /// A number in more bytes than necessary.
    #[error("at byte {at} a count is written in more bytes than it needs")]
    Wasteful {
        /// Offset.
        at: usize,
    },
    /// A number of more than 64 bits.
    #[error("at byte {at} {what} has more than 64 bits")]
    TooLarge {
        /// Item that was being read.
        what: &'static str,
        /// Offset of the item.
        at: usize,
    },
    /// A compressed key that is not a point of the curve.
    #[error("at byte {at} a compressed script names a key that does not exist")]
    NoKey {
        /// Offset.
        at: usize,
    },
    /// A transaction flag that is undefined on this chain.
    #[error("at byte {at} a transaction has the flag {flag:#04x}, which this chain does not know")]
    Flag {
        /// Offset.
        at: usize,
        /// The flag.
        flag: u8,
    },
    /// Bytes after the end.
    #[error("it should end at byte {at}, but has {length} bytes")]
    Longer {
        /// Offset of the expected end.
        at: usize,
        /// Number of bytes in all.
        length: usize,
    },
    /// A chain whose blocks are not read raw.
    #[error("raw blocks of {chain} are not read: read it from a node (--rpc)")]
    Unsupported {
        /// The chain.
        chain: &'static str,
    },
    /// Another block than the requested one.
    #[error("it is block {found}, not {wanted}")]
    OtherBlock {
        /// Hash of the block that was found.
        found: String,
        /// Hash of the block that was expected.
        wanted: String,
    },
    /// The hash is not below the target.
    #[error("block {hash} does not meet its own target: its header is damaged")]
    Proof {
        /// The hash.
        hash: String,
    },
    /// A header without the scrypt proof of work that its chain requires.
    #[error(
        "block {hash} has no proof of work of {chain}, which is a chain of scrypt: its header is \
         damaged, or another chain's"
    )]
    ScryptProof {
        /// The hash.
        hash: String,
        /// The chain.
        chain: &'static str,
    },
    /// `bits` that do not encode a target.
    #[error(
        "block {hash} states no target: its `bits` {bits:#010x} are negative, zero, or longer than \
         a hash"
    )]
    NoTarget {
        /// The block.
        hash: String,
        /// The `bits` of the header.
        bits: u32,
    },
    /// A target above the chain's difficulty limit.
    #[error(
        "block {hash} states the target {bits:#010x} in `bits`, which is easier than this chain \
         allows: its difficulty limit is {limit:#010x}"
    )]
    AboveLimit {
        /// The block.
        hash: String,
        /// The `bits` of the header.
        bits: u32,
        /// The chain's difficulty limit, in the form of `bits`.
        limit: u32,
    },
    /// Another chain's block whose work does not count for this one (`AuxPoW`).
    #[error("block {hash} is merge-mined, but {reason}")]
    AuxPow {
        /// The block.
        hash: String,
        /// Description of the problem.
        reason: &'static str,
    },
    /// The transactions differ from those that the header commits to.
    #[error(
        "block {hash} commits to the merkle root {committed}, but its transactions have \
         {computed}: some are damaged, missing or too many"
    )]
    MerkleRoot {
        /// The block.
        hash: String,
        /// Merkle root in the header.
        committed: String,
        /// Merkle root of the transactions.
        computed: String,
    },
    /// Repeated transactions, which do not change the merkle root (CVE-2012-2459).
    #[error("block {hash} holds transactions twice")]
    RepeatedTransactions {
        /// The block.
        hash: String,
    },
    /// No coinbase, or a coinbase that is not the first transaction.
    #[error("block {hash} does not have exactly one coinbase, as its first transaction")]
    Coinbase {
        /// The block.
        hash: String,
    },
    /// A block whose height is unknown.
    #[error(
        "block {hash} does not say its height (it is older than BIP 34): give the blocks from the \
         first one on"
    )]
    Height {
        /// The block.
        hash: String,
    },
    /// A part of an extension block at a position where it is not allowed.
    #[error("transaction {txid} holds a part of an extension block that should stand behind it")]
    Extension {
        /// The transaction.
        txid: Txid,
    },
}
