//! An assessment in full: verdict, reasons, evidence, scoring components, flows and coverage.

use std::cmp::Reverse;

use anstyle::{AnsiColor, Style};
use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    assessment::{
        AssessedLabel, AssessedListing, AssessedSource, AssessedTransfer, Assessment, Coverage,
        CoverageBlock, CoverageStatus, LabelStatus, Sender, TransferBasis,
    },
    evidence::{Direction, EndedReason, ListingStatus},
    facts::Environment,
    patterns::rules::SHOWN,
    policy::ListEffect,
    score::{RiskLevel, Score, Verdict},
    transfer::TransferDirection,
};
use jiff::{Timestamp, civil::Date};

use super::{
    flows,
    page::Page,
    text::{amount, amounts, beginning, counted},
};

/// The highest score in tenths of a point.
const HIGHEST: usize = 1_000;
/// Largest number of components without points that are named.
const MAX_WITHOUT_POINTS: usize = 3;
/// Largest number of decisive components that are named.
const MAX_DECISIVE: usize = 3;
/// Largest number of senders of a transfer that are shown.
const MAX_SENDERS: usize = 10;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// The occasion of an assessment.
#[derive(Clone, Debug)]
pub(crate) struct CheckRun {
    /// Identifier of the check.
    pub(crate) id: String,
    /// Time of the assessment.
    pub(crate) now: Timestamp,
    /// The past day that is assessed; `None` for today.
    pub(crate) as_of: Option<Date>,
}

/// Draws an assessment in full, in lines of at most `width` columns.
pub(crate) fn full(
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
    for reason in &assessment.reasons {
        page.item(&reason.message);
    }
    decisive(&mut page, assessment, MAX_DECISIVE);
    if !assessment.sanctions.is_empty() {
        page.section("Sanctions lists");
        for listing in &assessment.sanctions {
            draw_listing(&mut page, listing);
        }
        further(&mut page, assessment.further_items().sanctions, "more listing", "more listings");
    }
    if !assessment.scoring_components.is_empty() {
        page.section("Score");
        waterfall(&mut page, assessment, Drawing::All);
    }
    if !assessment.labels.is_empty() {
        page.section("Labels");
        for label in &assessment.labels {
            page.hanging("  ", "    ", label_line(label));
        }
        further(&mut page, assessment.further_items().labels, "more label", "more labels");
    }
    flows::draw(&mut page, chain, assessment);
    contracts(&mut page, chain, assessment);
    if has_activity(assessment) {
        activity(&mut page, chain, assessment);
    }
    patterns(&mut page, assessment);
    if !assessment.associated_wallets.is_empty() {
        page.section("Associated addresses");
        for wallet in &assessment.associated_wallets {
            let listed = if wallet.listed { ", listed" } else { "" };
            let entity =
                wallet.entity.as_deref().map(|name| format!(": {name}")).unwrap_or_default();
            let text = format!(
                "{} {}  {}{listed}{entity}",
                wallet.blockchain, wallet.address, wallet.heuristic
            );
            page.hanging("  ", "    ", text);
        }
    }
    if !assessment.warnings.is_empty() {
        page.section("Warnings");
        for warning in &assessment.warnings {
            page.item(&warning.message);
        }
    }
    coverage(&mut page, assessment);
    page.gap();
    tail(&mut page, assessment, run);
    page.finish()
}

/// Draws what contracts exchanged, gave back and hold, and what they paid from their own.
fn contracts(page: &mut Page, chain: ChainId, assessment: &Assessment) {
    let Some(contracts) = &assessment.contracts else { return };
    page.section("Contracts");
    for money in &contracts.kept {
        page.hanging("  ", "    ", &money.detail);
    }
    further(page, contracts.further_kept, "more contract", "more contracts");
    for holding in &contracts.holdings {
        page.hanging("  ", "    ", format!("holds {}", holding.detail));
    }
    further(page, contracts.further_holdings, "more token or claim", "more tokens and claims");
    for pool in &contracts.contract_pool {
        let sum = amount(chain, &pool.amount);
        let text = format!("got {sum} beyond what anybody is known to have put in for it");
        page.hanging("  ", "    ", text);
    }
    for dealing in &contracts.token_dealings {
        let (verb, preposition) = match dealing.direction {
            Direction::Source => ("got", "from"),
            Direction::Destination => ("sent", "to"),
        };
        let name = dealing.entity.as_deref().unwrap_or(&dealing.party);
        page.hanging("  ", "    ", format!("{verb} tokens {preposition} {name}, a listed party"));
    }
}

/// Draws the components that decided the verdict, at most `most` by name, and the answer without them.
pub(super) fn decisive(page: &mut Page, assessment: &Assessment, most: usize) {
    let Some(decisive) = &assessment.decisive else { return };
    let components = decisive.components.iter();
    let components = components.filter_map(|index| assessment.scoring_components.get(*index));
    let names: Vec<&str> = components
        .map(|component| component.rule.as_deref().unwrap_or(&component.detail))
        .collect();
    let (shown, more) = names.split_at(names.len().min(most));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    page.item(format!(
        "decided by {}{more}: without {} {}, {}",
        shown.join("; "),
        if names.len() == 1 { "it" } else { "them" },
        decisive.risk_score,
        decisive.verdict.as_str(),
    ));
}

/// Draws the number of entries that the assessment counts and does not show.
pub(super) fn further(page: &mut Page, number: u64, one: &str, several: &str) {
    if number > 0 {
        page.hanging("  ", "    ", format!("{}, not shown", counted(number, one, several)));
    }
}

/// Draws the address, its entity and the verdict.
pub(super) fn head(
    page: &mut Page,
    subject: &CanonicalAddress,
    assessment: &Assessment,
    as_of: Option<Date>,
) {
    let (chain, kind) = (subject.chain().info().name, subject.kind().as_str());
    page.line(format!("{BOLD}{subject}{BOLD:#}  {chain} ({kind})"));
    if let Some(entity) = &assessment.entity {
        page.line(format!("{}  {DIM}{}{DIM:#}", entity.name, entity.category));
    }
    if let Some(day) = as_of {
        page.line(format!("as of {day}"));
    }
    page.line(headline(assessment));
}

/// Draws the time and the check, the versions of the inputs, and the digest of the assessment.
pub(super) fn tail(page: &mut Page, assessment: &Assessment, CheckRun { id, now, .. }: &CheckRun) {
    page.line(format!("{DIM}assessed {now:.0}  check {id}{DIM:#}"));
    page.line(format!(
        "{DIM}data {}  policy {}  model {}{DIM:#}",
        assessment.data_revision, assessment.policy_revision, assessment.model_version
    ));
    page.line(format!("{DIM}{}{DIM:#}", assessment.digest()));
}

/// Draws a transfer below its receiver: the transaction and the senders.
pub(super) fn draw_transfer(page: &mut Page, chain: ChainId, transfer: &AssessedTransfer) {
    const NAMES: usize = 12;
    let what = match transfer.direction {
        TransferDirection::Deposit => "deposit",
        TransferDirection::Withdrawal => "withdrawal",
    };
    let outputs: Vec<String> =
        transfer.outputs.iter().map(|output| output.index.to_string()).collect();
    let more = transfer.outputs_count.saturating_sub(outputs.len().try_into().unwrap_or(u64::MAX));
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let name = if transfer.outputs_count == 1 { "output" } else { "outputs" };
    page.section(format!("{what} of {}", amount(chain, &transfer.amount)));
    match &transfer.transaction {
        Some(transaction) => page.field(2, NAMES, "transaction", transaction),
        None => page.field(2, NAMES, "transaction", "not sent yet"),
    }
    if let Some(account) = &transfer.account {
        page.field(2, NAMES, "place", &account.place);
        page.field(2, NAMES, "asset", &account.asset);
        page.field(2, NAMES, "from", account.from.as_deref().unwrap_or("nobody: new units"));
        if let Some(initiator) =
            account.initiator.as_ref().filter(|it| Some(*it) != account.from.as_ref())
        {
            page.field(2, NAMES, "sent by", initiator);
        }
    } else if let Some(planned) = &transfer.planned {
        page.field(2, NAMES, "asset", &planned.asset);
    } else {
        page.field(2, NAMES, name, format!("{}{more}", outputs.join(", ")));
    }
    if let Some((height, time)) = transfer.block_height.zip(transfer.block_time) {
        let confirmations = counted(transfer.confirmations, "confirmation", "confirmations");
        page.field(2, NAMES, "block", format!("{height}  {time}  {confirmations}"));
    }
    let basis = match transfer.basis {
        TransferBasis::Origins => "the origins of this money",
        TransferBasis::Receiver => "all money of the receiver",
        TransferBasis::Destinations => {
            "all money that the receiver received, and the destinations of this money"
        }
        TransferBasis::Payment => "all money of the receiver, and rules that this payment meets",
    };
    page.field(2, NAMES, "judged by", basis);
    if transfer.senders.is_empty() {
        return;
    }
    page.section("Senders");
    for sender in transfer.senders.iter().take(MAX_SENDERS) {
        page.hanging("  ", "    ", sender_line(sender, &amount(chain, &sender.amount)));
    }
    let shown = transfer.senders.len().min(MAX_SENDERS).try_into().unwrap_or(u64::MAX);
    let more = transfer.senders_count.saturating_sub(shown);
    if more > 0 {
        page.hanging("  ", "    ", format!("{more} more (--json)"));
    }
}

fn sender_line(sender: &Sender, amount: &str) -> String {
    let address = sender.address.as_deref().unwrap_or("(no address)");
    let listed = if sender.listed { ", listed" } else { "" };
    let party = match (&sender.entity, sender.category) {
        (Some(entity), Some(category)) => format!("  {entity} ({category}{listed})"),
        (_, Some(category)) => format!("  {category}{listed}"),
        (_, None) => String::new(),
    };
    format!("{amount}  {address}{party}")
}

/// True unless a deposit is assessed: its only activity is the deposit itself.
pub(super) fn has_activity(assessment: &Assessment) -> bool {
    let basis = assessment.transfer.as_ref().map(|transfer| transfer.basis);
    basis != Some(TransferBasis::Origins)
}

fn activity(page: &mut Page, chain: ChainId, assessment: &Assessment) {
    let activity = &assessment.activity;
    let (Some(first), Some(last), Some(counts)) =
        (activity.first_seen, activity.last_seen, activity.counts)
    else {
        return;
    };
    page.section("Activity");
    let transactions = |count| counted(count, "transaction", "transactions");
    page.field(2, 10, "seen", format!("first {first}, last {last}"));
    let (received, sent) = (transactions(counts.transfers_in), transactions(counts.transfers_out));
    page.field(2, 10, "received", format!("{} in {received}", amounts(chain, &activity.r#in)));
    page.field(2, 10, "sent", format!("{} in {sent}", amounts(chain, &activity.out)));
    page.field(2, 10, "balance", amounts(chain, &activity.balance));
}

/// Draws the behavior patterns.
fn patterns(page: &mut Page, assessment: &Assessment) {
    if assessment.transaction_patterns.is_empty() {
        return;
    }
    page.section("Behavior of the owner");
    for pattern in &assessment.transaction_patterns {
        let why = match pattern.unscored_reason {
            None => format!("confidence {} %", pattern.confidence.percent()),
            Some(reason) => format!("not scored: {}", reason.in_words()),
        };
        let (name, role) = (pattern.pattern.as_str().replace('_', " "), pattern.role.as_str());
        let text = format!("{name} ({role}): {}  {DIM}{why}{DIM:#}", pattern.description);
        page.hanging("  ", "    ", text);
        if let Some(first) = pattern.transactions.first() {
            let others = pattern.transactions.len().saturating_sub(1);
            let more = match others {
                0 => String::new(),
                _ if others + 1 >= SHOWN => format!(" and at least {others} more"),
                _ => format!(" and {others} more"),
            };
            page.hanging("    ", "    ", format!("{DIM}{first}{more}{DIM:#}"));
        }
    }
}

const fn color(level: RiskLevel) -> Style {
    let color = match level {
        RiskLevel::Unknown => AnsiColor::Magenta,
        RiskLevel::Low => AnsiColor::Green,
        RiskLevel::Medium => AnsiColor::Cyan,
        RiskLevel::High => AnsiColor::Yellow,
        RiskLevel::Severe => AnsiColor::Red,
    };
    color.on_default().bold()
}

fn headline(assessment: &Assessment) -> String {
    let style = color(assessment.risk_level);
    let verdict = match assessment.verdict {
        Verdict::Allow => "ALLOW",
        Verdict::Indeterminate => "INDETERMINATE",
        Verdict::Review => "REVIEW",
        Verdict::Block => "BLOCK",
    };
    let complete =
        if assessment.complete { "complete" } else { "incomplete: mandatory data is missing" };
    // Complete are the data that the policy requires.
    let flows = match assessment.coverage.exposure.status {
        CoverageStatus::Assessed | CoverageStatus::NotApplicable => String::new(),
        other => format!(", flows {}", status(other)),
    };
    let environment = match assessment.environment {
        Environment::Production => "",
        Environment::Sample => "  demo data set",
        Environment::Sandbox => "  sandbox",
    };
    format!(
        "{style}{} of 100  {}  {verdict}{style:#}  {complete}{flows}{environment}",
        assessment.risk_score,
        assessment.risk_level.as_str(),
    )
}

/// Selection of the scoring components that are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Drawing {
    /// All of them.
    All,
    /// The components with most points, at most this number; the other components with points are summed up.
    Most(usize),
}

/// Draws the components that have points, each with a bar that starts where the bar of the previous component ended.
/// With [`Drawing::All`], the components without points are named together.
pub(super) fn waterfall(page: &mut Page, assessment: &Assessment, drawing: Drawing) {
    let style = color(assessment.risk_level);
    let bar = match drawing {
        Drawing::All => page.width() / 4,
        Drawing::Most(_) => page.width() / 8,
    };
    let column = |tenths: u16| usize::from(tenths) * bar / HIGHEST;
    let (scored, without): (Vec<_>, Vec<_>) =
        assessment.scoring_components.iter().partition(|part| part.contribution.tenths() > 0);
    let mut lines: Vec<(u16, String)> =
        scored.iter().map(|part| (part.contribution.tenths(), part.detail.clone())).collect();
    if let Drawing::Most(most) = drawing
        && lines.len() > most
    {
        lines.sort_by_key(|(tenths, _)| Reverse(*tenths));
        let summed = lines.split_off(most);
        let tenths = summed.iter().map(|(tenths, _)| *tenths).sum();
        lines.push((tenths, format!("{} more (--all)", summed.len())));
    }
    let further = " ".repeat(bar + 14);
    let mut reached = 0;
    for (tenths, detail) in lines {
        let start = column(reached).min(bar.saturating_sub(1));
        reached += tenths;
        let length = column(reached).saturating_sub(start).max(1);
        let first = format!(
            "  {:>6}  {}{style}{}{style:#}{}  ",
            format!("+{}", Score::from_tenths(tenths)),
            " ".repeat(start),
            "#".repeat(length),
            " ".repeat(bar.saturating_sub(start + length)),
        );
        let detail = match drawing {
            Drawing::All => detail,
            // Two lines; the reasons have the whole text.
            Drawing::Most(_) => beginning(&detail, 2 * page.width().saturating_sub(bar + 18)),
        };
        page.hanging(&first, &further, detail);
    }
    if matches!(drawing, Drawing::Most(_)) {
        return;
    }
    page.hanging("  ", "  ", format!("{:>6}  of 100", Score::from_tenths(reached).to_string()));
    let named: Vec<&str> =
        without.iter().take(MAX_WITHOUT_POINTS).map(|part| part.detail.as_str()).collect();
    if !named.is_empty() {
        let more = without.len() - named.len();
        let more = if more > 0 { format!("; {more} more (--json)") } else { String::new() };
        page.hanging("  ", "    ", format!("without points: {}{more}", named.join("; ")));
    }
}

fn draw_listing(page: &mut Page, listing: &AssessedListing) {
    const NAMES: usize = 12;
    let (status, style) = match listing.status {
        ListingStatus::Active => ("active", color(RiskLevel::Severe)),
        ListingStatus::RecentlyExpired => ("recently expired", color(RiskLevel::High)),
        ListingStatus::Expired => ("expired", DIM),
        ListingStatus::Delisted => ("delisted", DIM),
        ListingStatus::NotYetListed => ("not yet in force", DIM),
    };
    let effect = match listing.effect {
        ListEffect::Blocking => "blocking",
        ListEffect::Advisory => "advisory",
    };
    let title = format!("{} ({effect})  {style}{status}{style:#}", listing.list_name);
    page.hanging("  ", "    ", title);
    if listing.ended_reason == Some(EndedReason::Renewed) {
        page.field(4, NAMES, "renewed", "another listing of this entry is in force".to_owned());
    }
    page.field(4, NAMES, "entity", format!("{} ({})", listing.entity, listing.entity_id));
    if !listing.aliases.is_empty() {
        let names: Vec<&str> = listing.aliases.iter().map(|alias| alias.name.as_str()).collect();
        page.field(4, NAMES, "aliases", names.join("; "));
    }
    if !listing.programs.is_empty() {
        page.field(4, NAMES, "programs", listing.programs.join(", "));
    }
    let references = [
        ("order", &listing.order_number),
        ("basis", &listing.legal_basis),
        ("link", &listing.official_link),
    ];
    for (title, text) in references {
        if let Some(text) = text {
            page.field(4, NAMES, title, text);
        }
    }
    if !listing.identifiers.is_empty() {
        page.field(4, NAMES, "known by", listing.identifiers.join("; "));
    }
    let day = |day: Option<Date>| day.map_or_else(|| "unknown".to_owned(), |day| day.to_string());
    let address = listing
        .listed_on
        .map_or_else(|| "before the first imported publication".to_owned(), |day| day.to_string());
    let since = format!("entity {}; address {address}", day(listing.entity_listed_on));
    page.field(4, NAMES, "listed", since);
    if let Some(ended) = listing.delisted_on {
        page.field(4, NAMES, "delisted", format!("{ended}, the first publication without it"));
    }
    if let Some(expires) = listing.expires_on {
        page.field(4, NAMES, "valid until", format!("{expires}, by its own terms"));
    }
    let published = format!("{} {}", listing.asset_code, listing.address_as_published);
    page.field(4, NAMES, "published", published);
    if let Some(remarks) = &listing.remarks {
        page.field(4, NAMES, "remarks", remarks);
    }
}

pub(super) fn label_line(label: &AssessedLabel) -> String {
    let status = match label.status {
        LabelStatus::InForce => "",
        LabelStatus::Duplicate => "  (repeats another)",
        LabelStatus::Overruled => "  (overruled by stronger evidence)",
        LabelStatus::ContradictedByList => "  (its list does not name the address)",
        LabelStatus::ListingEnded => "  (its listing has ended)",
        LabelStatus::NotInForce => "  (out of force)",
        LabelStatus::Unowned => "  (nobody controls the address)",
    };
    format!(
        "{}  {}  {} %, {}, {} ({}){status}",
        label.category,
        label.entity.as_deref().unwrap_or("no name"),
        label.confidence.percent(),
        label.tier.as_str(),
        label.source,
        label.upstream
    )
}

fn coverage(page: &mut Page, assessment: &Assessment) {
    const NAMES: usize = 13;
    page.section("Coverage");
    for (name, block) in blocks(&assessment.coverage) {
        let text = format!("{}: {}", status(block.status), block.detail);
        page.field(2, NAMES, name, text);
    }
    let sources: Vec<String> = assessment.sources.iter().map(source).collect();
    if !sources.is_empty() {
        page.field(2, NAMES, "sources", sources.join(", "));
    }
    if let Some(verified) = verified(assessment) {
        page.field(2, NAMES, "verified", verified);
    }
}

/// The blocks of the coverage with their names.
pub(super) const fn blocks(coverage: &Coverage) -> [(&'static str, &CoverageBlock); 5] {
    [
        ("sanctions", &coverage.sanctions),
        ("labels", &coverage.labels),
        ("association", &coverage.association),
        ("exposure", &coverage.exposure),
        ("behavior", &coverage.behavior),
    ]
}

/// The time at which the sources were verified, of the source that was verified the longest ago; `None` without sources.
pub(super) fn verified(assessment: &Assessment) -> Option<String> {
    let times = assessment.sources.iter().filter_map(|source| source.fetched_at);
    let [first, last] = [times.clone().min()?, times.max()?].map(|time| format!("{time:.0}"));
    Some(if first == last { first } else { format!("{first} or later") })
}

/// A source with the date of its publication.
fn source(source: &AssessedSource) -> String {
    let published = source.published_at.map(|day| format!(" of {day}")).unwrap_or_default();
    let stale = match (source.never_fetched, source.stale) {
        (true, _) => " (never fetched)",
        (false, true) => " (stale)",
        (false, false) => "",
    };
    format!("{}{published}{stale}", source.id)
}

/// The status of a block of the coverage in words.
pub(super) const fn status(status: CoverageStatus) -> &'static str {
    match status {
        CoverageStatus::Assessed => "assessed",
        CoverageStatus::Partial => "partial",
        CoverageStatus::NotAssessed => "not assessed",
        CoverageStatus::Unavailable => "unavailable",
        CoverageStatus::NotApplicable => "not applicable",
    }
}
