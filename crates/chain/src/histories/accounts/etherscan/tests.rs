use assay_engine::account::TransferKind;

use super::{
    super::{AccountRow, client::AnswerError},
    answer::{ReadRow, address},
    *,
};

const ACCOUNT: &str = "0x1111111111111111111111111111111111111111";
const PEER: &str = "0x2222222222222222222222222222222222222222";
const TOKEN: &str = "0x3333333333333333333333333333333333333333";
const HASH: &str = "0x4444444444444444444444444444444444444444444444444444444444444444";

fn reader(list: AccountList) -> ListReader {
    let account = address(ACCOUNT).unwrap();
    ListReader { account, list, order: ListOrder::OldestFirst, from: None, newest: None }
}

/// The answer to a request with rows, in each of which `changes` replace texts.
fn answer(row: &str, changes: &[(&str, &str)]) -> String {
    let row = changes.iter().fold(row.to_owned(), |row, (from, to)| {
        assert!(row.contains(from), "{from}");
        row.replace(from, to)
    });
    format!(r#"{{"status":"1","message":"OK","result":[{row}]}}"#)
}

fn native_row() -> String {
    format!(
        r#"{{"blockNumber":"100","timeStamp":"1700000000","hash":"{HASH}","nonce":"1","blockHash":"0x01",
        "transactionIndex":"7","from":"{ACCOUNT}","to":"{PEER}","value":"115792089237316195423570985008687907853269984665640564039457584007913129639935",
        "gas":"21000","gasPrice":"30000000000","isError":"0","txreceipt_status":"1","input":"0x","contractAddress":"",
        "cumulativeGasUsed":"99","gasUsed":"21000","confirmations":"5","methodId":"0x","functionName":""}}"#
    )
}

fn internal_row() -> String {
    format!(
        r#"{{"blockNumber":"100","timeStamp":"1700000000","hash":"{HASH}","from":"{PEER}","to":"{ACCOUNT}",
        "value":"5","contractAddress":"","input":"","type":"call","gas":"1","gasUsed":"1","traceId":"0_1","isError":"0","errCode":""}}"#
    )
}

fn token_row() -> String {
    format!(
        r#"{{"blockNumber":"100","timeStamp":"1700000000","hash":"{HASH}","nonce":"1","blockHash":"0x01","from":"{PEER}",
        "contractAddress":"{TOKEN}","to":"{ACCOUNT}","value":"6","tokenName":"T","tokenSymbol":"T","tokenDecimal":"6",
        "transactionIndex":"7","gas":"1","gasPrice":"1","gasUsed":"1","confirmations":"5"}}"#
    )
}

fn read(list: AccountList, body: &str) -> Result<Vec<Option<AccountRow>>, AnswerError> {
    let rows = reader(list).read(body.as_bytes())?;
    Ok(rows.into_iter().map(|ReadRow { row, .. }| row).collect())
}

fn moved(list: AccountList, body: &str) -> Vec<(TransferKind, String, U256)> {
    let rows = read(list, body).unwrap();
    let transfers = rows.into_iter().flatten().flat_map(|row| row.transfers);
    transfers.map(|it| (it.kind, it.to.to_string(), it.amount)).collect()
}

fn refused(list: AccountList, body: &str) -> String {
    match read(list, body).unwrap_err() {
        AnswerError::Invalid(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_transaction_moves_its_value_and_its_sender_pays_the_fee() {
    let fee =
        (TransferKind::Fee, AccountAddress::ZERO.to_string(), U256::from(630_000_000_000_000_u64));
    let value = (TransferKind::Transfer, PEER.to_owned(), U256::MAX);
    let row = native_row();
    assert_eq!(moved(AccountList::Native, &answer(&row, &[])), [value, fee.clone()]);
    let rows = read(AccountList::Native, &answer(&row, &[])).unwrap();
    let row_read = rows[0].as_ref().unwrap();
    assert_eq!((row_read.block, row_read.position), (100, Some(7)));
    assert_eq!(row_read.initiator, address(ACCOUNT));
    // A failed transaction pays its fee only.
    for failed in [
        &[("\"isError\":\"0\"", "\"isError\":\"1\"")][..],
        &[("\"txreceipt_status\":\"1\"", "\"txreceipt_status\":\"0\"")],
    ] {
        assert_eq!(moved(AccountList::Native, &answer(&row, failed)), std::slice::from_ref(&fee));
    }
    // Receipts of old blocks have no status.
    let old = [("\"txreceipt_status\":\"1\"", "\"txreceipt_status\":\"\"")];
    assert_eq!(moved(AccountList::Native, &answer(&row, &old)).len(), 2);
    let received = [(ACCOUNT, "0x9"), (PEER, ACCOUNT), ("0x9", PEER)];
    let received = answer(&row, &received);
    assert_eq!(moved(AccountList::Native, &received).len(), 1);
}

#[test]
fn a_transaction_without_receiver_creates_a_contract() {
    let changes =
        [(PEER, ""), ("\"contractAddress\":\"\"", &*format!("\"contractAddress\":\"{TOKEN}\""))];
    let found = moved(AccountList::Native, &answer(&native_row(), &changes));
    assert_eq!(found[0], (TransferKind::Create, TOKEN.to_owned(), U256::MAX));
}

#[test]
fn an_allocation_of_the_first_block_is_a_reward() {
    let hash = format!("GENESIS_{ACCOUNT}");
    let changes = [
        (PEER, "PEER"),
        (ACCOUNT, "GENESIS"),
        ("PEER", ACCOUNT),
        (HASH, &*hash),
        ("\"blockNumber\":\"100\"", "\"blockNumber\":\"0\""),
    ];
    let found = moved(AccountList::Native, &answer(&native_row(), &changes));
    assert_eq!(found, [(TransferKind::Reward, ACCOUNT.to_owned(), U256::MAX)]);
}

#[test]
fn calls_that_move_nothing_are_left_out() {
    let row = internal_row();
    let found = moved(AccountList::Internal, &answer(&row, &[]));
    assert_eq!(found, [(TransferKind::Transfer, ACCOUNT.to_owned(), U256::from(5))]);
    for changes in [
        [("\"type\":\"call\"", "\"type\":\"delegatecall\"")],
        [("\"type\":\"call\"", "\"type\":\"call\",\"callType\":\"delegatecall\"")],
        [("\"type\":\"call\"", "\"type\":\"reward\"")],
        [("\"isError\":\"0\"", "\"isError\":\"1\"")],
        [("\"value\":\"5\"", "\"value\":\"0\"")],
    ] {
        assert!(moved(AccountList::Internal, &answer(&row, &changes)).is_empty(), "{changes:?}");
    }
    // Blockscout names the transaction in another field.
    let blockscout =
        [("\"hash\"", "\"transactionHash\""), ("\"traceId\":\"0_1\"", "\"index\":\"3\"")];
    assert_eq!(moved(AccountList::Internal, &answer(&row, &blockscout)).len(), 1);
}

#[test]
fn tokens_that_are_not_interchangeable_are_no_amounts() {
    let row = token_row();
    let list = AccountList::Token(address(TOKEN).unwrap());
    let found = moved(list, &answer(&row, &[]));
    assert_eq!(found, [(TransferKind::Transfer, ACCOUNT.to_owned(), U256::from(6))]);
    let single = [("\"value\":\"6\"", "\"value\":\"6\",\"tokenID\":\"6\"")];
    assert!(moved(list, &answer(&row, &single)).is_empty());
    let zero = AccountAddress::ZERO.to_string();
    let minted = answer(&row, &[(PEER, &*zero)]);
    assert_eq!(moved(AccountList::Tokens, &minted)[0].0, TransferKind::Mint);
    let other = refused(AccountList::Token(address(PEER).unwrap()), &answer(&row, &[]));
    assert!(other.contains("it is of the token 0x3333"), "{other}");
}

#[test]
fn rows_of_other_accounts_and_out_of_order_are_refused() {
    let row = native_row();
    let other = refused(AccountList::Native, &answer(&row, &[(ACCOUNT, TOKEN)]));
    assert!(other.starts_with("row 1: it is of 0x3333"), "{other}");
    for (second, reason) in [
        ([("\"100\"", "\"99\""), ("1700000000", "1699999988")], "block 99 of"),
        // Time goes backwards, or two times are of one block.
        ([("\"100\"", "\"101\""), ("1700000000", "1699999999")], "block 101 of"),
        ([("\"100\"", "\"100\""), ("1700000000", "1700000012")], "block 100 of"),
    ] {
        let second = second.iter().fold(row.clone(), |row, (from, to)| row.replace(from, to));
        let said = refused(AccountList::Native, &answer(&format!("{row},{second}"), &[]));
        assert!(said.contains(reason) && said.ends_with("out of order"), "{said}");
    }
    let newest = ListReader { newest: Some(99), ..reader(AccountList::Native) };
    let error = newest.read(answer(&row, &[]).as_bytes()).unwrap_err();
    assert!(
        matches!(&error, AnswerError::Invalid(said) if said.contains("far above")),
        "{error:?}"
    );
    let from = ListReader { from: Some(101), ..reader(AccountList::Native) };
    let error = from.read(answer(&row, &[]).as_bytes()).unwrap_err();
    assert!(matches!(&error, AnswerError::Invalid(said) if said.contains("outside")), "{error:?}");
    for (from, to, reason) in [
        ("\"value\":\"1157", "\"value\":\"21157", "amount"),
        ("\"isError\":\"0\"", "\"isError\":\"\",\"x\":\"\"", ""),
        ("\"gasUsed\":\"21000\"", "\"gasUsed\":\"2.1e4\"", "gas `2.1e4`"),
        ("\"blockNumber\":\"100\"", "\"blockNumber\":\"-1\"", "block `-1`"),
        (HASH, "0x44", "is not a transaction identifier"),
    ] {
        let body = answer(&row, &[(from, to)]);
        if reason.is_empty() {
            assert!(read(AccountList::Native, &body).is_ok());
            continue;
        }
        let said = refused(AccountList::Native, &body);
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn an_error_within_an_answer_of_status_200_is_told_apart() {
    let empty = r#"{"status":"0","message":"No transactions found","result":[]}"#;
    assert_eq!(read(AccountList::Native, empty).unwrap(), []);
    for (body, refusal) in [
        (
            r#"{"status":"0","message":"NOTOK","result":"Max calls per sec rate limit reached (3/sec)"}"#,
            ApiRefusal::TooManyRequests,
        ),
        (
            r#"{"status":"0","message":"NOTOK","result":"Max daily rate limit reached. 100001 (100%) of 100000 day/limit"}"#,
            ApiRefusal::DailyLimit,
        ),
        (
            r#"{"status":"0","message":"NOTOK","result":"Missing/Invalid API Key"}"#,
            ApiRefusal::InvalidKey,
        ),
        (
            r#"{"status":"0","message":"NOTOK","result":"Free API access is not supported for this chain."}"#,
            ApiRefusal::NotInPlan,
        ),
        (
            r#"{"status":"0","message":"Query Timeout occured","result":null}"#,
            ApiRefusal::QueryTimeout,
        ),
        (
            r#"{"status":"2","message":"Internal transactions are not yet processed","result":[]}"#,
            ApiRefusal::DataMissing,
        ),
        (r#"{"status":"0","message":"NOTOK","result":"No luck"}"#, ApiRefusal::Other),
    ] {
        let error = read(AccountList::Native, body).unwrap_err();
        assert!(matches!(error, AnswerError::Refused(found, _) if found == refusal), "{error:?}");
    }
    let truncated = &answer(&native_row(), &[])[..200];
    let error = read(AccountList::Native, truncated).unwrap_err();
    assert!(matches!(error, AnswerError::Unreadable(_)), "{error:?}");
}

#[test]
fn balances_and_heights_are_read_exactly() {
    let body = br#"{"status":"1","message":"OK","result":"40891626854930000000999"}"#;
    assert_eq!(amount(body).unwrap().to_string(), "40891626854930000000999");
    assert!(amount(br#"{"status":"1","message":"OK","result":"1e18"}"#).is_err());
    assert_eq!(height(br#"{"jsonrpc":"2.0","id":83,"result":"0x10d4f"}"#).unwrap(), 68_943);
    for (code, is_contract) in [("0x", false), ("0x6001", true), ("0xef0100aa", false)] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{code}"}}"#);
        assert_eq!(has_code(body.as_bytes()).unwrap(), is_contract);
    }
    let limited = br#"{"status":"0","message":"NOTOK","result":"Max rate limit reached"}"#;
    assert_eq!(
        height(limited).unwrap_err(),
        AnswerError::Refused(ApiRefusal::TooManyRequests, "Max rate limit reached".into())
    );
}
