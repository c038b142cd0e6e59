//! The ledgers after a change of the ends (`docs/model/accounts.md` B14): what changes is computed beside the ledgers that
//! answer, in slices, and takes their place at once.
//!
//! A transaction is booked anew if an end that changed pays in it, or an account whose ledger is another one by then. Both
//! ledgers of such an account, under the ends of before and under the new ones, are known side by side: where they are equal
//! again, nothing follows. A ledger of any moment is booked from the account's entries since its last page.
//!
//! - `draft`: what an unfinished update knows, and its rows
//! - `replay`: ledgers of any moment
//! - `rebook`: booking one transaction under both ends
//! - `changes`: the entries that a transaction changes
//! - `finish`: last versions of ledgers, pages, dealings, and the swap

mod changes;
pub(super) mod draft;
mod finish;
mod rebook;
mod replay;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
    path::{Path, PathBuf},
    sync::Arc,
};

use assay_address::ChainId;
use assay_columns::run::{self, Filters, UnfinishedFilters};
use assay_engine::{
    account::{AccountAddress, MoneyEnd, MoneyEnds},
    ledger::OwnerNumber,
};
use assay_mapped::{MappedError, WriterLock};
use heed::RoTxn;
use rustc_hash::{FxHashMap, FxHashSet};

use self::{
    draft::{DraftKey, DraftLedger, DraftRecord},
    finish::Readers,
    rebook::ReadTransaction,
};
use super::{
    block::GraphState,
    book::LedgerKey,
    end_bytes,
    entry::{AccountRuns, EntryKind, StoredPayment},
    index::IndexEntries,
    reader::Reader,
    tables::{DRAFT, DRAFT_RUNS, RUNS, Tables},
};
use crate::{
    GraphError,
    account::{AccountEnds, numbering::ScoredAssets},
    error::damaged,
};

/// Number of transactions that a slice books.
const SLICE: usize = 10_000;
/// Most ledgers that are kept without being changed.
const MOST_KEPT: usize = 100_000;
/// Number of entries that are kept ahead of a ledger, as long as all ledgers together keep fewer than [`MANY_AHEAD`].
const AHEAD: usize = 64;
/// Number of entries that are kept ahead of a ledger from then on.
const AHEAD_OF_MANY: usize = 8;
const MANY_AHEAD: usize = 2_000_000;
/// Most ledgers that an update changes: beyond it, all are computed anew.
const MOST_CHANGED: usize = 1_000_000;
/// Least part of all transactions above which all ledgers are computed anew: booking one anew takes about four times as
/// long as booking it in order.
const MOST_BOOKED_ONE_IN: u64 = 5;
/// Number of transactions from which on this part matters.
const FEW: u64 = 10_000;

/// Result of a slice of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateStep {
    /// More slices are to come; the number of transactions that were booked anew.
    Booked(u64),
    /// The ledgers took the place of the old ones.
    Finished,
    /// Computing all ledgers anew is cheaper.
    TooMany,
}

/// An end that changed: what it was, and what it is.
#[derive(Clone, Copy, Debug)]
struct ChangedEnd {
    old: Option<MoneyEnd>,
    new: Option<MoneyEnd>,
}

impl ChangedEnd {
    /// True for an account at which money ends no more.
    const fn is_freed(&self) -> bool {
        self.old.is_some() && self.new.is_none()
    }

    /// True for an account at which money ends only now.
    const fn is_bound(&self) -> bool {
        self.old.is_none() && self.new.is_some()
    }

    /// True if money ends at the account under one of both only.
    const fn is_of_one_side(&self) -> bool {
        self.old.is_some() != self.new.is_some()
    }

    /// True if direct dealings with the party are kept under one of both.
    fn has_dealings(&self) -> bool {
        [self.old, self.new].into_iter().flatten().any(MoneyEnd::has_dealings)
    }
}

/// The two sides of an update.
#[derive(Debug)]
struct Ends {
    old: AccountEnds,
    new: AccountEnds,
    numbered_old: MoneyEnds,
    numbered_new: MoneyEnds,
    /// The ends that changed, and those among them that the chain has.
    different: BTreeMap<AccountAddress, ChangedEnd>,
    changed: FxHashMap<u64, ChangedEnd>,
    /// Accounts that were looked at for new ends.
    seen: FxHashSet<u64>,
}

impl Ends {
    /// True if money ends at an account under the new ends.
    fn is_new_end(&mut self, reader: &Reader<'_>, owner: u64) -> Result<bool, GraphError> {
        if self.seen.len() >= MOST_KEPT {
            self.seen.clear();
        }
        if self.seen.insert(owner)
            && let Some(end) = self.new.get(reader.address(owner)?)
        {
            self.numbered_new.add(OwnerNumber(owner), end);
        }
        Ok(self.numbered_new.get(OwnerNumber(owner)).is_some())
    }

    /// Numbers the ends among some accounts.
    fn number(&mut self, accounts: &[(AccountAddress, OwnerNumber)]) {
        for (account, owner) in accounts.iter().filter(|(_, it)| *it != OwnerNumber::NOBODY) {
            if let Some(end) = self.old.get(*account) {
                self.numbered_old.add(*owner, end);
            }
            if let Some(end) = self.new.get(*account) {
                self.numbered_new.add(*owner, end);
            }
        }
    }
}

/// The update of a chain's ledgers for other ends.
#[derive(Debug)]
pub(super) struct LedgerUpdate {
    folder: PathBuf,
    chain: ChainId,
    scored: ScoredAssets,
    ends: Ends,
    record: DraftRecord,
    ledgers: FxHashMap<LedgerKey, DraftLedger>,
    changed_ledgers: usize,
    waiting: BinaryHeap<Reverse<(u64, LedgerKey)>>,
    /// Transactions that are booked anew whatever ledgers they find; false if only their dealings are counted.
    explicit: BTreeMap<u64, bool>,
    /// Pages that are written anew, from a transaction on.
    pages: BTreeMap<LedgerKey, u64>,
    /// The last settled transactions that end a page, where they were looked up; `None` for accounts without pages.
    last_pages: FxHashMap<LedgerKey, Option<u64>>,
    /// Number of entries that are kept ahead of a ledger.
    most_ahead: usize,
    /// Accounts and parties whose dealings are summed anew.
    dealings: BTreeSet<(u64, u64)>,
    /// Rows that were noted since the last slice.
    noted: BTreeSet<DraftKey>,
    /// True if the ends that changed have too many payments.
    is_too_much: bool,
    /// Numbers of issuers.
    numbers: FxHashMap<AccountAddress, OwnerNumber>,
    /// Transactions before this one cannot be rolled back, when they were last looked at.
    settled: u64,
    /// True until the first slice is written.
    is_new: bool,
}

/// The rows and entries that a slice writes.
#[derive(Debug, Default)]
struct Slice {
    entries: IndexEntries,
    touched: FxHashSet<LedgerKey>,
    /// Rows of finished work.
    done: Vec<DraftKey>,
}

/// The graph while a slice works on it.
struct Graph {
    tables: Arc<Tables>,
    lock: WriterLock,
    state: GraphState,
    runs: AccountRuns,
    draft_runs: AccountRuns,
    /// False if there is no draft: none was begun, or a writer gave it up.
    has_draft: bool,
}

impl Graph {
    fn open(folder: &Path, chain: ChainId) -> Result<Self, GraphError> {
        let (tables, lock) = Tables::create(folder).map_err(|error| match error {
            GraphError::Environment(MappedError::Busy { .. }) => GraphError::Busy(chain),
            error => error,
        })?;
        let transaction = tables.environment.read()?;
        let runs = tables.runs(&transaction)?;
        let state = Reader::new(&tables, &runs, &transaction).state()?;
        let state = state.ok_or_else(|| damaged("meta", "its state"))?;
        let draft = draft::runs(&tables, &transaction)?;
        let has_draft = draft.is_some();
        let draft_runs = draft.unwrap_or_else(|| runs.draft());
        drop(transaction);
        Ok(Self { tables: Arc::new(tables), lock, state, runs, draft_runs, has_draft })
    }

    /// The number of transactions that cannot be rolled back, and whose entries are in runs.
    fn settled(&self, txn: &RoTxn<'_>) -> Result<u64, GraphError> {
        let reader = Reader::settled(&self.tables, &self.runs, txn);
        let first = reader.block_from(self.state.recent_from)?;
        Ok(first.map_or(self.state.next_transaction, |block| block.first_transaction))
    }
}

impl LedgerUpdate {
    /// Begins, or resumes, the update of a graph; `None` if the ledgers are for these ends already.
    pub(super) fn open(
        folder: &Path,
        chain: ChainId,
        target: &AccountEnds,
    ) -> Result<Option<Self>, GraphError> {
        let graph = Graph::open(folder, chain)?;
        if graph.state.ends == target.revision() {
            return Ok(None);
        }
        let txn = graph.tables.environment.read()?;
        let reader = Reader::settled(&graph.tables, &graph.runs, &txn);
        let old = end_bytes::load(&graph.tables, &txn)?;
        let accounts = old.iter().chain(target.iter()).map(|(account, _)| account);
        let both = accounts.map(|account| {
            (account, ChangedEnd { old: old.get(account), new: target.get(account) })
        });
        let different: BTreeMap<AccountAddress, ChangedEnd> =
            both.filter(|(_, end)| end.old != end.new).collect();
        let mut changed = FxHashMap::default();
        for (account, end) in &different {
            if let Some(owner) = reader.owner(None, *account)? {
                changed.insert(owner, *end);
            }
        }
        let settled = graph.settled(&txn)?;
        let ends = [target.revision(), graph.state.ends.clone()];
        let stored = graph.tables.meta.get(&txn, DRAFT)?.and_then(DraftRecord::parse);
        let stored = stored.filter(|_| graph.has_draft);
        let update = graph.state.update + 1;
        let is_same = |record: &DraftRecord| record.ends == ends && record.update == update;
        let resumed = stored.filter(is_same).filter(|_| graph.runs.has_room_for(&graph.draft_runs));
        let is_new = resumed.is_none();
        let new = DraftRecord { ends, update, position: 0, tail: settled, booked: 0 };
        let mut this = Self {
            folder: folder.to_owned(),
            chain,
            scored: ScoredAssets::of(chain),
            ends: Ends {
                old,
                new: target.clone(),
                numbered_old: MoneyEnds::default(),
                numbered_new: MoneyEnds::default(),
                different,
                changed,
                seen: FxHashSet::default(),
            },
            record: resumed.unwrap_or(new),
            ledgers: FxHashMap::default(),
            changed_ledgers: 0,
            waiting: BinaryHeap::new(),
            explicit: BTreeMap::new(),
            pages: BTreeMap::new(),
            last_pages: FxHashMap::default(),
            most_ahead: AHEAD,
            dealings: BTreeSet::new(),
            noted: BTreeSet::new(),
            // What contracts hold is not known of earlier moments.
            is_too_much: !graph.runs.can_draft()
                || graph.state.tip.is_some_and(|tip| tip.counts.contracts > 0),
            numbers: FxHashMap::default(),
            settled,
            is_new,
        };
        if !is_new {
            this.load(&graph, &txn)?;
        }
        this.begin(&reader, graph.state.next_transaction)?;
        this.look_at_tail(&reader, this.record.position.max(this.record.tail))?;
        drop(reader);
        Ok(Some(this))
    }

    /// Most transactions that are left to book.
    pub(super) const fn left(&self) -> u64 {
        self.settled.saturating_sub(self.record.position)
    }

    /// Reads the rows of an interrupted update.
    fn load(&mut self, graph: &Graph, txn: &RoTxn<'_>) -> Result<(), GraphError> {
        for row in graph.tables.draft.all(txn)? {
            let (bytes, value) = row?;
            let is_damaged = || damaged("draft", hex::encode(bytes));
            match DraftKey::parse(bytes).ok_or_else(is_damaged)? {
                DraftKey::Ledger(key) => {
                    let ledger = DraftLedger::parse(value).ok_or_else(is_damaged)?;
                    self.waiting.extend(ledger.next.map(|next| Reverse((next, key))));
                    self.changed_ledgers += usize::from(ledger.is_changed);
                    self.ledgers.insert(key, ledger);
                }
                DraftKey::Pages(key) => {
                    let from = value.try_into().ok().map(u64::from_be_bytes);
                    self.pages.insert(key, from.ok_or_else(is_damaged)?);
                }
                DraftKey::Dealings(account, party) => {
                    self.dealings.insert((account, party));
                }
            }
        }
        Ok(())
    }

    /// Notes what is to be computed of the ends that changed.
    fn begin(&mut self, reader: &Reader<'_>, transactions: u64) -> Result<(), GraphError> {
        let mut payments = 0_u64;
        for owner in self.ends.changed.keys() {
            let sums = reader.ledgers(*owner)?.into_iter().map(|ledger| ledger.sums.payments());
            payments = payments.saturating_add(sums.sum());
        }
        if payments > most_booked(transactions) {
            self.is_too_much = true;
        }
        if self.is_too_much {
            return Ok(());
        }
        let position = self.record.position;
        let changed: Vec<(u64, ChangedEnd)> =
            self.ends.changed.iter().map(|(owner, end)| (*owner, *end)).collect();
        for (owner, end) in changed {
            let has_dealings = end.has_dealings();
            let mut paying: FxHashMap<LedgerKey, u64> = FxHashMap::default();
            let explicit = &mut self.explicit;
            let note = |entry: StoredPayment| {
                let StoredPayment { transaction, is_received, other, asset, .. } = entry;
                let pays = !is_received || other == Some(owner);
                if transaction >= position && (pays || has_dealings) {
                    *explicit.entry(transaction).or_default() |= pays;
                }
                if is_received && let Some(payer) = other {
                    paying.entry((payer, asset)).or_insert(transaction);
                }
                true
            };
            reader.payments(owner, None, note)?;
            for transaction in reader.transactions_of(EntryKind::Passing, owner)? {
                if transaction >= position {
                    self.explicit.insert(transaction, true);
                }
            }
            if !self.is_new {
                continue;
            }
            for ledger in reader.ledgers(owner)? {
                let key = (owner, ledger.asset);
                if end.is_of_one_side() {
                    self.note_pages(key, 0);
                }
                if end.is_freed() {
                    let mut freed = DraftLedger::load(reader, key, 0, (true, self.most_ahead))?;
                    freed.is_changed = true;
                    self.changed_ledgers += 1;
                    self.ledgers.insert(key, freed);
                }
            }
            // Sums of pages tell the ends that an account paid.
            for (key, first) in paying {
                if self.has_page(reader, key, first)? {
                    self.note_pages(key, first);
                }
            }
        }
        Ok(())
    }

    fn note_pages(&mut self, key: LedgerKey, from: u64) {
        let known = self.pages.entry(key).or_insert(from);
        *known = (*known).min(from);
        self.noted.insert(DraftKey::Pages(key));
    }

    /// Looks at the transactions from one on, which came after the update had begun.
    fn look_at_tail(&mut self, reader: &Reader<'_>, from: u64) -> Result<(), GraphError> {
        for number in from..self.settled {
            let read = ReadTransaction::read(reader, &self.scored, number, &mut self.numbers)?;
            for (account, owner) in &read.accounts {
                // Accounts that the chain has only since then.
                if let Some(end) = self.ends.different.get(account) {
                    self.ends.changed.insert(owner.0, *end);
                }
            }
            let is_changed = |key: &LedgerKey| {
                self.ledgers.get(key).is_some_and(|ledger| ledger.is_changed)
                    || self.ends.changed.contains_key(&key.0)
            };
            let keys = read.ledgers();
            if keys.iter().any(is_changed) {
                self.explicit.insert(number, true);
            }
            for key in keys {
                // The page was summed for the ends of before.
                if reader
                    .pages_from(key, number)?
                    .first()
                    .is_some_and(|it| it.transaction == number)
                {
                    self.note_pages(key, number);
                }
            }
        }
        Ok(())
    }

    /// Computes the next slice, or, after the last one, makes the ledgers the present ones.
    pub(super) fn advance(&mut self) -> Result<UpdateStep, GraphError> {
        let mut graph = Graph::open(&self.folder, self.chain)?;
        if graph.state.ends != self.record.ends[1] || graph.state.update + 1 != self.record.update {
            return Err(GraphError::Conflict(self.chain));
        }
        if !self.is_new && !graph.has_draft {
            return Err(GraphError::Conflict(self.chain));
        }
        let has_room = self.is_new || graph.runs.has_room_for(&graph.draft_runs);
        if self.is_too_much || !has_room {
            return Ok(UpdateStep::TooMany);
        }
        let tables = Arc::clone(&graph.tables);
        let committed = tables.environment.read()?;
        let runs = graph.runs.clone();
        let reader = Reader::settled(&tables, &runs, &committed);
        let settled = graph.settled(&committed)?;
        if settled != self.settled {
            let before = std::mem::replace(&mut self.settled, settled);
            // Entries of further transactions follow those that were read.
            for ledger in self.ledgers.values_mut() {
                ledger.read_until = ledger.read_until.or(Some(before.max(ledger.at)));
                ledger.is_short = false;
            }
            self.last_pages.clear();
            self.look_at_tail(&reader, before.max(self.record.position))?;
        }
        let mut slice = Slice::default();
        let mut booked = 0;
        while booked < SLICE
            && let Some((number, is_whole)) = self.next_transaction()
        {
            self.rebook(&reader, (number, is_whole), &mut slice)?;
            booked += 1;
        }
        self.record.booked += booked as u64;
        let is_much = self.record.booked > most_booked(graph.state.next_transaction);
        if is_much || self.changed_ledgers > MOST_CHANGED {
            return Ok(UpdateStep::TooMany);
        }
        let is_booked = self.waiting.is_empty() && self.explicit.is_empty();
        if booked == 0 && is_booked && !self.is_new && !self.has_work() {
            return self.swap(&mut graph);
        }
        if booked == 0 {
            // All transactions before this one are booked: an interrupted update looks at later ones only.
            self.record.position = self.record.position.max(self.settled);
            // What is left of an update for other ends says nothing.
            let new = self.is_new.then(|| graph.runs.draft());
            let all = graph.runs.with(new.as_ref().unwrap_or(&graph.draft_runs));
            let all = Reader::settled(&tables, &all, &committed);
            self.complete(Readers { old: &reader, all: &all }, &mut slice)?;
        }
        self.write(&mut graph, &committed, slice)?;
        if self.ledgers.len() > self.changed_ledgers + MOST_KEPT {
            self.ledgers.retain(|_, ledger| ledger.is_changed);
        }
        let ahead: usize = self.ledgers.values().map(|ledger| ledger.ahead.len()).sum();
        self.most_ahead = if ahead < MANY_AHEAD { AHEAD } else { AHEAD_OF_MANY };
        if booked == 0 && !self.has_work() {
            return self.swap(&mut graph);
        }
        Ok(UpdateStep::Booked(booked as u64))
    }

    /// Takes the next transaction that is booked anew; false if only its dealings are counted.
    fn next_transaction(&mut self) -> Option<(u64, bool)> {
        loop {
            let waiting = self.waiting.peek().map(|Reverse((number, _))| *number);
            let explicit = self.explicit.keys().next().copied();
            let number = waiting.into_iter().chain(explicit).min()?;
            let mut is_whole = self.explicit.remove(&number);
            while let Some(Reverse((waiting, key))) = self.waiting.peek().copied() {
                if waiting != number {
                    break;
                }
                self.waiting.pop();
                // A ledger that became equal again waits no more.
                let is_due = self
                    .ledgers
                    .get(&key)
                    .is_some_and(|ledger| ledger.is_changed && ledger.next == Some(number));
                if is_due {
                    is_whole = Some(true);
                }
            }
            if let Some(is_whole) = is_whole {
                self.record.position = number + 1;
                return Some((number, is_whole));
            }
        }
    }

    /// Writes the results of a slice, in one transaction of the environment.
    fn write(
        &mut self,
        graph: &mut Graph,
        committed: &RoTxn<'_>,
        slice: Slice,
    ) -> Result<(), GraphError> {
        let Slice { entries, mut touched, done } = slice;
        let is_new = std::mem::take(&mut self.is_new);
        if is_new {
            touched.extend(self.ledgers.keys().copied());
        }
        let noted = std::mem::take(&mut self.noted);
        let Graph { tables, lock, runs, draft_runs, .. } = graph;
        let this = &*self;
        let written = tables.environment.write(lock, |txn| {
            let (mut main, mut draft) = (runs.clone(), draft_runs.clone());
            if is_new {
                // What is left of an update for other ends.
                main.discard(&draft);
                draft = main.draft();
                tables.draft.clear(txn)?;
            }
            let mut filters = Filters::default();
            let table = tables.run;
            let pages = entries.put_runs(table, txn, (&mut draft, &mut filters))?;
            let mut unfinished = UnfinishedFilters::default();
            let memory = (&mut filters, &mut unfinished);
            // Of the versions of a ledger, the last one counts: their runs stay in the order in which they were written.
            let ledgers = draft.take_kind(EntryKind::Ledger);
            run::continue_merges(table, (committed, txn), &mut draft, memory, pages)?;
            draft.put_back(ledgers);
            for key in done {
                tables.draft.delete(txn, &key.to_bytes())?;
            }
            for key in touched {
                let row = DraftKey::Ledger(key).to_bytes();
                match this.ledgers.get(&key).filter(|ledger| ledger.is_changed) {
                    Some(ledger) => tables.draft.put(txn, &row, &ledger.to_bytes())?,
                    None => tables.draft.delete(txn, &row)?,
                }
            }
            for key in noted {
                let value = match key {
                    DraftKey::Pages(key) => this.pages.get(&key).map(|from| from.to_be_bytes()),
                    DraftKey::Dealings(..) | DraftKey::Ledger(_) => Some([0; 8]),
                };
                if let Some(value) = value {
                    tables.draft.put(txn, &key.to_bytes(), &value)?;
                }
            }
            tables.meta.put(txn, DRAFT, &this.record.to_bytes())?;
            tables.meta.put(txn, DRAFT_RUNS, &draft.to_bytes())?;
            tables.meta.put(txn, RUNS, &main.to_bytes())?;
            Ok::<_, GraphError>((main, draft))
        });
        (*runs, *draft_runs) = written?;
        Ok(())
    }
}

/// Most transactions that an update books anew, of a chain of so many.
fn most_booked(transactions: u64) -> u64 {
    (transactions / MOST_BOOKED_ONE_IN).max(FEW)
}
