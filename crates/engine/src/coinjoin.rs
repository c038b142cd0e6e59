//! Joint transactions of several people that hide who paid whom.

use crate::score::Confidence;

/// A kind of `CoinJoin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CoinjoinKind {
    /// Equal outputs of several parties, of no kind below.
    Generic,
    /// Wasabi 1.
    Wasabi1,
    /// Wasabi 2.
    Wasabi2,
    /// Whirlpool.
    Whirlpool,
    /// `JoinMarket`.
    JoinMarket,
}

impl CoinjoinKind {
    /// Every kind.
    pub const ALL: [Self; 5] =
        [Self::Generic, Self::Wasabi1, Self::Wasabi2, Self::Whirlpool, Self::JoinMarket];

    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Wasabi1 => "wasabi_1",
            Self::Wasabi2 => "wasabi_2",
            Self::Whirlpool => "whirlpool",
            Self::JoinMarket => "joinmarket",
        }
    }

    /// How sure the recognition of this kind is.
    #[must_use]
    pub const fn confidence(self) -> Confidence {
        Confidence::from_percent(match self {
            Self::Wasabi1 | Self::Wasabi2 | Self::Whirlpool => 90,
            Self::JoinMarket => 70,
            Self::Generic => 50,
        })
    }
}
