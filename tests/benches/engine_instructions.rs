//! Instructions that the engine needs for a check that follows money: `cargo bench -p assay-tests
//! --bench engine_instructions`. The benchmark runs itself under Valgrind, which counts the
//! instructions of two functions: traces of the same subjects over data that was read beforehand,
//! and their assessments. With the same compiler the counts are the same on every machine and every
//! time.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::{collections::HashMap, env, hint::black_box, process::Command};

use assay_engine::{
    address::CanonicalAddress,
    assess,
    chain::ChainId,
    evidence::{ChainFacts, ChainState, FlowFacts, IngestMode, Tier, Tip},
    facts::{Environment, Facts},
    policy::Policy,
    score::Confidence,
    trace::{
        AttributedEnd, Attribution, Clusters, ENTRIES_PER_TRANSACTION, ReadRequest, ReadResponse,
        Trace, TraceRules,
    },
    utxo::{History, ResolvedBlock, ScriptOwner},
};
use assay_graph::{BATCH, ClusterRef, FlowSource, Graph, clusters_of_history, memory::MemoryGraph};
use assay_tests::big_chain::{BigChain, Person, Shape};
use jiff::{
    Timestamp,
    civil::{Date, date},
    tz::TimeZone,
};

const CHAIN: ChainId = ChainId::BTC;
const SUBJECTS: u64 = 200;
const SHAPE: Shape = Shape { seed: 4, blocks: 300, transactions: 60, hub: None };
/// Functions of this program whose instructions are counted, and the work that each stands for.
const COUNTED: [(&str, &str); 2] = [("trace_all", "trace"), ("assess_all", "assessment")];
/// Argument by which this program runs the counted functions.
const RUN: &str = "--run";

fn main() {
    if env::args().any(|argument| argument == RUN) {
        let known = known();
        let subjects = subjects(&known);
        let legs: usize = subjects.iter().map(Subject::legs).sum();
        println!("{} subjects, for whom {legs} inputs and outputs are read", subjects.len());
        black_box(assess_all(&subjects, trace_all(&subjects, &known)));
        return;
    }
    let mut all = 0.0;
    for (nth, (function, what)) in COUNTED.into_iter().enumerate() {
        let (printed, instructions) = count(function);
        if nth == 0 {
            print!("{printed}");
        }
        all += instructions;
        println!("{what}: {instructions:.0} instructions a check");
    }
    println!("the engine alone: {all:.0} instructions a check");
}

/// Runs this program under Valgrind and returns its output, and the instructions of a function for
/// each subject.
fn count(function: &str) -> (String, f64) {
    let folder = tempfile::tempdir().expect("a directory");
    let counted = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no"])
        .arg(format!("--toggle-collect=*engine_instructions::{function}*"))
        .arg(format!("--callgrind-out-file={}", folder.path().join("out").display()))
        .arg(env::current_exe().expect("a path"))
        .arg(RUN)
        .output()
        .expect("Valgrind runs: install the Debian package `valgrind`");
    let said = String::from_utf8_lossy(&counted.stderr);
    assert!(counted.status.success(), "{said}");
    let collected = said.lines().find_map(|line| line.split("Collected : ").nth(1));
    let instructions: f64 = collected.expect("a count").trim().parse().expect("a number");
    assert!(instructions > 0.0, "{function} was not met");
    let subjects = u32::try_from(SUBJECTS).map_or(1.0, f64::from);
    (String::from_utf8_lossy(&counted.stdout).into_owned(), instructions / subjects)
}

/// Subject of a check, with all data that the check reads.
struct Subject {
    address: CanonicalAddress,
    owner: ScriptOwner,
    history: History,
    clusters: Clusters,
    supplies: Vec<ReadResponse>,
}

impl Subject {
    fn legs(&self) -> usize {
        let entries = self.history.incoming.iter().chain(&self.history.outgoing);
        let supplied = self.supplies.iter().flat_map(|supply| {
            supply.origins.values().chain(supply.destinations.values()).flatten()
        });
        entries
            .map(|entry| &entry.transaction)
            .chain(supplied.map(|transaction| &**transaction))
            .map(|transaction| transaction.inputs.largest.len() + transaction.outputs.largest.len())
            .sum()
    }
}

#[inline(never)]
fn trace_all(subjects: &[Subject], known: &Known) -> Vec<FlowFacts> {
    let attribute = |owner: &ScriptOwner| known.get(owner).cloned().unwrap_or_default();
    let rules = rules();
    subjects
        .iter()
        .map(|subject| {
            let Subject { owner, history, clusters, supplies, .. } = subject;
            let clusters = clusters.clone();
            let mut trace = Trace::new(CHAIN, owner, history, clusters, rules, TODAY, &attribute);
            for supply in supplies {
                black_box(trace.read_request());
                trace.resume(supply);
            }
            trace.finish()
        })
        .collect()
}

#[inline(never)]
fn assess_all(subjects: &[Subject], flows: Vec<FlowFacts>) -> usize {
    let (policy, now) = (Policy::default(), now());
    let assessments = subjects.iter().zip(flows).map(|(subject, flows)| {
        let facts = Facts {
            environment: Environment::Production,
            data_revision: "1".into(),
            sources: vec![],
            listings: vec![],
            labels: vec![],
            same_key: vec![],
            cluster: None,
            counterparties: assay_engine::facts::Counterparties::default(),
            intel_stale: false,
            chain: ChainState::Followed(Box::new(ChainFacts {
                tip: Tip {
                    height: SHAPE.blocks,
                    hash: "00".into(),
                    time: now,
                    reported_at: now,
                    start: 0,
                    ingest_mode: IngestMode::Ingested,
                    sample: false,
                },
                flows,
                patterns: None,
                activity: None,
            })),
        };
        assess(&subject.address, &facts, &policy, now).exposure.len()
    });
    assessments.sum()
}

const TODAY: Date = date(2025, 2, 1);

fn now() -> Timestamp {
    TODAY.to_zoned(TimeZone::UTC).expect("a day").timestamp()
}

fn rules() -> TraceRules {
    TraceRules::new(&Policy::default(), CHAIN.info())
}

type Known = HashMap<ScriptOwner, Attribution>;

/// Labels of the addresses of the chain.
fn known() -> Known {
    let mut chain = BigChain::new(SHAPE);
    chain.by_ref().for_each(drop);
    let attributions = chain.labelled().map(|(person, label)| {
        let end = AttributedEnd {
            category: label.category.parse().expect("a category"),
            entity: Some(label.entity.into()),
            tier: Tier::Investigation,
            confidence: Confidence::CERTAIN,
            listed: false,
            listed_by: None,
            listed_on: None,
        };
        (person.owner(), Attribution { end: Some(end), carried: vec![] })
    });
    attributions.collect()
}

/// Wallets of the later half of the chain, with what their traces read.
fn subjects(known: &Known) -> Vec<Subject> {
    let mut chain = BigChain::new(SHAPE);
    let blocks: Vec<ResolvedBlock> = chain.by_ref().collect();
    let graph = MemoryGraph::new(CHAIN, 0, false, blocks, now());
    let attribute = |owner: &ScriptOwner| known.get(owner).cloned().unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (rules, half) = (rules(), chain.wallets() / 2);
    let wallets = (0..SUBJECTS).map(|nth| Person::Wallet(half + nth * half / SUBJECTS));
    wallets
        .map(|person| {
            let owner = person.owner();
            let history = runtime.block_on(graph.history(&owner, rules.read_limits()));
            let history = history.expect("a graph").expect("a wallet that appears");
            let clusters = clusters_of_history(&graph, &owner, &history, BATCH);
            let clusters = runtime.block_on(clusters).expect("a graph");
            let begun = clusters.clone();
            let mut trace = Trace::new(CHAIN, &owner, &history, begun, rules, TODAY, &attribute);
            let mut supplies = Vec::new();
            while !trace.read_request().is_empty() {
                let supply = runtime.block_on(supply(&graph, &trace));
                trace.resume(&supply);
                supplies.push(supply);
            }
            let address = owner.address(CHAIN).expect("an address");
            Subject { address, owner, history, clusters, supplies }
        })
        .collect()
}

async fn supply(graph: &MemoryGraph, trace: &Trace<'_>) -> ReadResponse {
    let ReadRequest { origins, destinations, .. } = trace.read_request().clone();
    let most = ENTRIES_PER_TRANSACTION;
    let mut response = ReadResponse {
        origins: graph.origins_ahead(&origins, most, 0).await.expect("a graph"),
        destinations: graph.destinations_ahead(&destinations, most, 0).await.expect("a graph"),
        clusters: vec![],
    };
    let owners = trace.owners_to_look_up(&response);
    let clusters = graph.clusters(&owners).await.expect("a graph").into_iter();
    let named = |(owner, cluster): (ScriptOwner, Option<ClusterRef>)| {
        let cluster = cluster.map_or_else(|| owner.clone(), |cluster| cluster.id);
        (owner, cluster)
    };
    response.clusters = owners.into_iter().zip(clusters).map(named).collect();
    response
}
