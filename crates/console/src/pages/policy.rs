//! The page of a tenant's policy, in words.

use assay_engine::{
    evidence::ALWAYS_BLOCKING,
    names::ListId,
    policy::{ListEffect, PolicySpec},
};
use assay_picture::text::{counted, words};
use assay_service::{Catalogue, CatalogueCategory};
use assay_tenancy::Name;
use maud::{Markup, html};

use super::{
    answer::sentence,
    frame::{Visitor, framed},
};

/// Returns the page of a policy.
pub(crate) fn policy_page(
    visitor: &Visitor,
    name: &Name,
    spec: &PolicySpec,
    catalogue: &Catalogue,
) -> Markup {
    let markup = html! {
        h1 { "Risk policy " (name) }
        p.soft { "Revision " span.address { (catalogue.policy_revision) } " \u{b7} risk model " (catalogue.model_version) ". Each answer names the revision under which it was given." }
        h2 { "From the score to the verdict" }
        (thresholds(catalogue))
        h2 { "Rules" }
        p.soft { "A rule that fires raises the score to the threshold of its verdict, whatever the other evidence." }
        (rules(catalogue))
        h2 { "Data without which nothing is allowed" }
        (mandatory(spec))
        h2 { "Sanctions lists" }
        (lists(spec))
        h2 { "Severities" }
        p.soft { "Risk of a certain, direct attribution to a category, from 0 to 100. A changed severity is marked." }
        (categories(&catalogue.categories))
        details { summary { "Behavior patterns and strengths of evidence" } (patterns(catalogue)) }
    };
    framed(visitor, "Risk policy", "/policy", "", &markup)
}

fn thresholds(catalogue: &Catalogue) -> Markup {
    let limits = catalogue.thresholds;
    html! {
        ul {
            li { b { "allow" } ": a score below " (limits.review) }
            li { b { "review" } ": a score from " (limits.review) " to below " (limits.block) }
            li { b { "block" } ": a score of " (limits.block) " or more" }
            li { b { "indeterminate" } ": in place of allow, where mandatory data is missing or stale" }
            li { "Risk levels: medium from " (limits.medium) ", high from " (limits.high) ", severe from " (limits.severe) }
        }
    }
}

fn rules(catalogue: &Catalogue) -> Markup {
    html! {
        div.scroll tabindex="0" { table.stack {
            thead { tr { th { "Rule" } th { "Fires when" } th { "Leads to" } th { "Set by" } } }
            tbody {
                @for rule in &catalogue.rules {
                    tr {
                        td { b { (words(&rule.id)) } }
                        td { (sentence(&rule.description)) }
                        td data-head="Leads to" { (rule.verdict.as_str()) }
                        td.soft.nowrap { @if rule.fixed { "every policy" } @else { "this policy" } }
                    }
                }
            }
        } }
    }
}

fn mandatory(spec: &PolicySpec) -> Markup {
    html! {
        ul {
            @for source in &spec.mandatory_sources {
                li { b { (source.name) } ", verified within " (age(source.maximum_age_hours.into())) }
            }
            @if spec.flows_required { li { "Flows of funds: an address on a chain without a source is indeterminate" } }
            @if let Some(share) = &spec.minimum_traced { li { "At least " (share) " of the funds received must have a known origin" } }
            @if let Some(share) = &spec.maximum_unread { li { "At most " (share) " of the funds of a direction may be unread" } }
        }
    }
}

fn lists(spec: &PolicySpec) -> Markup {
    let is_own = |(list, _): &(&ListId, &ListEffect)| !ALWAYS_BLOCKING.contains(&list.as_str());
    let own: Vec<(&ListId, &ListEffect)> = spec.lists.iter().filter(is_own).collect();
    html! {
        p {
            "Blocking, in every policy: " (ALWAYS_BLOCKING.join(", ")) ". "
            "Any other list leads to a review"
            @if own.is_empty() { "." } @else { ", except as stated here:" }
        }
        @if !own.is_empty() {
            ul {
                @for (list, effect) in own {
                    li { b { (list) } ": " @match effect { ListEffect::Blocking => "blocking", ListEffect::Advisory => "advisory" } }
                }
            }
        }
    }
}

fn categories(categories: &[CatalogueCategory]) -> Markup {
    let mut sorted: Vec<&CatalogueCategory> = categories.iter().collect();
    sorted.sort_by_key(|category| std::cmp::Reverse(category.severity));
    html! {
        div.scroll tabindex="0" { table.stack {
            thead { tr { th.number { "Severity" } th { "Category" } th { "Definition" } td {} } }
            tbody {
                @for category in sorted {
                    tr {
                        td.number data-head="Severity" { b { (category.severity) } }
                        td.nowrap { (words(category.id)) }
                        td { (category.definition) }
                        td.soft.nowrap { @if category.severity != category.default_severity { "default " (category.default_severity) } }
                    }
                }
            }
        } }
    }
}

fn patterns(catalogue: &Catalogue) -> Markup {
    html! {
        div.scroll tabindex="0" { table.stack {
            thead { tr { th.number { "Severity" } th { "Pattern" } th { "Definition" } } }
            tbody {
                @for pattern in &catalogue.patterns {
                    tr { td.number data-head="Severity" { b { (pattern.severity) } } td.nowrap { (words(pattern.id)) } td { (pattern.definition) } }
                }
            }
        } }
        div.scroll tabindex="0" { table.narrow {
            thead { tr { th { "Evidence" } th.number { "Highest score" } } }
            tbody { @for tier in &catalogue.tiers { tr { td { (words(tier.id)) } td.number { (tier.cap) } } } }
        } }
    }
}

/// A number of hours as days, if it is two days or more.
fn age(hours: u64) -> String {
    if hours >= 48 && hours.is_multiple_of(24) {
        counted(hours / 24, "day", "days")
    } else {
        counted(hours, "hour", "hours")
    }
}
