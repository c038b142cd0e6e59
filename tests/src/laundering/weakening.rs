//! Schemes that weaken what an answer rests on: labels that hide a thief, steps and entries that use up a trace, money
//! below the limits of a trace.

use std::sync::Arc;

use assay_address::ChainId;
use assay_engine::{taxonomy::Category, utxo::ScriptOwner};
use jiff::{SignedDuration, civil::date};

use super::{
    Example,
    launderer::{Launderer, Move, Origin},
    scheme::Scene,
    tricks::{COIN, chain, circle, clean, coins, pay_join},
};
use crate::world::{ChainBuilder, Claim, Claims, Form, Utxo, World, total};

/// A scheme before its chain is read, with or without compositions.
#[derive(Clone, Debug)]
pub struct Weakening {
    /// Summary of the scheme in one line.
    pub title: String,
    /// The chain with its claims and the address to check.
    pub scene: Scene,
}

impl Weakening {
    /// The example with a graph in memory, whose traces are bounded only by their limits.
    #[must_use]
    pub fn traced(self) -> Example {
        let Self { title, scene: Scene { builder, claims, subject } } = self;
        Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
    }

    /// The example with a recorded graph and compositions.
    #[must_use]
    pub fn composed(self) -> Example {
        let Self { title, scene: Scene { builder, claims, subject } } = self;
        let title = format!("{title}, with compositions");
        Example { title, world: Arc::new(World::recorded(builder, claims)), subject, before: None }
    }
}

/// An amount of Bitcoin, or one of about the same value on another chain.
#[must_use]
pub fn worth(id: ChainId, satoshi: u64) -> u64 {
    if id == ChainId::BTC { satoshi } else { satoshi * 500 }
}

impl Scene {
    fn new(id: ChainId) -> Self {
        let mut builder = chain(id, 1);
        let subject = builder.fresh_address(Form::WitnessKey);
        Self { builder, claims: Claims::default(), subject }
    }

    /// A thief whose address one community source reports at 80 %.
    fn reported_thief(&mut self, amount: u64) -> Launderer<'_> {
        let Self { builder, claims, .. } = self;
        let (victim, holder) =
            (builder.fresh_address(Form::WitnessKey), builder.fresh_address(Form::WitnessKey));
        claims.label(&holder, Claim::reported(Category::StolenFunds, 80, "reports"));
        Launderer::from_victim(builder, &victim, &holder, amount)
    }

    fn thief(&mut self, amount: u64) -> Launderer<'_> {
        Launderer::new(&mut self.builder, &mut self.claims, Origin::Stolen, amount)
    }

    fn done(mut self, title: String) -> Weakening {
        self.builder.wait(SignedDuration::from_hours(48));
        Weakening { title, scene: self }
    }
}

/// Stolen money over an address that two anonymous reports call by a category.
#[must_use]
pub fn called(id: ChainId, amount: u64, category: Category, percent: u8) -> Weakening {
    let word = category.as_str();
    let title = format!("{} over an address that two reports call {word}", coins(id, amount));
    let mut scene = Scene::new(id);
    let (subject, between) = (scene.subject.clone(), scene.builder.fresh_address(Form::WitnessKey));
    for source in ["reports", "more-reports"] {
        scene.claims.label(&between, Claim::reported(category, percent, source));
    }
    let mut thief = scene.thief(amount);
    let all = std::mem::take(&mut thief.coins);
    let coin = thief.send(&all, &between);
    let _paid = thief.send(&[coin], &subject);
    scene.done(title)
}

/// Money to a listed party over an address that two anonymous reports call by a category.
#[must_use]
pub fn called_towards_listed(id: ChainId, amount: u64, category: Category) -> Weakening {
    let word = category.as_str();
    let title = format!("{} to a listed party over a reported {word}", coins(id, amount));
    let mut scene = Scene::new(id);
    let Scene { builder, claims, subject } = &mut scene;
    let (between, listed) =
        (builder.fresh_address(Form::WitnessKey), builder.fresh_address(Form::WitnessKey));
    claims.list(&listed, "DOE, Jane", date(2018, 11, 28));
    for source in ["reports", "more-reports"] {
        claims.label(&between, Claim::reported(category, 5, source));
    }
    let own = clean(builder, amount);
    let mut coin = pay_all(builder, &own, subject);
    for to in [&between, &listed] {
        coin = pay_all(builder, &[coin], to);
    }
    scene.done(title)
}

/// Sends coins to one owner in a block of its own.
fn pay_all(builder: &mut ChainBuilder, coins: &[Utxo], to: &ScriptOwner) -> Utxo {
    let value = total(coins) - 1_000 - 100 * coins.len() as u64;
    let coin = builder.pay(coins, &[(to.clone(), value)]).remove(0);
    builder.wait(SignedDuration::from_hours(1));
    coin
}

/// Money that one community source reports as stolen, in `rows` rows of `steps` fresh addresses.
#[must_use]
pub fn reported_rows(id: ChainId, amount: u64, rows: u32, steps: u32) -> Weakening {
    let title = format!("{} reported as stolen, {rows} rows of {steps}", coins(id, amount));
    let mut scene = Scene::new(id);
    let subject = scene.subject.clone();
    let mut thief = scene.reported_thief(amount);
    thief.make_move(Move::Split(rows));
    thief.make_move(Move::Forward(steps));
    let all = std::mem::take(&mut thief.coins);
    let _paid = thief.send(&all, &subject);
    scene.done(title)
}

/// Money that one community source reports as stolen, over `hops` hops, beside `clean` of a service without a label that
/// keeps all deposits of `deposits` customers in one hot coin.
#[must_use]
pub fn beside_a_hot_coin(id: ChainId, amount: u64, clean_amount: u64, deposits: u32) -> Weakening {
    let title = format!(
        "{} reported as stolen, beside {} of one hot coin",
        coins(id, amount),
        coins(id, clean_amount)
    );
    let mut scene = Scene::new(id);
    let Scene { builder, subject, .. } = &mut scene;
    let hot = builder.fresh_address(Form::WitnessKey);
    let funds = clean(builder, 50 * clean_amount);
    let mut coin = pay_all(builder, &funds, &hot);
    for _ in 0..deposits {
        let customer = clean(builder, clean_amount / 10);
        coin = pay_all(builder, &[&[coin][..], &customer].concat(), &hot);
    }
    let rest = coin.value - clean_amount - 2_000;
    let _paid = builder.pay(&[coin], &[(subject.clone(), clean_amount), (hot, rest)]);
    let subject = subject.clone();
    let mut thief = scene.reported_thief(amount);
    thief.make_move(Move::Forward(12));
    let all = std::mem::take(&mut thief.coins);
    let _paid = thief.send(&all, &subject);
    scene.done(title)
}

/// Money that one community source reports as stolen, paid `times` times within the wallet of the payee.
#[must_use]
pub fn within_the_wallet(id: ChainId, amount: u64, times: u32) -> Weakening {
    let title =
        format!("{} reported as stolen, {times} times inside the wallet", coins(id, amount));
    let mut scene = Scene::new(id);
    let subject = scene.subject.clone();
    let sibling = scene.builder.fresh_address(Form::WitnessKey);
    pay_join(&mut scene.builder, &subject, &sibling, 50_000);
    let mut thief = scene.reported_thief(amount);
    let all = std::mem::take(&mut thief.coins);
    let coin = thief.send(&all, &sibling);
    thief.coins = vec![coin];
    thief.make_move(Move::PaySelf(times));
    let all = std::mem::take(&mut thief.coins);
    let _paid = thief.send(&all, &subject);
    scene.done(title)
}

/// Number of own addresses of a joint-looking transaction, and of the coins of each.
const JOINT: (u64, u64) = (252, 16);

/// The coins of a wallet in `count` transactions one after another, each of which spends and pays 16 equal coins of each
/// of 252 addresses.
fn shuffled(chain: &mut ChainBuilder, coin: Utxo, count: u32) -> Vec<Utxo> {
    let (owners, each) = JOINT;
    let owners: Vec<ScriptOwner> =
        (0..owners).map(|_| chain.fresh_address(Form::WitnessKey)).collect();
    let split = |value: u64| -> Vec<(ScriptOwner, u64)> {
        (0..each).flat_map(|_| owners.iter().map(move |owner| (owner.clone(), value))).collect()
    };
    let count_of_coins = JOINT.0 * JOINT.1;
    let mut value = coin.value / count_of_coins - 300;
    let mut coins = chain.pay(&[coin], &split(value));
    chain.wait(SignedDuration::from_hours(1));
    for _ in 0..count {
        value -= 120;
        coins = chain.pay(&coins, &split(value));
        chain.wait(SignedDuration::from_hours(1));
    }
    coins
}

/// Stolen money through `count` joint-looking transactions of own addresses.
#[must_use]
pub fn shuffled_alone(id: ChainId, amount: u64, count: u32) -> Weakening {
    let title = format!("{} through {count} transactions of 4,032 coins", coins(id, amount));
    let mut scene = Scene::new(id);
    let subject = scene.subject.clone();
    let mut thief = scene.thief(amount);
    thief.make_move(Move::Forward(1));
    let coin = thief.take_largest();
    let merged = thief.fresh_address();
    let mixed = shuffled(thief.chain, coin, count);
    let coin = pay_all(thief.chain, &mixed, &merged);
    let _paid = thief.send(&[coin], &subject);
    scene.done(title)
}

/// Money to a listed party through `count` joint-looking transactions of own addresses.
#[must_use]
pub fn shuffled_towards_listed(id: ChainId, amount: u64, count: u32) -> Weakening {
    let title =
        format!("{} to a listed party through {count} transactions of 4,032", coins(id, amount));
    let mut scene = Scene::new(id);
    let Scene { builder, claims, subject } = &mut scene;
    let listed = builder.fresh_address(Form::WitnessKey);
    claims.list(&listed, "DOE, Jane", date(2018, 11, 28));
    let own = clean(builder, amount);
    let own = pay_all(builder, &own, subject);
    let between = builder.fresh_address(Form::WitnessKey);
    let coin = pay_all(builder, &[own], &between);
    let mixed = shuffled(builder, coin, count);
    let _paid = pay_all(builder, &mixed, &listed);
    scene.done(title)
}

/// Stolen money as `payments` fees of `fee` base units in a block of the thief, who pays the subject from its coinbase.
#[must_use]
pub fn small_fees(id: ChainId, payments: u32, fee: u64) -> Weakening {
    let title = format!("stolen money as {payments} fees of {fee} in one block");
    let mut scene = Scene::new(id);
    let subject = scene.subject.clone();
    let mut thief = scene.thief(u64::from(payments) * (fee + 2_000) + 100_000);
    let holder = thief.fresh_address();
    let each: Vec<_> = (0..payments).map(|_| (holder.clone(), fee + 600)).collect();
    let coin = thief.take_largest();
    let coins = thief.pay(&[coin], &each);
    let builder = thief.chain;
    for coin in coins {
        let _rest = builder.pay(&[coin], &[(holder.clone(), 600)]);
    }
    let _mined = builder.mine_to(&subject);
    scene.done(title)
}

/// Stolen money in `stolen` inputs below `larger` larger clean inputs of one payment: more than is read of one.
#[must_use]
pub fn smallest_inputs(id: ChainId, amount: u64, stolen: u32, larger: u32) -> Weakening {
    let title = format!("{} in {stolen} inputs below {larger} larger ones", coins(id, amount));
    let mut scene = Scene::new(id);
    let subject = scene.subject.clone();
    let mut thief = scene.thief(amount);
    let coin = thief.take_largest();
    let each = (amount - 100_000) / u64::from(stolen) - 200;
    let to = thief.fresh_address();
    let parts: Vec<_> = (0..stolen).map(|_| (to.clone(), each)).collect();
    let mut inputs = thief.pay(&[coin], &parts);
    let outputs: Vec<_> = (0..larger).map(|_| (to.clone(), each + 1)).collect();
    let funds = clean(thief.chain, (each + 2) * u64::from(larger));
    inputs.extend(thief.pay(&funds, &outputs));
    let coin = pay_all(thief.chain, &inputs, &to);
    let _paid = thief.send(&[coin], &subject);
    scene.done(title)
}

/// Clean money, and a share of it received directly from a party of a category.
#[must_use]
pub fn direct_share(id: ChainId, clean_amount: u64, amount: u64, category: Category) -> Weakening {
    let word = category.as_str();
    let title = format!("{} straight from {word}", coins(id, amount));
    let mut scene = Scene::new(id);
    let Scene { builder, claims, subject } = &mut scene;
    let party = builder.fresh_address(Form::WitnessKey);
    claims.label(&party, Claim::investigated(category, "Someone"));
    let own = clean(builder, clean_amount);
    let coin = pay_all(builder, &own, subject);
    let funds = clean(builder, amount);
    let paid = pay_all(builder, &funds, &party);
    let paid = pay_all(builder, &[paid], subject);
    // The subject passed all of it on.
    let elsewhere = builder.fresh_address(Form::WitnessKey);
    let _gone = pay_all(builder, &[coin, paid], &elsewhere);
    scene.done(title)
}

/// Clean money that stays with the payee for a day, and stolen money over a hop, which alone remains.
#[must_use]
pub fn parked(id: ChainId, clean_amount: u64, amount: u64) -> Weakening {
    let title =
        format!("{} stolen remains of {} parked", coins(id, amount), coins(id, clean_amount));
    let mut scene = Scene::new(id);
    let Scene { builder, subject, .. } = &mut scene;
    let own = clean(builder, clean_amount);
    let coin = pay_all(builder, &own, subject);
    builder.wait(SignedDuration::from_hours(24));
    let elsewhere = builder.fresh_address(Form::WitnessKey);
    let _gone = pay_all(builder, &[coin], &elsewhere);
    let subject = subject.clone();
    let mut thief = scene.thief(amount);
    thief.make_move(Move::Forward(1));
    let all = std::mem::take(&mut thief.coins);
    let _paid = thief.send(&all, &subject);
    scene.done(title)
}

/// Money that one community source reports as stolen, in two rows of 320 fresh addresses: another source files four more
/// severe categories about the thief, at 1 %.
#[must_use]
pub fn displaced(id: ChainId, amount: u64) -> Weakening {
    let title = format!("{} reported as stolen, and as four worse at 1 %", coins(id, amount));
    let mut scene = Scene::new(id);
    let subject = scene.subject.clone();
    let (victim, holder) = (
        scene.builder.fresh_address(Form::WitnessKey),
        scene.builder.fresh_address(Form::WitnessKey),
    );
    scene.claims.label(&holder, Claim::reported(Category::StolenFunds, 80, "reports"));
    for worse in [
        Category::TerrorismFinancing,
        Category::Csam,
        Category::Ransomware,
        Category::HumanTrafficking,
    ] {
        scene.claims.label(&holder, Claim::reported(worse, 1, "more-reports"));
    }
    let mut thief = Launderer::from_victim(&mut scene.builder, &victim, &holder, amount);
    thief.make_move(Move::Split(2));
    thief.make_move(Move::Forward(320));
    let all = std::mem::take(&mut thief.coins);
    let _paid = thief.send(&all, &subject);
    scene.done(title)
}

/// Money to a listed party, after `labels` own transactions that each multiply the sets of labels that it carries: one
/// of two outputs goes over an address that somebody reports at 1 %, by another category each time.
#[must_use]
pub fn multiplied_labels(id: ChainId, amount: u64, labels: usize, outputs: u64) -> Weakening {
    let title = format!("{} to a listed party over {labels} reports", coins(id, amount));
    let mut scene = Scene::new(id);
    let Scene { builder, claims, subject } = &mut scene;
    let listed = builder.fresh_address(Form::WitnessKey);
    claims.list(&listed, "DOE, Jane", date(2018, 11, 28));
    let own = clean(builder, amount);
    let own = pay_all(builder, &own, subject);
    let between = builder.fresh_address(Form::WitnessKey);
    let mut coins = vec![pay_all(builder, &[own], &between)];
    let risky = Category::ALL.iter().filter(|category| category.info().severity >= 25);
    for category in risky.take(labels) {
        let (reported, other) =
            (builder.fresh_address(Form::WitnessKey), builder.fresh_address(Form::WitnessKey));
        claims.label(&reported, Claim::reported(*category, 1, "reports"));
        let half = (total(&coins) - 2_000) / 2;
        coins = builder.pay(&coins, &[(reported, half), (other, half)]);
        builder.wait(SignedDuration::from_hours(1));
    }
    let each = (total(&coins) - 200_000) / outputs;
    let fans: Vec<_> =
        (0..outputs).map(|_| (builder.fresh_address(Form::WitnessKey), each)).collect();
    let fans = builder.pay(&coins, &fans);
    builder.wait(SignedDuration::from_hours(1));
    let _paid = pay_all(builder, &fans, &listed);
    scene.done(title)
}

/// Clean money that the payee first sends in circles, and that then leaves; stolen money over a hop alone remains.
#[must_use]
pub fn parked_after_circles(id: ChainId, clean_amount: u64, amount: u64) -> Weakening {
    let title = format!("{} stolen remains of circles", coins(id, amount));
    let mut scene = Scene::new(id);
    let Scene { builder, subject, .. } = &mut scene;
    let own = clean(builder, clean_amount);
    let coin = pay_all(builder, &own, subject);
    let coin = circle(builder, coin, 5);
    let elsewhere = builder.fresh_address(Form::WitnessKey);
    let _gone = pay_all(builder, &[coin], &elsewhere);
    let subject = subject.clone();
    let mut thief = scene.thief(amount);
    thief.make_move(Move::Forward(1));
    let all = std::mem::take(&mut thief.coins);
    let _paid = thief.send(&all, &subject);
    scene.done(title)
}

/// Money wholly out of a mixer, over two forwards.
#[must_use]
pub fn out_of_a_mixer(id: ChainId, amount: u64) -> Weakening {
    let title = format!("{} out of a mixer, over two forwards", coins(id, amount));
    let mut scene = Scene::new(id);
    let Scene { builder, claims, subject } = &mut scene;
    let mixer = builder.fresh_address(Form::WitnessKey);
    claims.label(&mixer, Claim::investigated(Category::Mixer, "Fog"));
    let funds = clean(builder, amount);
    let mut coin = pay_all(builder, &funds, &mixer);
    for _ in 0..2 {
        let between = builder.fresh_address(Form::WitnessKey);
        coin = pay_all(builder, &[coin], &between);
    }
    let _paid = pay_all(builder, &[coin], subject);
    scene.done(title)
}

/// The schemes that a trace without compositions recognises too.
#[must_use]
pub fn within_a_trace(id: ChainId) -> Vec<Weakening> {
    let worth = |satoshi| worth(id, satoshi);
    vec![
        called(id, worth(5 * COIN), Category::Gambling, 10),
        called(id, worth(5 * COIN), Category::BlacklistDoubt, 1),
        called(id, worth(5 * COIN), Category::Atm, 5),
        called_towards_listed(id, worth(5 * COIN), Category::Gambling),
        reported_rows(id, worth(5 * COIN), 2, 320),
        within_the_wallet(id, worth(5 * COIN), 320),
        shuffled_alone(id, worth(5 * COIN), 2),
        shuffled_towards_listed(id, worth(5 * COIN), 3),
        direct_share(id, worth(71 * COIN / 100), worth(29 * COIN / 100), Category::PhishingDrainer),
        parked(id, worth(10 * COIN), worth(95 * COIN / 100)),
        parked_after_circles(id, worth(870 * COIN / 100), worth(95 * COIN / 100)),
        displaced(id, worth(5 * COIN)),
        multiplied_labels(id, worth(5 * COIN), 12, 980),
        out_of_a_mixer(id, worth(470 * COIN / 100)),
    ]
}

/// The schemes that only compositions reveal.
#[must_use]
pub fn beyond_a_trace(id: ChainId) -> Vec<Weakening> {
    let worth = |satoshi| worth(id, satoshi);
    vec![
        beside_a_hot_coin(id, worth(150 * COIN / 100), worth(8 * COIN), 400),
        small_fees(id, 9_100, worth(33_000)),
        smallest_inputs(id, worth(100 * COIN), 20_000, 50_100),
    ]
}
