//! Blocks of a chain that an independent encoder wrote, and of the real chain.

use std::sync::{Arc, Mutex};

use assay_engine::account::{
    AccountAddress, AccountTransaction, Asset, ChainResource, ContractFact, DelegationChange,
    FreezeChange, FreezeEvent, MessageEnd, ResourceDelegation, TransferKind,
};
use assay_graph::account::{AccountBlock, InternalTransfers};
use assay_test_servers::tron::{
    Account, NewTransaction, TronChain, account_word, number_word, party, text,
};
use serde_json::{Value, json};

use super::{
    FIRST_BLOCK, TronNodeOptions, TronNodeSource,
    answer::BlockAnswer,
    block::{ExchangePairs, exchange_account},
    verify::block_id,
};
use crate::{
    BatchLimit, BlockSource, SourceError, TestNetworks, Tracer,
    account_source::AccountBlockSource,
    evm::BlockTag,
    http::{
        Backoff, ExchangeError, Http, Request, Response, Server,
        tests::{Noted, answer},
    },
};

/// The contract of Tether's dollars, without the prefix.
const USDT: Account = alloy_primitives::hex!("a614f803b6fd780986a42c78ec9c7f77e6ded13c");

/// Changes the text of an answer to a path.
type Change = fn(&str, String) -> String;

/// A node of a chain, without a network.
struct Direct {
    chain: Mutex<TronChain>,
    change: Change,
    /// Answers that come before those of the chain.
    before: Mutex<Vec<Response>>,
    /// True if the node serves solid blocks at another port.
    lacks_solid: bool,
}

impl std::fmt::Debug for Direct {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Direct")
    }
}

impl Http for Direct {
    fn url(&self) -> &'static str {
        "http://node"
    }

    fn exchange(&self, request: Request<'_>) -> Result<Response, ExchangeError> {
        if let Some(before) = self.before.lock().unwrap().pop() {
            return Ok(before);
        }
        let parameters: Value = serde_json::from_slice(request.body.unwrap()).unwrap();
        let chain = self.chain.lock().unwrap();
        let solid = chain.height().saturating_sub(19);
        let path = request.path;
        if path == "/wallet/getnodeinfo" {
            let id = hex::encode(chain.block(solid).unwrap().id);
            return Ok(answer(
                200,
                &json!({ "solidityBlock": format!("Num:{solid},ID:{id}") }).to_string(),
            ));
        }
        let found = chain.answer(path, &parameters, solid);
        let found = found.filter(|_| !(self.lacks_solid && path.starts_with("/walletsolidity")));
        Ok(match found {
            Some(found) => answer(200, &(self.change)(path, found.to_string())),
            None => answer(404, "<html>Not Found</html>"),
        })
    }
}

fn unchanged(_: &str, text: String) -> String {
    text
}

fn direct(chain: TronChain) -> Direct {
    let (chain, before) = (Mutex::new(chain), Mutex::default());
    Direct { chain, change: unchanged, before, lacks_solid: false }
}

fn source(node: Direct) -> TronNodeSource {
    let server = Server::new(Arc::new(node), Noted::new(20, 0), Backoff::default());
    let options =
        TronNodeOptions { test_networks: TestNetworks::Allowed, ..TronNodeOptions::default() };
    TronNodeSource::new(server, options)
}

/// The second block of a chain, with these transactions.
fn block_of(transactions: &[NewTransaction]) -> AccountBlock {
    let mut chain = TronChain::new(&[]);
    chain.exchanges.insert(5, ["_".to_owned(), "1000017".to_owned()]);
    chain.make(transactions);
    source(direct(chain)).block_at(1).unwrap()
}

/// The only transaction of a block of one.
fn booked(transaction: NewTransaction) -> AccountTransaction {
    let mut block = block_of(&[transaction]);
    assert_eq!((block.transactions.len(), block.internal), (1, InternalTransfers::Stated));
    block.transactions.remove(0)
}

fn at(name: &str) -> AccountAddress {
    AccountAddress(party(name))
}

/// A transfer as its kind, its asset, its parties and its amount.
type Moved = (TransferKind, Asset, AccountAddress, AccountAddress, u64);

fn moved(transaction: &AccountTransaction) -> Vec<Moved> {
    let all = transaction.transfers.iter();
    all.map(|it| (it.kind, it.asset, it.from, it.to, u64::try_from(it.amount).unwrap())).collect()
}

const NOBODY: AccountAddress = AccountAddress::ZERO;

fn paid(from: &str, to: &str, amount: u64) -> Moved {
    (TransferKind::Transfer, Asset::Native, at(from), at(to), amount)
}

fn fee(of: &str, amount: u64) -> Moved {
    (TransferKind::Fee, Asset::Native, at(of), NOBODY, amount)
}

fn header(fields: &Value) -> Value {
    json!({ "blockID": hex::encode([0; 32]), "block_header": { "raw_data": fields } })
}

#[test]
fn headers_of_real_blocks_have_their_identifiers() {
    // Given headers of the main network and of a test network as explorers show them...
    let headers = [
        (
            "000000000035e1c0f60afaa8387fd17fd9b84fe4381265ff084d739f814558ea",
            json!({
                "number": 3_531_200,
                "txTrieRoot": "9d98f6cbbde8302774ab87c003831333e132c89e00009cb1f7da35e1e59ae8ca",
                "witness_address": "41d1dbde8b8f71b48655bec4f6bb532a0142b88bc0",
                "parentHash": "000000000035e1bfb3b6f244e5316ce408aa8cea4c348eabe2545247f5a4600c",
                "version": 3,
                "timestamp": 1_540_545_240_000_u64,
            }),
        ),
        (
            "0000000003fe262d52bfa4b2814f816fd2e57af5b98a33d60d8630a03a908e0e",
            json!({
                "number": 66_987_565,
                "txTrieRoot": "faf8fe3858339ead25cc892461c82a59b84dca4a51c45b026676bf3f45a352a2",
                "witness_address": "41b2f713d57dbcec679d93a8849fa0cd0e4db594ba",
                "parentHash": "0000000003fe262c85cd6b02033f4c3e5c1efa35de256a17bd906dc61fb1aeed",
                "version": 34,
                "timestamp": 1_777_445_121_000_u64,
            }),
        ),
    ];
    for (id, fields) in headers {
        // ...then each has its identifier.
        let block: BlockAnswer = serde_json::from_value(header(&fields)).unwrap();
        let (height, found) = block_id(&block.block_header.raw_data).unwrap();
        assert_eq!((hex::encode(found), Some(height)), (id.to_owned(), fields["number"].as_u64()));
    }
}

#[test]
fn the_first_block_of_the_main_network_is_read() {
    // Given the first block, whose three transactions are allocations, one of them of less than nothing...
    let start = "0801126?0a2d747970652e676f6f676c65617069732e636f6d2f70726f746f636f6c2e5472616e73666572436f6e747261637412";
    let nobody = "0a173078303030303030303030303030303030303030303030121541";
    let allocations = [
        ("5a6f", "b", "3a", "71b0af54e0a1182a5e0947d6a64f3b22740ef318", "1880808ec69bffedaf01"),
        ("5a65", "1", "30", "ef1bd15b5b657f69611b053a6f4fcd7268a50858", ""),
        ("5a70", "c", "3b", "77944d19c052b73ee2286823aa83f8138cb7032f", "1880808080808080808001"),
    ];
    let transactions = allocations.map(|(first, digit, length, to, amount)| {
        let start = start.replace('?', digit);
        let raw = format!("{first}{start}{length}{nobody}{to}{amount}");
        let id = <sha2::Sha256 as sha2::Digest>::digest(hex::decode(&raw).unwrap());
        json!({ "txID": hex::encode(id), "raw_data_hex": raw })
    });
    let witness = "A new system must allow existing systems to be linked together without requiring any central control or coordination";
    let mut block = header(&json!({
        "txTrieRoot": "8ef446bf3f395af929c218014f6101ec86576c5f61b2ae3236bf3a2ab5e2fecd",
        "witness_address": hex::encode(witness),
        "parentHash": "e58f33f9baf9305dc6f82b9f1934ea8f0ade2defb951258d50167028c780351f",
    }));
    block["blockID"] = hex::encode(FIRST_BLOCK).into();
    block["transactions"] = transactions.as_slice().into();
    // ...then its identifier and root are right, and what is given out is booked.
    let block: BlockAnswer = serde_json::from_value(block).unwrap();
    let booked = block.verify().unwrap().book(&[], &ExchangePairs::default()).unwrap();
    assert_eq!(booked.reference.hash, FIRST_BLOCK);
    let moved: Vec<_> = booked.transactions.iter().flat_map(moved).collect();
    let to = alloy_primitives::hex!("71b0af54e0a1182a5e0947d6a64f3b22740ef318");
    let coins = 99_000_000_000_000_000;
    assert_eq!(moved, [(TransferKind::Reward, Asset::Native, NOBODY, AccountAddress(to), coins)]);
}

/// A chain of 20 blocks above the first one, with 0 to 19 transactions.
fn twenty_blocks() -> TronChain {
    let mut chain = TronChain::new(&[(party("alice"), 1_000_000)]);
    for block in 0..20 {
        let all: Vec<_> = (0..block)
            .map(|number| match number % 3 {
                0 => NewTransaction::payment(&party("alice"), &party("bob"), number + 1),
                1 => NewTransaction::token_call(&party("bob"), &USDT, &party("carol"), 5),
                _ => NewTransaction::call(&party("carol"), &party("shop"), 7).failed("REVERT"),
            })
            .collect();
        chain.make(&all);
    }
    chain
}

#[test]
fn identifiers_and_roots_of_an_independent_encoder_are_equal() {
    // Given 20 blocks of an independent encoder...
    let chain = twenty_blocks();
    let ids: Vec<_> = (0..=20).map(|height| chain.block(height).unwrap().id).collect();
    // ...then all are read, and have its identifiers.
    let mut source = source(direct(chain));
    let blocks = source.blocks(0, BatchLimit::of_blocks(100)).unwrap();
    assert!(blocks.iter().map(|block| block.reference.hash).eq(ids.iter().copied()));
    let parents = blocks.iter().skip(1).map(|block| block.reference.parent);
    assert!(parents.eq(ids[..20].iter().copied()));
    assert_eq!(blocks[20].transactions.len(), 19 - 6, "calls that failed move nothing");
    assert_eq!(source.block(&ids[7]).unwrap(), blocks[7]);
    assert!(matches!(source.block(&[7; 32]), Err(SourceError::NotOnChain { .. })));
    // Memory bounds a batch.
    let limit = BatchLimit { blocks: 100, entries: 10 };
    assert!(source.blocks(0, limit).unwrap().len() < 10);
}

#[test]
fn one_changed_byte_is_refused() {
    // Given a block with two transactions...
    let mut chain = TronChain::new(&[]);
    chain.make(&[
        NewTransaction::payment(&party("alice"), &party("bob"), 5),
        NewTransaction::token_call(&party("bob"), &USDT, &party("carol"), 5),
    ]);
    let json = chain.block(1).unwrap().json.to_string();
    let read = |json: &str| {
        let block: BlockAnswer = serde_json::from_str(json).map_err(|error| error.to_string())?;
        block.verify().map(|_| ())
    };
    assert_eq!(read(&json), Ok(()));
    // ...then every changed digit of what the identifier commits to is found: each digit of the header, of the transactions'
    // bytes, signatures and results, and of the amounts beside them.
    let value: Value = serde_json::from_str(&json).unwrap();
    let transaction = &value["transactions"][0];
    let beside = &transaction["raw_data"]["contract"][0]["parameter"]["value"];
    let header = &value["block_header"]["raw_data"];
    for part in [
        &value["blockID"],
        &header["txTrieRoot"],
        &header["parentHash"],
        &header["witness_address"],
        &transaction["txID"],
        &transaction["raw_data_hex"],
        &transaction["signature"][0],
        &beside["to_address"],
    ] {
        let part = part.as_str().unwrap();
        for place in (0..part.len()).step_by(7) {
            let digit = if part.as_bytes()[place] == b'0' { "1" } else { "0" };
            let mut changed = part.to_owned();
            changed.replace_range(place..=place, digit);
            assert!(read(&json.replacen(part, &changed, 1)).is_err(), "{part} at {place}");
        }
    }
    for (before, after) in [
        ("\"contractRet\":\"SUCCESS\"", "\"contractRet\":\"REVERT\""),
        ("\"contractRet\":\"SUCCESS\"", "\"contractRet\":\"NEW_RESULT\""),
        ("\"amount\":5", "\"amount\":6"),
        ("\"version\":34", "\"version\":35"),
        ("\"version\":34", "\"version\":34,\"witness_id\":1"),
        ("\"ret\":[{", "\"ret\":[{},{"),
    ] {
        assert!(json.contains(before));
        assert!(read(&json.replacen(before, after, 1)).is_err(), "{after}");
    }
}

#[test]
fn unknown_fields_stand_as_their_numbers_and_stop_nobody() {
    // A payment whose amount stands a second time in another form is one of the amount, as nodes read it.
    let payment = NewTransaction::payment(&party("alice"), &party("bob"), 5);
    assert_eq!(moved(&booked(payment.with_unknown_field())), [paid("alice", "bob", 5)]);
}

#[test]
fn payments_of_coins_and_tokens_are_read() {
    let [alice, bob] = [party("alice"), party("bob")];
    let one = booked(NewTransaction::payment(&alice, &bob, 5).fee(1_100_000));
    assert_eq!(moved(&one), [paid("alice", "bob", 5), fee("alice", 1_100_000)]);
    assert_eq!(one.initiator, Some(at("alice")));
    // A numbered token, and the payment for one; a token that has a name only moves unseen.
    let token = (TransferKind::Transfer, Asset::Numbered(1_002_000), at("alice"), at("bob"), 7);
    let payment = NewTransaction::token_payment(&alice, &bob, "1002000", 7);
    assert_eq!(moved(&booked(payment)), [token]);
    let purchase = NewTransaction::purchase(&alice, &bob, "1002000", 9);
    assert_eq!(moved(&booked(purchase)), [paid("alice", "bob", 9)]);
    let named = NewTransaction::token_payment(&alice, &bob, "HuobiToken", 7);
    let block = block_of(&[named, NewTransaction::token_payment(&alice, &bob, "77", 7)]);
    assert_eq!(block.transactions, []);
}

#[test]
fn stakes_votes_and_lent_energy_move_nothing_but_fees() {
    let [alice, bob] = [party("alice"), party("bob")];
    let block = block_of(&[NewTransaction::stake(&alice, 500), NewTransaction::vote(&alice)]);
    assert_eq!(block.transactions, []);
    let lent = booked(NewTransaction::lend_energy(&alice, &bob, 500).fee(280_000));
    assert_eq!(moved(&lent), [fee("alice", 280_000)]);
    let reward = booked(NewTransaction::reward(&alice, 33));
    assert_eq!(moved(&reward), [(TransferKind::Reward, Asset::Native, NOBODY, at("alice"), 33)]);
}

#[test]
fn a_failed_transaction_pays_its_fee_and_nothing_else() {
    let [alice, shop] = [party("alice"), party("shop")];
    let failed = NewTransaction::call(&alice, &shop, 7)
        .internal("call", [&shop, &alice], &[("", 3)])
        .transfer_log(&USDT, [&alice, &shop], 9)
        .failed("OUT_OF_ENERGY")
        .fee(14_000_000);
    let failed = booked(failed);
    assert_eq!(moved(&failed), [fee("alice", 14_000_000)]);
    assert_eq!(failed.contract_facts, []);
}

#[test]
fn calls_move_coins_tokens_and_what_they_state_inside() {
    let [alice, bob, shop] = [party("alice"), party("bob"), party("shop")];
    let call = NewTransaction::call(&alice, &shop, 100)
        .internal("call", [&shop, &bob], &[("", 60), ("1002000", 4)])
        // A call of code in the contract's own name, a rejected one, one of nothing, and a vote of the contract's.
        .internal("call", [&shop, &shop], &[("", 60)])
        .rejected([&shop, &bob], 30)
        .internal("call", [&shop, &bob], &[("", 0)])
        .internal("voteWitness", [&shop, &bob], &[("", 11)])
        .internal("withdrawReward", [&shop, &shop], &[("", 12)])
        .internal("create", [&shop, &party("child")], &[("", 2)])
        .internal("suicide", [&party("child"), &bob], &[("", 2)]);
    let call = booked(call);
    let token = |from, to, amount| {
        (TransferKind::Transfer, Asset::Numbered(1_002_000), at(from), at(to), amount)
    };
    assert_eq!(
        moved(&call),
        [
            paid("alice", "shop", 100),
            paid("shop", "bob", 60),
            token("shop", "bob", 4),
            (TransferKind::Reward, Asset::Native, NOBODY, at("shop"), 12),
            (TransferKind::Create, Asset::Native, at("shop"), at("child"), 2),
            paid("child", "bob", 2),
        ]
    );
    // Accounts that ran code are contracts; a creation says so itself.
    assert_eq!(call.contract_facts, [ContractFact::code(at("shop"))]);
    let with_token = NewTransaction::call_with_token(&alice, &shop, (1_002_000, 4));
    assert_eq!(moved(&booked(with_token)), [token("alice", "shop", 4)]);
}

#[test]
fn a_created_contract_has_the_address_that_follows_from_its_transaction() {
    let created = booked(NewTransaction::creation(&party("alice"), 0).fee(1));
    let [(kind, asset, from, to, amount), _] = moved(&created)[..] else { panic!("{created:?}") };
    assert_eq!((kind, asset, from, amount), (TransferKind::Create, Asset::Native, at("alice"), 0));
    let owner = hex::decode(text(&party("alice"))).unwrap();
    let hash = alloy_primitives::keccak256([&created.id.as_bytes()[..], &owner].concat());
    assert_eq!(to.0[..], hash[12..]);
}

#[test]
fn tokens_are_read_from_logs_and_issues_count_once() {
    let [issuer, bob] = [party("issuer"), party("bob")];
    let nobody = [0; 20];
    let issue = "cb8241adb0c3fdb35b70c24ce35c5eb0c17af7431c99f827d44a445ca624176a";
    let dollars =
        |kind, from, to, amount| (kind, Asset::Token(AccountAddress(USDT)), from, to, amount);
    let made = NewTransaction::call(&issuer, &USDT, 0)
        .log(&USDT, &[issue], &number_word(1_000))
        .transfer_log(&USDT, [&nobody, &issuer], 1_000);
    assert_eq!(moved(&booked(made)), [dollars(TransferKind::Mint, NOBODY, at("issuer"), 1_000)]);
    let block = block_of(&[
        NewTransaction::token_call(&issuer, &USDT, &bob, 5),
        NewTransaction::token_call(&issuer, &USDT, &bob, 0),
    ]);
    // Logs are numbered over the block.
    let places: Vec<_> =
        block.transactions.iter().map(|it| it.transfers[0].place.to_string()).collect();
    assert_eq!(places, ["log 0", "log 1"]);
    // A topic with the prefix of an address, as old compilers log it.
    let prefixed = format!("{:0>64}", text(&bob));
    let old = NewTransaction::call(&issuer, &USDT, 0).log(
        &USDT,
        &[assay_test_servers::tron::TRANSFER, &account_word(&issuer), &prefixed],
        &number_word(5),
    );
    let expected = dollars(TransferKind::Transfer, at("issuer"), at("bob"), 5);
    assert_eq!(moved(&booked(old)), [expected]);
}

#[test]
fn loans_of_resources_are_relations_that_move_nothing() {
    let [lender, bob] = [party("issuer"), party("bob")];
    let block = block_of(&[
        NewTransaction::lend_energy(&lender, &bob, 400),
        NewTransaction::take_energy_back(&lender, &bob, 400),
        NewTransaction::stake_for(&lender, &bob, 700),
        // A stake for oneself lends nothing, and neither does a loan that failed.
        NewTransaction::stake(&lender, 700),
        NewTransaction::lend_energy(&lender, &bob, 400).failed("REVERT"),
    ]);
    let loan = |resource, change| ResourceDelegation {
        lender: at("issuer"),
        borrower: at("bob"),
        resource,
        change,
    };
    let loans: Vec<_> = block.transactions.iter().flat_map(|it| &it.delegations).copied().collect();
    assert_eq!(
        loans,
        [
            loan(ChainResource::Energy, DelegationChange::Begun),
            loan(ChainResource::Energy, DelegationChange::Ended),
            loan(ChainResource::Bandwidth, DelegationChange::Begun),
        ]
    );
    assert!(block.transactions.iter().all(|it| it.transfers.is_empty()), "{block:?}");
}

#[test]
fn freezes_are_read_with_their_ends_and_destroyed_funds() {
    let [issuer, thief] = [party("issuer"), party("thief")];
    let word = account_word(&thief);
    let added = "42e160154868087d6bfdc0ca23d96a1c1cfa32f1b72ba9ba27b69b98a0d819dc";
    let removed = "d7e9ec6e6ecd65492dce6bf513cd6867560d49544421d0783ddf06e76c24470c";
    let destroyed = "61e6e66b0d6339b2980aecc6ccc0039736791f0ccde9ed512e789a7fbdd698c6";
    let call = || NewTransaction::call(&issuer, &USDT, 0);
    let block = block_of(&[
        call().log(&USDT, &[added, &word], ""),
        call().log(&USDT, &[removed, &word], ""),
        call().log(&USDT, &[destroyed, &word], &number_word(700)),
        // Of another contract than a listed one it is no freeze.
        call().log(&party("shop"), &[added, &word], ""),
        call().log(&USDT, &[added, &word], "").failed("REVERT"),
    ]);
    let freezes: Vec<_> = block.transactions.iter().flat_map(|it| &it.freezes).copied().collect();
    let asset = Asset::Token(AccountAddress(USDT));
    let event = |change, log| FreezeEvent { asset, account: at("thief"), change, log };
    assert_eq!(
        freezes,
        [
            event(FreezeChange::Frozen, 0),
            event(FreezeChange::Lifted, 1),
            event(FreezeChange::Destroyed, 2)
        ]
    );
    let burned = (TransferKind::Burn, asset, at("thief"), NOBODY, 700);
    assert_eq!(moved(&block.transactions[2]), [burned]);
}

#[test]
fn messages_of_bridges_are_read_from_logs() {
    let [alice, pool] = [party("alice"), party("pool")];
    let sent = "85496b760a4b7f8d66384b9df21b381f5d1b1e79f229a47aaf4c232edc2fe59a";
    let (message, other) = ("5a".repeat(32), "5b".repeat(32));
    let deposit = |id: &str| {
        let data = [30_101, 5_000, 4_990].map(number_word).concat();
        let call = NewTransaction::token_call(&alice, &USDT, &pool, 5_000);
        call.log(&pool, &[sent, id, &account_word(&alice)], &data)
    };
    let block = block_of(&[deposit(&message), deposit(&other), deposit(&message).failed("REVERT")]);
    let messages: Vec<_> = block.transactions.iter().flat_map(|it| &it.messages).collect();
    let [one, two] = messages[..] else { panic!("{messages:?}") };
    assert_eq!((one.contract, one.end, one.amount), (at("pool"), MessageEnd::Sent, 5_000));
    assert_ne!(one.id, two.id);
}

#[test]
fn exchanges_are_accounts_of_their_own() {
    let alice = party("alice");
    let pool = exchange_account(5);
    let coin = |from, to, amount| (TransferKind::Transfer, Asset::Native, from, to, amount);
    let token =
        |from, to, amount| (TransferKind::Transfer, Asset::Numbered(1_000_017), from, to, amount);
    let opened = NewTransaction::exchange(&alice, 5, [("_", 1_000), ("1000017", 20)]);
    let opened = booked(opened.fee(1_024_000_000));
    assert_eq!(
        moved(&opened),
        [coin(at("alice"), pool, 1_000), token(at("alice"), pool, 20), fee("alice", 1_024_000_000)]
    );
    assert_eq!(opened.contract_facts, [ContractFact::code(pool)]);
    let sold = NewTransaction::trade(&alice, 5, ("1000017", 2), 90);
    assert_eq!(moved(&booked(sold)), [token(at("alice"), pool, 2), coin(pool, at("alice"), 90)]);
    let bought = NewTransaction::trade(&alice, 5, ("_", 90), 2);
    assert_eq!(moved(&booked(bought)), [coin(at("alice"), pool, 90), token(pool, at("alice"), 2)]);
    // Of an order of the market nobody states who gets what.
    let order = block_of(&[NewTransaction::order(&alice, "1000017", 5)]);
    assert_eq!(order.internal, InternalTransfers::Lacking);
}

#[test]
fn statements_belong_to_their_block() {
    // Given statements about another block, about too few transactions, or about another one...
    let mut chain = TronChain::new(&[]);
    chain.make(&[NewTransaction::payment(&party("alice"), &party("bob"), 5)]);
    let changes: [(Change, &str); 4] = [
        (
            |path, text| if path.ends_with("infobyblocknum") { "[]".to_owned() } else { text },
            "0 transaction infos",
        ),
        (
            |path, text| if path.ends_with("infobyblocknum") { "{}".to_owned() } else { text },
            "0 transaction infos",
        ),
        (|_, text| text.replace("\"blockNumber\":1", "\"blockNumber\":2"), "of another block"),
        (
            |path, text| {
                if path.ends_with("infobyblocknum") {
                    let at = text.find("\"id\":\"").unwrap() + 6;
                    let (start, rest) = text.split_at(at);
                    format!("{start}{}{}", "0".repeat(64), &rest[64..])
                } else {
                    text
                }
            },
            "there is no transaction info",
        ),
    ];
    for (change, said) in changes {
        // ...then the block is refused.
        let node = Direct { change, ..direct(chain.clone()) };
        let error = source(node).block_at(1).unwrap_err();
        assert!(matches!(error, SourceError::InvalidData { .. }), "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
    // Blocks before smart contracts have no statements.
    let mut early = TronChain::new(&[]);
    let payment = NewTransaction::payment(&party("alice"), &party("bob"), 5);
    early.make(&[payment.without_result()]);
    let change: Change =
        |path, text| if path.ends_with("infobyblocknum") { "[]".to_owned() } else { text };
    let block = source(Direct { change, ..direct(early) }).block_at(1).unwrap();
    assert_eq!(moved(&block.transactions[0]), [paid("alice", "bob", 5)]);
}

#[test]
fn errors_with_status_200_are_told_apart() {
    let failing = |answers: Vec<Response>| {
        let node = direct(twenty_blocks());
        *node.before.lock().unwrap() = answers;
        source(node).tip()
    };
    // Errors that pass are waited out.
    let busy =
        r#"{"Error":"class java.lang.IllegalAccessException : lack of computing resources"}"#;
    let passing =
        [answer(200, busy), answer(429, ""), answer(200, "{\"block"), answer(500, "<html>")];
    assert_eq!(failing(passing.to_vec()).unwrap().height, 20);
    // Others are told.
    for (said, body) in [
        ("lite fullnode (200)", "this API is closed because this node is a lite fullnode"),
        ("NullPointerException", r#"{"Error":"class java.lang.NullPointerException : null"}"#),
    ] {
        let error = failing(vec![answer(200, body)]).unwrap_err();
        assert!(matches!(error, SourceError::Refused { .. }), "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
    let error = failing(vec![answer(200, "{}")]).unwrap_err();
    assert!(error.to_string().contains("it has no block"), "{error}");
    let error = failing(vec![answer(200, r#"{"blockID":"00"}"#)]).unwrap_err();
    assert!(matches!(error, SourceError::Unreadable { .. }), "{error}");
}

#[test]
fn a_node_states_internal_transfers_once_its_newest_blocks_have_one() {
    let mut chain = twenty_blocks();
    let mut without = source(direct(chain.clone()));
    assert_eq!(without.abilities().tracer, None);
    without.check_chain().unwrap();
    assert_eq!(without.abilities().tracer, Some(Tracer::None));
    let [alice, shop] = [party("alice"), party("shop")];
    let call = NewTransaction::call(&alice, &shop, 3).internal("call", [&shop, &alice], &[("", 1)]);
    chain.make(&[call]);
    let mut with = source(direct(chain));
    with.check_chain().unwrap();
    let abilities = with.abilities();
    assert_eq!(abilities.tracer, Some(Tracer::TransactionInfo));
    assert!(abilities.reads_internal_transfers());
    assert!(abilities.proven.transactions && !abilities.proven.receipts);
}

#[test]
fn the_main_network_is_recognized_by_its_first_block() {
    let server =
        Server::new(Arc::new(direct(twenty_blocks())), Noted::new(20, 0), Backoff::default());
    let mut source = TronNodeSource::new(server, TronNodeOptions::default());
    assert!(matches!(source.check_chain(), Err(SourceError::TestNetwork { .. })));
}

#[test]
fn the_newest_solid_block_is_final() {
    let solid = |lacks_solid| {
        let node = Direct { lacks_solid, ..direct(twenty_blocks()) };
        source(node).finalized().unwrap().unwrap()
    };
    // The node may serve it at another port.
    assert_eq!((solid(false).height, solid(false)), (1, solid(true)));
    let server =
        Server::new(Arc::new(direct(twenty_blocks())), Noted::new(20, 0), Backoff::default());
    let options = TronNodeOptions { newest: BlockTag::Final, ..TronNodeOptions::default() };
    let mut of_solid = TronNodeSource::new(server, options);
    assert_eq!(of_solid.tip().unwrap().height, 1);
    assert!(matches!(
        of_solid.blocks(2, BatchLimit::of_blocks(1)),
        Err(SourceError::NoBlock { .. })
    ));
}
