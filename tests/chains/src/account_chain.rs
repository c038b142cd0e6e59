//! A long account chain for measurements: labelled exchanges with deposit addresses that are swept, pools with routers, hubs
//! that take part in many payments, thieves, and tokens outside the table of scored assets.

use std::collections::BTreeSet;

use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, ContractFact, MoneyEnd, Transfer, TransferKind,
        TransferPlace,
    },
    taxonomy::Category,
    utxo::Txid,
};
use assay_test_random::Random;
use jiff::{SignedDuration, Timestamp};
use ruint::aliases::U256;

const EXCHANGES: u64 = 300;
const THIEVES: u64 = 200;
const POOLS: u64 = 2_000;
const TOKENS: u64 = 400;
const LENDERS: u64 = 50;
/// The first number of tokens that are receipts of lenders.
const RECEIPTS: u64 = 1_000_000;
/// Accounts of people for each transfer, in percent.
const PEOPLE_PERCENT: u64 = 25;
/// Transactions of a block.
const BLOCK: u64 = 150;
const ETHER: u128 = 10_u128.pow(18);
const DOLLAR: u128 = 10_u128.pow(6);

/// A payer, a receiver, an asset and an amount.
type Move = (AccountAddress, AccountAddress, Asset, u128);

/// Groups of accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Exchanges, at which money ends.
    Exchange,
    /// Thieves, at which money ends.
    Thief,
    /// People; those with small numbers pay and are paid most.
    Person,
    /// Pools.
    Pool,
    /// Deposit addresses: a thousand of each exchange.
    Deposit,
    /// The router (0), and a contract that pays many at once (1).
    Contract,
    /// Producers of blocks.
    Builder,
    /// Contracts of tokens.
    Token,
    /// Lenders.
    Lender,
}

/// The account of a group with a number.
#[must_use]
pub fn account(group: Group, number: u64) -> AccountAddress {
    let mut bytes = [group as u8 + 1; 20];
    bytes[12..].copy_from_slice(&number.to_be_bytes());
    AccountAddress(bytes)
}

/// A chain of an endless number of transactions.
#[derive(Debug)]
pub struct LongAccountChain {
    dice: Random,
    people: u64,
    has_fees: bool,
    has_contracts: bool,
    number: u64,
}

impl LongAccountChain {
    /// A chain of about so many transfers.
    #[must_use]
    pub fn new(seed: u64, transfers: u64, has_fees: bool) -> Self {
        let people = (transfers * PEOPLE_PERCENT / 100).max(100);
        Self { dice: Random::new(seed), people, has_fees, has_contracts: false, number: 0 }
    }

    /// The chain with facts about contracts, with pools that pay the price of [`Self::ETHER_DOLLARS`] less a fee, and with
    /// lenders that give receipts: about a tenth of all transfers are in contracts.
    #[must_use]
    pub fn with_contracts(self) -> Self {
        Self { has_contracts: true, ..self }
    }

    /// Price of an ether in dollars.
    pub const ETHER_DOLLARS: u64 = 3_000;

    /// Number of people.
    #[must_use]
    pub const fn people(&self) -> u64 {
        self.people
    }

    /// The parties at which money ends.
    pub fn ends() -> impl Iterator<Item = (AccountAddress, MoneyEnd)> {
        let exchanges = (0..EXCHANGES).map(|it| (account(Group::Exchange, it), Category::Exchange));
        let thieves = (0..THIEVES).map(|it| (account(Group::Thief, it), Category::StolenFunds));
        let end = |category| MoneyEnd { category, listed_on: None };
        exchanges.chain(thieves).map(move |(account, category)| (account, end(category)))
    }

    /// A person; hubs with small numbers are the likeliest.
    fn person(&mut self) -> AccountAddress {
        let bound = match self.dice.below(10) {
            0 => 50,
            1 | 2 => 5_000.min(self.people),
            _ => self.people,
        };
        account(Group::Person, self.dice.below(bound))
    }

    /// A deposit at a lender for a receipt, or its return.
    fn moves_at_lender(&mut self, holder: AccountAddress, asset: Asset, amount: u128) -> Vec<Move> {
        let lender = account(Group::Lender, self.dice.below(LENDERS));
        let receipt = Asset::Token(account(Group::Token, RECEIPTS + self.dice.below(LENDERS)));
        if self.dice.one_in(2) {
            vec![(holder, lender, asset, amount), (AccountAddress::ZERO, holder, receipt, amount)]
        } else {
            let part = amount / 2;
            vec![(holder, AccountAddress::ZERO, receipt, part), (lender, holder, asset, part)]
        }
    }

    fn moves(&mut self) -> Vec<Move> {
        let token = |contract| Asset::Token(AccountAddress(contract));
        let (tether, dollar_coin) = (token(USDT), token(USDC));
        let (from, to) = (self.person(), self.person());
        let exchange = self.dice.below(EXCHANGES);
        let asset = *self.dice.pick(&[Asset::Native, tether, tether, dollar_coin]);
        let unit = if asset == Asset::Native { ETHER / 1_000 } else { DOLLAR };
        let amount = unit * u128::from(1 + self.dice.rather_small(100_000));
        let hot = account(Group::Exchange, exchange);
        let deposit = account(Group::Deposit, exchange * 1_000 + self.dice.below(1_000));
        match self.dice.below(100) {
            0..35 => vec![(from, to, asset, amount)],
            35..50 => {
                let number = self.dice.rather_small(TOKENS);
                let other = token(account(Group::Token, number).0);
                vec![(from, to, other, u128::from(1 + self.dice.below(1 << 40)))]
            }
            50..65 => vec![(hot, to, asset, amount)],
            65..75 => vec![(from, deposit, asset, amount)],
            75..83 => vec![(deposit, hot, asset, amount)],
            83 => vec![(account(Group::Thief, self.dice.below(THIEVES)), to, asset, amount)],
            84..88 => {
                let payer = account(Group::Contract, 1);
                let payees: Vec<Move> =
                    (0..10).map(|_| (payer, self.person(), asset, amount / 10)).collect();
                [(from, payer, asset, amount / 10 * 10)].into_iter().chain(payees).collect()
            }
            _ if self.has_contracts && self.dice.one_in(3) => {
                self.moves_at_lender(from, asset, amount)
            }
            _ => {
                let router = account(Group::Contract, 0);
                let pool = account(Group::Pool, self.dice.below(POOLS));
                let other = if asset == Asset::Native { dollar_coin } else { Asset::Native };
                let got = match (self.has_contracts, other) {
                    (false, Asset::Native) => ETHER / 1_000,
                    (false, _) => DOLLAR,
                    (true, Asset::Native) => {
                        amount * (ETHER / DOLLAR) / u128::from(Self::ETHER_DOLLARS) / 1_000 * 997
                    }
                    (true, _) => {
                        amount / (ETHER / DOLLAR) * u128::from(Self::ETHER_DOLLARS) / 1_000 * 997
                    }
                };
                vec![
                    (from, router, asset, amount),
                    (router, pool, asset, amount),
                    (pool, router, other, got),
                    (router, from, other, got),
                ]
            }
        }
    }
}

/// Facts that the contracts among the parties of transfers have code.
fn codes(transfers: &[Transfer]) -> Vec<ContractFact> {
    let has_code = |account: &AccountAddress| {
        [Group::Pool, Group::Contract, Group::Lender]
            .iter()
            .any(|group| account.0.first() == Some(&(*group as u8 + 1)))
    };
    let parties: BTreeSet<_> = transfers.iter().flat_map(|it| [it.from, it.to]).collect();
    parties.into_iter().filter(has_code).map(ContractFact::code).collect()
}

/// The contracts of Tether and USD Coin on Ethereum.
const USDT: [u8; 20] = [
    0xda, 0xc1, 0x7f, 0x95, 0x8d, 0x2e, 0xe5, 0x23, 0xa2, 0x20, 0x62, 0x06, 0x99, 0x45, 0x97, 0xc1,
    0x3d, 0x83, 0x1e, 0xc7,
];
const USDC: [u8; 20] = [
    0xa0, 0xb8, 0x69, 0x91, 0xc6, 0x21, 0x8b, 0x36, 0xc1, 0xd1, 0x9d, 0x4a, 0x2e, 0x9e, 0xb0, 0xce,
    0x36, 0x06, 0xeb, 0x48,
];

impl Iterator for LongAccountChain {
    type Item = AccountTransaction;

    fn next(&mut self) -> Option<AccountTransaction> {
        let moves = self.moves();
        let sender = moves.first()?.0;
        let mut transferred: Vec<(TransferKind, Move)> =
            moves.into_iter().map(|it| (TransferKind::Transfer, it)).collect();
        if self.has_fees {
            let gas = 21_000_000_000_000 + u128::from(self.dice.below(1 << 40));
            let builder = account(Group::Builder, self.dice.below(20));
            transferred.push((TransferKind::Fee, (sender, builder, Asset::Native, gas)));
            let burned = (sender, AccountAddress::ZERO, Asset::Native, 5 * gas);
            transferred.push((TransferKind::Fee, burned));
        }
        let number = self.number;
        self.number += 1;
        let mut dice = Random::new(number);
        let mut id = [0; 32];
        for word in id.chunks_mut(8) {
            word.copy_from_slice(&dice.below(u64::MAX).to_be_bytes());
        }
        let block = number / BLOCK;
        let seconds = i64::try_from(12 * block).expect("a time");
        let transfers = transferred.into_iter().zip(0..).map(|((kind, it), index)| {
            let (from, to, asset, amount) = it;
            let place = TransferPlace { index, published: None };
            Transfer { kind, asset, from, to, amount: U256::from(amount), place }
        });
        let transfers: Vec<Transfer> = transfers.collect();
        let contract_facts = if self.has_contracts { codes(&transfers) } else { Vec::new() };
        Some(AccountTransaction {
            block,
            time: Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_700_000_000 + seconds),
            id: Txid::from_bytes(id),
            initiator: Some(sender),
            transfers,
            contract_facts,
            freezes: Vec::new(),
            delegations: Vec::new(),
            messages: Vec::new(),
        })
    }
}
