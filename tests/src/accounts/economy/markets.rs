//! Contracts of an economy: what honest members and criminals do with them.

use assay_engine::account::{AccountAddress, Asset};

use super::population::Simulation;
use crate::accounts::{
    ETH, ETHER, Pool, STETH, USDC, USDT, WETH,
    contracts::{
        Call, Lending,
        escrow::complete_sale,
        named_depositor,
        wrapper::{unwrap, wrap},
    },
};

const ZERO: AccountAddress = AccountAddress::ZERO;

/// A member at the contracts, and the accounts between which a criminal chooses the receiver of what contracts pay.
#[derive(Clone, Debug)]
pub(super) struct Visitor {
    pub(super) account: AccountAddress,
    pub(super) accomplices: Vec<AccountAddress>,
}

impl Visitor {
    /// A member for whom contracts pay to nobody else.
    pub(super) const fn honest(account: AccountAddress) -> Self {
        Self { account, accomplices: Vec::new() }
    }
}

impl Simulation {
    /// Brings the pools of money back to the prices of the day.
    pub(super) fn trade_between_markets(&mut self) {
        let pools = self.on.pools_of_money().into_iter().chain(self.on.dear);
        for pool in pools.collect::<Vec<Pool>>() {
            let [first, second] = pool.assets.map(|asset| {
                (asset, self.chain.dollars(asset, self.chain.balance(pool.contract, asset)))
            });
            let (more, less) = if first.1 > second.1 { (first, second) } else { (second, first) };
            // Somebody trades as soon as it pays the fees.
            if more.1 - less.1 > more.1 / 80 {
                let amount = self.chain.units(less.0, (more.1 - less.1) / 2);
                let trader = self.trader;
                if self.chain.balance(trader, less.0) < amount {
                    self.chain.pay(self.exchanges[0], trader, less.0, 2 * amount);
                }
                pool.swap(&mut self.chain, trader, less.0, amount);
            }
        }
    }

    /// Changes an asset for another at a pool that has both.
    pub(super) fn change(
        &mut self,
        (from, to): (AccountAddress, AccountAddress),
        (asset, amount): (Asset, u128),
        other: Asset,
    ) {
        let pools = self.on.pools_of_money();
        let has_both = |pool: &Pool| pool.assets.contains(&asset) && pool.other(asset) == other;
        let amount = amount.min(self.chain.balance(from, asset));
        let Some(pool) = pools.into_iter().find(has_both) else { return };
        if amount == 0 || asset == other {
            return;
        }
        if self.dice.percent(60) {
            let parties = (from, self.on.router, to);
            pool.swap_through(&mut self.chain, parties, asset, amount);
        } else {
            pool.swap_to(&mut self.chain, (from, to), asset, amount);
        }
    }

    /// The visitor, or for a criminal as often an accomplice.
    fn receiver(&mut self, visitor: &Visitor) -> AccountAddress {
        if visitor.accomplices.is_empty() || self.dice.one_in(2) {
            return visitor.account;
        }
        *self.dice.pick(&visitor.accomplices)
    }

    /// One thing that a member does with contracts.
    pub(super) fn use_contracts(&mut self, visitor: &Visitor) {
        match self.dice.below(100) {
            0..25 => self.use_lender(visitor),
            25..45 => self.stream(visitor),
            45..60 => self.buy_picture(visitor),
            60..75 => self.use_smart_account(visitor),
            75..90 => self.provide_or_withdraw(visitor),
            _ => self.claim_reward(visitor),
        }
    }

    /// Buys or sells a token outside the table.
    pub(super) fn gamble(&mut self, visitor: &Visitor) {
        let me = visitor.account;
        let mut pools = self.pools.clone();
        pools.push(self.on.token_ether);
        let held = pools.iter().find(|pool| self.chain.balance(me, pool.assets[0]) > 0).copied();
        if let Some(pool) = held.filter(|_| self.dice.one_in(2)) {
            let to = self.receiver(visitor);
            let (token, amount) = (pool.assets[0], self.chain.balance(me, pool.assets[0]));
            pool.swap_to(&mut self.chain, (me, to), token, amount);
            return;
        }
        let amount = self.chain.balance(me, ETH) * u128::from(self.dice.below(40)) / 100;
        let amount = amount.min(20 * ETHER);
        if amount > 0 {
            let pool = *self.dice.pick(&pools);
            pool.swap(&mut self.chain, me, ETH, amount);
        }
    }

    /// Lends to, borrows from, repays or takes back from one of both lending protocols.
    pub(super) fn use_lender(&mut self, visitor: &Visitor) {
        let is_first = self.dice.one_in(2);
        let protocol: fn(&mut Self) -> &mut Lending =
            if is_first { |it| &mut it.on.lending } else { |it| &mut it.on.reserves };
        let (me, lending) = (visitor.account, protocol(self).clone());
        let owed = lending.reserves.iter().find(|it| lending.debt(me, it.asset) > 0);
        if let Some(asset) = owed.map(|it| it.asset) {
            let amount = lending.debt(me, asset).min(self.chain.balance(me, asset));
            // A criminal leaves the loan to the lender.
            if amount > 0 && visitor.accomplices.is_empty() {
                let call = protocol(self).repay((me, me), asset, amount);
                self.chain.execute(call);
            }
            return;
        }
        let room = lending.room(&self.chain, me);
        let to = self.receiver(visitor);
        if room > 20 && self.dice.one_in(2) {
            let asset = if self.dice.one_in(3) { ETH } else { USDC };
            let lender = lending.reserve(asset).contract;
            let most = self.chain.balance(lender, asset) / 2;
            let amount = self.chain.units(asset, room / 2).min(most);
            let call = protocol(self).borrow((me, to), asset, amount);
            self.chain.execute(call);
            return;
        }
        let lent = lending
            .reserves
            .iter()
            .map(|reserve| (reserve.asset, lending.most_withdrawn(&self.chain, me, reserve.asset)));
        if let Some((asset, amount)) = lent.into_iter().find(|(_, amount)| *amount > 0) {
            self.chain.execute(lending.withdraw((me, to), asset, amount));
            return;
        }
        let asset = *self.dice.pick(&[ETH, USDC]);
        let amount = self.chain.balance(me, asset) * 3 / 5;
        if amount > 0 {
            self.chain.execute(lending.supply((me, me), asset, amount));
        }
    }

    /// Fills a stream to somebody, whom the log names, or draws an own one.
    fn stream(&mut self, visitor: &Visitor) {
        let me = visitor.account;
        let own = self.on.streams.balances().into_iter().find(|(owner, ..)| *owner == me);
        if let Some((_, asset, amount)) = own {
            let call = self.on.streams.withdraw((me, me), asset, amount);
            self.chain.execute(call);
            return;
        }
        let asset = *self.dice.pick(&[ETH, USDC, USDT]);
        let amount = self.chain.balance(me, asset) * 3 / 10;
        if self.chain.dollars(asset, amount) > 20 {
            let to = if visitor.accomplices.is_empty() {
                self.any_person()
            } else {
                *self.dice.pick(&visitor.accomplices)
            };
            let call = self.on.streams.deposit((me, to), asset, amount);
            self.chain.execute(call);
        }
    }

    /// Buys a picture of a person through a market at which the price waits.
    fn buy_picture(&mut self, visitor: &Visitor) {
        let (buyer, seller) = (visitor.account, self.any_person());
        let price = self.chain.balance(buyer, ETH) * 3 / 10;
        if price > ETHER / 50 && seller != buyer {
            let picture = self.chain.token();
            let (market, owner) = (self.market, self.market_owner);
            self.chain.mint(picture, seller, 1);
            self.chain.pay(buyer, market, ETH, price);
            let sale = complete_sale(market, [buyer, seller, owner], picture, (ETH, price));
            let sender = *self.dice.pick(&[buyer, seller]);
            self.chain.execute(sale.sent_by(sender));
            if !visitor.accomplices.is_empty() {
                self.paid_by_criminals.insert(seller);
            }
        }
    }

    /// Pays into or out of the own smart account; a relayer sends what it does.
    fn use_smart_account(&mut self, visitor: &Visitor) {
        let me = visitor.account;
        let chain = &mut self.chain;
        let smart = *self.smart_accounts.entry(me).or_insert_with(|| chain.contract());
        let held = self.chain.balance(smart, ETH);
        if held > ETHER / 100 {
            let merchant = self.dice.index(self.merchants.len());
            let merchant = self.merchants[merchant].account;
            let to = if visitor.accomplices.is_empty() {
                *self.dice.pick(&[me, merchant])
            } else {
                *self.dice.pick(&visitor.accomplices)
            };
            self.chain.send(self.bundler, &[(smart, to, ETH, held / 2)]);
        } else {
            let amount = self.chain.balance(me, ETH) * 3 / 10;
            self.pay(me, smart, ETH, amount);
        }
    }

    /// Takes liquidity back, or puts some into a pool.
    fn provide_or_withdraw(&mut self, visitor: &Visitor) {
        let me = visitor.account;
        let mut pools = self.pools.clone();
        pools.extend([self.on.ether_usdc, self.on.usdt_ether, self.on.token_ether]);
        let shared = pools.iter().find(|pool| self.chain.balance(me, pool.shares) > 0).copied();
        if let Some(pool) = shared {
            let (to, units) = (self.receiver(visitor), self.chain.balance(me, pool.shares));
            self.chain.execute(pool.withdraw(&self.chain, (me, to), units));
            return;
        }
        let pool = *self.dice.pick(&pools);
        let amount = self.chain.balance(me, ETH) * 3 / 10;
        if amount > 0 {
            pool.swap(&mut self.chain, me, ETH, amount);
            let units = pool.most_shares(&self.chain, me) / 10 * 9;
            if units > 0 {
                self.chain.execute(pool.provide(&self.chain, me, units));
            }
        }
    }

    /// Draws a reward of a contract; a criminal instead gives a token with stolen backing to people, and has the log of an
    /// own contract name one of them.
    fn claim_reward(&mut self, visitor: &Visitor) {
        let me = visitor.account;
        if visitor.accomplices.is_empty() {
            let reward = ETHER / 50;
            if self.chain.balance(self.rewards, ETH) > reward {
                self.chain.send(me, &[(self.rewards, me, ETH, reward)]);
            }
            return;
        }
        let amount = self.chain.balance(me, ETH);
        if amount > ETHER / 2 {
            let (contract, gift) = (self.chain.contract(), self.chain.token());
            let mut moves = vec![(me, contract, ETH, amount)];
            for _ in 0..10 {
                moves.push((ZERO, self.any_person(), gift, ETHER));
            }
            let named = self.any_person();
            let call = Call::new(me, &moves).naming(named_depositor(contract, named));
            self.chain.execute(call);
            self.chain.send(me, &[(contract, me, ETH, amount)]);
        }
    }

    /// Stakes, wraps or unwraps ether.
    pub(super) fn stake_or_wrap(&mut self, me: AccountAddress) {
        let wrapped = self.chain.balance(me, WETH);
        if wrapped > 0 {
            self.chain.execute(unwrap((me, me), WETH, wrapped));
            return;
        }
        let token = *self.dice.pick(&[WETH, STETH]);
        let amount = self.chain.balance(me, ETH) * 3 / 10;
        if amount > 0 {
            self.chain.execute(wrap(me, token, amount));
        }
    }

    /// The contracts of all pools.
    pub(super) fn pool_contracts(&self) -> Vec<AccountAddress> {
        let of_money = self.on.pools_of_money().into_iter().chain(self.on.dear);
        let of_tokens = self.on.pools_of_tokens().into_iter().chain(self.pools.iter().copied());
        of_money.chain(of_tokens).map(|pool| pool.contract).collect()
    }
}
