//! The kinds, and how sure the recognition of each is.

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
    /// Whirlpool, of Samourai or Ashigaru.
    Whirlpool,
    /// `JoinMarket`.
    JoinMarket,
    /// Dash's `PrivateSend`, since 2020 called `CoinJoin` there.
    PrivateSend,
}

impl CoinjoinKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Generic,
        Self::Wasabi1,
        Self::Wasabi2,
        Self::Whirlpool,
        Self::JoinMarket,
        Self::PrivateSend,
    ];

    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Wasabi1 => "wasabi_1",
            Self::Wasabi2 => "wasabi_2",
            Self::Whirlpool => "whirlpool",
            Self::JoinMarket => "joinmarket",
            Self::PrivateSend => "privatesend",
        }
    }

    /// How sure the recognition of this kind is. For Wasabi 1 and `JoinMarket` the module's page has no
    /// wrong one among 255; what is withheld is for other times than those measured, and in made-up
    /// batches the market's rule is the one that errs. Wasabi 2, Whirlpool and `PrivateSend` have values
    /// that hardly anybody else pays, but were not measured. What is left has no mark but its sums.
    #[must_use]
    pub const fn confidence(self) -> Confidence {
        Confidence::from_percent(match self {
            Self::Wasabi1 => 90,
            Self::JoinMarket => 85,
            Self::Wasabi2 | Self::Whirlpool | Self::PrivateSend => 80,
            Self::Generic => 50,
        })
    }
}
