//! The activity of an address over time, read beside the answer for a bounded time.

use std::time::Duration;

use assay_address::CanonicalAddress;
use assay_picture::AnswerView;
use jiff::Timestamp;

use crate::{Console, pages::ActivityContent};

/// Longest time for which a page waits for the activity of its address.
const LONGEST: Duration = Duration::from_millis(500);

impl Console {
    /// Reads the payments of the address of an answer; `None` for an answer about a transfer.
    pub(super) async fn activity_of(
        &self,
        answer: &AnswerView,
        now: Timestamp,
    ) -> Option<ActivityContent> {
        if answer.transfer.is_some() {
            return None;
        }
        let address = CanonicalAddress::parse(answer.blockchain, &answer.address).ok()?;
        let (chains, intel) = (self.service.chains(), self.service.intel());
        let Some(reader) = chains.reader(address.chain()) else {
            return Some(if chains.is_followed(address.chain()) {
                ActivityContent::Unavailable
            } else {
                ActivityContent::NotFollowed
            });
        };
        let is_on_demand = chains.read_on_demand(address.chain()).is_some();
        let reading = tokio::time::timeout(LONGEST, reader.timeline(&address, &intel, now));
        Some(match reading.await {
            Ok(Ok(Some(timeline))) => ActivityContent::Found { timeline, is_on_demand },
            // A chain that was not read yet has no payments of anybody.
            Ok(Ok(None)) if is_on_demand || answer.activity.status == "none" => {
                ActivityContent::Nothing { is_on_demand }
            }
            Ok(Ok(None)) | Err(_) => ActivityContent::Unavailable,
            Ok(Err(error)) => {
                tracing::warn!(%error, "failed to read the activity of an address");
                ActivityContent::Unavailable
            }
        })
    }
}
