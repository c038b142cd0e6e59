//! A chain of TRON that tests write, and a node that states it over its HTTP API. Identifiers and roots are computed by an encoder of
//! its own.
#![expect(clippy::indexing_slicing, reason = "a test stops at the first surprise")]

mod message;
mod node;
mod transaction;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use message::Message;
pub use node::{Fault, TronNode};
pub use transaction::{NewTransaction, TRANSFER, account_word, number_word};

/// An account, without the prefix of the chain.
pub type Account = [u8; 20];

/// Milliseconds of the first block after the genesis block: 14 November 2023.
pub const FIRST_TIME: i64 = 1_700_000_001_000;
/// Milliseconds between two blocks.
pub const INTERVAL: i64 = 3_000;

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// An account as a node writes it: with the prefix, in hexadecimal digits.
#[must_use]
pub fn text(account: &Account) -> String {
    format!("41{}", hex::encode(account))
}

/// The account of a party, which follows from its name.
///
/// # Panics
///
/// Panics never: a hash has more than 20 bytes.
#[must_use]
pub fn party(name: &str) -> Account {
    sha256(name.as_bytes()).first_chunk().copied().expect("20 bytes")
}

/// An account as people write it.
///
/// # Panics
///
/// Panics never: remainders are bytes and digits.
#[must_use]
pub fn base58(account: &Account) -> String {
    const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let payload = [&[0x41], &account[..]].concat();
    let check = sha256(&sha256(&payload));
    let mut number = [payload, check[..4].to_vec()].concat();
    let mut digits = Vec::new();
    while number.iter().any(|byte| *byte != 0) {
        let mut rest = 0_u32;
        for byte in &mut number {
            rest = rest * 256 + u32::from(*byte);
            *byte = u8::try_from(rest / 58).expect("a byte");
            rest %= 58;
        }
        digits.push(char::from(DIGITS[usize::try_from(rest).expect("a digit")]));
    }
    digits.into_iter().rev().collect()
}

/// A block as a node states it.
#[derive(Clone, Debug)]
pub struct Block {
    /// Identifier.
    pub id: [u8; 32],
    /// The block with its transactions.
    pub json: Value,
    /// The statements about its transactions.
    pub infos: Value,
    time: i64,
}

/// A chain of blocks.
#[derive(Clone, Debug)]
pub struct TronChain {
    blocks: Vec<Block>,
    /// The pairs of exchanges, by their numbers.
    pub exchanges: BTreeMap<i64, [String; 2]>,
    /// True if the node keeps calls inside of transactions.
    pub with_internal: bool,
}

impl TronChain {
    /// A chain with a first block, in which each of the accounts gets coins.
    ///
    /// # Panics
    ///
    /// Panics never.
    #[must_use]
    pub fn new(funds: &[(Account, i64)]) -> Self {
        let first = funds.iter().map(|(to, amount)| NewTransaction::allocation(to, *amount));
        let mut chain =
            Self { blocks: Vec::new(), exchanges: BTreeMap::new(), with_internal: true };
        chain.push(0, &first.collect::<Vec<_>>());
        chain
    }

    /// Number of the newest block.
    #[must_use]
    pub fn height(&self) -> u64 {
        self.blocks.len() as u64 - 1
    }

    /// The block at a height.
    #[must_use]
    pub fn block(&self, height: u64) -> Option<&Block> {
        self.blocks.get(usize::try_from(height).ok()?)
    }

    /// Appends a block of transactions.
    pub fn make(&mut self, transactions: &[NewTransaction]) {
        let time = self.blocks.last().map_or(0, |last| last.time);
        let time = if time == 0 { FIRST_TIME } else { time + INTERVAL };
        self.push(time, transactions);
    }

    /// Appends a block of transactions at a time in milliseconds.
    pub fn push(&mut self, time: i64, transactions: &[NewTransaction]) {
        let height = i64::try_from(self.blocks.len()).unwrap_or(i64::MAX);
        let built: Vec<_> = (0..)
            .zip(transactions)
            .map(|(number, it)| it.build(height, time, number, self.with_internal))
            .collect();
        let root = root(&built.iter().map(|it| it.leaf).collect::<Vec<_>>());
        let parent = self.blocks.last().map_or([0xe5; 32], |last| last.id);
        let witness = [&[0x41][..], &party("witness")].concat();
        let raw = Message::default().number(1, time).bytes(2, &root).bytes(3, &parent);
        let raw = raw.number(7, height).bytes(9, &witness).number(10, 34).done();
        let mut id = sha256(&raw);
        id[..8].copy_from_slice(&height.to_be_bytes());
        let mut header = json!({
            "txTrieRoot": hex::encode(root),
            "witness_address": hex::encode(witness),
            "parentHash": hex::encode(parent),
            "version": 34,
        });
        for (name, value) in [("number", height), ("timestamp", time)] {
            if value != 0 {
                header[name] = value.into();
            }
        }
        let signature = hex::encode([9; 65]);
        let mut json = json!({
            "blockID": hex::encode(id),
            "block_header": { "raw_data": header, "witness_signature": signature },
        });
        if !built.is_empty() {
            json["transactions"] = built.iter().map(|it| it.json.clone()).collect();
        }
        let infos = built.into_iter().map(|it| it.info).collect();
        self.blocks.push(Block { id, json, infos, time });
    }

    /// Removes the blocks above a height, in whose place others may come.
    pub fn rewind(&mut self, height: u64) {
        self.blocks.truncate(usize::try_from(height).unwrap_or(usize::MAX).saturating_add(1));
    }

    /// Invents the log of a token's transfer in the first transaction of a block. Nothing on the chain commits to logs.
    ///
    /// # Panics
    ///
    /// Panics if there is no such transaction.
    pub fn forge_log(
        &mut self,
        height: u64,
        token: &Account,
        [from, to]: [&Account; 2],
        amount: u64,
    ) {
        let forged = json!({
            "address": hex::encode(token),
            "topics": [TRANSFER, account_word(from), account_word(to)],
            "data": number_word(amount),
        });
        let index = usize::try_from(height).expect("a height");
        let info = &mut self.blocks[index].infos[0];
        match info["log"].as_array_mut() {
            Some(logs) => logs.push(forged),
            None => info["log"] = json!([forged]),
        }
    }

    /// A node's answer to a question, by its path and parameters; `None` for an unknown path. `solid` is the height of the newest
    /// block that the producers built upon.
    #[must_use]
    pub fn answer(&self, path: &str, parameters: &Value, solid: u64) -> Option<Value> {
        let none = || json!({});
        let number = |name: &str| parameters[name].as_u64().unwrap_or_default();
        let at = |height: u64| self.block(height).map_or_else(none, |block| block.json.clone());
        Some(match path {
            "/wallet/getnowblock" => at(self.height()),
            "/walletsolidity/getnowblock" => at(solid.min(self.height())),
            "/wallet/getblockbynum" => at(number("num")),
            "/wallet/gettransactioninfobyblocknum" => match number("num") {
                0 => none(),
                height => self.block(height).map_or_else(|| json!([]), |it| it.infos.clone()),
            },
            "/wallet/getexchangebyid" => {
                let pair = self.exchanges.get(&parameters["id"].as_i64()?);
                pair.map_or_else(none, |[first, second]| {
                    json!({
                        "exchange_id": parameters["id"],
                        "first_token_id": hex::encode(first),
                        "second_token_id": hex::encode(second),
                    })
                })
            }
            _ => return None,
        })
    }
}

/// The root of a tree of hashes, an odd one of which rises as it is.
fn root(leaves: &[[u8; 32]]) -> [u8; 32] {
    match leaves {
        [] => [0; 32],
        [alone] => *alone,
        leaves => {
            // The left part is the largest power of two below the count.
            let (first, second) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            sha256(&[root(first), root(second)].concat())
        }
    }
}
