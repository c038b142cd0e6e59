//! Building a publication from the rows of Assay's own formats for listings.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use assay_engine::{
    evidence::{Alias, ListedEntity, ListingEntry},
    names::ListId,
};
use assay_input::{EncodingError, text::formula_start};
use jiff::civil::Date;

use super::{
    MAX_ENTRIES, MAX_KEPT_BYTES, Publication, Rejected,
    column::{ListingColumn, column_error, excerpt},
};
use crate::error::FileError;

/// Memory in bytes that a row takes in addition to its text.
const ROW_BYTES: usize = 256;

/// Row of a file: the texts of each column.
#[derive(Default)]
pub(crate) struct ListingRow(BTreeMap<ListingColumn, Vec<String>>);

impl ListingRow {
    /// Sets the texts of a column.
    ///
    /// # Errors
    ///
    /// Returns an error if the column is set already, or a text is not allowed.
    pub(crate) fn set(
        &mut self,
        line: u64,
        column: ListingColumn,
        texts: Vec<String>,
    ) -> Result<(), FileError> {
        for text in &texts {
            if memchr::memchr(0, text.as_bytes()).is_some() {
                return Err(FileError::Encoding { line, problem: EncodingError::Nul });
            }
            if let Some(start) = formula_start(text).filter(|_| column.is_free_text()) {
                return Err(FileError::Formula { line, column: column.name(), start });
            }
        }
        match self.0.insert(column, texts) {
            None => Ok(()),
            Some(_) => Err(column_error(line, format!("column `{}` is repeated", column.name()))),
        }
    }

    fn several(&self, column: ListingColumn) -> impl Iterator<Item = &str> {
        self.0.get(&column).into_iter().flatten().map(String::as_str)
    }

    /// The text of a column, unchanged; `None` if it is blank.
    fn raw(&self, column: ListingColumn) -> Option<&str> {
        self.several(column).next().filter(|text| !text.trim().is_empty())
    }

    /// The text of a column without surrounding white space; `None` if it is blank.
    fn text(&self, column: ListingColumn) -> Option<&str> {
        self.raw(column).map(str::trim)
    }

    fn required(text: Option<&str>, column: ListingColumn) -> Result<&str, String> {
        text.ok_or_else(|| format!("`{}` is missing", column.name()))
    }

    fn date(&self, column: ListingColumn) -> Result<Option<Date>, String> {
        let Some(text) = self.text(column) else { return Ok(None) };
        let whole = text.len() == "2026-01-31".len();
        text.parse().ok().filter(|_| whole).map(Some).ok_or_else(|| {
            format!("`{}` is `{}`: write a date such as 2026-01-31", column.name(), excerpt(text))
        })
    }

    /// The listing in the row, or the reason to reject it.
    fn entry(&self) -> Result<ListingEntry, String> {
        let text = |column| Self::required(self.text(column), column);
        let list: ListId = text(ListingColumn::List)?
            .parse()
            .map_err(|error| format!("`{}`: {error}", ListingColumn::List.name()))?;
        let mut programs: Vec<String> = trimmed(self.several(ListingColumn::Programs));
        programs.sort();
        programs.dedup();
        let mut seen = HashSet::new();
        let mut aliases = trimmed(self.several(ListingColumn::Aliases));
        aliases.retain(|alias| seen.insert(alias.clone()));
        let entity = ListedEntity {
            id: text(ListingColumn::EntityId)?.to_owned(),
            name: text(ListingColumn::Entity)?.to_owned(),
            // The formats state neither the kind of an alias nor whether it is weak.
            aliases: aliases
                .into_iter()
                .map(|name| Alias { name, kind: String::new(), weak: false })
                .collect(),
            programs,
            remarks: self.text(ListingColumn::Remarks).map(str::to_owned),
            listed_on: self.date(ListingColumn::EntityListedOn)?,
            order_number: self.text(ListingColumn::OrderNumber).map(str::to_owned),
            legal_basis: self.text(ListingColumn::LegalBasis).map(str::to_owned),
            official_link: self.text(ListingColumn::OfficialLink).map(str::to_owned),
        };
        Ok(ListingEntry {
            list_name: self.text(ListingColumn::ListName).unwrap_or(list.as_str()).to_owned(),
            list,
            entity: Arc::new(entity),
            asset_code: text(ListingColumn::AssetCode)?.to_owned(),
            address_as_published: Self::required(
                self.raw(ListingColumn::Address),
                ListingColumn::Address,
            )?
            .to_owned(),
            address_remarks: self.text(ListingColumn::AddressRemarks).map(str::to_owned),
            expires_on: self.date(ListingColumn::ExpiresOn)?,
        })
    }
}

fn trimmed<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    texts.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// Identity of a listing within a file: list, entity, asset code and address.
type Key = (ListId, String, String, String);

/// Publication while its rows are read.
pub(crate) struct ListingRows {
    published_on: Date,
    entries: Vec<ListingEntry>,
    rejected: Vec<Rejected>,
    /// Index in `entries` and line of each listing.
    seen: HashMap<Key, (usize, u64)>,
    parties: HashSet<(ListId, String)>,
    kept_bytes: usize,
}

impl ListingRows {
    pub(crate) fn new(published_on: Date) -> Self {
        Self {
            published_on,
            entries: Vec::new(),
            rejected: Vec::new(),
            seen: HashMap::new(),
            parties: HashSet::new(),
            kept_bytes: 0,
        }
    }

    /// Adds the listing of a row of `bytes` bytes, or rejects the row.
    pub(crate) fn add(
        &mut self,
        line: u64,
        row: &ListingRow,
        bytes: usize,
    ) -> Result<(), FileError> {
        let entry = match row.entry() {
            Ok(entry) => entry,
            Err(reason) => return self.reject(line, reason),
        };
        let key = (
            entry.list.clone(),
            entry.entity.id.clone(),
            entry.asset_code.clone(),
            entry.address_as_published.clone(),
        );
        if let Some((index, first)) = self.seen.get(&key) {
            if self.entries.get(*index) == Some(&entry) {
                return Ok(());
            }
            let reason = format!("line {first} lists the same address with other details");
            return self.reject(line, reason);
        }
        self.check_count()?;
        self.kept_bytes += bytes + ROW_BYTES;
        if self.kept_bytes > MAX_KEPT_BYTES {
            let max = u64::try_from(MAX_KEPT_BYTES).unwrap_or(u64::MAX);
            return Err(FileError::TooLarge { max });
        }
        self.parties.insert((entry.list.clone(), entry.entity.id.clone()));
        self.seen.insert(key, (self.entries.len(), line));
        self.entries.push(self.with_shared_entity(entry));
        Ok(())
    }

    /// The entry with the entity of the entry before it, if the two are equal: the rows of an entity
    /// usually follow one another.
    fn with_shared_entity(&self, mut entry: ListingEntry) -> ListingEntry {
        if let Some(last) = self.entries.last().filter(|last| last.entity == entry.entity) {
            entry.entity = Arc::clone(&last.entity);
        }
        entry
    }

    fn reject(&mut self, line: u64, reason: String) -> Result<(), FileError> {
        self.check_count()?;
        self.rejected.push(Rejected { position: format!("line {line}"), reason });
        Ok(())
    }

    fn check_count(&self) -> Result<(), FileError> {
        if self.entries.len() + self.rejected.len() >= MAX_ENTRIES {
            return Err(FileError::TooMany { subject: "addresses", max: MAX_ENTRIES });
        }
        Ok(())
    }

    /// The publication, after the last row. An entity counts once per list.
    pub(crate) fn publish(self) -> Publication {
        Publication {
            published_on: self.published_on,
            entries: self.entries,
            rejected: self.rejected,
            parties: u64::try_from(self.parties.len()).unwrap_or(u64::MAX),
            addresses_are_rare: false,
        }
    }
}
