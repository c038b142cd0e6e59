//! A trace for the terminal: each endpoint with its paths, and the date of every transaction.

use std::collections::BTreeMap;

use anstyle::Style;
use assay_address::ChainId;
use assay_engine::{
    account::{Asset, AssetId, scored_asset},
    evidence::{Direction, FlowDistance, PathStep},
};
use jiff::civil::Date;

use super::{
    flows::title,
    page::Page,
    text::{Unit, counted, further_than, hops, percent},
};

/// Largest number of paths of a direction that are drawn unless all paths are requested.
const MAX_PATHS: usize = 10;
/// Largest number of transactions of one path that are drawn, and the number of them that are drawn from its beginning.
const MAX_STEPS: (usize, usize) = (8, 4);
/// Number of columns that a date takes.
const DATE: usize = 10;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// One direction of a trace.
pub(crate) struct TracedDirection<'a> {
    /// The direction.
    pub(crate) direction: Direction,
    /// Unit of the amounts.
    pub(crate) unit: Unit<'a>,
    /// All funds of the direction, in base units.
    pub(crate) whole: u128,
    /// Endpoints of the direction.
    pub(crate) ends: Vec<TracedEnd<'a>>,
    /// Number of endpoints that are not drawn, and their funds in base units.
    pub(crate) left_out: (u64, u128),
    /// True if long paths are drawn with all their transactions.
    pub(crate) whole_paths: bool,
}

/// An endpoint of a trace.
pub(crate) struct TracedEnd<'a> {
    /// Type of the endpoint, with the reason where it is unresolved.
    pub(crate) name: String,
    /// Name of the entity at the endpoint.
    pub(crate) entity: Option<&'a str>,
    /// Distance of the endpoint from the subject, in hops.
    pub(crate) distance: FlowDistance,
    /// Funds, in base units.
    pub(crate) amount: u128,
    /// Share of the endpoint in all funds of the direction, in millionths.
    pub(crate) share: u64,
    /// True if a sanctions list names the endpoint.
    pub(crate) listed: bool,
    /// True if the endpoint is listed, or its category or a label on a path is risky.
    pub(crate) is_risky: bool,
    /// True if the subject took part in the transfer.
    pub(crate) solicited: bool,
    /// Labels of addresses on the paths.
    pub(crate) labels: Vec<&'static str>,
    /// Paths of the endpoint, the largest first.
    pub(crate) paths: Vec<TracedPath<'a>>,
    /// Number of paths that are not drawn, and their funds in base units.
    pub(crate) left_out: (u64, u128),
    /// Funds that took none of the paths, in base units.
    pub(crate) other: u128,
}

/// A path of a trace.
pub(crate) struct TracedPath<'a> {
    /// Funds, in base units.
    pub(crate) amount: u128,
    /// The transactions from the subject to the endpoint.
    pub(crate) steps: &'a [PathStep],
}

impl<'a> TracedDirection<'a> {
    /// The direction with its most important paths only: one path of each endpoint, paths of risky endpoints first,
    /// then those with the largest amounts; then further paths of these endpoints. An endpoint without a path counts as
    /// one path.
    pub(crate) fn shortened(mut self) -> Self {
        let mut order: Vec<usize> = (0..self.ends.len()).collect();
        order.sort_by_key(|index| self.ends.get(*index).is_none_or(|end| !end.is_risky));
        let mut shown = vec![0_usize; self.ends.len()];
        let mut left = MAX_PATHS;
        for most in [1, MAX_PATHS] {
            for index in &order {
                let (Some(end), Some(shown)) = (self.ends.get(*index), shown.get_mut(*index))
                else {
                    continue;
                };
                let more = end.paths.len().max(1).min(most).saturating_sub(*shown).min(left);
                *shown += more;
                left -= more;
            }
        }
        let mut shown = shown.into_iter();
        let (mut count, mut amount) = self.left_out;
        self.ends.retain_mut(|end| {
            let shown = shown.next().unwrap_or_default();
            if shown == 0 {
                count += 1;
                amount += end.amount;
                return false;
            }
            let others = end.paths.split_off(shown.min(end.paths.len()));
            end.left_out.0 += u64::try_from(others.len()).unwrap_or(u64::MAX);
            end.left_out.1 += others.iter().map(|path| path.amount).sum::<u128>();
            true
        });
        self.left_out = (count, amount);
        self.whole_paths = false;
        self
    }

    /// The steps of the paths that are drawn.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &'a PathStep> {
        self.ends.iter().flat_map(|end| &end.paths).flat_map(|path| path.steps)
    }
}

/// Draws a trace, in lines of at most `width` columns.
pub(crate) fn trace(
    chain: ChainId,
    subject: &str,
    height: u64,
    complete: bool,
    directions: &[TracedDirection<'_>],
    dates: &BTreeMap<String, Date>,
    width: usize,
) -> String {
    let mut page = Page::new(width);
    page.line(format!("{BOLD}{subject}{BOLD:#}  {}, up to block {height}", chain.info().name));
    if !complete {
        page.line("The time limit was reached: run the command again to trace further.");
    }
    for direction in directions {
        page.gap();
        let unit = direction.unit;
        let amount = unit.text(direction.whole);
        page.line(format!("{BOLD}{}{BOLD:#}  {amount}", title(direction.direction)));
        for end in &direction.ends {
            draw_end(&mut page, (chain, unit), end, dates, direction.whole_paths);
        }
        if let (1.., amount) = direction.left_out {
            let ends = counted(direction.left_out.0, "endpoint", "endpoints");
            page.gap();
            page.line(format!("  {ends} more of {} (--all)", unit.text(amount)));
        }
    }
    page.finish()
}

fn draw_end(
    page: &mut Page,
    (chain, unit): (ChainId, Unit<'_>),
    end: &TracedEnd<'_>,
    dates: &BTreeMap<String, Date>,
    whole_paths: bool,
) {
    let mut remarks = vec![match end.entity {
        Some(entity) => format!("{BOLD}{entity}{BOLD:#} ({})", end.name),
        None => end.name.clone(),
    }];
    match end.distance {
        FlowDistance::Hops(0) => {}
        FlowDistance::Hops(number) => remarks.push(hops(number.into())),
        FlowDistance::Further(number) => remarks.push(further_than(number)),
    }
    if end.listed {
        remarks.push("listed".to_owned());
    }
    if !end.solicited {
        remarks.push("unsolicited".to_owned());
    }
    if !end.labels.is_empty() {
        remarks.push(format!("via addresses labelled {}", end.labels.join(", ")));
    }
    let about = remarks.join(", ");
    let first = format!("  {:>7}  ", percent(end.share));
    page.gap();
    page.hanging(&first, "           ", format!("{about}  {}", unit.text(end.amount)));
    for path in &end.paths {
        page.hanging("    ", "      ", format!("{DIM}path of {}{DIM:#}", unit.text(path.amount)));
        let (most, first) = MAX_STEPS;
        let skipped = if whole_paths { 0 } else { path.steps.len().saturating_sub(most) };
        for (index, step) in path.steps.iter().enumerate() {
            if (first..first + skipped).contains(&index) {
                if index == first {
                    let count = u64::try_from(skipped).unwrap_or(u64::MAX);
                    let count = counted(count, "more transaction", "more transactions");
                    page.hanging(&format!("    {:DATE$}  ", ""), "", format!("{count} (--all)"));
                }
                continue;
            }
            let date = dates.get(&step.transaction).map(Date::to_string).unwrap_or_default();
            let address = step.address.as_deref().unwrap_or("(no address)");
            // The address has a line of its own: together they are wider than a terminal.
            page.hanging(&format!("    {date:DATE$}  "), "", &step.transaction);
            let indent = format!("    {:DATE$}  ", "");
            page.hanging(&indent, "", address);
            if let Some(moved) = moved(chain, step) {
                page.hanging(&indent, &indent, moved);
            }
        }
    }
    if let (more @ 1.., amount) = end.left_out {
        let paths = counted(more, "path", "paths");
        let text = format!("{paths} more of {} (--all)", unit.text(amount));
        page.hanging("    ", "      ", text);
    }
    if end.other > 0 && !end.paths.is_empty() {
        let text = format!("{} by further paths", unit.text(end.other));
        page.hanging("    ", "      ", text);
    }
}

/// The transfer of a step on an account chain: the amount, its place in the transaction, the party, and the chain if the step
/// is behind a bridge.
fn moved(chain: ChainId, step: &PathStep) -> Option<String> {
    let other = step.blockchain.as_deref();
    let chain = other.map_or(Some(chain), |other| other.parse().ok())?;
    let asset = Asset::parse(chain, step.asset.as_deref()?).ok()?;
    let ticker = scored_asset(AssetId { chain, asset })?.ticker;
    let amount = Unit::new(chain, ticker).text(step.amount.as_deref()?.parse().ok()?);
    let place = step.place.as_deref().map(|place| format!(", {place}")).unwrap_or_default();
    let party = step.label.as_ref().map(|label| match &label.entity {
        Some(entity) => format!("; {entity} ({})", label.category),
        None => format!("; {}", label.category),
    });
    let behind = other.map(|other| format!(" on {other}")).unwrap_or_default();
    Some(format!("{amount}{behind}{place}{}", party.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use assay_address::ChainId;
    use jiff::Timestamp;

    use super::*;

    fn steps(count: usize) -> Vec<PathStep> {
        let step = |number: usize| PathStep {
            blockchain: None,
            via: Vec::new(),
            transaction: format!("{number:064x}"),
            address: Some(format!("address-{number}")),
            time: Timestamp::UNIX_EPOCH,
            amount: Some("1".to_owned()),
            asset: None,
            place: None,
            label: None,
        };
        (0..count).map(step).collect()
    }

    fn end(amount: u128, is_risky: bool, steps: &[PathStep], paths: usize) -> TracedEnd<'_> {
        TracedEnd {
            name: "exchange".to_owned(),
            entity: None,
            distance: FlowDistance::Hops(1),
            amount,
            share: 0,
            listed: false,
            is_risky,
            solicited: true,
            labels: vec![],
            paths: (0..paths).map(|_| TracedPath { amount: 1, steps }).collect(),
            left_out: (0, 0),
            other: 0,
        }
    }

    fn direction(ends: Vec<TracedEnd<'_>>) -> TracedDirection<'_> {
        let whole = ends.iter().map(|end| end.amount).sum();
        let (direction, unit) = (Direction::Source, Unit::native(ChainId::BTC));
        TracedDirection { direction, unit, whole, ends, left_out: (0, 0), whole_paths: true }
    }

    fn drawn(direction: TracedDirection<'_>) -> String {
        trace(ChainId::BTC, "subject", 1, true, &[direction], &BTreeMap::new(), 80)
    }

    #[test]
    fn ten_paths_of_a_side_are_drawn_the_risky_ones_first_and_the_others_are_counted() {
        let steps = steps(1);
        let mut ends: Vec<_> = (0..30).map(|rank| end(100 - rank, false, &steps, 1)).collect();
        ends.push(end(1, true, &steps, 1));
        let short = direction(ends).shortened();
        let amounts: Vec<u128> = short.ends.iter().map(|end| end.amount).collect();
        assert_eq!(amounts, [100, 99, 98, 97, 96, 95, 94, 93, 92, 1]);
        assert_eq!(short.left_out, (21, (71..=91).sum()));
        let text = drawn(short);
        assert!(text.contains("21 endpoints more of 0.00001701 BTC (--all)"), "{text}");
    }

    #[test]
    fn further_paths_of_an_endpoint_are_drawn_where_there_is_room() {
        let steps = steps(1);
        let ends = vec![end(50, false, &steps, 20), end(5, false, &steps, 1)];
        let short = direction(ends).shortened();
        let counts: Vec<_> = short.ends.iter().map(|end| (end.paths.len(), end.left_out)).collect();
        assert_eq!(counts, [(9, (11, 11)), (1, (0, 0))]);
        assert!(drawn(short).contains("11 paths more of 0.00000011 BTC (--all)"));
    }

    #[test]
    fn the_middle_of_a_long_path_is_counted_unless_all_is_asked_for() {
        let steps = steps(600);
        let all = direction(vec![end(5, false, &steps, 1)]);
        let whole = drawn(direction(vec![end(5, false, &steps, 1)]));
        assert_eq!(whole.matches("address-").count(), 600);
        let short = drawn(all.shortened());
        assert_eq!(short.matches("address-").count(), 8);
        assert!(short.contains("592 more transactions (--all)"), "{short}");
        assert!(short.contains("address-599"), "the end of the path is drawn");
    }
}
