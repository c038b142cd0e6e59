//! State machine of a token store, without I/O: used by the in-process limiter and the simulation, and
//! compared with the Redis script in tests.

use std::collections::BTreeMap;

use assay_tenancy::manifest::LimitName;

use crate::{
    CounterId, LimitSubject, SECOND, WindowUse,
    token_store::{LeaseGrant, LeaseRequest, WindowGrant, WindowRequest},
};

/// Longest step of a clock backward that the store waits for; after a longer one the memory counts as
/// lost.
pub(crate) const MAX_CLOCK_STEP: u64 = 600 * SECOND;
/// Number of counters from which those of past windows are removed.
const MIN_PRUNE_SIZE: usize = 1024;

/// Identity and time of the server at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerClock {
    /// Run of the server: different after a restart and after a failover.
    pub run: String,
    /// The server's time in microseconds since 1970.
    pub now: u64,
}

/// Memory of a token store. A snapshot or a replica of the server holds a copy of the memory.
#[derive(Clone, Debug)]
pub struct TokenLedger {
    /// Time in microseconds after the start of an epoch during which nothing is granted, in addition to the windows
    /// in which the epoch began: more than the clocks of a server and its successor differ.
    margin: u64,
    epoch: Option<Epoch>,
    windows: BTreeMap<(LimitSubject, LimitName, u64), StoredWindow>,
    /// Tokens that an earlier process spent, by counter and window: a window begins with them.
    earlier: BTreeMap<(CounterId, u64), u64>,
    prune_at: usize,
    /// A deliberate defect, to prove that the simulation detects it.
    #[cfg(test)]
    pub(crate) flaw: Option<crate::simulation::Flaw>,
}

/// One uninterrupted life of the memory.
#[derive(Clone, Debug)]
struct Epoch {
    run: String,
    id: u64,
    /// Time before which the past is unknown: nothing is granted in windows that began earlier.
    unknown_before: u64,
    /// Latest time that the server's clock showed; used instead of the clock while the clock is behind it.
    latest: u64,
}

#[derive(Clone, Debug, Default)]
struct StoredWindow {
    epoch: u64,
    window: u64,
    granted: u64,
    /// The last sequence number of each replica that sent a request in this window.
    replicas: BTreeMap<u64, u64>,
}

impl TokenLedger {
    /// Creates an empty memory that grants nothing in the windows in which an epoch began, and until `margin`
    /// microseconds after the epoch's start.
    #[must_use]
    pub const fn new(margin: u64) -> Self {
        Self {
            margin,
            epoch: None,
            windows: BTreeMap::new(),
            earlier: BTreeMap::new(),
            prune_at: MIN_PRUNE_SIZE,
            #[cfg(test)]
            flaw: None,
        }
    }

    /// Determines the epoch, and begins a new epoch if the memory is not of this run. Returns the number of the epoch,
    /// and true if the epoch has just begun.
    pub fn open(&mut self, server: &ServerClock) -> (u64, bool) {
        let now = server.now;
        #[cfg(test)]
        if self.flaw == Some(crate::simulation::Flaw::ForeignMemoryAccepted) {
            self.epoch
                .get_or_insert_with(|| Epoch {
                    run: String::new(),
                    id: now,
                    unknown_before: now + self.margin,
                    latest: now,
                })
                .run
                .clone_from(&server.run);
        }
        if let Some(epoch) = &mut self.epoch
            && epoch.run == server.run
            && epoch.latest <= now.saturating_add(MAX_CLOCK_STEP)
        {
            epoch.latest = epoch.latest.max(now);
            return (epoch.id, false);
        }
        let after = self.epoch.as_ref().map_or(0, |epoch| epoch.id + 1);
        let id = now.max(after);
        let run = server.run.clone();
        let unknown_before = now.saturating_add(self.margin);
        #[cfg(test)]
        let unknown_before = match self.flaw {
            Some(crate::simulation::Flaw::NoRecovery) => 0,
            _ => unknown_before,
        };
        self.epoch = Some(Epoch { run, id, unknown_before, latest: now });
        (id, true)
    }

    /// Allows the epoch `id` to grant tokens from its start, because no other epoch preceded it. Does
    /// nothing if another epoch has begun since.
    pub fn confirm_first_epoch(&mut self, id: u64) {
        if let Some(epoch) = self.epoch.as_mut().filter(|epoch| epoch.id == id) {
            epoch.unknown_before = 0;
        }
    }

    /// Processes the request of `replica`.
    pub fn lease(
        &mut self,
        server: &ServerClock,
        replica: u64,
        subject: &LimitSubject,
        request: &LeaseRequest,
    ) -> LeaseGrant {
        let (id, _) = self.open(server);
        let (now, unknown_before) = match &self.epoch {
            Some(epoch) => (epoch.latest, epoch.unknown_before),
            None => (server.now, u64::MAX),
        };
        self.prune(now);
        let mut windows = Vec::with_capacity(request.windows.len());
        for wanted in &request.windows {
            let key = (subject.clone(), wanted.limit.clone(), wanted.window_seconds);
            let counter = CounterId {
                subject: subject.clone(),
                limit: wanted.limit.clone(),
                window_seconds: wanted.window_seconds,
            };
            let stored = self.windows.entry(key).or_insert_with(StoredWindow::before_the_first);
            let length = wanted.window_seconds.max(1).saturating_mul(SECOND);
            let window = now / length;
            if stored.epoch != id || stored.window != window {
                let granted = self.earlier.remove(&(counter, window)).unwrap_or(0);
                *stored = StoredWindow { epoch: id, window, granted, ..StoredWindow::default() };
            }
            let recovering = window.saturating_mul(length) < unknown_before
                || is_older(window, wanted.newest_window, length, now);
            windows.push(WindowGrant {
                granted: stored.lease(replica, request.sequence, wanted, recovering),
                window,
                ends_in: length - now % length,
                remaining: wanted.allowed.saturating_sub(stored.granted),
                recovering,
            });
        }
        LeaseGrant { epoch: id, windows }
    }

    /// Adds the use of a window by an earlier process.
    pub(crate) fn add_earlier(&mut self, WindowUse { counter, window, spent }: WindowUse) {
        self.earlier.insert((counter, window), spent);
    }

    /// Returns the tokens that an earlier process spent in a window that no request has begun yet.
    pub(crate) fn earlier(&self, counter: &CounterId, window: u64) -> u64 {
        self.earlier.get(&(counter.clone(), window)).copied().unwrap_or(0)
    }

    /// Returns the window of the last request for a counter, and the tokens granted in the window.
    pub(crate) fn last_window(&self, counter: &CounterId) -> Option<(u64, u64)> {
        let CounterId { subject, limit, window_seconds } = counter;
        let stored = self.windows.get(&(subject.clone(), limit.clone(), *window_seconds))?;
        Some((stored.window, stored.granted))
    }

    /// Returns the tokens granted, less those returned, in the window of the last request for a
    /// counter, with its epoch and window.
    #[cfg(test)]
    pub(crate) fn granted(
        &self,
        subject: &LimitSubject,
        limit: &LimitName,
        window_seconds: u64,
    ) -> ((u64, u64), u64) {
        let stored = self.windows.get(&(subject.clone(), limit.clone(), window_seconds));
        stored
            .map_or_else(Default::default, |stored| ((stored.epoch, stored.window), stored.granted))
    }

    /// Returns the latest time seen.
    #[cfg(test)]
    pub(crate) fn latest(&self) -> u64 {
        self.epoch.as_ref().map_or(0, |epoch| epoch.latest)
    }

    /// Simulates a memory of another run.
    #[cfg(test)]
    pub(crate) fn set_run(&mut self, run: &str) {
        self.epoch.iter_mut().for_each(|epoch| run.clone_into(&mut epoch.run));
    }

    /// Simulates a clock that was ahead.
    #[cfg(test)]
    pub(crate) fn set_latest(&mut self, latest: u64) {
        self.epoch.iter_mut().for_each(|epoch| epoch.latest = latest);
    }

    fn prune(&mut self, now: u64) {
        if self.windows.len() >= self.prune_at {
            self.windows.retain(|(_, _, seconds), stored| {
                let length = seconds.max(&1).saturating_mul(SECOND);
                stored.window == now / length
            });
            self.prune_at = self.windows.len().saturating_mul(2).max(MIN_PRUNE_SIZE);
        }
    }
}

/// True if `window` is older than the newest window that the replica knows: the clock was set back and the memory lost
/// at the same time. A reported newest window too far ahead is ignored, since it came from a wrong clock.
const fn is_older(window: u64, newest_window: u64, length: u64, now: u64) -> bool {
    newest_window > window
        && newest_window.saturating_mul(length) <= now.saturating_add(MAX_CLOCK_STEP)
}

impl StoredWindow {
    /// A window before the first one of a counter.
    fn before_the_first() -> Self {
        Self { window: u64::MAX, ..Self::default() }
    }

    fn lease(
        &mut self,
        replica: u64,
        sequence: u64,
        wanted: &WindowRequest,
        recovering: bool,
    ) -> u64 {
        let last = self.replicas.entry(replica).or_default();
        if sequence <= *last {
            return 0;
        }
        *last = sequence;
        if let Some(returned) = &wanted.returned
            && (returned.epoch, returned.window) == (self.epoch, self.window)
        {
            self.granted = self.granted.saturating_sub(returned.tokens);
        }
        let remaining = wanted.allowed.saturating_sub(self.granted);
        if recovering || remaining == 0 {
            return 0;
        }
        // Near exhaustion each replica gets at most half of its share, and finally one token at a time.
        let replicas = u64::try_from(self.replicas.len()).unwrap_or(u64::MAX);
        let most = (remaining / replicas.saturating_mul(2)).max(1);
        let granted = wanted.requested.min(most);
        self.granted += granted;
        granted
    }
}
