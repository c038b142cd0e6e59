//! Random histories of a few accounts, with circles, accounts that pass money on, late starts, balances that a token
//! set, listings with days, and branches that are replaced.

use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, BridgeMessage, ChainResource, DelegationChange,
        FreezeChange, FreezeEvent, MessageEnd, MoneyEnd, MoneyOrigin, ResourceDelegation, Transfer,
        TransferKind,
    },
    evidence::ListingPeriod,
    taxonomy::Category,
    utxo::Txid,
};
use assay_test_random::Random;
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};

use crate::accounts::{ETH, STETH, USDT, move_of};

/// Days of a history.
const DAYS: u64 = 40;

/// The source of a payment's money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoneySource {
    /// A party at which money ends.
    End(MoneyOrigin),
    /// New coins.
    New,
    /// An account, by its index.
    Account(usize),
}

/// A history: the transactions of an asset, one branch of which may have been replaced.
#[derive(Clone, Debug)]
pub struct History {
    /// Seed.
    pub seed: u64,
    /// The accounts; the first ones are parties.
    pub accounts: Vec<AccountAddress>,
    /// The parties, by the index of their account.
    pub parties: Vec<MoneyEnd>,
    /// The asset.
    pub asset: Asset,
    /// The transactions.
    pub transactions: Vec<AccountTransaction>,
}

impl History {
    /// The history of a seed. A third replaces a branch: what was built on the replaced one is gone.
    #[must_use]
    pub fn generate(seed: u64) -> Self {
        let mut dice = Random::new(seed ^ 0x0_4ac1e);
        let listed = |dice: &mut Random| {
            let day = i64::try_from(dice.below(DAYS)).expect("a day");
            Some(start().checked_add(day.days()).expect("a day"))
        };
        let parties = vec![
            MoneyEnd { category: Category::Exchange, listed_on: None },
            MoneyEnd { category: Category::StolenFunds, listed_on: None },
            MoneyEnd { category: Category::Sanctions, listed_on: listed(&mut dice) },
            MoneyEnd { category: Category::Mixer, listed_on: None },
        ];
        let count = parties.len() + usize::try_from(dice.within(3, 7)).expect("few");
        let account = |index: usize| AccountAddress([u8::try_from(index + 1).expect("few"); 20]);
        let mut history = Self {
            seed,
            accounts: (0..count).map(account).collect(),
            parties,
            asset: if dice.one_in(4) { STETH } else { ETH },
            transactions: Vec::new(),
        };
        // Amounts of 10^12 to 10^24 base units: rounding to base units is far below the shares' precision.
        let unit = 10_u128.pow(u32::try_from(dice.within(6, 18)).expect("an exponent"));
        let mut times: Vec<u64> =
            (0..dice.within(6, 34)).map(|_| dice.below(DAYS * 86_400)).collect();
        times.sort_unstable();
        let replaced = if dice.one_in(3) { dice.index(times.len()) } else { times.len() };
        for time in &times {
            history.grow(&mut dice, *time, unit);
        }
        if replaced < times.len() {
            history.transactions.truncate(replaced);
            for time in times.split_off(replaced) {
                history.grow(&mut dice, time, unit);
            }
        }
        history
    }

    /// The day of a transaction.
    #[must_use]
    pub fn day(transaction: &AccountTransaction) -> Date {
        transaction.time.to_zoned(TimeZone::UTC).date()
    }

    /// The source of money that an account pays in a transaction.
    #[must_use]
    pub fn payer(&self, account: AccountAddress, on: Date) -> MoneySource {
        let Some(index) = self.accounts.iter().position(|it| *it == account) else {
            return MoneySource::New;
        };
        let Some(party) = self.parties.get(index) else { return MoneySource::Account(index) };
        let period = party
            .listed_on
            .map(|since| if on < since { ListingPeriod::Before } else { ListingPeriod::Since });
        MoneySource::End(MoneyOrigin::Party(party.category, period))
    }

    /// The freezes in a transaction: of each account now and then, also of one that never pays.
    fn freezes(&self, number: u64) -> Vec<FreezeEvent> {
        let turn = usize::try_from(number).expect("few");
        let frozen = (0..=self.accounts.len()).filter(|at| (turn + at).is_multiple_of(5));
        let event = |at: usize| FreezeEvent {
            asset: USDT,
            account: self.accounts.get(at).copied().unwrap_or(AccountAddress([0x88; 20])),
            change: FreezeChange::ALL[turn % FreezeChange::ALL.len()],
            log: u32::try_from(at).expect("few"),
        };
        frozen.map(event).collect()
    }

    /// The loans of resources in a transaction: between accounts now and then, and once to an account that never pays.
    fn delegations(&self, number: u64) -> Vec<ResourceDelegation> {
        let turn = usize::try_from(number).expect("few");
        let loans = (0..self.accounts.len()).filter(|at| (turn + at).is_multiple_of(7));
        let loan = |at: usize| ResourceDelegation {
            lender: self.accounts[at],
            borrower: self.accounts.get(at + 1).copied().unwrap_or(AccountAddress([0x89; 20])),
            resource: ChainResource::ALL[turn % ChainResource::ALL.len()],
            change: DelegationChange::ALL[turn / 2 % DelegationChange::ALL.len()],
        };
        loans.map(loan).collect()
    }

    /// The messages of bridges in a transaction: one now and then, which several transactions have, also twice.
    fn messages(number: u64) -> Vec<BridgeMessage> {
        let turn = usize::try_from(number).expect("few");
        let logged = (0..3).filter(|at| (turn + at).is_multiple_of(5));
        let message = |at: usize| BridgeMessage {
            contract: AccountAddress([0x8a; 20]),
            id: AccountAddress([0x90 + u8::try_from(turn % 4).expect("few"); 20]),
            account: AccountAddress([0x8b; 20]),
            end: MessageEnd::ALL[at % MessageEnd::ALL.len()],
            amount: u128::from(number),
        };
        logged.flat_map(|at| [at, at + 1]).map(message).collect()
    }

    /// Adds a random transaction, whose payers may pay what they never received.
    fn grow(&mut self, dice: &mut Random, seconds: u64, unit: u128) {
        let amount = |dice: &mut Random| unit * u128::from(dice.within(1, 1_000_000));
        let any = |dice: &mut Random| self.accounts[dice.index(self.accounts.len())];
        let person = |dice: &mut Random| {
            self.accounts[self.parties.len() + dice.index(self.accounts.len() - self.parties.len())]
        };
        let mut transfers: Vec<Transfer> = Vec::new();
        let mut add = |kind, from, to, amount| {
            transfers.push(move_of(kind, (from, to, self.asset, amount)));
        };
        let plain = TransferKind::Transfer;
        match dice.below(12) {
            0..=2 => {
                // A party pays.
                let party = self.accounts[dice.index(self.parties.len())];
                add(plain, party, person(dice), amount(dice));
            }
            3..=5 => add(plain, person(dice), any(dice), amount(dice)),
            6 => {
                // New coins, or new units from the token's contract, whose ledger nobody knows.
                let kind = if self.asset == ETH { TransferKind::Reward } else { plain };
                let from = if self.asset == ETH {
                    AccountAddress::ZERO
                } else {
                    AccountAddress([0x99; 20])
                };
                add(kind, from, person(dice), amount(dice));
            }
            7 => add(TransferKind::Balance, AccountAddress::ZERO, person(dice), amount(dice)),
            8 => add(TransferKind::Fee, person(dice), person(dice), amount(dice)),
            _ => {
                // Several transfers: circles, accounts that pass money on, and payments to oneself.
                for _ in 0..dice.within(2, 7) {
                    let from = if dice.one_in(4) { any(dice) } else { person(dice) };
                    add(plain, from, any(dice), amount(dice));
                }
            }
        }
        let number = self.transactions.len() as u64 + 1;
        for (index, transfer) in transfers.iter_mut().enumerate() {
            transfer.place.index = u32::try_from(index).expect("few transfers");
        }
        let mut id = [0x33; 32];
        id[24..].copy_from_slice(&number.to_be_bytes());
        let seconds = i64::try_from(seconds).expect("some days");
        self.transactions.push(AccountTransaction {
            block: number,
            time: midnight() + seconds.seconds(),
            id: Txid::from_bytes(id),
            initiator: transfers.first().map(|it| it.from).filter(|it| *it != AccountAddress::ZERO),
            transfers,
            contract_facts: Vec::new(),
            freezes: self.freezes(number),
            delegations: self.delegations(number),
            messages: Self::messages(number),
        });
    }
}

fn start() -> Date {
    midnight().to_zoned(TimeZone::UTC).date()
}

fn midnight() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}
