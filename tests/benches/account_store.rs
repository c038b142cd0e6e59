//! Cost of account chains in a store: `cargo bench -p assay-tests --bench account_store`. `ASSAY_TRANSFERS` sets the number
//! of transfers (default 3,000,000), `ASSAY_FOLDER` a folder that keeps the chain for another run.
//!
//! Printed: CPU time of ingest with ledgers for each transfer, over each million; the longest wait of a batch, memory, bytes on
//! the disk; CPU time of checks of several kinds of accounts; CPU time of computing the ledgers for another label.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a program for people at a terminal"
)]

use std::{
    collections::HashMap,
    env,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_engine::{
    account::{AccountAddress, AccountAttributions, AccountSubject, AccountView, MoneyEnd, Prices},
    ledger::{BlockRef, OwnerNumber},
    policy::Policy,
    taxonomy::Category,
    trace::Attribution,
};
use assay_graph::{
    EmbeddedGraphs,
    account::{AccountBlock, AccountEnds, AccountGraphView, AccountSnapshot, RebuildStep},
};
use assay_intel::IntelSnapshot;
use assay_test_chains::account_chain::{Group, LongAccountChain, account};
use assay_tests::{
    Figures, cpu_time, own_memory,
    world::claims::{Claim, snapshot_of},
};
use jiff::{Timestamp, civil::Date};

const CHAIN: ChainId = ChainId::ETH;
/// Blocks of a batch, of 150 transactions each.
const BATCH: usize = 1_500;
/// Payments of a subject that a check reads, as the service does.
const MOST: usize = assay_engine::account::MOST_PAYMENTS;

fn main() {
    let transfers = env::var("ASSAY_TRANSFERS").ok().and_then(|text| text.parse().ok());
    let transfers = transfers.unwrap_or(3_000_000);
    let temporary = tempfile::tempdir().expect("a folder");
    let kept = env::var_os("ASSAY_FOLDER").map(PathBuf::from);
    let folder: &Path = kept.as_deref().unwrap_or(temporary.path());
    let graphs = EmbeddedGraphs::new(folder);
    if graphs.account_snapshot(CHAIN).expect("a graph").is_none() {
        ingest(&graphs, transfers);
    }
    checks(&graphs, transfers);
    another_label(&graphs);
}

fn ends() -> AccountEnds {
    LongAccountChain::ends().collect()
}

/// Ingests the chain.
fn ingest(graphs: &EmbeddedGraphs, wanted: u64) {
    let mut writer = graphs.account_writer(CHAIN, false, &ends()).expect("a writer");
    let mut chain = LongAccountChain::new(7, wanted, false).peekable();
    let (mut transfers, mut spent) = (0_u64, Duration::ZERO);
    let (mut before, mut longest) = ((0_u64, Duration::ZERO), Duration::ZERO);
    while transfers < wanted {
        let mut blocks: Vec<AccountBlock> = Vec::with_capacity(BATCH);
        while blocks.len() < BATCH {
            let first = chain.next().expect("an endless chain");
            let (height, time) = (first.block, first.time);
            let mut transactions = vec![first];
            while let Some(next) = chain.next_if(|next| next.block == height) {
                transactions.push(next);
            }
            transfers += transactions.iter().map(|it| it.transfers.len() as u64).sum::<u64>();
            let reference = BlockRef { height, hash: [0; 32], parent: [0; 32], time };
            blocks.push(AccountBlock { reference, transactions });
        }
        let settled = blocks.last().map_or(0, |last| last.reference.height + 1);
        let (begun, waiting) = (cpu_time(), Instant::now());
        writer.append(&blocks, settled, Timestamp::UNIX_EPOCH).expect("an append");
        spent += cpu_time().saturating_sub(begun);
        longest = longest.max(waiting.elapsed());
        let since = transfers - before.0;
        if since >= 1_000_000 || transfers >= wanted {
            println!(
                "{:.1} million transfers: {:.2} us of CPU time a transfer, {:.2} over the last; longest batch {:.2} s; {:.0} \
                 MB of memory",
                transfers as f64 / 1e6,
                micros(spent, transfers),
                micros(spent.saturating_sub(before.1), since),
                longest.as_secs_f64(),
                own_memory() as f64 / 1e6,
            );
            (before, longest) = ((transfers, spent), Duration::ZERO);
        }
    }
    let bytes = graphs.account_bytes(CHAIN);
    println!(
        "{:.0} MB on the disk, {:.0} bytes a transfer",
        bytes as f64 / 1e6,
        bytes as f64 / transfers as f64
    );
}

fn micros(time: Duration, count: u64) -> f64 {
    time.as_secs_f64() * 1e6 / count.max(1) as f64
}

/// Attributions of the chain's parties.
struct Attributed {
    intel: IntelSnapshot,
    policy: Policy,
    today: Date,
    owners: HashMap<OwnerNumber, AccountAddress>,
}

impl AccountAttributions for Attributed {
    fn of_account(&self, owner: OwnerNumber) -> Option<Arc<Attribution>> {
        let account = *self.owners.get(&owner)?;
        Some(Arc::new(self.intel.account_attribution(CHAIN, account, &self.policy, self.today)))
    }
}

/// Reads the flows of an account as a check does.
fn check(snapshot: &AccountSnapshot, attributed: &Attributed, account: AccountAddress) -> usize {
    let Some(owner) = snapshot.owner(account) else { return 0 };
    let own = snapshot.payments(owner, MOST);
    let prices = Prices::default();
    let subject = AccountSubject {
        view: snapshot,
        owner,
        attributions: attributed,
        prices: &prices,
        today: attributed.today,
    };
    let flows = subject.flows(&own);
    std::hint::black_box(flows);
    own.payments.len()
}

/// Checks accounts of several kinds, each from a snapshot of its own.
fn checks(graphs: &EmbeddedGraphs, transfers: u64) {
    let snapshot = || graphs.account_snapshot(CHAIN).expect("a graph").expect("blocks");
    let now = snapshot().recorded().tip.time;
    let parties = ends();
    let labels = parties.iter().filter_map(|(account, end)| {
        Some((account.on(CHAIN)?, Claim::investigated(end.category, "party")))
    });
    let intel = snapshot_of(CHAIN, labels.collect(), Vec::new(), now);
    let view = snapshot();
    let owners =
        parties.iter().filter_map(|(account, _)| Some((view.owner(account)?, account))).collect();
    let today = intel.day(now);
    let attributed = Attributed { intel, policy: Policy::default(), today, owners };
    let people = LongAccountChain::new(7, transfers, false).people();
    let some = |group, from: u64, count: u64| {
        (from..from + count).map(move |it| account(group, it)).collect()
    };
    let kinds: [(&str, Vec<AccountAddress>); 7] = [
        ("absent", some(Group::Token, 1 << 40, 200)),
        ("people", some(Group::Person, people - 400, 200)),
        ("busy people", some(Group::Person, 1_000, 50)),
        ("people who are hubs", some(Group::Person, 1, 5)),
        ("exchanges", some(Group::Exchange, 1, 5)),
        ("a router", some(Group::Contract, 0, 1)),
        ("a contract that pays many", some(Group::Contract, 1, 1)),
    ];
    for (name, accounts) in kinds {
        let (mut times, mut read) = (Vec::new(), Vec::new());
        for account in &accounts {
            // The first check fills the page cache.
            for is_measured in [false, true] {
                let begun = cpu_time();
                let snapshot = snapshot();
                let payments = check(&snapshot, &attributed, *account);
                snapshot.check().expect("a store that can be read");
                if is_measured {
                    times.push(cpu_time().saturating_sub(begun));
                    read.push(payments as f64);
                }
            }
        }
        let (times, read) = (Figures::from_times(times), Figures::from_numbers(read));
        println!(
            "check of {name}: {:.0} payments; {:.3} ms of CPU time p50, {:.3} p99",
            read.percentile(50),
            times.percentile(50),
            times.percentile(99)
        );
    }
}

/// Computes the ledgers for one more label.
fn another_label(graphs: &EmbeddedGraphs) {
    let thief = (
        account(Group::Person, 60_000),
        MoneyEnd { category: Category::StolenFunds, listed_on: None },
    );
    let others: AccountEnds = ends().iter().chain([thief]).collect();
    let begun = cpu_time();
    let mut rebuild = graphs.rebuild_ledgers(CHAIN, &others).expect("a graph").expect("blocks");
    while rebuild.advance().expect("a slice") != RebuildStep::Finished {}
    let spent = cpu_time().saturating_sub(begun);
    drop(rebuild);
    let snapshot = graphs.account_snapshot(CHAIN).expect("a graph").expect("blocks");
    println!(
        "another label: {:.1} s of CPU time, {:.2} us for each transfer of the chain",
        spent.as_secs_f64(),
        micros(spent, snapshot.recorded().transfers)
    );
}
