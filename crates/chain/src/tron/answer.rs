//! Answers of a node about a block, as they stand in its JSON. Fields with their default value are left out by nodes.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use crate::http::shortened;

/// Bytes in hexadecimal digits, without a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HexBytes(pub(super) Vec<u8>);

/// A hash in hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HexHash(pub(super) [u8; 32]);

struct Digits;

impl de::Visitor<'_> for Digits {
    type Value = Vec<u8>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("bytes in hexadecimal digits")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<u8>, E> {
        hex::decode(text).map_err(|_| {
            E::custom(format_args!("`{}` is not written in hexadecimal digits", shortened(text)))
        })
    }
}

impl<'de> Deserialize<'de> for HexBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Digits).map(Self)
    }
}

impl<'de> Deserialize<'de> for HexHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = deserializer.deserialize_str(Digits)?;
        let hash = <[u8; 32]>::try_from(bytes);
        hash.map(Self)
            .map_err(|bytes| de::Error::invalid_length(bytes.len(), &"32 bytes of a hash"))
    }
}

/// A block; all fields are missing if the node does not have it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct BlockAnswer {
    #[serde(rename = "blockID")]
    pub(super) id: HexHash,
    pub(super) block_header: HeaderAnswer,
    #[serde(default)]
    pub(super) transactions: Vec<TransactionAnswer>,
}

/// The header of a block.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct HeaderAnswer {
    pub(super) raw_data: RawHeaderAnswer,
}

/// The part of a header that the identifier is the hash of.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct RawHeaderAnswer {
    #[serde(default)]
    pub(super) timestamp: i64,
    #[serde(default, rename = "txTrieRoot")]
    pub(super) tx_trie_root: HexBytes,
    #[serde(default, rename = "parentHash")]
    pub(super) parent_hash: HexBytes,
    #[serde(default)]
    pub(super) number: i64,
    #[serde(default)]
    pub(super) witness_id: i64,
    #[serde(default)]
    pub(super) witness_address: HexBytes,
    #[serde(default)]
    pub(super) version: i32,
    #[serde(default, rename = "accountStateRoot")]
    pub(super) account_state_root: HexBytes,
}

/// A transaction of a block.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct TransactionAnswer {
    #[serde(rename = "txID")]
    pub(super) id: HexHash,
    pub(super) raw_data_hex: HexBytes,
    #[serde(default)]
    pub(super) raw_data: RawDataAnswer,
    #[serde(default)]
    pub(super) signature: Vec<HexBytes>,
    #[serde(default)]
    pub(super) ret: Vec<ResultAnswer>,
    /// Fields that the node does not know have their numbers as names.
    #[serde(flatten)]
    pub(super) others: BTreeMap<String, Value>,
}

/// The content of a transaction beside its bytes.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct RawDataAnswer {
    #[serde(default)]
    pub(super) contract: Vec<ContractAnswer>,
}

/// Action of a transaction.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ContractAnswer {
    #[serde(default)]
    pub(super) parameter: ParameterAnswer,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct ParameterAnswer {
    #[serde(default)]
    pub(super) value: Value,
}

/// A result that a block states of a transaction.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct ResultAnswer {
    #[serde(default)]
    pub(super) fee: i64,
    pub(super) ret: Option<String>,
    #[serde(rename = "contractRet")]
    pub(super) contract_ret: Option<String>,
    #[serde(default, rename = "assetIssueID")]
    pub(super) asset_issue_id: String,
    #[serde(default)]
    pub(super) withdraw_amount: i64,
    #[serde(default)]
    pub(super) unfreeze_amount: i64,
    #[serde(default)]
    pub(super) exchange_received_amount: i64,
    #[serde(default)]
    pub(super) exchange_inject_another_amount: i64,
    #[serde(default)]
    pub(super) exchange_withdraw_another_amount: i64,
    #[serde(default)]
    pub(super) exchange_id: i64,
    #[serde(default)]
    pub(super) shielded_transaction_fee: i64,
    #[serde(default, rename = "orderId")]
    pub(super) order_id: HexBytes,
    #[serde(default)]
    pub(super) withdraw_expire_amount: i64,
    /// Fields that the node does not know have their numbers as names.
    #[serde(flatten)]
    pub(super) others: BTreeMap<String, Value>,
}

/// Statement of a node about a transaction.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct InfoAnswer {
    pub(super) id: HexHash,
    /// The fee in sun, all parts together.
    #[serde(default)]
    pub(super) fee: i64,
    #[serde(default, rename = "blockNumber")]
    pub(super) block_number: i64,
    #[serde(default, rename = "blockTimeStamp")]
    pub(super) block_timestamp: i64,
    /// `FAILED`, or missing.
    pub(super) result: Option<String>,
    #[serde(default)]
    pub(super) log: Vec<LogAnswer>,
    #[serde(default)]
    pub(super) withdraw_amount: i64,
    #[serde(default)]
    pub(super) internal_transactions: Vec<InternalAnswer>,
    #[serde(default)]
    pub(super) exchange_id: i64,
    #[serde(default)]
    pub(super) exchange_received_amount: i64,
    #[serde(default)]
    pub(super) exchange_inject_another_amount: i64,
    #[serde(default)]
    pub(super) exchange_withdraw_another_amount: i64,
}

/// An event log. Its address has 20 bytes.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct LogAnswer {
    pub(super) address: HexBytes,
    #[serde(default)]
    pub(super) topics: Vec<HexHash>,
    #[serde(default)]
    pub(super) data: HexBytes,
}

/// A call inside of a transaction, which may move coins and numbered tokens.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct InternalAnswer {
    #[serde(default)]
    pub(super) caller_address: HexBytes,
    #[serde(default, rename = "transferTo_address")]
    pub(super) transfer_to_address: HexBytes,
    #[serde(default, rename = "callValueInfo")]
    pub(super) call_value_info: Vec<CallValueAnswer>,
    /// The kind of call, such as `call`.
    #[serde(default)]
    pub(super) note: HexBytes,
    #[serde(default)]
    pub(super) rejected: bool,
}

/// An amount of a call: of the coin, or of a numbered token.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct CallValueAnswer {
    #[serde(default, rename = "callValue")]
    pub(super) call_value: i64,
    #[serde(default, rename = "tokenId")]
    pub(super) token_id: String,
}

/// The pair of an exchange.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ExchangeAnswer {
    pub(super) first_token_id: HexBytes,
    pub(super) second_token_id: HexBytes,
}
