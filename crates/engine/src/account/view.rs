//! One state of an account graph, as checks read it.

use std::sync::Arc;

use assay_address::ChainId;
use jiff::Timestamp;

use super::{
    AccountAddress, ScoredAsset, TransferPlace,
    dealings::{Dealing, DealingKey},
    ledger::AccountLedger,
    step::{AssetNumber, Payment},
};
use crate::{
    ledger::{OwnerNumber, TransactionNumber},
    trace::Attribution,
    utxo::Txid,
};

/// One state of an account graph. Numbers of transactions grow in the order of the chain.
pub trait AccountView: Send + Sync {
    /// The chain.
    fn chain(&self) -> ChainId;
    /// The time of a transaction's block.
    fn time(&self, transaction: TransactionNumber) -> Timestamp;
    /// The identifier of a transaction.
    fn txid(&self, transaction: TransactionNumber) -> Txid;
    /// The address of an account; `None` for nobody.
    fn address(&self, owner: OwnerNumber) -> Option<AccountAddress>;
    /// An asset whose money is followed; `None` for any other token.
    fn scored(&self, asset: AssetNumber) -> Option<&'static ScoredAsset>;
    /// The payments of an account in both directions, in the order of the chain.
    fn payments(
        &self,
        of: OwnerNumber,
    ) -> Box<dyn DoubleEndedIterator<Item = &Payment> + Send + '_>;
    /// The place of a payment's first transfer to its receiver, if the payment is one of the transaction's transfers.
    fn transfer_place(&self, payment: &Payment) -> Option<TransferPlace>;
    /// The ledgers of an account.
    fn ledgers(&self, of: OwnerNumber) -> Vec<(AssetNumber, AccountLedger)>;
    /// The direct dealings of an account with listed and risky parties.
    fn dealings(&self, of: OwnerNumber) -> Vec<(DealingKey, Dealing)>;
    /// True if transfers of the native coin inside of transactions are recorded.
    fn has_internal_transfers(&self) -> bool;
    /// True if the sender of each transaction is recorded.
    fn has_initiators(&self) -> bool;
}

/// Attributions of accounts by the lists, labels and policy of a check.
pub trait AccountAttributions: Send + Sync {
    /// The attribution of an account; `None` if lists and labels do not name it.
    fn of_account(&self, owner: OwnerNumber) -> Option<Arc<Attribution>>;
}
