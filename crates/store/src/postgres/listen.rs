//! Listening to a database for hints: on a connection of its own, which is made again for as long as
//! anybody wants hints.

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
use crate::{StoreError, watch::Hints};

/// The channel. Migrations say what is told on it; whoever hears anything looks at everything.
const CHANNEL: &str = "assay";
/// How long to wait before connecting again; twice as long after each failure.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// After how long a silence it is asked whether the server is still there: a cut network says nothing.
const SILENCE: Duration = Duration::from_secs(5);
/// How long the server has to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts listening.
pub(super) fn start(connections: Connections) -> Hints {
    let arrived = Arc::new(Notify::new());
    let task = tokio::spawn(listen(connections, Arc::clone(&arrived)));
    Hints::new(arrived, task)
}

async fn listen(connections: Connections, arrived: Arc<Notify>) {
    let mut pause = FIRST_PAUSE;
    loop {
        if let Ok(Ok(mut listener)) = timeout(PATIENCE, connect(&connections)).await {
            pause = FIRST_PAUSE;
            // What changed before was not heard.
            arrived.notify_one();
            hear(&mut listener, &arrived).await;
        }
        // Whoever polls meanwhile says what is wrong with the database.
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn connect(connections: &Connections) -> Result<PgListener, StoreError> {
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

/// Passes on what is heard, until the connection is lost.
async fn hear(listener: &mut PgListener, arrived: &Notify) {
    loop {
        match timeout(SILENCE, listener.try_recv()).await {
            Ok(Ok(Some(_))) => arrived.notify_one(),
            Ok(Ok(None) | Err(_)) => return,
            Err(_elapsed) => {
                let asked = timeout(PATIENCE, listener.execute("SELECT 1")).await;
                if !matches!(asked, Ok(Ok(_))) {
                    return;
                }
            }
        }
    }
}
