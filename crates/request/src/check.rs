//! Body of a check.

use assay_address::{CanonicalAddress, ChainId};
use schemars::JsonSchema;
use serde::Deserialize;

pub use assay_engine::transfer::TransferDirection;

use crate::{
    chain::parse_chain,
    json,
    problem::{Code, Problem},
};

/// Longest reference in characters.
const MAX_REFERENCE_LENGTH: usize = 128;

/// Request to check one address.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    /// Blockchain: its identifier (`btc`, `eth`, `trx` and others) or a well-known name, in any letter
    /// case; `evm` for every EVM chain.
    #[schemars(length(min = 1))]
    pub blockchain: String,
    /// Address in any form that the blockchain allows.
    #[schemars(length(min = 1))]
    pub address: String,
    /// Your own reference, at most 128 characters; repeated in the answer.
    #[serde(default)]
    #[schemars(length(max = 128))]
    pub reference: Option<String>,
    /// Direction of the planned transfer; repeated in the answer, without effect on the assessment.
    #[serde(default)]
    pub direction: Option<TransferDirection>,
}

impl CheckRequest {
    /// Reads the body of a check.
    ///
    /// # Errors
    ///
    /// Returns a problem that describes the error.
    pub fn read(bytes: &[u8]) -> Result<Self, Problem> {
        json::parse(bytes)
    }

    /// Returns the address to check, or the account on every EVM chain. First refuses a reference that is too long.
    ///
    /// # Errors
    ///
    /// Returns a problem that names the wrong field and describes a valid value.
    pub fn subject(&self) -> Result<AddressSubject, Problem> {
        require_reference(self.reference.as_deref())?;
        if self.blockchain.trim().eq_ignore_ascii_case(EVERY_EVM_CHAIN) {
            return parse_address(ChainId::ETH, &self.address).map(AddressSubject::EveryEvmChain);
        }
        parse_address(parse_chain(&self.blockchain)?, &self.address).map(AddressSubject::One)
    }
}

/// Name of all EVM chains together.
const EVERY_EVM_CHAIN: &str = "evm";

/// Subject of a check of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressSubject {
    /// An address of one blockchain.
    One(CanonicalAddress),
    /// An account on every EVM chain, given on Ethereum.
    EveryEvmChain(CanonicalAddress),
}

/// Refuses a reference that is too long.
///
/// # Errors
///
/// Returns a problem that names the field and the largest length.
pub fn require_reference(reference: Option<&str>) -> Result<(), Problem> {
    check_reference(reference).map_err(|message| {
        Problem::new(Code::InvalidRequest, format!("reference: {message}"))
            .field("reference", message)
    })
}

/// Parses the field `address`.
pub(crate) fn parse_address(chain: ChainId, address: &str) -> Result<CanonicalAddress, Problem> {
    parse_address_of("address", chain, address)
}

/// Parses a field with an address.
pub(crate) fn parse_address_of(
    field: &str,
    chain: ChainId,
    address: &str,
) -> Result<CanonicalAddress, Problem> {
    CanonicalAddress::parse(chain, address).map_err(|error| {
        let message = format!("not a valid {chain} address: {error}");
        Problem::new(Code::InvalidAddress, &message).field(field, message)
    })
}

/// Checks the length of a reference; the error describes the problem.
pub(crate) fn check_reference(reference: Option<&str>) -> Result<(), String> {
    let length = reference.map_or(0, |reference| reference.chars().count());
    if length <= MAX_REFERENCE_LENGTH {
        return Ok(());
    }
    Err(format!("has {length} characters: at most {MAX_REFERENCE_LENGTH} are allowed"))
}
