//! Listening to a database for hints: on a connection of its own, which is made again for as long as
//! anybody wants hints.

use std::{sync::Arc, time::Duration};

use assay_engine::chain::ChainId;
use sqlx::{
    Executor,
    postgres::{PgListener, PgPoolOptions},
};
use tokio::time::{sleep, timeout};

use super::connections::Connections;
use crate::{
    StoreError,
    watch::{Hints, Mailbox},
};

/// The channel; what it says is in the migrations.
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
    let mailbox = Arc::new(Mailbox::default());
    let task = tokio::spawn(listen(connections, Arc::clone(&mailbox)));
    Hints::new(mailbox, task)
}

async fn listen(connections: Connections, mailbox: Arc<Mailbox>) {
    let mut pause = FIRST_PAUSE;
    loop {
        if let Ok(Ok(mut listener)) = timeout(PATIENCE, connect(&connections)).await {
            pause = FIRST_PAUSE;
            mailbox.connected();
            hear(&mut listener, &mailbox).await;
            mailbox.lost();
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
async fn hear(listener: &mut PgListener, mailbox: &Mailbox) {
    loop {
        match timeout(SILENCE, listener.try_recv()).await {
            Ok(Ok(Some(notification))) => note(mailbox, notification.payload()),
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

/// Notes what a notification says. One that is not understood comes from a newer program, and concerns
/// something that this one does not know.
fn note(mailbox: &Mailbox, payload: &str) {
    let Some((what, value)) = payload.split_once(' ') else { return };
    match (what, value.parse::<u64>(), value.parse::<ChainId>()) {
        ("control", Ok(revision), _) => {
            mailbox.add(|hint| hint.control = hint.control.max(Some(revision)));
        }
        ("intel", Ok(revision), _) => {
            mailbox.add(|hint| hint.intel = hint.intel.max(Some(revision)));
        }
        ("chain", _, Ok(chain)) => mailbox.add(|hint| {
            hint.chains.insert(chain);
        }),
        _ => {}
    }
}
