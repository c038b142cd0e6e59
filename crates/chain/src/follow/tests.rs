mod accounts;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use assay_address::ChainId;
use assay_engine::{
    ledger::BlockRef,
    utxo::{Block, OutPoint, ScriptOwner, Transaction, TransactionKind, TxInput, TxOut, Txid},
};
use assay_graph::EmbeddedGraphs;
use jiff::Timestamp;

use super::*;
use crate::{SourceError, TipRef, stage::RETRIES};

/// Source with given blocks.
#[derive(Clone, Default)]
struct Given {
    blocks: Vec<Block>,
    /// True if every block is removed while it is read.
    gone: bool,
    /// File of the blocks.
    file: Option<&'static str>,
    /// Height of the newest block that the source states, which it does not have.
    stated_height: Option<u64>,
    /// Number of requests for blocks.
    asked: Arc<AtomicUsize>,
}

impl BlockSource for Given {
    fn first(&mut self) -> Result<u64, SourceError> {
        Ok(self.blocks[0].reference.height)
    }

    fn tip(&mut self) -> Result<TipRef, SourceError> {
        let BlockRef { height, hash, .. } = self.blocks.last().unwrap().reference;
        let stated = self.stated_height.map(|height| TipRef { height, hash: [9; 32] });
        Ok(stated.unwrap_or(TipRef { height, hash }))
    }

    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        let found = self.blocks.iter().find(|block| block.reference.height == height);
        Ok(found.map(|block| block.reference.hash))
    }

    fn origin(&mut self, _: u64) -> Option<String> {
        self.file.map(str::to_owned)
    }

    fn block(&mut self, hash: &[u8; 32]) -> Result<Block, SourceError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let found = self.blocks.iter().find(|block| block.reference.hash == *hash && !self.gone);
        found.cloned().ok_or(SourceError::NotOnChain { hash: *hash })
    }
}

/// Returns blocks of a branch, each of which follows the one before it.
fn branch(own: u8, heights: std::ops::RangeInclusive<u8>) -> Vec<Block> {
    let hash = |height: u8| [own, height].repeat(16).try_into().unwrap();
    let block = |height: u8| Block {
        reference: BlockRef {
            height: height.into(),
            hash: hash(height),
            parent: height.checked_sub(1).map_or([0; 32], hash),
            time: Timestamp::from_second(1_700_000_000 + i64::from(height)).unwrap(),
        },
        work: None,
        transactions: vec![Transaction {
            txid: Txid::from_bytes(hash(height)),
            kind: TransactionKind::Coinbase,
            inputs: vec![],
            outputs: vec![TxOut {
                owner: ScriptOwner::from_script(ChainId::BTC, &[0x51]),
                value: 50,
            }],
        }],
    };
    heights.map(block).collect()
}

fn given(blocks: Vec<Block>) -> Given {
    Given { blocks, ..Given::default() }
}

/// Collects the notices.
#[derive(Default)]
struct CollectedNotices(Mutex<Vec<String>>);

impl IngestObserver for CollectedNotices {
    fn reached(&self, _: u64, _: u64, _: u64) {}

    fn notice(&self, message: &str) {
        self.0.lock().unwrap().push(message.to_owned());
    }
}

const ONCE: IngestRequest = IngestRequest {
    chain: ChainId::BTC,
    from: None,
    to: None,
    follow: None,
    sample: false,
    accept_branch: None,
};

/// Data directory of one test.
struct TestDirectory {
    directory: tempfile::TempDir,
    notices: CollectedNotices,
}

impl TestDirectory {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), notices: CollectedNotices::default() }
    }

    async fn ingest(
        &self,
        source: Given,
        request: IngestRequest,
    ) -> Result<IngestReport, IngestError> {
        let directory = self.directory.path();
        let graphs = EmbeddedGraphs::new(directory);
        let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
        // A reader without end is stopped.
        let ingesting = ingest(&graphs, Box::new(source), request, &clock, &self.notices);
        tokio::time::timeout(Duration::from_mins(1), ingesting).await.expect("it ends")
    }

    async fn tip(&self) -> Option<u64> {
        let graphs = EmbeddedGraphs::new(self.directory.path());
        let graph = graphs.graph(ChainId::BTC).unwrap()?;
        graph.tip().await.unwrap().map(|tip| tip.block.height)
    }
}

#[tokio::test]
async fn a_source_that_continues_another_chain_is_refused() {
    // Given two blocks, and a file that begins with the third one of another branch...
    let directory = TestDirectory::new();
    directory.ingest(given(branch(1, 0..=1)), ONCE).await.unwrap();
    let stray = directory.ingest(given(branch(2, 2..=5)), ONCE).await.unwrap_err();
    // ...the error names the problem and the expected block, and nothing is recorded.
    assert!(matches!(&stray, IngestError::Unconnected(at) if at.block.height == 2), "{stray}");
    let told = stray.to_string();
    let (parent, recorded) = ("0201".repeat(16), "0101".repeat(16));
    assert!(told.contains(&format!("its parent is {parent}")), "{told}");
    assert!(told.contains(&format!("recorded is block 1 {recorded}")), "{told}");
    // A source of files names the file with the block.
    let named = Given { file: Some("blk00007.dat, from byte 8"), ..given(branch(2, 2..=5)) };
    let told = directory.ingest(named, ONCE).await.unwrap_err().to_string();
    let hash = "0202".repeat(16);
    assert!(told.starts_with("blk00007.dat, from byte 8: block 2 does not follow"), "{told}");
    assert!(told.contains(&format!("its hash is {hash}, its parent is {parent}")), "{told}");
    assert_eq!(directory.tip().await, Some(1));
    // The branch that was begun goes on.
    directory.ingest(given(branch(1, 2..=5)), ONCE).await.unwrap();
    assert_eq!(directory.tip().await, Some(5));
}

#[tokio::test]
async fn a_spend_that_its_recorded_transaction_cannot_have_is_refused() {
    // Given a graph that begins at block 4, so that most spent outputs are unknown to it...
    let directory = TestDirectory::new();
    directory.ingest(given(branch(1, 4..=6)), ONCE).await.unwrap();
    // ...and a block that spends a second output of a recorded transaction, which has one...
    let mut blocks = branch(1, 4..=8);
    let recorded = blocks[1].transactions[0].txid;
    let spends = |txid, index| Transaction {
        txid: Txid::from_bytes([9; 32]),
        kind: TransactionKind::Payment,
        inputs: vec![TxInput::new(OutPoint { txid, index }, None)],
        outputs: vec![],
    };
    blocks[4].transactions.push(spends(recorded, 1));
    let error = directory.ingest(given(blocks.clone()), ONCE).await.unwrap_err();
    // ...then it is refused by name, and nothing of it is recorded.
    let named = format!(
        "nothing of this block was written: input 0 of transaction {} in block 8 spends {recorded}:1, \
         which that transaction does not have",
        "09".repeat(32)
    );
    assert!(error.to_string().starts_with(&named), "{error}");
    assert_eq!(directory.tip().await, Some(6));
    // The first output is there, and that of an unknown transaction may have been.
    blocks[4].transactions[1] = spends(recorded, 0);
    blocks[3].transactions.push(Transaction {
        txid: Txid::from_bytes([8; 32]),
        ..spends(Txid::from_bytes([7; 32]), 3)
    });
    directory.ingest(given(blocks), ONCE).await.unwrap();
    assert_eq!(directory.tip().await, Some(8));
}

#[tokio::test]
async fn blocks_before_a_stray_one_are_recorded() {
    let directory = TestDirectory::new();
    let blocks = [branch(1, 0..=6), branch(2, 7..=9)].concat();
    let stray = directory.ingest(given(blocks), ONCE).await.unwrap_err();
    assert!(matches!(&stray, IngestError::Unconnected(at) if at.block.height == 7), "{stray}");
    assert_eq!(directory.tip().await, Some(6));
}

#[tokio::test]
async fn a_follower_backs_off_from_a_source_without_progress() {
    let directory = TestDirectory::new();
    directory.ingest(given(branch(1, 0..=1)), ONCE).await.unwrap();
    // It agrees on the newest block, and serves a child of another one.
    let source = given([branch(1, 0..=1), branch(2, 2..=3)].concat());
    let asked = Arc::clone(&source.asked);
    let follow = IngestRequest { follow: Some(Duration::from_millis(1)), ..ONCE };
    let following = directory.ingest(source, follow);
    assert!(tokio::time::timeout(Duration::from_secs(3), following).await.is_err());
    let notices = directory.notices.0.lock().unwrap();
    assert!(notices[0].contains("block 2 does not follow what is recorded"), "{notices:?}");
    assert!(notices[0].ends_with("trying again in 1 s"), "{notices:?}");
    // Twice at once, after one second, and after two more; two blocks each time.
    assert!(asked.load(Ordering::Relaxed) <= 8, "{asked:?}");
}

#[tokio::test]
async fn a_source_without_the_blocks_it_announces_is_abandoned() {
    let directory = TestDirectory::new();
    let source = Given { gone: true, ..given(branch(1, 0..=1)) };
    let asked = Arc::clone(&source.asked);
    let error = directory.ingest(source, ONCE).await.unwrap_err();
    assert!(matches!(error, IngestError::Source(SourceError::NotOnChain { .. })), "{error}");
    assert_eq!(asked.load(Ordering::Relaxed), 1 + usize::try_from(RETRIES).unwrap());
    assert_eq!(directory.notices.0.lock().unwrap().len(), usize::try_from(RETRIES).unwrap());
}

#[tokio::test]
async fn blocks_that_are_not_there_are_not_waited_for() {
    let directory = TestDirectory::new();
    let beyond = IngestRequest { from: Some(7), ..ONCE };
    let error = directory.ingest(given(branch(1, 0..=3)), beyond).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no block 7: the newest is 3");
    let directory = TestDirectory::new();
    let before = IngestRequest { to: Some(2), ..ONCE };
    let error = directory.ingest(given(branch(1, 4..=6)), before).await.unwrap_err();
    assert!(matches!(error, IngestError::Missing { next: 2, first: 4 }), "{error}");
}

/// Returns the blocks of a branch up to a height, and those of another branch from the next height.
fn forked(own: u8, last_common: u8, other: std::ops::RangeInclusive<u8>) -> Vec<Block> {
    let mut blocks = branch(1, 0..=last_common);
    let mut tail = branch(own, other);
    tail[0].reference.parent = blocks.last().unwrap().reference.hash;
    blocks.append(&mut tail);
    blocks
}

#[tokio::test]
async fn a_branch_beyond_the_bound_is_followed_once_it_is_accepted() {
    let directory = TestDirectory::new();
    directory.ingest(given(branch(1, 0..=20)), ONCE).await.unwrap();
    // Six blocks are replaced, as an ordinary reorganization may.
    let report = directory.ingest(given(forked(2, 14, 15..=21)), ONCE).await.unwrap();
    assert_eq!(report.reorganizations[0].removed_blocks, 6);
    // Seven are not: the recorded blocks stay, and the error says how to accept the branch.
    let other = || given(branch(1, 0..=30));
    let refused = directory.ingest(other(), ONCE).await.unwrap_err();
    let IngestError::RefusedBranch(named) = &refused else { panic!("{refused}") };
    assert_eq!((named.last_common, named.recorded, named.bound), (Some(14), 21, 6));
    let hash = |own: u8, height: u8| -> [u8; 32] { [own, height].repeat(16).try_into().unwrap() };
    assert!(refused.to_string().ends_with(&format!("block 30 {}", hex::encode(hash(1, 30)))));
    assert_eq!(directory.tip().await, Some(21));
    // A block of the recorded branch, one below the fork, and one of neither accept nothing.
    for (block, why) in [
        (hash(2, 15), "is not on the source's branch"),
        (hash(1, 14), "is not above the fork"),
        (hash(9, 9), "is not on the source's branch"),
    ] {
        let accepting = IngestRequest { accept_branch: Some(block), ..ONCE };
        let refused = directory.ingest(other(), accepting).await.unwrap_err().to_string();
        assert!(refused.ends_with(why), "{refused}");
    }
    assert_eq!(directory.tip().await, Some(21));
    let accepting = IngestRequest { accept_branch: Some(hash(1, 15)), ..ONCE };
    let report = directory.ingest(other(), accepting).await.unwrap();
    assert_eq!(report.reorganizations[0].removed_blocks, 7);
    assert_eq!(directory.tip().await, Some(30));
    // The word holds for that branch alone.
    let refused = directory.ingest(given(forked(2, 20, 21..=40)), accepting).await.unwrap_err();
    assert!(refused.to_string().ends_with("is not above the fork"), "{refused}");
}

#[tokio::test]
async fn blocks_can_be_replaced_after_a_source_lied_about_its_newest_one() {
    let directory = TestDirectory::new();
    let lying = Given { stated_height: Some(1_000), ..given(branch(1, 0..=120)) };
    let error = directory.ingest(lying, ONCE).await.unwrap_err();
    assert!(error.to_string().contains("there is no block 121"), "{error}");
    assert_eq!(directory.tip().await, Some(120));
    let report = directory.ingest(given(forked(2, 116, 117..=122)), ONCE).await.unwrap();
    assert_eq!(report.reorganizations[0].removed_blocks, 4);
    assert_eq!(directory.tip().await, Some(122));
}

#[tokio::test]
async fn small_reorganizations_do_not_add_up_to_a_large_one() {
    let directory = TestDirectory::new();
    directory.ingest(given(branch(1, 0..=20)), ONCE).await.unwrap();
    // Given a source that takes back six blocks and shows one...
    directory.ingest(given(forked(2, 14, 15..=15)), ONCE).await.unwrap();
    assert_eq!(directory.tip().await, Some(15));
    // ...then it cannot take back more, although these are two of what is recorded, and in a later run.
    let refused = directory.ingest(given(forked(3, 13, 14..=21)), ONCE).await.unwrap_err();
    let IngestError::RefusedBranch(named) = &refused else { panic!("{refused}") };
    assert_eq!((named.last_common, named.recorded), (Some(13), 20));
}

#[tokio::test]
async fn a_follower_stays_on_its_branch_and_tells() {
    let directory = TestDirectory::new();
    directory.ingest(given(branch(1, 0..=20)), ONCE).await.unwrap();
    let follow = IngestRequest { follow: Some(Duration::from_millis(1)), ..ONCE };
    let following = directory.ingest(given(forked(2, 3, 4..=40)), follow);
    assert!(tokio::time::timeout(Duration::from_secs(3), following).await.is_err());
    assert_eq!(directory.tip().await, Some(20));
    let notices = directory.notices.0.lock().unwrap();
    assert!(
        notices[0].starts_with("the source is on another branch of btc: 17 blocks"),
        "{notices:?}"
    );
    assert!(notices[0].ends_with("trying again in 1 s"), "{notices:?}");
}
