use std::fs;

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, BridgeMessage, ChainResource, ContractFact,
        ContractFactKind, DelegationChange, FreezeChange, FreezeEvent, MessageEnd, PublishedPlace,
        ResourceDelegation, Transfer, TransferKind, TransferPlace,
    },
    ledger::BlockRef,
    utxo::Txid,
};
use jiff::Timestamp;
use ruint::aliases::U256;

use super::{AccountBlock, AccountEnds, AccountGraphWriter, RecordedBlock, RecordedState};
use crate::{EmbeddedGraphs, GraphError};

fn block(height: u64) -> RecordedBlock {
    let seconds = 1_600_000_000 + i64::try_from(height).unwrap() * 12;
    RecordedBlock { height, time: Timestamp::from_second(seconds).unwrap() }
}

fn account(number: u8) -> AccountAddress {
    AccountAddress([number; 20])
}

/// Transactions of a block that use every kind, asset and place, and the smallest and greatest amounts.
fn transactions(height: u64) -> Vec<AccountTransaction> {
    let RecordedBlock { height, time } = block(height);
    let assets = [Asset::Native, Asset::Token(account(9)), Asset::Numbered(1_000_001)];
    let published =
        [None, Some(PublishedPlace::Log(300)), Some(PublishedPlace::Trace("0,1".into()))];
    let amounts = [U256::ZERO, U256::ONE, U256::from(1_u8) << 128_usize, U256::MAX];
    let transfer = |number: u8| Transfer {
        kind: TransferKind::ALL[usize::from(number) % 8],
        asset: assets[usize::from(number) % 3],
        from: account(number),
        to: account(number.wrapping_mul(7)),
        amount: amounts[usize::from(number) % 4],
        place: TransferPlace {
            index: u32::MAX - u32::from(number),
            published: published[usize::from(number) % 3].clone(),
        },
    };
    // The last token moved in no transaction.
    let freeze = |number: u8| FreezeEvent {
        asset: [assets[1], assets[2], Asset::Token(account(111))][usize::from(number)],
        account: account(number * 50),
        change: FreezeChange::ALL[usize::from(number)],
        log: u32::MAX - u32::from(number),
    };
    // Neither the last lender nor the first borrower has a transfer.
    let delegation = |number: u8| ResourceDelegation {
        lender: account(number * 66),
        borrower: account(213 + number),
        resource: ChainResource::ALL[usize::from(number % 2)],
        change: DelegationChange::ALL[usize::from(number / 2)],
    };
    // The identifier of the first message is that of no other account.
    let message = |number: u8| BridgeMessage {
        contract: account(number * 9),
        id: account(214 - number * 40),
        account: account(number * 107),
        end: MessageEnd::ALL[usize::from(number % 2)],
        amount: [1, u128::MAX, 0][usize::from(number)],
    };
    let mut id = [7; 32];
    id[..8].copy_from_slice(&height.to_le_bytes());
    let of_transaction = AccountTransaction {
        block: height,
        time,
        id: Txid::from_bytes(id),
        initiator: Some(account(1)),
        transfers: (0..24).map(transfer).collect(),
        contract_facts: vec![
            ContractFact::code(account(9)),
            ContractFact {
                contract: account(9),
                kind: ContractFactKind::Beneficiary,
                account: account(2),
            },
        ],
        freezes: (0..3).map(freeze).collect(),
        delegations: (0..4).map(delegation).collect(),
        messages: (0..3).map(message).collect(),
    };
    let of_block = AccountTransaction {
        id: AccountTransaction::id_of_block(height),
        initiator: None,
        transfers: vec![transfer(4)],
        contract_facts: Vec::new(),
        freezes: Vec::new(),
        delegations: Vec::new(),
        messages: Vec::new(),
        ..of_transaction
    };
    let unsigned = AccountTransaction {
        id: Txid::from_bytes([height.to_le_bytes()[0]; 32]),
        transfers: Vec::new(),
        ..of_block.clone()
    };
    vec![of_transaction, unsigned, of_block]
}

fn full(height: u64) -> AccountBlock {
    let RecordedBlock { height, time } = block(height);
    let reference = BlockRef { height, hash: [0; 32], parent: [0; 32], time };
    AccountBlock::new(reference, transactions(height))
}

fn writer(graphs: &EmbeddedGraphs) -> AccountGraphWriter {
    graphs.account_writer(ChainId::ETH, false, &AccountEnds::default()).unwrap()
}

fn append(graphs: &EmbeddedGraphs, heights: impl IntoIterator<Item = u64>) -> RecordedState {
    let mut writer = writer(graphs);
    let blocks: Vec<_> = heights.into_iter().map(full).collect();
    let settled = blocks.last().map_or(0, |last| last.reference.height + 1);
    writer.append(&blocks, settled, Timestamp::UNIX_EPOCH).unwrap();
    writer.recorded().unwrap()
}

fn read(graphs: &EmbeddedGraphs) -> Result<Vec<AccountTransaction>, GraphError> {
    let snapshot = graphs.account_snapshot(ChainId::ETH)?.expect("recorded transfers");
    let blocks: Result<Vec<_>, _> = snapshot.blocks().collect();
    Ok(blocks?.into_iter().flat_map(|(_, transactions)| transactions).collect())
}

fn state(graphs: &EmbeddedGraphs) -> Option<RecordedState> {
    graphs.account_snapshot(ChainId::ETH).unwrap().map(|snapshot| *snapshot.recorded())
}

#[test]
fn what_is_recorded_is_read_back_in_one_run_or_in_several() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [one, several] = folders.each_ref().map(|folder| EmbeddedGraphs::new(folder.path()));
    assert!(state(&one).is_none());
    assert!(one.account_chains().is_empty());

    let of_one = append(&one, 5..3_000);
    append(&several, [5]);
    append(&several, 6..2_000);
    append(&several, []);
    let of_several = append(&several, 2_000..3_000);

    assert_eq!(of_one, of_several);
    assert_eq!((of_one.first, of_one.tip), (block(5), block(2_999)));
    assert_eq!((of_one.blocks, of_one.transactions), (2_995, 3 * 2_995));
    assert_eq!((of_one.transfers, of_one.without_initiator), (25 * 2_995, 2_995));
    let expected: Vec<_> = (5..3_000).flat_map(transactions).collect();
    for graphs in [one, several] {
        assert_eq!(read(&graphs).unwrap(), expected);
        assert_eq!(graphs.account_chains(), [ChainId::ETH]);
        assert_eq!(state(&graphs), Some(of_one));
    }
}

#[test]
fn other_contents_have_other_digests() {
    let digest = |change: &dyn Fn(&mut Vec<AccountTransaction>)| {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(&EmbeddedGraphs::new(folder.path()));
        let mut block = full(1);
        change(&mut block.transactions);
        writer.append(&[block], 2, Timestamp::UNIX_EPOCH).unwrap();
        writer.recorded().unwrap().digest
    };
    let same = digest(&|_| {});
    assert_eq!(same, digest(&|_| {}));
    assert_ne!(same, digest(&|changed| changed[0].transfers[0].amount = U256::from(5)));
    assert_ne!(same, digest(&|changed| changed[0].initiator = None));
    assert_ne!(same, digest(&|changed| changed.swap(0, 1)));
}

#[test]
fn a_writer_without_blocks_records_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    drop(writer(&graphs));
    assert!(state(&graphs).is_none());
}

#[test]
fn a_foreign_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    append(&graphs, 1..4);
    graphs.close();
    let chains = folder.path().join("chains");
    fs::rename(chains.join("eth.accounts"), chains.join("bsc.accounts")).unwrap();
    let error = graphs.account_snapshot(ChainId::BSC).expect_err("another chain").to_string();
    assert!(error.contains("chain eth"), "{error}");
    let error = graphs.account_writer(ChainId::BSC, false, &AccountEnds::default());
    assert!(error.expect_err("another chain").to_string().contains("chain, eth"));
    fs::write(chains.join("bsc.accounts/current"), "../elsewhere").unwrap();
    let error = graphs.account_snapshot(ChainId::BSC).expect_err("no folder").to_string();
    assert!(error.contains("names no folder"), "{error}");
}

#[test]
fn transfers_of_an_earlier_version_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    fs::create_dir(folder.path().join("chains")).unwrap();
    fs::write(folder.path().join("chains/eth.transfers"), "old").unwrap();
    assert_eq!(graphs.account_chains(), [ChainId::ETH]);
    let error = graphs.account_snapshot(ChainId::ETH).expect_err("an old file").to_string();
    assert!(error.contains("eth.transfers was made by an earlier version"), "{error}");
    let error = graphs.account_writer(ChainId::ETH, false, &AccountEnds::default());
    assert!(matches!(error, Err(GraphError::OldTransfers { .. })));
}

#[test]
fn symbols_of_lookalike_tokens_are_kept_beside_the_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let note = |height: Option<u64>, symbols: &[(u8, &str)]| {
        let mut writer = writer(&graphs);
        if let Some(height) = height {
            writer.append(&[full(height)], height + 1, Timestamp::UNIX_EPOCH).unwrap();
        }
        let symbols =
            symbols.iter().map(|(number, symbol)| (account(*number), (*symbol).to_owned()));
        writer.note_lookalike_symbols(&symbols.collect()).unwrap();
        writer.recorded().unwrap().digest
    };
    let first = note(Some(1), &[(1, "USDT")]);
    assert_eq!(note(None, &[(1, "USDT")]), first);
    // A cached answer must know that more is recorded.
    assert_ne!(note(None, &[(1, "USDT"), (2, "USDC")]), first);
    note(Some(2), &[]);
    let snapshot = graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
    let symbols = snapshot.lookalike_symbols().unwrap();
    let expected = [(account(1), "USDT".to_owned()), (account(2), "USDC".to_owned())];
    assert_eq!(symbols.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(read(&graphs).unwrap(), (1..3).flat_map(transactions).collect::<Vec<_>>());
}

#[test]
fn one_writer_at_a_time_appends_above_the_newest_block() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    append(&graphs, [7]);
    let mut first = writer(&graphs);
    let second = graphs.account_writer(ChainId::ETH, false, &AccountEnds::default());
    assert!(second.expect_err("a second writer").is_busy());
    assert!(graphs.account_writer(ChainId::BSC, false, &AccountEnds::default()).is_ok());
    for height in [6, 7] {
        let error = first.append(&[full(height)], 100, Timestamp::UNIX_EPOCH);
        let error = error.expect_err("a block that is not above");
        assert!(matches!(error, GraphError::Gap { tip: 7, .. }), "{error}");
    }
    // A block without transactions is recorded too: its time is known to hold none.
    let empty = AccountBlock { transactions: Vec::new(), ..full(9) };
    first.append(&[empty], 10, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(first.recorded().unwrap().tip, block(9));
    drop(first);
    assert_eq!(read(&graphs).unwrap(), transactions(7));
}

#[test]
fn blocks_with_hashes_follow_their_parents() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = writer(&EmbeddedGraphs::new(folder.path()));
    let hashed = |height: u8, parent: u8| {
        let mut block = full(height.into());
        (block.reference.hash, block.reference.parent) = ([height; 32], [parent; 32]);
        block
    };
    writer.append(&[hashed(7, 6), hashed(8, 7)], 0, Timestamp::UNIX_EPOCH).unwrap();
    for wrong in [hashed(9, 7), hashed(10, 8)] {
        let error = writer.append(&[wrong], 0, Timestamp::UNIX_EPOCH);
        assert!(matches!(error, Err(GraphError::Gap { tip: 8, .. })));
    }
    writer.append(&[hashed(9, 8)], 0, Timestamp::UNIX_EPOCH).unwrap();
}

#[test]
fn accounts_and_ledgers_of_a_large_batch_are_found_as_those_of_small_ones() {
    let person = |number: u64| {
        let mut bytes = [1; 20];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        AccountAddress(bytes)
    };
    // Each person receives once, and then pays the next one: enough people for as many threads as look up.
    let payments = |height: u64, from: fn(u64) -> u64| {
        let RecordedBlock { height, time } = block(height);
        let payment = |number: u64| AccountTransaction {
            block: height,
            time,
            id: Txid::from_bytes(
                [[height.to_le_bytes(); 2], [number.to_le_bytes(); 2]]
                    .concat()
                    .concat()
                    .try_into()
                    .unwrap(),
            ),
            initiator: Some(person(from(number))),
            transfers: vec![Transfer {
                kind: TransferKind::Transfer,
                asset: Asset::Native,
                from: person(from(number)),
                to: person(number + 1),
                amount: U256::from(1_000 + number),
                place: TransferPlace { index: 0, published: None },
            }],
            contract_facts: Vec::new(),
            freezes: Vec::new(),
            delegations: Vec::new(),
            messages: Vec::new(),
        };
        let numbers = (height - 2) % 100 * 100..;
        let transactions = numbers.take(100).map(payment).collect();
        let reference = BlockRef { height, hash: [0; 32], parent: [0; 32], time };
        AccountBlock::new(reference, transactions)
    };
    let earlier: Vec<_> = (2..102).map(|height| payments(height, |_| 0)).collect();
    let later: Vec<_> = (102..202).map(|height| payments(height, |number| number + 1)).collect();
    let digests = [200, 1].map(|blocks| {
        let folder = tempfile::tempdir().unwrap();
        let graphs = EmbeddedGraphs::new(folder.path());
        for batch in earlier.chunks(blocks).chain(later.chunks(blocks)) {
            // A writer that was just opened keeps no accounts and no ledgers in memory.
            writer(&graphs).append(batch, 300, Timestamp::UNIX_EPOCH).unwrap();
        }
        let snapshot = graphs.account_snapshot(ChainId::ETH).unwrap().unwrap();
        assert_eq!(snapshot.counts().transactions, 20_000);
        snapshot.fingerprint().unwrap()
    });
    assert_eq!(digests[0], digests[1]);
}
