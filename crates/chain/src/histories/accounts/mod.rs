//! Histories of single accounts, from the APIs of explorers. One call is one request.
//!
//! Nothing that these APIs answer can be verified: no proof connects an answer with a block.
//!
//! - `etherscan`: Etherscan's API, and those of Blockscout and Routescan, which have its form
//! - `trongrid`: TronGrid's API
//! - `client`: requests within the limits of a plan and until a deadline
//! - [`limits`]: slots that all clients of a key share
//! - `paging`: lists that continue by block
//! - `refusal`: what APIs refuse

#[cfg(feature = "edge")]
mod client;
#[cfg(feature = "edge")]
mod etherscan;
#[cfg(feature = "edge")]
pub mod limits;
#[cfg(feature = "edge")]
mod paging;
mod refusal;
#[cfg(feature = "edge")]
mod trongrid;

use std::fmt;

use assay_engine::{
    account::{AccountAddress, Asset, FreezeChange, FreezeEvent, Transfer},
    utxo::Txid,
};
use jiff::Timestamp;
use ruint::aliases::U256;

pub use self::refusal::ApiRefusal;
#[cfg(feature = "edge")]
pub use self::{
    client::{ApiOptions, until},
    etherscan::{EtherscanForm, EtherscanHistories},
    trongrid::TronGridHistories,
};
use crate::SourceError;
#[cfg(feature = "edge")]
pub use crate::evm::freeze_events::{freezable_tokens, freeze_signatures};

/// The newest block that an API knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiTip {
    /// Height.
    pub height: u64,
    /// Time of the block; `None` if the API does not state it.
    pub time: Option<Timestamp>,
}

/// A list of an account's transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccountList {
    /// Transactions that the account sent or received, with the native coin that they move, and their fees.
    Native,
    /// Transfers of the native coin inside of transactions.
    Internal,
    /// Transfers of all tokens.
    Tokens,
    /// Transfers of one token, by its contract.
    Token(AccountAddress),
}

/// The order of a list's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ListOrder {
    /// The oldest row first.
    OldestFirst,
    /// The newest row first.
    NewestFirst,
}

/// A request for a page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The account.
    pub account: AccountAddress,
    /// The list.
    pub list: AccountList,
    /// The order.
    pub order: ListOrder,
    /// The position after which the page begins; `None` for the first page.
    pub after: Option<PagePosition>,
}

/// A position in a list, which its source gave with the page before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PagePosition(pub String);

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountPage {
    /// The rows, in the requested order.
    pub rows: Vec<AccountRow>,
    /// The position of the next page; `None` after the last row.
    pub next: Option<PagePosition>,
}

/// One row of a list: what the account sent or received in a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRow {
    /// The transaction.
    pub id: Txid,
    /// Height of the block.
    pub block: u64,
    /// Time of the block.
    pub time: Timestamp,
    /// Index of the transaction in its block; `None` if the API does not state it.
    pub position: Option<u32>,
    /// The account that sent the transaction; `None` if the row does not state it.
    pub initiator: Option<AccountAddress>,
    /// Transfers: none but the fee of a failed transaction. [`Transfer::place`] is that of the
    /// row where the API states one.
    pub transfers: Vec<Transfer>,
    /// Facts that the row states about freezes by the issuer of a token.
    pub freezes: Vec<FreezeEvent>,
}

/// A kind of event by which the issuers of tokens change freezes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreezeSignature {
    /// Name of the event, without its parameters.
    pub name: &'static str,
    /// Hash of the event's signature, the first topic of its logs.
    pub topic: [u8; 32],
    /// Change of the freeze.
    pub change: FreezeChange,
}

/// An event by which the issuer of a token froze an account or ended a freeze, with its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreezeRow {
    /// The transaction.
    pub id: Txid,
    /// Height of the block.
    pub block: u64,
    /// Time of the block.
    pub time: Timestamp,
    /// The event.
    pub event: FreezeEvent,
}

/// A page of a token's events of one kind that change freezes, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreezePage {
    /// The events.
    pub rows: Vec<FreezeRow>,
    /// The position of the next page; `None` after the last event.
    pub next: Option<PagePosition>,
}

/// Parts of histories that an API does not state.
#[expect(clippy::struct_excessive_bools, reason = "each is a part of its own")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiAbilities {
    /// Transfers of the native coin inside of transactions.
    pub internal_transfers: bool,
    /// Places of token transfers in their transactions.
    pub log_indexes: bool,
    /// Order of transactions in a block.
    pub positions: bool,
    /// Payments by orders on exchanges that are a part of the chain; true of a chain without any.
    pub orders: bool,
    /// Lists with the oldest row first.
    pub oldest_first: bool,
    /// Most rows of a page.
    pub page_rows: usize,
}

/// Source of the histories of single accounts. The calls block the thread. Every call but [`Self::name`] and
/// [`Self::abilities`] is one request to the API, which counts against its limits.
pub trait AccountHistorySource: fmt::Debug + Send + Sync {
    /// The API as answers name it, such as `Etherscan`.
    fn name(&self) -> &'static str;

    /// Parts that the API states.
    fn abilities(&self) -> ApiAbilities;

    /// Returns the newest block.
    ///
    /// # Errors
    ///
    /// Returns an error if the API fails or refuses.
    fn tip(&self) -> Result<ApiTip, SourceError>;

    /// Returns a page of a list.
    ///
    /// # Errors
    ///
    /// Returns an error if the API fails or refuses, or if it answers for another account or out of order.
    fn page(&self, request: &PageRequest) -> Result<AccountPage, SourceError>;

    /// Returns the newest balance of an account in an asset; `None` if the API does not state it.
    ///
    /// # Errors
    ///
    /// Returns an error if the API fails or refuses.
    fn balance(&self, account: AccountAddress, asset: Asset) -> Result<Option<U256>, SourceError>;

    /// Returns whether an account has code of its own, which a delegation of EIP-7702 is not; `None` if the API does not state it.
    ///
    /// # Errors
    ///
    /// Returns an error if the API fails or refuses.
    fn has_code(&self, _account: AccountAddress) -> Result<Option<bool>, SourceError> {
        Ok(None)
    }

    /// Returns a page of a token's events of one kind by which its issuer changed freezes, of all accounts, the oldest first; `None`
    /// if the API does not state them.
    ///
    /// # Errors
    ///
    /// Returns an error if the API fails or refuses, or if it answers for another token or event, or out of order.
    fn freezes(
        &self,
        _token: AccountAddress,
        _signature: &'static FreezeSignature,
        _after: Option<&PagePosition>,
    ) -> Result<Option<FreezePage>, SourceError> {
        Ok(None)
    }
}
