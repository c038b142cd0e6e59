//! One state of a graph as checks read it.

use std::{
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use assay_address::ChainId;
use assay_columns::bytes::LARGEST_NUMBER;
use assay_engine::{
    account::{
        AccountAddress, AccountLedger, AccountPayments, AccountState, AccountTransaction,
        AccountView, Asset, AssetNumber, Dealing, DealingKey, GROUP_PAYMENTS, PageOfSums, Payment,
        PaymentSum, summed_until,
    },
    ledger::{OwnerNumber, TransactionNumber},
    utxo::Txid,
};
use assay_mapped::{ReadTransaction, StateBytes};
use jiff::Timestamp;
use rustc_hash::FxHashMap;

use super::{
    block::GraphState,
    entry::{AccountRuns, EntryKind, StoredPage, StoredPayment},
    folders::ChainFolder,
    reader::Reader,
    tables::Tables,
    writer::{AccountBlock, InternalTransfers},
};
use crate::{
    GraphError,
    account::{
        AccountGraphView, RecordCounts, RecordedBlock, RecordedState, numbering::ScoredAssets,
    },
    error::damaged,
};

/// One state of a graph, unaffected by blocks that are recorded or rolled back later. It prevents the reuse of its pages, so
/// that it should live no longer than a check. The first error of the store ends the reading: then all answers are empty.
pub struct AccountSnapshot {
    tables: Arc<Tables>,
    runs: AccountRuns,
    scored: ScoredAssets,
    state: GraphState,
    recorded: RecordedState,
    reading: Mutex<Reading>,
}

struct Reading {
    transaction: ReadTransaction,
    failure: Option<GraphError>,
    /// Times of transactions whose payments were read.
    times: FxHashMap<u64, Timestamp>,
}

impl fmt::Debug for AccountSnapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AccountSnapshot")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// The graph of an account chain in a store, for reading.
#[derive(Clone, Debug)]
pub struct EmbeddedAccounts {
    folders: ChainFolder,
    number: u64,
    tables: Arc<Tables>,
}

impl EmbeddedAccounts {
    /// Opens the graph in the folder of a chain; `None` if there is none.
    pub(crate) fn open(folder: &Path, chain: ChainId) -> Result<Option<Self>, GraphError> {
        let folders = ChainFolder::new(folder);
        loop {
            let Some(number) = folders.current()? else { return Ok(None) };
            let opened = Self::tables(&folders.folder(number), chain)?;
            // Another computing may have taken the place meanwhile.
            if let Some(tables) = opened {
                return Ok(Some(Self { folders, number, tables: Arc::new(tables) }));
            }
            if folders.current()? == Some(number) {
                return Err(damaged("current", format!("folder {number}, which has no graph")));
            }
        }
    }

    /// Opens one computing of the ledgers.
    pub(super) fn open_folder(folder: &Path, chain: ChainId) -> Result<Option<Self>, GraphError> {
        let folders = ChainFolder::new(folder);
        let tables = Self::tables(folder, chain)?;
        Ok(tables.map(|tables| Self { folders, number: 0, tables: Arc::new(tables) }))
    }

    fn tables(folder: &Path, chain: ChainId) -> Result<Option<Tables>, GraphError> {
        let Some(tables) = Tables::open(folder)? else { return Ok(None) };
        let transaction = tables.environment.read()?;
        let runs = AccountRuns::default();
        let reader = Reader::new(&tables, &runs, &transaction);
        match reader.state()? {
            Some(state) if state.chain != chain => {
                return Err(damaged("meta", format!("chain {}", state.chain)));
            }
            Some(_) if !reader.follows(&ScoredAssets::of(chain))? => {
                return Err(GraphError::OtherAssets(chain));
            }
            Some(_) => {}
            None => return Ok(None),
        }
        drop(reader);
        drop(transaction);
        Ok(Some(tables))
    }

    /// Writes the newest state to a new file.
    pub(super) fn copy_to(&self, file: &Path) -> Result<(), GraphError> {
        Ok(self.tables.environment.copy_to(file)?)
    }

    /// True unless the graph was deleted or replaced since it was opened.
    pub(crate) fn is_current(&self) -> bool {
        self.tables.environment.is_current()
            && matches!(self.folders.current(), Ok(Some(number)) if number == self.number)
    }

    /// The newest state; `None` without blocks.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn snapshot(&self) -> Result<Option<AccountSnapshot>, GraphError> {
        let tables = Arc::clone(&self.tables);
        let transaction = tables.environment.read()?;
        let runs = tables.runs(&transaction)?;
        let state = Reader::new(&tables, &runs, &transaction).state()?;
        let state = state.ok_or_else(|| damaged("meta", "its state"))?;
        let Some(recorded) = state.recorded() else { return Ok(None) };
        let scored = ScoredAssets::of(state.chain);
        let reading = Reading { transaction, failure: None, times: FxHashMap::default() };
        let reading = Mutex::new(reading);
        Ok(Some(AccountSnapshot { tables, runs, scored, state, recorded, reading }))
    }
}

impl AccountSnapshot {
    /// Counts of all recorded blocks.
    #[must_use]
    pub fn counts(&self) -> RecordCounts {
        self.state.tip.map(|tip| tip.counts).unwrap_or_default()
    }

    /// Description of the recorded blocks.
    #[must_use]
    pub const fn recorded(&self) -> &RecordedState {
        &self.recorded
    }

    /// The recorded blocks with their transactions, in the order of the chain. The iterator ends after an error.
    #[must_use]
    pub const fn blocks(&self) -> RecordedBlocks<'_> {
        self.blocks_from(0)
    }

    /// The recorded blocks from a height on. The iterator ends after an error.
    #[must_use]
    pub const fn blocks_from(&self, height: u64) -> RecordedBlocks<'_> {
        RecordedBlocks(self.full_blocks(height))
    }

    /// The recorded blocks from a height on, with their hashes.
    pub(super) const fn full_blocks(&self, from: u64) -> FullBlocks<'_> {
        FullBlocks { snapshot: self, next: Some(from) }
    }

    /// The digest of all blocks up to a recorded height; `None` if no block has the height.
    pub(super) fn digest_at(&self, height: u64) -> Result<Option<[u8; 32]>, GraphError> {
        self.with_reader(|reader| Ok(reader.block(height)?.map(|block| block.digest)))
    }

    /// The lowest height that can be rolled back.
    pub(super) const fn reorganizable_from(&self) -> u64 {
        self.state.reorganizable_from
    }

    /// The hash of the newest block as its source states it; `None` if the source states no hashes.
    #[must_use]
    pub fn newest_hash(&self) -> Option<[u8; 32]> {
        self.state.tip.map(|tip| tip.block.hash).filter(|hash| *hash != [0; 32])
    }

    /// Time at which a source last confirmed the newest block.
    pub(super) const fn verified_at(&self) -> Timestamp {
        self.state.verified_at
    }

    /// Digest of the symbols: states with equal digests have the same symbols.
    #[must_use]
    pub const fn symbols_digest(&self) -> [u8; 32] {
        self.state.symbols
    }

    /// Symbols of tokens by contract, where a source states the symbol of a scored asset for another contract.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn lookalike_symbols(&self) -> Result<BTreeMap<AccountAddress, String>, GraphError> {
        self.with_reader(|reader| {
            let symbols = reader.symbols()?;
            Ok(symbols)
        })
    }

    /// Revision of the ends of the ledgers.
    #[must_use]
    pub fn ends_revision(&self) -> &str {
        &self.state.ends
    }

    /// The bytes of the state; `None` if a newer state was written meanwhile.
    pub(crate) fn bytes(&self) -> Result<Option<StateBytes>, GraphError> {
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(self.tables.environment.state_bytes(&reading.transaction)?)
    }

    /// Reads from the store.
    pub(super) fn with_reader<T>(
        &self,
        read: impl FnOnce(&Reader<'_>) -> Result<T, GraphError>,
    ) -> Result<T, GraphError> {
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        read(&Reader::new(&self.tables, &self.runs, &reading.transaction))
    }

    /// Reads from the store, or returns the default if it fails or has failed.
    fn read<T: Default>(
        &self,
        read: impl FnOnce(&Reader<'_>, &mut FxHashMap<u64, Timestamp>) -> Result<T, GraphError>,
    ) -> T {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let Reading { transaction, failure, times } = &mut *reading;
        if failure.is_some() {
            return T::default();
        }
        let reader = Reader::new(&self.tables, &self.runs, transaction);
        match read(&reader, times) {
            Ok(found) => found,
            Err(error) => {
                *failure = Some(error);
                T::default()
            }
        }
    }

    /// Reads payments of an account, by asset and then in the order of the chain.
    fn read_payments(
        &self,
        of: OwnerNumber,
        from: Option<(AssetNumber, TransactionNumber)>,
        mut each: impl FnMut(Payment) -> bool,
    ) {
        let from = from.map(|(asset, transaction)| (asset.0, transaction.0));
        self.read(|reader, times| {
            reader.payments(of.0, from, |stored| {
                note_time(times, &stored);
                each(payment(stored))
            })
        });
    }
}

/// A payment to be read, ordered by its place in the chain, with the index of its asset's payments.
type NextPayment = ((u64, u32), usize);

impl AccountSnapshot {
    /// The newest transactions of an account in an index of transactions, newest first.
    fn newest_of(&self, kind: EntryKind, of: OwnerNumber, most: usize) -> Vec<TransactionNumber> {
        if of.0 >= self.state.next_owner {
            return Vec::new();
        }
        let found = self.read(|reader, _| reader.newest_of(kind, of.0, most));
        found.into_iter().map(TransactionNumber).collect()
    }

    /// The newest payments of an account over all assets, in any order.
    fn newest_payments(&self, of: OwnerNumber, most: usize) -> Vec<Payment> {
        self.read(|reader, times| {
            let mut by_asset = Vec::new();
            let mut next: BinaryHeap<NextPayment> = BinaryHeap::new();
            for ledger in reader.ledgers(of.0)? {
                let mut payments = reader.payments_before(of.0, ledger.asset, LARGEST_NUMBER)?;
                if let Some(first) = payments.next()? {
                    next.push(((first.transaction, first.sequence), by_asset.len()));
                    by_asset.push((Some(first), payments));
                }
            }
            let mut newest = Vec::new();
            while newest.len() < most
                && let Some((_, index)) = next.pop()
                && let Some((waiting, payments)) = by_asset.get_mut(index)
            {
                let after = payments.next()?;
                if let Some(after) = &after {
                    next.push(((after.transaction, after.sequence), index));
                }
                if let Some(stored) = std::mem::replace(waiting, after) {
                    note_time(times, &stored);
                    newest.push(payment(stored));
                }
            }
            Ok(newest)
        })
    }
}

/// The pages of an account's payments in an asset as a check reads them: groups, and the newest pages.
struct SummedPages {
    asset: u32,
    groups: Vec<StoredPage>,
    /// The pages of the newest payments, more than a check reads one by one.
    pages: Vec<StoredPage>,
    /// The last group before these pages.
    before: Option<PageOfSums>,
}

impl SummedPages {
    fn read(
        reader: &Reader<'_>,
        (owner, asset): (u64, u32),
        most: usize,
    ) -> Result<Self, GraphError> {
        let groups = reader.groups_from((owner, asset), 0)?;
        let newest = u64::try_from(most).unwrap_or(u64::MAX) / GROUP_PAYMENTS + 1;
        let older = usize::try_from(newest).ok().and_then(|newest| groups.iter().rev().nth(newest));
        let from = older.map_or(0, |group| group.transaction + 1);
        let before = older.map(|group| group.of_payments(group.payments));
        let mut pages = reader.pages_from((owner, asset), from)?;
        // Pages of blocks that can be rolled back have no sums yet.
        pages.retain(|page| !page.sums.is_empty());
        Ok(Self { asset, groups, pages, before })
    }

    /// The newest pages, and all earlier ones as one.
    fn sizes(&self) -> impl Iterator<Item = PageOfSums> {
        let mut before = self.before.map_or(0, |page| page.payments);
        let pages = self.pages.iter().map(move |page| {
            let payments = page.payments.saturating_sub(before);
            before = page.payments;
            page.of_payments(payments)
        });
        self.before.into_iter().chain(pages)
    }

    /// Appends the sums up to a transaction that ends a page.
    fn sums(&self, last: u64, into: &mut Vec<PaymentSum>) -> Result<(), GraphError> {
        let groups = self.groups.iter().filter(|group| group.transaction <= last);
        let grouped = groups.clone().next_back().map_or(0, |group| group.transaction + 1);
        let single = |page: &&StoredPage| (grouped..=last).contains(&page.transaction);
        for page in groups.chain(self.pages.iter().filter(single)) {
            into.extend(page.payment_sums().ok_or_else(|| damaged("run", "a page of sums"))?);
        }
        Ok(())
    }
}

/// A block with its transactions.
pub type RecordedContent = (RecordedBlock, Vec<AccountTransaction>);

/// Iterator over recorded blocks.
#[derive(Debug)]
pub struct RecordedBlocks<'s>(FullBlocks<'s>);

impl Iterator for RecordedBlocks<'_> {
    type Item = Result<RecordedContent, GraphError>;

    fn next(&mut self) -> Option<Self::Item> {
        let block = self.0.next()?;
        Some(block.map(|AccountBlock { reference, transactions, .. }| {
            (RecordedBlock { height: reference.height, time: reference.time }, transactions)
        }))
    }
}

/// Iterator over recorded blocks with their hashes. It ends after an error.
#[derive(Debug)]
pub(super) struct FullBlocks<'s> {
    snapshot: &'s AccountSnapshot,
    /// Least height of the next block; `None` at the end.
    next: Option<u64>,
}

impl FullBlocks<'_> {
    fn read(&self, from: u64) -> Result<Option<AccountBlock>, GraphError> {
        self.snapshot.with_reader(|reader| {
            let Some(block) = reader.block_from(from)? else { return Ok(None) };
            let reference = block.block;
            let after = reader.block_from(reference.height.saturating_add(1))?;
            let end = self.snapshot.state.next_transaction;
            let end = after.map_or(end, |after| after.first_transaction);
            let mut transactions = Vec::new();
            reader.transactions(block.first_transaction, end, |_, transaction| {
                transactions.push(transaction);
                Ok(())
            })?;
            let is_lacking = reader.internal_gaps()?.contains(reference.height);
            let internal =
                if is_lacking { InternalTransfers::Lacking } else { InternalTransfers::Stated };
            Ok(Some(AccountBlock { reference, transactions, internal }))
        })
    }
}

impl Iterator for FullBlocks<'_> {
    type Item = Result<AccountBlock, GraphError>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.read(self.next?);
        self.next = match &found {
            Ok(Some(block)) => block.reference.height.checked_add(1),
            Ok(None) | Err(_) => None,
        };
        found.transpose()
    }
}

/// Most accounts of a transaction, each in one asset, whose payments are read.
const MOST_ACCOUNTS: usize = 20_000;
/// Most transactions whose times a view keeps.
const MOST_TIMES: usize = 1 << 16;

/// Keeps the time of a payment's transaction.
fn note_time(times: &mut FxHashMap<u64, Timestamp>, stored: &StoredPayment) {
    if times.len() >= MOST_TIMES {
        times.clear();
    }
    times.insert(stored.transaction, time_of(stored.time));
}

/// The time of milliseconds that a graph stored.
pub(super) fn time_of(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::MIN)
}

/// The payment of an entry.
pub(super) fn payment(stored: StoredPayment) -> Payment {
    let owner = OwnerNumber(stored.owner);
    let other = stored.other.map_or(OwnerNumber::NOBODY, OwnerNumber);
    let (from, to) = if stored.is_received { (other, owner) } else { (owner, other) };
    Payment {
        kind: stored.kind,
        transaction: TransactionNumber(stored.transaction),
        sequence: stored.sequence,
        from,
        to,
        asset: AssetNumber(stored.asset),
        amount: stored.amount,
        shares: stored.shares,
        hop: stored.hop,
        is_initiated: stored.is_initiated,
    }
}

impl AccountView for AccountSnapshot {
    fn chain(&self) -> ChainId {
        self.state.chain
    }

    fn time(&self, transaction: TransactionNumber) -> Timestamp {
        if transaction.0 >= self.state.next_transaction {
            return Timestamp::UNIX_EPOCH;
        }
        self.read(|reader, times| {
            if let Some(known) = times.get(&transaction.0) {
                return Ok(*known);
            }
            let height = reader.record(transaction.0)?.height;
            let block = reader.block(height)?.ok_or_else(|| damaged("block", height))?;
            let time = time_of(block.block.time.as_millisecond());
            times.insert(transaction.0, time);
            Ok(time)
        })
    }

    fn txid(&self, transaction: TransactionNumber) -> Txid {
        let is_known = transaction.0 < self.state.next_transaction;
        let txid = || self.read(|reader, _| reader.txid(transaction.0).map(Some));
        let found = is_known.then(txid).flatten();
        found.unwrap_or(Txid::from_bytes([0; 32]))
    }

    fn find(&self, id: &Txid) -> Option<TransactionNumber> {
        self.read(|reader, _| reader.find(id)).map(TransactionNumber)
    }

    fn transaction(&self, number: TransactionNumber) -> Option<AccountTransaction> {
        if number.0 >= self.state.next_transaction {
            return None;
        }
        self.read(|reader, _| reader.transaction(number.0).map(Some))
    }

    fn owner(&self, account: AccountAddress) -> Option<OwnerNumber> {
        self.read(|reader, _| reader.owner(None, account)).map(OwnerNumber)
    }

    fn address(&self, owner: OwnerNumber) -> Option<AccountAddress> {
        if owner.0 >= self.state.next_owner {
            return None;
        }
        self.read(|reader, _| reader.address(owner.0).map(Some))
    }

    fn asset(&self, asset: AssetNumber) -> Option<Asset> {
        if let Some(scored) = self.scored.get(asset) {
            return Some(scored.id.asset);
        }
        if asset.is_scored() || asset.0 >= self.state.next_token {
            return None;
        }
        self.read(|reader, _| reader.asset(asset).map(Some))
    }

    fn payments(&self, of: OwnerNumber, most: usize) -> AccountPayments {
        let count = self.payment_count(of);
        let mut payments = Vec::new();
        if u64::try_from(most).is_ok_and(|most| most < count) {
            payments = self.newest_payments(of, most);
        } else {
            self.read_payments(of, None, |payment| {
                payments.push(payment);
                true
            });
        }
        payments.sort_by_key(|payment| (payment.transaction, payment.sequence));
        let read = u64::try_from(payments.len()).unwrap_or(u64::MAX);
        AccountPayments {
            payments,
            left_out: count.saturating_sub(read),
            ..AccountPayments::default()
        }
    }

    fn history(&self, of: OwnerNumber, most: usize) -> AccountPayments {
        let count = self.payment_count(of);
        if u64::try_from(most).is_ok_and(|most| count <= most) {
            return self.payments(of, most);
        }
        let (sums, until) = self.read(|reader, _| {
            let mut of_assets = Vec::new();
            for ledger in reader.ledgers(of.0)? {
                of_assets.push(SummedPages::read(reader, (of.0, ledger.asset), most)?);
            }
            let sizes = of_assets.iter().flat_map(SummedPages::sizes);
            let until = summed_until(sizes.collect(), count, most);
            let mut sums = Vec::new();
            for pages in &of_assets {
                if let Some(last) = until.get(&AssetNumber(pages.asset)) {
                    pages.sums(last.0, &mut sums)?;
                }
            }
            Ok((sums, until))
        });
        let mut payments = Vec::new();
        for asset in AssetNumber::all_scored(self.state.chain) {
            let from = until.get(&asset).map_or(0, |last| last.0 + 1);
            self.read_payments(of, Some((asset, TransactionNumber(from))), |payment| {
                payments.push(payment);
                true
            });
        }
        payments.sort_by_key(|payment| (payment.transaction, payment.sequence));
        AccountPayments { sums, payments, left_out: 0 }
    }

    fn payment_count(&self, of: OwnerNumber) -> u64 {
        let ledgers = self.read(|reader, _| reader.ledgers(of.0));
        ledgers.iter().map(|stored| stored.sums.payments()).sum()
    }

    fn payments_before(
        &self,
        of: OwnerNumber,
        asset: AssetNumber,
        before: TransactionNumber,
        most: usize,
    ) -> Vec<Payment> {
        self.read(|reader, times| {
            let mut payments = reader.payments_before(of.0, asset.0, before.0)?;
            let mut newest = Vec::new();
            while newest.len() < most
                && let Some(stored) = payments.next()?
            {
                note_time(times, &stored);
                newest.push(payment(stored));
            }
            Ok(newest)
        })
    }

    fn payments_from(
        &self,
        of: OwnerNumber,
        asset: AssetNumber,
        from: TransactionNumber,
        most: usize,
    ) -> Vec<Payment> {
        let mut oldest = Vec::new();
        self.read_payments(of, Some((asset, from)), |payment| {
            if oldest.len() < most {
                oldest.push(payment);
            }
            oldest.len() < most
        });
        oldest
    }

    fn payments_of_transaction(&self, transaction: TransactionNumber) -> Vec<Payment> {
        let Some(of) = self.transaction(transaction) else { return Vec::new() };
        let mut moved: BTreeSet<(AssetNumber, AccountAddress)> = BTreeSet::new();
        for transfer in &of.transfers {
            let Some(asset) = self.scored.number(transfer.asset) else { continue };
            self.scored.accounts_of_transfer(transfer, |account| {
                moved.insert((asset, account));
            });
        }
        let mut payments: Vec<Payment> = Vec::new();
        for (asset, account) in moved.into_iter().take(MOST_ACCOUNTS) {
            let Some(owner) = self.owner(account) else { continue };
            self.read_payments(owner, Some((asset, transaction)), |payment| {
                let is_own = payment.transaction == transaction;
                // The entry that has the breakdown.
                let is_whole = payment.to == owner || payment.to == OwnerNumber::NOBODY;
                if is_own && is_whole {
                    payments.push(payment);
                }
                is_own
            });
        }
        payments.sort_by_key(|payment| payment.sequence);
        payments
    }

    fn ledgers(&self, of: OwnerNumber) -> Vec<(AssetNumber, AccountLedger)> {
        let ledgers = self.read(|reader, _| {
            // Accounts at which money ends have sums, and no ledger.
            if of.0 >= self.state.next_owner || reader.is_end(of.0)? {
                return Ok(Vec::new());
            }
            reader.ledgers(of.0)
        });
        ledgers.into_iter().map(|stored| (AssetNumber(stored.asset), stored.ledger)).collect()
    }

    fn dealings(&self, of: OwnerNumber) -> Vec<(DealingKey, Dealing)> {
        let stored = self.read(|reader, _| reader.dealings(of.0));
        let mut dealings: Vec<(DealingKey, Dealing)> = stored
            .into_iter()
            .map(|stored| {
                let key = DealingKey {
                    party: OwnerNumber(stored.party),
                    asset: AssetNumber(stored.asset),
                    period: stored.period(),
                    direction: stored.direction(),
                };
                let (first, last) = (time_of(stored.first), time_of(stored.last));
                let (count, amount) = (stored.count, stored.amount);
                (key, Dealing { first, last, count, amount })
            })
            .collect();
        dealings.sort_by_key(|(key, _)| *key);
        dealings
    }

    fn with_other_tokens(&self, of: OwnerNumber, most: usize) -> Vec<TransactionNumber> {
        self.newest_of(EntryKind::OtherToken, of, most)
    }

    fn with_freezes(&self, of: OwnerNumber, most: usize) -> Vec<TransactionNumber> {
        self.newest_of(EntryKind::Freeze, of, most)
    }

    fn with_delegations(&self, of: OwnerNumber, most: usize) -> Vec<TransactionNumber> {
        self.newest_of(EntryKind::Delegation, of, most)
    }

    fn with_message(&self, of: OwnerNumber, most: usize) -> Vec<TransactionNumber> {
        self.newest_of(EntryKind::Message, of, most)
    }

    fn deployer(&self, contract: OwnerNumber) -> Option<OwnerNumber> {
        // A contract that was created again has its newest creator.
        let found = self.read(|reader, _| reader.creations(contract.0, false, usize::MAX));
        found.last().copied().map(OwnerNumber)
    }

    fn deployed(&self, by: OwnerNumber, most: usize) -> Vec<OwnerNumber> {
        let found = self.read(|reader, _| reader.creations(by.0, true, most));
        found.into_iter().map(OwnerNumber).collect()
    }

    fn state(&self, of: OwnerNumber) -> AccountState {
        if of.0 >= self.state.next_owner {
            return AccountState::default();
        }
        self.read(|reader, _| reader.state_of(of.0))
    }

    fn is_contract(&self, of: OwnerNumber) -> bool {
        of.0 < self.state.next_owner && self.read(|reader, _| reader.is_contract(of.0))
    }

    fn knows_contracts(&self) -> bool {
        self.counts().contracts > 0
    }

    fn has_internal_transfers(&self) -> bool {
        let notes = self.read(|reader, _| reader.source_notes());
        notes.has_internal_transfers.unwrap_or_else(|| self.counts().internal > 0)
    }

    fn internal_gaps(&self) -> Vec<(Timestamp, Timestamp)> {
        self.read(|reader, _| reader.times_of_internal_gaps())
    }

    fn has_initiators(&self) -> bool {
        self.counts().without_initiator == 0
    }
}

impl AccountGraphView for AccountSnapshot {
    fn owners(&self) -> u64 {
        self.state.next_owner
    }

    fn check(&self) -> Result<(), GraphError> {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        match reading.failure.take() {
            Some(failure) => {
                // The answers after the first error were empty too.
                reading.failure = Some(GraphError::unreadable("view", &failure));
                Err(failure)
            }
            None => Ok(()),
        }
    }
}
