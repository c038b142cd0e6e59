//! People whom a trick, or a thief nearby, might accuse.

use assay_engine::{
    account::AccountAddress,
    score::Verdict::{Allow, Review},
};
use assay_tests::accounts::{
    DOLLAR, ETH, ETHER, Pool, USDC,
    contracts::{Call, Protocols, named_depositor, protocols::TOKEN},
};

use crate::accounts::theft::Theft;

const ZERO: AccountAddress = AccountAddress::ZERO;

/// A thief's token is minted to 20 people in a transaction in which he pays an ether to a contract of his; they sell it.
fn airdrop_of_a_thief(is_for_himself_too: bool) -> (Theft<Protocols>, [AccountAddress; 3]) {
    let mut theft = Theft::at_protocols(20);
    let (thief, [contract, _]) = (theft.accomplice, theft.on.unknown);
    let token = theft.chain.token();
    let people: Vec<AccountAddress> = (0..20).map(|_| theft.clean(ETH, ETHER)).collect();
    let own = (ZERO, thief, token, 10_000 * TOKEN);
    let mut moves = vec![(thief, contract, ETH, ETHER)];
    moves.extend(people.iter().map(|person| (ZERO, *person, token, 100 * TOKEN)));
    if is_for_himself_too {
        moves.push(own);
    } else {
        theft.chain.send(thief, &[own]);
    }
    theft.chain.send(thief, &moves);
    let maker = theft.clean(ETH, 50 * ETHER);
    theft.chain.pay(thief, maker, token, 5_000 * TOKEN);
    let pool = Pool::open(&mut theft.chain, maker, [(token, 5_000 * TOKEN), (ETH, 50 * ETHER)]);
    for person in &people {
        theft.swap_all(pool, *person, token);
    }
    (theft, [people[0], people[9], people[19]])
}

#[test]
fn strangers_to_whom_a_thief_mints_a_token_n7() {
    for is_for_himself_too in [true, false] {
        let (theft, people) = airdrop_of_a_thief(is_for_himself_too);
        theft.expect(people.map(|person| (person, Allow)));
    }
}

#[test]
fn an_innocent_whom_the_log_of_a_thiefs_contract_names_n7() {
    let mut theft = Theft::at_protocols(50);
    let (thief, [contract, _]) = (theft.accomplice, theft.on.unknown);
    let person = theft.clean(ETH, 10 * ETHER);
    theft.chain.execute(
        Call::new(thief, &[(thief, contract, ETH, 50 * ETHER)])
            .naming(named_depositor(contract, person)),
    );
    theft.chain.send(thief, &[(contract, thief, ETH, 50 * ETHER)]);
    theft.expect([(person, Allow)]);
}

#[test]
fn a_borrower_beside_a_thiefs_deposit_at_the_lending_contract_n8() {
    let mut theft = Theft::at_protocols(3_000);
    let (thief, provider) = (theft.accomplice, theft.on.provider);
    let person = theft.clean(ETH, 10 * ETHER);
    let dollars = theft.swap_all(theft.on.ether_usdc, thief, ETH);
    theft.run(|on, _| on.reserves.supply((thief, thief), USDC, dollars));
    theft.run(|on, _| on.reserves.withdraw((provider, provider), USDC, 4_000_000 * DOLLAR));
    theft.run(|on, _| on.reserves.supply((person, person), ETH, 10 * ETHER));
    theft.run(|on, _| on.reserves.borrow((person, person), USDC, 20_000 * DOLLAR));
    theft.expect([(person, Allow)]);
}

/// A release that a thief calls reviews its receiver: open, and told.
#[test]
fn an_employee_whose_pay_a_thief_releases_is_reviewed() {
    let mut theft = Theft::at_protocols(10);
    let (thief, desk, employee) = (theft.accomplice, theft.on.desk, theft.chain.account());
    let company = theft.clean(ETH, 2_000 * ETHER);
    theft.chain.pay_all(company, desk, ETH);
    theft.chain.pay_all(thief, desk, ETH);
    theft.chain.send(thief, &[(desk, employee, ETH, 10 * ETHER)]);
    theft.expect([(employee, Review)]);
}

#[test]
fn who_liquidates_a_thiefs_loan() {
    let mut theft = Theft::at_protocols(1_000);
    let (thief, person) = (theft.accomplice, theft.clean(USDC, 240_000 * DOLLAR));
    theft.run(|on, _| on.lending.supply((thief, thief), ETH, 1_000 * ETHER));
    theft.run(|on, _| on.lending.borrow((thief, thief), USDC, 1_125_000 * DOLLAR));
    let lender = theft.on.lending.reserve(ETH).contract;
    theft.chain.send(
        person,
        &[(person, lender, USDC, 230_000 * DOLLAR), (lender, person, ETH, 80 * ETHER)],
    );
    theft.expect([(person, Allow)]);
}

#[test]
fn an_employee_with_a_stream_beside_a_thiefs() {
    let mut theft = Theft::at_protocols(9);
    let (thief, streams) = (theft.accomplice, theft.on.streams.contract);
    let (employee, company) = (theft.clean(ETH, ETHER), theft.clean(ETH, 6 * ETHER));
    theft.chain.pay_all(thief, streams, ETH);
    theft.chain.pay_all(company, streams, ETH);
    for _ in 0..6 {
        theft.chain.wait_days(1);
        theft.chain.send(employee, &[(streams, employee, ETH, ETHER)]);
    }
    theft.expect([(employee, Allow)]);
}

#[test]
fn members_who_leave_a_fund_with_their_part_of_a_thiefs_gift() {
    let mut theft = Theft::at_protocols(30);
    let (desk, shares) = (theft.on.desk, theft.chain.token());
    let members: Vec<AccountAddress> = (0..10).map(|_| theft.clean(ETH, 10 * ETHER)).collect();
    for member in &members {
        theft.chain.send(
            *member,
            &[(*member, desk, ETH, 10 * ETHER), (ZERO, *member, shares, 10 * TOKEN)],
        );
    }
    theft.chain.pay_all(theft.accomplice, desk, ETH);
    for member in &members[..3] {
        theft.chain.send(
            *member,
            &[(*member, ZERO, shares, 10 * TOKEN), (desk, *member, ETH, 13 * ETHER)],
        );
    }
    theft.expect([(members[0], Allow), (members[2], Allow)]);
}

#[test]
fn a_trader_whose_gains_of_the_day_a_pool_with_stolen_money_paid() {
    let mut theft = Theft::at_protocols(1_200);
    let (provider, person) = (theft.on.provider, theft.clean(ETH, 20 * ETHER));
    let sides = [(ETH, 2_800 * ETHER), (USDC, 9_300_000 * DOLLAR)];
    let pool = Pool::open(&mut theft.chain, provider, sides);
    theft.chain.pay_all(theft.accomplice, pool.contract, ETH);
    for _ in 0..3 {
        theft.swap_all(pool, person, ETH);
        theft.swap_all(pool, person, USDC);
    }
    theft.expect([(person, Allow)]);
}

#[test]
fn a_batch_of_token_orders_beside_a_thief() {
    let mut theft = Theft::at_protocols(100);
    let (thief, person) = (theft.accomplice, theft.clean(ETH, 10 * ETHER));
    let ([solver, payee], settlement) = (theft.chain.accounts(), theft.chain.contract());
    let (token, other, pool) = (theft.on.token, theft.on.other_token, theft.on.tokens);
    let own = theft.swap_all(theft.on.token_ether, person, ETH);
    let stolen = theft.swap_all(theft.on.token_ether, thief, ETH);
    let got = pool.quote(&theft.chain, token, own + stolen);
    let part = got / 1_000_000 * (own * 1_000_000 / (own + stolen));
    theft.chain.send(
        solver,
        &[
            (person, settlement, token, own),
            (thief, settlement, token, stolen),
            (settlement, pool.contract, token, own + stolen),
            (pool.contract, settlement, other, got),
            (settlement, person, other, part),
            (settlement, thief, other, got - part),
        ],
    );
    theft.swap_all(theft.on.other_token_usdc, person, other);
    theft.swap_all(theft.on.other_token_usdc, thief, other);
    theft.chain.pay_all(thief, payee, USDC);
    theft.expect([(person, Allow), (payee, Review)]);
}

#[test]
fn a_farmer_whose_rewards_a_thief_filled_by_a_twentieth() {
    let mut theft = Theft::at_protocols(50);
    let (pool, desk) = (theft.on.ether_usdc, theft.on.desk);
    let person = theft.clean(ETH, 20 * ETHER);
    theft.withdraw(person, USDC, 30_000 * DOLLAR);
    theft.chain.execute(pool.provide(&theft.chain, person, ETHER / 500));
    let treasury = theft.clean(ETH, 950 * ETHER);
    theft.chain.pay_all(treasury, desk, ETH);
    theft.chain.pay_all(theft.accomplice, desk, ETH);
    for _ in 0..5 {
        theft.chain.wait_days(2);
        theft.chain.send(person, &[(desk, person, ETH, ETHER / 2)]);
    }
    theft.chain.execute(pool.pull(&theft.chain, person));
    theft.expect([(person, Allow)]);
}

#[test]
fn a_batch_above_the_price_of_the_day_beside_a_thief() {
    let mut theft = Theft::at_protocols(100);
    let (thief, person, provider) =
        (theft.accomplice, theft.clean(ETH, 10 * ETHER), theft.on.provider);
    let (solver, settlement) = (theft.chain.account(), theft.chain.contract());
    let sides = [(ETH, 9_000 * ETHER), (USDC, 27_800_000 * DOLLAR)];
    let pool = Pool::open(&mut theft.chain, provider, sides);
    let got = pool.quote(&theft.chain, ETH, 110 * ETHER);
    theft.chain.send(
        solver,
        &[
            (person, settlement, ETH, 10 * ETHER),
            (thief, settlement, ETH, 100 * ETHER),
            (settlement, pool.contract, ETH, 110 * ETHER),
            (pool.contract, settlement, USDC, got),
            (settlement, person, USDC, got / 11),
            (settlement, thief, USDC, got - got / 11),
        ],
    );
    theft.expect([(person, Allow)]);
}

#[test]
fn a_debtor_of_whose_debt_a_thief_repays_a_hundredth() {
    let mut theft = Theft::at_protocols(1);
    let (thief, person) = (theft.accomplice, theft.clean(ETH, 50 * ETHER));
    theft.run(|on, _| on.lending.supply((person, person), ETH, 50 * ETHER));
    theft.run(|on, _| on.lending.borrow((person, person), USDC, 56_250 * DOLLAR));
    theft.on.ether_usdc.swap(&mut theft.chain, thief, ETH, ETHER / 10);
    theft.run(|on, _| on.lending.repay((thief, person), USDC, 250 * DOLLAR));
    theft.run(|on, _| on.lending.repay((person, person), USDC, 56_000 * DOLLAR));
    theft.run(|on, _| on.lending.withdraw((person, person), ETH, 50 * ETHER));
    theft.expect([(person, Allow)]);
}

#[test]
fn the_smart_account_of_a_person_with_wages_and_a_refund() {
    let mut theft = Theft::at_protocols(1);
    let (smart, [relayer, shop, person]) = (theft.chain.contract(), theft.chain.accounts());
    let employer = theft.clean(USDC, 20_000 * DOLLAR);
    let pool = theft.on.ether_usdc;
    theft.chain.pay(employer, smart, USDC, 9_000 * DOLLAR);
    theft.chain.send(relayer, &[(smart, shop, USDC, 100 * DOLLAR)]);
    theft.chain.pay(shop, smart, USDC, 50 * DOLLAR);
    theft.chain.send(relayer, &[(smart, shop, USDC, 300 * DOLLAR)]);
    pool.swap(&mut theft.chain, smart, USDC, 3_000 * DOLLAR);
    theft.chain.send(relayer, &[(smart, person, ETH, ETHER / 2)]);
    theft.expect([(shop, Allow), (person, Allow), (smart, Allow)]);
}

#[test]
fn a_buyer_who_sells_at_a_pool_to_which_a_thief_gave_a_seventh() {
    let mut theft = Theft::at_protocols(300);
    let (pool, token) = (theft.on.token_ether, theft.on.token);
    let person = theft.clean(ETH, 5 * ETHER);
    theft.swap_all(pool, person, ETH);
    theft.chain.pay_all(theft.accomplice, pool.contract, ETH);
    theft.swap_all(pool, person, token);
    theft.expect([(person, Allow)]);
}

/// A token with stolen backing that a thief gives away is harmless where it is sold at the pool at which the rest was
/// bought; elsewhere its receiver is reviewed, which is open, and told.
#[test]
fn a_gift_of_a_token_with_stolen_backing() {
    let mut theft = Theft::at_protocols(100);
    let (thief, [contract, _]) = (theft.accomplice, theft.on.unknown);
    let (pool, token) = (theft.on.token_ether, theft.on.token);
    let [first, second] = [theft.clean(ETH, 5 * ETHER), theft.clean(ETH, 5 * ETHER)];
    theft.chain.pay(theft.on.provider, contract, token, 2 * TOKEN);
    for person in [first, second] {
        theft.swap_all(pool, person, ETH);
        theft
            .chain
            .send(thief, &[(thief, contract, ETH, 50 * ETHER), (contract, person, token, TOKEN)]);
    }
    theft.chain.send(thief, &[(contract, thief, ETH, 100 * ETHER)]);
    theft.swap_all(pool, first, token);
    theft.swap_all(theft.on.token_usdc, second, token);
    theft.expect([(first, Allow), (second, Review)]);
}

#[test]
fn a_seller_of_a_picture_to_a_buyer_with_some_stolen_money() {
    let mut theft = Theft::at_protocols(4);
    let (picture, buyer) = (theft.chain.token(), theft.clean(ETH, 96 * ETHER));
    let [person, maker] = [theft.clean(ETH, 10 * ETHER), theft.clean(ETH, ETHER)];
    theft.chain.pay_all(theft.accomplice, buyer, ETH);
    theft.chain.mint(picture, maker, 1);
    for (payer, seller, price) in [(person, maker, 9), (buyer, person, 12)] {
        theft
            .chain
            .send(payer, &[(payer, seller, ETH, price * ETHER), (seller, payer, picture, 1)]);
    }
    theft.expect([(person, Allow)]);
}

#[test]
fn a_solver_paid_out_of_a_thiefs_sale_at_a_loss() {
    let mut theft = Theft::at_protocols(100);
    let (thief, solver) = (theft.accomplice, theft.clean(ETH, ETHER));
    let (token, settlement) = (theft.on.token, theft.chain.contract());
    let (bought_at, sold_at) = (theft.on.token_ether, theft.on.token_usdc);
    let amount = theft.swap_all(bought_at, thief, ETH);
    bought_at.swap(&mut theft.chain, theft.on.provider, token, 30_000 * TOKEN);
    let got = sold_at.quote(&theft.chain, token, amount);
    theft.chain.send(
        solver,
        &[
            (thief, settlement, token, amount),
            (settlement, sold_at.contract, token, amount),
            (sold_at.contract, settlement, USDC, got),
            (settlement, thief, USDC, got - got / 200),
            (settlement, solver, USDC, got / 200),
        ],
    );
    theft.expect([(solver, Allow)]);
}

#[test]
fn a_clean_reward_of_somebody_with_a_thiefs_gift() {
    let mut theft = Theft::at_protocols(100);
    let (thief, [contract, _]) = (theft.accomplice, theft.on.unknown);
    let (person, treasury) = (theft.clean(ETH, 5 * ETHER), theft.clean(ETH, 100 * ETHER));
    let (desk, gift) = (theft.on.desk, theft.chain.token());
    theft.chain.send(thief, &[(thief, contract, ETH, 100 * ETHER), (ZERO, person, gift, TOKEN)]);
    theft.chain.send(thief, &[(contract, thief, ETH, 100 * ETHER)]);
    theft.chain.pay_all(treasury, desk, ETH);
    theft.chain.send(person, &[(desk, person, ETH, 2 * ETHER)]);
    theft.expect([(person, Allow)]);
}

#[test]
fn a_borrower_with_liquidity_where_a_thief_swaps() {
    let mut theft = Theft::at_protocols(100);
    let (pool, debt) = (theft.on.ether_usdc, theft.chain.token());
    let person = theft.clean(ETH, 30 * ETHER);
    theft.withdraw(person, USDC, 30_000 * DOLLAR);
    theft.chain.execute(pool.provide(&theft.chain, person, ETHER / 500));
    theft.run(|on, _| on.reserves.supply((person, person), ETH, 15 * ETHER));
    let loan = 20_000 * DOLLAR;
    theft.run(|on, _| {
        let borrowed = on.reserves.borrow((person, person), USDC, loan);
        borrowed.with_moves(&[(ZERO, person, debt, loan)])
    });
    theft.swap_all(pool, theft.accomplice, ETH);
    theft.run(|on, _| {
        let repaid = on.reserves.repay((person, person), USDC, loan);
        repaid.with_moves(&[(person, ZERO, debt, loan)])
    });
    theft.run(|on, _| on.reserves.withdraw((person, person), ETH, 15 * ETHER));
    theft.chain.execute(pool.pull(&theft.chain, person));
    theft.expect([(person, Allow)]);
}

#[test]
fn employees_with_streams_of_the_same_amount_as_a_thiefs() {
    let mut theft = Theft::at_protocols(10);
    let (streams, employer) = (theft.on.streams.contract, theft.clean(ETH, 100 * ETHER));
    for _ in 0..5 {
        theft.chain.pay(employer, streams, ETH, 10 * ETHER);
    }
    theft.chain.pay_all(theft.accomplice, streams, ETH);
    let people = [(); 3].map(|()| theft.clean(ETH, 5 * ETHER));
    for person in people {
        theft.chain.send(person, &[(streams, person, ETH, 10 * ETHER)]);
    }
    theft.expect(people.map(|person| (person, Allow)));
}
