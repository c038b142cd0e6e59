//! Accepting connections, and stopping without losing a request.
//!
//! On the signal to stop, answers say `Connection: close` for a while, so that callers take their next
//! request elsewhere; then new connections are ignored, what waits is accepted, and what is under way is
//! finished.

use std::{future::Future, sync::Arc, time::Duration};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto::Builder, graceful::GracefulShutdown},
    service::TowerToHyperService,
};
use tokio::{
    net::TcpListener,
    sync::Semaphore,
    time::{Instant, sleep, sleep_until, timeout},
};

use super::{prompt::Prompt, quiet::ignore_new_connections};

/// Bytes in which a request's head must fit; larger ones are refused by the HTTP library itself.
const LARGEST_HEAD: usize = 64 * 1024;
/// Longest time in which a request's head must arrive; silent and idle connections are closed after it.
const HEAD_TIME: Duration = Duration::from_secs(20);
const MOST_STREAMS: u32 = 100;
/// How long to wait where the system has no more file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long connections that began before new ones were ignored may take to be open.
const LAST_HANDSHAKES: Duration = Duration::from_millis(50);

/// How connections are accepted and ended.
#[derive(Clone, Copy, Debug)]
pub struct ListenerSettings {
    /// Most connections at once.
    pub connections: usize,
    /// How long to go on accepting after the signal to stop, while callers leave.
    pub drain_delay: Duration,
    /// Longest time for requests under way to finish.
    pub grace: Duration,
}

/// Where the listener is on its way out.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Serving,
    /// Callers are asked to leave, and still served.
    Draining(Instant),
    /// New connections are ignored; those that wait are served.
    Leaving(Instant),
}

/// Serves `router` until `stop` is over, then as described above. `draining` is called in between.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    settings: ListenerSettings,
    stop: impl Future<Output = ()>,
    draining: impl FnOnce(),
) {
    let builder = builder();
    let connections = Arc::new(Semaphore::new(settings.connections));
    let graceful = GracefulShutdown::new();
    let mut draining = Some(draining);
    let mut phase = Phase::Serving;
    tokio::pin!(stop);
    loop {
        let next = async {
            match phase {
                Phase::Serving => stop.as_mut().await,
                Phase::Draining(until) | Phase::Leaving(until) => sleep_until(until).await,
            }
        };
        let accepted = async {
            // The semaphore is never closed.
            let permit = Arc::clone(&connections).acquire_owned().await.ok();
            (permit, listener.accept().await)
        };
        tokio::select! {
            biased;
            () = next => phase = match phase {
                Phase::Serving => {
                    if let Some(draining) = draining.take() {
                        draining();
                    }
                    Phase::Draining(Instant::now() + settings.drain_delay)
                }
                Phase::Draining(_) => {
                    if let Err(error) = ignore_new_connections(&listener) {
                        tracing::debug!(%error, "failed to ignore new connections");
                    }
                    Phase::Leaving(Instant::now() + LAST_HANDSHAKES)
                }
                Phase::Leaving(_) => break,
            },
            (permit, accepted) = accepted => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    let service = TowerToHyperService::new(router.clone());
                    let connection =
                        builder.serve_connection(TokioIo::new(Prompt::new(stream, HEAD_TIME)), service).into_owned();
                    let connection = graceful.watch(connection);
                    tokio::spawn(async move {
                        // What a caller does to its own connection is not our error.
                        let _ = connection.await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    if timeout(settings.grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("stopped with requests under way: they took longer than the grace time");
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(LARGEST_HEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(16 * 1024)
        .keep_alive_interval(HEAD_TIME);
    builder
}
