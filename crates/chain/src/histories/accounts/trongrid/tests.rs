use assay_engine::account::TransferKind;

use super::{answer::height_of, *};

const OWNER: &str = "41a614f803b6fd780986a42c78ec9c7f77e6ded13c";
const OWNER_BASE58: &str = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t";
const PEER: &str = "413487b63d30b5b2c87fb7ffa8bcfade38eaac1abe";
const PEER_BASE58: &str = "TEkxiTehnzSmSe2XqrBj4w32RUN966rdz8";
const HASH: &str = "4444444444444444444444444444444444444444444444444444444444444444";

fn account(text: &str) -> AccountAddress {
    let address = assay_address::CanonicalAddress::parse(ChainId::TRX, text).unwrap();
    AccountAddress::of(&address).unwrap()
}

fn reader(list: AccountList) -> ListReader {
    let order = ListOrder::NewestFirst;
    ListReader { account: account(OWNER), list, order, from: None, newest: None }
}

fn answer(rows: &str) -> String {
    format!(
        r#"{{"data":[{rows}],"success":true,"meta":{{"at":1,"fingerprint":"next","page_size":1}}}}"#
    )
}

fn transaction(result: &str, kind: &str, value: &str, more: &str) -> String {
    format!(
        r#"{{"ret":[{{"contractRet":"{result}","fee":345000}}],"txID":"{HASH}","net_fee":345000,"blockNumber":9,
        "block_timestamp":1700000001000,"raw_data":{{"contract":[{{"parameter":{{"value":{value},"type_url":"x"}},
        "type":"{kind}"}}],"ref_block_bytes":"01"}}{more}}}"#
    )
}

fn moved(row: &str) -> Vec<(TransferKind, AccountAddress, AccountAddress, u64)> {
    let page = reader(AccountList::Native).read(answer(row).as_bytes()).unwrap();
    let transfers = page.rows.into_iter().flat_map(|row| row.transfers);
    let small = |amount| u64::try_from(amount).unwrap();
    transfers.map(|it| (it.kind, it.from, it.to, small(it.amount))).collect()
}

#[test]
fn each_kind_of_transaction_moves_what_it_states() {
    let (owner, peer, zero) = (account(OWNER), account(PEER), AccountAddress::ZERO);
    let fee = (TransferKind::Fee, owner, zero, 345_000);
    let transfer = format!(r#"{{"amount":5,"owner_address":"{OWNER}","to_address":"{PEER}"}}"#);
    let sent = (TransferKind::Transfer, owner, peer, 5);
    assert_eq!(moved(&transaction("SUCCESS", "TransferContract", &transfer, "")), [sent, fee]);
    assert_eq!(moved(&transaction("OUT_OF_ENERGY", "TransferContract", &transfer, "")), [fee]);
    let received = format!(r#"{{"amount":5,"owner_address":"{PEER}","to_address":"{OWNER}"}}"#);
    let received = moved(&transaction("SUCCESS", "TransferContract", &received, ""));
    assert_eq!(received, [(TransferKind::Transfer, peer, owner, 5)]);
    let call =
        format!(r#"{{"call_value":6,"owner_address":"{OWNER}","contract_address":"{PEER}"}}"#);
    let within = format!(
        r#","internal_transactions":[
        {{"caller_address":"{PEER}","transferTo_address":"{OWNER}","callValueInfo":[{{"callValue":7}},{{}},
        {{"callValue":8,"tokenId":"1000001"}}]}},
        {{"caller_address":"{PEER}","transferTo_address":"{OWNER}","callValueInfo":[{{"callValue":9}}],"rejected":true}},
        {{"caller_address":"{PEER}","transferTo_address":"{PEER}","callValueInfo":[{{"callValue":9}}]}}]"#
    );
    let expected =
        [(TransferKind::Transfer, owner, peer, 6), (TransferKind::Transfer, peer, owner, 7), fee];
    assert_eq!(moved(&transaction("SUCCESS", "TriggerSmartContract", &call, &within)), expected);
    let reward = format!(r#"{{"owner_address":"{OWNER}"}}"#);
    let reward =
        transaction("SUCCESS", "WithdrawBalanceContract", &reward, r#","withdraw_amount":11"#);
    assert_eq!(moved(&reward), [(TransferKind::Reward, zero, owner, 11), fee]);
    let vote = format!(r#"{{"owner_address":"{OWNER}"}}"#);
    assert_eq!(moved(&transaction("SUCCESS", "VoteWitnessContract", &vote, "")), [fee]);
}

#[test]
fn a_transfer_within_a_transaction_may_be_a_row() {
    let row = |more: &str| {
        format!(
            r#"{{"internal_tx_id":"{HASH}","tx_id":"{HASH}","from_address":"{PEER}","to_address":"{OWNER}",
            "block_timestamp":1700000001000,"data":{{"note":"63616c6c","call_value":{{"_":12}}{more}}}}}"#
        )
    };
    let expected = [(TransferKind::Transfer, account(PEER), account(OWNER), 12)];
    assert_eq!(moved(&row("")), expected);
    assert!(moved(&row(r#","rejected":true"#)).is_empty());
}

fn token_row(time: u64) -> String {
    format!(
        r#"{{"transaction_id":"{HASH}","token_info":{{"symbol":"USDT","address":"{OWNER_BASE58}","decimals":6,
        "name":"Tether USD"}},"block_timestamp":{time},"from":"{PEER_BASE58}","to":"{OWNER_BASE58}","type":"Transfer",
        "value":"340282366920938463463374607431768211456"}}"#
    )
}

#[test]
fn tokens_have_the_height_of_their_time() {
    let list = AccountList::Token(account(OWNER));
    let page = reader(list).read(answer(&token_row(1_700_000_001_000)).as_bytes()).unwrap();
    let row = &page.rows[0];
    assert_eq!(row.transfers[0].amount, U256::from(u128::MAX) + U256::from(1));
    assert_eq!(row.transfers[0].asset, Asset::Token(account(OWNER_BASE58)));
    assert_eq!((row.block, page.next.as_deref()), (height_of(row.time), Some("next")));
    // The first block is one slot after the begin.
    let first = Timestamp::from_millisecond(1_529_891_469_000).unwrap();
    assert_eq!(height_of(first), 1);
    let other = AccountList::Token(account(PEER));
    assert!(reader(other).read(answer(&token_row(1_700_000_001_000)).as_bytes()).is_err());
    let approval = token_row(1_700_000_001_000).replace("Transfer", "Approval");
    assert!(reader(list).read(answer(&approval).as_bytes()).unwrap().rows.is_empty());
}

#[test]
fn rows_out_of_order_and_refusals_are_told_apart() {
    let list = AccountList::Tokens;
    let two = |first, second| format!("{},{}", token_row(first), token_row(second));
    let read = |body: &str| reader(list).read(body.as_bytes());
    assert_eq!(read(&answer(&two(6_000, 3_000))).unwrap().rows.len(), 2);
    let error = read(&answer(&two(3_000, 6_000))).unwrap_err();
    assert!(matches!(&error, AnswerError::Invalid(said) if said.contains("row 2")), "{error:?}");
    let after = ListReader { newest: Some(Timestamp::UNIX_EPOCH), ..reader(list) };
    assert!(after.read(answer(&token_row(3_000)).as_bytes()).is_err());
    for (body, expected) in [
        (
            r#"{"success":false,"error":"ApiKey not exists","statusCode":401}"#,
            ApiRefusal::InvalidKey,
        ),
        (r#"{"Error":"lack of computing resources"}"#, ApiRefusal::TooManyRequests),
    ] {
        let error = read(body).unwrap_err();
        assert!(matches!(error, AnswerError::Refused(found, _) if found == expected), "{error:?}");
    }
}

#[test]
fn balances_of_accounts_are_read() {
    let body = answer(&format!(
        r#"{{"balance":77,"trc20":[{{"{PEER_BASE58}":"88"}}],"assetV2":[{{"key":"1000001","value":99}}]}}"#
    ));
    let read =
        |asset| balance(body.as_bytes(), asset).unwrap().map(|it| u64::try_from(it).unwrap());
    assert_eq!(read(Asset::Native), Some(77));
    assert_eq!(read(Asset::Token(account(PEER))), Some(88));
    assert_eq!(read(Asset::Token(account(OWNER))), Some(0));
    assert_eq!(read(Asset::Numbered(1_000_001)), Some(99));
    let none = answer("");
    assert_eq!(balance(none.as_bytes(), Asset::Native).unwrap(), Some(U256::ZERO));
    assert_eq!(balance(none.as_bytes(), Asset::Token(account(PEER))).unwrap(), None);
}

#[test]
fn contracts_are_told_from_other_accounts() {
    assert!(
        has_code(format!(r#"{{"bytecode":"60","contract_address":"{OWNER}"}}"#).as_bytes())
            .unwrap()
    );
    assert!(!has_code(b"{}").unwrap());
    assert!(has_code(br#"{"Error":"lack of computing resources"}"#).is_err());
}

#[test]
fn positions_are_written_and_read_back() {
    let last = Timestamp::from_millisecond(1_700_000_001_000).unwrap();
    let position = Position { fingerprint: "a;b=/+".to_owned(), last, digest: 99 };
    assert_eq!(Position::parse(&position.text()), Some(position));
    assert_eq!(
        Position::parse("5;1;"),
        Some(Position {
            fingerprint: String::new(),
            last: Timestamp::from_millisecond(5).unwrap(),
            digest: 1
        })
    );
    assert_eq!(Position::parse("x"), None);
    assert_eq!(percent_encoded("a;b=/+"), "a%3Bb%3D%2F%2B");
}
