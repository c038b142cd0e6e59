//! Script owners: the key or script that can spend an output.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use assay_address::{CanonicalAddress, ChainId, Payload, ScriptForms, UnownedKind, hash160};

/// The owner of an output: the key or script that can spend it. Outputs to a key (P2PK) and to the key's hash (P2PKH)
/// have one owner, because the same key spends both kinds of outputs.
///
/// Owners are ordered by their bytes, which are the same on every machine and in every store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScriptOwner {
    /// The hash of a public key.
    KeyHash([u8; 20]),
    /// The hash of a script.
    ScriptHash([u8; 20]),
    /// The double SHA-256 of a script (Bitcoin Cash).
    LongScriptHash([u8; 32]),
    /// A witness program.
    Witness(u8, Vec<u8>),
    /// The SHA-256 of a script without an address: bare multisig, and other scripts.
    Script([u8; 32]),
    /// A shielded pool.
    Pool(Pool),
    /// The SHA-256 of a script that no input can unlock, such as `OP_RETURN` with data.
    Unspendable([u8; 32]),
}

/// A shielded pool, which hides the owners of its coins.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Pool {
    /// Litecoin's extension blocks.
    Mweb,
    /// Zcash's shielded pools, all together.
    ZcashShielded,
}

impl Pool {
    /// The pool's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mweb => "Litecoin MWEB",
            Self::ZcashShielded => "Zcash shielded pool",
        }
    }
}

// Script operations of standard outputs.
const OP_0: u8 = 0x00;
const OP_1: u8 = 0x51;
const OP_16: u8 = 0x60;
const OP_DUP: u8 = 0x76;
const OP_EQUAL: u8 = 0x87;
const OP_EQUALVERIFY: u8 = 0x88;
const OP_RETURN: u8 = 0x6a;
const OP_HASH160: u8 = 0xa9;
const OP_HASH256: u8 = 0xaa;
const OP_CHECKSIG: u8 = 0xac;
/// Length of the longest script that nodes execute, except those of Bitcoin SV.
const LONGEST_SCRIPT: usize = 10_000;
/// Prefix of a token before the script (Bitcoin Cash, CHIP-2022-02).
const CASH_TOKEN_PREFIX: u8 = 0xef;

/// Witness versions of Litecoin's extension blocks (LIP 2, LIP 3): the address that holds all their coins, and the
/// outputs that move coins into these blocks.
const MWEB_VERSIONS: [u8; 2] = [8, 9];

impl ScriptOwner {
    /// The owner of an output of `chain` with this script.
    #[must_use]
    pub fn from_script(chain: ChainId, script: &[u8]) -> Self {
        let forms = chain.info().script_forms();
        let plain = if forms.cash { without_token(script) } else { script };
        match plain {
            [OP_DUP, OP_HASH160, 20, hash @ .., OP_EQUALVERIFY, OP_CHECKSIG] => {
                if let Ok(hash) = hash.try_into() {
                    return Self::KeyHash(hash);
                }
            }
            [OP_HASH160, 20, hash @ .., OP_EQUAL] => {
                if let Ok(hash) = hash.try_into() {
                    return Self::ScriptHash(hash);
                }
            }
            [OP_HASH256, 32, hash @ .., OP_EQUAL] if forms.cash => {
                if let Ok(hash) = hash.try_into() {
                    return Self::LongScriptHash(hash);
                }
            }
            [33, key @ .., OP_CHECKSIG] if key.len() == 33 && matches!(key, [2 | 3, ..]) => {
                return Self::KeyHash(hash160(key));
            }
            [65, key @ .., OP_CHECKSIG] if key.len() == 65 && matches!(key, [4, ..]) => {
                return Self::KeyHash(hash160(key));
            }
            [version @ (OP_0 | OP_1..=OP_16), length @ 2..=40, program @ ..]
                if forms.witness && program.len() == usize::from(*length) =>
            {
                let version = if *version == OP_0 { 0 } else { *version - OP_1 + 1 };
                if forms.extension_blocks && MWEB_VERSIONS.contains(&version) {
                    return Self::Pool(Pool::Mweb);
                }
                return Self::Witness(version, program.to_vec());
            }
            _ => {}
        }
        let hash = Sha256::digest(script).into();
        if is_unspendable(plain, forms) { Self::Unspendable(hash) } else { Self::Script(hash) }
    }

    /// Kind of the owner if nobody can spend its outputs; `None` for every other owner.
    #[must_use]
    pub fn unowned_kind(&self) -> Option<UnownedKind> {
        match self {
            Self::KeyHash(hash) => UnownedKind::of_key_hash(hash),
            Self::ScriptHash(hash) => UnownedKind::of_script_hash(hash),
            Self::LongScriptHash(hash) => UnownedKind::of_script_hash(hash),
            Self::Witness(version, program) => UnownedKind::of_witness(*version, program),
            Self::Unspendable(_) => Some(UnownedKind::Unspendable),
            Self::Script(_) | Self::Pool(_) => None,
        }
    }

    /// True for a script that has no address.
    #[must_use]
    pub const fn is_bare_script(&self) -> bool {
        matches!(self, Self::Script(_) | Self::Unspendable(_))
    }

    /// The owner that an address represents; `None` for an address that occurs in no script.
    #[must_use]
    pub fn from_address(address: &CanonicalAddress) -> Option<Self> {
        Some(match address.payload() {
            Payload::PublicKeyHash(hash) => Self::KeyHash(*hash),
            Payload::ScriptHash(hash) => Self::ScriptHash(*hash),
            Payload::LongScriptHash(hash) => Self::LongScriptHash(*hash),
            Payload::Witness { version, program } => Self::Witness(*version, program.clone()),
            _ => return None,
        })
    }

    /// The owner's address on `chain`; `None` if the owner has no address.
    #[must_use]
    pub fn address(&self, chain: ChainId) -> Option<CanonicalAddress> {
        let payload = match self {
            Self::KeyHash(hash) => Payload::PublicKeyHash(*hash),
            Self::ScriptHash(hash) => Payload::ScriptHash(*hash),
            Self::LongScriptHash(hash) => Payload::LongScriptHash(*hash),
            Self::Witness(version, program) => {
                Payload::Witness { version: *version, program: program.clone() }
            }
            Self::Script(_) | Self::Unspendable(_) | Self::Pool(_) => return None,
        };
        CanonicalAddress::from_payload(chain, payload)
    }

    /// The owner in bytes for storage: a tag, then its hash or witness program.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(34);
        self.put_bytes(&mut bytes);
        bytes
    }

    /// Appends the bytes of [`ScriptOwner::to_bytes`].
    pub fn put_bytes(&self, into: &mut Vec<u8>) {
        let (tag, rest): (u8, &[u8]) = match self {
            Self::KeyHash(hash) => (0, hash),
            Self::ScriptHash(hash) => (1, hash),
            Self::LongScriptHash(hash) => (2, hash),
            Self::Witness(version, program) => {
                into.extend_from_slice(&[3, *version]);
                into.extend_from_slice(program);
                return;
            }
            Self::Script(hash) => (4, hash),
            Self::Pool(Pool::Mweb) => (5, &[0]),
            Self::Pool(Pool::ZcashShielded) => (5, &[1]),
            Self::Unspendable(hash) => (6, hash),
        };
        into.push(tag);
        into.extend_from_slice(rest);
    }

    /// The owner from the bytes of [`ScriptOwner::to_bytes`]; `None` if they are invalid.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(match bytes.split_first()? {
            (0, hash) => Self::KeyHash(hash.try_into().ok()?),
            (1, hash) => Self::ScriptHash(hash.try_into().ok()?),
            (2, hash) => Self::LongScriptHash(hash.try_into().ok()?),
            (3, [version, program @ ..]) => Self::Witness(*version, program.to_vec()),
            (4, hash) => Self::Script(hash.try_into().ok()?),
            (5, [0]) => Self::Pool(Pool::Mweb),
            (5, [1]) => Self::Pool(Pool::ZcashShielded),
            (6, hash) => Self::Unspendable(hash.try_into().ok()?),
            _ => return None,
        })
    }
}

/// True if no input can unlock a script: every way through it fails at `OP_RETURN`, or nodes refuse its length. On
/// Bitcoin SV a first `OP_RETURN` ends a script without an error, so that only `OP_FALSE` before it is a proof.
const fn is_unspendable(script: &[u8], forms: ScriptForms) -> bool {
    match script {
        [OP_0, OP_RETURN, ..] => true,
        [OP_RETURN, ..] => !forms.spendable_return,
        script => script.len() > LONGEST_SCRIPT && !forms.spendable_return,
    }
}

/// The script without its token prefix; the whole script if the prefix is malformed.
fn without_token(script: &[u8]) -> &[u8] {
    token_length(script).and_then(|length| script.get(length..)).unwrap_or(script)
}

/// The length of the token prefix of an output's script.
fn token_length(script: &[u8]) -> Option<usize> {
    const CATEGORY_BYTES: usize = 32;
    const HAS_COMMITMENT: u8 = 0x40;
    const HAS_AMOUNT: u8 = 0x10;
    if *script.first()? != CASH_TOKEN_PREFIX {
        return None;
    }
    let flags = *script.get(1 + CATEGORY_BYTES)?;
    let mut at = 1 + CATEGORY_BYTES + 1;
    if flags & HAS_COMMITMENT != 0 {
        let (length, bytes) = compact_size(script.get(at..)?)?;
        at = at.checked_add(bytes)?.checked_add(usize::try_from(length).ok()?)?;
    }
    if flags & HAS_AMOUNT != 0 {
        at = at.checked_add(compact_size(script.get(at..)?)?.1)?;
    }
    (at <= script.len()).then_some(at)
}

/// A number in Bitcoin's variable-length encoding, with its length in bytes.
fn compact_size(bytes: &[u8]) -> Option<(u64, usize)> {
    let number = |length: usize| {
        let taken = bytes.get(1..=length)?;
        let value = taken.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        Some((value, length + 1))
    };
    match *bytes.first()? {
        0xfd => number(2),
        0xfe => number(4),
        0xff => number(8),
        small => Some((small.into(), 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BCH: &str = "bch";
    const LTC: &str = "ltc";

    fn owner(chain: &str, script: &str) -> ScriptOwner {
        ScriptOwner::from_script(chain.parse().unwrap(), &hex::decode(script).unwrap())
    }

    fn address(chain: &str, script: &str) -> Option<String> {
        let chain = chain.parse().unwrap();
        let script = hex::decode(script).unwrap();
        ScriptOwner::from_script(chain, &script).address(chain).map(|address| address.to_string())
    }

    #[test]
    fn a_key_is_one_owner_however_it_is_paid() {
        // The first block's coinbase pays a key by itself; its address is the hash of that key.
        let key = "04678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5f";
        let paid_by_key = owner("btc", &format!("41{key}ac"));
        let paid_by_hash = owner("btc", "76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac");
        assert_eq!(paid_by_key, paid_by_hash);
        assert_eq!(
            paid_by_key.address(ChainId::BTC).unwrap().as_str(),
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"
        );
    }

    #[test]
    fn scripts_of_every_form_have_their_address() {
        let op_true = "00204ae81572f06e1b88fd5ced7a1a000945432e83e1551e6f721ee9c00b8cc33260";
        assert_eq!(
            address("btc", op_true).unwrap(),
            "bc1qft5p2uhsdcdc3l2ua4ap5qqfg4pjaqlp250x7us7a8qqhrxrxfsq2gp3gp"
        );
        let p2sh = "a914f815b036d9bbbce5e9f2a00abd1bf3dc91e9551087";
        assert_eq!(address("btc", p2sh).unwrap(), "3QJmV3qfvL9SuYo34YihAf3sRCW3qSinyC");
        assert!(address("doge", p2sh).unwrap().starts_with(['9', 'A']));
        // Bitcoin Cash has no segregated witness: any party could spend the output.
        assert!(matches!(owner(BCH, op_true), ScriptOwner::Script(_)));
        let taproot = format!("5120{}", "ab".repeat(32));
        assert!(address("btc", &taproot).unwrap().starts_with("bc1p"));
    }

    #[test]
    fn a_script_without_an_address_has_an_owner() {
        for script in ["", "51", "5121", "0020ab", "76a914"] {
            let owner = owner("btc", script);
            assert!(matches!(owner, ScriptOwner::Script(_)), "{script}");
            assert_eq!(owner.address(ChainId::BTC), None);
        }
    }

    #[test]
    fn nobody_owns_a_script_that_no_input_can_unlock() {
        let too_long = "51".repeat(10_001);
        for script in ["6a", "6a0568656c6c6f", "006a", &too_long] {
            for chain in ["btc", "doge", BCH] {
                let owner = owner(chain, script);
                assert_eq!(owner.unowned_kind(), Some(UnownedKind::Unspendable), "{chain}");
                assert_eq!(owner.address(chain.parse().unwrap()), None);
            }
        }
        let on_sv = |script: &str| owner("bsv", script).unowned_kind();
        assert_eq!(on_sv("006a"), Some(UnownedKind::Unspendable));
        assert_eq!((on_sv("6a"), on_sv(&too_long)), (None, None), "spendable since 2020");
        let zero = owner("btc", &format!("76a914{}88ac", "00".repeat(20)));
        assert_eq!(zero.unowned_kind(), Some(UnownedKind::Null));
        let somebody = owner("btc", &format!("76a914{}88ac", "11".repeat(20)));
        assert_eq!(somebody.unowned_kind(), None);
    }

    #[test]
    fn tokens_and_extension_blocks() {
        let plain = "76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac";
        let category = "bb".repeat(32);
        // Fungible amount only; commitment of three bytes; both.
        for token in ["10fd0001", "6003aabbcc", "7002aabb05"] {
            assert_eq!(owner(BCH, &format!("ef{category}{token}{plain}")), owner(BCH, plain));
        }
        assert!(matches!(
            owner("btc", &format!("ef{category}1001{plain}")),
            ScriptOwner::Script(_)
        ));
        let long = format!("aa20{}87", "cd".repeat(32));
        assert!(matches!(owner(BCH, &long), ScriptOwner::LongScriptHash(_)));
        assert!(matches!(owner("btc", &long), ScriptOwner::Script(_)));
        for version in ["58", "59"] {
            let script = format!("{version}20{}", "11".repeat(32));
            assert_eq!(owner(LTC, &script), ScriptOwner::Pool(Pool::Mweb));
            assert!(matches!(owner("btc", &script), ScriptOwner::Witness(8 | 9, _)));
        }
    }

    #[test]
    fn bytes_are_read_back() {
        let owners = [
            ScriptOwner::KeyHash([1; 20]),
            ScriptOwner::ScriptHash([2; 20]),
            ScriptOwner::LongScriptHash([3; 32]),
            ScriptOwner::Witness(1, vec![4; 32]),
            ScriptOwner::Script([5; 32]),
            ScriptOwner::Pool(Pool::Mweb),
            ScriptOwner::Pool(Pool::ZcashShielded),
            ScriptOwner::Unspendable([6; 32]),
        ];
        for owner in owners {
            assert_eq!(ScriptOwner::from_bytes(&owner.to_bytes()), Some(owner));
        }
        for junk in [&[][..], &[9], &[0, 1], &[3], &[5, 7]] {
            assert_eq!(ScriptOwner::from_bytes(junk), None);
        }
    }

    #[test]
    fn an_address_names_its_owner() {
        for (chain, text) in [
            ("btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
            ("btc", "bc1qft5p2uhsdcdc3l2ua4ap5qqfg4pjaqlp250x7us7a8qqhrxrxfsq2gp3gp"),
            ("zec", "t1KstPVzcNEK4ZeauQ6cogoqxQBMDSiRnGr"),
        ] {
            let chain = chain.parse().unwrap();
            let address = CanonicalAddress::parse(chain, text).unwrap();
            let owner = ScriptOwner::from_address(&address).unwrap();
            assert_eq!(owner.address(chain), Some(address));
        }
        let shielded =
            CanonicalAddress::parse("eth".parse().unwrap(), &format!("0x{}", "0".repeat(40)));
        assert_eq!(ScriptOwner::from_address(&shielded.unwrap()), None);
    }
}
