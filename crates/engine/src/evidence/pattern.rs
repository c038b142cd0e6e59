//! Patterns of behaviour: what each means, and how it is handed to the score.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::score::Confidence;

/// The part that the subject plays in a pattern.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum PatternRole {
    /// Carries it out.
    Actor,
    /// Receives from it.
    Recipient,
    /// Suffers it; never scored.
    Victim,
}

/// A pattern found at the subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatternFact {
    /// The pattern.
    pub pattern: Pattern,
    /// The subject's part in it.
    pub role: PatternRole,
    /// Confidence of the detection.
    pub confidence: Confidence,
    /// Identifiers of transactions that show it.
    pub transactions: Vec<String>,
}

macro_rules! patterns {
    ($($variant:ident $id:literal $severity:literal $definition:literal;)+) => {
        /// A pattern of behaviour. The set may grow.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        pub enum Pattern {
            $(#[doc = $definition] #[serde(rename = $id)] $variant,)+
        }

        impl Pattern {
            /// Every pattern.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The identifier used in answers.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $id,)+ }
            }

            /// Definition of the pattern.
            #[must_use]
            pub const fn definition(self) -> &'static str {
                match self { $(Self::$variant => $definition,)+ }
            }

            /// Risk of a certain finding, 0 to 100; behaviour alone never reaches review.
            #[must_use]
            pub const fn severity(self) -> u8 {
                match self { $(Self::$variant => $severity,)+ }
            }
        }
    };
}

patterns! {
    MixerUse "mixer_use" 45
        "Pays into or out of a mixing contract or service.";
    AddressPoisoning "address_poisoning" 45
        "Sends dust or worthless transfers from addresses made to look like a victim's counterparties.";
    Structuring "structuring" 40
        "Splits a sum into many transfers just below a threshold within a day.";
    PeelChain "peel_chain" 35
        "Passes a sum through a chain of transactions with one input and two outputs, peeling off small payments.";
    RapidPassThrough "rapid_pass_through" 35
        "Forwards nearly all it receives within minutes.";
    GatherScatter "gather_scatter" 35
        "Collects from several addresses and pays out to several others within a short period.";
    Cycle "cycle" 35
        "Sends money that returns to it through other addresses.";
    CoinjoinUse "coinjoin_use" 30
        "Takes part in joint transactions that hide who paid whom (generic, Wasabi, Whirlpool, JoinMarket).";
    Dusting "dusting" 30
        "Sends amounts near the dust limit to many unrelated addresses.";
    FanIn "fan_in" 20
        "Receives from many addresses within a short period.";
    FanOut "fan_out" 20
        "Pays many addresses within a short period.";
    DormantReactivation "dormant_reactivation" 15
        "Moves money again after a long time without activity.";
}
