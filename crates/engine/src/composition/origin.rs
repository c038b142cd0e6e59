//! Origins of funds.

use crate::{evidence::ListingPeriod, taxonomy::Category};

/// An origin of funds that compositions (breakdowns of a transaction's funds by origin) distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// A party of a category. For a listed party with a known day of listing also the period in which the funds moved.
    Party(Category, Option<ListingPeriod>),
    /// New coins.
    Mining,
}

/// Number of codes of a category: for parties with an unknown period, for funds before the listing, and for funds
/// since.
const CODES_OF_CATEGORY: u8 = 3;
/// The code of the origin "mining" (newly mined coins).
const MINING: u8 = u8::MAX - 2;

impl Origin {
    /// Number of codes.
    pub(super) const CODES: usize = 256;

    /// The code of the origin; codes sort like origins.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Party(category, period) => {
                // Its place among all: they are declared in the order of `Category::ALL`.
                let place = category as u8;
                let period = match period {
                    None => 0,
                    Some(ListingPeriod::Before) => 1,
                    Some(ListingPeriod::Since) => 2,
                };
                place.saturating_mul(CODES_OF_CATEGORY).saturating_add(period)
            }
            Self::Mining => MINING,
        }
    }

    /// The origin of a code; `None` if no origin has the code.
    pub(super) fn from_code(code: u8) -> Option<Self> {
        if code == MINING {
            return Some(Self::Mining);
        }
        let category = *Category::ALL.get(usize::from(code / CODES_OF_CATEGORY))?;
        let period = match code % CODES_OF_CATEGORY {
            0 => None,
            1 => Some(ListingPeriod::Before),
            _ => Some(ListingPeriod::Since),
        };
        Some(Self::Party(category, period))
    }
}
