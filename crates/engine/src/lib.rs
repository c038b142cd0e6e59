//! The engine: taxonomy, evidence, policy and the assessment.
//!
//! Pure. It does no I/O, reads no clock and draws no random number: facts, policy and time are
//! arguments, and the same arguments give the same assessment, to the byte, on every machine. The
//! programs around it gather facts and serve answers.
//!
//! - [`ledger`]: what the ledgers of all chains share
//! - [`utxo`]: transactions of chains of outputs, joint ones, and addresses of one owner
//! - [`taxonomy`]: categories of addresses
//! - [`evidence`]: listings, labels, flows, patterns and their strength
//! - [`reading`]: reading a chain by numbers, for queries that take many reads
//! - [`trace`]: following money from hop to hop
//! - [`composition`]: what the money of each transaction is made of, carried forward
//! - [`patterns`]: what the transactions of an owner look like
//! - [`policy`]: decisions of a tenant
//! - [`rules`]: evaluation of a policy's minimum score rules
//! - [`assess()`]: from [`facts::Facts`] to an [`assessment::Assessment`]
//! - [`transfer`]: one transfer as the subject of an assessment
//! - [`fixed`]: the arithmetic

mod assess;
pub mod assessment;
pub mod composition;
pub mod evidence;
pub mod facts;
pub mod fixed;
pub mod ledger;
pub mod names;
pub mod patterns;
pub mod policy;
pub mod reading;
pub mod score;
pub mod taxonomy;
pub mod trace;
pub mod transfer;
pub mod utxo;

pub use assess::{
    MODEL_VERSION, assess, assess_sources, assess_tip, assess_transfer, attribute, rules,
};
