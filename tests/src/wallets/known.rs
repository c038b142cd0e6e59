//! Random chains whose wallets are known.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use assay_address::ChainId;
use assay_chain::jsonl;
use assay_engine::utxo::{ResolvedBlock, ScriptOwner};
use jiff::{SignedDuration, Timestamp};

use super::{Fingerprint, Wallet, WalletId, Wallets};
use crate::{
    big_chain::as_published,
    world::{ChainBuilder, JointKind},
};

/// One bitcoin in satoshi.
const COIN: u64 = 100_000_000;

/// The most events in a block.
const BUSY: u64 = 12;

/// The most payments of a batch.
const BATCH: u64 = 12;

/// Size of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainSize {
    /// Number of wallets.
    pub wallets: usize,
    /// Least number of blocks after the first, in which the wallets get their first coins. Coins that are mined
    /// later have blocks of their own.
    pub blocks: usize,
    /// Number of payments of which one is a `PayJoin`.
    pub payments_for_a_payjoin: u64,
}

/// A chain with known wallets, which pay, batch, consolidate and make joint transactions of every kind.
#[derive(Clone, Debug)]
pub struct KnownChain {
    extent: ChainSize,
    wallets: Wallets,
    /// Number of joint transactions of several wallets.
    pub joint: usize,
    /// Number of `PayJoin`s.
    pub payjoins: usize,
}

impl KnownChain {
    /// Builds the first block of a chain, in which each wallet gets coins.
    #[must_use]
    pub fn new(seed: u64, extent: ChainSize) -> Self {
        let begun = Timestamp::from_second(1_673_352_000).expect("2023-01-10, noon");
        let chain = ChainBuilder::new(ChainId::BTC, seed, begun);
        let mut known = Self { extent, wallets: Wallets::new(chain), joint: 0, payjoins: 0 };
        let mut first = Vec::new();
        for _ in 0..extent.wallets {
            let fingerprint = Fingerprint::random(known.wallets.chain.dice());
            let wallet = known.wallets.open(fingerprint);
            for _ in 0..=known.below(3) {
                let value = known.below(3 * COIN) + COIN / 10;
                first.push((known.wallets.address(wallet), value));
            }
        }
        let coins = known.wallets.chain.mine(&first);
        known.wallets.credit(coins);
        known.end_block();
        known
    }

    /// Generates a chain.
    #[must_use]
    pub fn generate(seed: u64, extent: ChainSize) -> Self {
        let mut known = Self::new(seed, extent);
        for _ in 0..extent.blocks {
            known.add_block();
        }
        known
    }

    /// Restarts the random choices with another seed.
    pub const fn reseed(&mut self, seed: u64) {
        self.wallets.chain.reseed(seed);
    }

    /// The blocks.
    #[must_use]
    pub fn blocks(&self) -> &[ResolvedBlock] {
        self.wallets.chain.blocks()
    }

    /// The paid addresses of each wallet.
    pub fn addresses(&self) -> impl Iterator<Item = &[ScriptOwner]> {
        self.wallets.all().iter().map(|wallet: &Wallet| &wallet.addresses[..])
    }

    /// The wallet of an address.
    #[must_use]
    pub fn wallet_of(&self, owner: &ScriptOwner) -> Option<WalletId> {
        self.wallets.wallet_of(owner)
    }

    /// Writes the chain as JSON lines.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        for block in self.blocks() {
            jsonl::write_block(ChainId::BTC, &as_published(block.clone()), &mut file)?;
        }
        file.flush()
    }

    /// Adds a block with a few events.
    pub fn add_block(&mut self) {
        for _ in 0..self.below(BUSY) {
            self.add_event();
        }
        let _fees = self.wallets.chain.mine(&[]);
        self.end_block();
    }

    fn end_block(&mut self) {
        self.wallets.chain.wait(SignedDuration::from_mins(10));
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.wallets.chain.dice().below(bound)
    }

    fn anybody(&mut self) -> WalletId {
        self.wallets.chain.dice().index(self.extent.wallets)
    }

    fn add_event(&mut self) {
        let wallet = self.anybody();
        match self.below(100) {
            0..70 => self.pay(wallet),
            70..76 => {
                let count = 2 + self.below(BATCH);
                self.batch(wallet, count);
            }
            76..90 => self.wallets.consolidate(wallet, 2),
            90..95 => self.join(),
            _ => {
                let value = self.below(COIN) + COIN / 100;
                let address = self.wallets.address(wallet);
                let coins = self.wallets.chain.mine(&[(address, value)]);
                self.wallets.credit(coins);
            }
        }
    }

    /// A random amount that a wallet can pay; small ones are likelier.
    fn amount(&mut self, wallet: WalletId) -> u64 {
        let balance = self.wallets.balance(wallet);
        let most = balance >> (1 + self.below(5));
        let amount = self.below(most.max(1)) + 20_000;
        self.wallets.wallet(wallet).fingerprint.rounded(amount)
    }

    fn pay(&mut self, payer: WalletId) {
        let (to, amount) = (self.anybody(), self.amount(payer));
        if to == payer {
            return;
        }
        if self.below(self.extent.payments_for_a_payjoin) == 0 {
            self.payjoins += usize::from(self.wallets.payjoin(payer, to, amount));
        } else {
            let _paid = self.wallets.pay_wallets(payer, &[(to, amount)]);
        }
    }

    fn batch(&mut self, payer: WalletId, count: u64) {
        let share = self.wallets.balance(payer) / (count + 1);
        if share > 50_000 {
            let payments: Vec<_> =
                (0..count).map(|_| (self.anybody(), 20_000 + self.below(share - 20_000))).collect();
            let _paid = self.wallets.pay_wallets(payer, &payments);
        }
    }

    fn join(&mut self) {
        let mut candidates: Vec<WalletId> = (0..self.extent.wallets).collect();
        self.wallets.chain.dice().shuffle(&mut candidates);
        let kind = *self.wallets.chain.dice().pick(&JointKind::ALL);
        let budget = COIN / 4 + self.below(4 * COIN);
        if kind == JointKind::Payjoin {
            // The extent says how many of them there are.
            return;
        }
        let joined = self.wallets.join(kind, &candidates, budget);
        self.joint += usize::from(joined.iter().any(|wallet| Some(wallet) != joined.first()));
    }
}
