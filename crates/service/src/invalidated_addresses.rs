//! Addresses that the latest blocks pay or spend from: their cached answers are no longer repeated.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
    sync::Arc,
};

use assay_address::{CanonicalAddress, ChainId};

/// Largest number of steps in memory for a chain. At one step per block, they span more than the lifetime of an answer.
const MAX_STEPS: usize = 256;

/// Addresses in the blocks of each chain since the program started. A copy shares the steps with its original.
#[derive(Clone, Debug, Default)]
pub(super) struct InvalidatedAddresses {
    chains: BTreeMap<ChainId, VecDeque<Arc<Step>>>,
}

/// Blocks of a chain between two reads of it.
#[derive(Debug)]
struct Step {
    /// Hash of the latest block at the end of the step. An answer states the latest block by which it was computed; if
    /// no step ends with that block, blocks may have been added or rolled back since.
    tip: String,
    /// Hashes of the addresses in the blocks. A collision costs a needless computation, never a stale
    /// answer.
    addresses: HashSet<u64>,
}

impl InvalidatedAddresses {
    /// Adds the addresses of blocks up to the one whose hash is `tip`.
    pub(super) fn add<'a>(
        &mut self,
        chain: ChainId,
        tip: String,
        addresses: impl Iterator<Item = &'a CanonicalAddress>,
    ) {
        let steps = self.chains.entry(chain).or_default();
        steps.push_back(Arc::new(Step { tip, addresses: addresses.map(hash).collect() }));
        if steps.len() > MAX_STEPS {
            steps.pop_front();
        }
    }

    /// Invalidates every address of a chain: blocks were rolled back, or there are too many new ones.
    pub(super) fn add_everything(&mut self, chain: ChainId, tip: String) {
        let step = Arc::new(Step { tip, addresses: HashSet::new() });
        self.chains.insert(chain, VecDeque::from([step]));
    }

    /// Invalidates every address of a chain until it can be read again.
    pub(super) fn add_unknown(&mut self, chain: ChainId) {
        self.chains.insert(chain, VecDeque::new());
    }

    /// True if the latest block of a chain is still `tip`: then every answer of that block is valid.
    pub(super) fn is_latest(&self, chain: ChainId, tip: Option<&str>) -> bool {
        let Some(steps) = self.chains.get(&chain) else {
            return true;
        };
        steps.back().is_some_and(|step| Some(&*step.tip) == tip)
    }

    /// True if an answer about `address` is still valid. `cluster`: the root of the address's cluster in the answer;
    /// `tip`: the answer's latest block. The roots of changed clusters are among the addresses of a step.
    pub(super) fn is_valid(
        &self,
        address: &CanonicalAddress,
        cluster: Option<&str>,
        tip: Option<&str>,
    ) -> bool {
        let Some(steps) = self.chains.get(&address.chain()) else {
            return true;
        };
        // An answer without a block was computed before the chain was read.
        let Some(made_at) = tip.and_then(|tip| steps.iter().rposition(|step| step.tip == tip))
        else {
            return false;
        };
        let root = cluster.and_then(|root| CanonicalAddress::parse(address.chain(), root).ok());
        let wanted = [Some(address), root.as_ref()].map(|address| address.map(hash));
        let contains = |step: &Arc<Step>| {
            wanted.iter().flatten().any(|wanted| step.addresses.contains(wanted))
        };
        !steps.iter().skip(made_at + 1).any(contains)
    }
}

fn hash(address: &CanonicalAddress) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> CanonicalAddress {
        CanonicalAddress::parse(ChainId::BTC, text).unwrap()
    }

    #[test]
    fn a_block_invalidates_the_addresses_in_it_and_no_others() {
        let (one, other) = addresses();
        let mut invalidated = InvalidatedAddresses::default();
        assert!(invalidated.is_valid(&one, None, Some("5")), "nothing came in yet");
        invalidated.add_everything(ChainId::BTC, "10".into());
        assert!(
            !invalidated.is_valid(&one, None, Some("9"))
                && invalidated.is_valid(&one, None, Some("10"))
        );
        assert!(!invalidated.is_valid(&one, None, None), "the chain had not been read");
        invalidated.add(ChainId::BTC, "12".into(), [&one].into_iter());
        assert!(
            !invalidated.is_valid(&one, None, Some("10"))
                && invalidated.is_valid(&other, None, Some("10"))
        );
        assert!(invalidated.is_valid(&one, None, Some("12")));
        assert!(
            !invalidated.is_valid(&other, None, Some("11")),
            "between two reads: later blocks are unknown"
        );
    }

    #[test]
    fn a_changed_cluster_invalidates_answers_about_all_its_members() {
        let (one, root) = addresses();
        let mut invalidated = InvalidatedAddresses::default();
        invalidated.add_everything(ChainId::BTC, "10".into());
        invalidated.add(ChainId::BTC, "11".into(), [&root].into_iter());
        assert!(invalidated.is_valid(&one, None, Some("10")), "alone in its cluster");
        assert!(!invalidated.is_valid(&one, Some(root.as_str()), Some("10")));
        assert!(invalidated.is_valid(&one, Some(root.as_str()), Some("11")));
    }

    #[test]
    fn answers_of_another_branch_are_invalid_at_any_height() {
        let (one, _) = addresses();
        let mut invalidated = InvalidatedAddresses::default();
        invalidated.add_everything(ChainId::BTC, "142 of the old branch".into());
        assert!(invalidated.is_valid(&one, None, Some("142 of the old branch")));
        // Given a reorganisation that was read half way, and then blocks above the old tip.
        invalidated.add_everything(ChainId::BTC, "130".into());
        invalidated.add(ChainId::BTC, "136".into(), std::iter::empty());
        invalidated.add(ChainId::BTC, "143".into(), std::iter::empty());
        assert!(!invalidated.is_valid(&one, None, Some("142 of the old branch")));
        assert!(
            invalidated.is_valid(&one, None, Some("130"))
                && invalidated.is_valid(&one, None, Some("143"))
        );
        // Given a switch to a block of the same height.
        invalidated.add_everything(ChainId::BTC, "143 of a third branch".into());
        assert!(!invalidated.is_valid(&one, None, Some("143")));
    }

    #[test]
    fn only_the_latest_block_is_the_latest() {
        let is_latest =
            |invalidated: &InvalidatedAddresses, tip| invalidated.is_latest(ChainId::BTC, tip);
        let mut invalidated = InvalidatedAddresses::default();
        assert!(is_latest(&invalidated, Some("5")), "nothing came in yet");
        invalidated.add_everything(ChainId::BTC, "10".into());
        assert!(is_latest(&invalidated, Some("10")) && !is_latest(&invalidated, None));
        invalidated.add(ChainId::BTC, "11".into(), std::iter::empty());
        assert!(is_latest(&invalidated, Some("11")) && !is_latest(&invalidated, Some("10")));
        assert!(invalidated.is_latest("ltc".parse().unwrap(), Some("1")), "another chain");
        invalidated.add_unknown(ChainId::BTC);
        assert!(!is_latest(&invalidated, Some("11")));
    }

    #[test]
    fn while_a_chain_cannot_be_read_no_answer_is_valid() {
        let (one, _) = addresses();
        let mut invalidated = InvalidatedAddresses::default();
        invalidated.add_everything(ChainId::BTC, "10".into());
        invalidated.add_unknown(ChainId::BTC);
        assert!(!invalidated.is_valid(&one, None, Some("10")));
        invalidated.add_everything(ChainId::BTC, "11".into());
        assert!(
            invalidated.is_valid(&one, None, Some("11"))
                && !invalidated.is_valid(&one, None, Some("10"))
        );
    }

    #[test]
    fn a_copy_shares_the_addresses_of_earlier_blocks() {
        let (one, _) = addresses();
        let mut invalidated = InvalidatedAddresses::default();
        invalidated.add(ChainId::BTC, "10".into(), [&one].into_iter());
        let mut copy = invalidated.clone();
        copy.add(ChainId::BTC, "11".into(), std::iter::empty());
        let first =
            |invalidated: &InvalidatedAddresses| Arc::clone(&invalidated.chains[&ChainId::BTC][0]);
        assert!(Arc::ptr_eq(&first(&invalidated), &first(&copy)));
    }

    #[test]
    fn answers_older_than_the_steps_in_memory_are_invalid() {
        let (one, _) = addresses();
        let mut invalidated = InvalidatedAddresses::default();
        for height in 0..MAX_STEPS {
            invalidated.add(ChainId::BTC, height.to_string(), std::iter::empty());
        }
        assert!(invalidated.is_valid(&one, None, Some("0")));
        invalidated.add(ChainId::BTC, "1000".into(), std::iter::empty());
        assert!(
            !invalidated.is_valid(&one, None, Some("0"))
                && invalidated.is_valid(&one, None, Some("1"))
        );
    }

    fn addresses() -> (CanonicalAddress, CanonicalAddress) {
        (
            address("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
            address("12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"),
        )
    }
}
