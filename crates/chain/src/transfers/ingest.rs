//! Recording of transfer files: the files are read twice, so that a file that is refused leaves nothing behind.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    ops::ControlFlow,
    path::PathBuf,
};

use assay_address::ChainId;
use assay_engine::{
    account::{AccountTransaction, Transfer},
    ledger::BlockRef,
};
use assay_graph::{
    EmbeddedGraphs, GraphError,
    account::{
        AccountBlock, AccountEnds, AccountGraphWriter, AccountSnapshot, RecordedBlock,
        RecordedState,
    },
};
use assay_input::Encoding;

use super::{AssetSums, FileBlock, RowOrigin, TransferFileError, TransferFiles};

/// Number of transfers and transactions from which on blocks are written together: large runs are merged less often, and a
/// batch takes less than half a second.
const BATCH: usize = 150_000;

/// Reason why transfers were not recorded.
#[derive(Debug, thiserror::Error)]
pub enum IngestTransfersError {
    /// A file is refused.
    #[error("{0}; nothing was recorded")]
    File(#[from] TransferFileError),
    /// Standard input is refused after some of its blocks were recorded.
    #[error("{error}; blocks up to {height} are recorded")]
    Rest {
        /// The error.
        error: TransferFileError,
        /// The newest recorded block.
        height: u64,
    },
    /// The recorded transfers cannot be read or written.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The sums of the transfers differ from those of the rows.
    #[error(
        "the sums of the transfers differ from those of the rows of the files: a file changed while it was read, or the \
         program has a fault, which we ask you to report; blocks that are recorded stay"
    )]
    OtherSums,
    /// The ingest was stopped.
    #[error("stopped: complete blocks are recorded; run the same command again to go on")]
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

/// Called with each height and the number of transfers so far; `Break` stops the ingest.
pub type IngestProgress<'r> = dyn FnMut(u64, u64) -> ControlFlow<()> + 'r;

/// Records the transfers of files behind the recorded ones. Blocks up to the newest recorded one may stand in the files
/// again, as long as the files agree with what is recorded. The ledgers of a chain without recorded transfers are computed
/// for `ends`. Returns the files too, with their counts.
///
/// # Errors
///
/// Returns an error if a row cannot be read, or states a transfer that is not recorded in a block that is: nothing is
/// recorded then. Standard input is read once, so that its blocks before such a row stay recorded.
pub fn ingest_transfers(
    graphs: &EmbeddedGraphs,
    sources: TransferSources<'_>,
    ends: &AccountEnds,
    reached: &mut IngestProgress<'_>,
) -> Result<(IngestedTransfers, TransferFiles), IngestTransfersError> {
    let TransferSources { chain, paths, encoding, sample } = sources;
    // A pipe can be read once.
    let is_file = |path: &PathBuf| fs::metadata(path).map_or(true, |found| found.is_file());
    let is_stream = paths.iter().any(|path| path.as_os_str() == "-" || !is_file(path));
    let known = graphs.account_snapshot(chain)?.map(|known| *known.recorded());
    let mut unsorted = BTreeSet::new();
    let mut checked = None;
    while !is_stream && checked.is_none() {
        let mut files = TransferFiles::open(chain, paths, encoding, &unsorted)?;
        let mut pass = Pass::new(graphs.account_snapshot(chain)?);
        match pass.all(&mut files, None, &mut |height, _| reached(height, 0)) {
            Ok(()) => checked = Some((pass, files)),
            Err(IngestTransfersError::File(TransferFileError::Unsorted { index, .. }))
                if unsorted.insert(index) => {}
            Err(error) => return Err(error),
        }
    }
    let checked = match checked {
        Some((_, files)) if !files.counts().sums_match() => {
            return Err(IngestTransfersError::OtherSums);
        }
        Some((pass, files)) if pass.done.blocks == 0 && files.lookalike_symbols().is_empty() => {
            return Ok((IngestedTransfers { recorded: known, ..pass.done }, files));
        }
        checked => checked.map(|(pass, _)| (pass.done, pass.sums)),
    };
    let mut writer = graphs.account_writer(chain, sample, ends)?;
    if writer.recorded() != known {
        return Err(GraphError::Conflict(chain).into());
    }
    let mut files = TransferFiles::open(chain, paths, encoding, &unsorted)?;
    let mut pass = Pass::new(graphs.account_snapshot(chain)?);
    pass.all(&mut files, Some(&mut writer), reached)?;
    let is_as_checked = checked.is_none_or(|checked| checked == (pass.done, pass.sums));
    if !is_as_checked || !files.counts().sums_match() {
        return Err(IngestTransfersError::OtherSums);
    }
    writer.note_lookalike_symbols(&files.lookalike_symbols())?;
    Ok((IngestedTransfers { recorded: writer.recorded(), ..pass.done }, files))
}

/// One reading of the files.
struct Pass {
    tip: Option<u64>,
    /// The recorded blocks, until the files go beyond them: a state that is held keeps its pages from being used again.
    recorded: Option<RecordedComparison>,
    done: IngestedTransfers,
    sums: AssetSums,
    batch: Batch,
}

/// Blocks that are to be written together.
#[derive(Default)]
struct Batch {
    blocks: Vec<AccountBlock>,
    /// Number of transfers and transactions.
    rows: usize,
}

impl Pass {
    fn new(known: Option<AccountSnapshot>) -> Self {
        let recorded = known.as_ref().map(|known| *known.recorded());
        Self {
            tip: recorded.map(|recorded| recorded.tip.height),
            recorded: known.map(RecordedComparison),
            done: IngestedTransfers {
                before: recorded.map_or(0, |recorded| recorded.transfers),
                ..IngestedTransfers::default()
            },
            sums: AssetSums::default(),
            batch: Batch::default(),
        }
    }

    /// Writes the blocks of the batch, if there is a writer.
    fn write(&mut self, writer: &mut Option<&mut AccountGraphWriter>) -> Result<(), GraphError> {
        let batch = std::mem::take(&mut self.batch).blocks;
        if let Some((writer, last)) = writer.as_mut().zip(batch.last()) {
            // A file is no source that replaces blocks.
            let settled = last.reference.height.saturating_add(1);
            writer.append(&batch, settled, last.reference.time)?;
        }
        Ok(())
    }

    /// Reads all blocks, and writes them if there is a writer.
    fn all(
        &mut self,
        files: &mut TransferFiles,
        mut writer: Option<&mut AccountGraphWriter>,
        reached: &mut IngestProgress<'_>,
    ) -> Result<(), IngestTransfersError> {
        loop {
            let next = files.next_block().map_err(IngestTransfersError::File);
            let added = next.and_then(|block| match block {
                Some(block) => self.add(files, block).map(Some),
                None => Ok(None),
            });
            let height = match added {
                Ok(height) => height,
                Err(error) => {
                    self.write(&mut writer)?;
                    let is_before =
                        |recorded: &RecordedState| Some(recorded.tip.height) != self.tip;
                    let recorded = writer.and_then(|writer| writer.recorded()).filter(is_before);
                    return Err(match (error, recorded) {
                        (IngestTransfersError::File(error), Some(recorded)) => {
                            IngestTransfersError::Rest { error, height: recorded.tip.height }
                        }
                        (error, _) => error,
                    });
                }
            };
            if height.is_none() || self.batch.rows >= BATCH {
                self.write(&mut writer)?;
            }
            let Some(height) = height else { return Ok(()) };
            if reached(height, self.done.transfers).is_break() {
                self.write(&mut writer)?;
                return Err(IngestTransfersError::Stopped);
            }
        }
    }

    /// Adds a block, and returns its height. A block that is recorded is compared.
    fn add(
        &mut self,
        files: &TransferFiles,
        block: FileBlock,
    ) -> Result<u64, IngestTransfersError> {
        let (height, time) = (block.height, block.time);
        let reference = RecordedBlock { height, time };
        let done = &mut self.done;
        done.range = Some((done.range.map_or(reference, |(first, _)| first), reference));
        let transfers: usize = block.transactions.iter().map(|it| it.transfers.len()).sum();
        if self.tip.is_some_and(|tip| height <= tip) {
            let recorded = self.recorded.as_ref();
            let unrecorded = recorded.map(|it| it.first_unrecorded(reference, &block));
            if let Some(origin) = unrecorded.transpose()?.flatten() {
                return Err(files.row_error(origin, already_recorded(height, self.tip)).into());
            }
            done.recorded_before += count_of(transfers);
            return Ok(height);
        }
        self.recorded = None;
        let transactions = block.transactions;
        done.blocks += 1;
        done.transactions += count_of(transactions.len());
        done.transfers += count_of(transfers);
        for transfer in transactions.iter().flat_map(|transaction| &transaction.transfers) {
            self.sums.entry(transfer.asset).or_default().add(transfer.amount);
        }
        self.batch.rows += transfers + transactions.len();
        let reference = BlockRef { height, hash: [0; 32], parent: [0; 32], time };
        self.batch.blocks.push(AccountBlock::new(reference, transactions));
        Ok(height)
    }
}

fn count_of(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn already_recorded(height: u64, tip: Option<u64>) -> String {
    format!(
        "block {height} is not above block {}, the newest recorded one, and this transfer is not recorded: give all files \
         of the same blocks in one run (to begin anew, delete the chain's folder of recorded transfers)",
        tip.unwrap_or_default()
    )
}

/// Comparison of the blocks of files with the recorded ones.
struct RecordedComparison(AccountSnapshot);

impl RecordedComparison {
    /// The row of the first transfer or fact that is not recorded.
    fn first_unrecorded(
        &self,
        block: RecordedBlock,
        FileBlock { transactions, origins, fact_origins, .. }: &FileBlock,
    ) -> Result<Option<RowOrigin>, GraphError> {
        let known = self.0.blocks_from(block.height).next().transpose()?;
        let known = known.as_ref().filter(|(recorded, _)| *recorded == block);
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
            it.contract_facts.clone().into_iter().map(move |event| (id, event))
        };
        let recorded: HashSet<_> = known.iter().flat_map(named).collect();
        let stated = transactions.iter().zip(fact_origins);
        let mut stated = stated.flat_map(|(it, origins)| named(it).zip(origins));
        let unrecorded = stated.find(|(event, _)| !recorded.contains(event));
        Ok(unrecorded.map(|(_, origin)| *origin))
    }
}
