//! Connections must begin to speak: one that is silent is closed and gives its place to another.
//!
//! The HTTP library bounds how long a request's head may take once it knows which version of HTTP is
//! spoken. Until then it waits for ever; this bounds that time.

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
const VERSION_KNOWN: usize = 24;

/// A stream whose first bytes must arrive in time.
#[derive(Debug)]
pub(super) struct Prompt<S> {
    stream: S,
    read: usize,
    /// Dropped once the version is known.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Prompt<S> {
    pub(super) fn new(stream: S, within: Duration) -> Self {
        Self { stream, read: 0, deadline: Some(Box::pin(sleep(within))) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Prompt<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(deadline) = &mut self.deadline
            && deadline.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.read += buffer.filled().len() - before;
        if self.read >= VERSION_KNOWN {
            self.deadline = None;
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Prompt<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
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
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
