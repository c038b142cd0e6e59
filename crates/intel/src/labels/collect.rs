//! Collecting the labels of a file: bounded, distinct, with repeated texts held once.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use assay_address::CanonicalAddress;
use assay_engine::{
    evidence::{AddressLabel, Label, Tier},
    names::{ListId, SourceId},
    score::Confidence,
    taxonomy::Category,
};
use jiff::civil::Date;

use super::{LabelSet, chains::LabelAddressError, distinct::DistinctLabels, web};
use crate::{error::FileError, listings::Rejected};

/// Largest number of labels of a file. The largest TagPack has a thirtieth of this number.
const MAX_LABELS: usize = 2_000_000;
/// Largest number of rejected rows of a file. A file with more rejected rows is of another format; no public TagPack
/// has more than 17.
const MAX_REJECTED: usize = 10_000;
/// Largest number of unknown terms of a file. Real label sets have some hundred unknown terms.
const MAX_TERMS: usize = 10_000;

/// Largest lengths of texts, in characters.
const MAX_NAME: usize = 300;
const MAX_TERM: usize = 100;
const MAX_REASON: usize = 1_000;
const MAX_REFERENCE: usize = 2_000;

/// Label whose texts are borrowed from the file.
pub(crate) struct LabelFields<'a> {
    pub(crate) address: CanonicalAddress,
    pub(crate) category: Category,
    pub(crate) tier: Tier,
    pub(crate) confidence: Confidence,
    pub(crate) entity: Option<&'a str>,
    pub(crate) author: Option<&'a str>,
    /// Original publisher; defaults to the publisher of `reference`, else to `author`.
    pub(crate) upstream: Option<&'a str>,
    pub(crate) term: Option<&'a str>,
    pub(crate) cites_list: Option<ListId>,
    pub(crate) reason: Option<&'a str>,
    pub(crate) reference: Option<&'a str>,
    pub(crate) valid_from: Option<Date>,
    pub(crate) valid_until: Option<Date>,
}

impl LabelFields<'_> {
    /// A label without texts; `percent` is the confidence.
    pub(crate) fn new(
        address: CanonicalAddress,
        category: Category,
        tier: Tier,
        percent: u8,
    ) -> Self {
        Self {
            address,
            category,
            tier,
            confidence: Confidence::from_percent(percent),
            entity: None,
            author: None,
            upstream: None,
            term: None,
            cites_list: None,
            reason: None,
            reference: None,
            valid_from: None,
            valid_until: None,
        }
    }
}

/// Labels of a file while it is read.
pub(crate) struct LabelCollector<'a> {
    pub(crate) file: &'a str,
    source: &'a SourceId,
    set: LabelSet,
    distinct: DistinctLabels,
    texts: HashSet<Arc<str>>,
}

impl<'a> LabelCollector<'a> {
    pub(crate) fn new(file: &'a str, source: &'a SourceId) -> Self {
        Self {
            file,
            source,
            set: LabelSet::default(),
            distinct: DistinctLabels::default(),
            texts: HashSet::new(),
        }
    }

    /// Adds the label of an address, counts it if its chain is unsupported, or rejects it if it is invalid.
    pub(crate) fn add<'b>(
        &mut self,
        address: Result<CanonicalAddress, LabelAddressError>,
        position: impl FnOnce() -> String,
        claim: impl FnOnce(CanonicalAddress) -> LabelFields<'b>,
    ) -> Result<(), FileError> {
        match address {
            Ok(address) => self.keep(claim(address), position),
            Err(LabelAddressError::Unsupported(code)) => self.count_unsupported(&code),
            Err(LabelAddressError::Invalid(reason)) => self.reject(position(), reason),
        }
    }

    /// Adds a label, or rejects it if one of its texts is not acceptable.
    pub(crate) fn keep(
        &mut self,
        claim: LabelFields<'_>,
        position: impl FnOnce() -> String,
    ) -> Result<(), FileError> {
        match self.label(claim) {
            Ok(entry) => {
                self.distinct.push(&mut self.set.labels, entry);
                check(self.set.labels.len(), MAX_LABELS, "labels")
            }
            Err(reason) => self.reject(position(), reason),
        }
    }

    fn label(&mut self, claim: LabelFields<'_>) -> Result<AddressLabel, String> {
        let publisher = claim.reference.and_then(web::publisher);
        let first = claim.upstream.or(publisher.as_deref()).or(claim.author);
        let upstream = self.text("upstream", first, MAX_NAME)?;
        let label = Label {
            category: claim.category,
            entity: self.text("entity", claim.entity, MAX_NAME)?,
            tier: claim.tier,
            confidence: claim.confidence,
            source: self.source.clone(),
            upstream: upstream.unwrap_or_else(|| self.intern(self.source.as_str())),
            author: self.text("author", claim.author, MAX_NAME)?,
            term: self.text("term", claim.term, MAX_TERM)?,
            cites_list: claim.cites_list,
            reason: self.text("reason", claim.reason, MAX_REASON)?,
            reference: self.text("reference", claim.reference, MAX_REFERENCE)?,
            valid_from: claim.valid_from,
            valid_until: claim.valid_until,
        };
        Ok(AddressLabel { address: claim.address, label })
    }

    /// A text without surrounding white space; `None` if it is blank.
    fn text(
        &mut self,
        field: &str,
        text: Option<&str>,
        max: usize,
    ) -> Result<Option<Arc<str>>, String> {
        let Some(text) = text.and_then(non_blank) else { return Ok(None) };
        let length = text.chars().count();
        if length > max {
            return Err(format!("`{field}` has {length} characters: at most {max} are allowed"));
        }
        // Line breaks come from folded texts. Other control characters could forge lines of a log.
        let tidy = if text.contains(char::is_control) {
            Cow::Owned(text.split_whitespace().collect::<Vec<_>>().join(" "))
        } else {
            Cow::Borrowed(text)
        };
        if let Some(control) = tidy.chars().find(|character| character.is_control()) {
            let code = u32::from(control);
            return Err(format!("`{field}` holds a control character (U+{code:04X}): remove it"));
        }
        Ok(Some(self.intern(&tidy)))
    }

    /// The shared copy of a text.
    pub(crate) fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(shared) = self.texts.get(text) {
            return Arc::clone(shared);
        }
        let shared: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&shared));
        shared
    }

    pub(crate) fn reject(&mut self, position: String, reason: String) -> Result<(), FileError> {
        self.set.rejected.push(Rejected { position, reason });
        check(self.set.rejected.len(), MAX_REJECTED, "rejected labels")
    }

    /// Counts a use of an unknown term.
    pub(crate) fn count_unknown_term(&mut self, term: &str) -> Result<(), FileError> {
        *self.set.unknown_terms.entry(shortened(term)).or_default() += 1;
        check(self.set.unknown_terms.len(), MAX_TERMS, "unknown terms")
    }

    /// Counts a label of a chain that Assay does not support.
    pub(crate) fn count_unsupported(&mut self, code: &str) -> Result<(), FileError> {
        *self.set.unsupported.entry(shortened(code)).or_default() += 1;
        check(self.set.unsupported.len(), MAX_TERMS, "unsupported chains")
    }

    /// Notes a date on which a part of the file was written.
    pub(crate) fn written_on(&mut self, day: Date) {
        self.set.published_on = self.set.published_on.max(Some(day));
    }

    pub(crate) fn finish(self) -> LabelSet {
        self.set
    }
}

/// Checks a number of rows against its limit.
fn check(count: usize, max: usize, subject: &'static str) -> Result<(), FileError> {
    if count > max { Err(FileError::TooMany { subject, max }) } else { Ok(()) }
}

/// A text without surrounding white space; `None` if the text is blank.
pub(crate) fn non_blank(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// The beginning of a term.
fn shortened(term: &str) -> String {
    term.chars().take(MAX_TERM).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_tidied_shared_and_bounded() {
        let source = "mine".parse().unwrap();
        let mut collector = LabelCollector::new("f", &source);
        let mut text = |text: &str| collector.text("reason", Some(text), 5);

        let first = text(" a\n b ").unwrap().unwrap();
        let again = text("a b").unwrap().unwrap();

        assert_eq!(&*first, "a b");
        assert!(Arc::ptr_eq(&first, &again), "one text is held once");
        assert_eq!(text(" \n"), Ok(None));
        assert_eq!(text("123456").unwrap_err(), "`reason` has 6 characters: at most 5 are allowed");
        assert!(text("a\u{1b}b").unwrap_err().contains("control character (U+001B)"));
    }

    #[test]
    fn a_file_with_too_many_rejected_rows_is_refused() {
        let source = "mine".parse().unwrap();
        let mut collector = LabelCollector::new("f", &source);
        let mut reject = || collector.reject(String::new(), String::new());
        for _ in 0..MAX_REJECTED {
            reject().unwrap();
        }
        let error = reject().unwrap_err().to_string();
        assert!(error.starts_with("more than 10000 rejected labels: check"), "{error}");
    }
}
