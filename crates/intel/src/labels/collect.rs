//! Gathering labels while a file is read: bounded, each once, with repeated texts held once.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use assay_engine::{
    address::CanonicalAddress,
    evidence::{AddressLabel, Label, Tier},
    names::{ListId, SourceId},
    score::Confidence,
    taxonomy::Category,
};
use jiff::civil::Date;

use super::{LabelError, LabelSet, distinct::Distinct, web};
use crate::sanctions::Rejected;

/// The most labels that a file may give; the largest TagPack has a thirtieth of it.
const MOST_LABELS: usize = 2_000_000;
/// The most rows of a file that may be bad; the worst TagPack has 17. Beyond, it is another format.
const MOST_REJECTED: usize = 10_000;
/// The most unknown words of a file; real sets have some hundred.
const MOST_WORDS: usize = 10_000;

const LONGEST_NAME: usize = 300;
const LONGEST_TERM: usize = 100;
const LONGEST_REASON: usize = 1_000;
const LONGEST_REFERENCE: usize = 2_000;

/// A label with its texts still the file's.
pub(super) struct Claim<'a> {
    pub(super) address: CanonicalAddress,
    pub(super) category: Category,
    pub(super) tier: Tier,
    pub(super) confidence: Confidence,
    pub(super) entity: Option<&'a str>,
    pub(super) author: Option<&'a str>,
    /// Who first made the claim; if nothing is said, whose page `reference` is, else `author`.
    pub(super) upstream: Option<&'a str>,
    pub(super) term: Option<&'a str>,
    pub(super) cites_list: Option<ListId>,
    pub(super) reason: Option<&'a str>,
    pub(super) reference: Option<&'a str>,
    pub(super) valid_from: Option<Date>,
    pub(super) valid_until: Option<Date>,
}

/// What was read of a file so far.
pub(super) struct Collector<'a> {
    pub(super) file: &'a str,
    source: &'a SourceId,
    set: LabelSet,
    distinct: Distinct,
    texts: HashSet<Arc<str>>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(file: &'a str, source: &'a SourceId) -> Self {
        Self {
            file,
            source,
            set: LabelSet::default(),
            distinct: Distinct::default(),
            texts: HashSet::new(),
        }
    }

    /// Keeps a label, or rejects it where a text is nothing to keep.
    pub(super) fn keep(
        &mut self,
        claim: Claim<'_>,
        place: impl FnOnce() -> String,
    ) -> Result<(), LabelError> {
        match self.label(claim) {
            Ok(entry) => {
                self.distinct.push(&mut self.set.labels, entry);
                self.bounded(self.set.labels.len(), MOST_LABELS, "labels")
            }
            Err(reason) => self.reject(place(), reason),
        }
    }

    fn label(&mut self, claim: Claim<'_>) -> Result<AddressLabel, String> {
        let publisher = claim.reference.and_then(web::publisher);
        let first = claim.upstream.or(publisher.as_deref()).or(claim.author);
        let upstream = self.text("upstream", first, LONGEST_NAME)?;
        let label = Label {
            category: claim.category,
            entity: self.text("entity", claim.entity, LONGEST_NAME)?,
            tier: claim.tier,
            confidence: claim.confidence,
            source: self.source.clone(),
            upstream: upstream.unwrap_or_else(|| self.share(self.source.as_str())),
            author: self.text("author", claim.author, LONGEST_NAME)?,
            term: self.text("term", claim.term, LONGEST_TERM)?,
            cites_list: claim.cites_list,
            reason: self.text("reason", claim.reason, LONGEST_REASON)?,
            reference: self.text("reference", claim.reference, LONGEST_REFERENCE)?,
            valid_from: claim.valid_from,
            valid_until: claim.valid_until,
        };
        Ok(AddressLabel { address: claim.address, label })
    }

    /// A text to keep; `None` where there is nothing but white space.
    fn text(
        &mut self,
        field: &str,
        text: Option<&str>,
        most: usize,
    ) -> Result<Option<Arc<str>>, String> {
        let Some(text) = text.and_then(present) else { return Ok(None) };
        let length = text.chars().count();
        if length > most {
            return Err(format!("`{field}` has {length} characters: at most {most} are kept"));
        }
        // Line breaks come from folded texts; anything else could play tricks on who reads a log.
        let tidy = if text.contains(char::is_control) {
            Cow::Owned(text.split_whitespace().collect::<Vec<_>>().join(" "))
        } else {
            Cow::Borrowed(text)
        };
        if let Some(control) = tidy.chars().find(|character| character.is_control()) {
            let code = u32::from(control);
            return Err(format!("`{field}` holds a control character (U+{code:04X}): remove it"));
        }
        Ok(Some(self.share(&tidy)))
    }

    /// The one copy of a text.
    pub(super) fn share(&mut self, text: &str) -> Arc<str> {
        if let Some(shared) = self.texts.get(text) {
            return Arc::clone(shared);
        }
        let shared: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&shared));
        shared
    }

    pub(super) fn reject(&mut self, place: String, reason: String) -> Result<(), LabelError> {
        self.set.rejected.push(Rejected { place, reason });
        self.bounded(self.set.rejected.len(), MOST_REJECTED, "rejected labels")
    }

    pub(super) fn unknown(&mut self, word: &str) -> Result<(), LabelError> {
        *self.set.unknown_terms.entry(shortened(word)).or_default() += 1;
        self.bounded(self.set.unknown_terms.len(), MOST_WORDS, "unknown words")
    }

    pub(super) fn unsupported(&mut self, code: &str) -> Result<(), LabelError> {
        *self.set.unsupported.entry(shortened(code)).or_default() += 1;
        self.bounded(self.set.unsupported.len(), MOST_WORDS, "unsupported chains")
    }

    /// The file says that it was written on `day` or later.
    pub(super) fn published(&mut self, day: Date) {
        self.set.published_on = self.set.published_on.max(Some(day));
    }

    pub(super) fn finish(self) -> LabelSet {
        self.set
    }

    fn bounded(&self, count: usize, most: usize, what: &'static str) -> Result<(), LabelError> {
        if count > most {
            return Err(LabelError::TooMany { file: self.file.to_owned(), what, most });
        }
        Ok(())
    }
}

/// `text` without surrounding white space; `None` where nothing is left.
pub(super) fn present(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// Enough of a word to recognise it.
fn shortened(word: &str) -> String {
    word.chars().take(LONGEST_TERM).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_tidied_shared_and_bounded() {
        let source = "mine".parse().unwrap();
        let mut collector = Collector::new("f", &source);
        let mut text = |text: &str| collector.text("reason", Some(text), 5);

        let first = text(" a\n b ").unwrap().unwrap();
        let again = text("a b").unwrap().unwrap();

        assert_eq!(&*first, "a b");
        assert!(Arc::ptr_eq(&first, &again), "one text is held once");
        assert_eq!(text(" \n"), Ok(None));
        assert_eq!(text("123456").unwrap_err(), "`reason` has 6 characters: at most 5 are kept");
        assert!(text("a\u{1b}b").unwrap_err().contains("control character (U+001B)"));
    }

    #[test]
    fn a_file_of_nothing_but_bad_rows_is_refused() {
        let source = "mine".parse().unwrap();
        let mut collector = Collector::new("f", &source);
        let mut reject = || collector.reject(String::new(), String::new());
        for _ in 0..MOST_REJECTED {
            reject().unwrap();
        }
        let error = reject().unwrap_err().to_string();
        assert!(error.starts_with("f has more than 10000 rejected labels: check"), "{error}");
    }
}
