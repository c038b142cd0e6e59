//! Dealings of a subject with contracts, as an answer tells them (`docs/model/accounts.md` C9).

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{civil::Date, tz::TimeZone};
use rustc_hash::FxHashMap;

use super::{
    AccountAddress, AccountSubject, Asset, Payment, UnfollowedTransfer,
    contracts::{Held, Holding, Lot},
    path::address,
    shares::WHOLE,
    step::MovementKind,
    transaction_text,
    unit::{MoneyUnit, Valuation},
};
use crate::{
    evidence::{
        BackingMoney, ContractHolding, ContractUse, Direction, KeptMoney, KeptWay, NamedContract,
        TokenDealing,
    },
    ledger::{OwnerNumber, TransactionNumber},
    taxonomy::Category,
    trace::Attribution,
};

/// Most contracts, and most tokens and claims, in an answer.
const MOST: usize = 10;
/// Number of transactions that each of them names.
const TRANSACTIONS: usize = 5;

/// Own money that one contract left to the subject, while it is added up.
#[derive(Default)]
struct KeptSums {
    gave: BTreeMap<String, u128>,
    got: BTreeMap<String, u128>,
    payments: u64,
    /// Value of what the subject got.
    value: u128,
    transactions: BTreeMap<TransactionNumber, u128>,
}

impl AccountSubject<'_> {
    /// The subject's dealings with contracts, by its own payments and by its transfers of tokens whose money is not followed.
    #[must_use]
    pub fn contract_use(
        &self,
        payments: &[Payment],
        unfollowed: &[UnfollowedTransfer],
    ) -> ContractUse {
        let (kept, further_kept) = self.kept_money(payments);
        let (holdings, further_holdings) = self.holdings();
        let token_dealings = self.token_dealings(unfollowed);
        ContractUse { kept, further_kept, holdings, further_holdings, token_dealings }
    }

    /// Own money that others exchanged or that contracts gave back.
    fn kept_money(&self, payments: &[Payment]) -> (Vec<KeptMoney>, u64) {
        let Self { view, owner, prices, .. } = *self;
        let is_own = |payment: &&Payment| payment.kind.is_own_money();
        let mut values = Valuation::new(prices);
        let mut kept: BTreeMap<(KeptWay, OwnerNumber), KeptSums> = BTreeMap::new();
        let own: Vec<&Payment> = payments.iter().filter(is_own).collect();
        for of_transaction in own.chunk_by(|one, next| one.transaction == next.transaction) {
            let mut exchanges = BTreeSet::new();
            for payment in of_transaction.iter().filter(|it| it.to == owner) {
                let Some(asset) = view.scored(payment.asset) else { continue };
                let way = match payment.kind {
                    MovementKind::Exchange => KeptWay::Exchanged,
                    _ => KeptWay::Returned,
                };
                let key = (way, payment.from);
                if way == KeptWay::Exchanged {
                    exchanges.insert(key);
                }
                let time = view.time(payment.transaction);
                let value = match values.value(asset, payment.amount, time) {
                    (MoneyUnit::Dollars, value) => value,
                    (MoneyUnit::Asset(_), _) => 0,
                };
                let known = kept.entry(key).or_default();
                add(&mut known.got, asset.ticker, payment.amount);
                known.payments += 1;
                known.value = known.value.saturating_add(value);
                let of_transaction = known.transactions.entry(payment.transaction).or_default();
                *of_transaction = of_transaction.saturating_add(value);
            }
            // Of exchanges with several others, nobody knows which gift was for whom.
            let [exchange] = &*exchanges.into_iter().collect::<Vec<_>>() else { continue };
            let Some(known) = kept.get_mut(exchange) else { continue };
            let gave = of_transaction.iter().filter(|it| it.kind == MovementKind::Exchange);
            for payment in gave.filter(|payment| payment.from == owner) {
                if let Some(asset) = view.scored(payment.asset) {
                    add(&mut known.gave, asset.ticker, payment.amount);
                }
            }
        }
        let mut kept: Vec<_> = kept.into_iter().collect();
        kept.sort_by_key(|(key, kept)| (Reverse(kept.value), Reverse(kept.payments), *key));
        let further = kept.len().saturating_sub(MOST);
        let shown = kept.into_iter().take(MOST).filter_map(|((way, contract), kept)| {
            let mut transactions: Vec<_> = kept.transactions.into_iter().collect();
            transactions.sort_by_key(|(number, value)| (Reverse(*value), *number));
            Some(KeptMoney {
                way,
                via: self.named_contract(contract)?,
                is_contract: view.is_contract(contract),
                gave: kept.gave,
                got: kept.got,
                payments: kept.payments,
                transactions: self.texts(transactions.into_iter().map(|(number, _)| number)),
            })
        });
        (shown.collect(), u64::try_from(further).unwrap_or(u64::MAX))
    }

    /// Tokens and claims that money backs.
    fn holdings(&self) -> (Vec<ContractHolding>, u64) {
        let Self { view, owner, prices, today, .. } = *self;
        let state = view.state(owner);
        let mut values = Valuation::new(prices);
        let mut found: Vec<((bool, u128), Held, &Holding)> = state
            .holdings
            .iter()
            .filter(|(_, holding)| !holding.own.is_empty() || !holding.came.is_empty())
            .map(|(held, holding)| {
                // Anybody can put in for anybody: it must not hide what the subject put in.
                let value = (!holding.own.is_empty(), value_of(self, holding, &mut values, today));
                (value, *held, holding)
            })
            .collect();
        found.sort_by_key(|(value, held, _)| (Reverse(*value), *held));
        let further = found.len().saturating_sub(MOST);
        // A token may be backed at several contracts, as by a loan.
        let backed_at = |held: Held| {
            let mut ties = state.ties.iter().filter(|(_, tie)| tie.backed.contains(&held));
            let first = ties.next().map(|(contract, _)| *contract);
            first.filter(|_| ties.next().is_none())
        };
        let shown = found.into_iter().take(MOST).map(|(_, held, holding)| {
            let (token, contract) = match held {
                Held::Token(asset) => {
                    let text = view.asset(asset).map(|asset| asset.text(view.chain()));
                    (text, backed_at(held))
                }
                Held::Claim(contract) => (None, Some(contract)),
            };
            ContractHolding {
                token,
                contract: contract.and_then(|contract| self.named_contract(contract)),
                backing: self.backing(holding),
            }
        });
        (shown.collect(), u64::try_from(further).unwrap_or(u64::MAX))
    }

    /// The money that backs a token or claim: first what the subject put in.
    fn backing(&self, holding: &Holding) -> Vec<BackingMoney> {
        let layers = [(false, holding.own.all()), (true, holding.came.all())];
        let lots = layers
            .into_iter()
            .flat_map(|(is_of_others, lots)| lots.iter().map(move |lot| (is_of_others, lot)));
        let backing = lots.filter_map(|(is_of_others, lot)| {
            Some(BackingMoney {
                asset: self.view.scored(lot.asset)?.ticker.to_owned(),
                amount: lot.amount,
                severe: millionths(lot.shares.severe().into(), WHOLE.into()),
                is_of_others,
            })
        });
        backing.collect()
    }

    /// Transfers of tokens whose money is not followed between the subject and listed parties, since they were listed.
    #[must_use]
    pub fn token_dealings(&self, unfollowed: &[UnfollowedTransfer]) -> Vec<TokenDealing> {
        let Self { view, owner, attributions, .. } = *self;
        let Some(account) = view.address(owner) else { return Vec::new() };
        let mut found: BTreeMap<(AccountAddress, Direction), DealingTokens> = BTreeMap::new();
        let mut known: FxHashMap<AccountAddress, Option<Arc<Attribution>>> = FxHashMap::default();
        // Anybody can log a transfer of nothing.
        for transfer in unfollowed.iter().filter(|it| !it.transfer.amount.is_zero()) {
            let (from, to) = (transfer.transfer.from, transfer.transfer.to);
            let (other, direction) = if to == account {
                (from, Direction::Source)
            } else {
                (to, Direction::Destination)
            };
            if other == account {
                continue;
            }
            let attribution = known
                .entry(other)
                .or_insert_with(|| view.owner(other).and_then(|it| attributions.of_account(it)));
            let Some(end) = attribution.as_ref().and_then(|it| it.end.as_ref()) else { continue };
            let day = view.time(transfer.transaction).to_zoned(TimeZone::UTC).date();
            if !end.listed || end.listed_on.is_some_and(|listed_on| day < listed_on) {
                continue;
            }
            let dealt = found.entry((other, direction)).or_insert_with(|| DealingTokens {
                entity: end.entity.clone(),
                category: end.category,
                tokens: BTreeSet::new(),
                initiated: Vec::new(),
                others: Vec::new(),
            });
            dealt.tokens.insert(transfer.transfer.asset);
            let is_initiated = transfer.initiator == Some(account);
            let into = if is_initiated { &mut dealt.initiated } else { &mut dealt.others };
            if !into.contains(&transfer.transaction) && into.len() < TRANSACTIONS {
                into.push(transfer.transaction);
            }
        }
        let chain = view.chain();
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|(key, dealt)| (dealt.initiated.is_empty(), *key));
        let dealings = found.into_iter().take(MOST).filter_map(|((party, direction), dealt)| {
            let is_initiated = !dealt.initiated.is_empty();
            let transactions = if is_initiated { dealt.initiated } else { dealt.others };
            let tokens = dealt.tokens.into_iter().take(TRANSACTIONS);
            Some(TokenDealing {
                party: party.on(chain)?.as_str().to_owned(),
                entity: dealt.entity,
                category: dealt.category,
                direction,
                is_initiated,
                tokens: tokens.map(|asset| asset.text(chain)).collect(),
                transactions: self.texts(transactions.into_iter()),
            })
        });
        dealings.collect()
    }

    fn named_contract(&self, contract: OwnerNumber) -> Option<NamedContract> {
        let name = self.attributions.name_of(contract);
        Some(NamedContract { address: address(self.view, contract)?, name })
    }

    fn texts(&self, transactions: impl Iterator<Item = TransactionNumber>) -> Vec<String> {
        let text = |number| transaction_text(self.view.chain(), self.view.txid(number));
        transactions.take(TRANSACTIONS).map(text).collect()
    }
}

/// Transfers of tokens with one listed party, while they are gathered.
struct DealingTokens {
    entity: Option<Arc<str>>,
    category: Category,
    tokens: BTreeSet<Asset>,
    /// Transactions that the subject sent, and those of others.
    initiated: Vec<TransactionNumber>,
    others: Vec<TransactionNumber>,
}

fn add(amounts: &mut BTreeMap<String, u128>, ticker: &str, amount: u128) {
    match amounts.get_mut(ticker) {
        Some(known) => *known = known.saturating_add(amount),
        None => _ = amounts.insert(ticker.to_owned(), amount),
    }
}

fn lots_of(holding: &Holding) -> impl Iterator<Item = &Lot> {
    holding.own.all().iter().chain(holding.came.all())
}

/// The value of the money behind a holding, in micro-dollars; what has no price counts nothing.
fn value_of(
    subject: &AccountSubject<'_>,
    holding: &Holding,
    values: &mut Valuation<'_>,
    today: Date,
) -> u128 {
    let mut value = |lot: &Lot| {
        let asset = subject.view.scored(lot.asset)?;
        match values.value_on(asset, lot.amount, today) {
            (MoneyUnit::Dollars, value) => Some(value),
            (MoneyUnit::Asset(_), _) => None,
        }
    };
    lots_of(holding).filter_map(&mut value).fold(0, u128::saturating_add)
}

/// A part of a whole in millionths, rounded up, so that nothing severe is shown as nothing.
fn millionths(part: u128, whole: u128) -> u32 {
    const MILLION: u128 = 1_000_000;
    let down = crate::ledger::mass::share(MILLION, part, whole);
    let is_exact = crate::ledger::mass::share(whole, down, MILLION) >= part;
    u32::try_from(down.saturating_add(u128::from(!is_exact)).min(MILLION)).unwrap_or(1_000_000)
}
