//! `assay check`: the risk assessment of one address, or of one account on every EVM chain.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    assess,
    assessment::Assessment,
    facts::{Environment, Facts},
    policy::Policy,
    score::Verdict,
    timeline::Timeline,
};
use assay_intel::IntelSnapshot;
use assay_picture::{AnswerView, Picture, flow_picture, timeline_periods, timeline_picture};
use assay_service::{
    SerializedAssessment, WorstOfChains,
    chains::{self, registry::ChainReaders},
    manifests, never_fetched, on_every_evm_chain, worst_of_chains,
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
use crate::render::{self, CheckRun};

const EXAMPLES: &str = "\
Examples:
  assay check 0x8589427373d6d84e98730d7795d8f6f8731fda16
  assay check btc 12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h
  assay check eth 0x8589427373d6d84e98730d7795d8f6f8731fda16 --as-of 2025-03-01
  assay check btc 12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h --svg flows.svg --png flows.png
  assay check btc ADDRESS --exit-code --json && echo allowed";

/// Largest number of assets whose activity is drawn.
const MOST_ASSETS: usize = 4;

/// Assess the risk of one address
///
/// Reads the database directly: no server is needed.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    override_usage = "assay check [OPTIONS] [CHAIN] <ADDRESS>"
)]
pub(super) struct CheckArgs {
    /// Blockchain, such as btc, eth, trx or evm for every EVM chain, and address, in any form that the blockchain allows.
    /// The blockchain may be left out if the form of the address says which one it is; an account of EVM chains is
    /// assessed on each of them
    #[arg(value_name = "[CHAIN] ADDRESS", required = true, num_args = 1..=2)]
    subject: Vec<String>,
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
    /// Write a picture of the flows of funds and the activity by week (SVG) to a file too
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the picture as PNG to a file too
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    /// Exit with code 10 for review, 11 for block and 12 for indeterminate
    #[arg(long)]
    exit_code: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    check_id: &'a str,
    address_submitted: &'a str,
    #[serde(flatten)]
    assessment: &'a serde_json::Value,
    assessed_at: Timestamp,
    assessment_digest: String,
    as_of: Option<Date>,
}

pub(super) async fn run(args: &CheckArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let subjects = subjects(&args.subject)?;
    let databases = context.open_databases().await?;
    let store = &databases.store;
    let policy = policy(&**store, args.policy.as_deref()).await?;
    let now = context.clock.now();
    let as_of = args.as_of.map(end_of_day).transpose()?;
    let snapshot = match as_of {
        Some(moment) => IntelSnapshot::load_as_of(&**store, moment).await?,
        None => IntelSnapshot::load(&**store, None).await?,
    };
    let directory = directory(&**store).await?;
    let chains = ChainReaders::open(&databases, &directory).await?;
    let mut assessed = Vec::with_capacity(subjects.len());
    for subject in subjects {
        let facts = if let Some(past) = as_of {
            chains::facts_as_of(&chains, &snapshot, &subject, past).await?
        } else {
            let facts = chains::facts(&chains, &snapshot, &policy, &subject, now).await;
            Facts { never_fetched: never_fetched(&directory, &snapshot), ..facts }
        };
        let assessment = assess(&subject, &facts, &policy, as_of.unwrap_or(now));
        assessed.push((subject, assessment));
    }
    let several = if assessed.len() > 1 { Some(worst(&assessed, now)?) } else { None };
    let worst_chain = several.as_ref().map(|several| several.chain);
    let is_worst = |(subject, _): &&(CanonicalAddress, Assessment)| {
        worst_chain.is_none_or(|chain| subject.chain() == chain)
    };
    let Some((subject, assessment)) = assessed.iter().find(is_worst) else {
        return Err(Failure::Usage("the address is on no chain".into()));
    };
    let run = CheckRun { id: assay_system::new_id(now).to_string(), now, as_of: args.as_of };

    if args.svg.is_some() || args.png.is_some() {
        // A picture of a past day has no payments of later ones, nor one of a chain that cannot be read any.
        let reader = chains.reader(subject.chain()).filter(|_| args.as_of.is_none());
        let timeline = match reader {
            Some(reader) => reader.timeline(subject, &snapshot, now).await.unwrap_or_default(),
            None => None,
        };
        write_pictures(args, &picture(assessment, timeline.as_ref())?)?;
    }
    if args.json {
        let (value, assessment_digest) = match &several {
            Some(several) => {
                (serde_json::from_str(&several.assessed.text), several.assessed.digest.clone())
            }
            None => (serde_json::to_value(assessment), assessment.digest()),
        };
        let answer = Answer {
            check_id: &run.id,
            address_submitted: args.subject.last().map_or("", String::as_str),
            assessment: &value.map_err(io::Error::from)?,
            assessed_at: now,
            assessment_digest,
            as_of: args.as_of,
        };
        print_json(&answer)?;
    } else {
        let draw = if args.all { render::full } else { render::summary };
        let text = draw(subject, assessment, &run, text_width());
        let chains = several.map(|several| render::chains(&several.chains, text_width()));
        write!(output(), "{text}{}", chains.unwrap_or_default())?;
    }
    tell_outdated_compositions(assessment);
    Ok(done(args.exit_code, assessment.verdict))
}

/// Draws the flows of an assessment, and below them the activity by week in each asset.
fn picture(assessment: &Assessment, timeline: Option<&Timeline>) -> Result<Picture, Failure> {
    let view = AnswerView::of(assessment);
    let answer = view.map_err(|error| Failure::Failed(error.to_string()))?;
    let assets = timeline.into_iter().flat_map(|timeline| &timeline.assets);
    Ok(assets.take(MOST_ASSETS).fold(flow_picture(&answer), |picture, asset| {
        let (length, _) = timeline_periods(asset);
        let heading = format!("Activity by {}: {}", length.noun(), asset.asset);
        let below = timeline_picture(answer.blockchain, &answer.address, asset);
        picture.with_below(&heading, &below)
    }))
}

/// Writes a picture to the files that the arguments name.
fn write_pictures(args: &CheckArgs, picture: &Picture) -> Result<(), Failure> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| {
        Failure::Failed(format!("failed to write the picture to {}: {error}", path.display()))
    };
    if let Some(path) = &args.svg {
        fs::write(path, picture.file()).map_err(|error| failed(path, &error))?;
    }
    if let Some(path) = &args.png {
        let png = picture.png().map_err(|error| failed(path, &error))?;
        fs::write(path, png).map_err(|error| failed(path, &error))?;
    }
    Ok(())
}

/// The worst of the assessments of an account on several chains.
fn worst(
    assessed: &[(CanonicalAddress, Assessment)],
    now: Timestamp,
) -> Result<WorstOfChains, Failure> {
    let mut serialized = Vec::with_capacity(assessed.len());
    for (subject, assessment) in assessed {
        let assessment = SerializedAssessment::new(assessment, now, 0).map_err(io::Error::from)?;
        serialized.push((subject.chain(), Arc::new(assessment)));
    }
    Ok(worst_of_chains(&serialized).map_err(io::Error::from)?)
}

/// The addresses that the arguments name: one, or an account on every EVM chain.
fn subjects(arguments: &[String]) -> Result<Vec<CanonicalAddress>, Failure> {
    match arguments {
        [chain, address] if chain.eq_ignore_ascii_case("evm") => {
            Ok(on_every_evm_chain(&parse_address(ChainId::ETH, address)?))
        }
        [chain, address] => {
            let chain = chain.parse::<ChainId>();
            let chain = chain.map_err(|error| Failure::Usage(error.to_string()))?;
            Ok(vec![parse_address(chain, address)?])
        }
        [address] => of_form(address),
        _ => Err(Failure::Usage("one address is required".into())),
    }
}

/// The addresses that an address without a chain can be, by its form.
fn of_form(address: &str) -> Result<Vec<CanonicalAddress>, Failure> {
    let chains = ChainId::all().filter(|chain| !chain.info().rules.is_ambiguous());
    let found: Vec<_> =
        chains.filter_map(|chain| CanonicalAddress::parse(chain, address).ok()).collect();
    if let Some(account) = found.iter().find(|found| found.chain() == ChainId::ETH) {
        return Ok(on_every_evm_chain(account));
    }
    match &*found {
        [_] => Ok(found),
        [] => Err(Failure::Input(format!(
            "no blockchain with addresses of a form of its own has the address {address}: name its blockchain, as in \
             `assay check btc ADDRESS`"
        ))),
        several => {
            let names: Vec<String> = several.iter().map(|it| it.chain().to_string()).collect();
            Err(Failure::Input(format!(
                "the address is valid on {}: name its blockchain, as in `assay check {} {address}`",
                names.join(", "),
                names.first().map_or("btc", String::as_str),
            )))
        }
    }
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
        // No store has the environment of the sandbox.
        (None, Environment::Production | Environment::Sandbox) => "default",
        (None, Environment::Sample) => "sample",
    };
    let directory = directory(store).await?;
    directory.policies.get(name).cloned().ok_or_else(|| {
        let known: Vec<&str> = directory.policies.keys().map(assay_tenancy::Name::as_str).collect();
        Failure::Input(format!("no such risk policy: `{name}` (known: {})", known.join(", ")))
    })
}
