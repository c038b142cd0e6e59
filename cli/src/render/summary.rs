//! An assessment in short, the most important facts first: a typical address fits a screen of 80 columns and 40 lines.

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    assessment::{Assessment, CoverageBlock, CoverageStatus, LabelStatus},
    evidence::ListingStatus,
    policy::ListEffect,
};
use jiff::Timestamp;

use super::{
    check::{
        CheckRun, Drawing, blocks, decisive, draw_transfer, further, has_activity, head,
        label_line, status, tail, verified, waterfall,
    },
    flows,
    page::Page,
    text::{amounts, counted},
};

/// Largest numbers of entries that are drawn of each kind.
const MAX_REASONS: usize = 2;
const MAX_LISTINGS: usize = 2;
const MAX_COMPONENTS: usize = 3;
const MAX_LABELS: usize = 3;
const MAX_PATTERNS: usize = 2;
const MAX_WARNINGS: usize = 3;
const MAX_ADDRESSES: usize = 2;
/// Columns of the names of the last block.
const NAMES: usize = 12;

/// Draws an assessment in short, in lines of at most `width` columns.
pub(crate) fn summary(
    subject: &CanonicalAddress,
    assessment: &Assessment,
    run: &CheckRun,
    width: usize,
) -> String {
    let mut page = Page::new(width);
    let chain = subject.chain();
    head(&mut page, subject, assessment, run.as_of);
    if let Some(transfer) = &assessment.transfer {
        draw_transfer(&mut page, chain, transfer);
    }
    page.section("Why");
    first(&mut page, MAX_REASONS, &assessment.reasons, |page, reason| page.item(&reason.message));
    decisive(&mut page, assessment, 1);
    listings(&mut page, assessment);
    if !assessment.scoring_components.is_empty() {
        page.section("Score");
        waterfall(&mut page, assessment, Drawing::Most(MAX_COMPONENTS));
    }
    labels(&mut page, assessment);
    flows::draw_endpoints(&mut page, chain, assessment);
    if !assessment.warnings.is_empty() {
        page.section("Warnings");
        first(&mut page, MAX_WARNINGS, &assessment.warnings, |page, it| page.item(&it.message));
    }
    page.gap();
    if has_activity(assessment) {
        activity(&mut page, chain, assessment);
    }
    behavior(&mut page, assessment);
    associated(&mut page, assessment);
    coverage(&mut page, assessment);
    tail(&mut page, assessment, run);
    page.finish()
}

/// Draws the first `most` entries, and the number of the other entries.
fn first<T>(page: &mut Page, most: usize, entries: &[T], draw: impl Fn(&mut Page, &T)) {
    for entry in entries.iter().take(most) {
        draw(page, entry);
    }
    if entries.len() > most {
        page.hanging("    ", "    ", format!("{} more (--all)", entries.len() - most));
    }
}

/// Draws the entries of lists: the list, its effect, the party and since when it is listed.
fn listings(page: &mut Page, assessment: &Assessment) {
    if assessment.sanctions.is_empty() {
        return;
    }
    page.section("Sanctions lists");
    first(page, MAX_LISTINGS, &assessment.sanctions, |page, listing| {
        let status = match listing.status {
            ListingStatus::Active => "active",
            ListingStatus::RecentlyExpired => "recently expired",
            ListingStatus::Expired => "expired",
            ListingStatus::Delisted => "delisted",
            ListingStatus::NotYetListed => "not yet in force",
        };
        let since = listing.listed_on.or(listing.entity_listed_on);
        let since = since.map(|day| format!(" since {day}")).unwrap_or_default();
        let programs = match &*listing.programs {
            [] => String::new(),
            programs => format!(", {}", programs.join(", ")),
        };
        let advisory = match listing.effect {
            ListEffect::Blocking => "",
            ListEffect::Advisory => " (advisory)",
        };
        let (list, party) = (&listing.list_name, &listing.entity);
        let text =
            format!("{list}{advisory}, {status}{since}: {party} ({}{programs})", listing.entity_id);
        page.hanging("  ", "    ", text);
    });
    further(page, assessment.further_items().sanctions, "more listing", "more listings");
}

/// Draws the labels in force, and the number of all other labels.
fn labels(page: &mut Page, assessment: &Assessment) {
    let labels = || assessment.labels.iter();
    let counted: Vec<_> = labels().filter(|it| it.status == LabelStatus::InForce).collect();
    if labels().len() == 0 {
        return;
    }
    page.section("Labels");
    first(page, MAX_LABELS, &counted, |page, label| {
        page.hanging("  ", "    ", label_line(label));
    });
    further(page, assessment.further_items().labels, "more label", "more labels");
    let others = labels().len() - counted.len();
    if others > 0 {
        page.hanging("  ", "    ", format!("{others} that do not count (--all)"));
    }
}

fn activity(page: &mut Page, chain: ChainId, assessment: &Assessment) {
    let activity = &assessment.activity;
    let (Some(begin), Some(end), Some(counts)) =
        (activity.first_seen, activity.last_seen, activity.counts)
    else {
        return;
    };
    let day = |time: Timestamp| time.strftime("%Y-%m-%d").to_string();
    let text = format!(
        "received {} in {}, sent {} in {}, balance {}; {} to {}",
        amounts(chain, &activity.r#in),
        counted(counts.transfers_in, "transaction", "transactions"),
        amounts(chain, &activity.out),
        counts.transfers_out,
        amounts(chain, &activity.balance),
        day(begin),
        day(end),
    );
    page.field(0, NAMES, "Activity", text);
}

/// Draws the behavior patterns except the forms of single transactions.
fn behavior(page: &mut Page, assessment: &Assessment) {
    let patterns = assessment.transaction_patterns.iter();
    let names: Vec<String> = patterns
        .filter(|pattern| !pattern.pattern.is_form_of_transaction())
        .map(|it| format!("{} ({})", it.pattern.as_str().replace('_', " "), it.role.as_str()))
        .collect();
    list(page, "Behavior", MAX_PATTERNS, &names);
}

fn associated(page: &mut Page, assessment: &Assessment) {
    let wallets = assessment.associated_wallets.iter();
    let texts: Vec<String> = wallets
        .map(|wallet| {
            let listed = if wallet.listed { ", listed" } else { "" };
            let entity = wallet.entity.as_deref().map(|name| format!(": {name}"));
            let (relation, entity) = (&wallet.heuristic, entity.unwrap_or_default());
            format!("{} ({}{listed}{entity})", wallet.address, relation.replace('_', " "))
        })
        .collect();
    list(page, "Associated", MAX_ADDRESSES, &texts);
}

/// Draws a field with the first `most` entries, and the number of the other entries.
fn list(page: &mut Page, name: &str, most: usize, entries: &[String]) {
    if entries.is_empty() {
        return;
    }
    let mut text = entries.iter().take(most).cloned().collect::<Vec<_>>().join("; ");
    if entries.len() > most {
        text = format!("{text}; {} more", entries.len() - most);
    }
    page.field(0, NAMES, name, text);
}

/// Draws the names of the blocks that were assessed, and for each other block the cause.
fn coverage(page: &mut Page, assessment: &Assessment) {
    let blocks = blocks(&assessment.coverage);
    let applicable = || blocks.iter().filter(|(_, it)| it.status != CoverageStatus::NotApplicable);
    let is_whole = |block: &CoverageBlock| block.status == CoverageStatus::Assessed;
    let whole: Vec<&str> =
        applicable().filter(|(_, it)| is_whole(it)).map(|(name, _)| *name).collect();
    let verified = verified(assessment).map(|at| format!("; sources verified {at}"));
    let names = match whole.len() {
        count if count > 1 && count == applicable().count() => "all".to_owned(),
        _ => whole.join(", "),
    };
    let text = format!("{names} assessed{}", verified.unwrap_or_default());
    page.field(0, NAMES, "Coverage", text);
    for (name, block) in applicable().filter(|(_, block)| !is_whole(block)) {
        let (indent, status) = (" ".repeat(NAMES), status(block.status));
        page.hanging(&indent, &indent, format!("{name} {status}: {}", block.detail));
    }
    let stale: Vec<&str> =
        assessment.sources.iter().filter(|it| it.stale).map(|it| it.id.as_str()).collect();
    if !stale.is_empty() {
        page.field(0, NAMES, "Stale", stale.join(", "));
    }
}
