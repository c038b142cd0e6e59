//! A node with the contracts that everybody uses, and what accounts do with them.
//!
//! - `protocols`: exchanges, lending, and contracts of one's own

mod protocols;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use assay_tests::{
    assay,
    evm::{
        Address, EvmNode, EvmNodeKind, Key, NewBlock, NewTransaction,
        abi::{self, Argument},
        address_text,
        contracts::{SPLITTER_AT, USDT, WETH, parts},
        genesis::ETHER,
    },
};
use serde_json::{Value, json};

pub(super) use self::protocols::{Protocols, acts, payment, transfer, transfer_from};

/// Ether of an account for the fees of its transactions.
pub(super) const FOR_FEES: u128 = ETHER / 10;
/// Base units of a dollar.
pub(super) const DOLLAR: u128 = 1_000_000;
/// Dollars that an ether is worth.
pub(super) const ETHER_DOLLARS: u128 = 3_000;
/// Most gas of a call.
const GAS: u64 = 6_000_000;
/// Ether that pays for a payment, and the most that is left of it.
const PAYMENT_FEE: u128 = ETHER / 10_000;

/// A node, and accounts that play cases on it.
pub(super) struct Economy {
    pub(super) node: EvmNode,
    /// Accounts with keys.
    pub(super) keys: BTreeMap<Address, Key>,
    /// A custodial service and a thief, whose labels say so.
    pub(super) exchange: Address,
    pub(super) thief: Address,
    /// A party whose listing is of before.
    pub(super) listed: Address,
    /// Labels: parties and categories.
    pub(super) labels: Vec<(Address, &'static str)>,
    /// The contracts that everybody uses, once they are open.
    pub(super) on: Protocols,
    /// Spenders that accounts permitted to move their tokens: account, token and spender.
    approved: BTreeSet<(Address, Address, Address)>,
}

impl Economy {
    /// Starts a node with an exchange, a thief and a listed party.
    pub(super) fn new(kind: EvmNodeKind) -> Self {
        let mut economy = Self {
            node: EvmNode::start(kind),
            keys: BTreeMap::new(),
            exchange: [0; 20],
            thief: [0; 20],
            listed: [0; 20],
            labels: Vec::new(),
            on: Protocols::default(),
            approved: BTreeSet::new(),
        };
        economy.exchange = economy.party("exchange", "exchange");
        economy.thief = economy.party("thief", "stolen_funds");
        economy.listed = economy.add(Key::of("stranger"));
        economy
    }

    /// A party with ether from the beginning and a label of a category.
    pub(super) fn party(&mut self, name: &str, category: &'static str) -> Address {
        let party = self.add(Key::of(name));
        self.labels.push((party, category));
        party
    }

    fn add(&mut self, key: Key) -> Address {
        let address = key.address;
        self.keys.insert(address, key);
        address
    }

    /// An account that has nothing yet.
    pub(super) fn account(&mut self) -> Address {
        self.add(Key::of(&format!("account {}", self.keys.len())))
    }

    /// An account with ether from the exchange, and what it needs for fees.
    pub(super) fn clean(&mut self, amount: u128) -> Address {
        let account = self.account();
        self.pay(self.exchange, account, amount + FOR_FEES);
        account
    }

    /// An account with dollars from the exchange, and what it needs for fees.
    pub(super) fn clean_dollars(&mut self, amount: u128) -> Address {
        let account = self.clean(0);
        self.dollars(account, amount);
        account
    }

    /// An account with stolen ether, and what it needs for fees from the exchange.
    pub(super) fn stolen(&mut self, amount: u128) -> Address {
        let account = self.clean(0);
        self.pay(self.thief, account, amount);
        account
    }

    /// Accounts that can pay the fees of some transactions.
    pub(super) fn crowd(&mut self, size: usize) -> Vec<Address> {
        let accounts: Vec<_> = (0..size).map(|_| self.account()).collect();
        for some in accounts.chunks(100) {
            let each = ETHER / 250;
            let paid: Vec<_> = some.iter().map(|account| (*account, each)).collect();
            let total = each * u128::try_from(some.len()).unwrap();
            self.call_with(self.exchange, SPLITTER_AT, total, parts(&paid));
        }
        accounts
    }

    /// An account gets dollars from the exchange.
    pub(super) fn dollars(&mut self, to: Address, amount: u128) {
        self.transfer(self.exchange, USDT, to, amount);
    }

    /// Sends transactions in a block of their own, and returns the receipts.
    pub(super) fn send(&mut self, transactions: &[(Address, NewTransaction)]) -> Vec<Value> {
        self.send_to(None, transactions)
    }

    /// Sends transactions in a block of their own, whose producer gets their priority fees, and returns the receipts.
    pub(super) fn send_to(
        &mut self,
        producer: Option<Address>,
        transactions: &[(Address, NewTransaction)],
    ) -> Vec<Value> {
        let signed = transactions
            .iter()
            .map(|(from, transaction)| self.keys.get_mut(from).unwrap().sign(transaction));
        let block = NewBlock { producer, ..NewBlock::of(signed.collect()) };
        self.node.make(&block);
        let receipts = self.node.receipts(self.node.height());
        for ((from, transaction), receipt) in transactions.iter().zip(&receipts) {
            let input = hex::encode(transaction.input.get(..4).unwrap_or_default());
            let from = address_text(from);
            assert_eq!(receipt["status"], "0x1", "{from} calls {input}: {receipt:#}");
        }
        receipts
    }

    /// Sends transactions in blocks of as many as the node traces fast: anvil executes a block anew for each transaction.
    pub(super) fn send_many(&mut self, transactions: &[(Address, NewTransaction)]) {
        let in_block = if self.node.kind == EvmNodeKind::Anvil { 10 } else { 100 };
        for some in transactions.chunks(in_block) {
            let _ = self.send(some);
        }
    }

    /// Creates a contract.
    pub(super) fn deploy(
        &mut self,
        from: Address,
        contract: &str,
        arguments: &[Argument],
    ) -> Address {
        let input = abi::creation(contract, arguments);
        let created =
            NewTransaction { to: None, gas: GAS, ..NewTransaction::call([0; 20], 0, input) };
        let receipt = self.send(&[(from, created)]).remove(0);
        let mut contract = [0; 20];
        let digits = receipt["contractAddress"].as_str().unwrap().trim_start_matches("0x");
        hex::decode_to_slice(digits, &mut contract).unwrap();
        contract
    }

    /// Calls a function of a contract.
    pub(super) fn call(
        &mut self,
        from: Address,
        to: Address,
        function: &str,
        arguments: &[Argument],
    ) {
        self.pay_call(from, to, 0, function, arguments);
    }

    /// Calls a function of a contract with ether.
    pub(super) fn pay_call(
        &mut self,
        from: Address,
        to: Address,
        value: u128,
        function: &str,
        arguments: &[Argument],
    ) {
        self.call_with(from, to, value, abi::call(function, arguments));
    }

    /// Calls a contract with ether and an input.
    pub(super) fn call_with(&mut self, from: Address, to: Address, value: u128, input: Vec<u8>) {
        let call = NewTransaction { gas: GAS, ..NewTransaction::call(to, value, input) };
        let _ = self.send(&[(from, call)]);
    }

    /// Pays ether, to a contract too.
    pub(super) fn pay(&mut self, from: Address, to: Address, amount: u128) {
        let payment = NewTransaction { gas: 100_000, ..NewTransaction::payment(to, amount) };
        let _ = self.send(&[(from, payment)]);
    }

    /// Pays all ether of an account, but crumbs.
    pub(super) fn pay_all(&mut self, from: Address, to: Address) {
        let amount = self.node.balance(&from) - PAYMENT_FEE;
        let _ = self.send(&[(from, NewTransaction::payment(to, amount))]);
    }

    /// Pays units of a token.
    pub(super) fn transfer(&mut self, from: Address, token: Address, to: Address, amount: u128) {
        self.call(from, token, "transfer(address,uint256)", &[to.into(), amount.into()]);
    }

    /// Pays all units of a token.
    pub(super) fn transfer_all(&mut self, from: Address, token: Address, to: Address) {
        self.transfer(from, token, to, self.units(token, from));
    }

    /// Permits a spender to move a token of an account.
    pub(super) fn approve(&mut self, from: Address, token: Address, spender: Address) {
        if self.approved.insert((from, token, spender)) {
            let arguments = [spender.into(), u128::MAX.into()];
            self.call(from, token, "approve(address,uint256)", &arguments);
        }
    }

    /// Turns ether into its token.
    pub(super) fn wrap(&mut self, from: Address, amount: u128) {
        self.pay_call(from, WETH, amount, "deposit()", &[]);
    }

    /// The units of a token that an account has.
    pub(super) fn units(&self, token: Address, account: Address) -> u128 {
        self.number(token, "balanceOf(address)", &[account.into()])
    }

    /// The ether of an account that it does not need for fees.
    pub(super) fn ether(&self, account: Address) -> u128 {
        self.node.balance(&account) - FOR_FEES
    }

    /// The number that a function returns.
    fn number(&self, contract: Address, function: &str, arguments: &[Argument]) -> u128 {
        u128::from_be_bytes(*self.read(contract, function, arguments).last_chunk().unwrap())
    }

    /// The word that a function returns.
    fn read(&self, contract: Address, function: &str, arguments: &[Argument]) -> [u8; 32] {
        let input = hex::encode(abi::call(function, arguments));
        let call = json!({ "to": address_text(&contract), "data": format!("0x{input}") });
        let word = self.node.call("eth_call", &[call, json!("latest")]).unwrap();
        let word = hex::decode(word.as_str().unwrap().trim_start_matches("0x")).unwrap();
        word.try_into().unwrap()
    }

    /// Makes an empty block at a time, in seconds since 1970, unless the newest block is of later.
    pub(super) fn wait_until(&mut self, time: u64) {
        if let Some(seconds) = time.checked_sub(self.node.time()).filter(|seconds| *seconds > 0) {
            self.node.make(&NewBlock { seconds, ..NewBlock::default() });
        }
    }
}

/// Reads a node's chain into a data directory.
pub(super) fn ingest(directory: &Path, url: &str) {
    let ingest = ["ingest", "chain", "eth", "--test-network", "--rpc", url];
    let _ = assay(directory, ingest).ok();
}
