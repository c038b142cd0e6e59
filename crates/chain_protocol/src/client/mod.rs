//! The client of chain servers.
//!
//! - [`ChainServers`]: the servers of every chain, as a setting names them
//! - [`ServerSet`]: the servers of one chain, behind one URL
//! - `watch`: watching them
//! - `servers`: the servers as they are found, with their states
//! - [`choice`]: which of them is asked
//! - [`branches`]: which branch counts where their blocks differ
//! - `comparison`: asking them for the blocks that show it
//! - `answer`: reading what one of them answered
//! - `connection`: HTTP/2 to one of them
//! - `contact`: when one of them was heard, and whether it is silent
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
