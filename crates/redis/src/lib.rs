//! Redis client (Redis 7 or newer, or Valkey): one server, several servers watched by Sentinel, or a Cluster; over TLS
//! if enabled; with credentials from files that may change.
//!
//! Data in Redis may be lost at any time: nothing there is the only copy. A server that does not
//! respond delays a caller once, by a bounded time, and not at all while it is known to be unavailable.
//!
//! - [`url`]: URLs of Redis servers
//! - [`settings`]: URL, credentials and timeouts
//! - [`client`]: commands and scripts, over a connection that is reestablished after a loss
//! - [`subscription`]: messages on channels

pub mod client;
mod connect;
mod error;
pub mod settings;
pub mod subscription;
pub mod url;

pub use client::RedisClient;
pub use error::RedisClientError;
pub use settings::{RedisCredentials, RedisSettings, RedisTlsFiles};
pub use subscription::{Subscription, SubscriptionEvent};
pub use url::{RedisUrl, RedisUrlError, Topology};
