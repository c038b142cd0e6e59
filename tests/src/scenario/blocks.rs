//! The blocks of the scenario.

use std::collections::BTreeMap;

use assay_engine::utxo::{OutPoint, Txid};

use super::{
    cast::lock,
    payments::{Branch, PAYMENTS, Payment},
};
use crate::block_builder::{Block, BlockTemplate, Network, Transaction, TxIn, TxOut};

/// The last block before the fork.
pub const FORK: u64 = 130;
/// The last block of the replaced branch, which has twelve blocks.
pub const REPLACED_TIP: u64 = FORK + 12;
/// The block with which the other branch becomes the longer one.
pub const KEPT_TIP: u64 = FORK + 13;
/// The last block of the scenario. The subsidy halves at block 150.
pub const END: u64 = KEPT_TIP + 3;
/// The last block whose coins are the miner's.
const MINER_UNTIL: u64 = 6;

/// Time of the first block, and the interval between blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockTimes {
    /// The first block's time, in seconds since 1970.
    pub first: u32,
    /// Seconds from block to block.
    pub step: u32,
}

impl BlockTimes {
    /// Fixed times, with which all hashes are equal in every run: from 14 November 2023, ten minutes a block.
    pub const FIXED: Self = Self { first: 1_700_000_000, step: 600 };

    /// The time of the block at `height`, on either branch.
    ///
    /// # Panics
    ///
    /// Panics if the time overflows.
    #[must_use]
    pub fn of_block(self, height: u64) -> u32 {
        self.first + u32::try_from(height - 1).expect("a small height") * self.step
    }
}

/// A point at which the scenario pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the reorganization: the branch that will be replaced is the best one.
    BeforeReorganisation,
    /// The end of the scenario.
    End,
}

impl Moment {
    /// The height of the newest block.
    #[must_use]
    pub const fn height(self) -> u64 {
        match self {
            Self::BeforeReorganisation => REPLACED_TIP,
            Self::End => END,
        }
    }
}

/// The scenario on one network.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The network.
    pub network: Network,
    /// Times of the blocks.
    pub times: BlockTimes,
    /// Blocks 1 to 130.
    pub trunk: Vec<Block>,
    /// Blocks 131 to 142, which are replaced.
    pub replaced: Vec<Block>,
    /// Blocks 131 to 146, which stay.
    pub kept: Vec<Block>,
    outputs: Outputs,
}

impl Scenario {
    /// Builds every block.
    ///
    /// # Panics
    ///
    /// Panics if a payment spends an output that does not exist.
    #[must_use]
    pub fn new(network: Network, times: BlockTimes) -> Self {
        let mut teller = ScenarioBuilder { network, times, outputs: Outputs::default() };
        let genesis = Block::genesis(network).hash;
        let trunk = teller.branch(Branch::Trunk, genesis, 1..=FORK);
        let fork = trunk.last().expect("there is a trunk").hash;
        let replaced = teller.branch(Branch::Replaced, fork, FORK + 1..=REPLACED_TIP);
        let kept = teller.branch(Branch::Kept, fork, FORK + 1..=END);
        Self { network, times, trunk, replaced, kept, outputs: teller.outputs }
    }

    /// The best chain at `moment`, from block 1 on.
    #[must_use]
    pub fn chain(&self, moment: Moment) -> Vec<&Block> {
        let branch = match moment {
            Moment::BeforeReorganisation => &self.replaced,
            Moment::End => &self.kept,
        };
        self.trunk.iter().chain(branch).collect()
    }

    /// The identifier of a payment, or of a block's coinbase with the name `mined-HEIGHT`.
    ///
    /// # Panics
    ///
    /// Panics if there is no such payment.
    #[must_use]
    pub fn txid(&self, name: &str) -> Txid {
        match self.outputs.0.get(name) {
            Some((txid, _)) => *txid,
            None => panic!("no payment is called {name}"),
        }
    }
}

/// Outputs that were created so far, by name.
#[derive(Clone, Debug, Default)]
struct Outputs(BTreeMap<String, PaymentOutputs>);

/// The identifier of a transaction, and owners and values of its outputs.
type PaymentOutputs = (Txid, Vec<(&'static str, u64)>);

impl Outputs {
    fn spend(&self, (name, index): (&str, u32)) -> (OutPoint, &'static str, u64) {
        let (txid, outputs) =
            self.0.get(name).unwrap_or_else(|| panic!("{name} is spent before it is made"));
        let place = usize::try_from(index).expect("small");
        let (owner, value) = *outputs.get(place).expect("the payment has this output");
        (OutPoint { txid: *txid, index }, owner, value)
    }
}

struct ScenarioBuilder {
    network: Network,
    times: BlockTimes,
    outputs: Outputs,
}

impl ScenarioBuilder {
    fn branch(
        &mut self,
        branch: Branch,
        mut parent: crate::block_builder::BlockHash,
        heights: std::ops::RangeInclusive<u64>,
    ) -> Vec<Block> {
        let mut blocks = Vec::new();
        for height in heights {
            let (mut payments, mut fees) = (Vec::new(), 0);
            for payment in PAYMENTS.iter().filter(|each| each.blocks.contains(&(branch, height))) {
                let (transaction, fee) = self.pay(payment);
                payments.push(transaction);
                fees += fee;
            }
            let miner = match branch {
                Branch::Trunk if height <= MINER_UNTIL => "miner",
                Branch::Kept if height <= KEPT_TIP => "rival",
                Branch::Trunk | Branch::Replaced | Branch::Kept => "pool",
            };
            let block = BlockTemplate {
                network: self.network,
                height,
                parent,
                time: self.times.of_block(height),
                mark: if branch == Branch::Replaced { "/replaced/" } else { "/story/" },
                miner: &lock(miner),
                fees,
                payments,
            }
            .mine();
            parent = block.hash;
            if branch == Branch::Trunk {
                let coinbase = block.transactions.first().expect("a coinbase").txid();
                let value = self.network.subsidy(height) + fees;
                self.outputs.0.insert(format!("mined-{height}"), (coinbase, vec![(miner, value)]));
            }
            blocks.push(block);
        }
        blocks
    }

    /// The transaction, and its fee.
    fn pay(&mut self, payment: &Payment) -> (Transaction, u64) {
        let spent: Vec<_> = payment.inputs.iter().map(|spent| self.outputs.spend(*spent)).collect();
        let inputs = spent.iter().map(|(output, owner, _)| TxIn::new(*output, &lock(owner)));
        let outputs = payment.outputs.iter().map(|(owner, value)| TxOut::new(&lock(owner), *value));
        let transaction = Transaction::new(inputs.collect(), outputs.collect());
        let made = (transaction.txid(), payment.outputs.clone());
        self.outputs.0.insert(payment.name.to_owned(), made);
        let given: u64 = spent.iter().map(|(_, _, value)| value).sum();
        let taken: u64 = payment.outputs.iter().map(|(_, value)| value).sum();
        let fee = given.checked_sub(taken).expect("nobody pays more than they have");
        (transaction, fee)
    }
}
