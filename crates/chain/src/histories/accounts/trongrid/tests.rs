use assay_engine::account::{Transfer, TransferKind};

use super::{super::AccountRow, answer::height_of, *};

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

fn rows(list: AccountList, body: &str) -> Vec<AccountRow> {
    let page = reader(list).read(body.as_bytes()).unwrap();
    page.rows.into_iter().filter_map(|(_, row)| row).collect()
}

fn transfers(list: AccountList, row: &str) -> Vec<Transfer> {
    rows(list, &answer(row)).into_iter().flat_map(|row| row.transfers).collect()
}

fn moved(row: &str) -> Vec<(TransferKind, AccountAddress, AccountAddress, u64)> {
    moved_in(AccountList::Native, row)
}

fn moved_in(
    list: AccountList,
    row: &str,
) -> Vec<(TransferKind, AccountAddress, AccountAddress, u64)> {
    let small = |amount| u64::try_from(amount).unwrap();
    let transfers = transfers(list, row).into_iter();
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
    // Transfers within a transaction are in their own list.
    let within = format!(
        r#","internal_transactions":[
        {{"caller_address":"{PEER}","transferTo_address":"{OWNER}","callValueInfo":[{{"callValue":7}}]}}]"#
    );
    let expected = [(TransferKind::Transfer, owner, peer, 6), fee];
    assert_eq!(moved(&transaction("SUCCESS", "TriggerSmartContract", &call, &within)), expected);
    let reward = format!(r#"{{"owner_address":"{OWNER}"}}"#);
    let reward =
        transaction("SUCCESS", "WithdrawBalanceContract", &reward, r#","withdraw_amount":11"#);
    assert_eq!(moved(&reward), [(TransferKind::Reward, zero, owner, 11), fee]);
    let vote = format!(r#"{{"owner_address":"{OWNER}"}}"#);
    for kind in ["VoteWitnessContract", "FreezeBalanceV2Contract", "WithdrawExpireUnfreezeContract"]
    {
        let more = r#","withdraw_expire_amount":9,"unfreeze_amount":9"#;
        assert_eq!(moved(&transaction("SUCCESS", kind, &vote, more)), [fee], "{kind}");
    }
    let bought = format!(r#"{{"amount":3,"owner_address":"{PEER}","to_address":"{OWNER}"}}"#);
    let bought = moved(&transaction("SUCCESS", "ParticipateAssetIssueContract", &bought, ""));
    assert_eq!(bought, [(TransferKind::Transfer, peer, owner, 3)]);
}

#[test]
fn tokens_with_a_number_are_moved_by_transactions_and_calls() {
    let digits = hex::encode("1000001");
    let sent = format!(
        r#"{{"amount":5,"asset_name":"{digits}","owner_address":"{PEER}","to_address":"{OWNER}"}}"#
    );
    let call = format!(
        r#"{{"call_value":6,"call_token_value":7,"token_id":1000001,"owner_address":"{PEER}","contract_address":"{OWNER}"}}"#
    );
    let assets = |kind: &str, value: &str| {
        let row = transaction("SUCCESS", kind, value, "");
        let transfers = transfers(AccountList::Native, &row).into_iter();
        transfers.map(|it| (it.asset, u64::try_from(it.amount).unwrap())).collect::<Vec<_>>()
    };
    let token = Asset::Numbered(1_000_001);
    assert_eq!(assets("TransferAssetContract", &sent), [(token, 5)]);
    assert_eq!(assets("TriggerSmartContract", &call), [(Asset::Native, 6), (token, 7)]);
    let named = sent.replace(&digits, &hex::encode("Gold"));
    assert_eq!(assets("TransferAssetContract", &named), []);
}

#[test]
fn transfers_within_transactions_are_rows_of_their_list() {
    let row = |note: &str, more: &str| {
        format!(
            r#"{{"internal_tx_id":"{HASH}","tx_id":"{HASH}","from_address":"{PEER}","to_address":"{OWNER}",
            "block_timestamp":1700000001000,"data":{{"note":"{note}","call_value":{{"_":12}}{more}}}}}"#
        )
    };
    let internal = |row: &str| moved_in(AccountList::Internal, row);
    let expected = [(TransferKind::Transfer, account(PEER), account(OWNER), 12)];
    for note in ["call", "63616c6c", "", "suicide"] {
        assert_eq!(internal(&row(note, "")), expected, "{note}");
    }
    assert!(internal(&row("call", r#","rejected":true"#)).is_empty());
    assert!(internal(&row("freezeBalanceV2ForEnergy", "")).is_empty());
    let token = row("call", "").replace(r#""_""#, r#""1000001""#);
    let moved = transfers(AccountList::Internal, &token);
    assert_eq!(moved[0].asset, Asset::Numbered(1_000_001));
    // Among transactions they do not count again.
    assert!(moved_in(AccountList::Native, &row("call", "")).is_empty());
    let other = row("call", "").replace(OWNER, PEER);
    assert!(reader(AccountList::Internal).read(answer(&other).as_bytes()).is_err());
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
    let row = page.rows[0].1.as_ref().unwrap();
    assert_eq!(row.transfers[0].amount, U256::from(u128::MAX) + U256::from(1));
    assert_eq!(row.transfers[0].asset, Asset::Token(account(OWNER_BASE58)));
    assert_eq!((row.block, page.next.as_deref()), (height_of(row.time), Some("next")));
    // The first block is one slot after the begin.
    let first = Timestamp::from_millisecond(1_529_891_469_000).unwrap();
    assert_eq!(height_of(first), 1);
    let other = AccountList::Token(account(PEER));
    assert!(reader(other).read(answer(&token_row(1_700_000_001_000)).as_bytes()).is_err());
    let approval = token_row(1_700_000_001_000).replace("Transfer", "Approval");
    assert!(rows(list, &answer(&approval)).is_empty());
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
    let staked = answer(
        r#"{"balance":77,"frozenV2":[{"amount":5},{"type":"ENERGY","amount":6},{"type":"TRON_POWER"}],
        "unfrozenV2":[{"type":"ENERGY","unfreeze_amount":7,"unfreeze_expire_time":1}],"frozen":[{"frozen_balance":8}],
        "delegated_frozenV2_balance_for_bandwidth":9,"account_resource":{"energy_usage":3,
        "frozen_balance_for_energy":{"frozen_balance":10,"expire_time":1},"delegated_frozenV2_balance_for_energy":11}}"#,
    );
    let all = 77 + 5 + 6 + 7 + 8 + 9 + 10 + 11;
    assert_eq!(balance(staked.as_bytes(), Asset::Native).unwrap(), Some(U256::from(all)));
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
fn texts_are_encoded_for_queries() {
    assert_eq!(percent_encoded("a;b=/+"), "a%3Bb%3D%2F%2B");
}
