//! `assay ingest chain CHAIN --transfers`: the recording of transfers of an account chain from files.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::Write,
    ops::ControlFlow,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use assay_address::{ChainId, LedgerKind};
use assay_chain::transfers::{
    AssetSum, FileCounts, TransferCounts, TransferFileError, TransferFiles,
    ingest::{IngestTransfersError, IngestedTransfers, TransferSources, ingest_transfers},
};
use assay_engine::{
    account::{Asset, AssetId, scored_asset, whole_units},
    facts::Environment,
};
use assay_graph::account::{AccountEnds, RecordedBlock, RecordedState};
use assay_input::{Encoding, InputError};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use super::{CommandOutcome, Context, Failure, output, print_json, progress::Progress};
use crate::render::counted;

impl From<IngestTransfersError> for Failure {
    fn from(error: IngestTransfersError) -> Self {
        match error {
            IngestTransfersError::Graph(error) => error.into(),
            IngestTransfersError::File(TransferFileError::Input(InputError::Spool(_)))
            | IngestTransfersError::OtherSums
            | IngestTransfersError::Stopped => Self::Failed(error.to_string()),
            IngestTransfersError::File(_) | IngestTransfersError::Rest { .. } => {
                Self::Input(error.to_string())
            }
        }
    }
}

pub(super) async fn run(
    chain: ChainId,
    paths: &[PathBuf],
    encoding: Option<Encoding>,
    json: bool,
    context: &Context,
) -> Result<CommandOutcome, Failure> {
    if chain.info().ledger != LedgerKind::Account {
        return Err(Failure::Usage(format!(
            "transfers of {chain} are not supported: only those of account chains are (eth, trx and others)"
        )));
    }
    let databases = context.open_or_create_databases().await?;
    let sample = databases.store.environment().await? == Environment::Sample;
    let intel = IntelSnapshot::load(&*databases.store, None).await?;
    let today = intel.day(context.clock.now());
    let ends: AccountEnds = intel.account_ends(chain, today).collect();
    let ends = ends.with_prices(Arc::clone(intel.prices()));
    let progress = Arc::new(Progress::new("transfers", true));
    let is_stopped = Arc::new(AtomicBool::new(false));
    let graphs = Arc::clone(&databases.graphs);
    let (shown, stop, paths) = (Arc::clone(&progress), Arc::clone(&is_stopped), paths.to_vec());
    let mut work = tokio::task::spawn_blocking(move || {
        let mut shown_before = 0;
        let mut reached = |_: u64, transfers: u64| {
            shown.add(transfers.saturating_sub(shown_before));
            shown_before = transfers;
            if stop.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let sources = TransferSources { chain, paths: &paths, encoding, sample };
        let (done, files) = ingest_transfers(&graphs, sources, &ends, &mut reached)?;
        Ok::<_, IngestTransfersError>(TransferReport::new(chain, &files, &done))
    });
    // The first process of a container is not ended by this signal unless it listens for it.
    let mut terminate = signal(SignalKind::terminate())?;
    let finished = tokio::select! {
        finished = &mut work => finished,
        _ = tokio::signal::ctrl_c() => {
            is_stopped.store(true, Ordering::Relaxed);
            work.await
        }
        _ = terminate.recv() => {
            is_stopped.store(true, Ordering::Relaxed);
            work.await
        }
    };
    progress.finish();
    let report = finished.map_err(|error| Failure::Failed(error.to_string()))??;
    for file in &report.files {
        for notice in file.notices() {
            tracing::warn!(chain = %chain, "{notice}");
        }
    }
    if json {
        print_json(&report)?;
    } else {
        writeln!(output(), "{}", report.text())?;
    }
    Ok(CommandOutcome::Success)
}

/// Report of an ingest of transfers.
#[derive(Debug, Serialize)]
struct TransferReport {
    blockchain: ChainId,
    files: Vec<FileReport>,
    /// Transfers that were added.
    transfers: u64,
    transactions: u64,
    blocks: u64,
    /// Transfers that were recorded before.
    recorded_before: u64,
    /// Rows that repeat another row.
    duplicates: u64,
    /// Transfers of the files by kind.
    kinds: BTreeMap<&'static str, u64>,
    /// Facts about contracts: which accounts have code, and whom events name.
    contract_facts: u64,
    /// Rows and values that are no transfers, by reason.
    left_out: BTreeMap<&'static str, u64>,
    #[serde(skip)]
    reasons: Vec<(u64, &'static str)>,
    transactions_without_initiator: u64,
    amounts_above_128_bits: u64,
    /// Number of tokens that are not scored.
    unscored_tokens: usize,
    /// Sums of the transfers of the files by asset, scored assets first.
    assets: Vec<AssetReport>,
    /// True: the sums of the transfers are those of the rows. Otherwise nothing is recorded.
    sums_match: bool,
    first_block: Option<BlockReport>,
    last_block: Option<BlockReport>,
    recorded: Option<RecordedReport>,
}

#[derive(Debug, Serialize)]
struct FileReport {
    file: String,
    form: &'static str,
    rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stated_rows: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown_columns: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    last_line_without_end: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    sorted_in_memory: bool,
}

#[derive(Debug, Serialize)]
struct AssetReport {
    asset: String,
    ticker: Option<&'static str>,
    transfers: u64,
    /// Sum in base units.
    amount: String,
    /// Sum in units of the asset, for a scored asset.
    #[serde(skip_serializing_if = "Option::is_none")]
    units: Option<String>,
}

#[derive(Debug, Serialize)]
struct BlockReport {
    height: u64,
    time: Timestamp,
}

#[derive(Debug, Serialize)]
struct RecordedReport {
    transfers: u64,
    transactions: u64,
    first_block: BlockReport,
    latest_block: BlockReport,
    digest: String,
}

impl From<RecordedBlock> for BlockReport {
    fn from(block: RecordedBlock) -> Self {
        Self { height: block.height, time: block.time }
    }
}

impl From<RecordedState> for RecordedReport {
    fn from(state: RecordedState) -> Self {
        Self {
            transfers: state.transfers,
            transactions: state.transactions,
            first_block: state.first.into(),
            latest_block: state.tip.into(),
            digest: hex::encode(state.digest),
        }
    }
}

impl FileReport {
    fn new(counts: &FileCounts) -> Self {
        Self {
            file: counts.file.clone(),
            form: counts.form.as_str(),
            rows: counts.rows,
            stated_rows: counts.stated_rows,
            unknown_columns: counts.unknown_columns.clone(),
            last_line_without_end: counts.is_last_line_open,
            sorted_in_memory: counts.is_sorted_in_memory,
        }
    }

    /// Notices about the file for people.
    fn notices(&self) -> Vec<String> {
        let mut notices = Vec::new();
        if !self.unknown_columns.is_empty() {
            let columns = self.unknown_columns.join(", ");
            notices.push(format!("{}: columns without a known meaning: {columns}", self.file));
        }
        if self.last_line_without_end {
            notices.push(format!(
                "{}: the last line has no line end: make sure that the file was not cut off",
                self.file
            ));
        }
        notices
    }
}

impl AssetReport {
    fn new(chain: ChainId, asset: Asset, sum: AssetSum) -> Self {
        let scored = scored_asset(AssetId { chain, asset });
        Self {
            asset: asset.text(chain),
            ticker: scored.map(|scored| scored.ticker),
            transfers: sum.transfers,
            amount: sum.amount.to_string(),
            units: scored.map(|scored| whole_units(sum.amount, scored.decimals)),
        }
    }
}

impl TransferReport {
    fn new(chain: ChainId, files: &TransferFiles, done: &IngestedTransfers) -> Self {
        let counts: &TransferCounts = files.counts();
        let mut assets: Vec<_> = counts.assets.iter().map(|(asset, sum)| (*asset, *sum)).collect();
        let is_unscored = |asset: Asset| scored_asset(AssetId { chain, asset }).is_none();
        assets.sort_by_key(|(asset, _)| (is_unscored(*asset), *asset));
        let unscored_tokens = assets.iter().filter(|(asset, _)| is_unscored(*asset)).count();
        let left_out = counts.left_out.iter();
        Self {
            blockchain: chain,
            files: files.files().map(FileReport::new).collect(),
            transfers: done.transfers,
            transactions: done.transactions,
            blocks: done.blocks,
            recorded_before: done.recorded_before,
            duplicates: counts.duplicates,
            kinds: counts.kinds.iter().map(|(kind, count)| (kind.as_str(), *count)).collect(),
            contract_facts: counts.contract_facts,
            reasons: left_out.clone().map(|(it, count)| (*count, it.explanation())).collect(),
            left_out: left_out.map(|(reason, count)| (reason.as_str(), *count)).collect(),
            transactions_without_initiator: counts.transactions_without_initiator,
            amounts_above_128_bits: counts.above_128_bits,
            unscored_tokens,
            assets: assets
                .into_iter()
                .map(|(asset, sum)| AssetReport::new(chain, asset, sum))
                .collect(),
            sums_match: counts.sums_match(),
            first_block: done.range.map(|(first, _)| first.into()),
            last_block: done.range.map(|(_, last)| last.into()),
            recorded: done.recorded.map(RecordedReport::from),
        }
    }

    fn text(&self) -> String {
        let chain = self.blockchain;
        let mut text = format!(
            "{chain}: {} in {} of {} recorded",
            counted(self.transfers, "transfer", "transfers"),
            counted(self.transactions, "transaction", "transactions"),
            counted(self.blocks, "block", "blocks"),
        );
        let mut line = |it: String| {
            let _ = write!(text, "\n  {it}");
        };
        for file in &self.files {
            let rows = counted(file.rows, "row", "rows");
            let sorted = if file.sorted_in_memory { ", sorted by block" } else { "" };
            line(format!("{}: {rows} of {}{sorted}", file.file, file.form));
        }
        if self.recorded_before > 0 {
            let count = counted(self.recorded_before, "transfer", "transfers");
            line(format!("recorded before: {count}"));
        }
        if self.duplicates > 0 {
            line(counted(self.duplicates, "repeated row", "repeated rows"));
        }
        let kinds: Vec<_> =
            self.kinds.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        if !kinds.is_empty() {
            line(format!("kinds: {}", kinds.join(", ")));
        }
        if self.contract_facts > 0 {
            line(counted(self.contract_facts, "fact about contracts", "facts about contracts"));
        }
        for (count, reason) in &self.reasons {
            line(format!("left out: {count} ({reason})"));
        }
        for asset in &self.assets {
            if let (Some(ticker), Some(units)) = (asset.ticker, &asset.units) {
                let count = counted(asset.transfers, "transfer", "transfers");
                line(format!("{units} {ticker} in {count} ({})", asset.asset));
            }
        }
        if self.unscored_tokens > 0 {
            let count = u64::try_from(self.unscored_tokens).unwrap_or(u64::MAX);
            let tokens = counted(count, "token that is", "tokens that are");
            line(format!("{tokens} not scored: recorded and counted"));
        }
        if self.amounts_above_128_bits > 0 {
            let count = counted(self.amounts_above_128_bits, "amount", "amounts");
            line(format!("{count} above 128 bits: shown, and no part of any balance"));
        }
        if self.transactions_without_initiator > 0 {
            let count = counted(self.transactions_without_initiator, "transaction", "transactions");
            line(format!("{count} without an initiator: what it asked for is not assessed"));
        }
        line("the sums equal those of the rows".to_owned());
        if let Some(recorded) = &self.recorded {
            line(format!(
                "now recorded: {}, blocks {} to {}",
                counted(recorded.transfers, "transfer", "transfers"),
                recorded.first_block.height,
                recorded.latest_block.height
            ));
        }
        text
    }
}
