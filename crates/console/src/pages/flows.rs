//! The flows of a check: the picture, and each flow hop by hop.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::evidence::{Direction, PathStep};
use assay_picture::{
    AmountView, AnswerView, ExposurePathView, ExposureView, endpoint_in_words, flow_picture,
    text::{Unit, amount, counted, hops, millionths, percent, short, words},
};
use maud::{Markup, PreEscaped, html};

use super::{answer::sentence, search::check_path};
use crate::MOUNT;

/// Largest number of flows that are listed at once; the others follow in a part that opens.
const MOST: usize = 40;

/// Returns the part of a page about the flows of an answer.
pub(super) fn flows(answer: &AnswerView) -> Markup {
    if answer.exposure.is_empty() {
        return html! { p { (sentence(&answer.coverage.exposure.detail)) } };
    }
    let list = |direction: Direction| -> Vec<&ExposureView> {
        answer.exposure.iter().filter(|line| line.direction == direction).collect()
    };
    let (sources, destinations) = (list(Direction::Source), list(Direction::Destination));
    html! {
        div.picture.wide { (PreEscaped(flow_picture(answer).inline())) }
        @if let Some(id) = &answer.check_id {
            p.soft.save { a href={ (MOUNT) "/checks/" (id) "/flows.svg" } download { "Save the picture (SVG)" } " \u{b7} " a href={ (MOUNT) "/checks/" (id) "/flows.png" } download { "PNG" } }
        }
        div.columns {
            section { h3 { "Where it came from" } (listed(answer, &sources)) }
            section { h3 { "Where it went" } (listed(answer, &destinations)) }
        }
    }
}

/// Flows of one direction, the first ones at once.
fn listed(answer: &AnswerView, lines: &[&ExposureView]) -> Markup {
    let (first, more) = lines.split_at(lines.len().min(MOST));
    html! {
        @if lines.is_empty() { p.soft { "Nothing." } }
        @for line in first { (flow(answer, line)) }
        @if !more.is_empty() {
            details {
                summary { (counted(more.len().try_into().unwrap_or(u64::MAX), "more flow", "more flows")) }
                @for line in more { (flow(answer, line)) }
            }
        }
    }
}

/// One flow, which opens to its paths.
fn flow(answer: &AnswerView, line: &ExposureView) -> Markup {
    let chain = answer.blockchain;
    let kind = match &line.unresolved_reason {
        Some(reason) => format!("unresolved: {}", words(reason)),
        None => endpoint_in_words(&line.endpoint_type),
    };
    html! {
        details.flow {
            summary {
                b { (percent(millionths(&line.share))) } " "
                @if let Some(entity) = &line.entity { (entity) " \u{b7} " }
                (kind)
                @if line.listed { " " b { "listed" } }
                @if !line.scored { " " span.soft { "not scored" } }
                @if let Some(distance) = line.hops.filter(|hops| *hops > 0) { span.soft { ", " (hops(distance.into())) } }
            }
            div.steps {
                p {
                    (amount(chain, &line.amount))
                    @if line.assets.iter().any(|of| of.asset != line.amount.asset) { span.soft { " in " (assets(chain, &line.assets)) } }
                    @if let Some(listing) = &line.listing { "; on " (listing.in_words()) }
                    @if line.untouched { "; came unasked and was not moved" } @else if !line.solicited { "; unsolicited" }
                }
                @for path in &line.paths { (one_path(answer, line, path)) }
                @if line.paths.is_empty() {
                    @for transaction in &line.transactions { p { "Transaction " (transaction_link(transaction)) } }
                }
            }
        }
    }
}

fn assets(chain: ChainId, assets: &[AmountView]) -> String {
    assets.iter().map(|of| amount(chain, of)).collect::<Vec<_>>().join(", ")
}

/// A path as a list of its hops, the checked address's own transaction first.
fn one_path(answer: &AnswerView, line: &ExposureView, path: &ExposurePathView) -> Markup {
    let verb = match line.direction {
        Direction::Source => "from",
        Direction::Destination => "to",
    };
    html! {
        @if line.paths.len() > 1 { p.soft { (amount(answer.blockchain, &path.amount)) " by this path:" } }
        ol { @for step in &path.steps { (hop(answer, verb, step)) } }
    }
}

fn hop(answer: &AnswerView, verb: &str, step: &PathStep) -> Markup {
    let own = step.blockchain.as_deref().and_then(|chain| chain.parse::<ChainId>().ok());
    let chain = own.unwrap_or(answer.blockchain);
    let day = step.time.to_zoned(jiff::tz::TimeZone::UTC).date();
    html! {
        li {
            (verb) " " (party(chain, step.address.as_deref()))
            @if own.is_some() { " on " (chain.info().name) ", by a bridge" }
            @if let Some(label) = &step.label {
                " (" (label.entity.as_deref().unwrap_or("no name")) ", " (words(label.category.as_str())) @if label.listed { ", " b { "listed" } } ")"
            }
            @for via in &step.via {
                @let contract = via.entity.clone().unwrap_or_else(|| short(Some(&via.address)));
                @match &via.gave {
                    Some(asset) => { ", swapped from " (short(Some(asset))) " at " (contract) },
                    None => { ", given back by " (contract) },
                }
            }
            span.soft {
                ", " (day)
                @if let Some(text) = moved(chain, step) { ", " (text) }
                ", transaction " (transaction_link(&step.transaction))
            }
        }
    }
}

/// The amount that a party moved; `None` for a token, whose decimals a step does not state.
fn moved(chain: ChainId, step: &PathStep) -> Option<String> {
    let amount = step.amount.as_ref()?.parse().ok()?;
    let is_native = step.asset.as_deref().is_none_or(|asset| asset == "native");
    is_native.then(|| Unit::native(chain).text(amount))
}

/// An address that leads to its own check.
fn party(chain: ChainId, address: Option<&str>) -> Markup {
    let Some(text) = address else { return html! { span.soft { "no address" } } };
    html! {
        @match CanonicalAddress::parse(chain, text) {
            Ok(address) => a.address href={ (MOUNT) (check_path(&address)) } title="Check this address" { (text) },
            Err(_) => span.address { (text) },
        }
    }
}

/// A transaction that leads to the form for its transfers.
fn transaction_link(transaction: &str) -> Markup {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    let encoded = utf8_percent_encode(transaction, NON_ALPHANUMERIC);
    html! { a.address href={ (MOUNT) "/search?q=" (encoded) } title=(transaction) { (short(Some(transaction))) } }
}
