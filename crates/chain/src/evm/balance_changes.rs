//! Balances before and after a transaction, and the transfers that they show: what is read where a node cannot state the calls of a
//! transaction, because anybody can make these too many. Their number does not grow with that of the calls.

use std::collections::BTreeMap;

use assay_engine::account::{AccountAddress, Asset, Transfer, TransferKind};
use ruint::aliases::U256;
use serde::Deserialize;

use super::{
    block::native,
    hex::{Account, Amount},
    params::BELOW,
};
use crate::{Tracer, http::shortened};

/// The balances of accounts whose balance a transaction changed, before and after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BalanceChanges(BTreeMap<AccountAddress, (U256, U256)>);

/// An answer of the tracer of states before and after a transaction.
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
            Tracer::Parity => serde_json::from_str(json).map(|read| Ok(Self::of_replayed(read))),
            _ => serde_json::from_str(json).map(Self::of_difference),
        };
        read.map_err(|error| shortened(&error.to_string()))?
    }

    fn of_difference(Difference { pre, post }: Difference) -> Result<Self, String> {
        let balance = |state: &StateOfAccount| state.balance.map(|balance| balance.0);
        let mut all = BTreeMap::new();
        for (account, state) in &pre {
            let before = balance(state).unwrap_or_default();
            // Nodes leave accounts out that called SELFDESTRUCT in a call that failed, or that were named by one: such an answer
            // does not tell what the account has.
            let Some(after) = post.get(account) else {
                return Err(format!("it does not state {} afterwards", account.0));
            };
            // What stays is not stated.
            all.insert(account.0, (before, balance(after).unwrap_or(before)));
        }
        for (account, state) in &post {
            let after = balance(state).unwrap_or_default();
            all.entry(account.0).or_insert((U256::ZERO, after));
        }
        Ok(all.into_iter().collect())
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

    /// The transfers beside the `known` ones that explain the changes, where one account lost what others gained, or one gained what
    /// others lost. `None` otherwise: several payers may have paid different receivers, and coins that nobody gained may be those of
    /// an account that the node leaves out.
    ///
    /// Money that passed an account within the transaction is no change of it: a transfer goes from where it came to where it stayed.
    pub(super) fn unexplained(&self, known: &[&Transfer]) -> Option<Vec<Transfer>> {
        let mut balances = self.0.clone();
        for transfer in known.iter().filter(|it| it.asset == Asset::Native) {
            let Transfer { kind, from, to, amount, .. } = transfer;
            // An account whose balance did not change passed on what it got.
            if *from != BELOW {
                let (_, after) = balances.entry(*from).or_default();
                *after = after.checked_add(*amount)?;
            }
            let is_stated = match kind {
                // The producer may not be among the accounts, and what is destroyed is nobody's.
                TransferKind::Fee => *to != AccountAddress::ZERO && balances.contains_key(to),
                _ => true,
            };
            if is_stated {
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
        if sum(&losses)? != sum(&gains)? {
            return None;
        }
        let transfer = |from, to, amount| native(TransferKind::Transfer, from, to, amount, None);
        match (&*losses, &*gains) {
            ([(from, _)], _) => {
                Some(gains.iter().map(|(to, amount)| transfer(*from, *to, *amount)).collect())
            }
            (_, [(to, _)]) => {
                Some(losses.iter().map(|(from, amount)| transfer(*from, *to, *amount)).collect())
            }
            ([], []) => Some(Vec::new()),
            _ => None,
        }
    }
}

impl FromIterator<(AccountAddress, (U256, U256))> for BalanceChanges {
    fn from_iter<I: IntoIterator<Item = (AccountAddress, (U256, U256))>>(balances: I) -> Self {
        let balances = balances.into_iter();
        Self(balances.filter(|(_, (before, after))| before != after).collect())
    }
}

/// The sum of amounts; `None` above 256 bits.
fn sum(amounts: &[(AccountAddress, U256)]) -> Option<U256> {
    amounts.iter().try_fold(U256::ZERO, |sum, (_, amount)| sum.checked_add(*amount))
}

#[cfg(test)]
mod tests {
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

    /// Given coins that nobody has afterwards, or that nobody had before, or several payers of several receivers, then nothing is made
    /// of them.
    #[test]
    fn what_does_not_add_up_or_is_ambiguous_is_unknown() {
        let value = paid(TransferKind::Transfer, 1, 8, 100);
        for (two, three) in [(99, 0), (101, 0)] {
            let found = changes(&[(1, 100, 0), (2, 0, two), (3, 0, three)]).unexplained(&[&value]);
            assert_eq!(found, None);
        }
        // A thief's payment beside that of somebody else, which anybody may carry out.
        let found = changes(&[(1, 100, 0), (2, 0, 100), (5, 9_000, 0), (6, 0, 9_000)]);
        assert_eq!(found.unexplained(&[&value]), None);
        // Several payers of one receiver are told apart.
        let found = changes(&[(1, 100, 0), (5, 900, 0), (2, 0, 1_000)]).unexplained(&[&value]);
        let transfer = |from, amount| (TransferKind::Transfer, of(from), of(2), amount);
        assert_eq!(told(found), Some(vec![transfer(5, 900), transfer(8, 100)]));
    }

    /// Given coins that are sent to the address of zeros inside of the transaction, then they are a payment to it, and the fee is not.
    #[test]
    fn coins_for_the_address_of_zeros_are_no_fee() {
        let value = paid(TransferKind::Transfer, 1, 8, 100);
        let fee = paid(TransferKind::Fee, 1, 0, 3);
        let found = changes(&[(1, 103, 0), (0, 7, 107)]).unexplained(&[&value, &fee]);
        assert_eq!(told(found), Some(vec![(TransferKind::Transfer, of(8), of(0), 100)]));
    }

    /// Given an account that a node leaves out afterwards, as it does after SELFDESTRUCT in a call that failed, then nothing is known.
    #[test]
    fn an_account_that_is_left_out_afterwards_is_no_destroyed_one() {
        let left_out =
            format!(r#"{{"pre": {{"{}": {{"balance": "0x3e8"}}}}, "post": {{}}}}"#, account(1));
        let said = BalanceChanges::read(Tracer::Calls, &left_out).unwrap_err();
        assert!(said.contains("does not state") && said.contains("afterwards"), "{said}");
    }

    /// Given the two forms in which nodes state the same changes, then the same are read, without accounts that keep their balance.
    #[test]
    fn both_forms_state_the_same() {
        let [kept, paid, new] = [1, 2, 3].map(account);
        let of_states = format!(
            r#"{{"pre": {{"{kept}": {{"balance": "0x5", "nonce": 1}}, "{paid}": {{"balance": "0x9"}}}},
                "post": {{"{kept}": {{"nonce": 2}}, "{paid}": {{"balance": "0x2"}}, "{new}": {{"balance": "0x8"}}}}}}"#
        );
        let of_replay = format!(
            r#"{{"output": "0x", "stateDiff": {{
                "{kept}": {{"balance": "=", "nonce": {{"*": {{"from": "0x1", "to": "0x2"}}}}}},
                "{paid}": {{"balance": {{"*": {{"from": "0x9", "to": "0x2"}}}}}},
                "{new}": {{"balance": {{"+": "0x8"}}}}}}}}"#
        );
        let read = BalanceChanges::read(Tracer::Calls, &of_states).unwrap();
        assert_eq!(read.0.len(), 2);
        assert_eq!(BalanceChanges::read(Tracer::Parity, &of_replay).unwrap(), read);
        assert!(BalanceChanges::read(Tracer::Calls, "{}").is_err());
    }
}
