//! Answers of a node about a block, as they stand in its JSON.

use assay_engine::account::AccountAddress;
use serde::{Deserialize, Deserializer};

use super::hex::{Account, Amount, Bytes, Fixed, Hash, Quantity, Scalar};

/// Reads a list, which some nodes write as `null` if it has no entries.
pub(super) fn none_if_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A block with its transactions, or their hashes.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound = "T: Deserialize<'de>")]
pub(super) struct BlockAnswer<T> {
    pub(super) hash: Hash,
    pub(super) parent_hash: Hash,
    pub(super) sha3_uncles: Hash,
    pub(super) miner: Account,
    pub(super) state_root: Hash,
    pub(super) transactions_root: Hash,
    pub(super) receipts_root: Hash,
    pub(super) logs_bloom: Fixed<256>,
    pub(super) difficulty: Amount,
    pub(super) number: Quantity,
    pub(super) gas_limit: Quantity,
    pub(super) gas_used: Quantity,
    pub(super) timestamp: Quantity,
    pub(super) extra_data: Bytes,
    pub(super) mix_hash: Option<Hash>,
    pub(super) nonce: Option<Fixed<8>>,
    pub(super) base_fee_per_gas: Option<Amount>,
    pub(super) withdrawals_root: Option<Hash>,
    pub(super) blob_gas_used: Option<Quantity>,
    pub(super) excess_blob_gas: Option<Quantity>,
    pub(super) parent_beacon_block_root: Option<Hash>,
    pub(super) requests_hash: Option<Hash>,
    pub(super) block_access_list_hash: Option<Hash>,
    pub(super) slot_number: Option<Quantity>,
    /// Missing in the header of an uncle.
    #[serde(default = "Vec::new", deserialize_with = "none_if_null")]
    pub(super) transactions: Vec<T>,
    #[serde(default, deserialize_with = "none_if_null")]
    pub(super) uncles: Vec<Hash>,
    #[serde(default, deserialize_with = "none_if_null")]
    pub(super) withdrawals: Vec<WithdrawalAnswer>,
}

/// Fields of a block's JSON that are known: those of its header, and those that follow from it or stand beside it.
pub(super) const KNOWN_FIELDS: [&str; 33] = [
    "hash",
    "parentHash",
    "sha3Uncles",
    "miner",
    "author",
    "stateRoot",
    "transactionsRoot",
    "receiptsRoot",
    "logsBloom",
    "difficulty",
    "totalDifficulty",
    "number",
    "gasLimit",
    "gasUsed",
    "timestamp",
    "extraData",
    "mixHash",
    "nonce",
    "sealFields",
    "baseFeePerGas",
    "withdrawalsRoot",
    "blobGasUsed",
    "excessBlobGas",
    "parentBeaconBlockRoot",
    "requestsHash",
    "blockAccessListHash",
    "slotNumber",
    "transactions",
    "uncles",
    "withdrawals",
    "size",
    "chainId",
    "calls",
];

/// A transaction.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TransactionAnswer {
    pub(super) hash: Hash,
    /// Missing for transactions of the first form.
    #[serde(rename = "type")]
    pub(super) kind: Option<Quantity>,
    pub(super) from: Account,
    /// `None` for the creation of a contract.
    pub(super) to: Option<Account>,
    pub(super) value: Amount,
    pub(super) nonce: Quantity,
    pub(super) gas: Quantity,
    pub(super) input: Bytes,
    pub(super) chain_id: Option<Quantity>,
    pub(super) gas_price: Option<Amount>,
    pub(super) max_fee_per_gas: Option<Amount>,
    pub(super) max_priority_fee_per_gas: Option<Amount>,
    pub(super) max_fee_per_blob_gas: Option<Amount>,
    #[serde(default)]
    pub(super) access_list: Option<Vec<AccessAnswer>>,
    #[serde(default)]
    pub(super) blob_versioned_hashes: Option<Vec<Hash>>,
    #[serde(default)]
    pub(super) authorization_list: Option<Vec<AuthorizationAnswer>>,
    pub(super) v: Option<Scalar>,
    pub(super) r: Option<Scalar>,
    pub(super) s: Option<Scalar>,
    pub(super) y_parity: Option<Quantity>,
    /// The token in which the fee is paid, on Celo.
    pub(super) fee_currency: Option<Account>,
    /// Fields of the deposits of the OP Stack.
    pub(super) source_hash: Option<Hash>,
    pub(super) mint: Option<Amount>,
    #[serde(default, alias = "isSystemTransaction")]
    pub(super) is_system_tx: bool,
}

/// An entry of an access list.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccessAnswer {
    pub(super) address: Account,
    pub(super) storage_keys: Vec<Hash>,
}

/// An account's signed consent to run the code of another address (EIP-7702).
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuthorizationAnswer {
    pub(super) chain_id: Amount,
    pub(super) address: Account,
    pub(super) nonce: Quantity,
    #[serde(alias = "v")]
    pub(super) y_parity: Quantity,
    pub(super) r: Scalar,
    pub(super) s: Scalar,
}

/// A receipt.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReceiptAnswer {
    pub(super) transaction_hash: Hash,
    pub(super) transaction_index: Quantity,
    pub(super) block_hash: Hash,
    #[serde(rename = "type")]
    pub(super) kind: Option<Quantity>,
    pub(super) status: Option<Quantity>,
    /// The state after the transaction, which receipts before Byzantium have instead of a status.
    pub(super) root: Option<Hash>,
    pub(super) cumulative_gas_used: Quantity,
    pub(super) gas_used: Quantity,
    pub(super) effective_gas_price: Option<Amount>,
    #[serde(deserialize_with = "none_if_null")]
    pub(super) logs: Vec<LogAnswer>,
    pub(super) blob_gas_used: Option<Quantity>,
    pub(super) blob_gas_price: Option<Amount>,
    /// Fields of the OP Stack.
    pub(super) deposit_nonce: Option<Quantity>,
    pub(super) deposit_receipt_version: Option<Quantity>,
    pub(super) l1_fee: Option<Amount>,
}

/// An event log of a receipt.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogAnswer {
    pub(super) address: Account,
    pub(super) topics: Vec<Hash>,
    pub(super) data: Bytes,
    pub(super) log_index: Quantity,
    pub(super) transaction_hash: Hash,
    pub(super) block_hash: Hash,
    #[serde(default)]
    pub(super) removed: bool,
}

impl LogAnswer {
    /// An event log of a chain whose nodes write logs in another form. `index` is its place in the block.
    pub(crate) fn new(
        contract: AccountAddress,
        topics: Vec<[u8; 32]>,
        data: Vec<u8>,
        index: u32,
        transaction: [u8; 32],
    ) -> Self {
        Self {
            address: Account(contract),
            topics: topics.into_iter().map(Fixed).collect(),
            data: Bytes(data),
            log_index: Quantity(index.into()),
            transaction_hash: Fixed(transaction),
            block_hash: Fixed([0; 32]),
            removed: false,
        }
    }

    /// The account that logged.
    pub(crate) const fn contract(&self) -> AccountAddress {
        self.address.0
    }

    /// The place in the block.
    pub(crate) fn index(&self) -> u32 {
        u32::try_from(self.log_index.0).unwrap_or(u32::MAX)
    }
}

/// A withdrawal of a validator. Its amount is in units of 10^9 base units.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WithdrawalAnswer {
    pub(super) index: Quantity,
    pub(super) validator_index: Quantity,
    pub(super) address: Account,
    pub(super) amount: Quantity,
}

/// The newest block of a tag, or the block at a height.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct BlockName {
    pub(super) hash: Hash,
    pub(super) number: Quantity,
}
