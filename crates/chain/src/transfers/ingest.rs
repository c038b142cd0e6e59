//! Recording of transfer files: all of them or nothing.

use std::{
    collections::{BTreeSet, HashSet},
    ops::ControlFlow,
    path::PathBuf,
};

use assay_address::ChainId;
use assay_engine::account::{AccountTransaction, Transfer};
use assay_graph::{
    EmbeddedGraphs, GraphError,
    account::{RecordedBlock, RecordedBlocks, RecordedState, RecordedTransfers},
};

use assay_input::Encoding;

use super::{AssetSums, FileBlock, RowOrigin, TransferFileError, TransferFiles};

/// Reason why transfers were not recorded.
#[derive(Debug, thiserror::Error)]
pub enum IngestTransfersError {
    /// A file is refused.
    #[error("{0}; nothing was recorded")]
    File(#[from] TransferFileError),
    /// The recorded transfers cannot be read or written.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The sums of the transfers differ from those of the rows.
    #[error(
        "the sums of the transfers differ from those of the rows of the files: nothing was recorded; this is a fault of \
         the program, which we ask you to report"
    )]
    OtherSums,
    /// The ingest was stopped.
    #[error("stopped: nothing was recorded")]
    Stopped,
}

/// Result of an ingest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngestedTransfers {
    /// Description of all recorded transfers; `None` without blocks.
    pub recorded: Option<RecordedState>,
    /// Number of transfers before the ingest.
    pub before: u64,
    /// Number of blocks that were added.
    pub blocks: u64,
    /// Number of transactions that were added.
    pub transactions: u64,
    /// Number of transfers that were added.
    pub transfers: u64,
    /// Number of transfers that were recorded before.
    pub recorded_before: u64,
    /// The first and the last block of the files.
    pub range: Option<(RecordedBlock, RecordedBlock)>,
}

/// Files to ingest.
#[derive(Clone, Copy, Debug)]
pub struct TransferSources<'a> {
    /// The chain.
    pub chain: ChainId,
    /// The files; `-` is standard input.
    pub paths: &'a [PathBuf],
    /// Encoding of texts that state none by a byte order mark.
    pub encoding: Option<Encoding>,
    /// True if the files hold demo data.
    pub sample: bool,
}

/// Records the transfers of files behind the recorded ones. Blocks up to the newest recorded one may stand in the files
/// again, as long as the files agree with what is recorded. `reached` receives each height and the number of
/// transfers so far; `Break` stops the ingest. Returns the files too, with their counts.
///
/// # Errors
///
/// Returns an error if a row cannot be read, or states a transfer that is not recorded in a block that is: nothing is
/// recorded then.
pub fn ingest_transfers(
    graphs: &EmbeddedGraphs,
    sources: TransferSources<'_>,
    reached: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<(IngestedTransfers, TransferFiles), IngestTransfersError> {
    let TransferSources { chain, paths, encoding, sample } = sources;
    let mut unsorted = BTreeSet::new();
    loop {
        let mut files = TransferFiles::open(chain, paths, encoding, &unsorted)?;
        match ingest(graphs, &mut files, sample, reached) {
            Ok(done) => return Ok((done, files)),
            // Standard input cannot be read again.
            Err(IngestTransfersError::File(TransferFileError::Unsorted { index, .. }))
                if paths.get(index).is_some_and(|path| path.as_os_str() != "-")
                    && unsorted.insert(index) => {}
            Err(error) => return Err(error),
        }
    }
}

fn ingest(
    graphs: &EmbeddedGraphs,
    files: &mut TransferFiles,
    sample: bool,
    reached: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<IngestedTransfers, IngestTransfersError> {
    let mut writer = graphs.transfer_writer(files.chain(), sample)?;
    let before = writer.before().cloned();
    let tip = before.as_ref().map(|before| before.state().tip.height);
    let mut recorded =
        RecordedComparison { blocks: before.as_ref().map(RecordedTransfers::blocks), block: None };
    let mut done = IngestedTransfers {
        before: before.as_ref().map_or(0, |before| before.state().transfers),
        ..IngestedTransfers::default()
    };
    let mut sums = AssetSums::default();
    while let Some(block) = files.next_block()? {
        let FileBlock { height, time, transactions, .. } = &block;
        let reference = RecordedBlock { height: *height, time: *time };
        done.range = Some((done.range.map_or(reference, |(first, _)| first), reference));
        if tip.is_some_and(|tip| *height <= tip) {
            let unrecorded = recorded.first_unrecorded(reference, &block)?;
            if let Some(origin) = unrecorded {
                return Err(files.row_error(origin, already_recorded(*height, tip)).into());
            }
            let count = transactions.iter().map(|transaction| transaction.transfers.len()).sum();
            done.recorded_before += count_of(count);
            continue;
        }
        writer.append(reference, transactions)?;
        done.blocks += 1;
        done.transactions += count_of(transactions.len());
        let added = transactions.iter().map(|transaction| transaction.transfers.len()).sum();
        done.transfers += count_of(added);
        for transfer in transactions.iter().flat_map(|transaction| &transaction.transfers) {
            sums.entry(transfer.asset).or_default().add(transfer.amount);
        }
        if reached(*height, done.transfers).is_break() {
            return Err(IngestTransfersError::Stopped);
        }
    }
    let mut written = AssetSums::default();
    for block in writer.appended()? {
        let (_, transactions) = block?;
        for transfer in transactions.iter().flat_map(|transaction| &transaction.transfers) {
            written.entry(transfer.asset).or_default().add(transfer.amount);
        }
    }
    if written != sums || !files.counts().sums_match() {
        return Err(IngestTransfersError::OtherSums);
    }
    writer.note_lookalike_symbols(files.lookalike_symbols())?;
    done.recorded = writer.commit()?;
    Ok(done)
}

fn count_of(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn already_recorded(height: u64, tip: Option<u64>) -> String {
    format!(
        "block {height} is not above block {}, the newest recorded one, and this transfer is not recorded: give all files \
         of the same blocks in one run (to begin anew, delete the chain's file of recorded transfers)",
        tip.unwrap_or_default()
    )
}

/// Comparison of the blocks of files with the recorded ones, both in the order of the chain.
struct RecordedComparison {
    blocks: Option<RecordedBlocks>,
    block: Option<(RecordedBlock, Vec<AccountTransaction>)>,
}

impl RecordedComparison {
    /// The row of the first transfer or beneficiary that is not recorded.
    fn first_unrecorded(
        &mut self,
        block: RecordedBlock,
        FileBlock { transactions, origins, beneficiary_origins, .. }: &FileBlock,
    ) -> Result<Option<RowOrigin>, GraphError> {
        while self.block.as_ref().is_none_or(|(recorded, _)| recorded.height < block.height) {
            match self.blocks.as_mut().and_then(Iterator::next) {
                Some(next) => self.block = Some(next?),
                None => break,
            }
        }
        let known = self.block.as_ref().filter(|(recorded, _)| *recorded == block);
        let known = known.map(|(_, transactions)| transactions.as_slice()).unwrap_or_default();
        let content = |transaction: &AccountTransaction, transfer: &Transfer| {
            let Transfer { kind, asset, from, to, amount, place } = transfer.clone();
            // Files that state a published place number their rows anew with each set of files.
            let index = if place.published.is_some() { 0 } else { place.index };
            (transaction.id, kind, asset, from, to, amount, place.published, index)
        };
        let recorded: HashSet<_> = known
            .iter()
            .flat_map(|it| it.transfers.iter().map(move |transfer| content(it, transfer)))
            .collect();
        let stated = transactions.iter().zip(origins).flat_map(|(transaction, origins)| {
            transaction
                .transfers
                .iter()
                .zip(origins)
                .map(move |(transfer, origin)| (content(transaction, transfer), *origin))
        });
        let mut unrecorded = stated.filter(|(content, _)| !recorded.contains(content));
        if let Some((_, origin)) = unrecorded.next() {
            return Ok(Some(origin));
        }
        let named = |it: &AccountTransaction| {
            let id = it.id;
            it.beneficiaries.clone().into_iter().map(move |event| (id, event))
        };
        let recorded: HashSet<_> = known.iter().flat_map(named).collect();
        let stated = transactions.iter().zip(beneficiary_origins);
        let mut stated = stated.flat_map(|(it, origins)| named(it).zip(origins));
        let unrecorded = stated.find(|(event, _)| !recorded.contains(event));
        Ok(unrecorded.map(|(_, origin)| *origin))
    }
}
