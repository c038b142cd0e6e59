//! The origins of the coins that a subject still holds (`docs/model/trace.md` T18).
//!
//! Clean funds that only passed through an address dilute what remains there. The coins that remain are therefore traced
//! by themselves, if the trace of all received funds found enough severe funds for a rule about held funds.

use rustc_hash::FxHashMap;

use super::{
    attribution::Attributions,
    direction::DirectionalTrace,
    flow::{Flow, FlowKey},
    label_sets::LabelSet,
};
use crate::{
    evidence::{Direction, Solicitation},
    ledger::{Mass, OwnHistory, OwnerNumber, TransactionNumber, mass::scaled},
    reading::{ChainView, ViewError, Waypoint},
};

/// The coins that a subject holds, and their trace once it has begun.
pub(super) struct HeldCoins<'a> {
    /// Unspent amounts in base units, by the transaction that created the outputs.
    unspent: FxHashMap<TransactionNumber, u128>,
    pub(super) trace: Option<DirectionalTrace<'a>>,
}

impl<'a> HeldCoins<'a> {
    /// The coins that a subject holds. If the subject never sent anything, the origins of all that it received are the
    /// origins of its coins, so that no coins are traced by themselves.
    pub(super) fn of(history: &OwnHistory) -> Self {
        let mut unspent = FxHashMap::default();
        if history.statistics.sent > 0 {
            for own in history.incoming.iter().filter(|own| own.unspent > 0) {
                *unspent.entry(own.number).or_default() += own.unspent;
            }
        }
        Self { unspent, trace: None }
    }

    /// Begins the trace of the coins if a rule may fire on them: `received` is the finished trace of all received funds.
    pub(super) fn begin(
        &mut self,
        view: &dyn ChainView,
        received: &DirectionalTrace<'a>,
        attributions: &'a dyn Attributions,
    ) -> Result<(), ViewError> {
        let unspent = std::mem::take(&mut self.unspent);
        let whole: u128 = unspent.values().sum();
        let least = received.rules.held_from;
        if least == 0 || whole < least || received.ends.severe() < scaled(least) {
            return Ok(());
        }
        // Coins that come back to the subject do not end here: of what is held, all is traced.
        let owners = (OwnerNumber::NOBODY, received.cluster);
        let mut trace =
            DirectionalTrace::new(Direction::Source, owners, whole, received.rules, attributions);
        let key = FlowKey {
            owner: Some(received.cluster),
            has_left: false,
            solicitation: Solicitation::Solicited,
            carried: LabelSet::EMPTY,
        };
        for (number, amount) in unspent {
            let waypoint = Waypoint::Transaction(number);
            let rank = trace.rank_of(waypoint, view)?;
            let flow = Flow::of(Mass::from_base_units(amount, false));
            trace.frontier.add(waypoint, rank, (key, flow), &trace.paths);
        }
        self.trace = Some(trace);
        Ok(())
    }
}
