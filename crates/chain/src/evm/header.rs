//! Hashes of block headers.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::{
    answer::{BlockAnswer, KNOWN_FIELDS},
    rlp::{List, keccak},
};

impl<T> BlockAnswer<T> {
    /// The header, encoded.
    pub(super) fn encoded_header(&self) -> Vec<u8> {
        let mut list = List::new();
        list.bytes(&self.parent_hash.0)
            .bytes(&self.sha3_uncles.0)
            .account(Some(self.miner.0))
            .bytes(&self.state_root.0)
            .bytes(&self.transactions_root.0)
            .bytes(&self.receipts_root.0)
            .bytes(&self.logs_bloom.0)
            .amount(self.difficulty.0)
            .number(self.number.0)
            .number(self.gas_limit.0)
            .number(self.gas_used.0)
            .number(self.timestamp.0)
            .bytes(&self.extra_data.0);
        if let Some(hash) = &self.mix_hash {
            list.bytes(&hash.0);
        }
        if let Some(nonce) = &self.nonce {
            list.bytes(&nonce.0);
        }
        // Each upgrade appended fields.
        if let Some(fee) = self.base_fee_per_gas {
            list.amount(fee.0);
        }
        if let Some(root) = &self.withdrawals_root {
            list.bytes(&root.0);
        }
        for gas in [self.blob_gas_used, self.excess_blob_gas].into_iter().flatten() {
            list.number(gas.0);
        }
        let hashes =
            [&self.parent_beacon_block_root, &self.requests_hash, &self.block_access_list_hash];
        for hash in hashes.into_iter().flatten() {
            list.bytes(&hash.0);
        }
        if let Some(number) = self.slot_number {
            list.number(number.0);
        }
        list.encoded()
    }

    /// The hash of the header's fields.
    pub(super) fn header_hash(&self) -> [u8; 32] {
        keccak(self.encoded_header())
    }
}

/// Names of fields in a block's JSON that are not known, such as those of a later upgrade.
pub(super) fn unknown_fields(json: &str) -> Vec<String> {
    let fields: HashMap<String, &RawValue> = serde_json::from_str(json).unwrap_or_default();
    let mut unknown: Vec<_> =
        fields.into_keys().filter(|field| !KNOWN_FIELDS.contains(&&**field)).collect();
    unknown.sort_unstable();
    unknown
}
