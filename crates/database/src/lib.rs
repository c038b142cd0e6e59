//! Connections to databases: `SQLite` files and `PostgreSQL` servers.
//!
//! This crate manages connections, not tables. The tables belong to the crate above it, `assay-store`: the stores
//! of control, intel, usage and coordination data.
//!
//! - [`postgres`]: finding the primary, credentials that rotate, pools, timeouts
//! - [`sqlite`]: files in a directory that belongs to one user
//! - [`value`]: reading stored values, with an error that names the column

mod error;
pub mod postgres;
pub mod sqlite;
mod subscription;
pub mod value;

pub use error::DatabaseError;
pub use subscription::ChangeSubscription;
