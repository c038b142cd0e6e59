//! Conversion of what account chains alone have: limits of flows, transfers and transactions.

use assay_address::{CanonicalAddress, ChainId};
use assay_chain_protocol::message::{
    AccountLimitsMessage, AccountTransactionAnswer, AccountTransferAnswer, AccountTransferMessage,
    AccountTransferQuestion, AssetMessage, BookedPaymentMessage, FreezeMessage, Identifier,
    InvalidAccountTransferMessage, LookalikeAccountMessage, ReadAccountTransfer, TransferMessage,
    TransferSenderMessage,
};
use assay_engine::{
    account::{
        AccountTransaction, AccountTransfer, AccountTransferSelector, AssetId,
        InvalidAccountTransfer, IssuerFreeze, MoneyUnit, ScoredAsset, Transfer, TransferKind,
        scored_asset,
    },
    evidence::{AccountLimits, LookalikeAccount},
    transfer::{FoundAccountTransfer, FoundTransfer, TransferQuery, TransferSelector},
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;

use super::{
    read::AnswerReader,
    types::{InvalidAnswer, MessageForm},
    write::{text, trace_answer, tracing_policy},
};
use crate::chains::{
    booked::{BookedPayment, BookedTransaction},
    transfer::{TransferError, TransferRead, TransferReadRequest},
};

/// Converts the limits of an account's flows.
pub(super) fn limits_message(limits: AccountLimits) -> AccountLimitsMessage {
    let AccountLimits {
        has_unrecorded_money,
        may_lack_internal_transfers,
        exceeding_ledgers,
        unpriced,
        carried_prices,
        is_whole_not_netted,
        has_initiators,
        excess,
        taken,
        summed_payments,
        unread_payments,
        lookalike_tokens,
        lookalike_accounts,
        other_tokens,
        bridged,
    } = limits;
    let lookalike = |LookalikeAccount { address, of, is_paid, transactions }| {
        LookalikeAccountMessage { address: text(&address), of: text(&of), is_paid, transactions }
    };
    AccountLimitsMessage {
        has_unrecorded_money,
        may_lack_internal_transfers,
        exceeding_ledgers,
        unpriced,
        carried_prices,
        is_whole_not_netted,
        has_initiators,
        excess: excess.into_message(),
        taken: taken.into_message(),
        summed_payments,
        unread_payments,
        lookalike_tokens,
        lookalike_accounts: lookalike_accounts.into_iter().map(lookalike).collect(),
        other_tokens,
        bridged: bridged.into_message(),
    }
}

/// Converts a freeze.
pub(super) fn freeze_message(freeze: &IssuerFreeze) -> FreezeMessage {
    let IssuerFreeze { asset, frozen, destroyed, lifted } = *freeze;
    FreezeMessage {
        asset: asset.asset.into_message(),
        frozen: frozen.into_message(),
        destroyed: destroyed.into_message(),
        lifted: lifted.into_message(),
    }
}

/// Returns the question for a transfer.
pub(in crate::chains) fn transfer_question(
    request: &TransferReadRequest<'_>,
    selector: &AccountTransferSelector,
) -> AccountTransferQuestion {
    let TransferReadRequest { query, rules, policy, now, .. } = *request;
    let AccountTransferSelector { place, receiver } = selector;
    AccountTransferQuestion {
        transaction: query.txid.into_message(),
        place: place.clone().into_message(),
        receiver: receiver.as_ref().map(text),
        direction: query.direction.into_message(),
        policy: tracing_policy(policy, rules),
        now,
    }
}

/// Returns the transfer that a question names.
pub(in crate::chains) fn transfer_query(
    chain: ChainId,
    question: &AccountTransferQuestion,
) -> Result<TransferQuery, InvalidAnswer> {
    let AccountTransferQuestion { transaction, place, receiver, direction, .. } = question;
    let address = |text: &String| {
        CanonicalAddress::parse(chain, text).map_err(|error| InvalidAnswer(error.to_string()))
    };
    let receiver = receiver.as_ref().map(address).transpose()?;
    let place = MessageForm::read(place.clone())?;
    Ok(TransferQuery {
        chain,
        txid: MessageForm::read(*transaction)?,
        selector: TransferSelector::OfAccounts(AccountTransferSelector { place, receiver }),
        direction: MessageForm::read(*direction)?,
    })
}

/// Converts a transfer, or an error that is an answer; returns any other error.
pub(in crate::chains) fn account_transfer_answer(
    read: Result<TransferRead, TransferError>,
    intel: &IntelSnapshot,
    now: Timestamp,
) -> Result<AccountTransferAnswer, TransferError> {
    match read {
        Ok(TransferRead { transfer, traced, destinations, tip_height }) => {
            let chain = transfer.receiver().chain();
            let FoundTransfer::OfAccounts(found) = transfer else {
                return Err(TransferError::OtherLedger(chain));
            };
            let FoundAccountTransfer { transfer, senders, unit } = *found;
            let senders = senders.into_iter().map(|(account, amount)| TransferSenderMessage {
                account: account.into_message(),
                amount,
            });
            Ok(AccountTransferAnswer::Read(Box::new(ReadAccountTransfer {
                transfer: transfer_message(transfer),
                senders: senders.collect(),
                unit: match unit {
                    MoneyUnit::Dollars => None,
                    MoneyUnit::Asset(asset) => Some(asset.id.asset.into_message()),
                },
                traced: trace_answer(traced, intel),
                destinations: destinations.into_message(),
                tip_height,
            })))
        }
        Err(TransferError::UnknownTransaction(unknown)) => {
            let time = now.checked_sub(unknown.age).unwrap_or(now);
            Ok(AccountTransferAnswer::UnknownTransaction { height: unknown.height, time })
        }
        Err(TransferError::InvalidOfAccounts(invalid)) => {
            Ok(AccountTransferAnswer::Invalid(invalid_message(*invalid)))
        }
        Err(TransferError::Unavailable(_, reason)) => {
            Ok(AccountTransferAnswer::Unavailable(reason.into_message()))
        }
        Err(error) => Err(error),
    }
}

fn transfer_message(transfer: AccountTransfer) -> AccountTransferMessage {
    let AccountTransfer { id, block, time, initiator, asset, amount, payer, receiver, place } =
        transfer;
    AccountTransferMessage {
        transaction: id.into_message(),
        block,
        time,
        initiator: initiator.as_ref().map(text),
        asset: asset.id.asset.into_message(),
        amount,
        payer: payer.as_ref().map(text),
        receiver: text(&receiver),
        place: place.into_message(),
    }
}

fn invalid_message(invalid: InvalidAccountTransfer) -> InvalidAccountTransferMessage {
    use InvalidAccountTransfer as Invalid;
    use InvalidAccountTransferMessage as Message;
    match invalid {
        Invalid::Several(choices) => Message::Several(choices.into_message()),
        Invalid::NoSuchPlace { choices, .. } => Message::NoSuchPlace(choices.into_message()),
        Invalid::NotPaid(_) => Message::NotPaid,
        Invalid::NoTransfer => Message::NoTransfer,
        Invalid::MovesNothing => Message::MovesNothing,
        Invalid::NotFollowed(asset) => Message::NotFollowed(asset),
        Invalid::TooLarge => Message::TooLarge,
        Invalid::Destroyed => Message::Destroyed,
        Invalid::GivenBack => Message::GivenBack,
    }
}

/// Converts a transaction with its payments.
pub(in crate::chains) fn account_transaction_answer(
    booked: BookedTransaction,
) -> AccountTransactionAnswer {
    let BookedTransaction { transaction, transfers_count, payments } = booked;
    let transfer = |Transfer { kind, asset, from, to, amount, place }: Transfer| TransferMessage {
        kind: Identifier(kind.as_str().to_owned()),
        asset: asset.into_message(),
        from: from.into_message(),
        to: to.into_message(),
        amount: amount.to_string(),
        place: place.into_message(),
    };
    let payment = |BookedPayment { from, to, asset, amount }| BookedPaymentMessage {
        from: from.into_message(),
        to: to.into_message(),
        asset: asset.id.asset.into_message(),
        amount,
    };
    AccountTransactionAnswer {
        transaction: transaction.id.into_message(),
        block: transaction.block,
        time: transaction.time,
        initiator: transaction.initiator.into_message(),
        transfers: transaction.transfers.into_iter().map(transfer).collect(),
        transfers_count,
        payments: payments.into_iter().map(payment).collect(),
    }
}

impl AnswerReader<'_> {
    /// Converts the limits of an account's flows.
    pub(super) fn account_limits(
        self,
        message: AccountLimitsMessage,
    ) -> Result<AccountLimits, InvalidAnswer> {
        let AccountLimitsMessage {
            has_unrecorded_money,
            may_lack_internal_transfers,
            exceeding_ledgers,
            unpriced,
            carried_prices,
            is_whole_not_netted,
            has_initiators,
            excess,
            taken,
            summed_payments,
            unread_payments,
            lookalike_tokens,
            lookalike_accounts,
            other_tokens,
            bridged,
        } = message;
        let lookalike = |LookalikeAccountMessage { address, of, is_paid, transactions }| {
            let (address, of) = (self.address(&address)?, self.address(&of)?);
            Ok::<_, InvalidAnswer>(LookalikeAccount { address, of, is_paid, transactions })
        };
        let lookalike_accounts = lookalike_accounts.into_iter().map(lookalike);
        Ok(AccountLimits {
            has_unrecorded_money,
            may_lack_internal_transfers,
            exceeding_ledgers,
            unpriced,
            carried_prices,
            is_whole_not_netted,
            has_initiators,
            excess: MessageForm::read(excess)?,
            taken: MessageForm::read(taken)?,
            summed_payments,
            unread_payments,
            lookalike_tokens,
            lookalike_accounts: lookalike_accounts.collect::<Result<_, _>>()?,
            other_tokens,
            bridged: MessageForm::read(bridged)?,
        })
    }

    /// Converts the freezes of an account.
    pub(super) fn freezes(
        self,
        messages: Vec<FreezeMessage>,
    ) -> Result<Vec<IssuerFreeze>, InvalidAnswer> {
        let freeze = |FreezeMessage { asset, frozen, destroyed, lifted }| {
            Ok(IssuerFreeze {
                asset: AssetId { chain: self.chain, asset: MessageForm::read(asset)? },
                frozen: MessageForm::read(frozen)?,
                destroyed: MessageForm::read(destroyed)?,
                lifted: MessageForm::read(lifted)?,
            })
        };
        messages.into_iter().map(freeze).collect()
    }

    /// Converts a transfer, or the reason for which it was not read.
    pub(in crate::chains) fn account_transfer(
        self,
        query: &TransferQuery,
        answer: AccountTransferAnswer,
        now: Timestamp,
    ) -> Result<Result<TransferRead, TransferError>, InvalidAnswer> {
        let read = match answer {
            AccountTransferAnswer::Read(read) => *read,
            AccountTransferAnswer::UnknownTransaction { height, time } => {
                return Ok(Err(TransferError::unknown(query, height, time, now)));
            }
            AccountTransferAnswer::Invalid(invalid) => {
                return Ok(Err(invalid_of_selector(&invalid, &query.selector)?.into()));
            }
            AccountTransferAnswer::Unavailable(reason) => {
                return Ok(Err(TransferError::Unavailable(self.chain, MessageForm::read(reason)?)));
            }
        };
        let ReadAccountTransfer { transfer, senders, unit, traced, destinations, tip_height } =
            read;
        let unit = match unit {
            None => MoneyUnit::Dollars,
            Some(asset) => MoneyUnit::Asset(self.asset(asset)?),
        };
        let sender = |TransferSenderMessage { account, amount }| {
            Ok::<_, InvalidAnswer>((MessageForm::read(account)?, amount))
        };
        let senders = senders.into_iter().map(sender).collect::<Result<_, _>>()?;
        let transfer = self.of_accounts(transfer)?;
        let found = FoundAccountTransfer { transfer, senders, unit };
        Ok(Ok(TransferRead {
            transfer: FoundTransfer::OfAccounts(Box::new(found)),
            traced: self.traced(traced)?,
            destinations: MessageForm::read(destinations)?,
            tip_height,
        }))
    }

    fn of_accounts(
        self,
        message: AccountTransferMessage,
    ) -> Result<AccountTransfer, InvalidAnswer> {
        let AccountTransferMessage { transaction, block, time, initiator, asset, .. } = message;
        let AccountTransferMessage { amount, payer, receiver, place, .. } = message;
        let address = |text: String| self.address(&text);
        Ok(AccountTransfer {
            id: MessageForm::read(transaction)?,
            block,
            time,
            initiator: initiator.map(address).transpose()?,
            asset: self.asset(asset)?,
            amount,
            payer: payer.map(address).transpose()?,
            receiver: address(receiver)?,
            place: MessageForm::read(place)?,
        })
    }

    /// Looks an asset up in the table of followed assets.
    fn asset(self, message: AssetMessage) -> Result<&'static ScoredAsset, InvalidAnswer> {
        let id = AssetId { chain: self.chain, asset: MessageForm::read(message)? };
        scored_asset(id).ok_or_else(|| InvalidAnswer(format!("{id} is not followed")))
    }

    /// Converts a transaction with its payments.
    pub(in crate::chains) fn account_transaction(
        self,
        answer: AccountTransactionAnswer,
    ) -> Result<BookedTransaction, InvalidAnswer> {
        let AccountTransactionAnswer { transaction, block, time, initiator, .. } = answer;
        let AccountTransactionAnswer { transfers, transfers_count, payments, .. } = answer;
        let transfer = |TransferMessage { kind, asset, from, to, amount, place }| {
            let kind: TransferKind = parsed(&kind.0)?;
            Ok::<_, InvalidAnswer>(Transfer {
                kind,
                asset: MessageForm::read(asset)?,
                from: MessageForm::read(from)?,
                to: MessageForm::read(to)?,
                amount: parsed(&amount)?,
                place: MessageForm::read(place)?,
            })
        };
        let payment = |BookedPaymentMessage { from, to, asset, amount }| {
            Ok::<_, InvalidAnswer>(BookedPayment {
                from: MessageForm::read(from)?,
                to: MessageForm::read(to)?,
                asset: self.asset(asset)?,
                amount,
            })
        };
        Ok(BookedTransaction {
            transaction: AccountTransaction {
                block,
                time,
                id: MessageForm::read(transaction)?,
                initiator: MessageForm::read(initiator)?,
                transfers: transfers.into_iter().map(transfer).collect::<Result<_, _>>()?,
                contract_facts: Vec::new(),
                freezes: Vec::new(),
                delegations: Vec::new(),
                messages: Vec::new(),
            },
            transfers_count,
            payments: payments.into_iter().map(payment).collect::<Result<_, _>>()?,
        })
    }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, InvalidAnswer> {
    text.parse().map_err(|error: T::Err| InvalidAnswer(error.to_string()))
}

fn invalid_of_selector(
    message: &InvalidAccountTransferMessage,
    selector: &TransferSelector,
) -> Result<InvalidAccountTransfer, InvalidAnswer> {
    use InvalidAccountTransfer as Invalid;
    use InvalidAccountTransferMessage as Message;
    let TransferSelector::OfAccounts(AccountTransferSelector { place, receiver }) = selector else {
        return Err(InvalidAnswer(format!("{message:?} of {selector:?}")));
    };
    let unasked = || InvalidAnswer(format!("{message:?} of {selector:?}"));
    Ok(match message {
        Message::Several(choices) => Invalid::Several(MessageForm::read(choices.clone())?),
        Message::NoSuchPlace(choices) => Invalid::NoSuchPlace {
            place: place.clone().ok_or_else(unasked)?,
            choices: MessageForm::read(choices.clone())?,
        },
        Message::NotPaid => Invalid::NotPaid(receiver.clone().ok_or_else(unasked)?),
        Message::NoTransfer => Invalid::NoTransfer,
        Message::MovesNothing => Invalid::MovesNothing,
        Message::NotFollowed(asset) => Invalid::NotFollowed(asset.clone()),
        Message::TooLarge => Invalid::TooLarge,
        Message::Destroyed => Invalid::Destroyed,
        Message::GivenBack => Invalid::GivenBack,
    })
}

#[cfg(test)]
mod tests;
