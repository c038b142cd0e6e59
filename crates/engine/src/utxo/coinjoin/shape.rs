//! The properties of a transaction that the rules test: sorted and counted, regardless of the order of inputs and
//! outputs.

use std::collections::HashSet;

use assay_address::ChainId;
use jiff::Timestamp;

use super::era::Era;
use crate::utxo::{ScriptOwner, Transaction, TxOut};

/// The form of an owner's script. Wallets use one form for all outputs, so a joint transaction of
/// one protocol has one form, and a batch of payouts has the forms of its customers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// P2PKH, or P2PK.
    KeyHash,
    /// P2SH.
    ScriptHash,
    /// P2WPKH.
    WitnessKey,
    /// P2WSH.
    WitnessScript,
    /// P2TR.
    Taproot,
    /// Anything else.
    Other,
}

impl Form {
    pub(super) fn of(owner: &ScriptOwner) -> Self {
        match owner {
            ScriptOwner::KeyHash(_) => Self::KeyHash,
            ScriptOwner::ScriptHash(_) => Self::ScriptHash,
            ScriptOwner::Witness(0, program) if program.len() == 20 => Self::WitnessKey,
            ScriptOwner::Witness(0, program) if program.len() == 32 => Self::WitnessScript,
            ScriptOwner::Witness(1, program) if program.len() == 32 => Self::Taproot,
            _ => Self::Other,
        }
    }
}

/// A transaction that could be a joint transaction: two inputs or more, three outputs or more, two of them equal, all
/// of them to different owners and worth something.
#[derive(Debug)]
pub(super) struct Shape<'a> {
    pub(super) chain: ChainId,
    time: Timestamp,
    /// Number of inputs.
    pub(super) inputs: usize,
    /// The inputs that are known.
    pub(super) known: Vec<&'a TxOut>,
    /// Values of the known inputs, smallest first.
    pub(super) spent: Vec<u64>,
    /// Number of different owners of the known inputs.
    pub(super) funders: usize,
    /// Number of outputs to an owner of a known input.
    pub(super) returned: usize,
    /// The outputs.
    pub(super) outputs: &'a [TxOut],
    /// The value that most outputs have; of several such values, the largest.
    pub(super) denomination: u64,
    /// Number of outputs with that value.
    pub(super) equal: usize,
    /// Values of the other outputs, smallest first.
    pub(super) others: Vec<u64>,
}

impl<'a> Shape<'a> {
    /// The shape of a transaction; `None` if it cannot be joint. Cheap checks come first, because they exclude nearly
    /// every transaction.
    pub(super) fn of(
        transaction: &'a Transaction,
        chain: ChainId,
        time: Timestamp,
    ) -> Option<Self> {
        let Transaction { inputs, outputs, .. } = transaction;
        if inputs.len() < 2 || outputs.len() < 3 || outputs.iter().any(|output| output.value == 0) {
            return None;
        }
        let mut others: Vec<u64> = outputs.iter().map(|output| output.value).collect();
        others.sort_unstable();
        let most = others.chunk_by(u64::eq).max_by_key(|run| run.len())?;
        let (denomination, equal) = (*most.first()?, most.len());
        if equal < 2 {
            return None;
        }
        others.retain(|value| *value != denomination);
        let paid: HashSet<&ScriptOwner> = outputs.iter().map(|output| &output.owner).collect();
        if paid.len() != outputs.len() {
            return None;
        }
        let known: Vec<&TxOut> = transaction.spent_outputs().collect();
        let mut spent: Vec<u64> = known.iter().map(|input| input.value).collect();
        spent.sort_unstable();
        let funders: HashSet<&ScriptOwner> = known.iter().map(|input| &input.owner).collect();
        Some(Self {
            chain,
            time,
            inputs: inputs.len(),
            spent,
            returned: funders.intersection(&paid).count(),
            funders: funders.len(),
            known,
            outputs,
            denomination,
            equal,
            others,
        })
    }

    /// True if every input is known.
    pub(super) fn complete(&self) -> bool {
        self.known.len() == self.inputs
    }

    /// True if the inputs may have at least `parties` owners; each unknown input counts as another owner.
    pub(super) fn funded_by(&self, parties: usize) -> bool {
        self.funders + (self.inputs - self.known.len()) >= parties
    }

    /// True if every known input has one of the forms.
    pub(super) fn spends_only(&self, forms: &[Form]) -> bool {
        self.known.iter().all(|input| forms.contains(&Form::of(&input.owner)))
    }

    /// True if every output has one of the forms, except for up to `exceptions` outputs.
    pub(super) fn pays_only(&self, forms: &[Form], exceptions: usize) -> bool {
        let others = self.outputs.iter().filter(|output| !forms.contains(&Form::of(&output.owner)));
        others.take(exceptions + 1).count() <= exceptions
    }

    /// True if the block of the transaction lies in the era.
    pub(super) fn within(&self, era: &Era) -> bool {
        era.contains(self.time)
    }
}
