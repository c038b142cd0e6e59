//! People to whom money came that they did not ask for, people to whom a thief gave back what he took, and thieves who
//! imitate both.

use std::sync::Arc;

use assay_address::ChainId;
use assay_engine::{taxonomy::Category, utxo::ScriptOwner};
use assay_test_random::Random;
use jiff::civil::date;

use super::{
    Example,
    innocents::{chain_on, days, paid_by_exchange},
    launderer::{Launderer, Move, Origin},
    tricks::{COIN, clean},
};
use crate::world::{ChainBuilder, Claim, Claims, Form, Utxo, World};

/// An amount on a chain that is worth as much as an amount of satoshi under the default policy.
const fn worth(id: ChainId, satoshi: u64) -> u64 {
    match id {
        ChainId::BTC => satoshi,
        _ => satoshi * 1_000,
    }
}

fn example(title: &str, builder: ChainBuilder, claims: Claims, subject: ScriptOwner) -> Example {
    let title = format!("{title} ({})", builder.id());
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// A payment of dirty money to somebody who did not ask for it, after some moves.
fn thrust_upon(
    builder: &mut ChainBuilder,
    claims: &mut Claims,
    (origin, moves): (Origin, &[Move]),
    (to, amount): (&ScriptOwner, u64),
) {
    let mut thief = Launderer::new(builder, claims, origin, 10 * COIN + 20 * amount);
    for step in moves {
        thief.make_move(*step);
    }
    let coin = thief.take_largest();
    let rest = coin.value - amount - thief.fee(1, 2);
    let back = coin.owner.clone();
    let _paid = thief.pay(&[coin], &[(to.clone(), amount), (back, rest)]);
}

/// A saver of last year's money to whom a thief and a listed party sent a little lately.
#[must_use]
pub fn saver(id: ChainId) -> Example {
    let (mut builder, mut claims) = (chain_on(id, "2022-01-10"), Claims::default());
    let subject = builder.fresh_address(Form::WitnessKey);
    let _money = paid_by_exchange(&mut builder, &mut claims, &subject, worth(id, 500_000));
    days(&mut builder, 300);
    for (origin, amount) in [(Origin::Stolen, 45_000), (Origin::Listed, 37_000)] {
        let to = (&subject, worth(id, amount));
        thrust_upon(&mut builder, &mut claims, (origin, &[]), to);
    }
    days(&mut builder, 10);
    example("a saver to whom a thief and a listed party sent a little", builder, claims, subject)
}

/// A published address to which a thief was the first to send, slightly more than dust. `moved` tells if its owner sends
/// it on.
#[must_use]
pub fn published(id: ChainId, satoshi: u64, moved: bool) -> Example {
    let (mut builder, mut claims) = (chain_on(id, "2022-10-01"), Claims::default());
    let subject = builder.fresh_address(Form::WitnessKey);
    let amount = worth(id, satoshi);
    let mut thief =
        Launderer::new(&mut builder, &mut claims, Origin::Stolen, 10 * COIN + 2 * amount);
    let coin = thief.take_largest();
    let outputs = [(subject.clone(), amount), (coin.owner.clone(), coin.value - amount - 1_200)];
    let coin = thief.pay(&[coin], &outputs).swap_remove(0);
    if moved {
        let to = builder.fresh_address(Form::WitnessKey);
        let _moved = builder.pay(&[coin], &[(to, amount - 300)]);
    }
    days(&mut builder, 10);
    example("a published address to which a thief was the first to send", builder, claims, subject)
}

/// Somebody who sent `sent` to an address that is labelled later, to whom `back` of it came back, and who is checked so
/// many days `later`.
fn given_back(
    id: ChainId,
    title: &str,
    category: Category,
    (sent, back): (u64, u64),
    later: i64,
) -> Example {
    let (mut builder, mut claims) = (chain_on(id, "2022-10-01"), Claims::default());
    let subject = builder.fresh_address(Form::WitnessKey);
    let offender = builder.fresh_address(Form::WitnessKey);
    claims.label(&offender, Claim::investigated(category, "Offender"));
    let received = worth(id, COIN);
    let money = paid_by_exchange(&mut builder, &mut claims, &subject, received);
    days(&mut builder, 10);
    let (sent, back) = (worth(id, sent) - 1_000, worth(id, back));
    let kept = money.value - sent - 1_000;
    let mut outputs = vec![(offender.clone(), sent)];
    if kept > 0 {
        outputs.push((subject.clone(), kept));
    }
    let taken = builder.pay(&[money], &outputs).swap_remove(0);
    days(&mut builder, 5);
    let rest = taken.value - back.min(taken.value - 1_000);
    let outputs = [(subject.clone(), taken.value - rest), (offender, rest - 500)];
    let came = builder.pay(&[taken], &outputs).swap_remove(0);
    days(&mut builder, 5);
    // What came back is spent, so that it is not untouched.
    let shop = builder.fresh_address(Form::WitnessKey);
    let value = came.value - 1_000;
    let _paid = builder.pay(&[came], &[(shop, value)]);
    days(&mut builder, later);
    example(title, builder, claims, subject)
}

/// The victim of a theft, to whom 0.9 of 1 bitcoin came back.
#[must_use]
pub fn robbed(id: ChainId) -> Example {
    given_back(
        id,
        "the victim of a theft who got 0.9 of 1 back",
        Category::StolenFunds,
        (COIN, COIN / 10 * 9),
        5,
    )
}

/// The victim of a Ponzi scheme, whom the scheme paid a first profit of so many percent of one bitcoin, slightly less
/// than the victim had paid.
#[must_use]
pub fn deceived(id: ChainId, percent: u64) -> Example {
    let title = format!("the victim of a Ponzi scheme with a first profit of {percent} %");
    given_back(id, &title, Category::Scam, (COIN / 100 * (percent + 1), COIN / 100 * percent), 200)
}

/// The victim of a theft from two addresses of one wallet, one of which got back what was taken from both.
#[must_use]
pub fn robbed_wallet(id: ChainId) -> Example {
    let (mut builder, mut claims) = (chain_on(id, "2022-10-01"), Claims::default());
    let (subject, other) =
        (builder.fresh_address(Form::WitnessKey), builder.fresh_address(Form::WitnessKey));
    let thief = builder.fresh_address(Form::WitnessKey);
    claims.label(&thief, Claim::investigated(Category::StolenFunds, "Bridge theft"));
    let little = paid_by_exchange(&mut builder, &mut claims, &subject, worth(id, COIN / 5));
    let more = paid_by_exchange(&mut builder, &mut claims, &other, worth(id, COIN / 5 * 4));
    days(&mut builder, 10);
    let all = little.value + more.value - 1_000;
    let taken = builder.pay(&[little, more], &[(thief, all)]);
    days(&mut builder, 5);
    let came = builder.pay(&taken, &[(subject.clone(), all - 1_000)]).swap_remove(0);
    days(&mut builder, 5);
    let shop = builder.fresh_address(Form::WitnessKey);
    let _spent = builder.pay(&[came], &[(shop, all - 2_000)]);
    days(&mut builder, 5);
    example("the victim of a theft from two addresses", builder, claims, subject)
}

/// A thief who sends clean money to his own labelled address, so that stolen money seems to be given back.
#[must_use]
pub fn marked_as_given_back(id: ChainId, category: Category) -> Example {
    let (mut builder, mut claims) = (chain_on(id, "2022-10-01"), Claims::default());
    let (subject, own) =
        (builder.fresh_address(Form::WitnessKey), builder.fresh_address(Form::WitnessKey));
    claims.label(&own, Claim::investigated(category, "Offender"));
    let amount = worth(id, COIN);
    let coins = clean(&mut builder, amount);
    let coins = builder.pay(&coins, &[(subject.clone(), amount - 1_000)]);
    days(&mut builder, 1);
    let _sent = builder.pay(&coins, &[(own.clone(), amount - 2_000)]);
    let stolen = builder.mine(&[(own, amount)]);
    days(&mut builder, 1);
    let came = builder.pay(&stolen, &[(subject.clone(), amount - 3_000)]);
    days(&mut builder, 1);
    let to = builder.fresh_address(Form::WitnessKey);
    let _spent = builder.pay(&came, &[(to, amount - 4_000)]);
    days(&mut builder, 5);
    example(&format!("{category} marked as given back"), builder, claims, subject)
}

/// A random person with some honest money, to whom thieves and listed parties send random amounts that this person does
/// not move.
#[must_use]
pub fn pestered(id: ChainId, seed: u64) -> Example {
    let random = &mut Random::new(seed);
    let (mut builder, mut claims) = (chain_on(id, "2022-01-10"), Claims::default());
    let subject = builder.fresh_address(Form::WitnessKey);
    let mut own: Vec<Utxo> = Vec::new();
    for _ in 0..random.within(1, 12) {
        let amount = worth(id, *random.pick(&[1_500, 30_000, 900_000, 20_000_000, 300_000_000]));
        match random.below(5) {
            0 => own.push(paid_by_exchange(&mut builder, &mut claims, &subject, amount)),
            1 if !own.is_empty() => {
                let coin = own.swap_remove(0);
                let shop = builder.fresh_address(Form::WitnessKey);
                let value = coin.value - 1_000;
                let _paid = builder.pay(&[coin], &[(shop, value)]);
            }
            _ => {
                let origin = *random.pick(&[Origin::Stolen, Origin::Listed]);
                let moves = [Move::Forward(1), Move::PaySelf(2), Move::Split(3), Move::Peel(2)];
                let count = usize::try_from(random.below(3)).expect("a number of moves");
                let moves: Vec<Move> = (0..count).map(|_| *random.pick(&moves)).collect();
                thrust_upon(&mut builder, &mut claims, (origin, &moves), (&subject, amount));
            }
        }
        days(&mut builder, i64::try_from(random.below(60)).expect("days"));
    }
    // Whoever received nothing would be no example.
    let listed = builder.fresh_address(Form::WitnessKey);
    claims.list(&listed, "DOE, John", date(2018, 11, 28));
    let coins = builder.mine(&[(listed, worth(id, 60_000))]);
    days(&mut builder, 1);
    let _sent = builder.pay(&coins, &[(subject.clone(), worth(id, 59_000))]);
    days(&mut builder, 1);
    example(&format!("somebody pestered, {seed}"), builder, claims, subject)
}

/// Stolen money paid directly to somebody who first sent clean money round `times` times through a labelled exchange.
#[must_use]
pub fn round_an_exchange(id: ChainId, times: u32) -> Example {
    let (mut builder, mut claims) = (chain_on(id, "2022-10-01"), Claims::default());
    let subject = builder.fresh_address(Form::WitnessKey);
    let (hot, deposits) =
        (builder.fresh_address(Form::ScriptHash), builder.fresh_address(Form::WitnessKey));
    for address in [&hot, &deposits] {
        claims.label(address, Claim::investigated(Category::Exchange, "North Exchange"));
    }
    let mut coins = builder.mine(&[(hot.clone(), worth(id, COIN))]);
    for _ in 0..times {
        let value = coins[0].value - 1_000;
        coins = builder.pay(&coins, &[(subject.clone(), value)]);
        days(&mut builder, 1);
        coins = builder.pay(&coins, &[(deposits.clone(), value - 1_000)]);
        days(&mut builder, 1);
    }
    let amount = worth(id, COIN / 10 * 9);
    let mut thief = Launderer::new(&mut builder, &mut claims, Origin::Stolen, amount);
    let stolen = thief.take_largest();
    let _paid = thief.send(&[stolen], &subject);
    days(&mut builder, 5);
    let title = format!("{times} times round through an exchange, then 0.9 stolen");
    example(&title, builder, claims, subject)
}
