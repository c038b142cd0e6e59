//! Thresholds of the definitions of patterns, and limits of searches (`docs/model/patterns.md`).
//!
//! Thresholds lie in the ranges of the literature (5 to 10 accounts in simulated money laundering, chains of 7 and more
//! peels in reports on cases). For patterns without published ranges, the 200 innocent profiles of the tests do not
//! reach the threshold by chance.

use jiff::SignedDuration;

/// Length of the window of [`FAN_PARTIES`], [`DUSTED_OWNERS`] and [`STRUCTURED_TRANSFERS`].
pub const WINDOW: SignedDuration = SignedDuration::from_hours(24);
/// Fewest owners on the other side of a fan-in or fan-out.
pub const FAN_PARTIES: u64 = 10;
/// A window of an owner with regular activity is a burst if it has more than this many times the counterparties of the
/// median window.
pub const BURST_TIMES: u32 = 3;
/// Fewest days with a pattern for regular activity, if they span at least [`REGULAR_SPAN`].
pub const REGULAR_DAYS: usize = 10;
/// Fewest days from the first to the last day of regular activity.
pub const REGULAR_SPAN: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Fewest owners on each side of a gather-scatter, and fewest intermediaries of a scatter-gather.
pub const GATHER_PARTIES: u64 = 5;
/// Time after the last gathered payment within which the gathered funds are scattered.
pub const SCATTER_WITHIN: SignedDuration = SignedDuration::from_hours(48);
/// Smallest part of the gathered amount that is scattered, in percent.
pub const SCATTERED_PERCENT: u128 = 80;
/// Smallest share of the owner's received funds, in percent, for which a pattern by which the owner only receives is
/// scored.
pub const MIN_RECEIVED_PERCENT: u128 = 1;
/// Time from the first to the last payment of a scatter-gather or cycle.
pub const AROUND_WITHIN: SignedDuration = SignedDuration::from_hours(7 * 24);
/// Most owners of a cycle, the subject's included.
pub const LONGEST_CYCLE: u8 = 7;
/// Fewest owners of a cycle: two that pay each other are a refund.
pub const SHORTEST_CYCLE: usize = 3;
/// Smallest ratio of the amounts of successive payments of a cycle, in either order, in percent.
pub const CYCLE_PERCENT: u8 = 50;
/// Fewest transfers of a structuring within a window.
pub const STRUCTURED_TRANSFERS: usize = 5;
/// Smallest part of a threshold that counts as just below that threshold, in percent.
pub const JUST_BELOW_PERCENT: u128 = 90;
/// Shortest time between two payments to an owner that recur, as weekly pay and monthly rents do.
pub const RECURRING_AFTER: SignedDuration = SignedDuration::from_hours(6 * 24);
/// Time within which a received payment is passed on in a rapid pass-through.
pub const PASSED_WITHIN: SignedDuration = SignedDuration::from_hours(1);
/// Smallest part of a payment that is passed on, in percent.
pub const PASSED_PERCENT: u128 = 90;
/// Fewest payments that are passed on.
pub const PASSED_PAYMENTS: u64 = 2;
/// Smallest part of all received funds that is passed on in a rapid pass-through, in percent.
pub const PASSED_OF_ALL_PERCENT: u128 = 80;
/// Shortest pause after which an owner counts as dormant.
pub const DORMANT_AFTER: SignedDuration = SignedDuration::from_hours(365 * 24);
/// Smallest part of the balance for which income counts as activity and ends a pause, in percent.
pub const ACTIVITY_PERCENT: u128 = 1;
/// Time after a pause within which the balance moves.
pub const REACTIVATION_WINDOW: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Smallest part of the balance that moves after a pause, in percent.
pub const REACTIVATED_PERCENT: u128 = 50;
/// Fewest owners to whom dust is sent.
pub const DUSTED_OWNERS: u64 = 10;
/// Largest share of a peel step's two outputs that the peel may have, in percent.
pub const PEEL_PERCENT: u128 = 30;
/// Longest time from one step of a peel chain to the next.
pub const PEEL_WITHIN: SignedDuration = SignedDuration::from_hours(12);
/// Fewest steps of a peel chain.
pub const PEEL_STEPS: usize = 5;
/// Most steps of a peel chain that are followed in each direction.
pub const MOST_PEEL_STEPS: usize = 100;
/// Smallest part of its received funds that an owner of a layering run passes on, in percent.
pub const LAYER_PERCENT: u128 = 90;
/// Time within which an owner of a layering run passes on the received funds.
pub const LAYER_WITHIN: SignedDuration = SignedDuration::from_hours(3 * 24);
/// Fewest owners of a layering run.
pub const FEWEST_LAYERS: usize = 3;
/// Most owners of a layering run that are followed in each direction.
pub const MOST_LAYERS: usize = 50;
/// Fewest inputs of a consolidation.
pub const CONSOLIDATED_INPUTS: u64 = 5;
/// Fewest payees of a batch payout.
pub const BATCH_PAYEES: usize = 5;

/// Most transactions of the owner that are read: half of them with the largest amounts, half the latest of the
/// remaining transactions.
pub const OWN_TRANSACTIONS: usize = 1_000;
/// Most inputs and outputs of the owner's read transactions together.
pub const OWN_ENTRIES: u64 = 50_000;
/// Most other addresses of the owner's cluster whose transactions are read.
pub const MAX_CLUSTER_ADDRESSES: u32 = 50;
/// Most transfers of each other address of the owner's cluster that are read in each direction.
pub const TRANSFERS_OF_OTHERS: u32 = 100;
/// Most transactions of other owners that are read for peel chains and layering runs.
pub const CHAIN_READS: u32 = 200;
/// Most transactions of other owners that are read for cycles and scatter-gathers.
pub const AROUND_READS: u32 = 200;
/// Most inputs and outputs of a transaction of other owners that a search passes; larger transactions are those of
/// services.
pub const PASSED_ENTRIES: u64 = 100;
/// Most transactions of the owner, in each direction, from which a search of neighboring transactions starts: the
/// transactions with the largest amounts.
pub const MAX_STARTING_TRANSACTIONS: usize = 50;
/// Most inputs of a payment to the owner that are followed to peel chains, and most payees of a payment of the owner
/// that are followed to layering runs: the largest inputs and payees.
pub const MAX_FOLLOWED: usize = 5;
/// Most transfers that a search for cycles or scatter-gathers visits.
pub const MAX_VISITED_TRANSFERS: u64 = 20_000;
/// Most transactions that an answer shows for a pattern.
pub const SHOWN: usize = 20;

/// True if `part` is at least `percent` percent of `whole`.
pub(super) const fn is_percent_of(part: u128, percent: u128, whole: u128) -> bool {
    part.saturating_mul(100) >= whole.saturating_mul(percent)
}

/// Confidence that rises from 50 % at `fewest` to 90 % at `most`.
pub(super) fn confidence(value: u64, fewest: u64, most: u64) -> u8 {
    let above = value.clamp(fewest, most) - fewest;
    let steps = (most - fewest).max(1);
    u8::try_from(50 + 40 * above / steps).unwrap_or(90)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confidence_rises_from_half_to_nine_tenths() {
        let all = [4, 5, 10, 20, 99].map(|value| confidence(value, 5, 20));
        assert_eq!(all, [50, 50, 63, 90, 90]);
    }
}
