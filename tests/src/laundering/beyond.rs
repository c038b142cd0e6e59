//! Schemes longer or wider than a trace: only compositions (breakdowns of a transaction's funds by origin) reveal the
//! origin of the money.
//!
//! The chains of the schemes are recorded in a store, with compositions.

use std::sync::Arc;

use assay_address::ChainId;
use jiff::SignedDuration;

use super::{
    Example,
    launderer::{Launderer, Move, Origin},
    tricks::{COIN, chain, coins},
};
use crate::world::{Claims, Form, Utxo, World};

/// Largest number of inputs and outputs of a transaction, near the relay limit of nodes.
const RELAYED: usize = 1_000;

/// A payee who receives stolen money through `launder`, in payments of at most [`RELAYED`] coins.
fn beyond(
    title: String,
    amount: u64,
    launder: impl FnOnce(&mut Launderer<'_>) -> Vec<Utxo>,
) -> Example {
    let (mut builder, mut claims) = (chain(ChainId::BTC, 1), Claims::default());
    let subject = builder.fresh_address(Form::WitnessKey);
    let mut thief = Launderer::new(&mut builder, &mut claims, Origin::Stolen, amount);
    for paid in launder(&mut thief).chunks(RELAYED) {
        let _paid = thief.send(paid, &subject);
    }
    builder.wait(SignedDuration::from_hours(48));
    Example { title, world: Arc::new(World::recorded(builder, claims)), subject, before: None }
}

/// Stolen money in `lanes` parallel chains of `steps` transactions each, merged.
#[must_use]
pub fn lanes(amount: u64, lanes: u32, steps: u32) -> Example {
    let title = format!("{} in {lanes} lanes of {steps} steps", coins(ChainId::BTC, amount));
    beyond(title, amount, |thief| {
        thief.make_move(Move::Split(lanes));
        let mut coins = std::mem::take(&mut thief.coins);
        for _ in 0..steps {
            for coin in &mut coins {
                let (to, value) = (thief.fresh_address(), coin.value - FEE);
                *coin = thief.chain.pay(std::slice::from_ref(coin), &[(to, value)]).remove(0);
            }
            thief.next_block();
        }
        coins
    })
}

/// Fee of a step in base units.
const FEE: u64 = 110;

/// Stolen money along a chain of `steps` transactions.
#[must_use]
pub fn stepped(amount: u64, steps: u32) -> Example {
    let title = format!("{} along {steps} steps", coins(ChainId::BTC, amount));
    beyond(title, amount, |thief| {
        thief.make_move(Move::Forward(steps));
        std::mem::take(&mut thief.coins)
    })
}

/// Stolen money in `parts` equal coins at fresh addresses, of which the payee gets `paid`.
#[must_use]
pub fn spread(amount: u64, parts: usize, paid: usize) -> Example {
    let all = coins(ChainId::BTC, amount);
    let title = format!("{all} over {parts} coins, {paid} of them merged");
    beyond(title, amount, |thief| {
        let each = amount / parts as u64 - 2 * FEE;
        let mut rest = thief.take_largest();
        let mut coins = Vec::with_capacity(parts);
        while coins.len() < parts {
            let count = RELAYED.min(parts - coins.len());
            let mut outputs: Vec<_> = (0..count).map(|_| (thief.fresh_address(), each)).collect();
            let left = rest.value - each * count as u64 - FEE * count as u64;
            outputs.push((thief.fresh_address(), left));
            let mut made = thief.pay(&[rest], &outputs);
            rest = made.pop().expect("an output");
            coins.append(&mut made);
        }
        coins.truncate(paid);
        coins
    })
}

/// Stolen money in one payment with `clean` larger clean inputs, more than a trace reads of one transaction.
#[must_use]
pub fn below_larger_inputs(amount: u64, stolen: u32, clean: u32) -> Example {
    let all = coins(ChainId::BTC, amount);
    let title = format!("{all} in {stolen} inputs below {clean} larger clean ones");
    let (mut builder, mut claims) = (chain(ChainId::BTC, 1), Claims::default());
    let subject = builder.fresh_address(Form::WitnessKey);
    let mut thief = Launderer::new(&mut builder, &mut claims, Origin::Stolen, amount);
    thief.make_move(Move::Split(stolen));
    let least = thief.coins.first().map_or(0, |coin| coin.value);
    let outputs: Vec<_> = (0..clean).map(|_| (thief.fresh_address(), least + 1)).collect();
    let clean: u64 = outputs.iter().map(|(_, value)| value).sum();
    let clean = super::tricks::clean(thief.chain, clean + 1_000_000);
    let mut inputs = thief.pay(&clean, &outputs);
    inputs.append(&mut thief.coins);
    let merged = thief.fresh_address();
    let coin = thief.send(&inputs, &merged);
    let _paid = thief.send(&[coin], &subject);
    builder.wait(SignedDuration::from_hours(48));
    Example { title, world: Arc::new(World::recorded(builder, claims)), subject, before: None }
}

/// All schemes beyond a trace, with the sizes at which they were found.
#[must_use]
pub fn beyond_a_trace() -> Vec<Example> {
    vec![
        lanes(90 * COIN, 250, 450).with_earlier_verdict("allow"),
        stepped(10 * COIN, 2_000),
        spread(90 * COIN, 100_000, 100_000).with_earlier_verdict("allow"),
        spread(1_000 * COIN, 1_000_000, 1_000),
        below_larger_inputs(60 * COIN, 3_000, 5_100),
    ]
}
