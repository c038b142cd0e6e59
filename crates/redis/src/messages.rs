//! What others publish.

use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::PubSub;
use tokio::time::sleep;

use crate::{RedisSettings, dial};

/// The wait between two attempts to listen.
const WAIT: Duration = Duration::from_millis(250);

/// What a listener hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It listens from now on: what was published before was missed.
    Listening,
    /// Somebody published something.
    Message {
        /// Where.
        channel: String,
        /// What.
        payload: Vec<u8>,
    },
}

/// A listener on some channels, which listens anew when the connection is lost.
pub struct Messages {
    settings: RedisSettings,
    channels: Vec<String>,
    heard: Option<PubSub>,
    /// Whether the loss of the connection was told.
    told: bool,
}

impl std::fmt::Debug for Messages {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Messages").field("channels", &self.channels).finish_non_exhaustive()
    }
}

impl Messages {
    /// Listens on channels once it is asked for the first event.
    #[must_use]
    pub const fn new(settings: RedisSettings, channels: Vec<String>) -> Self {
        Self { settings, channels, heard: None, told: false }
    }

    /// The next event; waits until there is one, however often the connection is lost meanwhile.
    pub async fn next(&mut self) -> Event {
        loop {
            if let Some(heard) = &mut self.heard {
                let message = heard.on_message().next().await;
                if let Some(message) = message {
                    return Event::Message {
                        channel: message.get_channel_name().to_owned(),
                        payload: message.get_payload_bytes().to_vec(),
                    };
                }
                self.heard = None;
            }
            match self.listen().await {
                Ok(heard) => {
                    self.heard = Some(heard);
                    self.told = false;
                    return Event::Listening;
                }
                Err(error) => {
                    if !std::mem::replace(&mut self.told, true) {
                        let redis = &self.settings.place;
                        tracing::warn!(%redis, %error, "failed to listen to Redis; trying on");
                    }
                    sleep(WAIT).await;
                }
            }
        }
    }

    async fn listen(&self) -> Result<PubSub, crate::LinkError> {
        let limit = self.settings.connect_timeout + self.settings.answer_timeout;
        let listening = async {
            let mut heard = dial::listen(&self.settings).await?;
            heard.subscribe(&self.channels).await?;
            Ok(heard)
        };
        tokio::time::timeout(limit, listening).await.unwrap_or(Err(crate::LinkError::Silent))
    }
}
