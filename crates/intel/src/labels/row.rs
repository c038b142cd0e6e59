//! A label in Assay's own formats: the same fields in a line of CSV and of JSON.

use std::borrow::Cow;

use assay_engine::{
    address::CanonicalAddress, evidence::Tier, names::ListId, score::Confidence, taxonomy::Category,
};
use jiff::civil::Date;

use super::{
    LabelError,
    chains::{self, Misplaced},
    collect::{Claim, Collector, present},
};

/// How sure a row is that does not say.
const USUAL_CONFIDENCE: u8 = 50;

/// The fields of a label, in the order they are documented; the first three are required.
///
/// `category` is one of Assay's taxonomy; `confidence` is in per cent, 50 unless given; `tier` is
/// `community` unless given and may not be `official_list`; `upstream` is whose page `reference` is,
/// else `author`, else the source's name unless given; `valid_from` and `valid_until` are days.
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
pub(super) const REQUIRED: usize = 3;

/// The place of a field by its name.
pub(super) fn place_of(name: &str) -> Option<usize> {
    FIELDS.iter().position(|field| *field == name)
}

/// The fields there are, for messages.
pub(super) fn known() -> String {
    FIELDS.join(", ")
}

/// The texts of a row by the place of their field.
#[derive(Debug, Default)]
pub(super) struct Row<'a>([Option<Cow<'a, str>>; FIELDS.len()]);

impl<'a> Row<'a> {
    /// Sets the field at `place`; says whether it was not set yet.
    pub(super) fn set(&mut self, place: usize, text: Cow<'a, str>) -> bool {
        self.0.get_mut(place).is_some_and(|field| field.replace(text).is_none())
    }

    fn get(&self, name: &str) -> Option<&str> {
        place_of(name).and_then(|place| self.0.get(place)?.as_deref()).and_then(present)
    }

    /// A field that must be there.
    fn required(&self, name: &str) -> Result<&str, String> {
        self.get(name).ok_or_else(|| format!("`{name}` is empty"))
    }

    /// A field that is written in a certain way.
    fn read<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Option<T>,
        right: &str,
    ) -> Result<Option<T>, String> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let short: String = text.chars().take(64).collect();
        read(text).map(Some).ok_or_else(|| format!("`{name}` is `{short}`: {right}"))
    }

    /// Makes a label of the row of `line`.
    pub(super) fn take(&self, line: u64, collector: &mut Collector<'_>) -> Result<(), LabelError> {
        let place = format!("{}, line {line}", collector.file);
        match self.claim() {
            Ok((claim, known)) => {
                if !known && let Some(term) = claim.term {
                    collector.unknown(term)?;
                }
                collector.keep(claim, || place)
            }
            Err(Misplaced::Unsupported(code)) => collector.unsupported(&code),
            Err(Misplaced::Invalid(reason)) => collector.reject(place, reason),
        }
    }

    /// The label, and whether its category is one of ours.
    fn claim(&self) -> Result<(Claim<'_>, bool), Misplaced> {
        let blockchain = self.required("blockchain")?;
        let address = self.required("address")?;
        let term = self.required("category")?;
        let Some(chain) = chains::named(blockchain) else {
            return Err(Misplaced::Unsupported(blockchain.to_owned()));
        };
        let address = CanonicalAddress::parse_published(chain, address)
            .map_err(|error| format!("no address of {chain}: {error}"))?;
        let category = term.parse::<Category>();

        let percent = |text: &str| text.parse::<u8>().ok().filter(|percent| *percent <= 100);
        let confidence =
            self.read("confidence", percent, "write a whole number of per cent from 0 to 100")?;
        let tiers = "write on_chain_proof, investigation, community, heuristic or behavior";
        let tier = |text: &str| {
            let below_official = |tier: &&Tier| **tier != Tier::OfficialList;
            Tier::ALL.iter().filter(below_official).copied().find(|tier| tier.as_str() == text)
        };
        let tier = self.read("tier", tier, tiers)?;
        let list = |text: &str| text.parse::<ListId>().ok();
        let cites_list = self.read("cites_list", list, "write a list's name such as `ofac-sdn`")?;
        let day = |text: &str| text.parse::<Date>().ok();
        let valid_from = self.read("valid_from", day, "write a day as 2024-01-31")?;
        let valid_until = self.read("valid_until", day, "write a day as 2024-01-31")?;
        if let (Some(from), Some(until)) = (valid_from, valid_until)
            && until <= from
        {
            return Err(Misplaced::Invalid(format!(
                "`valid_until` is {until}: it must be after `valid_from`, which is {from}"
            )));
        }
        let claim = Claim {
            address,
            category: category.clone().unwrap_or(Category::Uncategorized),
            tier: tier.unwrap_or(Tier::Community),
            confidence: Confidence::from_percent(confidence.unwrap_or(USUAL_CONFIDENCE)),
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
