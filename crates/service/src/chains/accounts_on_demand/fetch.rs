//! Requests within a time limit: stored answers first, the rest from the API.

use std::sync::Arc;

use assay_chain::{
    SourceError,
    histories::accounts::{
        AccountHistorySource, FreezePage, FreezeSignature, PagePosition, PageRequest, until,
    },
};
use assay_engine::{
    account::{AccountAddress, Asset},
    evidence::ReadingStop,
};
use assay_store::StoreError;
use futures_util::{StreamExt, stream};
use ruint::aliases::U256;
use tokio::time::{Instant, timeout_at};

use super::stored::{KnownPage, StoredPages};

/// A question to the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// A page of a list.
    Page(PageRequest),
    /// The question if an account has code.
    Code(AccountAddress),
    /// A page of a token's events of one kind that change freezes.
    Freezes(AccountAddress, &'static FreezeSignature, Option<PagePosition>),
    /// The balance of an account in an asset.
    Balance(AccountAddress, Asset),
}

/// An answer of the API.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// A page of a list.
    Page(PageRequest, KnownPage),
    /// The question if an account has code. `None` if the API does not state it.
    Code(AccountAddress, Option<bool>),
    /// A page of a token's events of one kind that change freezes; `None` if the API does not state them.
    Freezes(AccountAddress, &'static FreezeSignature, Option<PagePosition>, Option<FreezePage>),
    /// The balance of an account in an asset; `None` if the API does not state it.
    Balance(AccountAddress, Asset, Option<U256>),
}

/// Number of concurrent requests.
const AT_ONCE: usize = 4;

/// A client of an API with a deadline, and the number of requests that it may make.
#[derive(Debug)]
pub(super) struct PageFetcher<'a> {
    pub(super) source: &'a Arc<dyn AccountHistorySource>,
    pub(super) stored: StoredPages<'a>,
    pub(super) deadline: Instant,
    /// Number of requests that may be made yet.
    pub(super) left: u32,
    /// The newest block.
    pub(super) tip: u64,
    /// The reason for which no more requests are made.
    pub(super) stopped: Option<ReadingStop>,
}

impl PageFetcher<'_> {
    /// Returns the answers that are stored or arrive in time.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub(super) async fn answers(
        &mut self,
        questions: Vec<Question>,
    ) -> Result<Vec<Answer>, StoreError> {
        let stored = self.stored.find(&questions).await?;
        let (mut found, mut asked) = (Vec::new(), Vec::new());
        for (question, answer) in questions.into_iter().zip(stored) {
            match answer {
                Some(answer) => found.push(answer),
                None if self.left > 0 && self.stopped.is_none() => {
                    self.left -= 1;
                    asked.push(question);
                }
                None => {}
            }
        }
        let (deadline, tip, source) = (self.deadline, self.tip, self.source);
        let answers: Vec<_> = stream::iter(asked)
            .map(|question| ask(source, (deadline, tip), question))
            .buffered(AT_ONCE)
            .collect()
            .await;
        let mut fetched = Vec::new();
        for answer in answers {
            match answer {
                Ok(answer) => fetched.push(answer),
                Err(stop) => self.stopped = self.stopped.or(Some(stop)),
            }
        }
        if let Err(error) = self.stored.put(&fetched).await {
            tracing::warn!(%error, "failed to keep fetched histories");
        }
        found.extend(fetched);
        Ok(found)
    }
}

async fn ask(
    source: &Arc<dyn AccountHistorySource>,
    (deadline, tip): (Instant, u64),
    question: Question,
) -> Result<Answer, ReadingStop> {
    if Instant::now() >= deadline {
        return Err(ReadingStop::Time);
    }
    let source = Arc::clone(source);
    let asked = move || match question {
        Question::Page(request) => {
            let page = source.page(&request)?;
            Ok(Answer::Page(request, KnownPage { page, tip }))
        }
        Question::Code(account) => Ok(Answer::Code(account, source.has_code(account)?)),
        Question::Freezes(token, signature, after) => {
            let page = source.freezes(token, signature, after.as_ref())?;
            Ok(Answer::Freezes(token, signature, after, page))
        }
        Question::Balance(account, asset) => {
            Ok(Answer::Balance(account, asset, source.balance(account, asset)?))
        }
    };
    // A thread does not wait for its turn after the check that asked has ended.
    let asked = move || until(deadline.into_std(), asked);
    let asked = assay_telemetry::request::run_on_thread(asked);
    match timeout_at(deadline, asked).await {
        Err(_) => Err(ReadingStop::Time),
        Ok(Err(_)) => Err(ReadingStop::Failed),
        Ok(Ok(answer)) => answer.map_err(|error: SourceError| {
            tracing::warn!(%error, "failed to fetch on demand");
            stop_of(&error)
        }),
    }
}

/// The reason for which an error ends reading.
const fn stop_of(error: &SourceError) -> ReadingStop {
    match error {
        SourceError::Denied { .. } | SourceError::NotSent { .. } => ReadingStop::Refused,
        SourceError::Api { refusal, .. } if refusal.needs_other_key() => ReadingStop::Refused,
        SourceError::Api { refusal, .. } if refusal.ends_the_day() || refusal.is_passing() => {
            ReadingStop::Limit
        }
        _ => ReadingStop::Failed,
    }
}
