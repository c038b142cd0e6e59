//! The coins of the first block, from the file that starts a node (`genesis.json`): no node states them.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256};
use alloy_trie::{
    TrieAccount,
    root::{state_root_unhashed, storage_root_unhashed},
};
use assay_engine::account::{AccountAddress, Transfer, TransferKind};
use ruint::aliases::U256;
use serde::Deserialize;

use super::{block::native, rlp::keccak, verify};

/// The accounts of the first block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenesisAllocation {
    /// Balances in base units, by account.
    balances: BTreeMap<AccountAddress, U256>,
    /// Root of the accounts, to which the header of the first block commits.
    state_root: [u8; 32],
}

/// A text that is no genesis file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the genesis file cannot be read: {0}")]
pub struct InvalidGenesis(String);

#[derive(Deserialize)]
struct GenesisFile {
    alloc: BTreeMap<String, GenesisAccount>,
}

#[derive(Deserialize)]
struct GenesisAccount {
    #[serde(default)]
    balance: Option<String>,
    #[serde(default)]
    nonce: Option<String>,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    storage: BTreeMap<String, String>,
}

impl GenesisAllocation {
    /// Parses a genesis file of geth's form, whose `alloc` has the accounts. Numbers are decimal, or hexadecimal with `0x`.
    ///
    /// # Errors
    ///
    /// Returns an error if the text has another form, or an account is invalid or stands there twice.
    pub fn parse(text: &str) -> Result<Self, InvalidGenesis> {
        let file: GenesisFile =
            serde_json::from_str(text).map_err(|error| InvalidGenesis(error.to_string()))?;
        let mut balances = BTreeMap::new();
        let mut accounts = Vec::with_capacity(file.alloc.len());
        for (name, account) in &file.alloc {
            let invalid =
                |what: &str| InvalidGenesis(format!("account {name} has no valid {what}"));
            let address: [u8; 20] = fixed(name).ok_or_else(|| invalid("address"))?;
            let number =
                |text: &Option<String>| text.as_ref().map_or(Some(U256::ZERO), |it| number(it));
            let balance = number(&account.balance).ok_or_else(|| invalid("balance"))?;
            let nonce = number(&account.nonce).and_then(|nonce| u64::try_from(nonce).ok());
            let code = account.code.as_deref().unwrap_or("0x");
            let code = hex::decode(digits(code)).map_err(|_| invalid("code"))?;
            let storage = account.storage.iter().map(|(slot, value)| {
                let slot = U256::from_str_radix(digits(slot), 16).ok()?;
                let value = U256::from_str_radix(digits(value), 16).ok()?;
                Some((B256::from(slot.to_be_bytes()), value))
            });
            let storage: Option<Vec<_>> = storage.collect();
            let mut storage = storage.ok_or_else(|| invalid("storage"))?;
            storage.retain(|(_, value)| !value.is_zero());
            let state = TrieAccount {
                nonce: nonce.ok_or_else(|| invalid("nonce"))?,
                balance,
                storage_root: storage_root_unhashed(storage),
                code_hash: B256::from(keccak(code)),
            };
            accounts.push((Address::from(address), state));
            if balances.insert(AccountAddress(address), balance).is_some() {
                return Err(InvalidGenesis(format!("account {name} stands there twice")));
            }
        }
        Ok(Self { balances, state_root: state_root_unhashed(accounts).0 })
    }

    /// Compares the accounts with the state that the header of the first block states.
    ///
    /// # Errors
    ///
    /// Returns a description of what differs.
    pub(super) fn check(&self, state_root: &[u8; 32]) -> Result<(), String> {
        if self.state_root == *state_root {
            return Ok(());
        }
        let (ours, stated) = (verify::text(&self.state_root), verify::text(state_root));
        Err(format!("its state has the root {stated}, and the accounts of the genesis file {ours}"))
    }

    /// The transfers of the allocation, from nobody.
    pub(super) fn transfers(&self) -> impl Iterator<Item = Transfer> {
        self.balances.iter().map(|(to, amount)| {
            native(TransferKind::Reward, AccountAddress::ZERO, *to, *amount, None)
        })
    }
}

fn digits(text: &str) -> &str {
    text.strip_prefix("0x").unwrap_or(text)
}

fn fixed<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    hex::decode_to_slice(digits(text), &mut bytes).ok()?;
    Some(bytes)
}

/// A number, hexadecimal with `0x` or decimal.
fn number(text: &str) -> Option<U256> {
    match text.strip_prefix("0x") {
        Some("") => Some(U256::ZERO),
        Some(digits) => U256::from_str_radix(digits, 16).ok(),
        None => U256::from_str_radix(text, 10).ok(),
    }
}
