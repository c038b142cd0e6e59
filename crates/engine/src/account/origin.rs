//! Origins of money in ledgers (`docs/model/accounts.md` B3).

use crate::{evidence::ListingPeriod, taxonomy::Category};

/// An origin of money that ledgers distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MoneyOrigin {
    /// A party of a category. For a listed party with a known day of listing also the period in which the money moved.
    Party(Category, Option<ListingPeriod>),
    /// New coins: rewards of blocks, and the genesis block.
    New,
    /// A conversion: money that came in exchange for another asset, whose own origin is not resolved.
    Conversion,
}

/// Number of codes of a category.
const CODES_OF_CATEGORY: u8 = 3;
const NEW: u8 = u8::MAX - 2;
const CONVERSION: u8 = u8::MAX - 1;

/// Lowest default severity of severe origins, whose shares are rounded up.
const SEVERE_FROM: u8 = 80;

/// The code of an origin in a ledger; codes sort like origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OriginCode(u8);

impl OriginCode {
    /// The origin of the code.
    #[must_use]
    pub fn origin(self) -> MoneyOrigin {
        match self.0 {
            NEW => MoneyOrigin::New,
            CONVERSION => MoneyOrigin::Conversion,
            code => {
                let category = Category::ALL.get(usize::from(code / CODES_OF_CATEGORY)).copied();
                let period = match code % CODES_OF_CATEGORY {
                    0 => None,
                    1 => Some(ListingPeriod::Before),
                    _ => Some(ListingPeriod::Since),
                };
                // Only codes of origins are made.
                category.map_or(MoneyOrigin::New, |category| MoneyOrigin::Party(category, period))
            }
        }
    }

    /// The code as a byte in stored ledgers. It is that of the taxonomy's order, so that another order is another format.
    #[must_use]
    pub const fn to_byte(self) -> u8 {
        self.0
    }

    /// The code of a byte; `None` for a byte that is no code.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        let place = usize::from(byte / CODES_OF_CATEGORY);
        (place < Category::ALL.len() || byte == NEW || byte == CONVERSION).then_some(Self(byte))
    }

    /// True for a category of a default severity of 80 and more, whose shares are rounded up.
    #[must_use]
    pub const fn is_severe(self) -> bool {
        // Categories are declared by falling severity.
        self.0 < SEVERE_BELOW
    }
}

/// The first code of a category that is not severe.
const SEVERE_BELOW: u8 = {
    let mut severe = 0;
    let mut rest = Category::ALL;
    while let [first, others @ ..] = rest {
        if first.info().severity < SEVERE_FROM {
            break;
        }
        severe += CODES_OF_CATEGORY;
        rest = others;
    }
    severe
};

impl From<MoneyOrigin> for OriginCode {
    fn from(origin: MoneyOrigin) -> Self {
        Self(match origin {
            MoneyOrigin::Party(category, period) => {
                // Its place among all: they are declared in the order of `Category::ALL`.
                let place = category as u8;
                let period = match period {
                    None => 0,
                    Some(ListingPeriod::Before) => 1,
                    Some(ListingPeriod::Since) => 2,
                };
                place.saturating_mul(CODES_OF_CATEGORY).saturating_add(period)
            }
            MoneyOrigin::New => NEW,
            MoneyOrigin::Conversion => CONVERSION,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_read_back() {
        let periods = [None, Some(ListingPeriod::Before), Some(ListingPeriod::Since)];
        let parties = Category::ALL
            .iter()
            .flat_map(|category| periods.map(|period| MoneyOrigin::Party(*category, period)));
        let all: Vec<_> = parties.chain([MoneyOrigin::New, MoneyOrigin::Conversion]).collect();
        for origin in &all {
            let code = OriginCode::from(*origin);
            assert_eq!(code.origin(), *origin);
            let severity = match origin {
                MoneyOrigin::Party(category, _) => category.info().severity,
                MoneyOrigin::New | MoneyOrigin::Conversion => 0,
            };
            assert_eq!(code.is_severe(), severity >= SEVERE_FROM, "{origin:?}");
        }
        let codes: std::collections::BTreeSet<_> = all.into_iter().map(OriginCode::from).collect();
        assert_eq!(codes.len(), Category::ALL.len() * 3 + 2);
    }
}
