//! Parties of a generated chain at which traces end.

use assay_address::ChainId;
use assay_engine::taxonomy::Category;
use assay_graph::{
    EmbeddedGraphs,
    compositions::{TraceEnd, TraceEnds},
};

use super::{Person, people::SERVICES};

const CATEGORIES: [Category; 5] = [
    Category::Exchange,
    Category::Gambling,
    Category::Mixer,
    Category::DarknetMarket,
    Category::Sanctions,
];

/// The labelled parties of a recorded chain with `wallets` wallets: `labels` of them, the services first, then wallets
/// all over the chain, without the last `removed.0` wallets and the first `removed.1` services.
///
/// # Panics
///
/// Panics if the graph cannot be read.
pub async fn ends(
    graphs: &EmbeddedGraphs,
    (wallets, labels): (u64, u64),
    removed: (u64, u64),
) -> TraceEnds {
    let graph = graphs.graph(ChainId::BTC).expect("a graph").expect("a recorded chain");
    let view = graph.view().await.expect("a view").expect("blocks");
    let of_wallets = labels.saturating_sub(SERVICES);
    let services = (removed.1..labels.min(SERVICES)).map(Person::Service);
    let wallets = (0..of_wallets.saturating_sub(removed.0))
        .map(|nth| Person::Wallet(nth * wallets / of_wallets.max(1)));
    let mut ends = TraceEnds::default();
    for (person, category) in services.chain(wallets).zip(CATEGORIES.into_iter().cycle()) {
        if let Some(owner) = view.owner_number(&person.owner()).await.expect("a number") {
            ends.add(owner, TraceEnd { category, listed_on: None });
        }
    }
    ends
}
