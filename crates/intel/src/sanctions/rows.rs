//! How the rows of plain listings become a publication.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use assay_engine::{
    evidence::{Alias, ListedEntity, ListingEntry},
    names::ListId,
};
use assay_input::text::formula_start;
use jiff::civil::Date;

use super::{
    ListError, MOST_ENTRIES, MOST_KEPT, Publication, Rejected,
    column::{Column, shown},
};

/// What a row that is kept weighs beside its own bytes.
const ROW_WEIGHT: usize = 256;

/// One row: the texts of its columns, several where the column holds several.
#[derive(Default)]
pub(super) struct Row(BTreeMap<Column, Vec<String>>);

impl Row {
    /// Sets a column that was not set before.
    pub(super) fn set(
        &mut self,
        line: u64,
        column: Column,
        texts: Vec<String>,
    ) -> Result<(), ListError> {
        for text in &texts {
            if memchr::memchr(0, text.as_bytes()).is_some() {
                return Err(ListError::Nul { line });
            }
            if column.is_words() && formula_start(text).is_some() {
                return Err(ListError::Formula { line, column: column.name() });
            }
        }
        match self.0.insert(column, texts) {
            None => Ok(()),
            Some(_) => Err(ListError::RepeatedColumn { line, name: column.name().to_owned() }),
        }
    }

    fn several(&self, column: Column) -> impl Iterator<Item = &str> {
        self.0.get(&column).into_iter().flatten().map(String::as_str)
    }

    /// The text of a column as it is; `None` where it is blank.
    fn raw(&self, column: Column) -> Option<&str> {
        self.several(column).next().filter(|text| !text.trim().is_empty())
    }

    /// The text of a column without surrounding white space; `None` where it is blank.
    fn text(&self, column: Column) -> Option<&str> {
        self.raw(column).map(str::trim)
    }

    fn required(text: Option<&str>, column: Column) -> Result<&str, String> {
        text.ok_or_else(|| format!("`{}` is missing", column.name()))
    }

    fn date(&self, column: Column) -> Result<Option<Date>, String> {
        let Some(text) = self.text(column) else { return Ok(None) };
        let whole = text.len() == "2026-01-31".len();
        text.parse().ok().filter(|_| whole).map(Some).ok_or_else(|| {
            format!("`{}` is `{}`, no date such as 2026-01-31", column.name(), shown(text))
        })
    }

    /// What the row lists, or why it lists nothing.
    fn entry(&self) -> Result<ListingEntry, String> {
        let text = |column| Self::required(self.text(column), column);
        let list: ListId = text(Column::List)?
            .parse()
            .map_err(|error| format!("`{}`: {error}", Column::List.name()))?;
        let mut programs: Vec<String> = trimmed(self.several(Column::Programs));
        programs.sort();
        programs.dedup();
        let mut seen = HashSet::new();
        let mut aliases = trimmed(self.several(Column::Aliases));
        aliases.retain(|alias| seen.insert(alias.clone()));
        let entity = ListedEntity {
            id: text(Column::EntityId)?.to_owned(),
            name: text(Column::Entity)?.to_owned(),
            // A plain listing says neither what kind of alias one is nor whether it is weak.
            aliases: aliases
                .into_iter()
                .map(|name| Alias { name, kind: String::new(), weak: false })
                .collect(),
            programs,
            remarks: self.text(Column::Remarks).map(str::to_owned),
            listed_on: self.date(Column::EntityListedOn)?,
        };
        Ok(ListingEntry {
            list_name: self.text(Column::ListName).unwrap_or(list.as_str()).to_owned(),
            list,
            entity: Arc::new(entity),
            asset_code: text(Column::AssetCode)?.to_owned(),
            address_as_published: Self::required(self.raw(Column::Address), Column::Address)?
                .to_owned(),
            address_remarks: self.text(Column::AddressRemarks).map(str::to_owned),
            expires_on: self.date(Column::ExpiresOn)?,
        })
    }
}

fn trimmed<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    texts.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// What makes two rows be about the same thing: list, entity, asset code and address.
type Key = (ListId, String, String, String);

/// The rows of a file, as they become a publication.
pub(super) struct Rows {
    published_on: Date,
    entries: Vec<ListingEntry>,
    rejected: Vec<Rejected>,
    /// Where an entry stands in `entries`, and its line.
    seen: HashMap<Key, (usize, u64)>,
    parties: HashSet<(ListId, String)>,
    kept: usize,
}

impl Rows {
    pub(super) fn new(published_on: Date) -> Self {
        Self {
            published_on,
            entries: Vec::new(),
            rejected: Vec::new(),
            seen: HashMap::new(),
            parties: HashSet::new(),
            kept: 0,
        }
    }

    /// Takes a row of so many bytes in, or files it under what was rejected.
    pub(super) fn add(&mut self, line: u64, row: &Row, bytes: usize) -> Result<(), ListError> {
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
        if let Some((place, first)) = self.seen.get(&key) {
            if self.entries.get(*place) == Some(&entry) {
                return Ok(());
            }
            let reason = format!("line {first} lists the same address, but says something else");
            return self.reject(line, reason);
        }
        self.check_room(line)?;
        self.kept += bytes + ROW_WEIGHT;
        if self.kept > MOST_KEPT {
            return Err(ListError::TooLarge { line });
        }
        self.parties.insert((entry.list.clone(), entry.entity.id.clone()));
        self.seen.insert(key, (self.entries.len(), line));
        self.entries.push(self.sharing(entry));
        Ok(())
    }

    /// The rows of an entity follow one another as a rule, and then need it once.
    fn sharing(&self, mut entry: ListingEntry) -> ListingEntry {
        if let Some(last) = self.entries.last().filter(|last| last.entity == entry.entity) {
            entry.entity = Arc::clone(&last.entity);
        }
        entry
    }

    fn reject(&mut self, line: u64, reason: String) -> Result<(), ListError> {
        self.check_room(line)?;
        self.rejected.push(Rejected { place: format!("line {line}"), reason });
        Ok(())
    }

    fn check_room(&self, line: u64) -> Result<(), ListError> {
        if self.entries.len() + self.rejected.len() >= MOST_ENTRIES {
            return Err(ListError::TooMany { line });
        }
        Ok(())
    }

    /// The publication, once everything was read. An entity counts once a list.
    pub(super) fn publish(self) -> Publication {
        Publication {
            published_on: self.published_on,
            entries: self.entries,
            rejected: self.rejected,
            parties: u64::try_from(self.parties.len()).unwrap_or(u64::MAX),
        }
    }
}
