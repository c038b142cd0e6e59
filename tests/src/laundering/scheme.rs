//! Random sequences of moves, and the schemes that the engine lets pass.

use std::{fmt, ops::Range, sync::Arc};

use assay_address::ChainId;
use assay_engine::{
    score::{Score, Verdict},
    taxonomy::Category,
    utxo::ScriptOwner,
};
use assay_test_random::Random;
use jiff::SignedDuration;

use super::{
    Example,
    launderer::{Launderer, Move, Origin},
    properties::of_seeds,
    tricks::{self, circle, pay_join},
};
use crate::world::{ChainBuilder, Claim, Claims, Form, JointKind, World, total};

/// The most moves of a scheme.
const MOST_MOVES: u64 = 40;

/// Maximum number of transactions of a scheme, over all its moves together.
const MOST_TRANSACTIONS: u32 = 600;

/// Largest number of coins of the launderer; if it is exceeded, the next move merges the coins.
const MOST_COINS: usize = 200;

/// Clean money of a payee, in base units: more than an inscription's coin, so that spending it connects addresses, and
/// less than any coin that a launderer sends.
const CLEAN: u64 = 25_000;

/// Largest number of days of all waits: the last kinds of joint transaction ended in May 2023.
const MOST_DAYS: u32 = 130;

/// Last payment of a scheme, to the payee who is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All coins in one payment.
    Together,
    /// Each coin in a payment of its own.
    OneByOne,
    /// The largest coin alone.
    Largest,
    /// All coins in one payment; the payee passes the money on.
    PassedOn,
    /// All coins in one payment, to a payee who first sent a clean coin of at most that amount in circles.
    AfterCircles,
}

const ENDINGS: [Ending; 5] =
    [Ending::Together, Ending::OneByOne, Ending::Largest, Ending::PassedOn, Ending::AfterCircles];

/// A chain before it is read, with lists and labels and an owner to check.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The chain.
    pub builder: ChainBuilder,
    /// Listings and labels.
    pub claims: Claims,
    /// The owner.
    pub subject: ScriptOwner,
}

/// A laundering scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheme {
    /// Seed of the scheme.
    pub seed: u64,
    /// Origin of the money.
    pub origin: Origin,
    /// Amount in base units.
    pub amount: u64,
    /// Moves, in order.
    pub moves: Vec<Move>,
    /// The last payment.
    pub ending: Ending,
    /// True if the payee first makes two payments together with a labelled shop, which connect their addresses.
    pub joins_shop: bool,
}

impl Scheme {
    /// The scheme of a seed.
    #[must_use]
    pub fn generate(seed: u64) -> Self {
        let mut dice = Random::new(seed);
        let origin = if dice.below(2) == 0 { Origin::Stolen } else { Origin::Listed };
        // As many small amounts as large ones: 0.2 to 400 coins.
        let amount = (20_000_000 << dice.below(11)) + dice.below(20_000_000);
        let count = 1 + dice.rather_small(MOST_MOVES);
        let mut waited = 0;
        let moves = (0..count).map(|_| random_move(&mut dice, &mut waited)).collect();
        let ending = *dice.pick(&ENDINGS);
        let joins_shop = dice.below(10) == 0;
        Self { seed, origin, amount, moves, ending, joins_shop }
    }

    /// The world after the scheme, on Bitcoin, and the payee.
    #[must_use]
    pub fn example(&self) -> Example {
        let Scene { builder, claims, subject } = self.scene();
        let world = Arc::new(World::new(builder, claims));
        Example { title: self.to_string(), world, subject, before: None }
    }

    /// The chain after the scheme, on Bitcoin, with its claims and the payee.
    #[must_use]
    pub fn scene(&self) -> Scene {
        let (mut builder, mut claims) = (tricks::chain(ChainId::BTC, self.seed), Claims::default());
        let form = *builder.dice().pick(&Form::ALL);
        let subject = builder.fresh_address(form);
        if self.joins_shop {
            let shop = builder.fresh_address(Form::ScriptHash);
            claims.label(&shop, Claim::investigated(Category::Merchant, "Corner Shop"));
            pay_join(&mut builder, &subject, &shop, CLEAN);
        }
        let mut holder = Launderer::new(&mut builder, &mut claims, self.origin, self.amount);
        (holder.form, holder.transactions_left) = (form, MOST_TRANSACTIONS);
        for step in &self.moves {
            if holder.transactions_left == 0 {
                break;
            }
            holder.make_move(*step);
            if holder.coins.len() > MOST_COINS {
                holder.make_move(Move::Merge);
            }
        }
        match self.ending {
            Ending::Together => {
                let coins = std::mem::take(&mut holder.coins);
                let _paid = holder.send(&coins, &subject);
            }
            Ending::OneByOne => {
                // The last payments are no moves.
                holder.transactions_left = u32::MAX;
                for coin in std::mem::take(&mut holder.coins) {
                    if holder.can_send(&coin) {
                        let _paid = holder.send(&[coin], &subject);
                    }
                }
            }
            Ending::Largest => {
                let coin = holder.take_largest();
                let _paid = holder.send(&[coin], &subject);
            }
            Ending::PassedOn => {
                let coins = std::mem::take(&mut holder.coins);
                let paid = holder.send(&coins, &subject);
                let next = holder.fresh_address();
                let _passed = holder.send(&[paid], &next);
            }
            Ending::AfterCircles => {
                let coins = std::mem::take(&mut holder.coins);
                let dirty = total(&coins);
                let times = small(holder.chain.dice(), 1, 200);
                let most = dirty.max(CLEAN);
                let clean = CLEAN.max(most / (1 + holder.chain.dice().below(8)));
                let coin = holder.chain.mine(&[(subject.clone(), clean)]).remove(0);
                let affordable = u32::try_from(clean / 1_000).unwrap_or(u32::MAX);
                let _coin = circle(holder.chain, coin, times.min(affordable));
                let _paid = holder.send(&coins, &subject);
            }
        }
        builder.wait(SignedDuration::from_hours(24));
        Scene { builder, claims, subject }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, origin, amount, moves, ending, joins_shop } = self;
        let shop = if *joins_shop { ", with a shop" } else { "" };
        write!(formatter, "seed {seed}: {amount} {origin:?}, {moves:?}, {ending:?}{shop}")
    }
}

fn random_move(dice: &mut Random, waited: &mut u32) -> Move {
    match dice.below(21) {
        0..3 => Move::Forward(small(dice, 1, 30)),
        3..5 => Move::PaySelf(small(dice, 1, 20)),
        5..7 => Move::Split(small(dice, 2, 60)),
        7..10 => Move::Merge,
        10 | 11 => Move::Instalments(small(dice, 1, 60)),
        12 | 13 => Move::Peel(small(dice, 1, 60)),
        14 if dice.below(5) == 0 => Move::FanOut(small(dice, 100, 3_000)),
        14 => Move::FanOut(small(dice, 10, 300)),
        15 => {
            let days = small(dice, 1, 90).min(MOST_DAYS - *waited);
            *waited += days;
            Move::Wait(days)
        }
        16 => Move::Fees(small(dice, 1, 400)),
        _ => Move::Joint(*dice.pick(&JointKind::ALL)),
    }
}

/// A random number of a range; small ones are likelier.
fn small(dice: &mut Random, least: u64, most: u64) -> u32 {
    u32::try_from(least + dice.rather_small(most - least + 1)).expect("small")
}

/// A scheme whose money reaches the payee without a review.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The scheme.
    pub scheme: Scheme,
    /// The payee's score.
    pub score: Score,
}

impl Violation {
    /// The violation by a scheme, if the engine lets it pass.
    fn assess(scheme: Scheme) -> Option<Self> {
        let assessment = scheme.example().assess();
        let passes = matches!(assessment.verdict, Verdict::Allow | Verdict::Indeterminate);
        passes.then_some(Self { scheme, score: assessment.risk_score })
    }
}

/// The schemes of these seeds that pass without a review, in the order of their seeds. All money of a scheme is stolen
/// or listed, so that none may pass.
#[must_use]
pub fn violations(seeds: Range<u64>) -> Vec<Violation> {
    of_seeds(seeds, |seed| Violation::assess(Scheme::generate(seed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_scheme_and_one_answer() {
        for seed in 0..20 {
            let scheme = Scheme::generate(seed);
            assert_eq!(scheme, Scheme::generate(seed));
            let digest = || scheme.example().assess().digest();
            assert_eq!(digest(), digest(), "{scheme}");
        }
    }
}
