//! Connections must keep moving: one that is silent at its start, or takes next to nothing of what it is
//! sent, is closed and gives its place to another.
//!
//! The HTTP library bounds how long a request's head may take once it knows which version of HTTP is
//! spoken. Until then it waits for ever, and for ever too where what it writes is not taken; this bounds
//! both.

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

/// After so many bytes the version is known: the length of HTTP/2's preface.
const PREFACE_BYTES: usize = 24;
/// A caller who makes us wait takes at least so many bytes in the time it has.
const MIN_WRITE_PROGRESS: usize = 16 * 1024;

/// A stream whose first bytes must arrive in time, and whose reader must take what it is sent.
#[derive(Debug)]
pub(crate) struct TimeoutStream<S> {
    stream: S,
    read: usize,
    /// Dropped once the version is known.
    begun: Option<Pin<Box<Sleep>>>,
    /// Longest time without a reader's taking its least.
    stall: Duration,
    /// Since writing had to wait: when it ends, and what was taken since.
    waiting: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> TimeoutStream<S> {
    /// `begin`: longest time until the version is known; `stall`: see [`MIN_WRITE_PROGRESS`].
    pub(crate) fn new(stream: S, begin: Duration, stall: Duration) -> Self {
        Self { stream, read: 0, begun: Some(Box::pin(sleep(begin))), stall, waiting: None }
    }

    /// What came of writing, or that it took too long.
    fn written(
        &mut self,
        outcome: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        match (&outcome, &mut self.waiting) {
            (Poll::Ready(Ok(count)), Some((_, taken))) => {
                *taken += count;
                if *taken >= MIN_WRITE_PROGRESS {
                    self.waiting = None;
                }
            }
            (Poll::Ready(_), _) => {}
            (Poll::Pending, _) => return self.wait(context),
        }
        outcome
    }

    fn wait<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        let (end, _) = self.waiting.get_or_insert_with(|| (Box::pin(sleep(self.stall)), 0));
        end.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(deadline) = &mut self.begun
            && deadline.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.read += buffer.filled().len() - before;
        if self.read >= PREFACE_BYTES {
            self.begun = None;
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
        self.written(outcome, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        if outcome.is_pending() {
            return self.wait(context);
        }
        // Everything was taken.
        self.waiting = None;
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
        self.written(outcome, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
