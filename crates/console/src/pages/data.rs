//! The pages of sources and of chains.

use assay_engine::{assessment::AssessedSource, evidence::SourceKind, facts::Environment};
use assay_picture::text::{counted, grouped};
use assay_service::{
    background::fetch_failures::FetchFailures,
    ready_sources::{READY_SOURCES, ReadySource},
};
use jiff::Timestamp;
use maud::{Markup, html};

use super::{
    checks::{ago, moment, on_day},
    frame::{Visitor, framed},
};
use crate::MOUNT;

/// Returns the page of sources.
pub(crate) fn sources_page(
    visitor: &Visitor,
    sources: &[AssessedSource],
    failures: &FetchFailures,
    ready: &ReadySources<'_>,
    now: Timestamp,
) -> Markup {
    let content = html! {
        h1 { "Sources" }
        p.soft { "Lists, labels, prices and chains behind the answers; your policy says which are mandatory, and how old they may be." }
        div.scroll tabindex="0" { table.stack {
            thead { tr { th { "Source" } th { "Kind" } th { "State" } th { "Published" } th { "Verified" } th.number { "Entries" } th { "Notes" } } }
            tbody {
                @for source in sources {
                    tr {
                        td { b { (source.id) } }
                        td data-head="Kind" { (kind(source.kind)) }
                        td { (state(source)) }
                        td.nowrap data-head="Published" { @if let Some(day) = source.published_at { (day) } }
                        td.nowrap data-head="Verified" { @if let Some(time) = source.fetched_at { (moment(time, now)) } }
                        td.number data-head="Entries" { (grouped(source.entries.into())) }
                        td {
                            @if let Some(failure) = failures.of(source) {
                                b { "last fetch failed " (moment(failure.failed_at, now)) } ": " (failure.last_error) " "
                            }
                            @if source.mandatory { "mandatory " }
                            @let unmatched: u64 = source.unmatched.values().sum();
                            @if unmatched > 0 {
                                span.soft { (counted(unmatched, "entry is no address of its chain", "entries are no addresses of their chains")) }
                            }
                        }
                    }
                }
            }
        } }
        h2 { "Sources that come with Assay" }
        (ready_made(visitor, ready))
    };
    framed(visitor, "Sources", "/sources", "", &content)
}

/// State of the sources that come with Assay.
#[derive(Clone, Copy)]
pub(crate) struct ReadySources<'a> {
    /// Says whether a source is enabled.
    pub(crate) is_enabled: &'a dyn Fn(&str) -> bool,
    /// True if the server can enable sources, which it then fetches.
    pub(crate) can_enable: bool,
}

/// The sources that come with Assay, each with the means to enable it.
fn ready_made(visitor: &Visitor, ready: &ReadySources<'_>) -> Markup {
    html! {
        @if visitor.environment == Environment::Sample {
            p.soft { "The demo data set is fixed: nothing is fetched." }
        }
        div.scroll tabindex="0" { table.stack {
            thead { tr { th { "Source" } th { "Publisher" } th { "Terms" } th { "State" } } }
            tbody {
                @for source in &READY_SOURCES {
                    tr {
                        td { b { (source.name) } }
                        td data-head="Publisher" { (source.publisher) @if !source.note.is_empty() { br; span.soft { (with_code(source.note)) } } }
                        td data-head="Terms" { (source.licence) }
                        td { (enabling(visitor, ready, source)) }
                    }
                }
            }
        } }
    }
}

/// A text whose parts between backticks are code.
fn with_code(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

fn enabling(visitor: &Visitor, ready: &ReadySources<'_>, source: &ReadySource) -> Markup {
    if (ready.is_enabled)(source.name) {
        return html! { span.state.assessed { "enabled" } };
    }
    if visitor.environment == Environment::Sample {
        return html! { span.state { "not enabled" } };
    }
    let Ok(document) = source.manifest(None, false) else {
        let why = if source.commercial { "needs a licence" } else { "has no feed" };
        return html! { span.state { (why) } };
    };
    html! {
        @if ready.can_enable {
            form method="post" action={ (MOUNT) "/sources/" (source.name) "/enable" } {
                input type="hidden" name="form_token" value=(visitor.form_token);
                button.quiet { "Enable " span.hidden { (source.name) } }
            }
        } @else {
            details {
                summary { "Manifest" }
                pre tabindex="0" { (manifest(&document.content)) }
            }
        }
    }
}

/// A manifest as text that `kubectl apply` and `assay apply` read. JSON is YAML too.
fn manifest(content: &serde_json::Value) -> String {
    serde_json::to_string_pretty(content).unwrap_or_default()
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
    let (class, text) = match (source.never_fetched, source.stale, source.sample) {
        (true, ..) => ("unavailable", "never fetched"),
        (false, true, _) => ("partial", "stale"),
        (false, false, true) => ("demo", "fixed demo data"),
        (false, false, false) => ("assessed", "fresh"),
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
        div.scroll tabindex="0" { table.stack {
            thead { tr { th { "Chain" } th { "Id" } th { "Flows" } th.number { "Newest block" } th { "Block time" } th.number { "Listed addresses" } th.number { "Labeled addresses" } } }
            tbody {
                @for chain in with {
                    tr {
                        td { b { (chain.name) } }
                        td.soft data-head="Id" { (chain.id) }
                        td {
                            @if chain.has_flows { span.state.assessed { "traced" } }
                            @else { span.state.not_assessed { "lists and labels only" } }
                        }
                        td.number data-head="Newest block" { @if let Some((height, _)) = chain.latest { (grouped(height.into())) } }
                        td.nowrap data-head="Block time" { @if let Some((_, time)) = chain.latest { (on_day(time)) " " span.soft { "(" (ago(time, now)) ")" } } }
                        td.number data-head="Listed addresses" { (grouped(chain.listed.into())) }
                        td.number data-head="Labeled addresses" { (grouped(chain.labeled.into())) }
                    }
                }
            }
        } }
        @if !without.is_empty() {
            h2 { "No data installed" }
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
