//! Columns over days or weeks, each stacked of parts.

use crate::svg::{Picture, SvgElements, Tenths};

const WIDTH: i64 = 352;
/// Left end, width and lower end of the columns, and their largest height.
const LEFT: i64 = 52;
const ACROSS: i64 = 296;
const GROUND: i64 = 120;
const MOST: i64 = 100;
/// Largest width of a column.
const WIDEST: i64 = 16;
/// Number of columns that have a name below them, at most.
const NAMED: usize = 5;

/// A column: a day or a week.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartColumn {
    /// Name, such as a day.
    pub name: String,
    /// Content of the column, in one sentence.
    pub title: String,
    /// Class and size of each part, the lowest part first: `own`, `risky`, `severe`, `service` or `plain`.
    pub parts: Vec<(&'static str, u128)>,
}

impl ChartColumn {
    fn whole(&self) -> u128 {
        self.parts.iter().fold(0, |sum, (_, size)| sum.saturating_add(*size))
    }
}

/// Draws columns side by side on one scale. `text_of` writes a size on the scale, `label` describes the picture.
#[must_use]
pub fn column_chart(
    label: String,
    columns: &[ChartColumn],
    text_of: &dyn Fn(u128) -> String,
) -> Picture {
    let mut elements = SvgElements::default();
    let most = columns.iter().map(ChartColumn::whole).max().unwrap_or_default().max(1);
    for (part, of) in [(0_u128, 1_u128), (1, 2), (1, 1)] {
        let size = most / of * part;
        if part == 1 && of == 2 && most < 2 {
            continue;
        }
        let y = Tenths(Tenths::px(GROUND).0 - height(size, most).0);
        elements.line("rule", (Tenths::px(LEFT), y), (Tenths::px(LEFT + ACROSS), y));
        elements.text("end soft", Tenths::px(LEFT - 8), Tenths(y.0 + 40), &text_of(size));
    }
    let count = i64::try_from(columns.len()).unwrap_or(i64::MAX).max(1);
    let slot = Tenths::px(ACROSS).0 / count;
    let width = (slot * 3 / 4).clamp(1, Tenths::px(WIDEST).0);
    let named_every = columns.len().div_ceil(NAMED).max(1);
    let mut left = Tenths::px(LEFT).0;
    for (index, column) in columns.iter().enumerate() {
        let middle = left + slot / 2;
        // The last column is named, and others before it in equal steps.
        if (columns.len() - 1 - index).is_multiple_of(named_every) {
            elements.text("end soft", Tenths(left + slot), Tenths::px(GROUND + 18), &column.name);
        }
        if column.whole() > 0 {
            elements.focusable(
                "bar",
                &column.title,
                &stack(column, middle - width / 2, width, most),
            );
        }
        left += slot;
    }
    Picture::new(WIDTH, GROUND + 28, label, elements.finish())
}

/// The parts of a column, from the ground upwards. A part that is not nothing is at least a pixel high.
fn stack(column: &ChartColumn, left: i64, width: i64, most: u128) -> SvgElements {
    let mut parts = SvgElements::default();
    let mut y = Tenths::px(GROUND).0;
    for (class, size) in column.parts.iter().filter(|(_, size)| *size > 0) {
        let height = height(*size, most).0.max(10);
        y -= height;
        parts.rect(class, (Tenths(left), Tenths(y)), (Tenths(width), Tenths(height)));
    }
    parts
}

/// The height of a size on a scale whose upper end is `most`.
fn height(size: u128, most: u128) -> Tenths {
    Tenths::part(Tenths::px(MOST), size, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, parts: &[(&'static str, u128)]) -> ChartColumn {
        ChartColumn { name: name.into(), title: format!("{name} <b>"), parts: parts.to_vec() }
    }

    #[test]
    fn the_largest_column_is_as_high_as_the_scale() {
        assert_eq!(height(5, 10), Tenths::px(MOST / 2));
        assert_eq!(height(10, 10), Tenths::px(MOST));
        assert_eq!(height(0, 10), Tenths::px(0));
        assert_eq!(height(u128::MAX, u128::MAX), Tenths::px(MOST));
        assert_eq!(height(u128::MAX / 2, u128::MAX), Tenths(Tenths::px(MOST).0 / 2 - 1));
    }

    #[test]
    fn columns_are_stacked_of_their_parts() {
        let columns = [
            column("1 May", &[("own", 6), ("severe", 2)]),
            column("2 May", &[]),
            column("3 May", &[("own", 4)]),
        ];
        let svg = column_chart("Checks".into(), &columns, &|size| size.to_string()).inline();
        assert_eq!(svg.matches("<rect").count(), 3);
        assert_eq!(svg.matches("tabindex").count(), 2, "{svg}");
        assert!(svg.contains("height=\"75\"") && svg.contains("height=\"25\""), "{svg}");
        assert!(svg.contains("3 May &lt;b&gt;") && svg.contains(">8</text>"));
    }

    #[test]
    fn nothing_is_drawn_of_no_columns() {
        let svg = column_chart("Checks".into(), &[], &|size| size.to_string()).inline();
        assert!(!svg.contains("<rect"), "{svg}");
    }
}
