//! Joint transactions of every kind that the detector recognizes, and similar transactions.

use assay_test_random::Random;

/// A kind of joint transaction, or of a similar transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JointKind {
    /// Wasabi 1: ten or more outputs of about 0.11 BTC, and change.
    Wasabi1,
    /// Wasabi 2: outputs of the protocol's denominations.
    Wasabi2,
    /// `JoinMarket`: equal outputs, change, and makers who earn.
    JoinMarket,
    /// Whirlpool: five outputs of a pool's denomination.
    Whirlpool,
    /// Five or more inputs of about one value, and as many equal outputs.
    EqualPool,
    /// Three or four equal outputs, and change for everybody, sometimes mistaken for `JoinMarket`.
    EqualWithChange,
    /// Four equal coins, too few to be recognized.
    FourEqual,
    /// Two equal outputs and two change outputs, built by one wallet as a decoy.
    Stonewall,
    /// A payment to which the payee adds an input.
    Payjoin,
    /// Equal wages from a few coins, with one change.
    Batch,
}

/// Amounts that a party of a joint transaction puts in and takes out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Party {
    /// Values of the party's inputs.
    pub inputs: Vec<u64>,
    /// Values of the party's outputs.
    pub outputs: Vec<u64>,
}

impl Party {
    /// A party with one input.
    fn with_one_input(input: u64, outputs: Vec<u64>) -> Self {
        Self { inputs: vec![input], outputs }
    }
}

/// Denominations of Whirlpool's pools in 2023.
pub const POOLS: [u64; 4] = [50_000_000, 5_000_000, 1_000_000, 100_000];

/// The base denomination of a Wasabi 1 round.
const WASABI_1_BASE: u64 = 10_985_000;

impl JointKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Wasabi1,
        Self::Wasabi2,
        Self::JoinMarket,
        Self::Whirlpool,
        Self::EqualPool,
        Self::EqualWithChange,
        Self::FourEqual,
        Self::Stonewall,
        Self::Payjoin,
        Self::Batch,
    ];

    /// The parties of a transaction of this kind whose inputs sum up to at most `budget`. `None` if the kind needs more
    /// than `budget`.
    #[must_use]
    pub fn parties(self, dice: &mut Random, budget: u64) -> Option<Vec<Party>> {
        let parties = match self {
            Self::Wasabi1 => wasabi_1(dice, budget)?,
            Self::Wasabi2 => wasabi_2(dice, budget)?,
            Self::JoinMarket => joinmarket(dice, budget)?,
            Self::Whirlpool => whirlpool(budget)?,
            Self::EqualPool => equal_pool(5 + dice.below(4), dice, budget)?,
            Self::EqualWithChange => equal_with_change(3 + dice.below(2), dice, budget)?,
            Self::FourEqual => equal_pool(4, dice, budget)?,
            Self::Stonewall => equal_with_change(2, dice, budget)?,
            Self::Payjoin => payjoin(dice, budget)?,
            Self::Batch => batch(dice, budget)?,
        };
        let paid_in: u64 = parties.iter().flat_map(|party| &party.inputs).sum();
        let paid_out: u64 = parties.iter().flat_map(|party| &party.outputs).sum();
        assert!(paid_in <= budget && paid_out <= paid_in, "{self:?}: {parties:?} of {budget}");
        Some(parties)
    }
}

fn wasabi_1(dice: &mut Random, budget: u64) -> Option<Vec<Party>> {
    const FEE: u64 = 15_000;
    let mut parties = Vec::new();
    let mut left = budget;
    while parties.len() < 30 {
        let change = dice.within(200_000, 9_000_000);
        let input = WASABI_1_BASE + change + FEE;
        let Some(rest) = left.checked_sub(input) else { break };
        left = rest;
        parties.push(Party::with_one_input(input, vec![WASABI_1_BASE, change]));
    }
    (parties.len() >= 10).then_some(parties)
}

/// Wasabi 2's denominations that are no round decimal amounts, up to a value: the four largest.
fn odd_denominations(most: u64) -> Vec<u64> {
    let powers = |base: u64, first: u64| {
        std::iter::successors(Some(first), move |value| value.checked_mul(base))
            .take_while(move |value| *value <= most)
    };
    let mut values: Vec<u64> =
        powers(2, 8_192).chain(powers(3, 6_561)).chain(powers(3, 13_122)).collect();
    values.sort_unstable();
    values.split_off(values.len().saturating_sub(4))
}

fn wasabi_2(dice: &mut Random, budget: u64) -> Option<Vec<Party>> {
    const FEE: u64 = 4_000;
    let count = dice.within(7, 12);
    let share = budget / count;
    let odd = odd_denominations(share / 5);
    let decimal = [10_000_000, 5_000_000, 1_000_000, 500_000, 100_000, 50_000, 20_000, 10_000];
    let decimal = decimal.into_iter().find(|value| *value <= share / 5)?;
    if odd.len() < 4 {
        return None;
    }
    let parties = (0..count).map(|number| {
        // Every denomination is taken, whatever the dice say.
        let mut outputs = vec![odd[usize::try_from(number % 4).expect("small")]];
        for _ in 0..=dice.below(2) {
            outputs.push(*dice.pick(&odd));
        }
        if dice.below(2) == 0 {
            outputs.push(decimal);
        }
        if dice.below(2) == 0 {
            outputs.push(dice.within(6_001, share / 6));
        }
        let paid_in = outputs.iter().sum::<u64>() + FEE;
        let first = paid_in * dice.within(30, 70) / 100;
        Party { inputs: vec![first, paid_in - first], outputs }
    });
    Some(parties.collect())
}

fn joinmarket(dice: &mut Random, budget: u64) -> Option<Vec<Party>> {
    const FEE: u64 = 5_000;
    let count = dice.within(3, 8);
    // Equal outputs, and changes that are at most as large.
    let equal = budget / (2 * count + 1) / 1_000 * 1_000 + 903;
    if equal < 2_000_000 {
        return None;
    }
    let reward = equal / 5_000 + 7;
    let parties = (0..count).map(|number| {
        let change = dice.within(equal / 50, equal - equal / 10);
        let got = equal + change;
        let is_taker = number + 1 == count;
        let input = if is_taker { got + FEE + reward * (count - 1) } else { got - reward };
        Party::with_one_input(input, vec![equal, change])
    });
    Some(parties.collect())
}

fn whirlpool(budget: u64) -> Option<Vec<Party>> {
    const PREMIUM: u64 = 10_302;
    let pool = POOLS.into_iter().find(|pool| 5 * (pool + PREMIUM) <= budget)?;
    let party =
        |number| Party::with_one_input(pool + if number < 2 { PREMIUM } else { 0 }, vec![pool]);
    Some((0..5).map(party).collect())
}

fn equal_pool(count: u64, dice: &mut Random, budget: u64) -> Option<Vec<Party>> {
    let most = budget / count;
    let equal = most - most / 90 - 1_000.min(most / 2);
    if equal < 50_000 {
        return None;
    }
    let party = |_| Party::with_one_input(equal + 500 + dice.below(equal / 200), vec![equal]);
    Some((0..count).map(party).collect())
}

fn equal_with_change(count: u64, dice: &mut Random, budget: u64) -> Option<Vec<Party>> {
    const FEE: u64 = 270;
    let equal = budget / (2 * count + 1);
    if equal < 50_000 {
        return None;
    }
    let parties = (0..count).map(|_| {
        let change = dice.within(equal / 50, equal - equal / 10);
        Party::with_one_input(equal + change + FEE, vec![equal, change])
    });
    Some(parties.collect())
}

fn payjoin(dice: &mut Random, budget: u64) -> Option<Vec<Party>> {
    const FEE: u64 = 1_000;
    if budget < 200_000 {
        return None;
    }
    let paid = dice.within(budget / 10, budget / 3);
    let change = dice.within(budget / 20, budget / 4);
    let own = dice.within(budget / 50, budget / 5);
    let payer = Party::with_one_input(paid + change + FEE, vec![change]);
    Some(vec![payer, Party::with_one_input(own, vec![own + paid])])
}

fn batch(dice: &mut Random, budget: u64) -> Option<Vec<Party>> {
    let count = dice.within(5, 25);
    let wage = budget / (count + 2) / 100_000 * 100_000;
    if wage == 0 {
        return None;
    }
    let change = dice.within(20_000, wage);
    let paid_in = wage * count + change + 5_000;
    let mut outputs = vec![wage; usize::try_from(count).expect("small")];
    outputs.push(change);
    let inputs = vec![paid_in / 2, paid_in - paid_in / 2];
    Some(vec![Party { inputs, outputs }])
}

#[cfg(test)]
mod tests {
    use assay_address::ChainId;
    use assay_engine::utxo::TransactionKind;
    use assay_engine::utxo::coinjoin::CoinjoinKind;

    use super::*;
    use crate::world::{ChainBuilder, Form};

    /// The kind that the detector recognizes in a transaction of March 2023 with these parties.
    fn recognised(parties: &[Party], seed: u64) -> TransactionKind {
        let now = "2023-03-01T12:00:00Z".parse().unwrap();
        let mut chain = ChainBuilder::new(ChainId::BTC, seed, now);
        let mut fresh = |values: &[u64]| -> Vec<_> {
            values.iter().map(|value| (chain.fresh_address(Form::WitnessKey), *value)).collect()
        };
        let inputs: Vec<_> = parties.iter().flat_map(|party| fresh(&party.inputs)).collect();
        let outputs: Vec<_> = parties.iter().flat_map(|party| fresh(&party.outputs)).collect();
        let coins = chain.mine(&inputs);
        let _coins = chain.pay(&coins, &outputs);
        chain.finish()[1].transactions[1].kind
    }

    #[test]
    fn joint_transactions_are_of_the_kind_that_they_are_made_as() {
        for (kind, expected) in [
            (JointKind::Wasabi1, TransactionKind::Coinjoin(CoinjoinKind::Wasabi1)),
            (JointKind::Wasabi2, TransactionKind::Coinjoin(CoinjoinKind::Wasabi2)),
            (JointKind::JoinMarket, TransactionKind::Coinjoin(CoinjoinKind::JoinMarket)),
            (JointKind::Whirlpool, TransactionKind::Coinjoin(CoinjoinKind::Whirlpool)),
            (JointKind::EqualPool, TransactionKind::Coinjoin(CoinjoinKind::Generic)),
            (JointKind::FourEqual, TransactionKind::Payment),
            (JointKind::Stonewall, TransactionKind::Payment),
            (JointKind::Payjoin, TransactionKind::Payment),
            (JointKind::Batch, TransactionKind::Payment),
        ] {
            for seed in 0..50 {
                let mut dice = Random::new(seed);
                for budget in [400_000_000, 1_234_567_890, 30_000_000_000] {
                    let parties = kind.parties(&mut dice, budget).unwrap();
                    assert_eq!(recognised(&parties, seed), expected, "{kind:?} {parties:?}");
                }
            }
        }
    }
}
