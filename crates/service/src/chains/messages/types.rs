//! Engine types whose messages have the same fields, in one table for both directions.

use std::{collections::BTreeMap, sync::Arc};

use assay_address::ChainId;
use assay_chain_protocol::message::{
    AccountMessage, ActivityFactsMessage, AssetActivityMessage, AssetMessage, AssetTimelineMessage,
    BackingMoneyMessage, BehaviorFactsMessage, BlockIdMessage, BlockRefMessage,
    BridgeTransactionMessage, BridgedReceiptsMessage, CarriedLabelMessage, CarriedPartMessage,
    ChainFactsMessage, ChainStateMessage, ChoicesMessage, CoSpendMessage, ContractHoldingMessage,
    ContractUseMessage, CounterpartyAssetMessage, DirectionFlowsMessage, DistanceMessage,
    DoubleSpendMessage, ExcessMoneyMessage, FlowDistanceMessage, FlowEndMessage, FlowFactsMessage,
    FlowPartMessage, FlowPathMessage, FreezeMomentMessage, Identifier, JoinedReceiptMessage,
    KeptMoneyMessage, LedgerMessage, ListEffectMessage, MassMessage, NamedContractMessage,
    NotReadMessage, OutPointMessage, PartyListingMessage, PathStepMessage, PatternDetailsMessage,
    PatternFactMessage, PatternRulesMessage, PublishedPlaceMessage, ScriptOwnerMessage,
    SearchedMessage, SideEntryMessage, StatisticsMessage, StepLabelMessage, StepViaMessage,
    TakenFundsMessage, TimelineAnswer, TipMessage, TokenDealingMessage, TraceRulesMessage,
    TransactionId, TransactionKindMessage, TransactionSideMessage, TransactionViewMessage,
    TransferDirectionMessage, TransferOutputMessage, TransferPlaceMessage, TxOutMessage,
    UnconfirmedMessage, WeekAmountsMessage,
};
use assay_engine::{
    account::{AccountAddress, Asset, Choices, FreezeMoment, PublishedPlace, TransferPlace},
    evidence::{
        ActivityFacts, AssetActivity, BackingMoney, BehaviorFacts, BridgeTransaction,
        BridgedReceipts, CarriedLabel, CarriedPart, ChainFacts, ChainState, ContractHolding,
        ContractUse, Direction, DirectionFlows, ExcessMoney, FlowDistance, FlowEnd, FlowFacts,
        FlowPart, FlowPath, IngestMode, JoinedBy, JoinedReceipt, KeptMoney, KeptWay, LabelDistance,
        Ledger, ListingPeriod, NamedContract, PartyListing, PathStep, Pattern, PatternDetails,
        PatternFact, PatternRole, SearchExtent, Solicitation, StepLabel, StepVia, TakenFunds, Tier,
        Tip, TokenDealing, Unavailable, UnresolvedReason, UnscoredReason, UsedCompositions,
    },
    facts::{AccountRole, CoSpend, CounterpartyAsset},
    fixed::Fraction,
    ledger::{BlockId, BlockRef, Mass, Statistics},
    names::ListId,
    policy::{ListEffect, MOST_THRESHOLDS, PatternRules},
    score::Confidence,
    taxonomy::Category,
    timeline::{AssetTimeline, Timeline, WeekAmounts},
    trace::TraceRules,
    transfer::TransferDirection,
    utxo::{
        OutPoint, Pool, ScriptOwner, SideEntry, TransactionKind, TransactionSide, TransactionView,
        TxOut, Txid, Unconfirmed, cluster::LinkKind, coinjoin::CoinjoinKind,
        transfer::TransferOutput,
    },
};
use jiff::{Timestamp, civil::Date};
use serde::{
    Deserialize, Serialize,
    de::{IntoDeserializer, value},
};
use serde_json::Value;

use super::accounts::limits_message;
use crate::chains::unconfirmed::{DoubleSpend, NotRead};

/// An answer of a chain server that this program does not understand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a chain server gave an answer that cannot be read: {0}")]
pub struct InvalidAnswer(pub(in crate::chains) String);

/// Engine type with the message `M`.
pub(in crate::chains) trait MessageForm<M>: Sized {
    /// Converts the engine type to the message.
    fn into_message(self) -> M;

    /// Converts the message to the engine type.
    fn read(message: M) -> Result<Self, InvalidAnswer>;
}

/// Types that are their own messages.
macro_rules! plain {
    ($($plain:ty),+) => {$(
        impl MessageForm<Self> for $plain {
            fn into_message(self) -> Self {
                self
            }

            fn read(message: Self) -> Result<Self, InvalidAnswer> {
                Ok(message)
            }
        }
    )+};
}

/// Enums whose messages are their identifiers.
macro_rules! words {
    ($($kind:ty),+ $(,)?) => {$(
        impl MessageForm<Identifier> for $kind {
            fn into_message(self) -> Identifier {
                word(&self)
            }

            fn read(Identifier(word): Identifier) -> Result<Self, InvalidAnswer> {
                let read = Self::deserialize(word.into_deserializer());
                read.map_err(|error: value::Error| InvalidAnswer(error.to_string()))
            }
        }
    )+};
}

/// Types whose messages have the same fields.
macro_rules! fields {
    ($($of:ident as $message:ident { $($field:ident),+ $(,)? })+) => {$(
        impl MessageForm<$message> for $of {
            fn into_message(self) -> $message {
                let Self { $($field),+ } = self;
                $message { $($field: $field.into_message()),+ }
            }

            fn read(message: $message) -> Result<Self, InvalidAnswer> {
                let $message { $($field),+ } = message;
                Ok(Self { $($field: MessageForm::read($field)?),+ })
            }
        }
    )+};
}

/// Types whose messages have the same variants.
macro_rules! variants {
    ($($of:ident as $message:ident { $($variant:ident $(($($value:ident),+))?),+ $(,)? })+) => {$(
        impl MessageForm<$message> for $of {
            fn into_message(self) -> $message {
                match self {
                    $(Self::$variant $(($($value),+))? => $message::$variant $(($($value.into_message()),+))?,)+
                }
            }

            fn read(message: $message) -> Result<Self, InvalidAnswer> {
                Ok(match message {
                    $($message::$variant $(($($value),+))? => Self::$variant $(($(MessageForm::read($value)?),+))?,)+
                })
            }
        }
    )+};
}

plain! {
    bool, u8, u16, u32, u64, u128, usize, String, Timestamp, Date, (Timestamp, Timestamp),
    (String, u8), BTreeMap<String, u128>, [u8; 20], [u8; 32], [u128; MOST_THRESHOLDS]
}

words! {
    AccountRole, Category, ChainId, CoinjoinKind, Direction, IngestMode, JoinedBy, KeptWay, LinkKind, ListId, ListingPeriod, Pattern, PatternRole, Pool, Solicitation, Tier,
    Unavailable, UnresolvedReason, UnscoredReason,
}

fields! {
    ContractUse as ContractUseMessage {
        kept, further_kept, holdings, further_holdings, token_dealings
    }
    NamedContract as NamedContractMessage { address, name }
    KeptMoney as KeptMoneyMessage { way, via, is_contract, gave, got, payments, transactions }
    ContractHolding as ContractHoldingMessage { token, contract, backing }
    BackingMoney as BackingMoneyMessage { asset, amount, severe, is_of_others }
    ExcessMoney as ExcessMoneyMessage { unit, decimals, amount, received, transactions }
    TokenDealing as TokenDealingMessage {
        party, entity, category, direction, is_initiated, tokens, transactions
    }
    StepVia as StepViaMessage { address, entity, transaction, gave }
    TakenFunds as TakenFundsMessage {
        category, entity, tier, confidence, amount, unit, decimals, transactions
    }
    FreezeMoment as FreezeMomentMessage { transaction, time }
    CounterpartyAsset as CounterpartyAssetMessage { asset, received, sent }
    TransferPlace as TransferPlaceMessage { index, published }
    Choices as ChoicesMessage { listed, more }
    ChainFacts as ChainFactsMessage { tip, flows, behavior, activity }
    Tip as TipMessage { height, hash, time, reported_at, start, ingest_mode, sample }
    ActivityFacts as ActivityFactsMessage {
        first_seen, last_seen, transfers_in, transfers_out, amounts
    }
    AssetActivity as AssetActivityMessage { asset, received, sent, balance }
    Timeline as TimelineAnswer { assets, left_out }
    AssetTimeline as AssetTimelineMessage { asset, received, sent, weeks }
    WeekAmounts as WeekAmountsMessage { monday, received, sent, transfers }
    DirectionFlows as DirectionFlowsMessage { parts, transactions }
    FlowPart as FlowPartMessage {
        end, entity, distance, is_direct, tier, confidence, amount, recent, outstanding, mass, decayed,
        listed, listed_by, solicitation, carried, listing_period, days_before_listing,
        party_of_path, transactions, paths, assets
    }
    Ledger as LedgerMessage {
        unit, decimals, left_out_decimals, source, destination, held, of_accounts
    }
    BridgedReceipts as BridgedReceiptsMessage { receipts, searched, joined }
    JoinedReceipt as JoinedReceiptMessage { bridge, by, payout, deposit }
    BridgeTransaction as BridgeTransactionMessage { blockchain, transaction, time, amount, asset }
    PathStep as PathStepMessage {
        blockchain, transaction, address, time, amount, asset, place, label, via
    }
    Mass as MassMessage { earlier, recent }
    PartyListing as PartyListingMessage { list_name, list, programs, entity_id, listed_on }
    CarriedPart as CarriedPartMessage { label, distance }
    CarriedLabel as CarriedLabelMessage { tier, category, confidence, severity, entity, coinjoin }
    LabelDistance as DistanceMessage { hops, decayed }
    FlowPath as FlowPathMessage { amount, steps }
    StepLabel as StepLabelMessage { category, entity, tier, confidence, listed }
    BehaviorFacts as BehaviorFactsMessage { patterns, searched }
    PatternFact as PatternFactMessage {
        pattern, role, confidence, unscored, count, period, amount, whole, details,
        transactions
    }
    PatternDetails as PatternDetailsMessage {
        amount, parties, payments, length, seconds, threshold, coinjoin
    }
    SearchExtent as SearchedMessage {
        addresses, all_addresses, transactions, is_whole, around, is_whole_around,
        has_activity_of_others
    }
    TransactionView as TransactionViewMessage { txid, height, time, kind, inputs, outputs }
    TransactionSide as TransactionSideMessage { largest, count, total, unknown }
    SideEntry as SideEntryMessage { index, outpoint, output }
    OutPoint as OutPointMessage { txid, index }
    TxOut as TxOutMessage { owner, value }
    TransferOutput as TransferOutputMessage { index, value }
    Unconfirmed as UnconfirmedMessage { ancestors, signals_replacement }
    DoubleSpend as DoubleSpendMessage { output, spent_by }
    CoSpend as CoSpendMessage { transaction, time, is_conclusive, confirmed_by }
    Statistics as StatisticsMessage {
        first_seen, last_seen, transactions_in, transactions_out, received, sent
    }
    BlockId as BlockIdMessage { height, hash }
    BlockRef as BlockRefMessage { height, hash, parent, time }
    TraceRules as TraceRulesMessage {
        hops, stop_below_share_millionths, stop_trace_below, transactions,
        source_transactions, entries, transfers_per_address, entries_of_history, decay,
        coinjoin_severity, unsolicited_below, largest_dust, held_from, paths_per_part, patterns
    }
    PatternRules as PatternRulesMessage { dust, little, thresholds }
}

variants! {
    ChainState as ChainStateMessage { NotFollowed, Unavailable(one), Followed(one) }
    FlowEnd as FlowEndMessage {
        Attributed(one), Mining, Bridge, Unspent, Fee, Returned, Destroyed, Unresolved(one)
    }
    FlowDistance as FlowDistanceMessage { Hops(one), Further(one) }
    TransactionKind as TransactionKindMessage { Payment, Coinbase, Coinjoin(one) }
    ScriptOwner as ScriptOwnerMessage {
        KeyHash(one), ScriptHash(one), LongScriptHash(one), Witness(one, other),
        Script(one), Unspendable(one), Pool(one)
    }
    TransferDirection as TransferDirectionMessage { Deposit, Withdrawal }
    ListEffect as ListEffectMessage { Blocking, Advisory }
    NotRead as NotReadMessage {
        Absent, InNewerBlock, Unreadable, TooManyAncestors, UnknownOutput(one), DoubleSpend(one)
    }
    PublishedPlace as PublishedPlaceMessage { Log(one), Trace(one) }
    Asset as AssetMessage { Native, Token(one), Numbered(one) }
}

impl MessageForm<FlowFactsMessage> for FlowFacts {
    fn into_message(self) -> FlowFactsMessage {
        // A chain server reads no histories account by account.
        let Self { complete, ledgers, compositions, account, contracts, histories: _ } = self;
        let is_outdated = compositions.as_ref().is_some_and(|used| used.is_outdated);
        FlowFactsMessage {
            complete,
            ledgers: ledgers.into_message(),
            compositions: compositions.map(|used| used.revision),
            are_compositions_outdated: is_outdated,
            account: account.map(|limits| Box::new(limits_message(*limits))),
            contracts: contracts.into_message(),
        }
    }

    /// Reads all but the limits of an account, whose addresses are read with their chain.
    fn read(message: FlowFactsMessage) -> Result<Self, InvalidAnswer> {
        let FlowFactsMessage { complete, ledgers, compositions, contracts, .. } = message;
        let is_outdated = message.are_compositions_outdated;
        let compositions = compositions.map(|revision| UsedCompositions { revision, is_outdated });
        let (ledgers, contracts) = (MessageForm::read(ledgers)?, MessageForm::read(contracts)?);
        let read = Self { complete, ledgers, compositions, contracts, ..Self::default() };
        Ok(read)
    }
}

impl MessageForm<u8> for Confidence {
    fn into_message(self) -> u8 {
        self.percent()
    }

    fn read(percent: u8) -> Result<Self, InvalidAnswer> {
        let read = Self::deserialize(percent.into_deserializer());
        read.map_err(|error: value::Error| InvalidAnswer(error.to_string()))
    }
}

impl MessageForm<u64> for Fraction {
    fn into_message(self) -> u64 {
        self.billionths()
    }

    fn read(billionths: u64) -> Result<Self, InvalidAnswer> {
        Ok(Self::from_billionths(billionths))
    }
}

impl MessageForm<AccountMessage> for AccountAddress {
    fn into_message(self) -> AccountMessage {
        AccountMessage(self.0)
    }

    fn read(AccountMessage(bytes): AccountMessage) -> Result<Self, InvalidAnswer> {
        Ok(Self(bytes))
    }
}

impl MessageForm<TransactionId> for Txid {
    fn into_message(self) -> TransactionId {
        TransactionId(*self.as_bytes())
    }

    fn read(TransactionId(bytes): TransactionId) -> Result<Self, InvalidAnswer> {
        Ok(Self::from_bytes(bytes))
    }
}

impl<M, T: MessageForm<M>> MessageForm<Option<M>> for Option<T> {
    fn into_message(self) -> Option<M> {
        self.map(T::into_message)
    }

    fn read(message: Option<M>) -> Result<Self, InvalidAnswer> {
        message.map(T::read).transpose()
    }
}

impl<M, T: MessageForm<M>> MessageForm<Vec<M>> for Vec<T> {
    fn into_message(self) -> Vec<M> {
        self.into_iter().map(T::into_message).collect()
    }

    fn read(message: Vec<M>) -> Result<Self, InvalidAnswer> {
        message.into_iter().map(T::read).collect()
    }
}

impl<M, T: MessageForm<M>> MessageForm<Box<M>> for Box<T> {
    fn into_message(self) -> Box<M> {
        Box::new((*self).into_message())
    }

    fn read(message: Box<M>) -> Result<Self, InvalidAnswer> {
        T::read(*message).map(Self::new)
    }
}

impl<M, T: MessageForm<M> + Clone> MessageForm<M> for Arc<T> {
    fn into_message(self) -> M {
        Self::unwrap_or_clone(self).into_message()
    }

    fn read(message: M) -> Result<Self, InvalidAnswer> {
        T::read(message).map(Self::new)
    }
}

impl MessageForm<String> for Box<str> {
    fn into_message(self) -> String {
        self.into()
    }

    fn read(message: String) -> Result<Self, InvalidAnswer> {
        Ok(message.into())
    }
}

impl MessageForm<String> for Arc<str> {
    fn into_message(self) -> String {
        self.to_string()
    }

    fn read(message: String) -> Result<Self, InvalidAnswer> {
        Ok(message.into())
    }
}

fn word(kind: &impl Serialize) -> Identifier {
    match serde_json::to_value(kind) {
        Ok(Value::String(word)) => Identifier(word),
        other => Identifier(format!("{other:?}")),
    }
}
