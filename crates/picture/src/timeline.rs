//! Activity over time: what an address received stands above the line, what it sent below.

use assay_address::ChainId;
use assay_engine::timeline::{AssetTimeline, WeekAmounts};
use jiff::civil::Date;

use crate::{
    svg::{Picture, SvgElements, Tenths},
    text::{Unit, counted, short},
};

const WIDTH: i64 = 352;
/// Left end and width of the columns, the line between both directions, and the largest height of a column.
const LEFT: i64 = 4;
const ACROSS: i64 = 344;
const GROUND: i64 = 74;
const MOST: i64 = 52;
/// Largest width of a column.
const WIDEST: i64 = 16;
/// Number of periods that have a name below them, at most, and the width of a name.
const NAMED: usize = 4;
const NAME: i64 = 72;
/// Most weeks, and most months, that have a column each; of longer times, months or quarters have one.
const MOST_WEEKS: usize = 105;
const MOST_MONTHS: usize = 120;

/// Length of the periods of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodLength {
    /// Weeks from Monday on.
    Week,
    /// Calendar months. A week counts for the month of its Monday.
    Month,
    /// Calendar quarters. A week counts for the quarter of its Monday.
    Quarter,
}

/// Amounts of one period, in base units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeriodAmounts {
    /// Name: the Monday of a week, `2026-03` or `2026 Q1`.
    pub name: String,
    /// Received.
    pub received: u128,
    /// Sent.
    pub sent: u128,
    /// Number of transfers in both directions.
    pub transfers: u64,
}

impl PeriodLength {
    /// Returns the shortest length of which the time between two days has few enough periods to be told apart.
    fn of(first: Date, last: Date) -> Self {
        let count = |length: Self| length.index(last) - length.index(first) + 1;
        let is_few = |length, most: usize| count(length) <= i64::try_from(most).unwrap_or(i64::MAX);
        if is_few(Self::Week, MOST_WEEKS) {
            Self::Week
        } else if is_few(Self::Month, MOST_MONTHS) {
            Self::Month
        } else {
            Self::Quarter
        }
    }

    /// The noun of one period.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Week => "week",
            Self::Month => "month",
            Self::Quarter => "quarter",
        }
    }

    /// Number of the period of a day, counted from the year 0 or from a Monday of 1970.
    fn index(self, day: Date) -> i64 {
        let month = i64::from(day.year()) * 12 + i64::from(day.month()) - 1;
        match self {
            Self::Week => days(day).div_euclid(7),
            Self::Month => month,
            Self::Quarter => month.div_euclid(3),
        }
    }

    /// The name of the period with a number.
    fn name(self, index: i64) -> String {
        match self {
            Self::Week => {
                let monday = jiff::Span::new().try_days(index * 7);
                let monday = monday.ok().and_then(|span| A_MONDAY.checked_add(span).ok());
                monday.unwrap_or(A_MONDAY).to_string()
            }
            Self::Month => format!("{}-{:02}", index.div_euclid(12), index.rem_euclid(12) + 1),
            Self::Quarter => format!("{} Q{}", index.div_euclid(4), index.rem_euclid(4) + 1),
        }
    }
}

/// A Monday, from which weeks are counted.
const A_MONDAY: Date = Date::constant(1970, 1, 5);

/// Number of days since [`A_MONDAY`].
fn days(day: Date) -> i64 {
    day.duration_since(A_MONDAY).as_hours().div_euclid(24)
}

/// Returns the length of the periods in which a timeline is shown, and the periods with a transfer, the earliest first.
#[must_use]
pub fn timeline_periods(asset: &AssetTimeline) -> (PeriodLength, Vec<PeriodAmounts>) {
    let (length, periods) = periods(&asset.weeks);
    (length, periods.into_iter().map(|(_, period)| period).collect())
}

/// Periods with a transfer, each with its number.
fn periods(weeks: &[WeekAmounts]) -> (PeriodLength, Vec<(i64, PeriodAmounts)>) {
    let (Some(first), Some(last)) = (weeks.first(), weeks.last()) else {
        return (PeriodLength::Week, Vec::new());
    };
    let length = PeriodLength::of(first.monday, last.monday);
    let mut found: Vec<(i64, PeriodAmounts)> = Vec::new();
    for week in weeks {
        let index = length.index(week.monday);
        if found.last().is_none_or(|(known, _)| *known != index) {
            let name = length.name(index);
            found.push((index, PeriodAmounts { name, received: 0, sent: 0, transfers: 0 }));
        }
        let Some((_, period)) = found.last_mut() else { continue };
        period.received = period.received.saturating_add(week.received);
        period.sent = period.sent.saturating_add(week.sent);
        period.transfers = period.transfers.saturating_add(week.transfers);
    }
    (length, found)
}

/// Draws what an address received and sent in one asset, on one scale. Long times are drawn by months or quarters.
#[must_use]
pub fn timeline_picture(chain: ChainId, address: &str, asset: &AssetTimeline) -> Picture {
    let (length, periods) = periods(&asset.weeks);
    let unit = Unit::new(chain, &asset.asset);
    let most = periods.iter().map(|(_, it)| it.received.max(it.sent)).max().unwrap_or_default();
    let mut elements = SvgElements::default();
    let (left, right) = (Tenths::px(LEFT), Tenths::px(LEFT + ACROSS));
    let (high, low) = (GROUND - MOST, GROUND + MOST);
    for y in [high, GROUND, low] {
        elements.line("rule", (left, Tenths::px(y)), (right, Tenths::px(y)));
    }
    // Both lines stand for the largest amount.
    for (direction, y) in [("received", high - 7), ("sent", low + 16)] {
        elements.text("soft", left, Tenths::px(y), direction);
        if most > 0 {
            elements.text("end soft", right, Tenths::px(y), &unit.text(most));
        }
    }
    let first = periods.first().map_or(0, |(index, _)| *index);
    let last = periods.last().map_or(0, |(index, _)| *index);
    let count = last - first + 1;
    let slot = |index: i64| Tenths::px(LEFT).0 + Tenths::px(ACROSS).0 * (index - first) / count;
    let width = (Tenths::px(ACROSS).0 / count * 3 / 4).clamp(10, Tenths::px(WIDEST).0);
    for (index, period) in &periods {
        let middle = i64::midpoint(slot(*index), slot(*index + 1));
        let column = column(period, Tenths(middle - width / 2), Tenths(width), most);
        elements.titled(&in_words(length, period, unit), &column);
    }
    // The last period is named, and others before it in equal steps.
    let every = usize::try_from(count).unwrap_or(1).div_ceil(NAMED);
    let named = (first..=last).rev().step_by(every).filter(|_| !periods.is_empty());
    for index in named {
        let end = slot(index + 1);
        let (class, x) = if every == 1 {
            ("mid soft", i64::midpoint(slot(index), end))
        } else {
            ("end soft", end)
        };
        if every == 1 || end >= Tenths::px(LEFT + NAME).0 {
            elements.text(class, Tenths(x), Tenths::px(low + 34), &length.name(index));
        }
    }
    let label = label(address, length, &periods, unit);
    Picture::new(WIDTH, low + 42, label, elements.finish())
}

/// The bars of a period: received upwards, sent downwards. An amount that is not nothing is at least a pixel high.
fn column(period: &PeriodAmounts, left: Tenths, width: Tenths, most: u128) -> SvgElements {
    let mut bars = SvgElements::default();
    let ground = Tenths::px(GROUND);
    let height = |size: u128| Tenths::part(Tenths::px(MOST), size, most).max(Tenths::px(1));
    if period.received > 0 {
        let height = height(period.received);
        bars.rect("service", (left, Tenths(ground.0 - height.0)), (width, height));
    }
    if period.sent > 0 {
        bars.rect("plain", (left, ground), (width, height(period.sent)));
    }
    bars
}

/// A period in one sentence.
fn in_words(length: PeriodLength, period: &PeriodAmounts, unit: Unit<'_>) -> String {
    let of = if length == PeriodLength::Week { "week of " } else { "" };
    format!(
        "{of}{}: received {}, sent {}, {}",
        period.name,
        unit.text(period.received),
        unit.text(period.sent),
        counted(period.transfers, "transfer", "transfers")
    )
}

fn label(
    address: &str,
    length: PeriodLength,
    periods: &[(i64, PeriodAmounts)],
    unit: Unit<'_>,
) -> String {
    let subject = format!("Activity of {}", short(Some(address)));
    let (Some((_, first)), Some((_, last))) = (periods.first(), periods.last()) else {
        return format!("{subject}: none");
    };
    let total = |of: fn(&PeriodAmounts) -> u128| {
        unit.text(periods.iter().map(|(_, period)| of(period)).fold(0, u128::saturating_add))
    };
    format!(
        "{subject} by {}, from {} to {}: received {}, sent {}",
        length.noun(),
        first.name,
        last.name,
        total(|period| period.received),
        total(|period| period.sent)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn week(monday: &str, received: u128, sent: u128) -> WeekAmounts {
        WeekAmounts { monday: monday.parse().unwrap(), received, sent, transfers: 2 }
    }

    fn asset(weeks: &[WeekAmounts]) -> AssetTimeline {
        AssetTimeline { asset: "BTC".into(), received: 0, sent: 0, weeks: weeks.to_vec() }
    }

    #[test]
    fn weeks_become_months_and_quarters_where_there_are_too_many() {
        let names = |last: &str| {
            let of = [week("2020-01-06", 1, 0), week("2020-01-13", 2, 4), week(last, 0, 1)];
            let (length, periods) = timeline_periods(&asset(&of));
            let names: Vec<String> = periods.iter().map(|it| it.name.clone()).collect();
            (length, names.join(" "))
        };
        let weeks = "2020-01-06 2020-01-13 2022-01-03";
        assert_eq!(names("2022-01-03"), (PeriodLength::Week, weeks.to_owned()));
        assert_eq!(names("2022-01-10"), (PeriodLength::Month, "2020-01 2022-01".to_owned()));
        assert_eq!(names("2029-12-31"), (PeriodLength::Month, "2020-01 2029-12".to_owned()));
        assert_eq!(names("2030-01-07"), (PeriodLength::Quarter, "2020 Q1 2030 Q1".to_owned()));
    }

    #[test]
    fn every_monday_names_its_week() {
        for monday in ["1970-01-05", "1969-12-29", "2009-01-05", "2026-11-23"] {
            let day: Date = monday.parse().unwrap();
            assert_eq!(PeriodLength::Week.name(PeriodLength::Week.index(day)), monday);
        }
    }

    #[test]
    fn both_directions_are_drawn_on_one_scale() {
        let of = [week("2026-02-02", 200_000_000, 0), week("2026-03-02", 0, 100_000_000)];
        let picture = timeline_picture(ChainId::BTC, "1A1zP1<b>", &asset(&of)).inline();
        // A bar of 52 pixels upwards, and one of 26 downwards.
        assert!(picture.contains("y=\"22\" width=\"16\" height=\"52\""), "{picture}");
        assert!(picture.contains("y=\"74\" width=\"16\" height=\"26\""), "{picture}");
        assert!(picture.contains(
            "<title>week of 2026-02-02: received 2.00000000 BTC, sent 0.00000000 BTC, 2 transfers</title>"
        ));
        assert!(picture.contains(
            "by week, from 2026-02-02 to 2026-03-02: received 2.00000000 BTC, sent 1.00000000 BTC"
        ));
        assert!(picture.contains("1A1zP1&lt;b&gt;") && !picture.contains("tabindex"));
    }

    #[test]
    fn an_empty_timeline_and_the_largest_amounts_are_drawn() {
        let none = timeline_picture(ChainId::BTC, "x", &asset(&[])).inline();
        assert!(none.contains("Activity of x: none") && !none.contains("<rect"), "{none}");
        let largest =
            timeline_picture(ChainId::BTC, "x", &asset(&[week("2026-02-02", u128::MAX, 1)]));
        assert_eq!(largest.inline().matches("<rect").count(), 2);
    }
}
