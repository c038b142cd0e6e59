//! Agreement of clusters with the true wallets, by pairs of addresses.

use std::{collections::HashMap, fmt, hash::Hash};

use assay_engine::utxo::{ScriptOwner, Transaction};

use super::KnownChain;

/// Pairs of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Number of pairs within a cluster.
    pub clustered: u64,
    /// Number of pairs within a wallet.
    pub owned: u64,
    /// Number of pairs within a cluster and a wallet.
    pub right: u64,
}

/// One in millionths.
const MILLION: u64 = 1_000_000;

impl Agreement {
    /// Measures the agreement of clusters with wallets, from the cluster and wallet of each address.
    #[must_use]
    pub fn measure<C: Clone + Eq + Hash, W: Copy + Eq + Hash>(addresses: &[(C, W)]) -> Self {
        let clusters = addresses.iter().map(|(cluster, _)| cluster.clone());
        let wallets = addresses.iter().map(|(_, wallet)| *wallet);
        Self {
            clustered: pairs(clusters),
            owned: pairs(wallets),
            right: pairs(addresses.iter().cloned()),
        }
    }

    /// Part of the clusters' pairs that belong to one wallet, in millionths.
    #[must_use]
    pub fn precision(self) -> u64 {
        (self.right * MILLION).checked_div(self.clustered).unwrap_or(MILLION)
    }

    /// Part of the wallets' pairs that are in one cluster, in millionths.
    #[must_use]
    pub fn recall(self) -> u64 {
        (self.right * MILLION).checked_div(self.owned).unwrap_or(MILLION)
    }

    /// Harmonic mean of precision and recall, in millionths.
    #[must_use]
    pub fn f_measure(self) -> u64 {
        (2 * self.right * MILLION).checked_div(self.clustered + self.owned).unwrap_or(MILLION)
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [precision, recall, both] = [self.precision(), self.recall(), self.f_measure()]
            .map(|part| format!("{}.{:02} %", part / 10_000, part / 100 % 100));
        write!(formatter, "precision {precision}, recall {recall}, F-measure {both}")
    }
}

/// Number of pairs of equal items.
fn pairs<T: Eq + Hash>(items: impl Iterator<Item = T>) -> u64 {
    let mut counts: HashMap<T, u64> = HashMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts.values().map(|count| count * (count - 1) / 2).sum()
}

impl KnownChain {
    /// Agreement of co-spends with the wallets. The inputs of a transaction count as one owner's if `is_of_one` is
    /// true.
    #[must_use]
    pub fn co_spend_agreement(&self, is_of_one: impl Fn(&Transaction) -> bool) -> Agreement {
        let mut sets = DisjointSets::default();
        let transactions = self.blocks().iter().flat_map(|block| &block.transactions);
        for transaction in transactions.filter(|transaction| is_of_one(transaction)) {
            let mut owners = transaction.spent_outputs().map(|spent| &spent.owner);
            if let Some(first) = owners.next() {
                for other in owners {
                    sets.join(first, other);
                }
            }
        }
        let addresses: Vec<_> = self
            .addresses()
            .zip(0..)
            .flat_map(|(addresses, wallet)| addresses.iter().map(move |owner| (owner, wallet)))
            .map(|(owner, wallet): (_, usize)| (sets.root(owner).clone(), wallet))
            .collect();
        Agreement::measure(&addresses)
    }

    /// True if all inputs of a transaction belong to one wallet.
    #[must_use]
    pub fn is_of_one_wallet(&self, transaction: &Transaction) -> bool {
        let mut holders = transaction.spent_outputs().map(|spent| self.wallet_of(&spent.owner));
        let first = holders.next();
        holders.all(|holder| Some(holder) == first)
    }
}

/// Disjoint sets of owners.
#[derive(Debug, Default)]
struct DisjointSets<'a>(HashMap<&'a ScriptOwner, &'a ScriptOwner>);

impl<'a> DisjointSets<'a> {
    fn root(&mut self, owner: &'a ScriptOwner) -> &'a ScriptOwner {
        let mut root = owner;
        while let Some(parent) = self.0.get(root) {
            root = parent;
        }
        // The path becomes short.
        let mut at = owner;
        while at != root {
            let Some(parent) = self.0.insert(at, root) else { break };
            at = parent;
        }
        root
    }

    fn join(&mut self, one: &'a ScriptOwner, other: &'a ScriptOwner) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other {
            self.0.insert(one, other);
        }
    }
}
