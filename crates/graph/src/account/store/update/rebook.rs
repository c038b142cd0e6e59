//! Booking one transaction under the ends of before and under the new ones.

use assay_engine::{
    account::{
        AccountAddress, AccountLedger, AccountStates, AssetNumber, DayValues, DealingKey,
        LedgerBook, MoneyEnds, Movement, NumberedTransaction, Payment, book,
    },
    ledger::{OwnerNumber, TransactionNumber},
};
use jiff::Timestamp;
use rustc_hash::FxHashMap;

use super::{
    super::{book::LedgerKey, reader::Reader},
    draft::DraftLedger,
};
use crate::{GraphError, account::numbering::ScoredAssets};

/// A transaction of the log as ledgers book it.
#[derive(Debug)]
pub(super) struct ReadTransaction {
    pub(super) number: u64,
    pub(super) time: Timestamp,
    initiator: Option<OwnerNumber>,
    pub(super) movements: Vec<Movement>,
    /// The accounts that it may move money of, with their numbers.
    pub(super) accounts: Vec<(AccountAddress, OwnerNumber)>,
}

impl ReadTransaction {
    /// Reads a transaction from the log.
    pub(super) fn read(
        reader: &Reader<'_>,
        scored: &ScoredAssets,
        number: u64,
        numbers: &mut FxHashMap<AccountAddress, OwnerNumber>,
    ) -> Result<Self, GraphError> {
        let record = reader.record(number)?;
        // The log has numbers; only issuers that it does not name are looked up.
        let named = record
            .numbers()
            .map(|number| Ok::<_, GraphError>((reader.address(number)?, OwnerNumber(number))));
        let mut accounts: Vec<(AccountAddress, OwnerNumber)> = named.collect::<Result<_, _>>()?;
        let other: Vec<AssetNumber> =
            record.transfers.iter().map(|transfer| transfer.asset).collect();
        let transaction = reader.named(number, record)?;
        let mut missing = Vec::new();
        scored.accounts_of(&transaction, |account| {
            if !accounts.iter().chain(&missing).any(|(known, _)| *known == account) {
                missing.push((account, OwnerNumber::NOBODY));
            }
        });
        for (account, owner) in &mut missing {
            if let Some(known) = numbers.get(account) {
                *owner = *known;
            } else if let Some(found) = reader.owner(None, *account)? {
                *owner = OwnerNumber(found);
                numbers.insert(*account, *owner);
            }
        }
        accounts.extend(missing);
        let owner = |account: AccountAddress| {
            let found = accounts.iter().find(|(known, _)| *known == account);
            found.map_or(OwnerNumber::NOBODY, |(_, owner)| *owner)
        };
        let mut movements = Vec::new();
        let tokens: Vec<_> =
            transaction.transfers.iter().map(|transfer| transfer.asset).zip(other).collect();
        let token = |asset| {
            let found = tokens.iter().find(|(known, _)| *known == asset);
            found.map_or(AssetNumber::FIRST_OTHER, |(_, number)| *number)
        };
        scored.movements(&transaction, owner, token, &mut movements);
        let initiator = transaction.initiator.map(owner);
        Ok(Self {
            number,
            time: transaction.time,
            initiator: initiator.filter(|owner| *owner != OwnerNumber::NOBODY),
            movements,
            accounts,
        })
    }

    /// The transaction as it is booked.
    pub(super) fn numbered(&self) -> NumberedTransaction<'_> {
        NumberedTransaction {
            number: TransactionNumber(self.number),
            time: self.time,
            initiator: self.initiator,
            movements: &self.movements,
            // Graphs that know contracts are computed anew.
            named: &[],
        }
    }

    /// The ledgers that may change.
    pub(super) fn ledgers(&self) -> Vec<LedgerKey> {
        let scored = self.movements.iter().filter(|movement| movement.is_scored);
        let of = |movement: &Movement| {
            [movement.from, movement.to].map(|owner| (owner.0, movement.asset.0))
        };
        let mut keys: Vec<LedgerKey> = scored.flat_map(of).collect();
        keys.retain(|(owner, _)| *owner != OwnerNumber::NOBODY.0);
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// The ends of which a booking takes the ledgers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Old,
    New,
}

/// A direct dealing of an account.
pub(super) type Dealt = (OwnerNumber, DealingKey, u128);

/// A booked transaction: its payments, dealings and other results.
#[derive(Debug)]
pub(super) struct Booked<'l> {
    side: Side,
    /// The ledgers; `None` if only dealings are asked for.
    ledgers: Option<&'l mut FxHashMap<LedgerKey, DraftLedger>>,
    scratch: AccountLedger,
    states: AccountStates,
    /// The payments, with those that are late.
    pub(super) payments: Vec<(Payment, bool)>,
    pub(super) dealt: Vec<Dealt>,
    /// Balances that were set.
    pub(super) set: Vec<(OwnerNumber, AssetNumber, u128)>,
    pub(super) passed: Vec<OwnerNumber>,
}

impl<'l> Booked<'l> {
    /// Books a transaction into the ledgers of one side.
    pub(super) fn of(
        transaction: &ReadTransaction,
        side: Side,
        ends: &MoneyEnds,
        ledgers: Option<&'l mut FxHashMap<LedgerKey, DraftLedger>>,
    ) -> Self {
        let mut booked = Self {
            side,
            ledgers,
            scratch: AccountLedger::default(),
            states: AccountStates::default(),
            payments: Vec::new(),
            dealt: Vec::new(),
            set: Vec::new(),
            passed: Vec::new(),
        };
        book(&transaction.numbered(), (ends, &DayValues::default()), &mut booked);
        booked
    }
}

impl LedgerBook for Booked<'_> {
    fn states(&self) -> &AccountStates {
        &self.states
    }

    fn states_mut(&mut self) -> &mut AccountStates {
        &mut self.states
    }

    fn ledger(&self, owner: OwnerNumber, asset: AssetNumber) -> Option<&AccountLedger> {
        let ledger = self.ledgers.as_ref()?.get(&(owner.0, asset.0))?;
        Some(if self.side == Side::Old { &ledger.old } else { &ledger.new })
    }

    fn ledger_mut(&mut self, owner: OwnerNumber, asset: AssetNumber) -> &mut AccountLedger {
        let Some(ledgers) = &mut self.ledgers else { return &mut self.scratch };
        let ledger = ledgers.entry((owner.0, asset.0)).or_default();
        if self.side == Side::Old { &mut ledger.old } else { &mut ledger.new }
    }

    fn paid(&mut self, payment: Payment, is_late: bool) {
        self.payments.push((payment, is_late));
    }

    fn was_set(&mut self, owner: OwnerNumber, asset: AssetNumber, balance: u128) {
        self.set.push((owner, asset, balance));
    }

    fn passed(&mut self, account: OwnerNumber) {
        self.passed.push(account);
    }

    fn dealt(&mut self, account: OwnerNumber, dealing: DealingKey, _time: Timestamp, amount: u128) {
        if account != OwnerNumber::NOBODY {
            self.dealt.push((account, dealing, amount));
        }
    }
}
