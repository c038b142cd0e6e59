//! Building a publication from the rows of Assay's own formats for listings.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use assay_address::AssetScope;
use assay_engine::{
    evidence::{Alias, ListedEntity, ListingEntry},
    names::ListId,
};
use assay_input::{EncodingError, text::formula_start};
use jiff::civil::Date;

use super::{
    MAX_ENTRIES, MAX_KEPT_BYTES, NOT_STATED, Publication, Rejected,
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

    /// The day in a column; a problem if it cannot be read.
    fn date(&self, column: ListingColumn, problems: &mut Vec<String>) -> Option<Date> {
        let text = self.text(column)?;
        let whole = text.len() == "2026-01-31".len();
        let date = text.parse().ok().filter(|_| whole);
        if date.is_none() {
            problems.push(format!(
                "`{}` is `{}` and was left out: write a date such as 2026-01-31",
                column.name(),
                excerpt(text)
            ));
        }
        date
    }

    /// The list of the row, else that of the source; a problem if the row names none.
    fn list(&self, source: &ListId, problems: &mut Vec<String>) -> ListId {
        let name = ListingColumn::List.name();
        match self.text(ListingColumn::List).map(str::parse) {
            Some(Ok(list)) => return list,
            Some(Err(error)) => problems.push(format!("`{name}`: {error}; kept as `{source}`")),
            None => problems.push(format!("`{name}` is missing: kept as `{source}`")),
        }
        source.clone()
    }

    /// The text of a column; a problem if it is blank.
    fn text_or<'a>(
        &'a self,
        column: ListingColumn,
        substitute: &'a str,
        problems: &mut Vec<String>,
    ) -> &'a str {
        self.text(column).unwrap_or_else(|| {
            problems.push(format!(
                "`{}` is missing: kept as `{}`",
                column.name(),
                excerpt(substitute)
            ));
            substitute
        })
    }

    /// The listing in the row with the problems of its other cells; `None` if the row states no address.
    fn entry(&self, source: &ListId) -> Option<(ListingEntry, Vec<String>)> {
        let address = self.raw(ListingColumn::Address)?;
        let mut problems = Vec::new();
        let list = self.list(source, &mut problems);
        let name = self.text_or(ListingColumn::Entity, NOT_STATED, &mut problems).to_owned();
        let id = self.text_or(ListingColumn::EntityId, &name, &mut problems).to_owned();
        let asset_code =
            self.text_or(ListingColumn::AssetCode, AssetScope::UNSTATED, &mut problems).to_owned();
        let mut programs: Vec<String> = trimmed(self.several(ListingColumn::Programs));
        programs.sort();
        programs.dedup();
        let mut seen = HashSet::new();
        let mut aliases = trimmed(self.several(ListingColumn::Aliases));
        aliases.retain(|alias| seen.insert(alias.clone()));
        let entity = ListedEntity {
            id,
            name,
            // The formats state neither the kind of an alias nor whether it is weak.
            aliases: aliases
                .into_iter()
                .map(|name| Alias { name, kind: String::new(), weak: false })
                .collect(),
            programs,
            remarks: self.text(ListingColumn::Remarks).map(str::to_owned),
            listed_on: self.date(ListingColumn::EntityListedOn, &mut problems),
            order_number: self.text(ListingColumn::OrderNumber).map(str::to_owned),
            legal_basis: self.text(ListingColumn::LegalBasis).map(str::to_owned),
            official_link: self.text(ListingColumn::OfficialLink).map(str::to_owned),
            identifiers: Vec::new(),
        };
        let entry = ListingEntry {
            list_name: self.text(ListingColumn::ListName).unwrap_or(list.as_str()).to_owned(),
            list,
            entity: Arc::new(entity),
            asset_code,
            address_as_published: address.to_owned(),
            address_remarks: self.text(ListingColumn::AddressRemarks).map(str::to_owned),
            expires_on: self.date(ListingColumn::ExpiresOn, &mut problems),
        };
        Some((entry, problems))
    }
}

fn trimmed<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    texts.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// Identity of a listing within a file: list, entity, asset code, address and end.
type Key = (ListId, String, String, String, Option<Date>);

/// Publication while its rows are read.
pub(crate) struct ListingRows {
    published_on: Date,
    /// List of rows that name none.
    source: ListId,
    entries: Vec<ListingEntry>,
    rejected: Vec<Rejected>,
    incomplete: Vec<Rejected>,
    /// Index in `entries` and line of each listing.
    seen: HashMap<Key, (usize, u64)>,
    parties: HashSet<(ListId, String)>,
    kept_bytes: usize,
}

impl ListingRows {
    pub(crate) fn new(published_on: Date, source: ListId) -> Self {
        Self {
            published_on,
            source,
            entries: Vec::new(),
            rejected: Vec::new(),
            incomplete: Vec::new(),
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
        let Some((entry, problems)) = row.entry(&self.source) else {
            return self.reject(line, "`address` is missing".to_owned());
        };
        let key = (
            entry.list.clone(),
            entry.entity.id.clone(),
            entry.asset_code.clone(),
            entry.address_as_published.clone(),
            entry.expires_on,
        );
        if let Some((index, first)) = self.seen.get(&key) {
            if self.entries.get(*index) == Some(&entry) {
                return Ok(());
            }
            let reason = format!("line {first} lists the same address with other details");
            return self.reject(line, reason);
        }
        self.check_count()?;
        let position = format!("line {line}");
        self.incomplete.extend(
            (!problems.is_empty()).then(|| Rejected { position, reason: problems.join("; ") }),
        );
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
            incomplete: self.incomplete,
            parties: u64::try_from(self.parties.len()).unwrap_or(u64::MAX),
            addresses_are_rare: false,
        }
    }
}
