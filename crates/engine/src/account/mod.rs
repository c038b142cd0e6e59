//! Transfers of account chains, and the model of their money (`docs/model/accounts.md`).
//!
//! Money is followed forward: when a transaction is read, the ledger of each (account, asset) learns what its money is
//! made of. A check reads ledgers.
//!
//! - `address`: addresses of accounts as bytes
//! - `asset`: assets of a chain
//! - `price`: prices by day, and the value of an amount
//! - `record`: transactions with their transfers, as files and nodes deliver them
//! - `scored`: the table of assets whose money is followed

mod address;
mod asset;
mod price;
mod record;
mod scored;

pub use address::AccountAddress;
pub use asset::{Asset, AssetId, InvalidAsset};
pub use price::{
    InvalidPrice, InvalidPriceCause, MAX_CARRIED_DAYS, PriceOfDay, Prices, UsdPrice, UsdValue,
};
pub use record::{
    AccountTransaction, BeneficiaryEvent, PublishedPlace, Transfer, TransferKind, TransferPlace,
    UnknownKind,
};
pub use scored::{AssetRole, IssueLog, ScoredAsset, scored_asset, scored_assets};
