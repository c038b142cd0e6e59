//! Official lists in each publisher's own structure, made up here, with addresses of eight chains in sentences, and
//! with numbers of other kinds around them. The readers find every one of these addresses, and no other text.
//!
//! The structures follow the publishers' schemas and public samples: `sc-sanctions.xsd` of the UN, the UK
//! Sanctions List of the FCDO, `http://eu.europa.ec/fpi/fsd/export` 1.1 of the EU, `swiss-sanctions-list` of
//! SECO, `derniere-publication-fichier-json` of the French Treasury, the workbook of Japan's Ministry of
//! Finance, and the two tables of Israel's NBCTF.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use std::{env, fs, io::Write, path::Path};

use assay_address::ChainId;
use assay_engine::evidence::ListedAddresses;
use assay_input::{Files, InputLimits};
use assay_intel::{
    formats::{self, FormatInput, FormatReader, IntelKind, ReadContext},
    listings::Publication,
};
use jiff::civil::{Date, date};

const BTC: &str = "1KUCzSr49wPWckUDouJLybJuRYtViF5hfM";
const SEGWIT: &str = "bc1q9e7jcqaf2pawye0v7k6n26y955ee8gsztpqggj";
const LTC: &str = "ltc1qrzkruu6r7qtgjrz3p6fljdfxz95ancl4fp4u0l";
const DOGE: &str = "DAviwTPBZStX82JcXc9oFcCGv1c1yb7cS6";
const TRX: &str = "TDMpPL2PQ89MvXzYvhVupvgjFB3AomNWYF";
const TRX_2: &str = "TWpJHKMjKEAWNgA6irA6pzt7EoLFUpoo1g";
const DASH: &str = "XuP18QCNMZbWE5rh3aYCrREAsDSh9jwST8";
const XRP: &str = "rGZ4dMBoSFXfXJm7W4ECt86BVrjvqeuUCA";
const ZEC: &str = "t1eA1tXJW2E4em7XWH6CeHSgGjiJE3N49jG";
const EVM: &str = "0x189f40034be7a199f1fa9891668ee3ab6049f82d";
const SOL: &str = "9mkxy9EhrooBDmGLqqKEnbdGgoMzQnZgCxgcVv5WsVAZ";

/// Numbers that look like addresses to a careless pattern.
const DECOYS: &str = "Passport T1307262, national ID 99489165270, IBAN GB29NWBK60161331926819, IBAN \
    MT84MALT011000012345MTLCAST001S, BIC DEUTDEFF500, IMO 9187629, OGRN 1157746078984, phone \
    +7 495 123-45-67, SHA-256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08.";

/// Text with addresses of eight chains.
fn text_with_addresses() -> String {
    format!(
        "{DECOYS} He used the Bitcoin wallet {BTC}, later {SEGWIT}. ETH: {EVM} / LTC: {LTC} / TRX: {TRX}. \
         Donations in DOGE {DOGE}; in Dash to {DASH}; in XRP ({XRP}). Zcash address {ZEC}. Solana {SOL}. \
         {DECOYS}"
    )
}

/// The addresses of [`text_with_addresses`] with the codes under which they are listed.
fn expected() -> Vec<(String, String)> {
    let mut expected: Vec<_> = [
        ("XBT", BTC),
        ("XBT", SEGWIT),
        ("ETH", EVM),
        ("LTC", LTC),
        ("TRX", TRX),
        ("DOGE", DOGE),
        ("DASH", DASH),
        ("XRP", XRP),
        ("ZEC", ZEC),
        ("SOL", SOL),
    ]
    .map(|(code, address)| (code.to_owned(), address.to_owned()))
    .into();
    expected.sort();
    expected
}

fn found(publication: &Publication) -> Vec<(String, String)> {
    let mut found: Vec<_> = publication
        .entries
        .iter()
        .map(|entry| (entry.asset_code.clone(), entry.address_as_published.clone()))
        .collect();
    found.sort();
    found
}

fn read_at(format: &str, path: &Path) -> Result<Publication, String> {
    let format = formats::by_name(IntelKind::Listings, format).unwrap();
    let files = Files::from_path(path, format.files, InputLimits::default()).unwrap();
    let source = format.default_source.unwrap().parse().unwrap();
    let context =
        ReadContext { source: &source, published_on: date(2026, 11, 1), blockchain: None };
    let FormatReader::Listings(read) = format.reader else { panic!("no listings") };
    read(&mut FormatInput::new(files, &|| {}), &context).map_err(|error| error.to_string())
}

fn read(format: &str, name: &str, content: &str) -> Result<Publication, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    read_at(format, &path)
}

/// Checks what every list must give: the addresses of [`text_with_addresses`], each valid on a chain, with their
/// sentences.
fn check(publication: &Publication, list: &str, published_on: Date) {
    assert_eq!(publication.published_on, published_on);
    assert_eq!(found(publication), expected());
    assert_eq!(publication.rejected, []);
    assert!(publication.addresses_are_rare);
    for entry in &publication.entries {
        assert_eq!(entry.list.as_str(), list);
        let ListedAddresses { addresses, misfiled, unmatched } = entry.addresses();
        assert!(!addresses.is_empty() && misfiled.is_none() && unmatched.is_none(), "{entry:?}");
        let sentence = entry.address_remarks.as_deref().unwrap();
        assert!(sentence.contains(&entry.address_as_published), "{sentence}");
    }
}

fn uk() -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>
<Designations xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">
  <DateGenerated>06/07/2026</DateGenerated>
  <Designation>
    <LastUpdated>14/04/2026</LastUpdated><DateDesignated>25/01/2023</DateDesignated>
    <UniqueID>RUS9999</UniqueID><OFSIGroupID>17172</OFSIGroupID>
    <Names>
      <Name><Name1>Jane</Name1><Name6>DOE</Name6><NameType>Alias</NameType>
        <AliasStrength>Low quality a.k.a</AliasStrength></Name>
      <Name><Name1>Jane</Name1><Name2>Quinn</Name2><Name6>EXAMPLE</Name6>
        <NameType>Primary Name</NameType></Name>
    </Names>
    <NonLatinNames><NonLatinName><NameNonLatinScript>Джейн Экзампл</NameNonLatinScript></NonLatinName></NonLatinNames>
    <RegimeName>The Russia (Sanctions) (EU Exit) Regulations 2019</RegimeName>
    <IndividualEntityShip>Individual</IndividualEntityShip>
    <SanctionsImposed>Asset freeze|Travel Ban</SanctionsImposed>
    <OtherInformation>{}</OtherInformation>
    <UKStatementofReasons>Involved in a made-up matter.</UKStatementofReasons>
    <IndividualDetails><Individual><PassportDetails><Passport><PassportNumber>753124816</PassportNumber>
    </Passport></PassportDetails></Individual></IndividualDetails>
  </Designation>
  <Designation><UniqueID>RUS9998</UniqueID><Names><Name><Name6>OTHER</Name6>
    <NameType>Primary Name</NameType></Name></Names></Designation>
</Designations>",
        text_with_addresses()
    )
}

#[test]
fn the_uk_list_is_read() {
    let publication = read("uk-xml", "uk.xml", &uk()).unwrap();

    check(&publication, "uk", date(2026, 7, 6));
    assert_eq!(publication.parties, 2);
    let entity = &publication.entries[0].entity;
    assert_eq!((&*entity.id, &*entity.name), ("RUS9999", "Jane Quinn EXAMPLE"));
    let aliases: Vec<_> = entity.aliases.iter().map(|alias| (&*alias.name, alias.weak)).collect();
    assert_eq!(aliases, [("Jane DOE", true), ("Джейн Экзампл", false)]);
    assert_eq!(entity.programs, ["Russia"]);
    assert_eq!(entity.listed_on, Some(date(2023, 1, 25)));
    let basis = entity.legal_basis.as_deref();
    assert_eq!(basis, Some("The Russia (Sanctions) (EU Exit) Regulations 2019"));
    assert!(entity.remarks.as_deref().unwrap().starts_with("Involved in a made-up matter. | "));
}

#[test]
fn the_eu_list_is_read() {
    let publication = read(
        "eu-xml",
        "eu.xml",
        &format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<export xmlns=\"http://eu.europa.ec/fpi/fsd/export\" generationDate=\"2026-07-28T11:43:32+02:00\" globalFileId=\"1\">
  <sanctionEntity designationDetails=\"\" euReferenceNumber=\"EU.9999.11\" unitedNationId=\"\" logicalId=\"900001\">
    <remark>{}</remark>
    <regulation regulationType=\"amendment\" publicationDate=\"2024-02-23\" entryIntoForceDate=\"2024-02-24\"
      numberTitle=\"2024/745\" programme=\"UKR\" logicalId=\"2\">
      <publicationUrl>https://eur-lex.europa.eu/eli/reg_impl/2024/745/oj</publicationUrl></regulation>
    <regulation regulationType=\"regulation\" publicationDate=\"2022-02-23\" entryIntoForceDate=\"2022-02-23\"
      numberTitle=\"269/2014\" programme=\"UKR\" logicalId=\"1\">
      <publicationUrl>https://eur-lex.europa.eu/eli/reg/2014/269/oj</publicationUrl></regulation>
    <subjectType code=\"enterprise\" classificationCode=\"E\"/>
    <nameAlias wholeName=\"Beispielbörse\" strong=\"true\" nameLanguage=\"DE\" logicalId=\"4\"/>
    <nameAlias firstName=\"\" wholeName=\"Example Exchange\" strong=\"true\" nameLanguage=\"EN\" logicalId=\"3\"/>
    <identification number=\"1157746078984\" identificationTypeCode=\"regnumber\"/>
    <identification number=\"{BTC}\" identificationTypeCode=\"other\"/>
  </sanctionEntity>
</export>",
            text_with_addresses()
        ),
    )
    .unwrap();

    check(&publication, "eu", date(2026, 7, 28));
    let entity = &publication.entries[0].entity;
    assert_eq!((&*entity.id, &*entity.name), ("900001", "Example Exchange"));
    assert_eq!(entity.aliases[0].name, "Beispielbörse");
    assert_eq!(entity.order_number.as_deref(), Some("EU.9999.11"));
    assert_eq!(entity.legal_basis.as_deref(), Some("2024/745; 269/2014"));
    assert_eq!(entity.programs, ["UKR"]);
    assert_eq!(entity.listed_on, Some(date(2022, 2, 23)));
    let link = entity.official_link.as_deref();
    assert_eq!(link, Some("https://eur-lex.europa.eu/eli/reg_impl/2024/745/oj"));
}

#[test]
fn the_swiss_list_is_read_without_what_is_no_longer_in_force() {
    let list = |kind: &str| {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<swiss-sanctions-list list-type=\"{kind}\" date=\"2026-08-27\">
  <sanctions-program ssid=\"20\"><program-key lang=\"ger\">Belarus (de)</program-key>
    <program-key lang=\"eng\">Belarus</program-key>
    <program-name lang=\"eng\">Ordinance of 16 March 2022 on measures concerning Belarus</program-name>
    <sanctions-set ssid=\"4387\" lang=\"eng\">article 9</sanctions-set></sanctions-program>
  <target ssid=\"100\"><sanctions-set-id>4387</sanctions-set-id>
    <entity><identity ssid=\"1\" main=\"true\"><name name-type=\"primary-name\" quality=\"good\">
      <name-part order=\"1\" name-part-type=\"whole-name\"><value>Example Exchange</value>
      <spelling-variant script=\"CYRL\">Экзампл</spelling-variant></name-part></name></identity>
      <justification ssid=\"5\">A made-up matter.</justification>
      <other-information ssid=\"6\">{}</other-information></entity>
    <modification modification-type=\"listed\" effective-date=\"2022-03-16\"/>
    <modification modification-type=\"amended\" effective-date=\"2024-03-16\"><removed><target><entity>
      <other-information>BTC 12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h</other-information>
    </entity></target></removed></modification></target>
  <target ssid=\"101\"><sanctions-set-id>4387</sanctions-set-id>
    <entity><other-information>BTC 12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h</other-information></entity>
    <modification modification-type=\"listed\" effective-date=\"2022-03-16\"/>
    <modification modification-type=\"de-listed\" effective-date=\"2023-03-16\"/></target>
</swiss-sanctions-list>",
            text_with_addresses()
        )
    };

    let publication = read("seco-xml", "seco.xml", &list("whole-list")).unwrap();

    check(&publication, "ch-seco", date(2026, 8, 27));
    assert_eq!(publication.parties, 1);
    let entity = &publication.entries[0].entity;
    assert_eq!((&*entity.name, &*entity.programs[0]), ("Example Exchange", "Belarus"));
    assert_eq!(entity.aliases[0].name, "Экзампл");
    assert_eq!(entity.listed_on, Some(date(2022, 3, 16)));
    let basis = entity.legal_basis.as_deref();
    assert_eq!(basis, Some("Ordinance of 16 March 2022 on measures concerning Belarus"));
    let error = read("seco-xml", "seco.xml", &list("delta-list")).unwrap_err();
    assert!(error.contains("`list-type` is `delta-list`, expected `whole-list`"), "{error}");
}

#[test]
fn the_french_register_is_read() {
    let text = serde_json::to_string(&text_with_addresses()).unwrap();
    let publication = read(
        "fr-json",
        "fr.json",
        &format!(
            r#"{{"Publications": {{"DatePublication": "2026-05-06T00:00:00", "PublicationDetail": [
            {{"IdRegistre": 5100, "Nature": "Personne morale", "Nom": "EXAMPLE EXCHANGE", "RegistreDetail": [
              {{"TypeChamp": "ALIAS", "Valeur": [{{"Alias": "Bourse Exemple", "Commentaire": ""}}]}},
              {{"TypeChamp": "PASSEPORT", "Valeur": [{{"NumeroPasseport": "750123456"}}]}},
              {{"TypeChamp": "IDENTIFICATION", "Valeur": [
                {{"Identification": {text}, "Commentaire": "Adresses connues"}},
                {{"Identification": "{EVM}", "Commentaire": "Adresse ETH"}}]}},
              {{"TypeChamp": "MOTIFS", "Valeur": [{{"Motifs": "Une affaire inventée."}}]}},
              {{"TypeChamp": "REFERENCE_UE", "Valeur": [{{"ReferenceUe": "EU.9999.11"}}]}},
              {{"TypeChamp": "FONDEMENT_JURIDIQUE", "Valeur":
                [{{"FondementJuridique": 3, "FondementJuridiqueLabel": "Règlement (UE) 269/2014"}}]}}]}}]}}}}"#
        ),
    )
    .unwrap();

    check(&publication, "fr-gels", date(2026, 5, 6));
    let entity = &publication.entries[0].entity;
    assert_eq!((&*entity.id, &*entity.name), ("5100", "EXAMPLE EXCHANGE"));
    assert_eq!(entity.aliases[0].name, "Bourse Exemple");
    assert_eq!(entity.order_number.as_deref(), Some("EU.9999.11"));
    assert_eq!(entity.legal_basis.as_deref(), Some("Règlement (UE) 269/2014"));
    assert!(entity.official_link.as_deref().unwrap().ends_with("idRegistre=5100"));
}

/// A workbook as a spreadsheet program writes it: shared texts, runs and phonetic readings.
fn workbook() -> Vec<u8> {
    let text = |text: &str| format!("<si><t xml:space=\"preserve\">{text}</t></si>");
    let strings: Vec<String> = [
        text("資産凍結等の措置の対象となるロシア連邦の団体"),
        text("告示日付"),
        text("告示\n番号"),
        text("日 本 語 表 記"),
        text("英 語 表 記"),
        text("別 名"),
        text("そ の 他 の 情 報"),
        text("外務省告示第1号"),
        "<si><r><t>エグザンプル</t></r><r><t>取引所</t></r><rPh sb=\"0\" eb=\"1\"><t>とりひきじょ</t></rPh></si>"
            .to_owned(),
        text("Example Exchange"),
        text("Paper Lantern_x000D_\nLantern"),
        text(&text_with_addresses()),
    ]
    .into();
    let strings = format!(
        "<sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\">{}</sst>",
        strings.concat()
    );
    let cell = |place: &str, index: usize| format!("<c r=\"{place}\" t=\"s\"><v>{index}</v></c>");
    let header: String = ["A2", "B2", "C2", "D2", "E2", "G2"]
        .iter()
        .zip(1..)
        .map(|(place, i)| cell(place, i))
        .collect();
    let row: String = [("B3", 7), ("C3", 8), ("D3", 9), ("E3", 10), ("G3", 11)]
        .iter()
        .map(|(place, index)| cell(place, *index))
        .collect();
    let sheet = format!(
        "<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><dimension ref=\"A1\"/>\
         <sheetData><row r=\"1\">{}</row><row r=\"2\">{header}</row>\
         <row r=\"3\"><c r=\"A3\"><v>44986</v></c>{row}</row></sheetData></worksheet>",
        cell("A1", 0)
    );
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in [
        ("[Content_Types].xml", "<Types/>"),
        ("xl/workbook.xml", "<workbook/>"),
        ("xl/worksheets/sheet1.xml", &sheet),
        ("xl/sharedStrings.xml", &strings),
    ] {
        archive.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn the_japanese_list_is_read_as_a_workbook_and_as_csv() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.xlsx");
    fs::write(&path, workbook()).unwrap();

    let publication = read_at("japan-mof", &path).unwrap();

    check(&publication, "jp-mof", date(2026, 11, 1));
    let entity = &publication.entries[0].entity;
    assert_eq!(entity.name, "Example Exchange");
    let aliases: Vec<_> = entity.aliases.iter().map(|alias| &*alias.name).collect();
    assert_eq!(aliases, ["エグザンプル取引所", "Paper Lantern", "Lantern"]);
    assert_eq!(entity.programs, ["資産凍結等の措置の対象となるロシア連邦の団体"]);
    assert_eq!(entity.order_number.as_deref(), Some("外務省告示第1号"));
    assert_eq!(entity.listed_on, Some(date(2023, 3, 1)));

    let csv = format!(
        "資産凍結等の措置の対象となるロシア連邦の団体,,,,,\n\
         告示日付,告示番号,日本語表記,英語表記,別名,その他の情報\n\
         2023年3月1日,外務省告示第1号,エグザンプル取引所,Example Exchange,\"Paper Lantern\nLantern\",\"{}\"\n",
        text_with_addresses()
    );
    let from_csv = read("japan-mof", "list.csv", &csv).unwrap();
    assert_eq!(from_csv, publication);
    let error = read("japan-mof", "list.csv", "a,b\n").unwrap_err();
    assert!(error.contains("no row begins with the name of the column of notices"), "{error}");
}

const ORDERS: &str = "File Type,Last Updated,Validity of Issue\n\
    Seizure order (ASO 12/25) of the Minister of Defense,03.09.2025,01.09.2027\n\
    Annex of the Seizure Order (ASO - 12/25) - Wallet Details,3.12.2025,-\n\
    Seizure order (ASO 5/24) of the Minister ofDefense,28.3.2024,Forfeiture Order (FO 18/24)\n\
    Seizure order (ASO 7/23) of the Minister of Defense,4.4.2023,-\n";

/// An address whose letters lost their case: it cannot be restored.
const LOWERED: &str = "1kuczsr49wpwckudoujlybjurytvif5hfm";

#[test]
fn the_israeli_tables_are_read() {
    // Cyrillic Т, Н and с in the place of Latin letters; two addresses in a cell; a zero-width space.
    let disguised = TRX.replacen('T', "Т", 1).replacen('P', "Р", 1);
    let split = TRX_2.replacen("KM", "K\u{200B}M", 1);
    let wallets = format!(
        "Order ID,Full name,ID No,Passport No,D.O.B (DD/MM/YYYY),Virtual currency address / User ID,Currency\n\
         ASO 12/25\n\
         ,,,,,{disguised},\n\
         ,,,,,\"{BTC}\n{SEGWIT}\",BTC\n\
         ASO - 5/24,JANE Q EXAMPLE,99489165270,T1307262,18.9.1992,735202123,\n\
         ,,ID card no.: 803846328,,,,\n\
         ,JOHN EXAMPLE,,,37828,{split},USDT\n\
         ASO 7/23,,,,,{EVM},\n\
         ,,,,,{EVM}X,\n\
         ,,,,,{LOWERED},BTC\n\
         ,,,,,jane@example.org,\n"
    );
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("orders.csv"), ORDERS).unwrap();
    fs::write(folder.path().join("wallets.csv"), wallets).unwrap();

    let publication = read_at("nbctf-csv", folder.path()).unwrap();

    let rows: Vec<_> = publication
        .entries
        .iter()
        .map(|entry| {
            let addresses = entry.addresses().addresses;
            let order = entry.entity.order_number.clone().unwrap();
            let address = addresses[0].as_str().to_owned();
            assert_eq!(
                entry.addresses().unmatched.is_some(),
                entry.asset_code == "XBT" && address == LOWERED
            );
            (order, entry.asset_code.clone(), address, entry.expires_on)
        })
        .collect();
    let row = |order: &str, code: &str, address: &str, expires_on| {
        (order.to_owned(), code.to_owned(), address.to_owned(), expires_on)
    };
    let checksummed = assay_address::CanonicalAddress::parse(ChainId::ETH, EVM).unwrap();
    assert_eq!(
        rows,
        [
            row("ASO 12/25", "TRX", TRX, Some(date(2027, 9, 1))),
            row("ASO 12/25", "XBT", BTC, Some(date(2027, 9, 1))),
            row("ASO 12/25", "XBT", SEGWIT, Some(date(2027, 9, 1))),
            row("ASO 5/24", "USDT", TRX_2, None),
            row("ASO 7/23", "UNSTATED", checksummed.as_str(), Some(date(2025, 4, 4))),
            row("ASO 7/23", "UNSTATED", &format!("{EVM}X"), Some(date(2025, 4, 4))),
            row("ASO 7/23", "XBT", LOWERED, Some(date(2025, 4, 4))),
        ]
    );
    let entity = &publication.entries[3].entity;
    assert_eq!(entity.name, "JOHN EXAMPLE");
    assert_eq!(entity.remarks.as_deref(), Some("Forfeiture Order (FO 18/24)"));
    assert_eq!(publication.entries[0].entity.listed_on, Some(date(2025, 9, 1)));
    let rejected: Vec<_> = publication.rejected.iter().map(ToString::to_string).collect();
    assert_eq!(
        rejected,
        [
            "wallets.csv, line 12: no address and no account number: `jane@example.org`".to_owned(),
            "order ASO 5/24: 1 account numbers at exchanges, which are no addresses".to_owned(),
        ]
    );
    let error = read("nbctf-csv", "x.csv", "a,b\n1,2\n").unwrap_err();
    assert!(error.contains("neither the table of orders nor the table of wallets"), "{error}");
}

/// The order, the address and the end of each wallet in the tables, and the rows that were read in part.
fn wallets_of(orders: &str, wallets: &str) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("orders.csv"), orders).unwrap();
    fs::write(folder.path().join("wallets.csv"), wallets).unwrap();
    let publication = read_at("nbctf-csv", folder.path()).unwrap();
    let entries = publication.entries.iter().map(|entry| {
        let order = entry.entity.order_number.as_deref().unwrap_or("none");
        let end = entry.expires_on.map_or_else(|| "no end".to_owned(), |day| day.to_string());
        let listed = entry.addresses().addresses;
        let address = listed.first().map(ToString::to_string).unwrap_or_default();
        format!("{order} {address} {end} {}", entry.entity.name)
    });
    (entries.collect(), publication.incomplete.iter().map(ToString::to_string).collect())
}

#[test]
fn the_israeli_tables_are_read_in_hebrew() {
    let orders = "סוג הקובץ,עדכון אחרון,תוקף הצו\n\
        צ.ת 18/26 של שר הביטחון,01.07.2026,01.07.2028\n\
        צ\"ת - 5/24,28.3.2024,צו חילוט 18/24\n";
    let wallets = format!(
        "שם מלא,ת.ז,דרכון,תאריך לידה,כתובת ארנק / מזהה משתמש,סוג מטבע\n\
         \u{200F}צ.ת 18/26,,,,{TRX},USDT\n\
         ישראל ישראלי,,,,{TRX_2},\n\
         צ.ת 5/24,,,,,\n\
         Jane Example,{BTC},,,0501234567,\n"
    );
    let (found, incomplete) = wallets_of(orders, &wallets);
    assert_eq!(
        found,
        [
            format!("ASO 18/26 {TRX} 2028-07-01 holder of a wallet in order ASO 18/26"),
            format!("ASO 18/26 {TRX_2} 2028-07-01 ישראל ישראלי"),
            // An address in the column of another number counts, too.
            format!("ASO 5/24 {BTC} no end Jane Example"),
        ]
    );
    assert_eq!(incomplete, Vec::<String>::new());
}

#[test]
fn an_order_has_every_form_of_its_number() {
    for form in [
        "ASO 19/2026",
        "aso 19/26",
        "Aso-19-26",
        "A.S.O. No. 19/26",
        "Seizure order (ASO - 19/26) of the Minister of Defense",
        "SEIZURE ORDER 19/26",
        "צ.ת 19/26",
        "צת 19/26",
        "צו תפיסה 19/26",
        "צו תפיסה מנהלי (צ״ת 19/26)",
        "ASO 019/26",
        "19/26",
        "\u{200E}ASO 19 / 26\u{200F}",
    ] {
        let orders = "File Type,Last Updated,Validity of Issue\nSeizure order (ASO 19/26),1.7.2026,1.7.2028\n";
        let quoted = form.replace('"', "\"\"");
        let wallets = format!(
            "Order ID,Full name,Virtual currency address / User ID,Currency\n\
             ASO 1/20,,{BTC},\n\"{quoted}\"\n,,{TRX},\n"
        );
        let (found, incomplete) = wallets_of(orders, &wallets);
        let named = "holder of a wallet in order ASO 19/26";
        assert_eq!(found[1], format!("ASO 19/26 {TRX} 2028-07-01 {named}"), "{form}");
        assert_eq!(incomplete, Vec::<String>::new(), "{form}");
    }
}

#[test]
fn a_group_whose_order_cannot_be_read_stands_alone_without_an_end() {
    for form in ["ASO", "צו חדש", "Order of the Minister", "Annex B", "ASO nineteen/26"] {
        let wallets = format!(
            "Order ID,Full name,Virtual currency address / User ID,Currency\n\
             ASO 12/25,JANE EXAMPLE,{BTC},\n{form}\n,,{TRX},\n"
        );
        let (found, incomplete) = wallets_of(ORDERS, &wallets);
        assert_eq!(found[0], format!("ASO 12/25 {BTC} 2027-09-01 JANE EXAMPLE"), "{form}");
        assert_eq!(found[1], format!("{form} {TRX} no end holder of a wallet in order {form}"));
        assert_eq!(
            incomplete,
            [format!(
                "wallets.csv, line 3: `{form}` is no number of an order: its wallets are a group of their own, \
                 without an end"
            )]
        );
    }
    // In the table in Hebrew, whose groups stand in the column of names.
    for form in
        ["AS0 19/26", "АЅО 19/26", "FO 19/26", "ADMINISTRATIVE SEIZURE 19/26", "צו חילוט 19⁄26"]
    {
        let wallets = format!("שם מלא,כתובת ארנק\nצ.ת 12/25,{BTC}\n{form},\n,{TRX}\n");
        let (found, incomplete) = wallets_of(ORDERS, &wallets);
        assert_eq!(found[1], format!("{form} {TRX} no end holder of a wallet in order {form}"));
        assert_eq!(incomplete.len(), 1, "{form}");
    }
    // A name in a row of its own is a person of the order.
    let wallets = format!(
        "Order ID,Full name,Virtual currency address / User ID,Currency\n\
         ASO 12/25\n,Aso Reason,,\n,,{TRX},\n"
    );
    let (found, incomplete) = wallets_of(ORDERS, &wallets);
    assert_eq!(found, [format!("ASO 12/25 {TRX} 2027-09-01 Aso Reason")]);
    assert_eq!(incomplete, Vec::<String>::new());
}

#[test]
fn the_last_day_of_an_order_is_its_end_and_an_end_that_cannot_be_read_is_none() {
    for (validity, end) in [
        ("01.05.2022 (extended until 01.05.2028)", "2028-05-01"),
        ("01.05.2020 - 01.05.2028", "2028-05-01"),
        ("Until 01.05.2028", "2028-05-01"),
        ("01.05.28", "2028-05-01"),
        ("46874", "2028-05-01"),
        ("1 May 2028", "2028-05-01"),
        ("permanent", "no end"),
        ("05/31/2028", "no end"),
        ("1 במאי 2028", "no end"),
    ] {
        let orders =
            format!("File Type,Last Updated,Validity of Issue\nASO 12/20,1.5.2020,{validity}\n");
        let wallets = format!("Order ID,Virtual currency address / User ID\nASO 12/20,{TRX}\n");
        let (found, _) = wallets_of(&orders, &wallets);
        let named = "holder of a wallet in order ASO 12/20";
        assert_eq!(found, [format!("ASO 12/20 {TRX} {end} {named}")], "{validity}");
    }
    // A renewal in a later row extends the order.
    let orders = "File Type,Last Updated,Validity of Issue\nASO 12/20,1.5.2020,1.5.2022\nASO 12/20 renewal,,1.5.2028\n";
    let wallets = format!("Order ID,Virtual currency address / User ID\nASO 12/20,{TRX}\n");
    assert!(wallets_of(orders, &wallets).0[0].contains(" 2028-05-01 "));
}

#[test]
fn a_table_with_a_row_for_each_wallet_is_read() {
    let wallets = format!(
        "schema,order_id,start_date,end_date,last_updated,name,alias,wallet_address,account_id,platform,currency,\
         order_url,forfeiture_order_url\n\
         Wallet,ASO 18/26,2026-07-01,2028-07-01,2026-07-01,,,{TRX},,,,https://example.org/18-26.pdf,\n\
         Wallet,ASO 5/24,2024-03-28,2026-03-28,,,,{TRX_2},,,,,https://example.org/fo.pdf\n\
         Person,ASO 18/26,2026-07-01,2028-07-01,2026-07-01,JANE,,,735202123,Binance,,,\n"
    );
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("seizures.csv"), wallets).unwrap();
    let publication = read_at("nbctf-csv", folder.path()).unwrap();
    let ends: Vec<_> = publication.entries.iter().map(|entry| entry.expires_on).collect();
    assert_eq!(ends, [Some(date(2028, 7, 1)), None]);
    let rejected: Vec<_> = publication.rejected.iter().map(ToString::to_string).collect();
    assert_eq!(
        rejected,
        ["order ASO 18/26: 1 account numbers at exchanges, which are no addresses"]
    );
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn the_un_list_of_the_test_data_is_read_whole_and_holds_no_address() {
    let Some(folder) = env::var_os("ASSAY_TEST_DATA") else {
        eprintln!("skipped: ASSAY_TEST_DATA names no folder of test data");
        return;
    };
    let path = Path::new(&folder).join("sanctions/un/consolidated-2026-02-27.xml");
    let text = fs::read_to_string(&path).unwrap();
    let count = |element: &str| u64::try_from(text.matches(element).count()).unwrap();

    let publication = read_at("un-xml", &path).unwrap();

    assert_eq!(publication.parties, count("<INDIVIDUAL>") + count("<ENTITY>"));
    assert_eq!(publication.parties, 730 + 273);
    assert_eq!(publication.published_on, date(2026, 2, 27));
    assert_eq!((publication.entries, publication.rejected), (vec![], vec![]));

    // The same file with the addresses in a comment.
    let in_comment =
        text.replacen("<COMMENTS1>", &format!("<COMMENTS1>{} ", text_with_addresses()), 1);
    let publication = read("un-xml", "un.xml", &in_comment).unwrap();
    check(&publication, "un", date(2026, 2, 27));
    let entity = &publication.entries[0].entity;
    assert_eq!((&*entity.name, &*entity.programs[0]), ("ERIC BADEGE", "DRC"));
    assert_eq!(entity.order_number.as_deref(), Some("CDi.001"));
    let basis = entity.legal_basis.as_deref();
    assert_eq!(basis, Some("UN Security Council resolution 1533 (2004)"));
    assert_eq!(entity.listed_on, Some(date(2012, 12, 31)));
}

#[test]
fn a_damaged_list_is_refused() {
    let cases = [
        ("uk-xml", uk().replace("</Designations>", ""), "the file ends inside `Designations`"),
        ("uk-xml", "<Designations></Designations>".into(), "the file has no `DateGenerated`"),
        (
            "eu-xml",
            "<export generationDate='x'></export>".into(),
            "`generationDate` is no day: `x`",
        ),
        ("un-xml", uk(), "found `Designations`, expected `CONSOLIDATED_LIST`"),
        ("fr-json", "{".into(), "cannot be read as the French register in JSON"),
        ("fr-json", "{}".into(), "`Publications.DatePublication` is no day"),
    ];
    for (format, content, message) in cases {
        let error = read(format, "file", &content).unwrap_err();
        assert!(error.contains(message), "{format}: {error}");
    }
}
