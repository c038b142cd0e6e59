//! Streamed responses: keeps guards of a request alive until the end of its response body.

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

/// True if the response is streamed: its length is not known in advance.
pub(crate) fn is_streamed(response: &Response) -> bool {
    response.body().size_hint().exact().is_none()
}

/// Returns the response; `guard` is dropped at the end of its body, and log lines written until then
/// are in `span`.
pub(crate) fn hold_until_end<K: Send + 'static>(
    response: Response,
    guard: K,
    span: Span,
) -> Response {
    if !is_streamed(&response) {
        return response;
    }
    response.map(|body| Body::new(GuardedBody { body, span, _guard: guard }))
}

struct GuardedBody<K> {
    body: Body,
    span: Span,
    /// Held for its drop.
    _guard: K,
}

/// No field is ever pinned.
impl<K> Unpin for GuardedBody<K> {}

impl<K: Send + 'static> HttpBody for GuardedBody<K> {
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
