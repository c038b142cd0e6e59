//! `assay trace`: the source and the destination of an address's funds, path by path.
//!
//! - [`dot`]: as a graph for Graphviz

mod dot;

use std::{borrow::Cow, collections::BTreeMap, io::Write};

use assay_address::ChainId;
use assay_engine::{
    evidence::{
        ChainState, Direction, FlowEnd, FlowFacts, FlowPart, FlowPath, Ledger, PathStep,
        UnresolvedReason,
    },
    fixed::apportion,
    policy::Policy,
    taxonomy::RISKY_FROM,
    united_parts,
    utxo::Txid,
};
use assay_graph::EmbeddedGraphs;
use assay_intel::IntelSnapshot;
use assay_service::chains::{
    registry::ChainReaders,
    trace::{TraceView, trace},
};
use clap::{Args, ValueEnum};
use jiff::{civil::Date, tz::TimeZone};
use serde::Serialize;

use super::{
    CommandOutcome, Context, Failure,
    check::{directory, policy},
    output, parse_address, print_json, require_graph,
    terminal::text_width,
};
use crate::render::{self, TracedDirection, TracedEnd, TracedPath, Unit};

const EXAMPLES: &str = "\
Examples:
  assay trace btc 12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h
  assay trace btc ADDRESS --direction destination --hops 3 --min-share 0.01
  assay trace btc ADDRESS --direction source --dot | dot -Tsvg > flows.svg";

/// Trace an address's funds to their endpoints and show the paths
///
/// The source of funds is followed back, the destination forward, until a listed or labelled address, a
/// miner, or a limit of the policy or the model is reached. Shows both directions unless --direction names one.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TraceArgs {
    /// Blockchain, such as btc
    chain: ChainId,
    /// Address, in any form that the blockchain allows
    address: String,
    /// Direction to trace [default: both]
    #[arg(long, value_enum)]
    direction: Option<OneDirection>,
    /// Largest number of hops to follow [default: the policy's]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=255))]
    hops: Option<u16>,
    /// Omit endpoints with a smaller share of the funds, from 0 to 1
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    min_share: u64,
    /// Name of the risk policy [default: default; with --sample: sample]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Print every path that is kept, with all its transactions
    #[arg(long, conflicts_with_all = ["json", "dot"])]
    all: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "dot")]
    json: bool,
    /// Print a graph for Graphviz
    #[arg(long)]
    dot: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OneDirection {
    /// Source of funds
    Source,
    /// Destination of funds
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

/// Largest number of paths that are kept for each endpoint.
const PATHS: usize = 1_000;

#[derive(Serialize)]
struct TraceAnswer<'a> {
    blockchain: ChainId,
    address: &'a str,
    latest_block_height: u64,
    complete: bool,
    directions: Vec<ShownDirection<'a>>,
}

#[derive(Serialize)]
struct ShownDirection<'a> {
    direction: Direction,
    /// Unit of the amounts on an account chain, `USD` (in cents) or the ticker of an asset; left out on other chains.
    #[serde(skip_serializing_if = "Option::is_none")]
    asset: Option<&'a str>,
    /// All funds received, in base units: the amounts of the endpoints of either direction sum to this amount.
    total_amount: String,
    endpoints: Vec<ShownEnd<'a>>,
}

#[derive(Serialize)]
struct ShownEnd<'a> {
    endpoint_type: &'static str,
    unresolved_reason: Option<UnresolvedReason>,
    entity: Option<&'a str>,
    /// Null if the endpoint is further away than the trace went.
    hops: Option<u16>,
    further_than_transactions: Option<u32>,
    amount: String,
    share: String,
    recent_amount: String,
    listed: bool,
    solicited: bool,
    labels_on_path: Vec<&'static str>,
    paths: Vec<ShownPath<'a>>,
    /// Funds of the endpoint that took none of the paths in `paths`.
    other_paths_amount: String,
}

#[derive(Serialize)]
struct ShownPath<'a> {
    amount: String,
    steps: &'a [PathStep],
}

/// One direction of a trace in one unit: the parts of the funds, the largest first, with the share of each in millionths.
struct TracedParts<'a> {
    direction: Direction,
    unit: &'a str,
    whole: u128,
    parts: Vec<(&'a FlowPart, u64)>,
}

pub(super) async fn run(args: &TraceArgs, context: &Context) -> Result<CommandOutcome, Failure> {
    let subject = parse_address(args.chain, &args.address)?;
    if args.hops.is_some() && args.chain.info().outputs().is_none() {
        return Err(Failure::Usage(format!(
            "--hops: the origins of money on {} are known at any distance, and its destinations within the bounds of the \
             model; leave the flag out",
            args.chain
        )));
    }
    let directions = match args.direction {
        Some(OneDirection::Source) => vec![Direction::Source],
        Some(OneDirection::Destination) => vec![Direction::Destination],
        None => vec![Direction::Source, Direction::Destination],
    };
    let databases = context.open_databases().await?;
    let store = &databases.store;
    let policy = policy(&**store, args.policy.as_deref()).await?;
    let snapshot = IntelSnapshot::load(&**store, None).await?;
    let chains = ChainReaders::open(&databases, &directory(&**store).await?).await?;
    let view = TraceView { hops: args.hops, paths: Some(PATHS) };
    let result = trace(&chains, &snapshot, &policy, &subject, view, context.clock.now()).await;
    let facts = match result.state {
        ChainState::Followed(facts) => facts,
        ChainState::NotFollowed => require_graph(args.chain, None)?,
        ChainState::Unavailable(why) => {
            return Err(Failure::Failed(format!(
                "flows on the {} chain are unavailable: {}",
                args.chain,
                why.as_str()
            )));
        }
    };
    let parts = parts_by_unit(&facts.flows, directions, &policy, args.chain);
    let traced: Vec<TracedParts<'_>> =
        parts.iter().map(|parts| sorted(parts, args.min_share)).collect();
    if args.dot {
        write!(output(), "{}", dot::graph(&subject, &traced))?;
        return Ok(CommandOutcome::Success);
    }
    if args.json {
        let shown = TraceAnswer {
            blockchain: args.chain,
            address: subject.as_str(),
            latest_block_height: facts.tip.height,
            complete: facts.flows.complete,
            directions: traced.iter().map(|it| shown_direction(it, args.chain)).collect(),
        };
        return print_json(&shown);
    }
    let drawn = traced.iter().map(|traced| drawn_direction(traced, args.chain));
    let drawn: Vec<TracedDirection<'_>> =
        if args.all { drawn.collect() } else { drawn.map(TracedDirection::shortened).collect() };
    let text = render::trace(
        args.chain,
        subject.as_str(),
        facts.tip.height,
        facts.flows.complete,
        &drawn,
        &dates(&databases.graphs, args.chain, &drawn).await?,
        text_width(),
    );
    write!(output(), "{text}")?;
    Ok(CommandOutcome::Success)
}

/// The funds of one direction in one unit, in base units.
struct UnitParts<'a> {
    direction: Direction,
    unit: &'a str,
    parts: Vec<Cow<'a, FlowPart>>,
}

/// The funds of each direction by unit. Chains of outputs have one unit; of other chains, units without funds are left out.
fn parts_by_unit<'a>(
    flows: &'a FlowFacts,
    directions: Vec<Direction>,
    policy: &Policy,
    chain: ChainId,
) -> Vec<UnitParts<'a>> {
    let mut all: Vec<UnitParts<'a>> = Vec::new();
    for direction in directions {
        let of_direction = flows.ledgers.iter().map(|ledger| {
            let parts = united_parts(&ledger.direction(direction).parts, policy).into_iter();
            let parts = parts.map(|part| in_base_units(ledger, part)).collect();
            UnitParts { direction, unit: &ledger.unit, parts }
        });
        let first = all.len();
        all.extend(of_direction.filter(|it| !it.parts.is_empty()));
        if all.len() == first {
            let unit = chain.info().native().code;
            all.push(UnitParts { direction, unit, parts: Vec::new() });
        }
    }
    all
}

/// A part of the funds with its amounts in base units.
fn in_base_units<'a>(ledger: &Ledger, part: Cow<'a, FlowPart>) -> Cow<'a, FlowPart> {
    if ledger.left_out_decimals == 0 {
        return part;
    }
    let mut part = part.into_owned();
    let paths = part.paths.iter_mut().map(|path| &mut path.amount);
    for amount in paths.chain([&mut part.amount, &mut part.recent]) {
        *amount = ledger.in_base_units(*amount);
    }
    Cow::Owned(part)
}

/// The parts of a direction's funds with at least a given share, the largest first.
fn sorted<'a>(of_unit: &'a UnitParts<'_>, min_share: u64) -> TracedParts<'a> {
    let UnitParts { direction, unit, parts } = of_unit;
    let mut parts: Vec<&FlowPart> = parts.iter().map(|part| &**part).collect();
    let whole: u128 = parts.iter().map(|part| part.amount).sum();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.amount), part.end, part.distance));
    let amounts: Vec<u128> = parts.iter().map(|part| part.amount).collect();
    // Shares of all parts, so that they sum to one unless some are omitted.
    let shares = apportion(SHARE_WHOLE, &amounts);
    let mut parts: Vec<(&FlowPart, u64)> = parts.into_iter().zip(shares).collect();
    parts.retain(|(part, _)| {
        part.amount.saturating_mul(SHARE_WHOLE.into()) >= whole.saturating_mul(min_share.into())
    });
    TracedParts { direction: *direction, unit, whole, parts }
}

/// The days of the transactions that are drawn; empty where a chain of outputs is not ingested.
async fn dates(
    graphs: &EmbeddedGraphs,
    chain: ChainId,
    drawn: &[TracedDirection<'_>],
) -> Result<BTreeMap<String, Date>, Failure> {
    if chain.info().outputs().is_none() {
        let steps = drawn.iter().flat_map(TracedDirection::steps);
        let day = |step: &PathStep| step.time.to_zoned(TimeZone::UTC).date();
        return Ok(steps.map(|step| (step.transaction.clone(), day(step))).collect());
    }
    let Some(graph) = graphs.graph(chain)? else { return Ok(BTreeMap::new()) };
    let mut txids: Vec<Txid> = drawn
        .iter()
        .flat_map(TracedDirection::steps)
        .filter_map(|step| step.transaction.parse().ok())
        .collect();
    txids.sort_unstable();
    txids.dedup();
    let mut days = BTreeMap::new();
    for txid in txids {
        if let Some(found) = graph.transaction(&txid, 0).await? {
            days.insert(txid.to_string(), found.time.to_zoned(TimeZone::UTC).date());
        }
    }
    Ok(days)
}

fn shown_direction<'a>(traced: &TracedParts<'a>, chain: ChainId) -> ShownDirection<'a> {
    ShownDirection {
        direction: traced.direction,
        asset: chain.info().outputs().is_none().then_some(traced.unit),
        total_amount: traced.whole.to_string(),
        endpoints: traced.parts.iter().map(|(part, share)| shown(part, *share)).collect(),
    }
}

fn drawn_direction<'a>(traced: &TracedParts<'a>, chain: ChainId) -> TracedDirection<'a> {
    let end = |(part, share): &(&'a FlowPart, u64)| {
        let path = |path: &'a FlowPath| TracedPath { amount: path.amount, steps: &path.steps };
        TracedEnd {
            name: end_type(part),
            entity: part.entity.as_deref(),
            distance: part.distance,
            amount: part.amount,
            share: *share,
            listed: part.listed,
            is_risky: part.listed
                || !part.carried.is_empty()
                || part.end.category().is_some_and(|of| of.info().severity >= RISKY_FROM),
            solicited: !part.solicitation.is_unasked(),
            labels: part.carried.iter().map(|carried| carried.label.category.as_str()).collect(),
            paths: part.paths.iter().map(path).collect(),
            left_out: (0, 0),
            other: by_other_paths(part),
        }
    };
    TracedDirection {
        direction: traced.direction,
        unit: Unit::new(chain, traced.unit),
        whole: traced.whole,
        ends: traced.parts.iter().map(end).collect(),
        left_out: (0, 0),
        whole_paths: true,
    }
}

/// Type of an endpoint, with the reason where it is unresolved.
fn end_type(part: &FlowPart) -> String {
    let end = part.end.as_str(part.distance);
    match part.end {
        FlowEnd::Unresolved(reason) => {
            let reason = serde_json::to_value(reason).ok();
            let reason = reason.as_ref().and_then(|reason| reason.as_str()).unwrap_or_default();
            format!("{end}: {}", reason.replace('_', " "))
        }
        _ => end.to_owned(),
    }
}

fn shown<'a>(part: &'a FlowPart, share: u64) -> ShownEnd<'a> {
    let path =
        |path: &'a FlowPath| ShownPath { amount: path.amount.to_string(), steps: &path.steps };
    ShownEnd {
        endpoint_type: part.end.as_str(part.distance),
        unresolved_reason: match part.end {
            FlowEnd::Unresolved(reason) => Some(reason),
            _ => None,
        },
        entity: part.entity.as_deref(),
        hops: part.distance.hops(),
        further_than_transactions: part.distance.further_than(),
        amount: part.amount.to_string(),
        share: decimal(share),
        recent_amount: part.recent.to_string(),
        listed: part.listed,
        solicited: !part.solicitation.is_unasked(),
        labels_on_path: part
            .carried
            .iter()
            .map(|carried| carried.label.category.as_str())
            .collect(),
        paths: part.paths.iter().map(path).collect(),
        other_paths_amount: by_other_paths(part).to_string(),
    }
}

/// The amount of a part of the funds that took none of the kept paths.
fn by_other_paths(part: &FlowPart) -> u128 {
    part.amount.saturating_sub(part.paths.iter().map(|path| path.amount).sum())
}

/// Millionths as a decimal.
fn decimal(millionths: u64) -> String {
    format!("{}.{:06}", millionths / SHARE_WHOLE, millionths % SHARE_WHOLE)
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
}
