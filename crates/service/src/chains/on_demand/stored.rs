//! Stored responses of an API, and the time for which they may be used.

use std::collections::BTreeMap;

use assay_address::ChainId;
use assay_chain::histories::ConfirmedTransaction;
use assay_engine::utxo::{
    OutPoint, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid,
};
use assay_store::{
    FetchedStore, StoreError,
    fetched::{FetchedKind, FetchedRecord},
};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Number of blocks on top of a transaction after which its position in the chain is final.
const SETTLED_AFTER: u64 = 6;

/// Transaction in its stored form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredTransaction {
    height: u64,
    time: Timestamp,
    coinbase: bool,
    /// Spent outputs: transaction, index, owner and value; an unknown owner is empty.
    inputs: Vec<(String, u32, String, u64)>,
    /// Owner of each output's script, and its value.
    outputs: Vec<(String, u64)>,
    /// Height of the chain when the transaction was fetched.
    seen_at: u64,
    /// Index in the block; `None` if it was not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<u64>,
}

/// Stored part of an address's history, the newest transactions first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredHistory {
    pub(super) transactions: Vec<String>,
    /// True if the address's first transaction is included.
    pub(super) complete: bool,
    /// Totals of the whole address according to the API, change included: received and spent, in base units.
    pub(super) funded: u128,
    pub(super) spent: u128,
    /// Number of all transactions of the address.
    pub(super) count: u64,
    /// Time of the first request for this history. Transactions that arrived later may be missing,
    /// even if the rest is fetched later.
    pub(super) begun_at: Timestamp,
}

/// Transactions that spend the outputs of a transaction, by output index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredSpends {
    pub(super) by: Vec<Option<String>>,
}

impl StoredTransaction {
    pub(super) fn new(confirmed: &ConfirmedTransaction, tip: u64) -> Self {
        let stored = |output: &TxOut| (hex::encode(output.owner.to_bytes()), output.value);
        let Transaction { kind, inputs, outputs, .. } = &confirmed.transaction;
        Self {
            height: confirmed.height,
            time: confirmed.time,
            coinbase: *kind == TransactionKind::Coinbase,
            inputs: inputs
                .iter()
                .map(|input| {
                    let OutPoint { txid, index } = input.outpoint;
                    let (owner, value) = input.spent.as_ref().map(stored).unwrap_or_default();
                    (txid.to_string(), index, owner, value)
                })
                .collect(),
            outputs: outputs.iter().map(stored).collect(),
            seen_at: tip,
            index: None,
        }
    }

    /// Returns the known index in the block if the transaction is at this height.
    pub(super) fn index_at(&self, height: u64) -> Option<u64> {
        self.index.filter(|_| self.height == height)
    }

    /// Sets the index in the block.
    pub(super) fn with_index(self, index: Option<u64>) -> Self {
        Self { index, ..self }
    }

    /// Parses the transaction; `None` if the stored text is malformed, and must be fetched again.
    pub(super) fn read(&self, txid: Txid, chain: ChainId) -> Option<ConfirmedTransaction> {
        let output = |owner: &str, value: u64| {
            let owner = ScriptOwner::from_bytes(&hex::decode(owner).ok()?)?;
            Some(TxOut { owner, value })
        };
        let inputs = self.inputs.iter().map(|(txid, index, owner, value)| {
            let outpoint = OutPoint { txid: txid.parse().ok()?, index: *index };
            let spent = if owner.is_empty() { None } else { Some(output(owner, *value)?) };
            Some(TxInput::new(outpoint, spent))
        });
        let outputs = self.outputs.iter().map(|(owner, value)| output(owner, *value));
        let mut transaction = Transaction {
            txid,
            kind: if self.coinbase { TransactionKind::Coinbase } else { TransactionKind::Payment },
            inputs: inputs.collect::<Option<_>>()?,
            outputs: outputs.collect::<Option<_>>()?,
        };
        transaction.classify(chain, self.time);
        Some(ConfirmedTransaction { transaction, height: self.height, time: self.time })
    }

    /// True if the transaction is deep enough below the newest block for its position to be final.
    pub(super) fn is_settled(&self) -> bool {
        self.height.saturating_add(SETTLED_AFTER) <= self.seen_at
    }
}

/// Stored responses of one chain.
#[derive(Clone, Debug)]
pub(super) struct StoredResponses<'a> {
    pub(super) store: &'a dyn FetchedStore,
    pub(super) chain: ChainId,
    pub(super) now: Timestamp,
    /// Longest age of stored data that can still change.
    pub(super) longest_age: SignedDuration,
}

impl StoredResponses<'_> {
    /// Returns transactions that may be used.
    pub(super) async fn transactions(
        &self,
        txids: &[Txid],
    ) -> Result<BTreeMap<Txid, ConfirmedTransaction>, StoreError> {
        let found = self.stored_transactions(txids).await?.into_iter();
        Ok(found
            .filter_map(|(txid, stored)| Some((txid, stored.read(txid, self.chain)?)))
            .collect())
    }

    /// Returns transactions that may be used, in their stored form.
    pub(super) async fn stored_transactions(
        &self,
        txids: &[Txid],
    ) -> Result<BTreeMap<Txid, StoredTransaction>, StoreError> {
        let keys: Vec<String> = txids.iter().map(Txid::to_string).collect();
        let found = self.read::<StoredTransaction>(FetchedKind::Transaction, &keys).await?;
        Ok(found
            .into_iter()
            .filter(|(_, stored, fresh)| *fresh || stored.is_settled())
            .filter_map(|(key, stored, _)| Some((key.parse().ok()?, stored)))
            .collect())
    }

    /// Returns the spenders of the outputs of transactions, each with true if the record is fresh.
    pub(super) async fn spends(
        &self,
        txids: &[Txid],
    ) -> Result<BTreeMap<Txid, (StoredSpends, bool)>, StoreError> {
        let keys: Vec<String> = txids.iter().map(Txid::to_string).collect();
        let found = self.read::<StoredSpends>(FetchedKind::Spends, &keys).await?;
        Ok(found
            .into_iter()
            .filter_map(|(key, stored, fresh)| Some((key.parse().ok()?, (stored, fresh))))
            .collect())
    }

    /// Returns an address's history if it may be used.
    pub(super) async fn history(&self, address: &str) -> Result<Option<StoredHistory>, StoreError> {
        let keys = [address.to_owned()];
        let found = self.read::<StoredHistory>(FetchedKind::History, &keys).await?;
        let oldest = self.oldest();
        Ok(found.into_iter().map(|(_, stored, _)| stored).find(|stored| stored.begun_at >= oldest))
    }

    /// Returns the earliest time of a fetch at which changeable data is still usable.
    fn oldest(&self) -> Timestamp {
        self.now.saturating_sub(self.longest_age).unwrap_or(Timestamp::MIN)
    }

    /// Returns a record of a response for the store.
    pub(super) fn record(
        &self,
        kind: FetchedKind,
        key: String,
        content: &impl Serialize,
    ) -> Option<FetchedRecord> {
        Some(FetchedRecord {
            chain: self.chain,
            kind,
            key,
            content: serde_json::to_string(content).ok()?,
            fetched_at: self.now,
        })
    }

    /// Reads stored values by key, each with true if it is fresh. A malformed value counts as absent.
    async fn read<T: DeserializeOwned>(
        &self,
        kind: FetchedKind,
        keys: &[String],
    ) -> Result<Vec<(String, T, bool)>, StoreError> {
        let oldest = self.oldest();
        let found = self.store.fetched(self.chain, kind, keys).await?;
        Ok(found
            .into_iter()
            .filter_map(|fetched| {
                let content = serde_json::from_str(&fetched.content).ok()?;
                Some((fetched.key, content, fetched.fetched_at >= oldest))
            })
            .collect())
    }
}
