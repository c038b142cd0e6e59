//! The flows of a check: the picture, and each flow hop by hop.

use std::cmp::Reverse;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::evidence::{Direction, PathStep};
use assay_picture::{
    AmountView, AnswerView, ExposurePathView, ExposureView, endpoint_in_words, is_risky,
    linked_flow_picture,
    text::{Unit, amount, counted, hops, millionths, percent, short, words},
};
use maud::{Markup, PreEscaped, html};

use super::{answer::sentence, search::check_path};
use crate::MOUNT;

/// Largest number of flows that are listed at once; the others follow in a part that opens.
const MOST: usize = 40;
/// Largest number of risky flows of each direction that are open at first.
const MOST_OPEN: usize = 3;

/// Returns the part of a page about the flows of an answer.
pub(super) fn flows(answer: &AnswerView) -> Markup {
    if answer.exposure.is_empty() {
        let coverage = &answer.coverage.exposure;
        let is_searched = matches!(coverage.status.as_str(), "assessed" | "partial");
        let text = if is_searched {
            format!("no payment was found: {}", coverage.detail)
        } else {
            coverage.detail.clone()
        };
        return html! { p { (sentence(&text)) } };
    }
    let list = |direction: Direction| -> Vec<&ExposureView> {
        let lines = answer.exposure.iter().filter(|line| line.direction == direction);
        let mut lines: Vec<&ExposureView> = lines.collect();
        // As in the picture: the risky ones first, then the largest.
        lines.sort_by_key(|line| (!is_risky(line), Reverse(millionths(&line.share))));
        lines
    };
    let link = |address: &str| follow_path(chain_of(answer, address), address);
    let (sources, destinations) = (list(Direction::Source), list(Direction::Destination));
    html! {
        div.picture.wide { (PreEscaped(linked_flow_picture(answer, &link).inline())) }
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
    let risky = first.iter().filter(|line| is_risky(line));
    let open: Vec<&ExposureView> = risky.take(MOST_OPEN).copied().collect();
    html! {
        @if lines.is_empty() { p.soft { "Nothing." } }
        @for line in first { (flow(answer, line, open.contains(line))) }
        @if !more.is_empty() {
            details {
                summary { (counted(more.len().try_into().unwrap_or(u64::MAX), "more flow", "more flows")) }
                @for line in more { (flow(answer, line, false)) }
            }
        }
    }
}

/// One flow, which opens to its paths.
fn flow(answer: &AnswerView, line: &ExposureView, is_open: bool) -> Markup {
    let chain = answer.blockchain;
    let kind = match &line.unresolved_reason {
        Some(reason) => format!("unresolved: {}", words(reason)),
        None => endpoint_in_words(&line.endpoint_type),
    };
    html! {
        details.flow open[is_open] {
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
                (further(answer, line))
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

/// A link that follows the funds on from the address at which their trace stopped.
fn further(answer: &AnswerView, line: &ExposureView) -> Markup {
    let is_open = line.unresolved_reason.is_some() || line.endpoint_type == "unspent_downstream";
    let last = line.paths.first().and_then(|path| path.steps.last()).filter(|_| is_open);
    let path = last.and_then(|step| {
        let chain = own_chain(step).unwrap_or(answer.blockchain);
        follow_path(chain, step.address.as_deref()?)
    });
    html! {
        @if let Some((path, step)) = path.zip(last) {
            p { a href=(path) { "Follow the funds further, from " (short(step.address.as_deref())) } }
        }
    }
}

/// The chain of an address on a path: a bridge leads to other chains than the subject's.
fn chain_of(answer: &AnswerView, address: &str) -> ChainId {
    let paths = answer.exposure.iter().flat_map(|line| &line.paths);
    let mut steps = paths.flat_map(|path| &path.steps);
    let step = steps.find(|step| step.address.as_deref() == Some(address));
    step.and_then(own_chain).unwrap_or(answer.blockchain)
}

/// The chain of a step that is on another chain than the subject.
fn own_chain(step: &PathStep) -> Option<ChainId> {
    step.blockchain.as_deref()?.parse().ok()
}

/// The path of the flows of an address.
fn follow_path(chain: ChainId, address: &str) -> Option<String> {
    let address = CanonicalAddress::parse(chain, address).ok()?;
    Some(format!("{MOUNT}{}#flows", check_path(&address)))
}

fn hop(answer: &AnswerView, verb: &str, step: &PathStep) -> Markup {
    let own = own_chain(step);
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

/// A transaction, by its first and last characters, that leads to the form for its transfers.
fn transaction_link(transaction: &str) -> Markup {
    transaction_as(transaction, &short(Some(transaction)))
}

/// A transaction as a text that leads to the form for its transfers.
pub(super) fn transaction_as(transaction: &str, text: &str) -> Markup {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    let encoded = utf8_percent_encode(transaction, NON_ALPHANUMERIC);
    html! { a.address href={ (MOUNT) "/search?q=" (encoded) } title=(transaction) { (text) } }
}
