//! Limits that several servers enforce together: leases of short windows from Redis, quotas of long windows
//! and replica slots from the database.

use std::{fmt, num::NonZeroU32, sync::Arc, time::Duration};

use assay_limiter::{
    LimitSubject, Limiter, LimiterSettings, ReplicaSlot, SharedLimiter, SlotView,
    redis::{BoxError, EpochRegistry, RedisTokenStore, SCRIPTS, Script, ScriptRunner},
    slots::SLOT_TTL,
    token_store::{LeaseGrant, LeaseRequest, TokenStore, TokenStoreError, WindowGrant},
};
use assay_redis::RedisClient;
use assay_store::{
    Coordination, Store, StoreError,
    coordination::{
        quotas::{QuotaCounter, QuotaGrant, QuotaRequest, QuotaReturn},
        slots::SlotLease,
    },
};
use tokio::{
    task::JoinHandle,
    time::{MissedTickBehavior, interval},
};

/// Interval of renewing the slot and reading the others: short enough for a view to be fresh at every lease.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);
/// Time in microseconds during which a Redis that lost its counters grants nothing, after the windows that were open
/// then have ended. The margin covers the difference between the clocks of a primary and its successor.
const MARGIN: u64 = 2_000_000;

/// Limits that servers share, with their background tasks.
pub struct SharedLimits {
    shared: SharedLimiter,
    coordination: Arc<dyn Coordination>,
    holder: String,
    tasks: Vec<JoinHandle<()>>,
}

impl fmt::Debug for SharedLimits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SharedLimits").field("holder", &self.holder).finish_non_exhaustive()
    }
}

impl SharedLimits {
    /// Starts the shared limits; `None` if the store is embedded and thus has a single server.
    pub async fn begin(store: &dyn Store, client: RedisClient, prefix: &str) -> Option<Self> {
        let coordination = store.coordination()?;
        warn_of_eviction(&client).await;
        let scripts = Arc::new(RedisScripts::new(client, prefix));
        let short = RedisTokenStore::new(scripts, assay_system::random_u64(), MARGIN);
        if let Err(error) = short.open(&StoreEpochs(Arc::clone(&coordination))).await {
            tracing::warn!(%error, "limits start without Redis; leases come from it as soon as it answers");
        }
        let (watched, epochs) = (short.clone(), StoreEpochs(Arc::clone(&coordination)));
        let long = DatabaseTokenStore(Arc::clone(&coordination));
        let shared =
            SharedLimiter::new(Arc::new(short), Arc::new(long), LimiterSettings::default());
        let holder =
            format!("{:016x}{:016x}", assay_system::random_u64(), assay_system::random_u64());
        let heartbeat = SlotHeartbeat {
            shared: shared.clone(),
            coordination: Arc::clone(&coordination),
            holder: holder.clone(),
        };
        let kept = shared.clone();
        let tasks = vec![
            tokio::spawn(heartbeat.run()),
            tokio::spawn(async move { kept.run_maintenance().await }),
            tokio::spawn(async move { watched.watch(&epochs).await }),
        ];
        Some(Self { shared, coordination, holder, tasks })
    }

    /// Returns the limiter.
    #[must_use]
    pub fn limiter(&self) -> Limiter {
        Limiter::Shared(self.shared.clone())
    }

    /// Returns unspent tokens and releases the slot, once no more requests are admitted.
    pub async fn end(self) {
        for task in &self.tasks {
            task.abort();
        }
        self.shared.shutdown().await;
        if let Err(error) = self.coordination.release_slot(&self.holder).await {
            tracing::warn!(%error, "failed to release the replica slot; it expires");
        }
    }
}

/// Warns of an eviction policy: tokens of evicted counters would be granted twice.
async fn warn_of_eviction(client: &RedisClient) {
    let mut info = redis::cmd("INFO");
    info.arg("memory");
    let Ok(memory) = client.run::<String>(&info).await else { return };
    let field = |name: &str| {
        let found = memory.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        found.map(str::trim).unwrap_or_default().to_owned()
    };
    if field("maxmemory") != "0" && field("maxmemory_policy") != "noeviction" {
        let policy = field("maxmemory_policy");
        tracing::error!(
            policy,
            "Redis may drop counters of limits: set maxmemory-policy to noeviction"
        );
    }
}

/// Runs the limiter's scripts.
struct RedisScripts {
    client: RedisClient,
    prefix: String,
    scripts: Vec<(Script, redis::Script)>,
}

impl fmt::Debug for RedisScripts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("RedisScripts").field(&self.client).finish()
    }
}

impl RedisScripts {
    fn new(client: RedisClient, prefix: &str) -> Self {
        let scripts = SCRIPTS.map(|script| (script, redis::Script::new(script.text))).into();
        Self { client, prefix: prefix.to_owned(), scripts }
    }
}

#[async_trait::async_trait]
impl ScriptRunner for RedisScripts {
    async fn run(
        &self,
        script: Script,
        keys: &[String],
        arguments: &[String],
    ) -> Result<Vec<i64>, BoxError> {
        let known = self.scripts.iter().find(|(known, _)| *known == script);
        let (_, script) = known.ok_or_else(|| format!("there is no script {}", script.name))?;
        let keys: Vec<String> = keys.iter().map(|key| format!("{}:{key}", self.prefix)).collect();
        let arguments: Vec<Vec<u8>> =
            arguments.iter().map(|argument| argument.clone().into_bytes()).collect();
        Ok(self.client.script(script, &keys, &arguments).await?)
    }
}

/// Record in the database of all buckets for which Redis ever had counters.
struct StoreEpochs(Arc<dyn Coordination>);

#[async_trait::async_trait]
impl EpochRegistry for StoreEpochs {
    async fn is_first(&self, bucket: &str) -> Result<bool, BoxError> {
        Ok(self.0.first_epoch(bucket).await?)
    }
}

/// Token store of long windows, in the database.
#[derive(Debug)]
struct DatabaseTokenStore(Arc<dyn Coordination>);

#[async_trait::async_trait]
impl TokenStore for DatabaseTokenStore {
    async fn lease(
        &self,
        subject: &LimitSubject,
        request: &LeaseRequest,
    ) -> Result<LeaseGrant, TokenStoreError> {
        let unreachable = |error: StoreError| TokenStoreError::Unreachable(Box::new(error));
        let subject = subject.to_string();
        let (mut requests, mut returns) = (Vec::new(), Vec::new());
        for window in &request.windows {
            let seconds = u32::try_from(window.window_seconds).ok().and_then(NonZeroU32::new);
            let seconds = seconds.ok_or_else(|| {
                TokenStoreError::InvalidResponse(format!(
                    "a window of {} s is too long",
                    window.window_seconds
                ))
            })?;
            let counter = QuotaCounter {
                subject: subject.clone(),
                limit: window.limit.to_string(),
                window_seconds: seconds,
            };
            if let Some(returned) = &window.returned {
                returns.push(QuotaReturn {
                    counter: counter.clone(),
                    window_number: returned.window,
                    count: returned.tokens,
                });
            }
            requests.push(QuotaRequest {
                counter,
                allowed: window.allowed,
                wanted: window.requested,
            });
        }
        if !returns.is_empty() {
            self.0.give_back(&returns).await.map_err(unreachable)?;
        }
        let grants = self.0.reserve(&requests).await.map_err(unreachable)?;
        if grants.len() != request.windows.len() {
            return Err(TokenStoreError::InvalidResponse(format!("{} grants", grants.len())));
        }
        let windows = request
            .windows
            .iter()
            .zip(grants)
            .map(|(window, grant)| window_grant(window.newest_window, grant));
        // A database loses no counters, so that there is one epoch.
        Ok(LeaseGrant { epoch: 0, windows: windows.collect() })
    }
}

/// Converts a grant. Tokens of a window before `newest` are void: the database's clock went back.
fn window_grant(newest: u64, grant: QuotaGrant) -> WindowGrant {
    let QuotaGrant { granted, window_number, remaining, until_end } = grant;
    let granted = if window_number < newest { 0 } else { granted };
    let ends_in = u64::try_from(until_end.as_micros()).unwrap_or(u64::MAX);
    WindowGrant { granted, window: window_number, ends_in, remaining, recovering: false }
}

/// Task that renews a replica slot and reads the other slots.
struct SlotHeartbeat {
    shared: SharedLimiter,
    coordination: Arc<dyn Coordination>,
    holder: String,
}

impl SlotHeartbeat {
    async fn run(self) {
        let mut ticks = interval(HEARTBEAT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut own: Option<ReplicaSlot> = None;
        let mut is_failure_logged = false;
        loop {
            ticks.tick().await;
            match self.renew_or_claim(own).await {
                Ok(view) => {
                    own = view.own;
                    is_failure_logged = false;
                    self.shared.set_slots(view);
                }
                Err(error) => {
                    if !std::mem::replace(&mut is_failure_logged, true) {
                        tracing::warn!(%error, "failed to renew the replica slot; trying again");
                    }
                }
            }
        }
    }

    /// Renews the slot, or claims one.
    async fn renew_or_claim(&self, own: Option<ReplicaSlot>) -> Result<SlotView, StoreError> {
        let lease = Duration::from_micros(SLOT_TTL);
        let asked_at = self.shared.local_now();
        if own.is_some() {
            let renewed = self.coordination.renew_slot(&self.holder, lease).await?;
            if renewed.is_held {
                return Ok(self.view(&renewed, asked_at, own));
            }
        }
        let asked_at = self.shared.local_now();
        let claimed = self.coordination.claim_slot(&self.holder, lease).await?;
        Ok(self.view(&claimed, asked_at, None))
    }

    fn view(&self, slot: &SlotLease, asked_at: u64, own: Option<ReplicaSlot>) -> SlotView {
        let now = slot.registry.now;
        let (mut held, mut ended) = (0, Vec::new());
        for expiry in &slot.registry.expiries {
            match u64::try_from(now.duration_since(*expiry).as_micros()) {
                Ok(ago) if *expiry <= now => ended.push(ago),
                _ => held += 1,
            }
        }
        let claimed_at = own.map_or_else(|| self.shared.local_now(), |own| own.claimed_at);
        // The slot ends a thousandth earlier, in case this server's clock is slow by as much.
        let until = asked_at.saturating_add(SLOT_TTL - SLOT_TTL / 1000 - 1);
        let own = slot.is_held.then_some(ReplicaSlot { claimed_at, until });
        SlotView { total: slot.registry.total, held, ended, asked_at, own }
    }
}
