//! Timeouts on a socket: closes a connection that sends nothing at its start, or hardly reads its
//! responses.
//!
//! The HTTP library limits the time for a request's head only once it knows the HTTP version. The library waits without
//! a limit for the HTTP version, and while its writes are blocked; this stream limits both waits.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// Bytes after which the HTTP version is known: the length of HTTP/2's preface.
const PREFACE_BYTES: usize = 24;
/// Fewest bytes that a caller must read within the write timeout once writing has blocked.
const MIN_WRITE_PROGRESS: usize = 16 * 1024;

/// A stream with timeouts for its first bytes and for blocked writes.
#[derive(Debug)]
pub(crate) struct TimeoutStream<S> {
    stream: S,
    read: usize,
    /// Deadline of the preface; `None` once the HTTP version is known.
    preface_deadline: Option<Pin<Box<Sleep>>>,
    /// Longest time in which the caller reads less than [`MIN_WRITE_PROGRESS`].
    write_timeout: Duration,
    /// Deadline of a blocked write, and the number of bytes that the caller read since the write blocked.
    blocked_write: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> TimeoutStream<S> {
    /// Wraps a stream. `preface_timeout`: longest time until the version is known; `write_timeout`: see
    /// [`MIN_WRITE_PROGRESS`].
    pub(crate) fn new(stream: S, preface_timeout: Duration, write_timeout: Duration) -> Self {
        Self {
            stream,
            read: 0,
            preface_deadline: Some(Box::pin(sleep(preface_timeout))),
            write_timeout,
            blocked_write: None,
        }
    }

    /// Returns the outcome of a write, or an error after the write timeout.
    fn check_progress(
        &mut self,
        outcome: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match (&outcome, &mut self.blocked_write) {
            (Poll::Ready(Ok(count)), Some((_, taken))) => {
                *taken += count;
                if *taken >= MIN_WRITE_PROGRESS {
                    self.blocked_write = None;
                }
            }
            (Poll::Ready(_), _) => {}
            (Poll::Pending, _) => return self.wait(context),
        }
        outcome
    }

    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        let (end, _) =
            self.blocked_write.get_or_insert_with(|| (Box::pin(sleep(self.write_timeout)), 0));
        end.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(deadline) = &mut self.preface_deadline
            && deadline.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.read += buffer.filled().len() - before;
        if self.read >= PREFACE_BYTES {
            self.preface_deadline = None;
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_progress(outcome, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        if outcome.is_pending() {
            return self.wait(context);
        }
        // All bytes were read.
        self.blocked_write = None;
        outcome
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        if outcome.is_pending() { self.wait(context) } else { outcome }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.check_progress(outcome, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
