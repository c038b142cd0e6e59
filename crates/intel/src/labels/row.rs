//! A row of Assay's own formats for labels: the same fields in CSV and in JSON.

use std::borrow::Cow;

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{evidence::Tier, names::ListId, score::Confidence, taxonomy::Category};
use jiff::civil::Date;

use super::{
    chains::LabelAddressError,
    collect::{LabelCollector, LabelFields, non_blank},
};
use crate::error::FileError;

/// Confidence of a row that states none, in percent.
const DEFAULT_CONFIDENCE: u8 = 50;

/// Fields of a label in their documented order. The first three are required.
///
/// `category` is a category of the taxonomy. `confidence` is in percent and defaults to 50. `tier` defaults
/// to `community` and must not be `official_list`. `upstream` defaults to the publisher of `reference`,
/// else to `author`, else to the source. `valid_from` and `valid_until` are dates.
pub static FIELDS: [&str; 13] = [
    "blockchain",
    "address",
    "category",
    "entity",
    "confidence",
    "tier",
    "author",
    "reason",
    "reference",
    "upstream",
    "cites_list",
    "valid_from",
    "valid_until",
];
pub(crate) const REQUIRED: usize = 3;

/// The index of a field in [`FIELDS`].
pub(crate) fn field_index(name: &str) -> Option<usize> {
    FIELDS.iter().position(|field| *field == name)
}

/// An error about the columns or fields of a file.
pub(crate) fn column_error(line: u64, problem: String) -> FileError {
    FileError::Columns { line, problem, known: FIELDS.join(", ") }
}

/// Texts of a row by the index of their field.
#[derive(Debug, Default)]
pub(crate) struct LabelRow<'a>([Option<Cow<'a, str>>; FIELDS.len()]);

impl<'a> LabelRow<'a> {
    /// Sets the field at an index; returns false if it was set before.
    pub(crate) fn set(&mut self, index: usize, text: Cow<'a, str>) -> bool {
        self.0.get_mut(index).is_some_and(|field| field.replace(text).is_none())
    }

    fn get(&self, name: &str) -> Option<&str> {
        field_index(name).and_then(|index| self.0.get(index)?.as_deref()).and_then(non_blank)
    }

    /// The text of a required field.
    fn required(&self, name: &str) -> Result<&str, String> {
        self.get(name).ok_or_else(|| format!("`{name}` is empty"))
    }

    /// The value of a field; `advice` says how to write it.
    fn parse<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
        advice: &str,
    ) -> Result<Option<T>, String> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let short: String = text.chars().take(64).collect();
        parse(text).map(Some).ok_or_else(|| format!("`{name}` is `{short}`: {advice}"))
    }

    /// Adds the label of this row, which is in line `line`.
    pub(crate) fn collect(
        &self,
        line: u64,
        collector: &mut LabelCollector<'_>,
    ) -> Result<(), FileError> {
        let position = format!("{}, line {line}", collector.file);
        match self.claim() {
            Ok((claim, known)) => {
                if !known && let Some(term) = claim.term {
                    collector.count_unknown_term(term)?;
                }
                collector.keep(claim, || position)
            }
            Err(LabelAddressError::Unsupported(code)) => collector.count_unsupported(&code),
            Err(LabelAddressError::Invalid(reason)) => collector.reject(position, reason),
        }
    }

    /// The label, and a flag for a category of the taxonomy.
    fn claim(&self) -> Result<(LabelFields<'_>, bool), LabelAddressError> {
        let blockchain = self.required("blockchain")?;
        let address = self.required("address")?;
        let term = self.required("category")?;
        let Some(chain) = ChainId::from_list_code(blockchain) else {
            return Err(LabelAddressError::Unsupported(blockchain.to_owned()));
        };
        let address = CanonicalAddress::parse_published(chain, address)
            .map_err(|error| format!("no address of {chain}: {error}"))?;
        let category = term.parse::<Category>();

        let percent = |text: &str| text.parse::<u8>().ok().filter(|percent| *percent <= 100);
        let confidence =
            self.parse("confidence", percent, "write a whole number of percent from 0 to 100")?;
        let tiers = "write on_chain_proof, investigation, community, heuristic or behavior";
        let tier = |text: &str| {
            let below_official = |tier: &&Tier| **tier != Tier::OfficialList;
            Tier::ALL.iter().filter(below_official).copied().find(|tier| tier.as_str() == text)
        };
        let tier = self.parse("tier", tier, tiers)?;
        let list = |text: &str| text.parse::<ListId>().ok();
        let cites_list =
            self.parse("cites_list", list, "write a list's name such as `ofac-sdn`")?;
        let day = |text: &str| text.parse::<Date>().ok();
        let valid_from = self.parse("valid_from", day, "write a day as 2024-01-31")?;
        let valid_until = self.parse("valid_until", day, "write a day as 2024-01-31")?;
        if let (Some(from), Some(until)) = (valid_from, valid_until)
            && until <= from
        {
            return Err(LabelAddressError::Invalid(format!(
                "`valid_until` is {until}: it must be after `valid_from`, which is {from}"
            )));
        }
        let claim = LabelFields {
            address,
            category: category.clone().unwrap_or(Category::Uncategorized),
            tier: tier.unwrap_or(Tier::Community),
            confidence: Confidence::from_percent(confidence.unwrap_or(DEFAULT_CONFIDENCE)),
            entity: self.get("entity"),
            author: self.get("author"),
            upstream: self.get("upstream"),
            term: Some(term),
            cites_list,
            reason: self.get("reason"),
            reference: self.get("reference"),
            valid_from,
            valid_until,
        };
        Ok((claim, category.is_ok()))
    }
}
