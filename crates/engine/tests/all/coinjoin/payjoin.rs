//! Payments that may be `PayJoin`s.

use assay_engine::utxo::coinjoin::PayjoinSuspicion::{self, Impossible, Possible, Suspected};
use assay_test_random::Random;

use super::{
    common::{Candidate, OwnedAmount, coins, data, legacy, segwit},
    data as recorded,
};

fn pay(spent: &[u64], paid: &[u64]) -> Candidate {
    Candidate::new(coins(segwit, 1, spent), coins(segwit, 100, paid))
}

#[test]
fn an_input_that_the_payment_does_not_need_is_suspect() {
    // The payer has 50 million and pays 15; the payee adds 30.
    assert_eq!(pay(&[50_000_000, 30_000_000], &[45_000_000, 34_990_000]).payjoin(), Suspected);
    // Neither output could be paid without both.
    assert_eq!(pay(&[50_000_000, 30_000_000], &[70_000_000, 9_990_000]).payjoin(), Possible);
    // The bound: the smallest input is worth as much as the smaller output.
    assert_eq!(pay(&[50_000_000, 30_000_000], &[30_000_000, 49_990_000]).payjoin(), Suspected);
    assert_eq!(pay(&[50_000_000, 30_000_000], &[29_999_999, 49_990_000]).payjoin(), Possible);
}

#[test]
fn one_owner_rules_it_out() {
    let spent = [50_000_000, 30_000_000];
    assert_eq!(pay(&[80_000_000], &[45_000_000, 34_990_000]).payjoin(), Impossible, "one input");
    let mut one_owner = pay(&spent, &[45_000_000, 34_990_000]);
    one_owner.inputs[1] = Some((segwit(1), 30_000_000));
    assert_eq!(one_owner.payjoin(), Impossible);
    assert_eq!(pay(&[], &[625_000_000, 1]).payjoin(), Impossible, "a coinbase");
}

#[test]
fn the_number_of_outputs_rules_nothing_out() {
    let spent = [50_000_000, 30_000_000];
    assert_eq!(pay(&spent, &[79_990_000]).payjoin(), Possible, "a payer without change");
    assert_eq!(
        pay(&spent, &[45_000_000, 30_000_000, 4_990_000]).payjoin(),
        Possible,
        "a payee splits"
    );
    let mut to_one = pay(&spent, &[45_000_000, 34_990_000]);
    to_one.outputs[1].0 = segwit(100);
    assert_eq!(to_one.payjoin(), Possible);
    let mut with_data = pay(&spent, &[79_990_000]);
    with_data.outputs.push(data(1));
    assert_eq!(with_data.payjoin(), Possible);
}

#[test]
fn it_has_its_time_and_chain() {
    let suspect = pay(&[50_000_000, 30_000_000], &[45_000_000, 34_990_000]);
    assert_eq!(suspect.clone().on(2018, 7, 31).payjoin(), Impossible);
    assert_eq!(suspect.clone().on(2018, 8, 1).payjoin(), Suspected);
    let mut elsewhere = suspect;
    elsewhere.chain = "ltc".parse().unwrap();
    assert_eq!(elsewhere.payjoin(), Impossible);
}

#[test]
fn unknown_inputs_are_of_unknown_owners() {
    let unknown = pay(&[50_000_000, 30_000_000], &[45_000_000, 34_990_000]).with_unknown_inputs();
    assert_eq!(unknown.payjoin(), Possible);
    let mut half = pay(&[50_000_000, 30_000_000], &[45_000_000, 34_990_000]);
    half.inputs[1] = None;
    assert_eq!(half.payjoin(), Possible);
    half.inputs.truncate(1);
    assert_eq!(half.payjoin(), Impossible);
}

/// A wallet's order of choosing coins for a payment.
#[derive(Clone, Copy)]
enum Choice {
    LargestFirst,
    AnyOrder,
}

/// A payment of a wallet with coins of very different values; `None` where one input suffices.
fn payment(random: &mut Random, choice: Choice) -> Option<(Vec<OwnedAmount>, u64, u64)> {
    let mut wallet: Vec<u64> =
        (0..12).map(|_| random.within(50_000, 1_000_000) << random.within(0, 7)).collect();
    if matches!(choice, Choice::LargestFirst) {
        wallet.sort_unstable_by(|one, other| other.cmp(one));
    }
    let amount = random.within(50_000, 1_000_000) << random.within(0, 9);
    let mut sum = 0;
    let mut taken = Vec::new();
    for coin in wallet {
        if sum > amount + 2_000 {
            break;
        }
        sum += coin;
        taken.push(coin);
    }
    let change = sum.checked_sub(amount + 1_000).filter(|change| *change > 0)?;
    (taken.len() > 1).then(|| (coins(segwit, 1, &taken), amount, change))
}

/// Suspected payments among 2,000 payments with several inputs, in percent.
fn suspected(choice: Choice, payee_adds: bool) -> usize {
    let mut random = Random::new(41);
    let (mut suspects, mut all) = (0, 0);
    while all < 2_000 {
        let Some((mut spent, mut amount, change)) = payment(&mut random, choice) else { continue };
        if payee_adds {
            let coin = random.within(50_000, 1_000_000) << random.within(0, 7);
            spent.push((legacy(9), coin));
            amount += coin;
        }
        let paid = coins(segwit, 100, &[amount, change]);
        let suspicion = Candidate::new(spent, paid).payjoin();
        assert_ne!(suspicion, Impossible);
        suspects += usize::from(suspicion == Suspected);
        all += 1;
    }
    suspects / 20
}

#[test]
fn wallets_that_consolidate_are_the_cost() {
    let figures = [
        suspected(Choice::LargestFirst, false),
        suspected(Choice::AnyOrder, false),
        suspected(Choice::LargestFirst, true),
        suspected(Choice::AnyOrder, true),
    ];
    // Largest first, an input is added only where it is needed.
    assert_eq!(figures, [0, 88, 63, 92]);
}

#[test]
#[ignore = "needs test data"]
fn most_payments_of_several_inputs_are_possible() {
    let several: Vec<Candidate> =
        recorded::blocks().into_iter().filter(|one| one.inputs.len() > 1).collect();
    assert!(several.iter().all(|one| one.payjoin() == Impossible), "before the first protocol");
    let today: Vec<_> = several.into_iter().map(|one| one.on(2024, 1, 1).payjoin()).collect();
    let count = |suspicion: PayjoinSuspicion| today.iter().filter(|one| **one == suspicion).count();
    let counts = [count(Impossible), count(Possible), count(Suspected)];
    assert_eq!(counts, [0, 291, 0]);
}

#[test]
#[ignore = "needs test data"]
fn joint_transactions_are_no_suspects() {
    for file in ["wasabi1.txt.bz2", "joinmarket.txt.bz2"] {
        for record in recorded::recorded(file) {
            assert_eq!(record.transaction.payjoin(), Possible);
        }
    }
}
