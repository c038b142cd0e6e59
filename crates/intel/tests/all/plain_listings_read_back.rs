//! A publication that is written as CSV or as JSON lines reads back unchanged.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{collections::HashSet, sync::Arc};

use assay_engine::{
    evidence::{Alias, ListedEntity, ListingEntry},
    names::SourceId,
};
use assay_intel::{
    formats::{listings_csv, listings_jsonl},
    listings::Publication,
};
use jiff::civil::{Date, date};
use proptest::{collection::vec, option, prelude::*};
use serde_json::json;

const DAY: Date = date(2026, 1, 5);
const HEADER: &str = "list,entity_id,entity,asset_code,address";

fn source() -> SourceId {
    "own-list".parse().unwrap()
}

/// A text as a listing keeps it: something else than white space around it, no formula.
fn text() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9ÄЖ\"][a-zA-Z0-9ÄЖ ,\"'\r\n=+;-]{0,12}[a-z0-9Ж\"]"
}

fn short() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9Ж\"][a-zA-Z ,\"-]{0,8}[a-z\"]"
}

fn day() -> impl Strategy<Value = Date> {
    (1970_i16..2100, 1_i8..=12, 1_i8..=28).prop_map(|(year, month, day)| date(year, month, day))
}

prop_compose! {
    fn entity()(
        id in text(),
        name in text(),
        aliases in proptest::collection::hash_set(short(), 0..3),
        programs in proptest::collection::btree_set(short(), 0..3),
        remarks in option::of(text()),
        listed_on in option::of(day()),
    ) -> ListedEntity {
        let alias = |name| Alias { name, kind: String::new(), weak: false };
        ListedEntity {
            id,
            name,
            aliases: aliases.into_iter().map(alias).collect(),
            programs: programs.into_iter().collect(),
            remarks,
            listed_on,
            ..ListedEntity::default()
        }
    }
}

prop_compose! {
    fn entry()(
        list in "[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?",
        list_name in option::of(text()),
        entity in entity(),
        asset_code in text(),
        address in " {0,2}[a-zA-Z0-9:\"',=-]{1,12} {0,2}",
        address_remarks in option::of(text()),
        expires_on in option::of(day()),
    ) -> ListingEntry {
        ListingEntry {
            list_name: list_name.unwrap_or_else(|| list.clone()),
            list: list.parse().unwrap(),
            entity: Arc::new(entity),
            asset_code,
            address_as_published: address,
            address_remarks,
            expires_on,
        }
    }
}

prop_compose! {
    fn publication()(mut entries in vec(entry(), 1..20)) -> Publication {
        let mut seen = HashSet::new();
        entries.retain(|entry| seen.insert((
            entry.list.clone(),
            entry.entity.id.clone(),
            entry.asset_code.clone(),
            entry.address_as_published.clone(),
        )));
        let parties: HashSet<_> =
            entries.iter().map(|entry| (&entry.list, &entry.entity.id)).collect();
        let parties = parties.len() as u64;
        Publication { published_on: DAY, entries, rejected: Vec::new(), incomplete: Vec::new(), parties, addresses_are_rare: false }
    }
}

fn names(entity: &ListedEntity) -> Vec<&str> {
    entity.aliases.iter().map(|alias| &*alias.name).collect()
}

fn written(day: Option<Date>) -> String {
    day.map(|day| day.to_string()).unwrap_or_default()
}

fn write_csv(publication: &Publication, rows_end: csv::Terminator) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().terminator(rows_end).from_writer(Vec::new());
    let more = "list_name,programs,aliases,remarks,address_remarks,entity_listed_on,expires_on";
    writer.write_record(HEADER.split(',').chain(more.split(','))).unwrap();
    for entry in &publication.entries {
        let entity = &entry.entity;
        let row = [
            entry.list.as_str(),
            &entity.id,
            &entity.name,
            &entry.asset_code,
            &entry.address_as_published,
            &entry.list_name,
            &entity.programs.join(";"),
            &names(entity).join(";"),
            entity.remarks.as_deref().unwrap_or_default(),
            entry.address_remarks.as_deref().unwrap_or_default(),
            &written(entity.listed_on),
            &written(entry.expires_on),
        ];
        writer.write_record(row).unwrap();
    }
    writer.into_inner().unwrap()
}

fn write_lines(publication: &Publication) -> String {
    let mut lines = String::new();
    for entry in &publication.entries {
        let entity = &entry.entity;
        let line = json!({
            "list": entry.list, "entity_id": entity.id, "entity": entity.name,
            "asset_code": entry.asset_code, "address": entry.address_as_published,
            "list_name": entry.list_name, "programs": entity.programs,
            "aliases": names(entity), "remarks": entity.remarks,
            "address_remarks": entry.address_remarks, "entity_listed_on": entity.listed_on,
            "expires_on": entry.expires_on,
        });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    lines
}

proptest! {
    #[test]
    fn written_listings_read_back(publication in publication()) {
        for rows_end in [csv::Terminator::CRLF, csv::Terminator::Any(b'\n')] {
            let read = listings_csv::read(&*write_csv(&publication, rows_end), DAY, &source());
            prop_assert_eq!(&read.unwrap(), &publication);
        }
        prop_assert_eq!(&listings_jsonl::read(write_lines(&publication).as_bytes(), DAY, &source()).unwrap(), &publication);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in "(list|entity|[\",\n\r;{}:\\[\\]=\0Ж]){0,60}") {
        let _ = listings_csv::read(format!("{HEADER}\n{bytes}").as_bytes(), DAY, &source());
        let _ = listings_csv::read(bytes.as_bytes(), DAY, &source());
        let _ = listings_jsonl::read(bytes.as_bytes(), DAY, &source());
    }
}
