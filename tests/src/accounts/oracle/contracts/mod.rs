//! A second implementation of the rules of contracts (`docs/model/accounts.md` C), in exact fractions.
//!
//! It carries money as sums by origin instead of shares, so that nothing is divided but where a rule divides. After each
//! transaction, sums with long denominators are rounded to 2^-200 of a base unit. It shares only transactions, prices,
//! origins and the parties at which money ends with the engine. All that its economies move has a price, so that it has no
//! conversions (B16).
//!
//! - `funds`: money with its origins
//! - `state`: the ledgers, tokens and claims of accounts
//! - `booking`: one transaction while it is booked
//! - `values`: C1, values
//! - `exchanges`: C2, exchanges
//! - `rest`: C3, payments that exchanges leave
//! - `backing`: C4, what backs tokens
//! - `claims`: C5, claims
//! - `sources`, `payouts`: C6, what a contract pays
//! - `leaving`: C7, what stays

mod backing;
mod booking;
mod claims;
mod exchanges;
mod funds;
mod leaving;
mod payouts;
mod rest;
mod sources;
mod state;
mod values;

use std::collections::BTreeMap;

use assay_address::ChainId;
use assay_engine::account::{
    AccountAddress, AccountTransaction, Asset, ContractFactKind, MoneyEnd, MoneyOrigin, Prices,
    Transfer, TransferKind, scored_assets,
};
use jiff::tz::TimeZone;

pub use funds::{Funds, Part};

use super::{Exact, netting::net};
use booking::Booking;
use exchanges::{Flow, exchanges};
use state::{Account, AssetIndex, NOBODY, State, Token};
use values::Values;

/// Most units of a token that count (C4).
const MOST_UNITS: u128 = 1 << 100;

/// The ledgers of an account chain.
#[derive(Debug)]
pub struct ContractMoney {
    chain: ChainId,
    ends: BTreeMap<AccountAddress, MoneyEnd>,
    prices: Prices,
    coins: Vec<Asset>,
    issuers: Vec<Option<AccountAddress>>,
    tokens: Vec<Asset>,
    state: State,
}

/// A transfer by positions, from and to the issuers of tokens.
#[derive(Debug)]
struct Moved<'t> {
    transfer: &'t Transfer,
    coin: Option<AssetIndex>,
    from: Account,
    to: Account,
    amount: u128,
}

impl ContractMoney {
    /// Ledgers before the first transaction.
    #[must_use]
    pub fn new(
        chain: ChainId,
        ends: impl IntoIterator<Item = (AccountAddress, MoneyEnd)>,
        prices: Prices,
    ) -> Self {
        Self {
            chain,
            ends: ends.into_iter().collect(),
            prices,
            coins: scored_assets(chain).map(|it| it.id.asset).collect(),
            issuers: scored_assets(chain).map(|it| it.issuer).collect(),
            tokens: Vec::new(),
            state: State::default(),
        }
    }

    /// The ledger of an account in a scored asset.
    #[must_use]
    pub fn ledger(&self, account: AccountAddress, asset: Asset) -> Funds {
        self.state.ledger(account, self.coin(asset))
    }

    fn coin(&self, asset: Asset) -> AssetIndex {
        self.coins.iter().position(|it| *it == asset).expect("a scored asset")
    }

    /// The dollars of one base unit of an asset, as the transactions of a time are valued.
    #[must_use]
    pub fn unit_value(&self, asset: Asset, time: jiff::Timestamp) -> Exact {
        let values = Values::on(self.chain, &self.prices, time.to_zoned(TimeZone::UTC).date());
        values.unit(self.coin(asset)).clone()
    }

    /// Books a transaction.
    pub fn read(&mut self, transaction: &AccountTransaction) {
        let codes = transaction.contract_facts.iter();
        let codes = codes.filter(|fact| fact.kind == ContractFactKind::Code);
        self.state.contracts.extend(codes.map(|fact| fact.contract));
        let created = transaction.transfers.iter().filter(|it| it.kind == TransferKind::Create);
        self.state.contracts.extend(created.map(|it| it.to));
        let day = transaction.time.to_zoned(TimeZone::UTC).date();
        let moved: Vec<Moved<'_>> =
            transaction.transfers.iter().filter_map(|it| self.moved(it)).collect();
        let tokens: Vec<(Token, Account, Account, Exact)> = self.netted_tokens(&moved);
        let mut booking = Booking {
            ends: &self.ends,
            day,
            values: Values::on(self.chain, &self.prices, day),
            initiator: transaction.initiator,
            facts: &transaction.contract_facts,
            state: &mut self.state,
            payments: BTreeMap::new(),
            given: Vec::new(),
            bought: BTreeMap::new(),
            paid_values: BTreeMap::new(),
            paid: Vec::new(),
        };
        pay_fees_and_rewards(&moved, &mut booking);
        let mut flows = netted_coins(&moved, &booking);
        booking.note_payments(&flows);
        let exchanges = exchanges(&mut flows, &booking.values, |flow| booking.may_trade(flow));
        let mut receipts = Vec::new();
        for exchange in &exchanges {
            receipts.extend(booking.trade(exchange));
        }
        for (token, from, to, units) in tokens {
            booking.give(token, (from, to), units);
        }
        receipts.extend(booking.pay(&flows));
        for (receiver, coin, funds) in receipts {
            booking.put(receiver, coin, &funds);
        }
        let contributors = booking.back_tokens();
        booking.keep_claims(&contributors);
        set_balances(&moved, &mut booking);
        self.state.finish();
    }

    /// A transfer as it counts; `None` for one of a scored asset of more than 128 bits.
    fn moved<'t>(&self, transfer: &'t Transfer) -> Option<Moved<'t>> {
        let coin = self.coins.iter().position(|it| *it == transfer.asset);
        let amount = u128::try_from(transfer.amount).ok();
        let amount = match coin {
            Some(_) => amount?,
            None => amount.unwrap_or(MOST_UNITS).min(MOST_UNITS),
        };
        // New units come from the issuer, and destroyed ones go there (B1.3).
        let issuer = coin.and_then(|coin| self.issuers[coin]).unwrap_or(NOBODY);
        let side = |account: Account| if account == NOBODY { issuer } else { account };
        let (from, to) = (side(transfer.from), side(transfer.to));
        Some(Moved { transfer, coin, from, to, amount })
    }

    /// The netted transfers of tokens outside the table.
    fn netted_tokens(&mut self, moved: &[Moved<'_>]) -> Vec<(Token, Account, Account, Exact)> {
        let mut order = Vec::new();
        for asset in moved.iter().filter(|it| it.coin.is_none()).map(|it| it.transfer.asset) {
            if !self.tokens.contains(&asset) {
                self.tokens.push(asset);
            }
            if !order.contains(&asset) {
                order.push(asset);
            }
        }
        let mut netted = Vec::new();
        for asset in order {
            let token = self.tokens.iter().position(|it| *it == asset).expect("a token");
            let of_asset = moved.iter().filter(|it| it.transfer.asset == asset);
            let transfers: Vec<_> = of_asset.map(|it| (it.from, it.to, it.amount)).collect();
            let passes = |it: Account| it != NOBODY && !self.ends.contains_key(&it);
            netted.extend(
                net(&transfers, passes).into_iter().map(|it| (token, it.from, it.to, it.amount)),
            );
        }
        netted
    }
}

impl Booking<'_> {
    /// Notes all that each account pays of each asset, from its ledger as it is now.
    fn note_payments(&mut self, flows: &[Flow]) {
        let mut totals: BTreeMap<(Account, AssetIndex), Exact> = BTreeMap::new();
        for flow in flows {
            let total = totals.entry((flow.from, flow.coin));
            *total.or_insert_with(|| Exact::from_integer(0.into())) += &flow.amount;
        }
        let payment = |((payer, coin), total): ((Account, AssetIndex), Exact)| {
            ((payer, coin), self.payment(payer, coin, &total))
        };
        self.payments = totals.into_iter().map(payment).collect();
    }
}

/// The netted payments of scored assets, in the order of the transaction.
fn netted_coins(moved: &[Moved<'_>], booking: &Booking<'_>) -> Vec<Flow> {
    let is_payment = |it: &&Moved<'_>| {
        let is_new = it.from == NOBODY && it.transfer.asset == Asset::Native;
        let is_booked = matches!(it.transfer.kind, TransferKind::Fee | TransferKind::Balance);
        !is_booked && !is_new
    };
    let mut order: Vec<AssetIndex> = Vec::new();
    for coin in moved.iter().filter(is_payment).filter_map(|it| it.coin) {
        if !order.contains(&coin) {
            order.push(coin);
        }
    }
    let of_coin = |coin: AssetIndex| {
        let of_coin = moved.iter().filter(is_payment).filter(move |it| it.coin == Some(coin));
        let transfers: Vec<_> = of_coin.map(|it| (it.from, it.to, it.amount)).collect();
        let paid = net(&transfers, |account| !booking.is_end(account)).into_iter();
        paid.map(move |it| Flow { from: it.from, to: it.to, coin, amount: it.amount })
    };
    order.into_iter().flat_map(of_coin).collect()
}

/// Pays fees, which are never direct, and new coins, all from ledgers as before.
fn pay_fees_and_rewards(moved: &[Moved<'_>], booking: &mut Booking<'_>) {
    let mut flows = Vec::new();
    let mut receipts = Vec::new();
    for Moved { transfer, coin, from, to, amount } in moved {
        let (Some(coin), amount) = (*coin, Exact::from_integer((*amount).into())) else { continue };
        if transfer.kind == TransferKind::Fee {
            flows.push(Flow { from: *from, to: *to, coin, amount });
        } else if *from == NOBODY && transfer.asset == Asset::Native {
            receipts.push((*to, coin, Funds::wholly(MoneyOrigin::New, amount)));
        }
    }
    booking.note_payments(&flows);
    for flow in flows {
        let funds = booking.of_payments(&flow, &flow.amount).after_hop();
        booking.take(flow.from, flow.coin, &flow.amount);
        receipts.push((flow.to, flow.coin, funds));
    }
    for (receiver, coin, funds) in receipts {
        booking.put(receiver, coin, &funds);
    }
}

/// Sets the balances that the chain states: what they are made of stays.
fn set_balances(moved: &[Moved<'_>], booking: &mut Booking<'_>) {
    for Moved { transfer, coin, to, amount, .. } in moved {
        if let Some(coin) = coin.filter(|_| transfer.kind == TransferKind::Balance)
            && !booking.is_end(*to)
        {
            let ledger = booking.state.ledger_mut(*to, coin);
            *ledger = ledger.shared_by(&Exact::from_integer((*amount).into()));
        }
    }
}
