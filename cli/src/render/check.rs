//! An assessment as it is drawn for people: the score, what it is made of as a waterfall, and everything
//! it rests on.

use std::fmt::{self, Write};

use anstyle::{AnsiColor, Style};
use assay_engine::{
    address::CanonicalAddress,
    assessment::{
        Amount, AssessedLabel, AssessedListing, Assessment, ComponentKind, CoverageBlock,
        CoverageStatus, LabelStatus, ScoringComponent,
    },
    chain::Chain,
    evidence::ListingStatus,
    policy::ListEffect,
    score::{RiskLevel, Score, Verdict},
};
use jiff::{Timestamp, civil::Date};

use super::{ago, coins, flows};

/// Columns of the waterfall: two points of the score each.
const BAR_COLUMNS: usize = 50;
/// Columns for what a component is about.
const DETAIL_COLUMNS: usize = 58;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Draws an assessment.
pub(crate) fn check(
    subject: &CanonicalAddress,
    assessment: &Assessment,
    as_of: Option<Date>,
    now: Timestamp,
) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = draw(&mut text, subject, assessment, as_of, now);
    text
}

fn draw(
    text: &mut String,
    subject: &CanonicalAddress,
    assessment: &Assessment,
    as_of: Option<Date>,
    now: Timestamp,
) -> fmt::Result {
    let chain = subject.chain().info();
    writeln!(text, "{BOLD}{subject}{BOLD:#}  {} ({})", chain.name, subject.kind().as_str())?;
    if let Some(entity) = &assessment.entity {
        writeln!(text, "{}  {DIM}{}{DIM:#}", entity.name, entity.category)?;
    }
    if let Some(day) = as_of {
        writeln!(text, "as of {day}")?;
    }
    writeln!(text)?;
    headline(text, assessment)?;

    section(text, "Why")?;
    for reason in &assessment.reasons {
        writeln!(text, "  - {}", reason.message)?;
    }
    if !assessment.scoring_components.is_empty() {
        section(text, "Score")?;
        waterfall(text, assessment)?;
    }
    flows::draw(text, chain, assessment)?;
    activity(text, chain, assessment)?;
    if !assessment.sanctions.is_empty() {
        section(text, "Sanctions lists")?;
        for listing in &assessment.sanctions {
            draw_listing(text, listing)?;
        }
    }
    if !assessment.labels.is_empty() {
        section(text, "Labels")?;
        for label in &assessment.labels {
            draw_label(text, label)?;
        }
    }
    if !assessment.associated_wallets.is_empty() {
        section(text, "Associated")?;
        for wallet in &assessment.associated_wallets {
            let listed = if wallet.listed { ", listed" } else { "" };
            let entity =
                wallet.entity.as_deref().map(|name| format!(": {name}")).unwrap_or_default();
            writeln!(
                text,
                "  {} {}  {}{listed}{entity}",
                wallet.blockchain, wallet.address, wallet.heuristic
            )?;
        }
    }
    if !assessment.warnings.is_empty() {
        section(text, "Mind")?;
        for warning in &assessment.warnings {
            writeln!(text, "  - {}", warning.message)?;
        }
    }
    looked_at(text, assessment, now)?;
    writeln!(
        text,
        "\n{DIM}data {}  policy {}  model {}\n{}{DIM:#}",
        assessment.data_revision,
        assessment.policy_revision,
        assessment.model_version,
        assessment.digest()
    )
}

fn activity(text: &mut String, chain: &Chain, assessment: &Assessment) -> fmt::Result {
    let activity = &assessment.activity;
    let (Some(first), Some(last), Some(counts)) =
        (activity.first_seen, activity.last_seen, activity.counts)
    else {
        return Ok(());
    };
    section(text, "Activity")?;
    writeln!(text, "  first {first}, last {last}")?;
    let sum = |amounts: &[Amount]| {
        amounts.first().and_then(|amount| amount.value.parse().ok()).unwrap_or_default()
    };
    writeln!(
        text,
        "  received {} in {} transactions, sent {} in {}, holds {}",
        coins(chain, sum(&activity.r#in)),
        counts.transfers_in,
        coins(chain, sum(&activity.out)),
        counts.transfers_out,
        coins(chain, sum(&activity.balance))
    )
}

fn section(text: &mut String, title: &str) -> fmt::Result {
    writeln!(text, "\n{BOLD}{title}{BOLD:#}")
}

const fn colour(level: RiskLevel) -> Style {
    let colour = match level {
        RiskLevel::Unknown => AnsiColor::Magenta,
        RiskLevel::Low => AnsiColor::Green,
        RiskLevel::Medium => AnsiColor::Cyan,
        RiskLevel::High => AnsiColor::Yellow,
        RiskLevel::Severe => AnsiColor::Red,
    };
    colour.on_default().bold()
}

fn headline(text: &mut String, assessment: &Assessment) -> fmt::Result {
    let style = colour(assessment.risk_level);
    let verdict = match assessment.verdict {
        Verdict::Allow => "ALLOW",
        Verdict::Indeterminate => "INDETERMINATE",
        Verdict::Review => "REVIEW",
        Verdict::Block => "BLOCK",
    };
    let standing =
        if assessment.complete { "complete" } else { "incomplete: mandatory data is missing" };
    let environment = match assessment.environment {
        assay_engine::facts::Environment::Production => "",
        assay_engine::facts::Environment::Sample => "  demo data set",
    };
    writeln!(
        text,
        "{style}{} of 100  {}  {verdict}{style:#}  {standing}{environment}",
        assessment.risk_score,
        assessment.risk_level.as_str(),
    )
}

/// Each component's bar begins where the one before it ended.
fn waterfall(text: &mut String, assessment: &Assessment) -> fmt::Result {
    let style = colour(assessment.risk_level);
    let column = |tenths: u16| usize::from(tenths) * BAR_COLUMNS / 1000;
    let mut reached = 0;
    for component in &assessment.scoring_components {
        let contribution = component.contribution.tenths();
        let (start, end) = (column(reached), column(reached + contribution));
        reached += contribution;
        let length = if contribution > 0 { (end - start).max(1) } else { 0 };
        let about = shorten(&about(component), DETAIL_COLUMNS);
        writeln!(
            text,
            "  {about:<DETAIL_COLUMNS$} {:>6}  {DIM}|{DIM:#}{}{style}{}{style:#}",
            format!("+{}", component.contribution),
            " ".repeat(start),
            "#".repeat(length),
        )?;
    }
    let sum = Score::from_tenths(reached);
    let width = BAR_COLUMNS;
    writeln!(text, "  {:<DETAIL_COLUMNS$} {:>6}  {DIM}|{:>width$}|{DIM:#}", "", sum.to_string(), "")
}

fn about(component: &ScoringComponent) -> String {
    let kind = match component.kind {
        ComponentKind::Sanctions => "listed",
        ComponentKind::Ownership => "label",
        ComponentKind::Association => "associated",
        ComponentKind::Exposure => "flow",
        ComponentKind::Behavior => "behavior",
        ComponentKind::MinimumScoreRule => "floor",
        ComponentKind::Incomplete => "incomplete",
    };
    format!("{kind:<11}{}", component.detail)
}

fn shorten(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let kept: String = text.chars().take(columns.saturating_sub(3)).collect();
    format!("{}...", kept.trim_end())
}

fn draw_listing(text: &mut String, listing: &AssessedListing) -> fmt::Result {
    let (status, style) = match listing.status {
        ListingStatus::Active => ("active", colour(RiskLevel::Severe)),
        ListingStatus::RecentlyExpired => ("expired lately", colour(RiskLevel::High)),
        ListingStatus::Expired => ("expired", DIM),
        ListingStatus::Delisted => ("delisted", DIM),
        ListingStatus::NotYetListed => ("not yet in force", DIM),
    };
    let effect = match listing.effect {
        ListEffect::Blocking => "blocking",
        ListEffect::Advisory => "advisory",
    };
    writeln!(text, "  {} ({effect})  {style}{status}{style:#}", listing.list_name)?;
    writeln!(text, "    entity      {} ({})", listing.entity, listing.entity_id)?;
    if !listing.aliases.is_empty() {
        let names: Vec<&str> = listing.aliases.iter().map(|alias| alias.name.as_str()).collect();
        writeln!(text, "    also        {}", names.join("; "))?;
    }
    if !listing.programs.is_empty() {
        writeln!(text, "    programs    {}", listing.programs.join(", "))?;
    }
    let day = |day: Option<Date>| day.map_or_else(|| "unknown".to_owned(), |day| day.to_string());
    let address = listing.listed_on.map_or_else(
        || "before the first publication known here".to_owned(),
        |day| day.to_string(),
    );
    writeln!(text, "    since       entity {}; address {address}", day(listing.entity_listed_on))?;
    if let Some(ended) = listing.delisted_on {
        writeln!(text, "    until       {ended}, the first publication without it")?;
    }
    writeln!(text, "    published   {} {}", listing.asset_code, listing.address_as_published)?;
    match &listing.remarks {
        Some(remarks) => writeln!(text, "    remarks     {remarks}"),
        None => Ok(()),
    }
}

fn draw_label(text: &mut String, label: &AssessedLabel) -> fmt::Result {
    let status = match label.status {
        LabelStatus::InForce => "",
        LabelStatus::Duplicate => "  (repeats another)",
        LabelStatus::Overruled => "  (overruled by stronger evidence)",
        LabelStatus::ContradictedByList => "  (its list does not name the address)",
        LabelStatus::NotInForce => "  (out of force)",
    };
    writeln!(
        text,
        "  {}  {}  {} %, {}, {} ({}){status}",
        label.category,
        label.entity.as_deref().unwrap_or("no name"),
        label.confidence.percent(),
        label.tier.as_str(),
        label.source,
        label.upstream
    )
}

fn looked_at(text: &mut String, assessment: &Assessment, now: Timestamp) -> fmt::Result {
    section(text, "Looked at")?;
    let coverage = &assessment.coverage;
    for (name, block) in [
        ("sanctions", &coverage.sanctions),
        ("labels", &coverage.labels),
        ("association", &coverage.association),
        ("exposure", &coverage.exposure),
        ("behavior", &coverage.behavior),
    ] {
        draw_block(text, name, block)?;
    }
    for source in &assessment.sources {
        let stale = if source.stale { ", stale" } else { "" };
        let published = source.published_at.map(|day| day.to_string()).unwrap_or_default();
        writeln!(
            text,
            "  {:<12} source {} of {published}, verified {}{stale}",
            "",
            source.id,
            ago(source.fetched_at, now)
        )?;
    }
    Ok(())
}

fn draw_block(text: &mut String, name: &str, block: &CoverageBlock) -> fmt::Result {
    let status = match block.status {
        CoverageStatus::Assessed => "assessed",
        CoverageStatus::Partial => "partial",
        CoverageStatus::NotAssessed => "not assessed",
        CoverageStatus::Unavailable => "unavailable",
        CoverageStatus::NotApplicable => "not applicable",
    };
    writeln!(text, "  {name:<12} {status}: {}", block.detail)
}
