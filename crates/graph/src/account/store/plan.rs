//! Planning of a batch: numbers, rows and entries of its blocks, with the ledgers that they change.

use std::collections::{HashMap, hash_map::Entry};

use assay_columns::{
    KeyedState, RowCache,
    run::{Filters, NumberByHash, UnfinishedFilters},
};
use assay_engine::{
    account::{
        AccountAddress, AccountState, AccountStates, AccountTransaction, Asset, AssetNumber,
        DayValues, MoneyEnds, Movement, NumberedTransaction,
    },
    ledger::{OwnerNumber, TransactionNumber},
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use sha2::{Digest, Sha256};

use super::{
    block::{GraphState, StoredBlock},
    book::{LedgerKey, LedgersOfBatch},
    day_prices::LedgerValues,
    entry::{Creation, StoredLedger, TransactionOf},
    index::{IndexEntries, address_hash, txid_hash},
    log::{LogPages, Numbers},
    reader::Reader,
    writer::AccountBlock,
};
use crate::{
    GraphError,
    account::{
        AccountEnds, RecordedBlock,
        codec::write_block,
        numbering::{ScoredAssets, contracts_of, is_creation, named_of},
    },
};

/// Size of the cache of accounts, in bytes.
const OWNER_BYTES: usize = 96 << 20;
/// Size of the cache of ledgers, in bytes.
const LEDGER_BYTES: usize = 256 << 20;
/// Heap bytes of a ledger: its breakdown, which several ledgers may share.
const LEDGER_HEAP: usize = 64;
/// Size of the cache of states, in bytes.
const STATE_BYTES: usize = 128 << 20;
/// Heap bytes of a state: most say nothing, and few have several holdings.
const STATE_HEAP: usize = 128;
/// Most holdings and ties of a state that is cached.
const CACHED_HOLDINGS: usize = 64;

/// A writer's cache of ledgers.
pub(super) type LedgerCache = RowCache<LedgerKey, StoredLedger>;

/// A writer's cache of states of accounts beside their ledgers.
pub(super) type StateCache = RowCache<u64, AccountState>;

/// The caches of a writer.
pub(super) struct Caches {
    owners: RowCache<AccountAddress, u64>,
    ledgers: LedgerCache,
    states: StateCache,
    pub(super) values: LedgerValues,
    pub(super) filters: Filters,
    pub(super) unfinished: UnfinishedFilters,
}

impl Caches {
    fn keep_states(&mut self, states: &AccountStates) {
        for (owner, state) in states.iter() {
            // Anybody can give an account as many tokens as he likes.
            if state.holdings.len() + state.ties.len() <= CACHED_HOLDINGS {
                self.states.insert(owner.0, state.clone());
            } else {
                self.states.remove(&owner.0);
            }
        }
    }

    pub(super) fn new() -> Self {
        Self {
            owners: RowCache::within(OWNER_BYTES, 0),
            ledgers: RowCache::within(LEDGER_BYTES, LEDGER_HEAP),
            states: RowCache::within(STATE_BYTES, STATE_HEAP),
            values: LedgerValues::default(),
            filters: Filters::enabled(),
            unfinished: UnfinishedFilters::default(),
        }
    }

    /// Clears the caches that rolled back or failed blocks may have filled. Runs hold no such blocks.
    pub(super) fn forget_blocks(&mut self) {
        self.owners.clear();
        self.ledgers.clear();
        self.states.clear();
        self.values.forget();
    }
}

/// The rows of a batch.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) blocks: Vec<StoredBlock>,
    pub(super) log: LogPages,
    pub(super) txids: Vec<u8>,
    pub(super) addresses: Vec<u8>,
    pub(super) tokens: Vec<Asset>,
    /// Entries of blocks that cannot be rolled back.
    pub(super) settled: IndexEntries,
    /// Entries of blocks that can be rolled back, by height.
    pub(super) recent: Vec<(u64, IndexEntries)>,
}

/// The planning of a batch.
pub(super) struct Planner<'p> {
    pub(super) scored: &'p ScoredAssets,
    pub(super) reader: &'p Reader<'p>,
    /// The accounts of the batch.
    pub(super) owners: HashMap<AccountAddress, OwnerNumber, KeyedState>,
    pub(super) tokens: &'p mut HashMap<Asset, AssetNumber, KeyedState>,
    pub(super) caches: &'p mut Caches,
    pub(super) ends: (&'p AccountEnds, &'p mut MoneyEnds),
    pub(super) state: GraphState,
    pub(super) plan: Plan,
}

/// Numbers of a batch, for the log.
struct BatchNumbers<'n> {
    scored: &'n ScoredAssets,
    owners: &'n HashMap<AccountAddress, OwnerNumber, KeyedState>,
    tokens: &'n HashMap<Asset, AssetNumber, KeyedState>,
}

/// Numbers of a batch's accounts and tokens, and the entries of new accounts.
#[derive(Default)]
struct Numbered {
    /// The first new account and token of each block.
    first: Vec<(u64, u32)>,
    /// Entries of blocks that cannot be rolled back.
    settled: IndexEntries,
    /// Entries of each block that can be rolled back.
    recent: Vec<IndexEntries>,
}

/// The movements of a batch.
#[derive(Default)]
struct BatchMovements {
    movements: Vec<Movement>,
    /// Number of movements of each transaction.
    counts: Vec<usize>,
}

impl BatchMovements {
    fn all(&self) -> &[Movement] {
        &self.movements
    }

    /// The movements of each transaction, in the order of the chain.
    fn of_transactions(&self) -> impl Iterator<Item = &[Movement]> {
        let mut rest = &*self.movements;
        self.counts.iter().map(move |count| {
            let (own, others) = rest.split_at_checked(*count).unwrap_or_default();
            rest = others;
            own
        })
    }
}

impl BatchNumbers<'_> {
    /// The movements of blocks.
    fn movements(&self, blocks: &[AccountBlock]) -> BatchMovements {
        let mut all = BatchMovements::default();
        let mut own = Vec::new();
        for transaction in blocks.iter().flat_map(|block| &block.transactions) {
            let (owner, token) = (|it| self.owner(it), |it| self.asset(it));
            self.scored.movements(transaction, owner, token, &mut own);
            all.counts.push(own.len());
            all.movements.append(&mut own);
        }
        all
    }
}

impl Numbers for BatchNumbers<'_> {
    fn owner(&self, account: AccountAddress) -> OwnerNumber {
        self.owners.get(&account).copied().unwrap_or(OwnerNumber::NOBODY)
    }

    fn asset(&self, asset: Asset) -> AssetNumber {
        let scored = self.scored.number(asset);
        let token = || self.tokens.get(&asset).copied();
        scored.or_else(token).unwrap_or(AssetNumber(u32::MAX))
    }
}

impl Planner<'_> {
    /// Plans the blocks, which follow those of the state.
    pub(super) fn blocks(&mut self, blocks: &[AccountBlock]) -> Result<(), GraphError> {
        let Numbered { first, mut settled, recent: entries_of } = self.number(blocks)?;
        let first_new = first.first().map_or(self.state.next_owner, |(owner, _)| *owner);
        let mut recent = entries_of.into_iter();
        let mut ledgers = LedgersOfBatch::new(
            self.reader,
            (&self.caches.filters, &self.caches.ledgers),
            (first_new, self.state.update),
            self.state.tip.is_some_and(|tip| tip.counts.contracts > 0),
        );
        let numbers =
            BatchNumbers { scored: self.scored, owners: &self.owners, tokens: &*self.tokens };
        let movements = numbers.movements(blocks);
        ledgers.load(movements.all())?;
        ledgers.load_states(self.owners.values().copied(), &self.caches.states)?;
        let chain = self.state.chain;
        let mut with_code = ledgers.contracts();
        for transaction in blocks.iter().flat_map(|block| &block.transactions) {
            contracts_of(transaction, |it| numbers.owner(it), |contract| with_code.push(contract));
        }
        ledgers.load_contracts(&with_code, chain)?;
        let times = blocks.iter().flat_map(|block| &block.transactions).map(|it| it.time);
        self.caches.values.note(self.reader, (chain, times.map(day_of)))?;
        let mut movements = movements.of_transactions();
        let state = &mut self.state;
        let mut counts = state.tip.map(|tip| tip.counts).unwrap_or_default();
        let mut digest = state.tip.map_or([0; 32], |tip| tip.digest);
        let mut bytes = Vec::new();
        let without_values = DayValues::default();
        for (block, (first_owner, first_token)) in blocks.iter().zip(first) {
            let AccountBlock { reference, transactions, .. } = block;
            let is_recent = reference.height >= state.reorganizable_from;
            let mut own = if is_recent { recent.next() } else { None };
            if is_recent {
                // What was booked before belongs to blocks that cannot be rolled back.
                ledgers.collect(&mut settled);
                self.plan.log.finish_page();
            }
            let first_transaction = state.next_transaction;
            for transaction in transactions {
                let number = state.next_transaction;
                state.next_transaction += 1;
                let into = own.as_mut().unwrap_or(&mut settled);
                into.txids.push(NumberByHash { hash: txid_hash(&transaction.id), number });
                self.plan.txids.extend_from_slice(transaction.id.as_bytes());
                self.plan.log.push(number, transaction, &numbers);
                counts.add(self.scored, transaction);
                others(transaction, number, &numbers, into);
                let owner = |account| numbers.owner(account);
                let mut contracts = Vec::new();
                contracts_of(transaction, owner, |contract| contracts.push(contract));
                let named = named_of(transaction, owner);
                let numbered = NumberedTransaction {
                    number: TransactionNumber(number),
                    time: transaction.time,
                    initiator: transaction
                        .initiator
                        .map(|account| numbers.owner(account))
                        .filter(|owner| *owner != OwnerNumber::NOBODY),
                    movements: movements.next().unwrap_or_default(),
                    named: &named,
                };
                let values = self.caches.values.of(numbered.day()).unwrap_or(&without_values);
                ledgers.book(&numbered, &contracts, (self.ends.1, values));
            }
            counts.blocks += 1;
            bytes.clear();
            let recorded = RecordedBlock { height: reference.height, time: reference.time };
            write_block(&mut bytes, recorded, transactions);
            digest = Sha256::new().chain_update(digest).chain_update(&bytes).finalize().into();
            let stored = StoredBlock {
                block: *reference,
                digest,
                first_transaction,
                first_owner,
                first_token,
                counts,
            };
            self.plan.blocks.push(stored);
            state.first = state.first.or(Some(stored));
            state.tip = Some(stored);
            state.highest = state.highest.max(reference.height);
            if let Some(mut own) = own {
                ledgers.collect(&mut own);
                self.plan.log.finish_page();
                self.plan.recent.push((reference.height, own));
            }
        }
        self.plan.log.finish_page();
        ledgers.collect(&mut settled);
        self.plan.settled = settled;
        let (ledgers, states) = ledgers.into_parts();
        for (key, ledger) in ledgers {
            self.caches.ledgers.insert(key, ledger);
        }
        self.caches.keep_states(&states);
        Ok(())
    }

    /// Numbers the accounts and tokens of the blocks, in the order of the chain. Known accounts are looked up together.
    fn number(&mut self, blocks: &[AccountBlock]) -> Result<Numbered, GraphError> {
        let mut unknown: Vec<(AccountAddress, usize)> = Vec::new();
        let (owners, cache) = (&mut self.owners, &mut self.caches.owners);
        for (at, block) in blocks.iter().enumerate() {
            for transaction in &block.transactions {
                self.scored.accounts_of(transaction, |account| {
                    let Entry::Vacant(vacant) = owners.entry(account) else { return };
                    let known = cache.get(&account).copied();
                    vacant.insert(known.map_or(OwnerNumber::NOBODY, OwnerNumber));
                    match known {
                        Some(number) => cache.insert(account, number),
                        None => unknown.push((account, at)),
                    }
                });
            }
        }
        let accounts: Vec<AccountAddress> = unknown.iter().map(|(account, _)| *account).collect();
        let known = self.reader.owners(Some(&self.caches.filters), &accounts)?;
        let mut numbered = Numbered::default();
        let mut unknown = unknown.into_iter().zip(known).peekable();
        for (at, block) in blocks.iter().enumerate() {
            numbered.first.push((self.state.next_owner, self.state.next_token));
            let is_recent = block.reference.height >= self.state.reorganizable_from;
            let mut own = IndexEntries::default();
            let into = if is_recent { &mut own } else { &mut numbered.settled };
            while let Some(((account, _), known)) = unknown.next_if(|((_, of), _)| *of == at) {
                self.number_account(account, known, into);
            }
            for transaction in &block.transactions {
                self.number_tokens(transaction)?;
            }
            if is_recent {
                numbered.recent.push(own);
            }
        }
        Ok(numbered)
    }

    /// Numbers an account that is not in the cache; `known` is its number in the graph.
    fn number_account(
        &mut self,
        account: AccountAddress,
        known: Option<u64>,
        into: &mut IndexEntries,
    ) {
        let number = known.unwrap_or_else(|| {
            let number = self.state.next_owner;
            self.state.next_owner += 1;
            into.addresses.push(NumberByHash { hash: address_hash(account), number });
            self.plan.addresses.extend_from_slice(&account.0);
            let (ends, numbered) = &mut self.ends;
            if let Some(end) = ends.get(account) {
                numbered.add(OwnerNumber(number), end);
            }
            number
        });
        self.caches.owners.insert(account, number);
        self.owners.insert(account, OwnerNumber(number));
    }

    fn number_tokens(&mut self, transaction: &AccountTransaction) -> Result<(), GraphError> {
        let moved = transaction.transfers.iter().map(|transfer| transfer.asset);
        let frozen = transaction.freezes.iter().map(|event| event.asset);
        for asset in moved.chain(frozen) {
            if self.scored.number(asset).is_none() && !self.tokens.contains_key(&asset) {
                let next = self.state.next_token;
                let chain = self.state.chain;
                let too_many = || GraphError::TooMany { chain, what: "tokens" };
                self.state.next_token = next.checked_add(1).ok_or_else(too_many)?;
                self.tokens.insert(asset, AssetNumber(next));
                self.plan.tokens.push(asset);
            }
        }
        Ok(())
    }
}

/// The UTC day of a time.
fn day_of(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

/// Adds the entries of a transaction for tokens outside the table, for created contracts, freezes, loans of resources and
/// messages between chains.
fn others(
    transaction: &AccountTransaction,
    number: u64,
    numbers: &BatchNumbers<'_>,
    into: &mut IndexEntries,
) {
    for transfer in &transaction.transfers {
        let is_other = numbers.scored.number(transfer.asset).is_none() || transfer.amount.is_zero();
        let accounts = [transfer.from, transfer.to].into_iter();
        for account in accounts.filter(|account| is_other && *account != AccountAddress::ZERO) {
            let owner = numbers.owner(account).0;
            into.other_tokens.push(TransactionOf { owner, transaction: number });
        }
        if is_creation(transfer) {
            let (creator, contract) =
                (numbers.owner(transfer.from).0, numbers.owner(transfer.to).0);
            let creation = |owner, other, is_creator| Creation {
                owner,
                is_creator,
                transaction: number,
                other,
            };
            into.creations.push(creation(creator, contract, true));
            into.creations.push(creation(contract, creator, false));
        }
    }
    // The zero address is no account.
    for event in transaction.freezes.iter().filter(|event| event.account != AccountAddress::ZERO) {
        let owner = numbers.owner(event.account).0;
        into.freezes.push(TransactionOf { owner, transaction: number });
    }
    let parties = transaction.delegations.iter().flat_map(|it| [it.lender, it.borrower]);
    for account in parties.filter(|account| *account != AccountAddress::ZERO) {
        let owner = numbers.owner(account).0;
        into.delegations.push(TransactionOf { owner, transaction: number });
    }
    let messages = transaction.messages.iter().map(|message| message.id);
    for id in messages.filter(|id| *id != AccountAddress::ZERO) {
        let owner = numbers.owner(id).0;
        into.messages.push(TransactionOf { owner, transaction: number });
    }
}
