//! Co-spends: transactions whose inputs belong to one owner.

use jiff::{
    Timestamp,
    civil::{Date, date},
    tz::TimeZone,
};

use crate::{
    chain::ChainId,
    coinjoin::{
        self,
        payjoin::{PayjoinSuspicion, suspicion},
    },
    utxo::{ScriptOwner, Transaction, TransactionKind, TxOut},
};

/// Inputs of several addresses that one owner spends together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoSpend<'a> {
    /// The addresses: at least two, each once, in the order of the inputs.
    pub owners: Vec<&'a ScriptOwner>,
    /// True if the transaction cannot be a `PayJoin`, in which the payee adds an input, nor open a channel
    /// that two parties fund.
    pub is_conclusive: bool,
}

/// The co-spend that a transaction on `chain`, in a block of `time`, is; `None` where its inputs have one
/// address, or may belong to several parties:
///
/// - a joint transaction, or what merely could be one ([`coinjoin::is_possible`])
/// - a suspected `PayJoin` ([`coinjoin::payjoin`])
/// - a sale of an inscription or token, signed by seller and buyer
///
/// Inputs that anybody can spend, and those of a shielded pool, say nothing about an owner and are left
/// out.
#[must_use]
pub fn co_spend(transaction: &Transaction, chain: ChainId, time: Timestamp) -> Option<CoSpend<'_>> {
    if transaction.kind != TransactionKind::Payment {
        return None;
    }
    let mut owners: Vec<&ScriptOwner> = Vec::new();
    for TxOut { owner, .. } in transaction.spent_outputs() {
        if has_signer(owner) && !owners.contains(&owner) {
            owners.push(owner);
        }
    }
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
                && !may_fund_channel(transaction, chain, time);
            Some(CoSpend { owners, is_conclusive })
        }
    }
}

/// True if only who holds a key or knows a script can spend the owner's outputs. Witness programs of
/// versions and lengths without rules can be spent by anybody, pay-to-anchor (BIP 433) among them. Scripts
/// without an address may be of any kind.
fn has_signer(owner: &ScriptOwner) -> bool {
    match owner {
        ScriptOwner::KeyHash(_) | ScriptOwner::ScriptHash(_) | ScriptOwner::LongScriptHash(_) => {
            true
        }
        ScriptOwner::Witness(0, program) => matches!(program.len(), 20 | 32),
        ScriptOwner::Witness(1, program) => program.len() == 32,
        ScriptOwner::Witness(..) | ScriptOwner::Script(_) | ScriptOwner::Pool(_) => false,
    }
}

/// First day of inscriptions (Ordinals: the first one is of 2022-12-14).
const INSCRIPTIONS: Date = date(2022, 12, 14);
/// First day of channels of the Lightning network that both parties fund (Core Lightning 0.10, 2021-03).
const DUAL_FUNDING: Date = date(2021, 3, 1);

/// The largest output that carries an inscription or token by convention, in base units: on Bitcoin and
/// Litecoin wallets use 330, 546, 1,000 or 10,000, on Dogecoin 100,000. Twice as much and more allows for
/// others.
fn most_carrier(chain: ChainId) -> u64 {
    if chain.as_str() == "doge" { 1_000_000 } else { 20_000 }
}

/// True if the transaction may be a sale of an inscription or token: a carrier of one address is spent beside
/// inputs of others, and a carrier of another address is created. The seller signs this input and one output
/// only, the buyer everything.
fn is_sale(transaction: &Transaction, chain: ChainId, time: Timestamp) -> bool {
    if day(time) < INSCRIPTIONS {
        return false;
    }
    let most = most_carrier(chain);
    transaction.spent_outputs().filter(|spent| spent.value <= most).any(|spent| {
        let is_of_another = |other: &TxOut| other.owner != spent.owner;
        let created = transaction
            .outputs
            .iter()
            .any(|output| (1..=most).contains(&output.value) && is_of_another(output));
        created && transaction.spent_outputs().any(is_of_another)
    })
}

/// True if the transaction may open a channel that two parties fund: it pays a script of both, and each one's
/// change.
fn may_fund_channel(transaction: &Transaction, chain: ChainId, time: Timestamp) -> bool {
    let is_script = |output: &TxOut| matches!(&output.owner, ScriptOwner::Witness(0 | 1, program) if program.len() == 32);
    chain == ChainId::BTC
        && day(time) >= DUAL_FUNDING
        && transaction.outputs.len() == 3
        && transaction.outputs.iter().any(is_script)
}

fn day(time: Timestamp) -> Date {
    TimeZone::UTC.to_datetime(time).date()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        coinjoin::CoinjoinKind,
        utxo::{OutPoint, Pool, TxInput, Txid},
    };

    fn key(number: u8) -> ScriptOwner {
        ScriptOwner::KeyHash([number; 20])
    }

    fn at(text: &str) -> Timestamp {
        format!("{text}T12:00:00Z").parse().unwrap()
    }

    fn payment(spent: &[(ScriptOwner, u64)], outputs: &[(ScriptOwner, u64)]) -> Transaction {
        let output =
            |(owner, value): &(ScriptOwner, u64)| TxOut { owner: owner.clone(), value: *value };
        let input = |(spent, index)| {
            let outpoint = OutPoint { txid: Txid::from_bytes([9; 32]), index };
            TxInput { outpoint, spent: Some(output(spent)) }
        };
        Transaction {
            txid: Txid::from_bytes([1; 32]),
            kind: TransactionKind::Payment,
            inputs: spent.iter().zip(0..).map(input).collect(),
            outputs: outputs.iter().map(output).collect(),
        }
    }

    /// The co-spend on Bitcoin in 2022.
    fn found(transaction: &Transaction) -> Option<CoSpend<'_>> {
        co_spend(transaction, ChainId::BTC, at("2022-03-01"))
    }

    #[test]
    fn inputs_of_a_consolidation_have_one_owner() {
        let transaction = payment(&[(key(1), 50), (key(2), 60), (key(1), 70)], &[(key(3), 180)]);
        let owners = [key(1), key(2)];
        let expected = CoSpend { owners: owners.iter().collect(), is_conclusive: true };
        assert_eq!(found(&transaction), Some(expected));
    }

    #[test]
    fn a_payment_with_change_may_be_a_payjoin_since_there_are_any() {
        // Both inputs are needed for the payment.
        let transaction = payment(
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
            &[(key(1), 500_000), (key(2), 600_000)],
            &[(key(3), 590_000), (key(4), 500_000)],
        );
        assert_eq!(found(&transaction), None, "a suspect");
    }

    #[test]
    fn one_address_is_no_co_spend() {
        assert_eq!(found(&payment(&[(key(1), 50), (key(1), 60)], &[(key(3), 100)])), None);
        let unknown = TxInput {
            outpoint: OutPoint { txid: Txid::from_bytes([7; 32]), index: 0 },
            spent: None,
        };
        let mut transaction = payment(&[(key(1), 50)], &[(key(3), 40)]);
        transaction.inputs.push(unknown);
        assert_eq!(found(&transaction), None, "an unknown owner says nothing");
    }

    #[test]
    fn joint_transactions_link_nothing() {
        let mut transaction = payment(&[(key(1), 50), (key(2), 60)], &[(key(3), 100)]);
        transaction.kind = TransactionKind::Coinjoin(CoinjoinKind::Generic);
        assert_eq!(found(&transaction), None);
        // Equal outputs of two owners, paid by two owners: not recognized, but possible.
        let stonewall = payment(
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
            let transaction = payment(&[(key(1), 50), (other, 60)], &[(key(3), 100)]);
            assert_eq!(found(&transaction), None);
        }
    }

    #[test]
    fn a_sale_of_an_inscription_links_no_seller_with_a_buyer() {
        // Given a seller's inscription of 546, which the buyer gets, and a buyer who pays.
        let transaction = payment(
            &[(key(1), 546), (key(2), 900_000), (key(4), 300_000)],
            &[(key(3), 546), (key(5), 1_000_000), (key(6), 190_000)],
        );
        assert_eq!(co_spend(&transaction, ChainId::BTC, at("2024-03-01")), None);
        assert!(found(&transaction).is_some(), "before there were any");
        // The carrier that the buyer gets may be smaller: 330 is enough for a token.
        let mut smaller = transaction.clone();
        smaller.outputs[0].value = 330;
        assert_eq!(co_spend(&smaller, ChainId::BTC, at("2024-03-01")), None);
        // Small change that is spent is no sale.
        let swept = payment(&[(key(1), 546), (key(2), 900_000)], &[(key(3), 900_000)]);
        assert!(co_spend(&swept, ChainId::BTC, at("2024-03-01")).is_some());
    }

    #[test]
    fn a_transaction_that_may_open_a_channel_is_not_conclusive() {
        let script = ScriptOwner::Witness(0, vec![8; 32]);
        let transaction = payment(
            &[(key(1), 500_000), (key(2), 600_000)],
            &[(script, 900_000), (key(3), 90_000), (key(4), 100_000)],
        );
        let conclusive = |day| {
            co_spend(&transaction, ChainId::BTC, at(day)).map(|co_spend| co_spend.is_conclusive)
        };
        assert_eq!(conclusive("2020-03-01"), Some(true));
        assert_eq!(conclusive("2022-03-01"), Some(false));
    }
}
