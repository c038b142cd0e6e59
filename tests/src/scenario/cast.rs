//! Parties of the scenario. Each has a name and one address.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::utxo::ScriptOwner;

use crate::block_builder::LockingScript;

/// Parties with pay-to-script-hash addresses; others have segregated witness addresses.
const SCRIPT_HASH: [&str; 5] = ["alice", "frank", "north-deposit-alice", "peel-3", "pool"];

/// Locking script of a party's outputs. Names outside the scenario are valid too.
#[must_use]
pub fn lock(name: &str) -> LockingScript {
    match name {
        "note" => LockingScript::note("we are sorry"),
        _ if SCRIPT_HASH.contains(&name) => LockingScript::script_hash(name),
        _ => LockingScript::witness(name),
    }
}

/// Address of a party, in the form for a check: canonical on the chain itself, not on its test
/// network.
///
/// # Panics
///
/// Panics if the chain has no addresses of this form.
#[must_use]
pub fn address(chain: ChainId, name: &str) -> CanonicalAddress {
    let owner = ScriptOwner::from_script(chain, &lock(name).script());
    owner.address(chain).unwrap_or_else(|| panic!("{name} has no address on {chain}"))
}
