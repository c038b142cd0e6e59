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
    chains: BTreeMap<ChainId, VecDeque<Step>>,
}

/// A step of a chain: what came in between two looks at it.
#[derive(Clone, Debug)]
struct Step {
    /// The hash of the newest block then. Answers name the block that they were made at; of one that is
    /// not among the steps nobody knows what came in since, or whether it was taken back.
    tip: String,
    /// Hashes of whom the step touched. Two addresses with one hash cost a needless computation, never a
    /// stale answer.
    touched: HashSet<u64>,
}

impl Touched {
    /// Takes note of blocks up to the one whose hash is `tip`.
    pub(super) fn add<'a>(
        &mut self,
        chain: ChainId,
        tip: String,
        addresses: impl Iterator<Item = &'a CanonicalAddress>,
    ) {
        let steps = self.chains.entry(chain).or_default();
        steps.push_back(Step { tip, touched: addresses.map(hash).collect() });
        if steps.len() > MOST_STEPS {
            steps.pop_front();
        }
    }

    /// Takes note that anything may have changed: blocks were taken back, or too many came in.
    pub(super) fn add_everything(&mut self, chain: ChainId, tip: String) {
        self.chains.insert(chain, VecDeque::from([Step { tip, touched: HashSet::new() }]));
    }

    /// Takes note that nobody knows what is on a chain now: no answer holds until it is looked at again.
    pub(super) fn lose(&mut self, chain: ChainId) {
        self.chains.insert(chain, VecDeque::new());
    }

    /// Whether an answer about `address`, made when the chain's newest block was `tip`, holds.
    pub(super) fn holds(&self, address: &CanonicalAddress, tip: Option<&str>) -> bool {
        let Some(steps) = self.chains.get(&address.chain()) else {
            return true;
        };
        // Without a block: from before the chain was read.
        let Some(made_at) = tip.and_then(|tip| steps.iter().rposition(|step| step.tip == tip))
        else {
            return false;
        };
        let wanted = hash(address);
        !steps.iter().skip(made_at + 1).any(|step| step.touched.contains(&wanted))
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
        let (one, other) = addresses();
        let mut touched = Touched::default();
        assert!(touched.holds(&one, Some("5")), "nothing came in yet");
        touched.add_everything(ChainId::BTC, "10".into());
        assert!(!touched.holds(&one, Some("9")) && touched.holds(&one, Some("10")));
        assert!(!touched.holds(&one, None), "the chain was not looked at");
        touched.add(ChainId::BTC, "12".into(), [&one].into_iter());
        assert!(!touched.holds(&one, Some("10")) && touched.holds(&other, Some("10")));
        assert!(touched.holds(&one, Some("12")));
        assert!(!touched.holds(&other, Some("11")), "between two looks: nobody knows what it saw");
    }

    #[test]
    fn what_was_made_on_another_branch_does_not_hold_whatever_its_height() {
        let (one, _) = addresses();
        let mut touched = Touched::default();
        touched.add_everything(ChainId::BTC, "142 of the old branch".into());
        assert!(touched.holds(&one, Some("142 of the old branch")));
        // Given a reorganisation seen half way, and then blocks above the old tip.
        touched.add_everything(ChainId::BTC, "130".into());
        touched.add(ChainId::BTC, "136".into(), std::iter::empty());
        touched.add(ChainId::BTC, "143".into(), std::iter::empty());
        assert!(!touched.holds(&one, Some("142 of the old branch")));
        assert!(touched.holds(&one, Some("130")) && touched.holds(&one, Some("143")));
        // Given a switch to a block of the same height.
        touched.add_everything(ChainId::BTC, "143 of a third branch".into());
        assert!(!touched.holds(&one, Some("143")));
    }

    #[test]
    fn while_it_is_not_known_what_came_in_no_answer_holds() {
        let (one, _) = addresses();
        let mut touched = Touched::default();
        touched.add_everything(ChainId::BTC, "10".into());
        touched.lose(ChainId::BTC);
        assert!(!touched.holds(&one, Some("10")));
        touched.add_everything(ChainId::BTC, "11".into());
        assert!(touched.holds(&one, Some("11")) && !touched.holds(&one, Some("10")));
    }

    #[test]
    fn what_is_forgotten_is_not_repeated() {
        let (one, _) = addresses();
        let mut touched = Touched::default();
        for height in 0..MOST_STEPS {
            touched.add(ChainId::BTC, height.to_string(), std::iter::empty());
        }
        assert!(touched.holds(&one, Some("0")));
        touched.add(ChainId::BTC, "1000".into(), std::iter::empty());
        assert!(!touched.holds(&one, Some("0")) && touched.holds(&one, Some("1")));
    }

    fn addresses() -> (CanonicalAddress, CanonicalAddress) {
        (
            address("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
            address("12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h"),
        )
    }
}
