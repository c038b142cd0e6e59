//! The log: transactions with all their transfers by numbers, in pages.

use assay_columns::bytes::{ByteReader, from_zigzag, put_varint, zigzag};
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, AssetNumber, BridgeMessage, ChainResource,
        ContractFact, ContractFactKind, DelegationChange, FreezeChange, FreezeEvent, MessageEnd,
        PublishedPlace, ResourceDelegation, Transfer, TransferKind, TransferPlace,
    },
    ledger::OwnerNumber,
    utxo::Txid,
};
use jiff::Timestamp;

use super::amount::{put_wide_amount, take_wide_amount};
use crate::account::codec::{
    delegation_code, delegation_of_code, fact_code, freeze_code, message_end_code,
};

/// Largest number of bytes of a page of several transactions: it fills a page of the file.
const PAGE: usize = 4080;

const IN_TRANSACTION: u8 = 1;
const WITH_INITIATOR: u8 = 2;
const WITH_FACTS: u8 = 4;
const OF_NEXT_BLOCK: u8 = 8;
const WITH_FREEZES: u8 = 16;
const WITH_DELEGATIONS: u8 = 32;
const WITH_MESSAGES: u8 = 64;

const NATIVE: u8 = 0;
const SAME: u8 = 1;
const NUMBERED: u8 = 2;

const UNPUBLISHED: u8 = 0;
const LOG: u8 = 1;
const TRACE: u8 = 2;

/// Numbers of accounts and assets, as the log writes them.
pub(super) trait Numbers {
    /// The number of an account that the transaction names; the zero address has none.
    fn owner(&self, account: AccountAddress) -> OwnerNumber;
    /// The number of an asset that the transaction moves.
    fn asset(&self, asset: Asset) -> AssetNumber;
}

/// Pages of the log, in the making.
#[derive(Debug, Default)]
pub(super) struct LogPages {
    /// Pages with the numbers of their first transactions.
    pub(super) full: Vec<(u64, Vec<u8>)>,
    page: Vec<u8>,
    first: u64,
    height: u64,
    record: Vec<u8>,
}

impl LogPages {
    /// Appends a transaction.
    pub(super) fn push(
        &mut self,
        number: u64,
        transaction: &AccountTransaction,
        numbers: &impl Numbers,
    ) {
        self.record.clear();
        put_transaction(&mut self.record, transaction, numbers, self.height);
        if !self.page.is_empty() && self.page.len() + self.record.len() > PAGE {
            self.finish_page();
        }
        if self.page.is_empty() {
            self.first = number;
            self.record.clear();
            put_transaction(&mut self.record, transaction, numbers, 0);
        }
        self.height = transaction.block;
        self.page.extend_from_slice(&self.record);
    }

    /// Completes the current page.
    pub(super) fn finish_page(&mut self) {
        if !self.page.is_empty() {
            self.full.push((self.first, std::mem::take(&mut self.page)));
        }
    }
}

fn put_transaction(
    into: &mut Vec<u8>,
    transaction: &AccountTransaction,
    numbers: &impl Numbers,
    height_before: u64,
) {
    let is_of_block = transaction.id == AccountTransaction::id_of_block(transaction.block);
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    into.push(
        flag(!is_of_block, IN_TRANSACTION)
            | flag(transaction.initiator.is_some(), WITH_INITIATOR)
            | flag(!transaction.contract_facts.is_empty(), WITH_FACTS)
            | flag(transaction.block != height_before, OF_NEXT_BLOCK)
            | flag(!transaction.freezes.is_empty(), WITH_FREEZES)
            | flag(!transaction.delegations.is_empty(), WITH_DELEGATIONS)
            | flag(!transaction.messages.is_empty(), WITH_MESSAGES),
    );
    if transaction.block != height_before {
        put_varint(into, transaction.block.wrapping_sub(height_before));
    }
    let put_owner = |into: &mut Vec<u8>, account: AccountAddress| {
        let number = if account == AccountAddress::ZERO { 0 } else { numbers.owner(account).0 + 1 };
        put_varint(into, number);
    };
    if let Some(initiator) = transaction.initiator {
        put_owner(into, initiator);
    }
    put_varint(into, transaction.transfers.len() as u64);
    let mut asset_before = None;
    let mut index_before = -1;
    for transfer in &transaction.transfers {
        let Transfer { kind, asset, from, to, amount, place } = transfer;
        let kind = TransferKind::ALL.iter().position(|known| known == kind).unwrap_or_default();
        let kind = u8::try_from(kind).unwrap_or_default();
        let asset_code = match asset {
            Asset::Native => NATIVE,
            _ if asset_before == Some(*asset) => SAME,
            _ => NUMBERED,
        };
        let place_code = match place.published {
            None => UNPUBLISHED,
            Some(PublishedPlace::Log(_)) => LOG,
            Some(PublishedPlace::Trace(_)) => TRACE,
        };
        into.push(kind | asset_code << 3 | place_code << 5);
        if asset_code == NUMBERED {
            put_varint(into, numbers.asset(*asset).0.into());
        }
        asset_before = Some(*asset);
        put_owner(into, *from);
        put_owner(into, *to);
        put_wide_amount(into, *amount);
        let index = i64::from(place.index);
        put_varint(into, zigzag(index - index_before - 1));
        index_before = index;
        match &place.published {
            None => {}
            Some(PublishedPlace::Log(index)) => put_varint(into, (*index).into()),
            Some(PublishedPlace::Trace(address)) => {
                put_varint(into, address.len() as u64);
                into.extend_from_slice(address.as_bytes());
            }
        }
    }
    if !transaction.contract_facts.is_empty() {
        put_varint(into, transaction.contract_facts.len() as u64);
        for fact in &transaction.contract_facts {
            into.push(fact_code(fact.kind));
            put_owner(into, fact.contract);
            if fact.kind != ContractFactKind::Code {
                put_owner(into, fact.account);
            }
        }
    }
    if !transaction.freezes.is_empty() {
        put_varint(into, transaction.freezes.len() as u64);
        for FreezeEvent { asset, account, change, log } in &transaction.freezes {
            into.push(freeze_code(*change));
            put_varint(into, numbers.asset(*asset).0.into());
            put_owner(into, *account);
            put_varint(into, (*log).into());
        }
    }
    if !transaction.delegations.is_empty() {
        put_varint(into, transaction.delegations.len() as u64);
        for delegation in &transaction.delegations {
            into.push(delegation_code(delegation));
            put_owner(into, delegation.lender);
            put_owner(into, delegation.borrower);
        }
    }
    if !transaction.messages.is_empty() {
        put_varint(into, transaction.messages.len() as u64);
        for BridgeMessage { contract, id, account, end, amount } in &transaction.messages {
            into.push(message_end_code(*end));
            put_owner(into, *contract);
            put_owner(into, *id);
            put_owner(into, *account);
            into.extend_from_slice(&amount.to_le_bytes());
        }
    }
}

/// A transaction as the log holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogRecord {
    pub(super) height: u64,
    pub(super) is_in_transaction: bool,
    /// Accounts are numbers from 1 on; 0 is the zero address.
    pub(super) initiator: Option<u64>,
    pub(super) transfers: Vec<LogTransfer>,
    pub(super) contract_facts: Vec<LogFact>,
    pub(super) freezes: Vec<LogFreeze>,
    pub(super) delegations: Vec<LogDelegation>,
    pub(super) messages: Vec<LogMessage>,
}

/// A fact about a contract as the log holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogFact {
    pub(super) contract: u64,
    pub(super) kind: ContractFactKind,
    pub(super) account: u64,
}

/// A freeze as the log holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogFreeze {
    pub(super) asset: AssetNumber,
    pub(super) account: u64,
    pub(super) change: FreezeChange,
    pub(super) log: u32,
}

/// A loan of resources as the log holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogDelegation {
    pub(super) lender: u64,
    pub(super) borrower: u64,
    pub(super) resource: ChainResource,
    pub(super) change: DelegationChange,
}

/// A message between chains as the log holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogMessage {
    pub(super) contract: u64,
    pub(super) id: u64,
    pub(super) account: u64,
    pub(super) end: MessageEnd,
    pub(super) amount: u128,
}

/// A transfer as the log holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogTransfer {
    pub(super) kind: TransferKind,
    pub(super) asset: AssetNumber,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) amount: ruint::aliases::U256,
    pub(super) place: TransferPlace,
}

/// Reads the transactions of a page one after another.
#[derive(Debug)]
pub(super) struct LogReader<'t> {
    reading: ByteReader<'t>,
    height: u64,
}

impl<'t> LogReader<'t> {
    pub(super) const fn new(page: &'t [u8]) -> Self {
        Self { reading: ByteReader(page), height: 0 }
    }

    pub(super) const fn is_at_end(&self) -> bool {
        self.reading.0.is_empty()
    }

    /// The next transaction; `None` if the page is damaged.
    pub(super) fn next(&mut self) -> Option<LogRecord> {
        let reading = &mut self.reading;
        let flags = reading.byte()?;
        if flags & OF_NEXT_BLOCK != 0 {
            self.height = self.height.checked_add(reading.varint()?)?;
        }
        let initiator = if flags & WITH_INITIATOR == 0 { None } else { Some(reading.varint()?) };
        let count = length(reading)?;
        let mut transfers = Vec::with_capacity(count);
        let mut asset_before = AssetNumber(0);
        let mut index_before = -1_i64;
        for _ in 0..count {
            let code = reading.byte()?;
            let kind = *TransferKind::ALL.get(usize::from(code & 7))?;
            let asset = match code >> 3 & 3 {
                NATIVE => AssetNumber(0),
                SAME => asset_before,
                _ => AssetNumber(u32::try_from(reading.varint()?).ok()?),
            };
            asset_before = asset;
            let (from, to) = (reading.varint()?, reading.varint()?);
            let amount = take_wide_amount(reading)?;
            let index = index_before.checked_add(1)?.checked_add(from_zigzag(reading.varint()?))?;
            index_before = index;
            let published = match code >> 5 {
                UNPUBLISHED => None,
                LOG => Some(PublishedPlace::Log(u32::try_from(reading.varint()?).ok()?)),
                _ => {
                    let count = length(reading)?;
                    let address = std::str::from_utf8(reading.take(count)?).ok()?;
                    Some(PublishedPlace::Trace(address.into()))
                }
            };
            let place = TransferPlace { index: u32::try_from(index).ok()?, published };
            transfers.push(LogTransfer { kind, asset, from, to, amount, place });
        }
        let mut contract_facts = Vec::new();
        if flags & WITH_FACTS != 0 {
            for _ in 0..length(reading)? {
                let kind = *ContractFactKind::ALL.get(usize::from(reading.byte()?))?;
                let contract = reading.varint()?;
                let account = match kind {
                    ContractFactKind::Code => contract,
                    ContractFactKind::Beneficiary | ContractFactKind::Holder => reading.varint()?,
                };
                contract_facts.push(LogFact { contract, kind, account });
            }
        }
        let mut freezes = Vec::new();
        if flags & WITH_FREEZES != 0 {
            for _ in 0..length(reading)? {
                freezes.push(LogFreeze {
                    change: *FreezeChange::ALL.get(usize::from(reading.byte()?))?,
                    asset: AssetNumber(u32::try_from(reading.varint()?).ok()?),
                    account: reading.varint()?,
                    log: u32::try_from(reading.varint()?).ok()?,
                });
            }
        }
        let mut delegations = Vec::new();
        if flags & WITH_DELEGATIONS != 0 {
            for _ in 0..length(reading)? {
                let (resource, change) = delegation_of_code(reading.byte()?)?;
                let (lender, borrower) = (reading.varint()?, reading.varint()?);
                delegations.push(LogDelegation { lender, borrower, resource, change });
            }
        }
        let mut messages = Vec::new();
        if flags & WITH_MESSAGES != 0 {
            for _ in 0..length(reading)? {
                let end = *MessageEnd::ALL.get(usize::from(reading.byte()?))?;
                let (contract, id) = (reading.varint()?, reading.varint()?);
                let account = reading.varint()?;
                let amount = u128::from_le_bytes(reading.array()?);
                messages.push(LogMessage { contract, id, account, end, amount });
            }
        }
        Some(LogRecord {
            height: self.height,
            is_in_transaction: flags & IN_TRANSACTION != 0,
            initiator,
            transfers,
            contract_facts,
            freezes,
            delegations,
            messages,
        })
    }
}

/// A number of items, each of which has at least one byte.
fn length(reading: &mut ByteReader<'_>) -> Option<usize> {
    usize::try_from(reading.varint()?).ok().filter(|length| *length <= reading.0.len())
}

/// The names of numbers, for a transaction that is read from the log.
pub(super) trait Names<E> {
    fn account(&self, number: u64) -> Result<AccountAddress, E>;
    fn asset(&self, number: AssetNumber) -> Result<Asset, E>;
    fn txid(&self) -> Result<Txid, E>;
    fn time(&self, height: u64) -> Result<Timestamp, E>;
}

impl LogRecord {
    /// The numbers of all accounts, each once.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        let of_transfers = self.transfers.iter().flat_map(|transfer| [transfer.from, transfer.to]);
        let of_events = self.contract_facts.iter().flat_map(|fact| [fact.contract, fact.account]);
        let frozen = self.freezes.iter().map(|event| event.account);
        let of_loans = self.delegations.iter().flat_map(|it| [it.lender, it.borrower]);
        let of_messages = self.messages.iter().flat_map(|it| [it.contract, it.id, it.account]);
        let of_facts = of_events.chain(frozen).chain(of_loans).chain(of_messages);
        let mut all: Vec<u64> =
            self.initiator.into_iter().chain(of_transfers).chain(of_facts).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().filter_map(|number| number.checked_sub(1))
    }

    /// The transaction with addresses and identifiers.
    pub(super) fn named<E>(self, names: &impl Names<E>) -> Result<AccountTransaction, E> {
        let account = |number: u64| match number.checked_sub(1) {
            None => Ok(AccountAddress::ZERO),
            Some(number) => names.account(number),
        };
        let id = if self.is_in_transaction {
            names.txid()?
        } else {
            AccountTransaction::id_of_block(self.height)
        };
        let transfers = self.transfers.into_iter().map(|transfer| {
            let LogTransfer { kind, asset, from, to, amount, place } = transfer;
            let asset = names.asset(asset)?;
            Ok(Transfer { kind, asset, from: account(from)?, to: account(to)?, amount, place })
        });
        let contract_facts =
            self.contract_facts.iter().map(|LogFact { contract, kind, account: other }| {
                let (contract, account) = (account(*contract)?, account(*other)?);
                Ok(ContractFact { contract, kind: *kind, account })
            });
        let freezes = self.freezes.iter().map(|LogFreeze { asset, account: of, change, log }| {
            let (asset, account) = (names.asset(*asset)?, account(*of)?);
            Ok(FreezeEvent { asset, account, change: *change, log: *log })
        });
        let delegations = self.delegations.iter().map(|loan| {
            let LogDelegation { resource, change, .. } = *loan;
            let (lender, borrower) = (account(loan.lender)?, account(loan.borrower)?);
            Ok(ResourceDelegation { lender, borrower, resource, change })
        });
        let messages = self.messages.iter().map(|message| {
            let LogMessage { contract, id, account: of, end, amount } = *message;
            let (contract, id, account) = (account(contract)?, account(id)?, account(of)?);
            Ok(BridgeMessage { contract, id, account, end, amount })
        });
        Ok(AccountTransaction {
            block: self.height,
            time: names.time(self.height)?,
            id,
            initiator: self.initiator.map(account).transpose()?,
            transfers: transfers.collect::<Result<_, E>>()?,
            contract_facts: contract_facts.collect::<Result<_, E>>()?,
            freezes: freezes.collect::<Result<_, E>>()?,
            delegations: delegations.collect::<Result<_, E>>()?,
            messages: messages.collect::<Result<_, E>>()?,
        })
    }
}
