//! The pages of sources and of chains.

use assay_engine::{assessment::AssessedSource, evidence::SourceKind};
use assay_picture::text::counted;
use assay_service::background::fetch_failures::FetchFailures;
use jiff::Timestamp;
use maud::{Markup, html};

use super::{
    checks::{ago, moment},
    frame::{Visitor, framed},
};

/// Returns the page of sources.
pub(crate) fn sources_page(
    visitor: &Visitor,
    sources: &[AssessedSource],
    failures: &FetchFailures,
    now: Timestamp,
) -> Markup {
    let content = html! {
        h1 { "Sources" }
        p.soft { "Lists, labels, prices and chains behind the answers; your policy says which are mandatory, and how old they may be." }
        div.scroll { table {
            thead { tr { th { "Source" } th { "Kind" } th { "State" } th { "Published" } th { "Verified" } th.number { "Entries" } th { "" } } }
            tbody {
                @for source in sources {
                    tr {
                        td { b { (source.id) } }
                        td { (kind(source.kind)) }
                        td { (state(source)) }
                        td.nowrap { @if let Some(day) = source.published_at { (day) } }
                        td.nowrap { @if let Some(time) = source.fetched_at { (moment(time, now)) } }
                        td.number { (source.entries) }
                        td {
                            @if let Some(failure) = failures.of(source) {
                                b { "last fetch failed " (moment(failure.failed_at, now)) } ": " (failure.last_error) " "
                            }
                            @if source.mandatory { "mandatory " }
                            @if source.sample { span.soft { "demo data" } }
                            @let unmatched: u64 = source.unmatched.values().sum();
                            @if unmatched > 0 {
                                span.soft { (counted(unmatched, "entry is no address of its chain", "entries are no addresses of their chains")) }
                            }
                        }
                    }
                }
            }
        } }
    };
    framed(visitor, "Sources", "/sources", "", &content)
}

const fn kind(kind: SourceKind) -> &'static str {
    match kind {
        SourceKind::Sanctions => "sanctions list",
        SourceKind::Labels => "labels",
        SourceKind::Prices => "prices",
        SourceKind::Chain => "chain",
    }
}

fn state(source: &AssessedSource) -> Markup {
    let (class, text) = match (source.never_fetched, source.stale) {
        (true, _) => ("unavailable", "never fetched"),
        (false, true) => ("partial", "stale"),
        (false, false) => ("assessed", "fresh"),
    };
    html! { span.state.(class) { (text) } }
}

/// A chain as its page shows it.
#[derive(Clone, Debug)]
pub(crate) struct ConsoleChain {
    /// Identifier.
    pub(crate) id: &'static str,
    /// Name.
    pub(crate) name: &'static str,
    /// Newest block and its time; unset if no block is known.
    pub(crate) latest: Option<(u64, Timestamp)>,
    /// True if flows are traced.
    pub(crate) has_flows: bool,
    /// Number of addresses that lists name.
    pub(crate) listed: u64,
    /// Number of addresses with labels.
    pub(crate) labeled: u64,
}

/// Returns the page of chains: those with data first.
pub(crate) fn chains_page(visitor: &Visitor, chains: &[ConsoleChain], now: Timestamp) -> Markup {
    let has_data = |chain: &&ConsoleChain| chain.has_flows || chain.listed > 0 || chain.labeled > 0;
    let (with, without): (Vec<&ConsoleChain>, Vec<&ConsoleChain>) =
        chains.iter().partition(has_data);
    let content = html! {
        h1 { "Chains" }
        div.scroll { table {
            thead { tr { th { "Chain" } th { "" } th { "Flows" } th.number { "Newest block" } th { "Its time" } th.number { "Listed addresses" } th.number { "Labeled addresses" } } }
            tbody {
                @for chain in with {
                    tr {
                        td { b { (chain.name) } }
                        td.soft { (chain.id) }
                        td {
                            @if chain.has_flows { span.state.assessed { "traced" } }
                            @else { span.state.not_assessed { "lists and labels only" } }
                        }
                        td.number { @if let Some((height, _)) = chain.latest { (height) } }
                        td.nowrap { @if let Some((_, time)) = chain.latest { (format!("{time:.0}")) " " span.soft { "(" (ago(time, now)) ")" } } }
                        td.number { (chain.listed) }
                        td.number { (chain.labeled) }
                    }
                }
            }
        } }
        @if !without.is_empty() {
            h2 { "Without data here" }
            p.soft {
                "Addresses of these chains are checked for their form; no list, label or block of them is installed: "
                @for (index, chain) in without.iter().enumerate() {
                    @if index > 0 { ", " }
                    (chain.name)
                }
                "."
            }
        }
    };
    framed(visitor, "Chains", "/chains", "", &content)
}
