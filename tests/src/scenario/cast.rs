//! Who is in the scenario. Everybody has a name and one address.

use assay_engine::{address::CanonicalAddress, chain::ChainId, utxo::ScriptOwner};

use crate::block_builder::Lock;

/// Those whose addresses are of the older form, so that both occur.
const SCRIPT_HASH: [&str; 5] = ["alice", "frank", "north-deposit-alice", "peel-3", "pool"];

/// What somebody's outputs are locked with. Whoever is not in the scenario gets an address too.
#[must_use]
pub fn lock(name: &str) -> Lock {
    match name {
        "note" => Lock::note("we are sorry"),
        _ if SCRIPT_HASH.contains(&name) => Lock::script_hash(name),
        _ => Lock::witness(name),
    }
}

/// Somebody's address, as a check is asked for it: in the canonical form of the chain itself, not of
/// its test network.
///
/// # Panics
///
/// Where the chain has no addresses of this form.
#[must_use]
pub fn address(chain: ChainId, name: &str) -> CanonicalAddress {
    let owner = ScriptOwner::from_script(chain, &lock(name).script());
    owner.address(chain).unwrap_or_else(|| panic!("{name} has no address on {chain}"))
}
