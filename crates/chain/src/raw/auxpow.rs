//! Merge-mined blocks (`AuxPoW`): the work is in a block of another scrypt chain, whose coinbase commits to the
//! merge-mined block.
//!
//! The commitment and the work are checked. The position of the block in the other chain's tree of merge-mined chains
//! is not checked: that rule keeps one piece of work from counting twice.

use super::{
    RawError, cursor::Cursor, hash256, header::Header, reversed, transaction::RawTransaction,
};
use crate::params::{TransactionForm, WorkHash};

/// Largest number of levels of a tree of merge-mined chains.
const MOST_LEVELS: usize = 30;

/// A path from a leaf of a merkle tree to its root.
#[derive(Clone, Debug)]
struct Branch {
    siblings: Vec<[u8; 32]>,
    index: u32,
}

impl Branch {
    fn read(bytes: &mut Cursor<'_>) -> Result<Self, RawError> {
        let siblings = (0..bytes.count(32, "hashes of a merged block's branch")?)
            .map(|_| bytes.array("a merged block's branch"))
            .collect::<Result<_, _>>()?;
        Ok(Self { siblings, index: bytes.u32("the index in a merged block's branch")? })
    }

    /// Returns the root above a leaf; both in computed byte order.
    fn root(&self, leaf: [u8; 32]) -> [u8; 32] {
        let mut index = self.index;
        self.siblings.iter().fold(leaf, |hash, sibling| {
            let right = index & 1 == 1;
            index >>= 1;
            if right { hash256(&[sibling, &hash]) } else { hash256(&[&hash, sibling]) }
        })
    }
}

/// Another chain's block between a header and its transactions.
#[derive(Clone, Debug)]
pub(super) struct AuxPow<'a> {
    coinbase: RawTransaction<'a>,
    /// Branch from the coinbase to the merkle root of the other chain's block.
    to_block: Branch,
    /// Branch from the merge-mined block to the root in the coinbase.
    to_coinbase: Branch,
    other: Header,
}

impl<'a> AuxPow<'a> {
    pub(super) fn read(bytes: &mut Cursor<'a>) -> Result<Self, RawError> {
        let coinbase = RawTransaction::read(bytes, TransactionForm::Witness)?;
        bytes.array::<32>("the hash of a merged block")?;
        let to_block = Branch::read(bytes)?;
        let to_coinbase = Branch::read(bytes)?;
        Ok(Self { coinbase, to_block, to_coinbase, other: Header::read(bytes)? })
    }

    /// Checks that the other chain's block commits to the block of `header` and has the work that the
    /// target of `header` requires.
    pub(super) fn check(&self, header: &Header) -> Result<(), RawError> {
        let failed = |reason| Err(RawError::AuxPow { hash: hex::encode(header.hash()), reason });
        if self.to_block.index != 0 {
            return failed("the commitment to it is not in the other block's coinbase");
        }
        let root = self.to_block.root(reversed(*self.coinbase.txid.as_bytes()));
        if reversed(root) != self.other.merkle_root {
            return failed("the commitment to it is not in the other block");
        }
        if self.to_coinbase.siblings.len() > MOST_LEVELS {
            return failed("the tree of merge-mined chains has more than 30 levels");
        }
        let committed = reversed(self.to_coinbase.root(reversed(header.hash())));
        let script = self.coinbase.inputs.first().map_or(&[][..], |input| input.script);
        if !script.windows(committed.len()).any(|window| window == committed) {
            return failed("the other block's coinbase does not commit to it");
        }
        if !header.meets_with(WorkHash::Scrypt, &self.other) {
            return failed("the other block's header does not meet its target");
        }
        Ok(())
    }
}
