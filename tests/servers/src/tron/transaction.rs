//! Transactions of TRON, with what a node states about them.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Account, message::Message, sha256, text};

/// The topic of `Transfer(address,address,uint256)`.
pub const TRANSFER: &str = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// A transaction to be put into a block.
#[derive(Clone, Debug)]
pub struct NewTransaction {
    kind: u8,
    name: &'static str,
    message: Message,
    beside: Map<String, Value>,
    result: Option<&'static str>,
    is_failed: bool,
    fee: i64,
    logs: Vec<Value>,
    internal: Vec<Value>,
    /// Further fields of the node's statement.
    stated: Map<String, Value>,
}

/// A transaction in its block.
#[derive(Clone, Debug)]
pub(super) struct BuiltTransaction {
    /// Leaf of the block's tree.
    pub(super) leaf: [u8; 32],
    /// The transaction as a node states it in a block.
    pub(super) json: Value,
    /// The node's statement about it.
    pub(super) info: Value,
}

fn address(account: &Account) -> Vec<u8> {
    [&[0x41], &account[..]].concat()
}

/// A word with an account.
#[must_use]
pub fn account_word(account: &Account) -> String {
    format!("{:0>64}", hex::encode(account))
}

/// A word with a number.
#[must_use]
pub fn number_word(number: u64) -> String {
    format!("{number:064x}")
}

impl NewTransaction {
    /// A transaction of a kind, whose first field is its sender.
    fn new(kind: u8, name: &'static str, owner: &Account) -> Self {
        let message = Message::default().bytes(1, &address(owner));
        let mut transaction = Self {
            kind,
            name,
            message,
            beside: Map::new(),
            result: Some("SUCCESS"),
            is_failed: false,
            fee: 0,
            logs: Vec::new(),
            internal: Vec::new(),
            stated: Map::new(),
        };
        transaction.beside.insert("owner_address".to_owned(), text(owner).into());
        transaction
    }

    fn account(mut self, field: u8, name: &str, account: &Account) -> Self {
        self.message = self.message.bytes(field, &address(account));
        self.beside.insert(name.to_owned(), text(account).into());
        self
    }

    fn number(mut self, field: u8, name: &str, value: i64) -> Self {
        self.message = self.message.number(field, value);
        if value != 0 {
            self.beside.insert(name.to_owned(), value.into());
        }
        self
    }

    fn bytes(mut self, field: u8, name: &str, value: &[u8]) -> Self {
        self.message = self.message.bytes(field, value);
        self.beside.insert(name.to_owned(), hex::encode(value).into());
        self
    }

    /// A payment of coins.
    #[must_use]
    pub fn payment(owner: &Account, to: &Account, amount: i64) -> Self {
        let new = Self::new(1, "TransferContract", owner).account(2, "to_address", to);
        new.number(3, "amount", amount)
    }

    /// An allocation of the first block: its payer is no account.
    #[must_use]
    pub fn allocation(to: &Account, amount: i64) -> Self {
        let mut new = Self::payment(&[0; 20], to, amount).without_result();
        let nobody = b"0x000000000000000000000";
        let message = Message::default().bytes(1, nobody).bytes(2, &address(to));
        new.message = message.number(3, amount);
        new.beside.insert("owner_address".to_owned(), hex::encode(nobody).into());
        new
    }

    /// A payment of a token without a contract, by its number or name.
    #[must_use]
    pub fn token_payment(owner: &Account, to: &Account, token: &str, amount: i64) -> Self {
        let mut new = Self::new(2, "TransferAssetContract", owner);
        // Here the sender is the second field.
        new.message = Message::default().bytes(1, token.as_bytes()).bytes(2, &address(owner));
        new.beside.insert("asset_name".to_owned(), hex::encode(token).into());
        new.account(3, "to_address", to).number(4, "amount", amount)
    }

    /// A purchase of a token from its issuer, for coins.
    #[must_use]
    pub fn purchase(owner: &Account, issuer: &Account, token: &str, amount: i64) -> Self {
        let new = Self::new(9, "ParticipateAssetIssueContract", owner);
        let new = new.account(2, "to_address", issuer).bytes(3, "asset_name", token.as_bytes());
        new.number(4, "amount", amount)
    }

    /// A call of a contract with coins.
    #[must_use]
    pub fn call(owner: &Account, contract: &Account, amount: i64) -> Self {
        Self::call_of(owner, contract, amount, &[0x01, 0x02, 0x03, 0x04])
    }

    fn call_of(owner: &Account, contract: &Account, amount: i64, data: &[u8]) -> Self {
        let new = Self::new(31, "TriggerSmartContract", owner);
        let new = new.account(2, "contract_address", contract);
        let mut new = new.number(3, "call_value", amount).bytes(4, "data", data);
        new.stated.insert("contract_address".to_owned(), text(contract).into());
        new
    }

    /// A call of a contract with a numbered token.
    #[must_use]
    pub fn call_with_token(
        owner: &Account,
        contract: &Account,
        (token, amount): (i64, i64),
    ) -> Self {
        let new = Self::call(owner, contract, 0).number(5, "call_token_value", amount);
        new.number(6, "token_id", token)
    }

    /// A call that pays a token with a contract.
    #[must_use]
    pub fn token_call(owner: &Account, token: &Account, to: &Account, amount: u64) -> Self {
        let data = format!("a9059cbb{}{}", account_word(to), number_word(amount));
        let data = hex::decode(data).unwrap_or_default();
        Self::call_of(owner, token, 0, &data).transfer_log(token, [owner, to], amount)
    }

    /// The creation of a contract with coins.
    #[must_use]
    pub fn creation(owner: &Account, amount: i64) -> Self {
        let mut new = Self::new(30, "CreateSmartContract", owner);
        let contract = Message::default().bytes(1, &address(owner)).number(5, amount).done();
        new.message = new.message.message(2, &contract);
        let contract = json!({ "origin_address": text(owner), "call_value": amount });
        new.beside.insert("new_contract".to_owned(), contract);
        new
    }

    /// A withdrawal of rewards.
    #[must_use]
    pub fn reward(owner: &Account, amount: i64) -> Self {
        Self::new(13, "WithdrawBalanceContract", owner).stating("withdraw_amount", amount)
    }

    /// A stake of own coins.
    #[must_use]
    pub fn stake(owner: &Account, amount: i64) -> Self {
        Self::new(54, "FreezeBalanceV2Contract", owner).number(2, "frozen_balance", amount)
    }

    /// A loan of energy of own stakes to another account.
    #[must_use]
    pub fn lend_energy(owner: &Account, to: &Account, amount: i64) -> Self {
        let new = Self::new(57, "DelegateResourceContract", owner).number(2, "resource", 1);
        new.number(3, "balance", amount).account(4, "receiver_address", to)
    }

    /// The end of a loan of energy.
    #[must_use]
    pub fn take_energy_back(owner: &Account, from: &Account, amount: i64) -> Self {
        let new = Self::new(58, "UnDelegateResourceContract", owner).number(2, "resource", 1);
        new.number(3, "balance", amount).account(4, "receiver_address", from)
    }

    /// A stake of the first kind, whose bandwidth another account may use.
    #[must_use]
    pub fn stake_for(owner: &Account, to: &Account, amount: i64) -> Self {
        let new = Self::new(11, "FreezeBalanceContract", owner).number(2, "frozen_balance", amount);
        new.number(3, "frozen_duration", 3).account(15, "receiver_address", to)
    }

    /// A vote.
    #[must_use]
    pub fn vote(owner: &Account) -> Self {
        Self::new(4, "VoteWitnessContract", owner)
    }

    /// The creation of an exchange of two tokens, each with an amount; `_` is the coin.
    #[must_use]
    pub fn exchange(owner: &Account, number: i64, parts: [(&str, i64); 2]) -> Self {
        let [(first, one), (second, two)] = parts;
        let new = Self::new(41, "ExchangeCreateContract", owner);
        let new = new.bytes(2, "first_token_id", first.as_bytes());
        let new = new.number(3, "first_token_balance", one);
        let new = new.bytes(4, "second_token_id", second.as_bytes());
        new.number(5, "second_token_balance", two).stating("exchange_id", number)
    }

    /// A trade with an exchange: a token with its amount for `received` of the other.
    #[must_use]
    pub fn trade(
        owner: &Account,
        exchange: i64,
        (token, amount): (&str, i64),
        received: i64,
    ) -> Self {
        let new = Self::new(44, "ExchangeTransactionContract", owner);
        let new = new.number(2, "exchange_id", exchange).bytes(3, "token_id", token.as_bytes());
        new.number(4, "quant", amount).stating("exchange_received_amount", received)
    }

    /// An order of the market.
    #[must_use]
    pub fn order(owner: &Account, token: &str, amount: i64) -> Self {
        let new = Self::new(52, "MarketSellAssetContract", owner);
        new.bytes(2, "sell_token_id", token.as_bytes()).number(3, "sell_token_quantity", amount)
    }

    /// Bytes of the contract with a field that nodes do not know.
    #[must_use]
    pub fn with_unknown_field(mut self) -> Self {
        // The amount of a payment once more, as bytes.
        self.message = self.message.message(3, b"not an amount");
        self
    }

    /// Adds a number to the node's statement.
    #[must_use]
    pub fn stating(mut self, name: &str, value: i64) -> Self {
        self.stated.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the fee in sun.
    #[must_use]
    pub const fn fee(mut self, fee: i64) -> Self {
        self.fee = fee;
        self
    }

    /// Lets the transaction fail.
    #[must_use]
    pub const fn failed(mut self, result: &'static str) -> Self {
        (self.result, self.is_failed) = (Some(result), true);
        self
    }

    /// Leaves the result out, as blocks before smart contracts do.
    #[must_use]
    pub const fn without_result(mut self) -> Self {
        self.result = None;
        self
    }

    /// Adds an event log: topics and data in hexadecimal digits.
    #[must_use]
    pub fn log(mut self, contract: &Account, topics: &[&str], data: &str) -> Self {
        let address = hex::encode(contract);
        self.logs.push(json!({ "address": address, "topics": topics, "data": data }));
        self
    }

    /// Adds the log of a token's transfer.
    #[must_use]
    pub fn transfer_log(self, token: &Account, [from, to]: [&Account; 2], amount: u64) -> Self {
        let topics = [TRANSFER, &account_word(from), &account_word(to)];
        self.log(token, &topics, &number_word(amount))
    }

    /// Adds a call inside of the transaction with amounts of the coin (an empty name) or of numbered tokens.
    #[must_use]
    pub fn internal(self, note: &str, parties: [&Account; 2], amounts: &[(&str, i64)]) -> Self {
        self.internal_call(note, parties, amounts, false)
    }

    /// Adds a call that was rejected.
    #[must_use]
    pub fn rejected(self, parties: [&Account; 2], amount: i64) -> Self {
        self.internal_call("call", parties, &[("", amount)], true)
    }

    fn internal_call(
        mut self,
        note: &str,
        [from, to]: [&Account; 2],
        amounts: &[(&str, i64)],
        is_rejected: bool,
    ) -> Self {
        let values = amounts.iter().map(|(token, amount)| {
            let mut value = Map::new();
            if *amount != 0 {
                value.insert("callValue".to_owned(), (*amount).into());
            }
            if !token.is_empty() {
                value.insert("tokenId".to_owned(), (*token).into());
            }
            Value::Object(value)
        });
        let mut call = json!({
            "hash": hex::encode([7; 32]),
            "caller_address": text(from),
            "transferTo_address": text(to),
            "callValueInfo": values.collect::<Vec<_>>(),
            "note": hex::encode(note),
        });
        if is_rejected {
            call["rejected"] = true.into();
        }
        self.internal.push(call);
        self
    }

    /// Puts the transaction into a block. `number` tells like transactions apart.
    ///
    /// # Panics
    ///
    /// Panics at a result that no test uses.
    pub(super) fn build(
        &self,
        height: i64,
        time: i64,
        number: i64,
        with_internal: bool,
    ) -> BuiltTransaction {
        let url = format!("type.googleapis.com/protocol.{}", self.name);
        let parameter = Message::default().bytes(1, url.as_bytes());
        let parameter = parameter.bytes(2, &self.message.clone().done()).done();
        let contract = Message::default().number(1, self.kind.into()).bytes(2, &parameter).done();
        let (expiration, timestamp) = (time + 60_000, time - 1_000 + number);
        let raw = Message::default().bytes(1, &[0xab, 0xcd]).bytes(4, &[1, 2, 3, 4, 5, 6, 7, 8]);
        let raw = raw.number(8, expiration).message(11, &contract).number(14, timestamp).done();
        let id = sha256(&raw);
        // The signature is no real one: nodes check it, and readers cannot.
        let signature = [&id[..], &id, &[1]].concat();
        let code = self.result.map_or(0, |result| match result {
            "SUCCESS" => 1,
            "REVERT" => 2,
            "OUT_OF_ENERGY" => 10,
            other => panic!("no result of tests: {other}"),
        });
        let result = Message::default().number(3, code);
        let whole = Message::default().bytes(1, &raw).bytes(2, &signature);
        let whole = whole.message(5, &result.done()).done();
        let ret = self.result.map_or_else(|| json!({}), |result| json!({ "contractRet": result }));
        let parameter = json!({ "value": self.beside, "type_url": url });
        let json = json!({
            "ret": [ret],
            "signature": [hex::encode(&signature)],
            "txID": hex::encode(id),
            "raw_data": {
                "contract": [{ "parameter": parameter, "type": self.name }],
                "ref_block_bytes": "abcd",
                "ref_block_hash": "0102030405060708",
                "expiration": expiration,
                "timestamp": timestamp,
            },
            "raw_data_hex": hex::encode(&raw),
        });
        let leaf = Sha256::digest(&whole).into();
        BuiltTransaction { leaf, json, info: self.info(&id, height, time, with_internal) }
    }

    fn info(&self, id: &[u8; 32], height: i64, time: i64, with_internal: bool) -> Value {
        let mut info = json!({
            "id": hex::encode(id),
            "blockNumber": height,
            "blockTimeStamp": time,
            "contractResult": [""],
            "receipt": { "net_usage": 268 },
        });
        if self.fee != 0 {
            info["fee"] = self.fee.into();
        }
        if self.is_failed {
            info["result"] = "FAILED".into();
        }
        if !self.logs.is_empty() {
            info["log"] = self.logs.clone().into();
        }
        if with_internal && !self.internal.is_empty() {
            info["internal_transactions"] = self.internal.clone().into();
        }
        for (name, value) in &self.stated {
            info[name] = value.clone();
        }
        info
    }
}
