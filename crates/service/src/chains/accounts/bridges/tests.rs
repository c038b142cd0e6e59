//! Receipts from bridges over the reader of one chain, with the graph of another one in the same data directory.

use assay_address::CanonicalAddress;
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, BridgeMessage, MessageEnd, Transfer, TransferKind,
        TransferPlace, scored_assets, transaction_text,
    },
    assess,
    assessment::Assessment,
    evidence::{AddressLabel, ChainState, JoinedBy, Label, SourceKind, SourceState, Tier},
    facts::Environment,
    ledger::BlockRef,
    score::{Confidence, Verdict},
    taxonomy::Category,
    trace::TraceRules,
    utxo::Txid,
};
use assay_graph::account::{AccountBlock, AccountEnds};
use assay_intel::LabelIndexBuilder;
use assay_store::intel::Intel;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};

use super::*;
use crate::chains::{accounts::AccountReaders, reader::ChainReader, subject::TraceRequest};

const START: &str = "2026-01-05T00:00:00Z";
const EXCHANGE: u64 = 1;
const THIEF: u64 = 2;
const BRIDGE: u64 = 3;
const NOBODY: u64 = 4;
/// The first account of a person.
const PEOPLE: u64 = 1_000;
/// The first second account of a person.
const SECOND: u64 = 2_000;
/// The zero address: nobody pays new units, and nobody gets what is destroyed.
const ZERO: u64 = 0;
/// The first identifier of a message.
const MESSAGES: u64 = 10_000_000;
/// The first account that is no person's.
const OTHERS: u64 = 100_000;
const CHAINS: [ChainId; 2] = [ChainId::ETH, ChainId::BSC];

/// An account with bytes that look like no other's.
fn account(number: u64) -> AccountAddress {
    let mut bytes = [0; 20];
    let mixed = number.wrapping_mul(0x5851_f42d_4c95_7f2d);
    bytes[..8].copy_from_slice(&mixed.to_be_bytes());
    bytes[12..].copy_from_slice(&number.to_be_bytes());
    AccountAddress(bytes)
}

/// A payment of millionths of a dollar in USDT, some seconds after the start.
#[derive(Clone, Copy, Debug)]
struct Paid {
    second: i64,
    from: u64,
    to: u64,
    micros: u64,
    /// The person whose deposit or payout it is, of which the partner is recorded.
    of: Option<u64>,
    /// The identifier of a message in its transaction, the contract that logs it, and its amount.
    message: Option<(u64, u64, u64)>,
}

const fn paid(second: i64, (from, to): (u64, u64), micros: u64) -> Paid {
    Paid { second, from, to, micros, of: None, message: None }
}

impl Paid {
    const fn of(self, person: u64) -> Self {
        Self { of: Some(person), ..self }
    }

    const fn logged(self, id: u64, contract: u64) -> Self {
        Self { message: Some((id, contract, self.micros)), ..self }
    }
}

fn time_of(second: i64) -> Timestamp {
    START.parse::<Timestamp>().unwrap() + SignedDuration::from_secs(second)
}

/// The identifier of the transaction at a position among those of a chain.
fn txid(chain: ChainId, position: usize) -> Txid {
    let mut bytes = [0x55; 32];
    bytes[0] = u8::from(chain == ChainId::BSC);
    bytes[24..].copy_from_slice(&(position as u64).to_be_bytes());
    Txid::from_bytes(bytes)
}

/// Records payments in the order of their times, one a block, and returns them in this order.
fn record(graphs: &EmbeddedGraphs, chain: ChainId, mut payments: Vec<Paid>) -> Vec<Paid> {
    payments.sort_by_key(|paid| paid.second);
    let usdt = scored_assets(chain).find(|asset| asset.ticker == "USDT").unwrap();
    let hash = |height: u64| {
        let mut hash = [0xaa; 32];
        hash[..8].copy_from_slice(&height.to_be_bytes());
        hash
    };
    let blocks = payments.iter().enumerate().map(|(position, paid)| {
        let (height, time) = (position as u64 + 1, time_of(paid.second));
        let of_micros =
            |micros: u64| u128::from(micros) * 10_u128.pow(u32::from(usdt.decimals) - 6);
        let units = of_micros(paid.micros);
        let kind = match (paid.from, paid.to) {
            (ZERO, _) => TransferKind::Mint,
            (_, ZERO) => TransferKind::Burn,
            _ => TransferKind::Transfer,
        };
        let end =
            if [BRIDGE, ZERO].contains(&paid.to) { MessageEnd::Sent } else { MessageEnd::Received };
        let message = paid.message.map(|(id, contract, micros)| BridgeMessage {
            contract: account(contract),
            id: account(MESSAGES + id),
            account: account(if end == MessageEnd::Sent { paid.from } else { paid.to }),
            end,
            amount: of_micros(micros),
        });
        let transfer = Transfer {
            kind,
            asset: usdt.id.asset,
            from: account(paid.from),
            to: account(paid.to),
            amount: units.try_into().unwrap(),
            place: TransferPlace::default(),
        };
        let transaction = AccountTransaction {
            block: height,
            time,
            id: txid(chain, position),
            initiator: Some(account(paid.from)),
            contract_facts: Vec::new(),
            transfers: vec![transfer],
            freezes: Vec::new(),
            delegations: Vec::new(),
            messages: message.into_iter().collect(),
        };
        let parent = hash(height - 1);
        let reference = BlockRef { height, hash: hash(height), parent, time };
        AccountBlock::new(reference, vec![transaction])
    });
    let blocks: Vec<AccountBlock> = blocks.collect();
    let intel = intel(time_of(0));
    let ends: AccountEnds = intel.account_ends(chain, intel.day(time_of(0))).collect();
    let ends = ends.with_prices(Arc::clone(intel.prices()));
    let mut writer = graphs.account_writer(chain, false, &ends).unwrap();
    writer.append(&blocks, u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
    payments
}

/// Labels of an exchange, a thief and a bridge on both chains, and a list that names nobody.
fn intel(now: Timestamp) -> IntelSnapshot {
    let mut index = LabelIndexBuilder::default();
    for chain in CHAINS {
        for (number, category, entity) in [
            (EXCHANGE, Category::Exchange, "Some Exchange"),
            (THIEF, Category::StolenFunds, "Some Hack"),
            (BRIDGE, Category::Bridge, "Some Bridge"),
        ] {
            let label = Label {
                category,
                entity: Some(entity.into()),
                tier: Tier::Investigation,
                confidence: Confidence::from_percent(95),
                source: "investigators".parse().unwrap(),
                upstream: "investigators".into(),
                author: None,
                term: None,
                cites_list: None,
                reason: None,
                reference: None,
                valid_from: None,
                valid_until: None,
            };
            index.add(AddressLabel { address: account(number).on(chain).unwrap(), label });
        }
    }
    let list = "ofac-sdn";
    let list = SourceState {
        id: list.parse().unwrap(),
        kind: SourceKind::Sanctions,
        lists: vec![list.parse().unwrap()],
        publications: vec![now.to_zoned(TimeZone::UTC).date()],
        fetched_at: now,
        digest: "00".repeat(32),
        entries: 1,
        sample: false,
        unmatched: BTreeMap::new(),
    };
    let intel = Intel {
        environment: Environment::Production,
        generation: 1,
        data_revision: "1-bridges".to_owned(),
        sources: vec![list],
        listings: Vec::new(),
        label_generation: 1,
        label_revision: [1; 32],
        suppressions: Vec::new(),
        price_sources: Vec::new(),
        price_generation: 0,
        prices: None,
    };
    IntelSnapshot::new(intel, &index.finish([1; 32]))
}

/// A data directory with payments on Ethereum and BNB Smart Chain.
struct Recorded {
    readers: AccountReaders,
    intel: IntelSnapshot,
    now: Timestamp,
    _directory: tempfile::TempDir,
}

impl Recorded {
    /// The chains are recorded for an hour after the last payment.
    fn new(mut eth: Vec<Paid>, mut bsc: Vec<Paid>) -> (Self, [Vec<Paid>; 2]) {
        let directory = tempfile::tempdir().unwrap();
        let graphs = Arc::new(EmbeddedGraphs::new(directory.path()));
        let last = eth.iter().chain(&bsc).map(|paid| paid.second).max().unwrap_or(0);
        for payments in [&mut eth, &mut bsc] {
            payments.push(paid(last + HOUR, (EXCHANGE, NOBODY), DOLLAR));
        }
        let payments = [record(&graphs, ChainId::ETH, eth), record(&graphs, ChainId::BSC, bsc)];
        let readers = AccountReaders::default().renewed(&graphs);
        let now = time_of(last) + SignedDuration::from_hours(1);
        (Self { readers, intel: intel(now), now, _directory: directory }, payments)
    }

    /// The answer about an account on BNB Smart Chain, and its receipts from bridges.
    async fn check(&self, number: u64) -> (Assessment, assay_engine::evidence::BridgedReceipts) {
        let chain = ChainId::BSC;
        let subject: CanonicalAddress = account(number).on(chain).unwrap();
        let policy = Policy::default();
        let rules = TraceRules::new(&policy, chain.info());
        let reader = self.readers.get(chain).unwrap();
        let request = TraceRequest {
            subject: &subject,
            rules,
            policy: &policy,
            intel: &self.intel,
            now: self.now,
        };
        let read = reader.trace(request).await.unwrap();
        let facts = read.added_to(self.intel.facts(&subject));
        let ChainState::Followed(followed) = &facts.chain else { panic!("{:?}", facts.chain) };
        let bridged = followed.flows.account.as_ref().unwrap().bridged.clone();
        let answer = assess(&subject, &facts, &policy, self.now);
        let screened = reader.flows_at_most(request).await.unwrap();
        // Screening leaves nobody out whom a check reviews.
        let is_flagged = matches!(answer.verdict, Verdict::Review | Verdict::Block);
        assert!(!is_flagged || screened.is_none(), "{answer:#?}");
        (answer, bridged)
    }
}

fn reasons_of<'a>(answer: &'a Assessment, code: &str) -> Vec<&'a str> {
    let reasons = answer.reasons.iter().filter(|reason| reason.code == code);
    reasons.map(|reason| reason.message.as_str()).collect()
}

const DOLLAR: u64 = 1_000_000;
const HOUR: i64 = 3_600;

#[tokio::test]
async fn a_payout_counts_as_its_deposit() {
    // Given two people who bring money over a bridge, of an exchange and of a thief.
    let [innocent, receiver, nobody] = [PEOPLE, PEOPLE + 1, PEOPLE + 2];
    let mut eth = Vec::new();
    let mut bsc = Vec::new();
    for (person, payer, start) in [(innocent, EXCHANGE, 0), (receiver, THIEF, HOUR)] {
        eth.push(paid(start, (payer, person), 6_000 * DOLLAR));
        eth.push(paid(start + 60, (person, BRIDGE), 5_000 * DOLLAR));
        bsc.push(paid(start + 600, (BRIDGE, person), 4_990 * DOLLAR));
    }
    // And one whose deposit is on a chain that is not recorded.
    bsc.push(paid(9 * HOUR, (BRIDGE, nobody), 700 * DOLLAR));
    let (recorded, _) = Recorded::new(eth, bsc);
    // Then the receiver of stolen money is reviewed,
    let (answer, bridged) = recorded.check(receiver).await;
    assert!(matches!(answer.verdict, Verdict::Review | Verdict::Block), "{answer:#?}");
    assert_eq!((bridged.receipts, bridged.joined.len()), (1, 1));
    let stolen = answer.exposure.iter().find(|it| it.category == Some(Category::StolenFunds));
    let steps = &stolen.unwrap().paths[0].steps;
    let chains: Vec<_> = steps.iter().map(|step| step.blockchain.as_deref()).collect();
    assert_eq!(chains, [None, Some("eth"), Some("eth")], "{steps:#?}");
    assert_eq!(steps[0].transaction, transaction_text(ChainId::BSC, txid(ChainId::BSC, 1)));
    assert_eq!(steps[1].transaction, transaction_text(ChainId::ETH, txid(ChainId::ETH, 3)));
    assert_eq!(steps[2].label.as_ref().unwrap().category, Category::StolenFunds);
    // the innocent is allowed, and told so with both transactions,
    let (answer, bridged) = recorded.check(innocent).await;
    assert_eq!(answer.verdict, Verdict::Allow, "{answer:#?}");
    assert_eq!(bridged.searched, [ChainId::ETH]);
    let told = reasons_of(&answer, "bridged");
    let [told] = told[..] else { panic!("{told:?}") };
    for expected in [
        "4990 USDT from the bridge Some Bridge on bsc",
        "5000 USDT that the same address deposited into a bridge on eth",
        &transaction_text(ChainId::BSC, txid(ChainId::BSC, 0)),
        &transaction_text(ChainId::ETH, txid(ChainId::ETH, 1)),
    ] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let detail = &answer.coverage.exposure.detail;
    assert!(detail.contains("1 of 1 receipt from a bridge joined to deposits on eth"), "{detail}");
    assert!(answer.data_revision.contains("eth@"), "{}", answer.data_revision);
    // and the third one's money stays that of a bridge.
    let (answer, bridged) = recorded.check(nobody).await;
    assert_eq!((bridged.receipts, bridged.joined.len()), (1, 0));
    assert!(reasons_of(&answer, "bridged").is_empty());
    let detail = &answer.coverage.exposure.detail;
    assert!(
        detail.contains("0 of 1 receipt from a bridge joined to deposits; searched on eth"),
        "{detail}"
    );
    let endpoints: Vec<_> = answer.exposure.iter().map(|line| line.endpoint_type).collect();
    assert_eq!(endpoints, ["bridge"], "{answer:#?}");
}

#[tokio::test]
async fn more_payments_than_are_read_join_nothing() {
    // Given a thief's receiver whose deposit is among more payments in USDT than a search reads, within a day of it.
    let person = PEOPLE;
    let payments = |more: i64| {
        let mut eth = vec![
            paid(0, (THIEF, person), 6_000 * DOLLAR),
            paid(60, (person, BRIDGE), 5_000 * DOLLAR),
        ];
        eth.extend((0..more).map(|at| paid(100 + at, (EXCHANGE, person), DOLLAR)));
        (eth, vec![paid(2 * HOUR, (BRIDGE, person), 4_990 * DOLLAR)])
    };
    for (more, joined) in [(497, 1), (499, 0)] {
        let (eth, bsc) = payments(more);
        let (recorded, _) = Recorded::new(eth, bsc);
        let (_, bridged) = recorded.check(person).await;
        assert_eq!(bridged.joined.len(), joined, "{more}");
    }
}

/// Random numbers of a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn seconds(&mut self, bound: i64) -> i64 {
        i64::try_from(self.below(bound.unsigned_abs())).unwrap()
    }
}

/// Simulated transfers over a bridge, one of each person.
const TRANSFERS: u64 = 200;
/// Time over which people transfer.
const DAYS: i64 = 30;

/// Payments of people over the bridge on both chains, with decoys. Every second bridge logs messages with `messages`.
fn simulated(dice: &mut Dice, messages: bool) -> (Vec<Paid>, Vec<Paid>) {
    let (mut eth, mut bsc) = (Vec::new(), Vec::new());
    let mut other = OTHERS;
    for person in (0..TRANSFERS).map(|number| PEOPLE + number) {
        let given = (500 + dice.below(50_000)) * DOLLAR + dice.below(DOLLAR);
        let start = dice.seconds(DAYS * 24 * HOUR) + 2 * 24 * HOUR;
        let payer = if person % 10 == 0 { THIEF } else { EXCHANGE };
        // By a message it does not matter who deposited, nor whether the bridge locks or destroys.
        let depositor = if messages && person % 3 == 0 { person - PEOPLE + SECOND } else { person };
        let [locks, pays] = if messages && person % 4 == 1 { [ZERO; 2] } else { [BRIDGE, BRIDGE] };
        let logged = |paid: Paid| {
            let paid = paid.of(person);
            if messages { paid.logged(person, BRIDGE) } else { paid }
        };
        eth.push(paid(start - HOUR, (payer, depositor), 3 * given));
        eth.push(logged(paid(start, (depositor, locks), given)));
        // The bridge takes up to 0.9 % and pays out within six hours.
        let fee = given * dice.below(90) / 10_000;
        let received = given - fee;
        let until = start + 60 + dice.seconds(6 * HOUR);
        bsc.push(logged(paid(until, (pays, person), received)));
        if messages {
            // Another contract logs the same message, at both ends.
            eth.push(paid(start + 1, (other + 1, BRIDGE), given).logged(person, other + 1));
            bsc.push(paid(until + 1, (BRIDGE, other), received).logged(person, other + 1));
        }
        // Others deposit and get like amounts at like times.
        for _ in 0..3 {
            let like = given - given * dice.below(60) / 10_000;
            eth.push(paid(start + dice.seconds(HOUR), (other, BRIDGE), like));
            bsc.push(paid(until + dice.seconds(HOUR), (BRIDGE, other + 1), like));
            other += 2;
        }
        match person % 8 {
            // Another deposit of like amount, which the bridge pays out on a third chain.
            1 => {
                let like = given + given * dice.below(50) / 10_000;
                eth.push(paid(start + 30 + dice.seconds(HOUR / 60), (person, BRIDGE), like));
            }
            // Another payout of like amount, of a deposit on a third chain.
            2 => bsc.push(paid(until + dice.seconds(HOUR), (BRIDGE, person), received)),
            // A deposit and a payout of other amounts, whose partners are on a third chain.
            3 => {
                eth.push(paid(start + dice.seconds(HOUR), (person, BRIDGE), given / 2));
                bsc.push(paid(until - 30, (BRIDGE, person), given / 3));
            }
            // A deposit of the same amount after the payout.
            4 => eth.push(paid(until + 60, (person, BRIDGE), given)),
            _ => {}
        }
    }
    (eth, bsc)
}

/// Checks each person of a simulation, and returns how many receipts were joined. None is joined to a wrong deposit.
async fn joined_rightly(messages: bool) -> u32 {
    let (eth, bsc) = simulated(&mut Dice(58), messages);
    let (recorded, [eth, bsc]) = Recorded::new(eth, bsc);
    let (mut joined, mut reviewed) = (0, 0);
    for person in (0..TRANSFERS).map(|number| PEOPLE + number) {
        let (answer, bridged) = recorded.check(person).await;
        let position = |all: &[Paid]| all.iter().position(|paid| paid.of == Some(person)).unwrap();
        let deposit = transaction_text(ChainId::ETH, txid(ChainId::ETH, position(&eth)));
        let payout = transaction_text(ChainId::BSC, txid(ChainId::BSC, position(&bsc)));
        for pair in &bridged.joined {
            joined += 1;
            let found = (&pair.deposit.transaction, &pair.payout.transaction);
            assert_eq!(found, (&deposit, &payout), "{person}: {pair:?}");
            let by = if messages { JoinedBy::Message } else { JoinedBy::Amount };
            assert_eq!(pair.by, by, "{person}");
        }
        let is_joined = !bridged.joined.is_empty();
        let is_stolen = person % 10 == 0;
        let is_flagged = matches!(answer.verdict, Verdict::Review | Verdict::Block);
        assert_eq!(is_flagged, is_joined && is_stolen, "{person}: {answer:#?}");
        reviewed += u32::from(is_flagged);
    }
    assert!(reviewed >= 10, "{reviewed}");
    joined
}

#[tokio::test]
async fn simulated_transfers_are_joined_to_no_wrong_deposit() {
    // Of a quarter of the people, another deposit or payout may be the partner, unless the fees tell.
    let joined = joined_rightly(false).await;
    assert!(joined >= 150, "{joined} of {TRANSFERS}");
}

#[tokio::test]
async fn transfers_with_messages_are_joined_to_their_deposits() {
    let joined = joined_rightly(true).await;
    assert!(joined >= 190, "{joined} of {TRANSFERS}");
}

#[tokio::test]
async fn a_message_that_does_not_fit_joins_nothing() {
    // Given receipts whose deposits have the same message of the same bridge, with one fault each.
    let person = PEOPLE;
    let deposit = paid(60, (person, BRIDGE), 5_000 * DOLLAR);
    let payout = paid(600, (BRIDGE, person), 4_990 * DOLLAR);
    let funded = paid(0, (THIEF, person), 6_000 * DOLLAR);
    let check = |eth: Vec<Paid>, bsc: Vec<Paid>| async {
        let eth = std::iter::once(funded).chain(eth).collect();
        let (recorded, _) = Recorded::new(eth, bsc);
        let (answer, bridged) = recorded.check(person).await;
        let told = reasons_of(&answer, "bridged").join(" ");
        (bridged.receipts, bridged.joined.iter().map(|pair| pair.by).collect::<Vec<_>>(), told)
    };
    // When nothing is wrong, both are joined, however long it took,
    let late = Paid { second: 60 * 24 * HOUR, ..payout };
    let (_, joined, told) =
        check(vec![deposit.logged(1, BRIDGE)], vec![late.logged(1, BRIDGE)]).await;
    assert_eq!(joined, [JoinedBy::Message]);
    assert!(told.contains("bridges logged the same message in both transactions"), "{told}");
    // and new units of nobody are a receipt of a bridge then.
    let burned = paid(60, (person, ZERO), 5_000 * DOLLAR).logged(1, BRIDGE);
    let made = paid(600, (ZERO, person), 5_000 * DOLLAR).logged(1, BRIDGE);
    assert_eq!(check(vec![burned], vec![made]).await.0, 1);
    assert_eq!(check(vec![], vec![made]).await.0, 0);
    let second = |paid: Paid| Paid { second: paid.second + 30, ..paid };
    let faults: [(&str, Vec<Paid>, Vec<Paid>); 6] = [
        ("another message", vec![deposit.logged(1, BRIDGE)], vec![payout.logged(2, BRIDGE)]),
        ("a deposit without one", vec![deposit], vec![payout.logged(1, BRIDGE)]),
        ("a payout without one", vec![deposit.logged(1, BRIDGE)], vec![payout]),
        (
            "two deposits",
            vec![deposit.logged(1, BRIDGE), second(deposit).logged(1, BRIDGE)],
            vec![payout.logged(1, BRIDGE)],
        ),
        (
            "two payouts",
            vec![deposit.logged(1, BRIDGE)],
            vec![payout.logged(1, BRIDGE), second(payout).logged(1, BRIDGE)],
        ),
        (
            "a payout of more",
            vec![deposit.logged(1, BRIDGE)],
            vec![Paid { micros: 5_001 * DOLLAR, ..payout }.logged(1, BRIDGE)],
        ),
    ];
    for (fault, eth, bsc) in faults {
        let (_, joined, _) = check(eth, bsc).await;
        assert!(joined.is_empty(), "{fault}");
    }
    // A message that others than bridges log is none: asset, amount and time decide.
    let forged = check(vec![deposit.logged(1, NOBODY)], vec![payout.logged(2, NOBODY)]).await;
    assert_eq!(forged.1, [JoinedBy::Amount]);
    // Neither is one of another amount, for something small that went over the bridge in the same transaction.
    let beside = Paid { message: Some((1, BRIDGE, DOLLAR)), ..deposit };
    assert_eq!(check(vec![beside], vec![payout]).await.1, [JoinedBy::Amount]);
    let beside = Paid { message: Some((2, BRIDGE, DOLLAR)), ..payout };
    assert_eq!(check(vec![deposit], vec![beside]).await.1, [JoinedBy::Amount]);
}
