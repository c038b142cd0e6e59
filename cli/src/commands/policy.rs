//! `assay policy`: a comparison of risk policies, and a test of their rules.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    path::PathBuf,
};

use assay_input::Encoding;
use assay_intel::IntelSnapshot;
use assay_service::{Screening, chains::registry::ChainReaders};
use clap::{Args, Subcommand};
use serde_json::json;

use super::{
    CommandOutcome, Context, Failure,
    check::policy,
    output,
    policy_test::{self, TestArgs},
    progress::Progress,
    rows::{RowFormat, RowReader},
    screen::{Scope, screen_all},
    terminal::output_row,
};

/// Number of rows that are screened together.
const BATCH: usize = 8192;

#[derive(Debug, Subcommand)]
pub(super) enum PolicyCommand {
    Diff(DiffArgs),
    Test(TestArgs),
}

const EXAMPLES: &str = "\
Examples:
  assay apply -f stricter.yaml
  assay policy diff default stricter customers.csv";

/// Show the addresses whose verdicts differ between two risk policies
///
/// Both policies are applied to every address of the file, with lists and labels only. Rows with equal
/// verdicts are counted on standard error.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct DiffArgs {
    /// Name of the first risk policy
    #[arg(value_name = "A")]
    before: String,
    /// Name of the second risk policy
    #[arg(value_name = "B")]
    after: String,
    /// File with the fields `blockchain` and `address`; - is standard input
    file: PathBuf,
    /// Format of the file [default: by its extension, else by its first character]
    #[arg(long, value_enum)]
    format: Option<RowFormat>,
    /// Encoding of a file without byte order mark, such as windows-1252 [default: utf-8]
    #[arg(long, value_name = "NAME")]
    encoding: Option<Encoding>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(
    command: PolicyCommand,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    match command {
        PolicyCommand::Diff(args) => diff(args, context).await,
        PolicyCommand::Test(args) => policy_test::run(&args, context).await,
    }
}

async fn diff(args: DiffArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let store = context.open().await?;
    let intel = IntelSnapshot::load(&*store, None).await?;
    let (before, after) =
        (policy(&*store, Some(&args.before)).await?, policy(&*store, Some(&args.after)).await?);
    let now = context.clock.now();
    // No chain is followed: lists and labels alone decide, and not that flows are missing.
    let (chains, intel) = (&ChainReaders::default(), &intel);
    let screening = |policy| Screening { chains, intel, policy, now, intel_stale: false };
    let mut reader = RowReader::open(&args.file, args.format, args.encoding)?;
    if !reader.has_rows()? {
        writeln!(io::stderr(), "no rows: {} has a header alone", reader.name())?;
    }
    let progress = Progress::new("rows", true);
    let mut output = output();
    let (mut same, mut wrong, mut changes) = (0_u64, 0_u64, BTreeMap::<_, u64>::new());
    loop {
        let rows = reader.take(BATCH)?;
        if rows.is_empty() {
            break;
        }
        let screened = |policy| screen_all(&rows, screening(policy), Scope::ListsAndLabels);
        let (old, new) = (screened(&*before), screened(&*after));
        for ((row, old), new) in rows.iter().zip(old).zip(new) {
            let (Ok(old), Ok(new), Ok((blockchain, address))) =
                (old, new, row.blockchain_and_address())
            else {
                wrong += 1;
                continue;
            };
            if old.verdict == new.verdict {
                same += 1;
                continue;
            }
            *changes.entry((old.verdict.as_str(), new.verdict.as_str())).or_default() += 1;
            if args.json {
                let line = json!({
                    "blockchain": blockchain, "address": address,
                    "before": {"verdict": old.verdict, "risk_score": old.risk_score, "reason": old.reason},
                    "after": {"verdict": new.verdict, "risk_score": new.risk_score, "reason": new.reason},
                });
                writeln!(output, "{line}")?;
            } else {
                let text = format!(
                    "{blockchain} {address}  {} {} -> {} {}  {}",
                    old.verdict.as_str(),
                    old.risk_score,
                    new.verdict.as_str(),
                    new.risk_score,
                    new.reason
                );
                write!(output, "{}", output_row(&text))?;
            }
        }
        progress.add(rows.len() as u64);
    }
    progress.finish();
    output.flush()?;
    let mut summary = io::stderr().lock();
    for ((old, new), count) in &changes {
        writeln!(summary, "{count} from {old} to {new}")?;
    }
    writeln!(summary, "{same} unchanged, {wrong} not valid")?;
    Ok(CommandOutcome::Success)
}
