//! The assessment of one transfer: the assessment of the receiver's address with the flows that count for the
//! transfer's direction.

use assay_address::{CanonicalAddress, ChainId};
use jiff::Timestamp;

use super::{assess, usd};
use crate::{
    assessment::{
        Amount, AssessedAccountTransfer, AssessedOutput, AssessedTransfer, Assessment, Exposure,
        Sender, TransferBasis, TransferStatus, Warning,
    },
    evidence::{ChainState, Direction, DirectionFlows, Ledger},
    facts::Facts,
    policy::Policy,
    trace::AttributedEnd,
    transfer::{FoundTransfer, TransferDirection, TransferFacts},
    utxo::Unconfirmed,
};

/// Most outputs, and most senders, that an answer shows.
const MAX_SHOWN: usize = 100;

/// Assesses one transfer by the facts about it.
///
/// A deposit is assessed by the origins of its funds. A withdrawal is assessed twice: by the destinations of all funds
/// that the receiver sent, as in an assessment of its address, and by the destinations of this transfer's funds. The
/// higher score counts, so neither the receiver's history hides risky destinations of this transfer, nor does this
/// transfer hide a risky history.
#[must_use]
pub fn assess_transfer(facts: &TransferFacts, policy: &Policy, now: Timestamp) -> Assessment {
    let receiver = facts.transfer.receiver();
    let as_receiver = assess(receiver, &facts.receiver, policy, now);
    let (mut assessment, basis, destinations) = match &facts.destinations {
        _ if facts.direction == TransferDirection::Deposit => {
            (as_receiver, TransferBasis::Origins, vec![])
        }
        None => (as_receiver, TransferBasis::Receiver, vec![]),
        Some(destinations) => {
            let own = with_destinations(&facts.receiver, destinations, &facts.transfer);
            let as_money = assess(receiver, &own, policy, now);
            let shown = destinations_of(&as_money);
            if as_money.risk_score > as_receiver.risk_score {
                (as_money, TransferBasis::Destinations, shown)
            } else {
                (as_receiver, TransferBasis::Receiver, shown)
            }
        }
    };
    let mut transfer = view(facts, basis, destinations);
    let prices = &facts.receiver.prices;
    usd::fill_transfer(&mut transfer, receiver.chain(), prices);
    if let FoundTransfer::Outputs(found) = &facts.transfer
        && let Some(unconfirmed) = found.unconfirmed
    {
        let today = facts.receiver.day(now);
        usd::fill_transfer_on(&mut transfer, receiver.chain(), prices, today);
        assessment.warnings.push(not_final(unconfirmed));
        // The transaction may be replaced or mined at any time.
        assessment.valid_until = Some(now);
    }
    assessment.transfer = Some(Box::new(transfer));
    assessment
}

/// Warning that no block holds the transaction yet.
fn not_final(Unconfirmed { ancestors, signals_replacement }: Unconfirmed) -> Warning {
    let replaced = if signals_replacement {
        "signals that it may be replaced by another one (BIP 125)"
    } else {
        "does not signal replacement (BIP 125), and may be replaced all the same"
    };
    let after = match ancestors {
        0 => String::new(),
        1 => ", spends outputs of 1 other unconfirmed transaction".to_owned(),
        more => format!(", spends outputs of {more} other unconfirmed transactions"),
    };
    let message = format!(
        "no block holds the transaction yet: it {replaced}{after}, and may never be mined; check the transfer again \
         once it is confirmed, before it is credited"
    );
    Warning { code: "unconfirmed", message }
}

/// The receiver's facts, with the destinations of this transfer's funds instead of all destinations.
fn with_destinations(
    receiver: &Facts,
    destinations: &DirectionFlows,
    transfer: &FoundTransfer,
) -> Facts {
    let mut facts = receiver.clone();
    let ChainState::Followed(chain) = &mut facts.chain else { return facts };
    let ledgers = &mut chain.flows.ledgers;
    match transfer {
        FoundTransfer::Outputs(_) => {
            for ledger in ledgers {
                ledger.destination = destinations.clone();
            }
        }
        FoundTransfer::OfAccounts(found) => {
            let unit = found.unit.name();
            // A receiver that passed the money on at once has no flows of the unit.
            if !ledgers.iter().any(|ledger| ledger.unit == unit) {
                ledgers.push(Ledger {
                    unit: unit.clone(),
                    decimals: found.unit.decimals(),
                    left_out_decimals: found.unit.left_out_decimals(),
                    source: DirectionFlows::default(),
                    destination: DirectionFlows::default(),
                    held: DirectionFlows::default(),
                    of_accounts: true,
                });
            }
            for ledger in ledgers {
                let is_own = ledger.unit == unit;
                ledger.destination =
                    if is_own { destinations.clone() } else { DirectionFlows::default() };
            }
        }
    }
    facts
}

fn destinations_of(assessment: &Assessment) -> Vec<Exposure> {
    let lines = assessment.exposure.iter();
    lines.filter(|line| line.direction == Direction::Destination).cloned().collect()
}

fn view(
    facts: &TransferFacts,
    basis: TransferBasis,
    destinations: Vec<Exposure>,
) -> AssessedTransfer {
    let senders = Senders { ends: &facts.senders, chain: facts.transfer.receiver().chain() };
    let confirmations = |height: u64| facts.tip_height.saturating_sub(height).saturating_add(1);
    match &facts.transfer {
        FoundTransfer::Outputs(transfer) => {
            let transaction = &transfer.transaction;
            let is_confirmed = transfer.unconfirmed.is_none();
            let asset = transfer.receiver.chain().info().native().code;
            let amount = |value: u128| of_asset(asset, value);
            let outputs = transfer.outputs.iter().take(MAX_SHOWN);
            let (senders, senders_count) = senders.shown(asset, &transfer.senders(), |owner| {
                owner.address(senders.chain).map(|address| address.to_string())
            });
            AssessedTransfer {
                transaction: Some(transaction.txid.to_string()),
                direction: facts.direction,
                account: None,
                planned: None,
                outputs: outputs
                    .map(|output| AssessedOutput {
                        index: output.index,
                        amount: amount(output.value.into()),
                    })
                    .collect(),
                outputs_count: u64::try_from(transfer.outputs.len()).unwrap_or(u64::MAX),
                amount: amount(transfer.amount()),
                status: if is_confirmed {
                    TransferStatus::Confirmed
                } else {
                    TransferStatus::Unconfirmed
                },
                confirmations: if is_confirmed { confirmations(transaction.height) } else { 0 },
                block_height: is_confirmed.then_some(transaction.height),
                block_time: is_confirmed.then_some(transaction.time),
                senders_count,
                senders,
                basis,
                destinations,
            }
        }
        FoundTransfer::OfAccounts(found) => {
            let transfer = &found.transfer;
            let asset = transfer.asset;
            let name = |address: &CanonicalAddress| address.as_str().to_owned();
            let (senders, senders_count) = senders.shown(asset.ticker, &found.senders, |account| {
                let address = account.and_then(|account| account.on(senders.chain));
                address.as_ref().map(name)
            });
            AssessedTransfer {
                transaction: Some(transfer.transaction_text()),
                direction: facts.direction,
                account: Some(AssessedAccountTransfer {
                    asset: asset.id.asset.text(asset.id.chain),
                    place: transfer.place.to_string(),
                    from: transfer.payer.as_ref().map(name),
                    to: name(&transfer.receiver),
                    initiator: transfer.initiator.as_ref().map(name),
                }),
                planned: None,
                outputs: Vec::new(),
                outputs_count: 0,
                amount: of_asset(asset.ticker, transfer.amount),
                status: TransferStatus::Confirmed,
                confirmations: confirmations(transfer.block),
                block_height: Some(transfer.block),
                block_time: Some(transfer.time),
                senders_count,
                senders,
                basis,
                destinations,
            }
        }
    }
}

fn of_asset(asset: &str, value: u128) -> Amount {
    Amount { value: value.to_string(), asset: asset.to_owned(), usd: None, price_day: None }
}

/// The senders of a transfer with their attributions.
#[derive(Clone, Copy)]
struct Senders<'a> {
    ends: &'a [Option<AttributedEnd>],
    chain: ChainId,
}

impl Senders<'_> {
    /// The senders that an answer shows, and the number of all senders.
    fn shown<S>(
        self,
        asset: &str,
        senders: &[(S, u128)],
        address: impl Fn(&S) -> Option<String>,
    ) -> (Vec<Sender>, u64) {
        let count = u64::try_from(senders.len()).unwrap_or(u64::MAX);
        let ends = self.ends.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let shown = senders.iter().zip(ends).take(MAX_SHOWN).map(|((sender, value), end)| Sender {
            address: address(sender),
            amount: of_asset(asset, *value),
            category: end.map(|end| end.category),
            entity: end.and_then(|end| end.entity.as_deref()).map(str::to_owned),
            listed: end.is_some_and(|end| end.listed),
        });
        (shown.collect(), count)
    }
}

#[cfg(test)]
mod tests;
