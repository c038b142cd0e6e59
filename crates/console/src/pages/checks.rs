//! Lists of earlier checks.

use assay_address::{CanonicalAddress, ChainId};
use assay_store::checks::FoundCheck;
use jiff::{Timestamp, tz::TimeZone};
use maud::{Markup, html};

use super::{
    answer::verdict_badge,
    frame::{Visitor, framed},
    search::check_path,
};
use crate::MOUNT;

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

/// Columns of a table of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckColumns {
    /// All of them.
    All,
    /// Without chain and address, which the page names.
    OfOneAddress,
}

/// Returns the page of earlier checks.
pub(crate) fn checks_page(visitor: &Visitor, checks: &RecentChecks, now: Timestamp) -> Markup {
    let content = html! {
        h1 { "Earlier checks" }
        (checks_table(checks, now, "No check was made yet.", CheckColumns::All))
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
        (checks_table(checks, now, "Nobody of your organization has checked this address, or it was too long ago.", CheckColumns::OfOneAddress))
    };
    framed(visitor, "Earlier checks of an address", "/checks", address.as_str(), &content)
}

/// Returns a table of checks; `none` is the text for an empty one. References have a column if there are any.
pub(crate) fn checks_table(
    checks: &RecentChecks,
    now: Timestamp,
    none: &str,
    columns: CheckColumns,
) -> Markup {
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
    let has_addresses = columns == CheckColumns::All;
    let has_references = found.iter().any(|check| check.summary.reference.is_some());
    html! {
        div.scroll tabindex="0" { table.stack {
            thead { tr {
                th { "Checked" } th { "Verdict" } th.number { "Score" }
                @if has_addresses { th { "Chain" } th { "Address" } }
                @if has_references { th { "Reference" } }
                th { "Findings" }
            } }
            tbody { @for check in found { (check_row(check, now, has_addresses, has_references)) } }
        } }
    }
}

fn check_row(
    check: &FoundCheck,
    now: Timestamp,
    has_addresses: bool,
    has_references: bool,
) -> Markup {
    let summary = &check.summary;
    let time = Timestamp::from_millisecond(check.key.made_at).unwrap_or_default();
    let chain = summary.blockchain.parse::<ChainId>();
    let address =
        chain.ok().and_then(|chain| CanonicalAddress::parse(chain, &summary.address).ok());
    html! {
        tr {
            td.nowrap { a href={ (MOUNT) "/checks/" (check.key.id) } { (moment(time, now)) } }
            td { (verdict_badge(&summary.verdict)) }
            td.number data-head="Score" { (summary.score) }
            @if has_addresses {
                td data-head="Chain" { (summary.blockchain) }
                td.address {
                    @match &address {
                        Some(address) => a href={ (MOUNT) (check_path(address)) } title="Check this address" { (summary.address) },
                        None => (summary.address),
                    }
                }
            }
            @if has_references { td data-head="Reference" { (summary.reference.as_deref().unwrap_or("")) } }
            td.soft.rules { (summary.rules.join(", ").replace('_', " ")) }
        }
    }
}

/// A time with the time that has passed since, in its largest unit.
pub(super) fn moment(time: Timestamp, now: Timestamp) -> Markup {
    let exact = format!("{time:.0}");
    html! { time datetime=(exact) title=(exact) { (ago(time, now)) } }
}

/// A time as its day, in UTC.
pub(super) fn on_day(time: Timestamp) -> Markup {
    let exact = format!("{time:.0}");
    html! { time datetime=(exact) title=(exact) { (time.to_zoned(TimeZone::UTC).date()) } }
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
