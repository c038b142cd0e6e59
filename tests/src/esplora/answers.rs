//! Answers by path.

use assay_address::CanonicalAddress;
use assay_engine::utxo::{OutPoint, Txid};
use serde_json::{Value, json};

use super::{
    ledger::Ledger,
    shape::{self, spending, status},
};
use crate::block_builder::{Block, BlockHash, Transaction};

/// Transactions on a page.
const PAGE: usize = 25;
/// Blocks on a page.
const BLOCKS: usize = 10;

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// 200 with JSON.
    Json(Value),
    /// Status 200 with plain text.
    Text(String),
    /// 200 with bytes.
    Bytes(Vec<u8>),
    /// Another status, with the reason as plain text.
    Refusal(u16, &'static str),
}

use Reply::{Bytes, Json, Refusal, Text};

const NO_BLOCK: Reply = Refusal(404, "Block not found");
const NO_TRANSACTION: Reply = Refusal(404, "Transaction not found");

/// The answer to a path, without the prefix `/api`.
pub(super) fn answer(ledger: &Ledger, path: &str) -> Reply {
    let path = path.trim_start_matches("/api");
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    match &*segments {
        ["blocks", "tip", "height"] => Text((ledger.blocks.len().saturating_sub(1)).to_string()),
        ["blocks", "tip", "hash"] => {
            ledger.blocks.last().map_or(NO_BLOCK, |block| Text(block.hash.to_string()))
        }
        ["blocks"] => blocks(ledger, usize::MAX),
        ["blocks", start] => start.parse().map_or(NO_BLOCK, |start| blocks(ledger, start)),
        ["block-height", height] => match height.parse::<usize>() {
            Ok(height) => {
                ledger.blocks.get(height).map_or(NO_BLOCK, |block| Text(block.hash.to_string()))
            }
            Err(_) => Refusal(400, "Invalid number"),
        },
        ["block", hash, rest @ ..] => {
            ledger.block(hash).map_or(NO_BLOCK, |block| block_reply(ledger, block, rest))
        }
        ["tx", txid, rest @ ..] => match txid.parse() {
            Ok(txid) => transaction_reply(ledger, txid, rest),
            Err(_) => Refusal(400, "Invalid hex string"),
        },
        [kind @ "address", written, rest @ ..] => {
            match CanonicalAddress::parse(ledger.chain, written) {
                Ok(address) => history_reply(ledger, kind, written, address.as_str(), rest),
                Err(_) => Refusal(400, "Invalid Bitcoin address"),
            }
        }
        [kind @ "scripthash", hash, rest @ ..] => history_reply(ledger, kind, hash, hash, rest),
        _ => Refusal(404, "endpoint does not exist"),
    }
}

/// The newest blocks from `start` down.
fn blocks(ledger: &Ledger, start: usize) -> Reply {
    let newest = ledger
        .blocks
        .iter()
        .rev()
        .skip_while(|block| usize::try_from(block.height).is_ok_and(|height| height > start));
    Json(newest.take(BLOCKS).map(|block| shape::block(ledger, block)).collect())
}

fn block_reply(ledger: &Ledger, block: &Block, rest: &[&str]) -> Reply {
    let height = ledger.height(&block.hash.to_string());
    let status = || height.map_or(json!({ "confirmed": false }), |height| status(ledger, height));
    let page = |start: usize| {
        if !start.is_multiple_of(PAGE) {
            return Refusal(400, "start index must be a multiple of 25");
        }
        if start >= block.transactions.len() {
            return Refusal(400, "start index out of range");
        }
        let page = block.transactions.iter().skip(start).take(PAGE);
        Json(page.map(|each| shape::transaction(ledger, each, Some(status()))).collect())
    };
    match rest {
        [] => Json(shape::block(ledger, block)),
        ["status"] => Json(match height {
            Some(height) => json!({
                "in_best_chain": true,
                "height": height,
                "next_best": ledger.blocks.get(height + 1).map(|next| next.hash.to_string()),
            }),
            None => json!({ "in_best_chain": false, "height": null, "next_best": null }),
        }),
        ["txids"] => {
            Json(block.transactions.iter().map(|each| json!(each.txid().to_string())).collect())
        }
        ["txid", place] => {
            let place = place.parse().unwrap_or(usize::MAX);
            let found = block.transactions.get(place);
            found
                .map_or(Refusal(404, "tx index out of range"), |each| Text(each.txid().to_string()))
        }
        ["txs"] => page(0),
        ["txs", start] => page(start.parse().unwrap_or(0)),
        ["raw"] => Bytes(block.bytes()),
        ["header"] => Text(hex::encode(block.header())),
        _ => Refusal(404, "endpoint does not exist"),
    }
}

fn transaction_reply(ledger: &Ledger, txid: Txid, rest: &[&str]) -> Reply {
    let Some((height, transaction)) = ledger.transaction(&txid) else {
        return if rest == ["status"] {
            Json(json!({ "confirmed": false }))
        } else {
            NO_TRANSACTION
        };
    };
    match rest {
        [] => Json(shape::transaction(ledger, transaction, Some(status(ledger, height)))),
        ["status"] => Json(status(ledger, height)),
        ["hex"] => Text(hex::encode(transaction.bytes())),
        ["raw"] => Bytes(transaction.bytes()),
        ["merkle-proof"] => merkle_proof(ledger, txid),
        ["outspend", index] => match index.parse() {
            Ok(index) => Json(spending(ledger, OutPoint { txid, index })),
            Err(_) => Refusal(400, "Invalid number"),
        },
        ["outspends"] => {
            let outputs = (0..).zip(&transaction.outputs);
            Json(outputs.map(|(index, _)| spending(ledger, OutPoint { txid, index })).collect())
        }
        _ => Refusal(404, "endpoint does not exist"),
    }
}

/// The branch of a transaction in its block's merkle tree.
fn merkle_proof(ledger: &Ledger, txid: Txid) -> Reply {
    let Some((height, index)) = ledger.position(&txid) else { return NO_TRANSACTION };
    ledger.blocks.get(height).map_or(NO_BLOCK, |block| {
        let branch = block.merkle_branch(index).into_iter();
        Json(json!({
            "block_height": height,
            "merkle": branch.map(|hash| BlockHash(hash).to_string()).collect::<Vec<_>>(),
            "pos": index,
        }))
    })
}

/// The answer about the history of an address or script, found by `name`.
fn history_reply(ledger: &Ledger, kind: &str, written: &str, name: &str, rest: &[&str]) -> Reply {
    let history = ledger.history(name);
    let page = |after: Option<&str>| {
        let mut rest = &history[..];
        if let Some(after) = after {
            let seen = rest.iter().position(|(_, each)| each.txid().to_string() == after);
            rest = seen.and_then(|seen| rest.get(seen + 1..)).unwrap_or_default();
        }
        let page = rest.iter().take(PAGE);
        Json(
            page.map(|(height, each)| {
                shape::transaction(ledger, each, Some(status(ledger, *height)))
            })
            .collect(),
        )
    };
    match rest {
        [] => Json(json!({
            kind: written,
            "chain_stats": statistics(ledger, &history, name),
            "mempool_stats": statistics(ledger, &[], name),
        })),
        ["txs"] | ["txs", "chain"] => page(None),
        ["txs", "chain", last] => page(Some(last)),
        ["txs", "mempool"] => Json(json!([])),
        ["utxo"] => {
            let outputs = outputs(ledger, &history, name);
            let unspent = outputs.filter(|(_, output, _)| ledger.spender(*output).is_none());
            let shown = unspent.map(|(height, output, value)| {
                json!({
                    "txid": output.txid.to_string(),
                    "vout": output.index,
                    "status": status(ledger, height),
                    "value": value,
                })
            });
            Json(shown.collect())
        }
        _ => Refusal(404, "endpoint does not exist"),
    }
}

/// The outputs in a history that belong to the owner: height, output, value.
fn outputs<'a>(
    ledger: &'a Ledger,
    history: &'a [(usize, &Transaction)],
    name: &'a str,
) -> impl Iterator<Item = (usize, OutPoint, u64)> + 'a {
    history.iter().flat_map(move |(height, transaction)| {
        let txid = transaction.txid();
        let own = (0..)
            .zip(&transaction.outputs)
            .filter(move |(_, output)| ledger.names(&output.script).any(|own| own == name));
        own.map(move |(index, output)| (*height, OutPoint { txid, index }, output.value))
    })
}

fn statistics(ledger: &Ledger, history: &[(usize, &Transaction)], name: &str) -> Value {
    let (mut funded, mut spent) = ((0, 0), (0, 0));
    for (_, output, value) in outputs(ledger, history, name) {
        funded = (funded.0 + 1, funded.1 + value);
        if ledger.spender(output).is_some() {
            spent = (spent.0 + 1, spent.1 + value);
        }
    }
    json!({
        "funded_txo_count": funded.0,
        "funded_txo_sum": funded.1,
        "spent_txo_count": spent.0,
        "spent_txo_sum": spent.1,
        "tx_count": history.len(),
    })
}
