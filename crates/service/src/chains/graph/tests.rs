//! Given a chain that changes while a transfer is read, then nothing is mixed from two branches.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicUsize, Ordering},
};

use assay_engine::{
    chain::ChainId,
    policy::Policy,
    trace::{ReadLimits, TraceRules},
    transfer::TransferQuery,
    utxo::{
        Block, BlockRef, OutPoint, OutputSelector, ResolvedBlock, Transaction, TransactionKind,
        TransactionView, TxInput, TxOut, Txid,
    },
};
use assay_graph::{
    Cluster, ClusterEvidence, ClusterRef, FlowSource, Membership, memory::MemoryGraph,
};
use assay_intel::IntelSnapshot;
use jiff::Timestamp;

use super::*;

const PAYMENT: Txid = Txid::from_bytes([7; 32]);

fn time(height: u64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + i64::try_from(height).unwrap() * 600).unwrap()
}

/// A chain of two blocks, whose second one holds a payment of 30 coins, or does not.
fn branch(tip: u8, holds_payment: bool) -> MemoryGraph {
    let output = |owner, value| TxOut { owner: ScriptOwner::KeyHash([owner; 20]), value };
    let mined = |number| Transaction {
        txid: Txid::from_bytes([number; 32]),
        kind: TransactionKind::Coinbase,
        inputs: vec![],
        outputs: vec![output(1, 50)],
    };
    let spent = OutPoint { txid: Txid::from_bytes([1; 32]), index: 0 };
    let payment = Transaction {
        txid: PAYMENT,
        kind: TransactionKind::Payment,
        inputs: vec![TxInput { outpoint: spent, spent: Some(output(1, 50)) }],
        outputs: vec![output(2, 30), output(1, 20)],
    };
    let block = |height: u64, hash: u8, parent: u8, transactions| {
        let reference =
            BlockRef { height, hash: [hash; 32], parent: [parent; 32], time: time(height) };
        ResolvedBlock::assume(Block { reference, transactions })
    };
    let mut second = vec![mined(tip)];
    second.extend(holds_payment.then_some(payment));
    let blocks = vec![block(0, 1, 0, vec![mined(1)]), block(1, tip, 1, second)];
    MemoryGraph::new(ChainId::BTC, 0, false, blocks, time(1))
}

/// A graph that replaces its branch by the next one before each second time that its tip is read: after
/// everything in between was read from one branch.
#[derive(Debug)]
struct Changing {
    branches: Vec<MemoryGraph>,
    tips_read: AtomicUsize,
}

impl Changing {
    fn now(&self) -> &MemoryGraph {
        self.branch(self.tips_read.load(Ordering::Relaxed) / 2)
    }

    fn branch(&self, turn: usize) -> &MemoryGraph {
        self.branches.get(turn).unwrap_or_else(|| self.branches.last().unwrap())
    }
}

#[async_trait]
impl FlowSource for Changing {
    async fn history(
        &self,
        owner: &ScriptOwner,
        limits: ReadLimits,
    ) -> Result<Option<History>, GraphError> {
        self.now().history(owner, limits).await
    }

    async fn origins(
        &self,
        transactions: &[Txid],
        largest: u32,
    ) -> Result<Vec<Option<TransactionView>>, GraphError> {
        self.now().origins(transactions, largest).await
    }

    async fn destinations(
        &self,
        outputs: &[OutPoint],
        largest: u32,
    ) -> Result<Vec<Option<TransactionView>>, GraphError> {
        self.now().destinations(outputs, largest).await
    }
}

#[async_trait]
impl Graph for Changing {
    async fn tip(&self) -> Result<Option<GraphTip>, GraphError> {
        let before = self.tips_read.fetch_add(1, Ordering::Relaxed);
        self.branch(before.div_ceil(2)).tip().await
    }

    async fn blocks(&self, from: u64, to: u64) -> Result<Vec<BlockRef>, GraphError> {
        self.now().blocks(from, to).await
    }

    async fn transaction(
        &self,
        txid: &Txid,
        largest: u32,
    ) -> Result<Option<TransactionView>, GraphError> {
        self.now().transaction(txid, largest).await
    }

    async fn touched_above(&self, height: u64, most: u32) -> Result<Vec<ScriptOwner>, GraphError> {
        self.now().touched_above(height, most).await
    }

    async fn each_block(
        &self,
        from: u64,
        to: u64,
        each: &mut (dyn FnMut(ResolvedBlock) + Send),
    ) -> Result<(), GraphError> {
        self.now().each_block(from, to, each).await
    }

    async fn clusters(
        &self,
        owners: &[ScriptOwner],
    ) -> Result<Vec<Option<ClusterRef>>, GraphError> {
        self.now().clusters(owners).await
    }

    async fn cluster(&self, owner: &ScriptOwner, most: u32) -> Result<Option<Cluster>, GraphError> {
        self.now().cluster(owner, most).await
    }

    async fn connections(
        &self,
        owner: &ScriptOwner,
        others: &[ScriptOwner],
        most: u32,
    ) -> Result<Vec<Option<Vec<ClusterEvidence>>>, GraphError> {
        self.now().connections(owner, others, most).await
    }

    async fn clusters_changed_above(
        &self,
        height: u64,
        most: u32,
    ) -> Result<Option<Vec<ScriptOwner>>, GraphError> {
        self.now().clusters_changed_above(height, most).await
    }

    async fn each_member(
        &self,
        each: &mut (dyn FnMut(Membership) -> ControlFlow<()> + Send),
    ) -> Result<(), GraphError> {
        self.now().each_member(each).await
    }

    async fn fingerprint(&self) -> Result<[u8; 32], GraphError> {
        self.now().fingerprint().await
    }
}

async fn read(
    branches: Vec<MemoryGraph>,
    direction: TransferDirection,
) -> Result<TransferRead, TransferError> {
    let graph = Changing { branches, tips_read: AtomicUsize::new(0) };
    let query = TransferQuery {
        chain: ChainId::BTC,
        txid: PAYMENT,
        selector: OutputSelector::Index(0),
        direction,
    };
    let (policy, intel) = (Policy::default(), IntelSnapshot::default());
    let rules = TraceRules::new(&policy, ChainId::BTC.info());
    let now = time(2);
    let request = TransferRequest { query: &query, rules, policy: &policy, intel: &intel, now };
    GraphReader::new(Arc::new(graph), Arc::default()).transfer(request).await
}

fn flows(read: &TransferRead) -> &FlowFacts {
    let ChainState::Followed(facts) = &read.traced.state else { panic!("{read:?}") };
    &facts.flows
}

const BOTH: [TransferDirection; 2] = [TransferDirection::Deposit, TransferDirection::Withdrawal];

#[tokio::test]
async fn a_transfer_of_a_steady_chain_is_complete() {
    for direction in BOTH {
        let read = read(vec![branch(2, true)], direction).await.unwrap();
        assert!(flows(&read).complete);
        assert_eq!((read.height(), read.tip_height), (1, 1));
        let destination = &flows(&read).ledgers[0].destination;
        assert_eq!(destination.parts.is_empty(), direction == TransferDirection::Deposit);
    }
}

#[tokio::test]
async fn a_transaction_that_a_reorganisation_removes_meanwhile_is_not_known() {
    for direction in BOTH {
        let branches = vec![branch(2, true), branch(3, false)];
        let error = read(branches, direction).await.unwrap_err();
        let text = error.to_string();
        let TransferError::UnknownTransaction(unknown) = error else { panic!("{text}") };
        assert_eq!(unknown.removed_from, Some(1));
        assert!(text.contains("it was in block 1 until a reorganisation removed"), "{text}");
        assert!(text.contains("which is 10 minutes old"), "{text}");
    }
}

#[tokio::test]
async fn a_transaction_that_arrives_meanwhile_is_read() {
    let branches = vec![branch(2, false), branch(3, true)];
    let read = read(branches, TransferDirection::Deposit).await.unwrap();
    assert!(flows(&read).complete);
}

#[tokio::test]
async fn flows_of_a_chain_that_keeps_changing_are_incomplete() {
    let branches = (2..20).map(|tip| branch(tip, true)).collect();
    let read = read(branches, TransferDirection::Withdrawal).await.unwrap();
    assert!(!flows(&read).complete);
    // Without the transaction in any of the branches nothing is certain: not even that it is unknown.
    let branches = (2..20).map(|tip| branch(tip, false)).collect();
    let error = self::read(branches, TransferDirection::Withdrawal).await.unwrap_err();
    assert!(matches!(error, TransferError::Unavailable(..)), "{error}");
}
