//! Clusters: the column of parents, and the links behind it by their transactions.

use std::{
    collections::{HashMap, HashSet},
    ops::Bound,
};

use assay_engine::utxo::ScriptOwner;
use assay_mapped::Table;
use async_trait::async_trait;

use super::{
    bytes::{NUMBER, Reading, number, put_varint},
    error::{damaged, table_error},
    index,
    reader::Reader,
    snapshot::SharedSnapshot,
};
use crate::{
    GraphError,
    backend::{
        cluster::{ClusterRows, ConfirmationRow, LinkRow, RecordedLink, TransactionPlace},
        rows::OwnerRow,
    },
    value,
};

/// The flag of a root; the other bits of its number are the smallest member of its cluster.
const ROOT: u64 = 1 << 39;
/// The largest number of an owner.
pub(super) const MOST_OWNERS: u64 = ROOT - 1;

/// Place of an owner in the forest of clusters. The smaller cluster's root becomes a child of the larger one's,
/// so that a root is at most log2(size) steps away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Root {
        /// The smallest member of its cluster.
        smallest: u64,
        /// Number of members.
        size: u64,
    },
    Child {
        parent: u64,
        /// The transaction of its link.
        transaction: u64,
    },
}

impl Slot {
    pub(super) const BYTES: usize = 2 * NUMBER;

    pub(super) const fn alone(owner: u64) -> Self {
        Self::Root { smallest: owner, size: 1 }
    }

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let (first, second) = match self {
            Self::Root { smallest, size } => (smallest | ROOT, size),
            Self::Child { parent, transaction } => (parent, transaction),
        };
        let mut bytes = [0; Self::BYTES];
        let parts = number(first).into_iter().chain(number(second));
        bytes.iter_mut().zip(parts).for_each(|(into, byte)| *into = byte);
        bytes
    }

    #[inline]
    pub(super) fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let mut reading = Reading(bytes);
        let (first, second) = (reading.number()?, reading.number()?);
        Some(if first & ROOT == 0 {
            Self::Child { parent: first, transaction: second }
        } else {
            Self::Root { smallest: first & !ROOT, size: second }
        })
    }
}

pub(super) fn link_key(transaction: u64, child: u64) -> [u8; 2 * NUMBER] {
    let mut key = [0; 2 * NUMBER];
    let bytes = number(transaction).into_iter().chain(number(child));
    key.iter_mut().zip(bytes).for_each(|(into, byte)| *into = byte);
    key
}

/// A link as it is stored, under its transaction and its child.
pub(super) fn link_bytes(found: &RecordedLink) -> Vec<u8> {
    let LinkRow { parent, size, smallest, child_member, parent_member, .. } = found.link;
    let mut bytes = Vec::with_capacity(40);
    bytes.push(u8::from(found.link.is_conclusive));
    for part in [parent, size, smallest, child_member, parent_member] {
        put_varint(&mut bytes, part.unsigned_abs());
    }
    if let Some(row) = found.confirmation {
        for part in [row.transaction, row.child_member, row.parent_member] {
            put_varint(&mut bytes, part.unsigned_abs());
        }
    }
    bytes
}

fn parse_link(transaction: u64, child: u64, bytes: &[u8]) -> Option<RecordedLink> {
    let mut reading = Reading(bytes);
    let child = value::signed(child);
    let is_conclusive = reading.byte()? != 0;
    let mut next = || reading.varint().map(value::signed);
    let link = LinkRow {
        child,
        parent: next()?,
        transaction: value::signed(transaction),
        size: next()?,
        smallest: next()?,
        child_member: next()?,
        parent_member: next()?,
        is_conclusive,
    };
    let confirmation = next().and_then(|transaction| {
        Some(ConfirmationRow { child, transaction, child_member: next()?, parent_member: next()? })
    });
    Some(RecordedLink { link, confirmation })
}

/// The transaction and the child of a key.
fn parse_key(name: &'static str, key: &[u8]) -> Result<(u64, u64), GraphError> {
    let mut reading = Reading(key);
    let numbers = reading.number().zip(reading.number());
    numbers.ok_or_else(|| damaged(name, hex::encode(key)))
}

impl Reader<'_> {
    /// An owner's place in the forest of clusters.
    #[inline]
    pub(super) fn slot(&self, owner: u64) -> Result<Slot, GraphError> {
        let bytes = self.tables.parent.get::<{ Slot::BYTES }>(self.txn, &self.parents, owner)?;
        bytes.and_then(Slot::from_bytes).ok_or_else(|| damaged("parent", owner))
    }

    /// The link by a transaction whose child is this owner.
    pub(super) fn link_by(&self, transaction: u64, child: u64) -> Result<RecordedLink, GraphError> {
        let found = self.get("link", self.tables.link, &link_key(transaction, child))?;
        let link = found.and_then(|bytes| parse_link(transaction, child, bytes));
        link.ok_or_else(|| damaged("link", child))
    }

    /// The link whose child is this owner.
    pub(super) fn link(&self, child: u64) -> Result<Option<RecordedLink>, GraphError> {
        match self.slot(child)? {
            Slot::Root { .. } => Ok(None),
            Slot::Child { transaction, .. } => self.link_by(transaction, child).map(Some),
        }
    }

    /// The link of a child that some record names.
    fn known_link(&self, child: u64) -> Result<RecordedLink, GraphError> {
        self.link(child)?.ok_or_else(|| damaged("link", child))
    }

    /// The links from owners up to their roots, and the newest one to each root.
    pub(super) fn links(&self, owners: &[i64]) -> Result<Vec<RecordedLink>, GraphError> {
        let (mut links, mut seen) = (Vec::new(), HashSet::new());
        for owner in owners {
            let mut at = owner.unsigned_abs();
            while seen.insert(at) {
                match self.slot(at)? {
                    Slot::Child { parent, transaction } => {
                        links.push(self.link_by(transaction, at)?);
                        at = parent;
                    }
                    Slot::Root { size: ..=1, .. } => break,
                    Slot::Root { size, .. } => {
                        let newest = index::link_of_size(self, at, size)?;
                        let newest = newest.ok_or_else(|| damaged("link", at))?;
                        links.push(self.known_link(newest)?);
                        break;
                    }
                }
            }
        }
        Ok(links)
    }

    fn links_to(&self, parents: &[i64], most: u32) -> Result<Vec<RecordedLink>, GraphError> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut children = Vec::new();
        for parent in parents {
            if children.len() >= most {
                break;
            }
            index::links_to(self, parent.unsigned_abs(), |child| {
                children.push(child);
                children.len() < most
            })?;
        }
        children.into_iter().map(|child| self.known_link(child)).collect()
    }

    /// Passes the keys of a table of links by transactions from one to before another to `each`, in order, until
    /// it answers false.
    fn each_key(
        &self,
        (name, table): (&'static str, Table),
        first: u64,
        end: u64,
        mut each: impl FnMut(u64, u64, &[u8]) -> Result<bool, GraphError>,
    ) -> Result<(), GraphError> {
        let failed = |error| table_error(name, error);
        let (first, end) = (number(first), number(end));
        let range = (Bound::Included(&first[..]), Bound::Excluded(&end[..]));
        for row in table.range(self.txn, &range).map_err(failed)? {
            let (key, bytes) = row.map_err(failed)?;
            let (transaction, child) = parse_key(name, key)?;
            if !each(transaction, child, bytes)? {
                break;
            }
        }
        Ok(())
    }

    /// Passes the links by transactions from one to before another to `each`, until it answers false.
    pub(super) fn links_between(
        &self,
        first: u64,
        end: u64,
        mut each: impl FnMut(LinkRow) -> bool,
    ) -> Result<(), GraphError> {
        self.each_key(("link", self.tables.link), first, end, |transaction, child, bytes| {
            let found = parse_link(transaction, child, bytes);
            Ok(each(found.ok_or_else(|| damaged("link", child))?.link))
        })
    }

    /// The first `most` links whose confirmations are by transactions from one to before another.
    pub(super) fn confirmed_between(
        &self,
        first: u64,
        end: u64,
        most: usize,
    ) -> Result<Vec<RecordedLink>, GraphError> {
        let mut found = Vec::new();
        self.each_key(("confirmed", self.tables.confirmed), first, end, |_, child, _| {
            if found.len() < most {
                found.push(self.known_link(child)?);
            }
            Ok(found.len() < most)
        })?;
        Ok(found)
    }

    /// Passes all links to `each`, in the order of their children. There are `owners` owners.
    pub(super) fn each_link(
        &self,
        owners: u64,
        mut each: impl FnMut(RecordedLink),
    ) -> Result<(), GraphError> {
        for owner in 0..owners {
            self.link(owner)?.into_iter().for_each(&mut each);
        }
        Ok(())
    }
}

/// Lookups in one state of a graph.
pub(super) struct EmbeddedClusterRows(pub(super) SharedSnapshot);

#[async_trait]
impl ClusterRows for EmbeddedClusterRows {
    async fn next_owner(&mut self) -> Result<i64, GraphError> {
        Ok(self.0.lock().reader().state()?.state.next_owner)
    }

    async fn numbers(
        &mut self,
        owners: &[ScriptOwner],
    ) -> Result<HashMap<ScriptOwner, i64>, GraphError> {
        let state = self.0.lock();
        let reader = state.reader();
        let mut found = HashMap::with_capacity(owners.len());
        for owner in owners {
            if let Some(number) = reader.find_owner(owner)? {
                found.insert(owner.clone(), value::signed(number));
            }
        }
        Ok(found)
    }

    async fn owners(&mut self, numbers: &[i64]) -> Result<Vec<OwnerRow>, GraphError> {
        let state = self.0.lock();
        let reader = state.reader();
        let row = |number: &i64| {
            let owner = number.unsigned_abs();
            let (statistics, owner) = (reader.statistics(owner)?, reader.owner(owner)?);
            Ok(OwnerRow { number: *number, owner, statistics })
        };
        numbers.iter().map(row).collect()
    }

    async fn links(&mut self, owners: &[i64]) -> Result<Vec<RecordedLink>, GraphError> {
        self.0.lock().reader().links(owners)
    }

    async fn links_to(
        &mut self,
        parents: &[i64],
        most: u32,
    ) -> Result<Vec<RecordedLink>, GraphError> {
        self.0.lock().reader().links_to(parents, most)
    }

    async fn changed_above(&mut self, height: u64, most: u32) -> Result<Vec<[i64; 2]>, GraphError> {
        let state = self.0.lock();
        let reader = state.reader();
        let Some(first) = reader.first_above(height)? else { return Ok(Vec::new()) };
        let end = reader.state()?.state.next_transaction.unsigned_abs();
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut changed = Vec::new();
        reader.links_between(first.first_transaction, end, |link| {
            changed.push([link.child, link.parent]);
            changed.len() < most
        })?;
        let confirmed = reader.confirmed_between(first.first_transaction, end, most)?;
        changed.extend(confirmed.iter().map(|found| [found.link.child; 2]));
        changed.truncate(most);
        Ok(changed)
    }

    async fn places(
        &mut self,
        transactions: &[i64],
    ) -> Result<HashMap<i64, TransactionPlace>, GraphError> {
        let state = self.0.lock();
        let reader = state.reader();
        let place = |number: &i64| {
            let transaction = number.unsigned_abs();
            let height = reader.known_transaction(transaction)?.head().height;
            let block = reader.block(height)?.ok_or_else(|| damaged("block", height))?;
            let txid = reader.txid(transaction)?;
            Ok((*number, TransactionPlace { txid, height, time: block.block.time }))
        };
        transactions.iter().map(place).collect()
    }
}
