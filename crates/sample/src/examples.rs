//! Example addresses, each for one feature of Assay.

use std::collections::BTreeMap;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    score::Verdict,
    utxo::{OutPoint, ScriptOwner, SideLimits, TransactionView, TxOut},
};

use super::{
    SampleChain,
    world::{address, listed_address},
};

/// Returns a transaction to check as a deposit, and the index of the output: rent that Wim received from a party that
/// was already listed.
#[must_use]
pub fn transfer() -> Option<(TransactionView, u32)> {
    let tenant = ScriptOwner::from_address(&listed_address("GREYMARSH, Ilja", "XBT", 0)?)?;
    let landlord = ScriptOwner::from_address(&address("Wim", ChainId::BTC, 0)?)?;
    let chain = SampleChain::new().ok()?;
    let mut outputs: BTreeMap<OutPoint, TxOut> = BTreeMap::new();
    let mut found = None;
    for block in chain.blocks() {
        for transaction in &block.transactions {
            let mut transaction = transaction.clone();
            for input in &mut transaction.inputs {
                input.spent = outputs.remove(&input.outpoint);
            }
            let txid = transaction.txid;
            let made = (0..).zip(&transaction.outputs);
            outputs.extend(made.map(|(index, out)| (OutPoint { txid, index }, out.clone())));
            let is_paid_by_tenant = transaction.spent_outputs().any(|out| out.owner == tenant);
            let rent = transaction.outputs.iter().position(|out| out.owner == landlord);
            if let (true, Some(index)) = (is_paid_by_tenant, rent) {
                let all = SideLimits { inputs: u32::MAX, outputs: u32::MAX };
                let view = transaction.view(block.reference.height, block.reference.time, all);
                found = Some((view, u32::try_from(index).ok()?));
            }
        }
    }
    found
}

/// Example address, with a description of its answer.
#[derive(Clone, Debug)]
pub struct Example {
    /// Description of the address.
    pub description: &'static str,
    /// The address.
    pub address: CanonicalAddress,
    /// Verdict under the policy of the demo data set.
    pub verdict: Verdict,
}

/// Returns the example addresses.
#[must_use]
pub fn examples() -> Vec<Example> {
    use Verdict::{Allow, Block, Indeterminate, Review};
    let of = |name, chain| address(name, chain, 0);
    let on_bitcoin = |name| of(name, ChainId::BTC);
    let on_ethereum = |name, number| address(name, ChainId::ETH, number);
    let on_tron = |name| of(name, ChainId::TRX);
    let found = [
        (Block, "on the sample sanctions list", listed_address("GREYMARSH, Ilja", "XBT", 0)),
        (
            Block,
            "the key of a listed ETH account, on another chain",
            listed_address("GREYMARSH, Ilja", "ETH", 0).and_then(|listed| {
                let bsc = "bsc".parse().ok()?;
                CanonicalAddress::parse(bsc, listed.as_str()).ok()
            }),
        ),
        (Allow, "taken off the list again", listed_address("GLASS TIDE PROTOCOL", "ETH", 0)),
        (Block, "ransomware", on_bitcoin("Blackfrost Ransomware")),
        (Review, "a mixer, by community reports", of("Fogbank Mixer", ChainId::ETH)),
        (Allow, "an exchange", of("Harbor Lane Exchange", ChainId::TRX)),
        (Allow, "a customer of an exchange", on_bitcoin("Ada")),
        (Review, "paid by ransomware over two hops", on_bitcoin("Jory")),
        (Review, "paid by ransomware, as only its victims say", on_bitcoin("Ruben")),
        (Review, "half stolen money, half bought at an exchange", on_bitcoin("Piet")),
        (Review, "paid directly by a listed party", on_bitcoin("Wim")),
        (Block, "half its money went to a listed party", on_bitcoin("Bram")),
        (Allow, "dust from a listed party, unasked for", on_bitcoin("Nell")),
        (Review, "a third of its money out of a mixer", on_bitcoin("Milo")),
        (Review, "nearly all its money went to a mixer", on_bitcoin("Vera")),
        (Review, "at the end of a long peel chain", on_bitcoin("Tess")),
        (Review, "one of five who mixed their coins together", on_bitcoin("Una")),
        (Allow, "paid through addresses that were used once", on_bitcoin("Ilse")),
        (Allow, "pays in portions just below a threshold", on_bitcoin("Kaja")),
        (Allow, "nothing known", on_bitcoin("a stranger")),
        (Allow, "a customer of an exchange on Ethereum", on_ethereum("Aino", 0)),
        (Allow, "a deposit address of an exchange", on_ethereum("Meridian Square deposit", 0)),
        (Block, "paid directly by a thief on Ethereum", on_ethereum("Mole", 0)),
        (Review, "sold a boat for stolen ether", on_ethereum("Orla", 0)),
        (Review, "paid out of a mixer on Ethereum", on_ethereum("Nils", 0)),
        (Review, "drained of its dollars: possibly a victim", on_ethereum("Sanna", 0)),
        (Review, "rent from a party that was listed before", on_ethereum("Iris", 0)),
        (Allow, "a hundredth of its salary was stolen by chance", on_ethereum("Pavel", 0)),
        (Allow, "gas worth half a dollar from a listed party", on_ethereum("Yara", 0)),
        (Indeterminate, "dollars from an exchange of stolen ether", on_ethereum("Fitz", 0)),
        (Allow, "a part of its dollars came over a bridge", on_ethereum("Remo", 0)),
        (Review, "a fraud's dollars, which came over a bridge", on_ethereum("Gerd", 0)),
        (Allow, "a customer of an exchange on TRON", on_tron("Kaisa")),
        (Allow, "lends energy, also to a listed party", on_tron("an energy lender")),
        (Allow, "a teahouse that customers of an exchange pay", on_tron("Tin Kettle Teahouse")),
        (Block, "paid by a listed party on TRON", on_tron("Oskar")),
        (Review, "a quarter of its dollars are a fraud's", on_tron("Hugo")),
        (Review, "frozen by the issuer of the dollar", on_tron("Radek")),
        (Allow, "was frozen by mistake for three weeks", on_tron("Wanda")),
        (Allow, "paid by an account that was frozen later", on_tron("Sofie")),
        (Review, "paid by an account that was frozen before", on_tron("Emil")),
    ];
    found
        .into_iter()
        .filter_map(|(verdict, description, address)| {
            Some(Example { description, address: address?, verdict })
        })
        .collect()
}
