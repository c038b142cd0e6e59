//! `assay sources`: the sources of lists, labels and chains.

use std::io::{self, Write};

use assay_engine::{assess_sources, assess_tip, assessment::AssessedSource};
use assay_service::chains::registry::Chains;
use clap::Args;

use super::{
    Context, Done, Failure,
    check::{directory, policy},
    output,
    terminal::output_width,
};
use crate::render::{ago, table};

/// List the sources with their publication, last verification and freshness
#[derive(Debug, Args)]
pub(super) struct SourcesArgs {
    /// Risk policy that names the mandatory sources [default: default; with --sample: sample]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: &SourcesArgs, context: &Context) -> Result<Done, Failure> {
    let databases = context.open_databases().await?;
    let store = &databases.store;
    let intel = store.intel(None).await?;
    let policy = policy(&**store, args.policy.as_deref()).await?;
    let now = context.clock.now();
    let mut sources = assess_sources(&intel.sources, &policy, now);
    let chains = Chains::of(&databases, &directory(&**store).await?).await?;
    let tips = chains.latest_blocks().await?;
    let tips =
        tips.iter().filter_map(|(chain, tip)| assess_tip(*chain, intel.environment, tip, now));
    sources.extend(tips);
    let mut output = output();
    if args.json {
        let text = serde_json::to_string_pretty(&sources).map_err(io::Error::from)?;
        writeln!(output, "{text}")?;
        return Ok(Done::Success);
    }
    if sources.is_empty() {
        writeln!(output, "no sources: import a list with `assay ingest sanctions`")?;
        return Ok(Done::Success);
    }
    let header = ["SOURCE", "LISTS", "PUBLISHED", "VERIFIED", "ENTRIES", "STATE", "DIGEST"]
        .map(str::to_owned);
    let rows = sources.iter().map(|source| {
        let lists: Vec<&str> =
            source.lists.iter().map(assay_engine::names::ListId::as_str).collect();
        [
            source.id.to_string(),
            lists.join(" "),
            source.published_at.map(|day| day.to_string()).unwrap_or_default(),
            ago(source.fetched_at, now),
            source
                .latest_block
                .as_ref()
                .map_or_else(|| source.entries.to_string(), |tip| format!("block {}", tip.height)),
            state(source),
            source.digest.chars().take(12).collect(),
        ]
    });
    let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
    write!(output, "{}", table(&rows, output_width()))?;
    Ok(Done::Success)
}

fn state(source: &AssessedSource) -> String {
    let mut words = vec![if source.stale { "stale" } else { "fresh" }];
    if source.mandatory {
        words.push("mandatory");
    }
    if source.sample {
        words.push("sample");
    }
    words.join(", ")
}
