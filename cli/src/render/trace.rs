//! A trace for the terminal: each endpoint with its paths, and the date of every transaction.

use std::collections::BTreeMap;

use anstyle::Style;
use assay_engine::{
    chain::Chain,
    evidence::{Direction, FlowDistance, PathStep},
};
use jiff::civil::Date;

use super::{
    flows::title,
    page::Page,
    text::{coins, counted, further_than, hops, percent},
};

/// Largest number of paths that are drawn of an endpoint.
const MAX_PATHS: usize = 10;
/// Columns of a date.
const DATE: usize = 10;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// One direction of a trace.
pub(crate) struct TracedDirection<'a> {
    /// The direction.
    pub(crate) direction: Direction,
    /// All funds of the direction, in base units.
    pub(crate) whole: u128,
    /// Its endpoints.
    pub(crate) ends: Vec<TracedEnd<'a>>,
}

/// An endpoint of a trace.
pub(crate) struct TracedEnd<'a> {
    /// Type of the endpoint, with the reason where it is unresolved.
    pub(crate) name: String,
    /// Name of the entity there.
    pub(crate) entity: Option<&'a str>,
    /// Its distance from the subject.
    pub(crate) distance: FlowDistance,
    /// Funds, in base units.
    pub(crate) amount: u128,
    /// Millionths of all funds of the direction.
    pub(crate) share: u64,
    /// A sanctions list names it.
    pub(crate) listed: bool,
    /// The subject took part in the transfer.
    pub(crate) solicited: bool,
    /// Labels of addresses on the way.
    pub(crate) labels: Vec<&'static str>,
    /// Its paths, the largest first.
    pub(crate) paths: Vec<TracedPath<'a>>,
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
    /// The transactions that are drawn.
    pub(crate) fn transactions(&self) -> impl Iterator<Item = &'a str> {
        let paths = self.ends.iter().flat_map(|end| end.paths.iter().take(MAX_PATHS));
        paths.flat_map(|path| path.steps.iter().map(|step| step.transaction.as_str()))
    }
}

/// Draws a trace, in lines of at most `width` columns.
pub(crate) fn trace(
    chain: &Chain,
    subject: &str,
    height: u64,
    complete: bool,
    directions: &[TracedDirection<'_>],
    dates: &BTreeMap<String, Date>,
    width: usize,
) -> String {
    let mut page = Page::new(width);
    page.line(format!("{BOLD}{subject}{BOLD:#}  {}, up to block {height}", chain.name));
    if !complete {
        page.line("The time limit was reached: run the command again to trace further.");
    }
    for direction in directions {
        page.gap();
        let amount = coins(chain, direction.whole);
        page.line(format!("{BOLD}{}{BOLD:#}  {amount}", title(direction.direction)));
        for end in &direction.ends {
            draw_end(&mut page, chain, end, dates);
        }
    }
    page.finish()
}

fn draw_end(page: &mut Page, chain: &Chain, end: &TracedEnd<'_>, dates: &BTreeMap<String, Date>) {
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
    page.hanging(&first, "           ", format!("{about}  {}", coins(chain, end.amount)));
    for path in end.paths.iter().take(MAX_PATHS) {
        page.hanging(
            "    ",
            "      ",
            format!("{DIM}path of {}{DIM:#}", coins(chain, path.amount)),
        );
        for step in path.steps {
            let date = dates.get(&step.transaction).map(Date::to_string).unwrap_or_default();
            let address = step.address.as_deref().unwrap_or("(no address)");
            // The address has a line of its own: together they are wider than a terminal.
            page.hanging(&format!("    {date:DATE$}  "), "", &step.transaction);
            page.hanging(&format!("    {:DATE$}  ", ""), "", address);
        }
    }
    let more = end.paths.len().saturating_sub(MAX_PATHS);
    if more > 0 {
        let amount = end.paths.iter().skip(MAX_PATHS).map(|path| path.amount).sum();
        let paths = counted(u64::try_from(more).unwrap_or(u64::MAX), "path", "paths");
        let text = format!("{paths} more of {} (--json)", coins(chain, amount));
        page.hanging("    ", "      ", text);
    }
    if end.other > 0 && !end.paths.is_empty() {
        let text = format!("{} by further paths", coins(chain, end.other));
        page.hanging("    ", "      ", text);
    }
}
