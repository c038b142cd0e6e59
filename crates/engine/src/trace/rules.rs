//! How far a trace goes.

use crate::{
    chain::Chain,
    policy::{Policy, TraceSpec},
};

/// What bounds a trace on one chain. Amounts are in base units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRules {
    /// The last level whose addresses are looked at.
    pub hops: u8,
    /// Share below which a flow may be cut, in millionths of its direction's whole.
    pub stop_below_share_millionths: u32,
    /// Amount below which a flow may be cut. Both must hold.
    pub stop_trace_below: u128,
    /// Addresses followed further at each level.
    pub addresses_per_hop: u32,
    /// Transfers read of an address, and legs of a transaction at most.
    pub transfers_per_address: u32,
    /// States followed further at each level, whatever addresses they are at.
    pub states_per_level: u32,
    /// Inputs and outputs read at each level, of all transactions together.
    pub legs_per_level: u32,
    /// Amount from which on a transfer counts as asked for whoever sent it.
    pub unsolicited_below: u128,
    /// Paths kept of each part: they show what is decided and decide nothing.
    pub paths_per_part: usize,
}

/// Paths kept of each part unless somebody wants more.
const PATHS_PER_PART: usize = 3;
/// What bounds time and memory of a trace where addresses and their transfers alone would not: 256
/// addresses with 2,000 outputs each, made by transactions of 2,000 legs, are a billion legs a level.
const STATES_PER_LEVEL: u32 = 10_000;
/// At least ten legs of each transaction, where so many states are followed.
const LEGS_PER_LEVEL: u32 = 100_000;

/// How much is read at once: of an address's history, or at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The largest transfers of an address, in each direction; and the largest legs of a transaction.
    pub transfers: u32,
    /// Inputs and outputs of all transactions together, in each direction.
    pub legs: u32,
}

impl Reading {
    /// How many legs are read of each of so many transactions: the largest.
    #[must_use]
    pub fn legs_of_each(self, transactions: usize) -> u32 {
        let transactions = u32::try_from(transactions).unwrap_or(u32::MAX);
        (self.legs / transactions.max(1)).min(self.transfers).max(1)
    }
}

impl TraceRules {
    /// What a policy says for the native coin of a chain.
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
            legs_per_level: LEGS_PER_LEVEL,
            unsolicited_below: amounts.map_or(0, |curve| curve.unsolicited_ceiling(chain.decimals)),
            paths_per_part: PATHS_PER_PART,
        }
    }

    /// How much is read at once.
    #[must_use]
    pub const fn reading(&self) -> Reading {
        Reading { transfers: self.transfers_per_address, legs: self.legs_per_level }
    }
}
