//! Draining of unread request bodies.
//!
//! If a connection is closed while its caller still sends, it is reset, and the caller may never see
//! the response; if it stays open, it cannot be reused before the whole body is received. The unread
//! part of a body (refused key, unknown path, body too large) is therefore read in the background,
//! within bounds, and discarded.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    BoxError,
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{self, header},
};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::{runtime::Handle, time::timeout};

/// Most bytes that are drained.
const MAX_BYTES: usize = 16 << 20;
/// Longest time for draining.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the request with a body that is drained when it is dropped.
pub(crate) fn drain_on_drop<B>(request: http::Request<B>) -> Request
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin + Send + 'static,
{
    // A caller that expects `100 Continue` sends no body after a refusal.
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return request.map(Body::new);
    }
    request.map(|body| Body::new(DrainOnDrop(Some(body))))
}

/// A body; `None` once it is dropped.
struct DrainOnDrop<B: HttpBody<Data = Bytes> + Unpin + Send + 'static>(Option<B>);

impl<B: HttpBody<Data = Bytes> + Unpin + Send + 'static> HttpBody for DrainOnDrop<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let Some(body) = &mut self.0 else { return Poll::Ready(None) };
        Pin::new(body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl<B: HttpBody<Data = Bytes> + Unpin + Send + 'static> Drop for DrainOnDrop<B> {
    fn drop(&mut self) {
        let rest = self.0.take().filter(|body| !body.is_end_stream());
        if let (Some(rest), Ok(runtime)) = (rest, Handle::try_current()) {
            runtime.spawn(timeout(TIMEOUT, discard(rest)));
        }
    }
}

async fn discard(mut body: impl HttpBody<Data = Bytes> + Unpin) {
    let mut count = 0;
    while let Some(Ok(frame)) = body.frame().await {
        count += frame.data_ref().map_or(0, Bytes::len);
        if count > MAX_BYTES {
            return;
        }
    }
}
