//! Balances before and after a transaction, and the transfers that they show: what is read where a node cannot state the calls of a
//! transaction, because anybody can make these too many. Their number does not grow with that of the calls.

use std::collections::BTreeMap;

use assay_engine::account::{AccountAddress, Asset, Transfer, TransferKind};
use ruint::aliases::{U256, U512};
use serde::Deserialize;

use super::{
    block::native,
    hex::{Account, Amount},
    params::BELOW,
};
use crate::{Tracer, http::shortened};

/// Most pairs of a payer and a receiver in one transaction. Above it, nothing is booked and the block has a gap: two hundred accounts
/// would have to lose and to gain coins.
const MOST_PAIRS: usize = 10_000;

/// The balances of accounts whose balance a transaction changed, before and after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BalanceChanges(BTreeMap<AccountAddress, (U256, U256)>);

/// An answer of the tracer of states before and after a transaction. An account that was destroyed is missing afterwards.
#[derive(Deserialize)]
struct Difference {
    pre: BTreeMap<Account, StateOfAccount>,
    post: BTreeMap<Account, StateOfAccount>,
}

#[derive(Deserialize)]
struct StateOfAccount {
    balance: Option<Amount>,
}

/// An answer of `trace_replayTransaction` about changes of the state.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Replayed {
    state_diff: BTreeMap<Account, ChangedAccount>,
}

#[derive(Deserialize)]
struct ChangedAccount {
    balance: ChangedBalance,
}

#[derive(Deserialize)]
enum ChangedBalance {
    #[serde(rename = "=")]
    Same,
    #[serde(rename = "+")]
    New(Amount),
    #[serde(rename = "-")]
    Gone(Amount),
    #[serde(rename = "*")]
    Other { from: Amount, to: Amount },
}

impl BalanceChanges {
    /// Reads a node's answer: of `trace_replayTransaction` from a node of that tracer, else of the tracer of states.
    ///
    /// # Errors
    ///
    /// Returns a description of the problem.
    pub(super) fn read(tracer: Tracer, json: &str) -> Result<Self, String> {
        let read = match tracer {
            Tracer::Parity => serde_json::from_str(json).map(Self::of_replayed),
            _ => serde_json::from_str(json).map(Self::of_difference),
        };
        read.map_err(|error| shortened(&error.to_string()))
    }

    fn of_difference(Difference { pre, post }: Difference) -> Self {
        let balance = |state: &StateOfAccount| state.balance.map(|balance| balance.0);
        let new = post.iter().filter(|(account, _)| !pre.contains_key(account));
        let new = new
            .map(|(account, state)| (account.0, (U256::ZERO, balance(state).unwrap_or_default())));
        let known = pre.iter().map(|(account, state)| {
            let before = balance(state).unwrap_or_default();
            // What stays is not stated.
            let after =
                post.get(account).map_or(U256::ZERO, |state| balance(state).unwrap_or(before));
            (account.0, (before, after))
        });
        known.chain(new).collect()
    }

    fn of_replayed(replayed: Replayed) -> Self {
        let changed =
            replayed.state_diff.into_iter().map(|(account, ChangedAccount { balance })| {
                let balances = match balance {
                    ChangedBalance::Same => (U256::ZERO, U256::ZERO),
                    ChangedBalance::New(Amount(after)) => (U256::ZERO, after),
                    ChangedBalance::Gone(Amount(before)) => (before, U256::ZERO),
                    ChangedBalance::Other { from, to } => (from.0, to.0),
                };
                (account.0, balances)
            });
        changed.collect()
    }

    /// The transfers beside the `known` ones that explain the changes: what accounts lost goes to those that gained, in proportion,
    /// and what nobody gained was destroyed. `None` if accounts gained more than others lost, or for too many accounts.
    ///
    /// Money that passed an account within the transaction is no change of it: a transfer goes from where it came to where it stayed.
    pub(super) fn unexplained(&self, known: &[&Transfer]) -> Option<Vec<Transfer>> {
        let mut balances = self.0.clone();
        for transfer in known.iter().filter(|it| it.asset == Asset::Native) {
            let Transfer { from, to, amount, .. } = transfer;
            // An account whose balance did not change passed on what it got. That of a fee may not be stated.
            if is_account(from) {
                let (_, after) = balances.entry(*from).or_default();
                *after = after.checked_add(*amount)?;
            }
            if is_account(to) && (balances.contains_key(to) || transfer.kind != TransferKind::Fee) {
                let (before, _) = balances.entry(*to).or_default();
                *before = before.checked_add(*amount)?;
            }
        }
        let (mut losses, mut gains) = (Vec::new(), Vec::new());
        for (account, (before, after)) in balances {
            match after.checked_sub(before) {
                Some(gain) if gain.is_zero() => {}
                Some(gain) => gains.push((account, gain)),
                None => losses.push((account, before.checked_sub(after)?)),
            }
        }
        let destroyed = sum(&losses)?.checked_sub(sum(&gains)?)?;
        if !destroyed.is_zero() {
            gains.push((AccountAddress::ZERO, destroyed));
        }
        (losses.len().saturating_mul(gains.len()) <= MOST_PAIRS).then(|| shared(losses, gains))
    }
}

/// True unless the address stands for what no balance tells: destroyed coins, and the chain below.
fn is_account(address: &AccountAddress) -> bool {
    *address != AccountAddress::ZERO && *address != BELOW
}

impl FromIterator<(AccountAddress, (U256, U256))> for BalanceChanges {
    fn from_iter<I: IntoIterator<Item = (AccountAddress, (U256, U256))>>(balances: I) -> Self {
        let balances = balances.into_iter();
        Self(balances.filter(|(_, (before, after))| before != after).collect())
    }
}

type Side = Vec<(AccountAddress, U256)>;

/// The sum of amounts; `None` above 256 bits.
fn sum(amounts: &Side) -> Option<U256> {
    amounts.iter().try_fold(U256::ZERO, |sum, (_, amount)| sum.checked_add(*amount))
}

/// Shares losses out among gains of the same sum, each loss in proportion to the gains. The rest that rounding leaves, less than one unit
/// for each pair, follows in the order of the accounts.
fn shared(mut losses: Side, mut gains: Side) -> Vec<Transfer> {
    let Some(whole) = sum(&losses).filter(|whole| !whole.is_zero()) else { return Vec::new() };
    let wide = |amount: U256| U512::from(amount);
    let (all_losses, all_gains) = (losses.clone(), gains.clone());
    let mut amounts = BTreeMap::new();
    for ((from, lost), (_, left)) in all_losses.iter().zip(&mut losses) {
        for ((to, gained), (_, open)) in all_gains.iter().zip(&mut gains) {
            let share = wide(*lost) * wide(*gained) / wide(whole);
            let share = U256::from(share).min(*left).min(*open);
            *left -= share;
            *open -= share;
            amounts.insert((*from, *to), share);
        }
    }
    let mut open = gains.into_iter().peekable();
    for (from, mut left) in losses {
        while !left.is_zero()
            && let Some((to, rest)) = open.peek_mut()
        {
            let share = left.min(*rest);
            left -= share;
            *rest -= share;
            *amounts.entry((from, *to)).or_default() += share;
            if rest.is_zero() {
                open.next();
            }
        }
    }
    let moved = amounts.into_iter().filter(|(_, amount)| !amount.is_zero());
    let transfer = |((from, to), amount): ((AccountAddress, AccountAddress), U256)| {
        let is_burn = to == AccountAddress::ZERO;
        let kind = if is_burn { TransferKind::Burn } else { TransferKind::Transfer };
        native(kind, from, to, amount, None)
    };
    moved.map(transfer).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::evm::tests::build::account;

    fn of(number: u8) -> AccountAddress {
        AccountAddress([number; 20])
    }

    fn paid(kind: TransferKind, from: u8, to: u8, amount: u64) -> Transfer {
        native(kind, of(from), of(to), U256::from(amount), None)
    }

    fn changes(balances: &[(u8, u64, u64)]) -> BalanceChanges {
        let wide = |amount: u64| U256::from(amount);
        balances
            .iter()
            .map(|(number, before, after)| (of(*number), (wide(*before), wide(*after))))
            .collect()
    }

    fn told(
        transfers: Option<Vec<Transfer>>,
    ) -> Option<Vec<(TransferKind, AccountAddress, AccountAddress, u64)>> {
        let one = |it: Transfer| (it.kind, it.from, it.to, it.amount.to::<u64>());
        transfers.map(|transfers| transfers.into_iter().map(one).collect())
    }

    /// Given a contract that passes on what its caller paid, and a fee, then the contract pays the receiver.
    #[test]
    fn money_that_a_contract_passes_on_comes_from_it() {
        let value = paid(TransferKind::Transfer, 1, 8, 100);
        let fees = [paid(TransferKind::Fee, 1, 0, 3), paid(TransferKind::Fee, 1, 7, 2)];
        let known = [&value, &fees[0], &fees[1]];
        let found =
            changes(&[(1, 500, 395), (7, 10, 12), (2, 0, 60), (3, 5, 45)]).unexplained(&known);
        let expected = [
            (TransferKind::Transfer, of(8), of(2), 60),
            (TransferKind::Transfer, of(8), of(3), 40),
        ];
        assert_eq!(told(found).as_deref(), Some(&expected[..]));
        // The producer's fee may not be among the changes.
        let found = changes(&[(1, 500, 395), (2, 0, 100)]).unexplained(&known);
        assert_eq!(told(found), Some(vec![(TransferKind::Transfer, of(8), of(2), 100)]));
    }

    /// Given coins that nobody has afterwards, then they were destroyed; coins that nobody had before are refused.
    #[test]
    fn what_nobody_gained_was_destroyed_and_nothing_comes_from_nowhere() {
        let value = paid(TransferKind::Transfer, 1, 8, 100);
        let found = changes(&[(1, 100, 0), (2, 0, 70)]).unexplained(&[&value]);
        let burnt = (TransferKind::Burn, of(8), AccountAddress::ZERO, 30);
        assert_eq!(told(found), Some(vec![burnt, (TransferKind::Transfer, of(8), of(2), 70)]));
        assert_eq!(changes(&[(1, 100, 0), (2, 0, 101)]).unexplained(&[&value]), None);
    }

    /// Given more pairs of accounts than are booked, then nothing is.
    #[test]
    fn too_many_accounts_are_not_booked() {
        let pays: Vec<_> = (1..=101).map(|number| (number, 100, 0)).collect();
        let gets: Vec<_> = (102..=202).map(|number| (number, 0, 100)).collect();
        assert_eq!(changes(&[pays, gets].concat()).unexplained(&[]), None);
    }

    /// Given the two forms in which nodes state the same changes, then the same are read, without accounts that keep their balance.
    #[test]
    fn both_forms_state_the_same() {
        let [kept, paid, new, gone] = [1, 2, 3, 4].map(account);
        let of_states = format!(
            r#"{{"pre": {{"{kept}": {{"balance": "0x5", "nonce": 1}}, "{paid}": {{"balance": "0x9"}}, "{gone}": {{"balance": "0x1"}}}},
                "post": {{"{kept}": {{"nonce": 2}}, "{paid}": {{"balance": "0x2"}}, "{new}": {{"balance": "0x8"}}}}}}"#
        );
        let of_replay = format!(
            r#"{{"output": "0x", "stateDiff": {{
                "{kept}": {{"balance": "=", "nonce": {{"*": {{"from": "0x1", "to": "0x2"}}}}}},
                "{paid}": {{"balance": {{"*": {{"from": "0x9", "to": "0x2"}}}}}},
                "{new}": {{"balance": {{"+": "0x8"}}}}, "{gone}": {{"balance": {{"-": "0x1"}}}}}}}}"#
        );
        let read = BalanceChanges::read(Tracer::Calls, &of_states).unwrap();
        assert_eq!(read.0.len(), 3);
        assert_eq!(BalanceChanges::read(Tracer::Parity, &of_replay).unwrap(), read);
        assert!(BalanceChanges::read(Tracer::Calls, "{}").is_err());
    }

    proptest! {
        /// Each account loses and gains exactly what its balance says, whatever the amounts.
        #[test]
        fn shares_add_up_exactly(lost in prop::collection::vec(1_u64.., 1..6), cuts in prop::collection::vec(1_u64.., 1..6)) {
            let whole: u128 = lost.iter().map(|it| u128::from(*it)).sum();
            let parts: u128 = cuts.iter().map(|it| u128::from(*it)).sum();
            let mut gains: Vec<u128> = cuts.iter().map(|cut| whole / parts * u128::from(*cut)).collect();
            gains[0] += whole - gains.iter().sum::<u128>();
            let losses: Side = (1..).zip(&lost).map(|(n, it)| (of(n), U256::from(*it))).collect();
            let gains: Side = (100..).zip(&gains).filter(|(_, it)| **it > 0).map(|(n, it)| (of(n), U256::from(*it))).collect();
            let transfers = shared(losses.clone(), gains.clone());
            for (account, amount) in losses {
                let out: U256 = transfers.iter().filter(|it| it.from == account).map(|it| it.amount).sum();
                prop_assert_eq!(out, amount);
            }
            for (account, amount) in gains {
                let into: U256 = transfers.iter().filter(|it| it.to == account).map(|it| it.amount).sum();
                prop_assert_eq!(into, amount);
            }
        }
    }
}
