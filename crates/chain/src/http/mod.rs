//! Asking a server over HTTP, patiently: what fails for a while is asked again, later and later.
//!
//! - [`Http`]: one exchange; tests answer from what was recorded
//! - [`Patience`]: waiting, and randomness for it, which the caller provides
//! - [`client`]: exchanges over the network

#[cfg(feature = "edge")]
pub mod client;

use std::{fmt, sync::Arc, time::Duration};

use super::SourceError;

/// A server that is asked over HTTP.
pub trait Http: fmt::Debug + Send + Sync {
    /// The server's address in messages, without secrets.
    fn url(&self) -> &str;

    /// Asks once.
    ///
    /// # Errors
    ///
    /// Where there is no answer.
    fn exchange(&self, request: Request<'_>) -> Result<Answer, NoAnswer>;
}

/// What a server is asked.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The path behind the server's address, with its leading slash; empty for the address itself.
    pub path: &'a str,
    /// What is sent, in JSON; `None` to get what is there.
    pub body: Option<&'a [u8]>,
    /// The most bytes of an answer.
    pub most: u64,
}

/// The most bytes of any answer: a block of 60 MB in hexadecimal, or one of 10 MB described in JSON with
/// what it spends. An answer is in memory as a whole.
pub const LARGEST_ANSWER: u64 = 128 * 1024 * 1024;

impl<'a> Request<'a> {
    /// Gets what is at a path.
    #[must_use]
    pub const fn get(path: &'a str) -> Self {
        Self { path, body: None, most: LARGEST_ANSWER }
    }

    /// Sends JSON to the address itself.
    #[must_use]
    pub const fn post(body: &'a [u8]) -> Self {
        Self { path: "", body: Some(body), most: LARGEST_ANSWER }
    }
}

/// What a server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// How long it asks to be left alone.
    pub retry_after: Option<Duration>,
    /// The content.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    /// What happened may pass.
    #[error("{0}")]
    Passing(String),
    /// What happened will happen again.
    #[error("{0}")]
    Lasting(String),
    /// It has more bytes than were asked for at most.
    #[error("its answer has more than {0} bytes")]
    TooLarge(u64),
}

/// Waiting, and randomness for it.
pub trait Patience: fmt::Debug + Send + Sync {
    /// Waits for `pause.time`, or shorter where the caller wants to stop: then it says `false`.
    fn wait(&self, pause: &Pause<'_>) -> bool;

    /// Sixty-four random bits.
    fn random(&self) -> u64;
}

/// A pause before the same is asked again.
#[derive(Clone, Copy, Debug)]
pub struct Pause<'a> {
    /// How long.
    pub time: Duration,
    /// The server.
    pub url: &'a str,
    /// Why.
    pub reason: &'a str,
}

/// How pauses grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The longest that the first pause can be; each one after it can be twice as long.
    pub first: Duration,
    /// The longest that any pause can be, unless the server asks for more.
    pub longest: Duration,
    /// All pauses for one question together, after which it is given up.
    pub in_all: Duration,
}

impl Default for Backoff {
    /// Up to a minute a pause, ten minutes in all: a node that restarts is back by then.
    fn default() -> Self {
        Self {
            first: Duration::from_millis(500),
            longest: Duration::from_mins(1),
            in_all: Duration::from_mins(10),
        }
    }
}

impl Backoff {
    /// The pause after so many before it: between half and all of what it can be, so that many who
    /// wait do not come back together.
    fn pause(&self, before: u32, random: u64) -> Duration {
        let longest = self.first.saturating_mul(2_u32.saturating_pow(before)).min(self.longest);
        let half = longest / 2;
        let span = u64::try_from(half.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
        half + Duration::from_millis(random % span)
    }
}

/// Why a question has no answer yet.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Ask again.
    Passing {
        /// What happened.
        reason: String,
        /// How long the server asks to be left alone.
        after: Option<Duration>,
    },
    /// Asking again would not help.
    Lasting(SourceError),
}

impl From<SourceError> for Trouble {
    fn from(error: SourceError) -> Self {
        Self::Lasting(error)
    }
}

/// A server that is asked patiently.
#[derive(Clone, Debug)]
pub struct Server {
    http: Arc<dyn Http>,
    patience: Arc<dyn Patience>,
    backoff: Backoff,
    /// The most bytes of an answer.
    most: u64,
}

impl Server {
    /// A server that is asked again with growing pauses where it does not answer.
    #[must_use]
    pub fn new(http: Arc<dyn Http>, patience: Arc<dyn Patience>, backoff: Backoff) -> Self {
        Self { http, patience, backoff, most: LARGEST_ANSWER }
    }

    /// The server's address in messages.
    #[must_use]
    pub fn url(&self) -> &str {
        self.http.url()
    }

    /// The same server, asked once only.
    #[must_use]
    pub fn impatient(&self) -> Self {
        Self { backoff: Backoff { in_all: Duration::ZERO, ..self.backoff }, ..self.clone() }
    }

    /// The same server, whose answers may have at most so many bytes.
    #[must_use]
    pub fn at_most(&self, bytes: u64) -> Self {
        Self { most: bytes, ..self.clone() }
    }

    /// Asks until `read` makes something of the answer.
    pub(crate) fn ask<T>(
        &self,
        request: Request<'_>,
        mut read: impl FnMut(&Answer) -> Result<T, Trouble>,
    ) -> Result<T, SourceError> {
        let request = Request { most: request.most.min(self.most), ..request };
        let mut waited = Duration::ZERO;
        for before in 0.. {
            let trouble = match self.http.exchange(request) {
                Ok(answer) => {
                    match common(self.url(), &answer).map_or_else(|| read(&answer), Err) {
                        Ok(read) => return Ok(read),
                        Err(trouble) => trouble,
                    }
                }
                Err(NoAnswer::Passing(reason)) => Trouble::Passing { reason, after: None },
                Err(NoAnswer::Lasting(reason)) => Trouble::Lasting(self.unreachable(reason)),
                Err(NoAnswer::TooLarge(most)) => {
                    let url = self.url().to_owned();
                    Trouble::Lasting(SourceError::TooLarge { url, most })
                }
            };
            let (reason, after) = match trouble {
                Trouble::Passing { reason, after } => (reason, after),
                Trouble::Lasting(error) => return Err(error),
            };
            let time = after.unwrap_or_else(|| self.backoff.pause(before, self.patience.random()));
            waited = waited.saturating_add(time);
            if waited > self.backoff.in_all {
                return Err(self.unreachable(reason));
            }
            if !self.patience.wait(&Pause { time, url: self.url(), reason: &reason }) {
                break;
            }
        }
        Err(SourceError::Stopped)
    }

    fn unreachable(&self, reason: String) -> SourceError {
        SourceError::Unreachable { url: self.url().to_owned(), reason }
    }
}

/// What is wrong with an answer by its status alone, whatever was asked.
fn common(url: &str, answer: &Answer) -> Option<Trouble> {
    let passing = |reason: &str| {
        let reason = format!("{reason} ({})", answer.status);
        Some(Trouble::Passing { reason, after: answer.retry_after })
    };
    match answer.status {
        429 => passing("it is asked too often"),
        502..=504 => passing("it is busy or away"),
        status @ (401 | 403) => Some(Trouble::Lasting(SourceError::Denied {
            url: url.to_owned(),
            status,
            hint: "check the cookie file, or user and password",
        })),
        _ => None,
    }
}

/// A server's words, short enough for a message.
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
