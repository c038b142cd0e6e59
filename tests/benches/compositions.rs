//! Cost of compositions (breakdowns of a transaction's funds by origin): `cargo bench -p assay-tests --bench
//! compositions`. The chains are those of `chain_trace`, kept in `ASSAY_CACHE`; `ASSAY_TRANSACTIONS` sets the number of
//! transactions (default 200,000).
//!
//! For 10,000, 100 and no labelled services, all compositions of a chain are computed; then some labels are removed: of
//! wallets, which changes few compositions, and of services, which changes many. Printed: CPU time and bytes for each
//! transaction of the chain, and the number of computed compositions.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a program for people at a terminal"
)]

use std::{env, path::PathBuf, time::Duration};

use assay_address::ChainId;
use assay_engine::ledger::TransactionNumber;
use assay_graph::{EmbeddedGraphs, compositions::TraceEnds, utxo::Snapshot};
use assay_tests::{
    big_chain::{ChainShape, ends, record_chain},
    cpu_time,
};

const CHAIN: ChainId = ChainId::BTC;
/// Number of transactions of a slice.
const SLICE: u64 = 200_000;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let transactions = env::var("ASSAY_TRANSACTIONS").ok().and_then(|text| text.parse().ok());
    let transactions: u64 = transactions.unwrap_or(200_000);
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = env::var_os("ASSAY_CACHE").map_or(temporary.path().to_owned(), PathBuf::from);
    let folder = folder.join(format!("chain-of-{transactions}-transactions"));
    let wallets = record_chain(ChainShape::with_transactions(transactions), &folder).await;
    let graphs = EmbeddedGraphs::new(&folder);
    let graph = graphs.open(CHAIN).expect("a graph").expect("a recorded chain");
    let snapshot = graph.snapshot().expect("a state");
    for labels in [10_000, 100, 0] {
        let compositions = folder.join(format!("chains/{CHAIN}.compositions"));
        if compositions.exists() {
            std::fs::remove_dir_all(&compositions).expect("no compositions");
        }
        let ends = ends(&graphs, (wallets, labels), (0, 0)).await;
        let (spent, computed) = complete(&graphs, &snapshot, &ends);
        let reader = graphs.compositions(CHAIN).expect("compositions").expect("compositions");
        let reader = reader.reader().expect("a state").expect("complete compositions");
        let known = (0..transactions)
            .step_by(997)
            .filter_map(|number| reader.composition(TransactionNumber(number)).expect("one"))
            .map(|composition| composition.origins().len());
        let (sampled, origins) = known.fold((0_u32, 0), |(n, sum), each| (n + 1, sum + each));
        let bytes = reader.bytes().expect("a size");
        println!(
            "{} ends, {computed} transactions: {:.2} us of CPU time and {:.1} bytes each, {:.1} origins",
            ends.len(),
            microseconds_each(spent, computed),
            bytes as f64 / computed as f64,
            f64::from(u32::try_from(origins).unwrap_or(0)) / f64::from(sampled.max(1)),
        );
    }
    let of_wallets = [0, 1, 2, 10, 100, 1_000].map(|wallets| (wallets, 0));
    let of_services = [1, 2, 4, 16, 64].map(|services| (1_000, services));
    for removed in of_wallets.into_iter().chain(of_services) {
        let ends = ends(&graphs, (wallets, 10_000), removed).await;
        let (spent, computed) = complete(&graphs, &snapshot, &ends);
        println!(
            "{} ends: {computed} computed ({:.2} % of the chain), {:.2} us of CPU time each, {:.3} s together",
            ends.len(),
            100.0 * computed as f64 / transactions as f64,
            microseconds_each(spent, computed),
            spent.as_secs_f64()
        );
    }
}

/// Computes compositions until they are complete. Returns the CPU time and the number of computed compositions.
fn complete(graphs: &EmbeddedGraphs, snapshot: &Snapshot, ends: &TraceEnds) -> (Duration, u64) {
    let writer = graphs.composition_writer(CHAIN).expect("compositions");
    let (begun, mut computed) = (cpu_time(), 0);
    loop {
        let advanced = writer.advance(snapshot, ends, SLICE).expect("a slice");
        computed += advanced.computed;
        if advanced.is_complete {
            return (cpu_time().saturating_sub(begun), computed);
        }
    }
}

/// Microseconds for each of `count` items.
fn microseconds_each(spent: Duration, count: u64) -> f64 {
    spent.as_secs_f64() * 1e6 / f64::from(u32::try_from(count).unwrap_or(u32::MAX).max(1))
}
