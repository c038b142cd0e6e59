//! Replica slots: numbered places of an installation. Whoever holds one may spend a share of every short limit,
//! the seat's *floor*, without asking a bank; the banks give out what no seat may spend.
//!
//! Slots are held durably (in PostgreSQL), for a time that is renewed. What a replica knows of them is a
//! [`SlotView`]. Why the shares and what banks give out never add up to more than the limit:
//!
//! 1. A seat's floor in a window is `requests * share / 100 / seats`, rounded down: all of them together
//!    are at most `share` percent.
//! 2. A draw counts a seat as live that was held within the window, by a view that is at most
//!    [`FRESH`] old; without one it leaves the whole share.
//! 3. A seat that was just claimed is spent only in windows that begin [`SETTLED`] after the claim, so
//!    that every draw in such a window counted it. The same wait keeps the seat's holder before, who
//!    stopped earlier than that, out of the same windows.

use crate::{LimiterSettings, SECOND, StoreLossPolicy};

/// How old a view may be for draws to go by it, in microseconds.
pub const FRESH: u64 = 5 * SECOND;
/// How long after its claim a seat's floor may first be spent, in microseconds: longer than views are
/// gone by and answers are waited for, and longer than any seat is held without a renewal.
pub const SETTLED: u64 = 12 * SECOND;
/// Longest time that a seat may be held without a renewal, in microseconds. Once it is over, a renewal is
/// a new claim.
pub const HELD: u64 = 10 * SECOND;

/// What a replica knows of the seats; nothing by default, and then it draws as if all were held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotView {
    /// How many seats the installation has; 0 where that is not known yet.
    pub total: u32,
    /// How many are held, with those that are not counted in `ended` although they may have been spent
    /// in a window that goes on.
    pub held: u32,
    /// Of those that are not held any more: how long ago each one's time ended, in microseconds.
    pub ended: Vec<u64>,
    /// When this was asked, as the local clock showed before it was.
    pub asked_at: u64,
    /// The seat that the replica itself holds.
    pub own: Option<ReplicaSlot>,
}

/// A seat that the replica holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaSlot {
    /// The local time at which the answer to its claim had arrived. Renewals leave it alone.
    pub claimed_at: u64,
    /// The local time until which it is held, reckoned from before the last successful claim or renewal
    /// was sent, less what the local clock may have run slow. At most [`HELD`] after that.
    pub until: u64,
}

impl SlotView {
    /// What one seat may spend in a window.
    pub(crate) fn slot_allowance(&self, requests: u64, policy: StoreLossPolicy) -> u64 {
        if self.total == 0 {
            return 0;
        }
        let fallback = u128::from(requests) * u128::from(policy.share().min(100))
            / 100
            / u128::from(self.total);
        u64::try_from(fallback).unwrap_or_default()
    }

    /// What banks must not give out in a window of `length`, at local time `now`.
    pub(crate) fn withheld(
        &self,
        requests: u64,
        policy: StoreLossPolicy,
        length: u64,
        now: u64,
        settings: &LimiterSettings,
    ) -> u64 {
        #[cfg(test)]
        if settings.flaw == Some(crate::simulation::Flaw::AllowanceNotWithheld) {
            return 0;
        }
        #[cfg(test)]
        let now = match settings.flaw {
            Some(crate::simulation::Flaw::StaleViewsCount) => self.asked_at,
            _ => now,
        };
        if self.total == 0 || now.saturating_sub(self.asked_at) > FRESH {
            // All fallbacks together, however many slots there are.
            let share = u128::from(requests) * u128::from(policy.share().min(100));
            return u64::try_from(share.div_ceil(100)).unwrap_or(requests);
        }
        let recent = settings.stretched(length).saturating_add(SECOND);
        let ended = self.ended.iter().filter(|ended| **ended < recent).count();
        let live = u64::from(self.held).saturating_add(ended as u64).min(u64::from(self.total));
        self.slot_allowance(requests, policy).saturating_mul(live)
    }

    /// What the replica may spend of its own in any time of a window's `length`, at local time `now`.
    pub(crate) fn own_allowance(
        &self,
        requests: u64,
        policy: StoreLossPolicy,
        length: u64,
        now: u64,
        settings: &LimiterSettings,
    ) -> u64 {
        let Some(own) = &self.own else { return 0 };
        // The window in which `now` lies began at most one length ago.
        let settled = settings.stretched(SETTLED.saturating_add(length));
        #[cfg(test)]
        let settled = if settings.flaw == Some(crate::simulation::Flaw::SlotUsedAtOnce) {
            0
        } else {
            settled
        };
        if now < own.until && now >= own.claimed_at.saturating_add(settled) {
            self.slot_allowance(requests, policy)
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_tenancy::manifest::OnTokenStoreLoss;

    use super::*;

    const POLICY: StoreLossPolicy =
        StoreLossPolicy { on_token_store_loss: OnTokenStoreLoss::Fallback, fallback_share: 10 };

    fn view() -> SlotView {
        let own = Some(ReplicaSlot { claimed_at: 0, until: 100 * SECOND });
        SlotView { total: 16, held: 3, ended: vec![], asked_at: 95 * SECOND, own }
    }

    #[test]
    fn all_floors_together_are_within_the_share() {
        for requests in [0, 1, 7, 159, 160, 1000, u64::MAX] {
            let all = u128::from(view().slot_allowance(requests, POLICY)) * 16;
            assert!(all <= u128::from(requests) / 10, "{requests}: {all}");
        }
        let closed = StoreLossPolicy { on_token_store_loss: OnTokenStoreLoss::Refuse, ..POLICY };
        assert_eq!(view().slot_allowance(1_000_000, closed), 0, "nobody would spend it");
    }

    #[test]
    fn a_stale_view_counts_every_seat_and_so_does_none() {
        let settings = LimiterSettings::default();
        let withheld =
            |view: &SlotView, now| view.withheld(1600, POLICY, 60 * SECOND, now, &settings);
        assert_eq!(withheld(&view(), 100 * SECOND), 30);
        assert_eq!(withheld(&view(), 100 * SECOND + 1), 160);
        assert_eq!(withheld(&SlotView::default(), 1), 160);
    }

    #[test]
    fn a_seat_counts_until_the_windows_are_over_in_which_it_was_held() {
        let settings = LimiterSettings::default();
        let view = SlotView { ended: vec![10 * SECOND, 70 * SECOND], ..view() };
        let withheld = |length| view.withheld(1600, POLICY, length, 95 * SECOND, &settings);
        assert_eq!(withheld(60 * SECOND), 40);
        assert_eq!(withheld(SECOND), 30);
        assert_eq!(withheld(600 * SECOND), 50);
    }

    #[test]
    fn a_floor_is_spent_once_settled_and_until_the_seat_ends() {
        let settings = LimiterSettings::default();
        let own = |now| view().own_allowance(1600, POLICY, SECOND, now, &settings);
        assert_eq!([own(13 * SECOND), own(14 * SECOND)], [0, 10]);
        assert_eq!([own(100 * SECOND - 1), own(100 * SECOND)], [10, 0]);
        assert_eq!(
            SlotView::default().own_allowance(1600, POLICY, SECOND, 50 * SECOND, &settings),
            0
        );
    }
}
