//! Conversion of a tag to a label: inherited fields, category, confidence.

use assay_engine::taxonomy::Category;
use jiff::civil::Date;

use super::{
    fields::{Fields, Tag, Texts},
    terms::{ConfidenceTerm, TERMS},
};
use crate::{
    formats::FileError,
    labels::{
        chains::{self, LabelAddressError},
        cited_list,
        collect::{LabelCollector, LabelFields, non_blank},
        terms, web,
    },
};

/// Position of a tag in its file.
#[derive(Clone, Copy)]
pub(super) struct Position {
    /// Number of the tag, counted from one.
    pub(super) number: u64,
    /// Line in which the tag begins, counted from one.
    pub(super) line: u64,
}

impl Position {
    fn describe(self, file: &str) -> String {
        format!("{file}, tag {}, line {}", self.number, self.line)
    }
}

/// Adds the label of a tag.
pub(super) fn collect(
    collector: &mut LabelCollector<'_>,
    header: &Fields,
    tag: &Tag,
    position: Position,
) -> Result<(), FileError> {
    let of = |field: fn(&Fields) -> Option<&String>| {
        let own = field(&tag.fields).map(String::as_str).and_then(non_blank);
        own.or_else(|| field(header).map(String::as_str).and_then(non_blank))
    };
    let list = |field: fn(&Fields) -> Option<&Texts>| field(&tag.fields).or(field(header));
    let file = collector.file;
    let described = || position.describe(file);

    let Some(address) = tag.address.as_deref().and_then(non_blank) else {
        return collector.reject(described(), "the tag has no `address`".into());
    };
    if let Some(written) = of(|fields| fields.lastmod.as_ref()) {
        // Some packs write a time of day after it.
        let Ok(day) = written.get(..10).unwrap_or(written).parse::<Date>() else {
            let reason = "`lastmod` is not a date: write it as 2024-01-31";
            return collector.reject(described(), reason.into());
        };
        collector.written_on(day);
    }
    let network = of(|fields| fields.network.as_ref());
    let currency = of(|fields| fields.currency.as_ref());
    let address = match chains::parse_address(network, currency, address) {
        Ok(address) => address,
        Err(LabelAddressError::Unsupported(code)) => return collector.count_unsupported(&code),
        Err(LabelAddressError::Invalid(reason)) => return collector.reject(described(), reason),
    };

    let reference = of(|fields| fields.source.as_ref());
    let label = of(|fields| fields.label.as_ref());
    let host = reference.and_then(web::host).unwrap_or_default();
    let concepts = list(|fields| fields.concepts.as_ref());
    let terms = TagTerms {
        abuse: of(|fields| fields.abuse.as_ref()),
        concepts: concepts.map_or(&[], |concepts| concepts.0.as_slice()),
        category: of(|fields| fields.category.as_ref()),
    };
    let (mut category, term) = terms.decide(&host, collector)?;
    // A pack that copies a sanctions list may give its addresses no category but `user`. The label names
    // the list then, and the claim follows the status of that list.
    if category == Category::Uncategorized && label.and_then(cited_list::named).is_some() {
        category = Category::Sanctions;
    }
    let sanctions = category == Category::Sanctions;
    let confidence = confidence(of(|fields| fields.confidence.as_ref()), collector)?;
    let context = list(|fields| fields.context.as_ref()).map(|context| context.0.join(" "));

    let claim = LabelFields {
        address,
        category,
        tier: confidence.tier,
        confidence: confidence.confidence,
        entity: of(|fields| fields.actor.as_ref()).or(label),
        author: of(|fields| fields.creator.as_ref()),
        upstream: None,
        term,
        cites_list: if sanctions { cited_list::find(reference, label) } else { None },
        reason: context
            .as_deref()
            .and_then(non_blank)
            .or_else(|| of(|fields| fields.description.as_ref())),
        reference,
        // `lastmod` is the date on which the tag was written, not the start of its validity.
        valid_from: None,
        valid_until: None,
    };
    collector.keep(claim, described)
}

/// The confidence of a tag by its own term.
fn confidence(
    term: Option<&str>,
    collector: &mut LabelCollector<'_>,
) -> Result<ConfidenceTerm, FileError> {
    let Some(term) = term else { return Ok(ConfidenceTerm::UNKNOWN) };
    if let Some(known) = ConfidenceTerm::find(term) {
        return Ok(known);
    }
    collector.count_unknown_term(&format!("confidence: {term}"))?;
    Ok(ConfidenceTerm::UNKNOWN)
}

/// Terms of a tag for the category of its address.
struct TagTerms<'a> {
    abuse: Option<&'a str>,
    concepts: &'a [String],
    category: Option<&'a str>,
}

impl<'a> TagTerms<'a> {
    /// The category and the term that decides the category: the term of a known abuse, else of the highest-ranking
    /// specific concept, else of the tag's category. A harmless term does not override an unknown abuse.
    fn decide(
        &self,
        host: &str,
        collector: &mut LabelCollector<'_>,
    ) -> Result<(Category, Option<&'a str>), FileError> {
        let mut find = |word: &'a str| -> Result<_, FileError> {
            let category = TERMS.category(word, host);
            if category.is_none() {
                collector.count_unknown_term(word)?;
            }
            Ok(category.map(|category| (category, word)))
        };
        let mut decided = None;
        for word in self.concepts.iter().filter_map(|word| non_blank(word)) {
            let found = find(word)?;
            decided = decided.into_iter().chain(found).reduce(higher);
        }
        let category = self.category.map(&mut find).transpose()?.flatten();
        let specific = decided.filter(|(category, _)| *category != Category::Uncategorized);
        let decided = specific.or(category).or(decided);

        let Some(abuse) = self.abuse else {
            let concept = self.concepts.iter().find_map(|word| non_blank(word));
            let unknown = || (Category::Uncategorized, concept.or(self.category));
            return Ok(decided.map_or_else(unknown, |(category, word)| (category, Some(word))));
        };
        let of_abuse = find(abuse)?;
        let risky = decided.filter(|(category, _)| !is_harmless(*category));
        let (category, word) = of_abuse.or(risky).unwrap_or((Category::Uncategorized, abuse));
        Ok((category, Some(word)))
    }
}

/// The higher-ranking of two categories; the first category if their ranks are equal.
fn higher<'a>(one: (Category, &'a str), other: (Category, &'a str)) -> (Category, &'a str) {
    if terms::rank(other.0) > terms::rank(one.0) { other } else { one }
}

fn is_harmless(category: Category) -> bool {
    category.info().severity <= Category::Uncategorized.info().severity
}
