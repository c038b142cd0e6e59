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
    Error,
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::header,
};
use http_body_util::BodyExt;
use tokio::{runtime::Handle, time::timeout};

/// Most bytes that are drained.
const MAX_BYTES: usize = 16 << 20;
/// Longest time for draining.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the request with a body that is drained when it is dropped.
pub(crate) fn drain_on_drop(request: Request) -> Request {
    // A caller that expects `100 Continue` sends no body after a refusal.
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return request;
    }
    request.map(|body| Body::new(DrainOnDrop(body)))
}

struct DrainOnDrop(Body);

impl HttpBody for DrainOnDrop {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Error>>> {
        Pin::new(&mut self.0).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.0.size_hint()
    }
}

impl Drop for DrainOnDrop {
    fn drop(&mut self) {
        if self.0.is_end_stream() {
            return;
        }
        let rest = std::mem::replace(&mut self.0, Body::empty());
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(timeout(TIMEOUT, discard(rest)));
        }
    }
}

async fn discard(mut body: Body) {
    let mut count = 0;
    while let Some(Ok(frame)) = body.frame().await {
        count += frame.data_ref().map_or(0, Bytes::len);
        if count > MAX_BYTES {
            return;
        }
    }
}
