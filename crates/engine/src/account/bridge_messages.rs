//! Deposits and payouts of bridges that log the same message (`docs/model/accounts.md` B18).
//!
//! Only messages count that an account logged at which money ends as a bridge: anybody can log any event. A message tells its
//! amount and its account, and belongs to the only payment of that amount in its transaction, in whatever asset. A deposit must be
//! alone in its transaction: several of them pass for one another.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::{
    AccountAddress, AccountPayments, AccountSubject, AccountTransaction, BridgeMessage, MessageEnd,
    bridge_search::{MOST_RECEIPTS, OtherChain, PaymentKey, is_bridge, key, worth},
    bridged::BridgePayment,
    step::{MovementKind, Payment},
    view::{AccountAttributions, AccountView},
};
use crate::ledger::{OwnerNumber, TransactionNumber};

/// Most transactions with one message that are read on a chain. A message has two true ones; more are meant to hide these.
const MOST_WITH_MESSAGE: usize = 10;

/// A chain with the attributions of its accounts.
type Attributed<'a> = (&'a dyn AccountView, &'a dyn AccountAttributions);

/// The messages of a subject's receipts.
#[derive(Debug, Default)]
pub(super) struct ReadMessages {
    /// The receipts that were joined to a deposit: the position of its chain, and the deposit.
    pub(super) joined: Vec<(PaymentKey, (usize, Payment))>,
}

impl ReadMessages {
    /// Reads the messages of the subject's receipts of the greatest worth from bridges, and of new units.
    pub(super) fn of(
        of: AccountSubject<'_>,
        own: &AccountPayments,
        chains: &[OtherChain<'_>],
    ) -> Self {
        let AccountSubject { view, attributions, owner, .. } = of;
        let chain = (view, attributions);
        let mut receipts: Vec<(&Payment, BridgePayment)> = own
            .payments
            .iter()
            .filter(|it| it.to == owner && is_possible(attributions, it, MessageEnd::Received))
            .filter_map(|payment| Some((payment, bridge_payment(view, payment)?)))
            .collect();
        receipts.sort_by_key(|(_, payout)| Reverse(worth(payout)));
        receipts.truncate(MOST_RECEIPTS);
        let mut read = Self::default();
        let Some(account) = view.address(owner) else { return read };
        for (receipt, payout) in receipts {
            let Some(transaction) = view.transaction(receipt.transaction) else { continue };
            let messages = messages_of(chain, &transaction, MessageEnd::Received);
            let is_own = |it: &&BridgeMessage| (it.account, it.amount) == (account, receipt.amount);
            let mut own = messages.iter().filter(is_own);
            let (Some(message), None) = (own.next(), own.next()) else { continue };
            let paid = only_payment(chain, receipt.transaction, message);
            if paid.is_some_and(|paid| key(&paid) == key(receipt)) {
                let deposit = deposit_of(chain, chains, message.id, &payout);
                read.joined.extend(deposit.map(|deposit| (key(receipt), deposit)));
            }
        }
        read
    }
}

/// True if bridges logged a message of an amount in a transaction.
pub(super) fn has_message(
    chain: Attributed<'_>,
    (number, amount): (TransactionNumber, u128),
) -> bool {
    chain.0.transaction(number).is_some_and(|transaction| {
        let mut all =
            MessageEnd::ALL.into_iter().flat_map(|end| messages_of(chain, &transaction, end));
        all.any(|message| message.amount == amount)
    })
}

/// The only deposit that logged a message, with the position of its chain, if it was paid out only once.
fn deposit_of(
    own: Attributed<'_>,
    chains: &[OtherChain<'_>],
    id: AccountAddress,
    payout: &BridgePayment,
) -> Option<(usize, Payment)> {
    let mut deposits = Vec::new();
    let mut received = logged(own, id, MessageEnd::Received)?.len();
    // A message to the chain from which it came is none of a bridge.
    let is_sent_here = !logged(own, id, MessageEnd::Sent)?.is_empty();
    for (position, OtherChain { view, attributions, .. }) in chains.iter().enumerate() {
        let chain = (*view, *attributions);
        received += logged(chain, id, MessageEnd::Received)?.len();
        for (number, message) in logged(chain, id, MessageEnd::Sent)? {
            // Who may change where a deposit goes logs it again, and pays nothing.
            if let Some(deposit) = only_payment(chain, number, &message) {
                deposits.push((position, chain, deposit));
            }
        }
    }
    let [(position, chain, deposit)] = &deposits[..] else { return None };
    let is_pair = received == 1 && !is_sent_here && is_alone(*chain, deposit);
    let given = bridge_payment(chain.0, deposit)?;
    (is_pair && payout.is_part_of(&given)).then(|| (*position, deposit.clone()))
}

/// True if a deposit is the only one in its transaction, in its asset and by messages.
fn is_alone((view, attributions): Attributed<'_>, deposit: &Payment) -> bool {
    let all = view.payments_of_transaction(deposit.transaction).into_iter();
    let deposits = all.filter(|payment| {
        payment.asset == deposit.asset && is_possible(attributions, payment, MessageEnd::Sent)
    });
    let transaction = view.transaction(deposit.transaction);
    let messages = transaction.map_or(0, |transaction| {
        messages_of((view, attributions), &transaction, MessageEnd::Sent).len()
    });
    deposits.count() == 1 && messages == 1
}

/// The ends of a message that bridges logged, with their transactions; `None` if there are too many to read.
fn logged(
    chain: Attributed<'_>,
    id: AccountAddress,
    end: MessageEnd,
) -> Option<Vec<(TransactionNumber, BridgeMessage)>> {
    let (view, _) = chain;
    let Some(owner) = view.owner(id) else { return Some(Vec::new()) };
    let numbers = view.with_message(owner, MOST_WITH_MESSAGE + 1);
    if numbers.len() > MOST_WITH_MESSAGE {
        return None;
    }
    let mut found = Vec::new();
    for number in numbers {
        let Some(transaction) = view.transaction(number) else { continue };
        let messages = messages_of(chain, &transaction, end).into_iter();
        found.extend(messages.filter(|message| message.id == id).map(|it| (number, it)));
    }
    Some(found)
}

/// The messages of which bridges logged an end in a transaction. One that stands there several times is of several payments together,
/// and tells of none of them.
fn messages_of(
    (view, attributions): Attributed<'_>,
    transaction: &AccountTransaction,
    end: MessageEnd,
) -> Vec<BridgeMessage> {
    let is_of_bridge = |message: &&BridgeMessage| {
        view.owner(message.contract).is_some_and(|contract| is_bridge(attributions, contract))
    };
    let messages = transaction.messages.iter().filter(|message| message.end == end);
    let messages: Vec<BridgeMessage> = messages.filter(is_of_bridge).copied().collect();
    let mut times: FxHashMap<AccountAddress, u32> = FxHashMap::default();
    for message in &messages {
        *times.entry(message.id).or_default() += 1;
    }
    messages.into_iter().filter(|message| times.get(&message.id) == Some(&1)).collect()
}

/// The only payment of a message's amount in its transaction, in whatever followed asset, by or to the contract that logs the message
/// or of new or destroyed units, and a payout to the message's account.
fn only_payment(
    (view, attributions): Attributed<'_>,
    number: TransactionNumber,
    message: &BridgeMessage,
) -> Option<Payment> {
    let (contract, account) = (view.owner(message.contract), view.owner(message.account));
    let all = view.payments_of_transaction(number).into_iter();
    let mut possible = all.filter(|payment| {
        let other = match message.end {
            MessageEnd::Sent => payment.to,
            MessageEnd::Received => payment.from,
        };
        let is_of_contract = other == OwnerNumber::NOBODY || Some(other) == contract;
        let is_to_account = message.end == MessageEnd::Sent || Some(payment.to) == account;
        let is_of_amount = payment.amount == message.amount;
        is_of_amount
            && is_of_contract
            && is_to_account
            && is_possible(attributions, payment, message.end)
    });
    possible.next().filter(|_| possible.next().is_none())
}

/// True for a payment of an account into a bridge or of units that are destroyed, or for one of a bridge or of new units to an
/// account: bridges lock what they bring elsewhere, or destroy it and make it anew.
fn is_possible(attributions: &dyn AccountAttributions, payment: &Payment, end: MessageEnd) -> bool {
    let is_of_bridge = |account| account == OwnerNumber::NOBODY || is_bridge(attributions, account);
    let (account, bridge) = match end {
        MessageEnd::Sent => (payment.from, payment.to),
        MessageEnd::Received => (payment.to, payment.from),
    };
    payment.kind == MovementKind::Payment && is_of_bridge(bridge) && !is_of_bridge(account)
}

/// A payment with its chain, asset, amount and time; `None` for an asset whose money is not followed.
fn bridge_payment(view: &dyn AccountView, payment: &Payment) -> Option<BridgePayment> {
    let (chain, amount) = (view.chain(), payment.amount);
    let time = view.time(payment.transaction);
    Some(BridgePayment { chain, asset: view.scored(payment.asset)?, amount, time })
}
