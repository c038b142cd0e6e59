//! How databases are reached: `SQLite` files and `PostgreSQL` servers.
//!
//! This crate knows connections, not tables. What is stored lives above it: the stores of control, intel,
//! usage and coordination data in `assay-store`, chain graphs in `assay-graph`. Both can share one
//! [`postgres::PostgresDatabase`], or each have its own.
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
