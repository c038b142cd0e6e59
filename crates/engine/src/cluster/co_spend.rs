//! Co-spends: transactions whose inputs belong to one owner.

use jiff::{Timestamp, civil::date, tz::TimeZone};

use crate::{
    chain::ChainId,
    coinjoin,
    utxo::{ScriptOwner, Transaction, TransactionKind, TxOut},
};

/// Inputs of several addresses that one owner spends together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoSpend<'a> {
    /// The addresses: at least two, each once, in the order of the inputs.
    pub owners: Vec<&'a ScriptOwner>,
    /// True if the transaction cannot be a `PayJoin`, in which the receiver of a payment adds an input.
    pub is_conclusive: bool,
}

/// The co-spend that a transaction on `chain`, in a block of `time`, is; `None` where its inputs have one
/// address, or may belong to several parties:
///
/// - a joint transaction, or what merely could be one
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
    if owners.len() < 2 || is_sale(transaction, time) {
        return None;
    }
    if coinjoin::classify(transaction, chain, time).is_some() {
        return None;
    }
    Some(CoSpend { owners, is_conclusive: pays_one_owner(transaction) })
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

/// The largest output that carries an inscription or token by convention, in base units: wallets use 330,
/// 546, 1,000 or 10,000, and marketplaces leave room for more.
const MOST_CARRIER: u64 = 20_000;

/// True if the transaction may be a sale of an inscription or token: since 2023 (Ordinals, first inscription
/// 2022-12-14), a small output of one address is handed to another one unchanged, beside inputs of others.
/// The seller signs this input and one output only, the buyer everything.
fn is_sale(transaction: &Transaction, time: Timestamp) -> bool {
    if TimeZone::UTC.to_datetime(time).date() < date(2022, 12, 14) {
        return false;
    }
    let mut small = transaction.spent_outputs().filter(|spent| spent.value <= MOST_CARRIER);
    small.any(|spent| {
        let handed_on = transaction
            .outputs
            .iter()
            .any(|output| output.value == spent.value && output.owner != spent.owner);
        handed_on && transaction.spent_outputs().any(|other| other.owner != spent.owner)
    })
}

/// True if all outputs have one owner, so that nobody is paid: neither as a payment nor as change.
fn pays_one_owner(transaction: &Transaction) -> bool {
    let mut paid = transaction.outputs.iter().filter(|output| output.value > 0);
    let Some(first) = paid.next() else { return true };
    paid.all(|output| output.owner == first.owner)
}
