//! The limits of a trace.

use crate::{
    chain::Chain,
    policy::{Policy, TraceSpec},
};

/// The limits of a trace on one chain. Amounts are in base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRules {
    /// Maximum number of hops: the last level whose addresses are attributed.
    pub hops: u8,
    /// Share below which a flow may be cut, in millionths of its direction's total.
    pub stop_below_share_millionths: u32,
    /// Amount below which a flow may be cut. A flow is cut only if it is below both.
    pub stop_trace_below: u128,
    /// Addresses followed further at each level.
    pub addresses_per_hop: u32,
    /// Transfers read of an address, and inputs or outputs read of a transaction, at most.
    pub transfers_per_address: u32,
    /// States followed further at each level, of all addresses together.
    pub states_per_level: u32,
    /// Inputs and outputs read at each level, of all transactions together.
    pub entries_per_level: u32,
    /// Amount from which on a transfer counts as solicited, for any sender.
    pub unsolicited_below: u128,
    /// Paths kept of each part. Paths explain a verdict and do not change it.
    pub paths_per_part: usize,
}

/// Default of [`TraceRules::paths_per_part`].
const PATHS_PER_PART: usize = 3;
/// Limit of states that bounds time and memory where the limits of addresses and transfers do not: 256
/// addresses with 2,000 outputs each, from transactions of 2,000 inputs, are a billion inputs a level.
const STATES_PER_LEVEL: u32 = 10_000;
/// Limit of inputs and outputs: at least ten of each transaction at [`STATES_PER_LEVEL`] states.
const ENTRIES_PER_LEVEL: u32 = 100_000;

/// The limits of one read: of an address's history, or of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimits {
    /// The number of largest transfers of an address in each direction, and of largest inputs or outputs
    /// of a transaction.
    pub transfers: u32,
    /// Inputs or outputs of all transactions together, in each direction.
    pub entries: u32,
}

impl ReadLimits {
    /// The number of largest inputs or outputs to be read of each of so many transactions.
    #[must_use]
    pub fn entries_per_transaction(self, transactions: usize) -> u32 {
        let transactions = u32::try_from(transactions).unwrap_or(u32::MAX);
        (self.entries / transactions.max(1)).min(self.transfers).max(1)
    }
}

impl TraceRules {
    /// The limits that a policy sets for the native coin of a chain.
    #[must_use]
    pub fn new(policy: &Policy, chain: &Chain) -> Self {
        let TraceSpec {
            hops,
            stop_below_share_millionths,
            addresses_per_hop,
            transfers_per_address,
        } = policy.spec().trace;
        let amounts = policy.amounts(chain.asset);
        Self {
            hops,
            stop_below_share_millionths,
            stop_trace_below: amounts.map_or(0, |curve| curve.stop_trace_below(chain.decimals)),
            addresses_per_hop,
            transfers_per_address,
            states_per_level: STATES_PER_LEVEL,
            entries_per_level: ENTRIES_PER_LEVEL,
            unsolicited_below: amounts.map_or(0, |curve| curve.unsolicited_ceiling(chain.decimals)),
            paths_per_part: PATHS_PER_PART,
        }
    }

    /// The limits of one read.
    #[must_use]
    pub const fn read_limits(&self) -> ReadLimits {
        ReadLimits { transfers: self.transfers_per_address, entries: self.entries_per_level }
    }
}
