//! Addresses against the vectors of others. Where we differ, the chain's own specification says why.

use std::collections::BTreeMap;

use assay_engine::{address::CanonicalAddress, chain::ChainId};
use assay_tests::TestData;
use serde_json::Value;

fn json(data: &TestData, name: &str) -> Value {
    serde_json::from_str(&data.text(name)).unwrap()
}

fn reason(chain: ChainId, text: &str) -> Result<(), &'static str> {
    CanonicalAddress::parse(chain, text).map(|_| ()).map_err(|error| error.reason())
}

#[test]
fn bip_173_and_350() {
    let Some(data) = TestData::find() else { return };
    let vectors = json(&data, "addresses/bip173_bip350_vectors.json");
    for pair in vectors["VALID_ADDRESS"].as_array().unwrap() {
        let (text, script) = (pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
        if text.to_lowercase().starts_with("tb1") {
            // Valid for the BIPs, which cover the test network; not an address of Bitcoin.
            assert_eq!(reason(ChainId::BTC, text), Err("test_network"), "{text}");
            continue;
        }
        let address = CanonicalAddress::parse(ChainId::BTC, text).unwrap();
        assert_eq!(address.as_str(), text.to_lowercase());
        assert_eq!(script_of(&address), script, "{text}");
    }
    for text in vectors["INVALID_ADDRESS"].as_array().unwrap() {
        let text = text.as_str().unwrap();
        assert!(reason(ChainId::BTC, text).is_err(), "{text}");
    }
    // Bech32 strings that are no addresses: checksums alone do not make one.
    for text in vectors["VALID_BECH32"]
        .as_array()
        .unwrap()
        .iter()
        .chain(vectors["VALID_BECH32M"].as_array().unwrap())
    {
        assert!(reason(ChainId::BTC, text.as_str().unwrap()).is_err(), "{text}");
    }
}

/// The output script that a segwit address stands for.
fn script_of(address: &CanonicalAddress) -> String {
    use assay_engine::address::KeyIdentity;
    let (version, program) = match address.key_identities().swap_remove(0) {
        KeyIdentity::PublicKeyHash(hash) => (0, hash.to_vec()),
        KeyIdentity::Witness(version, program) => (version, program),
        other => panic!("not segwit: {other:?}"),
    };
    let opcode = if version == 0 { 0 } else { 0x50 + version };
    format!("{opcode:02x}{:02x}{}", program.len(), hex::encode(program))
}

/// Vectors of the widely used validator with which we differ: chain, text, our reason, and why.
const DIFFERENCES: &[(&str, &str, &str, &str)] = &[
    (
        "btc",
        "mptPo5AvLzJXi4T82vR6g82fT5uJ6HsQCu",
        "test_network",
        "valid there when asked for both networks; version byte 0x6f is the test network's",
    ),
    (
        "btc",
        "mzBc4XEFSdzCDcTxAgf6EZXgsZWpztRhef",
        "test_network",
        "asked for the test network; version byte 0x6f",
    ),
    (
        "btc",
        "2MxKEf2su6FGAUfCEAHreGFQvEYrfYNHvL7",
        "test_network",
        "asked for the test network; version byte 0xc4",
    ),
    (
        "btc",
        "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7",
        "test_network",
        "asked for the test network; prefix tb",
    ),
    (
        "btc",
        "tb1qqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesrxh6hy",
        "test_network",
        "asked for the test network; prefix tb",
    ),
    (
        "btc",
        "GSa5espVLNseXEfKt46zEdS6jrPkmFghBU",
        "unknown_version",
        "version byte 0x26 is no kind of address of any Bitcoin network",
    ),
];

#[test]
fn a_widely_used_validators_own_vectors() {
    let Some(data) = TestData::find() else { return };
    let names: BTreeMap<&str, &str> = [
        ("bitcoin", "btc"),
        ("btc", "btc"),
        ("ethereum", "eth"),
        ("eth", "eth"),
        ("trx", "trx"),
        ("tron", "trx"),
        ("etc", "etc"),
        ("ethereumclassic", "etc"),
        ("avax", "avalanche"),
        ("arbitrum", "arbitrum"),
    ]
    .into();
    let mut checked = BTreeMap::new();
    for vector in json(&data, "addresses/multicoin_vectors.json").as_array().unwrap() {
        let currency = vector["currency"].as_str().unwrap().to_lowercase();
        let Some(chain) = names.get(currency.as_str()) else { continue };
        let (text, valid) =
            (vector["address"].as_str().unwrap(), vector["valid"].as_bool().unwrap());
        let ours = reason(chain.parse().unwrap(), text);
        let known = DIFFERENCES.iter().find(|(of, other, ..)| of == chain && *other == text);
        match known {
            Some((_, _, expected, why)) => assert_eq!(ours, Err(*expected), "{text}: {why}"),
            None => {
                assert_eq!(ours.is_ok(), valid, "{chain} {text}: {ours:?} {}", vector["options"]);
            }
        }
        *checked.entry(*chain).or_insert(0) += 1;
    }
    for (chain, least) in [("btc", 40), ("eth", 22), ("trx", 9)] {
        assert!(checked[chain] >= least, "{checked:?}");
    }
}

#[test]
fn a_widely_used_librarys_own_vectors() {
    let Some(data) = TestData::find() else { return };
    let vectors = json(&data, "addresses/bip_utils_valid_vectors.json");
    let texts = |kind: &str| -> Vec<String> {
        vectors[kind]
            .as_array()
            .unwrap()
            .iter()
            .map(|text| text.as_str().unwrap().to_owned())
            .collect()
    };
    for text in texts("eth") {
        assert_eq!(reason(ChainId::ETH, &text), Ok(()), "{text}");
    }
    for text in texts("trx") {
        assert_eq!(reason(ChainId::TRX, &text), Ok(()), "{text}");
    }
    // These kinds hold addresses of many coins: ours are told by how they start.
    for (kind, ours) in [("P2PKH", "1"), ("P2SH", "3"), ("P2WPKH", "bc1"), ("P2TR", "bc1")] {
        let mut found = 0;
        for text in texts(kind) {
            let outcome = reason(ChainId::BTC, &text);
            if text.starts_with(ours) {
                assert_eq!(outcome, Ok(()), "{text}");
                found += 1;
            } else {
                assert!(outcome.is_err(), "{text} belongs to another coin or a test network");
            }
        }
        assert!(found > 0, "{kind}");
    }
    // Everything of other families is refused by all our chains, except what shares our form.
    for kind in [
        "ada_byron",
        "ada_shelley",
        "algo",
        "atom",
        "eos",
        "near",
        "sol",
        "substrate",
        "ton",
        "xlm",
        "xmr",
        "xrp",
        "xtz",
        "zil",
    ] {
        for text in texts(kind) {
            for chain in ChainId::all() {
                assert!(reason(chain, &text).is_err(), "{text} read as {chain}");
            }
        }
    }
}
