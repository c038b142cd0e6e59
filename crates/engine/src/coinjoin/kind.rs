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

    /// Confidence that a transaction of this kind is recognized correctly. The figures of the
    /// module's documentation contain no wrong result among 255 for Wasabi 1 and `JoinMarket`.
    /// Their confidence is below 100 because other years were not measured, and `JoinMarket`'s rule
    /// errs in generated batches. Wasabi 2, Whirlpool and `PrivateSend` use values that hardly any
    /// other transaction has, but were not measured. A generic transaction is recognized by its
    /// sums alone.
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
