//! Balances of an account as a node states them.

use assay_engine::account::{AccountAddress, Asset};
use ruint::aliases::U256;
use serde_json::{Value, json};

use super::EvmNodeSource;
use crate::{
    SourceError,
    evm::{
        hex::{Amount, Bytes},
        verify,
    },
};

/// The selector of `balanceOf(address)`.
const BALANCE_OF: &str = "0x70a08231";

impl EvmNodeSource {
    /// Returns the balances of an account after the block with a hash, in the order of the assets; `None` for an asset of which
    /// the node states none.
    ///
    /// # Errors
    ///
    /// Returns an error if the node does not answer.
    pub fn balances(
        &self,
        account: AccountAddress,
        assets: &[Asset],
        block: &[u8; 32],
    ) -> Result<Vec<Option<U256>>, SourceError> {
        let rpc = &self.fetcher.rpc;
        let after = json!({ "blockHash": verify::text(block) });
        let account = alloy_primitives::hex::encode(account.0);
        let calls: Vec<(&str, Value)> = assets
            .iter()
            .map(|asset| match asset {
                Asset::Token(contract) => {
                    let contract = format!("0x{}", alloy_primitives::hex::encode(contract.0));
                    let data = format!("{BALANCE_OF}{account:0>64}");
                    ("eth_call", json!([{ "to": contract, "data": data }, after]))
                }
                Asset::Native | Asset::Numbered(_) => {
                    ("eth_getBalance", json!([format!("0x{account}"), after]))
                }
            })
            .collect();
        let questions: Vec<_> = calls.iter().map(|(method, params)| (*method, params)).collect();
        rpc.call_all(&questions, |index, reply| {
            let result = reply.ok()?;
            match assets.get(index)? {
                Asset::Token(_) => {
                    let word: Bytes = serde_json::from_str(result.get()).ok()?;
                    let word: [u8; 32] = word.0.try_into().ok()?;
                    Some(U256::from_be_bytes(word))
                }
                Asset::Native | Asset::Numbered(_) => {
                    let amount: Amount = serde_json::from_str(result.get()).ok()?;
                    Some(amount.0)
                }
            }
        })
    }
}
