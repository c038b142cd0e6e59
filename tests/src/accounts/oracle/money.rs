//! The origins of an account's money, by the history of each receipt.

use std::collections::BTreeMap;

use assay_engine::account::{AccountAddress, MoneyOrigin, OriginCode, TransferKind};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Zero};

use super::{
    History, MoneySource,
    netting::{Paid, net},
};

/// The share of one origin in money.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginShare {
    /// The share, undecayed.
    pub far: BigRational,
    /// The share, decayed by each hop but the first.
    pub near: BigRational,
    /// Fewest hops.
    pub hops: u32,
}

/// Shares by origin; the rest is of unknown origin.
type Shares = BTreeMap<OriginCode, OriginShare>;

/// A receipt of an account.
#[derive(Debug)]
struct Receipt {
    amount: BigRational,
    /// Origins of the money at the receiver.
    shares: Shares,
    /// Part of the money that is left.
    left: BigRational,
}

/// The money of all accounts of a history.
#[derive(Debug)]
pub struct Money {
    receipts: Vec<Vec<Receipt>>,
    balances: Vec<BigRational>,
}

impl Money {
    /// Follows the receipts of a history.
    #[must_use]
    pub fn of(history: &History) -> Self {
        let count = history.accounts.len();
        let mut money = Self {
            receipts: (0..count).map(|_| Vec::new()).collect(),
            balances: vec![BigRational::zero(); count],
        };
        for transaction in &history.transactions {
            money.read(history, transaction);
        }
        money
    }

    /// The balance of an account.
    #[must_use]
    pub fn balance(&self, account: usize) -> &BigRational {
        &self.balances[account]
    }

    /// The shares of an account's balance.
    #[must_use]
    pub fn shares(&self, account: usize) -> Shares {
        self.shares_of(account, &self.balances[account])
    }

    fn read(&mut self, history: &History, transaction: &assay_engine::account::AccountTransaction) {
        let day = History::day(transaction);
        // New coins and destroyed ones are of nobody: index `count`.
        let count = history.accounts.len();
        let index = |account: AccountAddress| {
            history.accounts.iter().position(|it| *it == account).unwrap_or(count)
        };
        let amount = |it: &assay_engine::account::Transfer| u128::try_from(it.amount).unwrap_or(0);
        let of_kind =
            |kind: TransferKind| transaction.transfers.iter().filter(move |it| it.kind == kind);
        let transfers: Vec<_> = of_kind(TransferKind::Transfer)
            .map(|it| (index(it.from), index(it.to), amount(it)))
            .collect();
        let is_person = |it: usize| it >= history.parties.len() && it < count;
        let mut paid = net(&transfers, is_person);
        for kind in [TransferKind::Fee, TransferKind::Reward] {
            paid.extend(of_kind(kind).map(|it| Paid {
                from: index(it.from),
                to: index(it.to),
                amount: BigRational::from_integer(amount(it).into()),
            }));
        }
        // All pay from what they had before.
        let mut totals: BTreeMap<usize, BigRational> = BTreeMap::new();
        for it in &paid {
            *totals.entry(it.from).or_insert_with(BigRational::zero) += &it.amount;
        }
        let made_of: BTreeMap<usize, Shares> = totals
            .iter()
            .filter(|(payer, _)| is_person(**payer))
            .map(|(payer, total)| (*payer, self.shares_of(*payer, total)))
            .collect();
        for (payer, total) in totals.iter().filter(|(payer, _)| is_person(**payer)) {
            self.pay(*payer, total);
        }
        for it in paid.into_iter().filter(|it| is_person(it.to)) {
            let account = history.accounts.get(it.from).copied();
            let payer = match account {
                Some(account) => history.payer(account, day),
                None if history.asset == crate::accounts::ETH => MoneySource::New,
                None => MoneySource::Account(usize::MAX),
            };
            let shares = match payer {
                MoneySource::End(origin) => wholly(origin),
                MoneySource::New => wholly(MoneyOrigin::New),
                MoneySource::Account(payer) => {
                    made_of.get(&payer).map(after_hop).unwrap_or_default()
                }
            };
            let left = BigRational::one();
            self.balances[it.to] += &it.amount;
            self.receipts[it.to].push(Receipt { amount: it.amount, shares, left });
        }
        for it in of_kind(TransferKind::Balance).filter(|it| is_person(index(it.to))) {
            self.set(index(it.to), &BigRational::from_integer(amount(it).into()));
        }
    }

    /// The shares of a payment of so much: what the balance lacks is unknown.
    fn shares_of(&self, account: usize, amount: &BigRational) -> Shares {
        let whole = self.balances[account].clone().max(amount.clone());
        let mut shares = Shares::new();
        if self.balances[account].is_zero() {
            return shares;
        }
        for receipt in self.receipts[account].iter().filter(|it| !it.left.is_zero()) {
            let part = &receipt.amount * &receipt.left / &whole;
            for (origin, share) in &receipt.shares {
                let known = shares.entry(*origin).or_insert_with(|| OriginShare {
                    far: BigRational::zero(),
                    near: BigRational::zero(),
                    hops: u32::MAX,
                });
                known.far += &share.far * &part;
                known.near += &share.near * &part;
                known.hops = known.hops.min(share.hops);
            }
        }
        shares
    }

    fn pay(&mut self, account: usize, amount: &BigRational) {
        let balance = self.balances[account].clone();
        let rest = (&balance - amount).max(BigRational::zero());
        if !balance.is_zero() {
            self.scale(account, &(&rest / balance));
        }
        self.balances[account] = rest;
    }

    /// Sets a balance: what it is made of stays.
    fn set(&mut self, account: usize, balance: &BigRational) {
        let before = self.balances[account].clone();
        if !before.is_zero() {
            self.scale(account, &(balance / before));
        }
        self.balances[account] = balance.clone();
    }

    fn scale(&mut self, account: usize, factor: &BigRational) {
        for receipt in &mut self.receipts[account] {
            receipt.left = &receipt.left * factor;
        }
        self.receipts[account].retain(|receipt| !receipt.left.is_zero());
    }
}

fn wholly(origin: MoneyOrigin) -> Shares {
    let whole = OriginShare { far: BigRational::one(), near: BigRational::one(), hops: 1 };
    Shares::from([(origin.into(), whole)])
}

/// The shares at the receiver of a payment from an account.
fn after_hop(shares: &Shares) -> Shares {
    let decay = decay();
    let passed = shares.iter().map(|(origin, share)| {
        let near = &share.near * &decay;
        (*origin, OriginShare { far: share.far.clone(), near, hops: share.hops + 1 })
    });
    passed.collect()
}

/// 2^(-2.5/2.4), the decay of a hop, in 2^-63.
pub(super) fn decay() -> BigRational {
    BigRational::new(BigInt::from(4_480_400_269_473_703_975_u64), BigInt::one() << 63)
}
