//! Reaching Redis (7 or newer, or Valkey): one server, several watched by Sentinel, or a Cluster; over
//! TLS where pending for; with credentials that may be files and rotate.
//!
//! What is kept there may be lost at any time: nothing here is the only copy of anything. A server that
//! does not answer costs a caller a bounded time once, and nothing while it is known to be away.
//!
//! - [`url`]: where it is, as a URL says
//! - [`settings`]: where it is, who we are, how long we wait
//! - [`client`]: commands and scripts, over a connection that is made anew when it is lost
//! - [`subscription`]: what others publish

pub mod client;
mod connect;
pub mod settings;
pub mod subscription;
pub mod url;

pub use client::{RedisClient, RedisClientError};
pub use settings::{Credentials, RedisSettings, RedisTlsFiles};
pub use subscription::{Event, Subscription};
pub use url::{RedisUrl, RedisUrlError, Topology};
