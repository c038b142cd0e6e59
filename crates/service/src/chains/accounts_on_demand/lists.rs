//! Lists of accounts' transfers that were read, and what they tell for certain.

use std::collections::{BTreeMap, BTreeSet};

use assay_chain::histories::accounts::{
    AccountList, AccountPage, AccountRow, ListOrder, PagePosition, PageRequest,
};
use assay_engine::account::{AccountAddress, Asset};
use ruint::aliases::U256;

/// Blocks by which the lists of an API may lag behind the newest block that it states.
const INDEX_LAG: u64 = 20;

/// One list, as far as it was read from one end.
#[derive(Clone, Debug)]
pub(super) struct ReadList {
    /// The order in which it was read.
    pub(super) order: ListOrder,
    /// The rows, in that order.
    pub(super) rows: Vec<AccountRow>,
    /// Number of pages, each of one request.
    pub(super) pages: u32,
    /// The position of the next page; `None` if the list was read whole.
    next: Option<PagePosition>,
    /// The newest block that the API knew at the first page.
    tip: u64,
}

impl ReadList {
    /// True if the list was read up to its last row.
    pub(super) const fn is_whole(&self) -> bool {
        self.next.is_none()
    }

    /// The first block of which rows may be missing, reading from the oldest row on. `indexed` is a block up to which the API had
    /// lists when it gave this one: its newest block may be ahead of its lists.
    pub(super) fn read_until(&self, indexed: u64) -> u64 {
        if self.is_whole() {
            let newest = self.newest_row().max(indexed);
            return self.tip.saturating_sub(INDEX_LAG).max(newest).saturating_add(1);
        }
        match self.order {
            ListOrder::OldestFirst => self.rows.last().map_or(0, |row| row.block),
            ListOrder::NewestFirst => 0,
        }
    }

    /// Block of the newest row; 0 without rows.
    fn newest_row(&self) -> u64 {
        let ends = [self.rows.first(), self.rows.last()].into_iter().flatten();
        ends.map(|row| row.block).max().unwrap_or(0)
    }

    /// Blocks that a page spans, at least one.
    pub(super) fn blocks_of_page(&self) -> u64 {
        let span = self.rows.first().zip(self.rows.last());
        let span = span.map_or(0, |(first, last)| last.block.abs_diff(first.block));
        (span / u64::from(self.pages.max(1))).max(1)
    }
}

/// All lists that were read, and the accounts that are known to have code or none.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadLists {
    lists: BTreeMap<(AccountAddress, AccountList), ReadList>,
    /// Answers to the question for code; `None` where the API does not state it.
    code: BTreeMap<AccountAddress, Option<bool>>,
    /// Balances as the API states them; `None` where it does not.
    balances: BTreeMap<(AccountAddress, Asset), Option<U256>>,
    /// Accounts that sent transactions, which have no code.
    senders: BTreeSet<AccountAddress>,
    /// Block of the newest row of any list, by the newest block that the API stated before it gave the list.
    indexed: BTreeMap<u64, u64>,
}

impl ReadLists {
    /// Adds a page, which the list's next request asked for.
    pub(super) fn add(&mut self, request: &PageRequest, page: AccountPage, tip: u64) {
        let key = (request.account, request.list);
        self.senders.extend(page.rows.iter().filter_map(|row| row.initiator));
        let list = self.lists.entry(key).or_insert_with(|| ReadList {
            order: request.order,
            rows: Vec::new(),
            pages: 0,
            next: None,
            tip,
        });
        if request.order == ListOrder::OldestFirst {
            list.tip = tip;
        }
        list.rows.extend(page.rows);
        list.pages += 1;
        list.next = page.next;
        let newest = self.indexed.entry(list.tip).or_default();
        *newest = list.newest_row().max(*newest);
    }

    /// A block up to which the API had lists when it stated a newest block, then or before.
    fn indexed(&self, tip: u64) -> u64 {
        self.indexed.range(..=tip).map(|(_, block)| *block).max().unwrap_or(0)
    }

    /// The first block of which rows of a list may be missing; 0 for a list that was not read.
    pub(super) fn list_until(&self, account: AccountAddress, list: AccountList) -> u64 {
        self.get(account, list).map_or(0, |read| read.read_until(self.indexed(read.tip)))
    }

    /// True if an account's lists of an asset were read whole.
    pub(super) fn is_whole(&self, account: AccountAddress, asset: Asset, internal: bool) -> bool {
        let is_whole = |list| self.get(account, list).is_some_and(ReadList::is_whole);
        match asset {
            Asset::Native => lists_of(asset, internal).into_iter().all(is_whole),
            Asset::Token(contract) => {
                is_whole(AccountList::Token(contract)) || is_whole(AccountList::Tokens)
            }
            Asset::Numbered(_) => false,
        }
    }

    pub(super) fn get(&self, account: AccountAddress, list: AccountList) -> Option<&ReadList> {
        self.lists.get(&(account, list))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ((AccountAddress, AccountList), &ReadList)> {
        self.lists.iter().map(|(key, list)| (*key, list))
    }

    /// Adds an answer to the question whether an account has code.
    pub(super) fn add_code(&mut self, account: AccountAddress, has_code: Option<bool>) {
        self.code.insert(account, has_code);
    }

    /// Adds a balance that the API states.
    pub(super) fn add_balance(&mut self, account: AccountAddress, asset: Asset, of: Option<U256>) {
        self.balances.insert((account, asset), of);
    }

    /// The balance that the API states; `None` if it states none or was not asked.
    pub(super) fn balance(&self, account: AccountAddress, asset: Asset) -> Option<U256> {
        self.balances.get(&(account, asset)).copied().flatten()
    }

    /// True if it was not asked yet for a balance.
    pub(super) fn asks_for_balance(&self, account: AccountAddress, asset: Asset) -> bool {
        !self.balances.contains_key(&(account, asset))
    }

    /// True if an account has code; `None` if it is not known.
    pub(super) fn has_code(&self, account: AccountAddress) -> Option<bool> {
        if self.senders.contains(&account) {
            return Some(false);
        }
        self.code.get(&account).copied().flatten()
    }

    /// The accounts that are known to have code.
    pub(super) fn contracts(&self) -> impl Iterator<Item = AccountAddress> {
        self.code.keys().copied().filter(|account| self.has_code(*account) == Some(true))
    }

    /// True if it was not asked yet whether an account has code.
    pub(super) fn asks_for_code(&self, account: AccountAddress) -> bool {
        self.has_code(account).is_none() && !self.code.contains_key(&account)
    }

    /// The request for the next page of a list; `None` if it was read whole.
    pub(super) fn next(
        &self,
        account: AccountAddress,
        list: AccountList,
        order: ListOrder,
    ) -> Option<PageRequest> {
        let Some(known) = self.get(account, list) else {
            return Some(PageRequest { account, list, order, after: None });
        };
        let after = Some(known.next.clone()?);
        Some(PageRequest { account, list, order: known.order, after })
    }

    /// The first block of which payments of an account in an asset may be missing; 0 if nothing was read, and for a contract, whose
    /// money has other rules than those that lists can tell. `internal` tells whether the API has transfers inside of
    /// transactions.
    pub(super) fn read_until(&self, account: AccountAddress, asset: Asset, internal: bool) -> u64 {
        if self.has_code(account) != Some(false) {
            return 0;
        }
        self.rows_until(account, asset, internal)
    }

    /// The first block of which rows of an account in an asset may be missing; 0 if nothing was read.
    pub(super) fn rows_until(&self, account: AccountAddress, asset: Asset, internal: bool) -> u64 {
        let until = |list| self.list_until(account, list);
        match asset {
            Asset::Native if internal => {
                until(AccountList::Native).min(until(AccountList::Internal))
            }
            Asset::Native => until(AccountList::Native),
            Asset::Token(contract) => {
                until(AccountList::Token(contract)).max(until(AccountList::Tokens))
            }
            Asset::Numbered(_) => 0,
        }
    }

    /// Number of rows of an account.
    pub(super) fn rows_of(&self, account: AccountAddress) -> usize {
        let own = self.iter().filter(|((of, _), _)| *of == account);
        own.map(|(_, list)| list.rows.len()).sum()
    }

    /// The rows of all lists.
    pub(super) fn into_rows(self) -> Vec<AccountRow> {
        self.lists.into_values().flat_map(|list| list.rows).collect()
    }

    /// Number of accounts of which a list was read.
    pub(super) fn accounts(&self) -> usize {
        let mut accounts: Vec<_> = self.lists.keys().map(|(account, _)| *account).collect();
        accounts.dedup();
        accounts.len()
    }

    /// Number of requests that were needed: one for each page, and for each question for code or a balance.
    pub(super) fn requests(&self) -> u32 {
        let pages: u32 = self.lists.values().map(|list| list.pages).sum();
        let others = self.code.len() + self.balances.len();
        pages.saturating_add(u32::try_from(others).unwrap_or(u32::MAX))
    }
}

/// The lists that state what an account pays and gets in an asset.
pub(super) fn lists_of(asset: Asset, internal: bool) -> Vec<AccountList> {
    match asset {
        Asset::Native if internal => vec![AccountList::Native, AccountList::Internal],
        Asset::Native => vec![AccountList::Native],
        Asset::Token(contract) => vec![AccountList::Token(contract)],
        Asset::Numbered(_) => Vec::new(),
    }
}
