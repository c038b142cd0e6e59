//! Plain tables and spans of time.

use jiff::Timestamp;

/// Rows with their columns aligned; the last column is not padded.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            if column + 1 == N { cell.clone() } else { format!("{cell:<width$}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// How long ago something was, in its largest unit.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs();
    match seconds {
        ..0 => "in the future".to_owned(),
        0..60 => "just now".to_owned(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let row = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
        assert_eq!(table(&[row("ID", "NAME"), row("äöüß", "x")]), "ID    NAME\näöüß  x\n");
    }

    #[test]
    fn time_is_told_in_its_largest_unit() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        for (seconds, told) in [
            (0, "just now"),
            (90, "1 min ago"),
            (7200, "2 h ago"),
            (200_000, "2 days ago"),
            (-5, "in the future"),
        ] {
            let then = Timestamp::from_second(1_000_000 - seconds).unwrap();
            assert_eq!(ago(then, now), told);
        }
    }
}
