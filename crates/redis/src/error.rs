//! Failures of commands and scripts.

use std::{io, sync::Arc};

use redis::RedisError;

/// Failure of a command or script.
#[derive(Debug, thiserror::Error)]
pub enum RedisClientError {
    /// Redis is unavailable, for the reason of the last failure, and the backoff is not over.
    #[error("Redis is unavailable: {0}")]
    Unavailable(Arc<str>),
    /// Redis could not be reached in time.
    #[error("the connection to Redis timed out")]
    Timeout,
    /// Credentials or certificates cannot be read.
    #[error("failed to read credentials for Redis: {0}")]
    Credentials(#[source] io::Error),
    /// The connection failed, or Redis refused the command.
    #[error("the Redis command failed: {0}")]
    Redis(#[from] RedisError),
}
