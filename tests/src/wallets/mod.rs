//! Wallets that pay one another on a chain; the owner of each address is known.
//!
//! - [`wallet`]: a wallet and its fingerprint
//! - [`payments`]: payments, consolidations and joint transactions
//! - [`known`]: random chains of wallets
//! - [`agreement`]: comparison of clusters with the wallets
//! - [`linked`]: comparison of links with the wallets
#![expect(clippy::missing_panics_doc, reason = "a wrong generator stops the test")]

pub mod agreement;
pub mod known;
pub mod linked;
pub mod payments;
#[cfg(test)]
mod tests;
pub mod wallet;

use std::collections::{HashMap, HashSet};

use assay_engine::utxo::ScriptOwner;

use crate::world::{ChainBuilder, Form, Utxo, total};

pub use agreement::Agreement;
pub use known::{ChainSize, KnownChain};
pub use linked::LinkAgreement;
pub use wallet::{ChangePosition, CoinSelection, Fingerprint, Wallet};

/// Index of a wallet.
pub type WalletId = usize;

/// A chain with its wallets.
#[derive(Clone, Debug)]
pub struct Wallets {
    /// The chain.
    pub chain: ChainBuilder,
    all: Vec<Wallet>,
    /// The wallet of each address.
    holders: HashMap<ScriptOwner, WalletId>,
    /// The addresses that were paid.
    paid: HashSet<ScriptOwner>,
}

impl Wallets {
    /// A chain without wallets.
    #[must_use]
    pub fn new(chain: ChainBuilder) -> Self {
        Self { chain, all: Vec::new(), holders: HashMap::new(), paid: HashSet::new() }
    }

    /// Opens a wallet.
    pub fn open(&mut self, fingerprint: Fingerprint) -> WalletId {
        self.all.push(Wallet::new(fingerprint));
        self.all.len() - 1
    }

    /// Opens a wallet whose change and consolidations go to one address.
    pub fn open_with_home(&mut self, fingerprint: Fingerprint) -> (WalletId, ScriptOwner) {
        let wallet = self.open(fingerprint);
        let home = self.fresh_address(wallet);
        self.all[wallet].home = Some(home.clone());
        (wallet, home)
    }

    /// A wallet.
    #[must_use]
    pub fn wallet(&self, wallet: WalletId) -> &Wallet {
        &self.all[wallet]
    }

    /// Every wallet, in the order of their identifiers.
    #[must_use]
    pub fn all(&self) -> &[Wallet] {
        &self.all
    }

    /// The wallet of an address.
    #[must_use]
    pub fn wallet_of(&self, owner: &ScriptOwner) -> Option<WalletId> {
        self.holders.get(owner).copied()
    }

    /// The sum of a wallet's coins in base units.
    #[must_use]
    pub fn balance(&self, wallet: WalletId) -> u64 {
        total(&self.all[wallet].coins)
    }

    /// A new address of a wallet.
    pub fn fresh_address(&mut self, wallet: WalletId) -> ScriptOwner {
        let address = self.chain.fresh_address(self.all[wallet].fingerprint.form);
        self.adopt(wallet, &address);
        address
    }

    /// The address at which a wallet holds a coin for a joint transaction: in the form of these transactions, and new,
    /// unless the wallet reuses addresses.
    fn joint_address(&mut self, wallet: WalletId) -> ScriptOwner {
        if self.all[wallet].fingerprint.form == Form::WitnessKey {
            self.address(wallet)
        } else {
            self.witness_address(wallet)
        }
    }

    /// A new address of a wallet in the form that joint transactions have.
    fn witness_address(&mut self, wallet: WalletId) -> ScriptOwner {
        let address = self.chain.fresh_address(Form::WitnessKey);
        self.adopt(wallet, &address);
        address
    }

    /// An address for a payment to a wallet: a new or a reused one.
    pub fn address(&mut self, wallet: WalletId) -> ScriptOwner {
        let percent = self.all[wallet].fingerprint.reuse_percent;
        let reuses = self.chain.dice().below(100) < percent;
        if self.all[wallet].addresses.is_empty() || !reuses {
            return self.fresh_address(wallet);
        }
        self.chain.dice().pick(&self.all[wallet].addresses).clone()
    }

    /// The address of a wallet's change in a transaction that spends `spent`.
    fn change_address(&mut self, wallet: WalletId, spent: &[Utxo]) -> ScriptOwner {
        let Wallet { home, fingerprint, .. } = &self.all[wallet];
        match (home, spent.first()) {
            (Some(home), _) => home.clone(),
            (None, Some(first)) if fingerprint.change_to_input => first.owner.clone(),
            _ => self.fresh_address(wallet),
        }
    }

    /// Assigns an address to a wallet.
    pub fn adopt(&mut self, wallet: WalletId, address: &ScriptOwner) {
        self.holders.insert(address.clone(), wallet);
    }

    /// Adds coins to the wallets of their addresses. Coins of addresses without a wallet are ignored.
    pub fn credit(&mut self, coins: Vec<Utxo>) {
        for coin in coins {
            let Some(holder) = self.wallet_of(&coin.owner) else { continue };
            let wallet = &mut self.all[holder];
            if self.paid.insert(coin.owner.clone()) {
                wallet.addresses.push(coin.owner.clone());
            }
            wallet.coins.push(coin);
        }
    }

    /// Mines coins for a wallet.
    pub fn mint(&mut self, wallet: WalletId, value: u64) {
        let address = self.address(wallet);
        let coins = self.chain.mine(&[(address, value)]);
        self.credit(coins);
    }

    /// Takes all coins from a wallet.
    pub fn take(&mut self, wallet: WalletId) -> Vec<Utxo> {
        std::mem::take(&mut self.all[wallet].coins)
    }
}
