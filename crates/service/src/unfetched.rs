//! Sources that are to be fetched, and of which nothing was ever imported: an answer names them, because no data is not clean.

use assay_engine::{
    evidence::{NeverFetched, SourceKind},
    facts::Environment,
};
use assay_intel::IntelSnapshot;
use assay_tenancy::{Directory, directory::Feed, manifest::IntelFormatKind};

/// Returns the enabled sources of which nothing was ever imported, by name, unless others provide all lists that such a source is
/// to provide. The demo data set fetches nothing.
#[must_use]
pub fn never_fetched<P>(directory: &Directory<P>, intel: &IntelSnapshot) -> Vec<NeverFetched> {
    if intel.environment() == Environment::Sample {
        return Vec::new();
    }
    let known = || intel.sources().iter().chain(intel.price_sources());
    let is_provided = |list: &String| known().any(|source| source.provides(list));
    let is_known = |feed: &Feed| {
        let lists = &feed.spec.lists;
        known().any(|source| source.id.as_str() == feed.name.as_str())
            || (!lists.is_empty() && lists.iter().all(is_provided))
    };
    let enabled = directory.feeds.values().filter(|feed| !feed.spec.suspended);
    let unknown = enabled.filter(|feed| !is_known(feed));
    let described = unknown.filter_map(|feed| {
        let kind = match feed.spec.format.kind() {
            IntelFormatKind::Listings => SourceKind::Sanctions,
            IntelFormatKind::Labels => SourceKind::Labels,
            IntelFormatKind::Prices => SourceKind::Prices,
        };
        let lists = feed.spec.lists.iter().filter_map(|list| list.parse().ok()).collect();
        Some(NeverFetched { id: feed.name.as_str().parse().ok()?, kind, lists })
    });
    described.collect()
}
