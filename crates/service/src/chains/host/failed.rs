//! Questions that the graph of a chain failed to answer: for some time after one, the server is not ready, so that others are asked.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use assay_address::ChainId;

use crate::chains::{subject::ReadError, unreadable::UnreadableChains};

/// Time after a failed question for which the server is not ready. Damaged pages stay damaged, a disk may recover.
const NOT_READY_FOR: Duration = Duration::from_mins(10);

/// The failed questions of a server.
#[derive(Debug, Default)]
pub(super) struct FailedQuestions {
    /// Time and error of the newest one that the graph of a chain failed to answer.
    newest: Mutex<BTreeMap<ChainId, (Instant, String)>>,
    logged: UnreadableChains,
}

impl FailedQuestions {
    /// Logs a failed question, with others, once a minute, and remembers that the chain's graph failed.
    pub(super) fn note(&self, chain: ChainId, error: &ReadError) {
        self.logged.report(chain, error);
        if matches!(error, ReadError::Graph(_)) {
            self.remember(chain, error.to_string(), Instant::now());
        }
    }

    fn remember(&self, chain: ChainId, error: String, now: Instant) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.insert(chain, (now, error));
    }

    /// Returns a chain whose graph failed to answer a question not long ago, and the error.
    pub(super) fn recent(&self, now: Instant) -> Option<(ChainId, String)> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.retain(|_, (at, _)| now.duration_since(*at) < NOT_READY_FOR);
        newest.first_key_value().map(|(chain, (_, error))| (*chain, error.clone()))
    }

    /// Returns the error with which the graph of a chain failed to answer a question not long ago.
    pub(super) fn of_chain(&self, chain: ChainId, now: Instant) -> Option<String> {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, error) = newest.get(&chain)?;
        (now.duration_since(*at) < NOT_READY_FOR).then(|| error.clone())
    }
}

#[cfg(test)]
mod tests {
    use assay_graph::GraphError;
    use assay_store::StoreError;

    use super::*;

    #[test]
    fn a_server_is_not_ready_for_a_while_after_a_question_that_its_graph_failed_to_answer() {
        let (failed, start) = (FailedQuestions::default(), Instant::now());
        let after = |minutes| start + Duration::from_mins(minutes);
        assert_eq!(failed.recent(start), None);
        // Given a store that failed, then the graph is as good as before;
        failed.note(ChainId::BTC, &ReadError::Store(StoreError::Conflict));
        assert_eq!(failed.recent(start), None);
        // given a page that is damaged, then others are asked,
        let error = GraphError::Unreadable { column: "log", detail: "a page".to_owned() };
        failed.note(ChainId::BTC, &ReadError::Graph(error));
        let (chain, error) = failed.recent(Instant::now()).unwrap();
        assert_eq!((chain, &*error), (ChainId::BTC, "the graph holds an unreadable log: a page"));
        // until no question failed for ten minutes.
        failed.remember(ChainId::BTC, error, start);
        failed.remember(ChainId::BTC, "again".to_owned(), after(9));
        assert_eq!(failed.of_chain(ChainId::BTC, after(18)), Some("again".to_owned()));
        assert_eq!(failed.of_chain(ChainId::ETH, after(18)), None);
        assert_eq!(failed.of_chain(ChainId::BTC, after(19)), None);
        assert_eq!(failed.recent(after(18)), Some((ChainId::BTC, "again".to_owned())));
        assert_eq!(failed.recent(after(19)), None);
    }
}
