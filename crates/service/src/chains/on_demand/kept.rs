//! What is kept of an API's answers, and how long it may be used.

use std::collections::BTreeMap;

use assay_chain::histories::ConfirmedTransaction;
use assay_engine::{
    chain::ChainId,
    utxo::{OutPoint, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid},
};
use assay_store::{
    FetchedStore, StoreError,
    fetched::{Fetched, FetchedKind},
};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Blocks on top of a transaction from which on its place in the chain is taken for good.
const SETTLED_AFTER: u64 = 6;

/// A transaction as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptTransaction {
    height: u64,
    time: Timestamp,
    coinbase: bool,
    /// The spent outputs: transaction, index, owner and value; an empty owner where it is not known.
    inputs: Vec<(String, u32, String, u64)>,
    /// The owner of the output's script, and its value.
    outputs: Vec<(String, u64)>,
    /// The chain's height when it was fetched.
    seen_at: u64,
}

/// An address's history so far, the newest transactions first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptHistory {
    pub(super) transactions: Vec<String>,
    /// Whether the first transaction is among them.
    pub(super) complete: bool,
    /// What the API said of all of it: received and spent in base units, change included.
    pub(super) funded: u128,
    pub(super) spent: u128,
    /// How many transactions there are in all.
    pub(super) count: u64,
    /// When the API was first asked for it: what came in since then may be missing, whenever the rest of
    /// it is fetched.
    pub(super) begun_at: Timestamp,
}

/// Which transactions spend a transaction's outputs, by place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptSpends {
    pub(super) by: Vec<Option<String>>,
}

impl KeptTransaction {
    pub(super) fn of(confirmed: &ConfirmedTransaction, tip: u64) -> Self {
        let kept = |output: &TxOut| (hex::encode(output.owner.to_bytes()), output.value);
        let Transaction { kind, inputs, outputs, .. } = &confirmed.transaction;
        Self {
            height: confirmed.height,
            time: confirmed.time,
            coinbase: *kind == TransactionKind::Coinbase,
            inputs: inputs
                .iter()
                .map(|input| {
                    let OutPoint { txid, index } = input.outpoint;
                    let (owner, value) = input.spent.as_ref().map(kept).unwrap_or_default();
                    (txid.to_string(), index, owner, value)
                })
                .collect(),
            outputs: outputs.iter().map(kept).collect(),
            seen_at: tip,
        }
    }

    /// The transaction; `None` where what is kept cannot be read: then it is fetched again.
    pub(super) fn read(&self, txid: Txid, chain: ChainId) -> Option<ConfirmedTransaction> {
        let output = |owner: &str, value: u64| {
            let owner = ScriptOwner::from_bytes(&hex::decode(owner).ok()?)?;
            Some(TxOut { owner, value })
        };
        let inputs = self.inputs.iter().map(|(txid, index, owner, value)| {
            let outpoint = OutPoint { txid: txid.parse().ok()?, index: *index };
            let spent = if owner.is_empty() { None } else { Some(output(owner, *value)?) };
            Some(TxInput { outpoint, spent })
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

    fn is_settled(&self) -> bool {
        self.height.saturating_add(SETTLED_AFTER) <= self.seen_at
    }
}

/// What is kept of one chain.
#[derive(Clone, Debug)]
pub(super) struct Kept<'a> {
    pub(super) store: &'a dyn FetchedStore,
    pub(super) chain: ChainId,
    pub(super) now: Timestamp,
    /// How long ago what may change may have been fetched.
    pub(super) longest_age: SignedDuration,
}

impl Kept<'_> {
    /// Transactions that may be used.
    pub(super) async fn transactions(
        &self,
        txids: &[Txid],
    ) -> Result<BTreeMap<Txid, ConfirmedTransaction>, StoreError> {
        let keys: Vec<String> = txids.iter().map(Txid::to_string).collect();
        let found = self.read::<KeptTransaction>(FetchedKind::Transaction, &keys).await?;
        Ok(found
            .into_iter()
            .filter(|(_, kept, fresh)| *fresh || kept.is_settled())
            .filter_map(|(key, kept, _)| {
                let txid = key.parse().ok()?;
                Some((txid, kept.read(txid, self.chain)?))
            })
            .collect())
    }

    /// Who spends outputs: for each transaction that may be used, by place.
    pub(super) async fn spends(
        &self,
        txids: &[Txid],
    ) -> Result<BTreeMap<Txid, (KeptSpends, bool)>, StoreError> {
        let keys: Vec<String> = txids.iter().map(Txid::to_string).collect();
        let found = self.read::<KeptSpends>(FetchedKind::Spends, &keys).await?;
        Ok(found
            .into_iter()
            .filter_map(|(key, kept, fresh)| Some((key.parse().ok()?, (kept, fresh))))
            .collect())
    }

    /// An address's history, if it may be used.
    pub(super) async fn history(&self, address: &str) -> Result<Option<KeptHistory>, StoreError> {
        let keys = [address.to_owned()];
        let found = self.read::<KeptHistory>(FetchedKind::History, &keys).await?;
        let oldest = self.oldest();
        Ok(found.into_iter().map(|(_, kept, _)| kept).find(|kept| kept.begun_at >= oldest))
    }

    /// When what may change must have been fetched at least.
    fn oldest(&self) -> Timestamp {
        self.now.saturating_sub(self.longest_age).unwrap_or(Timestamp::MIN)
    }

    /// Keeps something.
    pub(super) fn record(
        &self,
        kind: FetchedKind,
        key: String,
        content: &impl Serialize,
    ) -> Option<Fetched> {
        Some(Fetched {
            chain: self.chain,
            kind,
            key,
            content: serde_json::to_string(content).ok()?,
            fetched_at: self.now,
        })
    }

    /// What is kept under keys, and whether it is fresh. What cannot be read is as good as not there.
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
