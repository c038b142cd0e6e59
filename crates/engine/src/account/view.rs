//! One state of an account graph, as checks read it.

use std::sync::Arc;

use assay_address::ChainId;
use jiff::Timestamp;

use super::{
    AccountAddress, AccountState, AccountTransaction, Asset, ScoredAsset, TransferPlace,
    bridge_search::BridgeDeposit,
    dealings::{Dealing, DealingKey},
    history::AccountPayments,
    ledger::AccountLedger,
    step::{AssetNumber, Payment},
};
use crate::{
    evidence::CarriedLabel,
    ledger::{OwnerNumber, TransactionNumber},
    trace::Attribution,
    utxo::Txid,
};

/// Most payments of a subject that a check reads one by one.
pub const MOST_PAYMENTS: usize = 10_000;
/// Most transactions of a subject that a check reads for tokens outside the table of scored assets, and for transfers of
/// nothing.
pub const MOST_OTHER_TOKENS: usize = 10_000;

/// One state of an account graph. Numbers of transactions grow in the order of the chain. Answers are owned: a view may
/// decode them from a store. Each list of answers has a budget.
///
/// A view that cannot read its store gives empty answers; its owner tells whether it could.
pub trait AccountView: Send + Sync {
    /// The chain.
    fn chain(&self) -> ChainId;
    /// The time of a transaction's block.
    fn time(&self, transaction: TransactionNumber) -> Timestamp;
    /// The identifier of a transaction.
    fn txid(&self, transaction: TransactionNumber) -> Txid;
    /// The number of the newest transaction with an identifier.
    fn find(&self, id: &Txid) -> Option<TransactionNumber>;
    /// A transaction with its transfers.
    fn transaction(&self, number: TransactionNumber) -> Option<AccountTransaction>;
    /// The number of an account; `None` if it never appeared.
    fn owner(&self, account: AccountAddress) -> Option<OwnerNumber>;
    /// The address of an account; `None` for nobody.
    fn address(&self, owner: OwnerNumber) -> Option<AccountAddress>;
    /// An asset that the chain had, or a scored one.
    fn asset(&self, asset: AssetNumber) -> Option<Asset>;
    /// An asset whose money is followed; `None` for any other token.
    fn scored(&self, asset: AssetNumber) -> Option<&'static ScoredAsset> {
        asset.scored(self.chain())
    }
    /// The newest `most` payments of an account in both directions and all followed assets, in the order of the chain:
    /// by transaction, then by [`Payment::sequence`].
    fn payments(&self, of: OwnerNumber, most: usize) -> AccountPayments;
    /// The payments of an account in both directions and all followed assets: about the newest `most` one by one, whole
    /// pages of older ones as sums.
    fn history(&self, of: OwnerNumber, most: usize) -> AccountPayments;
    /// Number of the payments of an account in both directions and all followed assets.
    fn payment_count(&self, of: OwnerNumber) -> u64;
    /// The payments of an account in one asset before a transaction, in both directions, the newest first, at most `most`.
    fn payments_before(
        &self,
        of: OwnerNumber,
        asset: AssetNumber,
        before: TransactionNumber,
        most: usize,
    ) -> Vec<Payment>;
    /// The payments of an account in one asset from a transaction on, in both directions, the oldest first, at most `most`.
    fn payments_from(
        &self,
        of: OwnerNumber,
        asset: AssetNumber,
        from: TransactionNumber,
        most: usize,
    ) -> Vec<Payment>;
    /// The payments as which a transaction is booked, by [`Payment::sequence`].
    fn payments_of_transaction(&self, transaction: TransactionNumber) -> Vec<Payment>;
    /// The place of a payment's first transfer to its receiver, if the payment is one of the transaction's transfers.
    fn transfer_place(&self, payment: &Payment) -> Option<TransferPlace> {
        let asset = self.asset(payment.asset)?;
        let to = self.address(payment.to)?;
        let transfers = self.transaction(payment.transaction)?.transfers.into_iter();
        let mut of_receiver = transfers.filter(|it| it.asset == asset && it.to == to);
        of_receiver.next().map(|transfer| transfer.place)
    }
    /// The ledgers of an account, by the numbers of their assets.
    fn ledgers(&self, of: OwnerNumber) -> Vec<(AssetNumber, AccountLedger)>;
    /// The direct dealings of an account with listed and risky parties.
    fn dealings(&self, of: OwnerNumber) -> Vec<(DealingKey, Dealing)>;
    /// The newest transactions of an account that transfer tokens outside the table, or nothing, the newest first, at most
    /// `most`.
    fn with_other_tokens(&self, of: OwnerNumber, most: usize) -> Vec<TransactionNumber>;
    /// The newest transactions in which issuers of tokens froze an account or ended a freeze, the newest first, at most
    /// `most`.
    fn with_freezes(&self, of: OwnerNumber, most: usize) -> Vec<TransactionNumber>;
    /// The newest transactions by which an account lent or borrowed resources, or by which a loan of it ended, the newest
    /// first, at most `most`.
    fn with_delegations(&self, of: OwnerNumber, most: usize) -> Vec<TransactionNumber>;
    /// The newest transactions with a message between chains, the newest first, at most `most`. Its
    /// identifier has the number of an account.
    fn with_message(&self, of: OwnerNumber, most: usize) -> Vec<TransactionNumber>;
    /// The account that created a contract.
    fn deployer(&self, contract: OwnerNumber) -> Option<OwnerNumber>;
    /// The first contracts that an account created, in the order of the chain, at most `most`.
    fn deployed(&self, by: OwnerNumber, most: usize) -> Vec<OwnerNumber>;
    /// The state of an account beside its ledgers: its code, and the tokens and claims that it holds.
    fn state(&self, of: OwnerNumber) -> AccountState;
    /// True for an account that is known to have code.
    fn is_contract(&self, of: OwnerNumber) -> bool {
        self.state(of).is_contract
    }
    /// True if any account is known to have code, so that money is followed through contracts.
    fn knows_contracts(&self) -> bool;
    /// True if transfers of the native coin inside of transactions are recorded.
    fn has_internal_transfers(&self) -> bool;
    /// Times of blocks in which transfers of the native coin inside of transactions are not recorded, although they are in others: those of
    /// the first and the last block of each range, in their order.
    fn internal_gaps(&self) -> Vec<(Timestamp, Timestamp)> {
        Vec::new()
    }
    /// True if the sender of each transaction is recorded.
    fn has_initiators(&self) -> bool;
}

/// Attributions of accounts by the lists, labels and policy of a check.
pub trait AccountAttributions: Send + Sync {
    /// The attribution of an account; `None` if lists and labels do not name it.
    fn of_account(&self, owner: OwnerNumber) -> Option<Arc<Attribution>>;

    /// The name of an account by lists and labels in force, also by weak ones; `None` without a name. Names decide nothing.
    fn name_of(&self, _: OwnerNumber) -> Option<Arc<str>> {
        None
    }

    /// The label that payments of an account carry because issuers of tokens froze it, with the time from which they do; `None` if no
    /// freeze is in force.
    fn freeze_of(&self, _: OwnerNumber) -> Option<(Timestamp, CarriedLabel)> {
        None
    }

    /// The deposit on another chain to which a receipt of the subject from a bridge was joined; `None` if it was not.
    fn deposit_of(&self, _: &Payment) -> Option<BridgeDeposit<'_>> {
        None
    }

    /// The chains on which the deposits of receipts from bridges were searched.
    fn searched_chains(&self) -> Vec<ChainId> {
        Vec::new()
    }
}
