//! Rings: owners who pay each other in a circle, amid payments of a crowd. Each member of a ring takes part in the same
//! cycle, whatever coins it pays with.

use assay_address::ChainId;
use assay_engine::utxo::ScriptOwner;
use jiff::Timestamp;

use super::crowd::{COIN, Crowd, FEE};
use crate::world::{ChainBuilder, Claims, Utxo, World};

/// The way in which the members of a ring pay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RingForm {
    /// Each member passes on the whole coin that it was paid.
    Plain,
    /// Each member has another coin of its own, pays with either, and keeps the change.
    Change,
    /// One member is paid by a pool of strangers, or together with customers, whom only some members see.
    Pool,
}

impl RingForm {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Change, Self::Pool];
}

/// A ring.
#[derive(Clone, Debug)]
pub struct Ring {
    /// The form.
    pub form: RingForm,
    /// The members, in the order in which they pay.
    pub members: Vec<ScriptOwner>,
}

/// A world with a ring of each form and of 3 to 7 members.
///
/// # Panics
///
/// Panics if the generator pays more than somebody has.
#[must_use]
pub fn rings(chain: ChainId, seed: u64) -> (World, Vec<Ring>) {
    let begin: Timestamp = "2024-01-01T00:00:00Z".parse().expect("a moment");
    let mut crowd = Crowd::new(ChainBuilder::new(chain, seed, begin), 60);
    let mut all = Vec::new();
    for form in RingForm::ALL {
        for length in 3..=7 {
            let members = plant(&mut crowd, form, length);
            all.push(Ring { form, members });
            crowd.pause(600, 2_000);
        }
    }
    (World::new(crowd.chain, Claims::default()), all)
}

/// Plants a ring within less than 7 days: each member pays 80 to 95 % of what it was paid, or all of it.
fn plant(crowd: &mut Crowd, form: RingForm, length: usize) -> Vec<ScriptOwner> {
    let members: Vec<ScriptOwner> = (0..length).map(|_| crowd.address()).collect();
    let spare: Vec<Option<Utxo>> = members
        .iter()
        .map(|member| (form == RingForm::Change).then(|| crowd.coin_of(member, 4 * COIN)))
        .collect();
    let mut coin = crowd.coin_of(members.first().expect("a member"), 3 * COIN);
    crowd.pause(1_500, 3_000);
    let odd = usize::try_from(crowd.between(0, length as u64 - 1)).expect("an index");
    let payees = members.iter().cycle().skip(1);
    for (at, ((payer, payee), own)) in members.iter().zip(payees).zip(spare).enumerate() {
        let amount = coin.value / 100 * crowd.between(80, 95);
        coin = match form {
            RingForm::Plain => crowd.pay(&[coin], &[], Some(payee)).remove(0),
            RingForm::Change => {
                let from = own.filter(|_| at.is_multiple_of(2)).unwrap_or(coin);
                crowd.pay(&[from], &[(payee.clone(), amount)], Some(payer)).remove(0)
            }
            RingForm::Pool if at == odd && length.is_multiple_of(2) => {
                // Strangers pay in the same transaction, each for a customer of its own.
                let mut coins = vec![coin];
                let mut paid = vec![(payee.clone(), amount)];
                for _ in 0..6 {
                    coins.push(crowd.coin(COIN / 4));
                    paid.push((crowd.address(), COIN / 5));
                }
                crowd.pay(&coins, &paid, Some(payer)).remove(0)
            }
            RingForm::Pool if at == odd => {
                // A payout to many customers.
                let mut paid = vec![(payee.clone(), amount)];
                for _ in 0..120 {
                    paid.push((crowd.address(), 10 * FEE));
                }
                crowd.pay(&[coin], &paid, Some(payer)).remove(0)
            }
            RingForm::Pool => crowd.pay(&[coin], &[(payee.clone(), amount)], Some(payer)).remove(0),
        };
        crowd.pause(70, 1_300);
    }
    members
}
