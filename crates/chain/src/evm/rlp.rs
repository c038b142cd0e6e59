//! Encoding of what hashes and roots commit to.

use alloy_primitives::keccak256;
use alloy_rlp::{Encodable, Header};
use assay_engine::account::AccountAddress;
use ruint::aliases::U256;

/// The hash of the chains with Ethereum's accounts.
pub(super) fn keccak(bytes: impl AsRef<[u8]>) -> [u8; 32] {
    keccak256(bytes).0
}

/// A list that is being encoded.
#[derive(Clone, Default)]
pub(super) struct List {
    fields: Vec<u8>,
}

impl List {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        bytes.encode(&mut self.fields);
        self
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        number.encode(&mut self.fields);
        self
    }

    pub(super) fn amount(&mut self, amount: U256) -> &mut Self {
        amount.encode(&mut self.fields);
        self
    }

    pub(super) fn account(&mut self, account: Option<AccountAddress>) -> &mut Self {
        match account {
            Some(AccountAddress(bytes)) => self.bytes(&bytes),
            None => self.bytes(&[]),
        }
    }

    pub(super) fn list(&mut self, list: &Self) -> &mut Self {
        list.write(&mut self.fields);
        self
    }

    /// Adds a list that is encoded already.
    pub(super) fn encoded_list(&mut self, list: &[u8]) -> &mut Self {
        self.fields.extend_from_slice(list);
        self
    }

    /// Adds a list of which every element has a fixed length.
    pub(super) fn hashes<'a>(
        &mut self,
        hashes: impl IntoIterator<Item = &'a [u8; 32]>,
    ) -> &mut Self {
        let mut list = Self::new();
        for hash in hashes {
            list.bytes(hash);
        }
        self.list(&list)
    }

    /// The list with its length.
    pub(super) fn encoded(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.fields.len() + 9);
        self.write(&mut out);
        out
    }

    /// The list behind the type of what it encodes; the first form of transactions and receipts has no type.
    pub(super) fn typed(&self, kind: u8) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.fields.len() + 10);
        if kind != 0 {
            out.push(kind);
        }
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        Header { list: true, payload_length: self.fields.len() }.encode(out);
        out.extend_from_slice(&self.fields);
    }
}
