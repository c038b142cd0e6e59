use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use assay_address::ChainId;
use assay_chain::{
    SourceError,
    histories::accounts::{
        AccountHistorySource, AccountList, AccountRow, ApiRefusal, ListOrder, PageRequest,
        freezable_tokens, freeze_signatures,
        limits::{LocalCounters, RequestCounters},
    },
    location::{AccountApi as Api, NodeCredentials, account_histories},
};
use assay_engine::{
    account::{
        AccountAddress, AccountTransaction, Asset, FreezeChange, FreezeEvent, Transfer,
        TransferKind, TransferPlace,
    },
    utxo::Txid,
};
use assay_test_random::Random;
use jiff::Timestamp;
use ruint::aliases::U256;

use super::*;

const TOKEN: AccountAddress = AccountAddress([0x33; 20]);
const ORDERS: [ListOrder; 2] = [ListOrder::OldestFirst, ListOrder::NewestFirst];

fn account(number: u64) -> AccountAddress {
    let mut bytes = [0x11; 20];
    bytes[12..].copy_from_slice(&(number + 1).to_be_bytes());
    AccountAddress(bytes)
}

/// A chain of 50 accounts, with many transactions in some blocks, failed ones, and equal rows.
fn chain(seed: u64, count: u64, has_internal: bool) -> Arc<Vec<AccountTransaction>> {
    let mut random = Random::new(seed);
    let mut slot = 600_000_000;
    let mut transactions = Vec::new();
    for number in 0..count {
        // Every block has its own time, in the slots of TRON.
        slot += if random.below(3) == 0 { 0 } else { random.within(1, 9) };
        let mut id = [5; 32];
        id[..8].copy_from_slice(&number.to_be_bytes());
        let sender = account(random.rather_small(50));
        let mut transfers = Vec::new();
        let mut add = |kind, asset, from, to, amount| {
            let place = TransferPlace { index: 0, published: None };
            transfers.push(Transfer { kind, asset, from, to, amount: U256::from(amount), place });
        };
        let kind = TransferKind::Transfer;
        match random.below(4) {
            0 => {}
            1 => add(kind, Asset::Native, sender, account(random.below(50)), random.within(1, 3)),
            _ => {
                let to = account(random.below(50));
                for _ in 0..random.within(1, 3) {
                    add(kind, Asset::Token(TOKEN), sender, to, 7);
                }
                add(kind, Asset::Token(account(0)), sender, to, random.below(9));
                if has_internal && to != sender {
                    add(kind, Asset::Native, to, sender, random.within(1, 3));
                }
            }
        }
        add(TransferKind::Fee, Asset::Native, sender, AccountAddress::ZERO, random.within(1, 9));
        transactions.push(AccountTransaction {
            block: slot - 509_963_822,
            time: Timestamp::from_second(i64::try_from(slot * 3).unwrap()).unwrap(),
            id: Txid::from_bytes(id),
            initiator: Some(sender),
            transfers,
            contract_facts: Vec::new(),
            freezes: Vec::new(),
            delegations: Vec::new(),
            messages: Vec::new(),
        });
    }
    Arc::new(transactions)
}

fn open(api: &AccountApi, kind: Api, key: &str) -> Arc<dyn AccountHistorySource> {
    open_sharing(api, kind, key, Duration::from_mins(1), &Arc::new(LocalCounters::default()))
}

fn open_sharing(
    api: &AccountApi,
    kind: Api,
    key: &str,
    bound: Duration,
    counters: &Arc<LocalCounters>,
) -> Arc<dyn AccountHistorySource> {
    let (chain, url) = match kind {
        Api::Etherscan => (ChainId::ETH, api.etherscan()),
        Api::Blockscout => (ChainId::ETH, api.blockscout()),
        Api::TronGrid => (ChainId::TRX, api.url()),
    };
    let key = NodeCredentials::Given(key.to_owned());
    let counters: Arc<dyn RequestCounters> = Arc::clone(counters) as _;
    account_histories(chain, kind, (&url, &key), bound, &counters).unwrap()
}

fn request(account: AccountAddress, list: AccountList, order: ListOrder) -> PageRequest {
    PageRequest { account, list, order, after: None }
}

/// All rows of a list.
fn all(source: &dyn AccountHistorySource, mut request: PageRequest) -> Vec<AccountRow> {
    let mut rows = Vec::new();
    loop {
        let page = source.page(&request).unwrap();
        rows.extend(page.rows);
        request.after = page.next;
        if request.after.is_none() {
            return rows;
        }
    }
}

/// The rows as an API without positions states them.
fn without_positions(mut rows: Vec<AccountRow>) -> Vec<AccountRow> {
    for row in &mut rows {
        row.position = None;
    }
    rows
}

#[test]
fn all_pages_of_fifty_accounts_are_those_of_the_chain() {
    for (kind, lists) in [
        (Api::Etherscan, &[AccountList::Native, AccountList::Internal, AccountList::Tokens][..]),
        (Api::Blockscout, &[AccountList::Internal, AccountList::Token(TOKEN)]),
        (Api::TronGrid, &[AccountList::Native, AccountList::Internal, AccountList::Token(TOKEN)]),
    ] {
        let is_tron = kind == Api::TronGrid;
        let chain = chain(31, if is_tron { 5_000 } else { 20_000 }, true);
        let server = AccountApi::of(Arc::clone(&chain));
        let truth = MemoryHistories::new(chain);
        // Each account has a key of its own, so that none waits for another.
        let read = |number: u64| {
            let source = open(&server, kind, &format!("key-{number}"));
            let order = ORDERS[usize::try_from(number % 2).unwrap()];
            for list in lists {
                let request = request(account(number), *list, order);
                let found = all(&*source, request.clone());
                let expected = without_positions(all(&truth, request));
                assert_eq!(without_positions(found), expected, "{kind:?} {list:?} {number}");
            }
        };
        let read = &read;
        std::thread::scope(|scope| {
            for number in 0..50 {
                scope.spawn(move || read(number));
            }
        });
        let requests = server.requests().len();
        assert!(requests > 50 * lists.len() + 3, "{kind:?}: {requests} requests");
        let source = open(&server, kind, "key");
        let assets = [Asset::Native, Asset::Token(TOKEN)];
        for asset in assets {
            let expected = truth.balance(account(1), asset).unwrap();
            assert_eq!(source.balance(account(1), asset).unwrap(), expected);
        }
        assert_eq!(source.tip().unwrap().height, truth.tip().unwrap().height);
    }
}

/// Given a token whose issuer froze accounts, lifted freezes and destroyed funds, then the APIs state each event once.
#[test]
fn freezes_of_a_token_are_those_of_the_chain() {
    for (kind, chain_id) in [
        (Api::Etherscan, ChainId::ETH),
        (Api::Blockscout, ChainId::ETH),
        (Api::TronGrid, ChainId::TRX),
    ] {
        // Tether's first contract, whose events have their accounts in the data.
        let is_tether = |token: &AccountAddress| {
            let signatures = freeze_signatures(chain_id, *token);
            signatures.len() == 3 && signatures.iter().any(|it| it.name == "AddedBlackList")
        };
        let token = freezable_tokens(chain_id).find(is_tether).unwrap();
        let mut transactions = chain(23, 3_000, false).to_vec();
        let mut random = Random::new(29);
        for transaction in &mut transactions {
            let change = match random.below(4) {
                0 => FreezeChange::Lifted,
                1 => FreezeChange::Destroyed,
                _ => FreezeChange::Frozen,
            };
            let (asset, account) = (Asset::Token(token), account(random.below(50)));
            transaction.freezes.push(FreezeEvent { asset, account, change, log: 0 });
        }
        let transactions = Arc::new(transactions);
        let server = AccountApi::of(Arc::clone(&transactions));
        let truth = MemoryHistories::new(transactions);
        let read = |source: &dyn AccountHistorySource, signature| {
            let (mut rows, mut after) = (Vec::new(), None);
            loop {
                let page = source.freezes(token, signature, after.as_ref()).unwrap().unwrap();
                rows.extend(page.rows);
                after = page.next;
                if after.is_none() {
                    return rows;
                }
            }
        };
        // Fingerprints of next pages may lack.
        for lacks_fingerprints in [false, true] {
            server.set_behavior(|behavior| behavior.lacks_fingerprints = lacks_fingerprints);
            let source = open(&server, kind, &format!("key-{lacks_fingerprints}"));
            for signature in freeze_signatures(chain_id, token) {
                let expected = read(&truth, signature);
                assert!(expected.len() > 500, "{} {}", signature.name, expected.len());
                let found = read(&*source, signature);
                assert!(found == expected, "{kind:?} {}: {} rows", signature.name, found.len());
            }
        }
        let other = freezable_tokens(chain_id).find(|it| *it != token).unwrap();
        let source = open(&server, kind, "key");
        let signature = freeze_signatures(chain_id, other).first().unwrap();
        let page = source.freezes(other, signature, None).unwrap().unwrap();
        assert_eq!((page.rows.len(), page.next), (0, None));
    }
}

/// Given a server that states no fingerprints, then lists continue by time, and all rows are read.
#[test]
fn lists_without_fingerprints_are_read_whole() {
    let chain = chain(37, 8_000, true);
    let server = AccountApi::of(Arc::clone(&chain));
    server.set_behavior(|behavior| behavior.lacks_fingerprints = true);
    let truth = MemoryHistories::new(chain);
    for (order, list) in ORDERS.into_iter().zip([AccountList::Token(TOKEN), AccountList::Native]) {
        let source = open(&server, Api::TronGrid, "key");
        let request = request(account(0), list, order);
        let expected = without_positions(all(&truth, request.clone()));
        assert!(expected.len() > 400, "{} rows", expected.len());
        assert!(without_positions(all(&*source, request)) == expected, "{list:?}");
    }
}

#[test]
fn three_clients_of_a_key_exceed_no_limit_together() {
    for (kind, most) in [(Api::Etherscan, 3), (Api::Blockscout, 5), (Api::TronGrid, 15)] {
        let server = AccountApi::of(chain(7, 200, false));
        let counters = Arc::new(LocalCounters::default());
        let begin = Instant::now();
        let end = begin + Duration::from_secs(4);
        let ask = || {
            let bound = Duration::from_secs(20);
            let source = open_sharing(&server, kind, "shared", bound, &counters);
            let list = request(account(0), AccountList::Tokens, ListOrder::NewestFirst);
            while Instant::now() < end {
                source.page(&list).unwrap();
            }
        };
        std::thread::scope(|scope| (0..3).for_each(|_| drop(scope.spawn(ask))));
        // A machine that pauses delays requests and adds none.
        let seconds = usize::try_from(begin.elapsed().as_secs()).unwrap() + 1;
        let seen = server.requests().len();
        assert!(seen > 1 && seen <= most * seconds, "{kind:?}: {seen} requests in {seconds} s");
    }
}

#[test]
fn each_fault_is_told_and_no_row_of_it_is_used() {
    let chain = chain(11, 2_000, false);
    let short = Duration::from_millis(900);
    for kind in [Api::Etherscan, Api::Blockscout, Api::TronGrid] {
        let server = AccountApi::of(Arc::clone(&chain));
        let failed = |fault: ApiFault, refusal: Option<ApiRefusal>| {
            server.set_behavior(|behavior| behavior.always = Some(fault));
            let counters = Arc::default();
            let source = open_sharing(&server, kind, "key", short, &counters);
            let list = request(account(0), AccountList::Tokens, ListOrder::OldestFirst);
            let error = source.page(&list).unwrap_err();
            if let Some(expected) = refusal {
                let is_expected =
                    matches!(error, SourceError::Api { refusal, .. } if refusal == expected);
                assert!(is_expected, "{kind:?} {fault:?}: {error}");
            }
            error
        };
        let busy = Some(ApiRefusal::TooManyRequests);
        let _ = failed(ApiFault::TooManyRequests, busy);
        let _ = failed(ApiFault::RateText, busy);
        let _ = failed(ApiFault::DailyText, Some(ApiRefusal::DailyLimit));
        let _ = failed(ApiFault::KeyRevoked, Some(ApiRefusal::InvalidKey));
        let _ = failed(ApiFault::NotInPlan, Some(ApiRefusal::NotInPlan));
        let banned = if kind == Api::TronGrid { busy } else { Some(ApiRefusal::InvalidKey) };
        let _ = failed(ApiFault::Forbidden, banned);
        let broken = failed(ApiFault::Truncated, None);
        assert!(matches!(broken, SourceError::Unreadable { .. }), "{broken}");
        for fault in [ApiFault::OtherAddress, ApiFault::Backwards] {
            let error = failed(fault, None);
            assert!(matches!(error, SourceError::InvalidData { .. }), "{fault:?}: {error}");
        }
    }
}

#[test]
fn endless_pages_end_with_an_error() {
    let chain = chain(13, 20_000, false);
    for kind in [Api::Etherscan, Api::TronGrid] {
        let server = AccountApi::of(Arc::clone(&chain));
        server.set_behavior(|behavior| behavior.always = Some(ApiFault::Endless));
        for order in ORDERS {
            let source = open(&server, kind, "key");
            let mut list = request(account(0), AccountList::Tokens, order);
            let mut pages = 0;
            let error = loop {
                match source.page(&list) {
                    Ok(page) => list.after = Some(page.next.expect("a next page")),
                    Err(error) => break error,
                }
                pages += 1;
                assert!(pages < 12);
            };
            assert!(matches!(error, SourceError::InvalidData { .. }), "{error}");
        }
    }
}

#[test]
fn a_passing_refusal_is_waited_for_and_failures_in_a_row_stop_requests() {
    let server = AccountApi::of(chain(17, 200, false));
    server.set_behavior(|behavior| {
        behavior.next = [ApiFault::TooManyRequests, ApiFault::RateText].into();
    });
    let list = request(account(0), AccountList::Tokens, ListOrder::OldestFirst);
    let source = open(&server, Api::TronGrid, "key");
    assert!(source.page(&list).is_ok());
    assert_eq!(server.requests().len(), 3);
    server.set_behavior(|behavior| behavior.key = Some("other".to_owned()));
    let errors: BTreeSet<String> =
        (0..8).map(|_| source.page(&list).unwrap_err().to_string()).collect();
    assert_eq!(server.requests().len(), 3 + 5);
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors.iter().any(|error| error.contains("requests failed in a row")), "{errors:?}");
}

#[test]
fn a_block_fuller_than_the_window_is_an_error() {
    let mut transactions = chain(19, 60, false).to_vec();
    let busy = transactions.iter().position(|it| it.transfers.len() > 1).unwrap();
    let transfer = transactions[busy].transfers[0].clone();
    let payer = transfer.from;
    let token = Transfer { asset: Asset::Token(TOKEN), ..transfer };
    let numbered = (1..=10_500_u64).map(|amount| {
        let amount = U256::from(amount);
        Transfer { amount, ..token.clone() }
    });
    transactions[busy].transfers.extend(numbered);
    let server = AccountApi::of(Arc::new(transactions));
    let source = open(&server, Api::Etherscan, "key");
    let mut list = request(payer, AccountList::Tokens, ListOrder::OldestFirst);
    let error = loop {
        match source.page(&list) {
            Ok(page) => list.after = Some(page.next.expect("a next page")),
            Err(error) => break error,
        }
    };
    let is_full = matches!(error, SourceError::Api { refusal: ApiRefusal::WindowFull, .. });
    assert!(is_full, "{error}");
}
