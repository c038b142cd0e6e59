//! Every format of lists and labels, in every encoding and with every line end: whatever a writer of the format makes
//! from random listings is found whole by a check and by screening.

use std::{fmt::Write, fs, path::Path, time::Duration};

use assay_address::{CanonicalAddress, ChainId, Payload};
use assay_engine::{assess, facts::Environment, policy::Policy};
use assay_intel::{
    IntelSnapshot,
    formats::{self, FORMATS, Format, IntelKind},
    import::{ImportOutcome, ImportRequest, import},
};
use assay_service::{
    Screening,
    chains::{self, registry::ChainReaders},
};
use assay_store::SqliteStore;
use assay_test_random::Random;
use assay_tests::assay;
use jiff::Timestamp;
use serde_json::{Value, json};

/// Listed or labelled address with the name of its owner.
struct Row {
    address: CanonicalAddress,
    /// The code of lists, such as `XBT`.
    code: &'static str,
    /// The usual code, such as `BTC`.
    symbol: &'static str,
    name: String,
}

/// A file that a writer makes: its name and its text, with `\n` for line ends.
type WrittenFile = (&'static str, String);

/// Writer of a format.
struct Writer {
    format: &'static str,
    /// Chains that the format can state.
    chains: &'static [(&'static str, &'static str, &'static str)],
    write: fn(&[Row], &mut Random) -> Vec<WrittenFile>,
}

const ALL: &[(&str, &str, &str)] = &[
    ("btc", "XBT", "BTC"),
    ("ltc", "LTC", "LTC"),
    ("doge", "DOGE", "DOGE"),
    ("dash", "DASH", "DASH"),
    ("zec", "ZEC", "ZEC"),
    ("eth", "ETH", "ETH"),
];
const ETHEREUM: &[(&str, &str, &str)] = &[("eth", "ETH", "ETH")];

static WRITERS: [Writer; 20] = [
    Writer { format: "ofac-advanced", chains: ALL, write: ofac_advanced },
    Writer { format: "ofac-enhanced", chains: ALL, write: ofac_enhanced },
    Writer { format: "uk-xml", chains: ALL, write: uk },
    Writer { format: "eu-xml", chains: ALL, write: eu },
    Writer { format: "un-xml", chains: ALL, write: un },
    Writer { format: "fr-json", chains: ALL, write: french },
    Writer { format: "seco-xml", chains: ALL, write: swiss },
    Writer { format: "japan-mof", chains: ALL, write: japanese },
    Writer { format: "nbctf-csv", chains: ALL, write: israeli },
    Writer { format: "listings-csv", chains: ALL, write: listings_csv },
    Writer { format: "listings-jsonl", chains: ALL, write: listings_jsonl },
    Writer { format: "tagpack", chains: ALL, write: tagpack },
    Writer { format: "explorer", chains: ETHEREUM, write: explorer },
    Writer { format: "ftm-jsonl", chains: ALL, write: entities },
    Writer { format: "ransomware-json", chains: ALL, write: ransomware },
    Writer { format: "phishing-list", chains: ETHEREUM, write: address_lines },
    Writer { format: "stolen-funds-list", chains: ETHEREUM, write: address_lines },
    Writer { format: "exchange-csv", chains: ALL, write: exchanges },
    Writer { format: "labels-csv", chains: ALL, write: labels_csv },
    Writer { format: "labels-jsonl", chains: ALL, write: labels_jsonl },
];

/// An encoding, whether its texts have a byte order mark, and whether it must be declared.
struct Encoded {
    name: &'static str,
    marked: bool,
    declared: bool,
    /// Letters of names.
    letters: &'static str,
}

const WESTERN: &str = "abcXYZ\u{E0}\u{E9}\u{F6}\u{FC}\u{D1}\u{DF}";
const HEBREW: &str = "abcXYZ\u{5D0}\u{5D1}\u{5DE}\u{5E9}\u{5EA}";
const ALL_SCRIPTS: &str = "abcXYZ\u{E9}\u{5D0}\u{5E9}\u{416}\u{44F}\u{65E5}\u{672C}\u{20000}";

const ENCODINGS: [Encoded; 6] = [
    Encoded { name: "utf-8", marked: false, declared: false, letters: ALL_SCRIPTS },
    Encoded { name: "utf-8", marked: true, declared: false, letters: ALL_SCRIPTS },
    Encoded { name: "utf-16le", marked: true, declared: false, letters: ALL_SCRIPTS },
    Encoded { name: "utf-16be", marked: true, declared: false, letters: ALL_SCRIPTS },
    Encoded { name: "windows-1252", marked: false, declared: true, letters: WESTERN },
    Encoded { name: "windows-1255", marked: false, declared: true, letters: HEBREW },
];

fn now() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn rows(writer: &Writer, letters: &str, random: &mut Random) -> Vec<Row> {
    let letters: Vec<char> = letters.chars().collect();
    let count = random.within(1, 6);
    (0..count)
        .map(|_| {
            let (chain, code, symbol) = *random.pick(writer.chains);
            let chain: ChainId = chain.parse().unwrap();
            let hash = random.bytes();
            let payload = match (chain == ChainId::ETH, random.below(2)) {
                (true, _) => Payload::Account(hash),
                (false, 0) => Payload::PublicKeyHash(hash),
                (false, _) => Payload::ScriptHash(hash),
            };
            let address = CanonicalAddress::from_payload(chain, payload).unwrap();
            let separators =
                [" ", ", ", "; ", " & ", " | ", "-", "'", " <", "> ", "\t", " \"", "\" "];
            let mut name = "N".to_owned();
            for _ in 0..random.within(1, 4) {
                for _ in 0..random.within(1, 6) {
                    name.push(*random.pick(&letters));
                }
                let separator = *random.pick(&separators);
                name.push_str(separator);
                name.push('x');
            }
            Row { address, code, symbol, name }
        })
        .collect()
}

/// The letters of a name: publishers' formats split and join names in ways of their own.
fn letters(name: &str) -> String {
    name.chars().filter(|character| character.is_alphanumeric()).collect()
}

/// Bytes of a text.
fn encoded(text: &str, encoding: &Encoded) -> Vec<u8> {
    let text = if encoding.marked { format!("\u{FEFF}{text}") } else { text.to_owned() };
    let byte = |character: char| match (u32::from(character), encoding.name) {
        (code @ ..0xFF, "windows-1252") | (code @ ..0x80, _) => u8::try_from(code).unwrap(),
        (code @ 0x5D0..=0x5EA, "windows-1255") => u8::try_from(code - 0x5D0 + 0xE0).unwrap(),
        _ => panic!("{character} is not in {}", encoding.name),
    };
    match encoding.name {
        "utf-8" => text.into_bytes(),
        "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "utf-16be" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        _ => text.chars().map(byte).collect(),
    }
}

/// Writes the files of a list and returns their location.
fn write_files(
    folder: &Path,
    files: Vec<WrittenFile>,
    encoding: &Encoded,
    end: &str,
) -> std::path::PathBuf {
    let several = files.len() > 1;
    let list = folder.join("list");
    fs::create_dir_all(&list).unwrap();
    let mut path = list.clone();
    for (name, text) in files {
        let text = match text.strip_prefix("<?xml version=\"1.0\"?>") {
            Some(rest) => format!("<?xml version=\"1.0\" encoding=\"{}\"?>{rest}", encoding.name),
            None => text,
        };
        let text = text.replace('\n', end);
        path = list.join(name);
        fs::write(&path, encoded(&text, encoding)).unwrap();
    }
    if several { list } else { path }
}

fn request(format: &'static Format, location: &Path, encoding: &Encoded) -> ImportRequest {
    let source = format.default_source.unwrap_or("own").parse().unwrap();
    let location = location.display().to_string();
    let mut request = ImportRequest::new(location, format, source, Duration::from_secs(1));
    // XML declares its encoding itself.
    let declared =
        encoding.declared && !format.id.ends_with("xml") && !format.id.starts_with("ofac");
    request.encoding = declared.then(|| encoding.name.parse().unwrap());
    request
}

fn format(writer: &Writer) -> &'static Format {
    formats::by_id(writer.format).unwrap()
}

async fn found_whole(writer: &Writer, encoding: &Encoded, end: &str, seed: u64) {
    let place = format!("{} in {} with {end:?}, seed {seed}", writer.format, encoding.name);
    let mut random = Random::new(seed);
    let rows = rows(writer, encoding.letters, &mut random);
    let folder = tempfile::tempdir().unwrap();
    let files = (writer.write)(&rows, &mut random);
    let location = write_files(folder.path(), files, encoding, end);
    let store = SqliteStore::open_or_create(folder.path(), Environment::Production).await.unwrap();

    let request = request(format(writer), &location, encoding);
    let outcome = import(&store, &request, now(), || {}).await;
    let outcome = outcome.unwrap_or_else(|error| panic!("{place}: {error}"));
    assert!(matches!(outcome, ImportOutcome::Imported(_)), "{place}: {outcome:?}");

    let intel = IntelSnapshot::load(&store, None).await.unwrap();
    let (chains, policy) = (ChainReaders::default(), Policy::default());
    for row in &rows {
        let facts = chains::facts(&chains, &intel, &policy, &row.address, now()).await;
        let checked = assess(&row.address, &facts, &policy, now());
        let screening = Screening {
            chains: &chains,
            intel: &intel,
            policy: &policy,
            now: now(),
            intel_stale: false,
        };
        let screened = screening.by_lists_and_labels(&row.address);
        let names: Vec<String> = match format(writer).kind() {
            IntelKind::Listings => {
                assert!(screened.sanctioned, "{place}: {}", row.address);
                checked.sanctions.iter().map(|listing| letters(&listing.entity)).collect()
            }
            IntelKind::Labels => {
                assert!(!screened.categories.is_empty(), "{place}: {}", row.address);
                let labels = checked.labels.iter();
                labels
                    .flat_map(|label| [label.entity.as_deref(), label.reason.as_deref()])
                    .map(|name| letters(name.unwrap_or_default()))
                    .collect()
            }
            IntelKind::Prices => panic!("{place}: prices name no address"),
        };
        let name = letters(&row.name);
        assert!(names.contains(&name), "{place}: {} of {name} has {names:?}", row.address);
    }
}

#[test]
fn every_format_has_a_writer() {
    let names_addresses = |format: &&&Format| format.kind() != IntelKind::Prices;
    let formats: Vec<_> = FORMATS.iter().filter(names_addresses).map(|format| format.id).collect();
    assert_eq!(WRITERS.iter().map(|writer| writer.format).collect::<Vec<_>>(), formats);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_is_found_whole_in_every_encoding_and_line_end() {
    let mut cases = Vec::new();
    let mut seed = 52;
    for writer in &WRITERS {
        for encoding in &ENCODINGS {
            for end in ["\n", "\r\n", "\r"] {
                seed += 1;
                cases.push(tokio::spawn(found_whole(writer, encoding, end, seed)));
            }
        }
    }
    for case in cases {
        case.await.unwrap();
    }
}

#[test]
fn the_program_finds_a_list_of_each_format() {
    for (writer, seed) in WRITERS.iter().zip(1_u64..) {
        let mut random = Random::new(seed);
        let (encoding, end) = (random.pick(&ENCODINGS), *random.pick(&["\n", "\r\n", "\r"]));
        let rows = rows(writer, encoding.letters, &mut random);
        let folder = tempfile::tempdir().unwrap();
        let files = (writer.write)(&rows, &mut random);
        let location = write_files(folder.path(), files, encoding, end).display().to_string();
        let request = request(format(writer), Path::new(&location), encoding);
        let kind =
            if format(writer).kind() == IntelKind::Listings { "sanctions" } else { "labels" };
        let source = request.source.as_str();
        let declared = request.encoding.map(assay_input::Encoding::name);
        let mut arguments =
            vec!["ingest", kind, &location, "--format", writer.format, "--source", source];
        arguments.extend(declared.iter().flat_map(|name| ["--encoding", name]));
        let _ = assay(folder.path(), arguments).ok();

        let field = if kind == "sanctions" { "sanctions" } else { "labels" };
        let mut table = "blockchain;address\r".to_owned();
        for row in &rows {
            let (chain, address) = (row.address.chain().as_str(), row.address.as_str());
            let checked = assay(folder.path(), ["check", chain, address, "--json"]).ok().json();
            assert_ne!(checked[field], json!([]), "{}: {address}", writer.format);
            write!(table, "{chain};{address}\r").unwrap();
        }
        fs::write(folder.path().join("table.csv"), table).unwrap();
        let flags = ["screen", "table.csv", "--output-format", "jsonl"];
        let screened = assay(folder.path(), flags).ok().stdout;
        assert_eq!(screened.lines().count(), rows.len());
        for row in screened.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            let is_found = row["sanctioned"] == true || row["categories"] != json!([]);
            assert!(is_found, "{}: {row}", writer.format);
        }
    }
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Writes a table with a random delimiter.
fn csv(header: &[&str], rows: impl Iterator<Item = Vec<String>>, random: &mut Random) -> String {
    let delimiter = *random.pick(&[",", ";", "\t", "|"]);
    let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
    let header = header.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let lines: Vec<String> = std::iter::once(header)
        .chain(rows)
        .map(|cells| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>().join(delimiter))
        .collect();
    let end = if random.below(2) == 0 { "\n" } else { "" };
    let stated = if random.below(3) == 0 { format!("sep={delimiter}\n") } else { String::new() };
    format!("{stated}{}{end}", lines.join("\n"))
}

fn lines(rows: impl Iterator<Item = Value>) -> String {
    rows.flat_map(|row| [row.to_string(), "\n".to_owned()]).collect()
}

fn strings<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).into()
}

fn listings_csv(rows: &[Row], random: &mut Random) -> Vec<WrittenFile> {
    let header = ["List", "Entity ID", "entity", "ASSET_CODE", "address", "remarks"];
    let cells = rows.iter().map(|row| {
        strings(["own", &row.name, &row.name, row.code, row.address.as_str(), "two\nlines"])
    });
    vec![("list.csv", csv(&header, cells, random))]
}

fn listings_jsonl(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let objects = rows.iter().map(|row| {
        json!({
            "list": "own", "entity_id": row.name, "entity": row.name, "asset_code": row.code,
            "address": row.address.as_str(),
        })
    });
    vec![("list.jsonl", lines(objects))]
}

fn labels_csv(rows: &[Row], random: &mut Random) -> Vec<WrittenFile> {
    let header = ["blockchain", "address", "category", "entity", "reason"];
    let cells = rows.iter().map(|row| {
        let chain = row.address.chain().as_str();
        strings([chain, row.address.as_str(), "scam", &row.name, "two\nlines"])
    });
    vec![("list.csv", csv(&header, cells, random))]
}

fn labels_jsonl(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let objects = rows.iter().map(|row| {
        json!({
            "blockchain": row.symbol, "address": row.address.as_str(), "category": "scam",
            "entity": row.name,
        })
    });
    vec![("list.jsonl", lines(objects))]
}

fn exchanges(rows: &[Row], random: &mut Random) -> Vec<WrittenFile> {
    let cells =
        rows.iter().map(|row| strings([row.symbol, row.address.as_str(), &row.name, "1,5", ""]));
    let header = ["Coin", "Wallet Address", "Exchange", "Balance", ""];
    vec![("list.csv", csv(&header, cells, random))]
}

fn address_lines(rows: &[Row], random: &mut Random) -> Vec<WrittenFile> {
    let separator = *random.pick(&[" ", ",", ";", "\t", "|"]);
    let lines = rows.iter().map(|row| format!("{}{separator}{}\n", row.address, row.name));
    vec![("list.txt", format!("# addresses\n\n{}", lines.collect::<String>()))]
}

fn explorer(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let object: serde_json::Map<String, Value> = rows
        .iter()
        .map(|row| {
            (row.address.to_string(), json!({ "name": row.name, "labels": ["heist", "exploit"] }))
        })
        .collect();
    vec![("etherscan.json", serde_json::to_string_pretty(&object).unwrap())]
}

fn ransomware(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let objects: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "address": row.address.as_str(), "blockchain": row.address.chain().as_str(),
                "family": row.name, "createdAt": "2026-01-01",
            })
        })
        .collect();
    let file = json!({ "result": objects });
    vec![("list.json", serde_json::to_string_pretty(&file).unwrap())]
}

fn entities(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let objects = rows.iter().zip(0..).flat_map(|(row, index)| {
        let holder = format!("p{index}");
        [
            json!({
                "id": format!("w{index}"), "schema": "CryptoWallet", "datasets": ["x"], "properties": {
                    "publicKey": [row.address.as_str()], "currency": [row.symbol], "holder": [holder],
                },
            }),
            json!({
                "id": holder, "schema": "Person", "datasets": ["x"],
                "properties": { "name": [row.name], "topics": ["crime.theft"] },
            }),
        ]
    });
    vec![("list.json", lines(objects))]
}

fn tagpack(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let mut text = "title: A pack\ncreator: Someone\ndescription: Some labels\nlastmod: 2021-11-12\n\
                    source: https://www.example.org/list\nconfidence: service_data\ncategory: exchange\ntags:\n"
        .to_owned();
    for row in rows {
        let name = Value::from(row.name.as_str());
        let (address, symbol) = (&row.address, row.symbol);
        write!(text, "- address: {address}\n  currency: {symbol}\n  label: {name}\n").unwrap();
    }
    vec![("pack.yaml", text)]
}

fn sentence(row: &Row) -> String {
    format!("Known wallet, {}: {}.", row.symbol, row.address)
}

fn uk(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let parties = rows.iter().zip(0..).map(|(row, index)| {
        format!(
            "<Designation>\n<DateDesignated>25/01/2023</DateDesignated><UniqueID>RUS{index}</UniqueID>\n\
             <Names><Name><Name6>{}</Name6><NameType>Primary Name</NameType></Name></Names>\n\
             <RegimeName>The Russia (Sanctions) (EU Exit) Regulations 2019</RegimeName>\n\
             <OtherInformation>{}</OtherInformation></Designation>\n",
            xml(&row.name),
            sentence(row)
        )
    });
    let text = format!(
        "<?xml version=\"1.0\"?>\n<Designations><DateGenerated>19/11/2026</DateGenerated>\n{}</Designations>\n",
        parties.collect::<String>()
    );
    vec![("list.xml", text)]
}

fn eu(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let parties = rows.iter().zip(0..).map(|(row, index)| {
        format!(
            "<sanctionEntity logicalId=\"{index}\" euReferenceNumber=\"EU.{index}\">\n<remark>{}</remark>\n\
             <regulation publicationDate=\"2024-02-23\" entryIntoForceDate=\"2024-02-24\" programme=\"UKR\"/>\n\
             <nameAlias wholeName=\"{}\" strong=\"true\"/></sanctionEntity>\n",
            sentence(row),
            xml(&row.name)
        )
    });
    let text = format!(
        "<?xml version=\"1.0\"?>\n<export xmlns=\"http://eu.europa.ec/fpi/fsd/export\" \
         generationDate=\"2026-11-19T11:43:32+02:00\">\n{}</export>\n",
        parties.collect::<String>()
    );
    vec![("list.xml", text)]
}

fn un(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let parties = rows.iter().zip(1..).map(|(row, index)| {
        format!(
            "<INDIVIDUAL>\n<DATAID>{index}</DATAID>\n<FIRST_NAME>{}</FIRST_NAME>\n<COMMENTS1>{}</COMMENTS1>\n\
             </INDIVIDUAL>\n",
            xml(&row.name),
            sentence(row)
        )
    });
    let text = format!(
        "<?xml version=\"1.0\"?>\n<CONSOLIDATED_LIST dateGenerated=\"2026-11-19T00:00:09.554Z\">\n\
         <INDIVIDUALS>{}</INDIVIDUALS></CONSOLIDATED_LIST>\n",
        parties.collect::<String>()
    );
    vec![("list.xml", text)]
}

fn swiss(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let parties = rows.iter().zip(100..).map(|(row, index)| {
        format!(
            "<target ssid=\"{index}\"><sanctions-set-id>4387</sanctions-set-id>\n<entity>\
             <identity ssid=\"1\" main=\"true\"><name name-type=\"primary-name\" quality=\"good\">\
             <name-part order=\"1\" name-part-type=\"whole-name\"><value>{}</value></name-part></name></identity>\n\
             <other-information>{}</other-information></entity>\n\
             <modification modification-type=\"listed\" effective-date=\"2022-03-16\"/></target>\n",
            xml(&row.name),
            sentence(row)
        )
    });
    let text = format!(
        "<?xml version=\"1.0\"?>\n<swiss-sanctions-list list-type=\"whole-list\" date=\"2026-11-19\">\n\
         <sanctions-program ssid=\"20\"><program-key lang=\"eng\">Belarus</program-key>\
         <program-name lang=\"eng\">Ordinance</program-name>\
         <sanctions-set ssid=\"4387\" lang=\"eng\">article 9</sanctions-set></sanctions-program>\n\
         {}</swiss-sanctions-list>\n",
        parties.collect::<String>()
    );
    vec![("list.xml", text)]
}

fn french(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let parties: Vec<Value> = rows
        .iter()
        .zip(5100..)
        .map(|(row, index)| {
            json!({
                "IdRegistre": index, "Nature": "Personne morale", "Nom": row.name, "RegistreDetail": [{
                    "TypeChamp": "IDENTIFICATION",
                    "Valeur": [{ "Identification": row.address.as_str(), "Commentaire": row.symbol }],
                }],
            })
        })
        .collect();
    let file = json!({
        "Publications": { "DatePublication": "2026-11-19T00:00:00", "PublicationDetail": parties },
    });
    vec![("list.json", serde_json::to_string_pretty(&file).unwrap())]
}

fn ofac_advanced(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let features = ALL.iter().zip(344..).map(|((_, code, _), id)| {
        format!("<FeatureType ID=\"{id}\">Digital Currency Address - {code}</FeatureType>\n")
    });
    let feature = |row: &Row| 344 + ALL.iter().position(|(_, code, _)| *code == row.code).unwrap();
    let parties = rows.iter().zip(9001..).map(|(row, id)| {
        format!(
            "<DistinctParty FixedRef=\"{id}\"><Comment />\n<Profile ID=\"{id}\" PartySubTypeID=\"3\">\n\
             <Identity ID=\"{id}\" FixedRef=\"{id}\" Primary=\"true\" False=\"false\">\n\
             <Alias AliasTypeID=\"1403\" Primary=\"true\" LowQuality=\"false\">\
             <DocumentedName ID=\"{id}\" DocNameStatusID=\"1\"><DocumentedNamePart>\
             <NamePartValue NamePartGroupID=\"{id}\">{}</NamePartValue></DocumentedNamePart></DocumentedName></Alias>\n\
             <NamePartGroups><MasterNamePartGroup><NamePartGroup ID=\"{id}\" NamePartTypeID=\"1525\" />\
             </MasterNamePartGroup></NamePartGroups></Identity>\n\
             <Feature ID=\"{id}\" FeatureTypeID=\"{}\"><FeatureVersion ID=\"{id}\">\
             <VersionDetail DetailTypeID=\"1432\">\n{}\n</VersionDetail></FeatureVersion></Feature>\n\
             </Profile></DistinctParty>\n",
            xml(&row.name),
            feature(row),
            row.address
        )
    });
    let entries = rows.iter().zip(9001..).map(|(_, id)| {
        format!("<SanctionsEntry ID=\"{id}\" ProfileID=\"{id}\" ListID=\"1550\" />\n")
    });
    let text = format!(
        "<?xml version=\"1.0\"?>\n<Sanctions xmlns=\"urn:example:advanced\" Version=\"3\">\n\
         <DateOfIssue CalendarTypeID=\"1\"><Year>2026</Year><Month>11</Month><Day>19</Day></DateOfIssue>\n\
         <ReferenceValueSets>\n\
         <AliasTypeValues><AliasType ID=\"1403\">Name</AliasType></AliasTypeValues>\n\
         <DocNameStatusValues><DocNameStatus ID=\"1\">Primary Latin</DocNameStatus></DocNameStatusValues>\n\
         <FeatureTypeValues>{}</FeatureTypeValues>\n\
         <ListValues><List ID=\"1550\">SDN List</List></ListValues>\n\
         <NamePartTypeValues><NamePartType ID=\"1525\">Entity Name</NamePartType></NamePartTypeValues>\n\
         <SanctionsTypeValues><SanctionsType ID=\"1\">Program</SanctionsType></SanctionsTypeValues>\n\
         </ReferenceValueSets>\n\
         <DistinctParties>{}</DistinctParties>\n<SanctionsEntries>{}</SanctionsEntries>\n</Sanctions>\n",
        features.collect::<String>(),
        parties.collect::<String>(),
        entries.collect::<String>()
    );
    vec![("list.xml", text)]
}

fn ofac_enhanced(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let parties = rows.iter().zip(9001..).map(|(row, id)| {
        format!(
            "<entity id=\"{id}\"><generalInfo><identityId>{id}</identityId>\
             <entityType refId=\"601\">Entity</entityType></generalInfo>\n\
             <sanctionsLists><sanctionsList refId=\"1550\" id=\"{id}\" datePublished=\"2024-01-02\">SDN List\
             </sanctionsList></sanctionsLists>\n\
             <sanctionsPrograms><sanctionsProgram refId=\"1\" id=\"{id}\">SDNTK</sanctionsProgram></sanctionsPrograms>\n\
             <names><name id=\"{id}\"><isPrimary>true</isPrimary><isLowQuality>false</isLowQuality>\n\
             <translations><translation id=\"{id}\"><isPrimary>true</isPrimary>\
             <script refId=\"20122\">Latin</script><formattedFullName>{0}</formattedFullName>\
             <nameParts><namePart id=\"{id}\"><type refId=\"1525\">Entity Name</type><value>{0}</value></namePart>\
             </nameParts></translation></translations></name></names>\n\
             <features><feature id=\"{id}\"><type featureTypeId=\"344\">Digital Currency Address - {1}</type>\
             <versionId>{id}</versionId><value>\n{2}\n</value><isPrimary>true</isPrimary></feature></features>\n\
             </entity>\n",
            xml(&row.name),
            row.code,
            row.address
        )
    });
    let text = format!(
        "<?xml version=\"1.0\"?>\n<sanctionsData xmlns=\"urn:example:ENHANCED_XML\">\n\
         <publicationInfo><dataAsOf>2026-11-19T00:00:00-05:00</dataAsOf><filters><sanctionsLists>\
         <sanctionsList refId=\"1550\">SDN List</sanctionsList></sanctionsLists><sanctionsPrograms /></filters>\n\
         </publicationInfo>\n<entities>\n{}</entities></sanctionsData>\n",
        parties.collect::<String>()
    );
    vec![("list.xml", text)]
}

/// Japan's workbook: its texts are Japanese in any case, so that it is XML in an archive, with declared encodings.
fn japanese(rows: &[Row], _: &mut Random) -> Vec<WrittenFile> {
    let cell = |column: char, row: usize, text: &str| {
        let text: String = xml(text)
            .chars()
            .map(|character| match u32::from(character) {
                code @ 0x80.. => format!("&#{code};"),
                _ => character.to_string(),
            })
            .collect();
        format!("<c r=\"{column}{row}\" t=\"inlineStr\"><is><t>{text}</t></is></c>\n")
    };
    let header = [
        ('A', "告示日付"),
        ('B', "告示番号"),
        ('C', "日本語表記"),
        ('D', "英語表記"),
        ('E', "その他の情報"),
    ];
    let header: String = header.iter().map(|(column, text)| cell(*column, 1, text)).collect();
    let parties = rows.iter().zip(2..).map(|(row, index)| {
        let cells = [cell('D', index, &row.name), cell('E', index, &sentence(row))];
        format!("<row r=\"{index}\">{}</row>\n", cells.concat())
    });
    let text = format!(
        "<?xml version=\"1.0\"?>\n<worksheet xmlns=\"x\"><sheetData>\n<row r=\"1\">{header}</row>\n{}</sheetData>\
         </worksheet>\n",
        parties.collect::<String>()
    );
    vec![("sheet1.xml", text)]
}

fn israeli(rows: &[Row], random: &mut Random) -> Vec<WrittenFile> {
    let orders = [strings(["Seizure order (ASO 12/26)", "03.09.2026", "01.09.2028"])];
    let orders =
        csv(&["File Type", "Last Updated", "Validity of Issue"], orders.into_iter(), random);
    let header = ["Order ID", "Full name", "Virtual currency address / User ID", "Currency"];
    let cells =
        rows.iter().map(|row| strings(["ASO 12/26", &row.name, row.address.as_str(), row.symbol]));
    vec![("orders.csv", orders), ("wallets.csv", csv(&header, cells, random))]
}
