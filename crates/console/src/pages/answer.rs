//! The page of a check: verdict, score, coverage, flows, evidence, earlier checks.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::score::Verdict;
use assay_picture::{
    AnswerView,
    text::{amount, amounts, counted, grouped, short, words},
    waterfall,
};
use jiff::Timestamp;
use maud::{Markup, PreEscaped, html};

use super::{
    activity::{ActivityContent, activity},
    checks::{CheckColumns, RecentChecks, checks_table, moment},
    evidence::{behavior, labels, listed, wallets},
    flows::{flows, transaction_as},
    frame::{Visitor, framed},
    search::check_path,
};
use crate::{MOUNT, recognize::others};

/// Number of reasons after the first one that are shown at once.
const FURTHER_REASONS: usize = 2;

/// Content of the page of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerContent<'a> {
    /// The answer.
    pub(crate) answer: &'a AnswerView,
    /// True if the answer was given earlier, to another request.
    pub(crate) is_earlier: bool,
    /// Activity of the address now; unset for a transfer.
    pub(crate) activity: Option<&'a ActivityContent>,
    /// Other checks of the same address.
    pub(crate) earlier: &'a RecentChecks,
}

/// Returns the page of an answer. Its script opens flows of further addresses on the same page.
pub(crate) fn answer_page(visitor: &Visitor, content: AnswerContent<'_>, now: Timestamp) -> Markup {
    let AnswerContent { answer, is_earlier, activity: of_address, earlier } = content;
    let content = html! {
        (head(answer, now))
        div.columns {
            section {
                h2 { "Score" }
                (score(answer))
            }
            section {
                h2 { "Coverage" }
                (coverage(answer, now))
            }
        }
        section #flows {
            h2 { "Flows of funds" }
            (flows(answer, !matches!(earlier, RecentChecks::NotKept)))
        }
        @if let Some(of_address) = of_address {
            section {
                @if is_earlier {
                    h2 { "Activity, read on " (day(now)) }
                    p.soft {
                        "Payments are read when this page is opened. Some can be newer than the answer above"
                        @if let Some(time) = answer.assessed_at { ", which is of " (day(time)) }
                        "."
                    }
                } @else {
                    h2 { "Activity" }
                }
                (activity(answer, of_address))
            }
        }
        @if !answer.sanctions.is_empty() {
            section { h2 { "Sanctions lists" } @for listing in &answer.sanctions { (listed(listing)) } }
        }
        @if !answer.labels.is_empty() {
            section { h2 { "Labels" } (labels(&answer.labels)) }
        }
        @if !answer.transaction_patterns.is_empty() {
            section { h2 { "Behavior of the owner" } @for pattern in &answer.transaction_patterns { (behavior(answer.blockchain, pattern)) } }
        }
        @if let Some(contracts) = &answer.contracts {
            section {
                h2 { "Contracts" }
                ul { @for dealing in contracts.kept.iter().chain(&contracts.holdings) { li { (dealing.detail) } } }
            }
        }
        @if !answer.associated_wallets.is_empty() {
            section { h2 { "Associated addresses" } (wallets(&answer.associated_wallets)) }
        }
        section {
            h2 { "Earlier checks of this address" }
            (checks_table(earlier, now, "None.", CheckColumns::OfOneAddress))
        }
        (foot(answer))
        script src={ (MOUNT) "/script.js" } defer {}
    };
    let title = format!("{} {}", answer.verdict.as_str(), answer.address);
    framed(visitor, &title, "none", &answer.address, &content)
}

/// A verdict as a colored word.
pub(super) fn verdict_badge(verdict: &str) -> Markup {
    html! { span.verdict.(class_of(verdict)) { (verdict) } }
}

fn class_of(verdict: &str) -> &'static str {
    match verdict {
        "allow" => "allow",
        "review" => "review",
        "block" => "block",
        _ => "indeterminate",
    }
}

fn head(answer: &AnswerView, now: Timestamp) -> Markup {
    let chain = answer.blockchain;
    let meaning = match answer.verdict {
        Verdict::Allow => "The policy allows it.",
        Verdict::Review => {
            "A person should decide: read the flows and evidence below, then accept or refuse."
        }
        Verdict::Block => "The policy forbids it.",
        Verdict::Indeterminate => "Mandatory data is missing: treat it as not allowed.",
    };
    let first = answer.reasons.first().map_or("", |reason| reason.message.as_str());
    html! {
        section.answer.(class_of(answer.verdict.as_str())) {
            div.subject {
                h1.address { (answer.address) }
                p.soft {
                    (chain.info().name)
                    @if let Some(entity) = &answer.entity { " \u{b7} " b { (entity.name) } " (" (words(&entity.category)) ")" }
                    @if let Some(transfer) = &answer.transfer {
                        " \u{b7} " (transfer.direction) " of " (amount(chain, &transfer.amount))
                        @if let Some(transaction) = &transfer.transaction { ", transaction " (transaction_as(chain, transaction, &short(Some(transaction)))) }
                        @if let Some(time) = transfer.block_time { ", " (day(time)) } @else { ", " (words(&transfer.status)) }
                    }
                    (lifetime(answer))
                }
            }
            p.sentence {
                (verdict_badge(answer.verdict.as_str()))
                span.points { (answer.risk_score) " of 100" }
                span { (meaning) " " (sentence(first)) }
            }
            @if answer.reasons.len() > 1 || !answer.warnings.is_empty() {
                ul.reasons {
                    @for reason in answer.reasons.iter().skip(1).take(FURTHER_REASONS) { li { (sentence(&reason.message)) } }
                    @for warning in &answer.warnings { li.warning { b { "Warning: " } (sentence(&warning.message)) } }
                }
                @let more = answer.reasons.get(1 + FURTHER_REASONS..).unwrap_or_default();
                @if !more.is_empty() {
                    details {
                        summary { (counted(more.len().try_into().unwrap_or(u64::MAX), "more reason", "more reasons")) }
                        ul.reasons { @for reason in more { li { (sentence(&reason.message)) } } }
                    }
                }
            }
            p.soft.meta {
                @if let Some(time) = answer.assessed_at { "Assessed " (moment(time, now)) ". " }
                @if let Some(id) = &answer.check_id {
                    a.kept href={ (MOUNT) "/checks/" (id) } { "Link to this answer" } " \u{b7} "
                }
                @if let Ok(address) = CanonicalAddress::parse(chain, &answer.address) {
                    a href={ (MOUNT) (check_path(&address)) } { "Check again" }
                    (other_chains(&address))
                }
            }
        }
    }
}

/// A message of an answer as a sentence. The chains of addresses in it are named.
pub(super) fn sentence(message: &str) -> String {
    let message = &with_names_of_chains(message);
    let mut characters = message.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    let rest = characters.as_str();
    let end = if rest.ends_with(['.', '!', '?']) || message.is_empty() { "" } else { "." };
    format!("{}{rest}{end}", first.unwrap_or_default())
}

/// A text in which the name of a chain stands for its identifier in front of "address".
fn with_names_of_chains(text: &str) -> String {
    let parts: Vec<&str> = text.split(" address ").collect();
    let Some((last, before)) = parts.split_last() else { return String::new() };
    let named = before.iter().map(|part| {
        let (rest, word) = part.rsplit_once(' ').map_or(("", *part), |(rest, word)| (rest, word));
        match word.parse::<ChainId>() {
            Ok(chain) => {
                format!("{rest}{}{}", if rest.is_empty() { "" } else { " " }, chain.info().name)
            }
            Err(_) => (*part).to_owned(),
        }
    });
    named.chain([(*last).to_owned()]).collect::<Vec<_>>().join(" address ")
}

/// The day of a time, in UTC.
fn day(time: Timestamp) -> String {
    time.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

/// First and last appearance, and totals.
fn lifetime(answer: &AnswerView) -> Markup {
    let activity = &answer.activity;
    let Some((first, last)) = activity.first_seen.zip(activity.last_seen) else {
        return html! {};
    };
    html! {
        @let (first, last) = (day(first), day(last));
        " \u{b7} seen " @if first == last { "on " (first) } @else { (first) " to " (last) }
        @if let Some(counts) = activity.counts {
            " \u{b7} received " (amounts(answer.blockchain, &activity.r#in)) " in "
            (counted(counts.transfers_in, "transfer", "transfers"))
            @if counts.transfers_out == 0 { ", sent nothing" } @else {
                ", sent " (amounts(answer.blockchain, &activity.out)) " in "
                (counted(counts.transfers_out, "transfer", "transfers"))
            }
        }
    }
}

/// Links to the same text on other chains.
fn other_chains(address: &CanonicalAddress) -> Markup {
    let found = others(address);
    let on = |chain: ChainId| CanonicalAddress::parse(chain, address.as_str()).ok();
    html! {
        @if !found.is_empty() {
            details.chains {
                summary { "Also an address of " (counted(found.len().try_into().unwrap_or(u64::MAX), "other chain", "other chains")) }
                @for (index, other) in found.iter().filter_map(|chain| on(*chain)).enumerate() {
                    @if index > 0 { " \u{b7} " }
                    a href={ (MOUNT) (check_path(&other)) } { (other.chain().info().name) }
                }
            }
        }
    }
}

fn score(answer: &AnswerView) -> Markup {
    let decisive = answer.decisive.as_ref();
    let with_points =
        answer.scoring_components.iter().any(|component| component.contribution.tenths() > 0);
    html! {
        @if with_points {
            div.picture { (PreEscaped(waterfall(answer).inline())) }
        } @else {
            p { "No component has points." }
        }
        @if let Some(decisive) = decisive {
            @let without = if decisive.components.len() == 1 { "it" } else { "them" };
            p {
                "Decided by: "
                @for (index, position) in decisive.components.iter().enumerate() {
                    @if index > 0 { "; " }
                    @if let Some(component) = answer.scoring_components.get(*position) {
                        (component.rule.as_ref().map_or_else(|| with_names_of_chains(&component.detail), |rule| format!("the rule \u{201c}{}\u{201d}", words(rule))))
                    }
                }
                ". Without " (without) ", the score is " (decisive.risk_score) ": " (decisive.verdict.as_str()) ". "
                "The " a href={ (MOUNT) "/policy" } { "policy" } " says which scores lead to which verdict."
            }
        }
    }
}

fn coverage(answer: &AnswerView, now: Timestamp) -> Markup {
    html! {
        dl.coverage {
            @for (name, block) in answer.coverage.blocks() {
                dt { (name) }
                dd {
                    span.state.(block.status) { (words(&block.status)) } " "
                    span { (block.detail) }
                }
            }
        }
        @if !answer.sources.is_empty() {
            details {
                summary {
                    (counted(answer.sources.len().try_into().unwrap_or(u64::MAX), "source", "sources")) " used"
                    @if let Some(day) = newest_block_day(answer) { "; newest block of " (day) }
                }
                ul {
                    @for source in &answer.sources {
                        li {
                            (source.id)
                            @if let Some(day) = source.published_at { " of " (day) }
                            @if let Some(block) = &source.latest_block { ", block " (grouped(block.height.into())) }
                            @if let Some(time) = source.fetched_at { ", verified " (moment(time, now)) }
                            @if source.stale { ", " b { "stale" } }
                            @if source.never_fetched { ", " b { "never fetched" } }
                        }
                    }
                }
            }
        }
    }
}

/// The day of the newest block that the answer rests on; of several chains, of the one that is furthest behind.
fn newest_block_day(answer: &AnswerView) -> Option<String> {
    answer
        .sources
        .iter()
        .filter_map(|it| it.latest_block.as_ref())
        .map(|block| block.time)
        .min()
        .map(day)
}

fn foot(answer: &AnswerView) -> Markup {
    html! {
        footer.soft {
            "Data " (answer.data_revision) " \u{b7} policy " (answer.policy_revision) " \u{b7} model " (answer.model_version)
            @if let Some(id) = &answer.check_id { " \u{b7} check " (id) }
            @if let Some(digest) = &answer.assessment_digest { br; "digest " (digest) }
        }
    }
}
