//! Made-up transfers of a transaction that a request names.

use assay_address::{AddressMark, CanonicalAddress, ChainId};
use assay_engine::{
    account::{AccountAddress, AccountTransfer, MoneyUnit, TransferPlace, scored_assets},
    transfer::{FoundAccountTransfer, FoundTransfer, TransferQuery, TransferSelector},
    utxo::{
        OutPoint, OutputSelector, ScriptOwner, SideEntry, TransactionKind, TransactionSide,
        TransactionView, Transfer, TransferOutput, TxOut,
    },
};
use jiff::Timestamp;

use crate::facts::{AMOUNT, TIP_HEIGHT};

/// Marks of the parties of made-up transfers that a request does not name.
const SENDER: AddressMark = AddressMark { text: "assay made-up party", number: 1 };
const RECEIVER: AddressMark = AddressMark { text: "assay made-up party", number: 2 };

/// The made-up transfer of a transaction; `None` if the receiver cannot have outputs, or the chain has no transfers.
pub(crate) fn of_query(query: &TransferQuery, now: Timestamp) -> Option<FoundTransfer> {
    match &query.selector {
        TransferSelector::Outputs(selector) => outputs(query, selector, now),
        TransferSelector::OfAccounts(selector) => {
            let receiver = selector.receiver.clone().or_else(|| party(RECEIVER, query.chain))?;
            let place = TransferPlace { index: 0, published: selector.place.clone() };
            of_accounts(query, receiver, place, now)
        }
    }
}

fn outputs(
    query: &TransferQuery,
    selector: &OutputSelector,
    now: Timestamp,
) -> Option<FoundTransfer> {
    let (receiver, index) = match selector {
        OutputSelector::Index(index) => (party(RECEIVER, query.chain)?, *index),
        OutputSelector::Address(address) => (address.clone(), 0),
    };
    let value = u64::try_from(AMOUNT).ok()?;
    let txid = query.txid;
    let input = SideEntry {
        index: 0,
        outpoint: OutPoint { txid, index: 0 },
        output: TxOut { owner: ScriptOwner::KeyHash(SENDER.bytes()), value },
    };
    let side = |largest| TransactionSide { largest, count: 1, total: AMOUNT, unknown: 0 };
    let transaction = TransactionView {
        txid,
        height: TIP_HEIGHT,
        time: now,
        kind: TransactionKind::Payment,
        inputs: side(vec![input]),
        outputs: side(Vec::new()),
    };
    let outputs = vec![TransferOutput { index, value }];
    let transfer = Transfer::of_outputs(transaction, &receiver, outputs)?;
    Some(FoundTransfer::Outputs(Box::new(transfer)))
}

fn of_accounts(
    query: &TransferQuery,
    receiver: CanonicalAddress,
    place: TransferPlace,
    now: Timestamp,
) -> Option<FoundTransfer> {
    let asset = scored_assets(query.chain).next()?;
    let payer = party(SENDER, query.chain);
    let sender = payer.as_ref().and_then(AccountAddress::of);
    let transfer = AccountTransfer {
        id: query.txid,
        block: TIP_HEIGHT,
        time: now,
        initiator: payer.clone(),
        asset,
        amount: AMOUNT,
        payer,
        receiver,
        place,
    };
    let senders = vec![(sender, AMOUNT)];
    let found = FoundAccountTransfer { transfer, senders, unit: MoneyUnit::Asset(asset) };
    Some(FoundTransfer::OfAccounts(Box::new(found)))
}

/// The address of a party, which no outcome has.
fn party(mark: AddressMark, chain: ChainId) -> Option<CanonicalAddress> {
    mark.addresses(chain).into_iter().next()
}
