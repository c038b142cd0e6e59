//! Answers in the form of TronGrid's API.

use assay_address::{CanonicalAddress, ChainId};
use assay_chain::histories::accounts::{AccountList, ListOrder};
use assay_engine::account::{AccountAddress, Asset, TransferKind};
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
    let balance = u64::try_from(balance).expect("amounts of TRX have 64 bits");
    let account = json!({ "balance": balance, "trc20": tokens.collect::<Vec<_>>() });
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
    let size = usize::try_from(asked.number("limit").unwrap_or(20).min(200)).expect("few rows");
    let passed = asked.text("fingerprint").strip_prefix("fp").and_then(|it| it.parse().ok());
    let passed: usize = passed.unwrap_or(0);
    let skipped = if is_endless { 0 } else { passed };
    let mut rows = shared.index.rows(account, list, order).skip(skipped);
    let shown: Vec<Value> = rows.by_ref().take(size).map(|row| shape(row, account)).collect();
    let mut meta = json!({ "page_size": shown.len() });
    if rows.next().is_some() || is_endless {
        meta["fingerprint"] = format!("fp{}", passed + shown.len()).into();
    }
    json!({ "data": shown, "success": true, "meta": meta })
}

fn shape(listed: ListedRow<'_>, account: AccountAddress) -> Value {
    let ListedRow { transaction, content, .. } = listed;
    let time = transaction.time.as_millisecond();
    match content {
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
            let sun = |amount| u64::try_from(amount).expect("amounts of TRX have 64 bits");
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

fn hex41(address: AccountAddress) -> String {
    format!("41{}", hex::encode(address.0))
}

fn base58(address: AccountAddress) -> String {
    address.on(ChainId::TRX).expect("TRON has accounts").as_str().to_owned()
}

fn address(text: &str) -> Option<AccountAddress> {
    AccountAddress::of(&CanonicalAddress::parse(ChainId::TRX, text).ok()?)
}
