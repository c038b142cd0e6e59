//! Patterns of behavior: their definitions, and their occurrences as facts for the score.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{score::Confidence, utxo::coinjoin::CoinjoinKind};

/// Role of the subject's owner in a pattern.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum PatternRole {
    /// The owner carries the pattern out.
    Actor,
    /// The owner is paid by the pattern's transactions.
    Recipient,
    /// The owner is the victim of the pattern; never scored.
    Victim,
}

impl PatternRole {
    /// The identifier used in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Actor => "actor",
            Self::Recipient => "recipient",
            Self::Victim => "victim",
        }
    }
}

/// Reason for which a pattern does not count for the score.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum UnscoredReason {
    /// The owner was the victim.
    Victim,
    /// The owner is a service, and services behave like this.
    Service,
    /// The owner shows the pattern day after day, as businesses do.
    RegularActivity,
    /// The owner received only a small amount, which anybody can send to anybody.
    LittleReceived,
    /// The owner only paid into the pattern: others may have carried the pattern out.
    PaidIntoOnly,
    /// The funds are scored as exposure.
    CountedAsExposure,
    /// The pattern counts in another role.
    CountedOnce,
    /// The pattern describes a form of transaction that has no risk by itself.
    FormOfTransaction,
    /// The account is a contract, which moves money of its users.
    Contract,
}

impl UnscoredReason {
    /// The reason in words.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Victim => "the owner suffered it",
            Self::Service => "services behave like this",
            Self::RegularActivity => "regular activity, as of a business",
            Self::LittleReceived => "little was received, and anybody can send money to anybody",
            Self::PaidIntoOnly => "the owner only paid into it; others may have done the rest",
            Self::CountedAsExposure => "the funds are scored as exposure",
            Self::CountedOnce => "counts in another role",
            Self::FormOfTransaction => "no risk by itself",
            Self::Contract => "contracts move the money of their users",
        }
    }
}

/// A pattern found at the subject's owner, with all of its occurrences in one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternFact {
    /// The pattern.
    pub pattern: Pattern,
    /// The owner's role in the pattern.
    pub role: PatternRole,
    /// Confidence of the detection.
    pub confidence: Confidence,
    /// Reason for which the pattern is not scored; `None` if the pattern is scored.
    pub unscored: Option<UnscoredReason>,
    /// Number of occurrences: windows of time, chains, cycles or transactions.
    pub count: u64,
    /// Time of the first and of the last transaction.
    pub period: (Timestamp, Timestamp),
    /// Funds of the owner that took part, in base units; on account chains in US cents.
    pub amount: u128,
    /// All funds of the owner in the same direction that were read, in the same unit.
    pub whole: u128,
    /// Figures for the pattern's sentence.
    pub details: PatternDetails,
    /// Identifiers of transactions that show the pattern, in the order of the chain.
    pub transactions: Vec<String>,
}

impl PatternFact {
    /// A pattern with one occurrence at a single moment, without further attributes.
    #[must_use]
    pub fn plain(pattern: Pattern, role: PatternRole, confidence: Confidence) -> Self {
        Self {
            pattern,
            role,
            confidence,
            unscored: None,
            count: 1,
            period: (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH),
            amount: 0,
            whole: 0,
            details: PatternDetails::default(),
            transactions: Vec::new(),
        }
    }
}

/// Figures of the occurrence of a pattern with the largest amount. Figures that the pattern does not have are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatternDetails {
    /// Funds of the owner that took part in the occurrence, in the unit of the fact.
    pub amount: u128,
    /// Number of distinct owners on the other side of the payments.
    pub parties: Option<u64>,
    /// Number of payments of a structuring.
    pub payments: Option<u64>,
    /// Length: number of steps of a peel chain, or of owners of a layering run or a cycle.
    pub length: Option<u64>,
    /// Seconds from the first transaction to the last, or of a pause.
    pub seconds: Option<u64>,
    /// Threshold, in the unit of the fact, below which structured payments stay.
    pub threshold: Option<u128>,
    /// Protocol of the joint transactions, if all have the same protocol.
    pub coinjoin: Option<CoinjoinKind>,
}

/// Behavior of the subject's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BehaviorFacts {
    /// The patterns found.
    pub patterns: Vec<PatternFact>,
    /// Extent of the search.
    pub searched: SearchExtent,
}

impl BehaviorFacts {
    /// The behavior of an address that does not appear on the chain.
    #[must_use]
    pub fn without_transactions() -> Self {
        let searched = SearchExtent {
            addresses: 1,
            all_addresses: 1,
            transactions: 0,
            is_whole: true,
            around: 0,
            is_whole_around: true,
            has_activity_of_others: true,
        };
        Self { patterns: Vec::new(), searched }
    }
}

/// Extent of a search for patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchExtent {
    /// Number of addresses of the owner whose transactions were read.
    pub addresses: u64,
    /// Number of all addresses of the owner.
    pub all_addresses: u64,
    /// Number of transactions of the owner that were read.
    pub transactions: u64,
    /// True if all transactions of the owner's searched addresses were read, with all their inputs and outputs.
    pub is_whole: bool,
    /// Number of read transactions of other owners that are connected with the owner's transactions.
    pub around: u64,
    /// True if the search for transactions of other owners reached no limit.
    pub is_whole_around: bool,
    /// True if the activity of other owners is known, which the search for layering needs.
    pub has_activity_of_others: bool,
}

macro_rules! patterns {
    ($($variant:ident $id:literal $severity:literal $definition:literal;)+) => {
        /// A pattern of behavior. Later versions may add patterns.
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

            /// Severity of a certain finding, 0 to 100; 0 for forms of transactions. Patterns never change a verdict.
            #[must_use]
            pub const fn severity(self) -> u8 {
                match self { $(Self::$variant => $severity,)+ }
            }
        }
    };
}

patterns! {
    MixerUse "mixer_use" 45
        "Pays into or is paid out of a mixing service.";
    AddressPoisoning "address_poisoning" 45
        "Sends dust or worthless transfers from addresses made to look like a victim's counterparties.";
    MixerFunding "mixer_funding" 45
        "The first payment above dust to the account came from a mixing service.";
    Structuring "structuring" 40
        "At least 5 payments within 24 hours that are each at most 10 % below the same threshold.";
    Layering "layering" 40
        "Funds pass at least 3 unattributed owners in a row, each of which passed at least 90 % of all that it ever received on to the next within 3 days, by its only payment and to nobody else.";
    PeelChain "peel_chain" 35
        "Funds pass at least 5 transactions in a row, each within 12 hours of the one before, that split off a payment of at most 30 % and leave the rest at another address.";
    RapidPassThrough "rapid_pass_through" 35
        "At least 2 payments, and at least 80 % of all funds received, are passed on within an hour.";
    GatherScatter "gather_scatter" 35
        "At least 5 owners pay within 24 hours, and at least 80 % as much is paid to at least 5 others until 48 hours later.";
    ScatterGather "scatter_gather" 35
        "At least 5 owners are paid, and pay at least 80 % as much to the same further owner, all within 7 days.";
    Cycle "cycle" 35
        "Funds return over 2 to 5 other owners within 7 days, each payment at least half as large as the one before and at most twice.";
    CoinjoinUse "coinjoin_use" 30
        "Takes part in joint transactions that hide who paid whom (generic, Wasabi, Whirlpool, JoinMarket).";
    Dusting "dusting" 30
        "Dust is sent to at least 10 owners within 24 hours.";
    FanIn "fan_in" 20
        "At least 10 owners pay within 24 hours.";
    FanOut "fan_out" 20
        "At least 10 owners are paid within 24 hours.";
    DormantReactivation "dormant_reactivation" 15
        "At least half of the balance moves after a year or more without activity.";
    DepositForwarding "deposit_forwarding" 0
        "Deposit address: at least 2 owners pay it, and everything that it ever paid went to one custodial service.";
    PeelStep "peel_step" 0
        "Transaction with one input and two outputs, of which the smaller one has at most 30 % of both.";
    Consolidation "consolidation" 0
        "Transaction that joins at least 5 inputs of one owner in one output.";
    BatchPayout "batch_payout" 0
        "Transaction by which one owner pays at least 5 others.";
    SelfTransfer "self_transfer" 0
        "Transaction by which an owner pays nobody but itself.";
    JointTransaction "joint_transaction" 0
        "Transaction that several parties made together to hide who paid whom.";
    DataOutput "op_return" 0
        "Transaction with an output that holds data and no funds.";
    DustOutput "dust" 0
        "Transaction with an output of dust.";
}

impl Pattern {
    /// True for a form of single transactions, which alone has no risk.
    #[must_use]
    pub const fn is_form_of_transaction(self) -> bool {
        matches!(
            self,
            Self::PeelStep
                | Self::Consolidation
                | Self::BatchPayout
                | Self::SelfTransfer
                | Self::JointTransaction
                | Self::DataOutput
                | Self::DustOutput
        )
    }
}
