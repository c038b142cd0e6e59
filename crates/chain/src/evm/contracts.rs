//! Contracts among the accounts of a block.
//!
//! An account that logs an event, or that calls another one inside of a transaction, runs code. The account of a key that delegates
//! to code (EIP-7702) does that too, and only the chain's state tells them apart: its code is a delegation. An account is one or
//! the other for ever, whatever block is read first.

use std::collections::BTreeSet;

use assay_engine::{
    account::{AccountAddress, AccountTransaction, ContractFact, TransferKind},
    ledger::BlockRef,
};
use assay_graph::account::{AccountBlock, InternalTransfers};

use super::trace::{CallKind, TransactionTrace};

/// A block of which the contracts are still to be told from other accounts that ran code.
#[derive(Debug)]
pub(super) struct BookedBlock {
    pub(super) reference: BlockRef,
    pub(super) transactions: Vec<BookedTransaction>,
    pub(super) internal: InternalTransfers,
}

/// A transaction of such a block.
#[derive(Debug)]
pub(super) struct BookedTransaction {
    /// The transaction, with what events of the table name.
    pub(super) transaction: AccountTransaction,
    /// Accounts that ran code in it.
    pub(super) ran: BTreeSet<AccountAddress>,
    /// Accounts that topics of logs name, of which contracts are left out: they are parts of a protocol.
    pub(super) named: Vec<ContractFact>,
}

impl From<AccountTransaction> for BookedTransaction {
    /// Books a transaction in which no code ran.
    fn from(transaction: AccountTransaction) -> Self {
        Self { transaction, ran: BTreeSet::new(), named: Vec::new() }
    }
}

impl BookedTransaction {
    /// The contracts that the transaction created.
    fn created(&self) -> BTreeSet<AccountAddress> {
        let transfers = self.transaction.transfers.iter();
        transfers.filter(|it| it.kind == TransferKind::Create).map(|it| it.to).collect()
    }

    /// The accounts of the transaction that ran code, without those that it created.
    fn candidates(&self) -> impl Iterator<Item = AccountAddress> + '_ {
        let created = self.created();
        let parties = self.transaction.transfers.iter().flat_map(|it| [it.from, it.to]);
        let facts = self.transaction.contract_facts.iter().chain(&self.named);
        let named = facts.flat_map(|fact| [fact.contract, fact.account]);
        let all: BTreeSet<_> = parties.chain(named).collect();
        let is_candidate = move |account: &AccountAddress| {
            self.ran.contains(account) && !created.contains(account)
        };
        all.into_iter().filter(is_candidate)
    }

    fn settle(self, is_contract: &impl Fn(&AccountAddress) -> bool) -> AccountTransaction {
        let contracts: BTreeSet<_> = self.candidates().filter(is_contract).collect();
        let created = self.created();
        let Self { mut transaction, named, .. } = self;
        let is_other = |fact: &ContractFact| {
            !contracts.contains(&fact.account) && !created.contains(&fact.account)
        };
        let facts = &mut transaction.contract_facts;
        facts.extend(named.into_iter().filter(is_other));
        facts.extend(contracts.iter().copied().map(ContractFact::code));
        facts.sort_unstable();
        facts.dedup();
        transaction
    }
}

/// Adds facts about contracts to a transaction of a chain on which all code is that of contracts. `ran` are the accounts that ran
/// code, and `named` are accounts that topics of logs name.
pub(crate) fn with_contract_facts(
    transaction: AccountTransaction,
    ran: BTreeSet<AccountAddress>,
    named: Vec<ContractFact>,
) -> AccountTransaction {
    BookedTransaction { transaction, ran, named }.settle(&|_: &AccountAddress| true)
}

impl BookedBlock {
    /// The accounts that ran code, of which the chain's state says whether they are contracts.
    pub(super) fn candidates(&self) -> BTreeSet<AccountAddress> {
        self.transactions.iter().flat_map(BookedTransaction::candidates).collect()
    }

    /// The block. `is_contract` says of each candidate whether it is a contract.
    pub(super) fn settle(self, is_contract: impl Fn(&AccountAddress) -> bool) -> AccountBlock {
        let Self { reference, transactions, internal } = self;
        let settled = transactions.into_iter().map(|it| it.settle(&is_contract));
        AccountBlock { reference, transactions: settled.collect(), internal }
    }
}

impl TransactionTrace {
    /// The accounts that called another one inside of the transaction. Contracts that come with the chain are left out as receivers:
    /// tracers differ about calls of these.
    pub(super) fn callers(&self) -> impl Iterator<Item = AccountAddress> + '_ {
        let calls = self.calls.iter().filter(|call| {
            let is_inner = call.above.is_some() && !call.is_failed && !self.is_of_other(call);
            let is_call = call.kind != CallKind::SelfDestruct;
            is_inner && is_call && !call.to.is_some_and(comes_with_the_chain)
        });
        calls.map(|call| call.from)
    }
}

/// True for the low addresses at which chains have functions of their own (precompiled contracts).
fn comes_with_the_chain(account: AccountAddress) -> bool {
    account.0.first_chunk::<18>() == Some(&[0; 18])
}
