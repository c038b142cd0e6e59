//! Reading of one state of a graph by numbers.

use std::{cell::OnceCell, collections::BTreeMap};

use assay_columns::{
    PageCache,
    bytes::{from_number, number},
    run::{BackwardsCursors, Filters, IndexReader, NumberByHash, WantedKey},
};
use assay_engine::{
    account::{AccountAddress, AccountState, AccountTransaction, Asset, AssetNumber},
    utxo::Txid,
};
use assay_mapped::MappedEnvironment;
use heed::RoTxn;
use jiff::Timestamp;

use super::{
    asset_bytes::parse_asset,
    block::{GraphState, StoredBlock},
    entry::{
        AccountRuns, Creation, EntryKind, StoredDealing, StoredLedger, StoredPage, StoredPayment,
        StoredState, TransactionOf,
    },
    index::{address_hash, txid_hash},
    log::{LogReader, LogRecord, Names},
    lookup::in_parts,
    tables::{STATE, Tables},
};
use crate::{
    GraphError,
    account::numbering::{FIRST_TOKEN, ScoredAssets},
    error::damaged,
};

/// One state of a graph.
pub(super) struct Reader<'t> {
    pub(super) tables: &'t Tables,
    pub(super) runs: &'t AccountRuns,
    pub(super) txn: &'t RoTxn<'t>,
    txids: PageCache<'t>,
    addresses: PageCache<'t>,
    /// True if there are recent entries.
    recent: OnceCell<bool>,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Reader").field("tables", self.tables).finish_non_exhaustive()
    }
}

/// The tables and runs of a reader, for readers of the same state in other transactions.
#[derive(Clone, Copy)]
pub(super) struct ReaderTwin<'t> {
    tables: &'t Tables,
    runs: &'t AccountRuns,
    /// Knowledge of the reader about recent entries: a [settled](Reader::settled) one reads none.
    recent: Option<bool>,
}

impl<'t> ReaderTwin<'t> {
    pub(super) fn environment(&self) -> &'t MappedEnvironment {
        &self.tables.environment
    }

    /// A reader in another transaction.
    pub(super) fn read<'r>(&self, txn: &'r RoTxn<'r>) -> Reader<'r>
    where
        't: 'r,
    {
        let reader = Reader::new(self.tables, self.runs, txn);
        if let Some(recent) = self.recent {
            let _ = reader.recent.set(recent);
        }
        reader
    }
}

impl<'t> Reader<'t> {
    /// The parts of this reader that another transaction of the same state needs.
    pub(super) fn twin(&self) -> ReaderTwin<'t> {
        ReaderTwin { tables: self.tables, runs: self.runs, recent: self.recent.get().copied() }
    }

    pub(super) fn new(tables: &'t Tables, runs: &'t AccountRuns, txn: &'t RoTxn<'t>) -> Self {
        Self {
            tables,
            runs,
            txn,
            txids: PageCache::default(),
            addresses: PageCache::default(),
            recent: OnceCell::new(),
        }
    }

    /// A reader of the entries of blocks that cannot be rolled back: those in runs.
    pub(super) fn settled(tables: &'t Tables, runs: &'t AccountRuns, txn: &'t RoTxn<'t>) -> Self {
        let reader = Self::new(tables, runs, txn);
        let _ = reader.recent.set(false);
        reader
    }

    /// The graph's state; `None` in a new environment.
    pub(super) fn state(&self) -> Result<Option<GraphState>, GraphError> {
        let Some(bytes) = self.tables.meta.get(self.txn, STATE)? else { return Ok(None) };
        GraphState::parse(bytes).map(Some).ok_or_else(|| damaged("meta", "its state"))
    }

    pub(super) fn index(&self) -> Result<IndexReader<'_, EntryKind>, GraphError> {
        let has_recent = if let Some(known) = self.recent.get() {
            *known
        } else {
            let is_empty = self.tables.recent.is_empty(self.txn)?;
            *self.recent.get_or_init(|| !is_empty)
        };
        let recent = has_recent.then_some(self.tables.recent);
        Ok(IndexReader::new(self.txn, recent, self.tables.run, self.runs))
    }

    /// The block of a height.
    pub(super) fn block(&self, height: u64) -> Result<Option<StoredBlock>, GraphError> {
        let bytes = self.tables.block.get(self.txn, &StoredBlock::key(height))?;
        bytes
            .map(|bytes| StoredBlock::parse(bytes).ok_or_else(|| damaged("block", height)))
            .transpose()
    }

    /// The newest block up to a height.
    pub(super) fn block_up_to(&self, height: u64) -> Result<Option<StoredBlock>, GraphError> {
        let found = self.tables.block.at_or_before(self.txn, &StoredBlock::key(height))?;
        found
            .map(|(_, bytes)| StoredBlock::parse(bytes).ok_or_else(|| damaged("block", height)))
            .transpose()
    }

    /// The oldest block from a height on.
    pub(super) fn block_from(&self, height: u64) -> Result<Option<StoredBlock>, GraphError> {
        let found = self.tables.block.at_or_after(self.txn, &StoredBlock::key(height))?;
        found
            .map(|(_, bytes)| StoredBlock::parse(bytes).ok_or_else(|| damaged("block", height)))
            .transpose()
    }

    /// The address of an account.
    pub(super) fn address(&self, owner: u64) -> Result<AccountAddress, GraphError> {
        let found = self.tables.address.get::<20>(self.txn, &self.addresses, owner)?;
        found.map(|bytes| AccountAddress(*bytes)).ok_or_else(|| damaged("address", owner))
    }

    /// True if money ends at an account, under the ends of the ledgers.
    pub(super) fn is_end(&self, owner: u64) -> Result<bool, GraphError> {
        let account = self.address(owner)?;
        Ok(self.tables.end.get(self.txn, &account.0)?.is_some())
    }

    /// The identifier of a transaction.
    pub(super) fn txid(&self, transaction: u64) -> Result<Txid, GraphError> {
        let found = self.tables.txid.get::<32>(self.txn, &self.txids, transaction)?;
        found.map(|bytes| Txid::from_bytes(*bytes)).ok_or_else(|| damaged("txid", transaction))
    }

    /// The number of an account; `None` if it never appeared.
    pub(super) fn owner(
        &self,
        filters: Option<&Filters>,
        account: AccountAddress,
    ) -> Result<Option<u64>, GraphError> {
        let mut found = None;
        let hash = address_hash(account);
        self.index()?.under_hash(filters, EntryKind::Address, hash, |number| {
            if self.address(number)? == account {
                found = Some(number);
            }
            Ok::<_, GraphError>(found.is_none())
        })?;
        Ok(found)
    }

    /// The numbers of accounts, `None` for those that never appeared. The writer of the graph looks them up, by several
    /// threads.
    pub(super) fn owners(
        &self,
        filters: Option<&Filters>,
        accounts: &[AccountAddress],
    ) -> Result<Vec<Option<u64>>, GraphError> {
        let hash = |account: &AccountAddress| address_hash(*account);
        let mut sorted: Vec<(u64, usize)> = accounts.iter().map(hash).zip(0..).collect();
        sorted.sort_unstable();
        let found = in_parts(self, &sorted, |reader, sorted| {
            reader.owners_by_hash(filters, (accounts, sorted))
        })?;
        let mut numbers = vec![None; accounts.len()];
        for (at, number) in found {
            if let Some(into) = numbers.get_mut(at) {
                *into = Some(number);
            }
        }
        Ok(numbers)
    }

    /// The places and numbers of those accounts that appeared; `sorted` has the hashes of the accounts that are looked up, in
    /// order, with their places.
    fn owners_by_hash(
        &self,
        filters: Option<&Filters>,
        (accounts, sorted): (&[AccountAddress], &[(u64, usize)]),
    ) -> Result<Vec<(usize, u64)>, GraphError> {
        let wanted = |hash: u64| WantedKey { prefix: hash.to_be_bytes(), hash };
        let wanted: Vec<WantedKey<8>> = sorted.iter().map(|(hash, _)| wanted(*hash)).collect();
        let mut found: Vec<(u64, usize)> = Vec::with_capacity(sorted.len());
        let place = |at: usize| sorted.get(at).map(|(_, at)| *at);
        let index = self.index()?;
        index.newest_of_each(filters, EntryKind::Address, &wanted, |at, it: NumberByHash| {
            found.extend(place(at).map(|at| (it.number, at)));
        })?;
        // In the order of their numbers, as the addresses are stored.
        found.sort_unstable();
        let mut numbers = Vec::with_capacity(found.len());
        for (number, at) in found {
            let Some(account) = accounts.get(at) else { continue };
            // Another account may have the same hash.
            let is_found = self.address(number)? == *account;
            let number = if is_found { Some(number) } else { self.owner(filters, *account)? };
            numbers.extend(number.map(|number| (at, number)));
        }
        Ok(numbers)
    }

    /// The number of the newest transaction with an identifier.
    pub(super) fn find(&self, id: &Txid) -> Result<Option<u64>, GraphError> {
        let mut newest = None;
        self.index()?.under_hash(None, EntryKind::Txid, txid_hash(id), |number| {
            if newest < Some(number) && self.txid(number)? == *id {
                newest = Some(number);
            }
            Ok::<_, GraphError>(true)
        })?;
        Ok(newest)
    }

    /// The asset with a number.
    pub(super) fn asset(&self, number: AssetNumber) -> Result<Asset, GraphError> {
        let found = self.tables.asset.get(self.txn, &number.0.to_be_bytes())?;
        found.and_then(parse_asset).ok_or_else(|| damaged("asset", number.0))
    }

    /// All assets with their numbers, in the order of their numbers.
    pub(super) fn assets(&self) -> Result<Vec<(AssetNumber, Asset)>, GraphError> {
        let mut assets = Vec::new();
        for row in self.tables.asset.all(self.txn)? {
            let (key, bytes) = row?;
            let number = key.first_chunk().map(|bytes| AssetNumber(u32::from_be_bytes(*bytes)));
            let found = number.zip(parse_asset(bytes));
            assets.push(found.ok_or_else(|| damaged("asset", hex::encode(key)))?);
        }
        Ok(assets)
    }

    /// Symbols of scored assets that other tokens bear, by contract.
    pub(super) fn symbols(&self) -> Result<BTreeMap<AccountAddress, String>, GraphError> {
        let mut symbols = BTreeMap::new();
        for row in self.tables.symbol.all(self.txn)? {
            let (key, symbol) = row?;
            let contract = key.try_into().ok().map(AccountAddress);
            let found = contract.zip(std::str::from_utf8(symbol).ok());
            let (contract, symbol) = found.ok_or_else(|| damaged("symbol", hex::encode(key)))?;
            symbols.insert(contract, symbol.to_owned());
        }
        Ok(symbols)
    }

    /// True if the graph follows the assets that the table of scored assets has now.
    pub(super) fn follows(&self, scored: &ScoredAssets) -> Result<bool, GraphError> {
        let assets = self.assets()?;
        let followed = assets.iter().filter(|(number, _)| number.0 < FIRST_TOKEN);
        Ok(followed.map(|(_, asset)| *asset).eq(scored.all().map(|it| it.id.asset)))
    }

    /// Passes the newest versions of ledgers to `each`, of those that are stored. The keys are sorted.
    pub(super) fn newest_ledgers(
        &self,
        filters: Option<&Filters>,
        wanted: &[WantedKey<9>],
        mut each: impl FnMut(StoredLedger),
    ) -> Result<(), GraphError> {
        let kind = EntryKind::Ledger;
        Ok(self.index()?.newest_of_each(filters, kind, wanted, |_, found| each(found))?)
    }

    /// Passes the newest states of accounts to `each`, of those that are stored. The keys are sorted.
    pub(super) fn newest_states(
        &self,
        filters: Option<&Filters>,
        wanted: &[WantedKey<5>],
        mut each: impl FnMut(StoredState),
    ) -> Result<(), GraphError> {
        let kind = EntryKind::State;
        Ok(self.index()?.newest_of_each(filters, kind, wanted, |_, found| each(found))?)
    }

    /// The state of an account beside its ledgers.
    pub(super) fn state_of(&self, owner: u64) -> Result<AccountState, GraphError> {
        let Some(stored) = self.newest_state(owner)? else { return Ok(AccountState::default()) };
        stored.state().ok_or_else(|| damaged("run", "the state of an account"))
    }

    /// True for an account with code.
    pub(super) fn is_contract(&self, owner: u64) -> Result<bool, GraphError> {
        Ok(self.newest_state(owner)?.is_some_and(|stored| stored.is_contract()))
    }

    fn newest_state(&self, owner: u64) -> Result<Option<StoredState>, GraphError> {
        let mut newest = None;
        self.newest_states(None, &[StoredState::wanted(owner)], |found| newest = Some(found))?;
        Ok(newest)
    }

    /// The newest version of a ledger; `None` if the account never had the asset.
    pub(super) fn ledger(
        &self,
        owner: u64,
        asset: u32,
    ) -> Result<Option<StoredLedger>, GraphError> {
        let mut newest = None;
        let wanted = [StoredLedger::wanted(owner, asset)];
        self.newest_ledgers(None, &wanted, |found| newest = Some(found))?;
        Ok(newest)
    }

    /// The ledgers of an account, in the order of its assets.
    pub(super) fn ledgers(&self, owner: u64) -> Result<Vec<StoredLedger>, GraphError> {
        let mut ledgers = Vec::new();
        let key = number(owner);
        let is_own = |ledger: &StoredLedger| ledger.owner == owner;
        self.index()?.all_from(EntryKind::Ledger, (&key, &key), is_own, |ledger| {
            ledgers.push(ledger);
            true
        })?;
        Ok(ledgers)
    }

    /// Passes the payments of an account to `each`, by asset and then in the order of the chain, until `each` returns
    /// false. `from` is the first asset and transaction.
    pub(super) fn payments(
        &self,
        owner: u64,
        from: Option<(u32, u64)>,
        mut each: impl FnMut(StoredPayment) -> bool,
    ) -> Result<(), GraphError> {
        let prefix = match from {
            None => number(owner).to_vec(),
            Some((asset, _)) => StoredLedger::prefix(owner, asset).to_vec(),
        };
        let mut first = prefix.clone();
        if let Some((_, transaction)) = from {
            first.extend_from_slice(&number(transaction));
        }
        let is_own = |payment: &StoredPayment| {
            payment.owner == owner && from.is_none_or(|(asset, _)| payment.asset == asset)
        };
        let is_reached = |payment: &StoredPayment| {
            from.is_none_or(|(_, transaction)| payment.transaction >= transaction)
        };
        self.index()?.all_from(EntryKind::Payment, (&prefix, &first), is_own, |payment| {
            !is_reached(&payment) || !payment.is_payment() || each(payment)
        })?;
        Ok(())
    }

    /// Passes all entries of an account's payments in an asset from a transaction on to `each`, in the order of the chain,
    /// until `each` returns false: also those that set a balance.
    pub(super) fn entries_from(
        &self,
        owner: u64,
        asset: u32,
        from: u64,
        mut each: impl FnMut(StoredPayment) -> bool,
    ) -> Result<(), GraphError> {
        let prefix = StoredLedger::prefix(owner, asset);
        let first = [&prefix[..], &number(from)].concat();
        let is_own = |payment: &StoredPayment| (payment.owner, payment.asset) == (owner, asset);
        let kind = EntryKind::Payment;
        // Recent entries begin with the ledger's first one.
        self.index()?.all_from(kind, (&prefix, &first), is_own, |payment: StoredPayment| {
            payment.transaction < from || each(payment)
        })?;
        Ok(())
    }

    /// The last page of an account's payments in an asset that ends before a transaction.
    pub(super) fn page_before(
        &self,
        owner: u64,
        asset: u32,
        transaction: u64,
    ) -> Result<Option<StoredPage>, GraphError> {
        self.last_before(EntryKind::Page, (owner, asset), transaction)
    }

    /// The last group of pages that ends before a transaction.
    pub(super) fn group_before(
        &self,
        owner: u64,
        asset: u32,
        transaction: u64,
    ) -> Result<Option<StoredPage>, GraphError> {
        self.last_before(EntryKind::PageGroup, (owner, asset), transaction)
    }

    fn last_before(
        &self,
        kind: EntryKind,
        (owner, asset): (u64, u32),
        transaction: u64,
    ) -> Result<Option<StoredPage>, GraphError> {
        let prefix = StoredLedger::prefix(owner, asset);
        let end = [&prefix[..], &number(transaction)].concat();
        let mut pages = self.index()?.backwards::<StoredPage>(kind, (&prefix, &end))?;
        let is_own = |page: &StoredPage| (page.owner, page.asset) == (owner, asset);
        while let Some(page) = pages.next()?.filter(is_own) {
            if !page.is_removed {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// The pages of an account's payments in an asset that end with a transaction or later.
    pub(super) fn pages_from(
        &self,
        ledger: (u64, u32),
        from: u64,
    ) -> Result<Vec<StoredPage>, GraphError> {
        self.all_of_ledger(EntryKind::Page, ledger, from)
    }

    /// The groups of pages of an account in an asset that end with a transaction or later.
    pub(super) fn groups_from(
        &self,
        ledger: (u64, u32),
        from: u64,
    ) -> Result<Vec<StoredPage>, GraphError> {
        self.all_of_ledger(EntryKind::PageGroup, ledger, from)
    }

    fn all_of_ledger(
        &self,
        kind: EntryKind,
        (owner, asset): (u64, u32),
        from: u64,
    ) -> Result<Vec<StoredPage>, GraphError> {
        let prefix = StoredLedger::prefix(owner, asset);
        let first = [&prefix[..], &number(from)].concat();
        let is_own = |page: &StoredPage| (page.owner, page.asset) == (owner, asset);
        let mut pages = Vec::new();
        self.index()?.all_from(kind, (&prefix, &first), is_own, |page: StoredPage| {
            if !page.is_removed && page.transaction >= from {
                pages.push(page);
            }
            true
        })?;
        Ok(pages)
    }

    /// The payments of an account in an asset before a transaction, the newest first.
    pub(super) fn payments_before(
        &self,
        owner: u64,
        asset: u32,
        before: u64,
    ) -> Result<PaymentsBackwards<'_>, GraphError> {
        let prefix = StoredLedger::prefix(owner, asset);
        let end = [&prefix[..], &number(before)].concat();
        let cursors = self.index()?.backwards(EntryKind::Payment, (&prefix, &end))?;
        Ok(PaymentsBackwards { owner, asset, cursors })
    }

    /// The newest transactions of an account in an index of transactions, newest first.
    pub(super) fn newest_of(
        &self,
        kind: EntryKind,
        owner: u64,
        most: usize,
    ) -> Result<Vec<u64>, GraphError> {
        let (key, end) = (number(owner), number(owner + 1));
        let mut entries = self.index()?.backwards::<TransactionOf>(kind, (&key, &end))?;
        let mut newest = Vec::new();
        while newest.len() < most
            && let Some(entry) = entries.next()?.filter(|entry| entry.owner == owner)
        {
            newest.push(entry.transaction);
        }
        Ok(newest)
    }

    /// All transactions of an account in an index of transactions, in the order of the chain.
    pub(super) fn transactions_of(
        &self,
        kind: EntryKind,
        owner: u64,
    ) -> Result<Vec<u64>, GraphError> {
        let mut transactions = Vec::new();
        let key = number(owner);
        let is_own = |entry: &TransactionOf| entry.owner == owner;
        self.index()?.all_from(kind, (&key, &key), is_own, |entry| {
            transactions.push(entry.transaction);
            true
        })?;
        Ok(transactions)
    }

    /// The contracts that an account created, or the account that created it, in the order of the chain.
    pub(super) fn creations(
        &self,
        owner: u64,
        is_creator: bool,
        most: usize,
    ) -> Result<Vec<u64>, GraphError> {
        let mut others = Vec::new();
        let mut key = number(owner).to_vec();
        key.push(is_creator.into());
        let is_own = |entry: &Creation| entry.owner == owner && entry.is_creator == is_creator;
        self.index()?.all_from(EntryKind::Creation, (&key, &key), is_own, |entry| {
            others.push(entry.other);
            others.len() < most
        })?;
        Ok(others)
    }

    /// The direct dealings of an account.
    pub(super) fn dealings(&self, owner: u64) -> Result<Vec<StoredDealing>, GraphError> {
        let mut dealings = Vec::new();
        let key = number(owner);
        let is_own = |entry: &StoredDealing| entry.owner == owner;
        self.index()?.all_from(EntryKind::Dealing, (&key, &key), is_own, |entry| {
            dealings.push(entry);
            true
        })?;
        Ok(StoredDealing::summed(dealings))
    }

    /// The transaction with a number, as the log holds it.
    pub(super) fn record(&self, transaction: u64) -> Result<LogRecord, GraphError> {
        let page = self.tables.log.at_or_before(self.txn, &number(transaction))?;
        let is_damaged = || damaged("log", transaction);
        let (key, page) = page.ok_or_else(is_damaged)?;
        let first = key.first_chunk().map(|key| from_number(*key)).ok_or_else(is_damaged)?;
        let mut log = LogReader::new(page);
        for _ in first..transaction {
            log.next().ok_or_else(is_damaged)?;
        }
        log.next().ok_or_else(is_damaged)
    }

    /// The transaction with a number.
    pub(super) fn transaction(&self, transaction: u64) -> Result<AccountTransaction, GraphError> {
        self.named(transaction, self.record(transaction)?)
    }

    /// The transaction of a record of the log.
    pub(super) fn named(
        &self,
        transaction: u64,
        record: LogRecord,
    ) -> Result<AccountTransaction, GraphError> {
        record.named(&NamesOf { reader: self, transaction })
    }

    /// Passes the transactions of the numbers from `first` to before `end` to `each`, in order.
    pub(super) fn transactions(
        &self,
        first: u64,
        end: u64,
        mut each: impl FnMut(u64, AccountTransaction) -> Result<(), GraphError>,
    ) -> Result<(), GraphError> {
        if first >= end {
            return Ok(());
        }
        let start = self.tables.log.at_or_before(self.txn, &number(first))?;
        let start = start.map(|(key, _)| key.to_vec()).unwrap_or_default();
        let rows = self.tables.log.range(
            self.txn,
            std::ops::Bound::Included(&start),
            std::ops::Bound::Unbounded,
        )?;
        for row in rows {
            let (key, page) = row?;
            let number = key.first_chunk().map(|key| from_number(*key));
            let mut transaction = number.ok_or_else(|| damaged("log", hex::encode(key)))?;
            let mut log = LogReader::new(page);
            while !log.is_at_end() {
                let record = log.next().ok_or_else(|| damaged("log", transaction))?;
                if transaction >= end {
                    return Ok(());
                }
                if transaction >= first {
                    let named = record.named(&NamesOf { reader: self, transaction })?;
                    each(transaction, named)?;
                }
                transaction += 1;
            }
        }
        Ok(())
    }
}

/// Payments of an account in an asset, the newest first.
pub(super) struct PaymentsBackwards<'t> {
    owner: u64,
    asset: u32,
    cursors: BackwardsCursors<'t, StoredPayment>,
}

impl PaymentsBackwards<'_> {
    pub(super) fn next(&mut self) -> Result<Option<StoredPayment>, GraphError> {
        let is_own =
            |payment: &StoredPayment| (payment.owner, payment.asset) == (self.owner, self.asset);
        while let Some(payment) = self.cursors.next()?.filter(is_own) {
            if payment.is_payment() {
                return Ok(Some(payment));
            }
        }
        Ok(None)
    }
}

/// Names of the numbers of a transaction.
struct NamesOf<'r, 't> {
    reader: &'r Reader<'t>,
    transaction: u64,
}

impl Names<GraphError> for NamesOf<'_, '_> {
    fn account(&self, number: u64) -> Result<AccountAddress, GraphError> {
        self.reader.address(number)
    }

    fn asset(&self, number: AssetNumber) -> Result<Asset, GraphError> {
        self.reader.asset(number)
    }

    fn txid(&self) -> Result<Txid, GraphError> {
        self.reader.txid(self.transaction)
    }

    fn time(&self, height: u64) -> Result<Timestamp, GraphError> {
        let block = self.reader.block(height)?;
        Ok(block.ok_or_else(|| damaged("block", height))?.block.time)
    }
}
