//! Cost of money that goes through contracts: `cargo bench -p assay-tests --bench account_contracts`. `ASSAY_TRANSFERS` sets
//! the number of transfers (default 3,000,000).
//!
//! Two graphs record the same transfers, a tenth of them in contracts, batch by batch in turn: one with facts about contracts,
//! and one without, in which exchanges are conversions. Printed: CPU time and bytes a transfer of both, with their ratio; and
//! the CPU time of checks of people who use contracts, of other people, and of contracts, with and without their patterns.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a program for people at a terminal"
)]

use std::{collections::BTreeSet, env, sync::Arc, time::Duration};

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountAttributions, AccountSubject, AccountView, Asset, AssetId,
        MOST_PAYMENTS, Prices, UsdPrice, lookalikes_of, unfollowed_transfers,
    },
    ledger::{BlockRef, OwnerNumber},
    patterns::{
        accounts::{AccountPatternSubject, account_behavior},
        rules::SHOWN,
    },
    policy::{PatternRules, Policy},
    trace::Attribution,
};
use assay_graph::{
    EmbeddedGraphs,
    account::{AccountBlock, AccountEnds},
};
use assay_test_chains::account_chain::{Group, LongAccountChain, account};
use assay_tests::{Figures, cpu_time};
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};

const CHAIN: ChainId = ChainId::ETH;
/// Blocks of a batch.
const BATCH: usize = 360;
/// Checks of each kind of accounts.
const CHECKED: usize = 200;

fn main() {
    let transfers = env::var("ASSAY_TRANSFERS").ok().and_then(|text| text.parse().ok());
    let transfers: u64 = transfers.unwrap_or(3_000_000);
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let graphs = folders.each_ref().map(|folder| EmbeddedGraphs::new(folder.path()));
    let prices = Arc::new(prices());
    let users = ingest(&graphs, transfers, &prices);
    let people = LongAccountChain::new(7, transfers, false).people();
    let kinds = [
        ("people who use contracts", users),
        ("people", (people - 400..people).map(|it| account(Group::Person, it)).collect()),
        ("busy people", (1_000..1_100).map(|it| account(Group::Person, it)).collect()),
        ("pools", (0..100).map(|it| account(Group::Pool, it)).collect()),
        ("lenders", (0..20).map(|it| account(Group::Lender, it)).collect()),
    ];
    for (name, accounts) in kinds {
        check_in_turn(&graphs, name, &accounts, &prices);
    }
}

/// The parties at which money ends, with prices.
fn ends(prices: &Arc<Prices>) -> AccountEnds {
    LongAccountChain::ends().collect::<AccountEnds>().with_prices(Arc::clone(prices))
}

/// The price of an ether on all days of the chain.
fn prices() -> Prices {
    let ether = AssetId { chain: CHAIN, asset: Asset::Native };
    let price: UsdPrice = LongAccountChain::ETHER_DOLLARS.to_string().parse().expect("a price");
    let first = day(Timestamp::from_second(1_700_000_000).expect("a time"));
    let days = first.series(jiff::Span::new().days(1)).take(400);
    Prices::new(days.map(|day| (ether, day, price)))
}

fn day(time: Timestamp) -> Date {
    (time - SignedDuration::from_hours(24)).to_zoned(TimeZone::UTC).date()
}

/// Records the transfers in both graphs. Returns people who use contracts.
fn ingest(graphs: &[EmbeddedGraphs; 2], wanted: u64, prices: &Arc<Prices>) -> Vec<AccountAddress> {
    let ends = ends(prices);
    let mut writers = graphs
        .each_ref()
        .map(|graphs| graphs.account_writer(CHAIN, false, &ends).expect("a writer"));
    let mut chain = LongAccountChain::new(7, wanted, false).with_contracts().peekable();
    let (mut transfers, mut in_contracts, mut spent) = (0_u64, 0_u64, [Duration::ZERO; 2]);
    let mut users = BTreeSet::new();
    while transfers < wanted {
        let mut blocks = Vec::with_capacity(BATCH);
        for _ in 0..BATCH {
            let first = chain.next().expect("an endless chain");
            let (height, time) = (first.block, first.time);
            let mut transactions = vec![first];
            while let Some(next) = chain.next_if(|next| next.block == height) {
                transactions.push(next);
            }
            let reference = BlockRef { height, hash: [0; 32], parent: [0; 32], time };
            blocks.push(AccountBlock::new(reference, transactions));
        }
        for transaction in blocks.iter().flat_map(|block| &block.transactions) {
            let count = transaction.transfers.len() as u64;
            transfers += count;
            if !transaction.contract_facts.is_empty() {
                in_contracts += count;
                users.extend(transaction.initiator);
            }
        }
        let mut without = blocks.clone();
        for transaction in without.iter_mut().flat_map(|block| &mut block.transactions) {
            transaction.contract_facts.clear();
        }
        let settled = blocks.last().map_or(0, |last| last.reference.height + 1);
        for ((writer, blocks), spent) in writers.iter_mut().zip([blocks, without]).zip(&mut spent) {
            let begun = cpu_time();
            writer.append(&blocks, settled, Timestamp::UNIX_EPOCH).expect("an append");
            *spent += cpu_time().saturating_sub(begun);
        }
    }
    drop(writers);
    let each = |sum: f64| sum / transfers as f64;
    let [with, without] = spent.map(|spent| each(spent.as_secs_f64() * 1e6));
    let bytes = graphs.each_ref().map(|graphs| each(graphs.account_bytes(CHAIN) as f64));
    let share = 100 * in_contracts / transfers;
    println!("{transfers} transfers, {share} % of them in transactions with contracts");
    println!(
        "ingest: {with:.2} us of CPU time a transfer, {without:.2} without contracts: {:.2} times",
        with / without
    );
    println!("{:.0} bytes a transfer, {:.0} without contracts", bytes[0], bytes[1]);
    users.into_iter().filter(|it| it.0.first() == Some(&(Group::Person as u8 + 1))).collect()
}

/// Nobody is named beside the ends of the ledgers.
struct Unnamed;

impl AccountAttributions for Unnamed {
    fn of_account(&self, _: OwnerNumber) -> Option<Arc<Attribution>> {
        None
    }
}

/// Checks accounts in both graphs in turn.
fn check_in_turn(
    graphs: &[EmbeddedGraphs; 2],
    name: &str,
    accounts: &[AccountAddress],
    prices: &Prices,
) {
    let every = (accounts.len() / CHECKED).max(1);
    let mut flows = [Vec::new(), Vec::new()];
    let mut searches = [Vec::new(), Vec::new()];
    for account in accounts.iter().step_by(every).take(CHECKED) {
        // The first check fills the page cache.
        for is_measured in [false, true] {
            for ((graphs, flows), searches) in graphs.iter().zip(&mut flows).zip(&mut searches) {
                let Some((of_flows, of_search)) = check(graphs, *account, prices) else { continue };
                if is_measured {
                    flows.push(of_flows);
                    searches.push(of_search);
                }
            }
        }
    }
    for (what, times) in [("", flows), (", patterns", searches)] {
        let [with, without] = times.map(Figures::from_times);
        let of = |percent| (with.percentile(percent), without.percentile(percent));
        let ((p50, p50_without), (p99, p99_without)) = (of(50), of(99));
        println!(
            "check of {name}{what}: {p50:.3} ms of CPU time p50, {p50_without:.3} without ({:.2} times); {p99:.3} p99, \
             {p99_without:.3} without ({:.2} times)",
            p50 / p50_without,
            p99 / p99_without
        );
    }
}

/// Reads an account as a check does. Returns the CPU time of its flows, and of the search for its patterns.
fn check(
    graphs: &EmbeddedGraphs,
    account: AccountAddress,
    prices: &Prices,
) -> Option<(Duration, Duration)> {
    let begun = cpu_time();
    let view = graphs.account_snapshot(CHAIN).expect("a graph").expect("blocks");
    let owner = view.owner(account)?;
    let own = view.history(owner, MOST_PAYMENTS);
    let today = day(view.recorded().tip.time);
    let of = AccountSubject { view: &view, owner, attributions: &Unnamed, prices, today };
    std::hint::black_box(of.flows(&own));
    let unfollowed = unfollowed_transfers(&view, owner);
    std::hint::black_box(of.contract_use(&own.payments, &unfollowed));
    let flows = cpu_time().saturating_sub(begun);
    let lookalikes = lookalikes_of(&view, (owner, &own.payments), &unfollowed, prices);
    let begun = cpu_time();
    std::hint::black_box(account_behavior(AccountPatternSubject {
        account: of,
        own: &own,
        unfollowed: &unfollowed,
        lookalikes: &lookalikes,
        is_contract: &|account| view.is_contract(account),
        rules: PatternRules::new(&Policy::default(), CHAIN.info()),
        shown: SHOWN,
    }));
    Some((flows, cpu_time().saturating_sub(begun)))
}
