//! What one replica knows of one payer: its cells, and how it gets on with each bank.
//!
//! At most one draw is on its way to each bank; whoever waits shares its answer. A bank that fails is
//! asked again after a while, in the background; meanwhile nobody waits for it.

use assay_tenancy::directory::Limit;

use crate::{
    BankKind, Payer, SeatView, Settings, Spent, Standing, Terms,
    bank::{Draw, DrawCell, Drawn},
    cell::{Cell, Moment},
};

/// What one replica knows of one payer.
#[derive(Clone, Debug)]
pub struct Purse {
    payer: Payer,
    cells: Vec<Cell>,
    short: Link,
    long: Link,
    sequence: u64,
}

/// How the replica gets on with one bank.
#[derive(Clone, Debug, Default)]
struct Link {
    in_flight: Option<Flight>,
    /// How often in a row the bank did not answer.
    failures: u32,
    /// The local time before which it is not asked again.
    retry_at: u64,
}

/// A draw that is on its way.
#[derive(Clone, Debug)]
struct Flight {
    draw: Draw,
    sent: u64,
}

impl Purse {
    /// Knows nothing of `payer` yet.
    #[must_use]
    pub fn new(payer: Payer) -> Self {
        let (short, long) = (Link::default(), Link::default());
        Self { payer, cells: Vec::new(), short, long, sequence: 0 }
    }

    /// Whose it is.
    #[must_use]
    pub const fn payer(&self) -> &Payer {
        &self.payer
    }

    /// Whether a bank could not be reached when it was asked last.
    pub(crate) const fn is_lost(&self, bank: BankKind) -> bool {
        self.link(bank).failures > 0
    }

    /// Whether somebody waits for the bank's answer.
    #[must_use]
    pub const fn is_asking(&self, bank: BankKind) -> bool {
        self.link(bank).in_flight.is_some()
    }

    /// The cell of `limit`, with the numbers as they are now.
    pub(crate) fn cell(&mut self, limit: &Limit, terms: Terms, settings: &Settings) -> &mut Cell {
        // Plans have at most eight limits: a search is faster than a map.
        let index = self.cells.iter().position(|cell| cell.is_of(limit)).unwrap_or_else(|| {
            self.cells.push(Cell::new(limit, terms, settings));
            self.cells.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "the index was just found")]
        let cell = &mut self.cells[index];
        cell.update(limit, terms);
        cell
    }

    /// The next draw from `bank`, if one is due at local time `now`: to be sent at once, and settled by
    /// [`Self::drawn`] or [`Self::failed`].
    pub fn due(
        &mut self,
        bank: BankKind,
        now: u64,
        seats: &SeatView,
        settings: &Settings,
    ) -> Option<Draw> {
        let stuck = settings.pace(bank).timeout.saturating_mul(4);
        let flight = self.link(bank).in_flight.as_ref();
        if flight.is_some_and(|flight| now.saturating_sub(flight.sent) > stuck) {
            // Whoever carried it is gone without a word.
            self.link_mut(bank).in_flight = None;
            self.note_failure(bank, now, settings);
        }
        let link = self.link(bank);
        if link.in_flight.is_some() || now < link.retry_at {
            return None;
        }
        let (lost, moment) = (link.failures > 0, Moment { now, seats, settings });
        let of_bank = || self.cells.iter().filter(|cell| cell.bank == bank);
        if !of_bank().any(|cell| cell.is_low(lost, &moment)) {
            return None;
        }
        let cells = of_bank().map(|cell| cell.draw(lost, &moment));
        let cells = cells.filter(|cell| cell.want > 0).collect();
        self.send(bank, cells, now)
    }

    /// A draw that gives back what nobody asks for, if there is such.
    pub fn due_back(
        &mut self,
        bank: BankKind,
        now: u64,
        seats: &SeatView,
        settings: &Settings,
    ) -> Option<Draw> {
        self.back(bank, now, |cell| cell.give_back_idle(&Moment { now, seats, settings }))
    }

    /// A draw that gives back everything, because the replica stops.
    pub fn close(
        &mut self,
        bank: BankKind,
        now: u64,
        seats: &SeatView,
        settings: &Settings,
    ) -> Option<Draw> {
        self.back(bank, now, |cell| cell.give_back(&Moment { now, seats, settings }))
    }

    fn back(
        &mut self,
        bank: BankKind,
        now: u64,
        give_back: impl FnMut(&mut Cell) -> Option<DrawCell>,
    ) -> Option<Draw> {
        let link = self.link(bank);
        if link.in_flight.is_some() || link.failures > 0 {
            return None;
        }
        let of_bank = self.cells.iter_mut().filter(|cell| cell.bank == bank);
        let cells = of_bank.filter_map(give_back).collect();
        self.send(bank, cells, now)
    }

    fn send(&mut self, bank: BankKind, cells: Vec<DrawCell>, now: u64) -> Option<Draw> {
        if cells.is_empty() {
            return None;
        }
        // Above every number before, also of a purse that was dropped in the meantime.
        self.sequence = now.max(self.sequence + 1);
        let draw = Draw { sequence: self.sequence, cells };
        self.link_mut(bank).in_flight = Some(Flight { draw: draw.clone(), sent: now });
        Some(draw)
    }

    /// Notes an answer of `bank` to the draw with this number. An answer that nobody waits for any more,
    /// or that took too long, is dropped with all that it grants.
    pub fn drawn(
        &mut self,
        bank: BankKind,
        sequence: u64,
        answer: &Drawn,
        now: u64,
        seats: &SeatView,
        settings: &Settings,
    ) {
        let Some(flight) = self.take_flight(bank, sequence) else { return };
        let late = now.saturating_sub(flight.sent) > settings.pace(bank).timeout;
        if late || answer.cells.len() != flight.draw.cells.len() {
            self.note_failure(bank, now, settings);
            return;
        }
        *self.link_mut(bank) = Link::default();
        let moment = Moment { now, seats, settings };
        for (asked, drawn) in flight.draw.cells.iter().zip(&answer.cells) {
            let found = self.cells.iter_mut().find(|cell| {
                cell.limit == asked.limit && cell.window_seconds == asked.window_seconds
            });
            if let Some(cell) = found {
                cell.drawn(asked.want, answer.epoch, drawn, flight.sent, &moment);
            }
        }
        // Whoever waits for a cell that was not asked about asks once more.
        self.nobody_waits(bank);
    }

    /// Notes that `bank` did not answer the draw with this number, or not in time. What it granted is
    /// lost.
    pub fn failed(&mut self, bank: BankKind, sequence: u64, now: u64, settings: &Settings) {
        if self.take_flight(bank, sequence).is_some() {
            self.note_failure(bank, now, settings);
        }
    }

    fn note_failure(&mut self, bank: BankKind, now: u64, settings: &Settings) {
        let (shortest, longest) = settings.backoff;
        let link = self.link_mut(bank);
        let pause = shortest.saturating_mul(1 << link.failures.min(16)).min(longest);
        link.failures = link.failures.saturating_add(1);
        link.retry_at = now.saturating_add(pause);
        self.nobody_waits(bank);
    }

    fn nobody_waits(&mut self, bank: BankKind) {
        for cell in self.cells.iter_mut().filter(|cell| cell.bank == bank) {
            cell.nobody_waits();
        }
    }

    fn take_flight(&mut self, bank: BankKind, sequence: u64) -> Option<Flight> {
        self.link_mut(bank).in_flight.take_if(|flight| flight.draw.sequence == sequence)
    }

    /// Takes back `count` of what was spent of a cell's lease; what was spent of the floor stays spent.
    pub(crate) fn unspend(&mut self, spent: &Spent, count: u64) {
        let found = self
            .cells
            .iter_mut()
            .find(|cell| cell.limit == spent.limit && cell.window_seconds == spent.window_seconds);
        if let Some(cell) = found {
            cell.unspend(spent, count);
        }
    }

    /// Where `limit` stands.
    pub(crate) fn standing(
        &mut self,
        limit: &Limit,
        terms: Terms,
        wall: u64,
        moment: &Moment<'_>,
    ) -> Standing {
        let lost = self.is_lost(moment.settings.bank(limit.window.seconds()));
        self.cell(limit, terms, moment.settings).standing(lost, wall, moment)
    }

    /// Forgets cells that nobody asked for, holding nothing, for longer than their window. Returns
    /// whether any are left.
    pub fn forget_idle(&mut self, now: u64, seats: &SeatView, settings: &Settings) -> bool {
        let moment = Moment { now, seats, settings };
        self.cells.retain(|cell| !cell.is_forgettable(&moment));
        !self.cells.is_empty() || BankKind::ALL.iter().any(|bank| self.is_asking(*bank))
    }

    /// Tokens of a limit's lease, if it is of this window.
    #[cfg(test)]
    pub(crate) fn tokens(
        &self,
        limit: &assay_tenancy::manifest::LimitName,
        window: u64,
    ) -> Option<u64> {
        let found = self.cells.iter().find(|cell| cell.limit == *limit);
        found.filter(|cell| cell.window() == window).map(Cell::tokens)
    }

    /// The number of the draw that is on its way, when it was sent, and its limits.
    #[cfg(test)]
    pub(crate) fn flight(
        &self,
        bank: BankKind,
    ) -> Option<(u64, u64, Vec<assay_tenancy::manifest::LimitName>)> {
        let flight = self.link(bank).in_flight.as_ref()?;
        let limits = flight.draw.cells.iter().map(|cell| cell.limit.clone()).collect();
        Some((flight.draw.sequence, flight.sent, limits))
    }

    const fn link(&self, bank: BankKind) -> &Link {
        match bank {
            BankKind::Short => &self.short,
            BankKind::Long => &self.long,
        }
    }

    const fn link_mut(&mut self, bank: BankKind) -> &mut Link {
        match bank {
            BankKind::Short => &mut self.short,
            BankKind::Long => &mut self.long,
        }
    }
}
