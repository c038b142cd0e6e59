//! Ingest of account chains from a source with given blocks.

use std::{ops::RangeInclusive, sync::Mutex, time::Duration};

use assay_address::ChainId;
use assay_engine::{
    account::{AccountAddress, AccountTransaction, Asset, Transfer, TransferKind, TransferPlace},
    ledger::BlockRef,
    utxo::Txid,
};
use assay_graph::{
    EmbeddedGraphs, GraphError,
    account::{AccountBlock, AccountEnds, AccountSnapshot, InternalTransfers},
};
use assay_system::Clock;
use jiff::Timestamp;

use super::{
    super::{IngestError, IngestReport, IngestRequest, ingest_accounts},
    CollectedNotices,
};
use crate::{
    BlockSource, SourceError, TipRef,
    account_source::{AccountBlockSource, NodeAbilities, ProvenParts, Tracer},
};

/// Source with given blocks.
#[derive(Clone, Default)]
struct Given {
    blocks: Vec<AccountBlock>,
    /// Height of the newest final block.
    finalized: Option<u64>,
    /// True if the source has no tracer.
    has_no_tracer: bool,
    /// The newest block that the source states, which it does not have.
    stated_tip: Option<TipRef>,
}

impl BlockSource<AccountBlock> for Given {
    fn tip(&mut self) -> Result<TipRef, SourceError> {
        let BlockRef { height, hash, .. } = self.blocks.last().unwrap().reference;
        Ok(self.stated_tip.unwrap_or(TipRef { height, hash }))
    }

    fn hash_at(&mut self, height: u64) -> Result<Option<[u8; 32]>, SourceError> {
        let found = self.blocks.iter().find(|block| block.reference.height == height);
        Ok(found.map(|block| block.reference.hash))
    }

    fn block(&mut self, hash: &[u8; 32]) -> Result<AccountBlock, SourceError> {
        let found = self.blocks.iter().find(|block| block.reference.hash == *hash);
        found.cloned().ok_or(SourceError::NotOnChain { hash: *hash })
    }
}

impl AccountBlockSource for Given {
    fn check_chain(&mut self) -> Result<(), SourceError> {
        Ok(())
    }

    fn finalized(&mut self) -> Result<Option<TipRef>, SourceError> {
        let Some(height) = self.finalized else { return Ok(None) };
        Ok(self.hash_at(height)?.map(|hash| TipRef { height, hash }))
    }

    fn abilities(&self) -> NodeAbilities {
        let tracer = if self.has_no_tracer { Tracer::None } else { Tracer::Calls };
        NodeAbilities { tracer: Some(tracer), proven: ProvenParts::ALL }
    }
}

/// Returns blocks of a branch, each with a payment of its own.
fn branch(own: u8, heights: RangeInclusive<u8>) -> Vec<AccountBlock> {
    let hash = |height: u8| [own, height].repeat(16).try_into().unwrap();
    let block = |height: u8| {
        let time = Timestamp::from_second(1_700_000_000 + i64::from(height)).unwrap();
        let payment = AccountTransaction {
            block: height.into(),
            time,
            id: Txid::from_bytes(hash(height)),
            initiator: Some(AccountAddress([1; 20])),
            transfers: vec![Transfer {
                kind: TransferKind::Transfer,
                asset: Asset::Native,
                from: AccountAddress([1; 20]),
                to: AccountAddress([own; 20]),
                amount: ruint::aliases::U256::from(height),
                place: TransferPlace::default(),
            }],
            contract_facts: Vec::new(),
            freezes: Vec::new(),
            delegations: Vec::new(),
            messages: Vec::new(),
        };
        AccountBlock {
            reference: BlockRef {
                height: height.into(),
                hash: hash(height),
                parent: height.checked_sub(1).map_or([0; 32], hash),
                time,
            },
            transactions: vec![payment],
            internal: InternalTransfers::Stated,
        }
    };
    heights.map(block).collect()
}

/// Returns the blocks of the first branch up to a height, and those of another branch from the next height.
fn forked(own: u8, last_common: u8, other: RangeInclusive<u8>) -> Given {
    let mut blocks = branch(1, 0..=last_common);
    let mut tail = branch(own, other);
    tail[0].reference.parent = blocks.last().unwrap().reference.hash;
    blocks.append(&mut tail);
    Given { blocks, ..Given::default() }
}

fn given(heights: RangeInclusive<u8>) -> Given {
    Given { blocks: branch(1, heights), ..Given::default() }
}

const ONCE: IngestRequest = IngestRequest {
    chain: ChainId::ETH,
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
        let notices = CollectedNotices(Mutex::default());
        Self { directory: tempfile::tempdir().unwrap(), notices }
    }

    fn graphs(&self) -> EmbeddedGraphs {
        EmbeddedGraphs::new(self.directory.path())
    }

    async fn ingest(
        &self,
        source: Given,
        request: IngestRequest,
    ) -> Result<IngestReport, IngestError> {
        let (graphs, ends) = (self.graphs(), AccountEnds::default);
        let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
        let graphs = (&graphs, &ends as &(dyn Fn() -> AccountEnds + Send + Sync));
        // A reader without end is stopped.
        let ingesting = ingest_accounts(graphs, Box::new(source), request, &clock, &self.notices);
        tokio::time::timeout(Duration::from_mins(1), ingesting).await.expect("it ends")
    }

    fn snapshot(&self) -> AccountSnapshot {
        self.graphs().account_snapshot(ChainId::ETH).unwrap().expect("blocks")
    }

    /// Digest of everything that the graph says.
    fn fingerprint(&self) -> [u8; 32] {
        self.snapshot().fingerprint().unwrap()
    }
}

#[tokio::test]
async fn a_reorganization_leaves_what_the_new_branch_alone_gives() {
    // Given a chain of which 70 blocks are replaced, in several runs...
    let directory = TestDirectory::new();
    directory.ingest(given(0..=30), ONCE).await.unwrap();
    directory.ingest(given(0..=99), ONCE).await.unwrap();
    let report = directory.ingest(forked(2, 29, 30..=101), ONCE).await.unwrap();
    // ...then the blocks that left the chain are told...
    assert_eq!(report.latest_block_height, Some(101));
    let [gone] = &report.reorganizations[..] else { panic!("{report:?}") };
    assert_eq!((gone.last_common_height, gone.removed_blocks), (29, 70));
    // ...and the graph is as if they had never been there.
    let anew = TestDirectory::new();
    anew.ingest(forked(2, 29, 30..=101), ONCE).await.unwrap();
    assert_eq!(directory.fingerprint(), anew.fingerprint());
}

#[tokio::test]
async fn blocks_can_be_replaced_after_a_source_lied_about_its_newest_one() {
    // Given a source that states a newest block far above those that it has...
    let directory = TestDirectory::new();
    let stated_tip = Some(TipRef { height: 1_000, hash: [9; 32] });
    let lying = Given { stated_tip, ..given(0..=120) };
    let error = directory.ingest(lying, ONCE).await.unwrap_err();
    assert!(error.to_string().contains("there is no block 121"), "{error}");
    assert_eq!(directory.snapshot().recorded().tip.height, 120);
    // ...then its blocks are rolled back in a reorganization as any others are.
    let report = directory.ingest(forked(2, 100, 101..=122), ONCE).await.unwrap();
    assert_eq!(report.reorganizations[0].removed_blocks, 20);
    assert_eq!(report.latest_block_height, Some(122));
}

#[tokio::test]
async fn blocks_below_enough_others_are_recorded_without_what_undoes_them() {
    let directory = TestDirectory::new();
    directory.ingest(given(0..=250), ONCE).await.unwrap();
    let graphs = directory.graphs();
    let mut writer = graphs.account_writer(ChainId::ETH, false, &AccountEnds::default()).unwrap();
    assert!(matches!(writer.roll_back(140), Err(GraphError::TooDeep { .. })));
    writer.roll_back(160).unwrap();
}

#[tokio::test]
async fn final_blocks_are_not_replaced_unless_the_branch_is_accepted() {
    // Given a source that calls block 15 final...
    let directory = TestDirectory::new();
    let source = Given { finalized: Some(15), ..given(0..=20) };
    let report = directory.ingest(source, ONCE).await.unwrap();
    assert_eq!(report.finalized_block_height, Some(15));
    // ...then a branch that leaves at this block is followed...
    let report = directory.ingest(forked(2, 15, 16..=21), ONCE).await.unwrap();
    assert_eq!(report.reorganizations[0].removed_blocks, 5);
    // ...and one that leaves below it is not, although it replaces few blocks and is longer.
    let other = || forked(3, 14, 15..=30);
    let refused = directory.ingest(other(), ONCE).await.unwrap_err();
    let IngestError::RefusedBranch(named) = &refused else { panic!("{refused}") };
    assert_eq!((named.last_common, named.finalized), (Some(14), Some(15)));
    let told = refused.to_string();
    assert!(told.contains("although a source called block 15 final"), "{told}");
    assert_eq!(directory.snapshot().recorded().tip.height, 21);
    let block = [3, 15].repeat(16).try_into().unwrap();
    let accepting = IngestRequest { accept_branch: Some(block), ..ONCE };
    let report = directory.ingest(other(), accepting).await.unwrap();
    assert_eq!(report.latest_block_height, Some(30));
    assert_eq!(report.finalized_block_height, Some(14), "the last final block that is left");
}

#[tokio::test]
async fn a_branch_deeper_than_the_bound_is_refused() {
    let directory = TestDirectory::new();
    directory.ingest(given(0..=120), ONCE).await.unwrap();
    let refused = directory.ingest(forked(2, 23, 24..=130), ONCE).await.unwrap_err();
    let IngestError::RefusedBranch(named) = &refused else { panic!("{refused}") };
    assert_eq!((named.last_common, named.recorded, named.bound), (Some(23), 120, 96));
    let told = refused.to_string();
    assert!(told.contains("97 blocks above block 23 are not on it, more than the 96"), "{told}");
    // Beyond the blocks that can be rolled back, nobody looks for the fork.
    let refused = directory.ingest(forked(2, 3, 4..=130), ONCE).await.unwrap_err();
    let IngestError::RefusedBranch(named) = &refused else { panic!("{refused}") };
    assert_eq!(named.last_common, None);
    assert_eq!(directory.snapshot().recorded().tip.height, 120);
}

#[tokio::test]
async fn another_newest_block_of_the_same_height_is_another_branch() {
    // Given a source whose newest block is another one, and which does not have it under its height yet...
    let directory = TestDirectory::new();
    directory.ingest(given(0..=20), ONCE).await.unwrap();
    let mut source = forked(2, 19, 20..=20);
    let hash = source.blocks[20].reference.hash;
    source.blocks.truncate(20);
    source.stated_tip = Some(TipRef { height: 20, hash });
    // ...then the recorded block is not confirmed: it is not on the source's branch.
    let error = directory.ingest(source, ONCE).await.unwrap_err();
    assert!(error.to_string().contains("there is no block 20"), "{error}");
    assert_eq!(directory.snapshot().recorded().tip.height, 19);
}

#[tokio::test]
async fn a_source_that_lags_is_waited_for() {
    let directory = TestDirectory::new();
    directory.ingest(given(0..=20), ONCE).await.unwrap();
    let report = directory.ingest(given(0..=12), ONCE).await.unwrap();
    assert_eq!((report.latest_block_height, report.reorganizations.len()), (Some(20), 0));
    let notices = directory.notices.0.lock().unwrap();
    assert!(notices[0].starts_with("the source lags behind"), "{notices:?}");
}

#[tokio::test]
async fn a_range_is_ingested_and_continued() {
    let directory = TestDirectory::new();
    let range = IngestRequest { from: Some(5), to: Some(9), ..ONCE };
    let report = directory.ingest(given(0..=20), range).await.unwrap();
    assert_eq!((report.blocks, report.latest_block_height), (5, Some(9)));
    let report = directory.ingest(given(0..=20), ONCE).await.unwrap();
    assert_eq!((report.blocks, report.latest_block_height), (11, Some(20)));
    let first = IngestRequest { from: Some(2), ..ONCE };
    let error = directory.ingest(given(0..=20), first).await.unwrap_err();
    let expected = GraphError::OtherStart { chain: ChainId::ETH, start: 5, wanted: 2 };
    assert_eq!(error.to_string(), expected.to_string());
}

#[tokio::test]
async fn one_source_without_a_tracer_leaves_a_gap() {
    use assay_engine::account::AccountView as _;

    let directory = TestDirectory::new();
    directory.ingest(given(0..=9), ONCE).await.unwrap();
    // Given a chain without transfers inside of transactions, and a source that would have shown them...
    assert!(directory.snapshot().has_internal_transfers());
    // ...then blocks of a source that would not have are told...
    let without = Given { has_no_tracer: true, ..given(0..=11) };
    directory.ingest(without, ONCE).await.unwrap();
    assert!(!directory.snapshot().has_internal_transfers());
    // ...and still are when others follow.
    directory.ingest(given(0..=20), ONCE).await.unwrap();
    assert!(!directory.snapshot().has_internal_transfers());
}

#[tokio::test]
async fn a_block_without_traces_is_a_gap_until_it_leaves_the_chain() {
    use assay_engine::account::AccountView as _;

    let time = |height: i64| Timestamp::from_second(1_700_000_000 + height).unwrap();
    let directory = TestDirectory::new();
    directory.ingest(given(0..=9), ONCE).await.unwrap();
    assert_eq!(directory.snapshot().internal_gaps(), []);
    // Given blocks of which the source could not trace all transactions...
    let mut source = given(0..=20);
    for height in [12, 13, 17] {
        source.blocks[height].internal = InternalTransfers::Lacking;
    }
    directory.ingest(source, ONCE).await.unwrap();
    // ...then the graph tells their times, after its ledgers were computed anew too...
    let expected = [(time(12), time(13)), (time(17), time(17))];
    assert_eq!(directory.snapshot().internal_gaps(), expected);
    assert!(directory.snapshot().has_internal_transfers());
    let graphs = directory.graphs();
    let rebuild = graphs.recompute_ledgers(ChainId::ETH, &AccountEnds::default()).unwrap();
    let mut rebuild = rebuild.expect("blocks");
    while rebuild.advance().unwrap() != assay_graph::account::RebuildStep::Finished {}
    drop(rebuild);
    assert_eq!(directory.snapshot().internal_gaps(), expected);
    // ...until a reorganization replaces them.
    directory.ingest(forked(2, 12, 13..=21), ONCE).await.unwrap();
    assert_eq!(directory.snapshot().internal_gaps(), [(time(12), time(12))]);
}

#[tokio::test]
async fn accounts_with_payments_in_a_gap_may_lack_internal_transfers() {
    use assay_engine::{
        account::{AccountAttributions, AccountSubject, AccountView as _, MOST_PAYMENTS, Prices},
        ledger::OwnerNumber,
        trace::Attribution,
    };

    struct Nobody;

    impl AccountAttributions for Nobody {
        fn of_account(&self, _: OwnerNumber) -> Option<std::sync::Arc<Attribution>> {
            None
        }
    }

    // Given payments of one account to a second one before block 10, and to a third one since, and no traces of block 15...
    let directory = TestDirectory::new();
    let mut source = forked(2, 9, 10..=20);
    source.blocks[15].internal = InternalTransfers::Lacking;
    for block in &mut source.blocks[..10] {
        block.transactions[0].transfers[0].to = AccountAddress([3; 20]);
    }
    directory.ingest(source, ONCE).await.unwrap();
    let view = directory.snapshot();
    // ...then the accounts with payments in that block may lack some, and the other one does not.
    for (account, may_lack) in [(1, true), (2, true), (3, false)] {
        let owner = view.owner(AccountAddress([account; 20])).unwrap();
        let (attributions, prices) = (&Nobody, &Prices::default());
        let today = jiff::civil::date(2023, 11, 20);
        let subject = AccountSubject { view: &view, owner, attributions, prices, today };
        let own = view.history(owner, MOST_PAYMENTS);
        let limits = subject.flows(&own).account.unwrap();
        assert_eq!(limits.may_lack_internal_transfers, may_lack, "account {account}");
        // What an account pays is as incomplete as the account.
        let paid: Vec<_> = own.payments.into_iter().filter(|it| it.to == owner).collect();
        if let [payment, ..] = &paid[..] {
            let limits = subject.origins_of(std::slice::from_ref(payment)).account.unwrap();
            assert!(limits.may_lack_internal_transfers, "account {account}");
        }
    }
}

#[tokio::test]
async fn blocks_of_files_stay_a_gap_when_a_node_follows_them() {
    use assay_engine::account::AccountView as _;

    // Given blocks of files, which state no hashes and no transfers inside of transactions...
    let directory = TestDirectory::new();
    let mut of_files = given(0..=5).blocks;
    for block in &mut of_files {
        (block.reference.hash, block.reference.parent) = ([0; 32], [0; 32]);
    }
    let graphs = directory.graphs();
    let mut writer = graphs.account_writer(ChainId::ETH, false, &AccountEnds::default()).unwrap();
    writer.append(&of_files, 6, Timestamp::UNIX_EPOCH).unwrap();
    drop(writer);
    assert!(!directory.snapshot().has_internal_transfers());
    // ...then they are not complete because a node with a tracer follows them, batch after batch.
    for newest in [9, 12, 15] {
        directory.ingest(given(0..=newest), ONCE).await.unwrap();
        assert!(!directory.snapshot().has_internal_transfers());
    }
}

#[tokio::test]
async fn ledgers_are_computed_anew_beside_an_ingest_that_holds_its_graph() {
    use std::sync::Arc;

    use assay_graph::account::RebuildStep;

    // Given an ingest that follows a chain...
    let directory = Arc::new(TestDirectory::new());
    directory.ingest(given(0..=20), ONCE).await.unwrap();
    let follow = IngestRequest { follow: Some(Duration::from_millis(1)), ..ONCE };
    let following = Arc::clone(&directory);
    let following = tokio::spawn(async move {
        let _ = following.ingest(given(0..=40), follow).await;
    });
    // ...then all ledgers can be computed anew meanwhile, which replaces the graph's folder...
    let graphs = directory.graphs();
    let mut rebuild = loop {
        match graphs.recompute_ledgers(ChainId::ETH, &AccountEnds::default()) {
            Ok(rebuild) => break rebuild.expect("blocks"),
            Err(error) => assert!(error.is_busy(), "{error}"),
        }
    };
    loop {
        match rebuild.advance() {
            Ok(RebuildStep::Finished) => break,
            Ok(RebuildStep::Booked(_)) => {}
            Err(error) => assert!(error.is_busy(), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(rebuild);
    following.abort();
    let _ = following.await;
    // ...and the ingest goes on in the new one.
    directory.ingest(given(0..=50), ONCE).await.unwrap();
    let anew = TestDirectory::new();
    anew.ingest(given(0..=50), ONCE).await.unwrap();
    assert_eq!(directory.fingerprint(), anew.fingerprint());
}
