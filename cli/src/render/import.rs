//! The report of an import.

use std::{collections::BTreeMap, fmt::Write};

use assay_engine::names::SourceId;
use assay_intel::{
    import::{ImportOutcome, ImportedContent, ImportedLabels, ImportedListings, ImportedPrices},
    listings::Rejected,
    plan::{ImportReport, ReportedEntry, prices::PriceChange},
};

use super::{page::Page, text::counted};

/// Largest number of rows of one kind that are printed one by one.
const MAX_ROWS: usize = 10;

/// The report of an import, in lines of at most `width` columns: numbers of rows, then the first rows of each kind.
pub(crate) fn import_outcome(source: &SourceId, outcome: &ImportOutcome, width: usize) -> String {
    let mut page = Page::new(width);
    match outcome {
        ImportOutcome::NotModified => {
            page.line(format!("{source}: the server has nothing newer; counted as verified"));
        }
        ImportOutcome::Unchanged { verified: true, .. } => {
            page.line(format!("{source}: unchanged; counted as verified"));
        }
        ImportOutcome::Unchanged { verified: false, .. } => {
            page.line(format!("{source}: this publication is known; nothing changed"));
        }
        ImportOutcome::Imported(ImportedContent::Listings(imported)) => {
            listings(&mut page, source, imported);
        }
        ImportOutcome::Imported(ImportedContent::Labels(imported)) => {
            labels(&mut page, source, imported);
        }
        ImportOutcome::Imported(ImportedContent::Prices(imported)) => {
            prices(&mut page, source, imported);
        }
    }
    page.finish()
}

fn listings(page: &mut Page, source: &SourceId, imported: &ImportedListings) {
    let ImportedListings { digest, file_digest, published_on, parties, addresses, history, report } =
        imported;
    let filed = if *history { ", filed in the past" } else { "" };
    let ImportReport {
        added,
        removed,
        updated,
        unchanged,
        rejected,
        incomplete,
        invalid,
        unmatched,
        unknown_codes,
    } = &**report;
    page.line(format!(
        "{source}: publication of {published_on}{filed}: {} of {}",
        counted(*addresses, "address", "addresses"),
        counted(*parties, "party", "parties"),
    ));
    indented(
        page,
        &format!(
            "{} added, {} removed, {updated} updated, {unchanged} unchanged, {} rejected",
            added.len(),
            removed.len(),
            rejected.len()
        ),
    );
    for (sign, entries) in [('+', added), ('-', removed)] {
        // A first import adds every address: its list says no more than the number.
        if entries.len() <= MAX_ROWS {
            for entry in entries {
                indented(page, &format!("{sign} {}", line(entry)));
            }
        }
    }
    rejections(page, rejected);
    let incomplete: Vec<_> = incomplete
        .iter()
        .map(|Rejected { position, reason }| format!("kept {position}: {reason}"))
        .collect();
    rows(page, &incomplete, "kept in part");
    let invalid: Vec<_> = invalid
        .iter()
        .map(|invalid| {
            format!("kept, but not a valid address: {}: {}", line(&invalid.entry), invalid.reason)
        })
        .collect();
    rows(page, &invalid, "kept, but not valid");
    for (chain, number) in unmatched {
        indented(
            page,
            &format!(
                "no check of {chain} can match {}: if the list blocks, checks of {chain} are not complete until the \
                 list is mended or the policy accepts the text (acceptedTexts)",
                counted(*number, "text", "texts")
            ),
        );
    }
    let under_unknown_codes = total(unknown_codes);
    counts(page, unknown_codes, |kinds| {
        format!(
            "{} under {}, which count on every chain of their form and for `other`",
            counted(under_unknown_codes, "address", "addresses"),
            counted(kinds, "unknown asset code", "unknown asset codes"),
        )
    });
    indented(page, &format!("content {digest}"));
    indented(page, &format!("file    {file_digest}"));
}

fn labels(page: &mut Page, source: &SourceId, imported: &ImportedLabels) {
    let ImportedLabels {
        digest,
        files,
        published_on,
        labels,
        change,
        rejected,
        unknown_terms,
        unsupported,
    } = imported;
    let labels = counted(u64::try_from(*labels).unwrap_or(u64::MAX), "label", "labels");
    let files = counted(u64::try_from(*files).unwrap_or(u64::MAX), "file", "files");
    page.line(format!("{source}: {labels} of {published_on} from {files}"));
    indented(
        page,
        &format!(
            "{} added, {} removed, {} unchanged, {} rejected",
            change.added,
            change.removed,
            change.unchanged,
            rejected.len()
        ),
    );
    if imported.is_mostly_replaced() {
        let text = "note: more than half of the labels before were replaced: `assay export labels --history` \
                    has both";
        indented(page, text);
    }
    rejections(page, rejected);
    let (uses, left_out) = (total(unknown_terms), total(unsupported));
    counts(page, unknown_terms, |terms| {
        format!(
            "{}, kept with their labels ({})",
            counted(terms, "unknown term", "unknown terms"),
            counted(uses, "use", "uses"),
        )
    });
    counts(page, unsupported, |chains| {
        format!(
            "{} left out: {} not supported",
            counted(left_out, "label", "labels"),
            counted(chains, "blockchain is", "blockchains are"),
        )
    });
    indented(page, &format!("content {digest}"));
}

fn prices(page: &mut Page, source: &SourceId, imported: &ImportedPrices) {
    let ImportedPrices {
        digest,
        file_digest,
        files,
        prices,
        assets,
        first_day,
        newest_day,
        change,
        repeated,
    } = imported;
    let number = |number: &usize| u64::try_from(*number).unwrap_or(u64::MAX);
    page.line(format!(
        "{source}: {} of {} from {first_day} to {newest_day} from {}",
        counted(number(prices), "price", "prices"),
        counted(number(assets), "asset", "assets"),
        counted(number(files), "file", "files"),
    ));
    let PriceChange { added, changed, unchanged } = change;
    indented(page, &format!("{added} added, {changed} changed, {unchanged} unchanged"));
    if *repeated > 0 {
        let rows = counted(*repeated, "row repeats", "rows repeat");
        indented(page, &format!("{rows} the price of another row"));
    }
    indented(page, &format!("content {digest}"));
    indented(page, &format!("file    {file_digest}"));
}

fn indented(page: &mut Page, text: &str) {
    page.hanging("  ", "    ", text);
}

fn total(counts: &BTreeMap<String, u64>) -> u64 {
    counts.values().sum()
}

fn line(entry: &ReportedEntry) -> String {
    let ReportedEntry { list, entity_id, entity, asset_code, address } = entry;
    format!("{asset_code} {address} {entity} ({list} {entity_id})")
}

fn rejections(page: &mut Page, rejected: &[Rejected]) {
    let lines: Vec<_> = rejected
        .iter()
        .map(|rejected| format!("rejected {}: {}", rejected.position, rejected.reason))
        .collect();
    rows(page, &lines, "rejected");
}

/// Adds the first rows, and the number of the other rows.
fn rows(page: &mut Page, lines: &[String], subject: &str) {
    for line in lines.iter().take(MAX_ROWS) {
        indented(page, line);
    }
    if let Some(more) = lines.len().checked_sub(MAX_ROWS).filter(|more| *more > 0) {
        indented(page, &format!("and {more} more {subject}: --json lists all"));
    }
}

/// Adds a line with the total of `counts`, and the most frequent counts on the next line.
fn counts(page: &mut Page, counts: &BTreeMap<String, u64>, headline: impl Fn(u64) -> String) {
    let number = u64::try_from(counts.len()).unwrap_or(u64::MAX);
    if number == 0 {
        return;
    }
    indented(page, &format!("{}:", headline(number)));
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let mut line = String::new();
    let mut shown = 0;
    for (name, count) in sorted {
        let next = format!("{name} {count}");
        let rest = " and 00000 more (--json lists all)".len();
        if shown > 0 && 4 + line.chars().count() + 2 + next.chars().count() + rest > page.width() {
            break;
        }
        if shown > 0 {
            line.push_str(", ");
        }
        line.push_str(&next);
        shown += 1;
    }
    let more = counts.len() - shown;
    if more > 0 {
        let _ = write!(line, " and {more} more (--json lists all)");
    }
    page.hanging("    ", "      ", line);
}

#[cfg(test)]
mod tests {
    use assay_store::intel::LabelChange;
    use jiff::civil::date;

    use super::*;

    fn source() -> SourceId {
        "explorers".parse().unwrap()
    }

    const WIDTH: usize = 80;

    fn fits(text: &str) {
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }

    #[test]
    fn unknown_terms_are_counted_and_the_most_frequent_are_named() {
        // Given 368 terms that no table knows, one of them more frequent than the others.
        let terms = (0..368).map(|number| (format!("project-{number:03}"), 2));
        let unknown_terms = terms.chain([("meme".to_owned(), 812)]).collect();
        let imported = ImportedLabels {
            digest: "ab".repeat(32),
            files: 5,
            published_on: date(2026, 11, 21),
            labels: 42_620,
            change: LabelChange { added: 42_620, removed: 0, unchanged: 0 },
            rejected: vec![
                Rejected {
                    position: "etherscan.json, entry 7".to_owned(),
                    reason: "not an address of eth: the address is empty ".repeat(3),
                };
                12
            ],
            unknown_terms,
            unsupported: [("ADA".to_owned(), 1)].into(),
        };
        let outcome = ImportOutcome::Imported(ImportedContent::Labels(imported));
        // Then the report is short and fits a terminal.
        let text = import_outcome(&source(), &outcome, WIDTH);
        fits(&text);
        assert!(text.starts_with("explorers: 42,620 labels of 2026-11-21 from 5 files\n"));
        assert!(text.contains("  and 2 more rejected: --json lists all\n"), "{text}");
        assert!(
            text.contains(
                "  369 unknown terms, kept with their labels (1,548 uses):\n    meme 812, \
             project-000 2, project-001 2 and 366 more (--json lists all)\n"
            ),
            "{text}"
        );
        assert!(text.contains("  1 label left out: 1 blockchain is not supported:\n    ADA 1\n"));
    }

    #[test]
    fn a_change_of_a_list_names_its_addresses() {
        let entry = ReportedEntry {
            list: "ofac-sdn".parse().unwrap(),
            entity_id: "26684".to_owned(),
            entity: "EXAMPLE LIMITED LIABILITY COMPANY OF A LONG NAME".to_owned(),
            asset_code: "XBT".to_owned(),
            address: "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h".to_owned(),
        };
        let report = ImportReport { added: vec![entry], ..ImportReport::default() };
        let imported = ImportedListings {
            digest: "ab".repeat(32),
            file_digest: "cd".repeat(32),
            published_on: date(2026, 11, 21),
            parties: 1,
            addresses: 2,
            history: false,
            report: Box::new(report),
        };
        let outcome = ImportOutcome::Imported(ImportedContent::Listings(imported));
        let text = import_outcome(&source(), &outcome, WIDTH);
        fits(&text);
        let head = "explorers: publication of 2026-11-21: 2 addresses of 1 party\n  1 added, 0 removed, \
                    0 updated, 0 unchanged, 0 rejected\n  + XBT 12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h \
                    EXAMPLE LIMITED LIABILITY COMPANY OF\n    A LONG NAME (ofac-sdn 26684)\n";
        assert!(text.starts_with(head), "{text}");
    }
}
