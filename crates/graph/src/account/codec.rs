//! Transactions as bytes, of which the digest of a chain is made. Numbers are LEB128.

use assay_engine::account::{
    AccountTransaction, Asset, BridgeMessage, ChainResource, ContractFactKind, DelegationChange,
    FreezeChange, FreezeEvent, MessageEnd, PublishedPlace, ResourceDelegation, Transfer,
    TransferKind,
};

use super::RecordedBlock;

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
    block: RecordedBlock,
    transactions: &[AccountTransaction],
) {
    write_number(bytes, block.height);
    bytes.extend_from_slice(&block.time.as_second().to_le_bytes());
    let nanoseconds = u64::try_from(block.time.subsec_nanosecond()).unwrap_or_default();
    write_number(bytes, nanoseconds);
    write_length(bytes, transactions.len());
    for transaction in transactions {
        write_transaction(bytes, transaction);
    }
}

fn write_length(bytes: &mut Vec<u8>, length: usize) {
    write_number(bytes, u64::try_from(length).unwrap_or(u64::MAX));
}

/// Mark of a transaction with its identifier.
const IN_TRANSACTION: u8 = 1;
/// Mark of a transaction with its sender.
const WITH_INITIATOR: u8 = 2;
/// Mark of a transaction with freezes.
const WITH_FREEZES: u8 = 4;
/// Mark of a transaction with loans of resources.
const WITH_DELEGATIONS: u8 = 8;
/// Mark of a transaction with messages between chains.
const WITH_MESSAGES: u8 = 16;

fn write_transaction(bytes: &mut Vec<u8>, transaction: &AccountTransaction) {
    let is_of_block = transaction.id == AccountTransaction::id_of_block(transaction.block);
    let in_transaction = if is_of_block { 0 } else { IN_TRANSACTION };
    let with_initiator = if transaction.initiator.is_some() { WITH_INITIATOR } else { 0 };
    let with_freezes = if transaction.freezes.is_empty() { 0 } else { WITH_FREEZES };
    let with_delegations = if transaction.delegations.is_empty() { 0 } else { WITH_DELEGATIONS };
    let with_messages = if transaction.messages.is_empty() { 0 } else { WITH_MESSAGES };
    let with_events = with_freezes | with_delegations | with_messages;
    bytes.push(in_transaction | with_initiator | with_events);
    if !is_of_block {
        bytes.extend_from_slice(transaction.id.as_bytes());
    }
    if let Some(initiator) = transaction.initiator {
        bytes.extend_from_slice(&initiator.0);
    }
    write_length(bytes, transaction.transfers.len());
    for transfer in &transaction.transfers {
        write_transfer(bytes, transfer);
    }
    write_length(bytes, transaction.contract_facts.len());
    for fact in &transaction.contract_facts {
        bytes.push(fact_code(fact.kind));
        bytes.extend_from_slice(&fact.contract.0);
        if fact.kind != ContractFactKind::Code {
            bytes.extend_from_slice(&fact.account.0);
        }
    }
    if !transaction.freezes.is_empty() {
        write_length(bytes, transaction.freezes.len());
        for FreezeEvent { asset, account, change, log } in &transaction.freezes {
            bytes.push(freeze_code(*change));
            write_asset(bytes, *asset);
            bytes.extend_from_slice(&account.0);
            write_number(bytes, (*log).into());
        }
    }
    if !transaction.delegations.is_empty() {
        write_length(bytes, transaction.delegations.len());
        for delegation in &transaction.delegations {
            bytes.push(delegation_code(delegation));
            bytes.extend_from_slice(&delegation.lender.0);
            bytes.extend_from_slice(&delegation.borrower.0);
        }
    }
    if !transaction.messages.is_empty() {
        write_length(bytes, transaction.messages.len());
        for BridgeMessage { contract, id, account, end, amount } in &transaction.messages {
            bytes.push(message_end_code(*end));
            bytes.extend_from_slice(&contract.0);
            bytes.extend_from_slice(&id.0);
            bytes.extend_from_slice(&account.0);
            bytes.extend_from_slice(&amount.to_le_bytes());
        }
    }
}

/// The code of an end of a message.
pub(super) fn message_end_code(end: MessageEnd) -> u8 {
    u8::from(end == MessageEnd::Received)
}

/// The code of a kind of fact.
pub(super) fn fact_code(kind: ContractFactKind) -> u8 {
    let code = ContractFactKind::ALL.iter().position(|known| *known == kind);
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or_default()
}

/// The code of a change of a freeze.
pub(super) fn freeze_code(change: FreezeChange) -> u8 {
    let code = FreezeChange::ALL.iter().position(|known| *known == change);
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or_default()
}

/// The code of a delegation's resource and change.
pub(super) fn delegation_code(delegation: &ResourceDelegation) -> u8 {
    let is_energy = delegation.resource == ChainResource::Energy;
    let is_ended = delegation.change == DelegationChange::Ended;
    u8::from(is_energy) | u8::from(is_ended) << 1
}

/// The resource and the change of a [code](delegation_code); `None` for an unknown code.
pub(super) fn delegation_of_code(code: u8) -> Option<(ChainResource, DelegationChange)> {
    let resource = *ChainResource::ALL.get(usize::from(code & 1))?;
    Some((resource, *DelegationChange::ALL.get(usize::from(code >> 1))?))
}

const NATIVE: u8 = 0;
const TOKEN: u8 = 1;
const NUMBERED: u8 = 2;

const UNPUBLISHED: u8 = 0;
const LOG: u8 = 1;
const TRACE: u8 = 2;

fn write_transfer(bytes: &mut Vec<u8>, transfer: &Transfer) {
    let kind = TransferKind::ALL.iter().position(|kind| *kind == transfer.kind);
    bytes.push(kind.and_then(|kind| u8::try_from(kind).ok()).unwrap_or_default());
    write_asset(bytes, transfer.asset);
    bytes.extend_from_slice(&transfer.from.0);
    bytes.extend_from_slice(&transfer.to.0);
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

fn write_asset(bytes: &mut Vec<u8>, asset: Asset) {
    match asset {
        Asset::Native => bytes.push(NATIVE),
        Asset::Token(contract) => {
            bytes.push(TOKEN);
            bytes.extend_from_slice(&contract.0);
        }
        Asset::Numbered(number) => {
            bytes.push(NUMBERED);
            write_number(bytes, number.into());
        }
    }
}
