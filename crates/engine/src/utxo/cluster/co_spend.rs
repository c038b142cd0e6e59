//! Co-spends: transactions whose inputs belong to one owner.

use std::collections::{HashMap, HashSet};

use assay_address::ChainId;
use jiff::Timestamp;

use crate::utxo::{
    ScriptOwner, Transaction, TransactionKind, TxOut,
    coinjoin::{
        self,
        era::Era,
        payjoin::{PayjoinSuspicion, suspicion},
    },
};

/// Inputs of several addresses that one owner spends together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoSpend<'a> {
    /// The addresses: at least two, each once, in the order of the inputs.
    pub owners: Vec<&'a ScriptOwner>,
    /// True if the transaction cannot have several parties: it has at most two outputs, and cannot be a `PayJoin`, in
    /// which the payee adds an input. A co-spend that is not conclusive is weaker evidence: it may be a `PayJoin`, a
    /// channel that two parties fund, or a joint transaction that imitates a payment.
    pub is_conclusive: bool,
}

/// Recognizes a transaction on `chain`, in a block of `time`, as a co-spend; returns `None` if its inputs have one
/// address, or may belong to several parties:
///
/// - a joint transaction, or one that could be joint ([`coinjoin::is_possible`])
/// - a suspected `PayJoin` ([`coinjoin::payjoin`])
/// - a sale of an inscription or token, signed by seller and buyer
///
/// Inputs that anybody can spend, by the form of their script or because their unlocking data has no signature, and
/// inputs of a shielded pool say nothing about an owner and are left out.
#[must_use]
pub fn co_spend(transaction: &Transaction, chain: ChainId, time: Timestamp) -> Option<CoSpend<'_>> {
    if transaction.kind != TransactionKind::Payment {
        return None;
    }
    let mut seen = HashSet::new();
    let signed = transaction.inputs.iter().filter(|input| input.is_signed);
    let spent = signed.filter_map(|input| Some(&input.spent.as_ref()?.owner));
    let owners: Vec<_> = spent.filter(|owner| has_signer(owner) && seen.insert(*owner)).collect();
    if owners.len() < 2
        || is_sale(transaction, chain, time)
        || coinjoin::is_possible(transaction, chain, time)
    {
        return None;
    }
    match suspicion(transaction, chain, time) {
        PayjoinSuspicion::Suspected => None,
        suspicion => {
            let is_conclusive = suspicion == PayjoinSuspicion::Impossible
                && transaction.outputs.len() < FEWEST_JOINT_OUTPUTS;
            Some(CoSpend { owners, is_conclusive })
        }
    }
}

/// True if only the holder of a key, or someone who knows a script, can spend the owner's outputs. Anybody can spend
/// witness programs of undefined versions and lengths, and pay-to-anchor outputs (BIP 433). Scripts without an address
/// may have any condition.
pub(super) fn has_signer(owner: &ScriptOwner) -> bool {
    match owner {
        ScriptOwner::KeyHash(_) | ScriptOwner::ScriptHash(_) | ScriptOwner::LongScriptHash(_) => {
            true
        }
        ScriptOwner::Witness(0, program) => matches!(program.len(), 20 | 32),
        ScriptOwner::Witness(1, program) => program.len() == 32,
        ScriptOwner::Witness(..)
        | ScriptOwner::Script(_)
        | ScriptOwner::Unspendable(_)
        | ScriptOwner::Pool(_) => false,
    }
}

/// Inscriptions (Ordinals: the first one is of 2022-12-14).
const INSCRIPTIONS: Era = Era::since(2022, 12, 14);

/// True if a transaction with inputs of several owners may be a sale of an inscription or token: it spends a carrier of
/// one address and creates a carrier of another address, or has an output of another address with exactly the value of
/// an input. In such a sale the seller signs one input and one output only, and the buyer signs everything.
pub(super) fn is_sale(transaction: &Transaction, chain: ChainId, time: Timestamp) -> bool {
    let most = chain.info().outputs().and_then(|ledger| ledger.largest_carrier);
    let Some(most) = most.filter(|_| INSCRIPTIONS.contains(time)) else { return false };
    let is_carrier = |output: &&TxOut| (1..=most).contains(&output.value);
    let mut created = Parties::default();
    let mut by_value: HashMap<u64, Parties<'_>> = HashMap::new();
    for output in transaction.outputs.iter().filter(|output| output.value > 0) {
        by_value.entry(output.value).or_default().add(&output.owner);
    }
    transaction.outputs.iter().filter(is_carrier).for_each(|output| created.add(&output.owner));
    transaction.spent_outputs().any(|spent| {
        is_carrier(&spent) && created.has_another_than(&spent.owner)
            || by_value.get(&spent.value).is_some_and(|paid| paid.has_another_than(&spent.owner))
    })
}

/// Up to two different owners: enough to know if any owner differs from a given owner.
#[derive(Default)]
struct Parties<'a>([Option<&'a ScriptOwner>; 2]);

impl<'a> Parties<'a> {
    fn add(&mut self, owner: &'a ScriptOwner) {
        match &mut self.0 {
            [first @ None, _] => *first = Some(owner),
            [Some(first), second @ None] if *first != owner => *second = Some(owner),
            _ => {}
        }
    }

    fn has_another_than(&self, owner: &ScriptOwner) -> bool {
        self.0.iter().flatten().any(|party| *party != owner)
    }
}

/// Fewest outputs of a transaction of several parties: one for each party, and change.
const FEWEST_JOINT_OUTPUTS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utxo::coinjoin::CoinjoinKind;
    use crate::utxo::{
        OutPoint, Pool, TxInput, Txid,
        testing::{key, payment},
    };

    fn at(text: &str) -> Timestamp {
        format!("{text}T12:00:00Z").parse().unwrap()
    }

    /// The co-spend on Bitcoin in 2022.
    fn found(transaction: &Transaction) -> Option<CoSpend<'_>> {
        co_spend(transaction, ChainId::BTC, at("2022-03-01"))
    }

    #[test]
    fn inputs_of_a_consolidation_have_one_owner() {
        let transaction = payment(1, &[(key(1), 50), (key(2), 60), (key(1), 70)], &[(key(3), 180)]);
        let owners = [key(1), key(2)];
        let expected = CoSpend { owners: owners.iter().collect(), is_conclusive: true };
        assert_eq!(co_spend(&transaction, ChainId::BTC, at("2016-03-01")), Some(expected));
    }

    #[test]
    fn a_payment_with_change_may_be_a_payjoin_since_there_are_any() {
        // Both inputs are needed for the payment.
        let transaction = payment(
            1,
            &[(key(1), 500_000), (key(2), 600_000)],
            &[(key(3), 1_000_000), (key(4), 90_000)],
        );
        let conclusive = |day| {
            co_spend(&transaction, ChainId::BTC, at(day)).map(|co_spend| co_spend.is_conclusive)
        };
        assert_eq!(conclusive("2016-03-01"), Some(true));
        assert_eq!(conclusive("2022-03-01"), Some(false));
        // One input is enough for either output.
        let transaction = payment(
            1,
            &[(key(1), 500_000), (key(2), 600_000)],
            &[(key(3), 590_000), (key(4), 500_000)],
        );
        assert_eq!(found(&transaction), None, "a suspect");
    }

    #[test]
    fn one_address_is_no_co_spend() {
        assert_eq!(found(&payment(1, &[(key(1), 50), (key(1), 60)], &[(key(3), 100)])), None);
        let unknown = TxInput::new(OutPoint { txid: Txid::from_bytes([7; 32]), index: 0 }, None);
        let mut transaction = payment(1, &[(key(1), 50)], &[(key(3), 40)]);
        transaction.inputs.push(unknown);
        assert_eq!(found(&transaction), None, "an unknown owner says nothing");
    }

    #[test]
    fn joint_transactions_link_nothing() {
        let mut transaction = payment(1, &[(key(1), 50), (key(2), 60)], &[(key(3), 100)]);
        transaction.kind = TransactionKind::Coinjoin(CoinjoinKind::Generic);
        assert_eq!(found(&transaction), None);
        // Equal outputs of two owners, paid by two owners: not recognized, but possible.
        let stonewall = payment(
            1,
            &[(key(1), 900_000), (key(2), 800_000)],
            &[(key(3), 600_000), (key(4), 600_000), (key(5), 290_000), (key(6), 190_000)],
        );
        assert_eq!(found(&stonewall), None);
    }

    #[test]
    fn outputs_that_anybody_can_spend_are_left_out() {
        let anchor = ScriptOwner::Witness(1, vec![0x4e, 0x73]);
        let others = [
            anchor,
            ScriptOwner::Script([5; 32]),
            ScriptOwner::Pool(Pool::Mweb),
            ScriptOwner::Witness(2, vec![1; 32]),
        ];
        for other in others {
            let transaction = payment(1, &[(key(1), 50), (other, 60)], &[(key(3), 100)]);
            assert_eq!(found(&transaction), None);
        }
    }

    #[test]
    fn inputs_that_nobody_signed_are_left_out() {
        let mut transaction =
            payment(1, &[(key(1), 50), (key(2), 60), (key(3), 70)], &[(key(4), 180)]);
        transaction.inputs[1].is_signed = false;
        let owners = |found: CoSpend<'_>| found.owners.into_iter().cloned().collect::<Vec<_>>();
        assert_eq!(found(&transaction).map(owners), Some(vec![key(1), key(3)]));
        transaction.inputs[0].is_signed = false;
        assert_eq!(found(&transaction), None);
    }

    #[test]
    fn a_sale_of_an_inscription_links_no_seller_with_a_buyer() {
        // Given a seller's inscription of 546, which the buyer gets, and a buyer who pays.
        let transaction = payment(
            1,
            &[(key(1), 546), (key(2), 900_000), (key(4), 300_000)],
            &[(key(3), 546), (key(5), 1_000_000), (key(6), 190_000)],
        );
        assert_eq!(co_spend(&transaction, ChainId::BTC, at("2024-03-01")), None);
        assert!(found(&transaction).is_some(), "before there were any");
        // The carrier that the buyer gets may be smaller: 330 is enough for a token.
        let mut smaller = transaction.clone();
        smaller.outputs[0].value = 330;
        assert_eq!(co_spend(&smaller, ChainId::BTC, at("2024-03-01")), None);
        // Nor need the seller's be small: the buyer gets it as it is.
        let large = payment(
            1,
            &[(key(1), 30_000), (key(2), 900_000)],
            &[(key(3), 30_000), (key(5), 500_000), (key(6), 390_000)],
        );
        assert_eq!(co_spend(&large, ChainId::BTC, at("2024-03-01")), None);
        // Small change that is spent is no sale.
        let swept = payment(1, &[(key(1), 546), (key(2), 900_000)], &[(key(3), 899_000)]);
        assert!(co_spend(&swept, ChainId::BTC, at("2024-03-01")).is_some());
    }

    #[test]
    fn a_transaction_of_many_outputs_or_of_today_is_not_conclusive() {
        let several = payment(
            1,
            &[(key(1), 500_000), (key(2), 600_000)],
            &[(key(5), 900_000), (key(3), 90_000), (key(4), 100_000)],
        );
        let alone = payment(1, &[(key(1), 500_000), (key(2), 600_000)], &[(key(5), 1_090_000)]);
        let conclusive = |transaction: &Transaction, day| {
            co_spend(transaction, ChainId::BTC, at(day)).map(|co_spend| co_spend.is_conclusive)
        };
        assert_eq!(conclusive(&alone, "2016-03-01"), Some(true));
        assert_eq!(conclusive(&alone, "2022-03-01"), Some(false), "a payer without change");
        assert_eq!(conclusive(&several, "2016-03-01"), Some(false), "a joint transaction");
        assert_eq!(conclusive(&several, "2022-03-01"), Some(false));
    }
}
