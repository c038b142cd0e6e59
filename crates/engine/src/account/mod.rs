//! Transfers of account chains, and the model of their money (`docs/model/accounts.md`).
//!
//! Money is followed forward: when a transaction is read, the ledger of each (account, asset) learns what its money is
//! made of. A check reads ledgers.
//!
//! - `address`: addresses of accounts as bytes
//! - `asset`: assets of a chain
//! - `price`: prices by day, and the value of an amount
//! - `origin`: origins of money
//! - `shares`: breakdowns of money by origin, and their exact mixing
//! - `ledger`: the balance of an account in one asset, and what it is made of
//! - `circles`: circles of payments, one after another
//! - `netting`: the payments between accounts that a transaction amounts to
//! - `conversion`: receipts in exchange for another asset that cannot be resolved
//! - `contracts`: money that passes contracts, rule by rule
//! - `bridged`: payouts of bridges and the deposits that they belong to
//! - `bridge_messages`: deposits and payouts of bridges that log the same message
//! - `bridge_search`: search of the deposits that belong to a subject's receipts from bridges
//! - `ends`: the parties at which money ends
//! - `step`: the ledgers after a transaction
//! - `dealings`: direct dealings with listed and risky parties
//! - `history`: the payments of a subject as a check reads them
//! - `view`: one state of an account graph, as checks read it
//! - `unit`: dollars of the day, or an asset without a price
//! - `parts`: sums of a subject's money by endpoint
//! - `received`, `held`, `sent`: the money of a subject
//! - `taken`: funds that parties which harm payers got without the subject's doing
//! - `freezes`: freezes of accounts by issuers of tokens
//! - `delegations`: accounts that lend an account resources, or borrow them from it
//! - `path`: paths that show where money came from
//! - `owners`: accounts that are associated with a subject
//! - `lookalikes`: accounts that look like a subject's counterparties
//! - `unfollowed`: transfers that move no ledger
//! - `exposure`: origins of all money of an account, by asset
//! - `subject`: the facts about a subject
//! - `transfer`: one transfer as the subject of an assessment
//! - `record`: transactions with their transfers, as files and nodes deliver them
//! - `scored`: the table of assets whose money is followed

mod address;
mod asset;
mod bridge_messages;
mod bridge_search;
mod bridged;
mod circles;
mod contract_use;
mod contracts;
mod conversion;
mod dealings;
mod delegations;
mod ends;
mod exposure;
mod freezes;
mod held;
mod history;
mod imitation;
mod ledger;
mod lookalikes;
mod netting;
mod origin;
mod owners;
mod parts;
mod path;
mod price;
mod received;
mod record;
mod scored;
mod sent;
mod shares;
mod step;
mod subject;
mod taken;
mod transfer;
mod unfollowed;
mod unit;
mod view;

pub use address::AccountAddress;
pub use asset::{Asset, AssetId, InvalidAsset};
pub use bridge_search::{BridgeDeposit, BridgedAttributions, JoinedReceipts, OtherChain};
pub use bridged::{BRIDGE_TIME, BridgePayment, unique_pairs};
pub use contracts::{
    AccountState, AccountStates, DayPrices, DayValues, Held, Holding, Lot, Lots, Named, Tie,
};
pub use dealings::{Dealing, DealingKey, Dealings};
pub use delegations::{ResourcePartner, resource_partners};
pub use ends::{MoneyEnd, MoneyEnds, ends_money};
pub use exposure::{AssetExposure, OriginExposure, exposures};
pub use freezes::{FreezeMoment, IssuerFreeze, issuer_freezes};
pub use history::{
    AccountPayments, GROUP_PAYMENTS, PAGE_PAYMENTS, PageOfSums, PaymentSum, PaymentSums,
    ends_group, ends_page, summed_until,
};
pub use imitation::imitated_ticker;
pub use ledger::AccountLedger;
pub use lookalikes::{Lookalike, look_alike, lookalikes_of};
pub use netting::{Edge, Netted, net};
pub use origin::{MoneyOrigin, OriginCode};
pub use owners::{AccountCounterparty, counterparties, is_deposit_address};
pub use price::{
    DayPrice, InvalidPrice, InvalidPriceCause, MAX_CARRIED_DAYS, PriceOfDay, Prices, UsdPrice,
    UsdValue,
};
pub use record::{
    AccountTransaction, BridgeMessage, ChainResource, ContractFact, ContractFactKind,
    DelegationChange, FreezeChange, FreezeEvent, MessageEnd, PublishedPlace, ResourceDelegation,
    Transfer, TransferKind, TransferPlace, UnknownKind,
};
pub(crate) use scored::worth_of_ticker;
pub use scored::{AssetRole, IssueLog, ScoredAsset, scored_asset, scored_assets};
pub use shares::{Hop, MOST_ENTRIES, OriginShare, Shares, WHOLE};
pub use step::{
    AssetNumber, LedgerBook, Movement, MovementKind, NumberedTransaction, Payment, book,
};
pub use subject::{AccountSubject, parse_transaction, transaction_text};
pub use transfer::{
    AccountTransfer, AccountTransferSelector, BookedTransfer, Choices, InvalidAccountTransfer,
};
pub use unfollowed::{UnfollowedTransfer, unfollowed_transfers};
pub(crate) use unit::MICROS_IN_DOLLAR;
pub use unit::{MoneyUnit, Valuation, decimals_of, whole_units};
pub use view::{AccountAttributions, AccountView, MOST_OTHER_TOKENS, MOST_PAYMENTS};
