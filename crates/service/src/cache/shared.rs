//! Answers that servers share in Redis.
//!
//! An answer from Redis is checked like one in memory. While Redis is slow or unavailable, each server assesses on its
//! own. A key covers everything that an answer depends on, the tenant and the revision of lists and labels included, so
//! that neither outdated answers nor those of another installation are found.

use std::time::Duration;

use assay_engine::{
    account::AccountTransferSelector,
    planned::{EarlierReceiver, EarlierReceivers, PlannedWithdrawal},
    transfer::{TransferQuery, TransferSelector},
    utxo::OutputSelector,
};
use assay_redis::RedisClient;
use redis::{Cmd, cmd};
use sha2::{Digest, Sha256};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout},
};

use super::{CacheKey, CheckSubject, DataState, PlannedSubject, SerializedAssessment};

/// Timeout of reading an answer from Redis.
const PATIENCE: Duration = Duration::from_millis(200);
/// Time after which another server may take over a claimed assessment.
const CLAIM: Duration = Duration::from_secs(3);
/// Interval of polling for another server's answer.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Version of the layout of stored answers; a part of their keys.
const LAYOUT: &str = concat!("4/", env!("CARGO_PKG_VERSION"));

/// Store of answers in Redis.
#[derive(Clone, Debug)]
pub struct SharedAnswers {
    client: RedisClient,
    prefix: String,
}

/// Claim to compute an answer that other servers wait for. Dropping the claim releases it, with or without an answer.
#[derive(Debug)]
pub(super) struct Claim {
    client: RedisClient,
    name: String,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else { return };
        let client = self.client.clone();
        let mut delete = cmd("DEL");
        delete.arg(&self.name);
        // If this fails, the claim expires on its own.
        runtime.spawn(async move { timeout(PATIENCE, client.run::<()>(&delete)).await });
    }
}

/// Returns the segments of a key that identify the subject: two for an address, more for a transfer.
fn subject_parts(subject: &CheckSubject) -> Vec<String> {
    match subject {
        CheckSubject::Address(address) => {
            vec![address.chain().as_str().to_owned(), address.as_str().to_owned()]
        }
        CheckSubject::Transfer(query) => {
            let TransferQuery { chain, txid, selector, direction } = &**query;
            let (by, selected) = match selector {
                TransferSelector::Outputs(OutputSelector::Index(index)) => {
                    ("output", index.to_string())
                }
                TransferSelector::Outputs(OutputSelector::Address(address)) => {
                    ("address", address.to_string())
                }
                TransferSelector::OfAccounts(AccountTransferSelector { place, receiver }) => {
                    let place = place.as_ref().map(ToString::to_string).unwrap_or_default();
                    let receiver = receiver.as_ref().map(ToString::to_string).unwrap_or_default();
                    ("place", format!("{place}/{receiver}"))
                }
            };
            let transfer = ["transfer", chain.as_str(), direction.as_str(), by];
            let named = transfer.into_iter().map(str::to_owned);
            named.chain([txid.to_string(), selected]).collect()
        }
        CheckSubject::Planned(planned) => planned_parts(planned),
    }
}

/// Returns the segments of a key that identify a withdrawal that is not sent yet.
fn planned_parts(planned: &PlannedSubject) -> Vec<String> {
    let PlannedSubject { withdrawal, earlier_receivers } = planned;
    let PlannedWithdrawal { to, from, asset, amount } = withdrawal;
    let from = from.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut parts = vec![
        "planned".to_owned(),
        to.chain().to_string(),
        to.to_string(),
        from,
        asset.text.clone(),
        amount.to_string(),
    ];
    match earlier_receivers {
        EarlierReceivers::NotKept => parts.push("not kept".to_owned()),
        EarlierReceivers::Unreadable => parts.push("unreadable".to_owned()),
        EarlierReceivers::Found(found) => {
            for EarlierReceiver { address, first_checked_at, by } in found {
                parts.push(format!("{address} {first_checked_at} {by:?}"));
            }
        }
    }
    parts
}

impl SharedAnswers {
    /// Returns the store of answers whose keys begin with `prefix`.
    #[must_use]
    pub const fn new(client: RedisClient, prefix: String) -> Self {
        Self { client, prefix }
    }

    pub(super) fn key(&self, key: &CacheKey, data: DataState<'_>) -> String {
        let mut hash = Sha256::new();
        let CacheKey {
            tenant,
            policy_revision,
            chains_revision,
            intel_stale,
            differing_branches,
            subject,
        } = key;
        let state = if *intel_stale { "stale" } else { "fresh" };
        let state = match differing_branches {
            Some(differing) => format!("{state}, {differing:?}"),
            None => state.to_owned(),
        };
        let subject = subject_parts(subject);
        let parts = [
            LAYOUT,
            assay_engine::MODEL_VERSION,
            tenant.as_str(),
            policy_revision,
            chains_revision,
            &state,
            data.revision,
            &data.generation.to_string(),
        ];
        for part in parts.into_iter().chain(subject.iter().map(String::as_str)) {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        }
        // One hash tag puts an answer and its claim into the same slot.
        format!("{}:a:{{{}}}", self.prefix, hex::encode(hash.finalize()))
    }

    async fn run<T: redis::FromRedisValue>(&self, command: &Cmd) -> Option<T> {
        timeout(PATIENCE, self.client.run(command)).await.ok()?.ok()
    }

    /// Returns a stored answer; `None` if there is none, or Redis does not answer.
    pub(super) async fn find(
        &self,
        key: &CacheKey,
        data: DataState<'_>,
    ) -> Option<SerializedAssessment> {
        let mut get = cmd("GET");
        get.arg(self.key(key, data));
        let kept: Option<Vec<u8>> = self.run(&get).await?;
        serde_json::from_slice(&kept?).ok()
    }

    /// Lets one of several servers compute an answer. Returns the answer of another server that `repeatable` accepts.
    /// Otherwise this server computes the answer: with a claim, or without a claim if Redis is unavailable or the other
    /// server takes too long.
    pub(super) async fn claim(
        &self,
        key: &CacheKey,
        data: DataState<'_>,
        repeatable: impl Fn(&SerializedAssessment) -> bool,
    ) -> Result<SerializedAssessment, Option<Claim>> {
        let begun = Instant::now();
        let name = format!("{}:claim", self.key(key, data));
        loop {
            let mut set = cmd("SET");
            set.arg(&name).arg(1).arg("NX").arg("PX").arg(CLAIM.as_millis().to_string());
            let Some(claimed) = self.run::<Option<String>>(&set).await else { return Err(None) };
            let claim = claimed.map(|_| Claim { client: self.client.clone(), name: name.clone() });
            // The cache is read again even if this replica got the claim: the previous holder may
            // have stored an answer after the last read and only then released the claim.
            if let Some(done) = self.find(key, data).await.filter(&repeatable) {
                return Ok(done);
            }
            if claim.is_some() || begun.elapsed() > CLAIM {
                return Err(claim);
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Stores an answer for the other servers for `lifetime`.
    pub(super) async fn store(
        &self,
        key: &CacheKey,
        data: DataState<'_>,
        assessed: &SerializedAssessment,
        lifetime: Duration,
    ) {
        let Ok(text) = serde_json::to_vec(assessed) else { return };
        if lifetime.is_zero() {
            return;
        }
        let milliseconds = lifetime.as_millis().max(1).to_string();
        let mut set = cmd("SET");
        set.arg(self.key(key, data)).arg(text).arg("PX").arg(milliseconds);
        // If this fails, other servers assess the address themselves.
        let _ = self.run::<()>(&set).await;
    }
}
