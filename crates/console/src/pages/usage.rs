//! The page of usage: checks by day, and the limits of the plan.

use std::collections::BTreeMap;

use assay_engine::policy::Policy;
use assay_picture::{
    ChartColumn, column_chart,
    text::{counted, grouped},
};
use assay_store::usage::ChargeKey;
use assay_tenancy::{
    directory::{Limit, Tenant},
    key::KeyId,
    manifest::{Counts, Per},
};
use jiff::{Timestamp, ToSpan as _, civil::Date, tz::TimeZone};
use maud::{Markup, PreEscaped, html};

use super::{
    answer::verdict_badge,
    frame::{Visitor, framed},
};

/// Seconds of a day.
const DAY: i64 = 86_400;
/// Verdicts in the order in which they are stacked, each with the class of its part.
const VERDICTS: [(&str, &str); 4] =
    [("allow", "own"), ("review", "risky"), ("block", "severe"), ("indeterminate", "plain")];

/// Content of the page of usage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsageContent<'a> {
    /// Charges of the tenant in the days of the page.
    pub(crate) charges: &'a BTreeMap<ChargeKey, u64>,
    /// Names of keys and people, as far as they are known.
    pub(crate) names: &'a BTreeMap<KeyId, String>,
    /// First day.
    pub(crate) from: Date,
    /// Last day, which is today.
    pub(crate) to: Date,
    /// The tenant.
    pub(crate) tenant: &'a Tenant<Policy>,
}

/// Returns the page of a tenant's usage.
pub(crate) fn usage_page(visitor: &Visitor, content: &UsageContent<'_>, now: Timestamp) -> Markup {
    let days = by_day(content);
    let total: u64 = content.charges.values().sum();
    let label = format!("Checks by day from {} to {}", content.from, content.to);
    let columns: Vec<ChartColumn> = days.iter().map(|(day, counts)| column(*day, counts)).collect();
    let chart = column_chart(label, &columns, &grouped);
    let plan = &content.tenant.plan;
    let name = if plan.display_name.is_empty() { plan.name.as_str() } else { &plan.display_name };
    let markup = html! {
        h1 { "Usage" }
        p.lead {
            (counted(total, "check", "checks")) " in the last " (days.len()) " days (UTC). "
            "A check that was answered counts, and each row of a screening; requests that failed do not."
        }
        @if total > 0 {
            div.picture { (PreEscaped(chart.inline())) }
            p.key { @for (verdict, class) in VERDICTS { span { span.swatch.(class) {} (verdict) } } }
        }
        h2 { "Limits of the plan " (name) }
        (limits(content, now))
        h2 { "By day" }
        (table(&days))
        h2 { "By key and person" }
        (by_key(content))
    };
    framed(visitor, "Usage", "/usage", "", &markup)
}

/// Counts of one day, by verdict.
type DayCounts<'a> = BTreeMap<&'a str, u64>;

/// Returns every day of the period with its counts.
fn by_day<'a>(content: &UsageContent<'a>) -> BTreeMap<Date, DayCounts<'a>> {
    let days = content.from.series(1.day()).take_while(|day| *day <= content.to);
    let mut found: BTreeMap<Date, DayCounts<'a>> =
        days.map(|day| (day, DayCounts::default())).collect();
    for (charged, count) in content.charges {
        *found.entry(charged.day).or_default().entry(&charged.verdict).or_default() += count;
    }
    found
}

fn column(day: Date, counts: &DayCounts<'_>) -> ChartColumn {
    let total: u64 = counts.values().sum();
    let of_verdicts: Vec<String> =
        counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
    ChartColumn {
        name: day.strftime("%-d %b").to_string(),
        title: format!("{day}: {} ({})", counted(total, "check", "checks"), of_verdicts.join(", ")),
        parts: VERDICTS
            .map(|(verdict, class)| {
                (class, counts.get(verdict).copied().unwrap_or_default().into())
            })
            .to_vec(),
    }
}

/// The limits in force. Of a limit that counts checks of the tenant by days, the use of the present window is known.
fn limits(content: &UsageContent<'_>, now: Timestamp) -> Markup {
    let rows = content.tenant.limits_with_overrides(now);
    html! {
        div.scroll tabindex="0" { table {
            thead { tr { th { "Limit" } th.number { "Allows" } th { "In" } th { "Counted for" } th.number { "Used" } th { "Changed" } } }
            tbody {
                @for (limit, change) in rows {
                    tr {
                        td { b { (limit.name) } }
                        td.number { (grouped(limit.requests.into())) }
                        td { @match limit.counts { Counts::Requests => "requests", Counts::Checks => "checks" } " in " (limit.window) }
                        td { @match limit.per { Per::Key => "each key", Per::Tenant => "the tenant", Per::Plan => "all tenants of the plan" } }
                        td.number { @if let Some(used) = used(content, &limit, now) { (grouped(used.into())) } }
                        td.soft {
                            @if let Some(change) = change {
                                "set by " (change.rate_limit)
                                @if let Some(until) = change.until { " until " (format!("{until:.0}")) }
                            }
                        }
                    }
                }
            }
        } }
    }
}

/// Returns the number of checks in the present window of a limit; `None` if charges by day do not tell it.
fn used(content: &UsageContent<'_>, limit: &Limit, now: Timestamp) -> Option<u64> {
    let window =
        i64::try_from(limit.window.seconds()).ok().filter(|it| *it > 0 && it % DAY == 0)?;
    if limit.counts != Counts::Checks || limit.per != Per::Tenant {
        return None;
    }
    let start = now.as_second().div_euclid(window) * window;
    let first = Timestamp::from_second(start).ok()?.to_zoned(TimeZone::UTC).date();
    let in_window = content.charges.iter().filter(|(charged, _)| charged.day >= first);
    (first >= content.from).then(|| in_window.map(|(_, count)| count).sum())
}

fn table(days: &BTreeMap<Date, DayCounts<'_>>) -> Markup {
    if days.values().all(BTreeMap::is_empty) {
        return html! { p.soft { "No check in these days." } };
    }
    let used = days.iter().rev().filter(|(_, counts)| !counts.is_empty());
    html! {
        div.scroll tabindex="0" { table.narrow {
            thead { tr {
                th { "Day" } th.number { "Checks" }
                @for (verdict, _) in VERDICTS { th.number { (verdict_badge(verdict)) } }
            } }
            tbody {
                @for (day, counts) in used {
                    tr {
                        td.nowrap { (day) }
                        td.number { b { (grouped(counts.values().sum::<u64>().into())) } }
                        @for (verdict, _) in VERDICTS { td.number { (grouped(counts.get(verdict).copied().unwrap_or_default().into())) } }
                    }
                }
            }
        } }
    }
}

fn by_key(content: &UsageContent<'_>) -> Markup {
    let mut keys: BTreeMap<(&KeyId, &str), u64> = BTreeMap::new();
    for (charged, count) in content.charges {
        *keys.entry((&charged.key, charged.operation.as_str())).or_default() += count;
    }
    let name = |key: &KeyId| content.names.get(key).map_or("", String::as_str);
    html! {
        @if keys.is_empty() { p.soft { "None." } } @else {
            div.scroll tabindex="0" { table.narrow {
                thead { tr { th { "Key or person" } th { "Name" } th { "Operation" } th.number { "Checks" } } }
                tbody {
                    @for ((key, operation), count) in keys {
                        tr { td.address { (key.as_str()) } td { (name(key)) } td { (operation) } td.number { (grouped(count.into())) } }
                    }
                }
            } }
        }
    }
}
