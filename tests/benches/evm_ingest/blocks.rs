//! A node's answers about generated blocks, with the hashes and roots that a node computes.

use alloy_primitives::{Bloom, BloomInput};
use alloy_rlp::{Encodable, Header};
use alloy_trie::root::ordered_trie_root_encoded;
use assay_tests::evm::{
    abi::call,
    account::{Address, Key, NewTransaction, keccak},
    bytes,
};
use serde_json::{Value, json};

/// Number of accounts that send transactions.
const SENDERS: u64 = 500;
/// Number of accounts that receive.
const RECEIVERS: u64 = 50_000;
/// Price of gas that is destroyed.
const BASE_FEE: u64 = 1_000_000_000;
/// Tokens that move.
const TOKENS: [&str; 2] =
    ["dac17f958d2ee523a2206206994597c13d831ec7", "a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"];
/// Hash of no uncles.
const NO_UNCLES: &str = "1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";
/// `Transfer(address,address,uint256)`
const TRANSFER: &str = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// A node's answers about a block.
pub(super) struct NodeAnswers {
    pub(super) hash: String,
    /// The block without its transactions.
    pub(super) name: String,
    pub(super) block: String,
    pub(super) receipts: String,
    pub(super) traces: String,
}

impl NodeAnswers {
    /// The answers that are read about a block.
    pub(super) fn texts(&self) -> [&str; 3] {
        [&self.block, &self.receipts, &self.traces]
    }
}

/// Makes a first block without transactions, and `count` blocks of so many transactions above it.
pub(super) fn chain(count: u64, transactions: usize) -> Vec<NodeAnswers> {
    let mut keys: Vec<Key> = (0..SENDERS).map(|it| Key::of(&format!("sender {it}"))).collect();
    let mut parent = [0; 32];
    let mut dice = 1_u64;
    let blocks = (0..=count).map(|height| {
        let transactions = if height == 0 { 0 } else { transactions };
        let made =
            (0..transactions).map(|index| ExecutedTransaction::new(&mut keys, index, &mut dice));
        let (hash, answers) = block(height, parent, &made.collect::<Vec<_>>());
        parent = hash;
        answers
    });
    blocks.collect()
}

/// A number below `most`.
fn roll(dice: &mut u64, most: u64) -> u64 {
    *dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*dice >> 33) % most
}

fn address(kind: u8, number: u64) -> Address {
    let mut address = [kind; 20];
    address[12..].copy_from_slice(&number.to_be_bytes());
    address
}

fn token(number: usize) -> Address {
    hex::decode(TOKENS[number % 2]).expect("digits").try_into().expect("20 bytes")
}

fn word(address: Address) -> [u8; 32] {
    let mut word = [0; 32];
    word[12..].copy_from_slice(&address);
    word
}

fn number_word(number: u64) -> [u8; 32] {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&number.to_be_bytes());
    word
}

/// A token's transfer.
struct Log {
    token: Address,
    from: Address,
    to: Address,
    amount: u64,
}

impl Log {
    fn topics(&self) -> [[u8; 32]; 3] {
        let topic = hex::decode(TRANSFER).expect("digits").try_into().expect("32 bytes");
        [topic, word(self.from), word(self.to)]
    }
}

/// A transaction with what it did.
struct ExecutedTransaction {
    sender: Address,
    transaction: NewTransaction,
    raw: Vec<u8>,
    nonce: u64,
    gas: u64,
    logs: Vec<Log>,
    /// Calls below that of the transaction: payer, receiver, value, and the log that follows.
    calls: Vec<(Address, Address, u64, bool)>,
}

impl ExecutedTransaction {
    fn new(keys: &mut [Key], index: usize, dice: &mut u64) -> Self {
        let at = usize::try_from(roll(dice, SENDERS)).expect("small");
        let key = &mut keys[at];
        let (sender, nonce, amount) = (key.address, key.nonce, roll(dice, 1 << 40) + 1);
        let receiver = address(0xa1, roll(dice, RECEIVERS));
        let (mut logs, mut calls) = (Vec::new(), Vec::new());
        let (transaction, gas) = match index % 10 {
            0..5 => (NewTransaction::payment(receiver, amount.into()), 21_000),
            5..8 => {
                let (token, from) = (token(index), sender);
                let arguments = [receiver.into(), u128::from(amount).into()];
                let input = call("transfer(address,uint256)", &arguments);
                logs.push(Log { token, from, to: receiver, amount });
                (NewTransaction::call(token, 0, input), 60_000)
            }
            // An exchange: coins go to a pool, and its tokens to the sender.
            _ => {
                let (router, pool) = (address(0xb1, roll(dice, 8)), address(0xc1, roll(dice, 300)));
                let token = token(index);
                calls.push((router, pool, amount, false));
                calls.push((router, token, 0, true));
                logs.push(Log { token, from: pool, to: sender, amount });
                let amount_word = u128::from(amount).into();
                let arguments = [sender.into(), amount_word, pool.into(), token.into()];
                let input = call("swap(address,uint256,address,address)", &arguments);
                (NewTransaction::call(router, amount.into(), input), 150_000)
            }
        };
        let raw = key.sign(&transaction);
        Self { sender, transaction, raw, nonce, gas, logs, calls }
    }

    fn bloom(&self) -> Bloom {
        let mut bloom = Bloom::ZERO;
        for log in &self.logs {
            bloom.accrue(BloomInput::Raw(&log.token));
            log.topics().iter().for_each(|topic| bloom.accrue(BloomInput::Raw(topic)));
        }
        bloom
    }

    fn encoded_receipt(&self, all_gas: u64) -> Vec<u8> {
        let mut fields = Vec::new();
        1_u64.encode(&mut fields);
        all_gas.encode(&mut fields);
        self.bloom().as_slice().encode(&mut fields);
        let mut logs = Vec::new();
        for log in &self.logs {
            let (mut entry, mut topics) = (Vec::new(), Vec::new());
            log.token.as_slice().encode(&mut entry);
            log.topics().iter().for_each(|topic| topic.as_slice().encode(&mut topics));
            entry.extend(list(&topics));
            number_word(log.amount).as_slice().encode(&mut entry);
            logs.extend(list(&entry));
        }
        fields.extend(list(&logs));
        [&[2][..], &list(&fields)].concat()
    }

    /// The parity and the numbers of the signature.
    fn signature(&self) -> [String; 3] {
        let mut rest = &self.raw[1..];
        Header::decode(&mut rest).expect("a list");
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let length = Header::decode(&mut rest).expect("a field").payload_length;
            let (field, after) = rest.split_at(length);
            fields.push(field);
            rest = after;
        }
        [9, 10, 11].map(|at| {
            let digits = hex::encode(fields[at]);
            let digits = digits.trim_start_matches('0');
            format!("0x{}", if digits.is_empty() { "0" } else { digits })
        })
    }

    fn json(&self, index: usize, block: &[u8; 32], height: u64) -> Value {
        let NewTransaction { to, value, input, gas, tip } = &self.transaction;
        let [parity, r, s] = self.signature();
        json!({
            "hash": bytes(&keccak(&self.raw)), "type": "0x2", "chainId": "0x539", "nonce": quantity(self.nonce),
            "from": bytes(&self.sender), "to": to.map(|to| bytes(&to)), "value": format!("0x{value:x}"),
            "gas": quantity(*gas), "gasPrice": quantity(BASE_FEE + tip), "maxFeePerGas": quantity(tip + 2_000_000_000),
            "maxPriorityFeePerGas": quantity(*tip), "input": bytes(input), "accessList": [], "yParity": parity,
            "v": parity, "r": r, "s": s, "blockHash": bytes(block), "blockNumber": quantity(height),
            "transactionIndex": quantity(index as u64),
        })
    }

    fn receipt(
        &self,
        index: usize,
        (block, height): (&[u8; 32], u64),
        sums: (u64, usize),
    ) -> Value {
        let (all_gas, logs_before) = sums;
        let hash = bytes(&keccak(&self.raw));
        let logs = self.logs.iter().enumerate().map(|(number, log)| {
            json!({
                "address": bytes(&log.token), "topics": log.topics().map(|topic| bytes(&topic)),
                "data": bytes(&number_word(log.amount)), "blockNumber": quantity(height), "transactionHash": hash,
                "transactionIndex": quantity(index as u64), "blockHash": bytes(block),
                "logIndex": quantity((logs_before + number) as u64), "removed": false,
            })
        });
        json!({
            "transactionHash": hash, "transactionIndex": quantity(index as u64), "blockHash": bytes(block),
            "blockNumber": quantity(height), "from": bytes(&self.sender),
            "to": self.transaction.to.map(|to| bytes(&to)), "contractAddress": null, "type": "0x2", "status": "0x1",
            "cumulativeGasUsed": quantity(all_gas), "gasUsed": quantity(self.gas),
            "effectiveGasPrice": quantity(BASE_FEE + self.transaction.tip), "logs": logs.collect::<Vec<_>>(),
            "logsBloom": bytes(self.bloom().as_slice()),
        })
    }

    fn trace(&self) -> Value {
        let log = |position: u64| {
            let logs = self.logs.iter().map(|log| {
                json!({
                    "address": bytes(&log.token), "topics": log.topics().map(|topic| bytes(&topic)),
                    "data": bytes(&number_word(log.amount)), "position": quantity(position),
                })
            });
            logs.collect::<Vec<_>>()
        };
        let frame = |from: &Address, to: &Address, value: String, input: &[u8]| {
            json!({
                "type": "CALL", "from": bytes(from), "to": bytes(to), "value": value, "gas": "0x7a120",
                "gasUsed": "0x5208", "input": bytes(input),
            })
        };
        let NewTransaction { to, value, input, .. } = &self.transaction;
        let to = to.expect("a receiver");
        let mut root = frame(&self.sender, &to, format!("0x{value:x}"), input);
        let calls = self.calls.iter().map(|(from, to, value, logs)| {
            let mut below = frame(from, to, quantity(*value), &[0; 68]);
            if *logs {
                below["logs"] = json!(log(0));
            }
            below
        });
        if self.calls.is_empty() {
            root["logs"] = json!(log(0));
        } else {
            root["calls"] = calls.collect();
        }
        json!({ "txHash": bytes(&keccak(&self.raw)), "result": root })
    }
}

fn quantity(number: u64) -> String {
    format!("0x{number:x}")
}

fn list(fields: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(fields.len() + 9);
    Header { list: true, payload_length: fields.len() }.encode(&mut bytes);
    bytes.extend_from_slice(fields);
    bytes
}

/// The answers about a block, and its hash.
fn block(height: u64, parent: [u8; 32], made: &[ExecutedTransaction]) -> ([u8; 32], NodeAnswers) {
    let (mut all_gas, mut sums, mut logs) = (0, Vec::new(), 0);
    let mut bloom = Bloom::ZERO;
    for it in made {
        all_gas += it.gas;
        sums.push((all_gas, logs));
        logs += it.logs.len();
        bloom |= it.bloom();
    }
    let raw: Vec<&Vec<u8>> = made.iter().map(|it| &it.raw).collect();
    let receipts: Vec<_> =
        made.iter().zip(&sums).map(|(it, (gas, _))| it.encoded_receipt(*gas)).collect();
    let transactions_root = ordered_trie_root_encoded(&raw);
    let receipts_root = ordered_trie_root_encoded(&receipts);
    let no_withdrawals = ordered_trie_root_encoded::<Vec<u8>>(&[]);
    let (zeros, producer) = ([0_u8; 32], address(0xd1, 1));
    let no_uncles = hex::decode(NO_UNCLES).expect("digits");
    let mut fields = Vec::new();
    for part in [
        &parent[..],
        &no_uncles,
        &producer,
        &zeros,
        transactions_root.as_slice(),
        receipts_root.as_slice(),
        bloom.as_slice(),
    ] {
        part.encode(&mut fields);
    }
    let time = 1_760_000_000 + 12 * height;
    for number in [0, height, 60_000_000, all_gas, time] {
        number.encode(&mut fields);
    }
    for part in [&[][..], &zeros, &[0; 8]] {
        part.encode(&mut fields);
    }
    BASE_FEE.encode(&mut fields);
    no_withdrawals.as_slice().encode(&mut fields);
    for number in [0_u64, 0] {
        number.encode(&mut fields);
    }
    for part in [&zeros, &zeros] {
        part.as_slice().encode(&mut fields);
    }
    let hash = keccak(&list(&fields));
    let transactions: Vec<_> =
        made.iter().enumerate().map(|(index, it)| it.json(index, &hash, height)).collect();
    let mut block = json!({
        "hash": bytes(&hash), "parentHash": bytes(&parent), "sha3Uncles": bytes(&no_uncles),
        "miner": bytes(&producer), "stateRoot": bytes(&zeros), "transactionsRoot": bytes(transactions_root.as_slice()),
        "receiptsRoot": bytes(receipts_root.as_slice()), "logsBloom": bytes(bloom.as_slice()), "difficulty": "0x0",
        "number": quantity(height), "gasLimit": quantity(60_000_000), "gasUsed": quantity(all_gas),
        "timestamp": quantity(time), "extraData": "0x", "mixHash": bytes(&zeros), "nonce": "0x0000000000000000",
        "baseFeePerGas": quantity(BASE_FEE), "withdrawalsRoot": bytes(no_withdrawals.as_slice()), "blobGasUsed": "0x0",
        "excessBlobGas": "0x0", "parentBeaconBlockRoot": bytes(&zeros), "requestsHash": bytes(&zeros),
        "transactions": [], "uncles": [], "withdrawals": [], "size": "0x1",
    });
    let name = block.to_string();
    block["transactions"] = Value::Array(transactions);
    let receipts = made.iter().zip(&sums).enumerate();
    let receipts = receipts.map(|(index, (it, sums))| it.receipt(index, (&hash, height), *sums));
    let traces = made.iter().map(ExecutedTransaction::trace);
    let answers = NodeAnswers {
        hash: bytes(&hash),
        name,
        block: block.to_string(),
        receipts: Value::Array(receipts.collect()).to_string(),
        traces: Value::Array(traces.collect()).to_string(),
    };
    (hash, answers)
}
