//! Replica slots: an installation has a fixed number of them. The replica that holds a slot may spend a
//! share of every short limit, the *fallback allowance*, without a token store; the stores grant only
//! what no slot may spend.
//!
//! Slots are leased durably (in PostgreSQL), for a time that is renewed. A replica's knowledge of the slots is a
//! [`SlotView`]. Allowances and grants never add up to more than the limit, because:
//!
//! 1. A slot's allowance in a window is `requests * share / 100 / slots`, rounded down: the allowances of all slots
//!    together are at most `share` percent.
//! 2. A request to a store counts a slot as live that was held within the window, by a view that is at most
//!    [`VIEW_TTL`] old; without a view, the request leaves the whole share.
//! 3. The allowance of a newly claimed slot is spent only in windows that begin [`CLAIM_DELAY`] after the claim, so
//!    that every request in such a window counted it. The delay also excludes the slot's previous holder, which
//!    stopped before the end of the delay, from these windows.
use crate::{LimiterSettings, SECOND, StoreLossPolicy};

/// Longest time for which a view is used in requests to stores, in microseconds.
pub const VIEW_TTL: u64 = 5 * SECOND;
/// Time after the claim of a slot from which its allowance may be spent, in microseconds: longer than
/// views are used and responses are awaited, and longer than a slot is held without a renewal.
pub const CLAIM_DELAY: u64 = 12 * SECOND;
/// Longest time that a slot is held without a renewal, in microseconds. A later renewal is a new claim.
pub const SLOT_TTL: u64 = 10 * SECOND;

/// A replica's view of the slots. An empty view is the default: requests to stores then count all slots as held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlotView {
    /// Number of slots of the installation; 0 if unknown.
    pub total: u32,
    /// Slots held, with those that are not listed in `ended` although they may have been used in a
    /// window that goes on.
    pub held: u32,
    /// For each slot no longer held, the time since its end, in microseconds.
    pub ended: Vec<u64>,
    /// Local time before the view was queried.
    pub asked_at: u64,
    /// The slot that the replica itself holds.
    pub own: Option<ReplicaSlot>,
}

/// A slot held by this replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaSlot {
    /// Local time of the response to the claim. Renewals do not change this time.
    pub claimed_at: u64,
    /// Local time until which the slot is held, counted from before the last successful claim or renewal was sent, less
    /// the error of a slow local clock. The time is at most [`SLOT_TTL`] after that claim or renewal was sent.
    pub until: u64,
}

/// Number of replicas to assume while nothing is known of the slots.
const UNKNOWN_REPLICAS: u64 = 16;

impl SlotView {
    /// Returns the number of replicas, as far as known; at least 1.
    pub(crate) fn replicas(&self) -> u64 {
        if self.total == 0 { UNKNOWN_REPLICAS } else { u64::from(self.held).max(1) }
    }

    /// Returns the allowance of one slot in a window.
    pub(crate) fn slot_allowance(&self, requests: u64, policy: StoreLossPolicy) -> u64 {
        if self.total == 0 {
            return 0;
        }
        let fallback = u128::from(requests) * u128::from(policy.share().min(100))
            / 100
            / u128::from(self.total);
        u64::try_from(fallback).unwrap_or_default()
    }

    /// Returns the tokens that stores must not grant in a window of `length`, at local time `now`.
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
        if self.total == 0 || now.saturating_sub(self.asked_at) > VIEW_TTL {
            // The whole share, however many slots there are.
            let share = u128::from(requests) * u128::from(policy.share().min(100));
            return u64::try_from(share.div_ceil(100)).unwrap_or(requests);
        }
        let recent = settings.stretched(length).saturating_add(SECOND);
        let ended = self.ended.iter().filter(|ended| **ended < recent).count();
        let live = u64::from(self.held).saturating_add(ended as u64).min(u64::from(self.total));
        self.slot_allowance(requests, policy).saturating_mul(live)
    }

    /// Returns the replica's own allowance in any period of a window's `length`, at local time `now`.
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
        let settled = settings.stretched(CLAIM_DELAY.saturating_add(length));
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
    fn all_fallback_allowances_together_are_within_the_share() {
        for requests in [0, 1, 7, 159, 160, 1000, u64::MAX] {
            let all = u128::from(view().slot_allowance(requests, POLICY)) * 16;
            assert!(all <= u128::from(requests) / 10, "{requests}: {all}");
        }
        let closed = StoreLossPolicy { on_token_store_loss: OnTokenStoreLoss::Refuse, ..POLICY };
        assert_eq!(view().slot_allowance(1_000_000, closed), 0, "nobody would spend it");
    }

    #[test]
    fn a_stale_or_missing_view_counts_every_slot() {
        let settings = LimiterSettings::default();
        let withheld =
            |view: &SlotView, now| view.withheld(1600, POLICY, 60 * SECOND, now, &settings);
        assert_eq!(withheld(&view(), 100 * SECOND), 30);
        assert_eq!(withheld(&view(), 100 * SECOND + 1), 160);
        assert_eq!(withheld(&SlotView::default(), 1), 160);
    }

    #[test]
    fn a_slot_counts_until_the_windows_in_which_it_was_held_are_over() {
        let settings = LimiterSettings::default();
        let view = SlotView { ended: vec![10 * SECOND, 70 * SECOND], ..view() };
        let withheld = |length| view.withheld(1600, POLICY, length, 95 * SECOND, &settings);
        assert_eq!(withheld(60 * SECOND), 40);
        assert_eq!(withheld(SECOND), 30);
        assert_eq!(withheld(600 * SECOND), 50);
    }

    #[test]
    fn an_allowance_is_spent_after_the_claim_delay_and_until_the_slot_ends() {
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
