//! Accepting connections, and graceful shutdown.
//!
//! After the stop signal, responses say `Connection: close` for a while, so that callers send their next request
//! elsewhere; then new connections are ignored, queued connections are accepted, and requests in flight are finished.

use std::{future::Future, time::Duration};

use assay_egress::Networks;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_rustls::TlsAcceptor;

use crate::direct::ApiEndpoint;

use super::{
    Timeouts, builder, proxy_header, run,
    syn_filter::ignore_new_connections,
    table::{ConnectionBounds, ConnectionMark, ConnectionTable, OpenConnection},
};

/// Delay after a failed accept, for example without free file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);
/// Longest time for TCP handshakes that began before new connections were ignored.
const HANDSHAKE_DELAY: Duration = Duration::from_millis(50);

/// Settings of a listener.
#[derive(Clone)]
pub struct ListenerSettings {
    /// Most concurrent connections.
    pub connections: ConnectionBounds,
    /// Proxies in front of the listener; one connection of a proxy carries requests of many callers.
    pub proxies: TrustedProxies,
    /// Timeouts of a connection.
    pub timeouts: Timeouts,
    /// TLS acceptor; `None` for plain text.
    pub tls: Option<TlsAcceptor>,
    /// Time after the stop signal during which connections are still accepted, while callers leave.
    pub drain_delay: Duration,
    /// Longest time for requests in flight to finish.
    pub grace: Duration,
}

/// Proxies in front of a listener. Callers behind a proxy share the proxy's address, to which the limit per peer does
/// not apply.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies {
    /// Networks of the proxies.
    pub networks: Networks,
    /// True if connections of the proxies begin with a PROXY header, which names the caller.
    pub send_header: bool,
}

/// Phase of a listener.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Serving,
    /// Responses ask callers to close the connection; new connections are accepted.
    Draining(Instant),
    /// New connections are ignored; queued connections are accepted.
    Closing(Instant),
}

/// Serves `endpoint` until `stop` completes, then shuts down gracefully. Calls `draining` after the stop signal.
pub async fn serve(
    listener: TcpListener,
    endpoint: impl Into<ApiEndpoint>,
    settings: ListenerSettings,
    stop: impl Future<Output = ()>,
    draining: impl FnOnce(),
) {
    let endpoint = endpoint.into();
    let table = ConnectionTable::new(settings.connections);
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
            table.wait_for_capacity().await;
            listener.accept().await
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
            accepted = accepted => match accepted {
                Ok((stream, address)) => {
                    let is_proxy = settings.proxies.networks.contains(address.ip());
                    let peer = (!is_proxy).then(|| address.ip().to_canonical());
                    // A connection is free, because only this loop admits connections.
                    let Some(open) = table.admit(peer) else { continue };
                    let _ = stream.set_nodelay(true);
                    let (endpoint, settings) = (endpoint.clone(), settings.clone());
                    let stopped = stopped.clone();
                    tokio::spawn(serve_until_evicted(stream, open, is_proxy, endpoint, settings, stopped));
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    sleep(ACCEPT_RETRY_DELAY).await;
                }
            },
        }
    }
    drop((listener, stopped));
    // An error means that there are no connections to stop.
    let _ = stopping.send(true);
    if timeout(settings.grace, stopping.closed()).await.is_err() {
        tracing::warn!("stopped with requests in flight: they took longer than the grace period");
    }
}

/// Reads the PROXY header, if the listener expects one, and serves the connection until it ends or is evicted.
async fn serve_until_evicted(
    mut stream: TcpStream,
    mut open: OpenConnection,
    is_proxy: bool,
    endpoint: ApiEndpoint,
    settings: ListenerSettings,
    stopped: watch::Receiver<bool>,
) {
    if is_proxy && settings.proxies.send_header {
        match timeout(settings.timeouts.head, proxy_header::read(&mut stream)).await {
            Ok(Ok(Some(peer))) => open.set_peer(peer),
            Ok(Ok(None)) => {}
            Ok(Err(error)) => {
                tracing::debug!(%error, "closed a connection of a proxy");
                return;
            }
            Err(_) => return,
        }
    }
    let mark = open.mark();
    tokio::select! {
        () = handshake_and_serve(stream, endpoint, settings, mark, stopped) => {}
        () = open.evicted() => tracing::debug!("closed a connection without a key for a new one"),
    }
}

/// Performs the TLS handshake, if any, and serves the connection.
async fn handshake_and_serve(
    stream: TcpStream,
    endpoint: ApiEndpoint,
    settings: ListenerSettings,
    mark: ConnectionMark,
    stopped: watch::Receiver<bool>,
) {
    let timeouts = settings.timeouts;
    let builder = builder(timeouts);
    match settings.tls {
        None => run(stream, endpoint, &builder, timeouts, mark, stopped).await,
        Some(tls) => match timeout(timeouts.head, tls.accept(stream)).await {
            Ok(Ok(stream)) => run(stream, endpoint, &builder, timeouts, mark, stopped).await,
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake timed out"),
        },
    }
}
