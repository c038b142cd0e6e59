//! Sums of a subject's money by endpoint, which become the flow parts of an assessment.

use std::{collections::BTreeMap, sync::Arc};

use jiff::civil::Date;

use super::unit::{FineSum, MoneyUnit, mass};
use crate::{
    evidence::{
        CarriedLabel, CarriedPart, DirectionFlows, FlowDistance, FlowEnd, FlowPart, FlowPath,
        LabelDistance, ListingPeriod, PartyListing, Solicitation, Tier,
    },
    ledger::{TransactionNumber, mass::split},
    score::Confidence,
    trace::AttributedEnd,
};

/// The attributes by which flow parts differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartKey {
    pub(super) end: FlowEnd,
    pub(super) is_direct: bool,
    pub(super) entity: Option<Arc<str>>,
    pub(super) tier: Tier,
    pub(super) confidence: Confidence,
    pub(super) listed: bool,
    pub(super) solicitation: Solicitation,
    pub(super) period: Option<ListingPeriod>,
    pub(super) carried: Vec<CarriedLabel>,
}

impl PartKey {
    /// Money at an endpoint without a party, or at one of which only the category is known.
    pub(super) const fn plain(end: FlowEnd, is_direct: bool, solicitation: Solicitation) -> Self {
        Self {
            end,
            is_direct,
            entity: None,
            tier: Tier::Investigation,
            confidence: Confidence::CERTAIN,
            listed: false,
            solicitation,
            period: None,
            carried: Vec::new(),
        }
    }

    /// Money that came directly from, or went directly to, an attributed party on a day.
    pub(super) fn direct(end: &AttributedEnd, on: Date, solicitation: Solicitation) -> Self {
        Self {
            entity: end.entity.clone(),
            tier: end.tier,
            confidence: end.confidence,
            listed: end.listed,
            period: end.listed_on.map(|listed_on| ListingPeriod::of_movement(on, listed_on)),
            ..Self::plain(FlowEnd::of_category(end.category), true, solicitation)
        }
    }
}

/// Money of one key.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    earlier: FineSum,
    recent: FineSum,
    decayed_earlier: FineSum,
    decayed_recent: FineSum,
    /// Greatest sum that was outstanding.
    pub(super) outstanding: FineSum,
    hops: Option<u8>,
    listed_by: Option<Arc<PartyListing>>,
    days_before_listing: Option<u32>,
    /// The transactions with the largest amounts, the largest first.
    largest: Vec<(FineSum, TransactionNumber)>,
    paths: Vec<FlowPath>,
    /// Amounts in base units, by ticker.
    assets: BTreeMap<&'static str, FineSum>,
}

/// Number of transactions that a part names.
const TRANSACTIONS: usize = 5;

/// One amount that becomes a part of the sums.
#[derive(Clone, Copy, Debug)]
pub(super) struct Amount {
    pub(super) sum: FineSum,
    pub(super) decayed: FineSum,
    pub(super) is_recent: bool,
    pub(super) hops: Option<u8>,
    pub(super) transaction: Option<TransactionNumber>,
    /// Ticker of the asset, and the part of its amount; `None` further on, where only the value is divided.
    pub(super) asset: Option<(&'static str, FineSum)>,
}

impl Part {
    pub(super) fn add(&mut self, amount: Amount) {
        let Amount { sum, decayed, is_recent, hops, transaction, asset } = amount;
        if let Some((ticker, part)) = asset {
            let known = self.assets.entry(ticker).or_default();
            *known = known.plus(part);
        }
        let (total, near) = if is_recent {
            (&mut self.recent, &mut self.decayed_recent)
        } else {
            (&mut self.earlier, &mut self.decayed_earlier)
        };
        *total = total.plus(sum);
        *near = near.plus(decayed);
        self.hops = self.hops.into_iter().chain(hops).min();
        if let Some(transaction) = transaction {
            self.name(transaction, sum);
        }
    }

    pub(super) fn about(&mut self, end: &AttributedEnd, on: Date) {
        self.listed_by = self.listed_by.take().into_iter().chain(end.listed_by.clone()).min();
        let days = end.listed_on.and_then(|listed_on| {
            let days = u32::try_from(on.duration_until(listed_on).as_hours() / 24).ok()?;
            (days > 0).then_some(days)
        });
        self.days_before_listing = self.days_before_listing.into_iter().chain(days).min();
    }

    pub(super) fn show(&mut self, path: FlowPath) {
        self.paths.push(path);
    }

    fn name(&mut self, transaction: TransactionNumber, sum: FineSum) {
        if let Some((known, _)) = self.largest.iter_mut().find(|(_, it)| *it == transaction) {
            *known = known.plus(sum);
        } else {
            self.largest.push((sum, transaction));
        }
        self.largest.sort_by_key(|(sum, number)| (std::cmp::Reverse(*sum), *number));
        self.largest.truncate(TRANSACTIONS);
    }

    pub(super) const fn total(&self) -> FineSum {
        self.earlier.plus(self.recent)
    }

    /// The transaction with the largest amount.
    pub(super) fn largest(&self) -> Option<TransactionNumber> {
        self.largest.first().map(|(_, transaction)| *transaction)
    }
}

/// The money of one direction in one unit.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts(pub(super) BTreeMap<PartKey, Part>);

impl Parts {
    pub(super) fn at(&mut self, key: PartKey) -> &mut Part {
        self.0.entry(key).or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.values().all(|part| part.total().is_zero())
    }

    /// The flow parts, whose amounts sum to the whole. `txid` names transactions.
    pub(super) fn into_flows(
        self,
        unit: MoneyUnit,
        is_netted: bool,
        txid: impl Fn(TransactionNumber) -> String,
    ) -> DirectionFlows {
        let sums = |of: fn(&Part) -> FineSum| -> Vec<u128> {
            self.0.values().map(|part| of(part).units()).collect()
        };
        let (earlier, recent) = (sums(|part| part.earlier), sums(|part| part.recent));
        let total = |sums: &[u128]| {
            let sum = self
                .0
                .values()
                .zip(sums)
                .fold(FineSum::default(), |sum, (_, it)| sum.plus(FineSum::of_units(*it)));
            sum.shown(unit)
        };
        let earlier_shown = split(total(&earlier), &earlier);
        let recent_shown = split(total(&recent), &recent);
        let amounts = earlier_shown.into_iter().zip(recent_shown);
        let parts =
            self.0.into_iter().zip(amounts).filter_map(|((key, part), (earlier, recent))| {
                let amount = earlier.saturating_add(recent);
                (amount > 0).then(|| part.flow(key, unit, (amount, recent), is_netted, &txid))
            });
        DirectionFlows { parts: parts.collect(), transactions: 0 }
    }
}

impl Part {
    fn flow(
        self,
        key: PartKey,
        unit: MoneyUnit,
        (amount, recent): (u128, u128),
        is_netted: bool,
        txid: &impl Fn(TransactionNumber) -> String,
    ) -> FlowPart {
        let total = self.total();
        let all = mass(unit, self.earlier, self.recent);
        let outstanding = (is_netted && self.outstanding < total)
            .then(|| self.outstanding.shown(unit).min(amount));
        let mut transactions: Vec<String> = Vec::new();
        // Steps behind a bridge are of another chain.
        let steps = self.paths.iter().flat_map(|path| &path.steps);
        let own_steps = steps.filter(|step| step.blockchain.is_none());
        let of_paths = own_steps.map(|step| step.transaction.clone());
        for transaction in of_paths.chain(self.largest.iter().map(|(_, number)| txid(*number))) {
            if !transactions.contains(&transaction) {
                transactions.push(transaction);
            }
        }
        let distance = LabelDistance { hops: 1, decayed: all };
        let carried = key.carried.into_iter().map(|label| CarriedPart { label, distance });
        FlowPart {
            end: key.end,
            entity: key.entity.as_deref().map(str::to_owned),
            distance: FlowDistance::Hops(self.hops.unwrap_or(1).into()),
            is_direct: key.is_direct,
            tier: match unit {
                MoneyUnit::Dollars => key.tier,
                // Without a price, the money may be worth nothing beside the rest.
                MoneyUnit::Asset(_) => key.tier.weaker(Tier::Heuristic),
            },
            confidence: key.confidence,
            amount,
            recent,
            outstanding,
            mass: all,
            decayed: mass(unit, self.decayed_earlier, self.decayed_recent).at_most(all),
            listed: key.listed,
            listed_by: self.listed_by,
            solicitation: key.solicitation,
            carried: carried.collect(),
            listing_period: key.period,
            days_before_listing: self.days_before_listing,
            party_of_path: None,
            transactions,
            paths: self.paths,
            assets: self
                .assets
                .into_iter()
                .map(|(ticker, sum)| (ticker.to_owned(), sum.base_units()))
                .collect(),
        }
    }
}
