//! The page of a check: verdict, score, coverage, flows, evidence, earlier checks.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::score::Verdict;
use assay_picture::{
    AnswerView,
    text::{amount, amounts, counted, words},
    waterfall,
};
use jiff::Timestamp;
use maud::{Markup, PreEscaped, html};

use super::{
    activity::{ActivityContent, activity},
    checks::{RecentChecks, checks_table, moment},
    evidence::{behavior, labels, listed, wallets},
    flows::flows,
    frame::{Visitor, framed},
    search::check_path,
};
use crate::{MOUNT, recognize::others};

/// Largest number of other chains that are linked.
const MOST_CHAINS: usize = 12;

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
            section { h2 { "Behavior of the owner" } @for pattern in &answer.transaction_patterns { (behavior(pattern)) } }
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
            (checks_table(earlier, now, "None."))
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
        Verdict::Review => "A person should decide.",
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
                    @for reason in answer.reasons.iter().skip(1) { li { (sentence(&reason.message)) } }
                    @for warning in &answer.warnings { li.warning { b { "Warning: " } (sentence(&warning.message)) } }
                }
            }
            p.soft.meta {
                @if let Some(time) = answer.assessed_at { "Assessed " (moment(time, now)) ". " }
                @if let Some(id) = &answer.check_id {
                    a.kept href={ (MOUNT) "/checks/" (id) } { "Link to this answer" } " "
                }
                @if let Ok(address) = CanonicalAddress::parse(chain, &answer.address) {
                    a href={ (MOUNT) (check_path(&address)) } { "Check again" }
                    (other_chains(&address))
                }
            }
        }
    }
}

/// A message of an answer as a sentence. A chain at its beginning is named.
pub(super) fn sentence(message: &str) -> String {
    let with_name = message.split_once(" address ").and_then(|(first, rest)| {
        let chain: ChainId = first.parse().ok()?;
        Some(format!("{} address {rest}", chain.info().name))
    });
    let message = with_name.as_deref().unwrap_or(message);
    let mut characters = message.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string());
    let rest = characters.as_str();
    let end = if rest.ends_with(['.', '!', '?']) || message.is_empty() { "" } else { "." };
    format!("{}{rest}{end}", first.unwrap_or_default())
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
        " \u{b7} seen " (day(first)) " to " (day(last))
        @if let Some(counts) = activity.counts {
            " \u{b7} received " (amounts(answer.blockchain, &activity.r#in)) " in "
            (counted(counts.transfers_in, "transfer", "transfers"))
            ", sent " (amounts(answer.blockchain, &activity.out)) " in "
            (counted(counts.transfers_out, "transfer", "transfers"))
        }
    }
}

/// Links to the same text on other chains, those that come first in the documentation.
fn other_chains(address: &CanonicalAddress) -> Markup {
    let found = others(address);
    let more = found.len().saturating_sub(MOST_CHAINS);
    let on = |chain: ChainId| CanonicalAddress::parse(chain, address.as_str()).ok();
    html! {
        @if !found.is_empty() {
            details.chains {
                summary { "Also an address of " (counted(found.len().try_into().unwrap_or(u64::MAX), "other chain", "other chains")) }
                @for other in found.iter().take(MOST_CHAINS).filter_map(|chain| on(*chain)) {
                    a href={ (MOUNT) (check_path(&other)) } { (other.chain().info().name) } " "
                }
                @if more > 0 { span.soft { "and " (more) " more" } }
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
                        (component.rule.as_ref().map_or_else(|| component.detail.clone(), |rule| format!("the rule {}", words(rule))))
                    }
                }
                ". Without " (without) ", the score is " (decisive.risk_score) ": " (decisive.verdict.as_str()) "."
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
                summary { (counted(answer.sources.len().try_into().unwrap_or(u64::MAX), "source", "sources")) " used" }
                ul {
                    @for source in &answer.sources {
                        li {
                            (source.id)
                            @if let Some(day) = source.published_at { " of " (day) }
                            @if let Some(block) = &source.latest_block { ", block " (block.height) }
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

fn foot(answer: &AnswerView) -> Markup {
    html! {
        footer.soft {
            "Data " (answer.data_revision) " \u{b7} policy " (answer.policy_revision) " \u{b7} model " (answer.model_version)
            @if let Some(id) = &answer.check_id { " \u{b7} check " (id) }
            @if let Some(digest) = &answer.assessment_digest { br; (digest) }
        }
    }
}
