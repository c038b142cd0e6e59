//! Which addresses the newest blocks touched: answers from before are not repeated for them.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
};

use assay_engine::{address::CanonicalAddress, chain::ChainId};

/// Steps that are remembered for each chain: with a step a block, more than an answer is ever repeated.
const MOST_STEPS: usize = 256;

/// What came in on every chain since this program looks.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    chains: BTreeMap<ChainId, Steps>,
}

/// What came in on one chain, step by step.
#[derive(Clone, Debug, Default)]
struct Steps {
    /// Answers from below this height are not repeated at all: nobody knows what came in since.
    floor: u64,
    /// The height that each step reached, and hashes of whom it touched. Two addresses with one hash
    /// cost a needless computation, never a stale answer.
    steps: VecDeque<(u64, HashSet<u64>)>,
}

impl Touched {
    /// Takes note of blocks up to `height`.
    pub(super) fn add<'a>(
        &mut self,
        chain: ChainId,
        height: u64,
        addresses: impl Iterator<Item = &'a CanonicalAddress>,
    ) {
        let steps = self.chains.entry(chain).or_default();
        steps.steps.push_back((height, addresses.map(hash).collect()));
        if steps.steps.len() > MOST_STEPS
            && let Some((oldest, _)) = steps.steps.pop_front()
        {
            steps.floor = steps.floor.max(oldest);
        }
    }

    /// Takes note that anything may have changed: blocks were taken back, or too many came in.
    pub(super) fn add_everything(&mut self, chain: ChainId, height: u64) {
        // Answers of another branch name heights above: they are stale as well.
        self.chains.insert(chain, Steps { floor: height, steps: VecDeque::new() });
    }

    /// Whether an answer about `address`, made when the chain's newest block was at `tip`, holds.
    pub(super) fn holds(&self, address: &CanonicalAddress, tip: Option<u64>) -> bool {
        let Some(Steps { floor, steps }) = self.chains.get(&address.chain()) else {
            return true;
        };
        let Some(tip) = tip else {
            // From before the chain was read.
            return false;
        };
        if tip < *floor {
            return false;
        }
        let wanted = hash(address);
        !steps.iter().any(|(height, touched)| *height > tip && touched.contains(&wanted))
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
    fn a_block_ends_answers_about_whom_it_touches_and_no_others() {
        let (one, other) = (
            address("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
            address("12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"),
        );
        let mut touched = Touched::default();
        assert!(touched.holds(&one, Some(5)), "nothing came in yet");
        touched.add_everything(ChainId::BTC, 10);
        assert!(!touched.holds(&one, Some(9)) && touched.holds(&one, Some(10)));
        assert!(!touched.holds(&one, None), "the chain was not looked at");
        touched.add(ChainId::BTC, 12, [&one].into_iter());
        assert!(!touched.holds(&one, Some(11)) && touched.holds(&other, Some(11)));
        assert!(touched.holds(&one, Some(12)));
        touched.add_everything(ChainId::BTC, 12);
        assert!(!touched.holds(&other, Some(11)), "blocks were taken back");
    }

    #[test]
    fn what_is_forgotten_is_not_repeated() {
        let one = address("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
        let mut touched = Touched::default();
        for height in 0..=u64::try_from(MOST_STEPS).unwrap() {
            touched.add(ChainId::BTC, height, std::iter::empty());
        }
        assert!(touched.holds(&one, Some(1)));
        touched.add(ChainId::BTC, 1_000, std::iter::empty());
        assert!(!touched.holds(&one, Some(0)) && touched.holds(&one, Some(1)));
    }
}
