//! The part of a chain that lists of accounts' transfers tell, as a graph in memory.

use std::collections::{BTreeMap, BTreeSet};

use assay_address::ChainId;
use assay_chain::histories::accounts::{AccountList, AccountRow};
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, ContractFact, FreezeEvent, MoneyEnd, Prices,
        Transfer, TransferPlace, scored_assets,
    },
    utxo::Txid,
};
use assay_graph::account::{AccountTransactions, KnownLedgers, MemoryAccounts};

use super::{
    freezes::KnownFreezes,
    lists::{ReadList, ReadLists},
};

/// The sender of a transaction that no list states, where all transactions of the subject are known: it is not the subject.
const SOMEBODY_ELSE: AccountAddress = AccountAddress([0xff; 20]);

/// Order of a transaction in the chain, as far as the API states it.
type Position = (u64, Option<u32>, Txid);

/// A transaction while it is put together.
#[derive(Debug)]
struct Parts<'r> {
    row: &'r AccountRow,
    initiator: Option<AccountAddress>,
    /// Transfers, with the greatest number of times that one list has each, in the order of lists and rows.
    transfers: Vec<(AccountList, &'r Transfer, usize)>,
    freezes: Vec<FreezeEvent>,
}

/// Books the transactions of all lists for the accounts at which money ends, with prices for exchanges. Lists of several
/// accounts have the same transfer: it counts as often as one list has it.
pub(super) fn gather(
    (chain, subject): (ChainId, AccountAddress),
    lists: &ReadLists,
    (internal, freezes): (bool, &KnownFreezes),
    (ends, prices): (impl Iterator<Item = (AccountAddress, MoneyEnd)>, &Prices),
) -> MemoryAccounts {
    let mut transactions = AccountTransactions::new(chain);
    let mut all = transactions_of(lists);
    if let Some(first) = all.first_mut() {
        // Contracts give back what was put into them: their own ledgers are not known, the claims of others are.
        let contracts = token_contracts(chain).chain(lists.contracts());
        first.contract_facts = contracts.map(ContractFact::code).collect();
    }
    let parties: BTreeSet<AccountAddress> = all
        .iter()
        .flat_map(|transaction| &transaction.transfers)
        .flat_map(|transfer| [transfer.from, transfer.to])
        .chain([subject])
        .collect();
    let frozen = parties.into_iter().flat_map(|account| freezes.transactions_of(account));
    all.extend(frozen);
    all.sort_by_key(|transaction| transaction.block);
    let is_sender_known = lists.get(subject, AccountList::Native).is_some_and(ReadList::is_whole);
    for mut transaction in all {
        if is_sender_known {
            transaction.initiator = transaction.initiator.or(Some(SOMEBODY_ELSE));
        }
        transactions.push(transaction);
    }
    MemoryAccounts::compute_known(transactions, ends, prices, &known(chain, lists, internal))
}

/// The contracts of the chain's scored tokens.
fn token_contracts(chain: ChainId) -> impl Iterator<Item = AccountAddress> {
    scored_assets(chain).filter_map(|scored| match scored.id.asset {
        Asset::Token(contract) => Some(contract),
        Asset::Native | Asset::Numbered(_) => None,
    })
}

/// The ledgers that lists tell for certain.
fn known(chain: ChainId, lists: &ReadLists, internal: bool) -> KnownLedgers {
    let mut known = KnownLedgers::default();
    let mut accounts: Vec<AccountAddress> = lists.iter().map(|((of, _), _)| of).collect();
    accounts.dedup();
    for account in accounts {
        for asset in scored_assets(chain).map(|scored| scored.id.asset) {
            let until = lists.read_until(account, asset, internal);
            if until > 0 {
                known.add(account, asset, until);
            }
        }
    }
    known
}

fn transactions_of(lists: &ReadLists) -> Vec<AccountTransaction> {
    let mut positions: BTreeMap<Txid, (u64, Option<u32>)> = BTreeMap::new();
    for (_, list) in lists.iter() {
        for row in &list.rows {
            let (_, index) = positions.entry(row.id).or_insert((row.block, None));
            *index = (*index).max(row.position);
        }
    }
    let position = |id: Txid| {
        let (block, index) = positions.get(&id).copied().unwrap_or_default();
        (block, index, id)
    };
    let mut transactions: BTreeMap<Position, Parts<'_>> = BTreeMap::new();
    let mut counts: BTreeMap<(Position, AccountAddress), Counts<'_>> = BTreeMap::new();
    for ((account, list), read) in lists.iter() {
        for row in &read.rows {
            let at = position(row.id);
            transactions.entry(at).or_insert_with(|| Parts::of(row)).add(row);
            let own = counts.entry((at, account)).or_default();
            row.transfers.iter().for_each(|transfer| own.add(list, transfer));
        }
    }
    for ((at, _), counts) in counts {
        if let Some(transaction) = transactions.get_mut(&at) {
            transaction.add_transfers(counts);
        }
    }
    transactions.into_values().map(Parts::finish).collect()
}

/// Number of times that each list of an account has transfers of one transaction.
#[derive(Debug, Default)]
struct Counts<'r>(Vec<(AccountList, &'r Transfer, usize)>);

impl<'r> Counts<'r> {
    fn add(&mut self, list: AccountList, transfer: &'r Transfer) {
        let mut known = self.0.iter_mut();
        match known.find(|(of, known, _)| *of == list && is_same(known, transfer)) {
            Some((_, _, count)) => *count += 1,
            None => self.0.push((list, transfer, 1)),
        }
    }

    /// The number of times that the account's lists together have each transfer. The list of all tokens and that of one have the
    /// same transfers; what a transaction moves itself, and what moves inside of it, are others.
    fn totals(self) -> Vec<(AccountList, &'r Transfer, usize)> {
        let mut totals: Vec<(AccountList, &'r Transfer, usize)> = Vec::new();
        for (list, transfer, count) in self.0 {
            match totals.iter_mut().find(|(_, known, _)| is_same(known, transfer)) {
                Some((of, _, total)) if rank(*of) == rank(list) => *total = (*total).max(count),
                Some((_, _, total)) => *total += count,
                None => totals.push((list, transfer, count)),
            }
        }
        totals
    }
}

/// True if two rows state the same transfer, or one that looks the same: explorers state no place in a transaction for all of
/// them.
fn is_same(one: &Transfer, other: &Transfer) -> bool {
    let of = |it: &Transfer| (it.kind, it.asset, it.from, it.to, it.amount);
    of(one) == of(other)
}

impl<'r> Parts<'r> {
    const fn of(row: &'r AccountRow) -> Self {
        Self { row, initiator: None, transfers: Vec::new(), freezes: Vec::new() }
    }

    fn add(&mut self, row: &AccountRow) {
        self.initiator = self.initiator.or(row.initiator);
        for freeze in &row.freezes {
            if !self.freezes.contains(freeze) {
                self.freezes.push(*freeze);
            }
        }
    }

    /// Adds the transfers that an account's lists have of the transaction.
    fn add_transfers(&mut self, counts: Counts<'r>) {
        for (list, transfer, count) in counts.totals() {
            match self.transfers.iter_mut().find(|(_, known, _)| is_same(known, transfer)) {
                Some((_, _, known)) => *known = (*known).max(count),
                None => self.transfers.push((list, transfer, count)),
            }
        }
    }

    fn finish(mut self) -> AccountTransaction {
        // The coin moves before calls move coins and tokens; further no API states an order.
        self.transfers.sort_by_key(|(list, transfer, _)| {
            (rank(*list), transfer.place.index, transfer.asset, transfer.from, transfer.to)
        });
        let repeated = self
            .transfers
            .iter()
            .flat_map(|(_, transfer, count)| std::iter::repeat_n((*transfer).clone(), *count));
        let placed = repeated.zip(0..).map(|(transfer, index)| {
            let place = TransferPlace { index, ..transfer.place.clone() };
            Transfer { place, ..transfer }
        });
        AccountTransaction {
            block: self.row.block,
            time: self.row.time,
            id: self.row.id,
            initiator: self.initiator,
            transfers: placed.collect(),
            contract_facts: Vec::new(),
            freezes: self.freezes,
            delegations: Vec::new(),
            messages: Vec::new(),
        }
    }
}

const fn rank(list: AccountList) -> u8 {
    match list {
        AccountList::Native => 0,
        AccountList::Internal => 1,
        AccountList::Tokens | AccountList::Token(_) => 2,
    }
}
