//! The list of all runs, and of the merges that are under way: one record of the graph.

use assay_mapped::Table;
use heed::RoTxn;

use super::{Filters, Hashed, read::Cursor};
use crate::{
    GraphError,
    error::damaged,
    utxo::bytes::{Reading, put_varint},
};

/// What runs hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::utxo) enum Kind {
    /// Transactions by their identifiers.
    Txid,
    /// Owners by their scripts.
    Script,
    /// Outputs by their owners.
    Received,
    /// Inputs by their owners.
    Sent,
    /// Statistics by owner.
    Statistics,
    /// Links of clusters by their parents.
    LinkTo,
}

impl Kind {
    pub(super) const ALL: [Self; 6] =
        [Self::Txid, Self::Script, Self::Received, Self::Sent, Self::Statistics, Self::LinkTo];

    pub(in crate::utxo) const fn number(self) -> u8 {
        match self {
            Self::Txid => 0,
            Self::Script => 1,
            Self::Received => 2,
            Self::Sent => 3,
            Self::Statistics => 4,
            Self::LinkTo => 5,
        }
    }

    fn from_number(number: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| u64::from(kind.number()) == number)
    }
}

/// A run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::utxo) struct Run {
    pub(in crate::utxo) kind: Kind,
    pub(in crate::utxo) id: u32,
    /// How often its entries were merged.
    pub(super) level: u32,
    pub(super) entries: u64,
    pub(super) pages: u64,
}

/// A merge that is under way. Its runs are read until it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Merge {
    pub(super) inputs: Vec<u32>,
    /// The run that it makes, as far as it is written.
    pub(super) output: Run,
    /// The key of the first entry that is not written yet.
    pub(super) resume: Vec<u8>,
}

/// All runs and merges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::utxo) struct Manifest {
    pub(super) next_id: u32,
    pub(super) runs: Vec<Run>,
    pub(super) merges: Vec<Merge>,
    /// Runs that were merged and are being deleted.
    pub(super) dropped: Vec<(Kind, u32)>,
}

impl Manifest {
    /// The runs of a kind, in the order in which they were made.
    pub(in crate::utxo) fn of_kind(&self, kind: Kind) -> impl DoubleEndedIterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.kind == kind)
    }

    /// Makes the filters of all runs; there are none yet.
    pub(in crate::utxo) fn fill_filters(
        &self,
        table: Table,
        txn: &RoTxn<'_>,
        filters: &mut Filters,
    ) -> Result<(), GraphError> {
        for run in self.of_kind(Kind::Txid).chain(self.of_kind(Kind::Script)) {
            if !filters.is_enabled() {
                return Ok(());
            }
            let mut filter = filters.begin(run.entries);
            let mut entries = Cursor::<Hashed>::open(txn, table, (run.kind, run.id), &[])?;
            while let Some(entry) = entries.peek() {
                if let Some(filter) = &mut filter {
                    filter.insert(entry.hash);
                }
                if run.kind == Kind::Script {
                    filters.note_script(entry.hash);
                }
                entries.advance()?;
            }
            if let Some(filter) = filter {
                filters.keep(run.id, filter);
            }
        }
        Ok(())
    }

    pub(super) fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    pub(in crate::utxo) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let put_run = |bytes: &mut Vec<u8>, run: &Run| {
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
        bytes
    }

    pub(in crate::utxo) fn from_bytes(bytes: &[u8]) -> Result<Self, GraphError> {
        Self::parse(bytes).ok_or_else(|| damaged("meta", "its runs"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reading = Reading(bytes);
        let id = |reading: &mut Reading<'_>| u32::try_from(reading.varint()?).ok();
        let run = |reading: &mut Reading<'_>| {
            Some(Run {
                kind: Kind::from_number(reading.varint()?)?,
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
            let kind = Kind::from_number(reading.varint()?)?;
            manifest.dropped.push((kind, id(&mut reading)?));
        }
        Some(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_back() {
        let run = |kind, id| Run { kind, id, level: 2, entries: 1 << 40, pages: 77 };
        let manifest = Manifest {
            next_id: 900,
            runs: Kind::ALL.into_iter().zip(1..).map(|(kind, id)| run(kind, id)).collect(),
            merges: vec![Merge {
                inputs: vec![1, 2],
                output: run(Kind::Sent, 800),
                resume: vec![1, 0, 255],
            }],
            dropped: vec![(Kind::Txid, 3)],
        };
        let bytes = manifest.to_bytes();
        assert_eq!(Manifest::from_bytes(&bytes).unwrap(), manifest);
        assert!(Manifest::from_bytes(&bytes[..bytes.len() - 1]).is_err());
    }
}
