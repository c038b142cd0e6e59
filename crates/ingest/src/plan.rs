//! What importing a publication changes, decided before anything is written.
//!
//! Pure: given what is known of a source and a publication read from it, [`plan`] says which recorded
//! listings end and which begin, or why the publication is refused.

use std::collections::{BTreeMap, BTreeSet};

use assay_engine::{
    evidence::{
        ListedAddresses, ListingEntry,
        history::{
            KnownListing, KnownPublication, Presence, PublicationRef, SourceHistory,
            with_publication,
        },
    },
    names::ListId,
};
use jiff::{ToSpan, civil::Date};
use serde::Serialize;

use crate::sanctions::{Publication, Rejected};

/// Addresses added or dropped beyond this share of the previous ones, in per cent, are implausible...
const PLAUSIBLE_PERCENT: usize = 20;
/// ...if they are more than this number too.
const PLAUSIBLE_NUMBER: usize = 25;

/// What the person who imports decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// An older publication is filed in the past instead of being refused.
    pub history: bool,
    /// The SHA-256 of a file that is taken in however implausible it looks.
    pub accept_digest: Option<String>,
}

/// The digests by which a publication is known.
#[derive(Clone, Copy, Debug)]
pub struct Digests<'a> {
    /// SHA-256 of the file as it came.
    pub file: &'a str,
    /// SHA-256 of what is inside, packed however: the same publication always has the same.
    pub content: &'a str,
}

/// What an import does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportPlan<Id> {
    /// This very publication is known already: nothing changes.
    Known {
        /// Whether it is the newest, so that the source counts as verified now.
        newest: bool,
    },
    /// A publication to be recorded.
    Record {
        /// Its place in the source's history.
        reference: PublicationRef,
        /// How many addresses it holds.
        entries: u64,
        /// Whether it is the newest now.
        newest: bool,
        /// Recorded listings that no longer hold as they are.
        ended: Vec<Id>,
        /// Listings to be recorded.
        begun: Vec<(ListingEntry, Presence)>,
        /// The change in words and numbers.
        report: ImportReport,
    },
}

/// What an import changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Addresses that the publication adds.
    pub added: Vec<ReportedEntry>,
    /// Addresses that it drops.
    pub removed: Vec<ReportedEntry>,
    /// Addresses of which it says something else than before.
    pub updated: u64,
    /// Addresses that stay as they were.
    pub unchanged: u64,
    /// Rows that could not be taken in.
    pub rejected: Vec<Rejected>,
    /// Addresses that are kept and marked, because they are not valid on their chain.
    pub invalid: Vec<InvalidEntry>,
    /// Numbers of addresses by asset code, kept verbatim, whose chain Assay does not read yet.
    pub unsupported: BTreeMap<String, u64>,
}

/// One address of a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ReportedEntry {
    /// The list.
    pub list: ListId,
    /// The entity's identifier.
    pub entity_id: String,
    /// The entity.
    pub entity: String,
    /// The asset code.
    pub asset_code: String,
    /// The address as published.
    pub address: String,
}

/// One address that is not valid on its chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InvalidEntry {
    /// Which.
    #[serde(flatten)]
    pub entry: ReportedEntry,
    /// Why.
    pub reason: String,
}

/// Why a publication is refused. Nothing changes then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A newer publication was imported before.
    #[error(
        "the publication of {published_on} is older than that of {newest}, imported before; file it \
         in the past with --history"
    )]
    Older {
        /// Its date.
        published_on: Date,
        /// The newest publication's date.
        newest: Date,
    },
    /// It was issued in the future: its listings would not be in force, and no newer one could follow.
    #[error("its date of issue is {published_on}, which is in the future: today is {today}")]
    Future {
        /// Its date.
        published_on: Date,
        /// The day of the import.
        today: Date,
    },
    /// The addresses changed beyond belief.
    #[error(
        "it adds {added} and drops {removed} of the {previous} addresses that the publication of \
         {compared} holds: implausible; if it is right, import it with --accept-digest {digest}"
    )]
    Implausible {
        /// How many addresses it adds.
        added: usize,
        /// How many it drops.
        removed: usize,
        /// How many there are in the publication it is compared with.
        previous: usize,
        /// That publication's date.
        compared: Date,
        /// The digest that accepts it.
        digest: String,
    },
    /// It holds no address at all.
    #[error(
        "there is no address in it: is it the right file? If so, import it with --accept-digest \
         {digest}"
    )]
    Empty {
        /// The digest that accepts it.
        digest: String,
    },
}

/// Identifies an entry within its source, whatever else changes about it.
type Key = (ListId, String, String, String);

fn key(entry: &ListingEntry) -> Key {
    (
        entry.list.clone(),
        entry.entity.id.clone(),
        entry.asset_code.clone(),
        entry.address_as_published.clone(),
    )
}

/// Decides what importing `publication` changes.
///
/// # Errors
///
/// Where the publication is of the future, older than what is known, or implausible against it.
pub fn plan<Id: Copy>(
    known: &SourceHistory<Id>,
    publication: &Publication,
    digests: Digests<'_>,
    options: &ImportOptions,
    today: Date,
) -> Result<ImportPlan<Id>, Refusal> {
    let newest = known.newest();
    let is_same = |other: &KnownPublication| other.digest == digests.content;
    if newest.is_some_and(is_same) {
        return Ok(ImportPlan::Known { newest: true });
    }
    let published_on = publication.published_on;
    // East of here it may be tomorrow already.
    if published_on > today.saturating_add(1.day()) {
        return Err(Refusal::Future { published_on, today });
    }
    let is_older = newest.is_some_and(|newest| published_on < newest.reference.published_on);
    if let Some(newest) = newest.filter(|_| is_older && !options.history) {
        return Err(Refusal::Older { published_on, newest: newest.reference.published_on });
    }
    // What was taken back on the same day and is issued again counts anew: it is the newest now.
    if is_older && known.publications.iter().any(is_same) {
        return Ok(ImportPlan::Known { newest: false });
    }
    let entries = u64::try_from(publication.entries.len()).unwrap_or(u64::MAX);
    let ordinal = known.publications.iter().map(|other| other.reference.ordinal + 1).max();
    let reference = PublicationRef { published_on, ordinal: ordinal.unwrap_or(0) };
    if !digests.accepted_by(options) {
        check_plausible(known, publication, reference, digests)?;
    }
    let (ended, begun, changes) = changes(known, publication, reference);
    let report = ImportReport {
        rejected: publication.rejected.clone(),
        ..with_findings(changes, &publication.entries)
    };
    Ok(ImportPlan::Record { reference, entries, newest: !is_older, ended, begun, report })
}

impl Digests<'_> {
    fn accepted_by(&self, options: &ImportOptions) -> bool {
        options.accept_digest.as_deref().is_some_and(|accepted| {
            [self.file, self.content].iter().any(|digest| digest.eq_ignore_ascii_case(accepted))
        })
    }
}

/// Compares a publication with its neighbour in time: the one before it, or, where it is the first, the
/// one after it. Addresses count, not entities: one that moves to another entity stays listed.
fn check_plausible<Id>(
    known: &SourceHistory<Id>,
    publication: &Publication,
    reference: PublicationRef,
    digests: Digests<'_>,
) -> Result<(), Refusal> {
    let digest = digests.file.to_owned();
    if publication.entries.is_empty() {
        return Err(Refusal::Empty { digest });
    }
    let references = || known.publications.iter().map(|other| other.reference);
    let before = references().filter(|other| *other < reference).max();
    let Some(neighbour) = before.or_else(|| references().min()) else { return Ok(()) };
    let standing = known.listings.iter().filter(|listing| listing.presence.holds(neighbour));
    let previous: BTreeSet<_> = standing.map(|listing| address(&listing.entry)).collect();
    let found: BTreeSet<_> = publication.entries.iter().map(address).collect();
    let (added, removed) =
        (found.difference(&previous).count(), previous.difference(&found).count());
    let large = |change: usize| {
        change * 100 > previous.len() * PLAUSIBLE_PERCENT && change > PLAUSIBLE_NUMBER
    };
    if large(added) || large(removed) {
        let (previous, compared) = (previous.len(), neighbour.published_on);
        return Err(Refusal::Implausible { added, removed, previous, compared, digest });
    }
    Ok(())
}

fn address(entry: &ListingEntry) -> (&str, &str) {
    (&entry.asset_code, &entry.address_as_published)
}

/// Rows that end, entries that begin, and the numbers.
type Changes<Id> = (Vec<Id>, Vec<(ListingEntry, Presence)>, ImportReport);

fn changes<Id: Copy>(
    known: &SourceHistory<Id>,
    publication: &Publication,
    reference: PublicationRef,
) -> Changes<Id> {
    let references: Vec<PublicationRef> =
        known.publications.iter().map(|publication| publication.reference).collect();
    let previous = references.iter().copied().max();
    let is_newest = previous.is_none_or(|previous| previous < reference);
    let mut recorded: BTreeMap<Key, Vec<&KnownListing<Id>>> = BTreeMap::new();
    for listing in &known.listings {
        recorded.entry(key(&listing.entry)).or_default().push(listing);
    }
    let found: BTreeMap<Key, &ListingEntry> =
        publication.entries.iter().map(|entry| (key(entry), entry)).collect();
    let keys: BTreeSet<&Key> = recorded.keys().chain(found.keys()).collect();

    let (mut ended, mut begun, mut report) = (Vec::new(), Vec::new(), ImportReport::default());
    for key in keys {
        let rows = recorded.get(key).map(Vec::as_slice).unwrap_or_default();
        let entry = found.get(key).copied();
        let before: Vec<Presence> = rows.iter().map(|row| row.presence).collect();
        let after = with_publication(&references, &before, reference, entry.is_some());

        let mut changed = false;
        for run in &after {
            let print = printed_last(rows, entry, run, &references, reference);
            let kept = rows.iter().any(|row| row.presence == *run && Some(&row.entry) == print);
            if let (false, Some(print)) = (kept, print) {
                changed = true;
                begun.push((print.clone(), *run));
            }
        }
        for row in rows {
            let print = printed_last(rows, entry, &row.presence, &references, reference);
            if !after.contains(&row.presence) || Some(&row.entry) != print {
                ended.push(row.id);
            }
        }

        // A publication filed in the past adds what was not known at all, and removes nothing.
        let stood = match previous {
            Some(previous) if is_newest => before.iter().any(|run| run.holds(previous)),
            _ => !rows.is_empty(),
        };
        match (stood, entry) {
            (false, Some(entry)) => report.added.push(reported(entry)),
            (true, None) if !is_newest => report.unchanged += u64::from(!changed),
            (true, None) => report.removed.extend(rows.first().map(|row| reported(&row.entry))),
            (true, Some(_)) if changed => report.updated += 1,
            (true, Some(_)) => report.unchanged += 1,
            (false, None) => {}
        }
    }
    (ended, begun, report)
}

/// What the newest publication within a run printed: the one being imported, where none of the run is
/// newer, else what was recorded.
fn printed_last<'a, Id>(
    rows: &[&'a KnownListing<Id>],
    entry: Option<&'a ListingEntry>,
    run: &Presence,
    references: &[PublicationRef],
    added: PublicationRef,
) -> Option<&'a ListingEntry> {
    let newer_known = references.iter().any(|other| *other > added && run.holds(*other));
    let from_added = entry.filter(|_| run.holds(added) && !newer_known);
    let overlapping = rows
        .iter()
        .find(|row| references.iter().any(|other| run.holds(*other) && row.presence.holds(*other)));
    from_added.or_else(|| overlapping.map(|row| &row.entry))
}

/// The report with what is to be known about the entries themselves.
fn with_findings(mut report: ImportReport, entries: &[ListingEntry]) -> ImportReport {
    for entry in entries {
        match entry.addresses() {
            ListedAddresses::Valid(_) => {}
            ListedAddresses::Misfiled(_, error) | ListedAddresses::Invalid(error) => {
                let reason = error.to_string();
                report.invalid.push(InvalidEntry { entry: reported(entry), reason });
            }
            ListedAddresses::Unsupported => {
                *report.unsupported.entry(entry.asset_code.clone()).or_default() += 1;
            }
        }
    }
    report
}

fn reported(entry: &ListingEntry) -> ReportedEntry {
    ReportedEntry {
        list: entry.list.clone(),
        entity_id: entry.entity.id.clone(),
        entity: entry.entity.name.clone(),
        asset_code: entry.asset_code.clone(),
        address: entry.address_as_published.clone(),
    }
}

#[cfg(test)]
mod tests {
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
                programmes: vec![],
                remarks: None,
                listed_on: None,
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
        }
    }

    /// A store in memory: what it knows after each import.
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
        ) -> Result<Option<ImportReport>, Refusal> {
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
                    Ok(Some(report))
                }
            }
        }

        fn import_plain(
            &mut self,
            day: i8,
            addresses: &[&str],
        ) -> Result<Option<ImportReport>, Refusal> {
            let publication = publication(day, addresses);
            self.import(&publication, &format!("{day}{addresses:?}"), &ImportOptions::default())
        }

        fn file(&mut self, day: i8, addresses: &[&str]) -> Result<Option<ImportReport>, Refusal> {
            let options = ImportOptions { history: true, ..ImportOptions::default() };
            let publication = publication(day, addresses);
            self.import(&publication, &format!("{day}{addresses:?}"), &options)
        }

        /// Address, first and last day of every run.
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
        let entity =
            ListedEntity { name: "DOE, Janet".into(), ..(*renamed.entries[0].entity).clone() };
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
            Refusal::Older { published_on: date(2025, 3, 4), newest: date(2025, 3, 21) }
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
        let number =
            |count: usize| -> Vec<String> { (0..count).map(|n| format!("a{n}")).collect() };
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
        assert!(outcome(20, 1));
        assert!(!outcome(1, 0), "a list does not vanish");

        let mut memory = Memory::default();
        memory.import_plain(1, &["a"]).unwrap();
        let options =
            ImportOptions { accept_digest: Some("EE".into()), ..ImportOptions::default() };
        let refusal = memory.import(&publication(2, &[]), "ff", &options).unwrap_err();
        assert_eq!(refusal, Refusal::Empty { digest: "ff".into() });
        assert!(memory.import(&publication(2, &[]), "ee", &options).is_ok());
    }

    #[test]
    fn as_many_other_addresses_are_implausible_too() {
        let named =
            |letter: &str| -> Vec<String> { (0..30).map(|n| format!("{letter}{n}")).collect() };
        let (before, after) = (named("a"), named("b"));
        let texts = |names: &'_ [String]| -> Publication {
            let listed: Vec<&str> = names.iter().map(String::as_str).collect();
            publication(if names[0] == "a0" { 10 } else { 11 }, &listed)
        };
        let mut memory = Memory::default();
        memory.import(&texts(&before), "a", &ImportOptions::default()).unwrap();
        let expected = Refusal::Implausible {
            added: 30,
            removed: 30,
            previous: 30,
            compared: date(2025, 3, 10),
            digest: "b".into(),
        };
        let refusal = memory.import(&texts(&after), "b", &ImportOptions::default());
        assert_eq!(refusal, Err(expected));

        // What is filed in the past is compared with its neighbour as well.
        let history = ImportOptions { history: true, ..ImportOptions::default() };
        let old = Publication { published_on: date(2025, 3, 1), ..texts(&after) };
        assert!(matches!(memory.import(&old, "c", &history), Err(Refusal::Implausible { .. })));
    }

    #[test]
    fn an_empty_first_publication_needs_its_digest() {
        let mut memory = Memory::default();
        assert_eq!(memory.import_plain(1, &[]), Err(Refusal::Empty { digest: "1[]".into() }));
    }

    #[test]
    fn a_publication_of_the_future_is_refused() {
        let mut memory = Memory::default();
        let list = Publication { published_on: date(2025, 4, 2), ..publication(1, &["a"]) };
        assert_eq!(
            memory.import(&list, "x", &ImportOptions::default()),
            Err(Refusal::Future { published_on: date(2025, 4, 2), today: date(2025, 3, 31) })
        );
        let tomorrow = Publication { published_on: date(2025, 4, 1), ..list };
        assert!(memory.import(&tomorrow, "x", &ImportOptions::default()).is_ok());
    }

    #[test]
    fn what_was_corrected_and_is_issued_again_on_the_same_day_stands() {
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
    fn the_report_names_what_is_invalid_and_what_is_not_read_yet() {
        let mut list = publication(4, &["1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb"]);
        let mut unread = entry("5be5543ff73456ab9f2d207887e2af87322c651ea1a873c5b25b7ffae456c320");
        unread.asset_code = "TON".into();
        list.entries.push(unread);
        let mut memory = Memory::default();
        let report = memory.import(&list, "x", &ImportOptions::default()).unwrap().unwrap();
        assert_eq!(
            report.invalid[0].reason,
            "wrong base58check checksum: at least one character was mistyped"
        );
        assert_eq!(report.unsupported, BTreeMap::from([("TON".to_owned(), 1)]));
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
}
