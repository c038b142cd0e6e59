//! The engine: taxonomy, evidence, policy and the assessment.
//!
//! The engine is pure: it does no I/O, reads no clock and draws no random numbers. Facts, policy and time are
//! arguments, and the same arguments give the same assessment, to the byte, on every machine. Other crates gather the
//! facts and serve the answers.
//!
//! - [`ledger`]: types that the ledgers of all chains share
//! - [`account`]: transfers of account chains, and the model of their money
//! - [`utxo`]: transactions of UTXO chains, joint transactions, and addresses of one owner
//! - [`taxonomy`]: categories of addresses
//! - [`evidence`]: listings, labels, flows, patterns and their strength
//! - [`reading`]: reading a chain by numbers, for queries that take many reads
//! - [`trace`]: traces of funds from hop to hop
//! - [`composition`]: the shares of each transaction's funds by origin
//! - [`patterns`]: behavior patterns in an owner's transactions
//! - [`policy`]: a tenant's risk policy
//! - [`rules`]: evaluation of a policy's minimum score rules
//! - [`assess()`]: computes an [`assessment::Assessment`] from [`facts::Facts`]
//! - [`timeline`]: payments of an address by week
//! - [`transfer`]: one transfer as the subject of an assessment
//! - [`fixed`]: fixed-point arithmetic

pub mod account;
mod assess;
pub mod assessment;
pub mod composition;
pub mod evidence;
pub mod facts;
pub mod fixed;
pub mod ledger;
pub mod names;
pub mod patterns;
pub mod planned;
pub mod policy;
pub mod reading;
pub mod score;
pub mod taxonomy;
pub mod timeline;
pub mod trace;
pub mod transfer;
pub mod utxo;

pub use assess::{
    MODEL_VERSION, assess, assess_never_fetched, assess_planned, assess_sources, assess_tip,
    assess_transfer, attribute, carried_freeze, histories_suffice, is_decided_by_lists, rules,
    united_parts,
};
