//! Notation of the expected results.

use super::{
    blocks::Moment,
    payments::{coins, lines},
};

/// The entities that labels and the sanctions list name.
pub const NORTH: &str = "North Exchange";
/// The exchange where the thief cashes out.
pub const SOUTH: &str = "South Exchange";
/// The party that took the money.
pub const THEFT: &str = "Theft from North Exchange";
/// The listed party.
pub const LISTED: &str = "Listed Holdings";

/// Expected answer about one address.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// Name of the address's owner.
    pub person: &'static str,
    /// Moments at which the expectation holds.
    pub at: Vec<Moment>,
    /// The first and the last block in which the address appears; `None` if it never appears.
    pub seen: Option<(u64, u64)>,
    /// Numbers of transactions that paid the address, and in which the address paid, without change.
    pub transfers: (u64, u64),
    /// Total that the address received, without change, in base units.
    pub received: u64,
    /// Total that the address sent, without change, with fees. The rest is the balance.
    pub sent: u64,
    /// Origins of the received amount.
    pub source: Vec<ExpectedRow>,
    /// Destinations of the received amount.
    pub destination: Vec<ExpectedRow>,
}

/// Money of one direction with the same endpoint.
#[derive(Clone, Debug)]
pub struct ExpectedRow {
    /// Endpoint of the money.
    pub end: &'static str,
    /// The reason for which the money was not traced further.
    pub reason: Option<&'static str>,
    /// Name of the party.
    pub entity: Option<&'static str>,
    /// Fewest hops. Money that is not followed further counts as one hop away.
    pub hops: u64,
    /// Amount in base units.
    pub amount: u64,
    /// True if the party is on a list in force.
    pub listed: bool,
    /// `false` for unsolicited money of an unrelated party.
    pub solicited: bool,
    /// Every transaction that the money passed between the endpoint and the address, by name.
    pub path: Vec<&'static str>,
}

/// Parses expectations: a line for each, followed by a line for each of its rows.
pub(super) fn expectations(text: &'static str) -> Vec<Expectation> {
    let mut all: Vec<Expectation> = Vec::new();
    for line in lines(text) {
        let (from, to) = (line.strip_prefix("  from "), line.strip_prefix("  to "));
        match all.last_mut() {
            Some(party) if from.is_some() => party.source.extend(from.map(ExpectedRow::read)),
            Some(party) if to.is_some() => party.destination.extend(to.map(ExpectedRow::read)),
            _ => all.push(Expectation::read(line)),
        }
    }
    all
}

impl ExpectedRow {
    fn read(line: &'static str) -> Self {
        let parts = line.split_once(": ").and_then(|(end, money)| {
            let (end, hops) = end.rsplit_once(" at ")?;
            Some((end, hops.parse().ok()?, money))
        });
        let Some((end, hops, money)) = parts else { panic!("no row: {line}") };
        let (amount, path) = money.split_once(" by ").unwrap_or((money, ""));
        let (end, marks) = end.split_once(' ').unwrap_or((end, ""));
        let (end, reason) = match end.split_once(':') {
            Some((end, reason)) => (end, Some(reason)),
            None => (end, None),
        };
        Self {
            end,
            reason,
            entity: marks.split_once(')').map(|(entity, _)| &entity[1..]),
            hops,
            amount: coins(amount),
            listed: marks.ends_with(" listed"),
            solicited: !marks.ends_with(" unsolicited"),
            path: path.split_whitespace().collect(),
        }
    }
}

impl Expectation {
    fn read(line: &'static str) -> Self {
        let (party, rest) = line.split_once(": ").expect("a party and its money");
        let (person, at) = party.split_once(' ').expect("a party and a moment");
        let at = match at {
            "before" => vec![Moment::BeforeReorganisation],
            "end" => vec![Moment::End],
            _ => vec![Moment::BeforeReorganisation, Moment::End],
        };
        let words: Vec<&str> = rest.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let number = |word: &str| word.parse::<u64>().expect("a number");
        let (seen, transfers, received, sent) = match words[..] {
            ["nothing"] => (None, (0, 0), 0, 0),
            [
                "blocks",
                first,
                "to",
                last,
                got,
                "in",
                "by",
                incoming,
                gave,
                "out",
                "by",
                outgoing,
            ] => {
                let seen = (number(first), number(last));
                let transfers = (number(incoming), number(outgoing));
                (Some(seen), transfers, coins(got), coins(gave))
            }
            _ => panic!("no expectation: {line}"),
        };
        let (source, destination) = (Vec::new(), Vec::new());
        Self { person, at, seen, transfers, received, sent, source, destination }
    }

    /// The expectation for a source without payers of fees, for which a whole coinbase counts as mined.
    #[must_use]
    pub fn with_fees_as_mined(&self) -> Self {
        let mut expected = self.clone();
        // A miner's own coins, without a path to them.
        if let [mined, fees @ ..] = &mut expected.source[..]
            && (mined.end, mined.path.is_empty()) == ("mining", true)
        {
            mined.amount += fees.iter().map(|row| row.amount).sum::<u64>();
            expected.source.truncate(1);
        }
        expected
    }
}
