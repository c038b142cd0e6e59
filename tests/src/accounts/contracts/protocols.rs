//! The contracts that everybody uses, filled with money of unknown origin.

use assay_engine::account::{AccountAddress, Asset};

use super::{Deposits, Lending, Pool, wrapper::wrap};
use crate::accounts::{AccountChain, DOLLAR, ETH, ETHER, STETH, USDC, USDT, WBTC, WETH};

/// Base units of a bitcoin.
pub const BITCOIN: u128 = 100_000_000;
/// Base units of a whole token outside the table.
pub const TOKEN: u128 = ETHER;

/// The contracts that everybody uses.
#[derive(Clone, Debug)]
pub struct Protocols {
    /// The account that filled them, which pays as much as it likes.
    pub provider: AccountAddress,
    /// A contract that passes on what it gets.
    pub router: AccountAddress,
    /// A contract that pays many at once.
    pub multisend: AccountAddress,
    /// Ether and USDC.
    pub ether_usdc: Pool,
    /// Ether and USDT.
    pub usdt_ether: Pool,
    /// USDC and USDT.
    pub dollars: Pool,
    /// Wrapped bitcoin and ether.
    pub bitcoin_ether: Pool,
    /// Staked ether and ether.
    pub staked_ether: Pool,
    /// Ether and USDC at a tenth more than the price of the day.
    pub dear: [Pool; 2],
    /// A token outside the table.
    pub token: Asset,
    /// Another token outside the table.
    pub other_token: Asset,
    /// The token and ether.
    pub token_ether: Pool,
    /// The token and USDC.
    pub token_usdc: Pool,
    /// Both tokens.
    pub tokens: Pool,
    /// The other token and USDC.
    pub other_token_usdc: Pool,
    /// Loans of ether and dollars by one contract.
    pub lending: Lending,
    /// Loans of ether and USDC by one contract for each.
    pub reserves: Lending,
    /// The entry point of smart accounts.
    pub entry_point: Deposits,
    /// Streams of wages.
    pub streams: Deposits,
    /// A contract with ether of many that names nobody.
    pub desk: AccountAddress,
    /// Contracts of which nothing is known and that have nothing.
    pub unknown: [AccountAddress; 2],
}

impl Protocols {
    /// Fills all contracts.
    pub fn open(chain: &mut AccountChain) -> Self {
        let provider = chain.outsider();
        let [router, multisend, desk, first, second] = chain.contracts();
        let [token, other_token] = [chain.token(), chain.token()];
        let mut pool = |sides| Pool::open(chain, provider, sides);
        let ether_usdc = pool([(ETH, 4_000 * ETHER), (USDC, 12_000_000 * DOLLAR)]);
        let usdt_ether = pool([(ETH, 4_000 * ETHER), (USDT, 12_000_000 * DOLLAR)]);
        let dollars = pool([(USDC, 10_000_000 * DOLLAR), (USDT, 10_000_000 * DOLLAR)]);
        let bitcoin_ether = pool([(WBTC, 100 * BITCOIN), (ETH, 2_000 * ETHER)]);
        let staked_ether = pool([(STETH, 2_000 * ETHER), (ETH, 2_000 * ETHER)]);
        let mut dear = || pool([(ETH, 20_000 * ETHER), (USDC, 66_000_000 * DOLLAR)]);
        let dear = [dear(), dear()];
        let token_ether = pool([(token, 1_000_000 * TOKEN), (ETH, 2_000 * ETHER)]);
        let token_usdc = pool([(token, 1_000_000 * TOKEN), (USDC, 6_000_000 * DOLLAR)]);
        let tokens = pool([(token, 1_000_000 * TOKEN), (other_token, 1_000_000 * TOKEN)]);
        let other_token_usdc = pool([(other_token, 1_000_000 * TOKEN), (USDC, 6_000_000 * DOLLAR)]);
        let lending = Lending::of_one_contract(chain, &[ETH, USDC, USDT]);
        let reserves = Lending::of_many_contracts(chain, &[ETH, USDC]);
        for (protocol, asset, amount) in [
            (&lending, ETH, 5_000 * ETHER),
            (&lending, USDC, 10_000_000 * DOLLAR),
            (&lending, USDT, 10_000_000 * DOLLAR),
            (&reserves, ETH, 3_000 * ETHER),
            (&reserves, USDC, 5_000_000 * DOLLAR),
        ] {
            chain.execute(protocol.supply((provider, provider), asset, amount));
        }
        for (token, amount) in [(WETH, 50_000 * ETHER), (STETH, 2_000 * ETHER)] {
            chain.execute(wrap(provider, token, amount));
        }
        let [entry_point, streams] = [Deposits::new(chain), Deposits::new(chain)];
        chain.pay(provider, entry_point.contract, ETH, 3_500 * ETHER);
        for _ in 0..3 {
            // Deposits whose logs name nobody belong to their payers.
            let saver = chain.outsider();
            chain.pay(saver, streams.contract, ETH, 1_300 * ETHER);
            chain.pay(saver, streams.contract, USDC, 300_000 * DOLLAR);
        }
        chain.pay(provider, router, ETH, ETHER);
        Self {
            provider,
            router,
            multisend,
            ether_usdc,
            usdt_ether,
            dollars,
            bitcoin_ether,
            staked_ether,
            dear,
            token,
            other_token,
            token_ether,
            token_usdc,
            tokens,
            other_token_usdc,
            lending,
            reserves,
            entry_point,
            streams,
            desk,
            unknown: [first, second],
        }
    }

    /// The pools of scored assets at the price of the day.
    #[must_use]
    pub const fn pools_of_money(&self) -> [Pool; 5] {
        [self.ether_usdc, self.usdt_ether, self.dollars, self.bitcoin_ether, self.staked_ether]
    }

    /// The pools of tokens outside the table and scored assets.
    #[must_use]
    pub const fn pools_of_tokens(&self) -> [Pool; 3] {
        [self.token_ether, self.token_usdc, self.other_token_usdc]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::contracts::{Vault, escrow::complete_sale, wrapper::unwrap};

    fn opened() -> (AccountChain, Protocols) {
        let mut chain = AccountChain::new();
        let protocols = Protocols::open(&mut chain);
        (chain, protocols)
    }

    #[test]
    fn liquidity_comes_back_with_its_part_of_the_fees() {
        let (mut chain, on) = opened();
        let (pool, [person, trader]) = (on.ether_usdc, [chain.outsider(), chain.outsider()]);
        chain.execute(pool.provide(&chain, person, ETHER / 100));
        let before = chain.balance(pool.contract, ETH);
        pool.swap(&mut chain, trader, ETH, 100 * ETHER);

        let fresh = chain.account();
        chain.execute(pool.withdraw(&chain, (person, fresh), ETHER / 100));
        let after = chain.balance(fresh, ETH);
        assert!(after > before / 101, "{after}");
        assert_eq!(chain.balance(person, pool.shares), 0);
        assert_eq!(chain.supply(pool.shares), ETHER);
    }

    #[test]
    fn loans_are_bounded_by_deposits() {
        let (mut chain, mut on) = opened();
        let [person, exchange] = [chain.account(), chain.outsider()];
        chain.pay(exchange, person, ETH, 4 * ETHER);
        chain.execute(on.reserves.supply((person, person), ETH, 4 * ETHER));
        assert_eq!(on.reserves.room(&chain, person), 9_000);

        chain.execute(on.reserves.borrow((person, person), USDC, 6_000 * DOLLAR));
        assert_eq!(on.reserves.room(&chain, person), 3_000);
        assert_eq!(on.reserves.most_withdrawn(&chain, person, ETH), 0);
        chain.execute(on.reserves.repay((person, person), USDC, 6_000 * DOLLAR));
        assert_eq!(on.reserves.most_withdrawn(&chain, person, ETH), 4 * ETHER);
        chain.execute(on.reserves.withdraw((person, person), ETH, 4 * ETHER));
        assert_eq!(chain.balance(person, ETH), 4 * ETHER);
    }

    #[test]
    fn vaults_wrappers_deposits_and_sales_pay_what_they_got() {
        let (mut chain, mut on) = opened();
        let [rich, person, payee, market, owner] =
            [chain.outsider(), chain.account(), chain.account(), chain.contract(), chain.account()];
        chain.pay(rich, person, ETH, 10 * ETHER);
        let vault = Vault::new(&mut chain, ETH);
        chain.execute(vault.deposit(&chain, person, 4 * ETHER));
        chain.pay(rich, vault.contract, ETH, ETHER);
        let shares = chain.balance(person, vault.shares);
        chain.execute(vault.withdraw(&chain, (person, person), shares));
        assert_eq!(chain.balance(person, ETH), 11 * ETHER);

        chain.execute(wrap(person, WETH, 2 * ETHER));
        chain.execute(unwrap((person, payee), WETH, 2 * ETHER));
        chain.execute(on.streams.deposit((person, payee), ETH, 3 * ETHER));
        assert_eq!(on.streams.balances(), [(payee, ETH, 3 * ETHER)]);
        chain.execute(on.streams.withdraw((payee, payee), ETH, 3 * ETHER));
        assert_eq!(chain.balance(payee, ETH), 5 * ETHER);

        let picture = chain.token();
        chain.mint(picture, payee, 1);
        chain.pay(person, market, ETH, 4 * ETHER);
        chain.execute(complete_sale(market, [person, payee, owner], picture, (ETH, 4 * ETHER)));
        assert_eq!(chain.balance(payee, ETH), 9 * ETHER - ETHER / 10);
        assert_eq!((chain.balance(person, picture), chain.balance(market, ETH)), (1, 0));
    }

    #[test]
    fn contracts_have_code_and_accounts_do_not() {
        let (mut chain, on) = opened();
        let person = chain.account();
        for contract in [on.router, on.ether_usdc.contract, on.lending.reserve(ETH).contract] {
            assert!(chain.has_code(contract));
        }
        assert!(!chain.has_code(person) && !chain.has_code(on.provider));
    }
}
