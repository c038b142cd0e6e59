//! Cost of account chains in a store: `cargo bench -p assay-tests --bench account_store`. `ASSAY_TRANSFERS` sets the number
//! of transfers (default 3,000,000), `ASSAY_FOLDER` a folder that keeps the chain for another run, `ASSAY_PART` the part that
//! is measured: `checks`, `cold`, `screening`, `labels` or `readers` (default all).
//!
//! Printed: CPU time of ingest with ledgers for each transfer, over each million; the longest wait of a batch, with the merges
//! before it; memory, bytes on the disk; CPU time of checks of several kinds of accounts, and of their searches for patterns;
//! wall time of checks, and of a batch, whose pages memory does not hold; rows a second of screening in full; CPU time of
//! computing the ledgers for late labels; times of readings while another thread commits.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a program for people at a terminal"
)]

use std::{
    collections::HashMap,
    env, fs,
    iter::Peekable,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountAttributions, AccountSubject, AccountTransaction, AccountView,
        MoneyEnd, Prices, lookalikes_of, unfollowed_transfers,
    },
    ledger::{BlockRef, OwnerNumber},
    patterns::{
        accounts::{AccountPatternSubject, account_behavior},
        rules::SHOWN,
    },
    policy::{PatternRules, Policy},
    taxonomy::Category,
    trace::Attribution,
};
use assay_graph::{
    EmbeddedGraphs,
    account::{
        AccountBlock, AccountEnds, AccountGraphView, AccountSnapshot, RebuildStep, RecordedBlock,
    },
};
use assay_intel::IntelSnapshot;
use assay_test_chains::account_chain::{Group, LongAccountChain, account};
use assay_tests::{
    Figures, cpu_time, measure, own_memory, release_program,
    world::claims::{Claim, snapshot_of},
};
use jiff::{Timestamp, civil::Date};
use rustix::fs::{Advice, fadvise};

const CHAIN: ChainId = ChainId::ETH;
/// Blocks of a batch, of 150 transactions each: about as many as ingest writes together.
const BATCH: usize = 360;
/// Batches that are written while others read.
const COMMITS: u64 = 200;
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
    let part = env::var("ASSAY_PART").ok();
    let is_measured = |name: &str| part.as_deref().is_none_or(|part| part == name);
    if is_measured("checks") {
        checks(&graphs, transfers);
    }
    if is_measured("cold") {
        cold(&graphs, folder, transfers);
    }
    if is_measured("screening") {
        screening(folder, transfers);
    }
    if is_measured("labels") {
        late_labels(&graphs, transfers);
    }
    if is_measured("readers") {
        readers(&graphs, transfers);
    }
}

fn ends() -> AccountEnds {
    LongAccountChain::ends().collect()
}

/// Ingests the chain.
fn ingest(graphs: &EmbeddedGraphs, wanted: u64) {
    let mut writer = graphs.account_writer(CHAIN, false, &ends()).expect("a writer");
    let mut chain = LongAccountChain::new(7, wanted, false).peekable();
    let (mut transfers, mut spent) = (0_u64, Duration::ZERO);
    let mut number = 0;
    let (mut before, mut longest) = ((0_u64, Duration::ZERO), Duration::ZERO);
    while transfers < wanted {
        let mut blocks = next_blocks(&mut chain, BATCH);
        for transaction in blocks.iter_mut().flat_map(|block| &mut block.transactions) {
            with_hubs(transaction, &mut number);
            transfers += transaction.transfers.len() as u64;
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

/// The hubs of a third and of a thirtieth of all transactions.
const HUBS: [u64; 2] = [1_000, 1_001];

/// Lets hubs receive and pay in every so many transactions.
fn with_hubs(transaction: &mut AccountTransaction, number: &mut u64) {
    *number += 1;
    let hub = match *number % 30 {
        0 => HUBS[1],
        1 | 4 | 7 | 10 | 13 | 16 | 19 | 22 | 25 | 28 => HUBS[0],
        _ => return,
    };
    let hub = account(Group::Contract, hub);
    if let [transfer] = &mut *transaction.transfers {
        if number.is_multiple_of(2) {
            transfer.to = hub;
        } else {
            transfer.from = hub;
        }
    }
}

/// The next blocks of a chain.
fn next_blocks(
    chain: &mut Peekable<impl Iterator<Item = AccountTransaction>>,
    count: usize,
) -> Vec<AccountBlock> {
    let blocks = (0..count).map(|_| {
        let first = chain.next().expect("an endless chain");
        let (height, time) = (first.block, first.time);
        let mut transactions = vec![first];
        while let Some(next) = chain.next_if(|next| next.block == height) {
            transactions.push(next);
        }
        let reference = BlockRef { height, hash: [0; 32], parent: [0; 32], time };
        AccountBlock::new(reference, transactions)
    });
    blocks.collect()
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
    let own = snapshot.history(owner, MOST);
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
    usize::try_from(own.summed()).unwrap_or(usize::MAX) + own.payments.len()
}

/// Searches the patterns of an account as a check does. Returns the CPU time of the search alone.
fn search(
    snapshot: &AccountSnapshot,
    attributed: &Attributed,
    account: AccountAddress,
) -> Option<Duration> {
    let owner = snapshot.owner(account)?;
    let own = snapshot.history(owner, MOST);
    let prices = Prices::default();
    let subject = AccountSubject {
        view: snapshot,
        owner,
        attributions: attributed,
        prices: &prices,
        today: attributed.today,
    };
    let unfollowed = unfollowed_transfers(snapshot, owner);
    let lookalikes = lookalikes_of(snapshot, (owner, &own.payments), &unfollowed, &prices);
    let begun = cpu_time();
    let behavior = account_behavior(AccountPatternSubject {
        account: subject,
        own: &own,
        unfollowed: &unfollowed,
        lookalikes: &lookalikes,
        is_contract: &|account| snapshot.is_contract(account),
        rules: PatternRules::new(&attributed.policy, CHAIN.info()),
        shown: SHOWN,
    });
    std::hint::black_box(behavior);
    Some(cpu_time().saturating_sub(begun))
}

/// The parties' attributions, and the subjects of checks by kind.
type Subjects = (Attributed, [(&'static str, Vec<AccountAddress>); 9]);

fn subjects(graphs: &EmbeddedGraphs, transfers: u64) -> Subjects {
    let view = graphs.account_snapshot(CHAIN).expect("a graph").expect("blocks");
    let now = view.recorded().tip.time;
    let parties = ends();
    let labels = parties.iter().filter_map(|(account, end)| {
        Some((account.on(CHAIN)?, Claim::investigated(end.category, "party")))
    });
    let intel = snapshot_of(CHAIN, labels.collect(), Vec::new(), now);
    let owners =
        parties.iter().filter_map(|(account, _)| Some((view.owner(account)?, account))).collect();
    let today = intel.day(now);
    let attributed = Attributed { intel, policy: Policy::default(), today, owners };
    let people = LongAccountChain::new(7, transfers, false).people();
    let some = |group, from: u64, count: u64| {
        (from..from + count).map(move |it| account(group, it)).collect()
    };
    let kinds = [
        ("absent", some(Group::Token, 1 << 40, 200)),
        ("people", some(Group::Person, people - 400, 200)),
        ("busy people", some(Group::Person, 1_000, 50)),
        ("people who are hubs", some(Group::Person, 1, 5)),
        ("exchanges", some(Group::Exchange, 1, 5)),
        ("a router", some(Group::Contract, 0, 1)),
        ("a contract that pays many", some(Group::Contract, 1, 1)),
        ("the hub of a thirtieth", some(Group::Contract, HUBS[1], 1)),
        ("the hub of a third", some(Group::Contract, HUBS[0], 1)),
    ];
    (attributed, kinds)
}

/// Checks accounts of several kinds, each from a snapshot of its own.
fn checks(graphs: &EmbeddedGraphs, transfers: u64) {
    let snapshot = || graphs.account_snapshot(CHAIN).expect("a graph").expect("blocks");
    let (attributed, kinds) = subjects(graphs, transfers);
    for (name, accounts) in kinds {
        let (mut times, mut read, mut searches) = (Vec::new(), Vec::new(), Vec::new());
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
                    searches.extend(search(&snapshot, &attributed, *account));
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
        if !searches.is_empty() {
            let searches = Figures::from_times(searches);
            println!(
                "  patterns: {:.3} ms of CPU time p50, {:.3} p99",
                searches.percentile(50),
                searches.percentile(99)
            );
        }
    }
}

/// Checks of each kind without anything in the page cache.
const COLD_CHECKS: usize = 20;
/// Batches that are written without anything in the page cache.
const COLD_BATCHES: usize = 5;

/// Checks accounts, and writes batches, each after the graph left the page cache.
fn cold(graphs: &EmbeddedGraphs, folder: &Path, transfers: u64) {
    let (attributed, kinds) = subjects(graphs, transfers);
    for (name, accounts) in kinds {
        let mut times = Vec::new();
        for account in accounts.iter().take(COLD_CHECKS) {
            leave_page_cache(graphs, folder);
            let begun = Instant::now();
            let snapshot = graphs.account_snapshot(CHAIN).expect("a graph").expect("blocks");
            check(&snapshot, &attributed, *account);
            snapshot.check().expect("a store that can be read");
            times.push(begun.elapsed());
        }
        let times = Figures::from_times(times);
        println!(
            "cold check of {name}: {:.2} ms of wall time p50, {:.2} p99",
            times.percentile(50),
            times.percentile(99)
        );
    }
    let mut chain = LongAccountChain::new(9, transfers, false).peekable();
    let mut times = Vec::new();
    for _ in 0..COLD_BATCHES {
        leave_page_cache(graphs, folder);
        let mut writer = graphs.account_writer(CHAIN, false, &ends()).expect("a writer");
        let tip = writer.recorded().expect("blocks").tip;
        // Merges that are due, so that none is a part of the batch.
        let blocks = above(next_blocks(&mut chain, 1), tip);
        writer.append(&blocks, tip.height + 2, tip.time).expect("an append");
        drop(writer);
        leave_page_cache(graphs, folder);
        let mut writer = graphs.account_writer(CHAIN, false, &ends()).expect("a writer");
        let tip = writer.recorded().expect("blocks").tip;
        let blocks = above(next_blocks(&mut chain, BATCH), tip);
        let begun = Instant::now();
        writer.append(&blocks, u64::MAX, tip.time).expect("an append");
        times.push(begun.elapsed());
    }
    let times = Figures::from_times(times);
    println!(
        "cold batch: {:.2} s of wall time p50, {:.2} p99",
        times.percentile(50) / 1e3,
        times.percentile(99) / 1e3
    );
}

/// Blocks of another chain, above the newest one of this.
fn above(mut blocks: Vec<AccountBlock>, tip: RecordedBlock) -> Vec<AccountBlock> {
    for (block, height) in blocks.iter_mut().zip(tip.height + 1..) {
        (block.reference.height, block.reference.time) = (height, tip.time);
        for transaction in &mut block.transactions {
            (transaction.block, transaction.time) = (height, tip.time);
        }
    }
    blocks
}

/// Closes the graph, and removes its files from the page cache.
fn leave_page_cache(graphs: &EmbeddedGraphs, folder: &Path) {
    graphs.close();
    let mut folders = vec![folder.join("chains")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let file = fs::File::open(path).expect("a file");
                // Pages that are not on the disk yet would stay.
                file.sync_all().expect("a disk");
                fadvise(&file, 0, None, Advice::DontNeed).expect("advice");
            }
        }
    }
}

/// Rows of a file that is screened.
const ROWS: u64 = 50_000;

/// Screens people in full with the release program, under the labels of the chain's parties.
fn screening(folder: &Path, transfers: u64) {
    let assay = release_program();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&assay);
        command.arg("--data-dir").arg(folder).args(arguments).stdout(Stdio::null());
        let (status, seconds, _) = measure(&mut command);
        assert!(status.success(), "{arguments:?} failed");
        seconds
    };
    let on_chain = |account: AccountAddress| account.on(CHAIN).expect("an address");
    let label = |(account, end): (AccountAddress, MoneyEnd)| {
        format!("eth,{},{},investigation,95\n", on_chain(account).as_str(), end.category.as_str())
    };
    let labels = ends().iter().map(label).collect::<String>();
    let labels = format!("blockchain,address,category,tier,confidence\n{labels}");
    let file = |name: &str, content: &str| {
        let path = folder.join(name);
        fs::write(&path, content).expect("a file");
        path.display().to_string()
    };
    let labels = file("labels.csv", &labels);
    let _ = run(&["ingest", "labels", &labels, "--format", "csv", "--source", "parties"]);
    let people = LongAccountChain::new(7, transfers, false).people();
    let rows = |count: u64| {
        let person = |it| on_chain(account(Group::Person, people / 10 + it * (people / 2) / count));
        let rows = (0..count).map(|it| format!("eth,{}\n", person(it).as_str()));
        format!("blockchain,address\n{}", rows.collect::<String>())
    };
    let output = folder.join("screened.csv").display().to_string();
    let screen = |rows: &str| run(&["screen", rows, "--scope", "full", "-o", &output]);
    let loading = screen(&file("row.csv", &rows(1)));
    let seconds = screen(&file("rows.csv", &rows(ROWS))) - loading;
    println!(
        "screening of {ROWS} people in full: {:.0} rows a second, besides loading in {loading:.2} s",
        ROWS as f64 / seconds
    );
    let screened = fs::read_to_string(&output).expect("rows");
    let by_ledgers = screened.lines().filter(|row| row.ends_with("compositions")).count();
    println!("  {by_ledgers} of them are decided by ledgers alone");
}

/// Labels accounts one after another, early and late ones, each with what follows from its payments.
fn late_labels(graphs: &EmbeddedGraphs, transfers: u64) {
    let snapshot = || graphs.account_snapshot(CHAIN).expect("a graph").expect("blocks");
    let people = LongAccountChain::new(7, transfers, false).people();
    let mut candidates = vec![account(Group::Person, people - 1)];
    candidates.extend((1..=10).rev().map(|part| account(Group::Person, people * part / 11)));
    let view = snapshot();
    let has_no_outflow = |it: &AccountAddress| {
        let owner = view.owner(*it);
        let own = owner.map(|owner| (owner, view.payments(owner, 100).payments));
        own.is_some_and(|(owner, own)| !own.is_empty() && own.iter().all(|it| it.from != owner))
    };
    let mut idle = (0..people).rev().map(|it| account(Group::Person, it)).filter(has_no_outflow);
    let idle = idle.next();
    let end = MoneyEnd { category: Category::StolenFunds, listed_on: None };
    let mut present = ends();
    for labelled in idle.into_iter().chain(candidates) {
        let changed: AccountEnds = present.iter().chain([(labelled, end)]).collect();
        let begun = cpu_time();
        let mut rebuild =
            graphs.rebuild_ledgers(CHAIN, &changed).expect("a graph").expect("blocks");
        let (mut booked, mut longest) = (0, Duration::ZERO);
        loop {
            let slice = Instant::now();
            let step = rebuild.advance().expect("a slice");
            longest = longest.max(slice.elapsed());
            match step {
                RebuildStep::Booked(transactions) => booked += transactions,
                RebuildStep::Finished => break,
            }
        }
        let spent = cpu_time().saturating_sub(begun);
        drop(rebuild);
        present = changed;
        let all = snapshot().recorded().transactions;
        println!(
            "a late label: {booked} transactions ({:.3} %) booked anew in {:.1} ms of CPU time, {:.1} us each; longest slice \
             {:.2} s",
            booked as f64 * 100.0 / all as f64,
            spent.as_secs_f64() * 1e3,
            micros(spent, booked),
            longest.as_secs_f64(),
        );
        if booked > all / 5 {
            break;
        }
    }
}

/// Reads accounts in two threads, each time from the newest state, while another thread commits and merges. A state is torn
/// if the numbers of payments that ledgers tell are not those of their entries.
fn readers(graphs: &EmbeddedGraphs, transfers: u64) {
    let mut writer = graphs.account_writer(CHAIN, false, &ends()).expect("a writer");
    let mut chain = LongAccountChain::new(8, transfers, false).peekable();
    let is_done = AtomicBool::new(false);
    let read = |from: u64| {
        let (mut times, mut torn) = (Vec::new(), 0_u64);
        for number in (0..3_000).cycle().skip_while(|number| *number < from) {
            if is_done.load(Ordering::Relaxed) {
                break;
            }
            let begun = Instant::now();
            let snapshot = graphs.account_snapshot(CHAIN).expect("a graph").expect("blocks");
            let Some(owner) = snapshot.owner(account(Group::Person, number)) else { continue };
            let found = snapshot.payments(owner, MOST);
            let count = found.payments.len() as u64 + found.left_out;
            torn += u64::from(count != snapshot.payment_count(owner));
            snapshot.check().expect("a store that can be read");
            times.push(begun.elapsed());
        }
        (times, torn)
    };
    let (longest, read) = thread::scope(|scope| {
        let readers = [0, 1_500].map(|from| scope.spawn(move || read(from)));
        let mut longest = Duration::ZERO;
        for _ in 0..COMMITS {
            let tip = writer.recorded().expect("blocks").tip;
            let blocks = above(next_blocks(&mut chain, 20), tip);
            let begun = Instant::now();
            let last = blocks.last().map_or(0, |last| last.reference.height);
            writer.append(&blocks, last.saturating_sub(20), tip.time).expect("an append");
            longest = longest.max(begun.elapsed());
        }
        is_done.store(true, Ordering::Relaxed);
        (longest, readers.map(|reader| reader.join().expect("a reader")))
    });
    let [(mut times, torn), (others, also_torn)] = read;
    times.extend(others);
    let (count, times) = (times.len(), Figures::from_times(times));
    println!(
        "{COMMITS} commits, the longest {:.2} s, while {count} accounts were read: {} torn, {:.2} ms p50, {:.2} p99",
        longest.as_secs_f64(),
        torn + also_torn,
        times.percentile(50),
        times.percentile(99)
    );
}
