//! Answers in the form of TronGrid's API.

use assay_address::{CanonicalAddress, ChainId};
use assay_chain::histories::accounts::{AccountList, ListOrder, freeze_signatures};
use assay_engine::account::{AccountAddress, Asset, TransferKind};
use ruint::aliases::U256;
use serde_json::{Value, json};

use super::{
    rows::{ListedRow, RowContent, fee, sender},
    server::{ApiQuery, Shared},
};

pub(super) fn refusal(text: &str) -> Value {
    json!({ "success": false, "error": text, "statusCode": 400 })
}

pub(super) fn answer(shared: &Shared, asked: &ApiQuery, is_endless: bool) -> Value {
    let segments: Vec<&str> = asked.path.split('/').skip(1).collect();
    match &*segments {
        ["walletsolidity", "getnowblock"] => {
            let newest = shared.index.transactions.last();
            let time = newest.map_or(0, |newest| newest.time.as_millisecond());
            let height = newest.map_or(0, |newest| newest.block);
            json!({ "blockID": "00", "block_header": { "raw_data": { "number": height, "timestamp": time } } })
        }
        ["wallet", "getcontract"] => match address(asked.text("value")) {
            Some(account) if shared.index.has_code(account) => {
                json!({ "bytecode": "6001", "contract_address": hex41(account) })
            }
            _ => json!({}),
        },
        ["v1", "accounts", account] => match address(account) {
            Some(account) => balances(shared, account),
            None => refusal("A valid account address is required."),
        },
        ["v1", "accounts", account, "transactions", rest @ ..] => {
            let Some(account) = address(account) else {
                return refusal("A valid account address is required.");
            };
            let contract = address(asked.text("contract_address"));
            let list = match (rest, contract) {
                ([], _) => AccountList::Native,
                (["trc20"], None) => AccountList::Tokens,
                (["trc20"], Some(contract)) => AccountList::Token(contract),
                _ => return refusal("no such list"),
            };
            page(shared, asked, (account, list), is_endless)
        }
        ["v1", "accounts", account, "internal-transactions"] => match address(account) {
            Some(account) => page(shared, asked, (account, AccountList::Internal), is_endless),
            None => refusal("A valid account address is required."),
        },
        ["v1", "contracts", token, "events"] => match address(token) {
            Some(token) => events(shared, asked, token),
            None => refusal("A valid contract address is required."),
        },
        _ => refusal("no such path"),
    }
}

fn balances(shared: &Shared, account: AccountAddress) -> Value {
    let rows = shared.index.rows(account, AccountList::Tokens, ListOrder::OldestFirst);
    let tokens = rows.filter_map(|row| match row.content {
        RowContent::Transfer(transfer) => Some(transfer.asset),
        RowContent::Transaction(_) => None,
    });
    let tokens: std::collections::BTreeSet<Asset> = tokens.collect();
    let tokens = tokens.into_iter().map(|token| {
        json!({ token.text(ChainId::TRX): shared.index.balance(account, token).to_string() })
    });
    let balance = shared.index.balance(account, Asset::Native);
    let account = json!({ "balance": sun(balance), "trc20": tokens.collect::<Vec<_>>() });
    json!({ "data": [account], "success": true, "meta": { "page_size": 1 } })
}

fn page(
    shared: &Shared,
    asked: &ApiQuery,
    (account, list): (AccountAddress, AccountList),
    is_endless: bool,
) -> Value {
    let order = match asked.text("order_by") {
        "block_timestamp,asc" => ListOrder::OldestFirst,
        _ => ListOrder::NewestFirst,
    };
    let rows = shared.index.rows(account, list, order);
    let (from, until) = (asked.number("min_timestamp"), asked.number("max_timestamp"));
    let is_asked = move |row: &ListedRow<'_>| {
        let time = u64::try_from(row.transaction.time.as_millisecond()).expect("after 1970");
        is_endless
            || from.is_none_or(|from| time >= from) && until.is_none_or(|until| time <= until)
    };
    let rows = rows.filter(is_asked).map(|row| shape(row, account));
    answer_of(rows, asked, (is_endless, shared.states_fingerprints()))
}

/// Events of a token that change freezes.
fn events(shared: &Shared, asked: &ApiQuery, token: AccountAddress) -> Value {
    let mut signatures = freeze_signatures(ChainId::TRX, token).iter();
    let signature = signatures.find(|signature| signature.name == asked.text("event_name"));
    let first = asked.number("min_block_timestamp").unwrap_or(0);
    let events = signature.into_iter().flat_map(|signature| {
        let events = shared.index.freezes(token, signature.change);
        events.map(move |row| {
            let frozen = format!("0x{}", hex::encode(row.event.account.0));
            json!({
                "block_number": row.block,
                "block_timestamp": row.time.as_millisecond(),
                "caller_contract_address": base58(token),
                "contract_address": base58(token),
                "event_index": row.event.log,
                "event_name": signature.name,
                "result": { "0": frozen, "_user": frozen },
                "result_type": { "_user": "address" },
                "event": format!("{}(address indexed _user)", signature.name),
                "transaction_id": row.id.to_string(),
            })
        })
    });
    let is_asked = |row: &Value| row["block_timestamp"].as_u64().is_some_and(|it| it >= first);
    answer_of(events.filter(is_asked), asked, (false, shared.states_fingerprints()))
}

/// A page of rows, with the fingerprint of the next one if the server states fingerprints.
fn answer_of(
    rows: impl Iterator<Item = Value>,
    asked: &ApiQuery,
    (is_endless, is_stated): (bool, bool),
) -> Value {
    let size = usize::try_from(asked.number("limit").unwrap_or(20).min(200)).expect("few rows");
    let passed = asked.text("fingerprint").strip_prefix("fp").and_then(|it| it.parse().ok());
    let passed: usize = passed.unwrap_or(0);
    let mut rows = rows.skip(if is_endless { 0 } else { passed });
    let shown: Vec<Value> = rows.by_ref().take(size).collect();
    let mut meta = json!({ "page_size": shown.len() });
    if is_stated && rows.next().is_some() || is_endless {
        meta["fingerprint"] = format!("fp{}", passed + shown.len()).into();
    }
    json!({ "data": shown, "success": true, "meta": meta })
}

fn shape(listed: ListedRow<'_>, account: AccountAddress) -> Value {
    let ListedRow { transaction, content, .. } = listed;
    let time = transaction.time.as_millisecond();
    match content {
        RowContent::Transfer(transfer) if transfer.asset == Asset::Native => json!({
            "internal_tx_id": transaction.id.to_string(),
            "tx_id": transaction.id.to_string(),
            "block_timestamp": time,
            "from_address": hex41(transfer.from),
            "to_address": hex41(transfer.to),
            "data": {
                "note": "call",
                "rejected": false,
                "call_value": { "_": sun(transfer.amount) },
            },
        }),
        RowContent::Transfer(transfer) => json!({
            "transaction_id": transaction.id.to_string(),
            "token_info": {
                "symbol": "T", "address": transfer.asset.text(ChainId::TRX), "decimals": 6, "name": "T",
            },
            "block_timestamp": time,
            "from": base58(transfer.from),
            "to": base58(transfer.to),
            "type": "Transfer",
            "value": transfer.amount.to_string(),
        }),
        RowContent::Transaction(own) => {
            let is_failed = transaction.transfers.iter().all(|it| it.kind == TransferKind::Fee);
            let sender = sender(transaction).unwrap_or(AccountAddress::ZERO);
            let value = json!({
                "owner_address": hex41(sender),
                "to_address": hex41(own.map_or(AccountAddress([0x99; 20]), |own| own.to)),
                "amount": own.map_or(u64::from(is_failed), |own| sun(own.amount)),
            });
            let within = transaction.transfers.iter().filter(|it| {
                it.asset == Asset::Native
                    && it.kind == TransferKind::Transfer
                    && own.is_none_or(|own| !std::ptr::eq(own, *it))
                    && [it.from, it.to].contains(&account)
            });
            let within = within.map(|it| {
                json!({
                    "caller_address": hex41(it.from),
                    "transferTo_address": hex41(it.to),
                    "callValueInfo": [{ "callValue": sun(it.amount) }],
                    "note": "63616c6c",
                })
            });
            json!({
                "ret": [{ "contractRet": if is_failed { "REVERT" } else { "SUCCESS" }, "fee": sun(fee(transaction)) }],
                "txID": transaction.id.to_string(),
                "blockNumber": transaction.block,
                "block_timestamp": time,
                "raw_data": { "contract": [{ "type": "TransferContract", "parameter": { "value": value } }] },
                "internal_transactions": within.collect::<Vec<_>>(),
            })
        }
    }
}

fn sun(amount: U256) -> u64 {
    u64::try_from(amount).expect("amounts of TRX have 64 bits")
}

fn hex41(address: AccountAddress) -> String {
    format!("41{}", hex::encode(address.0))
}

fn base58(address: AccountAddress) -> String {
    address.on(ChainId::TRX).expect("TRON has accounts").as_str().to_owned()
}

fn address(text: &str) -> Option<AccountAddress> {
    AccountAddress::of(&CanonicalAddress::parse(ChainId::TRX, text).ok()?)
}
