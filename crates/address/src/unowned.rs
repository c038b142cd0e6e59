//! Addresses that nobody controls: null addresses, burn addresses and precompiled contracts.
//!
//! Nobody can have the key of such an address, by the chain's rules or because no search could find a key for so many
//! chosen digits. An address is a burn address only if it is well known: an unusual text alone proves nothing.

use super::{AddressRules, CanonicalAddress, Payload};

/// Kind of an address or script that nobody controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnownedKind {
    /// A null address: its hash, key or account number is zero, or stands for "no account" in the chain's protocol.
    Null,
    /// A well-known burn address: its digits were chosen, so that nobody has its key.
    Burn,
    /// A contract that is part of the chain's virtual machine.
    Precompile,
    /// A script that no input can unlock.
    Unspendable,
}

impl UnownedKind {
    /// The kind in words, with an article.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Null => "a null address",
            Self::Burn => "a burn address",
            Self::Precompile => "a precompiled contract",
            Self::Unspendable => "an unspendable script",
        }
    }

    /// The kind of the hash of a key: zero, or of a well-known burn address of a Bitcoin-like chain. Every chain that
    /// has the hash has the same kind.
    #[must_use]
    pub fn of_key_hash(hash: &[u8; 20]) -> Option<Self> {
        if *hash == [0; 20] {
            return Some(Self::Null);
        }
        BURN_KEY_HASHES.contains(hash).then_some(Self::Burn)
    }

    /// The kind of a witness program: zero. Anybody may spend outputs of versions that have no meaning yet.
    #[must_use]
    pub fn of_witness(version: u8, program: &[u8]) -> Option<Self> {
        let is_hash_or_key = version <= 1 && matches!(program.len(), 20 | 32);
        if is_hash_or_key { Self::of_script_hash(program) } else { None }
    }

    /// The kind of the hash of a script: zero.
    #[must_use]
    pub fn of_script_hash(hash: &[u8]) -> Option<Self> {
        hash.iter().all(|byte| *byte == 0).then_some(Self::Null)
    }

    /// The kind of an account of an EVM chain or TRON.
    #[must_use]
    pub fn of_account(account: &[u8; 20]) -> Option<Self> {
        let [first, ..] = *account;
        if account.starts_with(&[0; 18]) {
            let [.., high, low] = *account;
            return match u16::from_be_bytes([high, low]) {
                0 => Some(Self::Null),
                1..=LAST_PRECOMPILE => Some(Self::Precompile),
                0xdead => Some(Self::Burn),
                _ => None,
            };
        }
        let repeats_one_digit = first >> 4 == first & 0xf && *account == [first; 20];
        (repeats_one_digit || BURN_ACCOUNTS.contains(account)).then_some(Self::Burn)
    }
}

impl CanonicalAddress {
    /// Kind of the address if nobody controls it; `None` for every other address.
    #[must_use]
    pub fn unowned_kind(&self) -> Option<UnownedKind> {
        let rules = self.chain.info().rules;
        match &self.payload {
            Payload::Account(account) => UnownedKind::of_account(account),
            // The XRP Ledger calls the account 1 "no account", like the account 0.
            Payload::PublicKeyHash([0, .., 0, 1]) if self.text == XRP_ACCOUNT_ONE => {
                Some(UnownedKind::Null)
            }
            Payload::PublicKeyHash(hash) => UnownedKind::of_key_hash(hash),
            Payload::ScriptHash(hash) => UnownedKind::of_script_hash(hash),
            Payload::LongScriptHash(hash) => UnownedKind::of_script_hash(hash),
            Payload::Witness { version, program } => UnownedKind::of_witness(*version, program),
            Payload::LongAccount(account) => match rules {
                AddressRules::Solana if self.text == SOLANA_INCINERATOR => Some(UnownedKind::Burn),
                // Their signature schemes refuse the key zero.
                AddressRules::Solana | AddressRules::Stellar | AddressRules::Algorand => {
                    UnownedKind::of_script_hash(account)
                }
                _ => None,
            },
            Payload::Text(text) => TEXTS
                .iter()
                .find(|(_, known)| known == text)
                .filter(|(is_of, _)| is_of(rules))
                .map(|_| UnownedKind::Burn),
            Payload::Receivers(_) | Payload::Monero { .. } => None,
        }
    }
}

/// Last number of the precompiled contracts: those of Ethereum (1 to 17, 256) and the numbers between, which other EVM
/// chains use for theirs.
const LAST_PRECOMPILE: u16 = 0x100;

/// Burn addresses of EVM chains besides the account `0xdead` and accounts of one repeated digit.
const BURN_ACCOUNTS: [[u8; 20]; 4] = [
    // 0xdEAD000000000000000042069420694206942069
    [0xde, 0xad, 0, 0, 0, 0, 0, 0, 0, 0, 0x42, 6, 0x94, 0x20, 0x69, 0x42, 6, 0x94, 0x20, 0x69],
    // 0xdEaD000000000000000000000000000000000000
    [0xde, 0xad, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    // 0x1234567890123456789012345678901234567890
    [
        0x12, 0x34, 0x56, 0x78, 0x90, 0x12, 0x34, 0x56, 0x78, 0x90, 0x12, 0x34, 0x56, 0x78, 0x90,
        0x12, 0x34, 0x56, 0x78, 0x90,
    ],
    // 0x0123456789012345678901234567890123456789
    [
        0x01, 0x23, 0x45, 0x67, 0x89, 0x01, 0x23, 0x45, 0x67, 0x89, 0x01, 0x23, 0x45, 0x67, 0x89,
        0x01, 0x23, 0x45, 0x67, 0x89,
    ],
];

/// Key hashes of well-known burn addresses of Bitcoin and Dogecoin.
const BURN_KEY_HASHES: [[u8; 20]; 4] = [
    // 1BitcoinEaterAddressDontSendf59kuE
    [
        0x75, 0x9d, 0x66, 0x77, 0x09, 0x1e, 0x97, 0x3b, 0x9e, 0x9d, 0x99, 0xf1, 0x9c, 0x68, 0xfb,
        0xf4, 0x3e, 0x3f, 0x05, 0xf9,
    ],
    // 1CounterpartyXXXXXXXXXXXXXXXUWLpVr
    [
        0x81, 0x88, 0x95, 0xf3, 0xdc, 0x2c, 0x17, 0x86, 0x29, 0xd3, 0xd2, 0xd8, 0xfa, 0x3e, 0xc4,
        0xa3, 0xf8, 0x17, 0x98, 0x21,
    ],
    // 1ChancecoinXXXXXXXXXXXXXXXXXZELUFD
    [
        0x80, 0x56, 0x39, 0xc1, 0x81, 0x49, 0xc3, 0x75, 0xa9, 0x77, 0x30, 0x0c, 0xd0, 0x82, 0x1b,
        0xbb, 0x97, 0x31, 0x51, 0x55,
    ],
    // DDogepartyxxxxxxxxxxxxxxxxxxw1dfzr
    [
        0x5f, 0x0d, 0x49, 0xfe, 0xb9, 0x84, 0x2f, 0x4e, 0xf9, 0x58, 0xd1, 0xa2, 0xf6, 0x9a, 0x77,
        0x6c, 0xe1, 0x7f, 0x28, 0x08,
    ],
];

const XRP_ACCOUNT_ONE: &str = "rrrrrrrrrrrrrrrrrrrrBZbvji";
const SOLANA_INCINERATOR: &str = "1nc1nerator11111111111111111111111111111111";

/// Tells if a chain has address rules.
type RulesTest = fn(AddressRules) -> bool;

/// Burn addresses of chains whose addresses commit to nothing that other chains share.
const TEXTS: [(RulesTest, &str); 3] = [
    (|rules| matches!(rules, AddressRules::Tezos), "tz1burnburnburnburnburnburnburjAYjjX"),
    (|rules| matches!(rules, AddressRules::Eos), "eosio.null"),
    (
        |rules| matches!(rules, AddressRules::Ton),
        "EQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAM9c",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(chain: &str, text: &str) -> Option<UnownedKind> {
        let chain = chain.parse().unwrap();
        CanonicalAddress::parse(chain, text)
            .unwrap_or_else(|e| panic!("{text}: {e}"))
            .unowned_kind()
    }

    fn account(number: u32) -> String {
        format!("0x{number:040x}")
    }

    #[test]
    fn null_addresses_burn_addresses_and_precompiles_are_told() {
        use UnownedKind::{Burn, Null, Precompile};
        for chain in ["eth", "bsc", "polygon"] {
            assert_eq!(kind(chain, &account(0)), Some(Null));
            assert_eq!(kind(chain, &account(1)), Some(Precompile));
            assert_eq!(kind(chain, &account(0x11)), Some(Precompile));
            assert_eq!(kind(chain, &account(0xdead)), Some(Burn));
            assert_eq!(kind(chain, &format!("0x{}", "e".repeat(40))), Some(Burn));
            assert_eq!(kind(chain, "0xdead000000000000000042069420694206942069"), Some(Burn));
        }
        for (chain, text, expected) in [
            ("trx", "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", Null),
            ("btc", "1111111111111111111114oLvT2", Null),
            ("btc", "31h1vYVSYuKP6AhS86fbRdMw9XHieotbST", Null),
            ("btc", "1BitcoinEaterAddressDontSendf59kuE", Burn),
            ("btc", "1CounterpartyXXXXXXXXXXXXXXXUWLpVr", Burn),
            ("bsv", "1ChancecoinXXXXXXXXXXXXXXXXXZELUFD", Burn),
            ("doge", "DDogepartyxxxxxxxxxxxxxxxxxxw1dfzr", Burn),
            ("xrp", "rrrrrrrrrrrrrrrrrrrrrhoLvTp", Null),
            ("xrp", "rrrrrrrrrrrrrrrrrrrrBZbvji", Null),
            ("sol", "11111111111111111111111111111111", Null),
            ("sol", "1nc1nerator11111111111111111111111111111111", Burn),
            ("xlm", "GAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAWHF", Null),
            ("xtz", "tz1burnburnburnburnburnburnburjAYjjX", Burn),
            ("eos", "eosio.null", Burn),
            ("ton", "EQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAM9c", Burn),
        ] {
            assert_eq!(kind(chain, text), Some(expected), "{text}");
        }
    }

    #[test]
    fn every_other_address_has_an_owner() {
        for (chain, text) in [
            ("eth", "0x722122dF12D4e14e13Ac3b6895a86e84145b6967".to_owned()),
            // A vanity contract, and a system contract that holds money.
            ("eth", "0x0000000000004946c0e9F43F4Dee607b0eF1fA1c".to_owned()),
            ("bsc", account(0x1004)),
            ("eth", account(0x101)),
            ("eth", format!("0x{}", "12".repeat(20))),
            ("btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa".to_owned()),
            ("sol", "7UVttrLkRkZFn4FsTuihX5zCJ1ounF5Ts8CkSqPGN2Dh".to_owned()),
            ("eos", "eosio.token".to_owned()),
        ] {
            assert_eq!(kind(chain, &text), None, "{text}");
        }
    }
}
