//! From a tag to a label: what it inherits, what its words mean, how sure it is.

use assay_engine::taxonomy::Category;
use jiff::civil::Date;

use super::fields::{Fields, Tag, Texts};
use crate::labels::{
    LabelError,
    chains::{self, Misplaced},
    cites,
    collect::{Claim, Collector, present},
    terms::{self, ConfidenceWord, TAGPACK},
    web,
};

/// Where a tag stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Counted from one.
    pub(super) number: u64,
    /// Where it begins.
    pub(super) line: u64,
}

impl Place {
    fn told(self, file: &str) -> String {
        format!("{file}, tag {}, line {}", self.number, self.line)
    }
}

/// Makes a label of a tag.
pub(super) fn take(
    collector: &mut Collector<'_>,
    header: &Fields,
    tag: &Tag,
    place: Place,
) -> Result<(), LabelError> {
    let of = |field: fn(&Fields) -> Option<&String>| {
        let own = field(&tag.fields).map(String::as_str).and_then(present);
        own.or_else(|| field(header).map(String::as_str).and_then(present))
    };
    let list = |field: fn(&Fields) -> Option<&Texts>| field(&tag.fields).or(field(header));
    let file = collector.file;
    let told = || place.told(file);

    let Some(address) = tag.address.as_deref().and_then(present) else {
        return collector.reject(told(), "the tag has no `address`".into());
    };
    if let Some(written) = of(|fields| fields.lastmod.as_ref()) {
        // Some packs write a time of day after it.
        let Ok(day) = written.get(..10).unwrap_or(written).parse::<Date>() else {
            let reason = "`lastmod` is not a date: write it as 2024-01-31";
            return collector.reject(told(), reason.into());
        };
        collector.published(day);
    }
    let network = of(|fields| fields.network.as_ref());
    let currency = of(|fields| fields.currency.as_ref());
    let address = match chains::place(network, currency, address) {
        Ok(address) => address,
        Err(Misplaced::Unsupported(code)) => return collector.unsupported(&code),
        Err(Misplaced::Invalid(reason)) => return collector.reject(told(), reason),
    };

    let reference = of(|fields| fields.source.as_ref());
    let label = of(|fields| fields.label.as_ref());
    let host = reference.and_then(web::host).unwrap_or_default();
    let concepts = list(|fields| fields.concepts.as_ref());
    let words = Words {
        abuse: of(|fields| fields.abuse.as_ref()),
        concepts: concepts.map_or(&[], |concepts| concepts.0.as_slice()),
        category: of(|fields| fields.category.as_ref()),
    };
    let (mut category, term) = words.decide(&host, collector)?;
    // A pack that copies a sanctions list may call its addresses no more than `user`; its label says
    // what the claim is, and the claim then follows that list's own status.
    if category == Category::Uncategorized && label.and_then(cites::named).is_some() {
        category = Category::Sanctions;
    }
    let sanctions = category == Category::Sanctions;
    let known = known(of(|fields| fields.confidence.as_ref()), collector)?;
    let context = list(|fields| fields.context.as_ref()).map(|context| context.0.join(" "));

    let claim = Claim {
        address,
        category,
        tier: known.tier,
        confidence: known.confidence,
        entity: of(|fields| fields.actor.as_ref()).or(label),
        author: of(|fields| fields.creator.as_ref()),
        upstream: None,
        term,
        cites_list: if sanctions { cites::list(reference, label) } else { None },
        reason: context
            .as_deref()
            .and_then(present)
            .or_else(|| of(|fields| fields.description.as_ref())),
        reference,
        // `lastmod` is when the tag was written down, not since when it holds.
        valid_from: None,
        valid_until: None,
    };
    collector.keep(claim, told)
}

/// How sure a tag is by its own word.
fn known(word: Option<&str>, collector: &mut Collector<'_>) -> Result<ConfidenceWord, LabelError> {
    let Some(word) = word else { return Ok(ConfidenceWord::unknown()) };
    if let Some(known) = ConfidenceWord::of(word) {
        return Ok(known);
    }
    collector.unknown(&format!("confidence: {word}"))?;
    Ok(ConfidenceWord::unknown())
}

/// A tag's words for what the address is.
struct Words<'a> {
    abuse: Option<&'a str>,
    concepts: &'a [String],
    category: Option<&'a str>,
}

impl<'a> Words<'a> {
    /// The category, and the word that decided it: of a known abuse, else of the weightiest concept
    /// that says something, else of the category. An abuse of an unknown kind is not covered up by a harmless word.
    fn decide(
        &self,
        host: &str,
        collector: &mut Collector<'_>,
    ) -> Result<(Category, Option<&'a str>), LabelError> {
        let mut find = |word: &'a str| -> Result<_, LabelError> {
            let category = TAGPACK.category(word, host);
            if category.is_none() {
                collector.unknown(word)?;
            }
            Ok(category.map(|category| (category, word)))
        };
        let mut decided = None;
        for word in self.concepts.iter().filter_map(|word| present(word)) {
            let found = find(word)?;
            decided = decided.into_iter().chain(found).reduce(weightier);
        }
        let category = self.category.map(&mut find).transpose()?.flatten();
        let says_something = decided.filter(|(category, _)| *category != Category::Uncategorized);
        let decided = says_something.or(category).or(decided);

        let Some(abuse) = self.abuse else {
            let concept = self.concepts.iter().find_map(|word| present(word));
            let unknown = || (Category::Uncategorized, concept.or(self.category));
            return Ok(decided.map_or_else(unknown, |(category, word)| (category, Some(word))));
        };
        let of_abuse = find(abuse)?;
        let risky = decided.filter(|(category, _)| !harmless(*category));
        let (category, word) = of_abuse.or(risky).unwrap_or((Category::Uncategorized, abuse));
        Ok((category, Some(word)))
    }
}

/// The weightier of two; the first where they weigh the same.
fn weightier<'a>(one: (Category, &'a str), other: (Category, &'a str)) -> (Category, &'a str) {
    if terms::weight(other.0) > terms::weight(one.0) { other } else { one }
}

fn harmless(category: Category) -> bool {
    category.info().severity <= Category::Uncategorized.info().severity
}
