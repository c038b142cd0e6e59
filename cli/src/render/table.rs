//! Plain tables.

use textwrap::core::display_width;

use super::page::Page;

/// Rows with their columns aligned; the first row is the header. A table that is wider than `width` becomes one block a
/// row, with a line a column; without a width, a row is always one line.
pub(crate) fn table<const N: usize>(rows: &[[String; N]], width: Option<usize>) -> String {
    let lines = aligned(rows);
    let Some(width) = width else { return lines };
    match rows.split_first() {
        Some((header, rows)) if lines.lines().any(|line| display_width(line) > width) => {
            blocks(header, rows, width)
        }
        _ => lines,
    }
}

fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = display_width(cell).max(*width);
        }
    }
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| {
            let padding = width.saturating_sub(display_width(cell));
            format!("{cell}{:padding$}", "")
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn blocks<const N: usize>(header: &[String; N], rows: &[[String; N]], width: usize) -> String {
    let names = header.iter().map(|name| display_width(name)).max().unwrap_or_default() + 2;
    let mut page = Page::new(width);
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            page.gap();
        }
        for (name, cell) in header.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
            page.field(0, names, name, cell);
        }
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(a: &str, b: &str) -> [String; 2] {
        [a.to_owned(), b.to_owned()]
    }

    #[test]
    fn columns_line_up() {
        let rows = [row("ID", "NAME"), row("äöüß", "x")];
        assert_eq!(table(&rows, None), "ID    NAME\näöüß  x\n");
        assert_eq!(table(&rows, Some(80)), table(&rows, None));
    }

    #[test]
    fn a_table_that_does_not_fit_becomes_blocks() {
        let long = "word ".repeat(10);
        let rows = [row("ID", "NAME"), row("1", long.trim()), row("2", "x")];
        assert_eq!(
            table(&rows, Some(40)),
            "ID    1\nNAME  word word word word word word word\n      word word word\n\nID    2\nNAME  x\n"
        );
        assert_eq!(table(&rows, None).lines().count(), 3);
    }
}
