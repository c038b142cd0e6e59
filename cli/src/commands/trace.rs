//! `assay trace`: where an address's money came from, or where it went, path by path.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use assay_engine::{
    address::CanonicalAddress,
    chain::{Chain, ChainId},
    evidence::{ChainState, Direction, FlowEnd, FlowPart, FlowPath, PathStep, UnresolvedReason},
    fixed::apportion,
};
use assay_intel::IntelSnapshot;
use assay_service::chains::{
    registry::Chains,
    trace::{TraceView, trace},
};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{
    Context, Done, Failure, Output,
    check::{directory, policy},
    output,
};
use crate::render::{coins, over_paths};

const EXAMPLES: &str = "\
Examples:
  assay trace btc 12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h --direction source
  assay trace btc ADDRESS --direction destination --hops 3 --min-share 0.01
  assay trace btc ADDRESS --direction source --dot | dot -Tsvg > flows.svg";

/// Follow an address's money and show the paths that it took
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TraceArgs {
    /// The blockchain, such as btc
    chain: ChainId,
    /// The address in any form that the blockchain allows
    address: String,
    /// Where the money came from (source) or went (destination)
    #[arg(long, value_enum)]
    direction: WantedDirection,
    /// Hops to follow, at most [default: the policy's]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=12))]
    hops: Option<u8>,
    /// Leave out what has a smaller share, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    min_share: u64,
    /// The risk policy [default: default; with --sample sample]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "dot")]
    json: bool,
    /// Print a graph for Graphviz
    #[arg(long)]
    dot: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WantedDirection {
    /// Where it came from
    Source,
    /// Where it went
    Destination,
}

/// Millionths of a share written as a decimal from 0 to 1.
fn share(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no share: write a decimal from 0 to 1, such as 0.01");
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || whole.is_empty() || decimals.len() > 6 {
        return Err(wrong());
    }
    let value = format!("{whole}{decimals:0<6}").parse::<u64>().map_err(|_| wrong())?;
    if value > 1_000_000 { Err(wrong()) } else { Ok(value) }
}

/// Shares are shown in millionths.
const SHARE_WHOLE: u64 = 1_000_000;

/// Paths kept of each end: all that anybody reads.
const PATHS: usize = 1_000;

#[derive(Serialize)]
struct Shown<'a> {
    blockchain: ChainId,
    address: &'a str,
    direction: Direction,
    /// Everything received, in base units: both directions sum to it.
    total_amount: String,
    tip_height: u64,
    complete: bool,
    endpoints: Vec<ShownEnd<'a>>,
}

#[derive(Serialize)]
struct ShownEnd<'a> {
    endpoint_type: &'static str,
    unresolved_reason: Option<UnresolvedReason>,
    entity: Option<&'a str>,
    hops: u8,
    amount: String,
    share: String,
    recent_amount: String,
    listed: bool,
    solicited: bool,
    labels_on_path: Vec<&'static str>,
    paths: Vec<ShownPath<'a>>,
    /// What took none of these paths.
    other_paths_amount: String,
}

#[derive(Serialize)]
struct ShownPath<'a> {
    amount: String,
    steps: &'a [PathStep],
}

pub(super) async fn run(args: &TraceArgs, context: &Context) -> Result<Done, Failure> {
    let subject = CanonicalAddress::parse(args.chain, &args.address)
        .map_err(|error| Failure::Input(format!("not a valid {} address: {error}", args.chain)))?;
    let direction = match args.direction {
        WantedDirection::Source => Direction::Source,
        WantedDirection::Destination => Direction::Destination,
    };
    let databases = context.open_databases().await?;
    let store = &databases.store;
    let policy = policy(&**store, args.policy.as_deref()).await?;
    let snapshot = IntelSnapshot::load(&**store, None).await?;
    let chains = Chains::of(&databases, &directory(&**store).await?).await?;
    let view = TraceView { hops: args.hops, paths: Some(PATHS) };
    let traced = trace(&chains, &snapshot, &policy, &subject, view, context.clock.now()).await;
    let facts = match traced.state {
        ChainState::Followed(facts) => facts,
        ChainState::NotFollowed => {
            return Err(Failure::Failed(format!(
                "the {0} chain was not ingested: `assay ingest chain {0}` does that",
                args.chain
            )));
        }
        ChainState::Unavailable(why) => {
            return Err(Failure::Failed(format!(
                "flows on the {} chain are not known: {}",
                args.chain,
                why.as_str()
            )));
        }
    };
    let mut parts: Vec<&FlowPart> =
        facts.flows.ledgers.iter().flat_map(|ledger| &ledger.direction(direction).parts).collect();
    let whole: u128 = parts.iter().map(|part| part.amount).sum();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.amount), part.end, part.hops));
    let amounts: Vec<u128> = parts.iter().map(|part| part.amount).collect();
    // Of everything, so that they sum to one where nothing is left out.
    let shares = apportion(SHARE_WHOLE, &amounts);
    let mut parts: Vec<(&FlowPart, u64)> = parts.into_iter().zip(shares).collect();
    parts.retain(|(part, _)| {
        part.amount.saturating_mul(SHARE_WHOLE.into())
            >= whole.saturating_mul(args.min_share.into())
    });
    let mut output = output();
    if args.dot {
        return dot(&mut output, &subject, direction, &parts);
    }
    let endpoints = parts.iter().map(|(part, share)| shown(part, *share)).collect();
    let shown = Shown {
        blockchain: args.chain,
        address: subject.as_str(),
        direction,
        total_amount: whole.to_string(),
        tip_height: facts.tip.height,
        complete: facts.flows.complete,
        endpoints,
    };
    if args.json {
        let text = serde_json::to_string_pretty(&shown).map_err(io::Error::from)?;
        writeln!(output, "{text}")?;
    } else {
        print(&mut output, args.chain.info(), &shown, whole)?;
    }
    Ok(Done::Well)
}

fn shown(part: &FlowPart, share: u64) -> ShownEnd<'_> {
    let (paths, other) = split(part);
    ShownEnd {
        endpoint_type: part.end.as_str(part.hops),
        unresolved_reason: match part.end {
            FlowEnd::Unresolved(reason) => Some(reason),
            _ => None,
        },
        entity: part.entity.as_deref(),
        hops: part.hops,
        amount: part.amount.to_string(),
        share: decimal(share),
        recent_amount: part.recent.to_string(),
        listed: part.listed,
        solicited: part.solicited,
        labels_on_path: part.carried.iter().map(|label| label.category.as_str()).collect(),
        paths: paths
            .map(|(path, amount)| ShownPath { amount: amount.to_string(), steps: &path.steps })
            .collect(),
        other_paths_amount: other.to_string(),
    }
}

/// What took each of a part's paths, and what took none of them: all of a part that has none, and what
/// is beyond the largest.
fn split(part: &FlowPart) -> (impl Iterator<Item = (&FlowPath, u128)>, u128) {
    let amounts: Vec<u128> = part.paths.iter().map(|path| path.amount).collect();
    let (taken, other) = over_paths(part.amount, &amounts);
    (part.paths.iter().zip(taken), other)
}

/// Millionths as a decimal.
fn decimal(millionths: u64) -> String {
    format!("{}.{:06}", millionths / SHARE_WHOLE, millionths % SHARE_WHOLE)
}

fn print(
    output: &mut Output,
    chain: &Chain,
    shown: &Shown<'_>,
    whole: u128,
) -> Result<(), Failure> {
    let title = match shown.direction {
        Direction::Source => "where its money came from",
        Direction::Destination => "where its money went",
    };
    writeln!(
        output,
        "{}  {title}: {}, up to block {}",
        shown.address,
        coins(chain, whole),
        shown.tip_height
    )?;
    if !shown.complete {
        writeln!(output, "time ran out: the next trace has more")?;
    }
    for end in &shown.endpoints {
        let who = end.entity.map(|entity| format!(" {entity}")).unwrap_or_default();
        let reason = end.unresolved_reason.map(in_words).unwrap_or_default();
        let marks = [(end.listed, ", listed"), (!end.solicited, ", unasked for")];
        let marks: String = marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
        let labels = match end.labels_on_path.as_slice() {
            [] => String::new(),
            labels => format!(", through {}", labels.join(", ")),
        };
        let amount = end.amount.parse().unwrap_or_default();
        writeln!(
            output,
            "\n{}  {}{reason}{who}, {} hops{marks}{labels}  {}",
            end.share,
            end.endpoint_type,
            end.hops,
            coins(chain, amount)
        )?;
        for path in &end.paths {
            writeln!(output, "  {}", coins(chain, path.amount.parse().unwrap_or_default()))?;
            for step in path.steps {
                let address = step.address.as_deref().unwrap_or("-");
                writeln!(output, "    {}  {address}", step.transaction)?;
            }
        }
        let other = end.other_paths_amount.parse().unwrap_or_default();
        if other > 0 && !end.paths.is_empty() {
            writeln!(output, "  {}  by further paths", coins(chain, other))?;
        }
    }
    Ok(())
}

/// Why money is unresolved, behind the word.
fn in_words(reason: UnresolvedReason) -> String {
    let reason = serde_json::to_value(reason).ok();
    let reason = reason.as_ref().and_then(|reason| reason.as_str());
    reason.map(|reason| format!(" ({reason})")).unwrap_or_default()
}

/// The paths as a graph: addresses and ends as nodes, transactions as edges with what passed.
fn dot(
    output: &mut Output,
    subject: &CanonicalAddress,
    direction: Direction,
    parts: &[(&FlowPart, u64)],
) -> Result<Done, Failure> {
    let mut edges: BTreeMap<(String, String, &str), u128> = BTreeMap::new();
    for (part, _) in parts {
        let (paths, other) = split(part);
        for (path, amount) in paths {
            add_edges(&mut edges, subject, part, path, amount);
        }
        if other > 0 {
            let edge = (subject.as_str().to_owned(), end_name(part), "other");
            *edges.entry(edge).or_default() += other;
        }
    }
    writeln!(output, "digraph flows {{\n  rankdir=LR;\n  node [shape=box];")?;
    writeln!(output, "  {} [style=bold];", quoted(subject.as_str()))?;
    let info = subject.chain().info();
    for ((from, to, transaction), amount) in edges {
        // Arrows point the way the money went.
        let (from, to) = match direction {
            Direction::Source => (to, from),
            Direction::Destination => (from, to),
        };
        let label = format!("{}\\n{transaction}", coins(info, amount));
        writeln!(output, "  {} -> {} [label=\"{label}\"];", quoted(&from), quoted(&to))?;
    }
    writeln!(output, "}}")?;
    Ok(Done::Well)
}

fn add_edges<'a>(
    edges: &mut BTreeMap<(String, String, &'a str), u128>,
    subject: &CanonicalAddress,
    part: &FlowPart,
    path: &'a FlowPath,
    amount: u128,
) {
    let mut from = subject.as_str().to_owned();
    let last = path.steps.len().saturating_sub(1);
    for (index, step) in path.steps.iter().enumerate() {
        let address = step.address.clone().unwrap_or_default();
        let to = if index == last { format!("{} {address}", end_name(part)) } else { address };
        let edge = (from, to.clone(), step.transaction.as_str());
        *edges.entry(edge).or_default() += amount;
        from = to;
    }
}

/// Where a part ended, and who is there.
fn end_name(part: &FlowPart) -> String {
    let end = part.end.as_str(part.hops);
    match (&part.entity, part.end) {
        (Some(entity), _) => format!("{entity} ({end})"),
        (None, FlowEnd::Unresolved(reason)) => format!("{end}{}", in_words(reason)),
        (None, _) => end.to_owned(),
    }
}

/// A name in Graphviz's language.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.trim().replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_decimals_from_0_to_1() {
        for (text, millionths) in [("0", 0), ("1", 1_000_000), ("0.01", 10_000), ("0.000001", 1)] {
            assert_eq!(share(text), Ok(millionths));
        }
        for wrong in ["", "1.1", "-1", "x", ".5", "0.0000001", "1e-3"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
        assert_eq!(decimal(333_333), "0.333333");
        assert_eq!(decimal(SHARE_WHOLE), "1.000000");
    }

    #[test]
    fn names_cannot_break_out_of_a_drawing() {
        assert_eq!(quoted("a\"b\\c "), "\"a\\\"b\\\\c\"");
    }
}
