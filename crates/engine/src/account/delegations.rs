//! Accounts that lend an account resources, or borrow them from it (`docs/model/accounts.md` B19).

use std::collections::{HashMap, HashSet};

use super::{AccountAddress, ChainResource, DelegationChange, view::AccountView};
use crate::{
    facts::AccountRole,
    ledger::{OwnerNumber, TransactionNumber},
};

/// Most transactions with loans of one account that a check reads, the newest ones.
const MOST_TRANSACTIONS: usize = 1_000;

/// An account that lends the subject resources or borrows them from it, by the loans that were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePartner {
    /// The account.
    pub account: AccountAddress,
    /// [`AccountRole::ResourceLender`] or [`AccountRole::ResourceBorrower`].
    pub role: AccountRole,
    /// Transactions with loans between both and their ends, the newest first.
    pub transactions: Vec<TransactionNumber>,
    /// True while a loan is in force.
    pub is_in_force: bool,
}

/// The accounts that lend an account resources or borrow them from it: those with a loan in force first, then by the number
/// of transactions, then the newest first. An account that does both comes twice.
#[must_use]
pub fn resource_partners(view: &dyn AccountView, of: OwnerNumber) -> Vec<ResourcePartner> {
    let Some(own) = view.address(of) else { return Vec::new() };
    let mut partners: HashMap<(AccountAddress, bool), ResourcePartner> = HashMap::new();
    // The newest change of a loan tells whether it is in force.
    let mut settled: HashSet<(AccountAddress, bool, ChainResource)> = HashSet::new();
    for number in view.with_delegations(of, MOST_TRANSACTIONS) {
        let Some(transaction) = view.transaction(number) else { continue };
        for loan in transaction.delegations.iter().rev() {
            let (account, is_lender) = match (loan.lender == own, loan.borrower == own) {
                (true, false) => (loan.borrower, false),
                (false, true) => (loan.lender, true),
                _ => continue,
            };
            let role =
                if is_lender { AccountRole::ResourceLender } else { AccountRole::ResourceBorrower };
            let none =
                ResourcePartner { account, role, transactions: Vec::new(), is_in_force: false };
            let partner = partners.entry((account, is_lender)).or_insert(none);
            if partner.transactions.last() != Some(&number) {
                partner.transactions.push(number);
            }
            let is_newest = settled.insert((account, is_lender, loan.resource));
            partner.is_in_force |= is_newest && loan.change == DelegationChange::Begun;
        }
    }
    let mut partners: Vec<_> = partners.into_values().collect();
    partners.sort_unstable_by(|a, b| {
        let key = |it: &ResourcePartner| {
            (it.is_in_force, it.transactions.len(), it.transactions.first().copied(), it.account)
        };
        key(b).cmp(&key(a))
    });
    partners
}
