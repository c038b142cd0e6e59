//! Subscribing to changes with `LISTEN`, on a dedicated connection that is made again when it is lost.

use std::{sync::Arc, time::Duration};

use sqlx::{
    Executor,
    postgres::{PgListener, PgPoolOptions},
};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use super::connections::Connections;
use crate::{ChangeSubscription, DatabaseError};

/// The notification channel. Triggers that the migrations create publish on this channel.
const CHANNEL: &str = "assay";
/// Wait before connecting again; doubled after each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Time without a notification after which the subscription probes the server, because a cut network reports nothing.
const PROBE_AFTER: Duration = Duration::from_secs(5);
/// Time limit for the server to connect or to answer the probe.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn subscribe(connections: Connections) -> ChangeSubscription {
    let changed = Arc::new(Notify::new());
    let task = tokio::spawn(listen(connections, Arc::clone(&changed)));
    ChangeSubscription::new(changed, task)
}

async fn listen(connections: Connections, changed: Arc<Notify>) {
    let mut pause = FIRST_PAUSE;
    loop {
        if let Ok(Ok(mut listener)) = timeout(TIMEOUT, connect(&connections)).await {
            pause = FIRST_PAUSE;
            // Changes before this moment were not published to this connection.
            changed.notify_one();
            forward(&mut listener, &changed).await;
        }
        // Subscribers poll meanwhile, and report the database's errors.
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn connect(connections: &Connections) -> Result<PgListener, DatabaseError> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None)
        .connect_with(connections.options().await?)
        .await?;
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.eager_reconnect(false);
    listener.listen(CHANNEL).await?;
    Ok(listener)
}

/// Forwards notifications until the connection is lost.
async fn forward(listener: &mut PgListener, changed: &Notify) {
    loop {
        match timeout(PROBE_AFTER, listener.try_recv()).await {
            Ok(Ok(Some(_))) => changed.notify_one(),
            Ok(Ok(None) | Err(_)) => return,
            Err(_elapsed) => {
                let answered = timeout(TIMEOUT, listener.execute("SELECT 1")).await;
                if !matches!(answered, Ok(Ok(_))) {
                    return;
                }
            }
        }
    }
}
