//! The body of a check.

use assay_engine::{
    address::CanonicalAddress,
    chain::{ChainId, UnsupportedChain},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    json,
    problem::{Code, Problem},
};

/// Longest reference in characters.
const LONGEST_REFERENCE: usize = 128;

/// A check of one address.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    /// The blockchain: its identifier (`btc`, `eth`, `trx` and others) or a well-known name, in any
    /// letter case.
    #[schemars(length(min = 1))]
    pub blockchain: String,
    /// The address in any form that the blockchain allows.
    #[schemars(length(min = 1))]
    pub address: String,
    /// Your own reference of up to 128 characters; it is repeated in the answer.
    #[serde(default)]
    #[schemars(length(max = 128))]
    pub reference: Option<String>,
    /// Whether money is to come from the address or to go there; it is repeated in the answer and does
    /// not change it.
    #[serde(default)]
    pub direction: Option<TransferDirection>,
}

/// Which way money is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransferDirection {
    /// Money is to come from the address.
    Deposit,
    /// Money is to go to the address.
    Withdrawal,
}

impl CheckRequest {
    /// Reads the body of a check.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, Problem> {
        json::parse(bytes)
    }

    /// The address that it asks about; a reference that is too long is refused before.
    ///
    /// # Errors
    ///
    /// Which field is wrong and what would be right.
    pub fn subject(&self) -> Result<CanonicalAddress, Problem> {
        check_reference(self.reference.as_deref()).map_err(|message| {
            Problem::new(Code::InvalidRequest, format!("reference: {message}"))
                .field("reference", message)
        })?;
        let chain: ChainId = self.blockchain.parse().map_err(|error: UnsupportedChain| {
            let message = error.to_string();
            Problem::new(Code::UnsupportedChain, &message).field("blockchain", message)
        })?;
        CanonicalAddress::parse(chain, &self.address).map_err(|error| {
            let message = format!("not a valid {chain} address: {error}");
            Problem::new(Code::InvalidAddress, &message).field("address", message)
        })
    }
}

/// Says what is wrong with a reference.
pub(crate) fn check_reference(reference: Option<&str>) -> Result<(), String> {
    let length = reference.map_or(0, |reference| reference.chars().count());
    if length <= LONGEST_REFERENCE {
        return Ok(());
    }
    Err(format!("has {length} characters: at most {LONGEST_REFERENCE} are allowed"))
}
