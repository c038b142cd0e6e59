//! Judgment of responses: only a whole file counts, and only a confirmation of what was asked.
//!
//! A list that lost its end is a list whose last parties are cleared, and a confirmation that nobody asked for makes a
//! stale list fresh. Any other response is refused with its cause.

use std::io::{self, Read};

use ureq::http::{HeaderMap, HeaderName, Response, StatusCode, Version, header};

use super::{SpoolError, SpooledFile, fetch::Conditions};

/// Bytes at the start of a file in which the beginning of a web page is searched.
const PAGE_START_BYTES: u64 = 4096;

/// Reason why a response does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResponseFault {
    /// The status is neither 200 nor 304.
    #[error("the server answered {0}{hint}", hint = hint(*.0))]
    Status(StatusCode),
    /// The server confirms a file that nobody asked about.
    #[error("the server answered 304 Not Modified to a request without a condition")]
    Unasked,
    /// The server confirms another version of the file.
    #[error("the server answered 304 Not Modified about {told}, and was asked about {asked}")]
    OtherVersion {
        /// Validator that was sent.
        asked: String,
        /// Validator in the answer.
        told: String,
    },
    /// The response with status 200 is a part of the file.
    #[error("the server sent a part of the file, {0}")]
    Part(String),
    /// The response is encoded in a way that was not requested.
    #[error("the server encoded the response as `{0}`, which was not requested")]
    Encoding(String),
    /// The connection ended a response that does not state its length.
    #[error(
        "the response does not state its length (no Content-Length, not chunked), so that a connection \
         that breaks looks like its end: fetch it over https, or download the file and import that"
    )]
    DoubtfulEnd,
    /// The connection ended before the response did.
    #[error("the connection ended after {received} of {stated} bytes")]
    CutShort {
        /// Bytes that arrived.
        received: u64,
        /// Bytes that the response states, or `unknown`.
        stated: String,
    },
    /// The response took too long.
    #[error("the response did not end in time: {received} bytes arrived")]
    Stalled {
        /// Bytes that arrived.
        received: u64,
    },
    /// The server sent more than the response states.
    #[error("the server sent more bytes than the {0} that it stated")]
    Surplus(String),
    /// The response is empty.
    #[error("the response is empty")]
    Empty,
    /// The response is a page for people.
    #[error("the response is a web page, such as that of a login or of an error, and no file")]
    WebPage,
}

/// Advice about a status, for a message.
const fn hint(status: StatusCode) -> &'static str {
    match status.as_u16() {
        206 => ", a part of the file that nobody asked for",
        203 => ", a file that a proxy changed",
        200..=299 => ", and only 200 carries the file",
        _ => "",
    }
}

impl ResponseFault {
    /// Judges the head of a response with status 200.
    pub(crate) fn of_head(headers: &HeaderMap) -> Result<(), Self> {
        if let Some(range) = text(headers, header::CONTENT_RANGE) {
            return Err(Self::Part(range));
        }
        // The client has decoded and removed `gzip`; packed files are unpacked later, by their first bytes.
        match text(headers, header::CONTENT_ENCODING) {
            Some(encoding) if !matches!(&*encoding, "" | "identity" | "gzip" | "x-gzip") => {
                Err(Self::Encoding(encoding))
            }
            _ => Ok(()),
        }
    }

    /// Judges the file of a response.
    pub(crate) fn of_file(file: &SpooledFile) -> Result<Option<Self>, SpoolError> {
        if file.bytes() == 0 {
            return Ok(Some(Self::Empty));
        }
        let start = file.beginning(PAGE_START_BYTES)?;
        Ok(is_web_page(&start).then_some(Self::WebPage))
    }

    /// Judges a response with status 304 to a request with the conditions `asked`.
    pub(crate) fn of_confirmation(headers: &HeaderMap, asked: &Conditions) -> Result<(), Self> {
        if asked.etag.is_none() && asked.last_modified.is_none() {
            return Err(Self::Unasked);
        }
        let told = text(headers, header::ETAG);
        if let (Some(asked), Some(told)) = (&asked.etag, told)
            && opaque(asked) != opaque(&told)
        {
            return Err(Self::OtherVersion { asked: asked.clone(), told });
        }
        Ok(())
    }
}

/// True if a response states where it ends, by its chunks.
pub(crate) fn is_chunked<B>(response: &Response<B>) -> bool {
    let coding = text(response.headers(), header::TRANSFER_ENCODING).unwrap_or_default();
    response.version() >= Version::HTTP_11 && coding.to_ascii_lowercase().contains("chunked")
}

/// The value of a field, in one line.
pub(crate) fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(|value| value.trim().to_owned())
}

/// An entity tag for the weak comparison that If-None-Match takes (RFC 9110, section 8.8.3.2).
fn opaque(etag: &str) -> &str {
    etag.strip_prefix("W/").unwrap_or(etag)
}

/// True if a file begins as a web page does: after a byte order mark, a declaration and comments.
fn is_web_page(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start).to_ascii_lowercase();
    let mut rest = text.trim_start_matches('\u{FEFF}').trim_start();
    for (open, close) in [("<?", "?>"), ("<!--", "-->"), ("<!--", "-->")] {
        if rest.starts_with(open) {
            rest = rest.split_once(close).map_or("", |(_, after)| after).trim_start();
        }
    }
    ["<!doctype html", "<html", "<head", "<body"].iter().any(|tag| {
        let after = rest.strip_prefix(tag).map(|after| after.chars().next());
        after.is_some_and(|next| next.is_none_or(|next| !next.is_alphanumeric()))
    })
}

/// Reader of a body, whose errors tell how much arrived.
pub(crate) struct BodyReader<R> {
    inner: R,
    received: u64,
    stated: Option<u64>,
}

impl<R> BodyReader<R> {
    /// Reads a body of as many bytes as the response states.
    pub(crate) const fn new(inner: R, stated: Option<u64>) -> Self {
        Self { inner, received: 0, stated }
    }
}

impl<R: Read> Read for BodyReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let received = self.received;
        let told = |error: io::Error| {
            let fault = match error.kind() {
                io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted => ResponseFault::CutShort {
                    received,
                    stated: self.stated.map_or("unknown".to_owned(), |stated| stated.to_string()),
                },
                io::ErrorKind::TimedOut => ResponseFault::Stalled { received },
                _ => return error,
            };
            io::Error::new(error.kind(), fault)
        };
        let count = self.inner.read(buffer).map_err(told)?;
        self.received += u64::try_from(count).unwrap_or_default();
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_web_page_is_known_by_its_beginning() {
        for page in [
            "<!DOCTYPE html><title>Sign in</title>",
            "\u{FEFF}\n <!doctype HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\">",
            "<html>",
            "<HTML lang=en>",
            "<?xml version=\"1.0\"?>\n<!-- portal --><!DOCTYPE html>",
            "<head><meta http-equiv=refresh>",
        ] {
            assert!(is_web_page(page.as_bytes()), "{page}");
        }
        for file in [
            "list,entity_id\n",
            "<?xml version=\"1.0\"?><htmlist/>",
            "<!-- a comment --><Sanctions>",
            "<!DOCTYPE sanctions>",
            "{\"html\": 1}",
            "",
        ] {
            assert!(!is_web_page(file.as_bytes()), "{file}");
        }
    }

    #[test]
    fn a_confirmation_counts_for_the_version_that_was_asked_about() {
        let asked = |etag: Option<&str>, last_modified: Option<&str>| Conditions {
            etag: etag.map(str::to_owned),
            last_modified: last_modified.map(str::to_owned),
        };
        let told = |etag: Option<&str>| -> HeaderMap {
            etag.map(|etag| (header::ETAG, etag.parse().unwrap())).into_iter().collect()
        };
        let confirms = |headers: &HeaderMap, asked: &Conditions| {
            ResponseFault::of_confirmation(headers, asked).map_err(|fault| fault.to_string())
        };
        assert_eq!(confirms(&told(Some("\"a\"")), &asked(Some("W/\"a\""), None)), Ok(()));
        assert_eq!(confirms(&told(None), &asked(Some("\"a\""), None)), Ok(()));
        assert_eq!(confirms(&told(Some("\"b\"")), &asked(None, Some("a day"))), Ok(()));
        assert_eq!(
            confirms(&told(Some("\"b\"")), &asked(Some("\"a\""), Some("a day"))).unwrap_err(),
            "the server answered 304 Not Modified about \"b\", and was asked about \"a\""
        );
        assert_eq!(
            confirms(&told(Some("\"a\"")), &asked(None, None)).unwrap_err(),
            "the server answered 304 Not Modified to a request without a condition"
        );
    }
}
