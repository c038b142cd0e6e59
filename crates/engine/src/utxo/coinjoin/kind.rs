//! The kinds of joint transactions, and the confidence of their recognition.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::score::Confidence;

/// A kind of `CoinJoin`, a joint transaction of several parties.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CoinjoinKind {
    /// Equal outputs of several parties, in a transaction of none of the protocols below.
    Generic,
    /// Wasabi 1.0 and 1.1. The passed tests distinguish the versions: only rounds of 1.1 have
    /// [`DenominationLevels`](super::RecognitionTest::DenominationLevels).
    Wasabi1,
    /// Wasabi 2.
    Wasabi2,
    /// Whirlpool, of Samourai or Ashigaru.
    Whirlpool,
    /// `JoinMarket`.
    JoinMarket,
    /// Dash's `PrivateSend`, since 2020 called `CoinJoin` by Dash.
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

    /// Confidence that a transaction of this kind is recognized correctly if it passed every test that the kind
    /// expects. The confidence also counts where only the kind is stored; a [`Recognition`](super::Recognition) has a
    /// confidence of its own.
    ///
    /// The figures of the module's documentation contain no wrong result among 255 for Wasabi 1 and `JoinMarket`. The
    /// confidence of both kinds is below 100 because other years were not measured, and `JoinMarket`'s rule errs in
    /// generated batches. Wasabi 2, Whirlpool and `PrivateSend` use values that hardly any other transaction has, but
    /// were not measured. A generic transaction is recognized by its sums alone.
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

/// Kind of a recognized transaction: a joint one, or the preparation of a joint transaction.
///
/// Transactions and graphs store only joint kinds: [`TransactionKind`](crate::utxo::TransactionKind) has no variant for
/// an entry, so a trace passes an entry like any payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecognizedKind {
    /// A joint transaction of several parties.
    Joint(CoinjoinKind),
    /// A Whirlpool Tx0: one party splits its coins into inputs for later rounds and pays the coordinator. The inputs of
    /// a Tx0 have one owner.
    Entry,
}

impl RecognizedKind {
    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Joint(kind) => kind.as_str(),
            Self::Entry => "coinjoin_entry",
        }
    }

    /// The kind of joint transaction; `None` for an entry, which one party makes alone.
    #[must_use]
    pub const fn joint(self) -> Option<CoinjoinKind> {
        match self {
            Self::Joint(kind) => Some(kind),
            Self::Entry => None,
        }
    }

    /// True if several parties took part.
    #[must_use]
    pub const fn is_joint(self) -> bool {
        self.joint().is_some()
    }

    /// Confidence of a recognition that passed every test that the kind expects. An entry rests on
    /// amounts that few other transactions have, and was not measured, like Whirlpool's rounds.
    #[must_use]
    pub const fn confidence(self) -> Confidence {
        match self {
            Self::Joint(kind) => kind.confidence(),
            Self::Entry => Confidence::from_percent(80),
        }
    }
}
