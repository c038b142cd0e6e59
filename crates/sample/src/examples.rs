//! Addresses that show what Assay does.

use assay_engine::{address::CanonicalAddress, chain::ChainId, score::Verdict};

use super::world::{address, listed_address};

/// Example address, with a description of its answer.
#[derive(Clone, Debug)]
pub struct Example {
    /// Description of the address.
    pub what: &'static str,
    /// The address.
    pub address: CanonicalAddress,
    /// Verdict under the policy of the demo data set.
    pub verdict: Verdict,
}

/// Returns addresses to try.
#[must_use]
pub fn examples() -> Vec<Example> {
    use Verdict::{Allow, Block, Review};
    let of = |name, chain| address(name, chain, 0);
    let on_bitcoin = |name| of(name, ChainId::BTC);
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
        (Allow, "a third of its money out of a mixer", on_bitcoin("Milo")),
        (Allow, "at the end of a long peel chain", on_bitcoin("Tess")),
        (Allow, "nothing known", on_bitcoin("a stranger")),
    ];
    found
        .into_iter()
        .filter_map(|(verdict, what, address)| Some(Example { what, address: address?, verdict }))
        .collect()
}
