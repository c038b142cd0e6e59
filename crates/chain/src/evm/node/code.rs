//! The code of accounts, by which contracts are told from accounts whose keys delegate to code (EIP-7702).
//!
//! An account that runs code is one or the other for ever. It is asked about once and remembered; the block that results is the
//! same whether it was.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use assay_engine::account::AccountAddress;
use serde_json::{Value, json, value::RawValue};

use super::fetch::{FetchedBlock, Fetcher};
use crate::{
    SourceError,
    evm::{
        contracts::BookedBlock,
        hex::{Bytes, Quantity},
        verify,
    },
    rpc::{NodeError, Rpc},
};

/// Number of questions in a batch: the code of a contract has up to 24 KiB, or 48 KiB as digits.
const CALLS_A_REQUEST: usize = 50;
/// Most accounts that are remembered, in about 40 bytes each.
const MOST_REMEMBERED: usize = 1 << 20;
/// Beginning of the code of an account whose key delegates to the code of another.
const DELEGATION: [u8; 3] = [0xef, 0x01, 0x00];

/// Accounts that ran code, and whether each is a contract.
#[derive(Debug, Default)]
pub(super) struct KnownCode(Mutex<HashMap<AccountAddress, bool>>);

impl KnownCode {
    fn lock(&self) -> MutexGuard<'_, HashMap<AccountAddress, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers accounts. Those of before are forgotten when they are too many.
    fn extend(&self, found: &HashMap<AccountAddress, bool>) {
        let mut known = self.lock();
        if known.len() + found.len() > MOST_REMEMBERED {
            known.clear();
        }
        known.extend(found);
    }
}

/// A block that is booked, with the number of bytes of the answers about it.
pub(super) struct BookedAnswers {
    pub(super) booked: BookedBlock,
    pub(super) bytes: usize,
}

/// Content of an account as the state of a block has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AccountCode {
    Contract,
    Delegation,
    None,
}

impl AccountCode {
    fn of(code: &[u8]) -> Self {
        match code {
            [] => Self::None,
            code if code.starts_with(&DELEGATION) && code.len() == 23 => Self::Delegation,
            _ => Self::Contract,
        }
    }
}

impl Fetcher {
    /// Tells the contracts of blocks from other accounts that ran code.
    ///
    /// # Errors
    ///
    /// Returns an error if the node does not state the code of an account.
    pub(super) fn settle(
        &self,
        rpc: &Rpc,
        blocks: Vec<BookedAnswers>,
    ) -> Result<Vec<FetchedBlock>, SourceError> {
        let mut contracts = HashMap::new();
        let mut unknown = Vec::new();
        {
            let known = self.code.lock();
            for BookedAnswers { booked, .. } in &blocks {
                for account in booked.candidates() {
                    let found = known.get(&account).copied();
                    if contracts.insert(account, found.unwrap_or(false)).is_none()
                        && found.is_none()
                    {
                        unknown.push((account, booked.reference.hash));
                    }
                }
            }
        }
        let found = self.contracts_among(rpc, &unknown)?;
        self.code.extend(&found);
        contracts.extend(found);
        let is_contract = |account: &AccountAddress| contracts.get(account) == Some(&true);
        let settled = blocks.into_iter().map(|BookedAnswers { booked, bytes }| FetchedBlock {
            block: booked.settle(is_contract),
            bytes,
        });
        Ok(settled.collect())
    }

    /// Asks which accounts are contracts, each as of a block in which it ran code.
    fn contracts_among(
        &self,
        rpc: &Rpc,
        accounts: &[(AccountAddress, [u8; 32])],
    ) -> Result<HashMap<AccountAddress, bool>, SourceError> {
        let codes =
            self.states(rpc, "eth_getCode", accounts, |Bytes(code)| AccountCode::of(&code))?;
        let all = || accounts.iter().zip(&codes);
        // A contract that destroyed itself has no code any more, and an account that took its delegation back has none either.
        // Only the latter counts its transactions and delegations.
        let without: Vec<_> =
            all().filter(|(_, code)| **code == AccountCode::None).map(|(it, _)| *it).collect();
        let counts = self.states(rpc, "eth_getTransactionCount", &without, |Quantity(it)| it)?;
        let destroyed =
            without.iter().zip(counts).map(|((account, _), count)| (*account, count == 0));
        let mut found: HashMap<_, _> =
            all().map(|((account, _), code)| (*account, *code == AccountCode::Contract)).collect();
        found.extend(destroyed);
        Ok(found)
    }

    /// Asks about the state of accounts as of a block, or as of the newest one if the node has the state of that block no more.
    fn states<T: for<'de> serde::Deserialize<'de>, R>(
        &self,
        rpc: &Rpc,
        method: &'static str,
        accounts: &[(AccountAddress, [u8; 32])],
        read: impl Fn(T) -> R,
    ) -> Result<Vec<R>, SourceError> {
        let what = |account: &AccountAddress| format!("{method} of {account}");
        let mut states = Vec::with_capacity(accounts.len());
        for accounts in accounts.chunks(CALLS_A_REQUEST) {
            let params = accounts.iter().map(|(account, block)| {
                json!([account.to_string(), { "blockHash": verify::text(block) }])
            });
            let params: Vec<Value> = params.collect();
            let taken = |index: usize, reply: Result<&RawValue, NodeError>| {
                let (account, _) = accounts.get(index)?;
                Some(reply.ok().map(|result| self.rpc.read(&what(account), result)))
            };
            let replies = rpc.call_each(method, &params, taken)?;
            for ((account, _), reply) in accounts.iter().zip(replies.into_iter().flatten()) {
                let state = if let Some(state) = reply {
                    state?
                } else {
                    let reply = rpc.call(method, &json!([account.to_string(), "latest"]))?;
                    let result = reply.map_err(|error| self.rpc.refused(&what(account), error))?;
                    self.rpc.read(&what(account), &result)?
                };
                states.push(read(state));
            }
        }
        Ok(states)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delegation_is_no_contract() {
        let delegated = [&DELEGATION[..], &[7; 20]].concat();
        assert_eq!(AccountCode::of(&delegated), AccountCode::Delegation);
        assert_eq!(AccountCode::of(&[0xef, 0x01]), AccountCode::Contract);
        assert_eq!(AccountCode::of(&[0x60, 0x00]), AccountCode::Contract);
        assert_eq!(AccountCode::of(&[]), AccountCode::None);
    }
}
