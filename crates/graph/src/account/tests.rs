use std::{fs, path::Path};

use assay_address::ChainId;
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, BeneficiaryEvent, PublishedPlace, Transfer,
        TransferKind, TransferPlace,
    },
    utxo::Txid,
};
use jiff::Timestamp;
use ruint::aliases::U256;

use super::{MAX_RECORDED_TRANSFERS, RecordedBlock, RecordedState};
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
    let mut id = [7; 32];
    id[..8].copy_from_slice(&height.to_le_bytes());
    let of_transaction = AccountTransaction {
        block: height,
        time,
        id: Txid::from_bytes(id),
        initiator: Some(account(1)),
        transfers: (0..24).map(transfer).collect(),
        beneficiaries: vec![BeneficiaryEvent { contract: account(9), beneficiary: account(2) }],
    };
    let of_block = AccountTransaction {
        id: AccountTransaction::id_of_block(height),
        initiator: None,
        transfers: vec![transfer(4)],
        beneficiaries: Vec::new(),
        ..of_transaction
    };
    let unsigned = AccountTransaction {
        id: Txid::from_bytes([height.to_le_bytes()[0]; 32]),
        transfers: Vec::new(),
        ..of_block.clone()
    };
    vec![of_transaction, unsigned, of_block]
}

fn append(graphs: &EmbeddedGraphs, heights: impl IntoIterator<Item = u64>) -> RecordedState {
    let mut writer = graphs.transfer_writer(ChainId::ETH, false).unwrap();
    for height in heights {
        writer.append(block(height), &transactions(height)).unwrap();
    }
    writer.commit().unwrap().unwrap()
}

fn read(graphs: &EmbeddedGraphs) -> Result<Vec<AccountTransaction>, GraphError> {
    let recorded = graphs.recorded_transfers(ChainId::ETH)?.expect("recorded transfers");
    recorded.transactions().collect()
}

fn path(folder: &Path) -> std::path::PathBuf {
    folder.join("chains/eth.transfers")
}

#[test]
fn what_is_recorded_is_read_back_in_one_run_or_in_several() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [one, several] = folders.each_ref().map(|folder| EmbeddedGraphs::new(folder.path()));
    assert!(one.recorded_transfers(ChainId::ETH).unwrap().is_none());
    assert!(one.chains_with_transfers().is_empty());

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
        assert_eq!(graphs.chains_with_transfers(), [ChainId::ETH]);
        let recorded = graphs.recorded_transfers(ChainId::ETH).unwrap().unwrap();
        assert_eq!(*recorded.state(), of_one);
    }
}

#[test]
fn other_contents_have_other_digests() {
    let digest = |change: &dyn Fn(&mut Vec<AccountTransaction>)| {
        let folder = tempfile::tempdir().unwrap();
        let graphs = EmbeddedGraphs::new(folder.path());
        let mut writer = graphs.transfer_writer(ChainId::ETH, false).unwrap();
        let mut changed = transactions(1);
        change(&mut changed);
        writer.append(block(1), &changed).unwrap();
        writer.commit().unwrap().unwrap().digest
    };
    let same = digest(&|_| {});
    assert_eq!(same, digest(&|_| {}));
    assert_ne!(same, digest(&|changed| changed[0].transfers[0].amount = U256::from(5)));
    assert_ne!(same, digest(&|changed| changed[0].initiator = None));
    assert_ne!(same, digest(&|changed| changed.swap(0, 1)));
}

#[test]
fn an_interrupted_writer_leaves_the_state_before() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    // A new file exists from its first commit on.
    let mut writer = graphs.transfer_writer(ChainId::ETH, false).unwrap();
    writer.append(block(1), &transactions(1)).unwrap();
    drop(writer);
    assert!(graphs.recorded_transfers(ChainId::ETH).unwrap().is_none());

    let state = append(&graphs, 1..100);
    let committed = fs::read(path(folder.path())).unwrap();
    // A killed writer leaves any part of its frames behind the committed ones.
    append(&graphs, 100..3_000);
    let later = fs::read(path(folder.path())).unwrap();
    for kept in [committed.len() + 1, committed.len() + 5_000, later.len()] {
        let mut killed = committed.clone();
        killed.extend_from_slice(&later[committed.len()..kept]);
        fs::write(path(folder.path()), killed).unwrap();
        let expected: Vec<_> = (1..100).flat_map(transactions).collect();
        assert_eq!(read(&graphs).unwrap(), expected);
    }
    // The next writer goes on from the committed state.
    assert_eq!(append(&graphs, []), state);
    append(&graphs, 100..3_000);
    assert_eq!(read(&graphs).unwrap(), (1..3_000).flat_map(transactions).collect::<Vec<_>>());
}

#[test]
fn a_torn_head_leaves_the_state_before() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    append(&graphs, 1..10);
    append(&graphs, 10..20);
    let mut bytes = fs::read(path(folder.path())).unwrap();
    bytes[512 + 40] ^= 1; // The second commit wrote the first of the two heads.
    fs::write(path(folder.path()), bytes).unwrap();
    assert_eq!(read(&graphs).unwrap(), (1..10).flat_map(transactions).collect::<Vec<_>>());
}

#[test]
fn a_damaged_file_is_refused_wherever_it_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    append(&graphs, 1..4);
    let intact = fs::read(path(folder.path())).unwrap();
    let expected = read(&graphs).unwrap();
    let read_changed = |bytes: &[u8]| {
        fs::write(path(folder.path()), bytes).unwrap();
        read(&graphs)
    };
    for length in (0..intact.len()).step_by(97).chain([intact.len() - 1]) {
        let error = read_changed(&intact[..length]).expect_err("a truncated file").to_string();
        assert!(error.contains("cut off") && error.contains("eth.transfers"), "{error}");
    }
    for changed in (0..intact.len()).step_by(13) {
        let mut bytes = intact.clone();
        bytes[changed] ^= 0x10;
        // Bytes between the heads carry nothing.
        match read_changed(&bytes) {
            Ok(read) => assert!(changed < 4096 && read == expected, "byte {changed}"),
            Err(error) => assert!(error.to_string().contains("delete it"), "{error}"),
        }
    }
    for foreign in [&b"block,time,txid\n"[..], &[0; 8192], b"PAR1"] {
        let error = read_changed(foreign).expect_err("a foreign file").to_string();
        assert!(error.contains("no file of recorded transfers") || error.contains("cut off"));
    }
    // A writer does not write over such a file.
    assert!(graphs.transfer_writer(ChainId::ETH, false).is_err());
    assert_eq!(fs::read(path(folder.path())).unwrap(), b"PAR1");
}

#[test]
fn a_file_of_another_chain_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    append(&graphs, 1..4);
    fs::rename(path(folder.path()), folder.path().join("chains/bsc.transfers")).unwrap();
    let error = graphs.recorded_transfers(ChainId::BSC).expect_err("another chain").to_string();
    assert!(error.contains("it holds transfers of eth, not of bsc"), "{error}");
}

#[test]
fn symbols_of_lookalike_tokens_are_kept_beside_the_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let note = |height: Option<u64>, symbols: &[(u8, &str)]| {
        let mut writer = graphs.transfer_writer(ChainId::ETH, false).unwrap();
        if let Some(height) = height {
            writer.append(block(height), &transactions(height)).unwrap();
        }
        let symbols =
            symbols.iter().map(|(number, symbol)| (account(*number), (*symbol).to_owned()));
        writer.note_lookalike_symbols(symbols.collect()).unwrap();
        writer.commit().unwrap().unwrap().digest
    };
    let first = note(Some(1), &[(1, "USDT")]);
    assert_eq!(note(None, &[(1, "USDT")]), first);
    // A cached answer must know that more is recorded.
    assert_ne!(note(None, &[(1, "USDT"), (2, "USDC")]), first);
    note(Some(2), &[]);
    let recorded = graphs.recorded_transfers(ChainId::ETH).unwrap().unwrap();
    let symbols = recorded.lookalike_symbols().unwrap();
    let expected = [(account(1), "USDT".to_owned()), (account(2), "USDC".to_owned())];
    assert_eq!(symbols.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(read(&graphs).unwrap(), (1..3).flat_map(transactions).collect::<Vec<_>>());
}

#[test]
fn one_writer_at_a_time_appends_above_the_newest_block() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    append(&graphs, [7]);
    let mut writer = graphs.transfer_writer(ChainId::ETH, false).unwrap();
    let second = graphs.transfer_writer(ChainId::ETH, false).expect_err("a second writer");
    assert!(second.is_busy(), "{second}");
    assert!(graphs.transfer_writer(ChainId::BSC, false).is_ok());
    for height in [6, 7] {
        let error = writer.append(block(height), &[]).expect_err("a block that is not above");
        assert!(matches!(error, GraphError::Gap { tip: 7, .. }), "{error}");
    }
    // A block without transactions is recorded too: its time is known to hold none.
    writer.append(block(9), &[]).unwrap();
    assert_eq!(writer.commit().unwrap().unwrap().tip, block(9));
    assert_eq!(read(&graphs).unwrap(), transactions(7));
}

#[test]
fn more_transfers_than_programs_hold_in_memory_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let graphs = EmbeddedGraphs::new(folder.path());
    let mut writer = graphs.transfer_writer(ChainId::ETH, false).unwrap();
    let mut large = transactions(1).remove(0);
    let transfer = large.transfers.remove(0);
    large.transfers = vec![transfer; 1_000_000];
    for height in 1..=10 {
        writer.append(block(height), std::slice::from_ref(&large)).unwrap();
    }
    assert_eq!(writer.state().unwrap().transfers, MAX_RECORDED_TRANSFERS);
    let error = writer.append(block(11), &transactions(11)).expect_err("one more").to_string();
    assert!(error.contains("10000000") && error.contains("nothing was written"), "{error}");
    drop(writer);
    assert!(graphs.recorded_transfers(ChainId::ETH).unwrap().is_none());
}
