//! Listening until a stop signal.

use std::{io, net::SocketAddr, time::Duration};

use assay_api::{self, ApiEndpoint, ConnectionBounds, ListenerSettings, Timeouts, TrustedProxies};
use axum::Router;
use tokio::{
    net::{TcpListener, TcpSocket},
    signal::unix::{SignalKind, signal},
    sync::oneshot,
};
use tokio_rustls::TlsAcceptor;

use crate::{
    commands::Failure,
    settings::{CliSettings, Switch},
};

const ADMIN_CONNECTIONS: usize = 64;
const ADMIN_GRACE: Duration = Duration::from_secs(1);

/// Endpoints of a server, and an action before it stops.
pub(in crate::commands) struct Services<D> {
    /// Requests of callers.
    pub(in crate::commands) api: ApiEndpoint,
    /// Health checks and metrics.
    pub(in crate::commands) admin: Router,
    /// Action after the stop signal.
    pub(in crate::commands) draining: D,
}

/// Serves until SIGTERM or SIGINT; a second signal ends the program at once.
///
/// Health checks and metrics stop last, so that monitoring sees the shutdown.
pub(in crate::commands) async fn serve_until_stopped<D: FnOnce()>(
    served: Services<D>,
    settings: &CliSettings,
    tls: Option<TlsAcceptor>,
    listener: TcpListener,
    admin: TcpListener,
) -> Result<(), Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut signalled = async || {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    let (stop_api, api_stopped) = oneshot::channel();
    let (stop_admin, admin_stopped) = oneshot::channel();
    let timeouts = Timeouts { head: settings.header_timeout, stall: settings.stall_timeout };
    let api_settings = ListenerSettings {
        connections: ConnectionBounds {
            all: settings.max_connections,
            per_peer: settings.max_connections_per_peer,
        },
        proxies: TrustedProxies {
            networks: settings.trusted_proxies.clone(),
            send_header: settings.proxy_protocol == Switch::On,
        },
        timeouts,
        tls,
        drain_delay: settings.drain_delay,
        grace: settings.shutdown_grace,
    };
    let admin_settings = ListenerSettings {
        connections: ConnectionBounds { all: ADMIN_CONNECTIONS, per_peer: ADMIN_CONNECTIONS },
        proxies: TrustedProxies::default(),
        timeouts,
        tls: None,
        drain_delay: Duration::ZERO,
        grace: ADMIN_GRACE,
    };
    let draining = move || {
        (served.draining)();
        tracing::info!("stopping: requests under way are finished");
    };
    let api = assay_api::serve(listener, served.api, api_settings, wait_for(api_stopped), draining);
    let admin =
        assay_api::serve(admin, served.admin, admin_settings, wait_for(admin_stopped), || {});
    let both = async {
        let api_then_admin = async {
            api.await;
            // Its receiver lives until it is served to the end.
            let _ = stop_admin.send(());
        };
        tokio::join!(api_then_admin, admin)
    };
    tokio::pin!(both);
    tokio::select! {
        _ = &mut both => return Ok(()),
        () = signalled() => {}
    }
    let _ = stop_api.send(());
    tokio::select! {
        _ = &mut both => {}
        () = signalled() => tracing::warn!("stopped at once on a second signal"),
    }
    Ok(())
}

fn listen(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A server that is restarted takes the port of its predecessor at once.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(backlog)
}

/// Waits until the channel has a value.
async fn wait_for(receiver: oneshot::Receiver<()>) {
    // The sender outlives this future, so that an error cannot happen.
    let _ = receiver.await;
}

/// Listens on the address of a setting. At most `backlog` connections wait to be accepted: the system drops further
/// connections, and their callers try again after a second.
pub(in crate::commands) fn bind(
    address: SocketAddr,
    setting: &str,
    backlog: u32,
) -> Result<TcpListener, Failure> {
    listen(address, backlog).map_err(|error| {
        Failure::Failed(format!(
            "failed to listen on {address}: {error}; choose another with --{setting}"
        ))
    })
}
