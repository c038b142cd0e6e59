//! The flows of a check: the picture, and each flow hop by hop. A page shows a bounded number of flows, so that it scrolls
//! smoothly however many an answer has; the others follow on pages of their own.

use std::cmp::Reverse;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::evidence::{Direction, PathStep};
use assay_picture::{
    AmountView, AnswerView, ExposurePathView, ExposureView, endpoint_in_words, is_risky,
    linked_flow_picture, narrow_flow_pictures, no_flows_in_words,
    text::{Unit, amount, counted, hops, millionths, percent, short, words},
};
use maud::{Markup, PreEscaped, html};

use super::{
    answer::sentence,
    frame::{Visitor, framed},
    search::check_path,
};
use crate::MOUNT;

/// Largest number of flows of a direction on the page of a check.
const MOST: usize = 40;
/// Largest number of flows on a page of further ones.
const MOST_FURTHER: usize = 100;
/// Largest number of risky flows of each direction that are open at first.
const MOST_OPEN: usize = 3;

/// Content of a page of further flows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FurtherFlows<'a> {
    /// The answer, which is kept.
    pub(crate) answer: &'a AnswerView,
    /// Direction of the flows.
    pub(crate) direction: Direction,
    /// Number of the first flow to show, counted from 1.
    pub(crate) from: usize,
}

/// Returns the part of a page about the flows of an answer. `is_kept`: the answer has pages of further flows.
pub(super) fn flows(answer: &AnswerView, is_kept: bool) -> Markup {
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
    let link = |address: &str| follow_path(chain_of(answer, address), address);
    html! {
        // The style sheet shows one of both, by the width of the window.
        div.picture.wide { (PreEscaped(linked_flow_picture(answer, &link).inline())) }
        div.picture.narrow {
            @for picture in narrow_flow_pictures(answer, &link) { (PreEscaped(picture.inline())) }
        }
        @if let Some(id) = &answer.check_id {
            p.soft.save { a href={ (MOUNT) "/checks/" (id) "/flows.svg" } download { "Save the picture (SVG)" } " \u{b7} " a href={ (MOUNT) "/checks/" (id) "/flows.png" } download { "PNG" } }
        }
        div.columns {
            @for direction in [Direction::Source, Direction::Destination] {
                section { h3 { (heading(direction)) } (first_flows(answer, direction, is_kept)) }
            }
        }
    }
}

const fn heading(direction: Direction) -> &'static str {
    match direction {
        Direction::Source => "Where it came from",
        Direction::Destination => "Where it went",
    }
}

/// The flows of a direction as in the picture: the risky ones first, then the largest.
fn ranked(answer: &AnswerView, direction: Direction) -> Vec<&ExposureView> {
    let lines = answer.exposure.iter().filter(|line| line.direction == direction);
    let mut lines: Vec<&ExposureView> = lines.collect();
    lines.sort_by_key(|line| (!is_risky(line), Reverse(millionths(&line.share))));
    lines
}

/// The first flows of a direction, and a link to the others.
fn first_flows(answer: &AnswerView, direction: Direction, is_kept: bool) -> Markup {
    let lines = ranked(answer, direction);
    let (first, further) = lines.split_at(lines.len().min(MOST));
    let risky = first.iter().filter(|line| is_risky(line));
    let open: Vec<&ExposureView> = risky.take(MOST_OPEN).copied().collect();
    let others = counted(number(further.len()), "more flow", "more flows");
    let kept = answer.check_id.as_deref().filter(|_| is_kept);
    html! {
        @if lines.is_empty() { p.soft { (sentence(no_flows_in_words(answer, direction))) } }
        @for line in first { (flow(answer, line, open.contains(line))) }
        @if !further.is_empty() {
            p {
                @match kept {
                    Some(id) => a href=(further_path(id, direction, MOST + 1)) { (others) },
                    None => (others),
                }
                @if let Some(share) = share_of(further) { ", " (percent(share)) " of all" }
                "."
                @if kept.is_none() { span.soft { " The plan keeps no answers: these flows are in the answer of the API alone." } }
            }
        }
    }
}

/// The part of all that flows are together; `None` for flows in different assets, whose shares do not add up.
fn share_of(lines: &[&ExposureView]) -> Option<u64> {
    let (first, others) = lines.split_first()?;
    let is_one_asset = others.iter().all(|line| line.amount.asset == first.amount.asset);
    is_one_asset.then(|| lines.iter().map(|line| millionths(&line.share)).sum())
}

/// The path of a page of further flows.
fn further_path(check_id: &str, direction: Direction, from: usize) -> String {
    let direction = match direction {
        Direction::Source => "source",
        Direction::Destination => "destination",
    };
    format!("{MOUNT}/checks/{check_id}/flows?direction={direction}&from={from}")
}

/// Returns a page of further flows of an answer.
pub(crate) fn further_flows_page(visitor: &Visitor, content: FurtherFlows<'_>) -> Markup {
    let FurtherFlows { answer, direction, from } = content;
    let lines = ranked(answer, direction);
    let before = from.saturating_sub(1).min(lines.len());
    let shown = lines.iter().skip(before).take(MOST_FURTHER);
    let last = before + shown.len();
    let id = answer.check_id.as_deref().unwrap_or_default();
    let title = heading(direction);
    let content = html! {
        h1 { (title) }
        p {
            span.address { (answer.address) } " on " (answer.blockchain.info().name) ". "
            a href={ (MOUNT) "/checks/" (id) } { "Back to the answer" }
        }
        @if last == before {
            p.soft { "No flow has the number " (from) ": there are " (lines.len()) "." }
        } @else {
            h2 { "Flows " (before + 1) " to " (last) " of " (lines.len()) ", the risky ones first, then the largest" }
        }
        @for line in shown { (flow(answer, line, false)) }
        nav.pages aria-label="Flows" {
            @if before > 0 {
                a href=(further_path(id, direction, before.saturating_sub(MOST_FURTHER) + 1)) { "Previous flows" }
            }
            @if last < lines.len() { a href=(further_path(id, direction, last + 1)) { "Next flows" } }
        }
    };
    framed(visitor, title, "none", &answer.address, &content)
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
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
                    @for transaction in &line.transactions { p { "Transaction " (transaction_link(chain, transaction)) } }
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
                ", transaction " (transaction_link(chain, &step.transaction))
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
fn transaction_link(chain: ChainId, transaction: &str) -> Markup {
    transaction_as(chain, transaction, &short(Some(transaction)))
}

/// A transaction as a text that leads to the form for its transfers.
pub(super) fn transaction_as(chain: ChainId, transaction: &str, text: &str) -> Markup {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    let encoded = utf8_percent_encode(transaction, NON_ALPHANUMERIC);
    html! { a.address href={ (MOUNT) "/transfer?blockchain=" (chain) "&transaction=" (encoded) } title=(transaction) { (text) } }
}
