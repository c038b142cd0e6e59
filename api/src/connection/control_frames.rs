//! Limit on HTTP/2 control frames: a connection that sends [`MOST`] control frames without a request is closed.
//!
//! The HTTP library processes each control frame at once and has no limit of its own, so that one caller could keep a
//! processor busy without a request that limits would count. The library does not expose frames, so that this stream
//! parses their headers in the bytes of the connection. HTTP/1 connections are not limited.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Instant,
};

/// Number of control frames without a request after which a connection is closed. The count decreases by one every
/// second, so that a caller may ping a connection every second for any time.
const MOST: u64 = 1_000;
/// Response bytes for each of which a caller may send one window update: callers that read much send many window
/// updates.
const BYTES_PER_WINDOW_UPDATE: u64 = 64;

/// First bytes of a connection of HTTP/2 (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const FRAME_HEAD: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const WINDOW_UPDATE: u8 = 8;
const PADDED: u8 = 8;

/// A connection sent too many control frames without a request.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{MOST} control frames without a request")]
struct TooManyFrames;

/// Position of the parser in the bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// The parser has read this many bytes of the preface.
    Preface(usize),
    /// The parser has read this many bytes of a frame header.
    Head([u8; FRAME_HEAD], usize),
    /// The next byte is the padding length of a data frame with this many payload bytes.
    Padding(u32),
    /// The next bytes are this many bytes of a payload.
    Payload(u32),
    /// The connection uses another protocol than HTTP/2.
    Other,
}

/// Counts control frames without a request in the bytes of a connection. The caller passes the time in.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FrameCounter {
    position: Position,
    /// Stream identifier of the request that was received last.
    newest_stream: u32,
    /// Number of control frames since the last request, minus one for each second.
    count: u64,
    /// Time up to which the count of control frames was decreased.
    forgotten_at: Instant,
    /// Response bytes for which no window update was received.
    written: u64,
}

impl FrameCounter {
    const fn new(now: Instant) -> Self {
        let position = Position::Preface(0);
        Self { position, newest_stream: 0, count: 0, forgotten_at: now, written: 0 }
    }

    /// Parses the next bytes from the caller.
    fn read(&mut self, mut bytes: &[u8], now: Instant) -> Result<(), TooManyFrames> {
        while let Some((&first, rest)) = bytes.split_first() {
            match self.position {
                Position::Other => return Ok(()),
                Position::Preface(read) => {
                    let is_preface = PREFACE.get(read) == Some(&first);
                    self.position = match read + 1 {
                        _ if !is_preface => Position::Other,
                        read if read == PREFACE.len() => Position::Head([0; FRAME_HEAD], 0),
                        read => Position::Preface(read),
                    };
                    bytes = rest;
                }
                Position::Head(mut head, read) => {
                    if let Some(byte) = head.get_mut(read) {
                        *byte = first;
                    }
                    self.position = Position::Head(head, read + 1);
                    if read + 1 == FRAME_HEAD {
                        self.begin(head, now)?;
                    }
                    bytes = rest;
                }
                Position::Padding(length) => {
                    if length <= 1 + u32::from(first) {
                        self.add(now)?;
                    }
                    self.position = payload(length - 1);
                    bytes = rest;
                }
                Position::Payload(left) => {
                    let passed = bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    self.position = payload(left - u32::try_from(passed).unwrap_or(left));
                    bytes = bytes.get(passed..).unwrap_or_default();
                }
            }
        }
        Ok(())
    }

    /// Begins to parse the frame whose header was read.
    fn begin(&mut self, head: [u8; FRAME_HEAD], now: Instant) -> Result<(), TooManyFrames> {
        let [long, middle, short, kind, flags, stream @ ..] = head;
        let length = u32::from_be_bytes([0, long, middle, short]);
        let stream = u32::from_be_bytes(stream) & (u32::MAX >> 1);
        self.position = payload(length);
        match kind {
            HEADERS if stream > self.newest_stream => {
                self.newest_stream = stream;
                self.count = 0;
            }
            DATA if length > 0 && flags & PADDED != 0 => self.position = Position::Padding(length),
            DATA if length > 0 => {}
            WINDOW_UPDATE if self.written >= BYTES_PER_WINDOW_UPDATE => {
                self.written -= BYTES_PER_WINDOW_UPDATE;
            }
            _ => self.add(now)?,
        }
        Ok(())
    }

    fn add(&mut self, now: Instant) -> Result<(), TooManyFrames> {
        let seconds = now.saturating_duration_since(self.forgotten_at).as_secs();
        self.count = self.count.saturating_sub(seconds) + 1;
        self.forgotten_at += Duration::from_secs(seconds);
        if self.count > MOST { Err(TooManyFrames) } else { Ok(()) }
    }

    /// Records response bytes that are sent to the caller.
    const fn wrote(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }
}

/// Returns the parser's position before a payload of this length.
const fn payload(length: u32) -> Position {
    if length == 0 { Position::Head([0; FRAME_HEAD], 0) } else { Position::Payload(length) }
}

/// Stream that returns an error after too many control frames without a request.
#[derive(Debug)]
pub(crate) struct ControlFrameLimit<S> {
    stream: S,
    counter: FrameCounter,
}

impl<S> ControlFrameLimit<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, counter: FrameCounter::new(Instant::now()) }
    }

    fn wrote(&mut self, outcome: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = outcome {
            self.counter.wrote(u64::try_from(*bytes).unwrap_or(u64::MAX));
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ControlFrameLimit<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        if self.counter.position == Position::Other {
            return outcome;
        }
        let arrived = buffer.filled().get(before..).unwrap_or_default();
        match self.counter.read(arrived, Instant::now()) {
            Ok(()) => outcome,
            Err(error) => {
                tracing::debug!(%error, "closed a connection");
                Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, error)))
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ControlFrameLimit<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(&outcome);
        outcome
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.wrote(&outcome);
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const PRIORITY: u8 = 2;
    const RST_STREAM: u8 = 3;
    const SETTINGS: u8 = 4;
    const PING: u8 = 6;
    const CONTINUATION: u8 = 9;
    const UNKNOWN: u8 = 200;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [length[1], length[2], length[3], kind, flags];
        [&head[..], &stream.to_be_bytes(), payload].concat()
    }

    /// Returns a counter after the preface, and the time.
    fn open() -> (FrameCounter, Instant) {
        let now = Instant::now();
        let mut counter = FrameCounter::new(now);
        counter.read(PREFACE, now).unwrap();
        (counter, now)
    }

    /// Returns the number of frames that are read before the connection is closed, at most 10,000.
    fn frames(of: &[u8]) -> usize {
        let (mut counter, now) = open();
        (0..10_000).take_while(|_| counter.read(of, now).is_ok()).count()
    }

    #[test]
    fn frames_of_every_kind_that_asks_for_nothing_count() {
        for (kind, payload) in [
            (SETTINGS, &[0; 6][..]),
            (SETTINGS, &[]),
            (PING, &[0; 8]),
            (PRIORITY, &[0; 5]),
            (RST_STREAM, &[0; 4]),
            (WINDOW_UPDATE, &[0, 0, 0, 1]),
            (CONTINUATION, &[]),
            (DATA, &[]),
            (UNKNOWN, &[7; 300]),
        ] {
            for flags in [0, 1] {
                assert_eq!(frames(&frame(kind, flags, 1, payload)), 1_000, "kind {kind}");
            }
        }
        // Data that is nothing but padding, and the end of a request's header fields twice.
        assert_eq!(frames(&frame(DATA, PADDED, 1, &[3, 0, 0, 0])), 1_000);
        assert_eq!(frames(&frame(HEADERS, 4, 0, b"fields")), 1_000);
    }

    #[test]
    fn a_request_begins_the_count_anew_and_data_does_not_count() {
        let (mut counter, now) = open();
        for stream in (1..200).step_by(2) {
            counter.read(&frame(HEADERS, 4, stream, b"fields"), now).unwrap();
            for _ in 0..1_000 {
                counter.read(&frame(PING, 0, 0, &[0; 8]), now).unwrap();
                counter.read(&frame(DATA, 0, stream, b"x"), now).unwrap();
                counter.read(&frame(DATA, PADDED, stream, b"\x01xy"), now).unwrap();
            }
        }
        // A header frame of an older stream begins no request.
        let trailers = frame(HEADERS, 5, 1, b"fields");
        assert_eq!(counter.read(&trailers, now), Err(TooManyFrames));
    }

    #[test]
    fn a_connection_that_is_probed_every_second_is_never_closed() {
        let (mut counter, mut now) = open();
        for _ in 0..1_000_000 {
            now += Duration::from_secs(1);
            counter.read(&frame(PING, 0, 0, &[0; 8]), now).unwrap();
        }
        assert!(counter.count <= 1, "{}", counter.count);
        // A long pause allows no more frames than the limit.
        now += Duration::from_hours(24);
        let most =
            (0..10_000).take_while(|_| counter.read(&frame(PING, 0, 0, &[0; 8]), now).is_ok());
        assert_eq!(most.count(), 1_000);
    }

    #[test]
    fn a_caller_may_enlarge_windows_while_it_reads() {
        let (mut counter, now) = open();
        for _ in 0..100_000 {
            counter.wrote(300);
            for _ in 0..2 {
                counter.read(&frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 9]), now).unwrap();
            }
        }
        assert_eq!(counter.count, 0);
        // Response bytes allow window updates and no pings.
        let pings = (0..10_000).take_while(|_| {
            counter.wrote(17);
            counter.read(&frame(PING, 0, 0, &[0; 8]), now).is_ok()
        });
        assert_eq!(pings.count(), 1_000);
    }

    #[test]
    fn http_1_is_not_touched() {
        let now = Instant::now();
        let mut counter = FrameCounter::new(now);
        counter.read(b"PRI / HTTP/1.1\r\nhost: x\r\n\r\n", now).unwrap();
        assert_eq!(counter.position, Position::Other);
        for _ in 0..10_000 {
            counter.read(&frame(PING, 0, 0, &[0; 8]), now).unwrap();
        }
    }

    /// Generates frames of all kinds, and other bytes.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let kind = prop_oneof![0_u8..12, any::<u8>()];
        let one = (kind, any::<u8>(), 0_u32..40, vec(any::<u8>(), 0..40))
            .prop_map(|(kind, flags, stream, payload)| frame(kind, flags, stream, &payload));
        (vec(one, 0..60), vec(any::<u8>(), 0..40))
            .prop_map(|(frames, junk)| [PREFACE.to_vec(), frames.concat(), junk].concat())
    }

    proptest! {
        #[test]
        fn any_split_of_the_bytes_gives_the_same_count(
            bytes in bytes(),
            sizes in vec(1_usize..30, 1..40),
        ) {
            let now = Instant::now();
            let mut whole = FrameCounter::new(now);
            let read = whole.read(&bytes, now);
            let (mut split, mut rest) = (FrameCounter::new(now), &bytes[..]);
            let mut sizes = sizes.into_iter().cycle();
            let mut outcome = Ok(());
            while !rest.is_empty() && outcome.is_ok() {
                let (piece, after) = rest.split_at(sizes.next().unwrap().min(rest.len()));
                outcome = split.read(piece, now);
                rest = after;
            }
            prop_assert_eq!(outcome, read);
            prop_assert_eq!(split, whole);
        }

        #[test]
        fn no_bytes_are_too_odd(
            is_http2: bool,
            pieces in vec(vec(any::<u8>(), 0..200), 0..20),
        ) {
            let now = Instant::now();
            let mut counter = FrameCounter::new(now);
            if is_http2 {
                counter.read(PREFACE, now).unwrap();
            }
            for piece in pieces {
                let _ = counter.read(&piece, now);
            }
        }
    }
}
