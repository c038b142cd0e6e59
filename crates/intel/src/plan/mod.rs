//! Changes that importing a publication makes, computed before anything is written.
//!
//! Pure: from the known state of a source and a publication read from it, [`plan`] computes the
//! recorded listings that end and the new ones that begin, or the reason to refuse the publication.
//!
//! - [`prices`]: changes of prices, and implausible prices
//! - `plausibility`, `label_loss`: publications and label sets that lose too much to be right

#[cfg(feature = "edge")]
pub(crate) mod label_loss;
mod plausibility;
pub mod prices;

use std::collections::{BTreeMap, BTreeSet};

use assay_address::{AssetScope, ChainId};
use assay_engine::{
    account::UsdPrice,
    evidence::{
        ListedAddresses, ListingEntry,
        history::{
            KnownListing, KnownPublication, Presence, PublicationRef, SourceHistory,
            with_publication,
        },
    },
    names::ListId,
};
use jiff::{ToSpan, civil::Date};
use serde::Serialize;

use crate::listings::{Publication, Rejected, found::case_lost};

/// The code of the chains without rules.
const OTHER: AssetScope = AssetScope::Chain(ChainId::OTHER);

/// Decisions of the operator about an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// An older publication is inserted into the history at its date, not refused.
    pub history: bool,
    /// The SHA-256 of a file that is accepted although it failed the plausibility check.
    pub accept_digest: Option<String>,
}

/// The digests that identify a publication.
#[derive(Clone, Copy, Debug)]
pub struct Digests<'a> {
    /// SHA-256 of the file before unpacking.
    pub file: &'a str,
    /// SHA-256 of the unpacked content: it identifies a publication in any packing.
    pub content: &'a str,
}

/// Result of planning an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportPlan<Id> {
    /// The publication was imported before: nothing changes.
    Known {
        /// True if the publication is the newest, so that the source counts as verified now.
        newest: bool,
    },
    /// A publication to be recorded.
    Record {
        /// Position of the publication in the source's history.
        reference: PublicationRef,
        /// Number of addresses in the publication.
        entries: u64,
        /// True if the publication is now the newest.
        newest: bool,
        /// Recorded listings that end.
        ended: Vec<Id>,
        /// Listings to be recorded.
        begun: Vec<(ListingEntry, Presence)>,
        /// The change in words and numbers.
        report: Box<ImportReport>,
    },
}

/// Changes that an import made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Addresses that the publication adds.
    pub added: Vec<ReportedEntry>,
    /// Addresses that the publication drops.
    pub removed: Vec<ReportedEntry>,
    /// Number of addresses whose other fields changed.
    pub updated: u64,
    /// Number of unchanged addresses.
    pub unchanged: u64,
    /// Rows that could not be imported.
    pub rejected: Vec<Rejected>,
    /// Rows that were imported without a cell that cannot be read.
    pub incomplete: Vec<Rejected>,
    /// Addresses that are kept and marked, because they are not valid on their chain.
    pub invalid: Vec<InvalidEntry>,
    /// Numbers of addresses that no check of a chain can match, by the chain that their asset code names.
    pub unmatched: BTreeMap<ChainId, u64>,
    /// Numbers of addresses under codes that name no supported chain and no known token, by code. They count on every
    /// chain of their form, and for `other`.
    pub unknown_codes: BTreeMap<String, u64>,
}

impl ImportReport {
    /// Counts an entry that is both added and removed as updated: only its validity changed.
    fn note_renewals(&mut self) {
        let added: BTreeSet<&ReportedEntry> = self.added.iter().collect();
        let renewed: BTreeSet<ReportedEntry> =
            self.removed.iter().filter(|entry| added.contains(entry)).cloned().collect();
        self.added.retain(|entry| !renewed.contains(entry));
        self.removed.retain(|entry| !renewed.contains(entry));
        self.updated += u64::try_from(renewed.len()).unwrap_or(u64::MAX);
    }
}

/// One address of a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ReportedEntry {
    /// The list.
    pub list: ListId,
    /// The entity's identifier.
    pub entity_id: String,
    /// The entity.
    pub entity: String,
    /// The asset code.
    pub asset_code: String,
    /// The address as published.
    pub address: String,
}

/// One address that is not valid on its chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InvalidEntry {
    /// The entry.
    #[serde(flatten)]
    pub entry: ReportedEntry,
    /// Reason why the address is not valid.
    pub reason: String,
}

/// Reason why a publication is refused. A refusal changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublicationRefusal {
    /// A newer publication was imported before.
    #[error(
        "the publication of {published_on} is older than that of {newest}, imported before; file it \
         in the past with --history"
    )]
    Older {
        /// Date of the refused publication.
        published_on: Date,
        /// Date of the newest publication.
        newest: Date,
    },
    /// The publication is dated in the future: its listings would not be in force, and no newer publication could
    /// follow.
    #[error("its date of issue is {published_on}, which is in the future: today is {today}")]
    Future {
        /// Date of the refused publication.
        published_on: Date,
        /// The day of the import.
        today: Date,
    },
    /// Implausibly many addresses changed.
    #[error(
        "it holds {}{}, adds {added} and drops {removed} of the {previous} that the \
         publication of {compared} holds: implausible; its digest is {digest}",
        addresses(*.after),
        of_list(.list.as_ref())
    )]
    Implausible {
        /// The list of the publication that lost more than half; `None` for the publication as a whole.
        list: Option<ListId>,
        /// Number of addresses that the publication adds.
        added: usize,
        /// Number of addresses that the publication drops.
        removed: usize,
        /// Number of addresses in the previous publication, with which the new one is compared.
        previous: usize,
        /// Number of addresses in the publication.
        after: usize,
        /// Date of the previous publication.
        compared: Date,
        /// Digest by which an operator can accept the publication.
        digest: String,
    },
    /// The publication holds no address.
    #[error("there is no address in it{}: is it the right file? Its digest is {digest}", rejections(*.rejected, .first.as_ref()))]
    Empty {
        /// Number of rows that were rejected.
        rejected: usize,
        /// Reason why the first of them was rejected.
        first: Option<String>,
        /// Digest by which an operator can accept the publication.
        digest: String,
    },
    /// The label set holds less than half of the labels before.
    #[error(
        "it holds {after} of the {before} labels{} that there were on {compared}: losing more than half is \
         implausible; its digest is {digest}",
        of_chain(*.chain)
    )]
    FewerLabels {
        /// The chain whose labels are gone; `None` for the set as a whole.
        chain: Option<ChainId>,
        /// Number of labels before.
        before: usize,
        /// Number of labels in the set.
        after: usize,
        /// Day of the import with which the set is compared.
        compared: Date,
        /// Digest by which an operator can accept the set.
        digest: String,
    },
    /// A price differs from that of a neighboring day by a factor of 100 or more.
    #[error(
        "it states {price} US dollars for {asset} on {day}, and the price of {compared} is {reference}: a factor of \
         100 is implausible (cents or base units instead of dollars?); its digest is {digest}"
    )]
    ImplausiblePrice {
        /// The asset.
        asset: String,
        /// Day of the price.
        day: Date,
        /// The price.
        price: UsdPrice,
        /// Day of the price with which it is compared.
        compared: Date,
        /// The price with which it is compared.
        reference: UsdPrice,
        /// Digest by which an operator can accept the file.
        digest: String,
    },
}

impl PublicationRefusal {
    /// Digest by which an operator can accept the file; `None` if nothing accepts it.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        match self {
            Self::Implausible { digest, .. }
            | Self::Empty { digest, .. }
            | Self::FewerLabels { digest, .. }
            | Self::ImplausiblePrice { digest, .. } => Some(digest),
            Self::Older { .. } | Self::Future { .. } => None,
        }
    }
}

fn addresses(count: usize) -> String {
    format!("{count} {}", if count == 1 { "address" } else { "addresses" })
}

fn of_list(list: Option<&ListId>) -> String {
    list.map(|list| format!(" of {list}")).unwrap_or_default()
}

fn of_chain(chain: Option<ChainId>) -> String {
    chain.map(|chain| format!(" of {chain}")).unwrap_or_default()
}

/// Rejected rows, for a message about a file of which nothing is left.
pub(crate) fn rejections(rejected: usize, first: Option<&String>) -> String {
    let first = first.map(|reason| format!(", the first because {reason}"));
    match rejected {
        0 => String::new(),
        1 => format!(" (1 row was rejected{})", first.unwrap_or_default()),
        _ => format!(" ({rejected} rows were rejected{})", first.unwrap_or_default()),
    }
}

/// Identifies an entry within its source, even if its other fields change. Entries with different validities are
/// different, so that an order which expired and was renewed later was not in force in between.
type Key = (ListId, String, String, String, Option<Date>);

fn key(entry: &ListingEntry) -> Key {
    (
        entry.list.clone(),
        entry.entity.id.clone(),
        entry.asset_code.clone(),
        entry.address_as_published.clone(),
        entry.expires_on,
    )
}

/// Plans the import of `publication`.
///
/// # Errors
///
/// Returns an error if the publication is dated in the future, older than the newest known one, or
/// implausible compared with it.
pub fn plan<Id: Copy>(
    known: &SourceHistory<Id>,
    publication: &Publication,
    digests: Digests<'_>,
    options: &ImportOptions,
    today: Date,
) -> Result<ImportPlan<Id>, PublicationRefusal> {
    let newest = known.newest();
    let is_same = |other: &KnownPublication| other.digest == digests.content;
    if newest.is_some_and(is_same) {
        return Ok(ImportPlan::Known { newest: true });
    }
    let published_on = publication.published_on;
    // East of here it may be tomorrow already.
    if published_on > today.saturating_add(1.day()) {
        return Err(PublicationRefusal::Future { published_on, today });
    }
    // A day that has begun in the east is in force here, too; its date ends no other listing a day early.
    let published_on = published_on.min(today);
    let is_older = newest.is_some_and(|newest| published_on < newest.reference.published_on);
    if let Some(newest) = newest.filter(|_| is_older && !options.history) {
        return Err(PublicationRefusal::Older {
            published_on,
            newest: newest.reference.published_on,
        });
    }
    // A publication that was withdrawn on the same day and is issued again is the newest now.
    if is_older && known.publications.iter().any(is_same) {
        return Ok(ImportPlan::Known { newest: false });
    }
    let entries = u64::try_from(publication.entries.len()).unwrap_or(u64::MAX);
    let ordinal = known.publications.iter().map(|other| other.reference.ordinal + 1).max();
    let reference = PublicationRef { published_on, ordinal: ordinal.unwrap_or(0) };
    if !digests.accepted_by(options) {
        plausibility::check_publication(known, publication, reference, digests)?;
    }
    let (ended, begun, changes) = changes(known, publication, reference);
    let report = Box::new(ImportReport {
        rejected: publication.rejected.clone(),
        incomplete: publication.incomplete.clone(),
        ..with_findings(changes, &publication.entries)
    });
    Ok(ImportPlan::Record { reference, entries, newest: !is_older, ended, begun, report })
}

impl Digests<'_> {
    /// True if the operator accepted the file by one of its digests.
    pub(crate) fn accepted_by(&self, options: &ImportOptions) -> bool {
        options.accept_digest.as_deref().is_some_and(|accepted| {
            [self.file, self.content].iter().any(|digest| digest.eq_ignore_ascii_case(accepted))
        })
    }
}

/// Rows that end, entries that begin, and the report.
type Changes<Id> = (Vec<Id>, Vec<(ListingEntry, Presence)>, ImportReport);

fn changes<Id: Copy>(
    known: &SourceHistory<Id>,
    publication: &Publication,
    reference: PublicationRef,
) -> Changes<Id> {
    let references: Vec<PublicationRef> =
        known.publications.iter().map(|publication| publication.reference).collect();
    let previous = references.iter().copied().max();
    let is_newest = previous.is_none_or(|previous| previous < reference);
    let mut recorded: BTreeMap<Key, Vec<&KnownListing<Id>>> = BTreeMap::new();
    for listing in &known.listings {
        recorded.entry(key(&listing.entry)).or_default().push(listing);
    }
    let found: BTreeMap<Key, &ListingEntry> =
        publication.entries.iter().map(|entry| (key(entry), entry)).collect();
    let keys: BTreeSet<&Key> = recorded.keys().chain(found.keys()).collect();

    let (mut ended, mut begun, mut report) = (Vec::new(), Vec::new(), ImportReport::default());
    for key in keys {
        let rows = recorded.get(key).map(Vec::as_slice).unwrap_or_default();
        let entry = found.get(key).copied();
        let before: Vec<Presence> = rows.iter().map(|row| row.presence).collect();
        let after = with_publication(&references, &before, reference, entry.is_some());

        let mut changed = false;
        for run in &after {
            let print = printed_last(rows, entry, run, &references, reference);
            let kept = rows.iter().any(|row| row.presence == *run && Some(&row.entry) == print);
            if let (false, Some(print)) = (kept, print) {
                changed = true;
                begun.push((print.clone(), *run));
            }
        }
        for row in rows {
            let print = printed_last(rows, entry, &row.presence, &references, reference);
            if !after.contains(&row.presence) || Some(&row.entry) != print {
                ended.push(row.id);
            }
        }

        // A publication filed in the past adds unknown listings, and removes none.
        let stood = match previous {
            Some(previous) if is_newest => before.iter().any(|run| run.holds(previous)),
            _ => !rows.is_empty(),
        };
        match (stood, entry) {
            (false, Some(entry)) => report.added.push(reported(entry)),
            (true, None) if !is_newest => report.unchanged += u64::from(!changed),
            (true, None) => report.removed.extend(rows.first().map(|row| reported(&row.entry))),
            (true, Some(_)) if changed => report.updated += 1,
            (true, Some(_)) => report.unchanged += 1,
            (false, None) => {}
        }
    }
    report.note_renewals();
    (ended, begun, report)
}

/// Entry as the newest publication within a run prints it: the imported one if no publication of
/// the run is newer, else the recorded one.
fn printed_last<'a, Id>(
    rows: &[&'a KnownListing<Id>],
    entry: Option<&'a ListingEntry>,
    run: &Presence,
    references: &[PublicationRef],
    added: PublicationRef,
) -> Option<&'a ListingEntry> {
    let newer_known = references.iter().any(|other| *other > added && run.holds(*other));
    let from_added = entry.filter(|_| run.holds(added) && !newer_known);
    let overlapping = rows
        .iter()
        .find(|row| references.iter().any(|other| run.holds(*other) && row.presence.holds(*other)));
    from_added.or_else(|| overlapping.map(|row| &row.entry))
}

/// Adds entries with invalid addresses, and numbers of those that no check can match and of unknown codes, to the report.
fn with_findings(mut report: ImportReport, entries: &[ListingEntry]) -> ImportReport {
    for entry in entries {
        let listed = entry.addresses();
        if listed.is_formless() && AssetScope::for_code(&entry.asset_code) != OTHER {
            let reason =
                "in the form of no supported chain: only a check of `other` finds it".to_owned();
            report.invalid.push(InvalidEntry { entry: reported(entry), reason });
        }
        let ListedAddresses { misfiled, unmatched, .. } = listed;
        if let Some(text) = &unmatched {
            *report.unmatched.entry(text.chain).or_default() += 1;
        }
        if let Some(error) = unmatched.map(|text| text.error).or(misfiled) {
            let by_case = case_lost(&entry.address_as_published);
            let reason = by_case.map_or_else(|| error.to_string(), str::to_owned);
            report.invalid.push(InvalidEntry { entry: reported(entry), reason });
        }
        if AssetScope::for_code(&entry.asset_code) == AssetScope::Unknown {
            *report.unknown_codes.entry(entry.asset_code.clone()).or_default() += 1;
        }
    }
    report
}

fn reported(entry: &ListingEntry) -> ReportedEntry {
    ReportedEntry {
        list: entry.list.clone(),
        entity_id: entry.entity.id.clone(),
        entity: entry.entity.name.clone(),
        asset_code: entry.asset_code.clone(),
        address: entry.address_as_published.clone(),
    }
}

#[cfg(test)]
mod tests;
