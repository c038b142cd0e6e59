use assay_engine::{evidence::Tier, taxonomy::Category};
use jiff::civil::date;

use super::*;

const ADDRESS: &str = "1NDyJtNTjmwk5xPNhjgAMu4HDHigtobu1s";

fn read_bytes(bytes: &[u8]) -> Result<LabelSet, String> {
    read(bytes, "l.csv", &"mine".parse().unwrap()).map_err(|error| error.to_string())
}

fn read_csv(text: &str) -> Result<LabelSet, String> {
    read_bytes(text.replace("ADDRESS", ADDRESS).as_bytes())
}

/// Result of reading a row with one more column.
fn with(column: &str, cell: &str) -> Result<LabelSet, String> {
    read_csv(&format!("blockchain,address,category,{column}\nbtc,ADDRESS,scam,{cell}\n"))
}

fn rejected(set: Result<LabelSet, String>) -> String {
    let set = set.unwrap();
    assert_eq!(set.labels, []);
    let [rejected] = &*set.rejected else { panic!("{:?}", set.rejected) };
    assert_eq!(rejected.position, "l.csv, line 2");
    rejected.reason.clone()
}

#[test]
fn three_columns_are_enough() {
    let set = read_csv("\u{feff}category, address ,blockchain\r\nscam,ADDRESS,BTC\r\n").unwrap();
    let label = &set.labels[0].label;
    assert_eq!(label.category, Category::Scam);
    assert_eq!((label.tier, label.confidence.percent()), (Tier::Community, 50));
    assert_eq!(label.term.as_deref(), Some("scam"));
    assert_eq!(&*label.upstream, "mine");
    assert_eq!(label.entity, None);
}

#[test]
fn every_column_is_read() {
    let set = read_csv(&format!(
        "{}\nbitcoin,ADDRESS,ransomware,\"A, \"\"B\"\"\",80,investigation,Jane,seen,\
         https://www.example.org/x,,uk-sanctions,2024-01-31,2025-01-31\n",
        FIELDS.join(",")
    ))
    .unwrap();
    assert_eq!(set.rejected, []);
    let label = &set.labels[0].label;
    assert_eq!(label.entity.as_deref(), Some("A, \"B\""));
    assert_eq!((label.tier, label.confidence.percent()), (Tier::Investigation, 80));
    assert_eq!(label.author.as_deref(), Some("Jane"));
    assert_eq!(label.reason.as_deref(), Some("seen"));
    assert_eq!(label.reference.as_deref(), Some("https://www.example.org/x"));
    assert_eq!(&*label.upstream, "example.org");
    assert_eq!(label.cites_list.as_ref().unwrap().as_str(), "uk-sanctions");
    assert_eq!(label.valid_from, Some(date(2024, 1, 31)));
    assert_eq!(label.valid_until, Some(date(2025, 1, 31)));
}

#[test]
fn a_header_names_known_columns_once() {
    let known = " (known: blockchain, address, category, entity, ";
    for (text, problem) in [
        ("", "line 1: the file is empty, without a header"),
        (
            "blockchain,address",
            "line 1: column `category` is missing: the header has blockchain, address",
        ),
        ("blockchain,address,category,notes", "line 1: no such column: `notes`"),
        ("blockchain,address,category,address", "line 1: column `address` is repeated"),
        ("\n\nBlock chain 1,address,category", "line 3: no such column: `Block chain 1`"),
        (
            "Address,address,category",
            "line 1: columns `Address` and `address` mean the same: remove one",
        ),
    ] {
        let error = read_csv(text).unwrap_err();
        assert!(error.contains(&format!("{problem}{known}")), "{text:?}: {error}");
    }
}

#[test]
fn a_bad_cell_rejects_its_row() {
    for (column, cell, reason) in [
        ("confidence", "101", "`confidence` is `101`: write a whole number of percent"),
        ("confidence", "-1", "`confidence` is `-1`: write"),
        ("tier", "official_list", "`tier` is `official_list`: write on_chain_proof, investi"),
        ("cites_list", "OFAC SDN", "`cites_list` is `OFAC SDN`: write a list's name"),
        ("valid_from", "31.1.2024", "`valid_from` is `31.1.2024`: write a day as 2024-01-31"),
        ("valid_from,valid_until", "2024-01-31,2024-01-31", "`valid_until` is 2024-01-31: it must"),
        ("reason", &"x".repeat(1_001), "`reason` has 1001 characters: at most 1000 are allowed"),
        ("entity", "a\u{7}b", "`entity` holds a control character (U+0007)"),
    ] {
        let told = rejected(with(column, cell));
        assert!(told.starts_with(reason), "{column}: {told}");
    }
    let row = |row: &str| rejected(read_csv(&format!("blockchain,address,category\n{row}\n")));
    assert_eq!(row(",ADDRESS,scam"), "`blockchain` is empty");
    assert_eq!(row("btc, ,scam"), "`address` is empty");
    assert_eq!(row("btc,ADDRESS,"), "`category` is empty");
    assert!(row("btc,nonsense,scam").starts_with("no address of btc: "));
}

#[test]
fn an_unknown_category_is_kept_as_text_and_an_unknown_chain_counted() {
    let set = read_csv("blockchain,address,category\nbtc,ADDRESS,Odd\nkda,x,scam\n").unwrap();
    let label = &set.labels[0].label;
    assert_eq!((label.category, label.term.as_deref()), (Category::Uncategorized, Some("Odd")));
    assert_eq!(set.unknown_terms, [("Odd".to_owned(), 1)].into());
    assert_eq!(set.unsupported, [("kda".to_owned(), 1)].into());
}

#[test]
fn formulas_are_refused_wherever_text_is_free() {
    for column in FREE_TEXT {
        for cell in ["=1+1", "+x", "-x", "@x", "\tx", "\"\rx\"", "\" =x\"", "\"=a,b\""] {
            let error = with(column, cell).unwrap_err();
            let told = format!("line 2: `{column}` begins with ");
            assert!(error.starts_with(&told) && error.contains("formula"), "{cell:?}: {error}");
        }
    }
    assert!(with("entity", "a=b").is_ok());
}

#[test]
fn a_broken_structure_is_refused_with_the_line() {
    let header = "blockchain,address,category,reason\n";
    for (rows, expected) in [
        (
            "btc,ADDRESS,scam\n",
            "line 2 cannot be read as CSV: it has 3 cells where the header has 4",
        ),
        ("btc,ADDRESS,scam,x\n\nbtc,a,b,c,d\n", "line 4 cannot be read as CSV: it has 5 cells"),
        (
            "btc,ADDRESS,scam,\"x\nbtc,ADDRESS,scam,y\n",
            "line 2 cannot be read as CSV: a quoted cell is not closed",
        ),
        ("btc,ADDRESS,scam,\"x", "line 2 cannot be read as CSV: a quoted cell is not closed"),
        ("btc,ADDRESS,scam,\rbtc,ADDRESS,scam,y\n", "line 2 cannot be read as CSV: it has 7 cells"),
    ] {
        let error = read_csv(&format!("{header}{rows}")).unwrap_err();
        assert!(error.contains(expected), "{rows:?}: {error}");
    }
}

#[test]
fn other_encodings_and_endless_lines_are_refused() {
    let header = b"blockchain,address,category\n".as_slice();
    let with = |bytes: &[u8]| read_bytes(&[header, bytes].concat()).unwrap_err();
    assert!(with(b"btc,\0,scam").starts_with("line 2: a NUL byte"));
    assert!(
        with(b"btc,\xFF,scam").starts_with("line 2: bytes that are not UTF-8 at byte offset 32")
    );
    assert!(with(&vec![b'x'; 1_048_577]).starts_with("line 2 is longer than 1048576"));
}
