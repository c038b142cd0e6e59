//! OFAC's two formats: the same facts give the same publication, and a file that is no list is
//! refused.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::io::BufReader;

use assay_intel::{
    XmlError,
    formats::{listings_csv, ofac_advanced, ofac_enhanced},
    listings::Publication,
};
use jiff::civil::date;

/// The same facts, made up for tests, in both formats.
const ADVANCED: &str = include_str!("../data/small.xml");
const ENHANCED: &str = include_str!("../data/small_enhanced.xml");

fn enhanced(xml: &str) -> Result<Publication, XmlError> {
    // A small buffer, so that every piece of the file spans several reads.
    ofac_enhanced::read(BufReader::with_capacity(16, xml.as_bytes()))
}

fn refusal(xml: &str) -> String {
    enhanced(xml).unwrap_err().to_string()
}

#[test]
fn the_same_facts_give_the_same_publication() {
    // When both files are read.
    let advanced = ofac_advanced::read(ADVANCED.as_bytes()).unwrap();
    let enhanced = enhanced(ENHANCED).unwrap();

    // Then nothing differs: entries, rejected rows, the day and the number of parties. Only a party
    // on several lists under different programs has fewer details in Enhanced than in Advanced.
    assert_eq!(enhanced, advanced);
    assert_eq!(enhanced.published_on, date(2026, 1, 5));
    assert_eq!((enhanced.entries.len(), enhanced.rejected.len(), enhanced.parties), (4, 1, 3));
    let first = &enhanced.entries[0];
    assert_eq!((first.list.as_str(), &*first.list_name), ("ofac-sdn", "OFAC SDN List"));
    assert_eq!((&*first.entity.id, &*first.entity.name), ("9001", "EXAMPLE, Jane Q."));
    let aliases: Vec<_> =
        first.entity.aliases.iter().map(|a| (&*a.name, &*a.kind, a.weak)).collect();
    assert_eq!(aliases, [("ПРИМЕР, Джейн", "Name", false), ("Jay & Co", "A.K.A.", true)]);
    assert_eq!(first.entity.remarks.as_deref(), Some("made up for tests"));
    assert_eq!(first.address_remarks.as_deref(), Some("only one fork"));
    assert_eq!(first.entity.programs, ["CYBER2", "SDNTK"]);
    assert_eq!(first.entity.listed_on, Some(date(2019, 8, 21)));
}

#[test]
fn a_format_reads_its_own_files_only() {
    assert!(ofac_enhanced::read(ENHANCED.as_bytes()).is_ok());
    assert!(ofac_advanced::read(ADVANCED.as_bytes()).is_ok());
    let error = ofac_enhanced::read(ADVANCED.as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "line 3: found `Sanctions`, expected `sanctionsData`");
    let error = ofac_advanced::read(ENHANCED.as_bytes()).unwrap_err().to_string();
    assert_eq!(error, "line 5: found `sanctionsData`, expected `Sanctions`");
    assert!(
        listings_csv::read(ENHANCED.as_bytes(), date(2026, 1, 5), &"ofac-sdn".parse().unwrap())
            .is_err()
    );
}

#[test]
fn new_asset_codes_need_no_change() {
    let xml = ENHANCED.replace("Address - NEWCOIN", "Address - ANOTHER");
    let codes: Vec<_> =
        enhanced(&xml).unwrap().entries.into_iter().map(|entry| entry.asset_code).collect();
    assert_eq!(codes, ["XBT", "ETH", "ANOTHER", "XBT"]);
}

#[test]
fn a_file_truncated_anywhere_is_refused() {
    let end = ENHANCED.trim_end().len();
    for (place, _) in ENHANCED.char_indices().take_while(|(place, _)| *place < end).step_by(7) {
        assert!(enhanced(&ENHANCED[..place]).is_err(), "cut at byte {place}");
    }
    let half = &ENHANCED[..ENHANCED.find("<features>").unwrap()];
    assert!(refusal(half).ends_with("the file ends inside `entity`: it is truncated"));
}

#[test]
fn an_incomplete_list_is_refused() {
    let cases = [
        ("urn:example:ENHANCED_XML", "urn:example:DELTA", "expected one that ends in"),
        (" xmlns=\"urn:example:ENHANCED_XML\"", "", "the namespace is ``"),
        ("2026-01-05T00:00:00-05:00", "soon", "the file has no date of issue"),
        ("publicationInfo>", "publicationNotes>", "the file has no publicationInfo"),
        ("entities>", "nobody>", "the file has no entities"),
        ("<entities>", "<entities></entities><entities>", "`entities` comes twice"),
        ("<entity id=\"9001\">", "<entity>", "`entity` has no attribute `id`"),
        (
            "<sanctionsPrograms />",
            "<sanctionsPrograms><sanctionsProgram refId=\"1\">CUBA</sanctionsProgram></sanctionsPrograms>",
            "limited to programs such as `CUBA`",
        ),
        (">SDN List</sanctionsList>\n      </", "> </sanctionsList>\n      </", "no usable name"),
    ];
    for (part, other, message) in cases {
        let changed = ENHANCED.replace(part, other);
        assert_ne!(changed, ENHANCED, "{part}");
        let error = refusal(&changed);
        assert!(error.contains(message), "{error}, expected {message}");
    }
}

#[test]
fn hostile_files_are_refused() {
    let doctype = "<!DOCTYPE sanctionsData [<!ENTITY x \"y\">]><sanctionsData";
    assert!(refusal(&ENHANCED.replace("<sanctionsData", doctype)).contains("document type"));
    assert!(refusal(&ENHANCED.replace("made up for tests<", "&lol;<")).contains("unknown entity"));
    let deep = format!("<sanctionsData xmlns='ENHANCED_XML'>{}", "<x>".repeat(100_000));
    assert!(refusal(&deep).contains("nested deeper"));
    let long = "x".repeat(3 * 1024 * 1024);
    assert!(refusal(&ENHANCED.replace("Maker of examples", &long)).contains("larger than"));
    let second = format!("{ENHANCED}<again/>");
    assert!(refusal(&second).contains("a second root element"));
}

#[test]
fn parties_and_lists_larger_than_any_real_one_are_refused() {
    let feature = "<feature id=\"7\"><type featureTypeId=\"344\">Digital Currency Address - XBT</type>\
                   <value>N</value></feature>";
    let addresses = |count: usize| {
        (0..count).map(|number| feature.replace('N', &number.to_string())).collect::<String>()
    };
    let grown = ENHANCED.replacen("<features>", &format!("<features>{}", addresses(60_000)), 1);
    assert!(refusal(&grown).contains("this part of the file is larger than any real one"));

    let party = format!(
        "<entities>{}",
        format!(
            "<entity id='1'><sanctionsLists><sanctionsList>SDN List</sanctionsList>\
             </sanctionsLists><features>{}</features></entity>",
            addresses(10_000)
        )
        .repeat(11)
    );
    let error = refusal(&ENHANCED.replacen("<entities>", &party, 1));
    assert!(error.contains("no real list has more than 100000"), "{error}");
}
