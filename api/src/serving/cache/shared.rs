//! Answers that servers share, in Redis: what one assessed the others may repeat.
//!
//! Nothing here decides anything: what is found is judged like what a server remembers itself, and where
//! Redis is away or slow, servers assess for themselves. A key names everything that an answer depends
//! on, the tenant and the state of lists and labels included, so that what changed is never found, nor what
//! another installation knows.

use std::time::Duration;

use assay_redis::Link;
use redis::{Cmd, cmd, pipe};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep, timeout};

use super::{Assessed, CacheKey, Data};

/// Longest time that an answer from Redis is waited for.
const PATIENCE: Duration = Duration::from_millis(200);
/// For how long a server may assess before another one does the same.
const CLAIM: Duration = Duration::from_secs(3);
/// How often it is looked whether somebody else has assessed.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What the layout of kept answers is called: another layout is another key.
const LAYOUT: &str = concat!("1/", env!("CARGO_PKG_VERSION"));

/// Answers in Redis.
#[derive(Clone, Debug)]
pub struct SharedAnswers {
    link: Link,
    prefix: String,
}

/// Who assesses.
#[derive(Debug)]
pub(super) enum Claim {
    /// We do, and say when we are done.
    Ours,
    /// Somebody else did meanwhile.
    Done(Box<Assessed>),
    /// We do, without a word: Redis is away, or somebody else takes too long.
    Alone,
}

impl SharedAnswers {
    /// Answers whose keys begin with `prefix`.
    #[must_use]
    pub const fn new(link: Link, prefix: String) -> Self {
        Self { link, prefix }
    }

    fn key(&self, key: &CacheKey, data: Data<'_>) -> String {
        let mut hash = Sha256::new();
        let CacheKey { tenant, policy_revision, chains_revision, snapshot_stale, address } = key;
        let parts = [
            LAYOUT,
            assay_engine::MODEL_VERSION,
            tenant.as_str(),
            policy_revision,
            chains_revision,
            if *snapshot_stale { "stale" } else { "fresh" },
            data.revision,
            &data.generation.to_string(),
            address.chain().as_str(),
            address.as_str(),
        ];
        for part in parts {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        }
        // One hash tag for an answer and the claim to it.
        format!("{}:a:{{{}}}", self.prefix, hex::encode(hash.finalize()))
    }

    async fn run<T: redis::FromRedisValue>(&self, command: &Cmd) -> Option<T> {
        timeout(PATIENCE, self.link.run(command)).await.ok()?.ok()
    }

    /// What was kept; `None` where there is nothing, or Redis does not say.
    pub(super) async fn find(&self, key: &CacheKey, data: Data<'_>) -> Option<Assessed> {
        let mut get = cmd("GET");
        get.arg(self.key(key, data));
        let kept: Option<Vec<u8>> = self.run(&get).await?;
        serde_json::from_slice(&kept?).ok()
    }

    /// Sees to it that of several servers one assesses; `repeatable` says whether what another one kept
    /// may be repeated.
    pub(super) async fn claim(
        &self,
        key: &CacheKey,
        data: Data<'_>,
        repeatable: impl Fn(&Assessed) -> bool,
    ) -> Claim {
        let begun = Instant::now();
        let claim = format!("{}:claim", self.key(key, data));
        loop {
            let mut set = cmd("SET");
            set.arg(&claim).arg(1).arg("NX").arg("PX").arg(CLAIM.as_millis().to_string());
            match self.run::<Option<String>>(&set).await {
                None => return Claim::Alone,
                Some(Some(_)) => return Claim::Ours,
                Some(None) => {}
            }
            if begun.elapsed() > CLAIM {
                return Claim::Alone;
            }
            sleep(LOOK_EVERY).await;
            if let Some(done) = self.find(key, data).await.filter(&repeatable) {
                return Claim::Done(Box::new(done));
            }
        }
    }

    /// Keeps an answer for others, for as long as `lifetime`, and gives the claim up.
    pub(super) async fn keep(
        &self,
        key: &CacheKey,
        data: Data<'_>,
        assessed: &Assessed,
        lifetime: Duration,
    ) {
        let name = self.key(key, data);
        let mut commands = pipe();
        match serde_json::to_vec(assessed) {
            Ok(text) if !lifetime.is_zero() => {
                let milliseconds = lifetime.as_millis().max(1).to_string();
                commands.cmd("SET").arg(&name).arg(text).arg("PX").arg(milliseconds).ignore();
            }
            _ => {}
        }
        commands.cmd("DEL").arg(format!("{name}:claim")).ignore();
        // Where it fails, others assess for themselves.
        let _ = timeout(PATIENCE, self.link.run_all::<()>(&commands)).await;
    }
}
