//! The assessment of one transfer: the assessment of the receiver's address with the flows that count for the
//! transfer's direction.

use jiff::Timestamp;

use super::{assess, usd};
use crate::{
    assessment::{
        Amount, AssessedOutput, AssessedTransfer, Assessment, Exposure, Sender, TransferBasis,
        TransferStatus,
    },
    evidence::{ChainState, Direction, DirectionFlows},
    facts::Facts,
    policy::Policy,
    trace::AttributedEnd,
    transfer::{TransferDirection, TransferFacts},
    utxo::ScriptOwner,
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
    let receiver = &facts.transfer.receiver;
    let as_receiver = assess(receiver, &facts.receiver, policy, now);
    let (mut assessment, basis, destinations) = match &facts.destinations {
        _ if facts.direction == TransferDirection::Deposit => {
            (as_receiver, TransferBasis::Origins, vec![])
        }
        None => (as_receiver, TransferBasis::Receiver, vec![]),
        Some(destinations) => {
            let own = with_destinations(&facts.receiver, destinations);
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
    usd::fill_transfer(&mut transfer, receiver.chain(), &facts.receiver.prices);
    assessment.transfer = Some(Box::new(transfer));
    assessment
}

/// The receiver's facts, with the destinations of this transfer's funds instead of all destinations.
fn with_destinations(receiver: &Facts, destinations: &DirectionFlows) -> Facts {
    let mut facts = receiver.clone();
    if let ChainState::Followed(chain) = &mut facts.chain {
        for ledger in &mut chain.flows.ledgers {
            ledger.destination = destinations.clone();
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
    let transfer = &facts.transfer;
    let transaction = &transfer.transaction;
    let asset = transfer.receiver.chain().info().native().code;
    let amount = |value: u128| Amount {
        value: value.to_string(),
        asset: asset.to_owned(),
        usd: None,
        price_day: None,
    };
    let senders = transfer.senders();
    let sender = |(owner, value): (&ScriptOwner, u128), end: Option<&AttributedEnd>| Sender {
        address: owner.address(transfer.receiver.chain()).map(|address| address.to_string()),
        amount: amount(value),
        category: end.map(|end| end.category),
        entity: end.and_then(|end| end.entity.as_deref()).map(str::to_owned),
        listed: end.is_some_and(|end| end.listed),
    };
    let ends = facts.senders.iter().map(Option::as_ref).chain(std::iter::repeat(None));
    let outputs = transfer.outputs.iter().take(MAX_SHOWN);
    AssessedTransfer {
        transaction: transaction.txid.to_string(),
        direction: facts.direction,
        outputs: outputs
            .map(|output| AssessedOutput {
                index: output.index,
                amount: amount(output.value.into()),
            })
            .collect(),
        outputs_count: u64::try_from(transfer.outputs.len()).unwrap_or(u64::MAX),
        amount: amount(transfer.amount()),
        status: TransferStatus::Confirmed,
        confirmations: facts.tip_height.saturating_sub(transaction.height).saturating_add(1),
        block_height: transaction.height,
        block_time: transaction.time,
        senders_count: u64::try_from(senders.len()).unwrap_or(u64::MAX),
        senders: senders
            .into_iter()
            .zip(ends)
            .take(MAX_SHOWN)
            .map(|(known, end)| sender(known, end))
            .collect(),
        basis,
        destinations,
    }
}

#[cfg(test)]
mod tests;
