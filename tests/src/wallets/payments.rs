//! Payments, consolidations and joint transactions of wallets.

use std::collections::HashSet;

use assay_engine::utxo::{OutPoint, ScriptOwner};

use super::{ChangePosition, WalletId, Wallets};
use crate::world::{Form, JointKind, Party, Utxo, joint::POOLS, total};

/// Amount below which change goes to the miner, in base units.
const LEAST_CHANGE: u64 = 5_000;

/// Excess of a new coin over a Whirlpool pool's denomination.
const PREMIUM: u64 = 10_302;

/// The fee of a transaction with these numbers of inputs and outputs.
const fn fee(inputs: u64, outputs: u64) -> u64 {
    500 + 100 * (inputs + outputs)
}

impl Wallets {
    /// Pays several addresses in one transaction, with change. Returns false if the wallet's balance is too small.
    pub fn pay(&mut self, from: WalletId, payments: &[(ScriptOwner, u64)]) -> bool {
        let amount: u64 = payments.iter().map(|(_, value)| value).sum();
        let count = payments.len() as u64 + 1;
        let cost = |inputs| amount + fee(inputs, count);
        let Some(spent) = self.all[from].select(self.chain.dice(), cost) else { return false };
        let rest = total(&spent) - cost(spent.len() as u64);
        let mut outputs = payments.to_vec();
        if rest >= LEAST_CHANGE {
            let change = (self.change_address(from, &spent), rest);
            self.place_change(from, &mut outputs, change);
        }
        let made = self.chain.pay(&spent, &outputs);
        self.credit(made);
        true
    }

    fn place_change(
        &mut self,
        from: WalletId,
        outputs: &mut Vec<(ScriptOwner, u64)>,
        change: (ScriptOwner, u64),
    ) {
        match self.all[from].fingerprint.change {
            ChangePosition::First => outputs.insert(0, change),
            ChangePosition::Last => outputs.push(change),
            ChangePosition::Any => {
                outputs.push(change);
                self.chain.dice().shuffle(outputs);
            }
            ChangePosition::Sorted => {
                outputs.push(change);
                outputs.sort_by_key(|(_, value)| *value);
            }
        }
    }

    /// Pays wallets, each at an address that the wallet chooses.
    pub fn pay_wallets(&mut self, from: WalletId, payments: &[(WalletId, u64)]) -> bool {
        let payments: Vec<_> =
            payments.iter().map(|(to, value)| (self.address(*to), *value)).collect();
        self.pay(from, &payments)
    }

    /// Merges the wallet's coins at one address, if it has at least `fewest`.
    pub fn consolidate(&mut self, wallet: WalletId, fewest: usize) {
        let coins = self.all[wallet].coins.len();
        let cost = fee(coins as u64, 1) + LEAST_CHANGE;
        if coins >= fewest.max(2) && self.balance(wallet) > cost {
            let coins = self.take(wallet);
            let home = self.all[wallet].home.clone();
            let to = home.unwrap_or_else(|| self.fresh_address(wallet));
            let value = total(&coins) - fee(coins.len() as u64, 1);
            let made = self.chain.pay(&coins, &[(to, value)]);
            self.credit(made);
        }
    }

    /// Makes a payment to which the payee adds a coin. Returns false if a wallet's balance is too small.
    pub fn payjoin(&mut self, from: WalletId, to: WalletId, amount: u64) -> bool {
        let cost = |inputs| amount + fee(inputs + 1, 2);
        if self.all[to].coins.is_empty() {
            return false;
        }
        let Some(mut spent) = self.all[from].select(self.chain.dice(), cost) else {
            return false;
        };
        let rest = total(&spent) - cost(spent.len() as u64);
        let change = (self.change_address(from, &spent), rest);
        let added = self.all[to].coins.remove(0);
        let mut outputs = vec![(self.address(to), amount + added.value)];
        if rest >= LEAST_CHANGE {
            outputs.push(change);
        }
        spent.push(added);
        self.chain.dice().shuffle(&mut spent);
        self.chain.dice().shuffle(&mut outputs);
        let made = self.chain.pay(&spent, &outputs);
        self.credit(made);
        true
    }

    /// Makes a joint transaction of `kind` whose inputs have at most the value `budget`. Each party is a different
    /// candidate, or the first candidate alone for a kind with one party. Returns the parties; none if too few
    /// candidates have enough coins.
    pub fn join(&mut self, kind: JointKind, candidates: &[WalletId], budget: u64) -> Vec<WalletId> {
        let Some(parties) = kind.parties(self.chain.dice(), budget) else { return Vec::new() };
        let is_alone = matches!(kind, JointKind::Stonewall | JointKind::Batch);
        let cost = |party: &Party| party.inputs.iter().sum::<u64>() + 50_000;
        let mut joined = Vec::new();
        if is_alone {
            let Some(alone) = candidates.first() else { return Vec::new() };
            if self.balance(*alone) < parties.iter().map(cost).sum() {
                return Vec::new();
            }
            joined = vec![*alone; parties.len()];
        } else {
            let mut free = candidates.to_vec();
            for party in &parties {
                let able = |wallet: &WalletId| self.balance(*wallet) >= cost(party);
                let Some(place) = free.iter().position(able) else { return Vec::new() };
                joined.push(free.remove(place));
            }
        }
        let (mut spent, mut outputs) = (Vec::new(), Vec::new());
        for (party, wallet) in parties.iter().zip(&joined) {
            let Some(prepared) = self.prepare(kind, *wallet, &party.inputs) else {
                // Too poor after all, by the fees: the coins prepared so far stay where they are.
                self.credit(spent);
                return Vec::new();
            };
            spent.extend(prepared);
            for value in &party.outputs {
                outputs.push((self.witness_address(*wallet), *value));
            }
        }
        self.chain.dice().shuffle(&mut spent);
        self.chain.dice().shuffle(&mut outputs);
        let made = self.chain.pay(&spent, &outputs);
        self.credit(made);
        joined
    }

    /// Prepares coins of these values for a joint transaction: by a Tx0 for a Whirlpool pool, otherwise by a payment to
    /// itself.
    fn prepare(&mut self, kind: JointKind, wallet: WalletId, values: &[u64]) -> Option<Vec<Utxo>> {
        let mut payments: Vec<_> =
            values.iter().map(|value| (self.joint_address(wallet), *value)).collect();
        let pool =
            POOLS.iter().find(|pool| kind == JointKind::Whirlpool && values == [*pool + PREMIUM]);
        if let Some(pool) = pool {
            // Nobody's wallet: the coordinator's address, and the data.
            payments.push((self.chain.fresh_address(Form::WitnessKey), pool / 20));
            payments.push((ScriptOwner::Script(self.chain.dice().bytes()), 0));
        }
        let before: HashSet<OutPoint> =
            self.all[wallet].coins.iter().map(|coin| coin.outpoint).collect();
        if !self.pay(wallet, &payments) {
            return None;
        }
        let is_prepared = |coin: &Utxo| {
            let made = (coin.owner.clone(), coin.value);
            !before.contains(&coin.outpoint) && payments.contains(&made)
        };
        Some(self.all[wallet].coins.extract_if(.., |coin| is_prepared(coin)).collect())
    }
}
