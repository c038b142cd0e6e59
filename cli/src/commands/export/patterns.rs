//! `assay export patterns`: the behavior patterns of all owners of a chain.

use std::{path::PathBuf, sync::Arc};

use assay_address::ChainId;
use assay_engine::{
    evidence::{Direction, PatternFact},
    ledger::OwnerNumber,
    reading::TransactionRead,
    trace::TraceRules,
    utxo::Txid,
};
use assay_graph::{Graph, GraphView};
use assay_intel::IntelSnapshot;
use assay_service::chains::{
    attributed_owners::{AttributedOwners, AttributionInputs},
    behavior::{BehaviorSubject, behavior},
};
use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use super::sink::{ExportFormat, Sink};
use crate::commands::{
    Context, Failure, check::policy, progress::Progress, require_block, require_graph,
};

const EXAMPLES: &str = "\
Examples:
  assay export patterns --blockchain btc --format csv -o patterns.csv
  assay export patterns --blockchain btc --format jsonl |
    jq -c 'select(.kind == \"layering\" and .confidence >= 70)'";

/// Export the behavior patterns of all owners of a chain
///
/// One row per pattern and transaction that shows it: `blockchain`, `txid`, `address` (of the owner: the member of its
/// cluster that appeared first), `kind` (the pattern, such as `peel_chain`), `confidence` (percent), `role` (`actor`,
/// `recipient` or `victim`), `block`, `time`. The patterns are those that a check shows, with the same limits, but the
/// rows name all transactions of a pattern.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::commands) struct PatternsArgs {
    /// Blockchain, such as btc
    #[arg(long, value_name = "CHAIN")]
    blockchain: ChainId,
    /// Format of the output
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    format: ExportFormat,
    /// Name of the risk policy, which sets the amounts of dust and structuring [default: default; with --sample:
    /// sample]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Number of members of a cluster that are searched for a member with an address.
const MEMBERS: u32 = 50;

/// A transaction that shows a pattern.
#[derive(Serialize)]
struct Row<'a> {
    blockchain: ChainId,
    txid: &'a str,
    address: &'a str,
    kind: &'static str,
    confidence: u8,
    role: &'static str,
    block: u64,
    time: Timestamp,
}

const COLUMNS: [&str; 8] =
    ["blockchain", "txid", "address", "kind", "confidence", "role", "block", "time"];

pub(super) async fn run(args: PatternsArgs, context: &Context) -> Result<(), Failure> {
    let chain = args.blockchain;
    let databases = context.open_databases().await?;
    let graph = require_graph(chain, context.graphs().open(chain)?)?;
    let intel = IntelSnapshot::load(&*databases.store, None).await?;
    let policy = policy(&*databases.store, args.policy.as_deref()).await?;
    // All owners of this state are in the view, which is the same or a newer one.
    let owners = graph.snapshot()?.owners()?;
    let view = require_block(chain, Arc::clone(&graph).view().await?)?;
    let view = &*view;
    let today = intel.day(context.clock.now());
    let attributed = AttributedOwners::default();
    let by = AttributionInputs { chain, intel: &intel, policy: &policy, today };
    let attributions = attributed.for_view(view, by).await?;
    let rules = TraceRules::new(&policy, chain.info());
    let mut sink = Sink::new(args.format, &COLUMNS, args.output.as_deref())?;
    let progress = Progress::towards("owners");
    for number in 0..owners {
        if number % 1_000 == 0 {
            progress.reached(number, owners);
        }
        let owner = OwnerNumber(number);
        // A cluster is searched once, as its first member.
        if view.read(|view| view.cluster_of(owner))? != owner {
            continue;
        }
        let script = view.read(|view| view.owner(owner))?;
        let cluster = view.clusters(std::slice::from_ref(&script)).await?.pop().flatten();
        let address = match script.address(chain) {
            Some(address) => address,
            // Others of its cluster may have one.
            None if cluster.as_ref().is_some_and(|cluster| cluster.size > 1) => {
                let members = view.cluster(&script, MEMBERS).await?;
                let mut members = members.into_iter().flat_map(|cluster| cluster.members);
                let Some(address) = members.find_map(|it| it.owner.address(chain)) else {
                    continue;
                };
                address
            }
            None => continue,
        };
        let history = view.history(owner, rules.read_limits()).await?;
        let of = BehaviorSubject {
            rules: rules.patterns,
            script: &script,
            owner,
            history: &history,
            cluster_size: cluster.map_or(1, |cluster| cluster.size),
            shown: usize::MAX,
        };
        for pattern in behavior(view, of, &attributions).await?.patterns {
            write(view, (chain, address.as_str()), &pattern, &mut sink).await?;
        }
    }
    progress.finish();
    sink.finish()
}

/// Writes the rows of a pattern.
async fn write(
    view: &dyn GraphView,
    (blockchain, address): (ChainId, &str),
    pattern: &PatternFact,
    sink: &mut Sink,
) -> Result<(), Failure> {
    let mut read = TransactionRead::default();
    for txid in &pattern.transactions {
        let parsed: Option<Txid> = txid.parse().ok();
        let number = match &parsed {
            Some(txid) => view.transaction_number(txid).await?,
            None => None,
        };
        let Some(number) = number else { continue };
        view.read(|view| view.read(number, Direction::Source, 0, &mut read))?;
        sink.row(&Row {
            blockchain,
            txid,
            address,
            kind: pattern.pattern.as_str(),
            confidence: pattern.confidence.percent(),
            role: pattern.role.as_str(),
            block: read.height,
            time: read.time,
        })?;
    }
    Ok(())
}
