//! Links: likelihoods, by one payment, that two addresses are one owner's, on which no cluster rests.

use jiff::Timestamp;

use super::{
    change::{Change, Doubts, change},
    co_spend::{has_signer, is_sale},
};
use crate::{
    chain::ChainId,
    coinjoin::{
        self,
        payjoin::{PayjoinSuspicion, suspicion},
    },
    facts::UNCONFIRMED_CONFIDENCE,
    score::Confidence,
    utxo::{Transaction, TransactionKind, TxInput},
};

/// What links two addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkKind {
    /// One is the likely change of a payment of the other.
    Change,
    /// A payment that may be a `PayJoin` spends outputs of both.
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
    /// The output that is likely to be the change of all inputs' owners.
    pub change: Option<Change>,
    /// Confidence that all inputs are of one owner, if the payment may be a `PayJoin`: [`co_spend`](super::co_spend)
    /// leaves it out then.
    pub spent_together: Option<Confidence>,
}

/// The links of a transaction on `chain`, in a block of `time`. `is_mixed` is true if it spends outputs of a joint one;
/// `is_new` tells of an output, by its index, that its owner appears in no earlier block.
///
/// Joint transactions, what merely could be one, sales of inscriptions and tokens, and payments with inputs that are
/// not known or that anybody can spend link nothing.
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
