//! Tricks with contracts that the model's table does not number: each would have laundered under an earlier wording of
//! the rules. A name that ends with the number of a case of the table is of that kind.

use assay_engine::{
    account::{AccountAddress, Asset},
    score::Verdict::{Allow, Block, Review},
};
use assay_tests::accounts::{
    DAI, DOLLAR, ETH, ETHER, ETHER_DOLLARS, STETH, USDC, USDT, WBTC, WETH,
    contracts::{
        Call, Pool, Protocols, named_depositor, named_payee,
        protocols::{BITCOIN, TOKEN},
        wrapper::wrap,
    },
};

use crate::accounts::theft::Theft;

const ZERO: AccountAddress = AccountAddress::ZERO;
/// A millionth of an ether, which a contract of the thief pays along.
const CRUMB: u128 = ETHER / 1_000_000;

/// A theft of 100 ether, and an account without anything.
fn theft_and_payee() -> (Theft<Protocols>, AccountAddress, AccountAddress) {
    let mut theft = Theft::at_protocols(100);
    let (thief, payee) = (theft.accomplice, theft.chain.account());
    (theft, thief, payee)
}

/// The same after the thief bought the token for all ether.
fn theft_of_token() -> (Theft<Protocols>, AccountAddress, AccountAddress, u128) {
    let (mut theft, thief, payee) = theft_and_payee();
    let amount = theft.swap_all(theft.on.token_ether, thief, ETH);
    (theft, thief, payee, amount)
}

fn junk(theft: &mut Theft<Protocols>, owner: AccountAddress) -> Asset {
    let junk = theft.chain.token();
    theft.chain.mint(junk, owner, 9 * TOKEN);
    junk
}

#[test]
fn a_crumb_for_the_giver_does_not_make_a_sale_for_another_ones_own_n1() {
    let (mut theft, thief, payee, _) = theft_of_token();
    let (pool, token, router) = (theft.on.token_usdc, theft.on.token, theft.on.router);
    theft.swap_all_beside(pool, (thief, payee), token, &[(router, thief, ETH, CRUMB)]);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_crumb_beside_a_swap_of_tokens_takes_no_backing_n1() {
    let (mut theft, thief, payee, _) = theft_of_token();
    let (pool, token, router) = (theft.on.tokens, theft.on.token, theft.on.router);
    let other = theft.on.other_token;
    theft.swap_all_beside(pool, (thief, thief), token, &[(router, thief, ETH, CRUMB)]);
    theft.chain.pay_all(thief, payee, other);
    theft.swap_all(theft.on.other_token_usdc, payee, other);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_junk_token_for_the_payer_takes_no_backing_n1() {
    let (mut theft, thief, payee) = theft_and_payee();
    let (junk, token) = (theft.chain.token(), theft.on.token);
    let pool = theft.on.token_ether;
    theft.swap_all_beside(pool, (thief, payee), ETH, &[(ZERO, thief, junk, TOKEN)]);
    theft.swap_all(theft.on.token_usdc, payee, token);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_junk_token_beside_a_deposit_for_another_takes_no_claim_n1() {
    let (mut theft, thief, payee) = theft_and_payee();
    let (junk, bundler) = (theft.chain.token(), theft.chain.account());
    theft.run(|on, _| {
        let deposit = on.entry_point.deposit((thief, payee), ETH, 100 * ETHER);
        deposit.with_moves(&[(ZERO, thief, junk, TOKEN)])
    });
    theft.run(|on, _| on.entry_point.withdraw((payee, payee), ETH, 100 * ETHER).sent_by(bundler));
    theft.expect([(payee, Review)]);
}

#[test]
fn a_worthless_token_of_the_receiver_does_not_pay_n1() {
    let (mut theft, thief, payee, _) = theft_of_token();
    let (junk, [contract, _]) = (junk(&mut theft, payee), theft.on.unknown);
    let (pool, token) = (theft.on.token_usdc, theft.on.token);
    theft.swap_all_beside(pool, (thief, payee), token, &[(payee, contract, junk, TOKEN)]);
    theft.expect([(payee, Review)]);
}

/// The thief's collateral lies in one contract of a lending protocol, and another one lends.
fn collateral_elsewhere() -> (Theft<Protocols>, AccountAddress, AccountAddress) {
    let (mut theft, thief, payee) = theft_and_payee();
    theft.run(|on, _| on.reserves.supply((thief, thief), ETH, 100 * ETHER));
    (theft, thief, payee)
}

#[test]
fn a_sister_contract_lends_against_the_collateral_n2() {
    let (mut theft, thief, payee) = collateral_elsewhere();
    let debt = theft.chain.token();
    theft.run(|on, _| {
        let loan = on.reserves.borrow((thief, thief), USDC, 225_000 * DOLLAR);
        loan.with_moves(&[(ZERO, thief, debt, TOKEN)])
    });
    theft.chain.pay_all(thief, payee, USDC);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_delegate_borrows_against_the_thiefs_collateral_n2() {
    let (mut theft, thief, payee) = collateral_elsewhere();
    let (delegate, debt) = (theft.chain.account(), theft.chain.token());
    theft.run(|on, _| {
        let loan = on.reserves.borrow((thief, delegate), USDC, 225_000 * DOLLAR);
        loan.sent_by(delegate).with_moves(&[(ZERO, thief, debt, TOKEN)])
    });
    theft.chain.pay_all(delegate, payee, USDC);
    theft.expect([(payee, Review)]);
}

#[test]
fn dollars_made_against_collateral_are_the_collateral_n2() {
    let (mut theft, thief, payee) = theft_and_payee();
    let vault = theft.chain.contract();
    theft.chain.pay_all(thief, vault, ETH);
    theft.chain.mint(DAI, thief, 200_000 * ETHER);
    theft.chain.pay_all(thief, payee, DAI);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_friend_borrows_against_a_receipt_that_the_thief_sent_n2() {
    let (mut theft, thief, payee) = collateral_elsewhere();
    let (friend, debt) = (theft.chain.account(), theft.chain.token());
    theft.chain.pay_all(thief, friend, theft.on.reserves.reserve(ETH).receipt);
    theft.run(|on, _| {
        let loan = on.reserves.borrow((friend, friend), USDC, 225_000 * DOLLAR);
        loan.with_moves(&[(ZERO, friend, debt, TOKEN)])
    });
    theft.chain.pay_all(friend, payee, USDC);
    theft.expect([(friend, Review), (payee, Review)]);
}

#[test]
fn a_smart_account_of_the_thief_is_the_thief_n3() {
    let (mut theft, thief, payee) = theft_and_payee();
    let (smart, relayer) = (theft.chain.contract(), theft.chain.account());
    let (token, other) = (theft.on.token, theft.on.other_token);
    theft.chain.pay_all(thief, smart, ETH);
    theft.swap_all(theft.on.token_ether, smart, ETH);
    theft.swap_all(theft.on.tokens, smart, token);
    theft.swap_all(theft.on.other_token_usdc, smart, other);
    let dollars = theft.balance(smart, USDC);
    theft.chain.send(relayer, &[(smart, payee, USDC, dollars)]);
    theft.expect([(smart, Review), (payee, Review)]);
}

#[test]
fn a_smart_account_that_buys_for_another_pays_n3() {
    let (mut theft, thief, payee) = theft_and_payee();
    let (smart, token) = (theft.chain.contract(), theft.on.token);
    theft.chain.pay_all(thief, smart, ETH);
    theft.swap_all_to(theft.on.token_ether, (smart, payee), ETH);
    theft.swap_all(theft.on.token_usdc, payee, token);
    theft.expect([(payee, Review)]);
}

/// Claims of other origin in an asset that has left would let clean and stolen deposits change places.
#[test]
fn claims_whose_money_has_left_clean_no_deposits_n4() {
    let mut theft = Theft::at_protocols(100);
    let [contract, _] = theft.on.unknown;
    let dollars = 300_000 * DOLLAR;
    // Claims alternately of unknown and of known origin, whose dollars somebody else drew.
    let unknown = theft.chain.account();
    theft.chain.pay(theft.on.provider, unknown, USDC, dollars);
    let mut holders = [unknown, theft.clean(USDC, dollars)];
    let claimants: Vec<AccountAddress> = (0..9)
        .map(|round| {
            let [claimant, drawer, sender] = theft.chain.accounts();
            theft.chain.pay(holders[round % 2], claimant, USDC, dollars);
            theft.chain.pay(claimant, contract, USDC, dollars);
            theft.chain.send(sender, &[(contract, drawer, USDC, dollars)]);
            holders[round % 2] = drawer;
            claimant
        })
        .collect();
    let (mut stolen, mut clean) = (theft.accomplice, theft.clean(ETH, 100 * ETHER));
    for claimant in claimants {
        theft.chain.pay_all(clean, contract, ETH);
        theft.chain.pay_all(stolen, contract, ETH);
        theft.chain.send(claimant, &[(contract, claimant, ETH, 100 * ETHER)]);
        let rest = theft.balance(contract, ETH);
        theft.chain.send(clean, &[(contract, clean, ETH, rest)]);
        (stolen, clean) = (clean, claimant);
    }
    theft.expect([(stolen, Review), (clean, Allow)]);
}

#[test]
fn a_token_backed_by_money_that_has_left_takes_no_part_n4() {
    let (mut theft, thief, seller, amount) = theft_of_token();
    let clean = theft.clean(USDC, 300_000 * DOLLAR);
    let ([contract, _], token) = (theft.on.unknown, theft.on.token);
    let (own, [sender, drawer]) = (theft.chain.token(), theft.chain.accounts());
    theft.chain.pay(thief, seller, token, amount);
    theft.chain.pay_all(clean, seller, USDC);
    theft
        .chain
        .send(seller, &[(seller, contract, USDC, 300_000 * DOLLAR), (ZERO, seller, own, TOKEN)]);
    theft.chain.send(sender, &[(contract, drawer, USDC, 300_000 * DOLLAR)]);
    let pool = theft.on.token_usdc;
    let beside = [(seller, pool.contract, own, TOKEN)];
    theft.swap_all_beside(pool, (seller, seller), token, &beside);
    theft.expect([(seller, Review), (drawer, Allow)]);
}

#[test]
fn clean_dollars_paid_for_one_token_back_one_token_n4() {
    let (mut theft, thief, seller, _) = theft_of_token();
    let clean = theft.clean(USDC, 300_000 * DOLLAR);
    let ([contract, _], token) = (theft.on.unknown, theft.on.token);
    let [sender, drawer] = theft.chain.accounts();
    theft.chain.pay_all(clean, seller, USDC);
    theft.chain.pay(theft.on.provider, contract, token, TOKEN);
    theft.chain.send(
        seller,
        &[(seller, contract, USDC, 300_000 * DOLLAR), (contract, seller, token, TOKEN)],
    );
    theft.chain.send(sender, &[(contract, drawer, USDC, 300_000 * DOLLAR)]);
    theft.chain.pay_all(thief, seller, token);
    theft.swap_all(theft.on.token_usdc, seller, token);
    theft.expect([(seller, Review), (drawer, Allow)]);
}

#[test]
fn sales_above_the_price_of_the_day_dilute_nothing_n5() {
    let mut theft = Theft::at_protocols(30);
    let (thief, payee, [dear, other]) = (theft.accomplice, theft.chain.account(), theft.on.dear);
    for _ in 0..25 {
        theft.swap_all(dear, thief, ETH);
        theft.swap_all(other, thief, USDC);
    }
    theft.chain.pay_all(thief, payee, ETH);
    theft.expect([(thief, Block), (payee, Review)]);
}

/// The thief sells above the price of the day and has the gain paid to another, 40 times.
fn gains_to_another(is_relayed: bool) -> (Theft<Protocols>, AccountAddress) {
    let mut theft = Theft::at_protocols(30);
    let (thief, payee, router) = (theft.accomplice, theft.chain.account(), theft.on.router);
    let [dear, other] = theft.on.dear;
    for _ in 0..40 {
        let amount = theft.balance(thief, ETH);
        let got = dear.quote(&theft.chain, ETH, amount);
        let fair = amount * u128::from(ETHER_DOLLARS) * DOLLAR / ETHER;
        let sender = if is_relayed { theft.chain.account() } else { thief };
        theft.chain.send(
            sender,
            &[
                (thief, dear.contract, ETH, amount),
                (dear.contract, router, USDC, got),
                (router, thief, USDC, fair.min(got)),
                (router, payee, USDC, got.saturating_sub(fair)),
            ],
        );
        theft.swap_all(other, thief, USDC);
    }
    (theft, payee)
}

#[test]
fn gains_above_the_price_of_the_day_for_another_are_stolen_n5() {
    let (theft, payee) = gains_to_another(false);
    let thief = theft.accomplice;
    theft.expect([(payee, Review), (thief, Block)]);
}

#[test]
fn gains_above_the_price_of_the_day_by_a_relayer_are_stolen_n5() {
    let (theft, payee) = gains_to_another(true);
    let thief = theft.accomplice;
    theft.expect([(payee, Review), (thief, Block)]);
}

#[test]
fn a_token_that_a_vault_pays_to_another_is_sold_as_the_thiefs_n6() {
    let (mut theft, thief, payee, amount) = theft_of_token();
    let (vault, token, receipt) = (theft.chain.contract(), theft.on.token, theft.chain.token());
    let provider = theft.on.provider;
    for (payer, amount) in [(provider, 500_000 * TOKEN), (thief, amount)] {
        theft.chain.send(payer, &[(payer, vault, token, amount), (ZERO, payer, receipt, amount)]);
    }
    theft.chain.send(thief, &[(thief, ZERO, receipt, amount), (vault, payee, token, amount)]);
    theft.swap_all(theft.on.token_usdc, payee, token);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_token_wrapped_in_an_own_contract_stays_what_came_n6() {
    let (mut theft, thief, payee, amount) = theft_of_token();
    let ([contract, _], token) = (theft.on.unknown, theft.on.token);
    let (wrapped, next) = (theft.chain.token(), theft.chain.account());
    theft.chain.pay(thief, payee, token, amount);
    theft.chain.send(payee, &[(payee, contract, token, amount), (ZERO, payee, wrapped, amount)]);
    theft.chain.send(payee, &[(payee, ZERO, wrapped, amount), (contract, payee, token, amount)]);
    theft.swap_all(theft.on.token_usdc, payee, token);
    theft.chain.pay(payee, next, USDC, 1_000 * DOLLAR);
    theft.expect([(payee, Review), (next, Review)]);
}

#[test]
fn a_wrapper_whose_units_shrink_keeps_the_backing_n6() {
    let (mut theft, thief, payee, amount) = theft_of_token();
    let ([contract, _], token) = (theft.on.unknown, theft.on.token);
    let wrapped = theft.chain.token();
    theft.chain.send(thief, &[(thief, contract, token, amount), (ZERO, thief, wrapped, amount)]);
    // Each unit stands for a thousand now.
    theft.chain.pay(thief, payee, wrapped, amount / 1_000);
    theft
        .chain
        .send(payee, &[(payee, ZERO, wrapped, amount / 1_000), (contract, payee, token, amount)]);
    theft.swap_all(theft.on.token_usdc, payee, token);
    theft.expect([(payee, Review)]);
}

/// Who draws what another put in, if no log names anybody: open, and told.
#[test]
fn streams_that_name_nobody_are_open_n9() {
    for parts in [1, 10] {
        let (mut theft, thief, payee) = theft_and_payee();
        let streams = theft.on.streams.contract;
        theft.chain.pay_all(thief, streams, ETH);
        for _ in 0..parts {
            theft.chain.send(payee, &[(streams, payee, ETH, 100 * ETHER / parts)]);
        }
        theft.expect([(payee, Allow)]);
    }
}

#[test]
fn a_friends_deposit_that_draws_a_thiefs_without_names_is_open_n9() {
    let (mut theft, thief, payee) = theft_and_payee();
    let (friend, streams) = (theft.clean(ETH, 100 * ETHER), theft.on.streams.contract);
    theft.chain.pay_all(friend, streams, ETH);
    theft.chain.pay_all(thief, streams, ETH);
    theft.chain.send(friend, &[(streams, payee, ETH, 100 * ETHER)]);
    theft.chain.send(friend, &[(streams, friend, ETH, 100 * ETHER)]);
    theft.expect([(payee, Allow), (friend, Allow)]);
}

#[test]
fn own_contracts_on_both_sides_of_a_contract_without_names_are_open_n9() {
    let (mut theft, thief, payee) = theft_and_payee();
    let [first, second] = theft.chain.contracts();
    let (streams, other) = (theft.on.streams.contract, theft.chain.account());
    theft.chain.pay_all(thief, first, ETH);
    theft.chain.send(thief, &[(first, streams, ETH, 100 * ETHER)]);
    theft.chain.send(other, &[(streams, second, ETH, 100 * ETHER)]);
    theft.chain.send(other, &[(second, payee, ETH, 100 * ETHER)]);
    theft.expect([(payee, Allow)]);
}

#[test]
fn a_refund_of_gas_whose_log_names_nobody_is_open_n9() {
    let (mut theft, thief, payee) = theft_and_payee();
    let (entry_point, bundler) = (theft.on.entry_point.contract, theft.chain.account());
    theft.chain.pay_all(thief, entry_point, ETH);
    theft.chain.send(bundler, &[(entry_point, payee, ETH, 100 * ETHER)]);
    theft.expect([(payee, Allow)]);
}

#[test]
fn a_stream_whose_log_names_the_recipient_is_stolen() {
    let (mut theft, thief, payee) = theft_and_payee();
    theft.run(|on, _| on.streams.deposit((thief, payee), ETH, 100 * ETHER));
    let streams = theft.on.streams.contract;
    for _ in 0..10 {
        theft.chain.send(payee, &[(streams, payee, ETH, 10 * ETHER)]);
    }
    theft.expect([(payee, Review)]);
}

#[test]
fn a_refund_whose_log_names_the_thief_is_stolen() {
    let (mut theft, thief, payee) = theft_and_payee();
    let (entry_point, bundler) = (theft.on.entry_point.contract, theft.chain.account());
    theft.chain.pay_all(thief, entry_point, ETH);
    theft.chain.execute(
        Call::new(bundler, &[(entry_point, payee, ETH, 100 * ETHER)])
            .naming(named_payee(entry_point, thief)),
    );
    theft.expect([(payee, Review)]);
}

#[test]
fn deposits_of_less_than_dust_for_another_are_a_sum() {
    let mut theft = Theft::at_protocols(3);
    let (thief, payee) = (theft.accomplice, theft.chain.account());
    let part = ETHER * 99 / 100 / 3_000;
    for _ in 0..3_000 {
        theft.run(|on, _| on.entry_point.deposit((thief, payee), ETH, part));
    }
    theft.run(|on, _| on.entry_point.withdraw((payee, payee), ETH, 3_000 * part));
    theft.expect([(payee, Review)]);
}

#[test]
fn a_debt_at_a_sister_contract_that_a_thief_repays_frees_stolen_collateral_a4() {
    let (mut theft, thief, other) = theft_and_payee();
    let (friend, next) = (theft.clean(ETH, 150 * ETHER), theft.chain.account());
    theft.run(|on, _| on.reserves.supply((friend, friend), ETH, 150 * ETHER));
    theft.run(|on, _| on.reserves.borrow((friend, friend), USDC, 240_000 * DOLLAR));
    let got = theft.swap_all(theft.on.ether_usdc, thief, ETH);
    theft.run(|on, _| on.reserves.repay((thief, friend), USDC, got.min(240_000 * DOLLAR)));
    theft.chain.pay_all(friend, other, theft.on.reserves.reserve(ETH).receipt);
    theft.run(|on, _| on.reserves.withdraw((other, other), ETH, 150 * ETHER));
    theft.chain.pay_all(friend, next, USDC);
    theft.expect([(other, Review), (next, Allow)]);
}

#[test]
fn a_contract_that_destroys_itself_pays() {
    let (mut theft, thief, payee) = theft_and_payee();
    let ([contract, _], sender) = (theft.on.unknown, theft.chain.account());
    theft.chain.pay_all(thief, contract, ETH);
    theft.chain.send(sender, &[(contract, payee, ETH, 100 * ETHER)]);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_bad_debt_of_an_own_lender_is_stolen_money_of_both() {
    let (mut theft, thief, payee) = theft_and_payee();
    let dollars = 240_000 * DOLLAR;
    let (friend, [contract, _]) = (theft.clean(USDC, dollars), theft.on.unknown);
    let [receipt, debt] = [theft.chain.token(), theft.chain.token()];
    theft.chain.send(friend, &[(friend, contract, USDC, dollars), (ZERO, friend, receipt, TOKEN)]);
    theft.chain.send(thief, &[(thief, contract, ETH, 100 * ETHER), (ZERO, thief, debt, TOKEN)]);
    theft.chain.send(thief, &[(contract, payee, USDC, dollars)]);
    theft
        .chain
        .send(friend, &[(friend, ZERO, receipt, TOKEN), (contract, friend, ETH, 100 * ETHER)]);
    theft.expect([(payee, Review), (friend, Review)]);
}

#[test]
fn a_friend_who_trades_with_the_thief_in_one_transaction_hides_nothing() {
    let (mut theft, thief, payee) = theft_and_payee();
    let dollars = 300_000 * DOLLAR;
    let (friend, [contract, _]) = (theft.clean(USDC, dollars), theft.on.unknown);
    theft.chain.send(
        thief,
        &[
            (thief, contract, ETH, 100 * ETHER),
            (contract, friend, ETH, 50 * ETHER),
            (friend, contract, USDC, dollars),
            (contract, payee, USDC, dollars),
            (contract, friend, ETH, 50 * ETHER),
        ],
    );
    // The friend bought 100 stolen ether for clean dollars, of which the thief disposed.
    theft.expect([(payee, Review), (friend, Review)]);
}

#[test]
fn a_claim_to_unstaked_ether_that_is_sent_is_stolen() {
    let (mut theft, thief, payee) = theft_and_payee();
    let (queue, claim) = (theft.chain.contract(), theft.chain.token());
    theft.chain.execute(wrap(thief, STETH, 100 * ETHER));
    theft.chain.send(thief, &[(thief, queue, STETH, 100 * ETHER), (ZERO, thief, claim, 1)]);
    theft.chain.pay_all(thief, payee, claim);
    theft.chain.pay(theft.on.provider, queue, ETH, 2_000 * ETHER);
    theft.chain.send(payee, &[(payee, ZERO, claim, 1), (queue, payee, ETH, 100 * ETHER)]);
    theft.expect([(payee, Review)]);
}

#[test]
fn money_paid_before_the_code_existed_is_the_contracts() {
    let (mut theft, thief, payee) = theft_and_payee();
    let [contract, sender] = theft.chain.accounts();
    theft.chain.pay_all(thief, contract, ETH);
    theft.chain.deploy(contract);
    theft.chain.send(sender, &[(contract, payee, ETH, 100 * ETHER)]);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_receiver_who_pays_a_crumb_has_not_bought() {
    let (mut theft, thief, _) = theft_and_payee();
    let (payee, token) = (theft.clean(ETH, ETHER / 100), theft.on.token);
    let pool = theft.on.token_ether;
    let crumb = [(payee, pool.contract, ETH, ETHER / 10_000)];
    theft.swap_all_beside(pool, (thief, payee), ETH, &crumb);
    theft.swap_all(theft.on.token_usdc, payee, token);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_token_got_for_a_worthless_one_is_what_it_was() {
    let (mut theft, thief, payee, amount) = theft_of_token();
    let ([contract, _], token) = (theft.on.unknown, theft.on.token);
    let junk = junk(&mut theft, payee);
    theft.chain.pay(thief, contract, token, amount);
    theft.chain.send(payee, &[(payee, contract, junk, TOKEN), (contract, payee, token, amount)]);
    theft.swap_all(theft.on.token_usdc, payee, token);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_validator_for_another_with_a_junk_token_along_pays_stolen_money() {
    let (mut theft, thief, staker) = theft_and_payee();
    let (validators, junk) = (theft.chain.contract(), theft.chain.token());
    theft.chain.pay(theft.on.provider, validators, ETH, 3_000 * ETHER);
    theft.chain.execute(
        Call::new(thief, &[(thief, validators, ETH, 96 * ETHER), (ZERO, thief, junk, TOKEN)])
            .naming(named_depositor(validators, staker)),
    );
    let system = theft.chain.account();
    theft.chain.send(system, &[(validators, staker, ETH, 96 * ETHER)]);
    theft.expect([(staker, Review)]);
}

#[test]
fn a_small_clean_receipt_does_not_explain_a_loan() {
    let (mut theft, thief, payee) = collateral_elsewhere();
    let friend = theft.clean(USDC, 10 * DOLLAR);
    theft.chain.pay_all(friend, thief, USDC);
    theft.run(|on, _| on.reserves.supply((thief, thief), USDC, 10 * DOLLAR));
    theft.run(|on, _| on.reserves.borrow((thief, thief), USDC, 225_000 * DOLLAR));
    theft.chain.pay_all(thief, payee, USDC);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_purchase_for_a_friend_where_the_own_tokens_came_from_takes_no_backing() {
    let (mut theft, thief, _, amount) = theft_of_token();
    let (pool, token) = (theft.on.token_ether, theft.on.token);
    let (buyer, friend) = (theft.clean(ETH, 110 * ETHER), theft.chain.account());
    theft.chain.pay(thief, buyer, token, amount);
    theft.swap_all_to(pool, (buyer, friend), ETH);
    theft.swap_all(pool, friend, token);
    theft.swap_all(pool, buyer, token);
    theft.expect([(buyer, Review), (friend, Allow)]);
}

#[test]
fn own_tokens_that_move_beside_a_purchase_dilute_nothing() {
    let (mut theft, thief, payee) = theft_and_payee();
    let ([first, second], token) = (theft.chain.accounts(), theft.on.token);
    let many = 475_000 * TOKEN;
    theft.chain.pay(theft.on.provider, first, token, many);
    let beside = [(first, second, token, many)];
    theft.swap_all_beside(theft.on.token_ether, (thief, payee), ETH, &beside);
    theft.swap_all(theft.on.token_usdc, payee, token);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_junk_token_carries_no_deposit_away() {
    let (mut theft, thief, payee) = theft_and_payee();
    let ([contract, _], junk) = (theft.on.unknown, theft.chain.token());
    let streams = theft.on.streams.contract;
    theft.chain.send(thief, &[(thief, streams, ETH, 100 * ETHER), (ZERO, thief, junk, TOKEN)]);
    theft.chain.pay_all(thief, contract, junk);
    theft.chain.send(thief, &[(streams, thief, ETH, 100 * ETHER)]);
    theft.chain.pay_all(thief, payee, ETH);
    theft.expect([(payee, Review)]);
}

#[test]
fn a_friends_clean_deposit_does_not_explain_a_thiefs_loan() {
    let (mut theft, thief, _) = theft_and_payee();
    let friend = theft.clean(USDC, 300_000 * DOLLAR);
    theft.run(|on, _| on.lending.supply((friend, friend), USDC, 300_000 * DOLLAR));
    theft.run(|on, _| on.lending.supply((thief, thief), ETH, 100 * ETHER));
    theft.run(|on, _| on.lending.borrow((thief, friend), ETH, 75 * ETHER));
    theft.run(|on, _| on.lending.withdraw((friend, friend), USDC, 300_000 * DOLLAR));
    theft.expect([(friend, Review)]);
}

#[test]
fn clean_money_in_five_assets_beside_it_explains_no_payout() {
    let (mut theft, thief, payee) = theft_and_payee();
    let (desk, position) = (theft.on.desk, theft.chain.token());
    let clean = [
        (USDC, 3_000 * DOLLAR),
        (USDT, 3_000 * DOLLAR),
        (WBTC, BITCOIN / 20),
        (STETH, ETHER),
        (WETH, ETHER),
    ];
    let mut moves = vec![(thief, desk, ETH, 100 * ETHER)];
    for (asset, amount) in clean {
        theft.withdraw(thief, asset, amount);
        moves.push((thief, desk, asset, amount));
    }
    moves.push((ZERO, thief, position, TOKEN));
    theft.chain.send(thief, &moves);
    theft.chain.pay(theft.on.provider, desk, USDC, 3_000_000 * DOLLAR);
    theft
        .chain
        .send(thief, &[(thief, ZERO, position, TOKEN), (desk, thief, USDC, 300_000 * DOLLAR)]);
    theft.chain.pay_all(thief, payee, USDC);
    theft.expect([(payee, Review)]);
}

/// A labelled thief buys tokens of a public pool and sends them on: they are what the stolen money bought.
#[test]
fn a_token_that_a_labelled_thief_bought_is_sold_as_stolen() {
    let (mut theft, _, payee) = theft_and_payee();
    let (thief, token) = (theft.thief, theft.on.token);
    let bought = theft.on.token_ether.swap(&mut theft.chain, thief, ETH, 100 * ETHER);
    theft.chain.pay(thief, payee, token, bought);
    theft.swap_all(theft.on.token_usdc, payee, token);
    theft.expect([(payee, Review)]);
}

/// A thief's shares are destroyed by a relayer in favor of another, while a friend seems to pay for them.
#[test]
fn a_friend_who_pays_the_giver_for_a_moment_buys_nothing() {
    let (mut theft, thief, payee) = theft_and_payee();
    let dollars = 301_000 * DOLLAR;
    let (friend, relayer) = (theft.clean(USDC, dollars), theft.chain.account());
    theft.run(|on, _| on.lending.supply((thief, thief), ETH, 100 * ETHER));
    let reserve = theft.on.lending.reserve(ETH);
    let shares = theft.balance(thief, reserve.receipt);
    theft.chain.send(
        relayer,
        &[
            (thief, ZERO, reserve.receipt, shares),
            (reserve.contract, payee, ETH, 100 * ETHER),
            (friend, thief, USDC, dollars),
        ],
    );
    theft.chain.pay_all(thief, friend, USDC);
    theft.expect([(payee, Review), (friend, Allow)]);
}

/// Four payouts elsewhere mint worthless tokens to a saver, who then draws own money from a market with stolen money.
#[test]
fn a_junk_token_for_a_stranger_uses_up_nothing_of_the_strangers() {
    let mut theft = Theft::at_protocols(2_500);
    let (thief, vault) = (theft.accomplice, theft.chain.contract());
    let (saver, receipt) = (theft.clean(ETH, 2_000 * ETHER), theft.chain.token());
    let streams = theft.on.streams.contract;
    theft.chain.send(saver, &[(saver, vault, ETH, 2_000 * ETHER), (ZERO, saver, receipt, TOKEN)]);
    theft.chain.pay_all(thief, vault, ETH);
    for _ in 0..4 {
        let ([relayer, drawer], junk) = (theft.chain.accounts(), theft.chain.token());
        theft
            .chain
            .send(relayer, &[(streams, drawer, ETH, 500 * ETHER), (ZERO, saver, junk, TOKEN)]);
    }
    theft.chain.send(saver, &[(saver, ZERO, receipt, TOKEN), (vault, saver, ETH, 2_000 * ETHER)]);
    theft.expect([(saver, Allow)]);
}

/// An event names a friend with clean money beside the thief, whose money a relayer draws.
#[test]
fn a_friend_named_beside_the_thief_lends_no_name() {
    let (mut theft, thief, payee) = theft_and_payee();
    let (friend, relayer) = (theft.clean(ETH, 100 * ETHER), theft.chain.account());
    for saver in [friend, thief] {
        theft.run(|on, _| on.entry_point.deposit((saver, saver), ETH, 100 * ETHER));
    }
    let contract = theft.on.entry_point.contract;
    theft.chain.execute(
        Call::new(relayer, &[(contract, payee, ETH, 100 * ETHER)])
            .naming(named_payee(contract, friend))
            .naming(named_payee(contract, thief)),
    );
    theft.run(|on, _| on.entry_point.withdraw((friend, friend), ETH, 100 * ETHER));
    theft.expect([(payee, Review), (friend, Allow)]);
}

#[test]
fn a_friend_named_beside_a_thiefs_shares_lends_no_name() {
    let (mut theft, thief, payee) = theft_and_payee();
    let (friend, relayer) = (theft.clean(ETH, 100 * ETHER), theft.chain.account());
    for saver in [friend, thief] {
        theft.run(|on, _| on.lending.supply((saver, saver), ETH, 100 * ETHER));
    }
    let reserve = theft.on.lending.reserve(ETH);
    let moves =
        [(thief, ZERO, reserve.receipt, 100 * ETHER), (reserve.contract, payee, ETH, 100 * ETHER)];
    theft.chain.execute(Call::new(relayer, &moves).naming(named_payee(reserve.contract, friend)));
    theft.run(|on, _| on.lending.withdraw((friend, friend), ETH, 100 * ETHER));
    theft.expect([(payee, Review), (friend, Allow)]);
}

/// Three pools in a circle: the second one pays more than the price of the day, and relayers have the gain paid to another.
#[test]
fn gains_behind_two_pools_for_another_are_stolen() {
    let mut theft = Theft::at_protocols(30);
    let (thief, payee, provider) = (theft.accomplice, theft.chain.account(), theft.on.provider);
    let mut pool = |sides| Pool::open(&mut theft.chain, provider, sides);
    let first = pool([(ETH, 20_000 * ETHER), (USDC, 60_000_000 * DOLLAR)]);
    let dear = pool([(USDC, 54_000_000 * DOLLAR), (WBTC, 1_000 * BITCOIN)]);
    let back = pool([(WBTC, 1_000 * BITCOIN), (ETH, 18_000 * ETHER)]);
    for _ in 0..25 {
        let (amount, relayer) = (theft.balance(thief, ETH), theft.chain.account());
        let dollars = first.quote(&theft.chain, ETH, amount);
        let bitcoins = dear.quote(&theft.chain, USDC, dollars);
        let fair = amount / 20 * BITCOIN / ETHER;
        theft.chain.send(
            relayer,
            &[
                (thief, first.contract, ETH, amount),
                (first.contract, dear.contract, USDC, dollars),
                (dear.contract, thief, WBTC, fair.min(bitcoins)),
                (dear.contract, payee, WBTC, bitcoins.saturating_sub(fair)),
            ],
        );
        theft.swap_all(back, thief, WBTC);
    }
    theft.expect([(payee, Review)]);
}

/// A theft after which bitcoin has no price for more than a week.
fn theft_without_price_of_bitcoin() -> (Theft<Protocols>, AccountAddress, AccountAddress) {
    let (mut theft, thief, payee) = theft_and_payee();
    theft.chain.stop_price(WBTC);
    theft.chain.wait_days(9);
    (theft, thief, payee)
}

#[test]
fn a_crumb_without_a_price_makes_no_payment_a_conversion() {
    let (mut theft, thief, payee) = theft_without_price_of_bitcoin();
    let junk = junk(&mut theft, payee);
    theft.withdraw(payee, WBTC, 1);
    theft.chain.send(
        payee,
        &[(thief, payee, ETH, 100 * ETHER), (payee, thief, junk, TOKEN), (payee, thief, WBTC, 1)],
    );
    theft.expect([(payee, Review)]);
}

#[test]
fn a_payment_for_an_asset_without_a_price_stays_stolen() {
    let (mut theft, thief, seller) = theft_without_price_of_bitcoin();
    let next = theft.chain.account();
    theft.withdraw(seller, WBTC, 5 * BITCOIN);
    theft
        .chain
        .send(thief, &[(thief, seller, ETH, 100 * ETHER), (seller, thief, WBTC, 5 * BITCOIN)]);
    theft.chain.pay_all(seller, next, ETH);
    theft.expect([(seller, Review), (next, Review)]);
}

/// A relayer draws the thief's deposit for another, for whom an asset without a price is paid in.
#[test]
fn a_deposit_that_is_drawn_against_an_asset_without_a_price_stays_stolen() {
    let (mut theft, thief, payee) = theft_without_price_of_bitcoin();
    theft.run(|on, _| on.entry_point.deposit((thief, thief), ETH, 100 * ETHER));
    theft.withdraw(payee, WBTC, BITCOIN);
    let contract = theft.on.entry_point.contract;
    theft.chain.execute(
        Call::new(payee, &[(payee, contract, WBTC, BITCOIN), (contract, payee, ETH, 100 * ETHER)])
            .naming(named_payee(contract, thief)),
    );
    theft.expect([(payee, Review)]);
}

#[test]
fn a_crumb_without_a_price_that_others_pay_withholds_no_sellers_answer() {
    let (mut theft, _, _) = theft_without_price_of_bitcoin();
    let (seller, token) = (theft.clean(ETH, 10 * ETHER), theft.on.token);
    let (pool, other) = (theft.on.token_usdc, theft.chain.account());
    theft.swap_all(theft.on.token_ether, seller, ETH);
    theft.withdraw(other, WBTC, 1);
    theft.swap_all_beside(pool, (seller, seller), token, &[(other, pool.contract, WBTC, 1)]);
    theft.expect([(seller, Allow)]);
}
