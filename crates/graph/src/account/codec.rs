//! Transactions as bytes. Numbers are LEB128; an address is an index into the addresses that stood before it in the
//! frame, or a new one.

use std::collections::BTreeMap;

use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, BeneficiaryEvent, PublishedPlace, Transfer,
        TransferKind, TransferPlace,
    },
    utxo::Txid,
};
use jiff::Timestamp;
use ruint::aliases::U256;
use rustc_hash::FxHashMap;

use super::RecordedBlock;

/// A way of writing addresses.
pub(super) trait WriteAddress {
    fn write(&mut self, bytes: &mut Vec<u8>, address: AccountAddress);
}

/// Addresses in full, so that the bytes of a block do not depend on the blocks before it.
pub(super) struct InFull;

impl WriteAddress for InFull {
    fn write(&mut self, bytes: &mut Vec<u8>, address: AccountAddress) {
        bytes.extend_from_slice(&address.0);
    }
}

/// Addresses of a frame, each in full where it stands first.
#[derive(Default)]
pub(super) struct FrameAddresses(FxHashMap<AccountAddress, u64>);

impl WriteAddress for FrameAddresses {
    fn write(&mut self, bytes: &mut Vec<u8>, address: AccountAddress) {
        let next = u64::try_from(self.0.len()).unwrap_or(u64::MAX);
        let index = *self.0.entry(address).or_insert(next);
        write_number(bytes, index);
        if index == next {
            bytes.extend_from_slice(&address.0);
        }
    }
}

pub(super) fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(u8::try_from(number & 0x7F).unwrap_or_default() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap_or_default());
}

/// Appends a block with its transactions.
pub(super) fn write_block(
    bytes: &mut Vec<u8>,
    addresses: &mut impl WriteAddress,
    block: RecordedBlock,
    transactions: &[AccountTransaction],
) {
    write_number(bytes, block.height);
    bytes.extend_from_slice(&block.time.as_second().to_le_bytes());
    let nanoseconds = u64::try_from(block.time.subsec_nanosecond()).unwrap_or_default();
    write_number(bytes, nanoseconds);
    write_length(bytes, transactions.len());
    for transaction in transactions {
        write_transaction(bytes, addresses, transaction);
    }
}

fn write_length(bytes: &mut Vec<u8>, length: usize) {
    write_number(bytes, u64::try_from(length).unwrap_or(u64::MAX));
}

/// Mark of a transaction with its identifier.
const IN_TRANSACTION: u8 = 1;
/// Mark of a transaction with its sender.
const WITH_INITIATOR: u8 = 2;

fn write_transaction(
    bytes: &mut Vec<u8>,
    addresses: &mut impl WriteAddress,
    transaction: &AccountTransaction,
) {
    let is_of_block = transaction.id == AccountTransaction::id_of_block(transaction.block);
    let in_transaction = if is_of_block { 0 } else { IN_TRANSACTION };
    let with_initiator = if transaction.initiator.is_some() { WITH_INITIATOR } else { 0 };
    bytes.push(in_transaction | with_initiator);
    if !is_of_block {
        bytes.extend_from_slice(transaction.id.as_bytes());
    }
    if let Some(initiator) = transaction.initiator {
        addresses.write(bytes, initiator);
    }
    write_length(bytes, transaction.transfers.len());
    for transfer in &transaction.transfers {
        write_transfer(bytes, addresses, transfer);
    }
    write_length(bytes, transaction.beneficiaries.len());
    for event in &transaction.beneficiaries {
        addresses.write(bytes, event.contract);
        addresses.write(bytes, event.beneficiary);
    }
}

const NATIVE: u8 = 0;
const TOKEN: u8 = 1;
const NUMBERED: u8 = 2;

const UNPUBLISHED: u8 = 0;
const LOG: u8 = 1;
const TRACE: u8 = 2;

fn write_transfer(bytes: &mut Vec<u8>, addresses: &mut impl WriteAddress, transfer: &Transfer) {
    let kind = TransferKind::ALL.iter().position(|kind| *kind == transfer.kind);
    bytes.push(kind.and_then(|kind| u8::try_from(kind).ok()).unwrap_or_default());
    match transfer.asset {
        Asset::Native => bytes.push(NATIVE),
        Asset::Token(contract) => {
            bytes.push(TOKEN);
            addresses.write(bytes, contract);
        }
        Asset::Numbered(number) => {
            bytes.push(NUMBERED);
            write_number(bytes, number.into());
        }
    }
    addresses.write(bytes, transfer.from);
    addresses.write(bytes, transfer.to);
    let amount = transfer.amount.to_be_bytes::<32>();
    let zeros = amount.iter().take_while(|byte| **byte == 0).count();
    let digits = amount.get(zeros..).unwrap_or_default();
    write_length(bytes, digits.len());
    bytes.extend_from_slice(digits);
    write_number(bytes, transfer.place.index.into());
    match &transfer.place.published {
        None => bytes.push(UNPUBLISHED),
        Some(PublishedPlace::Log(index)) => {
            bytes.push(LOG);
            write_number(bytes, (*index).into());
        }
        Some(PublishedPlace::Trace(address)) => {
            bytes.push(TRACE);
            write_length(bytes, address.len());
            bytes.extend_from_slice(address.as_bytes());
        }
    }
}

/// Appends the symbols of tokens.
pub(super) fn write_symbols(bytes: &mut Vec<u8>, symbols: &BTreeMap<AccountAddress, String>) {
    for (contract, symbol) in symbols {
        bytes.extend_from_slice(&contract.0);
        write_length(bytes, symbol.len());
        bytes.extend_from_slice(symbol.as_bytes());
    }
}

/// Reads the symbols of tokens; `None` for bytes that are none.
pub(super) fn read_symbols(bytes: &[u8]) -> Option<BTreeMap<AccountAddress, String>> {
    let mut reader = FrameReader::new(bytes);
    let mut symbols = BTreeMap::new();
    while !reader.is_at_end() {
        let contract = AccountAddress(reader.take()?);
        let length = reader.length()?;
        let (symbol, rest) = reader.bytes.split_at_checked(length)?;
        reader.bytes = rest;
        symbols.insert(contract, std::str::from_utf8(symbol).ok()?.to_owned());
    }
    Some(symbols)
}

/// Reader of the blocks of a frame. Every method returns `None` for bytes that are no blocks.
pub(super) struct FrameReader<'a> {
    bytes: &'a [u8],
    addresses: Vec<AccountAddress>,
}

impl<'a> FrameReader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, addresses: Vec::new() }
    }

    pub(super) const fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Reads the next block.
    pub(super) fn block(&mut self) -> Option<(RecordedBlock, Vec<AccountTransaction>)> {
        let height = self.number()?;
        let seconds = i64::from_le_bytes(self.take()?);
        let nanoseconds = i32::try_from(self.number()?).ok()?;
        let time = Timestamp::new(seconds, nanoseconds).ok()?;
        let block = RecordedBlock { height, time };
        let count = self.length()?;
        let mut transactions = Vec::with_capacity(count);
        for _ in 0..count {
            transactions.push(self.transaction(block)?);
        }
        Some((block, transactions))
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let digits = u64::from(byte & 0x7F);
            let shifted = digits << shift;
            if shifted >> shift != digits {
                return None;
            }
            number |= shifted;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A number of items, each of which has at least one byte.
    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|length| *length <= self.bytes.len())
    }

    fn address(&mut self) -> Option<AccountAddress> {
        let index = usize::try_from(self.number()?).ok()?;
        if index == self.addresses.len() {
            let address = AccountAddress(self.take()?);
            self.addresses.push(address);
            return Some(address);
        }
        self.addresses.get(index).copied()
    }

    fn transaction(&mut self, block: RecordedBlock) -> Option<AccountTransaction> {
        let marks = self.byte()?;
        let id = if marks & IN_TRANSACTION == 0 {
            AccountTransaction::id_of_block(block.height)
        } else {
            Txid::from_bytes(self.take()?)
        };
        let initiator = if marks & WITH_INITIATOR == 0 { None } else { Some(self.address()?) };
        let count = self.length()?;
        let mut transfers = Vec::with_capacity(count);
        for _ in 0..count {
            transfers.push(self.transfer()?);
        }
        let count = self.length()?;
        let mut beneficiaries = Vec::with_capacity(count);
        for _ in 0..count {
            let (contract, beneficiary) = (self.address()?, self.address()?);
            beneficiaries.push(BeneficiaryEvent { contract, beneficiary });
        }
        let RecordedBlock { height, time } = block;
        Some(AccountTransaction { block: height, time, id, initiator, transfers, beneficiaries })
    }

    fn transfer(&mut self) -> Option<Transfer> {
        let kind = *TransferKind::ALL.get(usize::from(self.byte()?))?;
        let asset = match self.byte()? {
            NATIVE => Asset::Native,
            TOKEN => Asset::Token(self.address()?),
            NUMBERED => Asset::Numbered(self.small_number()?),
            _ => return None,
        };
        let (from, to) = (self.address()?, self.address()?);
        let length = self.length()?;
        let (digits, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        let amount = U256::try_from_be_slice(digits)?;
        let index = self.small_number()?;
        let published = match self.byte()? {
            UNPUBLISHED => None,
            LOG => Some(PublishedPlace::Log(self.small_number()?)),
            TRACE => {
                let length = self.length()?;
                let (address, rest) = self.bytes.split_at_checked(length)?;
                self.bytes = rest;
                Some(PublishedPlace::Trace(std::str::from_utf8(address).ok()?.into()))
            }
            _ => return None,
        };
        Some(Transfer { kind, asset, from, to, amount, place: TransferPlace { index, published } })
    }

    fn small_number(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }
}
