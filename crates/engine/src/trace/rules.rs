//! The limits of a trace.

use assay_address::Chain;

use crate::{
    fixed::Fraction,
    ledger::ReadLimits,
    policy::{PatternRules, Policy, TraceSpec},
    taxonomy::Category,
};

/// The limits of a trace on one chain. Amounts are in base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRules {
    /// Maximum number of hops: addresses up to this hop are attributed. `None`: no limit.
    pub hops: Option<u16>,
    /// Share of a direction's total, in millionths, below which funds may be cut off.
    pub stop_below_share_millionths: u32,
    /// Upper limit of all funds that are cut off in a direction.
    pub stop_trace_below: u128,
    /// Most transactions that a trace passes in each direction.
    pub transactions: u32,
    /// Most transactions that a trace passes towards sources if the view knows the compositions (breakdowns by origin)
    /// of the following transactions.
    pub source_transactions: u32,
    /// Most inputs or outputs of the passed transactions that a trace reads in each direction.
    pub entries: u32,
    /// Most transfers of an address that are read.
    pub transfers_per_address: u32,
    /// Most inputs or outputs of an address's own transactions together, in each direction.
    pub entries_of_history: u32,
    /// Factor by which each hop but the first reduces the weight of funds.
    pub decay: Fraction,
    /// Severity of joint transactions, 0 to 100.
    pub coinjoin_severity: u8,
    /// Smallest amount that always counts as solicited.
    pub unsolicited_below: u128,
    /// The largest payment that is dust.
    pub largest_dust: u128,
    /// Smallest amount of severe funds for which the coins that the subject holds are traced by themselves; 0 if they
    /// never are.
    pub held_from: u128,
    /// Number of paths that are kept of each flow part. Paths explain a verdict and do not change it.
    pub paths_per_part: usize,
    /// Amounts for the search for behavior patterns, which runs with the trace.
    pub patterns: PatternRules,
}

/// Default of [`TraceRules::paths_per_part`].
const PATHS_PER_PART: usize = 3;
/// Most inputs or outputs of an address's own transactions, in each direction.
const ENTRIES_OF_HISTORY: u32 = 1_000_000;
/// Millionths in one.
const MILLION: u32 = 1_000_000;

impl TraceRules {
    /// The limits that a policy sets for the native coin of a chain.
    #[must_use]
    pub fn new(policy: &Policy, chain: &Chain) -> Self {
        let TraceSpec {
            hops,
            stop_below_share_millionths,
            transactions,
            source_transactions,
            entries,
            transfers_per_address,
        } = policy.spec().trace;
        let amounts = policy.amounts(chain.native().code);
        Self {
            hops: hops.map(u16::from),
            stop_below_share_millionths,
            stop_trace_below: amounts
                .map_or(0, |curve| curve.stop_trace_below(chain.native().decimals)),
            transactions,
            // Compositions hear labels as the default policy does.
            source_transactions: if policy.has_default_severities() {
                source_transactions
            } else {
                transactions
            },
            entries,
            transfers_per_address,
            entries_of_history: ENTRIES_OF_HISTORY,
            decay: policy.decay_of_a_hop(),
            coinjoin_severity: policy.severity(Category::Coinjoin),
            unsolicited_below: amounts
                .map_or(0, |curve| curve.unsolicited_ceiling(chain.native().decimals)),
            largest_dust: amounts.map_or(0, |curve| curve.largest_dust(chain.native().decimals)),
            held_from: Policy::least_held(chain.native().code)
                .map_or(0, |least| least.base_units(chain.native().decimals)),
            paths_per_part: PATHS_PER_PART,
            patterns: PatternRules::new(policy, chain),
        }
    }

    /// The limits of a read of the subject's history.
    #[must_use]
    pub const fn read_limits(&self) -> ReadLimits {
        ReadLimits { transfers: self.transfers_per_address, entries: self.entries_of_history }
    }

    /// The magnitude (`floor(log2(whole / amount))`) from which on funds may be cut off.
    pub(super) const fn cut_magnitude(&self) -> u32 {
        match MILLION.checked_div(self.stop_below_share_millionths) {
            Some(parts) if parts > 0 => parts.ilog2(),
            Some(_) => 0,
            None => u32::MAX,
        }
    }
}
