//! Traces of random wallets on a large chain are equal in memory, in the embedded store and on demand; numbers
//! distinguish owners.

use std::{collections::HashMap, sync::Arc};

use assay_address::ChainId;
use assay_engine::{
    evidence::Direction,
    ledger::{BlockRef, OwnHistory, OwnerNumber, TransactionNumber},
    policy::Policy,
    reading::{
        BlockPosition, ChainView, FeePayer, GatheredChain, LookupResult, ReadRequest,
        TransactionRead, ViewError, Waypoint,
    },
    taxonomy::Category,
    trace::{Attributions, TraceRules},
    utxo::{
        Block, OutPoint, ResolvedBlock, ScriptOwner, Transaction, TransactionKind, TxOut, Txid,
    },
};
use assay_graph::{EmbeddedGraphs, GraphError, GraphView, ReadSource, WriterOptions};
use assay_service::chains::attributed_owners::{AttributedOwners, AttributionInputs};
use assay_test_random::Random;
use assay_tests::{
    append,
    big_chain::{BigChain, ChainShape, Hub, Person},
    oracle::Case,
    world::{Claim, Claims},
};
use async_trait::async_trait;
use jiff::{Timestamp, civil::date};

const CHAIN: ChainId = ChainId::BTC;
const SUBJECTS: u64 = 1_000;
const SHAPE: ChainShape = ChainShape {
    seed: 21,
    blocks: 60,
    transactions: 200,
    hub: Some(Hub { outputs: 1_000, leaves: 200 }),
};

/// A source with only the data of an explorer's API: no clusters and no payers of a coinbase's fees.
struct ApiSource<'v>(&'v dyn GraphView);

#[async_trait]
impl ReadSource for ApiSource<'_> {
    type Error = GraphError;

    fn with_view(&mut self, read: &mut dyn FnMut(&dyn ChainView)) {
        self.0.with_view(&mut |view| read(&ApiView(view)));
    }

    async fn fetch(&mut self, request: ReadRequest) -> Result<(), GraphError> {
        self.0.fetch(&request).await
    }
}

struct ApiView<'v>(&'v dyn ChainView);

impl ChainView for ApiView<'_> {
    fn look_up(&self, waypoint: Waypoint) -> Result<LookupResult, ViewError> {
        self.0.look_up(waypoint)
    }

    fn read(
        &self,
        transaction: TransactionNumber,
        direction: Direction,
        most: u32,
        into: &mut TransactionRead,
    ) -> Result<(), ViewError> {
        self.0.read(transaction, direction, most, into)?;
        into.fee_payers = Vec::<FeePayer>::new();
        Ok(())
    }

    fn cluster_of(&self, owner: OwnerNumber) -> Result<OwnerNumber, ViewError> {
        Ok(owner)
    }

    fn owner(&self, number: OwnerNumber) -> Result<ScriptOwner, ViewError> {
        self.0.owner(number)
    }

    fn txid(&self, number: TransactionNumber) -> Result<Txid, ViewError> {
        self.0.txid(number)
    }
}

/// A source that gathers transactions on demand. The index of a transaction in its block is known only after another
/// transaction of the block was gathered.
struct OnDemandSource<'c> {
    gathered: GatheredChain,
    by_block: HashMap<u64, Vec<(TransactionNumber, u64)>>,
    chain: &'c PublishedChain,
}

/// The transactions that a source on demand can fetch.
struct PublishedChain {
    transactions: HashMap<Txid, (BlockPosition, Transaction)>,
    spenders: HashMap<OutPoint, Txid>,
}

impl PublishedChain {
    fn new(blocks: &[ResolvedBlock]) -> Self {
        let (mut transactions, mut spenders) = (HashMap::new(), HashMap::new());
        for block in blocks {
            let (height, time) = (block.reference.height, block.reference.time);
            for (transaction, index) in block.transactions.iter().zip(0..) {
                let inputs = transaction.inputs.iter().map(|input| input.outpoint);
                spenders.extend(inputs.map(|outpoint| (outpoint, transaction.txid)));
                let at = BlockPosition { height, time, index };
                transactions.insert(transaction.txid, (at, transaction.clone()));
            }
        }
        Self { transactions, spenders }
    }
}

impl OnDemandSource<'_> {
    fn add(&mut self, txid: Txid) {
        let (at, transaction) = &self.chain.transactions[&txid];
        let [first, second, ..] = *txid.as_bytes();
        let unknown = BlockPosition { index: u16::from_be_bytes([first, second]).into(), ..*at };
        let number = self.gathered.add(transaction, unknown);
        let of_block = self.by_block.entry(at.height).or_default();
        if !of_block.iter().any(|(known, _)| *known == number) {
            of_block.push((number, at.index));
        }
        if of_block.len() > 1 {
            for (number, index) in of_block {
                self.gathered.set_index_in_block(*number, *index);
            }
        }
    }

    /// Gathers the transactions of an owner, and returns the history.
    async fn history(
        &mut self,
        subject: &ScriptOwner,
        view: &dyn GraphView,
        rules: &TraceRules,
    ) -> (OwnerNumber, OwnHistory) {
        let owner = view.owner_number(subject).await.unwrap().unwrap();
        let known = view.history(owner, rules.read_limits()).await.unwrap();
        for own in known.incoming.iter().chain(&known.outgoing) {
            let txid = view.read(|view| view.txid(own.number)).unwrap();
            self.add(txid);
            for input in &self.chain.transactions[&txid].1.inputs {
                let output = self.gathered.output_number(input.outpoint);
                self.gathered.set_spender(output, Some(txid));
            }
        }
        let owner = self.gathered.owner_number(subject);
        (owner, self.gathered.history(owner, known.statistics))
    }
}

#[async_trait]
impl ReadSource for OnDemandSource<'_> {
    type Error = GraphError;

    fn with_view(&mut self, read: &mut dyn FnMut(&dyn ChainView)) {
        read(&self.gathered);
    }

    async fn fetch(&mut self, request: ReadRequest) -> Result<(), GraphError> {
        for number in request.transactions {
            let txid = self.gathered.txid(number)?;
            self.add(txid);
        }
        for output in request.outputs {
            let outpoint = self.gathered.outpoint(output)?;
            let spender = self.chain.spenders.get(&outpoint).copied();
            self.gathered.set_spender(output, spender);
            if let Some(spender) = spender {
                self.add(spender);
            }
        }
        Ok(())
    }
}

#[tokio::test]
async fn a_thousand_wallets_have_the_same_flows_over_every_kind_of_view() {
    // Given a chain of thousands of transactions with services, swindlers and a hub,
    let mut generated = BigChain::new(SHAPE);
    let blocks: Vec<ResolvedBlock> = generated.by_ref().collect();
    let mut case = Case {
        seed: SHAPE.seed,
        chain: CHAIN,
        subject: Person::Hub.owner(),
        attributions: generated.attributions(),
        rules: TraceRules::new(&Policy::default(), CHAIN.info()),
        today: date(2025, 2, 1),
        blocks,
    };
    let directory = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(directory.path());
    let options = WriterOptions { start: 0, sample: false, backfill: false };
    let mut writer = graphs.writer(CHAIN, options).unwrap();
    for blocks in case.blocks.chunks(16) {
        append(&mut writer, blocks, u64::MAX, Timestamp::UNIX_EPOCH).unwrap();
    }
    writer.build_indexes().unwrap();
    let embedded = graphs.graph(CHAIN).unwrap().unwrap();
    let embedded = embedded.view().await.unwrap().unwrap();
    let (memory, published) = (case.in_memory(), PublishedChain::new(&case.blocks));

    let mut dice = Random::new(5);
    let wallets: Vec<ScriptOwner> = (1..SUBJECTS)
        .map(|_| Person::Wallet(dice.below(generated.wallets())).owner())
        .chain([Person::Hub.owner()])
        .collect();
    let mut unlike = 0;
    for wallet in wallets {
        case.subject = wallet;
        // when the money of a wallet is traced over each kind of view,
        let expected = case.trace(&memory, None).await.unwrap().unwrap();
        let found = case.trace(&*embedded, None).await.unwrap().unwrap();
        let owner = memory.owner_number(&case.subject).await.unwrap().unwrap();
        let history = memory.history(owner, case.rules.read_limits()).await.unwrap();
        let bare = case.trace_over(&mut ApiSource(&memory), (owner, &history)).await.unwrap();
        let (gathered, by_block) = (GatheredChain::default(), HashMap::new());
        let mut on_demand = OnDemandSource { gathered, by_block, chain: &published };
        let (owner, history) = on_demand.history(&case.subject, &memory, &case.rules).await;
        let gathered = case.trace_over(&mut on_demand, (owner, &history)).await.unwrap();
        // then the flows are the same, as far as a view knows clusters.
        assert_eq!(found, expected, "embedded, {:?}", case.subject);
        assert_eq!(gathered, bare, "on demand, {:?}", case.subject);
        unlike += u64::from(bare != expected);
    }
    assert!(unlike > SUBJECTS / 10, "clusters and fees must matter: {unlike}");
}

/// A block that pays one owner.
fn paying(height: u64, branch: u8, owner: &ScriptOwner) -> ResolvedBlock {
    let hash = |height: u64, branch: u8| {
        let mut hash = [branch; 32];
        hash[..8].copy_from_slice(&height.to_be_bytes());
        hash
    };
    let time = Timestamp::from_second(1_735_689_600 + i64::try_from(height).unwrap()).unwrap();
    let parent = height.checked_sub(1).map_or([0; 32], |below| hash(below, 0));
    let transaction = Transaction {
        txid: Txid::from_bytes(hash(height, branch ^ 0x80)),
        kind: TransactionKind::Coinbase,
        inputs: vec![],
        outputs: vec![TxOut { owner: owner.clone(), value: 1_000 }],
    };
    let reference = BlockRef { height, hash: hash(height, branch), parent, time };
    ResolvedBlock::assume(Block { reference, work: None, transactions: vec![transaction] })
}

#[tokio::test]
async fn an_owner_of_a_replaced_block_is_not_taken_for_another() {
    // Given a chain whose newest block can be replaced, and a label of somebody who is not on it,
    let [miner, stranger, exchange] = [1, 2, 3].map(|person| Person::Wallet(person).owner());
    let directory = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(directory.path());
    let options = WriterOptions { start: 0, sample: false, backfill: false };
    let mut writer = graphs.writer(CHAIN, options).unwrap();
    let first = [paying(0, 0, &miner), paying(1, 0, &stranger)];
    append(&mut writer, &first, 1, Timestamp::UNIX_EPOCH).unwrap();
    let mut claims = Claims::default();
    claims.label(&exchange, Claim::investigated(Category::Exchange, "North"));
    let (intel, policy) = (claims.snapshot(CHAIN, Timestamp::UNIX_EPOCH), Policy::default());
    let by =
        AttributionInputs { chain: CHAIN, intel: &intel, policy: &policy, today: date(2025, 2, 1) };
    let graph = graphs.graph(CHAIN).unwrap().unwrap();
    let owners = AttributedOwners::default();
    let attributed = async |owner: &ScriptOwner| {
        let view = Arc::clone(&graph).view().await.unwrap().unwrap();
        let number = view.owner_number(owner).await.unwrap().unwrap();
        let attributions = owners.for_view(&*view, by).await.unwrap();
        let found = view.read(|view| Ok(attributions.of_owner(number, view)?.is_some())).unwrap();
        (number, found)
    };
    // when owners of both blocks were looked up, and the newest one is replaced,
    assert!(!attributed(&miner).await.1);
    let (before, is_attributed) = attributed(&stranger).await;
    assert!(!is_attributed);
    writer.roll_back(0).unwrap();
    append(&mut writer, &[paying(1, 1, &exchange)], 1, Timestamp::UNIX_EPOCH).unwrap();
    // then the number of the old owner is the new one's, who is attributed.
    assert_eq!(attributed(&exchange).await, (before, true));
    assert!(!attributed(&miner).await.1);
}
