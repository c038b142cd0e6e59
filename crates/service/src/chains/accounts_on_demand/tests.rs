//! Tests of lists, of the graph that they become, and of the order in which they are read.

use assay_chain::histories::accounts::{
    AccountList, AccountPage, AccountRow, ListOrder, PagePosition, PageRequest,
};
use assay_engine::{
    account::{
        AccountAddress, AccountView, Asset, MoneyEnd, Prices, Transfer, TransferKind,
        TransferPlace, Valuation,
    },
    taxonomy::Category,
    utxo::Txid,
};
use jiff::Timestamp;

use super::{
    draws::{DrawSecret, Draws},
    fetch::Question,
    freezes::KnownFreezes,
    gathered::gather,
    lists::ReadLists,
    masses::{UnreadMasses, WHOLE, unread_masses},
    plan,
    reached::ReachedAccounts,
    walk::drawn_payers,
};
use assay_address::ChainId;

const SUBJECT: AccountAddress = AccountAddress([1; 20]);
const PAYER: AccountAddress = AccountAddress([2; 20]);
const OTHER: AccountAddress = AccountAddress([3; 20]);
const EXCHANGE: AccountAddress = AccountAddress([4; 20]);
const DISTANT: AccountAddress = AccountAddress([5; 20]);
const TIP: u64 = 1_000;

fn usdt() -> Asset {
    Asset::parse(ChainId::ETH, "0xdAC17F958D2ee523a2206206994597C13D831ec7").unwrap()
}

fn tokens() -> AccountList {
    match usdt() {
        Asset::Token(contract) => AccountList::Token(contract),
        other => panic!("{other:?}"),
    }
}

fn row(block: u64, from: AccountAddress, to: AccountAddress, amount: u64) -> AccountRow {
    let number = u8::try_from(block % 251).unwrap();
    let mut id = [number; 32];
    id[..8].copy_from_slice(&block.to_be_bytes());
    AccountRow {
        id: Txid::from_bytes(id),
        block,
        time: Timestamp::from_second(1_700_000_000 + i64::try_from(block).unwrap()).unwrap(),
        position: Some(0),
        initiator: Some(from),
        transfers: vec![Transfer {
            kind: TransferKind::Transfer,
            asset: usdt(),
            from,
            to,
            amount: ruint::aliases::U256::from(amount) * ruint::aliases::U256::from(1_000_000_u64),
            place: TransferPlace::default(),
        }],
        freezes: Vec::new(),
    }
}

fn add(lists: &mut ReadLists, account: AccountAddress, rows: Vec<AccountRow>, is_whole: bool) {
    let request =
        PageRequest { account, list: tokens(), order: ListOrder::OldestFirst, after: None };
    let next = (!is_whole).then(|| PagePosition("2".to_owned()));
    lists.add(&request, AccountPage { rows, next }, TIP);
}

fn graph(lists: &ReadLists) -> assay_graph::account::MemoryAccounts {
    let exchange = MoneyEnd { category: Category::Exchange, listed_on: None };
    let ends = std::iter::once((EXCHANGE, exchange));
    let freezes = KnownFreezes::default();
    gather((ChainId::ETH, SUBJECT), lists, (true, &freezes), (ends, &Prices::default()))
}

fn masses(lists: &ReadLists) -> UnreadMasses {
    let accounts = graph(lists);
    let owner = accounts.owner(SUBJECT).unwrap();
    let prices = Prices::default();
    let is_known = |account: AccountAddress, asset: Asset, block: u64| {
        block < lists.read_until(account, asset, true)
    };
    let mut values = Valuation::new(&prices);
    unread_masses(&accounts, owner, is_known, &mut values, Timestamp::MIN)
}

#[test]
fn a_transfer_counts_once_although_two_lists_have_it() {
    let (paid, twice) = (row(5, PAYER, SUBJECT, 10), row(6, PAYER, SUBJECT, 7));
    let mut lists = ReadLists::default();
    add(&mut lists, SUBJECT, vec![paid.clone(), twice.clone(), twice.clone()], true);
    add(&mut lists, PAYER, vec![paid, twice.clone(), twice], true);
    let accounts = graph(&lists);
    let subject = accounts.owner(SUBJECT).unwrap();
    let received: u128 = accounts.payments(subject, 100).payments.iter().map(|it| it.amount).sum();
    assert_eq!(received, 24_000_000, "two equal transfers of one transaction are two");
}

#[test]
fn money_of_a_payer_that_was_not_read_has_no_known_origin() {
    let mut lists = ReadLists::default();
    add(&mut lists, SUBJECT, vec![row(5, PAYER, SUBJECT, 10)], true);
    let received = |lists: &ReadLists| {
        let accounts = graph(lists);
        let subject = accounts.owner(SUBJECT).unwrap();
        accounts.payments(subject, 100).payments[0].shares.known().len()
    };
    assert_eq!(received(&lists), 0);
    add(&mut lists, PAYER, vec![row(2, EXCHANGE, PAYER, 10), row(5, PAYER, SUBJECT, 10)], true);
    assert_eq!(received(&lists), 1, "the exchange is its origin");
}

#[test]
fn a_list_that_was_read_in_part_tells_nothing_of_its_last_block() {
    let mut lists = ReadLists::default();
    add(&mut lists, PAYER, vec![row(2, EXCHANGE, PAYER, 10), row(5, PAYER, SUBJECT, 10)], false);
    assert_eq!(lists.read_until(PAYER, usdt(), true), 5);
    assert_eq!(lists.read_until(PAYER, Asset::Native, true), 0, "another asset was not read");
    let next = lists.next(PAYER, tokens(), ListOrder::OldestFirst).unwrap();
    assert_eq!(next.after, Some(PagePosition("2".to_owned())));
}

#[test]
fn the_ledger_of_a_contract_is_never_known() {
    let mut lists = ReadLists::default();
    let mut paid = row(5, PAYER, SUBJECT, 10);
    paid.initiator = None;
    add(&mut lists, PAYER, vec![paid], true);
    assert_eq!(lists.read_until(PAYER, usdt(), true), 0, "nobody knows that it has no code");
    lists.add_code(PAYER, Some(false));
    let lag = 20;
    assert_eq!(lists.read_until(PAYER, usdt(), true), TIP - lag + 1);
    lists.add_code(PAYER, Some(true));
    assert_eq!(lists.read_until(PAYER, usdt(), true), 0);
}

/// Given an API whose lists lag behind its newest block, then a list tells nothing of blocks that no list has yet.
#[test]
fn lists_may_lag_behind_the_newest_block() {
    let mut lists = ReadLists::default();
    add(&mut lists, PAYER, vec![row(5, EXCHANGE, PAYER, 10)], true);
    lists.add_code(PAYER, Some(false));
    let early = lists.read_until(PAYER, usdt(), true);
    assert!(early < TIP, "{early}");
    // Another list shows that the API had the block by then.
    add(&mut lists, OTHER, vec![row(TIP - 3, EXCHANGE, OTHER, 10)], true);
    assert_eq!(lists.read_until(PAYER, usdt(), true), TIP - 2);
    // Its own payments are known.
    add(&mut lists, SUBJECT, vec![row(TIP, EXCHANGE, SUBJECT, 10)], true);
    lists.add_code(SUBJECT, Some(false));
    assert_eq!(lists.read_until(SUBJECT, usdt(), true), TIP + 1);
    assert!(lists.is_whole(SUBJECT, usdt(), true) && !lists.is_whole(SUBJECT, Asset::Native, true));
}

#[test]
fn unread_money_is_that_of_the_payers_behind_those_that_were_read() {
    let mut lists = ReadLists::default();
    let own = vec![row(5, PAYER, SUBJECT, 30), row(6, EXCHANGE, SUBJECT, 70)];
    add(&mut lists, SUBJECT, own, true);
    let of_payer = masses(&lists);
    let share = |masses: &UnreadMasses, of: AccountAddress| {
        masses.get(&(of, usdt())).map(|mass| (mass.share * 1_000 + WHOLE / 2) / WHOLE)
    };
    // Of all received, of the last 90 days and of what is held, it is as much.
    assert_eq!(share(&of_payer, PAYER), Some(300));
    assert_eq!(share(&of_payer, EXCHANGE), None, "money of an end is known");
    let before =
        vec![row(1, OTHER, PAYER, 10), row(2, EXCHANGE, PAYER, 20), row(5, PAYER, SUBJECT, 30)];
    add(&mut lists, PAYER, before, true);
    let of_other = masses(&lists);
    assert_eq!(share(&of_other, PAYER), None);
    assert_eq!(share(&of_other, OTHER), Some(100), "a third of what the payer paid");
}

/// The payers at whom drawn dollars arrive, by a secret.
fn drawn(lists: &ReadLists, secret: u8) -> Vec<AccountAddress> {
    let accounts = graph(lists);
    let owner = accounts.owner(SUBJECT).unwrap();
    let prices = Prices::default();
    let is_known = |account: AccountAddress, asset: Asset, block: u64| {
        block < lists.read_until(account, asset, true)
    };
    let mut values = Valuation::new(&prices);
    let secret = DrawSecret::of([u128::from(secret); 2]);
    let draws = Draws::new(secret, SUBJECT, jiff::civil::Date::new(2026, 11, 3).unwrap());
    let found = drawn_payers(
        (&accounts, owner),
        is_known,
        (&mut values, Timestamp::from_second(1_700_000_000).unwrap()),
        &draws,
    );
    found.into_iter().map(|(payer, _)| payer).collect()
}

/// Given payers of a third and of two thirds, then drawn dollars arrive at them as often, and behind one that was read at his payers.
#[test]
fn drawn_dollars_go_back_by_the_shares_of_payers() {
    let mut lists = ReadLists::default();
    let own = vec![row(5, PAYER, SUBJECT, 30), row(6, OTHER, SUBJECT, 60)];
    add(&mut lists, SUBJECT, own, true);
    let mut first = [0; 2];
    for secret in 0..=255 {
        match drawn(&lists, secret)[..] {
            [PAYER, OTHER] => first[0] += 1,
            [OTHER, PAYER] => first[1] += 1,
            ref others => panic!("{others:?}"),
        }
    }
    assert!((65..106).contains(&first[0]), "a third of 256: {first:?}");
    let before = vec![
        row(1, EXCHANGE, PAYER, 20),
        row(2, DISTANT, PAYER, 20),
        row(5, PAYER, SUBJECT, 30),
        row(7, DISTANT, PAYER, 900),
    ];
    add(&mut lists, PAYER, before, true);
    let mut last = drawn(&lists, 1);
    last.sort_unstable();
    assert_eq!(last, [OTHER, DISTANT], "{PAYER:?} is read, and money of an exchange is known");
    assert_eq!(drawn(&lists, 1), drawn(&lists, 1));
}

#[test]
fn payers_that_were_drawn_are_asked_for_code_and_list_at_once() {
    let mut lists = ReadLists::default();
    let mut own = vec![row(5, PAYER, SUBJECT, 30), row(6, OTHER, SUBJECT, 60)];
    for row in &mut own {
        row.initiator = None;
    }
    add(&mut lists, SUBJECT, own, true);
    let payers = [(PAYER, usdt()), (OTHER, usdt())];
    let about = plan::about_drawn(&payers, &masses(&lists), &lists, (true, 3));
    let list =
        PageRequest { account: PAYER, list: tokens(), order: ListOrder::OldestFirst, after: None };
    assert_eq!(about, [Question::Code(PAYER), Question::Page(list), Question::Code(OTHER)]);
}

#[test]
fn the_greatest_unread_payer_is_read_first_and_its_code_before_its_list() {
    let mut lists = ReadLists::default();
    let mut own = vec![row(5, PAYER, SUBJECT, 30), row(6, OTHER, SUBJECT, 60)];
    for row in &mut own {
        row.initiator = None;
    }
    add(&mut lists, SUBJECT, own, true);
    let found = masses(&lists);
    let next = |lists: &ReadLists, reached: &ReachedAccounts, most| {
        plan::next(&found, lists, (true, reached), most)
    };
    let nobody = ReachedAccounts::default();
    assert_eq!(next(&lists, &nobody, 2), [OTHER, PAYER].map(Question::Code));
    // A payer that severe money reached comes before one of more money.
    let reached = ReachedAccounts::of([PAYER]);
    assert_eq!(next(&lists, &reached, 2), [PAYER, OTHER].map(Question::Code));
    lists.add_code(OTHER, Some(false));
    let request =
        PageRequest { account: OTHER, list: tokens(), order: ListOrder::OldestFirst, after: None };
    assert_eq!(next(&lists, &nobody, 1), [Question::Page(request)]);
}
