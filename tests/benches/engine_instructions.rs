//! Instructions that the engine needs for a check that follows money: `cargo bench -p assay-tests --bench
//! engine_instructions`. The benchmark runs itself under Valgrind, which counts the instructions of two functions:
//! traces of the same subjects over data that was read beforehand, and their assessments. With the same compiler the
//! counts are equal on all machines.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::{collections::HashMap, env, hint::black_box, process::Command};

use assay_address::{CanonicalAddress, ChainId};
use assay_engine::{
    assess,
    evidence::{ChainFacts, ChainState, FlowFacts, IngestMode, Tip},
    facts::{Environment, Facts},
    ledger::{OwnHistory, OwnerNumber},
    policy::Policy,
    reading::{BlockPosition, GatheredChain, Query, QueryProgress},
    trace::{Attribution, AttributionsByScript, Trace, TraceRules, TraceSubject},
    utxo::{OutPoint, ResolvedBlock, ScriptOwner},
};
use assay_graph::{GraphView, memory::MemoryGraph};
use assay_tests::big_chain::{BigChain, ChainShape, Person};
use jiff::{
    Timestamp,
    civil::{Date, date},
    tz::TimeZone,
};

const CHAIN: ChainId = ChainId::BTC;
const SUBJECTS: u64 = 200;
const SHAPE: ChainShape = ChainShape { seed: 4, blocks: 300, transactions: 60, hub: None };
/// Functions of this program whose instructions are counted, each with the name of its work.
const COUNTED: [(&str, &str); 2] = [("trace_all", "trace"), ("assess_all", "assessment")];
/// Argument by which this program runs the counted functions.
const RUN: &str = "--run";

fn main() {
    if env::args().any(|argument| argument == RUN) {
        let attributions = attributions();
        let (chain, subjects) = subjects();
        let own = subjects.iter().map(|it| it.history.incoming.len() + it.history.outgoing.len());
        println!("{} subjects with {} transactions", subjects.len(), own.sum::<usize>());
        black_box(assess_all(&subjects, trace_all(&chain, &subjects, &attributions)));
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

/// Subject of a check, with its history.
struct Subject {
    address: CanonicalAddress,
    owner: OwnerNumber,
    history: OwnHistory,
}

#[inline(never)]
fn trace_all(
    chain: &GatheredChain,
    subjects: &[Subject],
    attributions: &Attributions,
) -> Vec<FlowFacts> {
    let attribute = |owner: &ScriptOwner| attributions.get(owner).cloned().unwrap_or_default();
    let rules = rules();
    subjects
        .iter()
        .map(|subject| {
            let attributions = AttributionsByScript::new(attribute);
            let Subject { owner, history, .. } = subject;
            let (owner, today) = (*owner, TODAY);
            let subject = TraceSubject { chain: CHAIN, owner, history, rules, today };
            let mut trace = Trace::begin(chain, subject, &attributions).expect("a trace");
            while trace.advance(chain).expect("a trace") != QueryProgress::Complete {}
            trace.finish(chain).expect("flows")
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
            never_fetched: vec![],
            listings: vec![],
            labels: vec![].into(),
            same_key: vec![],
            look_alikes: vec![],
            cluster: None,
            counterparties: assay_engine::facts::Counterparties::default(),
            possible_owners: Vec::new(),
            intel_stale: false,
            unmatched: std::sync::Arc::default(),
            prices: std::sync::Arc::default(),
            differing_branches: None,
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
                behavior: None,
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

type Attributions = HashMap<ScriptOwner, Attribution>;

/// Labels of the addresses of the chain.
fn attributions() -> Attributions {
    let mut chain = BigChain::new(SHAPE);
    chain.by_ref().for_each(drop);
    chain.attributions().into_iter().collect()
}

/// The chain, and wallets of its later half.
fn subjects() -> (GatheredChain, Vec<Subject>) {
    let mut chain = BigChain::new(SHAPE);
    let blocks: Vec<ResolvedBlock> = chain.by_ref().collect();
    let mut gathered = GatheredChain::default();
    for block in &blocks {
        let (height, time) = (block.reference.height, block.reference.time);
        for (transaction, index) in block.transactions.iter().zip(0..) {
            gathered.add(transaction, BlockPosition { height, time, index });
            for index in (0..).take(transaction.outputs.len()) {
                let outpoint = OutPoint { txid: transaction.txid, index };
                let output = gathered.output_number(outpoint);
                gathered.set_spender(output, None);
            }
            for input in &transaction.inputs {
                let output = gathered.output_number(input.outpoint);
                gathered.set_spender(output, Some(transaction.txid));
            }
        }
    }
    let graph = MemoryGraph::new(CHAIN, 0, false, blocks, now());
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (limits, half) = (rules().read_limits(), chain.wallets() / 2);
    let wallets = (0..SUBJECTS).map(|nth| Person::Wallet(half + nth * half / SUBJECTS));
    let subject = |person: Person| {
        let script = person.owner();
        let number = runtime.block_on(graph.owner_number(&script)).expect("a graph");
        let number = number.expect("a wallet that appears");
        let history = runtime.block_on(graph.history(number, limits)).expect("a graph");
        let owner = gathered.owner_number(&script);
        let address = script.address(CHAIN).expect("an address");
        let history = gathered.history(owner, history.statistics);
        Subject { address, owner, history }
    };
    let subjects = wallets.map(subject).collect();
    (gathered, subjects)
}
