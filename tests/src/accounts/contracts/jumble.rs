//! Random transactions of a few people, contracts and parties, which follow no protocol: anybody pays anybody anything.

use assay_engine::{
    account::{AccountAddress, Asset, ContractFact, Transfer, TransferKind},
    taxonomy::Category,
};
use assay_test_random::Random;
use jiff::civil::date;

use crate::accounts::{
    AccountChain, DAI, ETH, STETH, USDC, WBTC, WETH,
    contracts::{named_depositor, named_payee},
    move_of,
};

/// The scored assets that move.
const ASSETS: [Asset; 5] = [ETH, USDC, WETH, STETH, DAI];
/// Base units of a whole token outside the table.
const TOKEN: u64 = 1_000_000_000_000;

/// The accounts of a chain.
struct Members {
    people: Vec<AccountAddress>,
    contracts: Vec<AccountAddress>,
    parties: Vec<AccountAddress>,
    tokens: Vec<Asset>,
}

/// The chain of a seed.
#[must_use]
pub fn random_chain(seed: u64) -> AccountChain {
    let mut dice = Random::new(seed ^ 0x3e5);
    let mut chain = AccountChain::new();
    let members = Members {
        people: chain.accounts::<4>().to_vec(),
        contracts: chain.contracts::<4>().to_vec(),
        parties: vec![
            chain.party(Category::Exchange, "Some Exchange"),
            chain.party(Category::StolenFunds, "Some Hack"),
            chain.listed("DOE, Jane", date(2026, 1, 8)),
        ],
        tokens: (0..3).map(|_| chain.token()).collect(),
    };
    if dice.one_in(3) {
        chain.deploy(members.parties[1]);
    }
    let all: Vec<_> = members.people.iter().chain(&members.contracts).copied().collect();
    for account in all {
        let party = *dice.pick(&members.parties);
        let moves = [(party, account, *dice.pick(&ASSETS)), (party, account, ETH)];
        for (from, to, asset) in moves {
            let amount = chain.units(asset, dice.within(1_000, 100_000));
            chain.pay(from, to, asset, amount);
        }
    }
    for _ in 0..dice.within(10, 40) {
        if dice.one_in(4) {
            chain.set_price(WBTC, dice.within(50_000, 70_000));
            for asset in [ETH, WETH, STETH] {
                chain.set_price(asset, dice.within(2_900, 3_100));
            }
            chain.wait_days(1);
        }
        let transfers = transfers(&mut dice, &chain, &members);
        let named = facts(&mut dice, &members);
        let initiator = members.people[dice.index(members.people.len())];
        chain.record((!dice.one_in(9)).then_some(initiator), transfers, named);
    }
    chain
}

fn transfers(dice: &mut Random, chain: &AccountChain, of: &Members) -> Vec<Transfer> {
    // Few accounts meet in one transaction, so that exchanges and tokens for money are frequent.
    let mut meet = vec![*dice.pick(&of.people), *dice.pick(&of.contracts)];
    if dice.one_in(2) {
        meet.push(*dice.pick(&of.contracts));
    }
    if dice.one_in(2) {
        meet.push(*dice.pick(&of.people));
    }
    if dice.one_in(6) {
        meet.push(*dice.pick(&of.parties));
    }
    let mut transfers = Vec::new();
    for _ in 0..dice.within(1, 6) {
        let (from, to) = (*dice.pick(&meet), *dice.pick(&meet));
        let token = *dice.pick(&of.tokens);
        let asset = if dice.percent(40) { token } else { *dice.pick(&ASSETS) };
        let amount = match asset {
            _ if asset == token => u128::from(dice.within(1, TOKEN)),
            _ => chain.units(asset, dice.within(100, 50_000)),
        };
        let zero = AccountAddress::ZERO;
        let (kind, from, to) = match dice.below(8) {
            0 if asset != ETH => (TransferKind::Mint, zero, to),
            1 if asset != ETH => (TransferKind::Burn, from, zero),
            2 if asset == ETH && dice.one_in(4) => (TransferKind::Fee, from, to),
            3 if asset == ETH && dice.one_in(4) => (TransferKind::Reward, zero, to),
            4 if asset == STETH && dice.one_in(2) => (TransferKind::Balance, zero, to),
            _ => (TransferKind::Transfer, from, to),
        };
        transfers.push(move_of(kind, (from, to, asset, amount)));
    }
    transfers
}

/// Facts about code come with every transaction; events name accounts now and then.
fn facts(dice: &mut Random, of: &Members) -> Vec<ContractFact> {
    let mut facts: Vec<ContractFact> = Vec::new();
    for _ in 0..*dice.pick(&[0, 0, 1, 2]) {
        let (contract, account) = (*dice.pick(&of.contracts), *dice.pick(&of.people));
        let is_depositor = dice.one_in(2);
        let event = if is_depositor { named_depositor } else { named_payee };
        facts.push(event(contract, account));
    }
    facts
}
