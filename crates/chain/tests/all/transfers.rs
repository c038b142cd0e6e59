//! Given files of transfers, then what is recorded is what the files state, exactly; a file that cannot be read exactly is
//! refused with its file and line, and nothing is recorded.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

mod forms;
mod hostile;
mod real;

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use assay_address::ChainId;
use assay_chain::transfers::{
    AssetSums, TransferCounts,
    ingest::{IngestTransfersError, IngestedTransfers, TransferSources, ingest_transfers},
};
use assay_engine::account::{AccountTransaction, Asset, TransferKind};
use assay_graph::{EmbeddedGraphs, account::AccountEnds};
use tempfile::TempDir;

/// A data directory, with files to ingest.
struct Ingest {
    chain: ChainId,
    folder: TempDir,
    graphs: EmbeddedGraphs,
}

/// Result of an ingest.
#[derive(Debug)]
struct Done {
    ingested: IngestedTransfers,
    counts: TransferCounts,
    unknown_columns: Vec<String>,
    /// Number of files that were sorted in memory.
    sorted: usize,
}

impl Ingest {
    fn new(chain: ChainId) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let graphs = EmbeddedGraphs::new(folder.path());
        Self { chain, folder, graphs }
    }

    /// Writes a file to ingest.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn run<P: AsRef<Path>>(&self, files: &[P]) -> Result<Done, IngestTransfersError> {
        let paths: Vec<_> = files.iter().map(|path| path.as_ref().to_owned()).collect();
        let chain = self.chain;
        let sources = TransferSources { chain, paths: &paths, encoding: None, sample: false };
        let mut go_on = |_, _| ControlFlow::Continue(());
        let ends = AccountEnds::default();
        let (ingested, files) = ingest_transfers(&self.graphs, sources, &ends, &mut go_on)?;
        let unknown_columns = files.files().flat_map(|file| file.unknown_columns.clone()).collect();
        let sorted = files.files().filter(|file| file.is_sorted_in_memory).count();
        Ok(Done { ingested, counts: files.counts().clone(), unknown_columns, sorted })
    }

    /// Ingests one file.
    fn ingest(&self, name: &str, content: impl AsRef<[u8]>) -> Result<Done, IngestTransfersError> {
        self.run(&[self.file(name, content)])
    }

    /// The message of a refused file; nothing is recorded.
    fn refusal(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let before = self.transactions();
        let error = self.ingest(name, content).expect_err("a refused file").to_string();
        assert_eq!(self.transactions(), before, "nothing was recorded");
        assert!(error.contains("nothing was recorded"), "{error}");
        error.replace(&self.folder.path().display().to_string(), "")
    }

    fn transactions(&self) -> Vec<AccountTransaction> {
        let Some(recorded) = self.graphs.account_snapshot(self.chain).unwrap() else {
            return Vec::new();
        };
        recorded.blocks().flat_map(|block| block.unwrap().1).collect()
    }

    /// Sums of what is recorded by asset.
    fn sums(&self) -> AssetSums {
        let mut sums = AssetSums::default();
        for transfer in self.transactions().iter().flat_map(|it| &it.transfers) {
            sums.entry(transfer.asset).or_default().add(transfer.amount);
        }
        sums
    }

    fn digest(&self) -> [u8; 32] {
        self.graphs.account_snapshot(self.chain).unwrap().unwrap().recorded().digest
    }

    /// The kinds, assets and amounts of what is recorded, as texts.
    fn moves(&self) -> Vec<String> {
        let transactions = self.transactions();
        let transfers = transactions.iter().flat_map(|it| &it.transfers);
        transfers
            .map(|it| {
                let asset = match it.asset {
                    Asset::Native => "native".to_owned(),
                    other => other.text(self.chain),
                };
                format!("{} {} {asset} {} > {}", it.kind, it.amount, it.from, it.to)
            })
            .collect()
    }
}

const HEADER: &str = "block,time,txid,index,asset,from,to,amount";

/// An account of a test, by a number.
fn account(number: u64) -> String {
    format!("0x{number:040x}")
}

/// A transaction of a test, by a number.
fn txid(number: u64) -> String {
    format!("0x{number:064x}")
}

/// A row of our own format: a transfer of the native coin.
fn row(block: u64, transaction: u64, index: u64, amount: &str) -> String {
    let (from, to) = (account(1_000 + index), account(2_000 + index));
    let time = 1_600_000_000 + 12 * block;
    format!("{block},{time},{},{index},native,{from},{to},{amount}", txid(transaction))
}

/// A file of our own format.
fn csv(rows: &[String]) -> String {
    [&[HEADER.to_owned()], rows, &[String::new()]].concat().join("\n")
}

/// Number of transfers of a kind.
fn count(done: &Done, kind: TransferKind) -> u64 {
    done.counts.kinds.get(&kind).copied().unwrap_or_default()
}
