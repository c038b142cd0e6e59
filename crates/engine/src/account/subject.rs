//! The facts about a subject on an account chain: what it received, sent and holds, and its activity.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use assay_address::{ChainId, LedgerKind};
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};

use super::{
    Prices,
    bridge_search::across,
    ends::ends_money,
    held::held,
    history::AccountPayments,
    origin::{MoneyOrigin, OriginCode},
    parts::Parts,
    path::{named, path_back},
    received::{Valued, end_of, received},
    sent::{sent, sent_on},
    step::{MovementKind, Payment},
    taken::taken,
    transfer::BookedTransfer,
    unit::{MoneyUnit, Valuation},
    view::{AccountAttributions, AccountView, MOST_PAYMENTS},
};
use crate::{
    evidence::{
        AccountLimits, ActivityFacts, AssetActivity, BridgedReceipts, DirectionFlows, ExcessMoney,
        FlowFacts, Ledger,
    },
    ledger::OwnerNumber,
    taxonomy::RISKY_FROM,
    trace::recent_since,
    utxo::{Txid, txid::InvalidTxid},
};

/// Most paths of a subject.
const MOST_PATHS: usize = 4;

/// Number of transactions that are named of what contracts paid beyond what was put in.
const EXCESS_TRANSACTIONS: usize = 5;

/// Most payers whose payments are compared with the blocks that lack transfers inside of transactions: beyond it, the lack is told.
const MOST_PAYERS: usize = 64;

/// A subject on an account chain.
#[derive(Clone, Copy)]
#[expect(missing_debug_implementations, reason = "views have nothing to show")]
pub struct AccountSubject<'a> {
    /// One state of the chain.
    pub view: &'a dyn AccountView,
    /// The account.
    pub owner: OwnerNumber,
    /// Attributions of other accounts.
    pub attributions: &'a dyn AccountAttributions,
    /// Prices of assets.
    pub prices: &'a Prices,
    /// Day of the assessment.
    pub today: Date,
}

/// Times of blocks in which transfers inside of transactions are not recorded.
struct InternalGaps(Vec<(Timestamp, Timestamp)>);

impl InternalGaps {
    fn of(view: &dyn AccountView) -> Self {
        Self(view.internal_gaps())
    }

    /// True if all blocks have their transfers inside of transactions.
    fn are_none(&self, view: &dyn AccountView) -> bool {
        view.has_internal_transfers() && self.0.is_empty()
    }

    /// True if payments are in such blocks. Sums are of a day.
    fn meet(&self, view: &dyn AccountView, payments: &AccountPayments) -> bool {
        // They are in the order of the chain.
        let meets = |first: Timestamp, last: Timestamp| {
            let at = self.0.partition_point(|(_, end)| *end < first);
            self.0.get(at).is_some_and(|(begin, _)| *begin <= last)
        };
        if self.0.is_empty() {
            return false;
        }
        let mut times = payments.payments.iter().map(|payment| view.time(payment.transaction));
        times.any(|time| meets(time, time))
            || payments.sums.iter().any(|sum| {
                let day = SignedDuration::from_hours(24);
                meets(sum.first, sum.first.saturating_add(day).unwrap_or(Timestamp::MAX))
            })
    }
}

impl AccountSubject<'_> {
    /// The flows of the subject's own payments. Without the older ones they are not complete.
    #[must_use]
    pub fn flows(&self, own: &AccountPayments) -> FlowFacts {
        let Self { view, owner, attributions, today, .. } = *self;
        let mut values = Valuation::new(self.prices);
        let mut payments = Valued::of_sums(view, &own.sums, &mut values);
        // What was sent on a day counts for what came back on later days only.
        payments.sort_by_key(|valued| {
            (valued.time.to_zoned(TimeZone::UTC).date(), valued.payment.to != owner)
        });
        let single = joined_with_deposits(attributions, &own.payments);
        payments.extend(Valued::of(view, &single, &mut values));
        let since = recent_since(today);
        let is_netted = own.sums.is_empty() && payments.len() <= MOST_PAYMENTS;
        let mut source = received(owner, &payments, attributions, (since, is_netted));
        self.show_paths(&mut source, &payments);
        let destination = sent(view, owner, &payments, attributions, since);
        let held = held(view, owner, today, &mut values);
        let taken = taken(view, owner, &payments, attributions);
        let excess = self.excess(&payments);
        let limits = self.limits(&payments, values);
        let gaps = InternalGaps::of(view);
        let limits = AccountLimits {
            may_lack_internal_transfers: limits.may_lack_internal_transfers || gaps.meet(view, own),
            excess,
            taken,
            summed_payments: own.summed(),
            unread_payments: own.left_out,
            is_whole_not_netted: !is_netted,
            bridged: BridgedReceipts::of(*self, own),
            ..limits
        };
        self.facts(UnitSums { source, destination, held }, limits)
    }

    /// True if money of a risky origin came to the subject by its own payments, or if some were not read.
    #[must_use]
    pub fn may_be_risky(&self, own: &AccountPayments) -> bool {
        let is_risky = |payment: &Payment| {
            let deposit = self.attributions.deposit_of(payment).map(|deposit| deposit.payment);
            let shares = &deposit.unwrap_or(payment).shares;
            let categories =
                shares.known().iter().filter_map(|share| end_of(share.origin).0.category());
            payment.to == self.owner
                && categories.map(|it| it.info().severity).any(|it| it >= RISKY_FROM)
        };
        own.left_out > 0 || own.payments.iter().any(is_risky)
    }

    /// The origins of payments to the subject, apart from everything else that the subject received, sent and holds. No part
    /// of them is dust: the caller asks about them.
    #[must_use]
    pub fn origins_of(&self, payments: &[Payment]) -> FlowFacts {
        let Self { view, owner, attributions, today, .. } = *self;
        let payments: Vec<Payment> =
            payments.iter().map(|payment| Payment { to: owner, ..counted(payment) }).collect();
        let mut values = Valuation::new(self.prices);
        let payments = asked_about(view, &payments, &mut values);
        let of = (recent_since(today), payments.len() <= MOST_PAYMENTS);
        let mut source = received(owner, &payments, attributions, of);
        self.show_paths(&mut source, &payments);
        let limits = self.limits_of(&payments, values);
        self.facts(UnitSums { source, ..UnitSums::default() }, limits)
    }

    /// The destinations of a transfer to the subject, apart from everything else that the subject sent. `None` if money
    /// ends at the subject.
    #[must_use]
    pub fn destinations_of(&self, transfer: &BookedTransfer) -> Option<FlowFacts> {
        let Self { view, owner, attributions, today, .. } = *self;
        let attribution = attributions.of_account(owner);
        if attribution.as_ref().and_then(|it| it.end.as_ref()).is_some_and(ends_money) {
            return None;
        }
        let mut values = Valuation::new(self.prices);
        let payments: Vec<Payment> = transfer.payments().iter().map(counted).collect();
        let payments = asked_about(view, &payments, &mut values);
        let destination = sent_on(view, owner, &payments, attributions, recent_since(today));
        let limits = self.limits_of(&payments, values);
        Some(self.facts(UnitSums { destination, ..UnitSums::default() }, limits))
    }

    fn facts(&self, sums: UnitSums, limits: AccountLimits) -> FlowFacts {
        let view = self.view;
        let UnitSums { mut source, mut destination, mut held } = sums;
        let units: BTreeSet<MoneyUnit> =
            source.keys().chain(destination.keys()).chain(held.keys()).copied().collect();
        let is_netted = !limits.is_whole_not_netted;
        let txid = |number| transaction_text(view.chain(), view.txid(number));
        let flows = |parts: &mut BTreeMap<MoneyUnit, Parts>, unit| {
            let parts = parts.remove(&unit).filter(|parts| !parts.is_empty());
            parts.map_or_else(DirectionFlows::default, |it| it.into_flows(unit, is_netted, txid))
        };
        let ledgers = units.into_iter().map(|unit| Ledger {
            unit: unit.name(),
            decimals: unit.decimals(),
            left_out_decimals: unit.left_out_decimals(),
            source: flows(&mut source, unit),
            destination: flows(&mut destination, unit),
            held: flows(&mut held, unit),
            of_accounts: true,
        });
        FlowFacts {
            complete: limits.unread_payments == 0,
            ledgers: ledgers.collect(),
            compositions: None,
            account: Some(Box::new(limits)),
            contracts: None,
            histories: None,
        }
    }

    /// Shows the paths of the largest risky parts that no direct payer explains.
    fn show_paths(&self, source: &mut BTreeMap<MoneyUnit, Parts>, payments: &[Valued<'_>]) {
        let mut shown = 0;
        let all = source.iter_mut().flat_map(|(unit, parts)| {
            parts.0.iter_mut().map(move |(key, part)| (*unit, key, part))
        });
        let mut risky: Vec<_> = all
            .filter(|(_, key, _)| {
                let severity = key.end.category().map_or(0, |it| it.info().severity);
                !key.is_direct && severity >= RISKY_FROM
            })
            .collect();
        risky.sort_by_key(|(.., part)| std::cmp::Reverse(part.total()));
        for (unit, key, part) in risky {
            let (Some(category), Some(number)) = (key.end.category(), part.largest()) else {
                continue;
            };
            if shown == MOST_PATHS {
                break;
            }
            shown += 1;
            let origin = OriginCode::from(MoneyOrigin::Party(category, key.period));
            let is_wanted = |payment: &&Payment| {
                payment.transaction == number
                    && payment.to == self.owner
                    && payment.shares.known().iter().any(|share| share.origin == origin)
            };
            let of_transaction = payments.iter().map(|valued| valued.payment).filter(is_wanted);
            let mut largest = of_transaction.max_by_key(|payment| payment.amount);
            // A sum names its largest payment, which may be of another origin.
            let single: Vec<Payment>;
            if largest.is_some_and(|payment| payment.from == OwnerNumber::SEVERAL) {
                single = self.view.payments_of_transaction(number);
                largest = single.iter().filter(is_wanted).max_by_key(|payment| payment.amount);
            }
            let amount = part.total().shown(unit);
            let path = largest.and_then(|payment| {
                path_back(self.view, self.attributions, payment, origin, amount)
            });
            if let Some(path) = path {
                part.show(path);
            }
        }
    }

    /// The money that contracts paid the subject beyond what anybody is known to have put in for it, by unit.
    fn excess(&self, payments: &[Valued<'_>]) -> Vec<ExcessMoney> {
        let received = || payments.iter().filter(|valued| valued.payment.to == self.owner);
        let is_excess = |valued: &&Valued<'_>| valued.payment.kind == MovementKind::Excess;
        let units: BTreeSet<MoneyUnit> = received().filter(is_excess).map(|it| it.unit).collect();
        let of_unit = units.into_iter().map(|unit| {
            let of_unit = || received().filter(move |valued| valued.unit == unit);
            let mut parts: Vec<_> = of_unit().filter(is_excess).collect();
            parts.sort_by_key(|valued| std::cmp::Reverse(valued.value));
            let sum = |all: &mut dyn Iterator<Item = u128>| {
                all.fold(0, u128::saturating_add) / unit.fine()
            };
            let mut transactions: Vec<String> = Vec::new();
            for valued in &parts {
                let transaction = named(self.view, valued.payment);
                if transactions.len() < EXCESS_TRANSACTIONS && !transactions.contains(&transaction)
                {
                    transactions.push(transaction);
                }
            }
            ExcessMoney {
                unit: unit.name(),
                decimals: unit.decimals(),
                amount: sum(&mut parts.iter().map(|valued| valued.value)),
                received: sum(&mut of_unit().map(|valued| valued.value)),
                transactions,
            }
        });
        of_unit.collect()
    }

    /// The limits of what is known about payments by themselves: of their payers.
    fn limits_of(&self, payments: &[Valued<'_>], values: Valuation<'_>) -> AccountLimits {
        let view = self.view;
        let missing_at_payer = |valued: &&Valued<'_>| {
            let payment = valued.payment;
            let ledgers = view.ledgers(payment.from).into_iter();
            let mut of_asset = ledgers.filter(|(asset, _)| *asset == payment.asset);
            of_asset.any(|(_, ledger)| ledger.missing >= payment.amount)
        };
        let unrecorded: Vec<&Valued<'_>> = payments.iter().filter(missing_at_payer).collect();
        let native = |valued: &&Valued<'_>| {
            let asset = view.scored(valued.payment.asset);
            asset.is_some_and(|asset| asset.id.asset == super::Asset::Native)
        };
        let gaps = InternalGaps::of(view);
        let payers: BTreeSet<OwnerNumber> = payments.iter().map(|it| it.payment.from).collect();
        // What an end pays comes from it, whatever it received.
        let is_end = |payer: &OwnerNumber| {
            let attribution = self.attributions.of_account(*payer);
            attribution.as_ref().and_then(|it| it.end.as_ref()).is_some_and(ends_money)
        };
        let meets_gap = |payer: &OwnerNumber| {
            !is_end(payer) && gaps.meet(view, &view.history(*payer, MOST_PAYMENTS))
        };
        let are_many = payers.len() > MOST_PAYERS;
        let may_lack = unrecorded.iter().any(native) && !gaps.are_none(view);
        AccountLimits {
            has_unrecorded_money: !unrecorded.is_empty(),
            may_lack_internal_transfers: may_lack
                || (!gaps.0.is_empty() && (are_many || payers.iter().any(meets_gap))),
            ..self.limits(payments, values)
        }
    }

    fn limits(&self, payments: &[Valued<'_>], values: Valuation<'_>) -> AccountLimits {
        let view = self.view;
        let ledgers = view.ledgers(self.owner);
        let missing = ledgers.iter().filter(|(_, ledger)| ledger.missing > 0);
        let native = ledgers.iter().find(|(number, _)| {
            view.scored(*number).is_some_and(|asset| asset.id.asset == super::Asset::Native)
        });
        let moved = payments.iter().filter(|valued| {
            valued.payment.to == self.owner
                && view
                    .scored(valued.payment.asset)
                    .is_some_and(|asset| asset.id.asset == super::Asset::Native)
        });
        let moved = moved.map(|it| it.payment.amount).fold(0, u128::saturating_add);
        let unseen = native.map_or(0, |(_, ledger)| ledger.missing);
        let unpriced: BTreeSet<String> = payments
            .iter()
            .filter(|valued| valued.dust.is_none())
            .filter_map(|valued| match valued.unit {
                MoneyUnit::Dollars => None,
                MoneyUnit::Asset(asset) => Some(asset.ticker.to_owned()),
            })
            .collect();
        AccountLimits {
            has_unrecorded_money: missing.count() > 0,
            may_lack_internal_transfers: !InternalGaps::of(view).are_none(view)
                && unseen > 0
                && unseen >= moved,
            // The reader of the chain adds them.
            exceeding_ledgers: Vec::new(),
            unpriced: unpriced.into_iter().collect(),
            carried_prices: values.carried(),
            is_whole_not_netted: false,
            has_initiators: view.has_initiators(),
            excess: Vec::new(),
            taken: Vec::new(),
            summed_payments: 0,
            unread_payments: 0,
            lookalike_tokens: Vec::new(),
            lookalike_accounts: Vec::new(),
            other_tokens: 0,
            bridged: BridgedReceipts::default(),
        }
    }

    /// The activity of the subject by asset in its own payments; `None` without any.
    #[must_use]
    pub fn activity(&self, own: &AccountPayments) -> Option<ActivityFacts> {
        let Self { view, owner, .. } = *self;
        let mut amounts: BTreeMap<super::AssetId, AssetActivity> = BTreeMap::new();
        let (mut transfers_in, mut transfers_out) = (0, 0);
        let mut seen: Option<(Timestamp, Timestamp)> = None;
        let sums = own.sums.iter().map(|sum| (&sum.payment, sum.count, (sum.first, sum.time)));
        let single = own.payments.iter().map(|payment| {
            let time = view.time(payment.transaction);
            (payment, 1, (time, time))
        });
        for (payment, count, (begin, end)) in sums.chain(single) {
            seen =
                Some(seen.map_or((begin, end), |(first, last)| (first.min(begin), last.max(end))));
            let Some(asset) = view.scored(payment.asset) else { continue };
            let activity = amounts.entry(asset.id).or_insert_with(|| AssetActivity {
                asset: asset.ticker.to_owned(),
                received: 0,
                sent: 0,
                balance: 0,
            });
            if payment.to == owner {
                transfers_in += count;
                activity.received = activity.received.saturating_add(payment.amount);
            } else {
                transfers_out += count;
                activity.sent = activity.sent.saturating_add(payment.amount);
            }
        }
        let (first_seen, last_seen) = seen?;
        for activity in amounts.values_mut() {
            activity.balance = activity.received.saturating_sub(activity.sent);
        }
        for (number, ledger) in view.ledgers(owner) {
            let asset = view.scored(number).and_then(|asset| amounts.get_mut(&asset.id));
            if let Some(activity) = asset {
                activity.balance = ledger.balance;
            }
        }
        let amounts = amounts.into_values().collect();
        Some(ActivityFacts { first_seen, last_seen, transfers_in, transfers_out, amounts })
    }
}

/// Sums of a subject's money by unit.
#[derive(Default)]
struct UnitSums {
    source: BTreeMap<MoneyUnit, Parts>,
    destination: BTreeMap<MoneyUnit, Parts>,
    held: BTreeMap<MoneyUnit, Parts>,
}

/// The payments of a subject, of which receipts from bridges that were joined to deposits have the breakdown of these.
fn joined_with_deposits<'p>(
    attributions: &dyn AccountAttributions,
    payments: &'p [Payment],
) -> Cow<'p, [Payment]> {
    if payments.iter().all(|payment| attributions.deposit_of(payment).is_none()) {
        return payments.into();
    }
    let joined = payments
        .iter()
        .map(|payment| across(attributions, payment).unwrap_or_else(|| payment.clone()));
    Cow::Owned(joined.collect())
}

/// Payments about which a caller asks, with their values; none of them is dust.
fn asked_about<'p>(
    view: &dyn AccountView,
    payments: &'p [Payment],
    values: &mut Valuation<'_>,
) -> Vec<Valued<'p>> {
    let all = Valued::of(view, payments, values).into_iter();
    all.map(|each| Valued { dust: None, ..each }).collect()
}

/// A payment that a caller asks about counts, also if it is the receiver's own money.
fn counted(payment: &Payment) -> Payment {
    let kind = if payment.kind.is_own_money() { MovementKind::Payment } else { payment.kind };
    Payment { kind, ..payment.clone() }
}

/// Parses the identifier of a transaction as its chain writes it; on account chains, with or without `0x`.
///
/// # Errors
///
/// Returns an error if the text is no identifier of a transaction.
pub fn parse_transaction(chain: ChainId, text: &str) -> Result<Txid, InvalidTxid> {
    let is_of_accounts = chain.info().ledger == LedgerKind::Account;
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    digits.filter(|_| is_of_accounts).unwrap_or(text).parse()
}

/// The identifier of a transaction as its chain writes it: with `0x` on EVM chains, without it on TRON.
#[must_use]
pub fn transaction_text(chain: ChainId, id: Txid) -> String {
    if chain == ChainId::TRX { id.to_string() } else { format!("0x{id}") }
}
