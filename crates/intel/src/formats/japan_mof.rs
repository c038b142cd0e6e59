//! Format `japan-mof`: Japan's list of parties whose assets are frozen, as XLSX or CSV.
//!
//! The Ministry of Finance publishes one workbook with a sheet for each program. The first row of a sheet names the
//! program; the header row begins with the day of the notice (告示日付). A workbook is a zip archive of XML files, which
//! are read one by one: the shared texts first, then the sheets. The list has no numbers of its own and no column for
//! crypto addresses; addresses are found in all texts.

use std::io::BufRead;

use assay_engine::evidence::ListedEntity;
use assay_input::FileSelection;

use super::{
    FileError, Format, FormatInput, FormatReadError, FormatReader, ReadContext, ReadOption,
};
use crate::{
    listings::{
        NOT_STATED, Publication,
        dates::{day, spreadsheet_day},
        found,
        named::{NamedParties, Names, joined},
        table::rows,
    },
    xml::{ElementTree, Elements, XmlError},
};

/// Source and list of the format.
const LIST: &str = "jp-mof";
/// Largest row of a sheet, and largest shared text, in bytes.
const MAX_ROW_BYTES: usize = 8 * 1024 * 1024;
/// Largest number of shared texts. The real workbook has some ten thousand shared texts.
const MAX_TEXTS: usize = 1_000_000;

/// Japan's list of frozen assets.
pub static FORMAT: Format = Format {
    id: "japan-mof",
    short_id: None,
    title: "Japan's list of frozen assets (Ministry of Finance), XLSX or CSV",
    files: FileSelection { extensions: &["csv", "xml"], several: true },
    options: &[ReadOption::PublishedOn],
    default_source: Some(LIST),
    terms: None,
    reader: FormatReader::Listings(read),
};

fn read(
    input: &mut FormatInput<'_>,
    context: &ReadContext<'_>,
) -> Result<Publication, FormatReadError> {
    let failed = |source| FormatReadError::File { file: LIST.to_owned(), source };
    let list = LIST.parse().map_err(|_| failed(no_header()))?;
    let mut parties = NamedParties::new(list, "Ministry of Finance of Japan, frozen assets");
    let mut texts: Vec<String> = Vec::new();
    let mut headers = 0_usize;
    let _: Vec<()> = input.read_each(|file| {
        let mut sheet = Sheet::default();
        if file.name.eq_ignore_ascii_case("sharedStrings.xml") {
            texts = shared_texts(file.content)?;
        } else if !has_extension(file.name, "xml") {
            let is_column = |name: &str| compact(name).contains("告示日付");
            for (_, row) in rows(file.content, &is_column)? {
                sheet.row(&row, &mut parties)?;
            }
        } else if file.name.to_ascii_lowercase().starts_with("sheet") {
            read_sheet(file.content, &texts, |row| sheet.row(&row, &mut parties))?;
        }
        headers += usize::from(sheet.columns.is_some());
        Ok(())
    })?;
    if headers == 0 {
        return Err(failed(no_header()));
    }
    Ok(parties.publish(context.published_on))
}

fn no_header() -> FileError {
    FileError::Columns {
        line: 1,
        problem: "no row begins with the name of the column of notices".to_owned(),
        known: "告示日付, 告示番号, 日本語表記, 英語表記, 別名, その他の情報".to_owned(),
    }
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, found)| found.eq_ignore_ascii_case(extension))
}

/// Sheet while its rows are read.
#[derive(Default)]
struct Sheet {
    section: String,
    columns: Option<Vec<String>>,
}

impl Sheet {
    fn row(&mut self, row: &[String], parties: &mut NamedParties) -> Result<(), FileError> {
        let cells: Vec<String> = row.iter().map(|cell| tidy(cell)).collect();
        let first = compact(cells.first().map(String::as_str).unwrap_or_default());
        if first.contains("告示日付") {
            self.columns = Some(cells.iter().map(|cell| compact(cell)).collect());
            return Ok(());
        }
        let Some(columns) = &self.columns else {
            let texts: Vec<&str> =
                cells.iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty()).collect();
            if self.section.is_empty() && !texts.is_empty() {
                self.section = texts.join(" / ");
            }
            return Ok(());
        };
        let of = |words: &[&str]| -> Option<&str> {
            let index =
                columns.iter().position(|column| words.iter().any(|word| column.contains(word)))?;
            cells.get(index).map(|cell| cell.trim()).filter(|cell| !cell.is_empty())
        };
        let mut names = Names::default();
        names.add(of(&["英語表記"]).unwrap_or_default(), "", false);
        names.add(of(&["日本語表記"]).unwrap_or_default(), "日本語表記", false);
        for (column, cell) in columns.iter().zip(&cells) {
            let is_alias =
                ["別名", "別称", "旧称", "呼称"].iter().any(|word| column.contains(word));
            for name in cell.lines().filter(|name| is_alias && *name != "不明") {
                names.add(name, column, column.contains("十分でない"));
            }
        }
        let (mut name, aliases) = names.split("");
        if name.is_empty() {
            if cells.iter().all(|cell| found::find(cell).is_empty()) {
                return Ok(());
            }
            // A party without a name has its addresses all the same.
            NOT_STATED.clone_into(&mut name);
        }
        let notice = of(&["告示番号"]).unwrap_or_default();
        let notice_day =
            of(&["告示日付"]).and_then(|text| day(text).or_else(|| spreadsheet_day(text)));
        let un_number = of(&["国連参照番号"]).map(|number| format!("(UN {number})"));
        let entity = ListedEntity {
            id: name.chars().take(128).collect(),
            name,
            aliases,
            programs: Vec::from_iter((!self.section.is_empty()).then(|| self.section.clone())),
            remarks: of(&["その他の情報", "詳細"]).map(str::to_owned),
            listed_on: notice_day,
            order_number: Some(joined([Some(notice), un_number.as_deref()], " "))
                .filter(|number| !number.is_empty()),
            legal_basis: Some(
                "Foreign Exchange and Foreign Trade Act (外国為替及び外国貿易法)".to_owned(),
            ),
            official_link: None,
            identifiers: Vec::new(),
        };
        parties.party(entity, cells.iter().map(String::as_str))
    }
}

/// A cell's text without the marks that spreadsheets write for line breaks.
fn tidy(cell: &str) -> String {
    cell.replace("_x000D_", "\n").trim().to_owned()
}

/// A header without white space.
fn compact(cell: &str) -> String {
    cell.split_whitespace().collect()
}

/// The shared texts of a workbook. Phonetic readings are left out.
fn shared_texts(input: impl BufRead) -> Result<Vec<String>, XmlError> {
    let mut elements = Elements::new(input);
    elements.root("sst")?;
    let mut texts = Vec::new();
    loop {
        elements.begin_part(MAX_ROW_BYTES);
        let Some(element) = elements.child()? else { break };
        let item = elements.tree(&element)?;
        texts.push(text_of(&item));
        if texts.len() > MAX_TEXTS {
            return Err(elements.unexpected(format!("more than {MAX_TEXTS} shared texts")));
        }
    }
    Ok(texts)
}

/// The content of a shared or inline text: of its element `t`, or of the elements `t` of its runs.
fn text_of(item: &ElementTree) -> String {
    let runs = item.all("r").filter_map(|run| run.child("t"));
    item.all("t").chain(runs).map(ElementTree::text).collect()
}

/// Reads the rows of a sheet.
fn read_sheet(
    input: impl BufRead,
    texts: &[String],
    mut row: impl FnMut(Vec<String>) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let mut elements = Elements::new(input);
    elements.root("worksheet")?;
    loop {
        elements.begin_part(MAX_ROW_BYTES);
        let Some(section) = elements.child()? else { return Ok(()) };
        if section.name() != "sheetData" {
            elements.skip()?;
            continue;
        }
        loop {
            elements.begin_part(MAX_ROW_BYTES);
            let Some(element) = elements.child()? else { break };
            let tree = elements.tree(&element)?;
            let mut cells: Vec<String> = Vec::new();
            for cell in tree.all("c") {
                let index = cell.attribute("r").and_then(column_index).unwrap_or(cells.len());
                if index > 1000 {
                    continue;
                }
                if cells.len() <= index {
                    cells.resize(index + 1, String::new());
                }
                let text = match cell.attribute("t") {
                    Some("s") => cell
                        .text_of("v")
                        .and_then(|index| texts.get(index.parse::<usize>().ok()?).cloned()),
                    Some("inlineStr") => cell.child("is").map(text_of),
                    _ => cell.text_of("v").map(str::to_owned),
                };
                if let (Some(place), Some(text)) = (cells.get_mut(index), text) {
                    *place = text;
                }
            }
            row(cells)?;
        }
    }
}

/// The index of the column of a cell such as `AB12`.
fn column_index(reference: &str) -> Option<usize> {
    let letters = reference.bytes().take_while(u8::is_ascii_uppercase);
    let number = letters
        .take(4)
        .fold(0_usize, |number, letter| number * 26 + usize::from(letter - b'A') + 1);
    number.checked_sub(1)
}
