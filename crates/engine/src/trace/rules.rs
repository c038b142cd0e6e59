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
    pub cut_share: u32,
    /// Amount below which a flow may be cut. Both must hold.
    pub cut_below: u128,
    /// Addresses followed further at each level.
    pub addresses_per_level: u32,
    /// Transfers read of an address, and legs of a transaction.
    pub transfers_per_address: u32,
    /// Amount from which on a transfer counts as asked for whoever sent it.
    pub unsolicited_below: u128,
    /// Paths kept of each part: they show what is decided and decide nothing.
    pub paths_per_part: usize,
}

/// Paths kept of each part unless somebody wants more.
const PATHS_PER_PART: usize = 3;

impl TraceRules {
    /// What a policy says for the native coin of a chain.
    #[must_use]
    pub fn new(policy: &Policy, chain: &Chain) -> Self {
        let TraceSpec { hops, cut_share, addresses_per_level, transfers_per_address } =
            policy.spec().trace;
        let amounts = policy.amounts(chain.asset);
        Self {
            hops,
            cut_share,
            cut_below: amounts.map_or(0, |curve| curve.cut_below(chain.decimals)),
            addresses_per_level,
            transfers_per_address,
            unsolicited_below: amounts.map_or(0, |curve| curve.unsolicited_ceiling(chain.decimals)),
            paths_per_part: PATHS_PER_PART,
        }
    }
}
