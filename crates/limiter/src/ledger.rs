//! What a bank does, as a pure state machine: the bank of a single process, the bank of the simulation,
//! and what the script in Redis is compared with.

use std::collections::BTreeMap;

use assay_tenancy::manifest::LimitName;

use crate::{
    LimitSubject, SECOND,
    token_store::{LeaseGrant, LeaseRequest, WindowGrant, WindowRequest},
};

/// A clock that is further back than this is not waited for: the memory counts as lost instead.
pub(crate) const LONGEST_STEP: u64 = 600 * SECOND;
/// Cells whose window is over are forgotten when there are so many.
const MANY_CELLS: usize = 1024;

/// The server as it is at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerClock {
    /// Names one run of the server: different after a restart and after a failover.
    pub run: String,
    /// Its clock: microseconds since 1970.
    pub now: u64,
}

/// What a bank remembers. A copy of it is what a snapshot or a replica of the server holds.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// Until when after its birth an epoch knows too little to give out anything, beyond the windows in
    /// which it was born: more than the clocks of a server and its successor differ.
    margin: u64,
    epoch: Option<Epoch>,
    windows: BTreeMap<(LimitSubject, LimitName, u64), StoredWindow>,
    forget_at: usize,
    /// What is wrong on purpose, to see that the simulation notices.
    #[cfg(test)]
    pub(crate) flaw: Option<crate::simulation::Flaw>,
}

/// One uninterrupted life of the memory.
#[derive(Clone, Debug)]
struct Epoch {
    run: String,
    id: u64,
    /// Windows that began before have an unknown past.
    unknown_before: u64,
    /// The newest time seen: a clock that is set back stands still.
    latest: u64,
}

#[derive(Clone, Debug, Default)]
struct StoredWindow {
    epoch: u64,
    window: u64,
    granted: u64,
    /// The replicas that asked in this window, with each one's last sequence number.
    replicas: BTreeMap<u64, u64>,
}

impl Ledger {
    /// An empty memory that learns for `margin` microseconds beyond the windows in which it is born.
    #[must_use]
    pub const fn new(margin: u64) -> Self {
        Self {
            margin,
            epoch: None,
            windows: BTreeMap::new(),
            forget_at: MANY_CELLS,
            #[cfg(test)]
            flaw: None,
        }
    }

    /// Sees what epoch it is, and begins one where the memory is not of this run.
    /// Returns its number and whether it has just begun.
    pub fn open(&mut self, server: &ServerClock) -> (u64, bool) {
        let now = server.now;
        #[cfg(test)]
        if self.flaw == Some(crate::simulation::Flaw::AnyMemoryWillDo) {
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
            && epoch.latest <= now.saturating_add(LONGEST_STEP)
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
            Some(crate::simulation::Flaw::NoLearning) => 0,
            _ => unknown_before,
        };
        self.epoch = Some(Epoch { run, id, unknown_before, latest: now });
        (id, true)
    }

    /// Lets the epoch `id` give out tokens from its birth, because no other came before it. Does nothing
    /// if it is another epoch by now.
    pub fn confirm_first_epoch(&mut self, id: u64) {
        if let Some(epoch) = self.epoch.as_mut().filter(|epoch| epoch.id == id) {
            epoch.unknown_before = 0;
        }
    }

    /// Does what `replica` asks for.
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
        self.forget(now);
        let mut windows = Vec::with_capacity(request.windows.len());
        for wanted in &request.windows {
            let key = (subject.clone(), wanted.limit.clone(), wanted.window_seconds);
            let stored = self.windows.entry(key).or_default();
            let length = wanted.window_seconds.max(1).saturating_mul(SECOND);
            let window = now / length;
            if stored.epoch != id || stored.window != window {
                *stored = StoredWindow { epoch: id, window, ..StoredWindow::default() };
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

    /// What was given out of a cell in the window of its last draw, less what was given back, with that
    /// window and its epoch.
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

    /// The newest time seen.
    #[cfg(test)]
    pub(crate) fn latest(&self) -> u64 {
        self.epoch.as_ref().map_or(0, |epoch| epoch.latest)
    }

    /// Makes the memory look like that of another run.
    #[cfg(test)]
    pub(crate) fn set_run(&mut self, run: &str) {
        self.epoch.iter_mut().for_each(|epoch| run.clone_into(&mut epoch.run));
    }

    /// Makes it look as if the clock had been ahead.
    #[cfg(test)]
    pub(crate) fn set_latest(&mut self, latest: u64) {
        self.epoch.iter_mut().for_each(|epoch| epoch.latest = latest);
    }

    fn forget(&mut self, now: u64) {
        if self.windows.len() >= self.forget_at {
            self.windows.retain(|(_, _, seconds), stored| {
                let length = seconds.max(&1).saturating_mul(SECOND);
                stored.window == now / length
            });
            self.forget_at = self.windows.len().saturating_mul(2).max(MANY_CELLS);
        }
    }
}

/// Whether `window` is older than the newest that a replica knows: the clock was set back together with
/// the loss of the memory. What lies too far ahead was told by a clock that was wrong.
const fn is_older(window: u64, newest_window: u64, length: u64, now: u64) -> bool {
    newest_window > window
        && newest_window.saturating_mul(length) <= now.saturating_add(LONGEST_STEP)
}

impl StoredWindow {
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
        // Near the end every replica gets a little, and at the very end one at a time.
        let replicas = u64::try_from(self.replicas.len()).unwrap_or(u64::MAX);
        let most = (remaining / replicas.saturating_mul(2)).max(1);
        let granted = wanted.requested.min(most);
        self.granted += granted;
        granted
    }
}
