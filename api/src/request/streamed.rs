//! Answers that are sent while they are made: what belongs to the request lasts until their end.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::{
    Error,
    body::{Body, Bytes, HttpBody},
    response::Response,
};
use http_body::{Frame, SizeHint};
use tracing::Span;

/// Whether the answer is sent while it is made.
pub(crate) fn is_streamed(response: &Response) -> bool {
    response.body().size_hint().exact().is_none()
}

/// The response; `kept` is dropped once its body is through, and log lines written meanwhile are in
/// `span`.
pub(crate) fn hold_until_end<K: Send + 'static>(
    response: Response,
    kept: K,
    span: Span,
) -> Response {
    if !is_streamed(&response) {
        return response;
    }
    response.map(|body| Body::new(Streamed { body, span, _kept: kept }))
}

struct Streamed<K> {
    body: Body,
    span: Span,
    /// Kept for what its end does.
    _kept: K,
}

/// Nothing of it is ever pinned.
impl<K> Unpin for Streamed<K> {}

impl<K: Send + 'static> HttpBody for Streamed<K> {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let span = self.span.clone();
        span.in_scope(|| Pin::new(&mut self.body).poll_frame(context))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
