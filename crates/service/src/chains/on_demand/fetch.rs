//! Concurrent fetching within a time limit. Every response is stored at once, so that a timeout loses none of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use assay_address::CanonicalAddress;
use assay_chain::{
    SourceError,
    histories::{ConfirmedTransaction, HistorySource},
};
use assay_engine::{
    trace::TraceRules,
    utxo::{OutPoint, Txid},
};
use assay_store::{
    StoreError,
    fetched::{FetchedKind, FetchedRecord},
};
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};

use super::{
    ByTxid, Totals,
    stored::{StoredHistory, StoredResponses, StoredSpends, StoredTransaction},
};

/// Number of concurrent requests.
const AT_ONCE: usize = 8;

/// Client of an API with a deadline for requests.
#[derive(Clone, Debug)]
pub(super) struct HistoryFetcher {
    pub(super) histories: Arc<dyn HistorySource>,
    pub(super) deadline: Instant,
}

impl HistoryFetcher {
    /// Returns the answer to one question; `None` if none arrives in time.
    pub(super) async fn one<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn HistorySource) -> Result<T, SourceError> + Send + 'static,
    ) -> Option<T> {
        if Instant::now() >= self.deadline {
            return None;
        }
        let histories = Arc::clone(&self.histories);
        let asked = assay_telemetry::request::run_on_thread(move || ask(&*histories));
        match timeout_at(self.deadline, asked).await.ok()?.ok()? {
            Ok(answer) => Some(answer),
            Err(error) => {
                tracing::warn!(%error, "failed to fetch on demand");
                None
            }
        }
    }

    /// Returns the answers to many questions of one kind that arrive in time.
    async fn many<T: Send + 'static>(
        &self,
        keys: Vec<Txid>,
        ask: impl Fn(&dyn HistorySource, &Txid) -> Result<T, SourceError> + Copy + Send + 'static,
    ) -> ByTxid<T> {
        let asked = stream::iter(keys)
            .map(|txid| async move {
                let answer = self.one(move |histories| ask(histories, &txid)).await;
                answer.map(|answer| (txid, answer))
            })
            .buffer_unordered(AT_ONCE);
        asked.filter_map(std::future::ready).collect().await
    }

    /// Returns an address's transactions, its totals, and true if all transactions were read that a trace reads: all of
    /// them, or the newest ones of a longer history.
    pub(super) async fn history(
        &self,
        stored: &StoredResponses<'_>,
        address: &CanonicalAddress,
        tip: u64,
        rules: &TraceRules,
    ) -> Result<(Vec<ConfirmedTransaction>, Totals, bool), StoreError> {
        let known = stored.history(address.as_str()).await?;
        let begun = known.is_none();
        let known = match known {
            Some(history) => Some(history),
            None => self.begin_history(address, stored.now).await,
        };
        let Some(mut history) = known else {
            return Ok((vec![], Totals::default(), false));
        };
        let most = usize::try_from(rules.transfers_per_address).unwrap_or(usize::MAX);
        let mut records: Vec<FetchedRecord> = Vec::new();
        while !history.complete && history.transactions.len() < most {
            let after = history.transactions.last().and_then(|txid| txid.parse().ok());
            let name = address.clone();
            let page = self.one(move |histories| histories.page(&name, after.as_ref())).await;
            let Some(page) = page else {
                break;
            };
            if page.is_empty() {
                // The API contradicts its earlier answer that there are more transactions.
                break;
            }
            let txids: Vec<Txid> = page.iter().map(|found| found.transaction.txid).collect();
            let before = stored.stored_transactions(&txids).await?;
            for transaction in page {
                let txid = transaction.transaction.txid;
                let key = txid.to_string();
                let index =
                    before.get(&txid).and_then(|stored| stored.index_at(transaction.height));
                let content = StoredTransaction::new(&transaction, tip).with_index(index);
                records.extend(stored.record(FetchedKind::Transaction, key.clone(), &content));
                if !history.transactions.contains(&key) {
                    history.transactions.push(key);
                }
            }
            let all = u64::try_from(history.transactions.len()).unwrap_or(u64::MAX);
            history.complete |= all >= history.count;
        }
        if begun || !records.is_empty() {
            records.extend(stored.record(FetchedKind::History, address.to_string(), &history));
            stored.store.put_fetched(&records).await?;
        }

        let txids: Vec<Txid> =
            history.transactions.iter().filter_map(|txid| txid.parse().ok()).collect();
        let wanted: BTreeSet<Txid> = txids.iter().copied().collect();
        let found = self.transactions(stored, &wanted, tip).await?;
        let transactions: Vec<ConfirmedTransaction> =
            txids.iter().filter_map(|txid| found.get(txid).cloned().flatten()).collect();
        let enough = history.complete || history.transactions.len() >= most;
        let whole = enough && transactions.len() == txids.len();
        Ok((transactions, Totals { funded: history.funded, spent: history.spent }, whole))
    }

    /// Fetches the summary with which a history begins; `None` if it does not arrive in time.
    async fn begin_history(
        &self,
        address: &CanonicalAddress,
        now: Timestamp,
    ) -> Option<StoredHistory> {
        let name = address.clone();
        let summary = self.one(move |histories| histories.summary(&name)).await?;
        Some(StoredHistory {
            complete: summary.transactions == 0,
            funded: summary.funded,
            spent: summary.spent,
            count: summary.transactions,
            begun_at: now,
            transactions: Vec::new(),
        })
    }

    /// Returns transactions, stored or fetched in time; `None` for a transaction that the API does not have.
    pub(super) async fn transactions(
        &self,
        stored: &StoredResponses<'_>,
        wanted: &BTreeSet<Txid>,
        tip: u64,
    ) -> Result<ByTxid<Option<ConfirmedTransaction>>, StoreError> {
        let all: Vec<Txid> = wanted.iter().copied().collect();
        let mut found: ByTxid<Option<ConfirmedTransaction>> = stored
            .transactions(&all)
            .await?
            .into_iter()
            .map(|(txid, transaction)| (txid, Some(transaction)))
            .collect();
        let missing: Vec<Txid> = all.into_iter().filter(|txid| !found.contains_key(txid)).collect();
        let fetched = self.many(missing, |histories, txid| histories.transaction(txid)).await;
        let records: Vec<FetchedRecord> = fetched
            .iter()
            .filter_map(|(txid, transaction)| {
                let content = StoredTransaction::new(transaction.as_ref()?, tip);
                stored.record(FetchedKind::Transaction, txid.to_string(), &content)
            })
            .collect();
        if !records.is_empty() {
            stored.store.put_fetched(&records).await?;
        }
        found.extend(fetched);
        Ok(found)
    }

    /// Returns the indexes of transactions in their blocks, by identifier, each with the height of its block; stored,
    /// or fetched in time by a merkle proof. A proof is one request and about a kilobyte. The list of a block's
    /// identifiers would be two requests and 200 kilobytes, and mostly two transactions of a block are read.
    pub(super) async fn indexes(
        &self,
        stored: &StoredResponses<'_>,
        transactions: &BTreeMap<Txid, u64>,
    ) -> Result<ByTxid<u64>, StoreError> {
        let txids: Vec<Txid> = transactions.keys().copied().collect();
        let mut known = stored.stored_transactions(&txids).await?;
        let mut found = ByTxid::new();
        for (txid, height) in transactions {
            let index = known.get(txid).and_then(|stored| stored.index_at(*height));
            found.extend(index.map(|index| (*txid, index)));
        }
        let missing = txids.into_iter().filter(|txid| !found.contains_key(txid)).collect();
        let told = self.many(missing, |histories, txid| histories.position(txid)).await;
        let mut records: Vec<FetchedRecord> = Vec::new();
        for (txid, position) in told {
            // At another height, the index belongs to another branch of the chain.
            let height = transactions.get(&txid).copied();
            let Some(position) = position.filter(|it| Some(it.height) == height) else { continue };
            found.insert(txid, position.index);
            if let Some(transaction) = known.remove(&txid).filter(StoredTransaction::is_settled) {
                let content = transaction.with_index(Some(position.index));
                let key = txid.to_string();
                records.extend(stored.record(FetchedKind::Transaction, key, &content));
            }
        }
        if !records.is_empty() {
            stored.store.put_fetched(&records).await?;
        }
        Ok(found)
    }

    /// Returns the transactions that spend outputs, as far as they can be determined in time; `None` for an unspent
    /// output. A spent output stays spent; an unspent output can be spent later.
    pub(super) async fn spenders(
        &self,
        stored: &StoredResponses<'_>,
        outputs: &[OutPoint],
    ) -> Result<BTreeMap<OutPoint, Option<Txid>>, StoreError> {
        let made: BTreeSet<Txid> = outputs.iter().map(|output| output.txid).collect();
        let made: Vec<Txid> = made.into_iter().collect();
        let mut known: BTreeMap<Txid, (StoredSpends, bool)> = stored.spends(&made).await?;
        let unsure: BTreeSet<Txid> = outputs
            .iter()
            .filter(|output| match known.get(&output.txid) {
                None => true,
                Some((spends, fresh)) => match spender(spends, output) {
                    Spender::Unknown => true,
                    Spender::Nobody => !fresh,
                    Spender::By(_) => false,
                },
            })
            .map(|output| output.txid)
            .collect();
        let fetched = self
            .many(unsure.iter().copied().collect(), |histories, txid| histories.spenders(txid))
            .await;
        let mut records: Vec<FetchedRecord> = Vec::new();
        for txid in &unsure {
            known.remove(txid);
        }
        for (txid, spends) in fetched {
            let by = spends.iter().map(|by| by.map(|txid| txid.to_string())).collect();
            let content = StoredSpends { by };
            records.extend(stored.record(FetchedKind::Spends, txid.to_string(), &content));
            known.insert(txid, (content, true));
        }
        if !records.is_empty() {
            stored.store.put_fetched(&records).await?;
        }
        Ok(outputs
            .iter()
            .filter_map(|output| {
                let (spends, _) = known.get(&output.txid)?;
                let by = match spender(spends, output) {
                    Spender::Unknown => return None,
                    Spender::Nobody => None,
                    Spender::By(txid) => Some(txid),
                };
                Some((*output, by))
            })
            .collect())
    }
}

/// Spender of an output according to an API.
enum Spender {
    Unknown,
    Nobody,
    By(Txid),
}

fn spender(spends: &StoredSpends, output: &OutPoint) -> Spender {
    let said = usize::try_from(output.index).ok().and_then(|place| spends.by.get(place));
    match said {
        None => Spender::Unknown,
        Some(None) => Spender::Nobody,
        Some(Some(txid)) => txid.parse().map_or(Spender::Unknown, Spender::By),
    }
}
