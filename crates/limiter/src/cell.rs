//! What one replica knows of one cell: its lease, what the bank said last, and its floor.

use assay_tenancy::{
    directory::Limit,
    manifest::{Counts, LimitName, OnStoreLoss},
};

use crate::{
    BankKind, SECOND, SeatView, Settings, Spent, Standing, Terms,
    bank::{Back, DrawCell, DrawnCell},
    demand::Demand,
    floor::Floor,
    lease::Lease,
};

/// What one replica knows of one limit of one payer.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) limit: LimitName,
    pub(crate) window_seconds: u64,
    pub(crate) counts: Counts,
    pub(crate) bank: BankKind,
    requests: u64,
    terms: Terms,
    lease: Lease,
    dry: Option<Dry>,
    /// The newest window that the bank told of.
    newest: u64,
    floor: Floor,
    demand: Demand,
    /// Tokens that somebody waits for.
    waiting: u64,
    asked_at: u64,
}

/// The bank has nothing to give.
#[derive(Clone, Copy, Debug)]
struct Dry {
    /// The local time from which the next window may have begun.
    until: u64,
    /// The local time from which it is worth to ask again.
    recheck: u64,
    learning: bool,
}

/// Why a cell has no room, or whether the bank may have some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// The bank may have more: ask it.
    Ask,
    /// The window is used up.
    UsedUp,
    /// The bank cannot be reached, or does not know what it gave out.
    Unknown,
}

/// What belongs to the moment rather than to the cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment<'a> {
    pub(crate) now: u64,
    pub(crate) seats: &'a SeatView,
    pub(crate) settings: &'a Settings,
}

impl Cell {
    pub(crate) fn new(limit: &Limit, terms: Terms, settings: &Settings) -> Self {
        let window_seconds = limit.window.seconds().max(1);
        Self {
            limit: limit.name.clone(),
            window_seconds,
            counts: limit.counts,
            bank: settings.bank(window_seconds),
            requests: limit.requests,
            terms,
            lease: Lease::default(),
            dry: None,
            newest: 0,
            floor: Floor::default(),
            demand: Demand::default(),
            waiting: 0,
            asked_at: 0,
        }
    }

    pub(crate) fn is_of(&self, limit: &Limit) -> bool {
        self.limit == limit.name && self.window_seconds == limit.window.seconds().max(1)
    }

    /// The numbers as they are now. What was used stays used.
    pub(crate) fn update(&mut self, limit: &Limit, terms: Terms) {
        if (self.requests, self.terms) != (limit.requests, terms) {
            // What was used up may not be any more.
            self.dry = None;
            (self.requests, self.terms) = (limit.requests, terms);
        }
        self.counts = limit.counts;
    }

    /// Notes that `count` more are asked for.
    pub(crate) fn note(&mut self, count: u64, moment: &Moment<'_>) {
        self.asked_at = moment.now;
        if self.pace(moment.settings).recheck == 0 {
            // Nothing need be remembered where asking costs nothing.
            self.dry = None;
        }
        self.demand.note(count, self.horizon(moment.settings), moment.now);
    }

    /// How many can be spent now; `lost` where the bank cannot be reached.
    pub(crate) fn room(&self, lost: bool, moment: &Moment<'_>) -> u64 {
        let leased = self.leased(moment.now);
        if lost || self.is_dry(moment.now) {
            leased.saturating_add(self.floor_left(moment))
        } else {
            leased
        }
    }

    /// Why there is no room.
    pub(crate) fn lack(&self, lost: bool, moment: &Moment<'_>) -> Lack {
        match self.dry.filter(|dry| moment.now < dry.until) {
            Some(dry) if dry.learning => Lack::Unknown,
            Some(_) => Lack::UsedUp,
            None if lost => Lack::Unknown,
            None => Lack::Ask,
        }
    }

    /// Notes that somebody waits for `count` more than there is room for.
    pub(crate) const fn wait(&mut self, count: u64) {
        self.waiting = self.waiting.saturating_add(count);
    }

    /// Spends `count` for which there is room: of the lease first.
    pub(crate) fn spend(&mut self, count: u64, moment: &Moment<'_>) -> (u64, u64) {
        let leased = self.lease.spend(count, moment.now);
        let floor = count - leased;
        if floor > 0 {
            self.floor.spend(floor, self.length(), moment.now, moment.settings);
        }
        (leased, floor)
    }

    /// The window that the lease is of.
    pub(crate) const fn window(&self) -> u64 {
        self.lease.window()
    }

    /// Takes back tokens of the lease that were not needed after all.
    pub(crate) fn unspend(&mut self, spent: &Spent, count: u64) {
        self.lease.unspend(spent.window, count.min(spent.leased));
    }

    /// Whether the bank should be asked for more; `lost` where it could not be reached of late.
    pub(crate) fn is_low(&self, lost: bool, moment: &Moment<'_>) -> bool {
        let held = self.leased(moment.now);
        if self.is_dry(moment.now) {
            let due = self.dry.is_none_or(|dry| moment.now >= dry.recheck);
            return due && held == 0;
        }
        let target = self.target(moment);
        self.waiting > 0 || (lost && held == 0) || (target >= 2 && held < target.div_ceil(2))
    }

    /// What to draw now that the bank is asked anyway.
    pub(crate) fn draw(&self, lost: bool, moment: &Moment<'_>) -> DrawCell {
        let held = self.leased(moment.now);
        let early = self.is_dry(moment.now)
            && self.dry.is_some_and(|dry| moment.now < dry.recheck && self.waiting == 0);
        let target = self.target(moment);
        // Whoever is low gets a whole target on top, so that it is asked for half as often.
        let more = if held < target.div_ceil(2) { target } else { target.saturating_sub(held) };
        let want = match (early, lost) {
            (true, _) => 0,
            // What a bank gives out that does not answer is lost: one token shows whether it does.
            (false, true) => more.min(1),
            (false, false) => more.max(self.waiting).min(self.fair(moment)),
        };
        self.draw_cell(want, None, moment)
    }

    /// What to give back because nobody asks for it.
    pub(crate) fn give_back_idle(&mut self, moment: &Moment<'_>) -> Option<DrawCell> {
        let idle = moment.now.saturating_sub(self.asked_at) >= self.pace(moment.settings).idle;
        if idle { self.give_back(moment) } else { None }
    }

    /// What to give back because the replica stops.
    pub(crate) fn give_back(&mut self, moment: &Moment<'_>) -> Option<DrawCell> {
        let back = self.lease.give_back(moment.now)?;
        Some(self.draw_cell(0, Some(back), moment))
    }

    /// Notes the answer to a draw that was sent at local time `sent`.
    pub(crate) fn drawn(
        &mut self,
        want: u64,
        epoch: u64,
        answer: &DrawnCell,
        sent: u64,
        moment: &Moment<'_>,
    ) {
        self.waiting = 0;
        if answer.window < self.newest && answer.learning {
            // The bank lost its memory and its clock is behind: what it says is of the past.
            self.set_dry(answer, sent, true, moment);
            return;
        }
        self.newest = answer.window;
        #[cfg(test)]
        let sent = match moment.settings.flaw {
            Some(crate::simulation::Flaw::ExpiryFromArrival) => moment.now,
            _ => sent,
        };
        self.lease.add(epoch, answer, sent, moment.settings);
        if answer.granted == 0 && (answer.learning || want > 0) {
            self.set_dry(answer, sent, answer.learning, moment);
        } else if answer.granted > 0 {
            self.dry = None;
        }
    }

    /// Whoever waited was told.
    pub(crate) const fn nobody_waits(&mut self) {
        self.waiting = 0;
    }

    /// Whether a plan refuses everything where the bank cannot be reached.
    pub(crate) fn is_closed(&self) -> bool {
        self.terms.on_store_loss == OnStoreLoss::Closed
    }

    /// Seconds until the next window, at least one.
    pub(crate) const fn resets_in(&self, now: u64) -> u64 {
        let left = self.lease.ends().saturating_sub(now).div_ceil(SECOND);
        if left == 0 { 1 } else { left }
    }

    /// Where the limit stands. `wall` is the time since 1970 by the replica's own clock: it says when a
    /// window ends that no bank was asked about.
    pub(crate) fn standing(&self, lost: bool, wall: u64, moment: &Moment<'_>) -> Standing {
        let known = moment.now < self.lease.ends();
        let remaining = if known {
            let drawable = match self.lease.remaining(moment.now) {
                Some(remaining) if !lost && !self.is_dry(moment.now) => remaining,
                _ => 0,
            };
            let own = self.leased(moment.now).saturating_add(self.floor_left(moment));
            drawable.saturating_add(own)
        } else if lost {
            self.floor_left(moment)
        } else {
            self.requests
        };
        Standing {
            name: self.limit.clone(),
            requests: self.requests,
            window_seconds: self.window_seconds,
            remaining: remaining.min(self.requests),
            resets_in: if known {
                self.resets_in(moment.now)
            } else {
                (self.length() - wall % self.length()).div_ceil(SECOND)
            },
        }
    }

    /// Whether nothing of it would be missed.
    pub(crate) fn is_forgettable(&self, moment: &Moment<'_>) -> bool {
        let quiet = moment.settings.stretched(self.length());
        self.waiting == 0
            && self.leased(moment.now) == 0
            && moment.now.saturating_sub(self.asked_at) > quiet
            && self.floor.is_idle(self.length(), moment.now, moment.settings)
    }

    /// The tokens of the lease that may be spent.
    pub(crate) const fn leased(&self, now: u64) -> u64 {
        self.lease.spendable(now)
    }

    /// The tokens of the lease, spendable or not.
    #[cfg(test)]
    pub(crate) const fn tokens(&self) -> u64 {
        self.lease.tokens()
    }

    fn set_dry(&mut self, answer: &DrawnCell, sent: u64, learning: bool, moment: &Moment<'_>) {
        let until = sent.saturating_add(moment.settings.shrunk(answer.left));
        let recheck = moment.now.saturating_add(self.pace(moment.settings).recheck);
        self.dry = Some(Dry { until, recheck, learning });
    }

    fn is_dry(&self, now: u64) -> bool {
        self.dry.is_some_and(|dry| now < dry.until)
    }

    fn floor_left(&self, moment: &Moment<'_>) -> u64 {
        if self.bank == BankKind::Long {
            return 0;
        }
        let Moment { now, seats, settings } = *moment;
        let share = seats.own_floor(self.requests, self.terms, self.length(), now, settings);
        self.floor.left(share, self.length(), now, settings)
    }

    /// What the bank may give out in a window: what no seat may spend.
    fn allowed(&self, moment: &Moment<'_>) -> u64 {
        if self.bank == BankKind::Long {
            return self.requests;
        }
        let Moment { now, seats, settings } = *moment;
        let withheld = seats.withheld(self.requests, self.terms, self.length(), now, settings);
        self.requests.saturating_sub(withheld)
    }

    /// What is held where the demand stays as it is.
    fn target(&self, moment: &Moment<'_>) -> u64 {
        if moment.now.saturating_sub(self.asked_at) >= self.pace(moment.settings).idle {
            return 0;
        }
        self.demand.within(self.horizon(moment.settings), moment.now)
    }

    /// The most that is taken at once near the end, by what is known: the others want some too.
    fn fair(&self, moment: &Moment<'_>) -> u64 {
        if self.bank == BankKind::Short {
            // This bank knows better how many replicas ask.
            return u64::MAX;
        }
        let known = self.lease.remaining(moment.now);
        let remaining = known.unwrap_or_else(|| self.allowed(moment));
        (remaining / (2 * u64::from(moment.seats.held).max(1))).max(1)
    }

    fn draw_cell(&self, want: u64, back: Option<Back>, moment: &Moment<'_>) -> DrawCell {
        DrawCell {
            limit: self.limit.clone(),
            window_seconds: self.window_seconds,
            allowed: self.allowed(moment),
            want,
            newest: self.newest,
            back,
        }
    }

    fn horizon(&self, settings: &Settings) -> u64 {
        let horizon = self.pace(settings).horizon;
        match self.bank {
            BankKind::Short => horizon,
            BankKind::Long => horizon.min(self.length() / 144),
        }
    }

    const fn pace<'a>(&self, settings: &'a Settings) -> &'a crate::Pace {
        settings.pace(self.bank)
    }

    const fn length(&self) -> u64 {
        self.window_seconds.saturating_mul(SECOND)
    }
}
