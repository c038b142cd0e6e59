//! Accounts with keys, and transactions that they sign.

use alloy_rlp::{BufMut, Encodable, Header};
use secp256k1::{Message, Secp256k1, SecretKey};
use sha2::{Digest, Sha256};
use sha3::Keccak256;

use super::genesis::CHAIN_ID;

/// An account's address.
pub type Address = [u8; 20];

/// The hash of the chains with Ethereum's accounts.
#[must_use]
pub fn keccak(bytes: &[u8]) -> [u8; 32] {
    Keccak256::digest(bytes).into()
}

/// An address as nodes and answers write it, without a checksum.
#[must_use]
pub fn address_text(address: &Address) -> String {
    super::bytes(address)
}

/// An account with its key and the number of its next transaction.
#[derive(Clone, Debug)]
pub struct Key {
    secret: SecretKey,
    /// The address.
    pub address: Address,
    /// Number of transactions that the account sent.
    pub nonce: u64,
}

/// A transaction to be signed.
#[derive(Clone, Debug)]
pub struct NewTransaction {
    /// The receiver; `None` creates a contract from the input.
    pub to: Option<Address>,
    /// The amount in wei.
    pub value: u128,
    /// Input of the contract.
    pub input: Vec<u8>,
    /// Most gas that it may use.
    pub gas: u64,
    /// Fee for the producer of the block, in wei for each unit of gas.
    pub tip: u64,
}

impl NewTransaction {
    /// A payment to an account.
    #[must_use]
    pub const fn payment(to: Address, value: u128) -> Self {
        Self { to: Some(to), value, input: Vec::new(), gas: 21_000, tip: 1_000_000_000 }
    }

    /// A call of a contract.
    #[must_use]
    pub fn call(to: Address, value: u128, input: Vec<u8>) -> Self {
        Self { input, gas: 500_000, ..Self::payment(to, value) }
    }
}

impl Key {
    /// The account of a party, whose key follows from the party's name.
    ///
    /// # Panics
    ///
    /// Panics if no key follows from the name, which no name is known for.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let secret = SecretKey::from_byte_array(Sha256::digest(name).into()).expect("a key");
        let public = secret.public_key(&Secp256k1::new()).serialize_uncompressed();
        let hash = keccak(&public[1..]);
        let address = hash.last_chunk().copied().expect("20 bytes");
        Self { secret, address, nonce: 0 }
    }

    /// Signs the account's next transaction (EIP-1559).
    ///
    /// # Panics
    ///
    /// Panics never: the parity of a signature is 0 or 1.
    pub fn sign(&mut self, transaction: &NewTransaction) -> Vec<u8> {
        let NewTransaction { to, value, input, gas, tip } = transaction;
        let mut fields = Vec::new();
        CHAIN_ID.encode(&mut fields);
        self.nonce.encode(&mut fields);
        tip.encode(&mut fields);
        // The base fee falls from one Gwei.
        (tip + 2_000_000_000).encode(&mut fields);
        gas.encode(&mut fields);
        to.as_ref().map_or(&[][..], |to| &to[..]).encode(&mut fields);
        value.encode(&mut fields);
        input.as_slice().encode(&mut fields);
        // No list of accesses.
        fields.put_u8(alloy_rlp::EMPTY_LIST_CODE);
        self.nonce += 1;
        let message = Message::from_digest(keccak(&typed(&fields)));
        let signed = Secp256k1::new().sign_ecdsa_recoverable(message, &self.secret);
        let (parity, signature) = signed.serialize_compact();
        u8::try_from(i32::from(parity)).expect("0 or 1").encode(&mut fields);
        for number in signature.chunks_exact(32) {
            let zeros = number.iter().take_while(|byte| **byte == 0).count();
            number[zeros..].encode(&mut fields);
        }
        typed(&fields)
    }
}

/// A transaction of the type of EIP-1559 with encoded fields.
fn typed(fields: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2];
    Header { list: true, payload_length: fields.len() }.encode(&mut bytes);
    bytes.extend_from_slice(fields);
    bytes
}
