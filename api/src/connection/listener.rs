//! Accepting connections, and stopping without losing a request.
//!
//! On the signal to stop, answers say `Connection: close` for a while, so that callers take their next
//! request elsewhere; then new connections are ignored, what waits is accepted, and what is under way is
//! finished.

use std::{future::Future, sync::Arc, time::Duration};

use axum::Router;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_rustls::TlsAcceptor;

use super::{Timeouts, builder, run, syn_filter::ignore_new_connections};

/// How long to wait where the system has no more file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// How long connections that began before new ones were ignored may take to be open.
const HANDSHAKE_DELAY: Duration = Duration::from_millis(50);

/// How connections are accepted and ended.
#[derive(Clone)]
pub struct ListenerSettings {
    /// Most connections at once.
    pub connections: usize,
    /// How long callers may take.
    pub timeouts: Timeouts,
    /// By whom TLS is spoken; in plain text where nobody does.
    pub tls: Option<TlsAcceptor>,
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
    Closing(Instant),
}

/// Serves `router` until `stop` is over, then as described above. `draining` is called in between.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    settings: ListenerSettings,
    stop: impl Future<Output = ()>,
    draining: impl FnOnce(),
) {
    let connections = Arc::new(Semaphore::new(settings.connections));
    let (stopping, stopped) = watch::channel(false);
    let mut draining = Some(draining);
    let mut phase = Phase::Serving;
    tokio::pin!(stop);
    loop {
        let next = async {
            match phase {
                Phase::Serving => stop.as_mut().await,
                Phase::Draining(until) | Phase::Closing(until) => sleep_until(until).await,
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
                    Phase::Closing(Instant::now() + HANDSHAKE_DELAY)
                }
                Phase::Closing(_) => break,
            },
            (permit, accepted) = accepted => match accepted {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    let (router, settings) = (router.clone(), settings.clone());
                    let stopped = stopped.clone();
                    tokio::spawn(async move {
                        handshake_and_serve(stream, router, settings, stopped).await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    sleep(ACCEPT_RETRY_DELAY).await;
                }
            },
        }
    }
    drop((listener, stopped));
    // Where nobody hears it any more, nobody has to.
    let _ = stopping.send(true);
    if timeout(settings.grace, stopping.closed()).await.is_err() {
        tracing::warn!("stopped with requests under way: they took longer than the grace time");
    }
}

/// Agrees on TLS, where it is spoken, and serves the connection.
async fn handshake_and_serve(
    stream: TcpStream,
    router: Router,
    settings: ListenerSettings,
    stopped: watch::Receiver<bool>,
) {
    let timeouts = settings.timeouts;
    let builder = builder(timeouts);
    match settings.tls {
        None => run(stream, router, &builder, timeouts, stopped).await,
        Some(tls) => match timeout(timeouts.head, tls.accept(stream)).await {
            Ok(Ok(stream)) => run(stream, router, &builder, timeouts, stopped).await,
            Ok(Err(error)) => tracing::debug!(%error, "a caller did not agree on TLS"),
            Err(_) => tracing::debug!("a caller did not agree on TLS in time"),
        },
    }
}
