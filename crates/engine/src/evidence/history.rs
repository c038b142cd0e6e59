//! A source's publications over time, and the periods in which the publications hold an entry.
//!
//! The history is a function of the publications' entries and does not depend on the order of import: importing an old
//! publication later gives the same history as importing all in order.

use jiff::civil::Date;

use super::ListingEntry;

/// Position of a publication in its source's history: by date of issue; on one day, by order of import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicationRef {
    /// Date of issue.
    pub published_on: Date,
    /// Order of import within the source.
    pub ordinal: u32,
}

/// An unbroken run of publications that held an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Presence {
    /// The first publication that held the entry.
    pub from: PublicationRef,
    /// The first later publication without the entry; `None` while the newest publication still holds the entry.
    pub until: Option<PublicationRef>,
}

impl Presence {
    /// True if `publication` belongs to the run and so holds the entry.
    #[must_use]
    pub fn holds(&self, publication: PublicationRef) -> bool {
        self.from <= publication && self.until.is_none_or(|until| publication < until)
    }
}

/// A publication that was imported before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPublication {
    /// Position in the source's history.
    pub reference: PublicationRef,
    /// SHA-256 of the publication's content.
    pub digest: String,
    /// Number of addresses in the publication.
    pub entries: u64,
}

/// A recorded listing. `Id` is the type of the identifier of the listing's database row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownListing<Id> {
    /// Identifier of the row.
    pub id: Id,
    /// Entry as the list prints it.
    pub entry: ListingEntry,
    /// The run of publications that hold the entry.
    pub presence: Presence,
}

/// Known publications and listings of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceHistory<Id> {
    /// Every publication imported so far.
    pub publications: Vec<KnownPublication>,
    /// Every recorded listing, ended ones included.
    pub listings: Vec<KnownListing<Id>>,
}

impl<Id> Default for SourceHistory<Id> {
    fn default() -> Self {
        Self { publications: Vec::new(), listings: Vec::new() }
    }
}

impl<Id> SourceHistory<Id> {
    /// The newest publication.
    #[must_use]
    pub fn newest(&self) -> Option<&KnownPublication> {
        self.publications.iter().max_by_key(|publication| publication.reference)
    }
}

/// The runs (unbroken sequences of publications) of one entry after `added` is added to the `known` publications, which
/// may be in any order.
#[must_use]
pub fn with_publication(
    known: &[PublicationRef],
    runs: &[Presence],
    added: PublicationRef,
    present: bool,
) -> Vec<Presence> {
    let mut all = known.to_vec();
    all.push(added);
    all.sort_unstable();
    let held = |publication| {
        if publication == added { present } else { runs.iter().any(|run| run.holds(publication)) }
    };
    let mut result: Vec<Presence> = Vec::new();
    let mut open = false;
    for publication in all {
        match (open, held(publication)) {
            (false, true) => result.push(Presence { from: publication, until: None }),
            (true, false) => {
                if let Some(run) = result.last_mut() {
                    run.until = Some(publication);
                }
            }
            (false, false) | (true, true) => {}
        }
        open = held(publication);
    }
    result
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan;
    use proptest::prelude::*;

    use super::*;

    fn publication(day: u8, ordinal: u32) -> PublicationRef {
        let published_on = jiff::civil::date(2025, 1, 1).saturating_add(i64::from(day).days());
        PublicationRef { published_on, ordinal }
    }

    /// Expected runs for membership in ordered publications, computed directly.
    fn expected(publications: &[(PublicationRef, bool)]) -> Vec<Presence> {
        let mut ordered = publications.to_vec();
        ordered.sort_unstable();
        let mut runs = vec![];
        let mut rest = &ordered[..];
        while let Some(start) = rest.iter().position(|(_, present)| *present) {
            let length = rest[start..].iter().take_while(|(_, present)| *present).count();
            let until = rest.get(start + length).map(|(publication, _)| *publication);
            runs.push(Presence { from: rest[start].0, until });
            rest = &rest[start + length..];
        }
        runs
    }

    proptest! {
        #[test]
        fn any_order_of_import_gives_the_same_history(
            days in prop::collection::vec((0..40_u8, any::<bool>()), 1..12),
        ) {
            let imported: Vec<_> = days
                .iter()
                .zip(0_u32..)
                .map(|((day, present), ordinal)| (publication(*day, ordinal), *present))
                .collect();
            let (mut known, mut runs) = (vec![], vec![]);
            for (publication, present) in &imported {
                runs = with_publication(&known, &runs, *publication, *present);
                known.push(*publication);
            }
            prop_assert_eq!(runs, expected(&imported));
        }
    }
}
