//! Rules by which graphs number accounts and assets, and by which transfers become movements: the same in memory and in a
//! store.

use std::sync::Arc;

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, AssetNumber, ContractFactKind, Movement,
        MovementKind, Named, ScoredAsset, Transfer, TransferKind, scored_assets,
    },
    ledger::OwnerNumber,
};
use rustc_hash::FxHashMap;

/// The number of the first token outside the table of scored assets. Scored assets have lower numbers.
pub(super) const FIRST_TOKEN: u32 = AssetNumber::FIRST_OTHER.0;

/// Most units of a token outside the table that one transfer counts: only the parts of units matter, and the sums of all
/// transfers of a transaction stay within 128 bits.
const MOST_UNITS: u128 = 1 << 100;

/// The contract that deposits of Ethereum's validators are paid to, and from which their withdrawals come.
const DEPOSIT_CONTRACT: AccountAddress = AccountAddress([
    0x00, 0x00, 0x00, 0x00, 0x21, 0x9a, 0xb5, 0x40, 0x35, 0x6c, 0xbb, 0x83, 0x9c, 0xbe, 0x05, 0x30,
    0x3d, 0x77, 0x05, 0xfa,
]);

/// The scored assets of a chain, by their numbers.
#[derive(Clone, Debug)]
pub(super) struct ScoredAssets {
    chain: ChainId,
    assets: Arc<[&'static ScoredAsset]>,
    numbers: Arc<FxHashMap<Asset, AssetNumber>>,
}

impl ScoredAssets {
    pub(super) fn of(chain: ChainId) -> Self {
        let assets: Arc<[_]> = scored_assets(chain).take(FIRST_TOKEN as usize).collect();
        let numbers = assets.iter().zip(0..);
        let numbers = numbers.map(|(scored, number)| (scored.id.asset, AssetNumber(number)));
        Self { chain, numbers: Arc::new(numbers.collect()), assets }
    }

    /// The scored asset with a number; `None` for other tokens.
    pub(super) fn get(&self, number: AssetNumber) -> Option<&'static ScoredAsset> {
        self.assets.get(number.0 as usize).copied()
    }

    /// The number of a scored asset; `None` for other tokens.
    pub(super) fn number(&self, asset: Asset) -> Option<AssetNumber> {
        self.numbers.get(&asset).copied()
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &'static ScoredAsset> {
        self.assets.iter().copied()
    }

    fn of_asset(&self, asset: Asset) -> Option<&'static ScoredAsset> {
        self.get(self.number(asset)?)
    }

    /// Passes the accounts of a transaction to `each`, in the order in which they are numbered: the sender, then payer,
    /// receiver and counterpart of each transfer, then contracts with the accounts that they name, frozen accounts, lenders and
    /// borrowers of resources, and of messages the contract, the identifier and the account. An account may come several times.
    pub(super) fn accounts_of(
        &self,
        transaction: &AccountTransaction,
        mut each: impl FnMut(AccountAddress),
    ) {
        let mut pass = |account: AccountAddress| {
            if account != AccountAddress::ZERO {
                each(account);
            }
        };
        transaction.initiator.into_iter().for_each(&mut pass);
        for transfer in &transaction.transfers {
            self.accounts_of_transfer(transfer, &mut pass);
        }
        for fact in &transaction.contract_facts {
            pass(fact.contract);
            pass(fact.account);
        }
        transaction.freezes.iter().for_each(|event| pass(event.account));
        for delegation in &transaction.delegations {
            pass(delegation.lender);
            pass(delegation.borrower);
        }
        for message in &transaction.messages {
            pass(message.contract);
            pass(message.id);
            pass(message.account);
        }
    }

    /// Passes the payer, the receiver and the counterpart of a transfer to `each`, without the zero address.
    pub(super) fn accounts_of_transfer(
        &self,
        transfer: &Transfer,
        mut each: impl FnMut(AccountAddress),
    ) {
        let issuer = self.of_asset(transfer.asset).and_then(|scored| scored.issuer);
        let deposits = (transfer.kind == TransferKind::Withdrawal).then_some(DEPOSIT_CONTRACT);
        let accounts = [Some(transfer.from), Some(transfer.to), issuer, deposits];
        let accounts = accounts.into_iter().flatten();
        accounts.filter(|account| *account != AccountAddress::ZERO).for_each(&mut each);
    }

    /// The movements of a transaction: transfers in their order, without those of more than 128 bits. New and destroyed
    /// units of a token come from and go to its issuer. `owner` tells the number of an account, `token` that of a token
    /// outside the table.
    pub(super) fn movements(
        &self,
        transaction: &AccountTransaction,
        owner: impl Fn(AccountAddress) -> OwnerNumber,
        token: impl Fn(Asset) -> AssetNumber,
        into: &mut Vec<Movement>,
    ) {
        into.clear();
        for transfer in &transaction.transfers {
            let scored_number = self.number(transfer.asset);
            let scored = scored_number.and_then(|number| self.get(number));
            let amount = match u128::try_from(transfer.amount) {
                Ok(amount) if scored.is_some() => amount,
                Ok(amount) => amount.min(MOST_UNITS),
                Err(_) if scored.is_none() => MOST_UNITS,
                Err(_) => continue,
            };
            let asset = scored_number.unwrap_or_else(|| token(transfer.asset));
            let of_nobody = match (scored.and_then(|scored| scored.issuer), transfer.kind) {
                (Some(issuer), _) => owner(issuer),
                // Withdrawals of validators come from the deposits.
                (None, TransferKind::Withdrawal) if self.chain == ChainId::ETH => {
                    owner(DEPOSIT_CONTRACT)
                }
                (None, _) => OwnerNumber::NOBODY,
            };
            let number = |account: AccountAddress| {
                if account == AccountAddress::ZERO { of_nobody } else { owner(account) }
            };
            let (from, to) = (number(transfer.from), number(transfer.to));
            let kind = match transfer.kind {
                TransferKind::Fee => MovementKind::Fee,
                TransferKind::Balance => MovementKind::Balance,
                // New units of a dollar token are of unknown origin.
                _ if from == OwnerNumber::NOBODY
                    && (scored.is_none() || transfer.asset == Asset::Native) =>
                {
                    MovementKind::New
                }
                _ => MovementKind::Payment,
            };
            into.push(Movement { kind, asset, is_scored: scored.is_some(), from, to, amount });
        }
    }
}

/// Passes the accounts that a transaction shows to have code to `each`, by their numbers: an account may come several times.
pub(super) fn contracts_of(
    transaction: &AccountTransaction,
    owner: impl Fn(AccountAddress) -> OwnerNumber,
    mut each: impl FnMut(OwnerNumber),
) {
    let created = transaction.transfers.iter().filter(|it| it.kind == TransferKind::Create);
    for transfer in created.filter(|it| it.to != AccountAddress::ZERO) {
        each(owner(transfer.to));
    }
    let facts = transaction.contract_facts.iter();
    for fact in facts.filter(|fact| fact.kind == ContractFactKind::Code) {
        each(owner(fact.contract));
    }
}

/// The accounts that events of contracts name in a transaction, by their numbers.
pub(super) fn named_of(
    transaction: &AccountTransaction,
    owner: impl Fn(AccountAddress) -> OwnerNumber,
) -> Vec<Named> {
    let facts = transaction.contract_facts.iter();
    let naming = facts.filter(|fact| fact.kind != ContractFactKind::Code);
    let named = naming.map(|fact| Named {
        contract: owner(fact.contract),
        kind: fact.kind,
        account: owner(fact.account),
    });
    named.filter(|named| named.account != OwnerNumber::NOBODY).collect()
}

/// True for the creation of a contract by an account.
pub(super) fn is_creation(transfer: &Transfer) -> bool {
    let accounts = [transfer.from, transfer.to];
    transfer.kind == TransferKind::Create && !accounts.contains(&AccountAddress::ZERO)
}

/// Counts of recorded transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// Blocks, counting those that were recorded without transfers.
    pub blocks: u64,
    /// Transactions, counting the records of a block outside of transactions as one.
    pub transactions: u64,
    /// Transfers.
    pub transfers: u64,
    /// Transfers of tokens outside the table of scored assets.
    pub of_other_tokens: u64,
    /// Transfers of more than 128 bits, which are shown and move no ledger.
    pub too_large: u64,
    /// Transactions without a stated sender, records outside of transactions aside.
    pub without_initiator: u64,
    /// Transfers of the native coin inside of transactions.
    pub internal: u64,
    /// Times at which an account was shown to have code.
    pub contracts: u64,
}

impl RecordCounts {
    /// Adds a transaction.
    pub(super) fn add(&mut self, scored: &ScoredAssets, transaction: &AccountTransaction) {
        let is_of_block = transaction.id == AccountTransaction::id_of_block(transaction.block);
        self.transactions += 1;
        contracts_of(transaction, |_| OwnerNumber::NOBODY, |_| self.contracts += 1);
        self.without_initiator += u64::from(transaction.initiator.is_none() && !is_of_block);
        for transfer in &transaction.transfers {
            let is_native = transfer.asset == Asset::Native;
            let is_internal = is_native
                && matches!(transfer.kind, TransferKind::Transfer | TransferKind::Create)
                && transaction.initiator.is_some_and(|initiator| initiator != transfer.from);
            self.transfers += 1;
            self.of_other_tokens += u64::from(scored.number(transfer.asset).is_none());
            self.too_large += u64::from(u128::try_from(transfer.amount).is_err());
            self.internal += u64::from(is_internal);
        }
    }
}
