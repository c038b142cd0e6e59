//! The networks of Bitcoin-like chains: one constant each, from the chain's own node software
//! (`chainparams`).

use super::bitcoin::{BitcoinRules, Network};

const TESTNET_KEY: &[u8] = &[0x6F];
const TESTNET_SCRIPT: &[u8] = &[0xC4];

/// A network with version bytes of its base58 forms, and the prefix of its bech32 form.
const fn network(
    name: &'static str,
    public_key_hash: &'static [&'static [u8]],
    script_hash: &'static [&'static [u8]],
    prefix: Option<&'static str>,
) -> Network {
    Network { name, public_key_hash, script_hash, prefix }
}

/// Bitcoin.
pub(crate) static BITCOIN: BitcoinRules = BitcoinRules {
    main: network("Bitcoin", &[&[0x00]], &[&[0x05]], Some("bc")),
    tests: &[
        network("Bitcoin testnet or signet", &[TESTNET_KEY], &[TESTNET_SCRIPT], Some("tb")),
        network("Bitcoin regtest", &[], &[], Some("bcrt")),
    ],
    starts: &["1", "3", "m", "n", "2"],
    expected: "`1...` (P2PKH), `3...` (P2SH) or `bc1...` (segregated witness)",
};

/// Litecoin. Addresses `3...` are the older spelling of addresses `M...`.
pub(crate) static LITECOIN: BitcoinRules = BitcoinRules {
    main: network("Litecoin", &[&[0x30]], &[&[0x32], &[0x05]], Some("ltc")),
    tests: &[
        network("Litecoin testnet", &[TESTNET_KEY], &[&[0x3A], TESTNET_SCRIPT], Some("tltc")),
        network("Litecoin regtest", &[], &[], Some("rltc")),
    ],
    starts: &["L", "M", "3", "m", "n", "2", "Q"],
    expected: "`L...` (P2PKH), `M...` or `3...` (P2SH) or `ltc1...` (segregated witness)",
};

/// The base58 forms of Bitcoin Cash, which are Bitcoin's own.
pub(crate) static BITCOIN_CASH: BitcoinRules = BitcoinRules {
    main: network("Bitcoin Cash", &[&[0x00]], &[&[0x05]], None),
    tests: &[network("Bitcoin Cash testnet", &[TESTNET_KEY], &[TESTNET_SCRIPT], None)],
    starts: &["1", "3", "m", "n", "2"],
    expected: "`bitcoincash:q...` or `bitcoincash:p...` (CashAddr), `1...` (P2PKH) or `3...` (P2SH)",
};

/// Bitcoin SV.
pub(crate) static BITCOIN_SV: BitcoinRules = BitcoinRules {
    main: network("Bitcoin SV", &[&[0x00]], &[&[0x05]], None),
    tests: &[network("Bitcoin SV testnet", &[TESTNET_KEY], &[TESTNET_SCRIPT], None)],
    starts: &["1", "3", "m", "n", "2"],
    expected: "`1...` (P2PKH) or `3...` (P2SH)",
};

/// Bitcoin Gold.
pub(crate) static BITCOIN_GOLD: BitcoinRules = BitcoinRules {
    main: network("Bitcoin Gold", &[&[0x26]], &[&[0x17]], Some("btg")),
    tests: &[network("Bitcoin Gold testnet", &[TESTNET_KEY], &[TESTNET_SCRIPT], Some("tbtg"))],
    starts: &["G", "A", "m", "n", "2"],
    expected: "`G...` (P2PKH), `A...` (P2SH) or `btg1...` (segregated witness)",
};

/// Dogecoin.
pub(crate) static DOGECOIN: BitcoinRules = BitcoinRules {
    main: network("Dogecoin", &[&[0x1E]], &[&[0x16]], None),
    tests: &[network("Dogecoin testnet", &[&[0x71], TESTNET_KEY], &[TESTNET_SCRIPT], None)],
    starts: &["D", "9", "A", "m", "n", "2"],
    expected: "`D...` (P2PKH), `9...` or `A...` (P2SH)",
};

/// Dash.
pub(crate) static DASH: BitcoinRules = BitcoinRules {
    main: network("Dash", &[&[0x4C]], &[&[0x10]], None),
    tests: &[network("Dash testnet", &[&[0x8C]], &[&[0x13]], None)],
    starts: &["X", "7", "y", "8", "9"],
    expected: "`X...` (P2PKH) or `7...` (P2SH)",
};

/// The transparent addresses of Zcash, whose versions have two bytes.
pub(crate) static ZCASH: BitcoinRules = BitcoinRules {
    main: network("Zcash", &[&[0x1C, 0xB8]], &[&[0x1C, 0xBD]], None),
    tests: &[network("Zcash testnet", &[&[0x1D, 0x25]], &[&[0x1C, 0xBA]], None)],
    starts: &["t1", "t3", "tm", "t2"],
    expected: "`t1...`, `t3...` or `tex1...` (transparent), `zs1...` (Sapling) or `u1...` (unified)",
};

/// Verge.
pub(crate) static VERGE: BitcoinRules = BitcoinRules {
    main: network("Verge", &[&[0x1E]], &[&[0x21]], None),
    tests: &[network("Verge testnet", &[&[0x73], TESTNET_KEY], &[&[0xC6], TESTNET_SCRIPT], None)],
    starts: &["D", "E", "n", "m", "2"],
    expected: "`D...` (P2PKH) or `E...` (P2SH)",
};
