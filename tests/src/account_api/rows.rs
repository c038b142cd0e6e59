//! Rows of the lists of accounts.
//!
//! As the explorers have it, a transaction with the coin that it moves itself is a row of the native list, each transfer of the
//! coin within it a row of the internal list, and each transfer of a token a row of the list of tokens. Rewards, withdrawals
//! and records of balances are in no list.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use assay_chain::histories::accounts::{AccountList, FreezeRow, ListOrder};
use assay_engine::account::{
    AccountAddress, AccountTransaction, Asset, ContractFactKind, FreezeChange, Transfer,
    TransferKind,
};
use ruint::aliases::U256;

/// The transactions of a chain by account.
#[derive(Debug)]
pub(super) struct AccountIndex {
    pub(super) transactions: Arc<Vec<AccountTransaction>>,
    /// Index of each transaction in its block.
    positions: Vec<u32>,
    /// The transactions of each account, oldest first.
    of_account: HashMap<AccountAddress, Vec<usize>>,
    /// The accounts that have code.
    contracts: HashSet<AccountAddress>,
}

/// A row of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListedRow<'a> {
    pub(super) transaction: &'a AccountTransaction,
    /// Index of the transaction in its block.
    pub(super) position: u32,
    pub(super) content: RowContent<'a>,
}

/// Content of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowContent<'a> {
    /// A transaction with the coin that it moves itself.
    Transaction(Option<&'a Transfer>),
    /// A transfer of the coin within a transaction, or of a token.
    Transfer(&'a Transfer),
}

impl AccountIndex {
    pub(super) fn new(transactions: Arc<Vec<AccountTransaction>>) -> Self {
        let mut positions = Vec::with_capacity(transactions.len());
        let mut of_account: HashMap<AccountAddress, Vec<usize>> = HashMap::new();
        let mut previous: Option<(u64, u32)> = None;
        for (number, transaction) in transactions.iter().enumerate() {
            let position = match previous {
                Some((block, position)) if block == transaction.block => position + 1,
                _ => 0,
            };
            previous = Some((transaction.block, position));
            positions.push(position);
            let parties = transaction.transfers.iter().flat_map(|it| [it.from, it.to]);
            for party in parties.chain(transaction.initiator) {
                let known = of_account.entry(party).or_default();
                if known.last() != Some(&number) {
                    known.push(number);
                }
            }
        }
        let facts = transactions.iter().flat_map(|transaction| &transaction.contract_facts);
        let with_code = facts.filter(|fact| fact.kind == ContractFactKind::Code);
        let contracts = with_code.map(|fact| fact.contract).collect();
        Self { transactions, positions, of_account, contracts }
    }

    /// Iterates over the rows of a list.
    pub(super) fn rows(
        &self,
        account: AccountAddress,
        list: AccountList,
        order: ListOrder,
    ) -> Box<dyn Iterator<Item = ListedRow<'_>> + '_> {
        let numbers = self.of_account.get(&account).into_iter().flatten();
        match order {
            ListOrder::OldestFirst => {
                Box::new(numbers.flat_map(move |number| self.of(*number, account, list)))
            }
            ListOrder::NewestFirst => Box::new(numbers.rev().flat_map(move |number| {
                let mut rows = self.of(*number, account, list);
                rows.reverse();
                rows
            })),
        }
    }

    /// The rows of one transaction, in its order.
    fn of(&self, number: usize, account: AccountAddress, list: AccountList) -> Vec<ListedRow<'_>> {
        let transaction = &self.transactions[number];
        let position = self.positions[number];
        let row = |content| ListedRow { transaction, position, content };
        let own = own_transfer(transaction);
        let is_own = |it: &Transfer| own.is_some_and(|own| std::ptr::eq(own, it));
        let concerns = |it: &&Transfer| {
            is_listed(it.kind)
                && [it.from, it.to].contains(&account)
                && it.kind != TransferKind::Fee
        };
        let transfers = transaction.transfers.iter().filter(concerns);
        match list {
            AccountList::Native => {
                let is_party = sender(transaction) == Some(account)
                    || own.is_some_and(|own| own.to == account);
                is_party.then(|| row(RowContent::Transaction(own))).into_iter().collect()
            }
            AccountList::Internal => transfers
                .filter(|it| it.asset == Asset::Native && !is_own(it))
                .map(|it| row(RowContent::Transfer(it)))
                .collect(),
            AccountList::Tokens => transfers
                .filter(|it| matches!(it.asset, Asset::Token(_)))
                .map(|it| row(RowContent::Transfer(it)))
                .collect(),
            AccountList::Token(contract) => transfers
                .filter(|it| it.asset == Asset::Token(contract))
                .map(|it| row(RowContent::Transfer(it)))
                .collect(),
        }
    }

    /// True if a transaction states that an account has code.
    pub(super) fn has_code(&self, account: AccountAddress) -> bool {
        self.contracts.contains(&account)
    }

    /// The events that changed freezes of a token in one way, the oldest first.
    pub(super) fn freezes(
        &self,
        token: AccountAddress,
        change: FreezeChange,
    ) -> impl Iterator<Item = FreezeRow> + '_ {
        self.transactions.iter().flat_map(move |transaction| {
            let AccountTransaction { id, block, time, .. } = *transaction;
            let events = transaction.freezes.iter();
            let events =
                events.filter(move |it| it.asset == Asset::Token(token) && it.change == change);
            events.map(move |event| FreezeRow { id, block, time, event: *event })
        })
    }

    /// The newest balance of an account. An account that pays more than it received holds nothing afterwards.
    pub(super) fn balance(&self, account: AccountAddress, asset: Asset) -> U256 {
        let numbers = self.of_account.get(&account).into_iter().flatten();
        let transfers = numbers.flat_map(|number| &self.transactions[*number].transfers);
        let mut balance = U256::ZERO;
        for transfer in transfers.filter(|it| it.asset == asset) {
            if transfer.kind == TransferKind::Balance {
                if transfer.to == account {
                    balance = transfer.amount;
                }
                continue;
            }
            if transfer.from == account {
                balance = balance.saturating_sub(transfer.amount);
            }
            if transfer.to == account {
                balance = balance.saturating_add(transfer.amount);
            }
        }
        balance
    }
}

/// The sender of a transaction: where it is not stated, the payer of the first transfer.
pub(super) fn sender(transaction: &AccountTransaction) -> Option<AccountAddress> {
    let first = transaction.transfers.iter().find(|it| is_listed(it.kind));
    let payer = first.map(|it| it.from).filter(|from| *from != AccountAddress::ZERO);
    transaction.initiator.or(payer)
}

/// The fee that the sender of a transaction pays.
pub(super) fn fee(transaction: &AccountTransaction) -> U256 {
    let fees = transaction.transfers.iter().filter(|it| it.kind == TransferKind::Fee);
    fees.fold(U256::ZERO, |sum, fee| sum.saturating_add(fee.amount))
}

/// The transfer of the coin that a transaction makes itself: the first one of its sender.
fn own_transfer(transaction: &AccountTransaction) -> Option<&Transfer> {
    let sender = sender(transaction)?;
    let mut transfers = transaction.transfers.iter();
    transfers.find(|it| {
        it.asset == Asset::Native
            && it.from == sender
            && it.kind != TransferKind::Fee
            && is_listed(it.kind)
    })
}

const fn is_listed(kind: TransferKind) -> bool {
    !matches!(kind, TransferKind::Reward | TransferKind::Withdrawal | TransferKind::Balance)
}
