//! A node's JSON about blocks that tests make up. Their roots are not computed: they are of chains without proofs.

use assay_address::ChainId;
use assay_engine::account::{AccountAddress, AccountTransaction};
use assay_graph::account::AccountBlock;
use serde_json::{Value, json};

use crate::{
    ProvenParts, Tracer,
    evm::{
        EvmParams,
        answer::{BlockAnswer, TransactionAnswer},
        block::BlockAnswers,
        contracts::BookedBlock,
        trace,
    },
};

/// The account of a number.
pub(in crate::evm) fn account(number: u64) -> String {
    format!("0x{number:040x}")
}

pub(in crate::evm) fn address(number: u64) -> AccountAddress {
    let mut bytes = [0; 20];
    bytes[12..].copy_from_slice(&number.to_be_bytes());
    AccountAddress(bytes)
}

pub(in crate::evm) fn hash(number: u64) -> String {
    format!("0x{number:064x}")
}

pub(in crate::evm) fn quantity(number: u64) -> String {
    format!("0x{number:x}")
}

/// A topic or a word of data with an account.
pub(in crate::evm) fn word(number: u64) -> String {
    hash(number)
}

pub(in crate::evm) const TRANSFER: &str =
    "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// The root of no transactions and of no receipts.
pub(in crate::evm) const EMPTY_ROOT: &str =
    "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

/// The producer of every block.
pub(in crate::evm) const PRODUCER: u64 = 0xfee;

/// A block of a node with what belongs to it.
#[derive(Clone, Debug)]
pub(in crate::evm) struct NodeBlock {
    pub(in crate::evm) chain: ChainId,
    pub(in crate::evm) params: EvmParams,
    pub(in crate::evm) block: Value,
    pub(in crate::evm) receipts: Vec<Value>,
    pub(in crate::evm) traces: Option<(Tracer, Value)>,
    pub(in crate::evm) uncles: Vec<Value>,
}

impl NodeBlock {
    /// A block without transactions.
    pub(in crate::evm) fn new(chain: ChainId) -> Self {
        let params = EvmParams { proven: ProvenParts::NONE, ..EvmParams::of(chain).unwrap() };
        let zeros = hash(0);
        let block = json!({
            "hash": hash(0xb10c), "parentHash": hash(0xb10b), "sha3Uncles": zeros, "miner": account(PRODUCER),
            "stateRoot": zeros, "transactionsRoot": zeros, "receiptsRoot": zeros,
            "logsBloom": format!("0x{}", "0".repeat(512)), "difficulty": "0x0", "number": "0x64", "gasLimit": "0x0",
            "gasUsed": "0x0", "timestamp": "0x65000000", "extraData": "0x", "mixHash": zeros,
            "nonce": "0x0000000000000000", "baseFeePerGas": "0x0", "transactions": [], "uncles": [],
        });
        Self { chain, params, block, receipts: Vec::new(), traces: None, uncles: Vec::new() }
    }

    /// Adds a transaction without a fee, with the logs of its receipt.
    pub(in crate::evm) fn transaction(
        mut self,
        from: u64,
        to: Option<u64>,
        value: u64,
        logs: &[Value],
    ) -> Self {
        let index = self.receipts.len() as u64;
        let before: usize =
            self.receipts.iter().map(|receipt| receipt["logs"].as_array().unwrap().len()).sum();
        let id = hash(0x1000 + index);
        self.block["transactions"].as_array_mut().unwrap().push(json!({
            "hash": id, "type": "0x0", "from": account(from), "to": to.map(account), "value": quantity(value),
            "nonce": "0x0", "gas": "0x5208", "input": "0x", "gasPrice": "0x0",
        }));
        let logs = logs.iter().enumerate().map(|(number, log)| {
            let mut log = log.clone();
            log["logIndex"] = json!(quantity((before + number) as u64));
            log["transactionHash"] = json!(id);
            log["blockHash"] = self.block["hash"].clone();
            log
        });
        self.receipts.push(json!({
            "transactionHash": id, "transactionIndex": quantity(index), "blockHash": self.block["hash"],
            "status": "0x1", "cumulativeGasUsed": "0x5208", "gasUsed": "0x5208", "effectiveGasPrice": "0x0",
            "logs": logs.collect::<Vec<_>>(),
        }));
        self
    }

    /// States the calls of the first transaction.
    pub(in crate::evm) fn traced(mut self, frame: &Value) -> Self {
        let id = hash(0x1000);
        self.traces = Some((Tracer::Calls, json!([{ "txHash": id, "result": frame }])));
        self
    }

    /// Reads the block as the source does, in which every account that runs code is a contract.
    pub(in crate::evm) fn read(&self) -> Result<AccountBlock, String> {
        Ok(self.booked()?.settle(|_| true))
    }

    /// Reads the block as the source does, until it asks about the code of accounts.
    pub(in crate::evm) fn booked(&self) -> Result<BookedBlock, String> {
        let json = self.block.to_string();
        let read = |error: serde_json::Error| error.to_string();
        let block: BlockAnswer<TransactionAnswer> = serde_json::from_str(&json).map_err(read)?;
        let mut answers = BlockAnswers::of_block(&self.params, block, &json)?;
        for receipt in &self.receipts {
            answers.receipts.push(serde_json::from_value(receipt.clone()).map_err(read)?);
        }
        for uncle in &self.uncles {
            answers.uncles.push(serde_json::from_value(uncle.clone()).map_err(read)?);
        }
        answers.traces = match &self.traces {
            None => None,
            Some((Tracer::Parity, traces)) => Some(trace::of_trace_block(&traces.to_string())?),
            Some((_, traces)) => Some(trace::of_call_tracer(&traces.to_string())?),
        };
        answers.into_block(self.chain, &self.params)
    }

    /// The transfers of the block's transactions as lines, such as `transfer native 1 -> 2: 5`.
    pub(in crate::evm) fn lines(&self) -> Vec<String> {
        self.read().unwrap().transactions.iter().flat_map(lines).collect()
    }
}

/// A log without its place.
pub(in crate::evm) fn log(contract: &str, topics: &[String], data: &[String]) -> Value {
    let data: String = data.iter().map(|word| word.trim_start_matches("0x")).collect();
    json!({ "address": contract, "topics": topics, "data": format!("0x{data}") })
}

/// A token's transfer, as tokens log it.
pub(in crate::evm) fn transfer(contract: &str, from: u64, to: u64, amount: u64) -> Value {
    log(contract, &[TRANSFER.to_owned(), word(from), word(to)], &[word(amount)])
}

/// The transfers of a transaction as lines.
pub(in crate::evm) fn lines(transaction: &AccountTransaction) -> Vec<String> {
    let short = |account: AccountAddress| {
        let digits = hex::encode(account.0);
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() { "0".to_owned() } else { digits.to_owned() }
    };
    let line = |it: &assay_engine::account::Transfer| {
        let asset = match it.asset {
            assay_engine::account::Asset::Token(contract) => short(contract),
            _ => "native".to_owned(),
        };
        format!("{} {asset} {} -> {}: {}", it.kind, short(it.from), short(it.to), it.amount)
    };
    transaction.transfers.iter().map(line).collect()
}
