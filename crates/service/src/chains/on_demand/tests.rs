//! Tests of the responses that an API must have given before an address counts as searched.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicUsize, Ordering},
};

use assay_address::CanonicalAddress;
use assay_chain::{
    SourceError,
    histories::{AddressSummary, ChainPosition, ConfirmedTransaction},
};
use assay_engine::{
    evidence::{ChainState, Direction, FlowEnd, UnresolvedReason},
    facts::Environment,
    policy::Policy,
    trace::TraceRules,
    utxo::{OutPoint, Pool, Transaction, TransactionKind, TxInput, TxOut},
};
use assay_intel::IntelSnapshot;
use assay_store::SqliteStore;

use super::*;

/// Data that an API has and fails to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Silence {
    /// The API returns only the newest block.
    AllButTheTip,
    /// Pages are empty although the summary counts transactions.
    Pages,
    /// The API returns no spender of any output.
    Spends,
    /// The API returns no single transaction.
    Transactions,
}

/// Confirmed transactions, the newest last.
#[derive(Debug, Default)]
struct Api {
    transactions: Vec<ConfirmedTransaction>,
    silent_about: Option<Silence>,
}

impl Api {
    fn is_silent_about(&self, what: Silence) -> bool {
        self.silent_about == Some(what)
    }
}

#[derive(Debug, Default)]
struct FakeApi {
    api: Mutex<Api>,
    histories: AtomicUsize,
}

impl FakeApi {
    fn api(&self) -> MutexGuard<'_, Api> {
        self.api.lock().unwrap()
    }

    fn of(&self, address: &CanonicalAddress) -> Vec<ConfirmedTransaction> {
        let owner = ScriptOwner::from_address(address).unwrap();
        let appears = |confirmed: &&ConfirmedTransaction| {
            confirmed.transaction.all_outputs().any(|output| output.owner == owner)
        };
        self.api().transactions.iter().filter(appears).cloned().collect()
    }
}

fn no_answer() -> SourceError {
    SourceError::Refused {
        url: "http://api.test".into(),
        what: "/address".into(),
        code: 429,
        message: "too many requests".into(),
    }
}

impl HistorySource for FakeApi {
    fn tip(&self) -> Result<BlockRef, SourceError> {
        Ok(BlockRef { height: 900_000, hash: [9; 32], parent: [8; 32], time: at(0) })
    }

    fn summary(&self, address: &CanonicalAddress) -> Result<AddressSummary, SourceError> {
        self.histories.fetch_add(1, Ordering::Relaxed);
        if self.api().is_silent_about(Silence::AllButTheTip) {
            return Err(no_answer());
        }
        let owner = ScriptOwner::from_address(address).unwrap();
        let all = self.of(address);
        let total = |outputs: &mut dyn Iterator<Item = &TxOut>| {
            outputs.filter(|output| output.owner == owner).map(|own| u128::from(own.value)).sum()
        };
        Ok(AddressSummary {
            funded: total(&mut all.iter().flat_map(|confirmed| &confirmed.transaction.outputs)),
            spent: total(
                &mut all.iter().flat_map(|confirmed| confirmed.transaction.spent_outputs()),
            ),
            transactions: all.len().try_into().unwrap(),
        })
    }

    fn page(
        &self,
        address: &CanonicalAddress,
        after: Option<&Txid>,
    ) -> Result<Vec<ConfirmedTransaction>, SourceError> {
        if self.api().is_silent_about(Silence::AllButTheTip) {
            return Err(no_answer());
        }
        let mut all = self.of(address);
        all.reverse();
        let from = after.map_or(0, |after| {
            all.iter().position(|one| one.transaction.txid == *after).unwrap() + 1
        });
        Ok(if self.api().is_silent_about(Silence::Pages) { vec![] } else { all.split_off(from) })
    }

    fn transaction(&self, txid: &Txid) -> Result<Option<ConfirmedTransaction>, SourceError> {
        let api = self.api();
        let found = api.transactions.iter().find(|one| one.transaction.txid == *txid);
        Ok(found.filter(|_| !api.is_silent_about(Silence::Transactions)).cloned())
    }

    fn spenders(&self, txid: &Txid) -> Result<Vec<Option<Txid>>, SourceError> {
        let api = self.api();
        if api.is_silent_about(Silence::Spends) {
            return Ok(vec![]);
        }
        let made = api.transactions.iter().find(|one| one.transaction.txid == *txid).unwrap();
        Ok((0..made.transaction.outputs.len().try_into().unwrap())
            .map(|index| {
                let outpoint = OutPoint { txid: *txid, index };
                let spends = |one: &&ConfirmedTransaction| {
                    one.transaction.inputs.iter().any(|input| input.outpoint == outpoint)
                };
                api.transactions.iter().find(spends).map(|one| one.transaction.txid)
            })
            .collect())
    }

    fn position(&self, _: &Txid) -> Result<Option<ChainPosition>, SourceError> {
        Ok(None)
    }
}

fn at(minutes: i64) -> Timestamp {
    Timestamp::from_second(1_795_000_000 + minutes * 60).unwrap()
}

fn owner(number: u8) -> ScriptOwner {
    ScriptOwner::KeyHash([number; 20])
}

/// Returns person 1, who received 40 of person 3's 50 mined coins, and paid 15 of them to person 2.
fn subject() -> CanonicalAddress {
    owner(1).address(ChainId::BTC).unwrap()
}

fn paid(number: u8, by: &[(u8, u32, u8, u64)], to: &[(u8, u64)]) -> ConfirmedTransaction {
    let output = |by: u8, value: u64| TxOut { owner: owner(by), value };
    let inputs = by.iter().map(|(made, index, by, value)| {
        TxInput::new(
            OutPoint { txid: Txid::from_bytes([*made; 32]), index: *index },
            Some(output(*by, *value)),
        )
    });
    let transaction = Transaction {
        txid: Txid::from_bytes([number; 32]),
        kind: if by.is_empty() { TransactionKind::Coinbase } else { TransactionKind::Payment },
        inputs: inputs.collect(),
        outputs: to.iter().map(|(by, value)| output(*by, *value)).collect(),
    };
    ConfirmedTransaction { transaction, height: number.into(), time: at(-i64::from(100 - number)) }
}

fn scenario() -> Vec<ConfirmedTransaction> {
    vec![
        paid(10, &[], &[(3, 50)]),
        paid(11, &[(10, 0, 3, 50)], &[(1, 40), (3, 10)]),
        paid(12, &[(11, 0, 1, 40)], &[(2, 15), (1, 25)]),
    ]
}

fn silent(about: Silence) -> Api {
    Api { transactions: scenario(), silent_about: Some(about) }
}

struct World {
    api: Arc<FakeApi>,
    source: OnDemand,
    _directory: tempfile::TempDir,
}

impl World {
    async fn new(api: Api) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("assay.db");
        let store = SqliteStore::open_or_create(&path, Environment::Production).await.unwrap();
        let api = Arc::new(FakeApi { api: Mutex::new(api), ..FakeApi::default() });
        let histories: Arc<dyn HistorySource> = Arc::clone(&api) as Arc<dyn HistorySource>;
        let bound = Duration::from_secs(30);
        let source = OnDemand::new(ChainId::BTC, Arc::new(store), histories, bound);
        Self { api, source, _directory: directory }
    }

    async fn check(&self, now: Timestamp) -> ChainFacts {
        let policy = Policy::default();
        let rules = TraceRules::new(&policy, ChainId::BTC.info());
        let (subject, intel) = (subject(), IntelSnapshot::default());
        let request =
            TraceRequest { subject: &subject, rules, policy: &policy, intel: &intel, now };
        let traced = self.source.trace(request).await.unwrap();
        match traced.state {
            ChainState::Followed(facts) => *facts,
            other => panic!("{other:?}"),
        }
    }
}

fn ends(facts: &ChainFacts, direction: Direction) -> Vec<(FlowEnd, u128)> {
    let parts = facts.flows.ledgers.iter().flat_map(|ledger| &ledger.direction(direction).parts);
    parts.map(|part| (part.end, part.amount)).collect()
}

#[tokio::test]
async fn a_complete_history_is_complete() {
    let world = World::new(Api { transactions: scenario(), silent_about: None }).await;
    let facts = world.check(at(0)).await;
    assert!(facts.flows.complete);
    assert_eq!(ends(&facts, Direction::Source), [(FlowEnd::Mining, 40)]);
    assert_eq!(facts.activity.unwrap().amounts[0].balance, 25);
    let behavior = facts.behavior.unwrap();
    assert!(behavior.searched.transactions > 0 && behavior.searched.is_whole, "{behavior:?}");
}

#[tokio::test]
async fn an_address_without_an_answer_was_not_checked() {
    let world = World::new(silent(Silence::AllButTheTip)).await;
    let facts = world.check(at(0)).await;
    assert!(!facts.flows.complete && facts.activity.is_none() && facts.behavior.is_none());
    // Given that it answers later, nothing of that is remembered.
    world.api.api().silent_about = None;
    assert!(world.check(at(1)).await.flows.complete);
}

#[tokio::test]
async fn an_empty_page_despite_counted_transactions_is_no_history() {
    let world = World::new(silent(Silence::Pages)).await;
    assert!(!world.check(at(0)).await.flows.complete);
    world.api.api().silent_about = None;
    let facts = world.check(at(1)).await;
    assert!(facts.flows.complete);
    assert_eq!(ends(&facts, Direction::Source), [(FlowEnd::Mining, 40)]);
}

#[tokio::test]
async fn an_output_without_an_answer_is_not_unspent() {
    let world = World::new(silent(Silence::Spends)).await;
    let facts = world.check(at(0)).await;
    assert!(!facts.flows.complete);
    let open = (FlowEnd::Unresolved(UnresolvedReason::TraceLimit), 15);
    assert!(ends(&facts, Direction::Destination).contains(&open), "{facts:?}");
    world.api.api().silent_about = None;
    let facts = world.check(at(1)).await;
    assert!(facts.flows.complete);
    assert!(ends(&facts, Direction::Destination).contains(&(FlowEnd::Unspent, 15)), "{facts:?}");
}

#[tokio::test]
async fn a_transaction_that_is_not_there_is_no_unknown_origin() {
    let world = World::new(silent(Silence::Transactions)).await;
    let facts = world.check(at(0)).await;
    assert!(!facts.flows.complete);
    let open = (FlowEnd::Unresolved(UnresolvedReason::TraceLimit), 40);
    assert_eq!(ends(&facts, Direction::Source), [open]);
}

#[tokio::test]
async fn a_history_is_fetched_again_however_often_it_was_read() {
    let world = World::new(Api { transactions: scenario(), silent_about: None }).await;
    let _ = world.check(at(0)).await;
    // Given money that comes in after the first look, and a look every half an hour.
    let mut later = scenario();
    later.push(paid(13, &[], &[(1, 7)]));
    world.api.api().transactions = later;
    for minutes in [30, 60, 90, 119] {
        let facts = world.check(at(minutes)).await;
        assert_eq!(facts.activity.unwrap().amounts[0].received, 40, "what is stored is used");
    }
    assert_eq!(world.api.histories.load(Ordering::Relaxed), 1);
    // Then after two hours it is seen.
    let facts = world.check(at(121)).await;
    assert_eq!(facts.activity.unwrap().amounts[0].received, 47);
    assert_eq!(world.api.histories.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn pools_are_not_requested_as_addresses() {
    // Given money that comes out of a pool: the trace ends there and asks the API nothing of it.
    let mut transactions = scenario();
    let owner = ScriptOwner::Pool(Pool::ZcashShielded);
    if let Some(ConfirmedTransaction { transaction: paid, .. }) = transactions.get_mut(1) {
        paid.inputs = vec![TxInput::from_pool(paid.txid, Some(TxOut { owner, value: 50 }))];
    }
    let world = World::new(Api { transactions, silent_about: None }).await;
    assert!(world.check(at(0)).await.flows.complete);
}
