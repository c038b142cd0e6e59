//! An account chain that knows balances, so that nobody pays what they do not hold.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, AssetId, ContractFact, FreezeChange,
        FreezeEvent, Transfer, TransferKind, TransferPlace, UsdPrice,
    },
    taxonomy::Category,
    utxo::Txid,
};
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use ruint::aliases::U256;

use super::{
    DAI, DOLLAR, ETH, ETHER, ETHER_DOLLARS, STETH, USDC, USDT, WBTC, WETH, contract,
    contracts::Call,
};
use crate::world::Claim;

/// A transfer of a transaction: payer, receiver, asset, amount.
pub type Move = (AccountAddress, AccountAddress, Asset, u128);

/// Seconds between two blocks.
const BLOCK_SECONDS: i64 = 12;

/// An account chain that grows transaction by transaction, one a block.
#[derive(Clone, Debug)]
pub struct AccountChain {
    id: ChainId,
    time: Timestamp,
    height: u64,
    accounts: u64,
    balances: BTreeMap<(AccountAddress, Asset), u128>,
    /// Units of each asset that were made and not destroyed.
    supplies: BTreeMap<Asset, u128>,
    /// Accounts that have code.
    contracts: BTreeSet<AccountAddress>,
    /// Parties with money from before the first block, as much as they pay.
    endless: HashSet<AccountAddress>,
    transactions: Vec<AccountTransaction>,
    /// The present prices in dollars of one whole unit.
    dollars: BTreeMap<Asset, u64>,
    pub(super) prices: Vec<(AssetId, Date, UsdPrice)>,
    pub(super) labels: Vec<(AccountAddress, Claim)>,
    pub(super) listings: Vec<(AccountAddress, String, Date)>,
    /// The builder to which priority fees are paid; `None` for transactions without fees.
    builder: Option<AccountAddress>,
    /// True if the sender of a transaction is not stated.
    is_without_senders: bool,
}

impl AccountChain {
    /// An Ethereum chain without transactions, on which an ether is worth 3,000 dollars.
    #[must_use]
    pub fn new() -> Self {
        let mut chain = Self {
            id: ChainId::ETH,
            time: "2026-01-05T00:00:00Z".parse().expect("a time"),
            height: 0,
            accounts: 0,
            balances: BTreeMap::new(),
            supplies: BTreeMap::new(),
            contracts: [WETH, STETH, WBTC, USDC, USDT, DAI].map(contract).into(),
            endless: HashSet::new(),
            transactions: Vec::new(),
            dollars: BTreeMap::new(),
            prices: Vec::new(),
            labels: Vec::new(),
            listings: Vec::new(),
            builder: None,
            is_without_senders: false,
        };
        for asset in [ETH, WETH, STETH] {
            chain.set_price(asset, ETHER_DOLLARS);
        }
        chain.set_price(WBTC, 20 * ETHER_DOLLARS);
        // Exchanges of the first day are valued at the prices of the day before.
        let before = chain.today().yesterday().expect("a day");
        let earlier =
            chain.prices.clone().into_iter().map(|(asset, _, price)| (asset, before, price));
        chain.prices.extend(earlier);
        chain
    }

    /// An Ethereum chain on which no price but that of stablecoins is known.
    #[must_use]
    pub fn without_prices() -> Self {
        Self { dollars: BTreeMap::new(), prices: Vec::new(), ..Self::new() }
    }

    /// The chain.
    #[must_use]
    pub const fn id(&self) -> ChainId {
        self.id
    }

    /// The time of the next block.
    #[must_use]
    pub const fn now(&self) -> Timestamp {
        self.time
    }

    /// The day of the next block.
    #[must_use]
    pub fn today(&self) -> Date {
        self.time.to_zoned(TimeZone::UTC).date()
    }

    /// Number of transactions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.transactions.len()
    }

    /// True if there are no transactions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }

    /// The transactions.
    #[must_use]
    pub fn transactions(&self) -> &[AccountTransaction] {
        &self.transactions
    }

    /// Takes the transactions.
    #[must_use]
    pub fn take_transactions(&mut self) -> Vec<AccountTransaction> {
        std::mem::take(&mut self.transactions)
    }

    /// From now on each transaction pays a priority fee to a builder, and a base fee that is destroyed.
    pub fn charge_fees(&mut self, builder: AccountAddress) {
        self.builder = Some(builder);
    }

    /// From now on the chain does not state who sends a transaction.
    pub const fn hide_senders(&mut self) {
        self.is_without_senders = true;
    }

    /// An account that never appeared.
    pub const fn account(&mut self) -> AccountAddress {
        self.accounts += 1;
        let mut bytes = [0; 20];
        // Spread over all bytes, so that accounts do not look alike.
        let mut at = 0;
        let mut mixed = self.accounts;
        while at < 20 {
            mixed = mixed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            bytes[at] = (mixed >> 56) as u8;
            at += 1;
        }
        AccountAddress(bytes)
    }

    /// Several accounts that never appeared.
    pub fn accounts<const N: usize>(&mut self) -> [AccountAddress; N] {
        [(); N].map(|()| self.account())
    }

    /// A contract that never appeared.
    pub fn contract(&mut self) -> AccountAddress {
        let contract = self.account();
        self.deploy(contract);
        contract
    }

    /// Several contracts that never appeared.
    pub fn contracts<const N: usize>(&mut self) -> [AccountAddress; N] {
        [(); N].map(|()| self.contract())
    }

    /// Gives an account code, from the next transaction on.
    pub fn deploy(&mut self, account: AccountAddress) {
        self.contracts.insert(account);
    }

    /// True if an account has code.
    #[must_use]
    pub fn has_code(&self, account: AccountAddress) -> bool {
        self.contracts.contains(&account)
    }

    /// A token that nobody knows.
    pub const fn token(&mut self) -> Asset {
        Asset::Token(self.account())
    }

    /// A labelled party that has as much as it pays, from before the first block.
    pub fn party(&mut self, category: Category, name: &'static str) -> AccountAddress {
        let party = self.account();
        self.label(party, Claim::investigated(category, name));
        self.endless.insert(party);
        party
    }

    /// A party that a list names since a day, with as much money as it pays.
    pub fn listed(&mut self, name: &str, since: Date) -> AccountAddress {
        let party = self.account();
        self.listings.push((party, name.to_owned(), since));
        self.endless.insert(party);
        party
    }

    /// An account with as much money as it pays, from before the first block, of which nothing is known.
    pub fn outsider(&mut self) -> AccountAddress {
        let outsider = self.account();
        self.endless.insert(outsider);
        outsider
    }

    /// Labels an account, whenever its money moved.
    pub fn label(&mut self, account: AccountAddress, claim: Claim) {
        self.labels.push((account, claim));
    }

    /// Sets the price of an asset, in dollars of a whole unit, from today on.
    pub fn set_price(&mut self, asset: Asset, dollars: u64) {
        self.dollars.insert(asset, dollars);
        self.note_prices();
    }

    /// Removes the price of an asset from tomorrow on.
    pub fn stop_price(&mut self, asset: Asset) {
        self.dollars.remove(&asset);
    }

    fn note_prices(&mut self) {
        let today = self.today();
        let of_today = self.dollars.iter().filter_map(|(asset, dollars)| {
            let price = UsdPrice::from_attodollars(u128::from(*dollars) * 10_u128.pow(18))?;
            Some((AssetId { chain: self.id, asset: *asset }, today, price))
        });
        self.prices.extend(of_today);
    }

    /// The present price of an asset in dollars, 1 for stablecoins; `None` if it is not known.
    #[must_use]
    pub fn dollars_of(&self, asset: Asset) -> Option<u64> {
        let is_stable = [USDT, USDC].contains(&asset);
        self.dollars.get(&asset).copied().or(is_stable.then_some(1))
    }

    /// The value of an amount in dollars at the present price, rounded down; 0 without a price.
    #[must_use]
    pub fn dollars(&self, asset: Asset, amount: u128) -> u64 {
        let price = u128::from(self.dollars_of(asset).unwrap_or(0));
        u64::try_from(amount.saturating_mul(price) / whole_unit(asset)).unwrap_or(u64::MAX)
    }

    /// The amount of an asset that is worth so many dollars, of one without a price so many whole units.
    #[must_use]
    pub fn units(&self, asset: Asset, dollars: u64) -> u128 {
        let price = u128::from(self.dollars_of(asset).unwrap_or(1));
        u128::from(dollars) * whole_unit(asset) / price
    }

    /// Units of a token that were made and not destroyed.
    #[must_use]
    pub fn supply(&self, token: Asset) -> u128 {
        self.supplies.get(&token).copied().unwrap_or(0)
    }

    /// Lets days pass.
    pub fn wait_days(&mut self, days: u32) {
        for _ in 0..days {
            self.time += SignedDuration::from_hours(24);
            self.note_prices();
        }
    }

    /// Lets time pass.
    pub fn wait(&mut self, time: SignedDuration) {
        let before = self.today();
        self.time += time;
        if self.today() != before {
            self.note_prices();
        }
    }

    /// The balance of an account.
    #[must_use]
    pub fn balance(&self, account: AccountAddress, asset: Asset) -> u128 {
        self.balances.get(&(account, asset)).copied().unwrap_or(0)
    }

    /// The balances of an account, in the order of assets.
    #[must_use]
    pub fn holdings(&self, account: AccountAddress) -> Vec<(Asset, u128)> {
        let of_account = self.balances.range((account, Asset::Native)..);
        let of_account = of_account.take_while(|((owner, _), _)| *owner == account);
        let held = of_account.filter(|(_, balance)| **balance > 0);
        held.map(|((_, asset), balance)| (*asset, *balance)).collect()
    }

    /// Pays an amount in a transaction of its own.
    pub fn pay(&mut self, from: AccountAddress, to: AccountAddress, asset: Asset, amount: u128) {
        self.send(from, &[(from, to, asset, amount)]);
    }

    /// Pays all that an account holds of an asset.
    pub fn pay_all(&mut self, from: AccountAddress, to: AccountAddress, asset: Asset) {
        self.pay(from, to, asset, self.balance(from, asset));
    }

    /// A transaction with transfers. Those from the zero address make units, those to it destroy them.
    pub fn send(&mut self, sender: AccountAddress, moves: &[Move]) {
        self.execute(Call::new(sender, moves));
    }

    /// New units of a token, in a transaction of the receiver.
    pub fn mint(&mut self, token: Asset, to: AccountAddress, amount: u128) {
        self.send(to, &[(AccountAddress::ZERO, to, token, amount)]);
    }

    /// A transaction with transfers and with what its logs name.
    pub fn execute(&mut self, call: Call) {
        let transfers = call.moves.into_iter().map(transfer_of).collect();
        self.transact_naming(call.sender, transfers, call.named);
    }

    /// A transaction with transfers of any kind; the fees of the sender are added.
    pub fn transact(&mut self, sender: AccountAddress, transfers: Vec<Transfer>) {
        self.transact_naming(sender, transfers, Vec::new());
    }

    fn transact_naming(
        &mut self,
        sender: AccountAddress,
        mut transfers: Vec<Transfer>,
        named: Vec<ContractFact>,
    ) {
        let fees = self.fees(sender, &transfers);
        for transfer in transfers.iter().chain(&fees) {
            self.move_balance(transfer);
        }
        transfers.extend(fees);
        let initiator = (!self.is_without_senders).then_some(sender);
        self.record(initiator, transfers, named);
    }

    /// The fees of a transaction; none if the sender cannot pay them from what it held before.
    fn fees(&self, sender: AccountAddress, transfers: &[Transfer]) -> Vec<Transfer> {
        let Some(builder) = self.builder else { return Vec::new() };
        // 21,000 gas a transfer at 1 gwei for the builder and 5 gwei that are destroyed.
        let gas = 21_000 * transfers.len().max(1) as u128 * 1_000_000_000;
        let of_sender = transfers.iter().filter(|it| it.from == sender && it.asset == ETH);
        let sent = of_sender.map(|it| u128::try_from(it.amount).unwrap_or(0)).sum::<u128>();
        let can_pay = self.balance(sender, ETH) >= sent + 6 * gas;
        if !can_pay && !self.endless.contains(&sender) {
            return Vec::new();
        }
        let fees = [(builder, gas), (AccountAddress::ZERO, 5 * gas)];
        fees.map(|(to, fee)| move_of(TransferKind::Fee, (sender, to, ETH, fee))).to_vec()
    }

    /// The issuer of a token changes the freeze of an account.
    pub fn freeze(&mut self, account: AccountAddress, asset: Asset, change: FreezeChange) {
        self.record(None, Vec::new(), Vec::new());
        let transaction = self.transactions.last_mut().expect("a transaction");
        transaction.freezes.push(FreezeEvent { asset, account, change, log: 0 });
    }

    /// A transaction as it is, whatever the balances.
    pub fn record(
        &mut self,
        initiator: Option<AccountAddress>,
        mut transfers: Vec<Transfer>,
        named: Vec<ContractFact>,
    ) {
        for (index, transfer) in transfers.iter_mut().enumerate() {
            transfer.place.index = u32::try_from(index).expect("few transfers");
        }
        let before = self.today();
        self.height += 1;
        self.time += SignedDuration::from_secs(BLOCK_SECONDS);
        if self.today() != before {
            self.note_prices();
        }
        let mut id = [0x77; 32];
        id[24..].copy_from_slice(&self.height.to_be_bytes());
        self.transactions.push(AccountTransaction {
            block: self.height,
            time: self.time,
            id: Txid::from_bytes(id),
            initiator,
            contract_facts: self.code_of(&transfers).into_iter().chain(named).collect(),
            transfers,
            freezes: Vec::new(),
            delegations: Vec::new(),
            messages: Vec::new(),
        });
    }

    /// The facts that parties and tokens of transfers have code.
    fn code_of(&self, transfers: &[Transfer]) -> Vec<ContractFact> {
        let tokens = transfers.iter().filter_map(|transfer| match transfer.asset {
            Asset::Token(contract) => Some(contract),
            Asset::Native | Asset::Numbered(_) => None,
        });
        let parties = transfers.iter().flat_map(|transfer| [transfer.from, transfer.to]);
        let all: BTreeSet<AccountAddress> = parties.chain(tokens).collect();
        all.intersection(&self.contracts).map(|contract| ContractFact::code(*contract)).collect()
    }

    fn move_balance(&mut self, transfer: &Transfer) {
        let amount = u128::try_from(transfer.amount).unwrap_or(0);
        let (from, to, asset) = (transfer.from, transfer.to, transfer.asset);
        if transfer.kind == TransferKind::Balance {
            self.balances.insert((to, asset), amount);
            return;
        }
        if from == AccountAddress::ZERO {
            *self.supplies.entry(asset).or_default() += amount;
        } else {
            let balance = self.balances.entry((from, asset)).or_default();
            match balance.checked_sub(amount) {
                Some(rest) => *balance = rest,
                None if self.endless.contains(&from) => *balance = 0,
                None => panic!("{from} holds {balance} of {asset:?} and pays {amount}"),
            }
        }
        if to == AccountAddress::ZERO {
            let supply = self.supplies.entry(asset).or_default();
            *supply = supply.saturating_sub(amount);
        } else {
            *self.balances.entry((to, asset)).or_default() += amount;
        }
    }
}

impl Default for AccountChain {
    fn default() -> Self {
        Self::new()
    }
}

/// Base units of a whole unit.
fn whole_unit(asset: Asset) -> u128 {
    match asset {
        USDT | USDC => DOLLAR,
        WBTC => 100_000_000,
        _ => ETHER,
    }
}

/// The transfer of a move: from the zero address it makes units, to it it destroys them.
fn transfer_of(moved: Move) -> Transfer {
    let kind = match moved {
        (AccountAddress::ZERO, ..) => TransferKind::Mint,
        (_, AccountAddress::ZERO, ..) => TransferKind::Burn,
        _ => TransferKind::Transfer,
    };
    move_of(kind, moved)
}

/// A transfer of a kind.
#[must_use]
pub fn move_of(kind: TransferKind, (from, to, asset, amount): Move) -> Transfer {
    Transfer { kind, asset, from, to, amount: U256::from(amount), place: TransferPlace::default() }
}
