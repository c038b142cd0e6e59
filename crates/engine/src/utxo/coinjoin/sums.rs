//! Division of the inputs among the parties. In a joint transaction each party's inputs are worth exactly its equal
//! output, its change and its part of the fees.

use super::shape::Shape;

/// Most inputs that [`divide_inputs`] tries to divide.
const MOST_INPUTS: usize = 12;

/// Most combinations that [`divide_inputs`] tries, so that no transaction takes longer than tens of microseconds.
const MOST_TRIES: u32 = 20_000;

/// Number of change outputs for which one input pays together with an equal output and a fee of at
/// most a hundredth.
pub(super) fn payers(shape: &Shape<'_>) -> usize {
    let most = shape.denomination / 100;
    let pays = |change: &&u64| {
        shape.denomination.checked_add(**change).is_some_and(|got| {
            any_within(&shape.spent, got.saturating_add(1), got.saturating_add(most))
        })
    };
    shape.others.iter().filter(pays).count()
}

/// Number of change outputs whose owner got as much as, or slightly more than, one input.
pub(super) fn lone_earners(shape: &Shape<'_>) -> usize {
    let earns = |change: &&u64| {
        shape.denomination.checked_add(**change).is_some_and(|got| {
            any_within(&shape.spent, got.saturating_sub(most_earned(shape)), got)
        })
    };
    shape.others.iter().filter(earns).count()
}

/// Largest reward of a maker: 1/200 of an equal output. In the test data the largest reward is at most 1/250.
pub(super) const fn most_earned(shape: &Shape<'_>) -> u64 {
    shape.denomination / 200
}

/// Number of change outputs whose owner got as much as, or slightly more than, one or two inputs:
/// makers, who are paid for taking part.
pub(super) fn earners(shape: &Shape<'_>) -> usize {
    let earns = |change: &&u64| {
        shape.denomination.checked_add(**change).is_some_and(|got| {
            let least = got.saturating_sub(most_earned(shape));
            any_within(&shape.spent, least, got) || any_pair_within(&shape.spent, least, got)
        })
    };
    shape.others.iter().filter(earns).count()
}

/// True if a party with one or two inputs earned a plain rate of an equal output: two digits, at most 0.001, as in
/// offers of `JoinMarket`.
pub(super) fn earned_by_rate(shape: &Shape<'_>) -> bool {
    shape.others.iter().any(|change| {
        let Some(got) = shape.denomination.checked_add(*change) else { return false };
        let plain = |paid: u64| {
            got.checked_sub(paid).is_some_and(|gain| is_plain_rate(gain, shape.denomination))
        };
        shape.spent.iter().enumerate().any(|(place, first)| {
            let mut later = shape.spent.iter().skip(place + 1);
            plain(*first) || later.any(|second| first.checked_add(*second).is_some_and(plain))
        })
    })
}

/// True if `gain` is `whole` times a rate of two digits, from 0.00001 to 0.001, rounded up or down, and neighboring
/// rates are far enough apart for this to be significant.
fn is_plain_rate(gain: u64, whole: u64) -> bool {
    const FEWEST_APART: u64 = 20;
    [10_000, 100_000, 1_000_000].into_iter().any(|scale| {
        let (scaled, whole_wide) = (u128::from(gain) * u128::from(scale), u128::from(whole));
        let digits = (scaled + whole_wide / 2).checked_div(whole_wide).unwrap_or(0);
        (10..=99).contains(&digits)
            && gain <= whole / 1000
            && whole / scale >= FEWEST_APART
            && scaled.abs_diff(digits * whole_wide) < u128::from(scale)
    })
}

/// Way in which the inputs can be divided among the outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputDivision {
    /// Each party pays for the outputs that it gets.
    Even,
    /// One party may get a little more than that party paid in.
    Earned,
}

/// Divides the inputs so that one or two of them pay for each change and an equal output, within a hundredth, and the
/// remaining inputs pay for the equal output without change, if there is one. Returns `None` if no such division
/// exists, or if there are too many inputs or combinations.
pub(super) fn divide_inputs(shape: &Shape<'_>) -> Option<InputDivision> {
    if shape.spent.len() > MOST_INPUTS || !shape.complete() {
        return None;
    }
    let mut search = Search::of(shape, MOST_TRIES, None);
    match search.share(0, false) {
        Some(EarningDivision) => Some(InputDivision::Earned),
        None => search.even.then_some(InputDivision::Even),
    }
}

/// True if the inputs can be divided among makers and a taker: one or two inputs pay for each maker's change and equal
/// output, with at most a maker's reward, and the remaining inputs pay for the outputs of the taker.
pub(super) fn has_makers_and_taker(shape: &Shape<'_>) -> bool {
    if shape.spent.len() > MOST_INPUTS || !shape.complete() || shape.others.len() != shape.equal {
        return false;
    }
    let mut tries = MOST_TRIES;
    (0..shape.others.len()).any(|taker| {
        let mut search = Search::of(shape, tries, Some(taker));
        let found = search.share(0, false).is_some();
        tries = search.tries;
        found
    })
}

struct Search<'a> {
    shape: &'a Shape<'a>,
    used: [bool; MOST_INPUTS],
    /// Remaining number of combinations to try.
    tries: u32,
    /// True if a division was found in which no party earns.
    even: bool,
    /// Index of the change of the taker, if the other parties are makers.
    taker: Option<usize>,
}

/// A division in which a party earns was found.
struct EarningDivision;

impl<'a> Search<'a> {
    const fn of(shape: &'a Shape<'a>, tries: u32, taker: Option<usize>) -> Self {
        Self { shape, used: [false; MOST_INPUTS], tries, even: false, taker }
    }

    fn share(&mut self, place: usize, earned: bool) -> Option<EarningDivision> {
        if self.taker == Some(place) {
            return self.share(place + 1, earned);
        }
        let Some(change) = self.shape.others.get(place) else {
            self.even |= self.rest();
            return (earned && self.rest()).then_some(EarningDivision);
        };
        let got = self.shape.denomination.checked_add(*change)?;
        let inputs = self.shape.spent.len();
        for first in 0..inputs {
            // An input beside itself is that input alone.
            for second in first..inputs {
                self.tries = self.tries.checked_sub(1)?;
                let Some(paid) = self.free(first) else { break };
                let more = if second == first { Some(0) } else { self.free(second) };
                let Some(paid) = more.and_then(|more| paid.checked_add(more)) else { continue };
                if !self.fits(paid, got) {
                    continue;
                }
                self.mark(first, second, true);
                let found = self.share(place + 1, earned || paid < got);
                self.mark(first, second, false);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    /// True if the remaining inputs pay for the equal outputs that have no change, or for the taker's
    /// outputs.
    fn rest(&self) -> bool {
        let left = self.shape.spent.iter().zip(self.used).filter(|(_, used)| !used);
        let left = left.fold(0_u64, |sum, (value, _)| sum.saturating_add(*value));
        if let Some(change) = self.taker.and_then(|taker| self.shape.others.get(taker)) {
            let got = self.shape.denomination.saturating_add(*change);
            return left >= got && self.near(left, got);
        }
        match self.shape.equal.checked_sub(self.shape.others.len()) {
            Some(0) => left == 0,
            Some(1) => self.near(left, self.shape.denomination),
            _ => false,
        }
    }

    /// The value of the input at an index, if it is not assigned yet.
    fn free(&self, place: usize) -> Option<u64> {
        let (used, value) = (self.used.get(place)?, self.shape.spent.get(place)?);
        (!used).then_some(*value)
    }

    fn mark(&mut self, first: usize, second: usize, used: bool) {
        for place in [first, second] {
            if let Some(mark) = self.used.get_mut(place) {
                *mark = used;
            }
        }
    }

    /// True if a party that gets outputs of `got` in total may have paid in `paid`.
    fn fits(&self, paid: u64, got: u64) -> bool {
        match self.taker {
            Some(_) => got.checked_sub(paid).is_some_and(|gain| gain <= most_earned(self.shape)),
            None => self.near(paid, got),
        }
    }

    fn near(&self, paid: u64, got: u64) -> bool {
        paid.abs_diff(got) <= self.shape.denomination / 100
    }
}

/// True if one of the sorted values lies between two bounds, both included.
fn any_within(sorted: &[u64], least: u64, most: u64) -> bool {
    let first = sorted.partition_point(|value| *value < least);
    sorted.get(first).is_some_and(|value| *value <= most)
}

/// True if the sum of two of the sorted values lies between two bounds, both included.
fn any_pair_within(sorted: &[u64], least: u64, most: u64) -> bool {
    let mut rest = sorted;
    while let [first, .., last] = rest {
        let sum = first.saturating_add(*last);
        if sum > most {
            rest = rest.get(..rest.len() - 1).unwrap_or_default();
        } else if sum < least {
            rest = rest.get(1..).unwrap_or_default();
        } else {
            return true;
        }
    }
    false
}
