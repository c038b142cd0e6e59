//! Exchanges, lending, and contracts of one's own.

use assay_tests::evm::{
    Address,
    abi::{self, Argument},
    contracts::{ENTRY_POINT, USDT, WETH},
    genesis::ETHER,
};

use super::{DOLLAR, ETHER_DOLLARS, Economy};

/// Base units of the tokens that are in no table.
const UNITS: u128 = 1_000_000 * ETHER;

/// A call that a puppet makes: receiver, ether and input.
pub(crate) type Act = (Address, u128, Vec<u8>);

/// The contracts that everybody uses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Protocols {
    /// The account that filled them.
    pub(crate) provider: Address,
    pub(crate) router: Address,
    pub(crate) lending: Address,
    /// A pair of wrapped ether and dollars.
    pub(crate) market: Address,
    /// A token that is in no table, and its pairs with wrapped ether and with dollars.
    pub(crate) token: Address,
    pub(crate) token_ether: Address,
    pub(crate) token_dollars: Address,
}

/// Dollars that an amount of ether is worth.
pub(crate) const fn dollars_of(ether: u128) -> u128 {
    ether / ETHER * ETHER_DOLLARS * DOLLAR
}

impl Economy {
    /// Opens the contracts that everybody uses.
    pub(crate) fn open_protocols(&mut self) {
        let provider = self.clean(30_000 * ETHER);
        self.on.provider = provider;
        self.dollars(provider, 80_000_000 * DOLLAR);
        self.wrap(provider, 29_000 * ETHER);
        self.on.router = self.deploy(provider, "Router", &[WETH.into()]);
        self.on.market = self.market(4_000 * ETHER, ETHER_DOLLARS);
        let (token, token_ether) = self.token_market(2_000 * ETHER);
        let dollars = dollars_of(2_000 * ETHER);
        self.mint(provider, token, provider, 2 * UNITS);
        self.on.token_dollars = self.pair(provider, (USDT, dollars), (token, UNITS));
        (self.on.token, self.on.token_ether) = (token, token_ether);
        self.on.lending = self.deploy(provider, "Lending", &[]);
        for (reserve, amount, price) in [
            (WETH, 3_000 * ETHER, ETHER_DOLLARS * DOLLAR),
            (USDT, dollars_of(3_000 * ETHER), ETHER),
        ] {
            let opened = [reserve.into(), price.into()];
            self.call(provider, self.on.lending, "open(address,uint256)", &opened);
            self.supply(provider, reserve, amount, provider);
        }
    }

    /// A pair of wrapped ether and dollars of the provider at a price.
    pub(crate) fn market(&mut self, ether: u128, price: u128) -> Address {
        let dollars = (USDT, ether / ETHER * price * DOLLAR);
        self.pair(self.on.provider, (WETH, ether), dollars)
    }

    /// A token of the provider that is in no table, and its pair with wrapped ether.
    pub(crate) fn token_market(&mut self, ether: u128) -> (Address, Address) {
        self.token_of(self.on.provider, UNITS, ether)
    }

    /// A token of an account with nothing else but a crumb of ether, and its pair with this.
    pub(crate) fn own_market(&mut self, owner: Address, ether: u128) -> (Address, Address) {
        self.wrap(owner, ether);
        self.token_of(owner, UNITS * 9 / 10, ether)
    }

    fn token_of(&mut self, owner: Address, units: u128, ether: u128) -> (Address, Address) {
        let token = self.deploy(owner, "Token", &[]);
        self.mint(owner, token, owner, UNITS);
        (token, self.pair(owner, (token, units), (WETH, ether)))
    }

    /// Makes new units of a token of its creator.
    pub(crate) fn mint(&mut self, creator: Address, token: Address, to: Address, units: u128) {
        self.call(creator, token, "mint(address,uint256)", &[to.into(), units.into()]);
    }

    /// Opens a pair with amounts of two tokens that its creator has.
    pub(crate) fn pair(
        &mut self,
        from: Address,
        (one, amount): (Address, u128),
        (other, other_amount): (Address, u128),
    ) -> Address {
        let pair = self.deploy(from, "Pair", &[one.into(), other.into()]);
        for token in [one, other] {
            self.approve(from, token, self.on.router);
        }
        self.add_to(from, pair, amount, other_amount);
        pair
    }

    /// Adds amounts of its tokens to a pair.
    pub(crate) fn add_to(
        &mut self,
        from: Address,
        pair: Address,
        amount: u128,
        other_amount: u128,
    ) {
        let arguments = [pair.into(), amount.into(), other_amount.into(), from.into()];
        self.call(from, self.on.router, "add(address,uint256,uint256,address)", &arguments);
    }

    /// Takes everything out of a pair that an account provided.
    pub(crate) fn pull(&mut self, from: Address, pair: Address) {
        let units = self.units(pair, from);
        self.approve(from, pair, self.on.router);
        let arguments = [pair.into(), units.into(), from.into()];
        self.call(from, self.on.router, "remove(address,uint256,address)", &arguments);
    }

    /// Swaps ether for the other token of a pair.
    pub(crate) fn buy(&mut self, from: Address, pair: Address, ether: u128) {
        let arguments = [pair.into(), from.into()];
        self.pay_call(from, self.on.router, ether, "swapEther(address,address)", &arguments);
    }

    /// Swaps all that an account has of a token for the other token of a pair.
    pub(crate) fn swap(&mut self, from: Address, pair: Address, token: Address) {
        self.trade(from, pair, token, "swap(address,address,uint256,address)");
    }

    /// Swaps all that an account has of a token for ether.
    pub(crate) fn sell(&mut self, from: Address, pair: Address, token: Address) {
        self.trade(from, pair, token, "swapForEther(address,address,uint256,address)");
    }

    fn trade(&mut self, from: Address, pair: Address, token: Address, function: &str) {
        let units = self.units(token, from);
        self.approve(from, token, self.on.router);
        let arguments = [pair.into(), token.into(), units.into(), from.into()];
        self.call(from, self.on.router, function, &arguments);
    }

    /// The amount of the other token of a pair for one of a token.
    pub(crate) fn quote(&self, pair: Address, token: Address, amount: u128) -> u128 {
        self.number(pair, "quote(address,uint256)", &[token.into(), amount.into()])
    }

    /// The calls with which a puppet swaps its units of a token for another account.
    pub(crate) fn routed(
        &self,
        pair: Address,
        token: Address,
        units: u128,
        to: Address,
    ) -> [Act; 2] {
        let permit = [self.on.router.into(), u128::MAX.into()];
        let swap = [pair.into(), token.into(), units.into(), to.into()];
        [
            (token, 0, abi::call("approve(address,uint256)", &permit)),
            (self.on.router, 0, abi::call("swap(address,address,uint256,address)", &swap)),
        ]
    }

    /// Lends a token, in the name of an account.
    pub(crate) fn supply(
        &mut self,
        from: Address,
        reserve: Address,
        amount: u128,
        on_behalf_of: Address,
    ) {
        self.approve(from, reserve, self.on.lending);
        let arguments = [reserve.into(), amount.into(), on_behalf_of.into()];
        self.call(from, self.on.lending, "supply(address,uint256,address)", &arguments);
    }

    /// Lends ether that an account has, as its token.
    pub(crate) fn supply_ether(&mut self, from: Address, amount: u128) {
        self.wrap(from, amount);
        self.supply(from, WETH, amount, from);
    }

    /// Takes back what was lent of a token.
    pub(crate) fn withdraw(&mut self, from: Address, reserve: Address, amount: u128, to: Address) {
        let arguments = [reserve.into(), amount.into(), to.into()];
        self.call(from, self.on.lending, "withdraw(address,uint256,address)", &arguments);
    }

    /// Borrows a token, in the name of an account.
    pub(crate) fn borrow(
        &mut self,
        from: Address,
        reserve: Address,
        amount: u128,
        on_behalf_of: Address,
    ) {
        let arguments = [reserve.into(), amount.into(), on_behalf_of.into()];
        self.call(from, self.on.lending, "borrow(address,uint256,address)", &arguments);
    }

    /// Repays what an account borrowed.
    pub(crate) fn repay(
        &mut self,
        from: Address,
        reserve: Address,
        amount: u128,
        on_behalf_of: Address,
    ) {
        self.approve(from, reserve, self.on.lending);
        let arguments = [reserve.into(), amount.into(), on_behalf_of.into()];
        self.call(from, self.on.lending, "repay(address,uint256,address)", &arguments);
    }

    /// The receipt for what was lent of a token.
    pub(crate) fn receipt_for(&self, reserve: Address) -> Address {
        *self.read(self.on.lending, "receipts(address)", &[reserve.into()]).last_chunk().unwrap()
    }

    /// A contract that makes the calls that anybody chooses, and that logs nothing.
    pub(crate) fn puppet(&mut self) -> Address {
        self.deploy(self.exchange, "Puppet", &[])
    }

    /// Has a puppet make calls, with ether.
    pub(crate) fn act(&mut self, from: Address, puppet: Address, value: u128, calls: &[Act]) {
        self.call_with(from, puppet, value, acts(calls));
    }

    /// The smart account of an owner.
    pub(crate) fn smart_account(&mut self, owner: Address) -> Address {
        self.deploy(owner, "SmartAccount", &[owner.into(), ENTRY_POINT.into()])
    }

    /// Has the smart account of an owner make a call.
    pub(crate) fn execute(&mut self, owner: Address, account: Address, (to, value, input): Act) {
        let arguments = [to.into(), value.into(), input.into()];
        self.call(owner, account, "execute(address,uint256,bytes)", &arguments);
    }

    /// Has the entry point make calls by smart accounts, each for a fee of a hundredth of an ether to the bundler.
    pub(crate) fn handle(&mut self, bundler: Address, calls: &[(Address, Act)]) {
        let operation = |(account, (to, value, input)): &(Address, Act)| {
            let (input, fee) = (input.clone(), ETHER / 100);
            let fields =
                [(*account).into(), (*to).into(), (*value).into(), input.into(), fee.into()];
            Argument::Fields(fields.into())
        };
        let operations = Argument::List(calls.iter().map(operation).collect());
        let handle = "handleOps((address,address,uint256,bytes,uint256)[],address)";
        self.call(bundler, ENTRY_POINT, handle, &[operations, bundler.into()]);
    }
}

/// A payment of ether that a puppet makes.
pub(crate) const fn payment(to: Address, ether: u128) -> Act {
    (to, ether, Vec::new())
}

/// A payment of a puppet's units of a token.
pub(crate) fn transfer(token: Address, to: Address, units: u128) -> Act {
    (token, 0, abi::call("transfer(address,uint256)", &[to.into(), units.into()]))
}

/// A payment of units of a token that their owner permitted a puppet to move.
pub(crate) fn transfer_from(token: Address, (from, to): (Address, Address), units: u128) -> Act {
    let arguments = [from.into(), to.into(), units.into()];
    (token, 0, abi::call("transferFrom(address,address,uint256)", &arguments))
}

/// The input of a puppet that makes calls.
pub(crate) fn acts(calls: &[Act]) -> Vec<u8> {
    let list = |of: &dyn Fn(&Act) -> Argument| Argument::List(calls.iter().map(of).collect());
    let arguments =
        [list(&|it| it.0.into()), list(&|it| it.1.into()), list(&|it| it.2.clone().into())];
    abi::call("act(address[],uint256[],bytes[])", &arguments)
}
