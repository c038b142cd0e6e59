//! Scores of flows of money.
//!
//! A part of a flow carries risk `r = severity x confidence`. Parts combine by a power sum, both directions together:
//! `min(1, (sum of e x r^2.5)^0.4)`, where `r` is a part's risk and `e` the part's effective share, decayed by
//! distance, on the basis (`basis`) on which the sum is largest.
//!
//! - `basis`: the basis on which amounts are compared
//! - `ordered`: the flow parts in an order of their own
//! - `parts`: the score of each flow part, and the flow parts that count
//! - `sum`: the power sum of flow parts
//! - `held`: the fixed rule about the coins that the address holds
//! - `rules`: evaluation of the policy's minimum score rules
//! - `remarks`: warnings and reasons about flows, which do not change the score
//! - `minimum_scores`: reasons of the rules that fire
//! - `view`: flows as an answer shows them

mod basis;
mod held;
mod minimum_scores;
mod ordered;
mod parts;
mod remarks;
pub mod rules;
mod sum;
mod view;

pub(super) use basis::Decay;
pub(super) use minimum_scores::percent;
pub use ordered::united_parts;
pub(super) use parts::SHARE_WHOLE;
pub(super) use sum::{LargestSum, PartPlace, PartSelection};
pub(super) use view::{decimal, transactions, whole_units, words};

use ordered::OrderedParts;
use parts::DirectionalFlows;

use crate::{
    evidence::{ChainState, Direction},
    policy::Policy,
};

/// All flows of a subject: both directions of every ledger, in the order of the ledgers.
#[derive(Clone, Debug, Default)]
pub(super) struct OrderedFlows<'f> {
    directions: Vec<OrderedParts<'f>>,
    /// The origins of the coins that the subject holds, for each ledger.
    held: Vec<OrderedParts<'f>>,
}

impl<'f> OrderedFlows<'f> {
    pub(super) fn of(chain: &'f ChainState, policy: &Policy) -> Self {
        let ChainState::Followed(facts) = chain else {
            return Self::default();
        };
        let directions = facts.flows.ledgers.iter().enumerate().flat_map(|(index, ledger)| {
            [Direction::Source, Direction::Destination]
                .map(|direction| OrderedParts::of(index, ledger, direction, policy))
        });
        let held = facts.flows.ledgers.iter().enumerate();
        let held = held.map(|(index, ledger)| OrderedParts::of_held(index, ledger, policy));
        Self { directions: directions.collect(), held: held.collect() }
    }
}

/// All flows of a subject, assessed part by part.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows<'f> {
    directions: Vec<DirectionalFlows<'f>>,
    /// The origins of the coins that the subject holds, for each ledger.
    held: Vec<DirectionalFlows<'f>>,
}

impl<'f> Flows<'f> {
    pub(super) fn new(ordered: &'f OrderedFlows<'f>, policy: &'f Policy) -> Self {
        let assess = |parts: &'f [OrderedParts<'f>]| {
            parts.iter().map(|ordered| DirectionalFlows::assess(ordered, policy)).collect()
        };
        Self { directions: assess(&ordered.directions), held: assess(&ordered.held) }
    }
}
