//! A wallet and its fingerprint: habits that distinguish its transactions.

use assay_engine::utxo::ScriptOwner;
use assay_test_random::Random;

use crate::world::{Form, Utxo};

/// The choice of coins for a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoinSelection {
    /// The largest coins first.
    Largest,
    /// The oldest coins first.
    Oldest,
    /// Any coins.
    Any,
}

/// The position of the change among the outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangePosition {
    /// First.
    First,
    /// Last.
    Last,
    /// At a random position.
    Any,
    /// Outputs are sorted by value (BIP 69).
    Sorted,
}

/// Habits of a wallet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Form of the wallet's addresses.
    pub form: Form,
    /// Choice of coins for payments.
    pub selection: CoinSelection,
    /// Position of the change.
    pub change: ChangePosition,
    /// True if change goes to the address of the first input.
    pub change_to_input: bool,
    /// Percentage of receipts at an address that was used before.
    pub reuse_percent: u64,
    /// True if the wallet pays round amounts.
    pub round_amounts: bool,
}

impl Fingerprint {
    /// A random fingerprint.
    #[must_use]
    pub fn random(dice: &mut Random) -> Self {
        let selections = [CoinSelection::Largest, CoinSelection::Oldest, CoinSelection::Any];
        let changes = [
            ChangePosition::First,
            ChangePosition::Last,
            ChangePosition::Any,
            ChangePosition::Sorted,
        ];
        Self {
            form: *dice.pick(&Form::ALL),
            selection: *dice.pick(&selections),
            change: *dice.pick(&changes),
            change_to_input: dice.one_in(8),
            reuse_percent: *dice.pick(&[0, 5, 20, 50, 100]),
            round_amounts: dice.one_in(2),
        }
    }

    /// The fingerprint of a service, which spends its largest coins.
    #[must_use]
    pub const fn service(form: Form) -> Self {
        Self {
            form,
            selection: CoinSelection::Largest,
            change: ChangePosition::Last,
            change_to_input: false,
            reuse_percent: 0,
            round_amounts: false,
        }
    }

    /// Rounds an amount if the wallet pays round amounts.
    #[must_use]
    pub const fn rounded(&self, amount: u64) -> u64 {
        const ROUND: u64 = 100_000;
        if self.round_amounts && amount > ROUND { amount / ROUND * ROUND } else { amount }
    }
}

/// A wallet.
#[derive(Clone, Debug)]
pub struct Wallet {
    /// Habits of the wallet.
    pub fingerprint: Fingerprint,
    /// Unspent coins, oldest first.
    pub coins: Vec<Utxo>,
    /// All paid addresses, in order.
    pub addresses: Vec<ScriptOwner>,
    /// The address of all change and consolidations, if the wallet has one.
    pub home: Option<ScriptOwner>,
}

impl Wallet {
    pub(super) const fn new(fingerprint: Fingerprint) -> Self {
        Self { fingerprint, coins: Vec::new(), addresses: Vec::new(), home: None }
    }

    /// Takes coins for a payment. `cost` returns the cost with the fee for a number of inputs. `None` if the balance is
    /// too small.
    pub(super) fn select(
        &mut self,
        dice: &mut Random,
        cost: impl Fn(u64) -> u64,
    ) -> Option<Vec<Utxo>> {
        let coins = &self.coins;
        let mut order: Vec<usize> = (0..coins.len()).collect();
        match self.fingerprint.selection {
            CoinSelection::Largest => order.sort_by_key(|place| u64::MAX - coins[*place].value),
            CoinSelection::Oldest => {}
            CoinSelection::Any => dice.shuffle(&mut order),
        }
        let (mut sum, mut taken) = (0, Vec::new());
        for place in order {
            sum += coins[place].value;
            taken.push(place);
            if sum >= cost(taken.len() as u64) {
                taken.sort_unstable();
                return Some(
                    taken.into_iter().rev().map(|place| self.coins.remove(place)).collect(),
                );
            }
        }
        None
    }
}
