//! Answers in the form of Etherscan's API, and of Blockscout's.

use assay_address::ChainId;
use assay_chain::histories::accounts::{
    AccountList, FreezeSignature, ListOrder, freeze_signatures,
};
use assay_engine::account::{AccountAddress, Asset, TransferKind};
use serde_json::{Value, json};

use super::{
    rows::{ListedRow, RowContent, fee, sender},
    server::{ApiQuery, Shared},
};

/// Most rows that page numbers reach.
const WINDOW: usize = 10_000;

pub(super) fn refusal(text: &str) -> Value {
    json!({ "status": "0", "message": "NOTOK", "result": text })
}

fn found(result: impl Into<Value>) -> Value {
    json!({ "status": "1", "message": "OK", "result": result.into() })
}

pub(super) fn answer(shared: &Shared, asked: &ApiQuery, is_endless: bool) -> Value {
    let account = address(asked.text("address"));
    let contract = address(asked.text("contractaddress"));
    let is_blockscout = !asked.path.ends_with("/v2/api");
    match (asked.text("module"), asked.text("action"), account) {
        ("proxy", "eth_blockNumber", _) | ("block", "eth_block_number", _) => {
            let newest = shared.index.transactions.last().map_or(0, |newest| newest.block);
            json!({ "jsonrpc": "2.0", "id": 1, "result": format!("{newest:#x}") })
        }
        ("proxy", "eth_getCode", Some(account)) => {
            let code = if shared.index.has_code(account) { "0x6001" } else { "0x" };
            json!({ "jsonrpc": "2.0", "id": 1, "result": code })
        }
        ("account", "balance", Some(account)) => {
            found(shared.index.balance(account, Asset::Native).to_string())
        }
        ("account", "tokenbalance", Some(account)) => match contract {
            Some(contract) => {
                found(shared.index.balance(account, Asset::Token(contract)).to_string())
            }
            None => refusal("Error! Missing contract address"),
        },
        ("logs", "getLogs", Some(token)) => logs(shared, asked, token, is_blockscout),
        ("account", action, Some(account)) => {
            let list = match (action, contract) {
                ("txlist", _) => AccountList::Native,
                ("txlistinternal", _) => AccountList::Internal,
                ("tokentx", None) => AccountList::Tokens,
                ("tokentx", Some(contract)) => AccountList::Token(contract),
                _ => return refusal("Error! Missing Or invalid Action name"),
            };
            page(shared, asked, (account, list), (is_blockscout, is_endless))
        }
        _ => refusal("Error! Invalid address format"),
    }
}

fn page(
    shared: &Shared,
    asked: &ApiQuery,
    (account, list): (AccountAddress, AccountList),
    (is_blockscout, is_endless): (bool, bool),
) -> Value {
    let order = match asked.text("sort") {
        "desc" => ListOrder::NewestFirst,
        _ => ListOrder::OldestFirst,
    };
    let number = |name: &str, usual: u64| asked.number(name).unwrap_or(usual);
    let blocks = number("startblock", 0)..=number("endblock", u64::MAX);
    let size = usize::try_from(number("offset", 10_000)).expect("a small number");
    let page = usize::try_from(number("page", 1)).expect("a small number");
    if page * size > WINDOW {
        return refusal("Result window is too large, PageNo x Offset size must be less than 10000");
    }
    let rows = shared.index.rows(account, list, order);
    let rows = rows.filter(|row| blocks.contains(&row.transaction.block) || is_endless);
    let skipped = if is_endless { 0 } else { (page - 1) * size };
    let shown = rows.skip(skipped).take(size).enumerate();
    let shown: Vec<Value> = shown.map(|(number, row)| shape(row, number, is_blockscout)).collect();
    if shown.is_empty() {
        return json!({ "status": "0", "message": "No transactions found", "result": [] });
    }
    found(shown)
}

/// Event logs of a token that change freezes.
fn logs(shared: &Shared, asked: &ApiQuery, token: AccountAddress, is_blockscout: bool) -> Value {
    let is_asked = |signature: &&FreezeSignature| {
        asked.text("topic0") == format!("0x{}", hex::encode(signature.topic))
    };
    let Some(signature) = freeze_signatures(ChainId::ETH, token).iter().find(is_asked) else {
        return json!({ "status": "0", "message": "No records found", "result": [] });
    };
    let first = asked.number("fromBlock").unwrap_or(0);
    let number = |name: &str, usual: u64| {
        usize::try_from(asked.number(name).unwrap_or(usual)).expect("a small number")
    };
    let (page, size) = (number("page", 1), number("offset", 1_000));
    let events = shared.index.freezes(token, signature.change);
    let events = events.filter(|row| row.block >= first).skip((page - 1) * size).take(size);
    let logs = events.map(|row| {
        let frozen = format!("0x{}{}", "00".repeat(12), hex::encode(row.event.account.0));
        let has_amount = signature.name.starts_with("Destroyed");
        let amount = if has_amount { "00".repeat(32) } else { String::new() };
        let topic = asked.text("topic0");
        let (topics, data) = if is_blockscout {
            (json!([topic, frozen, null, null]), format!("0x{amount}"))
        } else {
            (json!([topic]), format!("{frozen}{amount}"))
        };
        let index = row.event.log;
        // Etherscan writes zero without digits.
        let index = if index == 0 { "0x".to_owned() } else { format!("{index:#x}") };
        json!({
            "address": text(token),
            "topics": topics,
            "data": data,
            "blockNumber": format!("{:#x}", row.block),
            "timeStamp": format!("{:#x}", row.time.as_second()),
            "logIndex": index,
            "transactionHash": format!("0x{}", row.id),
        })
    });
    let logs: Vec<Value> = logs.collect();
    if logs.is_empty() {
        return json!({ "status": "0", "message": "No records found", "result": [] });
    }
    found(logs)
}

fn shape(listed: ListedRow<'_>, number: usize, is_blockscout: bool) -> Value {
    let ListedRow { transaction, position, content } = listed;
    let hash = format!("0x{}", transaction.id);
    let mut row = json!({
        "blockNumber": transaction.block.to_string(),
        "timeStamp": transaction.time.as_second().to_string(),
        "hash": hash,
        "gas": "21000",
        "gasUsed": "1",
        "confirmations": (number + 1).to_string(),
        "contractAddress": "",
    });
    match content {
        RowContent::Transaction(own) => {
            let is_failed = transaction.transfers.iter().all(|it| it.kind == TransferKind::Fee);
            let status = if is_failed { "0" } else { "1" };
            row["from"] = text(sender(transaction).unwrap_or(AccountAddress::ZERO));
            row["to"] = text(own.map_or(AccountAddress([0x99; 20]), |own| own.to));
            // The value of a failed transaction is stated too.
            row["value"] = own
                .map_or_else(|| u8::from(is_failed).to_string(), |own| own.amount.to_string())
                .into();
            row["gasPrice"] = fee(transaction).to_string().into();
            row["isError"] = if is_failed { "1" } else { "0" }.into();
            row["txreceipt_status"] = status.into();
            row["transactionIndex"] = position.to_string().into();
        }
        RowContent::Transfer(transfer) => {
            row["from"] = text(transfer.from);
            row["to"] = text(transfer.to);
            row["value"] = transfer.amount.to_string().into();
            match transfer.asset {
                Asset::Token(contract) => {
                    row["contractAddress"] = text(contract);
                    row["gasPrice"] = "1".into();
                    row["transactionIndex"] = position.to_string().into();
                }
                Asset::Native | Asset::Numbered(_) => {
                    row["type"] = "call".into();
                    row["isError"] = "0".into();
                    if is_blockscout {
                        row["transactionHash"] = row["hash"].take();
                        row["index"] = transfer.place.index.to_string().into();
                        row["callType"] = "call".into();
                    } else {
                        row["traceId"] = transfer.place.index.to_string().into();
                    }
                }
            }
        }
    }
    row
}

fn text(address: AccountAddress) -> Value {
    address.to_string().into()
}

fn address(text: &str) -> Option<AccountAddress> {
    let mut bytes = [0; 20];
    hex::decode_to_slice(text.strip_prefix("0x")?, &mut bytes).ok()?;
    Some(AccountAddress(bytes))
}
