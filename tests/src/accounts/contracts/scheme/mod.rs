//! Random laundering schemes over contracts, and what the engine lets pass of them.
//!
//! A scheme has stolen money, accounts, smart accounts, contracts of its own and the clean capital of a friend. It makes
//! up to 25 moves and then brings all home: it withdraws, sells, pulls and empties its contracts.
//!
//! - [`actor`]: a scheme in progress: what it owns, and how it sends transactions
//! - [`payments`]: moves without contracts that keep money
//! - [`trades`]: swaps, liquidity and tokens at public pools
//! - [`own`]: pools, tokens and contracts of the scheme itself
//! - [`loans`]: loans, wrappers and deposits for others

mod actor;
mod loans;
mod own;
mod payments;
mod trades;

use std::ops::Range;

use actor::{Actor, Holding};

use crate::accounts::{AccountChain, scheme::Outcome};

/// Most moves of a scheme.
const MOST_MOVES: u64 = 25;
/// Kinds of moves that a scheme with few kinds chooses from, besides payments and withdrawals.
const FEW_KINDS: usize = 6;

/// A kind of move: its name in words, and how a scheme makes it with a part of what it holds.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    weight: usize,
    act: fn(&mut Actor, Holding),
}

const fn kind(name: &'static str, weight: usize, act: fn(&mut Actor, Holding)) -> Kind {
    Kind { name, weight, act }
}

/// The end of a scheme over contracts.
#[derive(Clone, Debug, PartialEq)]
pub struct ContractOutcome {
    /// Money that is allowed, and the moves.
    pub outcome: Outcome,
    /// Severe money in all ledgers as a part of what was stolen, at the prices of the day; at least 1, except for what
    /// rounding takes.
    pub severe_part: f64,
    /// Number of transactions.
    pub transactions: usize,
}

/// The outcomes of schemes of these seeds.
pub fn outcomes(seeds: Range<u64>) -> impl Iterator<Item = ContractOutcome> {
    seeds.map(run)
}

/// The chain after all moves of the scheme of a seed.
#[must_use]
pub fn chain_of(seed: u64) -> AccountChain {
    let mut actor = Actor::new(seed);
    play(&mut actor, |_| ());
    actor.chain
}

fn run(seed: u64) -> ContractOutcome {
    let mut actor = Actor::new(seed);
    play(&mut actor, |_| ());
    actor.finish()
}

/// Makes all moves of a scheme; `moved` is told the name of each kind that sent a transaction.
fn play(actor: &mut Actor, mut moved: impl FnMut(&'static str)) {
    let kinds = kinds_of(actor);
    for _ in 0..actor.dice.within(3, MOST_MOVES) {
        if actor.dice.one_in(3) {
            actor.wait();
        }
        let Some(holding) = actor.some_holding() else { break };
        let kind = *actor.dice.pick(&kinds);
        actor.log_move(kind.name, &holding);
        let before = actor.chain.len();
        (kind.act)(actor, holding);
        if actor.chain.len() > before {
            moved(kind.name);
        }
    }
    trades::come_home(actor);
    loans::come_home(actor);
    own::come_home(actor);
    trades::sell_all(actor);
}

/// The kinds of moves that a scheme chooses from: all of them, or a few that it makes more often.
fn kinds_of(actor: &mut Actor) -> Vec<Kind> {
    let all = [payments::KINDS, trades::KINDS, own::KINDS, loans::KINDS].concat();
    if actor.dice.one_in(2) {
        let weighted = all.iter().flat_map(|kind| std::iter::repeat_n(*kind, kind.weight));
        return weighted.collect();
    }
    let mut few = all;
    actor.dice.shuffle(&mut few);
    few.truncate(FEW_KINDS);
    few.extend([payments::KINDS[0], own::WITHDRAWAL]);
    few
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn schemes_make_every_kind_of_move_and_pay_no_more_than_they_hold() {
        let mut moved = BTreeSet::new();
        for seed in 0..300 {
            // A chain stops at a payment of more than the payer holds.
            play(&mut Actor::new(seed), |name| _ = moved.insert(name));
        }
        let all = [payments::KINDS, trades::KINDS, own::KINDS, loans::KINDS].concat();
        let missing: Vec<_> = all.iter().filter(|kind| !moved.contains(kind.name)).collect();
        let missing: Vec<_> = missing.into_iter().map(|kind| kind.name).collect();
        assert_eq!(missing, [""; 0]);
    }
}
