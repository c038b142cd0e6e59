//! The networks of Bitcoin-like chains: one constant each, from the chain's own node software
//! (`chainparams`).

use super::bitcoin::{BitcoinRules, Network};

const TESTNET_KEY: &[u8] = &[0x6F];
const TESTNET_SCRIPT: &[u8] = &[0xC4];

/// Bitcoin.
pub(crate) static BITCOIN: BitcoinRules = BitcoinRules {
    main: Network {
        name: "Bitcoin",
        public_key_hash: &[&[0x00]],
        script_hash: &[&[0x05]],
        prefix: Some("bc"),
    },
    tests: &[
        Network {
            name: "Bitcoin testnet or signet",
            public_key_hash: &[TESTNET_KEY],
            script_hash: &[TESTNET_SCRIPT],
            prefix: Some("tb"),
        },
        Network {
            name: "Bitcoin regtest",
            public_key_hash: &[],
            script_hash: &[],
            prefix: Some("bcrt"),
        },
    ],
    starts: &["1", "3", "m", "n", "2"],
    expected: "`1...` (P2PKH), `3...` (P2SH) or `bc1...` (segregated witness)",
};

/// Litecoin. `3...` is the older spelling of `M...`.
pub(crate) static LITECOIN: BitcoinRules = BitcoinRules {
    main: Network {
        name: "Litecoin",
        public_key_hash: &[&[0x30]],
        script_hash: &[&[0x32], &[0x05]],
        prefix: Some("ltc"),
    },
    tests: &[
        Network {
            name: "Litecoin testnet",
            public_key_hash: &[TESTNET_KEY],
            script_hash: &[&[0x3A], TESTNET_SCRIPT],
            prefix: Some("tltc"),
        },
        Network {
            name: "Litecoin regtest",
            public_key_hash: &[],
            script_hash: &[],
            prefix: Some("rltc"),
        },
    ],
    starts: &["L", "M", "3", "m", "n", "2", "Q"],
    expected: "`L...` (P2PKH), `M...` or `3...` (P2SH) or `ltc1...` (segregated witness)",
};

/// The base58 forms of Bitcoin Cash, which are Bitcoin's own.
pub(crate) static BITCOIN_CASH: BitcoinRules = BitcoinRules {
    main: Network {
        name: "Bitcoin Cash",
        public_key_hash: &[&[0x00]],
        script_hash: &[&[0x05]],
        prefix: None,
    },
    tests: &[Network {
        name: "Bitcoin Cash testnet",
        public_key_hash: &[TESTNET_KEY],
        script_hash: &[TESTNET_SCRIPT],
        prefix: None,
    }],
    starts: &["1", "3", "m", "n", "2"],
    expected: "`bitcoincash:q...` or `bitcoincash:p...` (CashAddr), `1...` (P2PKH) or `3...` (P2SH)",
};

/// Bitcoin SV.
pub(crate) static BITCOIN_SV: BitcoinRules = BitcoinRules {
    main: Network {
        name: "Bitcoin SV",
        public_key_hash: &[&[0x00]],
        script_hash: &[&[0x05]],
        prefix: None,
    },
    tests: &[Network {
        name: "Bitcoin SV testnet",
        public_key_hash: &[TESTNET_KEY],
        script_hash: &[TESTNET_SCRIPT],
        prefix: None,
    }],
    starts: &["1", "3", "m", "n", "2"],
    expected: "`1...` (P2PKH) or `3...` (P2SH)",
};

/// Bitcoin Gold.
pub(crate) static BITCOIN_GOLD: BitcoinRules = BitcoinRules {
    main: Network {
        name: "Bitcoin Gold",
        public_key_hash: &[&[0x26]],
        script_hash: &[&[0x17]],
        prefix: Some("btg"),
    },
    tests: &[Network {
        name: "Bitcoin Gold testnet",
        public_key_hash: &[TESTNET_KEY],
        script_hash: &[TESTNET_SCRIPT],
        prefix: Some("tbtg"),
    }],
    starts: &["G", "A", "m", "n", "2"],
    expected: "`G...` (P2PKH), `A...` (P2SH) or `btg1...` (segregated witness)",
};

/// Dogecoin.
pub(crate) static DOGECOIN: BitcoinRules = BitcoinRules {
    main: Network {
        name: "Dogecoin",
        public_key_hash: &[&[0x1E]],
        script_hash: &[&[0x16]],
        prefix: None,
    },
    tests: &[Network {
        name: "Dogecoin testnet",
        public_key_hash: &[&[0x71], TESTNET_KEY],
        script_hash: &[TESTNET_SCRIPT],
        prefix: None,
    }],
    starts: &["D", "9", "A", "m", "n", "2"],
    expected: "`D...` (P2PKH), `9...` or `A...` (P2SH)",
};

/// Dash.
pub(crate) static DASH: BitcoinRules = BitcoinRules {
    main: Network {
        name: "Dash",
        public_key_hash: &[&[0x4C]],
        script_hash: &[&[0x10]],
        prefix: None,
    },
    tests: &[Network {
        name: "Dash testnet",
        public_key_hash: &[&[0x8C]],
        script_hash: &[&[0x13]],
        prefix: None,
    }],
    starts: &["X", "7", "y", "8", "9"],
    expected: "`X...` (P2PKH) or `7...` (P2SH)",
};

/// The transparent addresses of Zcash, whose versions have two bytes.
pub(crate) static ZCASH: BitcoinRules = BitcoinRules {
    main: Network {
        name: "Zcash",
        public_key_hash: &[&[0x1C, 0xB8]],
        script_hash: &[&[0x1C, 0xBD]],
        prefix: None,
    },
    tests: &[Network {
        name: "Zcash testnet",
        public_key_hash: &[&[0x1D, 0x25]],
        script_hash: &[&[0x1C, 0xBA]],
        prefix: None,
    }],
    starts: &["t1", "t3", "tm", "t2"],
    expected: "`t1...`, `t3...` or `tex1...` (transparent), `zs1...` (Sapling) or `u1...` (unified)",
};

/// Verge.
pub(crate) static VERGE: BitcoinRules = BitcoinRules {
    main: Network {
        name: "Verge",
        public_key_hash: &[&[0x1E]],
        script_hash: &[&[0x21]],
        prefix: None,
    },
    tests: &[Network {
        name: "Verge testnet",
        public_key_hash: &[&[0x73], TESTNET_KEY],
        script_hash: &[&[0xC6], TESTNET_SCRIPT],
        prefix: None,
    }],
    starts: &["D", "E", "n", "m", "2"],
    expected: "`D...` (P2PKH) or `E...` (P2SH)",
};
