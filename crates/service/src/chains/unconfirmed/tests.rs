use std::sync::Arc;

use assay_chain::{SourceError, mempool::MempoolSource};
use assay_engine::{
    evidence::{ChainState, FlowFacts},
    policy::Policy,
    trace::TraceRules,
    transfer::{FoundTransfer, TransferDirection, TransferQuery, TransferSelector},
    utxo::{Block, OutputSelector, ResolvedBlock, TransactionKind},
};
use assay_graph::{Graph, memory::MemoryGraph};
use assay_intel::IntelSnapshot;
use assay_test_chains::TestChain;

use super::*;
use crate::chains::{
    graph::GraphReader,
    reader::ChainReader,
    transfer::{TransferError, TransferRead, TransferReadRequest, UnknownTransaction},
};

/// The mempool of a node that answers as it is told.
#[derive(Debug, Default)]
struct Pool(BTreeMap<Txid, MempoolEntry>);

impl Pool {
    /// A mempool with transactions, of which no spent output is told.
    fn of(transactions: &[Transaction]) -> Self {
        let entry = |transaction: &Transaction| {
            let mut transaction =
                Transaction { kind: TransactionKind::Payment, ..transaction.clone() };
            let txid = transaction.txid;
            for input in transaction.inputs.iter_mut().filter(|input| !input.is_from_pool(txid)) {
                input.spent = None;
            }
            let entry = UnconfirmedTransaction { transaction, signals_replacement: false };
            (txid, MempoolEntry::Unconfirmed(Box::new(entry)))
        };
        Self(transactions.iter().map(entry).collect())
    }

    fn open(self) -> Mempool {
        Mempool::new(Arc::new(self))
    }
}

impl MempoolSource for Pool {
    fn entries(&self, txids: &[Txid]) -> Result<Vec<MempoolEntry>, SourceError> {
        let entry = |txid| self.0.get(txid).cloned().unwrap_or(MempoolEntry::Absent);
        Ok(txids.iter().map(entry).collect())
    }
}

/// A node that does not answer.
#[derive(Debug)]
struct SilentNode;

impl MempoolSource for SilentNode {
    fn entries(&self, _: &[Txid]) -> Result<Vec<MempoolEntry>, SourceError> {
        Err(SourceError::Stopped)
    }
}

/// A recorded chain, and the transactions of its next block.
struct World {
    recorded: Vec<ResolvedBlock>,
    next: Block,
}

impl World {
    fn new(seed: u64, start: u64) -> Self {
        let mut recorded = TestChain::generate(seed, start, 12).blocks;
        let next = recorded.pop().unwrap().into_block();
        Self { recorded, next }
    }

    /// A chain and a payment of the next block that spends outputs of recorded blocks only.
    fn with_plain_payment() -> (Self, Transaction) {
        let found = (1..100).find_map(|seed| {
            let world = Self::new(seed, 0);
            let recorded = world.transactions();
            let is_recorded =
                |input: &TxInput| input.spent.is_some() && recorded.contains(&input.outpoint.txid);
            let payments = world.payments().into_iter();
            let mut plain =
                payments.filter(|it| !it.inputs.is_empty() && it.inputs.iter().all(is_recorded));
            let payment = plain.next()?;
            Some((world, payment))
        });
        found.unwrap()
    }

    /// The identifiers of the recorded transactions.
    fn transactions(&self) -> HashSet<Txid> {
        let recorded = self.recorded.iter().flat_map(|block| &block.transactions);
        recorded.map(|it| it.txid).collect()
    }

    fn graph(&self, next: Option<&[Transaction]>) -> Arc<dyn Graph> {
        let mut blocks = self.recorded.clone();
        if let Some(transactions) = next {
            let transactions = transactions.to_vec();
            blocks.push(ResolvedBlock::assume(Block { transactions, ..self.next.clone() }));
        }
        let start = self.recorded[0].reference.height;
        let time = self.next.reference.time;
        Arc::new(MemoryGraph::new(ChainId::BTC, start, false, blocks, time))
    }

    /// The payments of the next block, each after those whose outputs it spends.
    fn payments(&self) -> Vec<Transaction> {
        let payments = self.next.transactions.iter();
        payments.filter(|it| it.kind != TransactionKind::Coinbase).cloned().collect()
    }

    async fn deposit(
        &self,
        graph: Arc<dyn Graph>,
        mempool: Option<&Mempool>,
        (txid, output): (Txid, u32),
    ) -> Result<TransferRead, TransferError> {
        let (policy, intel) = (Policy::default(), IntelSnapshot::default());
        let selector = TransferSelector::Outputs(OutputSelector::Index(output));
        let direction = TransferDirection::Deposit;
        let query = &TransferQuery { chain: ChainId::BTC, txid, selector, direction };
        let rules = TraceRules::new(&policy, ChainId::BTC.info());
        let now = self.next.reference.time;
        let (policy, intel) = (&policy, &intel);
        let request = TransferReadRequest { query, rules, policy, intel, now, mempool };
        GraphReader::new(ChainId::BTC, graph).transfer(request).await
    }

    /// The reason for which a transaction is not read from a mempool.
    async fn refusal(&self, pool: Pool, txid: Txid) -> (NotRead, String) {
        let read = self.deposit(self.graph(None), Some(&pool.open()), (txid, 0)).await;
        let Err(TransferError::UnknownTransaction(unknown)) = read else { panic!("{read:?}") };
        (unknown.mempool.clone().unwrap(), unknown.to_string())
    }
}

fn flows(read: &TransferRead) -> &FlowFacts {
    match &read.traced.state {
        ChainState::Followed(facts) => &facts.flows,
        other => panic!("{other:?}"),
    }
}

/// A transaction that spends one output, all of it.
fn spending(number: u8, of: &Transaction, index: u32) -> Transaction {
    let txid = Txid::from_bytes([number; 32]);
    let spent = of.outputs[usize::try_from(index).unwrap()].clone();
    let input = TxInput::new(OutPoint { txid: of.txid, index }, Some(spent.clone()));
    Transaction { txid, kind: TransactionKind::Payment, inputs: vec![input], outputs: vec![spent] }
}

#[tokio::test]
async fn a_transaction_without_a_mempool_entry_is_not_found() {
    let world = World::new(3, 0);
    let payment = &world.payments()[0];
    let (reason, text) = world.refusal(Pool::default(), payment.txid).await;
    assert_eq!(reason, NotRead::Absent);
    assert!(text.contains("up to block 10") && text.contains("mempool"), "{text}");
    let mined = Pool([(payment.txid, MempoolEntry::Confirmed)].into());
    let (reason, text) = world.refusal(mined, payment.txid).await;
    assert_eq!(reason, NotRead::InNewerBlock);
    assert!(text.contains("in a block that is not recorded yet"), "{text}");
    let silent = Mempool::new(Arc::new(SilentNode));
    let read = world.deposit(world.graph(None), Some(&silent), (payment.txid, 0)).await;
    assert!(read.unwrap_err().to_string().contains("could not be read"));
    let unsearched = world.deposit(world.graph(None), None, (payment.txid, 0)).await;
    assert!(unsearched.unwrap_err().to_string().contains("Unconfirmed transactions are not known"));
}

#[tokio::test]
async fn a_source_is_not_believed_about_outputs_of_blocks_that_are_not_recorded() {
    // Given a payment that spends an output of a transaction that is not recorded, and a source that states its owner
    // and amount.
    let (world, recorded) = World::with_plain_payment();
    let parent = spending(1, &recorded, 0);
    let child = spending(2, &parent, 0);
    let stated = |parent: MempoolEntry| {
        let entry =
            UnconfirmedTransaction { transaction: child.clone(), signals_replacement: false };
        let entry = MempoolEntry::Unconfirmed(Box::new(entry));
        Pool([(Txid::from_bytes([1; 32]), parent), (child.txid, entry)].into())
    };
    // When the source says that a newer block holds it, then that block is awaited; otherwise the output is unknown.
    let (reason, _) = world.refusal(stated(MempoolEntry::Confirmed), child.txid).await;
    assert_eq!(reason, NotRead::InNewerBlock);
    let (reason, _) = world.refusal(stated(MempoolEntry::Absent), child.txid).await;
    assert_eq!(reason, NotRead::UnknownOutput(OutPoint { txid: parent.txid, index: 0 }));
}

#[tokio::test]
async fn an_unconfirmed_deposit_has_the_origins_that_it_has_in_a_block() {
    let (mut compared, mut with_ancestors) = (0, 0);
    for seed in 1..40 {
        let world = World::new(seed, 0);
        let payments = world.payments();
        let recorded = world.transactions();
        let is_known = |it: &Transaction| {
            spends(it).next().is_some() && it.inputs.iter().all(|input| input.spent.is_some())
        };
        for (place, payment) in payments.iter().enumerate() {
            let before = &payments[..place];
            let mut read = before.iter().filter(|of| is_ancestor(of, payment, before));
            // Random chains also have inputs of unknown value, and spend coins of the block itself.
            let is_there = |input: &TxInput| {
                let spent = input.outpoint.txid;
                recorded.contains(&spent) || before.iter().any(|it| it.txid == spent)
            };
            let is_usual = |it: &Transaction| is_known(it) && it.inputs.iter().all(&is_there);
            if !is_usual(payment) || !read.all(is_usual) {
                continue;
            }
            // Given a payment and the payments before it in the mempool, of which it may spend outputs,
            let pool = Pool::of(&payments[..=place]);
            let mempool = pool.open();
            let outputs = payment.outputs.iter().zip(0..);
            let pays =
                |output: &TxOut| output.value > 0 && output.owner.address(ChainId::BTC).is_some();
            for (_, output) in outputs.filter(|(output, _)| pays(output)).take(2) {
                let asked = (payment.txid, output);
                let read = world.deposit(world.graph(None), Some(&mempool), asked).await;
                // Random chains also spend outputs that no chain lets anybody spend.
                let is_unknown = |unknown: &UnknownTransaction| {
                    matches!(unknown.mempool, Some(NotRead::UnknownOutput(_)))
                };
                let unconfirmed = match read {
                    Err(TransferError::UnknownTransaction(it)) if is_unknown(&it) => continue,
                    read => read.unwrap(),
                };
                let FoundTransfer::Outputs(transfer) = &unconfirmed.transfer else { panic!() };
                let found = transfer.unconfirmed.unwrap();
                with_ancestors += u32::from(found.ancestors > 0);
                // when a block has it and its ancestors,
                let is_read = |of: &Transaction| is_ancestor(of, payment, &payments[..place]);
                let mut mined: Vec<Transaction> =
                    payments[..place].iter().filter(|it| is_read(it)).cloned().collect();
                assert_eq!(mined.len(), usize::try_from(found.ancestors).unwrap());
                mined.push(payment.clone());
                for transaction in &mut mined {
                    transaction.kind = TransactionKind::Payment;
                    transaction.classify(ChainId::BTC, world.next.reference.time);
                }
                let confirmed =
                    world.deposit(world.graph(Some(&mined)), None, asked).await.unwrap();
                // then its money has the same origins, over the same paths.
                assert_eq!(flows(&unconfirmed), flows(&confirmed), "seed {seed}: {}", payment.txid);
                let revision = unconfirmed.traced.revision.unwrap();
                assert!(revision.contains("+mempool-"), "{revision}");
                assert!(flows(&confirmed).complete);
                compared += 1;
            }
        }
    }
    assert!(
        compared > 50 && with_ancestors > 5,
        "{compared} compared, {with_ancestors} of them with ancestors"
    );
}

/// True if a payment spends outputs of another one, directly or through others.
fn is_ancestor(of: &Transaction, payment: &Transaction, others: &[Transaction]) -> bool {
    spends(payment).any(|input| {
        let spent = input.outpoint.txid;
        let other = others.iter().find(|other| other.txid == spent);
        spent == of.txid || other.is_some_and(|other| is_ancestor(of, other, others))
    })
}

#[tokio::test]
async fn what_contradicts_the_chain_is_refused_with_the_contradiction() {
    let (world, payment) = World::with_plain_payment();
    let recorded = world.recorded.iter().flat_map(|block| &block.transactions);
    let recorded: Vec<&Transaction> = recorded.collect();
    // Given an output that a block spends,
    let spent = |it: &&Transaction| {
        let output = spends(it).find(|input| input.spent.is_some())?.outpoint;
        Some((it.txid, output, recorded.iter().copied().find(|made| made.txid == output.txid)?))
    };
    let (spent_by, output, made) = recorded.iter().find_map(spent).unwrap();
    let again = spending(200, made, output.index);
    let (reason, text) = world.refusal(Pool::of(std::slice::from_ref(&again)), again.txid).await;
    assert_eq!(reason, NotRead::DoubleSpend(DoubleSpend { output, spent_by }));
    assert!(text.contains("double spend") && text.contains(&spent_by.to_string()), "{text}");

    // an unspent output and a payment that creates money from it,
    let mut richer = payment.clone();
    richer.outputs[0].value += u64::try_from(payment.fee()).unwrap() + 1;
    let refused = world.refusal(Pool::of(&[richer]), payment.txid).await;
    assert_eq!(refused.0, NotRead::Unreadable);
    // a payment that spends an output twice,
    let mut twice = payment.clone();
    twice.inputs.push(twice.inputs[0].clone());
    assert_eq!(world.refusal(Pool::of(&[twice]), payment.txid).await.0, NotRead::Unreadable);
    // one whose source tells another amount,
    let mut told = Pool::of(std::slice::from_ref(&payment));
    if let Some(MempoolEntry::Unconfirmed(entry)) = told.0.get_mut(&payment.txid) {
        let mut spent = payment.inputs[0].spent.clone();
        spent.as_mut().unwrap().value += 1;
        entry.transaction.inputs[0].spent = spent;
    }
    assert_eq!(world.refusal(told, payment.txid).await.0, NotRead::Unreadable);
    // and outputs that do not exist: of no transaction, and beyond those of a recorded one.
    let mut unknown = payment.clone();
    for (txid, index) in [(Txid::from_bytes([77; 32]), 0), (made.txid, 100_000)] {
        let output = OutPoint { txid, index };
        unknown.inputs[0].outpoint = output;
        let refused = world.refusal(Pool::of(std::slice::from_ref(&unknown)), payment.txid).await;
        assert_eq!(refused.0, NotRead::UnknownOutput(output));
    }
}

#[tokio::test]
async fn as_many_ancestors_are_read_as_nodes_keep() {
    let world = World::new(7, 0);
    let mut payments = world.payments();
    payments.truncate(1);
    payments[0].outputs.truncate(1);
    for number in 1..=25 {
        let next = spending(number, payments.last().unwrap(), 0);
        payments.push(next);
    }
    let (last, before) = (payments[MOST_UNCONFIRMED].txid, payments[MOST_UNCONFIRMED - 1].txid);
    let read =
        world.deposit(world.graph(None), Some(&Pool::of(&payments).open()), (before, 0)).await;
    let FoundTransfer::Outputs(transfer) = read.unwrap().transfer else { panic!() };
    assert_eq!(transfer.unconfirmed.unwrap().ancestors, 24);
    let (reason, text) = world.refusal(Pool::of(&payments), last).await;
    assert_eq!(reason, NotRead::TooManyAncestors);
    assert!(text.contains("more than 24 other"), "{text}");
}

#[tokio::test]
async fn an_output_from_before_the_first_block_leaves_the_origins_incomplete() {
    let world = World::new(9, 5);
    let mut payment = world.payments().into_iter().find(|it| spends(it).next().is_some()).unwrap();
    payment.inputs[0].outpoint.txid = Txid::from_bytes([77; 32]);
    let output = payment
        .outputs
        .iter()
        .zip(0..)
        .find(|(output, _)| output.value > 0 && output.owner.address(ChainId::BTC).is_some());
    let asked = (payment.txid, output.unwrap().1);
    let mempool = Pool::of(&[payment]).open();
    let read = world.deposit(world.graph(None), Some(&mempool), asked).await.unwrap();
    assert!(!flows(&read).complete);
}
