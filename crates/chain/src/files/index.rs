//! Index of the blocks in files: the position of each block, and the blocks of the chain.

use std::collections::{HashMap, HashSet};

use crate::raw::Header;

/// Position of a block in the files, and its predecessor. Hashes are shortened ([`short_hash`]): among ten million
/// blocks, two have the same short hash with a probability of one in a hundred thousand, which reading the blocks
/// detects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: u64,
    parent: u64,
    pub(super) offset: u64,
    pub(super) file: u32,
    pub(super) length: u32,
    bits: u32,
}

impl Entry {
    /// Returns the entry of a block with the short hashes of the block and its parent, its target, and its file, offset
    /// and length.
    pub(super) const fn from_parts(id: u64, parent: u64, bits: u32, at: (u32, u64, u32)) -> Self {
        let (file, offset, length) = at;
        Self { id, parent, offset, file, length, bits }
    }

    /// Returns the short hash of the parent block.
    pub(super) const fn parent(&self) -> u64 {
        self.parent
    }

    /// Returns a header that has a target only.
    pub(super) fn target_header(&self) -> Header {
        Header { bits: self.bits, ..Header::default() }
    }

    /// True if the block is a chain's first block.
    pub(super) const fn is_first(&self) -> bool {
        self.parent == 0
    }
}

/// Returns the last eight bytes of a hash, which are not zeros.
pub(super) fn short_hash(hash: &[u8; 32]) -> u64 {
    hash.last_chunk().copied().map_or(0, u64::from_be_bytes)
}

/// The chain that the blocks of all files form.
#[derive(Debug)]
pub(super) struct Index {
    /// All blocks, by identifier.
    entries: Vec<Entry>,
    /// Indexes in `entries` of the chain's blocks, first block first.
    chain: Vec<u32>,
    /// First block after a gap in the files, by position.
    unconnected: Option<Entry>,
}

impl Index {
    /// Finds the chain with the most work; of chains with equal work, the chain whose last block comes first in the
    /// files.
    pub(super) fn new(mut entries: Vec<Entry>) -> Self {
        entries.sort_by_key(|entry| (entry.id, entry.file, entry.offset));
        entries.dedup_by_key(|entry| entry.id);
        let parents: Vec<Option<u32>> =
            entries.iter().map(|entry| position(&entries, entry.parent)).collect();
        let works = works(&entries, &parents);
        let best = works.iter().zip(&entries).zip(0_u32..).max_by(|(left, _), (right, _)| {
            let ((left, one), (right, other)) = (left, right);
            let found = |entry: &Entry| (entry.file, entry.offset);
            left.cmp(right).then_with(|| found(other).cmp(&found(one)))
        });
        let mut chain = Vec::new();
        let mut next = best.map(|(_, index)| index);
        while let Some(index) = next
            && chain.len() < entries.len()
        {
            chain.push(index);
            next = parents.get(index as usize).copied().flatten();
        }
        chain.reverse();
        let unconnected = unconnected(&entries, &parents, chain.first().copied());
        Self { entries, chain, unconnected }
    }

    /// Returns the first block whose parent is missing among the blocks of the files.
    pub(super) const fn unconnected(&self) -> Option<Entry> {
        self.unconnected
    }

    /// Iterates over the chain's blocks, in order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &Entry> {
        self.chain.iter().filter_map(|index| self.entries.get(*index as usize))
    }

    /// Returns the number of blocks in the chain.
    pub(super) const fn len(&self) -> usize {
        self.chain.len()
    }

    /// Returns the number of blocks that are not part of the chain.
    pub(super) const fn orphaned_blocks(&self) -> u64 {
        (self.entries.len() - self.chain.len()) as u64
    }

    /// Returns the chain's block with an index, from 0.
    pub(super) fn get(&self, index: usize) -> Option<Entry> {
        self.entries.get(*self.chain.get(index)? as usize).copied()
    }

    /// Returns the index of a block in the chain.
    pub(super) fn find(&self, id: u64) -> Option<usize> {
        let wanted = position(&self.entries, id)?;
        self.chain.iter().position(|index| *index == wanted)
    }
}

/// Returns the index of a block in `entries`, which are sorted by identifier.
fn position(entries: &[Entry], id: u64) -> Option<u32> {
    let index = entries.binary_search_by_key(&id, |entry| entry.id).ok()?;
    u32::try_from(index).ok()
}

/// Largest number of blocks that a node stores without their predecessors in the same or an earlier file: it requests
/// blocks up to 1,024 ahead, and they arrive in any order.
const MOST_AHEAD: usize = 2_048;

/// Returns the first block after a gap that a missing file explains, by position. Blocks that a node received ahead, at
/// the beginning of the first file and at the tip, are no gap: they are few, and their files also have blocks that
/// connect.
fn unconnected(entries: &[Entry], parents: &[Option<u32>], first: Option<u32>) -> Option<Entry> {
    let roots = roots(parents);
    let (mut sizes, mut connected) = (HashMap::<u32, usize>::new(), HashSet::new());
    for (entry, root) in entries.iter().zip(&roots) {
        *sizes.entry(*root).or_default() += 1;
        if Some(*root) == first {
            connected.insert(entry.file);
        }
    }
    let apart = entries.iter().zip(&roots).filter(|(entry, root)| {
        let is_large = sizes.get(root).is_some_and(|size| *size > MOST_AHEAD);
        let begins = entries.get(**root as usize).is_some_and(Entry::is_first);
        Some(**root) != first && (is_large || begins || !connected.contains(&entry.file))
    });
    let mut parts: HashSet<u32> = apart.map(|(_, root)| *root).collect();
    parts.extend(first);
    let begins = parts.into_iter().filter_map(|root| entries.get(root as usize).copied());
    let mut begins: Vec<Entry> = begins.collect();
    // A chain's first block counts as the first one at any position.
    begins.sort_by_key(|entry| (!entry.is_first(), entry.file, entry.offset));
    begins.get(1).copied()
}

/// Returns, for each block, its ancestor without a parent in the files.
fn roots(parents: &[Option<u32>]) -> Vec<u32> {
    let mut roots: Vec<Option<u32>> = vec![None; parents.len()];
    let mut open = Vec::new();
    for start in (0..).take(parents.len()) {
        let mut index: u32 = start;
        let root = loop {
            match roots.get(index as usize).copied().flatten() {
                Some(known) => break known,
                // A cycle, which only a forged file has.
                None if open.len() > parents.len() => break index,
                None => open.push(index),
            }
            match parents.get(index as usize).copied().flatten() {
                Some(parent) => index = parent,
                None => break index,
            }
        };
        for index in open.drain(..) {
            if let Some(known) = roots.get_mut(index as usize) {
                *known = Some(root);
            }
        }
    }
    roots.into_iter().map(Option::unwrap_or_default).collect()
}

/// Returns the work of each block including all blocks before it.
fn works(entries: &[Entry], parents: &[Option<u32>]) -> Vec<u128> {
    let mut works: Vec<Option<u128>> = vec![None; entries.len()];
    let mut open = Vec::new();
    for start in 0..entries.len() {
        // Goes down to a block whose work is known, or without a parent, then up again.
        let (mut index, mut below) = (start, 0);
        loop {
            match works.get(index) {
                Some(Some(known)) => {
                    below = *known;
                    break;
                }
                // More steps than blocks: a cycle, which only a forged file has.
                _ if open.len() > entries.len() => break,
                _ => open.push(index),
            }
            match parents.get(index).copied().flatten() {
                Some(parent) => index = parent as usize,
                None => break,
            }
        }
        while let Some(index) = open.pop() {
            let own = entries.get(index).map_or(0, work);
            below = below.saturating_add(own);
            if let Some(known) = works.get_mut(index) {
                *known = Some(below);
            }
        }
    }
    works.into_iter().map(Option::unwrap_or_default).collect()
}

fn work(entry: &Entry) -> u128 {
    entry.target_header().work()
}
