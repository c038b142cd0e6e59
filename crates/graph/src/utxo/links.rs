//! Reading the links of clusters: by their children, and by their transactions.

use std::ops::Bound;

use assay_columns::{
    NamedTable,
    bytes::{ByteReader, number},
};

use super::{
    link::{ClusterLink, ForestNode, pair_key},
    reader::Reader,
};
use crate::{GraphError, error::damaged};

impl Reader<'_> {
    /// The link by a transaction whose child is this owner.
    pub(super) fn link_by(&self, transaction: u64, child: u64) -> Result<ClusterLink, GraphError> {
        let found = self.tables.link.get(self.txn, &pair_key(transaction, child))?;
        let link = found.and_then(|bytes| ClusterLink::read(transaction, child, bytes));
        link.ok_or_else(|| damaged("link", child))
    }

    /// The link whose child is this owner; `None` for a root.
    fn link(&self, child: u64) -> Result<Option<ClusterLink>, GraphError> {
        match self.forest_node(child)? {
            ForestNode::Root { .. } => Ok(None),
            ForestNode::Child { transaction, .. } => self.link_by(transaction, child).map(Some),
        }
    }

    /// The link of a child that some record names.
    pub(super) fn known_link(&self, child: u64) -> Result<ClusterLink, GraphError> {
        self.link(child)?.ok_or_else(|| damaged("link", child))
    }

    /// Passes the keys of a table of links by transactions from one to before another to `each`, in order, until
    /// it answers false.
    fn each_key(
        &self,
        table: NamedTable,
        first: u64,
        end: u64,
        mut each: impl FnMut(u64, u64, &[u8]) -> Result<bool, GraphError>,
    ) -> Result<(), GraphError> {
        let (first, end) = (number(first), number(end));
        for row in table.range(self.txn, Bound::Included(&first), Bound::Excluded(&end))? {
            let (key, bytes) = row?;
            let mut reading = ByteReader(key);
            let numbers = reading.number().zip(reading.number());
            let (transaction, child) = numbers.ok_or_else(|| table.damaged(hex::encode(key)))?;
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
        mut each: impl FnMut(ClusterLink) -> bool,
    ) -> Result<(), GraphError> {
        self.each_key(self.tables.link, first, end, |transaction, child, bytes| {
            let found = ClusterLink::read(transaction, child, bytes);
            Ok(each(found.ok_or_else(|| damaged("link", child))?))
        })
    }

    /// The first `most` links whose confirmations are by transactions from one to before another.
    pub(super) fn confirmed_between(
        &self,
        first: u64,
        end: u64,
        most: usize,
    ) -> Result<Vec<ClusterLink>, GraphError> {
        let mut found = Vec::new();
        self.each_key(self.tables.confirmed, first, end, |_, child, _| {
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
        mut each: impl FnMut(&ClusterLink),
    ) -> Result<(), GraphError> {
        for owner in 0..owners {
            self.link(owner)?.iter().for_each(&mut each);
        }
        Ok(())
    }
}
