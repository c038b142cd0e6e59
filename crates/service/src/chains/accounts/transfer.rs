//! One transfer of an account chain: what it is booked as, and the flows of its own money.

use assay_engine::{
    account::{
        AccountAddress, AccountSubject, AccountTransfer, AccountView, BookedTransfer,
        InvalidAccountTransfer, Payment, Valuation,
    },
    evidence::{ActivityFacts, AssetActivity, DirectionFlows},
    ledger::OwnerNumber,
    transfer::{FoundAccountTransfer, TransferQuery, TransferSelector},
};
use assay_graph::account::{AccountGraphView, RecordedState};
use jiff::Timestamp;

use crate::chains::transfer::TransferError;

/// A transfer with the payments as which it is booked.
#[derive(Debug)]
pub(super) struct ReadTransfer {
    pub(super) found: FoundAccountTransfer,
    pub(super) booked: BookedTransfer,
    pub(super) receiver: OwnerNumber,
}

impl ReadTransfer {
    /// Returns the transfer that a query names.
    ///
    /// # Errors
    ///
    /// Returns an error if the query names none, or if the graph cannot be read.
    pub(super) fn find(
        view: &dyn AccountGraphView,
        recorded: &RecordedState,
        query: &TransferQuery,
        values: &mut Valuation<'_>,
        now: Timestamp,
    ) -> Result<Self, TransferError> {
        let found = Self::read(view, recorded, query, values, now);
        // A transfer that could not be read is not unknown.
        view.check()?;
        found
    }

    fn read(
        view: &dyn AccountView,
        recorded: &RecordedState,
        query: &TransferQuery,
        values: &mut Valuation<'_>,
        now: Timestamp,
    ) -> Result<Self, TransferError> {
        let TransferSelector::OfAccounts(selector) = &query.selector else {
            return Err(TransferError::OtherLedger(query.chain));
        };
        let unknown = || TransferError::unknown(query, recorded.tip.height, recorded.tip.time, now);
        let number = view.find(&query.txid).ok_or_else(unknown)?;
        let transaction = view.transaction(number).ok_or_else(unknown)?;
        let transfer = AccountTransfer::select(query.chain, &transaction, selector)?;
        let booked = BookedTransfer::of(view, (number, &transaction), &transfer);
        let booked = booked.ok_or(InvalidAccountTransfer::GivenBack)?;
        let receiver = AccountAddress::of(&transfer.receiver);
        let receiver = receiver.and_then(|account| view.owner(account));
        let receiver = receiver.ok_or_else(unknown)?;
        let senders = senders(view, booked.payments());
        let (unit, _) = values.value(transfer.asset, transfer.amount, transfer.time);
        let found = FoundAccountTransfer { transfer, senders, unit };
        Ok(Self { found, booked, receiver })
    }

    /// Returns the activity of a receiver that received this transfer only.
    pub(super) fn activity(&self) -> ActivityFacts {
        let AccountTransfer { time, asset, amount, .. } = self.found.transfer;
        ActivityFacts {
            first_seen: time,
            last_seen: time,
            transfers_in: 1,
            transfers_out: 0,
            amounts: vec![AssetActivity {
                asset: asset.ticker.to_owned(),
                received: amount,
                sent: 0,
                balance: amount,
            }],
        }
    }

    /// Returns the destinations of the transfer's money; `None` if money ends at the receiver.
    pub(super) fn destinations(&self, of: &AccountSubject<'_>) -> Option<DirectionFlows> {
        let flows = of.destinations_of(&self.booked)?;
        let unit = self.found.unit.name();
        let own = flows.ledgers.into_iter().find(|ledger| ledger.unit == unit);
        Some(own.map(|ledger| ledger.destination).unwrap_or_default())
    }
}

/// Returns the accounts whose money payments are, the largest sums first.
fn senders(view: &dyn AccountView, payments: &[Payment]) -> Vec<(Option<AccountAddress>, u128)> {
    let mut sums: Vec<(Option<AccountAddress>, u128)> = Vec::new();
    for payment in payments {
        let payer = view.address(payment.from);
        match sums.iter_mut().find(|(known, _)| *known == payer) {
            Some((_, sum)) => *sum = sum.saturating_add(payment.amount),
            None => sums.push((payer, payment.amount)),
        }
    }
    sums.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sums
}
