//! The part of a page about the activity of an address over time.

use assay_address::ChainId;
use assay_engine::timeline::{AssetTimeline, Timeline};
use assay_picture::{
    AnswerView, PeriodAmounts, PeriodLength,
    text::{Unit, counted, percent},
    timeline_periods, timeline_picture,
};
use maud::{Markup, PreEscaped, html};

/// Number of assets that are shown at once; the others follow in a part that opens.
const MOST_ASSETS: usize = 2;

/// Activity of an address, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) enum ActivityContent {
    /// Payments by week.
    Found {
        /// The payments.
        timeline: Timeline,
        /// True if payments are fetched address by address, so that some may not have been fetched yet.
        is_on_demand: bool,
    },
    /// No payment of the address is known.
    Nothing {
        /// True if payments are fetched address by address.
        is_on_demand: bool,
    },
    /// No source reads the chain.
    NotFollowed,
    /// The chain cannot be read at present, or not in time.
    Unavailable,
}

/// Returns the activity of the address of an answer.
pub(super) fn activity(answer: &AnswerView, content: &ActivityContent) -> Markup {
    let chain = answer.blockchain;
    let (timeline, is_on_demand) = match content {
        ActivityContent::Found { timeline, .. } if timeline.assets.is_empty() => {
            return html! { p.soft { "No payment in an asset whose amounts are followed." } };
        }
        ActivityContent::Found { timeline, is_on_demand } => (timeline, *is_on_demand),
        ActivityContent::Nothing { is_on_demand: true } => {
            return html! { p.soft { "No payment of the address was fetched yet." } };
        }
        ActivityContent::Nothing { is_on_demand: false } => {
            return html! { p.soft { "No payment of the address is in the blocks that were read." } };
        }
        ActivityContent::NotFollowed => {
            return html! {
                p.soft { "No node or indexer is configured for " (chain.info().name) ": payments of the address are not known." }
            };
        }
        ActivityContent::Unavailable => {
            return html! {
                p.soft { "The payments of the address could not be read in time. Load the page again in a moment." }
            };
        }
    };
    let (first, more) = timeline.assets.split_at(timeline.assets.len().min(MOST_ASSETS));
    html! {
        div.columns {
            @for asset in first { (one_asset(answer, asset)) }
        }
        @if !more.is_empty() {
            details {
                summary { (counted(number(more.len()), "more asset", "more assets")) }
                div.columns { @for asset in more { (one_asset(answer, asset)) } }
            }
        }
        @if timeline.left_out > 0 {
            p.soft { (counted(timeline.left_out, "older payment is", "older payments are")) " not shown." }
        }
        @if is_on_demand {
            p.soft { "Payments are fetched address by address: these are the ones that were fetched so far." }
        }
    }
}

/// The payments in one asset: a picture, and the same as a table.
fn one_asset(answer: &AnswerView, asset: &AssetTimeline) -> Markup {
    let chain = answer.blockchain;
    let (length, periods) = timeline_periods(asset);
    html! {
        section {
            div.picture { (PreEscaped(timeline_picture(chain, &answer.address, asset).inline())) }
            p.soft {
                (asset.asset) " by " (length.noun()) " (UTC)."
                @if let Some(part) = read_part(asset) { " " (part) }
            }
            details {
                summary { "As a table: " (counted(number(periods.len()), length.noun(), plural(length))) }
                (table(chain, asset, length, &periods))
            }
        }
    }
}

fn table(
    chain: ChainId,
    asset: &AssetTimeline,
    length: PeriodLength,
    periods: &[PeriodAmounts],
) -> Markup {
    let unit = Unit::new(chain, &asset.asset);
    let heading = match length {
        PeriodLength::Week => "Week from",
        PeriodLength::Month => "Month",
        PeriodLength::Quarter => "Quarter",
    };
    html! {
        div.scroll tabindex="0" { table.narrow {
            thead { tr { th { (heading) } th.number { "Received" } th.number { "Sent" } th.number { "Transfers" } } }
            tbody {
                @for period in periods.iter().rev() {
                    tr {
                        td.nowrap { (period.name) }
                        td.number { (unit.text(period.received)) }
                        td.number { (unit.text(period.sent)) }
                        td.number { (period.transfers) }
                    }
                }
            }
        } }
    }
}

/// The parts of all money that are shown, if only the largest transfers were read.
fn read_part(asset: &AssetTimeline) -> Option<String> {
    let total = |of: fn(&assay_engine::timeline::WeekAmounts) -> u128| {
        asset.weeks.iter().map(of).fold(0, u128::saturating_add)
    };
    let (received, sent) = (total(|week| week.received), total(|week| week.sent));
    if received >= asset.received && sent >= asset.sent {
        return None;
    }
    Some(format!(
        "The largest transfers: {} of all that was received, {} of all that was sent.",
        percent(share(received, asset.received)),
        percent(share(sent, asset.sent))
    ))
}

/// A part in millionths, rounded down.
fn share(part: u128, whole: u128) -> u64 {
    let millionths = part.saturating_mul(1_000_000).checked_div(whole).unwrap_or(1_000_000);
    u64::try_from(millionths.min(1_000_000)).unwrap_or_default()
}

const fn plural(length: PeriodLength) -> &'static str {
    match length {
        PeriodLength::Week => "weeks",
        PeriodLength::Month => "months",
        PeriodLength::Quarter => "quarters",
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
