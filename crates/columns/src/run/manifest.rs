//! The list of all runs and of unfinished merges: one record of the graph.

use crate::{
    ColumnsError,
    bytes::{ByteReader, put_varint},
};

use super::RunKind;

/// Distance of the numbers of a draft's runs from those of the runs beside it.
const DRAFT_DISTANCE: u32 = 1 << 14;
/// Numbers of runs from which on no draft is begun.
const MOST_NUMBERS: u32 = u32::MAX / 2;

/// A run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run<K> {
    pub(super) kind: K,
    pub(super) id: u32,
    /// Number of merges that the run's entries went through.
    pub(super) level: u32,
    pub(super) entries: u64,
    pub(super) pages: u64,
}

/// An unfinished merge. Readers read the input runs of a merge until the merge is finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Merge<K> {
    pub(super) inputs: Vec<u32>,
    /// The output run, as far as this run is written.
    pub(super) output: Run<K>,
    /// Key of the first entry that is not written yet.
    pub(super) resume: Vec<u8>,
}

/// All runs and merges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunManifest<K> {
    pub(super) next_id: u32,
    pub(super) runs: Vec<Run<K>>,
    pub(super) merges: Vec<Merge<K>>,
    /// Runs that were merged and are being deleted.
    pub(super) dropped: Vec<(K, u32)>,
    /// Number of pages that merges between batches are to write.
    pub(super) owed: u64,
}

impl<K> Default for RunManifest<K> {
    fn default() -> Self {
        Self { next_id: 0, runs: Vec::new(), merges: Vec::new(), dropped: Vec::new(), owed: 0 }
    }
}

impl<K: RunKind> RunManifest<K> {
    /// The runs of a kind, oldest first.
    pub(super) fn of_kind(&self, kind: K) -> impl DoubleEndedIterator<Item = &Run<K>> {
        self.runs.iter().filter(move |run| run.kind == kind)
    }

    /// Number of entries of some runs together.
    pub(super) fn entries_of(&self, ids: &[u32]) -> u64 {
        self.runs.iter().filter(|run| ids.contains(&run.id)).map(|run| run.entries).sum()
    }

    pub(super) fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    /// The manifest of a draft beside this one: its runs become runs of this one when the draft is complete. Numbers of runs
    /// do not meet, as long as fewer runs come meanwhile than [`Self::has_room_for`] tells.
    #[must_use]
    pub fn draft(&self) -> Self {
        Self { next_id: self.next_id.saturating_add(DRAFT_DISTANCE), ..Self::default() }
    }

    /// False if so many runs were written that their numbers would not suffice for a draft.
    #[must_use]
    pub const fn can_draft(&self) -> bool {
        self.next_id < MOST_NUMBERS
    }

    /// Takes the runs of a kind out, so that merges leave them alone. [`Self::put_back`] puts them back.
    #[must_use]
    pub fn take_kind(&mut self, kind: K) -> Self {
        let taken = self.runs.extract_if(.., |run| run.kind == kind).collect();
        Self { runs: taken, ..Self::default() }
    }

    /// Puts runs back that were taken out.
    pub fn put_back(&mut self, taken: Self) {
        self.runs.extend(taken.runs);
    }

    /// False if the numbers of new runs came too close to those of a draft.
    #[must_use]
    pub fn has_room_for(&self, draft: &Self) -> bool {
        let first = draft.runs.iter().map(|run| run.id).chain(draft.dropped.iter().map(|it| it.1));
        let first = first.min().unwrap_or(draft.next_id);
        self.next_id.saturating_add(DRAFT_DISTANCE / 2) < first
    }

    /// The runs together with those of a draft, which are newer.
    #[must_use]
    pub fn with(&self, draft: &Self) -> Self {
        let mut all = self.clone();
        all.adopt(draft.clone());
        all
    }

    /// Takes the runs of a draft as the newest ones.
    pub fn adopt(&mut self, draft: Self) {
        let unfinished = draft.merges.iter().map(|merge| (merge.output.kind, merge.output.id));
        self.dropped.extend(unfinished.chain(draft.dropped.iter().copied()));
        self.runs.extend(draft.runs.into_iter().map(|run| Run { level: 0, ..run }));
        self.next_id = self.next_id.max(draft.next_id);
    }

    /// Deletes the runs of a draft with the next merges.
    pub fn discard(&mut self, draft: &Self) {
        let runs = draft.runs.iter().map(|run| (run.kind, run.id));
        let unfinished = draft.merges.iter().map(|merge| (merge.output.kind, merge.output.id));
        self.dropped.extend(runs.chain(unfinished).chain(draft.dropped.iter().copied()));
        self.next_id = self.next_id.max(draft.next_id);
    }

    /// Encodes the record.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let put_run = |bytes: &mut Vec<u8>, run: &Run<K>| {
            for part in [
                u64::from(run.kind.number()),
                run.id.into(),
                run.level.into(),
                run.entries,
                run.pages,
            ] {
                put_varint(bytes, part);
            }
        };
        put_varint(&mut bytes, self.next_id.into());
        put_varint(&mut bytes, self.runs.len() as u64);
        self.runs.iter().for_each(|run| put_run(&mut bytes, run));
        put_varint(&mut bytes, self.merges.len() as u64);
        for merge in &self.merges {
            put_run(&mut bytes, &merge.output);
            put_varint(&mut bytes, merge.inputs.len() as u64);
            merge.inputs.iter().for_each(|id| put_varint(&mut bytes, (*id).into()));
            put_varint(&mut bytes, merge.resume.len() as u64);
            bytes.extend_from_slice(&merge.resume);
        }
        put_varint(&mut bytes, self.dropped.len() as u64);
        for (kind, id) in &self.dropped {
            put_varint(&mut bytes, kind.number().into());
            put_varint(&mut bytes, (*id).into());
        }
        put_varint(&mut bytes, self.owed);
        bytes
    }

    /// Decodes the bytes of [`RunManifest::to_bytes`].
    ///
    /// # Errors
    ///
    /// Returns an error if the record is damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ColumnsError> {
        Self::parse(bytes).ok_or_else(|| ColumnsError::damaged("meta", "its runs"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reading = ByteReader(bytes);
        let id = |reading: &mut ByteReader<'_>| u32::try_from(reading.varint()?).ok();
        let kind = |reading: &mut ByteReader<'_>| {
            let number = reading.varint()?;
            K::ALL.iter().find(|kind| u64::from(kind.number()) == number).copied()
        };
        let run = |reading: &mut ByteReader<'_>| {
            Some(Run {
                kind: kind(reading)?,
                id: id(reading)?,
                level: id(reading)?,
                entries: reading.varint()?,
                pages: reading.varint()?,
            })
        };
        let next_id = id(&mut reading)?;
        let mut manifest = Self { next_id, ..Self::default() };
        for _ in 0..reading.varint()? {
            manifest.runs.push(run(&mut reading)?);
        }
        for _ in 0..reading.varint()? {
            let output = run(&mut reading)?;
            let mut inputs = Vec::new();
            for _ in 0..reading.varint()? {
                inputs.push(id(&mut reading)?);
            }
            let length = usize::try_from(reading.varint()?).ok()?;
            let resume = reading.take(length)?.to_vec();
            manifest.merges.push(Merge { inputs, output, resume });
        }
        for _ in 0..reading.varint()? {
            let kind = kind(&mut reading)?;
            manifest.dropped.push((kind, id(&mut reading)?));
        }
        // Records of earlier programs end here.
        if !reading.0.is_empty() {
            manifest.owed = reading.varint()?;
        }
        Some(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::TestKind, *};

    #[test]
    fn a_manifest_is_read_back() {
        let run = |kind, id| Run { kind, id, level: 2, entries: 1 << 40, pages: 77 };
        let manifest = RunManifest {
            next_id: 900,
            runs: TestKind::ALL.iter().zip(1..).map(|(kind, id)| run(*kind, id)).collect(),
            merges: vec![Merge {
                inputs: vec![1, 2],
                output: run(TestKind::Listed, 800),
                resume: vec![1, 0, 255],
            }],
            dropped: vec![(TestKind::Found, 3)],
            owed: 300,
        };
        let bytes = manifest.to_bytes();
        assert_eq!(RunManifest::from_bytes(&bytes).unwrap(), manifest);
        assert!(RunManifest::<TestKind>::from_bytes(&bytes[..bytes.len() - 1]).is_err());
        // A record of an earlier program has no work that is due.
        let earlier = RunManifest::from_bytes(&bytes[..bytes.len() - 2]).unwrap();
        assert_eq!(earlier, RunManifest { owed: 0, ..manifest });
    }
}
