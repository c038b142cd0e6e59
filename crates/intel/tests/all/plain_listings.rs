//! Plain listings as CSV and as JSON lines: rows that are read and rejected, and files that are
//! refused.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

use std::fmt::Write;

use assay_engine::names::SourceId;
use assay_intel::{
    formats::{FileError, listings_csv, listings_jsonl},
    listings::Publication,
};
use jiff::civil::{Date, date};
use serde_json::{Value, json};

const DAY: Date = date(2026, 1, 5);
const HEADER: &str = "list,entity_id,entity,asset_code,address";
const ROW: &str = "uk-sanctions,7,PAPER LANTERN LLC,XBT,1Boat";

fn source() -> SourceId {
    "own-list".parse().unwrap()
}

fn csv_of(text: impl AsRef<[u8]>) -> Result<Publication, FileError> {
    listings_csv::read(text.as_ref(), DAY, &source())
}

fn json_of(text: impl AsRef<[u8]>) -> Result<Publication, FileError> {
    listings_jsonl::read(text.as_ref(), DAY, &source())
}

fn row() -> Value {
    json!({
        "list": "uk-sanctions", "entity_id": "7", "entity": "PAPER LANTERN LLC",
        "asset_code": "XBT", "address": "1Boat",
    })
}

fn with(field: &str, value: Value) -> Value {
    let mut changed = row();
    changed[field] = value;
    changed
}

#[test]
fn the_same_rows_give_the_same_publication() {
    // Given three addresses, one of them twice, and a row that lists nothing.
    let table = "\u{feff}address,list,entity_id,entity,asset_code,list_name,programs,aliases,remarks,\
                 address_remarks,entity_listed_on,expires_on\r\n\
                 1Boat,uk-sanctions,7,\"PAPER \"\"LANTERN\"\", LLC\",XBT,UK Sanctions List,\
                 RUSSIA; CYBER;,Paper;Lantern ;Paper,\"two\r\nlines\",in use,2024-01-02,2027-01-01\r\n\
                 \r\n\
                 1Boat,uk-sanctions,8,OTHER,XBT,,,,,,,\r\n\
                 1Boat,uk-sanctions,8,OTHER,XBT,,,,,,,\r\n\
                 ,uk-sanctions,8,OTHER,XBT,,,,,,,";
    let lines = [
        json!({
            "list": "uk-sanctions", "entity_id": "7", "entity": "PAPER \"LANTERN\", LLC",
            "asset_code": "XBT", "address": "1Boat", "list_name": "UK Sanctions List",
            "programs": ["RUSSIA", "CYBER"], "aliases": ["Paper", "Lantern", "Paper"],
            "remarks": "two\r\nlines", "address_remarks": "in use",
            "entity_listed_on": "2024-01-02", "expires_on": "2027-01-01",
        }),
        with("entity_id", json!("8")),
        with("entity_id", json!("8")),
        with("address", json!(null)),
    ];
    let lines = lines.map(|line| line.to_string().replace("PAPER LANTERN LLC", "OTHER")).join("\n");

    // When both are read.
    let from_table = csv_of(table).unwrap();
    let from_lines = json_of(&lines).unwrap();

    // Then they are the same, but for the lines on which they stand.
    assert_eq!(from_table.entries, from_lines.entries);
    assert_eq!((from_table.parties, from_lines.parties), (2, 2));
    assert_eq!(from_table.published_on, DAY);
    let entry = &from_table.entries[0];
    assert_eq!(entry.list_name, "UK Sanctions List");
    assert_eq!(entry.entity.programs, ["CYBER", "RUSSIA"]);
    assert_eq!(entry.entity.aliases.len(), 2);
    assert_eq!(entry.entity.remarks.as_deref(), Some("two\r\nlines"));
    assert_eq!(entry.entity.listed_on, Some(date(2024, 1, 2)));
    assert_eq!(entry.expires_on, Some(date(2027, 1, 1)));
    assert_eq!(from_table.entries[1].list_name, "uk-sanctions", "for want of a better name");
    for (publication, position) in [(&from_table, "line 7"), (&from_lines, "line 4")] {
        assert_eq!(publication.rejected.len(), 1);
        assert_eq!(publication.rejected[0].position, position);
        assert_eq!(publication.rejected[0].reason, "`address` is missing");
    }
}

#[test]
fn what_else_is_wrong_with_a_row_does_not_hide_its_address() {
    let cases = [
        ("entity", json!(" "), "`entity` is missing: kept as `not stated`"),
        ("entity_id", json!(""), "`entity_id` is missing: kept as"),
        ("asset_code", json!(null), "`asset_code` is missing: kept as `UNSTATED`"),
        ("list", json!("UK List"), "`list`: `UK List` is not a name"),
        ("list", json!(""), "`list` is missing: kept as `own-list`"),
        ("expires_on", json!("2026-02-30"), "`expires_on` is `2026-02-30` and was left out: write"),
        ("entity_listed_on", json!("1/2/2026"), "`entity_listed_on` is `1/2/2026`"),
        ("expires_on", json!("2026-01-05T10:00:00"), "write a date such as 2026-01-31"),
    ];
    for (field, value, reason) in cases {
        let mut bad: serde_json::Value =
            serde_json::from_str(&with(field, value.clone()).to_string()).unwrap();
        bad["address"] = json!("1KUCzSr49wPWckUDouJLybJuRYtViF5hfM");
        let publication = json_of(format!("{}\n\n{bad}\n", row())).unwrap();
        assert_eq!((publication.entries.len(), publication.rejected.len()), (2, 0), "{bad}");
        assert_eq!(publication.incomplete[0].position, "line 3");
        assert!(publication.incomplete[0].reason.contains(reason), "{:?}", publication.incomplete);
        let entry = &publication.entries[1];
        assert_eq!(entry.expires_on, None, "an end that cannot be read ends nothing");
        assert_eq!(entry.addresses().addresses[0].as_str(), entry.address_as_published);
    }
}

#[test]
fn a_row_is_rejected_if_it_names_no_address_or_an_address_twice() {
    for (field, value, reason) in [
        ("address", json!(" "), "`address` is missing"),
        ("remarks", json!("new"), "line 1 lists the same address with other details"),
    ] {
        let bad = with(field, value);
        let publication = json_of(format!("{}\n\n{bad}\n", row())).unwrap();
        assert_eq!((publication.entries.len(), publication.rejected.len()), (1, 1), "{bad}");
        assert_eq!(publication.rejected[0].position, "line 3");
        assert_eq!(publication.rejected[0].reason, reason);
    }
    // The same address with another end is another listing: the later end counts.
    let later = with("expires_on", json!("2031-01-01"));
    let publication = json_of(format!("{}\n{later}\n", row())).unwrap();
    assert_eq!((publication.entries.len(), publication.rejected.len()), (2, 0));
}

#[test]
fn broken_tables_are_refused_with_the_line() {
    let wide = "x".repeat(1024 * 1024 + 1);
    let cases = [
        (String::new(), "line 1: the file is empty"),
        ("\n\n".into(), "line 1: the file is empty"),
        (ROW.into(), "line 1: no such column: `uk-sanctions` (known: list, entity_id,"),
        (HEADER.replace(',', ":"), "line 1: no such column: `list:entity_id:"),
        (
            format!("{HEADER},Entity ID\n"),
            "line 1: columns `entity_id` and `Entity ID` mean the same",
        ),
        (format!("{HEADER},\n{ROW},x\n"), "line 2: `x` stands in a column without a name"),
        (format!("{HEADER},list\n"), "line 1: column `list` is repeated (known: list,"),
        (
            HEADER.replace(",address", ""),
            "line 1: column `address` is missing: the header has list, entity_id, entity, asset_code (known:",
        ),
        (format!("{HEADER},colour\n"), "line 1: no such column: `colour` (known:"),
        (
            format!("{HEADER}\n{ROW},more\n"),
            "line 2 cannot be read as CSV: it has 6 cells where the header has 5",
        ),
        (
            format!("{HEADER}\n{ROW}\na,b\n"),
            "line 3 cannot be read as CSV: it has 2 cells where the header has 5",
        ),
        (
            format!("{HEADER}\n\"{ROW}\n{ROW}\n"),
            "line 2 cannot be read as CSV: a quoted cell is not closed",
        ),
        (
            format!("{HEADER}\n{ROW}\"\n"),
            "line 2 cannot be read as CSV: a quote inside a cell that has none",
        ),
        (
            format!("{HEADER}\n\"a\"b,{ROW}\n"),
            "line 2 cannot be read as CSV: text after a quoted cell",
        ),
        (
            format!("{HEADER}\n\"a\n\"b,{ROW}\n"),
            "line 2 cannot be read as CSV: a quoted cell is not closed",
        ),
        (
            format!("{HEADER}\n{ROW}\r{ROW}\n"),
            "line 2 cannot be read as CSV: a carriage return outside quotes",
        ),
        (format!("{HEADER}\n{ROW}\n\0{ROW}\n"), "line 3: a NUL byte"),
        (format!("{HEADER}\n{wide}\n"), "line 2 is longer than 1048576 bytes"),
        (format!("{HEADER}\n\"{}", "x\n".repeat(600_000)), "line 2 is longer than 1048576 bytes"),
    ];
    for (text, message) in cases {
        let error = csv_of(&text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}, expected {message}");
    }
    let bytes = [HEADER.as_bytes(), b"\nuk-sanctions,7,\xE9,XBT,1Boat\n"].concat();
    assert_eq!(
        csv_of(bytes).unwrap_err().to_string(),
        "line 2: bytes that are not UTF-8 at byte offset 56: declare the encoding of the file, such as \
         `--encoding windows-1252`, or save it as UTF-8"
    );
    let wide: Vec<u8> = HEADER.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(csv_of(wide).unwrap_err().to_string().starts_with("line 1: a NUL byte"));
}

#[test]
fn broken_lines_are_refused_with_the_line() {
    let good = row().to_string();
    let twice = good.replace('{', "{\"list\":\"other\",");
    let cases = [
        (" \n".to_owned(), "line 1: the file is empty"),
        (
            format!("{good}\n{{\"list\":\n"),
            "line 2 cannot be read as a listing in JSON: EOF while parsing",
        ),
        (format!("{good}\n{good}{good}"), "line 2 cannot be read as a listing in JSON: trailing"),
        ("[1]".into(), "line 1 cannot be read as a listing in JSON: invalid type: sequence"),
        (with("colour", json!(1)).to_string(), "line 1: no such column: `colour` (known: list"),
        (twice, "line 1: column `list` is repeated (known: list"),
        (
            with("entity", json!(7)).to_string(),
            "line 1 cannot be read as a listing in JSON: `entity` must be a string",
        ),
        (
            with("aliases", json!("A;B")).to_string(),
            "line 1 cannot be read as a listing in JSON: `aliases` must be an array of strings",
        ),
        (
            with("aliases", json!([1])).to_string(),
            "line 1 cannot be read as a listing in JSON: `aliases` must be an array of strings",
        ),
        (with("remarks", json!("a\0b")).to_string(), "line 1: a NUL byte"),
        ("[".repeat(100_000), "line 1 cannot be read as a listing in JSON: "),
        (
            format!("{{\"list\":{}", "[".repeat(100_000)),
            "line 1 cannot be read as a listing in JSON: ",
        ),
        (format!("{good}\n{}", " ".repeat(1024 * 1024 + 1)), "line 2 is longer than 1048576 bytes"),
    ];
    for (text, message) in cases {
        let error = json_of(&text).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}, expected {message}");
        assert!(!error.contains("at line"), "{error}");
    }
}

#[test]
fn formulas_are_refused() {
    for start in ["=", "+", "-", "@", "\t", " ="] {
        for field in ["entity", "list_name", "remarks", "address_remarks"] {
            let text = format!("{start}HYPERLINK(1)");
            let message = format!("line 2: `{field}` begins with ");
            let line = with(field, json!(text));
            let error = json_of(format!("{}\n{line}", row())).unwrap_err();
            assert!(error.to_string().starts_with(&message), "{error}");
            let optional = if field == "entity" { "remarks" } else { field };
            let name = if field == "entity" { &*text } else { "A" };
            let last = if field == "entity" { "" } else { &*text };
            let error = csv_of(format!("{HEADER},{optional}\nuk,7,{name},XBT,1Boat,{last}\n"));
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with(&message) && error.contains("formula"), "{error}");
        }
        let line = with("aliases", json!(["fine", format!("{start}1")]));
        assert!(matches!(json_of(line.to_string()), Err(FileError::Formula { line: 1, .. })));
        let text = format!("{HEADER},aliases\n{ROW},fine;{start}1\n");
        assert!(matches!(csv_of(text), Err(FileError::Formula { line: 2, .. })));
    }
}

#[test]
fn no_real_list_has_more_addresses() {
    let most = 100_000;
    let mut text = format!("{HEADER}\n");
    for number in 0..most {
        writeln!(text, "uk,{number},A,XBT,address").unwrap();
    }
    text.push_str("uk,0,A,XBT,address\n");
    assert_eq!(csv_of(&text).unwrap().entries.len(), most);
    text.push_str("uk,last,A,XBT,address\n");
    let error = csv_of(&text).unwrap_err().to_string();
    assert_eq!(
        error,
        "more than 100000 addresses: check that the file is of this format, or split it"
    );

    let remark = "x".repeat(1000 * 1000);
    let mut large = format!("{HEADER},remarks\n");
    for number in 0..70 {
        writeln!(large, "uk,{number},A,XBT,address,{remark}").unwrap();
    }
    let error = csv_of(large).unwrap_err().to_string();
    assert_eq!(
        error,
        "more than 67108864 bytes: check that the file is of this format, or split it"
    );
}
