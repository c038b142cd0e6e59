//! Tests that a format is one value: formats that this file defines are imported and found in the index that checks
//! read.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{fs, io::BufRead, path::Path, sync::Arc, time::Duration};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    evidence::{AddressLabel, Label, ListedEntity, ListingEntry, Tier},
    facts::Environment,
    names::SourceId,
    score::Confidence,
    taxonomy::Category,
};
use assay_input::FileSelection;
use assay_intel::{
    IntelSnapshot,
    formats::{FileError, Format, FormatFile, FormatReader, ReadOption},
    import::{ImportError, ImportOutcome, ImportRequest, ImportedContent, import},
    labels::LabelSet,
    listings::{Publication, Rejected},
};
use assay_store::SqliteStore;
use jiff::{Timestamp, civil::Date};

const LISTED: &str = "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h";
const LABELLED: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";

/// A list in free text: one notice per file, which names addresses anywhere.
static NOTICES: Format = Format {
    id: "made-up-notices",
    short_id: None,
    title: "Notices of a made-up authority (text)",
    files: FileSelection { extensions: &["txt"], several: true },
    options: &[ReadOption::PublishedOn],
    default_source: Some("made-up"),
    terms: None,
    reader: FormatReader::Listings(|input, context| {
        let notices: Vec<Vec<ListingEntry>> = input.read_each(notice)?;
        let parties = u64::try_from(notices.len()).unwrap_or(u64::MAX);
        let entries = notices.into_iter().flatten().collect();
        let rejected = Vec::new();
        Ok(Publication {
            published_on: context.published_on,
            entries,
            rejected,
            parties,
            incomplete: vec![],
            addresses_are_rare: false,
        })
    }),
};

/// Labels whose chain only the import states: an address, a space and a name per line.
static NAMES: Format = Format {
    id: "made-up-names",
    short_id: None,
    title: "Names of a made-up investigator (text)",
    files: FileSelection { extensions: &["txt"], several: false },
    options: &[ReadOption::Blockchain],
    default_source: None,
    terms: None,
    reader: FormatReader::Labels(|input, context| {
        let chain = context.blockchain.unwrap_or(ChainId::BTC);
        input.read_one(|file| names(file, chain, context.source))
    }),
};

fn lines(content: &mut dyn BufRead) -> Result<Vec<String>, FileError> {
    let lines = content.lines().collect::<Result<_, _>>();
    lines.map_err(|source| FileError::Read { line: 1, source })
}

fn notice(file: FormatFile<'_>) -> Result<Vec<ListingEntry>, FileError> {
    let FormatFile { name, content } = file;
    let text = lines(content)?.join(" ");
    let is_address = |word: &&str| CanonicalAddress::parse(ChainId::BTC, word).is_ok();
    let entry = |word: &str| ListingEntry {
        list: "made-up".parse().unwrap(),
        list_name: "Notices".to_owned(),
        entity: Arc::new(ListedEntity {
            id: name.to_owned(),
            name: "A party".to_owned(),
            aliases: Vec::new(),
            programs: Vec::new(),
            remarks: None,
            listed_on: None,
            ..ListedEntity::default()
        }),
        asset_code: "XBT".to_owned(),
        address_as_published: word.to_owned(),
        address_remarks: None,
        expires_on: None,
    };
    Ok(text.split([' ', ',', '.']).filter(is_address).map(entry).collect())
}

fn names(file: FormatFile<'_>, chain: ChainId, source: &SourceId) -> Result<LabelSet, FileError> {
    let FormatFile { content, .. } = file;
    let mut set = LabelSet::default();
    for (index, line) in lines(content)?.into_iter().enumerate() {
        let (address, name) = line.split_once(' ').unwrap_or((&line, ""));
        match CanonicalAddress::parse(chain, address) {
            Ok(address) => {
                let label = Label {
                    category: Category::Exchange,
                    entity: Some(name.into()),
                    tier: Tier::Community,
                    confidence: Confidence::from_percent(50),
                    source: source.clone(),
                    upstream: source.as_str().into(),
                    author: None,
                    term: None,
                    cites_list: None,
                    reason: None,
                    reference: None,
                    valid_from: None,
                    valid_until: None,
                };
                set.labels.push(AddressLabel { address, label });
            }
            Err(error) => {
                let position = format!("line {}", index + 1);
                set.rejected.push(Rejected { position, reason: error.to_string() });
            }
        }
    }
    Ok(set)
}

fn now() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn request(location: &Path, format: &'static Format, source: &str) -> ImportRequest {
    let location = location.display().to_string();
    ImportRequest::new(location, format, source.parse().unwrap(), Duration::from_secs(1))
}

#[tokio::test]
async fn a_list_of_an_added_format_is_imported_and_found() {
    // Given two notices in a folder, and a file of another kind beside them.
    let folder = tempfile::tempdir().unwrap();
    let notices = folder.path().join("notices");
    fs::create_dir(&notices).unwrap();
    fs::write(notices.join("1.txt"), format!("The party holds {LISTED}, says the court.")).unwrap();
    fs::write(notices.join("2.txt"), "The party holds nothing.").unwrap();
    fs::write(notices.join("3.pdf"), "no").unwrap();
    let store = SqliteStore::open_or_create(folder.path(), Environment::Production).await.unwrap();
    let mut request = request(&notices, &NOTICES, "made-up");
    request.published_on = Some("2026-11-19".parse::<Date>().unwrap());

    // When they are imported twice.
    let outcome = import(&store, &request, now(), || {}).await.unwrap();
    let ImportOutcome::Imported(ImportedContent::Listings(imported)) = outcome else {
        panic!("{outcome:?}")
    };
    let again = import(&store, &request, now(), || {}).await.unwrap();

    // Then the publication is recorded once and the address is listed.
    assert_eq!((imported.addresses, imported.parties), (1, 2));
    assert_eq!(imported.published_on, "2026-11-19".parse::<Date>().unwrap());
    assert!(matches!(again, ImportOutcome::Unchanged { verified: true, .. }), "{again:?}");
    let snapshot = IntelSnapshot::load(&store, None).await.unwrap();
    let facts = snapshot.facts(&CanonicalAddress::parse(ChainId::BTC, LISTED).unwrap());
    assert_eq!(facts.listings.len(), 1);
    assert_eq!(facts.listings[0].entry.entity.id, "1.txt");
}

#[tokio::test]
async fn labels_of_an_added_format_are_imported_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("names.txt");
    fs::write(&file, format!("{LABELLED} An exchange\nnonsense\n")).unwrap();
    let store = SqliteStore::open_or_create(folder.path(), Environment::Production).await.unwrap();
    let mut request = request(&file, &NAMES, "investigator");
    request.blockchain = Some(ChainId::BTC);

    let outcome = import(&store, &request, now(), || {}).await.unwrap();

    let ImportOutcome::Imported(ImportedContent::Labels(imported)) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!((imported.files, imported.labels, imported.rejected.len()), (1, 1, 1));
    let snapshot = IntelSnapshot::load(&store, None).await.unwrap();
    let facts = snapshot.facts(&CanonicalAddress::parse(ChainId::BTC, LABELLED).unwrap());
    assert_eq!(facts.labels.len(), 1);
    assert_eq!(facts.labels[0].entity.as_deref(), Some("An exchange"));
}

#[tokio::test]
async fn options_that_a_format_does_not_take_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open_or_create(folder.path(), Environment::Production).await.unwrap();
    let mut request = request(&folder.path().join("none.txt"), &NAMES, "investigator");
    request.published_on = Some("2026-11-19".parse::<Date>().unwrap());
    let error = import(&store, &request, now(), || {}).await.unwrap_err();
    assert!(matches!(error, ImportError::Option { option: ReadOption::PublishedOn, .. }));
    let message = "--published-on has no effect on the format `made-up-names`: leave it out";
    assert_eq!(error.to_string(), message);
}
