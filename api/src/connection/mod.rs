//! One connection, from its first byte to its last.
//!
//! It ends when its caller closes it, when the program stops, and when it only takes up a place: nothing
//! asked for a while, or an answer that nobody takes any more. Over HTTP/2 such an answer is held back by
//! flow control, where bounds on the socket do not see it; the connection is then asked to go, what else
//! is under way on it is finished, and it is closed.

pub(crate) mod listener;
mod syn_filter;
mod timeout_stream;
pub(crate) mod tls;

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Error, Router,
    body::{Body, Bytes, HttpBody},
    extract::Request,
    response::Response,
};
use http_body::{Frame, SizeHint};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::{Instant, MissedTickBehavior, interval},
};
use tower_service::Service;

use self::timeout_stream::TimeoutStream;
use crate::request::streamed::is_streamed;

/// Bytes in which a request's head must fit; larger ones are refused by the HTTP library itself.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Requests at once on one connection.
const MAX_CONCURRENT_STREAMS: u32 = 100;
/// Bytes of all header fields of a request over HTTP/2.
const MAX_HEADER_LIST_BYTES: u32 = 16 * 1024;
/// Bytes of an answer that wait for a caller over HTTP/2, each stream.
const SEND_BUFFER_BYTES: usize = 64 * 1024;
/// Streams that a caller may begin and take back before they are looked at: more is an attack.
const MAX_RESET_STREAMS: usize = 50;
/// How often it is looked whether a caller over HTTP/2 is still there.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(20);

/// How long callers may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For a connection to be agreed on, and for a request's head.
    pub head: Duration,
    /// For nothing to be taken of an answer.
    pub stall: Duration,
}

impl Timeouts {
    /// For nothing to be asked, over HTTP/2; before that, the head's time bounds it.
    fn idle(self) -> Duration {
        self.head * 3
    }
}

/// How connections speak HTTP.
pub(crate) fn builder(timeouts: Timeouts) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.head)
        .max_buf_size(MAX_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .max_header_list_size(MAX_HEADER_LIST_BYTES)
        .max_send_buf_size(SEND_BUFFER_BYTES)
        .max_pending_accept_reset_streams(MAX_RESET_STREAMS)
        .max_local_error_reset_streams(MAX_RESET_STREAMS)
        .keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(timeouts.head);
    builder
}

/// Serves a connection to its end. `stop` is told when the program stops.
pub(crate) async fn run<S>(
    stream: S,
    router: Router,
    builder: &Builder<TokioExecutor>,
    timeouts: Timeouts,
    mut stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let activity = Arc::new(Activity::default());
    let seen = Arc::clone(&activity);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (mut router, activity) = (router.clone(), Arc::clone(&seen));
        async move {
            let guard = RequestGuard::begin(&activity);
            let response: Result<Response, Infallible> =
                router.call(Request::from(request.map(Body::new))).await;
            response.map(|response| with_progress(response, guard))
        }
    });
    let stream = TimeoutStream::new(stream, timeouts.head, timeouts.stall);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut ticks = interval(timeouts.stall.min(timeouts.head) / 4);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Until when a connection that was asked to go may stay.
    let mut leaves: Option<Instant> = None;
    let mut stopping = false;
    loop {
        tokio::select! {
            // What a caller does to its own connection is not our error.
            _ = connection.as_mut() => return,
            _ = stop.wait_for(|stop| *stop), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            _ = ticks.tick() => match leaves {
                Some(until) if Instant::now() >= until => return,
                None if activity.is_idle(timeouts.idle()) || activity.is_stalled(timeouts.stall) => {
                    leaves = Some(Instant::now() + timeouts.stall);
                    connection.as_mut().graceful_shutdown();
                }
                Some(_) | None => {}
            },
        }
    }
}

/// What goes on over a connection. Times are milliseconds since it began.
#[derive(Debug)]
struct Activity {
    began: Instant,
    open: AtomicUsize,
    last_end: AtomicU64,
    streams: Mutex<Vec<Weak<AtomicU64>>>,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            open: AtomicUsize::new(0),
            last_end: AtomicU64::new(0),
            streams: Mutex::default(),
        }
    }
}

impl Activity {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Whether nothing was asked for so long.
    fn is_idle(&self, time: Duration) -> bool {
        let since = self.now().saturating_sub(self.last_end.load(Ordering::Relaxed));
        self.open.load(Ordering::Relaxed) == 0 && u128::from(since) > time.as_millis()
    }

    /// Whether a part of an answer waits to be taken for so long.
    fn is_stalled(&self, time: Duration) -> bool {
        let now = self.now();
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.iter().filter_map(Weak::upgrade).any(|given| match given.load(Ordering::Relaxed) {
            PRODUCING => false,
            given => u128::from(now.saturating_sub(given)) > time.as_millis(),
        })
    }

    /// Where an answer that is sent while it is made says when its last part was given out.
    fn stream(&self) -> Arc<AtomicU64> {
        let given = Arc::new(AtomicU64::new(PRODUCING));
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|stream| stream.strong_count() > 0);
        streams.push(Arc::downgrade(&given));
        given
    }
}

/// In place of a time: the next part is ours to make.
const PRODUCING: u64 = u64::MAX;

/// A request under way.
#[derive(Debug)]
struct RequestGuard(Arc<Activity>);

impl RequestGuard {
    fn begin(activity: &Arc<Activity>) -> Self {
        activity.open.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(activity))
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.last_end.store(self.0.now(), Ordering::Relaxed);
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The response, under way until its body is through.
fn with_progress(response: Response, guard: RequestGuard) -> Response {
    if !is_streamed(&response) {
        return response;
    }
    let given = guard.0.stream();
    response.map(|body| Body::new(ProgressBody { body, guard, given }))
}

struct ProgressBody {
    body: Body,
    guard: RequestGuard,
    given: Arc<AtomicU64>,
}

impl HttpBody for ProgressBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let outcome = Pin::new(&mut self.body).poll_frame(context);
        let given = if outcome.is_ready() { self.guard.0.now() } else { PRODUCING };
        self.given.store(given, Ordering::Relaxed);
        outcome
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
