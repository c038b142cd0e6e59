//! Reading of cluster links, by child and by transaction.

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
    /// The link of a child by a transaction.
    pub(super) fn link_by(&self, transaction: u64, child: u64) -> Result<ClusterLink, GraphError> {
        let found = self.tables.link.get(self.txn, &pair_key(transaction, child))?;
        let link = found.and_then(|bytes| ClusterLink::read(transaction, child, bytes));
        link.ok_or_else(|| damaged("link", child))
    }

    /// The link of a child; `None` for a root.
    fn link(&self, child: u64) -> Result<Option<ClusterLink>, GraphError> {
        match self.forest_node(child)? {
            ForestNode::Root { .. } => Ok(None),
            ForestNode::Child { transaction, .. } => self.link_by(transaction, child).map(Some),
        }
    }

    /// The link of a child that a record names; an error if the link is missing.
    pub(super) fn known_link(&self, child: u64) -> Result<ClusterLink, GraphError> {
        self.link(child)?.ok_or_else(|| damaged("link", child))
    }

    /// Passes the rows of a table of links by the transactions from `first` to before `end` to `each`, in order, until
    /// `each` returns false.
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

    /// Passes the links by the transactions from `first` to before `end` to `each`, until `each` returns false.
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

    /// The first `most` links that transactions from `first` to before `end` confirmed.
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

    /// Passes all links to `each`, in the order of children. `owners` is the number of all owners.
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
