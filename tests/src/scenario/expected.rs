//! Notation of the expected results.

use super::blocks::Moment;

/// The entities that labels and the sanctions list name.
pub const NORTH: &str = "North Exchange";
/// The exchange where the thief cashes out.
pub const SOUTH: &str = "South Exchange";
/// The party that took the money.
pub const THEFT: &str = "Theft from North Exchange";
/// The listed party.
pub const LISTED: &str = "Listed Holdings";

/// Expected answer about one address.
#[derive(Clone, Copy, Debug)]
pub struct Expectation {
    /// Name of the address's owner.
    pub person: &'static str,
    /// Moments at which the expectation holds.
    pub at: &'static [Moment],
    /// The first and the last block in which the address appears; `None` where it never does.
    pub seen: Option<(u64, u64)>,
    /// Transactions that paid it anything, and in which it paid anything, change aside.
    pub transfers: (u64, u64),
    /// Total that it received, change aside, in base units.
    pub received: u64,
    /// Total that it sent, change aside, fees included. The rest is its balance.
    pub sent: u64,
    /// Origins of the received amount.
    pub source: &'static [Row],
    /// Destinations of the received amount.
    pub destination: &'static [Row],
}

/// Money of one direction that ends alike.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Endpoint of the money.
    pub end: &'static str,
    /// Why it was not followed further.
    pub reason: Option<&'static str>,
    /// Name of the party.
    pub entity: Option<&'static str>,
    /// Fewest hops. Money that is not followed further counts as one hop away.
    pub hops: u64,
    /// In base units.
    pub amount: u64,
    /// True if the party is on a list in force.
    pub listed: bool,
    /// `false` for unsolicited money of an unrelated party.
    pub solicited: bool,
    /// Every transaction that the money passed between the end and the address, by name.
    pub path: &'static [&'static str],
}

/// Money that ends at no party in particular.
pub(super) const fn row(
    end: &'static str,
    hops: u64,
    amount: u64,
    path: &'static [&'static str],
) -> Row {
    let (reason, entity, listed, solicited) = (None, None, false, true);
    Row { end, reason, entity, hops, amount, listed, solicited, path }
}

/// Money that ends at an entity of a category.
pub(super) const fn at(
    category: &'static str,
    entity: &'static str,
    hops: u64,
    amount: u64,
    path: &'static [&'static str],
) -> Row {
    Row { entity: Some(entity), ..row(category, hops, amount, path) }
}

/// Money that was not followed further.
pub(super) const fn unresolved(reason: &'static str, amount: u64) -> Row {
    Row { reason: Some(reason), ..row("unresolved", 1, amount, &[]) }
}

/// Mined coins. A hop leads to the miner, one more to the coinbase.
pub(super) const fn mined(hops: u64, amount: u64, path: &'static [&'static str]) -> Row {
    row("mining", hops, amount, path)
}

/// A party that appears.
pub(super) const fn person(
    person: &'static str,
    at: &'static [Moment],
    seen: (u64, u64),
    transfers: (u64, u64),
    received: u64,
    source: &'static [Row],
) -> Expectation {
    Expectation {
        person,
        at,
        seen: Some(seen),
        transfers,
        received,
        sent: 0,
        source,
        destination: &[],
    }
}

/// A party that never appears.
pub(super) const fn nobody(person: &'static str, at: &'static [Moment]) -> Expectation {
    Expectation {
        person,
        at,
        seen: None,
        transfers: (0, 0),
        received: 0,
        sent: 0,
        source: &[],
        destination: &[],
    }
}

impl Expectation {
    /// The same where nobody knows who paid the fees of a block: all of a coinbase is mined.
    #[must_use]
    pub fn with_fees_as_mined(self) -> Self {
        // A miner's own coins, without a path to them.
        let [mined @ Row { end: "mining", path: [], .. }, fees @ ..] = self.source else {
            return self;
        };
        let fees: u64 = fees.iter().map(|row| row.amount).sum();
        let mined = Row { amount: mined.amount + fees, ..*mined };
        Self { source: Vec::leak(vec![mined]), ..self }
    }

    /// And sent so much.
    pub(super) const fn sent(self, sent: u64, destination: &'static [Row]) -> Self {
        Self { sent, destination, ..self }
    }
}
