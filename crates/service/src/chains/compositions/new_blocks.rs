//! Log lines about the blocks that are new since compositions (origin breakdowns) were complete.

use std::collections::BTreeMap;

use assay_address::ChainId;
use assay_engine::{
    ledger::{TransactionNumber, change},
    policy::Policy,
};
use assay_graph::{
    GraphError,
    compositions::CompositionReader,
    utxo::{Reader, Snapshot, StoredBlock},
};
use jiff::{SignedDuration, Timestamp};

use super::severe::{self, Receipt, SevereReceipts, severe_shares};

/// Largest number of new blocks that are logged. More new blocks are history that is ingested.
const MOST: u64 = 100;
/// Age from which a block is history.
const HISTORY: SignedDuration = SignedDuration::from_hours(24);

/// The newest blocks of a chain: heights and hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NewestBlocks(BTreeMap<u64, [u8; 32]>);

impl NewestBlocks {
    /// Returns the newest blocks of a state of the graph, up to a height.
    pub(super) fn read(graph: &Snapshot, height: u64) -> Result<Self, GraphError> {
        let reader = graph.reader();
        let mut newest = BTreeMap::new();
        for height in height.saturating_sub(MOST)..=height {
            if let Some(block) = reader.block(height)? {
                newest.insert(height, block.block.hash);
            }
        }
        Ok(Self(newest))
    }

    /// True if a block is one of the newest blocks.
    pub(super) fn contains(&self, (height, hash): (u64, [u8; 32])) -> bool {
        self.0.get(&height) == Some(&hash)
    }

    /// Heights of the blocks that are not among the `earlier` ones, lowest first. None if so many blocks are new that
    /// some are missing in between.
    pub(super) fn added_since(&self, earlier: &Self) -> Vec<u64> {
        let known = |(height, hash): (&u64, &[u8; 32])| earlier.contains((*height, *hash));
        let Some(last_known) =
            self.0.iter().filter(|block| known(*block)).map(|it| *it.0).next_back()
        else {
            return Vec::new();
        };
        self.0.keys().copied().filter(|height| *height > last_known).collect()
    }
}

/// Logs the addresses that received money of severe categories in each of these blocks, unless the block is older than
/// a day.
pub(super) fn log_severe_receipts(
    chain: ChainId,
    graph: &Snapshot,
    compositions: &CompositionReader,
    heights: &[u64],
    now: Timestamp,
) -> Result<(), GraphError> {
    let (reader, policy) = (graph.reader(), Policy::default());
    for height in heights {
        let Some(block) = reader.block(*height)? else { continue };
        if now.duration_since(block.block.time) > HISTORY {
            continue;
        }
        let end = match reader.block(height + 1)? {
            Some(next) => next.first_transaction,
            None => graph.transactions()?,
        };
        let receipts = receipts(&reader, compositions, block.first_transaction..end, &policy)?;
        let named = with_addresses(chain, &reader, receipts)?;
        if let Some(severe) = severe::severe_receipts(named) {
            log_block(chain, &block, &severe);
        }
    }
    Ok(())
}

fn log_block(chain: ChainId, block: &StoredBlock, severe: &SevereReceipts) {
    tracing::info!(
        %chain,
        height = block.block.height,
        block = hex::encode(block.block.hash),
        addresses = severe.addresses,
        severe = %severe.severe,
        largest = serde_json::to_string(&severe.largest).unwrap_or_default(),
        "addresses received severe money in a new block"
    );
}

/// Sums up the severe money that each owner received in some transactions. Payments without severe money are not read.
fn receipts(
    reader: &Reader<'_>,
    compositions: &CompositionReader,
    transactions: std::ops::Range<u64>,
    policy: &Policy,
) -> Result<BTreeMap<u64, Receipt>, GraphError> {
    let mut receipts: BTreeMap<u64, Receipt> = BTreeMap::new();
    for number in transactions {
        let Some(composition) = compositions.composition(TransactionNumber(number))? else {
            continue;
        };
        let shares = severe_shares(&composition, policy);
        if shares.is_empty() {
            continue;
        }
        for (owner, income) in incomes(reader, number)? {
            receipts.entry(owner).or_default().add(income, &shares);
        }
    }
    Ok(receipts)
}

/// Returns the amount that each owner received in a transaction, net of change.
fn incomes(reader: &Reader<'_>, number: u64) -> Result<Vec<(u64, u128)>, GraphError> {
    let Some(record) = reader.transaction(number)? else { return Ok(Vec::new()) };
    let (mut sent, mut received): (BTreeMap<u64, u128>, BTreeMap<u64, u128>) = Default::default();
    record.inputs(|input| {
        if let Some(spent) = input.spent {
            *sent.entry(spent.owner).or_default() += u128::from(spent.value);
        }
    })?;
    record.outputs(|output| {
        *received.entry(output.output.owner).or_default() += u128::from(output.output.value);
    })?;
    let inputs = u128::from(record.head().input_total);
    let income = |(owner, received): (u64, u128)| {
        let sent = sent.get(&owner).copied().unwrap_or(0);
        (owner, received - change(sent, received, inputs))
    };
    Ok(received.into_iter().map(income).filter(|(_, income)| *income > 0).collect())
}

/// Returns the receipts of owners with an address, by address.
fn with_addresses(
    chain: ChainId,
    reader: &Reader<'_>,
    receipts: BTreeMap<u64, Receipt>,
) -> Result<Vec<(String, Receipt)>, GraphError> {
    let mut named = Vec::new();
    for (owner, receipt) in receipts {
        if let Some(address) = reader.owner(owner)?.address(chain) {
            named.push((address.as_str().to_owned(), receipt));
        }
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(blocks: &[(u64, u8)]) -> NewestBlocks {
        NewestBlocks(blocks.iter().map(|(height, hash)| (*height, [*hash; 32])).collect())
    }

    #[test]
    fn blocks_above_the_last_known_one_are_new() {
        let before = blocks(&[(7, 7), (8, 8), (9, 9)]);
        assert_eq!(before.added_since(&before).len(), 0);
        let next = blocks(&[(7, 7), (8, 8), (9, 9), (10, 10), (11, 11)]);
        assert_eq!(next.added_since(&before), [10, 11]);
        let reorganised = blocks(&[(7, 7), (8, 18), (9, 19), (10, 20)]);
        assert_eq!(reorganised.added_since(&before), [8, 9, 10]);
    }

    #[test]
    fn a_leap_is_history() {
        let before = blocks(&[(7, 7), (8, 8)]);
        assert_eq!(blocks(&[(500, 1), (501, 2)]).added_since(&before).len(), 0);
        assert_eq!(blocks(&[(0, 1), (1, 2)]).added_since(&NewestBlocks::default()).len(), 0);
    }
}
