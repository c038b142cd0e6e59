//! Format `nbctf-csv`: the seizure orders of Israel's National Bureau for Counter Terror Financing (NBCTF),
//! as the two tables of its page saved as CSV.
//!
//! The table of orders states the last update and the validity of each order; the table of wallets states the order,
//! the person, and a virtual currency address or the number of an account at an exchange. Both tables are maintained
//! by hand: an order's number stands in its first row only or in a row of its own, a cell may hold several addresses,
//! letters may be Greek or Cyrillic, and days are written in several ways. An order is valid for two years unless it
//! is renewed; a forfeiture has no end. Account numbers are no addresses and are only counted.

use std::collections::BTreeMap;

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
    Publication,
    dates::day,
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
const COLUMNS: [(&str, TableColumn); 20] = [
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

/// Facts about an order.
#[derive(Clone, Default)]
struct Order {
    updated: Option<Date>,
    issued: Option<Date>,
    valid_until: Option<Date>,
    forfeiture: Option<String>,
    link: Option<String>,
}

impl Order {
    /// First day on which the order is not valid by its own terms.
    fn expires_on(&self) -> Option<Date> {
        if self.forfeiture.is_some() {
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
        self.valid_until = self.valid_until.or(other.valid_until);
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
    let mut wallets = Vec::new();
    let _: Vec<()> = input.read_each(|file| {
        let name = file.name.to_owned();
        let rows = rows(file.content, &|name| column(name).is_some())?;
        read_table(&name, rows, &mut orders, &mut wallets)
    })?;
    publish(&orders, &wallets, context.published_on)
        .map_err(|source| FormatReadError::File { file: "tables of NBCTF".to_owned(), source })
}

fn read_table(
    file: &str,
    rows: Vec<(u64, Vec<String>)>,
    orders: &mut BTreeMap<String, Order>,
    wallets: &mut Vec<Wallet>,
) -> Result<(), FileError> {
    let mut rows = rows.into_iter();
    let (_, header) = rows.next().unwrap_or_default();
    let columns: Vec<Option<TableColumn>> = header.iter().map(|name| column(name)).collect();
    let is_orders = columns.contains(&Some(TableColumn::FileType));
    if !is_orders && !columns.contains(&Some(TableColumn::Address)) {
        return Err(FileError::Columns {
            line: 1,
            problem: "neither the table of orders nor the table of wallets".to_owned(),
            known:
                "File Type, Last Updated, Validity of Issue; Order ID, Full name, Virtual currency \
                    address / User ID, Currency"
                    .to_owned(),
        });
    }
    let (mut current, mut person) = (String::new(), String::new());
    for (line, cells) in rows {
        let cell = |wanted: TableColumn| {
            let index = columns.iter().position(|column| *column == Some(wanted))?;
            cells.get(index).map(String::as_str).filter(|cell| !cell.is_empty() && *cell != "-")
        };
        let validity = cell(TableColumn::Validity);
        let forfeiture = validity.filter(|text| text.to_lowercase().contains("forfeiture"));
        let facts = Order {
            updated: cell(TableColumn::Updated).and_then(day),
            issued: cell(TableColumn::Issued).and_then(day),
            valid_until: validity.and_then(day),
            forfeiture: forfeiture.map(str::to_owned),
            link: cell(TableColumn::Link).map(str::to_owned),
        };
        if is_orders {
            if let Some(order) = cell(TableColumn::FileType).and_then(order_number) {
                orders.entry(order).or_default().add(facts);
            }
            continue;
        }
        if let Some(order) = cell(TableColumn::Order).and_then(order_number) {
            current = order;
            person.clear();
        }
        if let Some(name) = cell(TableColumn::Name) {
            name.clone_into(&mut person);
        }
        // Cells that a merged cell of the page repeats stand in columns without a name, or in a row alone.
        let first = cells.first().map(String::as_str).unwrap_or_default();
        let address =
            cell(TableColumn::Address).unwrap_or(if cells.len() == 1 { first } else { "" });
        if address.is_empty() || order_number(address).is_some() {
            continue;
        }
        let currency = cell(TableColumn::Currency).filter(|currency| currency.len() <= 32);
        let digits = address.bytes().filter(u8::is_ascii_digit).count();
        wallets.push(Wallet {
            file: file.to_owned(),
            line,
            order: current.clone(),
            name: person.clone(),
            aliases: cell(TableColumn::Alias)
                .map(|aliases| aliases.split(';').map(|alias| alias.trim().to_owned()).collect())
                .unwrap_or_default(),
            platform: cell(TableColumn::Platform).unwrap_or_default().to_owned(),
            account: digits >= 4 && digits == address.len(),
            text: joined([currency, Some(address)], ": "),
            facts,
        });
    }
    Ok(())
}

fn column(name: &str) -> Option<TableColumn> {
    let key = column_key(name);
    COLUMNS.iter().find(|(known, _)| *known == key).map(|(_, column)| *column)
}

/// The number of an order in a text, such as `ASO 12/24` for `Seizure order (ASO - 12/24)`.
fn order_number(text: &str) -> Option<String> {
    let start = text.find("ASO")? + "ASO".len();
    let rest = text.get(start..)?.trim_start_matches([' ', '-', '–', '\u{A0}', '.']);
    let end = rest.find(|character: char| !character.is_ascii_digit() && character != '/');
    let number = rest.get(..end.unwrap_or(rest.len()))?;
    let (count, year) = number.split_once('/')?;
    (!count.is_empty() && year.len() == 2).then(|| format!("ASO {count}/{year}"))
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
        };
        let before = parties.found();
        parties.valid_party(entity, order.expires_on(), [("wallet", &*wallet.text)])?;
        if parties.found() == before {
            parties.reject(
                format!("{}, line {}", wallet.file, wallet.line),
                format!("no address and no account number: `{}`", shortened(&wallet.text)),
            )?;
        }
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
