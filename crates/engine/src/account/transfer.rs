//! One transfer of an account chain as the subject of an assessment, and the payments as which it is booked.

use std::{collections::BTreeSet, fmt};

use assay_address::{CanonicalAddress, ChainId};
use jiff::Timestamp;

use super::{
    AccountAddress, AccountTransaction, Asset, AssetId, PublishedPlace, ScoredAsset, Transfer,
    TransferKind, TransferPlace, scored_asset,
    step::{MovementKind, Payment},
    transaction_text,
    unit::whole_units,
    view::AccountView,
};
use crate::{ledger::TransactionNumber, utxo::Txid};

/// Most transfers that an error lists.
const MOST_CHOICES: usize = 20;

/// The properties that name a transfer within its transaction. Without any, the transaction must have one transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccountTransferSelector {
    /// The place of the transfer, as its source publishes it.
    pub place: Option<PublishedPlace>,
    /// The receiver.
    pub receiver: Option<CanonicalAddress>,
}

/// One transfer of a followed asset to an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountTransfer {
    /// The transaction.
    pub id: Txid,
    /// Height of the transaction's block.
    pub block: u64,
    /// Time of the block.
    pub time: Timestamp,
    /// The account that sent the transaction, if known.
    pub initiator: Option<CanonicalAddress>,
    /// The asset.
    pub asset: &'static ScoredAsset,
    /// Amount in base units.
    pub amount: u128,
    /// The payer; `None` for new units.
    pub payer: Option<CanonicalAddress>,
    /// The receiver.
    pub receiver: CanonicalAddress,
    /// Place in the transaction.
    pub place: TransferPlace,
}

/// Reason for which a transfer cannot be assessed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAccountTransfer {
    /// The request names several transfers.
    #[error("the transaction has several transfers, name one by its place or receiver: {0}")]
    Several(Choices),
    /// The transaction has no transfer at a place.
    #[error("the transaction has no transfer at {place}; it has: {choices}")]
    NoSuchPlace {
        /// The requested place.
        place: PublishedPlace,
        /// The transfers of the transaction.
        choices: Choices,
    },
    /// No transfer pays the address.
    #[error("the transaction has no transfer to {0}")]
    NotPaid(CanonicalAddress),
    /// The transaction pays nobody.
    #[error("the transaction has no transfer: it only paid fees")]
    NoTransfer,
    /// The transfer is of zero, or to its own payer.
    #[error("the transfer moves nothing: its amount is zero, or its payer is its receiver")]
    MovesNothing,
    /// The asset is a token outside the table.
    #[error(
        "the transfer is of the token {0}, which is not in the table of followed assets: its money is not followed"
    )]
    NotFollowed(String),
    /// The amount has more than 128 bits.
    #[error("the amount of the transfer has more than 128 bits: it is no money")]
    TooLarge,
    /// The units are destroyed.
    #[error("the transfer destroys its amount: nobody receives it")]
    Destroyed,
    /// The transaction as a whole pays nothing of the asset to the receiver or onwards.
    #[error(
        "the transaction gives back what the transfer paid: in the end the receiver got nothing of the asset from it"
    )]
    GivenBack,
}

/// Transfers from which a request selects one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The first transfers, in words.
    pub listed: Vec<String>,
    /// Number of further transfers.
    pub more: u64,
}

impl Choices {
    fn of<'t>(chain: ChainId, transfers: impl IntoIterator<Item = &'t Transfer>) -> Self {
        let mut transfers = transfers.into_iter();
        let listed = transfers.by_ref().take(MOST_CHOICES);
        let listed = listed.map(|transfer| in_words(chain, transfer)).collect();
        Self { listed, more: u64::try_from(transfers.count()).unwrap_or(u64::MAX) }
    }
}

impl fmt::Display for Choices {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, choice) in self.listed.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(formatter, "{separator}{choice}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(formatter, "; and {more} more"),
        }
    }
}

/// A transfer in words: place, amount, asset, payer and receiver.
fn in_words(chain: ChainId, transfer: &Transfer) -> String {
    let id = AssetId { chain, asset: transfer.asset };
    let amount = match scored_asset(id) {
        Some(asset) => {
            format!("{} {}", whole_units(transfer.amount, asset.decimals), asset.ticker)
        }
        None => format!("{} base units of {}", transfer.amount, transfer.asset.text(chain)),
    };
    let name = |account: AccountAddress| match account.on(chain) {
        Some(address) => address.as_str().to_owned(),
        None => account.to_string(),
    };
    let (from, to) = (name(transfer.from), name(transfer.to));
    format!("{}: {amount} from {from} to {to}", transfer.place)
}

impl AccountTransfer {
    /// The transfer of a transaction that a request names.
    ///
    /// # Errors
    ///
    /// Returns an error if the request names none or several, or one whose money is not followed.
    pub fn select(
        chain: ChainId,
        transaction: &AccountTransaction,
        selector: &AccountTransferSelector,
    ) -> Result<Self, InvalidAccountTransfer> {
        let pays = |transfer: &&Transfer| {
            !matches!(transfer.kind, TransferKind::Fee | TransferKind::Balance)
        };
        let all: Vec<&Transfer> = transaction.transfers.iter().filter(pays).collect();
        let mut named = all.clone();
        if let Some(place) = &selector.place {
            named.retain(|transfer| is_at(&transfer.place, place));
            if named.is_empty() {
                let choices = Choices::of(chain, all.iter().copied());
                let place = place.clone();
                return Err(InvalidAccountTransfer::NoSuchPlace { place, choices });
            }
        }
        if let Some(receiver) = &selector.receiver {
            named.retain(|transfer| transfer.to.on(chain).as_ref() == Some(receiver));
            if named.is_empty() {
                return Err(InvalidAccountTransfer::NotPaid(receiver.clone()));
            }
        }
        let mut refused = InvalidAccountTransfer::NoTransfer;
        let mut found: Vec<(&Transfer, Self)> = Vec::new();
        for transfer in named {
            match Self::of(chain, transaction, transfer) {
                Ok(assessable) => found.push((transfer, assessable)),
                Err(reason) => refused = reason,
            }
        }
        match found.pop() {
            None => Err(refused),
            Some((_, only)) if found.is_empty() => Ok(only),
            Some((last, _)) => {
                let transfers = found.iter().map(|(transfer, _)| *transfer).chain([last]);
                Err(InvalidAccountTransfer::Several(Choices::of(chain, transfers)))
            }
        }
    }

    fn of(
        chain: ChainId,
        transaction: &AccountTransaction,
        transfer: &Transfer,
    ) -> Result<Self, InvalidAccountTransfer> {
        let id = AssetId { chain, asset: transfer.asset };
        if transfer.amount.is_zero() || transfer.from == transfer.to {
            return Err(InvalidAccountTransfer::MovesNothing);
        }
        let asset = scored_asset(id)
            .ok_or_else(|| InvalidAccountTransfer::NotFollowed(transfer.asset.text(chain)))?;
        let amount =
            u128::try_from(transfer.amount).map_err(|_| InvalidAccountTransfer::TooLarge)?;
        let receiver = Some(transfer.to).filter(|account| *account != AccountAddress::ZERO);
        let receiver = receiver.and_then(|account| account.on(chain));
        let payer = Some(transfer.from).filter(|account| *account != AccountAddress::ZERO);
        Ok(Self {
            id: transaction.id,
            block: transaction.block,
            time: transaction.time,
            initiator: transaction.initiator.and_then(|account| account.on(chain)),
            asset,
            amount,
            payer: payer.and_then(|account| account.on(chain)),
            receiver: receiver.ok_or(InvalidAccountTransfer::Destroyed)?,
            place: transfer.place.clone(),
        })
    }

    /// The identifier of the transaction as its chain writes it.
    #[must_use]
    pub fn transaction_text(&self) -> String {
        transaction_text(self.asset.id.chain, self.id)
    }
}

/// True if a transfer is at a place. If a source states only the order of transfers, their number in the order stands
/// for the index of the log.
fn is_at(place: &TransferPlace, wanted: &PublishedPlace) -> bool {
    match &place.published {
        Some(published) => published == wanted,
        None => *wanted == PublishedPlace::Log(place.index),
    }
}

/// The payments as which a transfer is booked, each in proportion where they sum to more than the transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookedTransfer {
    /// Payments to the receiver.
    Received(Vec<Payment>),
    /// Payments to others, to whom the receiver passed the money on within the transaction.
    PassedOn(Vec<Payment>),
}

impl BookedTransfer {
    /// The payments as which a transfer of a transaction is booked. A payer that only passes money on is left out: the
    /// payments are those of the accounts whose money it was. `None` if the transaction gives the money back.
    #[must_use]
    pub fn of(
        view: &dyn AccountView,
        (position, transaction): (TransactionNumber, &AccountTransaction),
        transfer: &AccountTransfer,
    ) -> Option<Self> {
        let all = view.payments_of_transaction(position);
        let asset = transfer.asset.id.asset;
        let receiver = AccountAddress::of(&transfer.receiver)?;
        let paid_to = |account: AccountAddress| -> Vec<&Payment> {
            let Some(owner) = view.owner(account) else { return Vec::new() };
            let is_of = |payment: &&Payment| {
                payment.to == owner
                    && !matches!(payment.kind, MovementKind::Fee | MovementKind::Balance)
                    && view.scored(payment.asset).is_some_and(|it| it.id.asset == asset)
            };
            all.iter().filter(is_of).collect()
        };
        let direct = paid_to(receiver);
        if !direct.is_empty() {
            let own = own_payments(view, transaction, transfer, &direct);
            let counted = if own.is_empty() { direct } else { own };
            return Some(Self::Received(in_proportion(&counted, transfer.amount)));
        }
        let onwards = passed_on_to(transaction, asset, receiver).into_iter().flat_map(paid_to);
        let onwards: Vec<&Payment> = onwards.collect();
        (!onwards.is_empty()).then(|| Self::PassedOn(in_proportion(&onwards, transfer.amount)))
    }

    /// The payments.
    #[must_use]
    pub fn payments(&self) -> &[Payment] {
        match self {
            Self::Received(payments) | Self::PassedOn(payments) => payments,
        }
    }
}

/// The payments of the transfer's payer, if they cover all that it transferred to the receiver. Otherwise it passed on
/// money of others, and none of its transfers is of its own money alone.
fn own_payments<'p>(
    view: &dyn AccountView,
    transaction: &AccountTransaction,
    transfer: &AccountTransfer,
    paid: &[&'p Payment],
) -> Vec<&'p Payment> {
    let payer = transfer.payer.as_ref().and_then(AccountAddress::of);
    let receiver = AccountAddress::of(&transfer.receiver);
    let Some(owner) = payer.and_then(|payer| view.owner(payer)) else { return Vec::new() };
    let own: Vec<&Payment> = paid.iter().copied().filter(|it| it.from == owner).collect();
    let sum = own.iter().fold(0, |sum: u128, payment| sum.saturating_add(payment.amount));
    let transferred = transaction.transfers.iter().filter(|it| {
        Some(it.from) == payer
            && Some(it.to) == receiver
            && it.asset == transfer.asset.id.asset
            && it.kind != TransferKind::Fee
    });
    let transferred = transferred.filter_map(|it| u128::try_from(it.amount).ok());
    let transferred = transferred.fold(0, u128::saturating_add);
    if sum >= transferred { own } else { Vec::new() }
}

/// The accounts to which an account passed money of an asset on within a transaction, over any number of accounts.
fn passed_on_to(
    transaction: &AccountTransaction,
    asset: Asset,
    from: AccountAddress,
) -> BTreeSet<AccountAddress> {
    let (mut reached, mut waiting) = (BTreeSet::new(), vec![from]);
    while let Some(account) = waiting.pop() {
        for transfer in transaction.transfers.iter().filter(|it| it.asset == asset) {
            let is_onwards = transfer.from == account && transfer.kind != TransferKind::Fee;
            if is_onwards && transfer.to != from && reached.insert(transfer.to) {
                waiting.push(transfer.to);
            }
        }
    }
    reached
}

/// The payments with amounts that sum to at most `most`.
fn in_proportion(payments: &[&Payment], most: u128) -> Vec<Payment> {
    let amounts: Vec<u128> = payments.iter().map(|payment| payment.amount).collect();
    let sum = amounts.iter().fold(0, |sum: u128, amount| sum.saturating_add(*amount));
    let parts = if sum > most { crate::ledger::mass::split(most, &amounts) } else { amounts };
    let parts = payments.iter().zip(parts).filter(|(_, amount)| *amount > 0);
    parts.map(|(payment, amount)| Payment { amount, ..(*payment).clone() }).collect()
}
