//! Innocent people, one for each known way to be mistaken for a launderer.

use std::sync::Arc;

use assay_address::ChainId;
use assay_engine::{taxonomy::Category, utxo::ScriptOwner};
use jiff::{SignedDuration, Timestamp, civil::date};

use super::{
    Example,
    launderer::{Launderer, Origin},
    tricks::{COIN, pay_join, spend_unsigned},
};
use crate::world::{ChainBuilder, Claim, Claims, Form, Utxo, World};

const DAY: i64 = 24;

/// A chain that begins at noon of a day.
pub(super) fn chain_on(id: ChainId, day: &str) -> ChainBuilder {
    let time: Timestamp = format!("{day}T12:00:00Z").parse().expect("a day");
    ChainBuilder::new(id, 1, time)
}

/// Waits.
pub(super) fn days(builder: &mut ChainBuilder, days: i64) {
    builder.wait(SignedDuration::from_hours(days * DAY));
}

/// A payment of an exchange that an investigation labels.
pub(super) fn paid_by_exchange(
    builder: &mut ChainBuilder,
    claims: &mut Claims,
    to: &ScriptOwner,
    amount: u64,
) -> Utxo {
    let exchange = builder.fresh_address(Form::ScriptHash);
    claims.label(&exchange, Claim::investigated(Category::Exchange, "North Exchange"));
    let coins = builder.mine(&[(exchange.clone(), 10 * amount + 10_000)]);
    days(builder, 1);
    let change = 9 * amount;
    builder.pay(&coins, &[(to.clone(), amount), (exchange, change)]).swap_remove(0)
}

/// A wallet that spends money of an exchange together with dust of a listed party.
#[must_use]
pub fn swept_dust(id: ChainId, amount: u64, dust: u64) -> Example {
    let title = format!("{dust} base units of a listed party's dust, swept by a wallet");
    let (mut builder, mut claims) = (chain_on(id, "2022-10-01"), Claims::default());
    let (subject, other) =
        (builder.fresh_address(Form::WitnessKey), builder.fresh_address(Form::WitnessKey));
    let money = paid_by_exchange(&mut builder, &mut claims, &subject, amount);
    days(&mut builder, 160);
    let listed = Launderer::new(&mut builder, &mut claims, Origin::Listed, COIN / 10);
    let sender = listed.coins;
    let change = (sender[0].owner.clone(), COIN / 10 - dust - 1_000);
    let dust = builder.pay(&sender, &[(subject.clone(), dust), change]).swap_remove(0);
    days(&mut builder, 20);
    let value = money.value + dust.value - 1_000;
    let _swept = builder.pay(&[money, dust], &[(other, value)]);
    days(&mut builder, 20);
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// Somebody with money of an exchange, to whom `senders` addresses of a thief sent `dust` base units each.
#[must_use]
pub fn dusted_by_many(id: ChainId, amount: u64, senders: u64, dust: u64) -> Example {
    let title = format!("dust of {dust} base units from {senders} addresses of a thief");
    let (mut builder, mut claims) = (chain_on(id, "2022-10-01"), Claims::default());
    let subject = builder.fresh_address(Form::WitnessKey);
    let _money = paid_by_exchange(&mut builder, &mut claims, &subject, amount);
    days(&mut builder, 200);
    let fee = 200;
    let thief =
        Launderer::new(&mut builder, &mut claims, Origin::Stolen, senders * (dust + 2 * fee));
    let coins = thief.coins;
    let fresh = (0..senders).map(|_| (builder.fresh_address(Form::WitnessKey), dust + fee));
    let fresh: Vec<_> = fresh.collect();
    for coin in builder.pay(&coins, &fresh) {
        let _dust = builder.pay(&[coin], &[(subject.clone(), dust)]);
    }
    days(&mut builder, 20);
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// Somebody who paid a party years before it was listed.
#[must_use]
pub fn paid_before_listing(id: ChainId, amount: u64) -> Example {
    let title = "paid somebody in 2019 who was listed in 2022".to_owned();
    let (mut builder, mut claims) = (chain_on(id, "2019-05-01"), Claims::default());
    let (subject, payee) =
        (builder.fresh_address(Form::KeyHash), builder.fresh_address(Form::KeyHash));
    claims.list(&payee, "DOE, John", date(2022, 8, 8));
    let money = paid_by_exchange(&mut builder, &mut claims, &subject, amount);
    days(&mut builder, 10);
    let _paid = builder.pay(&[money], &[(payee, amount - 1_000)]);
    days(&mut builder, 1_400);
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// The victim of a thief, whose label came after the theft.
#[must_use]
pub fn victim(id: ChainId, amount: u64) -> Example {
    let title = "the victim whose coins a thief took".to_owned();
    let (mut builder, mut claims) = (chain_on(id, "2022-10-01"), Claims::default());
    let (subject, thief) =
        (builder.fresh_address(Form::WitnessKey), builder.fresh_address(Form::WitnessKey));
    claims.label(&thief, Claim::investigated(Category::StolenFunds, "Bridge theft"));
    let money = paid_by_exchange(&mut builder, &mut claims, &subject, amount);
    days(&mut builder, 10);
    let _taken = builder.pay(&[money], &[(thief, amount - 1_000)]);
    days(&mut builder, 100);
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// An address that several sources label as an exchange.
#[must_use]
pub fn agreeing_labels(id: ChainId) -> Example {
    let title = "an address that three agreeing labels call an exchange's".to_owned();
    let (mut builder, mut claims) = (chain_on(id, "2022-10-01"), Claims::default());
    let subject = builder.fresh_address(Form::ScriptHash);
    for source in ["explorers", "tags", "researchers"] {
        let claim = Claim {
            percent: 90,
            source,
            ..Claim::investigated(Category::Exchange, "North Exchange")
        };
        claims.label(&subject, claim);
    }
    let _mined = builder.mine(&[(subject.clone(), 50 * COIN)]);
    days(&mut builder, 100);
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// A merchant with whom a labelled gang shops, twice by a crafted `PayJoin`.
#[must_use]
pub fn merchant_of_a_gang(id: ChainId, amount: u64) -> Example {
    let title = "a merchant with whom a labelled gang makes two PayJoins".to_owned();
    let (mut builder, mut claims) = (chain_on(id, "2023-01-01"), Claims::default());
    let (subject, gang) =
        (builder.fresh_address(Form::WitnessKey), builder.fresh_address(Form::WitnessKey));
    claims.label(&gang, Claim::investigated(Category::Ransomware, "Locker"));
    let _money = paid_by_exchange(&mut builder, &mut claims, &subject, amount);
    pay_join(&mut builder, &gang, &subject, 5_000_000);
    days(&mut builder, 20);
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// Somebody whose wallet spends an output that anybody can spend, with the same script as a labelled gang did.
#[must_use]
pub fn spender_of_anybodys_output(id: ChainId, amount: u64) -> Example {
    let title = "somebody who spends what anybody can spend, as a gang did".to_owned();
    let (mut builder, mut claims) = (chain_on(id, "2023-01-01"), Claims::default());
    let (subject, gang) =
        (builder.fresh_address(Form::WitnessKey), builder.fresh_address(Form::WitnessKey));
    claims.label(&gang, Claim::investigated(Category::Ransomware, "Locker"));
    let _money = paid_by_exchange(&mut builder, &mut claims, &subject, amount);
    spend_unsigned(&mut builder, &[gang, subject.clone()]);
    days(&mut builder, 20);
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// Distance of a payee from an exchange without a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaidBy {
    /// Paid by the exchange: its customer.
    Exchange,
    /// Paid by the customer: an employee.
    Employer,
    /// Paid by the employee: a landlord.
    Tenant,
}

/// Somebody whose money came from an exchange without a label, which one anonymous report at `percent` calls
/// ransomware.
#[must_use]
pub fn after_one_report(id: ChainId, percent: u8, paid_by: PaidBy) -> Example {
    let title = format!("paid by an {paid_by:?} after one anonymous report at {percent} %")
        .replace("an Tenant", "a tenant")
        .to_lowercase();
    let (mut builder, mut claims) = (chain_on(id, "2023-01-01"), Claims::default());
    let exchange = builder.fresh_address(Form::ScriptHash);
    claims.label(&exchange, Claim::reported(Category::Ransomware, percent, "reports"));
    let coins = builder.mine(&[(exchange.clone(), 50 * COIN)]);
    days(&mut builder, 1);
    let mut subject = builder.fresh_address(Form::WitnessKey);
    let outputs = [(subject.clone(), 2 * COIN), (exchange, 48 * COIN - 1_000)];
    let mut coin = builder.pay(&coins, &outputs).swap_remove(0);
    for _ in 0..paid_by as u8 {
        days(&mut builder, 10);
        let (giver, next) = (subject, builder.fresh_address(Form::WitnessKey));
        let rest = coin.value / 3;
        let outputs = [(next.clone(), coin.value - rest - 1_000), (giver, rest)];
        coin = builder.pay(&[coin], &outputs).swap_remove(0);
        subject = next;
    }
    days(&mut builder, 10);
    Example { title, world: Arc::new(World::new(builder, claims)), subject, before: None }
}

/// Every known innocent person, with the parameters with which the mistake was found, and further ones.
#[must_use]
pub fn innocents() -> Vec<Example> {
    let (btc, ltc) = (ChainId::BTC, "ltc".parse().expect("a chain"));
    let mut innocents = vec![
        swept_dust(btc, 10 * COIN, 294),
        swept_dust(btc, 10 * COIN, 1_000),
        swept_dust(ltc, 1_000 * COIN, 1_000),
        dusted_by_many(btc, COIN, 300, 1_000),
        dusted_by_many(btc, COIN / 100, 30, 600),
        dusted_by_many(btc, COIN / 10, 183, 600).with_earlier_verdict("review"),
        dusted_by_many(ltc, 10 * COIN, 183, 60_000),
        paid_before_listing(btc, 10 * COIN),
        victim(btc, 10 * COIN),
        agreeing_labels(btc),
        merchant_of_a_gang(btc, 10 * COIN).with_earlier_verdict("block"),
        merchant_of_a_gang(ltc, 1_000 * COIN),
        spender_of_anybodys_output(btc, 10 * COIN).with_earlier_verdict("block"),
        spender_of_anybodys_output(ltc, 1_000 * COIN),
    ];
    for percent in [1, 10] {
        for paid_by in [PaidBy::Exchange, PaidBy::Employer, PaidBy::Tenant] {
            innocents.push(after_one_report(btc, percent, paid_by).with_earlier_verdict("review"));
            innocents.push(after_one_report(ltc, percent, paid_by));
        }
    }
    innocents
}
