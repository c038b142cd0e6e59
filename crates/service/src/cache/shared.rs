//! Answers that servers share in Redis.
//!
//! An answer from Redis is checked like one in memory. While Redis is slow or unavailable, each server assesses on its
//! own. A key covers everything that an answer depends on, the tenant and the revision of lists and labels included, so
//! that neither outdated answers nor those of another installation are found.

use std::{sync::Arc, time::Duration};

use assay_engine::{
    account::AccountTransferSelector,
    planned::{EarlierReceiver, EarlierReceivers, PlannedWithdrawal},
    transfer::{TransferQuery, TransferSelector},
    utxo::OutputSelector,
};
use assay_redis::RedisClient;
use redis::{Cmd, FromRedisValue, Script, cmd};
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
const LAYOUT: &str = concat!("5/", env!("CARGO_PKG_VERSION"));
/// Reads an answer, and claims its computation for some milliseconds unless there is an answer or a claim. If the second
/// argument is 1, it claims the computation although there is an answer.
const FIND_OR_CLAIM: &str = "
    local kept = redis.call('GET', KEYS[1])
    if kept and ARGV[2] ~= '1' then return {kept, 0} end
    local claimed = redis.call('SET', KEYS[2], 1, 'NX', 'PX', ARGV[1])
    return {kept, claimed and 1 or 0}";
/// Stores an answer for some milliseconds, and releases the claim to its computation.
const STORE_AND_RELEASE: &str = "
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return redis.call('DEL', KEYS[2])";

/// Store of answers in Redis.
#[derive(Clone, Debug)]
pub struct SharedAnswers {
    client: RedisClient,
    prefix: String,
    find_or_claim: Arc<Script>,
    store_and_release: Arc<Script>,
}

/// Claim to compute an answer that other servers wait for. Dropping the claim releases it, with or without an answer.
#[derive(Debug)]
pub(super) struct Claim {
    client: RedisClient,
    /// Keys of the answer and of the claim.
    keys: [String; 2],
    is_released: bool,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.is_released {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let client = self.client.clone();
        let [_, claim] = &self.keys;
        let mut delete = cmd("DEL");
        delete.arg(claim);
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
    pub fn new(client: RedisClient, prefix: String) -> Self {
        let [find_or_claim, store_and_release] =
            [FIND_OR_CLAIM, STORE_AND_RELEASE].map(|text| Arc::new(Script::new(text)));
        Self { client, prefix, find_or_claim, store_and_release }
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

    async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Option<T> {
        timeout(PATIENCE, self.client.run(command)).await.ok()?.ok()
    }

    async fn run_script<T: FromRedisValue>(
        &self,
        script: &Script,
        keys: &[String; 2],
        arguments: [Vec<u8>; 2],
    ) -> Option<T> {
        timeout(PATIENCE, self.client.script(script, keys, &arguments)).await.ok()?.ok()
    }

    /// Returns a stored answer; `None` if there is none, or Redis does not answer.
    #[cfg(test)]
    pub(super) async fn find(
        &self,
        key: &CacheKey,
        data: DataState<'_>,
    ) -> Option<SerializedAssessment> {
        let mut get = cmd("GET");
        get.arg(self.key(key, data));
        read(&self.run::<Option<Vec<u8>>>(&get).await??)
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
        let answer = self.key(key, data);
        let keys = [answer.clone(), format!("{answer}:claim")];
        let mut is_outdated = false;
        loop {
            let replaces = u8::from(is_outdated);
            let arguments = [CLAIM.as_millis().to_string(), replaces.to_string()];
            let found = self
                .run_script(&self.find_or_claim, &keys, arguments.map(String::into_bytes))
                .await;
            let found: Option<(Option<Vec<u8>>, i64)> = found;
            let Some((kept, claimed)) = found else { return Err(None) };
            let claim = (claimed == 1).then(|| Claim {
                client: self.client.clone(),
                keys: keys.clone(),
                is_released: false,
            });
            let is_kept = kept.is_some();
            if let Some(done) = kept.and_then(|kept| read(&kept)).filter(&repeatable) {
                return Ok(done);
            }
            if claim.is_some() || begun.elapsed() > CLAIM {
                return Err(claim);
            }
            if is_kept && !is_outdated {
                is_outdated = true;
            } else {
                sleep(LOOK_EVERY).await;
            }
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
        let Some(text) = written(assessed) else { return };
        if lifetime.is_zero() {
            return;
        }
        let mut set = cmd("SET");
        set.arg(self.key(key, data)).arg(text).arg("PX").arg(milliseconds(lifetime));
        // If this fails, other servers assess the address themselves.
        let _ = self.run::<()>(&set).await;
    }

    /// Stores a claimed answer for the other servers for `lifetime`, and releases the claim.
    pub(super) async fn store_claimed(
        &self,
        mut claim: Claim,
        assessed: &SerializedAssessment,
        lifetime: Duration,
    ) {
        let Some(text) = written(assessed) else { return };
        if lifetime.is_zero() {
            return;
        }
        let arguments = [text, milliseconds(lifetime).into_bytes()];
        let stored = self.run_script::<i64>(&self.store_and_release, &claim.keys, arguments).await;
        // If this fails, other servers assess the address themselves.
        claim.is_released = stored.is_some();
    }
}

fn milliseconds(lifetime: Duration) -> String {
    lifetime.as_millis().max(1).to_string()
}

/// Writes an answer as it is stored: its properties as a line of JSON, and its text.
fn written(assessed: &SerializedAssessment) -> Option<Vec<u8>> {
    let mut bytes = serde_json::to_vec(assessed).ok()?;
    bytes.push(b'\n');
    bytes.extend_from_slice(assessed.text.as_bytes());
    Some(bytes)
}

/// Reads a stored answer; `None` if it is not in this layout.
fn read(bytes: &[u8]) -> Option<SerializedAssessment> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (properties, text) = bytes.split_at_checked(end)?;
    let known: SerializedAssessment = serde_json::from_slice(properties).ok()?;
    let text = str::from_utf8(text.get(1..)?).ok()?.into();
    Some(SerializedAssessment { text, ..known })
}
