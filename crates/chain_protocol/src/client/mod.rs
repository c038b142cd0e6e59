//! The client of chain servers.
//!
//! - [`ChainServers`]: the servers of every chain, as a setting names them
//! - [`ServerSet`]: the servers of one chain, behind one URL
//! - `servers`: the servers as they are found and watched
//! - [`choice`]: which of them is asked
//! - [`branches`]: which branch counts where their blocks differ
//! - `comparison`: asking them for the blocks that show it
//! - `connection`: HTTP/2 to one of them
//! - `contact`: when one of them was heard, and whether it is silent
//! - [`credentials`]: the token and the CA bundle

pub mod branches;
pub mod choice;
mod comparison;
mod connection;
mod contact;
pub mod credentials;
mod servers;
mod set;
mod url;

pub use self::{
    connection::SendError,
    credentials::Credentials,
    set::{AskError, ServerSet},
    url::{ChainServers, InvalidServers, ServerUrl},
};
