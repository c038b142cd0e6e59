//! Comparison of an answer of `assay check --json` with the expected one.

use std::collections::{BTreeMap, BTreeSet};

use assay_address::{CanonicalAddress, ChainId};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    blocks::{Moment, Scenario},
    cast::address,
    expected::{Expectation, ExpectedRow},
};

/// Shares are written in millionths.
const SHARE_WHOLE: u64 = 1_000_000;
/// Largest number of rows of an answer with one endpoint, each of which is rounded separately.
const MOST_ROWS_OF_ONE_END: u128 = 7;

/// Expected answer about one address.
#[derive(Clone, Debug)]
pub struct ExpectedAnswer {
    /// Name of the address's owner, for messages.
    pub person: String,
    /// The chain.
    pub chain: ChainId,
    /// The address.
    pub address: CanonicalAddress,
    /// The height of the newest block that the answer is based on.
    pub tip: u64,
    /// Times at which the address first and last appears; `None` if it never appears.
    pub seen: Option<(Timestamp, Timestamp)>,
    /// Numbers of transactions that paid the address, and in which the address paid, without change.
    pub transfers: (u64, u64),
    /// Total that the address received, in base units.
    pub received: u64,
    /// Total that the address sent, in base units.
    pub sent: u64,
    /// Origins of the received amount.
    pub source: Vec<Money>,
    /// Destinations of the received amount; the address's own balance is `held`, at 0 hops.
    pub destination: Vec<Money>,
}

/// Endpoint that rows have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// A category, or another kind of endpoint.
    pub end: String,
    /// The reason for which the money was not traced further; empty if there is none.
    pub reason: String,
    /// Name of the party; empty if there is none.
    pub entity: String,
    /// True if the party is on a list in force.
    pub listed: bool,
    /// `false` for unsolicited money of an unrelated party.
    pub solicited: bool,
    /// True if the address itself holds the money.
    pub own: bool,
}

/// Money of one direction with the same endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Money {
    /// Endpoint of the money.
    pub end: End,
    /// Fewest hops.
    pub hops: u64,
    /// Amount in base units.
    pub amount: u64,
    /// Share of the direction's total in millionths, as in the answer.
    pub share: u64,
    /// The transactions that an answer names as evidence; of an expectation, the transactions that an answer may name.
    /// Empty: any.
    pub transactions: BTreeSet<String>,
}

/// Differences between `answer` and the expectation at `moment`; empty if there are none.
///
/// Rows of one endpoint may be split, by hops for instance: their sum counts, and their fewest
/// hops. The transactions that a row names must lie on the path; if there is only one path, all of
/// its transactions must be named.
#[must_use]
pub fn check_scenario(
    answer: &Value,
    expected: &Expectation,
    scenario: &Scenario,
    moment: Moment,
) -> Vec<String> {
    ExpectedAnswer::new(expected, scenario, moment).differences(answer)
}

/// The height of the newest block that the answer is based on.
#[must_use]
pub fn tip_of(answer: &Value) -> Option<u64> {
    let sources = answer["sources"].as_array()?;
    let mut tips = sources.iter().filter_map(|source| {
        let tip = source.get("latest_block")?;
        tip.get("height").unwrap_or(tip).as_u64()
    });
    tips.next()
}

impl ExpectedAnswer {
    /// Expectation for a party at `moment`.
    ///
    /// # Panics
    ///
    /// Panics if the scenario has no such payment.
    #[must_use]
    pub fn new(expected: &Expectation, scenario: &Scenario, moment: Moment) -> Self {
        let chain = scenario.network.chain();
        let time = |height| {
            let seconds = i64::from(scenario.times.of_block(height));
            Timestamp::from_second(seconds).expect("a time")
        };
        let rows =
            |rows: &[ExpectedRow]| rows.iter().map(|row| Money::expected(row, scenario)).collect();
        Self {
            person: expected.person.to_owned(),
            chain,
            address: address(chain, expected.person),
            tip: moment.height(),
            seen: expected.seen.map(|(first, last)| (time(first), time(last))),
            transfers: expected.transfers,
            received: expected.received,
            sent: expected.sent,
            source: rows(&expected.source),
            destination: rows(&expected.destination),
        }
        .with_held_balance()
    }

    /// Adds the balance of the address to the destinations, as held money at 0 hops.
    #[must_use]
    pub fn with_held_balance(mut self) -> Self {
        let amount = self.received - self.sent;
        if amount > 0 {
            let end = End {
                end: "unspent_by_subject".to_owned(),
                solicited: true,
                own: true,
                ..End::default()
            };
            self.destination.push(Money { end, hops: 0, amount, ..Money::default() });
        }
        self
    }

    /// Differences of an answer; empty if there are none.
    #[must_use]
    pub fn differences(&self, answer: &Value) -> Vec<String> {
        let mut differences = Differences { person: &self.person, found: Vec::new() };
        let differ = &mut differences;
        differ.compare_field("blockchain", text(answer, "blockchain"), self.chain.as_str());
        differ.compare_field("address", text(answer, "address"), self.address.as_str());
        differ.compare_field("height of the tip", &tip_of(answer), &Some(self.tip));
        self.activity(differ, &answer["activity"]);
        for (way, wanted) in [("source", &self.source), ("destination", &self.destination)] {
            direction(differ, answer, way, self.received, wanted);
        }
        differences.found
    }

    fn activity(&self, differ: &mut Differences<'_>, activity: &Value) {
        let status = if self.seen.is_some() { "seen" } else { "none" };
        differ.compare_field("activity", text(activity, "status"), status);
        let balance = self.received - self.sent;
        for (field, amount) in [("in", self.received), ("out", self.sent), ("balance", balance)] {
            let amounts = activity[field].as_array().into_iter().flatten();
            differ.compare_field(field, &amounts.map(base_units).sum(), &amount);
        }
        let Some((first, last)) = self.seen else { return };
        for (field, time) in [("first_seen", first), ("last_seen", last)] {
            differ.compare_field(field, &text(activity, field).parse().ok(), &Some(time));
        }
        let (incoming, outgoing) = self.transfers;
        for (field, count) in [("transfers_in", incoming), ("transfers_out", outgoing)] {
            let found = activity["counts"].get(field).and_then(Value::as_u64);
            differ.compare_field(field, &found, &Some(count));
        }
    }
}

impl Money {
    fn expected(row: &ExpectedRow, scenario: &Scenario) -> Self {
        Self {
            end: End {
                end: row.end.to_owned(),
                reason: row.reason.unwrap_or_default().to_owned(),
                entity: row.entity.unwrap_or_default().to_owned(),
                listed: row.listed,
                solicited: row.solicited,
                own: false,
            },
            hops: row.hops,
            amount: row.amount,
            share: 0,
            transactions: row.path.iter().map(|name| scenario.txid(name).to_string()).collect(),
        }
    }

    fn observed(row: &Value) -> Self {
        let transactions = row["transactions"].as_array().into_iter().flatten();
        Self {
            end: End {
                end: text(row, "endpoint_type").to_owned(),
                reason: text(row, "unresolved_reason").to_owned(),
                entity: text(row, "entity").to_owned(),
                listed: row["listed"] == true,
                solicited: row["solicited"] == true,
                own: row["hops"] == 0,
            },
            hops: row["hops"].as_u64().unwrap_or_default(),
            amount: base_units(&row["amount"]),
            share: text(row, "share").replace('.', "").parse().unwrap_or_default(),
            transactions: transactions.filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }

    fn merge(&mut self, other: Self) {
        self.hops = self.hops.min(other.hops);
        self.amount += other.amount;
        self.share += other.share;
        self.transactions.extend(other.transactions);
    }

    fn named(&self) -> String {
        let End { end, reason, entity, listed, solicited, own } = &self.end;
        let marks = [(*listed, "listed"), (!solicited, "unasked"), (*own, "own")];
        let marks = marks.into_iter().filter(|(holds, _)| *holds).map(|(_, mark)| mark);
        let words = [&**end, reason, entity].into_iter().chain(marks);
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

struct Differences<'a> {
    person: &'a str,
    found: Vec<String>,
}

impl Differences<'_> {
    fn compare_field<T>(&mut self, what: &str, found: &T, expected: &T)
    where
        T: PartialEq + std::fmt::Debug + ?Sized,
    {
        if found != expected {
            self.report(format!("{what}: {found:?} instead of {expected:?}"));
        }
    }

    fn report(&mut self, what: impl std::fmt::Display) {
        self.found.push(format!("{}: {what}", self.person));
    }
}

/// Compares the rows of one direction, whose sum is `whole`.
fn direction(
    differ: &mut Differences<'_>,
    answer: &Value,
    direction: &str,
    whole: u64,
    wanted: &[Money],
) {
    let mut found: BTreeMap<End, Money> = BTreeMap::new();
    let rows = answer["exposure"].as_array().into_iter().flatten();
    for money in rows.filter(|row| row["direction"] == direction).map(Money::observed) {
        match found.get_mut(&money.end) {
            Some(same) => same.merge(money),
            None => {
                found.insert(money.end.clone(), money);
            }
        }
    }
    let shares: u64 = found.values().map(|money| money.share).sum();
    let all = if found.is_empty() { 0 } else { SHARE_WHOLE };
    differ.compare_field(&format!("{direction}: sum of the shares"), &shares, &all);
    for money in wanted {
        let what = format!("{direction}, {}", money.named());
        match found.remove(&money.end) {
            Some(found) => compare(differ, &what, &found, money, whole),
            None => differ.report(format!("{what}: {} are missing", money.amount)),
        }
    }
    for money in found.values() {
        let (amount, what) = (money.amount, money.named());
        differ.report(format!("{direction}, {what}: {amount} are not expected"));
    }
}

fn compare(differ: &mut Differences<'_>, what: &str, found: &Money, wanted: &Money, whole: u64) {
    differ.compare_field(&format!("{what}: amount"), &found.amount, &wanted.amount);
    differ.compare_field(&format!("{what}: fewest hops"), &found.hops, &wanted.hops);
    let share = u128::from(wanted.amount) * u128::from(SHARE_WHOLE) / u128::from(whole.max(1));
    if u128::from(found.share).abs_diff(share) > MOST_ROWS_OF_ONE_END {
        differ.report(format!("{what}: a share of {} instead of {share} millionths", found.share));
    }
    let (named, path) = (&found.transactions, &wanted.transactions);
    if path.is_empty() {
        return;
    }
    let is_only_path = u64::try_from(path.len()) == Ok(wanted.hops);
    if is_only_path {
        differ.compare_field(&format!("{what}: transactions"), named, path);
    } else if named.is_empty() || !named.is_subset(path) {
        differ.report(format!("{what}: {named:?} are not transactions of {path:?}"));
    }
}

fn base_units(amount: &Value) -> u64 {
    text(amount, "value").parse().unwrap_or(u64::MAX / 1000)
}

/// A field's text; empty if there is none.
fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}
