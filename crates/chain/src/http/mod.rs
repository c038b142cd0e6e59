//! HTTP requests with retries: transient failures are retried with growing delays.
//!
//! - [`Http`]: one exchange; tests replay recorded responses
//! - [`RetryTimer`]: delays and randomness, which the caller provides
//! - [`client`]: exchanges over the network

#[cfg(feature = "edge")]
pub mod client;

use std::{fmt, sync::Arc, time::Duration};

use super::SourceError;

/// An HTTP client of one server.
pub trait Http: fmt::Debug + Send + Sync {
    /// Returns the server's URL without credentials, for messages.
    fn url(&self) -> &str;

    /// Returns words of the server without credentials that it quotes.
    fn quoted(&self, said: &str) -> String {
        said.to_owned()
    }

    /// Returns the name under which the server counts requests: the server, and a digest of the key if there is one.
    fn subject(&self) -> String {
        self.url().to_owned()
    }

    /// Sends a request once.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no response.
    fn exchange(&self, request: Request<'_>) -> Result<Response, ExchangeError>;
}

/// An HTTP request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Path after the server's URL, with its leading slash; empty for the URL itself.
    pub path: &'a str,
    /// JSON body of a POST; `None` for a GET.
    pub body: Option<&'a [u8]>,
    /// Maximum number of bytes of the response.
    pub most: u64,
}

/// Maximum number of bytes of any response: a block of 60 MB in hexadecimal, or one of 10 MB in JSON with
/// its spent outputs. A response is in memory as a whole.
pub const MAX_RESPONSE_BYTES: u64 = 128 * 1024 * 1024;

impl<'a> Request<'a> {
    /// Returns a GET request of a path.
    #[must_use]
    pub const fn get(path: &'a str) -> Self {
        Self { path, body: None, most: MAX_RESPONSE_BYTES }
    }

    /// Returns a POST request with a JSON body to the server's URL.
    #[must_use]
    pub const fn post(body: &'a [u8]) -> Self {
        Self { path: "", body: Some(body), most: MAX_RESPONSE_BYTES }
    }
}

/// An HTTP response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Delay before the next request (`Retry-After`).
    pub retry_after: Option<Duration>,
    /// Body.
    pub body: Vec<u8>,
}

/// Error of a request without a usable response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExchangeError {
    /// A failure that may pass.
    #[error("{0}")]
    Transient(String),
    /// A failure that does not pass.
    #[error("{0}")]
    Permanent(String),
    /// The request was not sent, because its credentials must not be sent.
    #[error("{0}")]
    NotSent(String),
    /// The response is above the limit of bytes.
    #[error("its answer has more than {0} bytes")]
    TooLarge(u64),
}

/// Timer of retries, and source of the randomness of their delays.
pub trait RetryTimer: fmt::Debug + Send + Sync {
    /// Waits for `delay.time`. Returns `false`, possibly before the delay ends, if the caller stops the retries.
    fn wait(&self, delay: &RetryDelay<'_>) -> bool;

    /// Returns 64 random bits.
    fn random(&self) -> u64;
}

/// The delay before a request is retried.
#[derive(Clone, Copy, Debug)]
pub struct RetryDelay<'a> {
    /// Length.
    pub time: Duration,
    /// The server's URL.
    pub url: &'a str,
    /// Cause of the failure.
    pub reason: &'a str,
}

/// The growth of retry delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Maximum of the first delay. The maximum doubles with every retry.
    pub first: Duration,
    /// Maximum of any delay, unless the server asks for more.
    pub longest: Duration,
    /// Maximum sum of all delays of one request, after which it fails.
    pub in_all: Duration,
}

impl Default for Backoff {
    /// Returns delays of up to one minute each and ten minutes in all: time enough for a node to restart.
    fn default() -> Self {
        Self {
            first: Duration::from_millis(500),
            longest: Duration::from_mins(1),
            in_all: Duration::from_mins(10),
        }
    }
}

impl Backoff {
    /// Returns the delay after `before` other delays: between half and all of its maximum, so that many clients do not
    /// retry at the same time.
    fn delay(&self, before: u32, random: u64) -> Duration {
        let longest = self.first.saturating_mul(2_u32.saturating_pow(before)).min(self.longest);
        let half = longest / 2;
        let span = u64::try_from(half.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        half + Duration::from_millis(random % span)
    }
}

/// A failed attempt of a request.
#[derive(Debug)]
pub(crate) enum AttemptError {
    /// The request is retried.
    Transient {
        /// Cause.
        reason: String,
        /// Delay that the server requests.
        after: Option<Duration>,
    },
    /// The request is not retried.
    Permanent(SourceError),
}

impl From<SourceError> for AttemptError {
    fn from(error: SourceError) -> Self {
        Self::Permanent(error)
    }
}

/// HTTP client of a server that retries requests.
#[derive(Clone, Debug)]
pub struct Server {
    http: Arc<dyn Http>,
    timer: Arc<dyn RetryTimer>,
    backoff: Backoff,
    /// Maximum number of bytes of the response.
    most: u64,
}

impl Server {
    /// Returns a client that retries requests with growing delays.
    #[must_use]
    pub fn new(http: Arc<dyn Http>, timer: Arc<dyn RetryTimer>, backoff: Backoff) -> Self {
        Self { http, timer, backoff, most: MAX_RESPONSE_BYTES }
    }

    /// Returns the server's URL without credentials, for messages.
    #[must_use]
    pub fn url(&self) -> &str {
        self.http.url()
    }

    /// Returns words of the server for messages: shortened, and without credentials that it quotes.
    pub(crate) fn quoted(&self, said: &str) -> String {
        shortened(&self.http.quoted(said))
    }

    /// Returns the client without retries.
    #[must_use]
    pub fn without_retries(&self) -> Self {
        Self { backoff: Backoff { in_all: Duration::ZERO, ..self.backoff }, ..self.clone() }
    }

    /// Returns the client with another limit of bytes of a response.
    #[must_use]
    pub fn with_max_bytes(&self, bytes: u64) -> Self {
        Self { most: bytes, ..self.clone() }
    }

    /// Sends a request until `read` accepts the response.
    pub(crate) fn ask<T>(
        &self,
        request: Request<'_>,
        mut read: impl FnMut(&Response) -> Result<T, AttemptError>,
    ) -> Result<T, SourceError> {
        let request = Request { most: request.most.min(self.most), ..request };
        let mut waited = Duration::ZERO;
        for before in 0.. {
            let failed_attempt = match self.http.exchange(request) {
                Ok(answer) => {
                    match common_error(self.url(), &answer).map_or_else(|| read(&answer), Err) {
                        Ok(read) => return Ok(read),
                        Err(failed_attempt) => failed_attempt,
                    }
                }
                Err(ExchangeError::Transient(reason)) => {
                    AttemptError::Transient { reason, after: None }
                }
                Err(ExchangeError::Permanent(reason)) => {
                    AttemptError::Permanent(self.unreachable(reason))
                }
                Err(ExchangeError::NotSent(reason)) => {
                    let url = self.url().to_owned();
                    AttemptError::Permanent(SourceError::NotSent { url, reason })
                }
                Err(ExchangeError::TooLarge(most)) => {
                    let url = self.url().to_owned();
                    AttemptError::Permanent(SourceError::TooLarge { url, most })
                }
            };
            let (reason, after) = match failed_attempt {
                AttemptError::Transient { reason, after } => (reason, after),
                AttemptError::Permanent(error) => return Err(error),
            };
            let time = after.unwrap_or_else(|| self.backoff.delay(before, self.timer.random()));
            waited = waited.saturating_add(time);
            if waited > self.backoff.in_all {
                return Err(self.unreachable(reason));
            }
            if !self.timer.wait(&RetryDelay { time, url: self.url(), reason: &reason }) {
                break;
            }
        }
        Err(SourceError::Stopped)
    }

    fn unreachable(&self, reason: String) -> SourceError {
        SourceError::Unreachable { url: self.url().to_owned(), reason }
    }
}

/// Returns the error of a status that means the same for every request.
fn common_error(url: &str, answer: &Response) -> Option<AttemptError> {
    let passing = |reason: &str| {
        let reason = format!("{reason} ({})", answer.status);
        Some(AttemptError::Transient { reason, after: answer.retry_after })
    };
    match answer.status {
        429 => passing("it is asked too often"),
        502..=504 => passing("it is busy or away"),
        status @ (401 | 403) => Some(AttemptError::Permanent(SourceError::Denied {
            url: url.to_owned(),
            status,
            hint: "check the cookie file, or user and password",
        })),
        _ => None,
    }
}

/// Shortens a server's text for a message.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 200;
    let text = text.trim();
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
