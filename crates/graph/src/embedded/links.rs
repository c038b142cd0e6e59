//! Clusters: links by child, by parent and by transaction, and the column of parents.

use std::{
    collections::{HashMap, HashSet},
    ops::Bound,
};

use assay_database::value;
use assay_engine::utxo::ScriptOwner;
use assay_mapped::WriteTransaction;
use async_trait::async_trait;

use super::{
    bytes::{NUMBER, Reading, number},
    error::{damaged, table_error},
    index::{delete, put},
    reader::{ROOT, Reader},
    snapshot::SharedSnapshot,
    tables::Tables,
};
use crate::{
    GraphError,
    backend::{
        WritePlan,
        cluster::{ClusterRows, ConfirmationRow, LinkRow, RecordedLink, TransactionPlace},
        rows::OwnerRow,
    },
};

/// In the key of `link_by_tx`.
const JOINED: u8 = 0;
const CONFIRMED: u8 = 1;

fn to_bytes(found: &RecordedLink) -> Vec<u8> {
    let LinkRow { parent, transaction, size, smallest, child_member, parent_member, .. } =
        found.link;
    let mut bytes = Vec::with_capacity(48);
    for part in [parent, transaction, size, smallest, child_member, parent_member] {
        bytes.extend_from_slice(&number(part.unsigned_abs()));
    }
    bytes.push(u8::from(found.link.is_conclusive));
    if let Some(row) = found.confirmation {
        for part in [row.transaction, row.child_member, row.parent_member] {
            bytes.extend_from_slice(&number(part.unsigned_abs()));
        }
    }
    bytes
}

fn from_bytes(child: u64, bytes: &[u8]) -> Option<RecordedLink> {
    let mut reading = Reading(bytes);
    let child = value::signed(child);
    let mut next = || reading.number().map(value::signed);
    let link = LinkRow {
        child,
        parent: next()?,
        transaction: next()?,
        size: next()?,
        smallest: next()?,
        child_member: next()?,
        parent_member: next()?,
        is_conclusive: reading.byte()? != 0,
    };
    let mut next = || reading.number().map(value::signed);
    let confirmation = next().and_then(|transaction| {
        Some(ConfirmationRow { child, transaction, child_member: next()?, parent_member: next()? })
    });
    Some(RecordedLink { link, confirmation })
}

/// The range of keys that begin with a number and come after it.
fn from_on(first: &[u8]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Included(first), Bound::Unbounded)
}

impl Reader<'_> {
    /// The link whose child is this owner.
    pub(super) fn link(&self, child: u64) -> Result<Option<RecordedLink>, GraphError> {
        let found = self.get("link", self.tables.link, &number(child))?;
        let read = |bytes| from_bytes(child, bytes).ok_or_else(|| damaged("link", child));
        found.map(read).transpose()
    }

    /// The newest link to a root.
    fn newest_link_to(&self, root: u64) -> Result<Option<RecordedLink>, GraphError> {
        let failed = |error| table_error("link_to", error);
        let root = number(root);
        let mut links = self.tables.link_to.rev_prefix_iter(self.txn, &root).map_err(failed)?;
        let Some(found) = links.next() else { return Ok(None) };
        let (_, child) = found.map_err(failed)?;
        let child = Reading(child).number().ok_or_else(|| damaged("link_to", hex::encode(root)))?;
        self.link(child)
    }

    /// The links from owners up to their roots, and the newest one to each root.
    pub(super) fn links(&self, owners: &[i64]) -> Result<Vec<RecordedLink>, GraphError> {
        let (mut links, mut seen) = (Vec::new(), HashSet::new());
        for owner in owners {
            let mut at = owner.unsigned_abs();
            while seen.insert(at) {
                let Some(found) = self.link(at)? else {
                    // It may be a link on the way of an owner as well, which is the same row.
                    links.extend(self.newest_link_to(at)?);
                    break;
                };
                links.push(found);
                at = found.link.parent.unsigned_abs();
            }
        }
        Ok(links)
    }

    fn links_to(&self, parents: &[i64], most: u32) -> Result<Vec<RecordedLink>, GraphError> {
        let failed = |error| table_error("link_to", error);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut links = Vec::new();
        for parent in parents {
            let parent = number(parent.unsigned_abs());
            for found in self.tables.link_to.prefix_iter(self.txn, &parent).map_err(failed)? {
                if links.len() >= most {
                    return Ok(links);
                }
                let (_, child) = found.map_err(failed)?;
                let child = Reading(child).number();
                let child = child.ok_or_else(|| damaged("link_to", hex::encode(parent)))?;
                links.push(self.link(child)?.ok_or_else(|| damaged("link", child))?);
            }
        }
        Ok(links)
    }

    /// Passes all links to `each`, in the order of their children.
    pub(super) fn each_link(&self, mut each: impl FnMut(RecordedLink)) -> Result<(), GraphError> {
        let failed = |error| table_error("link", error);
        for row in self.tables.link.iter(self.txn).map_err(failed)? {
            let (key, bytes) = row.map_err(failed)?;
            let found = Reading(key).number().and_then(|child| from_bytes(child, bytes));
            each(found.ok_or_else(|| damaged("link", hex::encode(key)))?);
        }
        Ok(())
    }

    /// The links and confirmations by transactions from `first` on, oldest first: true for a link, and the
    /// child.
    fn links_from(&self, first: u64, most: usize) -> Result<Vec<(bool, u64)>, GraphError> {
        let failed = |error| table_error("link_by_tx", error);
        let first = number(first);
        let rows = self.tables.link_by_tx.range(self.txn, &from_on(&first)).map_err(failed)?;
        let mut found = Vec::new();
        for row in rows.take(most) {
            let (key, _) = row.map_err(failed)?;
            let mut reading = Reading(key);
            let mut parse = || {
                reading.take(NUMBER)?;
                Some((reading.byte()? == JOINED, reading.take(NUMBER)?, reading.number()?))
            };
            let (is_link, _, child) =
                parse().ok_or_else(|| damaged("link_by_tx", hex::encode(key)))?;
            found.push((is_link, child));
        }
        Ok(found)
    }
}

/// The key of `link_by_tx`. Links by one transaction are told apart by their sizes, which grow.
fn by_transaction(transaction: i64, kind: u8, size: i64, child: i64) -> Vec<u8> {
    [
        &number(transaction.unsigned_abs())[..],
        &[kind],
        &number(size.unsigned_abs()),
        &number(child.unsigned_abs()),
    ]
    .concat()
}

/// Writes the links and confirmations of a plan, and the slots of new owners. There are `before` owners.
pub(super) fn record(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    before: u64,
    plan: &WritePlan,
) -> Result<(), GraphError> {
    let slots: Vec<u8> =
        plan.new_owners.iter().flat_map(|row| number(row.number.unsigned_abs() | ROOT)).collect();
    tables.parent.append(txn, before, &slots)?;
    let mut changed: HashMap<u64, u64> = HashMap::new();
    for link in &plan.links {
        let found = RecordedLink { link: *link, confirmation: None };
        put("link", tables.link, txn, &number(link.child.unsigned_abs()), &to_bytes(&found))?;
        let to = [number(link.parent.unsigned_abs()), number(link.size.unsigned_abs())].concat();
        put("link_to", tables.link_to, txn, &to, &number(link.child.unsigned_abs()))?;
        let by = by_transaction(link.transaction, JOINED, link.size, link.child);
        put("link_by_tx", tables.link_by_tx, txn, &by, &[])?;
        changed.insert(link.child.unsigned_abs(), link.parent.unsigned_abs());
        changed.insert(link.parent.unsigned_abs(), link.smallest.unsigned_abs() | ROOT);
    }
    for row in &plan.confirmations {
        confirm(tables, txn, row.child.unsigned_abs(), Some(*row))?;
        let by = by_transaction(row.transaction, CONFIRMED, 0, row.child);
        put("link_by_tx", tables.link_by_tx, txn, &by, &[])?;
    }
    update_parents(tables, txn, changed)
}

fn update_parents(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    changed: HashMap<u64, u64>,
) -> Result<(), GraphError> {
    let mut changed: Vec<(u64, [u8; NUMBER])> =
        changed.into_iter().map(|(owner, slot)| (owner, number(slot))).collect();
    changed.sort_unstable_by_key(|(owner, _)| *owner);
    tables.parent.update(txn, &changed)
}

fn confirm(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    child: u64,
    confirmation: Option<ConfirmationRow>,
) -> Result<(), GraphError> {
    let found = Reader::new(tables, txn).link(child)?.ok_or_else(|| damaged("link", child))?;
    let found = RecordedLink { confirmation, ..found };
    put("link", tables.link, txn, &number(child), &to_bytes(&found))
}

/// Takes back the links and confirmations by transactions from `first` on, and the slots of owners from
/// `owners` on, of which there are `before`.
pub(super) fn roll_back(
    tables: &Tables,
    txn: &mut WriteTransaction<'_>,
    first: u64,
    (before, owners): (u64, u64),
) -> Result<(), GraphError> {
    let rows = Reader::new(tables, txn).links_from(first, usize::MAX)?;
    let mut changed: HashMap<u64, u64> = HashMap::new();
    for (is_link, child) in rows.into_iter().rev() {
        if !is_link {
            confirm(tables, txn, child, None)?;
            continue;
        }
        let found = Reader::new(tables, txn).link(child)?.ok_or_else(|| damaged("link", child))?;
        let link = found.link;
        let parent = link.parent.unsigned_abs();
        let to = [number(parent), number(link.size.unsigned_abs())].concat();
        delete("link_to", tables.link_to, txn, &to)?;
        delete("link", tables.link, txn, &number(child))?;
        for root in [child, parent] {
            let newest = Reader::new(tables, txn).newest_link_to(root)?;
            let smallest = newest.map_or(root, |found| found.link.smallest.unsigned_abs());
            changed.insert(root, smallest | ROOT);
        }
    }
    let first = number(first);
    tables
        .link_by_tx
        .delete_range(txn, &from_on(&first))
        .map_err(|error| table_error("link_by_tx", error))?;
    update_parents(tables, txn, changed)?;
    tables.parent.truncate(txn, before, owners)
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
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let changed = reader.links_from(first.first_transaction, most)?;
        let pair = |(is_link, child): (bool, u64)| {
            let found = reader.link(child)?.ok_or_else(|| damaged("link", child))?;
            let link = found.link;
            Ok(if is_link { [link.child, link.parent] } else { [link.child; 2] })
        };
        changed.into_iter().map(pair).collect()
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
