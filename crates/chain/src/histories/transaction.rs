//! A transaction of an API as a trace reads it.

use assay_engine::{
    chain::ChainId,
    coinjoin::{JointCandidate, Part, classify},
    utxo::{CoinTransaction, Leg, Legs, OutPoint, TransactionKind},
};

use super::FullTransaction;

impl FullTransaction {
    /// What it is.
    #[must_use]
    pub fn kind(&self, chain: ChainId) -> TransactionKind {
        if self.coinbase {
            return TransactionKind::Coinbase;
        }
        let inputs: Vec<Option<Part<'_>>> = self
            .inputs
            .iter()
            .map(|(_, owner, value)| Some(Part { owner, value: *value }))
            .collect();
        let outputs: Vec<Part<'_>> =
            self.outputs.iter().map(|(owner, value)| Part { owner, value: *value }).collect();
        let candidate =
            JointCandidate { chain, time: self.time, inputs: &inputs, outputs: &outputs };
        classify(&candidate).map_or(TransactionKind::Payment, TransactionKind::Coinjoin)
    }

    /// What a trace reads of it: the sides that are wanted, their largest legs.
    #[must_use]
    pub fn for_trace(
        &self,
        chain: ChainId,
        (inputs, outputs): (bool, bool),
        largest: u32,
    ) -> CoinTransaction {
        let largest = usize::try_from(largest).unwrap_or(usize::MAX);
        let made = || {
            (0..).zip(&self.outputs).map(|(place, (owner, value))| Leg {
                place,
                output: OutPoint { txid: self.txid, index: place },
                owner: owner.clone(),
                value: *value,
            })
        };
        let spent = || {
            (0..).zip(&self.inputs).map(|(place, (output, owner, value))| Leg {
                place,
                output: *output,
                owner: owner.clone(),
                value: *value,
            })
        };
        let mut outputs = legs(made(), if outputs { largest } else { 0 });
        let mut inputs = legs(spent(), if inputs { largest } else { 0 });
        if self.coinbase {
            inputs.total = outputs.total;
        }
        outputs.unknown = 0;
        CoinTransaction {
            txid: self.txid,
            height: self.height,
            time: self.time,
            kind: self.kind(chain),
            inputs,
            outputs,
        }
    }
}

fn legs(legs: impl Iterator<Item = Leg>, largest: usize) -> Legs {
    let mut legs: Vec<Leg> = legs.collect();
    let count = u64::try_from(legs.len()).unwrap_or(u64::MAX);
    let total = legs.iter().map(|leg| u128::from(leg.value)).sum();
    legs.sort_by_key(|leg| (std::cmp::Reverse(leg.value), leg.place));
    legs.truncate(largest);
    Legs { legs, count, total, unknown: 0 }
}
