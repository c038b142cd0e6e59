//! Accounts that look like a subject's counterparties: poisoners send worthless transfers from them, so that the subject
//! copies the wrong address from its history.

use std::collections::{BTreeMap, HashMap};

use assay_address::ChainId;

use super::{
    AccountAddress, Prices, received::Valued, step::Payment, unfollowed::UnfollowedTransfer,
    unit::Valuation, view::AccountView,
};
use crate::ledger::{OwnerNumber, TransactionNumber};

/// Digits that look-alikes share on EVM chains, where wallets shorten addresses: at the beginning and at the end.
const SHARED_DIGITS: (usize, usize) = (3, 4);
/// Characters of base58 that look-alikes share on TRON. Of the beginning, the first character is the same in all addresses.
const SHARED_CHARACTERS: (usize, usize) = (2, 4);
/// Number of transactions that are named of a look-alike.
const TRANSACTIONS: usize = 5;

/// The accounts that sent a subject worthless transfers and look like its counterparties, by the subject's own payments and
/// its transfers that move no ledger.
#[must_use]
pub fn lookalikes_of(
    view: &dyn AccountView,
    (subject, own): (OwnerNumber, &[Payment]),
    unfollowed: &[UnfollowedTransfer],
    prices: &Prices,
) -> Vec<Lookalike> {
    let mut known = Acquaintances::of(view, (subject, own), prices);
    let account = view.address(subject);
    for UnfollowedTransfer { transaction, transfer, .. } in unfollowed {
        let other = if Some(transfer.from) == account { transfer.to } else { transfer.from };
        if Some(other) != account {
            known.add_worthless(other, *transaction);
        }
    }
    known.lookalikes(view.chain())
}

/// True if wallets show two accounts alike, as far as poisoners imitate accounts.
#[must_use]
pub fn look_alike(chain: ChainId, one: AccountAddress, other: AccountAddress) -> bool {
    if chain != ChainId::TRX && one.0.first() != other.0.first() {
        return false;
    }
    let ends = Ends::of(chain, one);
    ends.is_some() && ends == Ends::of(chain, other)
}

/// The accounts that a subject dealt with, and those that only sent it worthless transfers.
#[derive(Debug, Default)]
struct Acquaintances(BTreeMap<AccountAddress, Acquaintance>);

/// The dealings of a subject with one account.
#[derive(Debug)]
struct Acquaintance {
    /// The first transaction of any kind.
    first: TransactionNumber,
    /// The first payment above dust, in either direction.
    first_payment: Option<TransactionNumber>,
    /// The first payment of the subject above dust.
    first_paid: Option<TransactionNumber>,
    /// True if the account paid the subject more than dust.
    has_paid: bool,
    /// Transactions with worthless transfers: dust, transfers of nothing, and tokens that nobody follows.
    worthless: Vec<TransactionNumber>,
}

/// An account that looks like a counterparty of the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookalike {
    /// The account.
    pub account: AccountAddress,
    /// The counterparty that it looks like.
    pub of: AccountAddress,
    /// True if the subject paid the account afterwards.
    pub is_paid: bool,
    /// The first transactions with worthless transfers.
    pub transactions: Vec<TransactionNumber>,
}

impl Acquaintances {
    /// The accounts with which a subject has payments in its own payments.
    fn of(
        view: &dyn AccountView,
        (subject, own): (OwnerNumber, &[Payment]),
        prices: &Prices,
    ) -> Self {
        let mut found = Self::default();
        for valued in Valued::of(view, own, &mut Valuation::new(prices)) {
            let payment = valued.payment;
            let is_received = payment.to == subject;
            let other = if is_received { payment.from } else { payment.to };
            let other = view.address(other).filter(|_| payment.kind.is_payment());
            let Some(other) = other.filter(|other| !other.is_unowned()) else { continue };
            let number = payment.transaction;
            let known = found.at(other, number);
            if valued.dust.is_some() {
                if is_received {
                    known.worthless.push(number);
                }
                continue;
            }
            known.first_payment.get_or_insert(number);
            if is_received {
                known.has_paid = true;
            } else {
                known.first_paid.get_or_insert(number);
            }
        }
        found
    }

    /// Adds a worthless transfer between the subject and an account.
    fn add_worthless(&mut self, account: AccountAddress, number: TransactionNumber) {
        if !account.is_unowned() {
            self.at(account, number).worthless.push(number);
        }
    }

    fn at(&mut self, account: AccountAddress, number: TransactionNumber) -> &mut Acquaintance {
        let new = Acquaintance {
            first: number,
            first_payment: None,
            first_paid: None,
            has_paid: false,
            worthless: Vec::new(),
        };
        let known = self.0.entry(account).or_insert(new);
        known.first = known.first.min(number);
        known
    }

    /// The look-alikes, in the order of their first transfers. A look-alike never paid more than dust, and appeared after
    /// the counterparty that it imitates.
    fn lookalikes(&self, chain: ChainId) -> Vec<Lookalike> {
        let mut real: HashMap<Ends, (TransactionNumber, AccountAddress)> = HashMap::new();
        for (account, known) in &self.0 {
            if let (Some(first), Some(ends)) = (known.first_payment, Ends::of(chain, *account)) {
                let earliest = real.entry(ends).or_insert((first, *account));
                *earliest = (*earliest).min((first, *account));
            }
        }
        let suspects = self.0.iter().filter(|(_, it)| !it.has_paid && !it.worthless.is_empty());
        let mut found: Vec<(TransactionNumber, Lookalike)> = suspects
            .filter_map(|(account, known)| {
                let (since, of) = *real.get(&Ends::of(chain, *account)?)?;
                let mut transactions = known.worthless.clone();
                transactions.sort_unstable();
                transactions.dedup();
                transactions.truncate(TRANSACTIONS);
                let is_paid = known.first_paid.is_some();
                let lookalike = Lookalike { account: *account, of, is_paid, transactions };
                (of != *account && since < known.first).then_some((known.first, lookalike))
            })
            .collect();
        found.sort_by_key(|(first, lookalike)| (*first, lookalike.account));
        found.into_iter().map(|(_, lookalike)| lookalike).collect()
    }
}

/// The beginning and the end of an address, as far as poisoners imitate them.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Ends(String, String);

impl Ends {
    fn of(chain: ChainId, account: AccountAddress) -> Option<Self> {
        let (text, (first, last)) = if chain == ChainId::TRX {
            (account.on(chain)?.as_str().to_owned(), SHARED_CHARACTERS)
        } else {
            (hex::encode(account.0), SHARED_DIGITS)
        };
        let end = text.len().checked_sub(last)?;
        Some(Self(text.get(..first)?.to_owned(), text.get(end..)?.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRIEND: AccountAddress = AccountAddress([0xab; 20]);

    /// An address with the friend's first and last bytes, of which one digit may differ.
    fn like_friend(first: u8, last: u8) -> AccountAddress {
        let mut bytes = [0x11; 20];
        bytes[..2].copy_from_slice(&[0xab, first]);
        bytes[18..].copy_from_slice(&[last, 0xab]);
        AccountAddress(bytes)
    }

    fn dealt(real: u64, worthless: &[(AccountAddress, u64)]) -> Vec<Lookalike> {
        let mut known = Acquaintances::default();
        known.at(FRIEND, TransactionNumber(real)).first_payment = Some(TransactionNumber(real));
        for (account, number) in worthless {
            known.add_worthless(*account, TransactionNumber(*number));
        }
        known.lookalikes(ChainId::ETH)
    }

    #[test]
    fn three_first_and_four_last_digits_are_alike() {
        let alike = like_friend(0xa1, 0xab);
        let found = dealt(1, &[(alike, 2), (alike, 3), (alike, 2)]);
        let transactions = vec![TransactionNumber(2), TransactionNumber(3)];
        assert_eq!(found, [Lookalike { account: alike, of: FRIEND, is_paid: false, transactions }]);
        for other in [like_friend(0x1b, 0xab), like_friend(0xab, 0x1b)] {
            assert_eq!(dealt(1, &[(other, 2)]), []);
        }
    }

    #[test]
    fn nobody_imitates_itself_or_what_comes_later() {
        assert_eq!(dealt(1, &[(FRIEND, 2)]), []);
        assert_eq!(dealt(3, &[(like_friend(0xab, 0xab), 2)]), []);
    }

    #[test]
    fn who_paid_is_no_poisoner() {
        let alike = like_friend(0xab, 0xab);
        let mut known = Acquaintances::default();
        known.at(FRIEND, TransactionNumber(1)).first_payment = Some(TransactionNumber(1));
        known.add_worthless(alike, TransactionNumber(2));
        known.at(alike, TransactionNumber(3)).first_paid = Some(TransactionNumber(3));
        assert!(known.lookalikes(ChainId::ETH)[0].is_paid);
        known.at(alike, TransactionNumber(4)).has_paid = true;
        assert_eq!(known.lookalikes(ChainId::ETH), []);
    }

    #[test]
    fn addresses_of_tron_are_compared_as_they_are_written() {
        // The bytes differ, the shown characters of base58 are alike: these are found by their text.
        let text = |account: AccountAddress| account.on(ChainId::TRX).unwrap().as_str().to_owned();
        let own = text(FRIEND);
        let mut accounts = (0_u32..).map(|number| {
            let mut bytes = [0xab; 20];
            bytes[12..16].copy_from_slice(&number.to_be_bytes());
            AccountAddress(bytes)
        });
        let differing = accounts.find(|it| text(*it)[30..] != own[30..]).unwrap();
        assert_ne!(Ends::of(ChainId::TRX, FRIEND), Ends::of(ChainId::TRX, differing));
        let ends = Ends::of(ChainId::TRX, FRIEND).unwrap();
        assert_eq!((ends.0.as_str(), ends.1.as_str()), (&own[..2], &own[30..]));
    }
}
