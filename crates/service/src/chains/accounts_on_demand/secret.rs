//! The secret of a day's draws, which all servers of a store share.

use assay_engine::account::AccountAddress;
use assay_store::{
    StoreError,
    fetched::{FetchedKind, FetchedRecord},
};
use jiff::{Timestamp, civil::Date};

use super::{
    AccountsOnDemand, DRAWS_FROM,
    draws::{DrawSecret, Draws},
};

/// Key of the secret of a day's draws in the store.
fn secret_key(day: Date) -> String {
    format!("draws/{day}")
}

impl AccountsOnDemand {
    /// The draws of a subject's money on a day, once so many requests were made that payers are drawn.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub(super) async fn draws(
        &self,
        requests: u32,
        subject: AccountAddress,
        (day, now): (Date, Timestamp),
    ) -> Result<Option<Draws>, StoreError> {
        if requests < DRAWS_FROM {
            return Ok(None);
        }
        let mut stored = self.stored_secret(day).await?;
        if stored.is_none() {
            let random = [assay_system::random_u128(), assay_system::random_u128()];
            let record = FetchedRecord {
                chain: self.chain,
                kind: FetchedKind::History,
                key: secret_key(day),
                content: DrawSecret::of(random).text(),
                fetched_at: now,
            };
            if let Err(error) = self.store.put_fetched(&[record]).await {
                tracing::warn!(%error, "failed to store the secret of a day's draws; nothing is drawn");
                return Ok(None);
            }
            // Another server may have stored one at the same time. The last one stays, and is read anew each time.
            stored = self.stored_secret(day).await?;
        }
        Ok(stored.map(|secret| Draws::new(secret, subject, day)))
    }

    /// The secret of a day's draws, which all servers of a store share.
    async fn stored_secret(&self, day: Date) -> Result<Option<DrawSecret>, StoreError> {
        let found =
            self.store.fetched(self.chain, FetchedKind::History, &[secret_key(day)]).await?;
        Ok(found.first().and_then(|record| DrawSecret::parse(&record.content)))
    }
}
