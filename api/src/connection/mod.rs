//! Serving HTTP on one connection.
//!
//! A connection ends when the caller closes it, when the program stops, when it sends too many control frames, or when
//! it is idle or stalled: no request for a while, or a response that the caller does not read. HTTP/2 flow control
//! holds back a response that the caller does not read, without effect on the socket, so that timeouts on the socket do
//! not apply; the connection is shut down gracefully (its other requests are finished) and closed.

mod control_frames;
pub(crate) mod listener;
mod proxy_header;
mod syn_filter;
pub(crate) mod table;
mod timeout_stream;
pub(crate) mod tls;

use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{body::HttpBody, response::Response};
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

use self::{
    control_frames::ControlFrameLimit, table::ConnectionMark, timeout_stream::TimeoutStream,
};
use crate::{
    direct::ApiEndpoint,
    request::{
        drain_body::drain_on_drop,
        streamed::{is_streamed, with_frames_by},
    },
};

/// Largest head of a request in bytes; the HTTP library refuses larger heads.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// Concurrent requests on one HTTP/2 connection.
const MAX_CONCURRENT_STREAMS: u32 = 100;
/// Largest header list of a request over HTTP/2, in bytes.
const MAX_HEADER_LIST_BYTES: u32 = 16 * 1024;
/// Bytes of a response buffered for each HTTP/2 stream.
const SEND_BUFFER_BYTES: usize = 64 * 1024;
/// Number of streams that a caller may open and reset before they are processed; more such streams are an attack (rapid
/// reset).
const MAX_RESET_STREAMS: usize = 50;
/// Interval of HTTP/2 keep-alive pings.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(20);

/// Timeouts of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Longest time for the TLS handshake, and for a request's head.
    pub head: Duration,
    /// Longest time in which a caller may read nothing of a response.
    pub stall: Duration,
}

impl Timeouts {
    /// Returns the longest time without a request over HTTP/2; before the first request, the timeout for a request's
    /// head applies.
    fn idle(self) -> Duration {
        self.head * 3
    }
}

/// Returns the HTTP settings of connections.
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

/// Serves a connection to its end. Requests on the connection have the extension `mark`; `stop` becomes true when the
/// program stops.
pub(crate) async fn run<S>(
    stream: S,
    endpoint: ApiEndpoint,
    builder: &Builder<TokioExecutor>,
    timeouts: Timeouts,
    mark: ConnectionMark,
    mut stop: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let activity = Arc::new(Activity::default());
    let service_activity = Arc::clone(&activity);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let (endpoint, activity) = (endpoint.clone(), Arc::clone(&service_activity));
        let mark = mark.clone();
        async move {
            let guard = RequestGuard::begin(&activity);
            let request = drain_on_drop(request);
            let response: Result<Response, Infallible> = endpoint.answer(request, mark).await;
            response.map(|response| with_progress(response, guard))
        }
    });
    let stream = TimeoutStream::new(stream, timeouts.head, timeouts.stall);
    let stream = ControlFrameLimit::new(stream);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut ticks = interval(timeouts.stall.min(timeouts.head) / 4);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Time at which a connection in graceful shutdown is closed.
    let mut close_at: Option<Instant> = None;
    let mut stopping = false;
    loop {
        tokio::select! {
            // Errors of a connection are caused by its caller.
            _ = connection.as_mut() => return,
            _ = stop.wait_for(|stop| *stop), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
            _ = ticks.tick() => match close_at {
                Some(until) if Instant::now() >= until => return,
                None if activity.is_idle(timeouts.idle()) || activity.is_stalled(timeouts.stall) => {
                    close_at = Some(Instant::now() + timeouts.stall);
                    connection.as_mut().graceful_shutdown();
                }
                Some(_) | None => {}
            },
        }
    }
}

/// Activity on a connection. Times are milliseconds since the connection began.
#[derive(Debug)]
struct Activity {
    started: Instant,
    in_flight: AtomicUsize,
    last_request_end: AtomicU64,
    responses: Mutex<Vec<Weak<AtomicU64>>>,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            in_flight: AtomicUsize::new(0),
            last_request_end: AtomicU64::new(0),
            responses: Mutex::default(),
        }
    }
}

impl Activity {
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// True if there was no request for longer than `time`.
    fn is_idle(&self, time: Duration) -> bool {
        let since = self.now().saturating_sub(self.last_request_end.load(Ordering::Relaxed));
        self.in_flight.load(Ordering::Relaxed) == 0 && u128::from(since) > time.as_millis()
    }

    /// True if any response's last frame was produced longer than `time` ago and not read since.
    fn is_stalled(&self, time: Duration) -> bool {
        let now = self.now();
        let mut responses = self.responses.lock().unwrap_or_else(PoisonError::into_inner);
        responses.retain(|stream| stream.strong_count() > 0);
        responses.iter().filter_map(Weak::upgrade).any(|last_frame| {
            match last_frame.load(Ordering::Relaxed) {
                PRODUCING => false,
                last_frame => u128::from(now.saturating_sub(last_frame)) > time.as_millis(),
            }
        })
    }

    /// Registers a streamed response; the value is the time at which its last frame was produced.
    fn stream(&self) -> Arc<AtomicU64> {
        let last_frame = Arc::new(AtomicU64::new(PRODUCING));
        let mut responses = self.responses.lock().unwrap_or_else(PoisonError::into_inner);
        responses.retain(|stream| stream.strong_count() > 0);
        responses.push(Arc::downgrade(&last_frame));
        last_frame
    }
}

/// Value of a streamed response while its next frame is being produced.
const PRODUCING: u64 = u64::MAX;

/// Counts a request as in flight until it is dropped.
#[derive(Debug)]
struct RequestGuard(Arc<Activity>);

impl RequestGuard {
    fn begin(activity: &Arc<Activity>) -> Self {
        activity.in_flight.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(activity))
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.last_request_end.store(self.0.now(), Ordering::Relaxed);
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the response, in flight until the end of its body.
fn with_progress(response: Response, guard: RequestGuard) -> Response {
    if !is_streamed(&response) {
        return response;
    }
    let last_frame = guard.0.stream();
    response.map(|body| {
        with_frames_by(body, move |body, context| {
            let outcome = body.poll_frame(context);
            let produced_at = if outcome.is_ready() { guard.0.now() } else { PRODUCING };
            last_frame.store(produced_at, Ordering::Relaxed);
            outcome
        })
    })
}
