//! Subscription to messages on channels.

use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::PubSub;
use tokio::time::sleep;

use crate::{RedisSettings, connect};

/// Delay between two attempts to subscribe.
const RETRY_DELAY: Duration = Duration::from_millis(250);

/// Event of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubscriptionEvent {
    /// The subscription is active from now on: earlier messages were missed.
    Subscribed,
    /// A published message.
    Message {
        /// The channel.
        channel: String,
        /// The content.
        payload: Vec<u8>,
    },
}

/// A subscription to channels, which resubscribes after the connection is lost.
pub struct Subscription {
    settings: RedisSettings,
    channels: Vec<String>,
    pubsub: Option<PubSub>,
    /// True if the loss of the connection was logged.
    is_loss_logged: bool,
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Subscription")
            .field("channels", &self.channels)
            .finish_non_exhaustive()
    }
}

impl Subscription {
    /// Creates a subscription, which subscribes at the first call of [`Self::next`].
    #[must_use]
    pub const fn new(settings: RedisSettings, channels: Vec<String>) -> Self {
        Self { settings, channels, pubsub: None, is_loss_logged: false }
    }

    /// Waits for the next event and returns it; reconnects as often as necessary.
    pub async fn next(&mut self) -> SubscriptionEvent {
        loop {
            if let Some(pubsub) = &mut self.pubsub {
                let message = pubsub.on_message().next().await;
                if let Some(message) = message {
                    return SubscriptionEvent::Message {
                        channel: message.get_channel_name().to_owned(),
                        payload: message.get_payload_bytes().to_vec(),
                    };
                }
                self.pubsub = None;
            }
            match self.subscribe().await {
                Ok(pubsub) => {
                    self.pubsub = Some(pubsub);
                    self.is_loss_logged = false;
                    return SubscriptionEvent::Subscribed;
                }
                Err(error) => {
                    if !std::mem::replace(&mut self.is_loss_logged, true) {
                        let redis = &self.settings.url;
                        tracing::warn!(%redis, %error, "failed to subscribe to Redis; retrying");
                    }
                    sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    async fn subscribe(&self) -> Result<PubSub, crate::RedisClientError> {
        let limit = self.settings.connect_timeout + self.settings.response_timeout;
        let subscribing = async {
            let mut pubsub = connect::subscribe(&self.settings).await?;
            pubsub.subscribe(&self.channels).await?;
            Ok(pubsub)
        };
        tokio::time::timeout(limit, subscribing)
            .await
            .unwrap_or(Err(crate::RedisClientError::Timeout))
    }
}
