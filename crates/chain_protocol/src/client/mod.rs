//! The client of chain servers.
//!
//! - [`ChainServers`]: the servers of every chain, parsed from a setting
//! - [`ServerSet`]: the servers of one chain, behind one URL
//! - `watch`: regular questions for the servers' states
//! - `servers`: the known servers of a chain, with their states
//! - [`choice`]: the choice of the server to ask
//! - [`branches`]: the choice of a branch if the servers' blocks differ
//! - `comparison`: questions for the blocks that decide between branches
//! - `answer`: parsing of a server's answer
//! - `connection`: the HTTP/2 connection to one server
//! - `contact`: detection of a silent server
//! - [`credentials`]: the token and the CA bundle

mod answer;
pub mod branches;
mod chains;
pub mod choice;
mod comparison;
mod connection;
mod contact;
pub mod credentials;
mod servers;
mod set;
mod url;
mod watch;

pub use self::{
    answer::AskError,
    chains::{ChainServers, InvalidServers},
    connection::SendError,
    credentials::ChainServerCredentials,
    set::ServerSet,
    url::ServerUrl,
};
