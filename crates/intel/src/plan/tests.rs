//! Plans of imports, for a source's known state and a publication.

use assay_engine::evidence::ListedEntity;
use jiff::civil::date;
use proptest::prelude::*;

use super::*;

fn entry(address: &str) -> ListingEntry {
    ListingEntry {
        list: "ofac-sdn".parse().unwrap(),
        list_name: "OFAC SDN List".into(),
        entity: ListedEntity {
            id: "1".into(),
            name: "DOE, Jane".into(),
            aliases: vec![],
            programs: vec![],
            remarks: None,
            listed_on: None,
            ..ListedEntity::default()
        }
        .into(),
        asset_code: "XBT".into(),
        address_as_published: address.into(),
        address_remarks: None,
        expires_on: None,
    }
}

fn publication(day: i8, addresses: &[&str]) -> Publication {
    Publication {
        published_on: date(2025, 3, day),
        entries: addresses.iter().map(|address| entry(address)).collect(),
        rejected: vec![],
        parties: 1,
        incomplete: vec![],
        addresses_are_rare: false,
    }
}

/// A store in memory, with the source's state after each import.
#[derive(Default)]
struct Memory {
    history: SourceHistory<u32>,
    next: u32,
}

impl Memory {
    fn import(
        &mut self,
        publication: &Publication,
        digest: &str,
        options: &ImportOptions,
    ) -> Result<Option<ImportReport>, PublicationRefusal> {
        let digests = Digests { file: digest, content: digest };
        match plan(&self.history, publication, digests, options, date(2025, 3, 31))? {
            ImportPlan::Known { .. } => Ok(None),
            ImportPlan::Record { reference, entries, ended, begun, report, .. } => {
                self.history.listings.retain(|listing| !ended.contains(&listing.id));
                for (entry, presence) in begun {
                    self.next += 1;
                    self.history.listings.push(KnownListing { id: self.next, entry, presence });
                }
                let digest = digest.to_owned();
                let publication = KnownPublication { reference, digest, entries };
                self.history.publications.push(publication);
                Ok(Some(*report))
            }
        }
    }

    fn import_plain(
        &mut self,
        day: i8,
        addresses: &[&str],
    ) -> Result<Option<ImportReport>, PublicationRefusal> {
        let publication = publication(day, addresses);
        self.import(&publication, &format!("{day}{addresses:?}"), &ImportOptions::default())
    }

    fn file(
        &mut self,
        day: i8,
        addresses: &[&str],
    ) -> Result<Option<ImportReport>, PublicationRefusal> {
        let options = ImportOptions { history: true, ..ImportOptions::default() };
        let publication = publication(day, addresses);
        self.import(&publication, &format!("{day}{addresses:?}"), &options)
    }

    /// Address, first day and last day of every recorded listing.
    fn runs(&self) -> Vec<(String, i8, Option<i8>)> {
        let mut runs: Vec<_> = self
            .history
            .listings
            .iter()
            .map(|listing| {
                let until = listing.presence.until.map(|until| until.published_on.day());
                let from = listing.presence.from.published_on.day();
                (listing.entry.address_as_published.clone(), from, until)
            })
            .collect();
        runs.sort();
        runs
    }
}

fn addresses(entries: &[ReportedEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.address.as_str()).collect()
}

#[test]
fn an_import_adds_ends_and_keeps() {
    let mut memory = Memory::default();
    let first = memory.import_plain(4, &["a", "b"]).unwrap().unwrap();
    assert_eq!(addresses(&first.added), ["a", "b"]);
    let second = memory.import_plain(21, &["b", "c"]).unwrap().unwrap();
    assert_eq!(
        (addresses(&second.added), addresses(&second.removed), second.unchanged),
        (vec!["c"], vec!["a"], 1)
    );
    assert_eq!(
        memory.runs(),
        [("a".into(), 4, Some(21)), ("b".into(), 4, None), ("c".into(), 21, None)]
    );
    let third = memory.import_plain(25, &["a", "b", "c"]).unwrap().unwrap();
    assert_eq!(addresses(&third.added), ["a"], "listed again");
    assert_eq!(memory.runs()[..2], [("a".into(), 4, Some(21)), ("a".into(), 25, None)]);
}

#[test]
fn the_same_publication_again_changes_nothing() {
    let mut memory = Memory::default();
    memory.import_plain(4, &["a"]).unwrap();
    let before = memory.history.clone();
    assert_eq!(memory.import_plain(4, &["a"]), Ok(None));
    assert_eq!(memory.history, before);
}

#[test]
fn a_changed_entity_is_an_update() {
    let mut memory = Memory::default();
    memory.import_plain(4, &["a"]).unwrap();
    let mut renamed = publication(5, &["a"]);
    let entity = ListedEntity { name: "DOE, Janet".into(), ..(*renamed.entries[0].entity).clone() };
    renamed.entries[0].entity = entity.into();
    let report = memory.import(&renamed, "x", &ImportOptions::default()).unwrap().unwrap();
    assert_eq!((report.updated, report.unchanged), (1, 0));
    assert_eq!(memory.history.listings.len(), 1);
    assert_eq!(memory.history.listings[0].entry.entity.name, "DOE, Janet");
}

#[test]
fn an_older_publication_is_refused_or_filed_in_the_past() {
    let mut memory = Memory::default();
    memory.import_plain(21, &["b", "c"]).unwrap();
    let refusal = memory.import_plain(4, &["a", "b"]).unwrap_err();
    assert_eq!(
        refusal,
        PublicationRefusal::Older { published_on: date(2025, 3, 4), newest: date(2025, 3, 21) }
    );
    memory.file(4, &["a", "b"]).unwrap();
    assert_eq!(
        memory.runs(),
        [("a".into(), 4, Some(21)), ("b".into(), 4, None), ("c".into(), 21, None)]
    );
    assert_eq!(memory.history.newest().unwrap().reference.published_on, date(2025, 3, 21));
}

#[test]
fn an_implausible_change_needs_its_digest() {
    let number = |count: usize| -> Vec<String> { (0..count).map(|n| format!("a{n}")).collect() };
    let outcome = |before: usize, after: usize| {
        let mut memory = Memory::default();
        let (before, after) = (number(before), number(after));
        let before: Vec<&str> = before.iter().map(String::as_str).collect();
        let after: Vec<&str> = after.iter().map(String::as_str).collect();
        memory.import_plain(1, &before).unwrap();
        memory.import_plain(2, &after).is_ok()
    };
    assert!(outcome(130, 104), "26 fewer are 20 %, not more");
    assert!(!outcome(129, 103), "26 fewer are more than 20 %");
    assert!(!outcome(100, 126));
    assert!(outcome(100, 125), "25 more are not more than 25");
    assert!(!outcome(1, 0), "a list does not vanish");
    for (before, after, accepted) in
        [(9, 1, true), (1, 9, true), (10, 5, true), (10, 4, false), (20, 1, false), (50, 24, false)]
    {
        assert_eq!(outcome(before, after), accepted, "{before} {after}");
    }

    let mut memory = Memory::default();
    memory.import_plain(1, &["a"]).unwrap();
    let options = ImportOptions { accept_digest: Some("EE".into()), ..ImportOptions::default() };
    let refusal = memory.import(&publication(2, &[]), "ff", &options).unwrap_err();
    assert!(matches!(refusal, PublicationRefusal::Empty { digest, .. } if digest == "ff"));
    assert!(memory.import(&publication(2, &[]), "ee", &options).is_ok());
}

#[test]
fn as_many_other_addresses_are_implausible_too() {
    let named = |letter: &str| -> Vec<String> { (0..30).map(|n| format!("{letter}{n}")).collect() };
    let (before, after) = (named("a"), named("b"));
    let texts = |names: &'_ [String]| -> Publication {
        let listed: Vec<&str> = names.iter().map(String::as_str).collect();
        publication(if names[0] == "a0" { 10 } else { 11 }, &listed)
    };
    let mut memory = Memory::default();
    memory.import(&texts(&before), "a", &ImportOptions::default()).unwrap();
    let expected = PublicationRefusal::Implausible {
        list: None,
        added: 30,
        removed: 30,
        previous: 30,
        after: 30,
        compared: date(2025, 3, 10),
        digest: "b".into(),
    };
    let refusal = memory.import(&texts(&after), "b", &ImportOptions::default());
    assert_eq!(refusal, Err(expected));

    // A publication filed in the past is compared with its neighbor as well.
    let history = ImportOptions { history: true, ..ImportOptions::default() };
    let old = Publication { published_on: date(2025, 3, 1), ..texts(&after) };
    assert!(matches!(
        memory.import(&old, "c", &history),
        Err(PublicationRefusal::Implausible { .. })
    ));
}

#[test]
fn an_empty_first_publication_needs_its_digest() {
    let mut memory = Memory::default();
    let rejected = Rejected { position: "line 2".into(), reason: "the address is empty".into() };
    let list = Publication { rejected: vec![rejected], ..publication(1, &[]) };
    let refusal = memory.import(&list, "x", &ImportOptions::default()).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "there is no address in it (1 row was rejected, the first because the address is empty): is it \
         the right file? Its digest is x"
    );
}

/// Imports addresses `a0` and on, without those of a range.
fn without(
    memory: &mut Memory,
    day: i8,
    count: usize,
    accept: bool,
) -> Result<Option<ImportReport>, PublicationRefusal> {
    let names: Vec<String> = (0..count).map(|number| format!("a{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let digest = format!("{day} {count}");
    let accept_digest = accept.then(|| digest.clone());
    let options = ImportOptions { accept_digest, ..ImportOptions::default() };
    memory.import(&publication(day, &names), &digest, &options)
}

#[test]
fn small_losses_add_up_until_one_is_accepted() {
    let mut memory = Memory::default();
    without(&mut memory, 1, 100, false).unwrap();
    // Steps of 19 %, several a day.
    for count in [81, 66, 54] {
        without(&mut memory, 1, count, false).unwrap();
    }
    let refusal = without(&mut memory, 2, 44, false).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "it holds 44 addresses, adds 0 and drops 56 of the 100 that the publication of 2025-03-01 holds: \
         implausible; its digest is 2 44"
    );
    without(&mut memory, 2, 44, true).unwrap();
    without(&mut memory, 2, 36, false).unwrap();
    assert!(without(&mut memory, 3, 21, false).is_err(), "36 are few, but 44 were accepted");
    without(&mut memory, 20, 21, false).unwrap();
}

#[test]
fn a_list_may_replace_its_addresses_bit_by_bit() {
    let mut memory = Memory::default();
    // Ten of a hundred addresses are replaced each day: after a week, most of them are others.
    for day in 1..20 {
        let first = usize::try_from(day).unwrap() * 10;
        let names: Vec<String> = (first..first + 100).map(|number| format!("a{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        memory.import_plain(day, &names).unwrap();
    }
}

#[test]
fn one_list_of_several_is_missed_in_its_file() {
    let of = |list: &str, name: &str, count: usize| -> Vec<ListingEntry> {
        let named = |number| ListingEntry {
            list: list.parse().unwrap(),
            ..entry(&format!("{name}{number}"))
        };
        (0..count).map(named).collect()
    };
    let file = |first: usize, second: usize| Publication {
        entries: [of("ofac-sdn", "a", first), of("ofac-consolidated", "b", second)].concat(),
        ..publication(4, &[])
    };
    let mut memory = Memory::default();
    memory.import(&file(100, 12), "1", &ImportOptions::default()).unwrap();
    let refusal = memory.import(&file(100, 0), "2", &ImportOptions::default()).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "it holds 0 addresses of ofac-consolidated, adds 0 and drops 12 of the 12 that the publication of \
         2025-03-04 holds: implausible; its digest is 2"
    );
    memory.import(&file(100, 7), "3", &ImportOptions::default()).unwrap();
}

#[test]
fn a_publication_that_is_filed_before_all_others_lost_nothing() {
    let mut memory = Memory::default();
    without(&mut memory, 20, 24, false).unwrap();
    let history = ImportOptions { history: true, ..ImportOptions::default() };
    memory.import(&publication(4, &["a1", "a2"]), "old", &history).unwrap();
}

#[test]
fn a_publication_of_the_future_is_refused() {
    let mut memory = Memory::default();
    let list = Publication { published_on: date(2025, 4, 2), ..publication(1, &["a"]) };
    assert_eq!(
        memory.import(&list, "x", &ImportOptions::default()),
        Err(PublicationRefusal::Future {
            published_on: date(2025, 4, 2),
            today: date(2025, 3, 31)
        })
    );
    let tomorrow = Publication { published_on: date(2025, 4, 1), ..list };
    assert!(memory.import(&tomorrow, "x", &ImportOptions::default()).is_ok());
    let recorded = memory.history.newest().unwrap().reference.published_on;
    assert_eq!(recorded, date(2025, 3, 31), "it is in force today");
}

#[test]
fn a_correction_issued_on_the_same_day_counts() {
    let mut memory = Memory::default();
    memory.import(&publication(4, &["right"]), "1", &ImportOptions::default()).unwrap();
    memory.import(&publication(4, &["wrong"]), "2", &ImportOptions::default()).unwrap();
    let again = memory.import(&publication(4, &["right"]), "1", &ImportOptions::default());
    assert_eq!(addresses(&again.unwrap().unwrap().added), ["right"]);
    let newest = memory.history.newest().unwrap().reference;
    let standing: Vec<&str> = memory
        .history
        .listings
        .iter()
        .filter(|listing| listing.presence.holds(newest))
        .map(|listing| &*listing.entry.address_as_published)
        .collect();
    assert_eq!(standing, ["right"]);
}

#[test]
fn the_report_names_invalid_entries_and_unknown_codes() {
    let mut list = publication(4, &["1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb"]);
    let mut unread = entry("5be5543ff73456ab9f2d207887e2af87322c651ea1a873c5b25b7ffae456c320");
    unread.asset_code = "KDA".into();
    list.entries.push(unread);
    let mut memory = Memory::default();
    let report = memory.import(&list, "x", &ImportOptions::default()).unwrap().unwrap();
    assert_eq!(
        report.invalid[0].reason,
        "wrong base58check checksum: at least one character was mistyped"
    );
    assert_eq!(report.unmatched, BTreeMap::from([(ChainId::BTC, 1)]));
    assert_eq!(report.unknown_codes, BTreeMap::from([("KDA".to_owned(), 1)]));
    assert_eq!(report.added.len(), 2, "both are kept");
}

proptest! {
    #[test]
    fn the_order_of_import_does_not_matter(
        lists in prop::collection::btree_map(1..28_i8, prop::collection::vec(0..6_usize, 0..6), 1..6),
        order in Just((0..6_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let names = ["a", "b", "c", "d", "e", "f"];
        let lists: Vec<(i8, Vec<&str>)> = lists
            .into_iter()
            .map(|(day, picks)| {
                let picks: BTreeSet<&str> = picks.into_iter().map(|pick| names[pick]).collect();
                (day, picks.into_iter().collect())
            })
            .collect();
        let accept = |memory: &mut Memory, (day, addresses): &(i8, Vec<&str>)| {
            let digest = format!("{day}");
            let options = ImportOptions { history: true, accept_digest: Some(digest.clone()) };
            memory.import(&publication(*day, addresses), &digest, &options).unwrap();
        };
        let (mut in_order, mut shuffled) = (Memory::default(), Memory::default());
        for list in &lists {
            accept(&mut in_order, list);
        }
        for place in order.into_iter().filter(|place| *place < lists.len()) {
            accept(&mut shuffled, &lists[place]);
        }
        prop_assert_eq!(in_order.runs(), shuffled.runs());
    }
}
