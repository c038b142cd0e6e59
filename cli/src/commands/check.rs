//! `assay check`: the risk assessment of one address.

use std::{io::Write, sync::Arc};

use assay_address::ChainId;
use assay_engine::{
    assess, assessment::Assessment, facts::Environment, policy::Policy, score::Verdict,
};
use assay_intel::IntelSnapshot;
use assay_service::{
    chains::{self, registry::ChainReaders},
    manifests,
};
use assay_store::{ControlStore, Store};
use assay_tenancy::Directory;
use clap::Args;
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde::Serialize;

use super::{
    CommandOutcome, Context, Failure, output, parse_address, print_json,
    terminal::{error_width, text_width, wrapped},
};
use crate::render;

const EXAMPLES: &str = "\
Examples:
  assay check btc 12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h
  assay check eth 0x8589427373d6d84e98730d7795d8f6f8731fda16 --as-of 2025-03-01
  assay check btc ADDRESS --exit-code --json && echo allowed";

/// Assess the risk of one address
///
/// Reads the database directly: no server is needed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckArgs {
    /// Blockchain, such as btc, eth or trx
    chain: ChainId,
    /// Address, in any form that the blockchain allows
    address: String,
    /// Name of the risk policy [default: default; with --sample: sample]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Assess the listings and labels in force on a past day, such as 2025-03-01
    #[arg(long, value_name = "DATE")]
    as_of: Option<Date>,
    /// Print every path of the funds, all evidence and the coverage in full
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// Print the JSON of the API
    #[arg(long)]
    json: bool,
    /// Exit with code 10 for review, 11 for block and 12 for indeterminate
    #[arg(long)]
    exit_code: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    address_submitted: &'a str,
    #[serde(flatten)]
    assessment: &'a Assessment,
    assessed_at: Timestamp,
    assessment_digest: String,
    as_of: Option<Date>,
}

pub(super) async fn run(args: &CheckArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let subject = parse_address(args.chain, &args.address)?;
    let databases = context.open_databases().await?;
    let store = &databases.store;
    let policy = policy(&**store, args.policy.as_deref()).await?;
    let now = context.clock.now();
    let as_of = args.as_of.map(end_of_day).transpose()?;
    let snapshot = match as_of {
        Some(moment) => IntelSnapshot::load_as_of(&**store, moment).await?,
        None => IntelSnapshot::load(&**store, None).await?,
    };
    let chains = ChainReaders::open(&databases, &directory(&**store).await?).await?;
    let facts = if let Some(past) = as_of {
        chains::facts_as_of(&chains, &snapshot, &subject, past).await?
    } else {
        chains::facts(&chains, &snapshot, &policy, &subject, now).await
    };
    let assessment = assess(&subject, &facts, &policy, as_of.unwrap_or(now));

    if args.json {
        let answer = Answer {
            address_submitted: &args.address,
            assessment: &assessment,
            assessed_at: now,
            assessment_digest: assessment.digest(),
            as_of: args.as_of,
        };
        print_json(&answer)?;
    } else {
        let draw = if args.all { render::full } else { render::summary };
        let text = draw(&subject, &assessment, args.as_of, now, text_width());
        write!(output(), "{text}")?;
    }
    tell_outdated_compositions(&assessment);
    Ok(done(args.exit_code, assessment.verdict))
}

/// Tells on standard error that the answer rests on outdated compositions (origin breakdowns), which a check does not
/// compute.
pub(super) fn tell_outdated_compositions(assessment: &Assessment) {
    if assessment.reasons.iter().any(|reason| reason.code == "compositions_outdated") {
        let text = "note: this command does not compute the compositions of transactions: `assay serve` does while it \
                    runs, and `assay export exposures` at once";
        // If standard error fails, the answer has the reason.
        let _ = write!(anstream::stderr(), "{}", wrapped(error_width(), text));
    }
}

/// The result of a check: with `--exit-code`, its exit code is that of the verdict.
pub(super) const fn done(exit_code: bool, verdict: Verdict) -> CommandOutcome {
    match (exit_code, verdict) {
        (false, _) | (true, Verdict::Allow) => CommandOutcome::Success,
        (true, Verdict::Review) => CommandOutcome::Code(10),
        (true, Verdict::Block) => CommandOutcome::Code(11),
        (true, Verdict::Indeterminate) => CommandOutcome::Code(12),
    }
}

/// The last moment of a day, so that everything that came into force on the day counts.
fn end_of_day(day: Date) -> Result<Timestamp, Failure> {
    day.at(23, 59, 59, 999_000_000)
        .to_zoned(TimeZone::UTC)
        .map(|end| end.timestamp())
        .map_err(|error| Failure::Usage(format!("--as-of: {error}")))
}

/// The directory of the stored manifests.
pub(super) async fn directory(store: &dyn ControlStore) -> Result<Directory<Policy>, Failure> {
    let manifests = store.manifests().await?.manifests;
    Ok(manifests::resolve_stored(manifests).map_err(manifests::ApplyError::Problems)?)
}

/// A stored risk policy; without a name, the default of the store.
pub(super) async fn policy(store: &dyn Store, name: Option<&str>) -> Result<Arc<Policy>, Failure> {
    let name = match (name, store.environment().await?) {
        (Some(name), _) => name,
        (None, Environment::Production) => "default",
        (None, Environment::Sample) => "sample",
    };
    let directory = directory(store).await?;
    directory.policies.get(name).cloned().ok_or_else(|| {
        let known: Vec<&str> = directory.policies.keys().map(assay_tenancy::Name::as_str).collect();
        Failure::Input(format!("no such risk policy: `{name}` (known: {})", known.join(", ")))
    })
}
