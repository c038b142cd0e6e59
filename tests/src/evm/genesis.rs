//! The first block of the chain of tests.

use serde_json::{Map, Value, json};

use super::{
    account::{Key, address_text, keccak},
    bytes,
    contracts::{self, USDT},
};

/// The number of the chain, as dev chains of geth have it.
pub const CHAIN_ID: u64 = 1337;
/// Time of the first block: 14 November 2023.
pub const TIME: u64 = 1_700_000_000;
/// One ether in wei.
pub const ETHER: u128 = 1_000_000_000_000_000_000;
/// Ether of each of the [`PARTIES`].
pub const FUNDS: u128 = 100_000 * ETHER;
/// The parties with ether from the beginning.
pub const PARTIES: [&str; 7] = ["alice", "bob", "carol", "exchange", "mixer", "stranger", "thief"];
/// The party with units of the token at [`USDT`] from the beginning, and their number.
pub const ISSUED: (&str, u128) = ("exchange", 100_000_000_000_000);

/// The first block, with the parties and contracts.
///
/// # Panics
///
/// Panics never: each party has a key.
#[must_use]
pub fn genesis() -> Value {
    let mut accounts = Map::new();
    for name in PARTIES {
        let address = address_text(&Key::of(name).address);
        accounts.insert(address, json!({ "balance": format!("{FUNDS:#x}") }));
    }
    for (address, code) in contracts::deployed() {
        let mut account = json!({ "balance": "0x0", "code": bytes(&code) });
        if address == USDT {
            let (holder, units) = ISSUED;
            // A mapping of the first variable: the hash of its key and of zero.
            let holder = contracts::account(&Key::of(holder).address);
            let holder = bytes(&keccak(&[holder, [0; 32]].concat()));
            let mut storage = Map::new();
            storage.insert(holder, json!(bytes(&contracts::number(units))));
            account["storage"] = storage.into();
        }
        accounts.insert(address_text(&address), account);
    }
    let mut forks = Map::new();
    for fork in ["homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople"] {
        forks.insert(format!("{fork}Block"), json!(0));
    }
    for fork in ["petersburg", "istanbul", "berlin", "london"] {
        forks.insert(format!("{fork}Block"), json!(0));
    }
    forks.insert("chainId".to_owned(), json!(CHAIN_ID));
    forks.insert("terminalTotalDifficulty".to_owned(), json!(0));
    forks.insert("shanghaiTime".to_owned(), json!(0));
    forks.insert("cancunTime".to_owned(), json!(0));
    let blobs = json!({ "target": 3, "max": 6, "baseFeeUpdateFraction": 3_338_477 });
    forks.insert("blobSchedule".to_owned(), json!({ "cancun": blobs }));
    json!({
        "config": forks,
        "nonce": "0x0",
        "timestamp": format!("{TIME:#x}"),
        "extraData": "0x",
        "gasLimit": "0x1c9c380",
        "difficulty": "0x0",
        "mixHash": bytes(&[0; 32]),
        "coinbase": bytes(&[0; 20]),
        "baseFeePerGas": "0x3b9aca00",
        "alloc": accounts,
    })
}
