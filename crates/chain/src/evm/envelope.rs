//! Transactions as they are hashed, and the accounts that signed them.

use std::sync::LazyLock;

use assay_engine::account::AccountAddress;
use ruint::aliases::U256;
use secp256k1::{
    Message, Secp256k1, VerifyOnly,
    ecdsa::{RecoverableSignature, RecoveryId},
};

use super::{
    answer::TransactionAnswer,
    hex::{Quantity, Scalar},
    rlp::{List, keccak},
};

/// Deposits of the OP Stack, which nobody signs.
pub(super) const OP_DEPOSIT: u64 = 0x7e;

/// The last type of transactions of Ethereum.
const LAST_OF_ETHEREUM: u64 = 4;

/// A transaction with its proven parts.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    /// The bytes that the root of transactions commits to.
    pub(super) encoded: Vec<u8>,
    /// The account that signed the transaction.
    pub(super) sender: AccountAddress,
}

impl TransactionAnswer {
    /// The type of the transaction.
    pub(super) fn kind(&self) -> u64 {
        self.kind.map_or(0, |kind| kind.0)
    }

    /// True if the transaction has a form of Ethereum's, and a signature. Chains state zeros for transactions of their own.
    pub(super) fn is_signed(&self) -> bool {
        let is_number = |scalar: Option<Scalar>| scalar.is_some_and(|scalar| !scalar.0.is_zero());
        self.kind() <= LAST_OF_ETHEREUM && is_number(self.r) && is_number(self.s)
    }

    /// True for a transaction that only its chain has: by its type, or because nobody sends it to anybody.
    pub(super) fn is_of_its_chain(&self) -> bool {
        let zero = AccountAddress::ZERO;
        let is_of_nobody = self.from.0 == zero && self.to.is_some_and(|to| to.0 == zero);
        self.kind() > LAST_OF_ETHEREUM || is_of_nobody
    }

    /// Encodes the transaction, and recovers its sender. `None` if its type is not known.
    ///
    /// # Errors
    ///
    /// Returns the description of a missing field, or of a signature that nobody can have made.
    pub(super) fn envelope(&self) -> Result<Option<Envelope>, String> {
        match self.kind() {
            0 => self.first_form().map(Some),
            kind @ 1..=LAST_OF_ETHEREUM => self.typed(kind).map(Some),
            OP_DEPOSIT => self.deposit().map(Some),
            _ => Ok(None),
        }
    }

    /// The form without a type.
    fn first_form(&self) -> Result<Envelope, String> {
        let v = self.v.ok_or(MISSING_SIGNATURE)?.0;
        let mut list = List::new();
        list.number(self.nonce.0)
            .amount(self.gas_price.ok_or("it has no gasPrice")?.0)
            .number(self.gas.0)
            .account(self.to.map(|to| to.0))
            .amount(self.value.0)
            .bytes(&self.input.0);
        let mut signed = list.clone();
        let (first, first_with_chain) = (U256::from(27), U256::from(35));
        let is_odd = if v >= first_with_chain {
            // The signature names the chain (EIP-155).
            let rest = v - first_with_chain;
            signed.amount(rest >> 1).bytes(&[]).bytes(&[]);
            rest.bit(0)
        } else if v == first || v == first + U256::ONE {
            v != first
        } else {
            return Err(format!("its signature has the `v` 0x{v:x}"));
        };
        let sender = self.sender(&signed.encoded(), is_odd)?;
        let (r, s) = self.signature()?;
        list.amount(v).amount(r).amount(s);
        Ok(Envelope { encoded: list.encoded(), sender })
    }

    fn typed(&self, kind: u64) -> Result<Envelope, String> {
        let mut list = List::new();
        list.number(self.chain_id.ok_or("it has no chainId")?.0).number(self.nonce.0);
        if kind == 1 {
            list.amount(self.gas_price.ok_or("it has no gasPrice")?.0);
        } else {
            let tip = self.max_priority_fee_per_gas.ok_or("it has no maxPriorityFeePerGas")?;
            list.amount(tip.0).amount(self.max_fee_per_gas.ok_or("it has no maxFeePerGas")?.0);
        }
        list.number(self.gas.0)
            .account(self.to.map(|to| to.0))
            .amount(self.value.0)
            .bytes(&self.input.0)
            .list(&self.encoded_access_list());
        if kind == 3 {
            let most = self.max_fee_per_blob_gas.ok_or("it has no maxFeePerBlobGas")?;
            let hashes =
                self.blob_versioned_hashes.as_ref().ok_or("it has no blobVersionedHashes")?;
            list.amount(most.0).hashes(hashes.iter().map(|hash| &hash.0));
        }
        if kind == 4 {
            list.list(&self.encoded_authorizations()?);
        }
        let kind = u8::try_from(kind).map_err(|_| "its type is too large")?;
        let is_odd = match (self.y_parity, self.v) {
            (Some(Quantity(parity @ (0 | 1))), _) => parity == 1,
            (None, Some(v)) if v.0 <= U256::ONE => v.0 == U256::ONE,
            (None, None) => return Err(MISSING_SIGNATURE.to_owned()),
            _ => return Err("its `yParity` is neither 0 nor 1".to_owned()),
        };
        let sender = self.sender(&list.typed(kind), is_odd)?;
        let (r, s) = self.signature()?;
        list.number(is_odd.into()).amount(r).amount(s);
        Ok(Envelope { encoded: list.typed(kind), sender })
    }

    /// A deposit, which the chain below made: nobody signs it, and its sender is part of it.
    fn deposit(&self) -> Result<Envelope, String> {
        let source = self.source_hash.ok_or("it has no sourceHash")?;
        let mut list = List::new();
        list.bytes(&source.0)
            .account(Some(self.from.0))
            .account(self.to.map(|to| to.0))
            .amount(self.mint.unwrap_or_default().0)
            .amount(self.value.0)
            .number(self.gas.0)
            .number(self.is_system_tx.into())
            .bytes(&self.input.0);
        Ok(Envelope { encoded: list.typed(0x7e), sender: self.from.0 })
    }

    fn encoded_access_list(&self) -> List {
        let mut list = List::new();
        for access in self.access_list.iter().flatten() {
            let mut entry = List::new();
            entry.account(Some(access.address.0));
            entry.hashes(access.storage_keys.iter().map(|key| &key.0));
            list.list(&entry);
        }
        list
    }

    fn encoded_authorizations(&self) -> Result<List, String> {
        let mut list = List::new();
        for it in self.authorization_list.as_ref().ok_or("it has no authorizationList")? {
            let mut entry = List::new();
            entry
                .amount(it.chain_id.0)
                .account(Some(it.address.0))
                .number(it.nonce.0)
                .number(it.y_parity.0)
                .amount(it.r.0)
                .amount(it.s.0);
            list.list(&entry);
        }
        Ok(list)
    }

    fn signature(&self) -> Result<(U256, U256), String> {
        let (r, s) = self.r.zip(self.s).ok_or(MISSING_SIGNATURE)?;
        Ok((r.0, s.0))
    }

    /// The account whose key signed `message`.
    fn sender(&self, message: &[u8], is_odd: bool) -> Result<AccountAddress, String> {
        static CONTEXT: LazyLock<Secp256k1<VerifyOnly>> =
            LazyLock::new(Secp256k1::verification_only);
        let (r, s) = self.signature()?;
        let mut compact = [0; 64];
        let (first, second) = compact.split_at_mut(32);
        first.copy_from_slice(&r.to_be_bytes::<32>());
        second.copy_from_slice(&s.to_be_bytes::<32>());
        let id = if is_odd { RecoveryId::One } else { RecoveryId::Zero };
        let recovered = RecoverableSignature::from_compact(&compact, id).and_then(|signature| {
            CONTEXT.recover_ecdsa(Message::from_digest(keccak(message)), &signature)
        });
        let key = recovered.map_err(|_| "nobody can have made its signature")?;
        let key = key.serialize_uncompressed();
        // The address is the end of the hash of the key without its form.
        let hash = keccak(key.get(1..).unwrap_or_default());
        Ok(last_20(hash))
    }
}

const MISSING_SIGNATURE: &str = "it has no signature";

/// The address of the contract that an account creates with its transaction of a number.
pub(super) fn created_contract(creator: AccountAddress, nonce: u64) -> AccountAddress {
    let mut list = List::new();
    list.account(Some(creator)).number(nonce);
    last_20(keccak(list.encoded()))
}

fn last_20(hash: [u8; 32]) -> AccountAddress {
    let mut address = [0; 20];
    for (to, from) in address.iter_mut().zip(hash.iter().skip(12)) {
        *to = *from;
    }
    AccountAddress(address)
}
