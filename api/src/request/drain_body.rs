//! What is left of a request's body once it is answered.
//!
//! A connection that is closed while its caller still sends is reset, and the caller may never see the
//! answer; one that stays open cannot be used again before the body is through. So whatever part of a
//! body nobody wanted (a refused key, an unknown path, a body that is too large) is read on beside the
//! answer, within bounds, and thrown away.

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

/// Most bytes that are read on.
const MOST: usize = 16 << 20;
/// Longest time to read on.
const TIME: Duration = Duration::from_secs(5);

/// The request, with a body whose rest is taken off the caller's hands when it is dropped.
pub(crate) fn drain_on_drop(request: Request) -> Request {
    // Whoever waits to be told `100 Continue` sends nothing once it is refused.
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
            runtime.spawn(timeout(TIME, discard(rest)));
        }
    }
}

async fn discard(mut body: Body) {
    let mut count = 0;
    while let Some(Ok(frame)) = body.frame().await {
        count += frame.data_ref().map_or(0, Bytes::len);
        if count > MOST {
            return;
        }
    }
}
