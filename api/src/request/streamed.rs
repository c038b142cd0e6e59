//! Streamed responses: keeps guards of a request alive until the end of its response body.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use assay_telemetry::request::WorkScope;
use axum::{
    Error,
    body::{Body, Bytes, HttpBody},
    response::Response,
};
use http_body::{Frame, SizeHint};

/// True if the response is streamed: its length is not known in advance.
pub(crate) fn is_streamed(response: &Response) -> bool {
    response.body().size_hint().exact().is_none()
}

/// Drops `guard` at the end of the response's body, whose work until then belongs to `scope`.
pub(crate) fn hold_until_end<K: Send + 'static>(
    response: Response,
    guard: K,
    scope: impl FnOnce() -> WorkScope,
) -> Response {
    if !is_streamed(&response) {
        return response;
    }
    let scope = scope();
    response.map(|body| {
        with_frames_by(body, move |body, context| {
            let _held = &guard;
            scope.run(|| body.poll_frame(context))
        })
    })
}

/// Returns the next frame of a body, once the frame has arrived.
pub(crate) type PolledFrame = Poll<Option<Result<Frame<Bytes>, Error>>>;

/// Returns a body with the frames that `poll` reads from `body`. Values that `poll` owns are dropped at the end of the
/// body.
pub(crate) fn with_frames_by<F>(body: Body, poll: F) -> Body
where
    F: FnMut(Pin<&mut Body>, &mut Context<'_>) -> PolledFrame + Send + 'static,
{
    Body::new(PolledBody { body, poll })
}

struct PolledBody<F> {
    body: Body,
    poll: F,
}

/// No field is ever pinned.
impl<F> Unpin for PolledBody<F> {}

impl<F> HttpBody for PolledBody<F>
where
    F: FnMut(Pin<&mut Body>, &mut Context<'_>) -> PolledFrame + Send + 'static,
{
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame {
        let Self { body, poll } = &mut *self;
        poll(Pin::new(body), context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
