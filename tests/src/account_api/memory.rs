//! Histories of single accounts within the process, without HTTP.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use assay_chain::{
    SourceError,
    histories::accounts::{
        AccountHistorySource, AccountPage, AccountRow, ApiAbilities, ApiTip, FreezePage, FreezeRow,
        FreezeSignature, PagePosition, PageRequest,
    },
};
use assay_engine::account::{
    AccountAddress, AccountTransaction, Asset, Transfer, TransferKind, TransferPlace,
};
use ruint::aliases::U256;

use super::rows::{AccountIndex, ListedRow, RowContent, fee, sender};

/// Source of the histories of the accounts of a generated chain. It states what Etherscan's API states, and counts its requests.
#[derive(Debug)]
pub struct MemoryHistories {
    index: AccountIndex,
    abilities: ApiAbilities,
    requests: AtomicUsize,
}

impl MemoryHistories {
    /// The histories of transactions in the order of the chain, with pages of 1,000 rows.
    #[must_use]
    pub fn new(transactions: Arc<Vec<AccountTransaction>>) -> Self {
        let abilities = ApiAbilities {
            orders: true,
            internal_transfers: true,
            log_indexes: false,
            positions: true,
            oldest_first: true,
            page_rows: 1_000,
        };
        Self { index: AccountIndex::new(transactions), abilities, requests: AtomicUsize::new(0) }
    }

    /// The same histories of an API with other abilities.
    #[must_use]
    pub fn with_abilities(self, abilities: ApiAbilities) -> Self {
        Self { abilities, ..self }
    }

    /// Number of requests so far.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    fn count(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    fn row(&self, listed: ListedRow<'_>, account: AccountAddress) -> AccountRow {
        let ListedRow { transaction, position, content } = listed;
        // An account with code sends nothing itself: somebody else does in its name.
        let sender = sender(transaction).filter(|it| !self.index.has_code(*it));
        let mut transfers = Vec::new();
        let is_internal = matches!(content, RowContent::Transfer(it) if it.asset == Asset::Native);
        let initiator = match content {
            RowContent::Transaction(own) => {
                transfers.extend(own.map(|own| self.stated(own)));
                let fee = fee(transaction);
                if let Some(from) = sender.filter(|it| *it == account && !fee.is_zero()) {
                    transfers.push(Transfer {
                        kind: TransferKind::Fee,
                        asset: Asset::Native,
                        from,
                        to: AccountAddress::ZERO,
                        amount: fee,
                        place: TransferPlace::default(),
                    });
                }
                sender
            }
            RowContent::Transfer(transfer) => {
                transfers.push(self.stated(transfer));
                None
            }
        };
        AccountRow {
            id: transaction.id,
            block: transaction.block,
            time: transaction.time,
            position: Some(position).filter(|_| self.abilities.positions && !is_internal),
            initiator,
            transfers,
            freezes: Vec::new(),
        }
    }

    fn stated(&self, transfer: &Transfer) -> Transfer {
        let known = self.abilities.log_indexes.then(|| transfer.place.clone());
        let place = known.unwrap_or_default();
        Transfer { place, ..transfer.clone() }
    }
}

impl AccountHistorySource for MemoryHistories {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn abilities(&self) -> ApiAbilities {
        self.abilities
    }

    fn tip(&self) -> Result<ApiTip, SourceError> {
        self.count();
        let newest = self.index.transactions.last();
        let tip = newest.map(|newest| ApiTip { height: newest.block, time: Some(newest.time) });
        Ok(tip.unwrap_or(ApiTip { height: 0, time: None }))
    }

    fn page(&self, request: &PageRequest) -> Result<AccountPage, SourceError> {
        self.count();
        let PageRequest { account, list, order, after } = request;
        let passed = after.as_ref().map_or(0, |PagePosition(rows)| {
            rows.parse::<usize>().expect("the source gave the position")
        });
        let mut rest = self.index.rows(*account, *list, *order).skip(passed);
        let page = rest.by_ref().take(self.abilities.page_rows);
        let rows: Vec<_> = page.map(|listed| self.row(listed, *account)).collect();
        let next = rest.next().map(|_| PagePosition((passed + rows.len()).to_string()));
        Ok(AccountPage { rows, next })
    }

    fn balance(&self, account: AccountAddress, asset: Asset) -> Result<Option<U256>, SourceError> {
        self.count();
        Ok(Some(self.index.balance(account, asset)))
    }

    fn freezes(
        &self,
        token: AccountAddress,
        signature: &'static FreezeSignature,
        after: Option<&PagePosition>,
    ) -> Result<Option<FreezePage>, SourceError> {
        self.count();
        let all = self.index.freezes(token, signature.change);
        let from = after.and_then(|position| position.0.parse().ok()).unwrap_or(0);
        let mut rows: Vec<FreezeRow> = all.skip(from).take(self.abilities.page_rows + 1).collect();
        let is_more = rows.len() > self.abilities.page_rows;
        rows.truncate(self.abilities.page_rows);
        let next = is_more.then(|| PagePosition((from + rows.len()).to_string()));
        Ok(Some(FreezePage { rows, next }))
    }

    fn has_code(&self, account: AccountAddress) -> Result<Option<bool>, SourceError> {
        self.count();
        Ok(Some(self.index.has_code(account)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use assay_chain::histories::accounts::{AccountList, ListOrder};

    use super::*;
    use crate::accounts::{AccountChain, ETH, ETHER, USDT, contract};

    const PEER: AccountAddress = AccountAddress([7; 20]);

    fn all(source: &MemoryHistories, list: AccountList, order: ListOrder) -> Vec<AccountRow> {
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let request = PageRequest { account: PEER, list, order, after };
            let page = source.page(&request).unwrap();
            rows.extend(page.rows);
            after = page.next;
            if after.is_none() {
                return rows;
            }
        }
    }

    #[test]
    fn lists_have_each_transfer_of_an_account_once() {
        let mut chain = AccountChain::new();
        let other = AccountAddress([8; 20]);
        chain.record(
            None,
            vec![crate::accounts::move_of(
                TransferKind::Reward,
                (AccountAddress::ZERO, PEER, ETH, 9 * ETHER),
            )],
            vec![],
        );
        for each in 0..5 {
            let moves = [
                (PEER, other, ETH, 1),
                (PEER, other, ETH, 2),
                (other, PEER, ETH, 3),
                (PEER, other, USDT, 4),
            ];
            let moves =
                moves.map(|moved| crate::accounts::move_of(TransferKind::Transfer, moved)).to_vec();
            chain.record(Some(if each == 0 { other } else { PEER }), moves, vec![]);
        }
        let source = MemoryHistories::new(Arc::new(chain.transactions().to_vec()));
        let abilities = ApiAbilities { page_rows: 2, ..source.abilities };
        let source = source.with_abilities(abilities);
        let lists = [
            AccountList::Native,
            AccountList::Internal,
            AccountList::Tokens,
            AccountList::Token(contract(USDT)),
        ];
        let mut amounts: BTreeMap<_, usize> = BTreeMap::new();
        for (list, expected) in lists.into_iter().zip([5, 10, 5, 5]) {
            let rows = all(&source, list, ListOrder::OldestFirst);
            assert_eq!(rows.len(), expected, "{list:?}");
            let mut reversed = all(&source, list, ListOrder::NewestFirst);
            reversed.reverse();
            assert_eq!(rows, reversed);
            for row in &rows {
                for transfer in &row.transfers {
                    *amounts.entry(transfer.amount).or_default() += 1;
                }
            }
        }
        let counts: Vec<_> = amounts.into_values().collect();
        assert_eq!(counts, [5, 5, 5, 10]);
        assert!(source.requests() > 20);
    }
}
