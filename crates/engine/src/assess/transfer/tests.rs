use jiff::Timestamp;

use super::*;
use crate::{
    account::{AssetId, Prices},
    evidence::{
        ChainFacts, FlowDistance, FlowEnd, FlowFacts, FlowPart, IngestMode, Ledger, SourceKind,
        SourceState, Tier, Tip,
    },
    facts::{Counterparties, Environment},
    ledger::ReadLimits,
    score::{Confidence, Verdict},
    taxonomy::Category,
    utxo::{
        OutPoint, OutputSelector, ScriptOwner, SideEntry, TransactionKind, TransactionSide,
        TransactionView, Transfer, TxOut, Txid, Unconfirmed,
    },
};

fn now() -> Timestamp {
    "2026-11-23T12:00:00Z".parse().unwrap()
}

fn party(category: Category, amount: u128) -> FlowPart {
    FlowPart {
        tier: Tier::Investigation,
        confidence: Confidence::CERTAIN,
        ..FlowPart::plain(FlowEnd::Attributed(category), amount)
    }
}

fn transfer() -> Transfer {
    let txid = Txid::from_bytes([2; 32]);
    let side = |owner: u8, value| {
        let output = TxOut { owner: ScriptOwner::KeyHash([owner; 20]), value };
        let entry = SideEntry { index: 0, outpoint: OutPoint { txid, index: 0 }, output };
        TransactionSide { largest: vec![entry], count: 1, total: value.into(), unknown: 0 }
    };
    let transaction = TransactionView {
        txid,
        height: 90,
        time: now(),
        kind: TransactionKind::Payment,
        inputs: side(9, 1_000),
        outputs: side(1, 1_000),
    };
    let limits = ReadLimits { transfers: 100, entries: 10_000 };
    Transfer::select(ChainId::BTC, transaction, &OutputSelector::Index(0), limits).unwrap()
}

/// Facts about a receiver with funds of an exchange; `all` are the destinations of all the receiver's funds, `own`
/// those of the transfer's funds.
fn facts(
    direction: TransferDirection,
    all: Vec<FlowPart>,
    own: Option<Vec<FlowPart>>,
) -> TransferFacts {
    let whole: u128 = all.iter().map(|part| part.amount).sum();
    let ledger = Ledger {
        unit: "BTC".into(),
        decimals: 8,
        left_out_decimals: 0,
        source: DirectionFlows {
            parts: vec![party(Category::Exchange, whole)],
            ..DirectionFlows::default()
        },
        destination: DirectionFlows { parts: all, ..DirectionFlows::default() },
        held: DirectionFlows::default(),
        of_accounts: false,
    };
    let tip = Tip {
        height: 99,
        hash: "00".repeat(32),
        time: now(),
        reported_at: now(),
        start: 0,
        ingest_mode: IngestMode::Ingested,
        sample: false,
    };
    let flows = FlowFacts { complete: true, ledgers: vec![ledger], ..FlowFacts::default() };
    let chain = ChainFacts { tip, flows, behavior: None, activity: None };
    let list = SourceState {
        id: "ofac-sdn".parse().unwrap(),
        kind: SourceKind::Sanctions,
        lists: vec!["ofac-sdn".parse().unwrap()],
        publications: vec![jiff::civil::date(2026, 11, 20)],
        fetched_at: now(),
        digest: String::new(),
        entries: 1,
        sample: false,
        unmatched: std::collections::BTreeMap::new(),
    };
    let receiver = Facts {
        counterparties: Counterparties::default(),
        possible_owners: Vec::new(),
        environment: Environment::Production,
        data_revision: "1-0".into(),
        sources: vec![list],
        never_fetched: Vec::new(),
        listings: vec![],
        labels: vec![].into(),
        same_key: vec![],
        look_alikes: vec![],
        cluster: None,
        chain: ChainState::Followed(Box::new(chain)),
        intel_stale: false,
        unmatched: std::sync::Arc::default(),
        prices: std::sync::Arc::default(),
        differing_branches: None,
    };
    TransferFacts {
        direction,
        transfer: FoundTransfer::Outputs(Box::new(transfer())),
        senders: vec![None],
        receiver,
        destinations: own.map(|parts| DirectionFlows { parts, ..DirectionFlows::default() }),
        tip_height: 99,
    }
}

fn assessed(facts: &TransferFacts) -> Assessment {
    assess_transfer(facts, &Policy::default(), now())
}

/// The assessment of the receiver's address.
fn as_receiver(facts: &TransferFacts) -> Assessment {
    assess(facts.transfer.receiver(), &facts.receiver, &Policy::default(), now())
}

fn held(amount: u128) -> FlowPart {
    FlowPart { distance: FlowDistance::Hops(0), ..FlowPart::plain(FlowEnd::Unspent, amount) }
}

#[test]
fn a_long_past_of_the_receiver_does_not_hide_where_this_money_went() {
    let all = vec![party(Category::DarknetMarket, 1_000), held(999_000)];
    let own = vec![party(Category::DarknetMarket, 1_000)];
    let facts = facts(TransferDirection::Withdrawal, all, Some(own));
    assert_eq!(as_receiver(&facts).verdict, Verdict::Allow);
    let assessment = assessed(&facts);
    assert_eq!(assessment.verdict, Verdict::Block);
    let transfer = assessment.transfer.unwrap();
    assert_eq!(transfer.basis, TransferBasis::Destinations);
    assert_eq!(transfer.destinations.len(), 1);
    assert_eq!((transfer.confirmations, transfer.block_height), (10, Some(90)));
}

#[test]
fn money_that_went_nowhere_does_not_hide_the_past_of_its_receiver() {
    let all = vec![party(Category::DarknetMarket, 500_000), held(500_000)];
    let facts = facts(TransferDirection::Withdrawal, all, Some(vec![held(1_000)]));
    let mut as_receiver = as_receiver(&facts);
    let assessment = assessed(&facts);
    let transfer = assessment.transfer.clone().unwrap();
    assert_eq!(transfer.basis, TransferBasis::Receiver);
    assert_eq!(transfer.destinations[0].endpoint_type, "unspent_by_subject");
    as_receiver.transfer = assessment.transfer.clone();
    assert_eq!(assessment, as_receiver, "the same answer as for the address");
}

#[test]
fn a_deposit_has_the_origins_of_its_money_and_nothing_else() {
    let mut facts = facts(TransferDirection::Deposit, vec![held(1_000)], None);
    let ChainState::Followed(chain) = &mut facts.receiver.chain else { panic!("flows") };
    chain.flows.ledgers[0].destination = DirectionFlows::default();
    facts.senders = vec![Some(AttributedEnd {
        category: Category::Exchange,
        entity: Some("North".into()),
        tier: Tier::Investigation,
        confidence: Confidence::CERTAIN,
        listed: false,
        listed_by: None,
        listed_on: None,
    })];
    let assessment = assessed(&facts);
    assert_eq!(assessment.exposure.len(), 1);
    let transfer = assessment.transfer.clone().unwrap();
    assert_eq!((transfer.basis, transfer.destinations.len()), (TransferBasis::Origins, 0));
    let sender = &transfer.senders[0];
    let address = |number: u8| ScriptOwner::KeyHash([number; 20]).address(ChainId::BTC);
    assert_eq!(sender.address, address(9).as_ref().map(CanonicalAddress::to_string));
    assert_eq!((sender.entity.as_deref(), sender.listed), (Some("North"), false));
    assert_eq!(assessment.address, address(1).unwrap().as_str());
}

#[test]
fn a_transfer_has_the_value_of_its_own_day() {
    // Given a transfer of a day, and a higher price today.
    let mut facts = facts(TransferDirection::Deposit, vec![held(1_000)], None);
    let price = |day: &str, usd: &str| {
        let coin = AssetId::native(ChainId::BTC);
        (coin, day.parse().unwrap(), usd.parse().unwrap())
    };
    let rows = [price("2026-11-22", "50000"), price("2026-11-25", "90000")];
    facts.receiver.prices = std::sync::Arc::new(Prices::new(rows));
    // When it is assessed days later.
    let later = "2026-11-25T12:00:00Z".parse().unwrap();
    let assessment = assess_transfer(&facts, &Policy::default(), later);
    // Then its own amounts have the price of its day, and the others that of the day of the assessment.
    let transfer = assessment.transfer.unwrap();
    let own = [&transfer.amount, &transfer.outputs[0].amount, &transfer.senders[0].amount];
    for amount in own {
        assert_eq!(amount.usd.as_deref(), Some("0.50"));
        assert_eq!(amount.price_day, Some(jiff::civil::date(2026, 11, 22)));
    }
    let line = &assessment.exposure[0].amount;
    assert_eq!((line.usd.as_deref(), line.price_day), (Some("0.90"), None));
}

#[test]
fn an_assessment_of_an_address_has_no_transfer() {
    let facts = facts(TransferDirection::Withdrawal, vec![held(1)], None);
    let of_address = as_receiver(&facts);
    let value = serde_json::to_value(&of_address).unwrap();
    assert!(value.get("transfer").is_none());
    assert_ne!(assessed(&facts).digest(), of_address.digest());
}

#[test]
fn a_deposit_without_a_block_is_told_and_holds_no_longer_than_its_moment() {
    let mut facts = facts(TransferDirection::Deposit, vec![held(1_000)], None);
    let confirmed = assessed(&facts);
    let unconfirmed = Unconfirmed { ancestors: 2, signals_replacement: true };
    let found = transfer().with_unconfirmed(Some(unconfirmed));
    facts.transfer = FoundTransfer::Outputs(Box::new(found));
    let assessment = assessed(&facts);
    let transfer = assessment.transfer.clone().unwrap();
    assert_eq!(transfer.status, TransferStatus::Unconfirmed);
    assert_eq!(
        (transfer.confirmations, transfer.block_height, transfer.block_time),
        (0, None, None)
    );
    let warning = assessment.warnings.iter().find(|warning| warning.code == "unconfirmed").unwrap();
    for told in ["BIP 125", "2 other unconfirmed transactions", "may never be mined"] {
        assert!(warning.message.contains(told), "{}", warning.message);
    }
    assert_eq!(assessment.valid_until, Some(now()));
    // The origins and their score are those of a confirmed deposit.
    assert_eq!(assessment.exposure, confirmed.exposure);
    assert_eq!(assessment.risk_score, confirmed.risk_score);
}
