//! The client of chain servers.
//!
//! - [`ChainServers`]: the servers of every chain, as a setting names them
//! - [`ServerSet`]: the servers of one chain, behind one URL
//! - [`choice`]: which of them is asked
//! - `connection`: HTTP/2 to one of them
//! - [`credentials`]: the token and the CA bundle

pub mod choice;
mod connection;
pub mod credentials;
mod set;
mod url;

pub use self::{
    connection::SendError,
    credentials::Credentials,
    set::{AskError, ServerSet},
    url::{ChainServers, InvalidServers, ServerUrl},
};
