//! Who keeps the seats: what a database does.

use super::replica::SeatAnswer;
use crate::seats::HELD;

#[derive(Clone, Debug, Default)]
struct Seat {
    holder: Option<u64>,
    claim: u64,
    until: u64,
}

/// The seats of an installation. Times are of the keeper's clock.
#[derive(Debug)]
pub(super) struct Seats {
    seats: Vec<Seat>,
    claims: u64,
}

impl Seats {
    pub(super) fn new(total: u32) -> Self {
        Self { seats: vec![Seat::default(); usize::try_from(total).unwrap()], claims: 0 }
    }

    /// Renews the seat of `holder`, or gives it the first that is free.
    pub(super) fn ask(&mut self, holder: u64, asked_at: u64, now: u64) -> SeatAnswer {
        let own = |seat: &Seat| seat.holder == Some(holder) && seat.until > now;
        let place = self.seats.iter().position(own);
        let free = || self.seats.iter().position(|seat| seat.until <= now);
        let claim = place.or_else(free).map(|place| {
            let seat = &mut self.seats[place];
            if !own(seat) {
                self.claims += 1;
                (seat.holder, seat.claim) = (Some(holder), self.claims);
            }
            seat.until = now + HELD;
            seat.claim
        });
        let was_held = |seat: &&Seat| seat.holder.is_some() && seat.until <= now;
        SeatAnswer {
            asked_at,
            claim,
            total: u32::try_from(self.seats.len()).unwrap(),
            held: u32::try_from(self.seats.iter().filter(|seat| seat.until > now).count()).unwrap(),
            ended: self.seats.iter().filter(was_held).map(|seat| now - seat.until).collect(),
        }
    }

    /// A replica that stops in good order gives its seat up, once it does not use it any more.
    pub(super) fn release(&mut self, holder: u64, now: u64) {
        for seat in self.seats.iter_mut().filter(|seat| seat.holder == Some(holder)) {
            seat.until = seat.until.min(now);
        }
    }
}
