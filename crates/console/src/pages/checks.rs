//! Lists of earlier checks.

use assay_address::CanonicalAddress;
use assay_store::checks::FoundCheck;
use jiff::Timestamp;
use maud::{Markup, html};

use super::frame::{Visitor, framed};
use crate::{MOUNT, pages::answer::verdict_badge};

/// Earlier checks of a tenant.
#[derive(Clone, Debug)]
pub(crate) enum RecentChecks {
    /// The checks, the newest first.
    Found(Vec<FoundCheck>),
    /// The plan keeps none.
    NotKept,
    /// They cannot be read at present.
    Unavailable,
}

/// Returns the page of earlier checks.
pub(crate) fn checks_page(visitor: &Visitor, checks: &RecentChecks, now: Timestamp) -> Markup {
    let content = html! {
        h1 { "Earlier checks" }
        (checks_table(checks, now, "No check was made yet."))
    };
    framed(visitor, "Earlier checks", "/checks", "", &content)
}

/// Returns the page of the earlier checks of an address, for people who make none.
pub(crate) fn checks_of_page(
    visitor: &Visitor,
    address: &CanonicalAddress,
    checks: &RecentChecks,
    now: Timestamp,
) -> Markup {
    let content = html! {
        h1.address { (address.as_str()) }
        p.lead { "Your role is " (visitor.role) ": you see earlier checks, and make none." }
        h2 { "Earlier checks on " (address.chain().info().name) }
        (checks_table(checks, now, "Nobody of your organization has checked this address, or it was too long ago."))
    };
    framed(visitor, "Earlier checks of an address", "/checks", address.as_str(), &content)
}

/// Returns a table of checks; `none` is the text for an empty one.
pub(crate) fn checks_table(checks: &RecentChecks, now: Timestamp, none: &str) -> Markup {
    let found = match checks {
        RecentChecks::Found(found) => found,
        RecentChecks::NotKept => return html! { p.soft { "The plan keeps no checks." } },
        RecentChecks::Unavailable => {
            return html! { p.soft { "Earlier checks cannot be read at present." } };
        }
    };
    if found.is_empty() {
        return html! { p.soft { (none) } };
    }
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th { "Checked" } th { "Verdict" } th.number { "Score" } th { "Chain" } th { "Address" }
                th { "Reference" } th { "Rules" }
            } }
            tbody {
                @for check in found {
                    @let time = Timestamp::from_millisecond(check.key.made_at).unwrap_or_default();
                    tr {
                        td.nowrap { a href={ (MOUNT) "/checks/" (check.key.id) } { (moment(time, now)) } }
                        td { (verdict_badge(&check.summary.verdict)) }
                        td.number { (check.summary.score) }
                        td { (check.summary.blockchain) }
                        td.address { (check.summary.address) }
                        td { (check.summary.reference.as_deref().unwrap_or("")) }
                        td.soft.rules { (check.summary.rules.join(", ").replace('_', " ")) }
                    }
                }
            }
        } }
    }
}

/// A time with the time that has passed since, in its largest unit.
pub(super) fn moment(time: Timestamp, now: Timestamp) -> Markup {
    let exact = format!("{time:.0}");
    html! { time datetime=(exact) title=(exact) { (ago(time, now)) } }
}

/// The time since a moment, in its largest unit.
pub(super) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs();
    match seconds {
        ..0 => "in the future".to_owned(),
        0..60 => "just now".to_owned(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}
