//! Ingest into the graphs of account chains.

use std::{sync::Arc, thread, time::Duration};

use assay_address::ChainId;
use assay_engine::ledger::BlockRef;
use assay_graph::{
    EmbeddedGraphs, GraphError, GraphTip, WriterOptions,
    account::{AccountBlock, AccountEnds, AccountGraphWriter, SourceNotes},
    blocking,
};
use jiff::{SignedDuration, Timestamp};

use super::{
    IngestError, IngestObserver,
    family::{GraphFamily, IngestGraph, IngestSource},
};
use crate::{
    SourceError,
    account_source::{AccountBlockSource, Tracer},
};

/// Pause between two attempts while an update of the ledgers changes the graph, and number of attempts: a slice of an update
/// takes about a second.
const PAUSE: Duration = Duration::from_millis(5);
const ATTEMPTS: u32 = 2000;

/// Time after which a follower looks for newer prices.
const PRICES_LAST: SignedDuration = SignedDuration::from_mins(10);

/// The parties at which money ends, as lists and labels name them when it is called.
pub type PresentEnds<'e> = dyn Fn() -> AccountEnds + Send + Sync + 'e;

/// The graphs of account chains.
pub(super) struct AccountGraphs<'g> {
    pub(super) graphs: &'g EmbeddedGraphs,
    /// The ends for the ledgers of a new graph.
    pub(super) ends: &'g PresentEnds<'g>,
}

impl<'g> GraphFamily for AccountGraphs<'g> {
    type Graph = AccountGraph<'g>;

    fn all(&self) -> &EmbeddedGraphs {
        self.graphs
    }

    async fn tip(&self, chain: ChainId) -> Result<Option<GraphTip>, GraphError> {
        let snapshot = self.graphs.account_snapshot(chain)?;
        snapshot.map(|snapshot| snapshot.graph_tip()).transpose()
    }

    fn open(&self, chain: ChainId, options: WriterOptions) -> Result<AccountGraph<'g>, GraphError> {
        let (graphs, ends) = (self.graphs, self.ends);
        let open = || graphs.account_writer(chain, options.sample, &ends());
        let mut writer = blocking(|| patiently(open))?;
        if let Some(GraphTip { start, .. }) = writer.tip()
            && start != options.start
        {
            return Err(GraphError::OtherStart { chain, start, wanted: options.start });
        }
        let notes = writer.source_notes()?;
        writer.release();
        let Self { graphs, ends } = *self;
        let (sample, priced_at) = (options.sample, Timestamp::MIN);
        Ok(AccountGraph { graphs, ends, chain, sample, writer, notes, priced_at })
    }
}

/// Repeats work while another program changes the graph.
fn patiently<T>(mut work: impl FnMut() -> Result<T, GraphError>) -> Result<T, GraphError> {
    for _ in 1..ATTEMPTS {
        match work() {
            Err(error) if error.is_busy() => thread::sleep(PAUSE),
            done => return done,
        }
    }
    work()
}

/// A graph of an account chain. Other programs may change it between two batches.
pub(super) struct AccountGraph<'g> {
    graphs: &'g EmbeddedGraphs,
    ends: &'g PresentEnds<'g>,
    chain: ChainId,
    sample: bool,
    writer: AccountGraphWriter,
    notes: SourceNotes,
    /// Time at which the writer got the present prices.
    priced_at: Timestamp,
}

impl AccountGraph<'_> {
    /// Changes the graph. A graph whose ledgers were computed anew elsewhere meanwhile is opened again.
    fn change<T>(
        &mut self,
        change: impl FnOnce(&mut AccountGraphWriter) -> Result<T, GraphError>,
    ) -> Result<T, GraphError> {
        blocking(|| {
            match patiently(|| self.writer.hold()) {
                Err(GraphError::Conflict(_)) => {
                    let (chain, sample) = (self.chain, self.sample);
                    let open = || self.graphs.account_writer(chain, sample, &(self.ends)());
                    self.writer = patiently(open)?;
                }
                held => held?,
            }
            let changed = change(&mut self.writer);
            self.writer.release();
            changed
        })
    }

    fn keep(&mut self, notes: SourceNotes, at: Timestamp) -> Result<(), GraphError> {
        self.change(|writer| writer.confirm(notes, at))?;
        self.notes = notes;
        Ok(())
    }
}

impl IngestSource<AccountBlock> for dyn AccountBlockSource {
    fn stated(&mut self) -> Result<SourceNotes, SourceError> {
        let finalized = self.finalized()?.map(|block| block.height);
        let tracer = self.abilities().tracer;
        let has_internal_transfers = tracer.map(|tracer| tracer != Tracer::None);
        Ok(SourceNotes { finalized, has_internal_transfers })
    }
}

impl IngestGraph for AccountGraph<'_> {
    type Block = AccountBlock;
    type Source = dyn AccountBlockSource;

    const BATCH_ENTRIES: usize = 150_000;
    const HEADERS_PROVE_WORK: bool = false;

    fn newest(&self) -> Option<BlockRef> {
        self.writer.tip().map(|tip| tip.block)
    }

    fn highest(&self) -> u64 {
        self.writer.highest()
    }

    fn finalized(&self) -> Option<u64> {
        self.notes.finalized
    }

    async fn blocks(&mut self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError> {
        self.writer.blocks(from, to)
    }

    fn note(&mut self, stated: SourceNotes) -> Result<(), GraphError> {
        let notes = noted(self.notes, stated, self.newest());
        if notes == self.notes {
            return Ok(());
        }
        // The time of confirmation stays.
        self.keep(notes, Timestamp::MIN)
    }

    fn append(
        &mut self,
        blocks: Vec<AccountBlock>,
        reorganizable_from: u64,
        at: Timestamp,
    ) -> Result<(), IngestError> {
        if at.duration_since(self.priced_at) > PRICES_LAST {
            let prices = Arc::clone((self.ends)().prices());
            self.writer.set_prices(prices);
            self.priced_at = at;
        }
        Ok(self.change(|writer| writer.append(&blocks, reorganizable_from, at))?)
    }

    fn roll_back(&mut self, height: u64) -> Result<(), GraphError> {
        self.change(|writer| writer.roll_back(height))?;
        self.note(self.notes)
    }

    fn confirm(&mut self, at: Timestamp) -> Result<(), GraphError> {
        self.keep(self.notes, at)
    }

    fn complete(&mut self, _: &dyn IngestObserver) -> Result<(), GraphError> {
        Ok(())
    }
}

/// The notes of a graph with the newest block `newest`, after a source that has this block states more.
fn noted(known: SourceNotes, stated: SourceNotes, newest: Option<BlockRef>) -> SourceNotes {
    let up_to_newest = |height: u64| newest.map(|newest| height.min(newest.height));
    let finalized = known.finalized.max(stated.finalized).and_then(up_to_newest);
    let [before, now] = [known, stated].map(|notes| notes.has_internal_transfers);
    let has_internal_transfers = match (before, now, newest) {
        (before, None, _) => before,
        // One source that does not read them is enough for a gap.
        (Some(before), Some(now), Some(_)) => Some(before && now),
        // Recorded blocks of which nobody stated it, as those of files, stay so whatever follows them.
        (None, Some(_), Some(_)) => None,
        (_, now, _) => now,
    };
    SourceNotes { finalized, has_internal_transfers }
}
