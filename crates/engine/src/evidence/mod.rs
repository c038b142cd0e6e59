//! Evidence about an address before its assessment: listings, labels, flows of funds, patterns, and the strength of
//! each.

mod bridged;
mod contracts;
mod flow;
pub mod history;
mod label;
mod labels;
mod list_publisher;
mod listed_addresses;
mod listing;
mod pattern;
mod read_histories;
mod source;
mod tier;

pub use bridged::{BridgeTransaction, BridgedReceipts, JoinedBy, JoinedReceipt};
pub use contracts::{
    BackingMoney, ContractHolding, ContractUse, ExcessMoney, KeptMoney, KeptWay, NamedContract,
    TokenDealing,
};
pub use flow::{
    AccountLimits, ActivityFacts, AssetActivity, CarriedLabel, CarriedPart, ChainFacts, ChainState,
    Direction, DirectionFlows, FlowDistance, FlowEnd, FlowFacts, FlowPart, FlowPath, IngestMode,
    LabelDistance, Ledger, ListingPeriod, LookalikeAccount, PartyListing, PathStep, Solicitation,
    StepLabel, StepVia, TakenFunds, Tip, Unavailable, UnresolvedReason, UsedCompositions,
};
pub use label::{AddressLabel, Label};
pub use labels::AddressLabels;
pub use list_publisher::list_published_on;
pub use listed_addresses::{ListedAddresses, UnmatchedText};
pub use listing::{
    Alias, EndedReason, ListedEntity, Listing, ListingEntry, ListingStatus,
    REVIEW_DAYS_AFTER_EXPIRY,
};
pub use pattern::{
    BehaviorFacts, Pattern, PatternDetails, PatternFact, PatternRole, SearchExtent, UnscoredReason,
};
pub use read_histories::{ReadHistories, ReadingStop, SevereParties};
pub use source::{ALWAYS_BLOCKING, NeverFetched, SourceKind, SourceState, assessment_day};
pub use tier::Tier;
