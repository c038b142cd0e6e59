//! A transaction for the terminal.

use assay_address::ChainId;

use super::{page::Page, text::Unit};

/// The inputs or the outputs of a transaction.
pub(crate) struct SideTable<'a> {
    /// Title.
    pub(crate) title: &'static str,
    /// Number of inputs or outputs.
    pub(crate) count: u64,
    /// Total of the known values of the inputs or outputs, in base units.
    pub(crate) total: u128,
    /// Number of inputs of unknown value, and their minimum total in base units.
    pub(crate) unknown: (u64, u128),
    /// The inputs or outputs that are shown.
    pub(crate) rows: Vec<SideRow<'a>>,
}

/// An input or output.
pub(crate) struct SideRow<'a> {
    /// Index in the transaction.
    pub(crate) index: u32,
    /// Value, in base units.
    pub(crate) value: u128,
    /// Address.
    pub(crate) address: Option<&'a str>,
    /// Entity or category of the address.
    pub(crate) owner: Option<String>,
}

/// Draws head lines, and sections with a title and entries each, in lines of at most `width` columns.
pub(crate) fn sections(
    head: &[String],
    sections: &[(String, Vec<String>)],
    width: usize,
) -> String {
    let mut page = Page::new(width);
    for line in head {
        page.line(line);
    }
    for (title, entries) in sections {
        page.gap();
        page.line(title);
        for entry in entries {
            page.hanging("  ", "    ", entry);
        }
        if entries.is_empty() {
            page.hanging("  ", "    ", "none");
        }
    }
    page.finish()
}

/// Draws a transaction below its head lines, in lines of at most `width` columns.
pub(crate) fn transaction(
    chain: ChainId,
    head: &[String],
    sides: &[SideTable<'_>],
    width: usize,
) -> String {
    let mut page = Page::new(width);
    for line in head {
        page.line(line);
    }
    for side in sides {
        draw(&mut page, chain, side);
    }
    page.finish()
}

fn draw(page: &mut Page, chain: ChainId, side: &SideTable<'_>) {
    let (unknown, least) = side.unknown;
    let bound = if unknown > 0 { "at least " } else { "" };
    let unit = Unit::native(chain);
    page.gap();
    page.line(format!("{}  {}  {bound}{}", side.title, side.count, unit.text(side.total)));
    let amounts: Vec<String> = side.rows.iter().map(|row| unit.text(row.value)).collect();
    let amount_width = amounts.iter().map(String::len).max().unwrap_or_default();
    let index_width = side.rows.iter().map(|row| row.index.to_string().len()).max().unwrap_or(1);
    let further = " ".repeat(index_width + 4);
    for (row, amount) in side.rows.iter().zip(&amounts) {
        let owner = row.owner.as_ref().map(|owner| format!("  {owner}")).unwrap_or_default();
        let text = format!("{}{owner}", row.address.unwrap_or("(no address)"));
        page.hanging(
            &format!("  {:>index_width$}  {amount:>amount_width$}  ", row.index),
            &further,
            text,
        );
    }
    if unknown > 0 {
        let least = unit.text(least);
        let text =
            format!("{unknown} of unknown value, from before the first block: at least {least}");
        page.hanging("  ", "    ", text);
    }
    let shown = u64::try_from(side.rows.len()).unwrap_or(u64::MAX);
    let rest = side.count.saturating_sub(unknown).saturating_sub(shown);
    if rest > 0 {
        page.hanging("  ", "    ", format!("{rest} more: raise --most to show them"));
    }
}
