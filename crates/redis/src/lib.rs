//! Reaching Redis (7 or newer, or Valkey): one server, several watched by Sentinel, or a Cluster; over
//! TLS where asked for; with credentials that may be files and rotate.
//!
//! What is kept there may be lost at any time: nothing here is the only copy of anything. A server that
//! does not answer costs a caller a bounded time once, and nothing while it is known to be away.
//!
//! - [`place`]: where it is, as a URL says
//! - [`settings`]: where it is, who we are, how long we wait
//! - [`link`]: commands and scripts, over a connection that is made anew when it is lost
//! - [`messages`]: what others publish

mod dial;
pub mod link;
pub mod messages;
pub mod place;
pub mod settings;

pub use link::{Link, LinkError};
pub use messages::{Event, Messages};
pub use place::{Place, PlaceError, Servers};
pub use settings::{Credentials, RedisSettings, TlsFiles};
