//! Links: likelihoods, by one payment, that two addresses have one owner. Clusters do not use links.

use assay_address::ChainId;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    change::{Change, Doubts, change},
    co_spend::{has_signer, is_sale},
};
use crate::{
    score::Confidence,
    utxo::{
        Transaction, TransactionKind, TxInput,
        coinjoin::{
            self,
            payjoin::{PayjoinSuspicion, suspicion},
        },
    },
};

/// Confidence of a connection by a single transaction that may be a `PayJoin`.
pub const UNCONFIRMED_CONFIDENCE: Confidence = Confidence::from_percent(60);

/// Kind of a link between two addresses.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// One address receives the likely change of a payment of the other address.
    Change,
    /// A payment that may be a `PayJoin` spends outputs of both addresses.
    #[serde(rename = "co_spend_suspected")]
    SpentTogether,
}

impl LinkKind {
    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::SpentTogether => "co_spend_suspected",
        }
    }
}

/// The links of a payment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The output that is likely to be the change of the inputs' owners.
    pub change: Option<Change>,
    /// Confidence that all inputs have one owner, if the payment may be a `PayJoin`, which
    /// [`co_spend`](super::co_spend) leaves out.
    pub spent_together: Option<Confidence>,
}

/// The links of a transaction on `chain`, in a block of `time`. `is_mixed` is true if the transaction spends outputs of
/// a joint transaction; `is_new` returns true if the owner of the output at an index appears in no earlier block.
///
/// Some transactions give no links: joint and possibly joint transactions, sales of inscriptions and tokens, and
/// payments with inputs that are not known or that anybody can spend.
#[must_use]
pub fn links(
    transaction: &Transaction,
    chain: ChainId,
    time: Timestamp,
    is_mixed: bool,
    is_new: impl Fn(usize) -> bool,
) -> Links {
    let is_anybodys = |input: &TxInput| {
        !input.is_signed || input.spent.as_ref().is_none_or(|spent| !has_signer(&spent.owner))
    };
    if transaction.kind != TransactionKind::Payment
        || transaction.inputs.iter().any(is_anybodys)
        || is_sale(transaction, chain, time)
        || coinjoin::is_possible(transaction, chain, time)
    {
        return Links::default();
    }
    let may_be_payjoin = suspicion(transaction, chain, time) == PayjoinSuspicion::Suspected;
    Links {
        change: change(transaction, Doubts { may_be_payjoin, is_mixed }, is_new),
        spent_together: may_be_payjoin.then_some(UNCONFIRMED_CONFIDENCE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utxo::{
        ScriptOwner,
        coinjoin::CoinjoinKind,
        testing::{key, payment, witness},
    };

    /// A payment of two inputs, one of which is unnecessary, with change at `key(4)`.
    fn suspected(second: ScriptOwner) -> Transaction {
        let spent = [(key(1), 900_000), (second, 90_000)];
        payment(1, &spent, &[(witness(3), 312_345), (key(4), 676_655)])
    }

    /// The links on Bitcoin in 2024, where all outputs go to new addresses.
    fn found(transaction: &Transaction) -> Links {
        let time = "2024-03-01T12:00:00Z".parse().unwrap();
        links(transaction, ChainId::BTC, time, false, |_| true)
    }

    #[test]
    fn what_may_be_a_payjoin_links_its_inputs_in_doubt() {
        let links = found(&suspected(key(2)));
        assert_eq!(links.change.map(|change| change.output), Some(1));
        assert_eq!(links.spent_together, Some(UNCONFIRMED_CONFIDENCE));
    }

    #[test]
    fn inputs_that_anybody_can_spend_link_nothing() {
        // Pay-to-anchor (BIP 433), and an input without a signature.
        let anchor = ScriptOwner::Witness(1, vec![0x4e, 0x73]);
        assert_eq!(found(&suspected(anchor)), Links::default());
        let mut unsigned = suspected(key(2));
        unsigned.inputs[1].is_signed = false;
        assert_eq!(found(&unsigned), Links::default());
    }

    #[test]
    fn joint_transactions_link_nothing() {
        let kind = TransactionKind::Coinjoin(CoinjoinKind::Wasabi2);
        let joint = Transaction { kind, ..suspected(key(2)) };
        assert_eq!(found(&joint), Links::default());
    }
}
