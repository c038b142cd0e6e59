//! Format `nbctf-csv`: the seizure orders of Israel's National Bureau for Counter Terror Financing (NBCTF),
//! as the two tables of its page saved as CSV.
//!
//! The table of orders states the last update and the validity of each order; the table of wallets states the order,
//! the person, and a virtual currency address or the number of an account at an exchange. Both tables are maintained
//! by hand, in English and in Hebrew: an order's number stands in its first row only or in a row of its own, a cell may
//! hold several addresses, an address may stand in another column, letters may be Greek or Cyrillic, and days are
//! written in several ways. An order is valid for two years unless it is renewed; a forfeiture has no end, and neither
//! has a group of wallets whose order cannot be read. Account numbers are no addresses and are only counted.

use std::collections::BTreeMap;

use assay_address::SHORTEST_ADDRESS;
use assay_engine::{
    evidence::{Alias, ListedEntity},
    names::ListId,
};
use assay_input::{FileSelection, rows::column_key};
use jiff::{ToSpan, civil::Date};

use super::{
    FileError, Format, FormatInput, FormatReadError, FormatReader, ReadContext, ReadOption,
};
use crate::listings::{
    Publication, Rejected,
    dates::{day, spreadsheet_day},
    found,
    named::{NamedParties, joined},
    table::rows,
};

/// Source and list of the format.
const LIST: &str = "il-nbctf";
/// Years for which an order is valid.
const VALIDITY_YEARS: i64 = 2;

/// Israel's seizure orders.
pub static FORMAT: Format = Format {
    id: "nbctf-csv",
    short_id: None,
    title: "Israel's seizure orders (NBCTF), tables of orders and wallets as CSV",
    files: FileSelection { extensions: &["csv"], several: true },
    options: &[ReadOption::PublishedOn],
    default_source: Some(LIST),
    terms: None,
    reader: FormatReader::Listings(read),
};

/// Column of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TableColumn {
    Account,
    Forfeiture,
    Order,
    FileType,
    Updated,
    Issued,
    Validity,
    Link,
    Name,
    Alias,
    Address,
    Currency,
    Platform,
}

/// Names of the columns, by their keys: those of the Bureau's page, then the names in other publishers' copies of the
/// tables.
const COLUMNS: [(&str, TableColumn); 22] = [
    ("accountid", TableColumn::Account),
    ("forfeitureorderurl", TableColumn::Forfeiture),
    ("orderid", TableColumn::Order),
    ("order", TableColumn::Order),
    ("ordernumber", TableColumn::Order),
    ("filetype", TableColumn::FileType),
    ("lastupdated", TableColumn::Updated),
    ("issuedate", TableColumn::Issued),
    ("dateofissue", TableColumn::Issued),
    ("startdate", TableColumn::Issued),
    ("validityofissue", TableColumn::Validity),
    ("validity", TableColumn::Validity),
    ("enddate", TableColumn::Validity),
    ("orderurl", TableColumn::Link),
    ("fullname", TableColumn::Name),
    ("name", TableColumn::Name),
    ("alias", TableColumn::Alias),
    ("virtualcurrencyaddressuserid", TableColumn::Address),
    ("accountwalletid", TableColumn::Address),
    ("walletaddress", TableColumn::Address),
    ("currency", TableColumn::Currency),
    ("platform", TableColumn::Platform),
];

/// Words in the names of columns of the page in Hebrew, those of the more particular column first.
const HEBREW_WORDS: [(&str, TableColumn); 15] = [
    ("כתובת", TableColumn::Address),
    ("ארנק", TableColumn::Address),
    ("מזהה", TableColumn::Address),
    ("חשבון", TableColumn::Address),
    ("מטבע", TableColumn::Currency),
    ("תוקף", TableColumn::Validity),
    ("עדכון", TableColumn::Updated),
    ("עודכן", TableColumn::Updated),
    ("הוצאה", TableColumn::Issued),
    ("חתימה", TableColumn::Issued),
    ("קישור", TableColumn::Link),
    ("כינוי", TableColumn::Alias),
    ("פלטפורמה", TableColumn::Platform),
    ("סוג", TableColumn::FileType),
    ("שם", TableColumn::Name),
];

/// Facts about an order.
#[derive(Clone, Default)]
struct Order {
    /// True if the order cannot be read: its end is not known.
    unread: bool,
    updated: Option<Date>,
    issued: Option<Date>,
    valid_until: Option<Date>,
    forfeiture: Option<String>,
    link: Option<String>,
}

impl Order {
    /// First day on which the order is not valid by its own terms.
    fn expires_on(&self) -> Option<Date> {
        if self.forfeiture.is_some() || self.unread {
            return None;
        }
        let since = self.issued.or(self.updated);
        self.valid_until.or_else(|| since?.checked_add(VALIDITY_YEARS.years()).ok())
    }

    /// Day of the order: as stated, else two years before the end of the order.
    fn issued_on(&self) -> Option<Date> {
        let by_validity = || self.valid_until?.checked_sub(VALIDITY_YEARS.years()).ok();
        self.issued.or_else(by_validity).or(self.updated)
    }

    /// Adds the facts of another row about the order. The first row takes precedence; amendments and annexes have no
    /// validity of their own.
    fn add(&mut self, other: Self) {
        self.updated = self.updated.or(other.updated);
        self.issued = self.issued.or(other.issued);
        // A renewal extends the order.
        self.valid_until = self.valid_until.max(other.valid_until);
        self.unread |= other.unread;
        self.forfeiture = self.forfeiture.take().or(other.forfeiture);
        self.link = self.link.take().or(other.link);
    }
}

/// Row of the table of wallets.
struct Wallet {
    file: String,
    line: u64,
    order: String,
    name: String,
    aliases: Vec<String>,
    platform: String,
    /// Cells that may hold addresses, with the currency.
    text: String,
    account: bool,
    facts: Order,
}

fn read(
    input: &mut FormatInput<'_>,
    context: &ReadContext<'_>,
) -> Result<Publication, FormatReadError> {
    let mut orders: BTreeMap<String, Order> = BTreeMap::new();
    let (mut wallets, mut incomplete) = (Vec::new(), Vec::new());
    let _: Vec<()> = input.read_each(|file| {
        let name = file.name.to_owned();
        let rows = rows(file.content, &|name| column(name).is_some())?;
        read_table(&name, rows, &mut orders, &mut wallets, &mut incomplete)
    })?;
    publish(&orders, &wallets, context.published_on)
        .map(|publication| Publication { incomplete, ..publication })
        .map_err(|source| FormatReadError::File { file: "tables of NBCTF".to_owned(), source })
}

fn read_table(
    file: &str,
    rows: Vec<(u64, Vec<String>)>,
    orders: &mut BTreeMap<String, Order>,
    wallets: &mut Vec<Wallet>,
    incomplete: &mut Vec<Rejected>,
) -> Result<(), FileError> {
    let mut rows = rows.into_iter();
    let (_, header) = rows.next().unwrap_or_default();
    let columns: Vec<Option<TableColumn>> = header.iter().map(|name| column(name)).collect();
    let has = |wanted| columns.contains(&Some(wanted));
    let is_wallets = has(TableColumn::Address);
    if !is_wallets && !has(TableColumn::FileType) && !has(TableColumn::Validity) {
        return Err(FileError::Columns {
            line: 1,
            problem: "neither the table of orders nor the table of wallets".to_owned(),
            known:
                "File Type, Last Updated, Validity of Issue; Order ID, Full name, Virtual currency \
                    address / User ID, Currency; or the columns of the page in Hebrew"
                    .to_owned(),
        });
    }
    let mut group = Group::default();
    for (line, cells) in rows {
        let row = TableRow { columns: &columns, cells: &cells };
        if !is_wallets {
            let named = row.cell(TableColumn::FileType).or_else(|| row.cell(TableColumn::Order));
            let number = named.and_then(order_number);
            let number = number.or_else(|| cells.iter().find_map(|cell| order_number(cell)));
            if let Some(number) = number {
                orders.entry(number).or_default().add(row.facts());
            }
            continue;
        }
        let heading = group.begin(&row);
        if let Some(text) = heading.filter(|_| group.unread) {
            incomplete.push(Rejected {
                position: format!("{file}, line {line}"),
                reason: format!(
                    "`{}` is no number of an order: its wallets are a group of their own, without an end",
                    shortened(text)
                ),
            });
        }
        if let Some(name) = row.cell(TableColumn::Name).filter(|name| Some(*name) != heading) {
            name.clone_into(&mut group.person);
        }
        let mut facts = row.facts();
        facts.unread |= group.unread;
        for (text, account) in row.wallets(heading) {
            wallets.push(Wallet {
                file: file.to_owned(),
                line,
                order: group.order.clone(),
                name: group.person.clone(),
                aliases: row
                    .cell(TableColumn::Alias)
                    .map(|all| all.split(';').map(|alias| alias.trim().to_owned()).collect())
                    .unwrap_or_default(),
                platform: row.cell(TableColumn::Platform).unwrap_or_default().to_owned(),
                account,
                text,
                facts: facts.clone(),
            });
        }
    }
    Ok(())
}

/// The order and the person of the rows that follow.
#[derive(Default)]
struct Group {
    order: String,
    person: String,
    /// True if the order is named by a text that is no number.
    unread: bool,
}

impl Group {
    /// Begins a group if the row names an order, and returns the cell that names it.
    fn begin<'a>(&mut self, row: &TableRow<'a>) -> Option<&'a str> {
        let stated = row.cell(TableColumn::Order);
        let (column, first) = row.first()?;
        let is_alone = row.filled().nth(1).is_none();
        let text = match stated {
            Some(stated) => stated,
            None if is_heading(first, is_alone, column) => first,
            None => return None,
        };
        let number = order_number(text).or_else(|| plain_number(text));
        let unread = number.is_none();
        let order = number.unwrap_or_else(|| shortened(text));
        if order != self.order {
            *self = Self { order, person: String::new(), unread };
        } else if stated.is_some() {
            self.person.clear();
        }
        Some(text)
    }
}

/// True for the text of a row that begins a group: it names an order, or it stands alone and is neither an address, the
/// number of an account nor the name of a person.
fn is_heading(text: &str, is_alone: bool, column: Option<TableColumn>) -> bool {
    if order_number(text).is_some() {
        return true;
    }
    if !is_alone || !found::find(text).is_empty() {
        return false;
    }
    let is_bare_marker = after_marker(text).is_some_and(|rest| !rest.contains(char::is_alphabetic));
    let speaks_of_order = is_bare_marker
        || text.to_lowercase().contains("order")
        || text.split_whitespace().any(|word| word == "צו");
    let has_digits = text.bytes().any(|byte| byte.is_ascii_digit());
    let number = text.rsplit(|character: char| !"0123456789/⁄-".contains(character)).next();
    let is_numbered = number.is_some_and(|number| number_and_year(number).is_some());
    match column {
        Some(TableColumn::Name) => speaks_of_order || is_numbered,
        None => speaks_of_order || is_numbered || !has_digits,
        Some(_) => is_numbered,
    }
}

/// Row of a table.
struct TableRow<'a> {
    columns: &'a [Option<TableColumn>],
    cells: &'a [String],
}

impl<'a> TableRow<'a> {
    fn cell(&self, wanted: TableColumn) -> Option<&'a str> {
        let index = self.columns.iter().position(|column| *column == Some(wanted))?;
        self.cells.get(index).map(String::as_str).filter(|cell| is_filled(cell))
    }

    /// The first cell that states something, with its column.
    fn first(&self) -> Option<(Option<TableColumn>, &'a str)> {
        let place = self.cells.iter().position(|cell| is_filled(cell))?;
        Some((self.columns.get(place).copied().flatten(), self.cells.get(place)?))
    }

    /// The cells that state something.
    fn filled(&self) -> impl Iterator<Item = &'a str> {
        self.cells.iter().map(String::as_str).filter(|cell| is_filled(cell))
    }

    fn facts(&self) -> Order {
        let validity = self.cell(TableColumn::Validity);
        let is_forfeiture =
            |text: &&str| text.to_lowercase().contains("forfeiture") || text.contains("חילוט");
        let forfeiture = validity.filter(is_forfeiture);
        let forfeiture = forfeiture.or_else(|| self.cell(TableColumn::Forfeiture));
        let valid_until = validity.and_then(last_day);
        Order {
            // An end that cannot be read ends nothing.
            unread: validity.is_some() && valid_until.is_none() && forfeiture.is_none(),
            updated: self.cell(TableColumn::Updated).and_then(day),
            issued: self.cell(TableColumn::Issued).and_then(day),
            valid_until,
            forfeiture: forfeiture.map(str::to_owned),
            link: self.cell(TableColumn::Link).map(str::to_owned),
        }
    }

    /// The texts that state wallets, and true for the number of an account: the address cell with the currency, and
    /// other cells with an address. Blocks of the page state them in columns of their own, and a cell that a merged cell
    /// repeats stands alone.
    fn wallets(&self, heading: Option<&str>) -> Vec<(String, bool)> {
        let currency = self.cell(TableColumn::Currency).filter(|currency| currency.len() <= 32);
        let stated = self.cell(TableColumn::Address).or_else(|| self.cell(TableColumn::Account));
        let stated = stated.or_else(|| self.filled().next().filter(|_| self.cells.len() == 1));
        let stated = stated.filter(|text| Some(*text) != heading);
        let with_currency = |text: &str| joined([currency, Some(text)], ": ");
        let mut wallets = Vec::new();
        if let Some(text) = stated {
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            let is_number = digits >= 4 && digits == text.len() && digits < SHORTEST_ADDRESS;
            let is_account = self.cell(TableColumn::Account) == Some(text) || is_number;
            wallets.push((with_currency(text), is_account));
        }
        let links = [TableColumn::Link, TableColumn::Forfeiture].map(|column| self.cell(column));
        let others = self.filled().filter(|text| {
            Some(*text) != stated && Some(*text) != heading && !links.contains(&Some(*text))
        });
        let others = others.filter(|text| !found::find(text).is_empty());
        wallets.extend(others.map(|text| (with_currency(text), false)));
        wallets
    }
}

/// The last day in a text: `01.05.2022 (extended until 01.05.2028)`, `01.05.28`, or the number that a spreadsheet stores.
fn last_day(text: &str) -> Option<Date> {
    let parts =
        || text.split(|character: char| character.is_whitespace() || "()–,;".contains(character));
    let days = parts().filter_map(|part| day(part).or_else(|| short_day(part)));
    days.max().or_else(|| day(text)).or_else(|| spreadsheet_day(text))
}

/// A day whose year has two digits.
fn short_day(text: &str) -> Option<Date> {
    let (start, year) = text.rsplit_once(['.', '/'])?;
    let is_short = year.len() == 2 && year.bytes().all(|byte| byte.is_ascii_digit());
    is_short.then(|| day(&format!("{start}.20{year}"))).flatten()
}

fn is_filled(cell: &str) -> bool {
    !cell.is_empty() && cell != "-"
}

fn column(name: &str) -> Option<TableColumn> {
    let key = column_key(name);
    let exact = COLUMNS.iter().find(|(known, _)| *known == key);
    let hebrew = || HEBREW_WORDS.iter().find(|(word, _)| key.contains(word));
    let is_order = || key == "צו" || key.contains("מספרצו") || key.contains("מספרהצו");
    exact
        .or_else(hebrew)
        .map(|(_, column)| *column)
        .or_else(|| is_order().then_some(TableColumn::Order))
}

/// Markers of a seizure order, in lower case and without punctuation: ASO, and צו תפיסה with its abbreviation.
const MARKERS: [&str; 4] = ["aso", "צותפיסה", "צת", "seizureorder"];

/// The rest of a text after the marker of a seizure order, which is a word of its own.
fn after_marker(text: &str) -> Option<&str> {
    let letters: Vec<(usize, char)> =
        text.char_indices().filter(|(_, character)| character.is_alphanumeric()).collect();
    let begins_word = |start: usize| {
        let before = text.get(..start).and_then(|before| before.chars().next_back());
        !before.is_some_and(char::is_alphabetic)
    };
    let starts = letters.iter().enumerate().filter(|(_, (start, _))| begins_word(*start));
    starts.into_iter().find_map(|(place, _)| {
        let rest = letters.get(place..)?;
        MARKERS.iter().find_map(|marker| {
            let mut end = 0;
            for (index, wanted) in marker.chars().enumerate() {
                let (start, found) = rest.get(index)?;
                if !found.to_lowercase().eq([wanted]) {
                    return None;
                }
                end = start + found.len_utf8();
            }
            text.get(end..).filter(|after| !after.starts_with(char::is_alphabetic))
        })
    })
}

/// The number of an order in a text, such as `ASO 12/24` for `Seizure order (ASO - 12/24)`, `צ.ת 12/24` and
/// `aso 12/2024`.
fn order_number(text: &str) -> Option<String> {
    let rest = after_marker(text)?;
    // The marker may be spelt out before the abbreviation.
    order_number(rest).or_else(|| {
        let start = rest.find(|character: char| character.is_ascii_digit())?;
        let is_near = rest.get(..start)?.chars().count() <= MOST_BEFORE_NUMBER;
        rest.get(start..).filter(|_| is_near).and_then(number_and_year)
    })
}

/// Most characters between the marker of an order and its number: ` - `, ` No. `.
const MOST_BEFORE_NUMBER: usize = 6;

/// The number of an order without its marker, in a cell of its own.
fn plain_number(text: &str) -> Option<String> {
    let is_plain = |character: char| character.is_ascii_digit() || "/⁄ -".contains(character);
    let text = text.trim_matches(['\u{200E}', '\u{200F}', ' ']);
    text.chars().all(is_plain).then(|| number_and_year(text)).flatten()
}

/// The number and the year at the beginning of a text: `12/24`, `12/2024`, `12-24`.
fn number_and_year(text: &str) -> Option<String> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let length = digits(text);
    let number: u32 = text.get(..length)?.parse().ok()?;
    let rest = text.get(length..)?.trim_start();
    let rest = rest.strip_prefix(['/', '-', '.', '\\', '⁄'])?.trim_start();
    let year = rest.get(..digits(rest))?;
    let year = match year.len() {
        2 => year,
        4 => year.get(2..)?,
        _ => return None,
    };
    Some(format!("ASO {number}/{year}"))
}

fn publish(
    orders: &BTreeMap<String, Order>,
    wallets: &[Wallet],
    published_on: Date,
) -> Result<Publication, FileError> {
    let list: ListId = LIST.parse().map_err(|_| FileError::Columns {
        line: 1,
        problem: "the list has no identifier".to_owned(),
        known: LIST.to_owned(),
    })?;
    let mut parties = NamedParties::new(list, "NBCTF seizure orders");
    let mut accounts: BTreeMap<&str, u64> = BTreeMap::new();
    for wallet in wallets {
        let mut order = wallet.facts.clone();
        order.add(orders.get(&wallet.order).cloned().unwrap_or_default());
        if wallet.account {
            *accounts.entry(&wallet.order).or_default() += 1;
            continue;
        }
        let name = match &*wallet.name {
            "" => format!("holder of a wallet in order {}", wallet.order),
            name => name.to_owned(),
        };
        let remarks = order.forfeiture.clone().unwrap_or_default();
        let platform = (!wallet.platform.is_empty()).then(|| format!("at {}", wallet.platform));
        let entity = ListedEntity {
            id: joined([Some(&*wallet.order), Some(&*wallet.name)], " "),
            name,
            aliases: wallet.aliases.iter().filter(|name| !name.is_empty()).map(|name| alias(name)).collect(),
            programs: vec!["Counter-Terrorism Law, 5776-2016".to_owned()],
            remarks: Some(joined([Some(&*remarks), platform.as_deref()], " | ")),
            listed_on: order.issued_on(),
            order_number: Some(wallet.order.clone()).filter(|order| !order.is_empty()),
            legal_basis: Some(
                "Seizure order of the Minister of Defense under the Counter-Terrorism Law, 5776-2016"
                    .to_owned(),
            ),
            official_link: order.link.clone(),
            identifiers: Vec::new(),
        };
        let addresses = found::find_stated(&wallet.text);
        if addresses.is_empty() {
            parties.reject(
                format!("{}, line {}", wallet.file, wallet.line),
                format!("no address and no account number: `{}`", shortened(&wallet.text)),
            )?;
        }
        parties.valid_party(entity, order.expires_on(), addresses)?;
    }
    for (order, count) in accounts {
        let reason = format!("{count} account numbers at exchanges, which are no addresses");
        parties.reject(format!("order {order}"), reason)?;
    }
    Ok(parties.publish(published_on))
}

fn alias(name: &str) -> Alias {
    Alias { name: name.to_owned(), kind: "alias".to_owned(), weak: false }
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}
