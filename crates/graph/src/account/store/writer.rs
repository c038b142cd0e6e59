//! Writing a graph: a batch of blocks is one transaction of the environment, ledgers included.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    sync::Arc,
};

use assay_address::ChainId;
use assay_columns::{
    KeyedState,
    run::{fill_filters, merge_slice},
};
use assay_engine::{
    account::{AccountAddress, AccountTransaction, Asset, AssetNumber, MoneyEnds, Prices},
    ledger::{BlockRef, OwnerNumber},
};
use assay_mapped::{MappedError, WriteTransaction, WriterLock};
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::{
    asset_bytes::asset_bytes,
    block::{GraphState, StoredBlock},
    end_bytes,
    entry::AccountRuns,
    folders::ChainFolder,
    index::{IndexEntries, delete_recent},
    plan::{Caches, Plan, Planner},
    reader::Reader,
    sums::WrittenPages,
    tables::{INTERNAL_GAPS, RUNS, STATE, Tables},
    update::draft,
};
use crate::{
    GraphError, MAX_REORGANIZATION_DEPTH,
    account::{
        AccountEnds, RecordedState,
        numbering::{FIRST_TOKEN, ScoredAssets},
    },
    blocking,
    error::damaged,
};

/// Number of blocks whose entries move together from the table of recent entries into runs, after they cannot be rolled
/// back: a run of one block would be small.
const MOVED_TOGETHER: u64 = 16;
/// Most pages that a slice of merges writes, 16 MB: a few tenths of a second.
const SLICE_PAGES: u64 = 4096;
/// The number of the first computing of the ledgers.
pub(super) const FIRST_FOLDER: u64 = 1;

/// A block of an account chain with its transactions in their order. A source that states no hashes leaves them zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountBlock {
    /// The block.
    pub reference: BlockRef,
    /// Its transactions.
    pub transactions: Vec<AccountTransaction>,
    /// Knowledge of the transfers inside of its transactions.
    pub internal: InternalTransfers,
}

/// Knowledge of the transfers inside of the transactions of a block, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InternalTransfers {
    /// They are those that the source stated, which may state none at all.
    Stated,
    /// Those of some transactions were made of balances before and after: what only passed through an account does not show.
    OfBalances,
    /// Those of some transactions are not known.
    Lacking,
}

impl AccountBlock {
    /// Returns a block of which the source read everything that it reads of any block.
    #[must_use]
    pub const fn new(reference: BlockRef, transactions: Vec<AccountTransaction>) -> Self {
        Self { reference, transactions, internal: InternalTransfers::Stated }
    }
}

/// The writer of a chain's graph. One writer exists at a time, until it is dropped or its program ends. The methods block
/// their thread until the disk has written ([`blocking`]).
pub struct AccountGraphWriter {
    pub(super) tables: Arc<Tables>,
    /// `None` while other programs may change the graph.
    pub(super) lock: Option<WriterLock>,
    scored: ScoredAssets,
    pub(super) state: GraphState,
    pub(super) runs: AccountRuns,
    ends: AccountEnds,
    /// The ends that the chain has, by number.
    numbered_ends: MoneyEnds,
    tokens: HashMap<Asset, AssetNumber, KeyedState>,
    caches: Caches,
    /// True after a failed change: the state in memory may differ from the recorded state.
    pub(super) needs_reload: bool,
}

impl std::fmt::Debug for AccountGraphWriter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = &self.state;
        formatter.debug_struct("AccountGraphWriter").field("state", state).finish_non_exhaustive()
    }
}

impl AccountGraphWriter {
    /// Opens the graph in the folder of a chain for writing, and creates it if there is none: with demo data if `sample`, and
    /// with ledgers for `ends`. An existing graph keeps its own.
    pub(crate) fn open(
        folder: &Path,
        chain: ChainId,
        sample: bool,
        ends: &AccountEnds,
    ) -> Result<Self, GraphError> {
        let folders = ChainFolder::new(folder);
        loop {
            let current = folders.current()?;
            let number = current.unwrap_or(FIRST_FOLDER);
            match current {
                None => folders.create()?,
                // A graph that is named was made: what is missing or empty is not begun anew.
                Some(_) if Tables::open(&folders.folder(number))?.is_none() => {
                    if folders.current()? == current {
                        let what = format!("folder {number}, which has no graph");
                        return Err(damaged("current", what));
                    }
                    continue;
                }
                Some(_) => {}
            }
            let writer = Self::create(&folders.folder(number), chain, sample, ends)?;
            if current.is_none() {
                folders.set_current(number)?;
            }
            // Another computing of the ledgers may have taken the place before this writer held the lock.
            if folders.current()? == Some(number) {
                return Ok(writer);
            }
        }
    }

    /// Takes the lock of one computing of the ledgers, so that no program appends blocks. Returns the state.
    pub(super) fn lock(folder: &Path, chain: ChainId) -> Result<LockedGraph, GraphError> {
        let (tables, lock) = Self::tables(folder, chain)?;
        Ok(LockedGraph { tables, _lock: lock })
    }

    pub(super) fn tables(
        folder: &Path,
        chain: ChainId,
    ) -> Result<(Tables, WriterLock), GraphError> {
        Tables::create(folder).map_err(|error| match error {
            GraphError::Environment(MappedError::Busy { .. }) => GraphError::Busy(chain),
            error => error,
        })
    }

    /// Opens one computing of the ledgers for writing, and creates it if the folder has none.
    pub(super) fn create(
        folder: &Path,
        chain: ChainId,
        sample: bool,
        ends: &AccountEnds,
    ) -> Result<Self, GraphError> {
        let (tables, lock) = Self::tables(folder, chain)?;
        let scored = ScoredAssets::of(chain);
        let state = tables.environment.write(&lock, |txn| {
            begin(&tables, txn, &GraphState::new(chain, sample, ends.revision()), (&scored, ends))
        })?;
        let mut writer = Self {
            tables: Arc::new(tables),
            lock: Some(lock),
            scored,
            state,
            runs: AccountRuns::default(),
            ends: AccountEnds::default(),
            numbered_ends: MoneyEnds::default(),
            tokens: HashMap::default(),
            caches: Caches::new(),
            needs_reload: true,
        };
        writer.set_prices(Arc::clone(ends.prices()));
        writer.held()?;
        Ok(writer)
    }

    /// Values exchanges of days that no block had yet with these prices.
    pub fn set_prices(&mut self, prices: Arc<Prices>) {
        self.caches.values.set_prices(prices);
    }

    /// Description of the recorded blocks; `None` without blocks.
    #[must_use]
    pub fn recorded(&self) -> Option<RecordedState> {
        self.state.recorded()
    }

    /// The ends of the ledgers.
    #[must_use]
    pub const fn ends(&self) -> &AccountEnds {
        &self.ends
    }

    /// Records blocks above the tip, in one transaction, after the merges that earlier blocks made due. Blocks from the height
    /// `reorganizable_from` on can be rolled back.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::Gap`] if a block is not above the one before, or states another parent.
    pub fn append(
        &mut self,
        blocks: &[AccountBlock],
        reorganizable_from: u64,
        at: Timestamp,
    ) -> Result<(), GraphError> {
        blocking(|| self.write(blocks, reorganizable_from, at))
    }

    /// Rolls back every block above `height`.
    ///
    /// # Errors
    ///
    /// Returns [`GraphError::TooDeep`] if a block above `height` cannot be rolled back any more.
    pub fn roll_back(&mut self, height: u64) -> Result<(), GraphError> {
        blocking(|| self.remove_above(height))
    }

    /// Records symbols of tokens by contract that are the symbol of a scored asset with another contract. Earlier ones stay.
    ///
    /// # Errors
    ///
    /// Returns an error if the store fails.
    pub fn note_lookalike_symbols(
        &mut self,
        symbols: &BTreeMap<AccountAddress, String>,
    ) -> Result<(), GraphError> {
        blocking(|| {
            self.held()?;
            let committed = self.tables.environment.read()?;
            let mut are_new = false;
            for contract in symbols.keys() {
                are_new |= self.tables.symbol.get(&committed, &contract.0)?.is_none();
            }
            drop(committed);
            if !are_new {
                return Ok(());
            }
            let (tables, state) = (&self.tables, &self.state);
            let changed =
                tables.environment.write(lock(self.lock.as_ref(), state.chain)?, |txn| {
                    for (contract, symbol) in symbols {
                        if tables.symbol.get(txn, &contract.0)?.is_none() {
                            tables.symbol.put(txn, &contract.0, symbol.as_bytes())?;
                        }
                    }
                    let mut digest = Sha256::new();
                    for row in tables.symbol.all(txn)? {
                        let (contract, symbol) = row?;
                        digest.update(contract);
                        digest
                            .update(u64::try_from(symbol.len()).unwrap_or_default().to_be_bytes());
                        digest.update(symbol);
                    }
                    let changed = GraphState { symbols: digest.finalize().into(), ..state.clone() };
                    put_state(tables, txn, &changed)?;
                    Ok::<_, GraphError>(changed)
                })?;
            self.state = changed;
            Ok(())
        })
    }

    /// True unless the graph was deleted since it was opened.
    pub(super) fn is_in_place(&self) -> bool {
        self.tables.environment.is_current()
    }

    /// Digest of all recorded blocks.
    pub(super) fn digest_of_blocks(&self) -> Option<(u64, [u8; 32])> {
        self.state.tip.map(|tip| (tip.block.height, tip.digest))
    }

    /// Reads the state again after a failed change.
    pub(super) fn reload_if_needed(&mut self) -> Result<(), GraphError> {
        if !self.needs_reload {
            return Ok(());
        }
        let transaction = self.tables.environment.read()?;
        self.runs = self.tables.runs(&transaction)?;
        let reader = Reader::new(&self.tables, &self.runs, &transaction);
        self.state = reader.state()?.ok_or_else(|| damaged("meta", "its state"))?;
        self.caches.forget_blocks();
        let filters = (&mut self.caches.filters, &mut self.caches.unfinished);
        fill_filters(&transaction, self.tables.run, &self.runs, filters)?;
        self.tokens.clear();
        for (number, asset) in reader.assets()? {
            if number.0 >= FIRST_TOKEN {
                self.tokens.insert(asset, number);
            }
        }
        self.ends = end_bytes::load(&self.tables, &transaction)?;
        self.numbered_ends = MoneyEnds::default();
        for (account, end) in self.ends.iter() {
            if let Some(owner) = reader.owner(Some(&self.caches.filters), account)? {
                self.numbered_ends.add(OwnerNumber(owner), end);
            }
        }
        self.needs_reload = false;
        Ok(())
    }

    fn write(
        &mut self,
        blocks: &[AccountBlock],
        reorganizable_from: u64,
        at: Timestamp,
    ) -> Result<(), GraphError> {
        self.held()?;
        self.state.expect_next(blocks)?;
        let Some(last) = blocks.last().map(|block| block.reference.height) else { return Ok(()) };
        self.give_up_old_draft()?;
        self.merge_runs()?;
        let reorganizable_from = self.state.reorganizable_after(last, blocks, reorganizable_from);
        // After an error from here on, the caches hold data of the failed batch.
        self.needs_reload = true;
        let committed = self.tables.environment.read()?;
        let reader = Reader::new(&self.tables, &self.runs, &committed);
        if reader.state()?.as_ref() != Some(&self.state) {
            return Err(GraphError::Conflict(self.state.chain));
        }
        let mut planner = Planner {
            scored: &self.scored,
            reader: &reader,
            owners: HashMap::default(),
            tokens: &mut self.tokens,
            caches: &mut self.caches,
            ends: (&self.ends, &mut self.numbered_ends),
            state: GraphState { reorganizable_from, ..self.state.clone() },
            plan: Plan::default(),
        };
        planner.blocks(blocks)?;
        let Planner { plan, state: mut after, .. } = planner;
        after.verified_at = after.verified_at.max(at);
        let mut runs = self.runs.clone();
        let (tables, caches, before) = (&self.tables, &mut self.caches, &self.state);
        let reader = Reader::new(tables, &self.runs, &committed);
        tables.environment.write(lock(self.lock.as_ref(), before.chain)?, |txn| {
            let ends = &self.numbered_ends;
            plan.write((&reader, ends), txn, (before, &mut after), &mut runs, caches)?;
            caches.values.write(tables, txn)?;
            note_gaps(&reader, txn, blocks)
        })?;
        (self.state, self.runs, self.needs_reload) = (after, runs, false);
        Ok(())
    }

    /// Gives up an update of the ledgers that rests, once the numbers of new runs come close to those of its runs.
    fn give_up_old_draft(&mut self) -> Result<(), GraphError> {
        let committed = self.tables.environment.read()?;
        let draft = draft::runs(&self.tables, &committed)?;
        drop(committed);
        let Some(draft) = draft.filter(|draft| !self.runs.has_room_for(draft)) else {
            return Ok(());
        };
        self.needs_reload = true;
        let (tables, mut runs) = (&self.tables, self.runs.clone());
        runs.discard(&draft);
        tables.environment.write(lock(self.lock.as_ref(), self.state.chain)?, |txn| {
            draft::forget(tables, txn)?;
            Ok::<_, GraphError>(tables.meta.put(txn, RUNS, &runs.to_bytes())?)
        })?;
        (self.runs, self.needs_reload) = (runs, false);
        Ok(())
    }

    /// Continues the merges that earlier batches made due, in slices of bounded work. Each slice is a transaction of its own,
    /// so that neither a batch nor a slice takes long, and what a slice wrote stays.
    fn merge_runs(&mut self) -> Result<(), GraphError> {
        while self.runs.is_due() {
            self.needs_reload = true;
            let committed = self.tables.environment.read()?;
            let (tables, runs) = (&self.tables, &mut self.runs);
            let filters = (&mut self.caches.filters, &mut self.caches.unfinished);
            tables.environment.write(lock(self.lock.as_ref(), self.state.chain)?, |txn| {
                merge_slice(tables.run, (&committed, txn), runs, filters, SLICE_PAGES)?;
                Ok::<_, GraphError>(tables.meta.put(txn, RUNS, &runs.to_bytes())?)
            })?;
            self.needs_reload = false;
        }
        Ok(())
    }

    fn remove_above(&mut self, height: u64) -> Result<(), GraphError> {
        self.held()?;
        if self.state.tip.is_none_or(|tip| tip.block.height <= height) {
            return Ok(());
        }
        self.state.expect_reversible(height)?;
        self.needs_reload = true;
        let committed = self.tables.environment.read()?;
        let reader = Reader::new(&self.tables, &self.runs, &committed);
        let (tables, state) = (&self.tables, &self.state);
        let lock = lock(self.lock.as_ref(), state.chain)?;
        tables.environment.write(lock, |txn| roll_back(&reader, txn, state, height))?;
        self.reload_if_needed()
    }
}

/// A graph whose lock is held.
pub(super) struct LockedGraph {
    tables: Tables,
    _lock: WriterLock,
}

impl LockedGraph {
    /// Description of the recorded blocks; `None` without blocks.
    pub(super) fn recorded(&self) -> Result<Option<RecordedState>, GraphError> {
        let transaction = self.tables.environment.read()?;
        let runs = AccountRuns::default();
        let state = Reader::new(&self.tables, &runs, &transaction).state()?;
        Ok(state.and_then(|state| state.recorded()))
    }

    pub(super) const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The recorded symbols.
    pub(super) fn lookalike_symbols(&self) -> Result<BTreeMap<AccountAddress, String>, GraphError> {
        let transaction = self.tables.environment.read()?;
        Reader::new(&self.tables, &AccountRuns::default(), &transaction).symbols()
    }
}

/// The lock of a writer that holds it.
pub(super) fn lock(held: Option<&WriterLock>, chain: ChainId) -> Result<&WriterLock, GraphError> {
    held.ok_or(GraphError::Busy(chain))
}

/// Reads the state of a graph, or creates it for a graph without one.
fn begin(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    new: &GraphState,
    (scored, ends): (&ScoredAssets, &AccountEnds),
) -> Result<GraphState, GraphError> {
    let runs = AccountRuns::default();
    let reader = Reader::new(tables, &runs, txn);
    if let Some(stored) = reader.state()? {
        if stored.chain != new.chain {
            return Err(damaged("meta", format!("another chain, {}", stored.chain)));
        }
        if !reader.follows(scored)? {
            return Err(GraphError::OtherAssets(new.chain));
        }
        return Ok(stored);
    }
    drop(reader);
    for (scored, number) in scored.all().zip(0_u32..) {
        tables.asset.put(txn, &number.to_be_bytes(), &asset_bytes(scored.id.asset))?;
    }
    end_bytes::store(tables, txn, ends)?;
    put_state(tables, txn, new)?;
    Ok(new.clone())
}

pub(super) fn put_state(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    state: &GraphState,
) -> Result<(), GraphError> {
    Ok(tables.meta.put(txn, STATE, &state.to_bytes())?)
}

impl GraphState {
    fn new(chain: ChainId, sample: bool, ends: String) -> Self {
        Self {
            chain,
            sample,
            first: None,
            tip: None,
            verified_at: Timestamp::MIN,
            highest: 0,
            next_transaction: 0,
            next_owner: 0,
            next_token: FIRST_TOKEN,
            reorganizable_from: 0,
            recent_from: 0,
            symbols: [0; 32],
            update: 0,
            ends,
        }
    }

    /// Checks that blocks follow the tip and one another: heights rise, and parents are the blocks before, as far as the
    /// source states hashes.
    fn expect_next(&self, blocks: &[AccountBlock]) -> Result<(), GraphError> {
        let mut tip = self.tip.map(|tip| tip.block);
        for block in blocks.iter().map(|block| block.reference) {
            let states_parent = block.parent != [0; 32];
            let follows = tip.is_none_or(|tip| {
                // Blocks of files have no hash: a block of a node may follow them.
                let is_child = tip.hash == [0; 32] || block.parent == tip.hash;
                block.height > tip.height
                    && (!states_parent
                        || (is_child && Some(block.height) == tip.height.checked_add(1)))
            });
            if !follows {
                let tip = tip.map_or(0, |tip| tip.height);
                return Err(GraphError::Gap { chain: self.chain, height: block.height, tip });
            }
            tip = Some(block);
        }
        Ok(())
    }

    /// The lowest height that can be rolled back after blocks up to `last` are recorded, if the caller requested `wanted`.
    fn reorganizable_after(&self, last: u64, blocks: &[AccountBlock], wanted: u64) -> u64 {
        let after = last.saturating_add(1);
        let oldest_kept = after.saturating_sub(MAX_REORGANIZATION_DEPTH);
        let first_new = blocks.first().map_or(last, |block| block.reference.height);
        // A block without undo log also prevents the rollback of lower blocks.
        if wanted > first_new {
            return wanted.max(oldest_kept).min(after);
        }
        self.reorganizable_from.max(oldest_kept)
    }

    fn expect_reversible(&self, height: u64) -> Result<(), GraphError> {
        let lowest = height.saturating_add(1);
        if lowest < self.reorganizable_from {
            let height = self.reorganizable_from.saturating_sub(1);
            return Err(GraphError::TooDeep { chain: self.chain, height });
        }
        Ok(())
    }
}

impl Plan {
    /// Writes the batch. `reader` reads the state before the batch.
    fn write(
        self,
        (reader, ends): (&Reader<'_>, &MoneyEnds),
        txn: &mut WriteTransaction<'_>,
        (before, after): (&GraphState, &mut GraphState),
        runs: &mut AccountRuns,
        caches: &mut Caches,
    ) -> Result<(), GraphError> {
        let tables = reader.tables;
        for (first, page) in &self.log.full {
            tables.log.append(txn, &assay_columns::bytes::number(*first), page)?;
        }
        tables.txid.append(txn, before.next_transaction, &self.txids)?;
        tables.address.append(txn, before.next_owner, &self.addresses)?;
        for (asset, number) in self.tokens.iter().zip(before.next_token..) {
            tables.asset.append(txn, &number.to_be_bytes(), &asset_bytes(*asset))?;
        }
        for block in &self.blocks {
            tables.block.append(txn, &StoredBlock::key(block.block.height), &block.to_bytes())?;
        }
        let mut written = WrittenPages::default();
        let mut of = (reader, ends, &mut written);
        let mut pages = move_recent(&mut of, txn, (before, after), runs, caches)?;
        pages += self.settled.write_runs(of, txn, runs, &mut caches.filters)?;
        for (height, entries) in self.recent {
            entries.write_recent(tables, txn, height)?;
        }
        runs.owe(pages);
        tables.meta.put(txn, RUNS, &runs.to_bytes())?;
        put_state(tables, txn, after)
    }
}

/// Moves recent entries that cannot be rolled back any more into runs, and returns the number of written pages.
fn move_recent(
    (reader, ends, written): &mut (&Reader<'_>, &MoneyEnds, &mut WrittenPages),
    txn: &mut WriteTransaction<'_>,
    (before, after): (&GraphState, &mut GraphState),
    runs: &mut AccountRuns,
    caches: &mut Caches,
) -> Result<u64, GraphError> {
    let (from, until) = (before.recent_from, after.reorganizable_from);
    let Some(tip) = before.tip.filter(|_| until > from) else {
        // There are no recent entries below either of both.
        after.recent_from = until;
        return Ok(0);
    };
    // Entries of new blocks that cannot be rolled back go into runs now, which must be newer than those of older blocks.
    let are_new_settled = until > tip.block.height.saturating_add(1);
    if !are_new_settled && until - from < MOVED_TOGETHER {
        return Ok(0);
    }
    after.recent_from = until;
    let (tables, committed) = (reader.tables, reader.txn);
    let mut moved = IndexEntries::default();
    let mut height = from;
    while let Some(block) = reader.block_from(height)? {
        height = block.block.height;
        if height >= until {
            break;
        }
        moved.read_recent(tables, committed, height)?;
        delete_recent(tables, (committed, txn), height)?;
        height = height.saturating_add(1);
    }
    moved.write_runs((reader, ends, written), txn, runs, &mut caches.filters)
}

/// Keeps the blocks of which the source could not read everything. `reader` reads the state before the batch.
fn note_gaps(
    reader: &Reader<'_>,
    txn: &mut WriteTransaction<'_>,
    blocks: &[AccountBlock],
) -> Result<(), GraphError> {
    let is_lacking = |block: &&AccountBlock| block.internal == InternalTransfers::Lacking;
    let mut lacking = blocks.iter().filter(is_lacking).peekable();
    if lacking.peek().is_none() {
        return Ok(());
    }
    let mut gaps = reader.internal_gaps()?;
    lacking.for_each(|block| gaps.add(block.reference.height));
    Ok(reader.tables.meta.put(txn, INTERNAL_GAPS, &gaps.to_bytes())?)
}

/// Rolls back all blocks above a height. `reader` reads the state before the rollback.
fn roll_back(
    reader: &Reader<'_>,
    txn: &mut WriteTransaction<'_>,
    state: &GraphState,
    height: u64,
) -> Result<(), GraphError> {
    use std::ops::Bound::{Included, Unbounded};
    let Some(first) = reader.block_from(height.saturating_add(1))? else { return Ok(()) };
    let tables = reader.tables;
    let mut next = Some(first);
    while let Some(block) = next {
        delete_recent(tables, (reader.txn, txn), block.block.height)?;
        next = reader.block_from(block.block.height.saturating_add(1))?;
    }
    let from = assay_columns::bytes::number(first.first_transaction);
    tables.log.delete_range(txn, Included(&from), Unbounded)?;
    tables.txid.truncate(txn, state.next_transaction, first.first_transaction)?;
    tables.address.truncate(txn, state.next_owner, first.first_owner)?;
    tables.asset.delete_range(txn, Included(&first.first_token.to_be_bytes()), Unbounded)?;
    let key = StoredBlock::key(first.block.height);
    tables.block.delete_range(txn, Included(&key), Unbounded)?;
    let mut gaps = reader.internal_gaps()?;
    if gaps.contains_above(height) {
        gaps.truncate(height);
        tables.meta.put(txn, INTERNAL_GAPS, &gaps.to_bytes())?;
    }
    let newest = match first.block.height.checked_sub(1) {
        Some(height) => reader.block_up_to(height)?,
        None => None,
    };
    let after = GraphState {
        first: state.first.filter(|_| newest.is_some()),
        tip: newest,
        highest: state.highest_after_rollback(height),
        next_transaction: first.first_transaction,
        next_owner: first.first_owner,
        next_token: first.first_token,
        ..state.clone()
    };
    put_state(tables, txn, &after)
}
