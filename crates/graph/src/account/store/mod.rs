//! Account graphs in a store: memory-mapped tables (LMDB), one environment per chain. [`MemoryAccounts`] is the reference.
//!
//! Accounts, assets and transactions are numbered in the order of the chain. A payment is an entry of its payer and of its
//! receiver, with its breakdown by origin in the receiver's entry, so that a check reads ranges of entries and never the
//! log. The log holds all transfers, for answers about transactions.
//!
//! - `tables`, `block`, `log`, `entry`: the tables and the format of their rows
//! - `amount`, `asset_bytes`, `end_bytes`, `share_bytes`: values as bytes
//! - `copy`, `fingerprint`: backups, and a digest of all that a graph says
//! - `folders`: the folders of a chain
//! - `following`: what a writer that follows a source compares and notes
//! - `gaps`: blocks of which transfers inside of transactions are not recorded
//! - `day_prices`: the prices of exchanges by day
//! - `index`: entries by an account or a hash
//! - `branch`: blocks as chain servers compare them
//! - `book`: the ledgers of a batch
//! - `lookup`: look-ups of a batch by several threads
//! - `plan`: planning of a batch of blocks
//! - `sums`: sums of payments by pages
//! - `reader`: reading of one state by numbers
//! - `rebuild`: computing the ledgers anew for other ends
//! - `update`: what a change of the ends changes, computed beside the ledgers
//! - `view`: one state as checks read it
//! - `writer`: recording and rollback of blocks
//!
//! [`MemoryAccounts`]: super::MemoryAccounts

mod amount;
mod asset_bytes;
mod block;
mod book;
mod branch;
mod copy;
mod day_prices;
mod end_bytes;
mod entry;
mod fingerprint;
mod folders;
mod following;
mod gaps;
mod index;
mod log;
mod lookup;
mod plan;
mod reader;
mod rebuild;
mod share_bytes;
mod sums;
mod tables;
mod update;
mod view;
mod writer;

pub use following::SourceNotes;
pub use rebuild::{LedgerRebuild, RebuildStep};
pub use view::{AccountSnapshot, EmbeddedAccounts, RecordedBlocks, RecordedContent};
pub use writer::{AccountBlock, AccountGraphWriter, InternalTransfers};
