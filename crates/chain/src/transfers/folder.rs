//! Following of a folder with files of transfers: what is put into the folder is recorded, in the order of the names.

use std::{
    collections::BTreeMap,
    fs, io,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use assay_address::ChainId;
use assay_graph::{EmbeddedGraphs, account::AccountEnds};
use sha2::{Digest, Sha256};
use tokio::time::sleep;

use super::ingest::{IngestTransfersError, IngestedTransfers, TransferSources, ingest_transfers};
use crate::follow::IngestObserver;

/// Interval at which the folder is read. Files that changed between two readings are still being written.
const POLL: Duration = Duration::from_secs(2);
/// Pause after a failure.
const RESTART: Duration = Duration::from_secs(10);
/// Interval at which progress is reported.
const REPORT: Duration = Duration::from_secs(1);

/// A folder with files of a chain's transfers. Each file in it, and each folder in it with all of its files, is a *delivery*:
/// files that are recorded together, in blocks above those of the deliveries whose names come before. Names that begin with a
/// dot, and files that end in `.part` or `.tmp`, are ignored.
#[derive(Clone, Debug)]
pub struct TransferFolder {
    /// The chain.
    pub chain: ChainId,
    /// The folder.
    pub folder: PathBuf,
    /// True if the files hold demo data.
    pub sample: bool,
}

/// A delivery, with its files.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Delivery {
    files: Vec<PathBuf>,
    /// Digest of the names, sizes and times of the files.
    digest: String,
}

/// The deliveries of the last reading of the folder.
#[derive(Debug, Default)]
struct SeenDeliveries {
    all: BTreeMap<String, Delivery>,
    /// A delivery that was refused, with the reason. It is read again once it changed.
    refused: Option<(Delivery, String)>,
}

/// Stops the reading of files once the following ends.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl TransferFolder {
    /// Records the deliveries until the task is aborted; tries again after a failure. The ledgers of a chain without recorded
    /// transfers are computed for the ends that `ends` returns.
    pub async fn follow(
        &self,
        graphs: &Arc<EmbeddedGraphs>,
        ends: &(dyn Fn() -> AccountEnds + Send + Sync),
        observer: &dyn IngestObserver,
    ) {
        let mut seen = SeenDeliveries::default();
        let mut last_failure = None;
        loop {
            let step = self.step(graphs, ends, observer, &mut seen).await;
            let failure = step.err();
            if let Some(failure) = failure.as_ref().filter(|it| last_failure.as_ref() != Some(*it))
            {
                observer.notice(failure);
            }
            sleep(if failure.is_some() { RESTART } else { POLL }).await;
            last_failure = failure;
        }
    }

    /// Records the deliveries that are new and no longer change.
    async fn step(
        &self,
        graphs: &Arc<EmbeddedGraphs>,
        ends: &(dyn Fn() -> AccountEnds + Send + Sync),
        observer: &dyn IngestObserver,
        seen: &mut SeenDeliveries,
    ) -> Result<(), String> {
        let of_folder = |error: io::Error| format!("{}: {error}", self.folder.display());
        let found = deliveries(&self.folder).map_err(of_folder)?;
        let before = std::mem::replace(&mut seen.all, found.clone());
        let mut recorded = RecordedDeliveries::read(graphs, self.chain);
        for (name, delivery) in found {
            if recorded.0.get(&name) == Some(&delivery.digest) {
                continue;
            }
            if before.get(&name) != Some(&delivery) {
                // Deliveries with later names have later blocks.
                return Ok(());
            }
            if let Some((refused, failure)) = &seen.refused
                && *refused == delivery
            {
                return Err(failure.clone());
            }
            let done = self.record(graphs, delivery.files.clone(), ends(), observer).await;
            let done = done.map_err(|error| {
                let failure = format!("{name}: {error}");
                if matches!(error, IngestTransfersError::File(_)) {
                    seen.refused = Some((delivery.clone(), failure.clone()));
                }
                failure
            })?;
            if let Some(state) = done.recorded {
                let (height, transfers) = (state.tip.height, done.transfers);
                tracing::info!(chain = %self.chain, delivery = name, height, transfers, "transfers recorded");
                recorded.0.insert(name, delivery.digest);
                recorded.write(graphs, self.chain).map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    /// Records files on a thread of its own.
    async fn record(
        &self,
        graphs: &Arc<EmbeddedGraphs>,
        paths: Vec<PathBuf>,
        ends: AccountEnds,
        observer: &dyn IngestObserver,
    ) -> Result<IngestedTransfers, IngestTransfersError> {
        let stop = StopOnDrop(Arc::default());
        let (is_stopped, blocks) = (Arc::clone(&stop.0), Arc::new(AtomicU64::new(0)));
        let counted = Arc::clone(&blocks);
        let (graphs, chain, sample) = (Arc::clone(graphs), self.chain, self.sample);
        let mut work = tokio::task::spawn_blocking(move || {
            let mut reached = |_: u64, transfers: u64| {
                // The first reading only verifies.
                if transfers > 0 {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
                if is_stopped.load(Ordering::Relaxed) {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            };
            let sources = TransferSources { chain, paths: &paths, encoding: None, sample };
            ingest_transfers(&graphs, sources, &ends, &mut reached).map(|(done, _)| done)
        });
        loop {
            tokio::select! {
                done = &mut work => {
                    observer.reached(0, 0, blocks.swap(0, Ordering::Relaxed));
                    return done.unwrap_or(Err(IngestTransfersError::Stopped));
                }
                () = sleep(REPORT) => observer.reached(0, 0, blocks.swap(0, Ordering::Relaxed)),
            }
        }
    }
}

/// Reads the deliveries of a folder, by name.
fn deliveries(folder: &Path) -> io::Result<BTreeMap<String, Delivery>> {
    let mut found = BTreeMap::new();
    for (name, path) in entries(folder)? {
        let mut files = Vec::new();
        if path.is_dir() {
            files.extend(entries(&path)?.into_values().filter(|path| path.is_file()));
        } else {
            files.push(path);
        }
        if files.is_empty() {
            continue;
        }
        let mut digest = Sha256::new();
        for file in &files {
            let metadata = file.metadata()?;
            let modified = metadata.modified()?.duration_since(std::time::UNIX_EPOCH);
            let name = file.strip_prefix(folder).unwrap_or(file);
            digest.update(name.as_os_str().as_encoded_bytes());
            digest.update([0]);
            digest.update(metadata.len().to_be_bytes());
            digest.update(modified.unwrap_or_default().as_nanos().to_be_bytes());
        }
        found.insert(name, Delivery { files, digest: hex::encode(digest.finalize()) });
    }
    Ok(found)
}

/// Reads the entries of a folder that are complete, by name.
fn entries(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let is_partial = path.extension().is_some_and(|it| it == "part" || it == "tmp");
        if !name.starts_with('.') && !is_partial {
            found.insert(name.to_owned(), path);
        }
    }
    Ok(found)
}

/// The digests of the deliveries that are recorded, by name. They are kept beside the graph, and lost with it.
#[derive(Debug, Default)]
struct RecordedDeliveries(BTreeMap<String, String>);

impl RecordedDeliveries {
    fn read(graphs: &EmbeddedGraphs, chain: ChainId) -> Self {
        let text = fs::read_to_string(graphs.deliveries_path(chain)).unwrap_or_default();
        let line = |line: &str| {
            line.split_once(' ').map(|(digest, name)| (name.to_owned(), digest.to_owned()))
        };
        Self(text.lines().filter_map(line).collect())
    }

    fn write(&self, graphs: &EmbeddedGraphs, chain: ChainId) -> io::Result<()> {
        let path = graphs.deliveries_path(chain);
        let lines = self.0.iter().map(|(name, digest)| format!("{digest} {name}\n"));
        let beside = path.with_extension("new");
        fs::write(&beside, lines.collect::<String>())?;
        fs::rename(&beside, &path)
    }
}
