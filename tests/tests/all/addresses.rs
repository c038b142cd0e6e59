//! Addresses of published test vectors. Every difference between Assay and the vectors follows the chain's own
//! specification.

use std::collections::BTreeMap;

use assay_address::{CanonicalAddress, ChainId};
use assay_test_random::Random;
use assay_tests::{TestData, is_full};
use serde_json::Value;

fn json(data: &TestData, name: &str) -> Value {
    serde_json::from_str(&data.text(name)).unwrap()
}

fn reason(chain: ChainId, text: &str) -> Result<(), &'static str> {
    CanonicalAddress::parse(chain, text).map(|_| ()).map_err(|error| error.reason())
}

#[test]
#[ignore = "needs test data"]
fn bip_173_and_350() {
    let data = TestData::find();
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

/// The output script of a segwit address.
fn script_of(address: &CanonicalAddress) -> String {
    use assay_address::KeyIdentity;
    let (version, program) = match address.key_identities().swap_remove(0) {
        KeyIdentity::PublicKeyHash(hash) => (0, hash.to_vec()),
        KeyIdentity::Witness(version, program) => (version, program),
        other => panic!("not segwit: {other:?}"),
    };
    let opcode = if version == 0 { 0 } else { 0x50 + version };
    format!("{opcode:02x}{:02x}{}", program.len(), hex::encode(program))
}

/// Vectors of a widely used validator from which Assay differs: chain, text, Assay's reason, and an explanation.
const DIFFERENCES: &str = "\
btc | mptPo5AvLzJXi4T82vR6g82fT5uJ6HsQCu | test_network | valid there when asked for both networks; version byte 0x6f is the test network's
btc | mzBc4XEFSdzCDcTxAgf6EZXgsZWpztRhef | test_network | asked for the test network; version byte 0x6f
btc | 2MxKEf2su6FGAUfCEAHreGFQvEYrfYNHvL7 | test_network | asked for the test network; version byte 0xc4
btc | tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7 | test_network | asked for the test network; prefix tb
btc | tb1qqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesrxh6hy | test_network | asked for the test network; prefix tb
btc | GSa5espVLNseXEfKt46zEdS6jrPkmFghBU | other_chain | version byte 0x26 is Bitcoin Gold's, and no kind of address of any Bitcoin network
ltc | 3FLj1iFqS359KvBXeaStPgqX7hgyifVKbN | valid | version byte 0x05 was Litecoin's own for script hashes and is still read by its node
eos | 123456789012 | unknown_form | names have no digits but 1 to 5
eos | 12345678.012 | unknown_form | names have no digits but 1 to 5
dot | 5CK8D1sKNwF473wbuBP6NuhQfPaWUetNsWUNAAzVwTfxqjfr | other_chain | network 42 of SS58 is the generic one, 0 is Polkadot's
dot | CpjsLDC1JFyrhm3ftC9Gs4QoyrkHKhZKtK7YqGTRFtTafgp | other_chain | network 2 of SS58 is Kusama's
dot | CxDDSH8gS7jecsxaRL9Txf8H5kqesLXAEAEgp76Yz632J9M | other_chain | network 2 of SS58 is Kusama's
";

#[test]
#[ignore = "needs test data"]
fn a_widely_used_validators_own_vectors() {
    let data = TestData::find();
    let names = "bitcoin=btc btc=btc ethereum=eth eth=eth trx=trx tron=trx etc=etc ethereumclassic=etc \
        avax=avalanche arbitrum=arbitrum arb=arbitrum op=optimism binancesmartchain=bsc \
        binance=bsc bnb=bsc celo=celo bera=berachain ethw=ethw flr=flare s=sonic litecoin=ltc \
        ltc=ltc bitcoincash=bch bch=bch bsv=bsv bitcoingold=btg btg=btg dogecoin=doge \
        doge=doge dash=dash zcash=zec zec=zec solana=sol sol=sol ripple=xrp xrp=xrp monero=xmr \
        xmr=xmr ada=ada cardano=ada algo=algo apt=apt aptos=apt dot=dot eos=eos hbar=hbar \
        hedera=hbar neo=neo stellar=xlm xlm=xlm xtz=xtz";
    let names: BTreeMap<&str, &str> =
        names.split_whitespace().filter_map(|name| name.split_once('=')).collect();
    let (mut checked, mut surprises) = (BTreeMap::new(), Vec::new());
    for vector in json(&data, "addresses/multicoin_vectors.json").as_array().unwrap() {
        let currency = vector["currency"].as_str().unwrap().to_lowercase();
        let Some(chain) = names.get(currency.as_str()) else { continue };
        let (text, valid) =
            (vector["address"].as_str().unwrap(), vector["valid"].as_bool().unwrap());
        let ours = reason(chain.parse().unwrap(), text);
        let begin = format!("{chain} | {text} | ");
        let known = DIFFERENCES.lines().find_map(|row| row.strip_prefix(&begin));
        let known = known.and_then(|row| row.split_once(" | "));
        // The vector asks for another network than the one with value.
        let of_test = vector["options"].to_string();
        let of_test = ["testnet", "stagenet", "both"].iter().any(|name| of_test.contains(name));
        let as_expected = match known {
            Some((expected, _why)) => ours.err().unwrap_or("valid") == expected,
            None if of_test && ours.is_err() => !valid || ours == Err("test_network"),
            None => ours.is_ok() == valid,
        };
        if !as_expected {
            surprises.push(format!("{chain} {text}: {ours:?}, there {valid}"));
        }
        *checked.entry(*chain).or_insert(0) += 1;
    }
    assert_eq!(surprises, Vec::<String>::new());
    for (chain, least) in [("btc", 40), ("eth", 22), ("trx", 9)] {
        assert!(checked[chain] >= least, "{checked:?}");
    }
}

#[test]
#[ignore = "needs test data"]
fn a_widely_used_librarys_own_vectors() {
    let data = TestData::find();
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
    // Each kind holds addresses of many coins: which of our chains read one, and how many.
    let mut read = BTreeMap::new();
    for (kind, texts) in vectors.as_object().unwrap() {
        for text in texts.as_array().unwrap() {
            let text = text.as_str().unwrap();
            let chains: Vec<_> =
                // Any text is one of `other`.
                ChainId::all()
                    .filter(|chain| chain.as_str() != "other" && reason(*chain, text).is_ok())
                    .collect();
            let named = match &*chains {
                [] => continue,
                [ChainId::ETH, ..] => "evm".to_owned(),
                chains => chains.iter().map(|chain| chain.as_str()).collect::<Vec<_>>().join(" "),
            };
            *read.entry(format!("{kind}: {named}")).or_insert(0) += 1;
        }
    }
    insta::assert_json_snapshot!("bip_utils_vectors_by_chain", read);
}

fn near_misses() -> usize {
    if is_full() { 100_000 } else { 20_000 }
}

/// Chains with one address of each form that has a checksum.
const WITH_CHECKSUM: &str = "\
btc 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa 3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy
btc bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4 bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0
trx TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg3r
ltc LVg2kJoFNg45Nbpy53h7Fe1wKyeXVRhMH9 ltc1qg42tkwuuxefutzxezdkdel39gfstuap288mfea
bch bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a 1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu
bsv 1DrNXqCj2B8FKyx66RAWDkiEJhw2yrvhT3
btg GW3JrQyHtoVfEFES3Y9JagiX3VSKQStLwj
doge DPpJVPpvPNP6i6tMj4rTycAGh8wReTqaSU
dash Xx4dYKgz3Zcv6kheaqog3fynaKWjbahb6b
zec t1U9yhDa5XEjgfnTgZoKddeSiEN1aoLkQxq tex1s2rt77ggv6q989lr49rkgzmh5slsksa9khdgte zs1z7rejlpsa98s2rrrfkwmaxu53e4ue0ulcrw0h4x5g8jl04tak0d3mm47vdtahatqrlkngh9slya
xvg DPpJVPpvPNP6i6tMj4rTycAGh8wReTqaSU
xrp rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh XVLhHMPHU98es4dbozjVtdWzVrDjtV8xvjGQTYPiAx6gwDC
xmr 47zQ5LAivg6hNCgijXSEFVLX7mke1bgM6YGLFaANDoJbgXDymcAAZvvMNt2PmMpqEe5qRy2zyfMYXdwpmdyitiFh84xnPG2
bep2 bnb1lwjdd82uj4fqhu8nqw5d959rhys58dccv9aalj
";

#[test]
fn no_near_miss_passes_a_checksum() {
    const CHARACTERS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut random = Random::new(1);
    for row in WITH_CHECKSUM.lines() {
        let (chain, addresses) = row.split_once(' ').unwrap();
        let chain: ChainId = chain.parse().unwrap();
        let addresses: Vec<&str> = addresses.split(' ').collect();
        for address in &addresses {
            assert_eq!(reason(chain, address), Ok(()), "{address}");
        }
        for round in 0..near_misses() {
            let address = addresses[round % addresses.len()];
            let mut text = address.as_bytes().to_vec();
            text[random.index(address.len())] = *random.pick(CHARACTERS);
            let text = String::from_utf8(text).unwrap();
            assert!(
                text == address || reason(chain, &text).is_err(),
                "{chain}: {text} for {address}"
            );
        }
    }
}

/// EIP-55's checksum has as many bits as the address has letters: about one changed digit in 4,000 passes. An accepted
/// text always has the case that its digits require.
#[test]
fn no_near_miss_passes_the_case_of_an_account() {
    let address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    let (mut random, mut passed) = (Random::new(2), 0);
    for _ in 0..near_misses() {
        let mut text = address.as_bytes().to_vec();
        text[2 + random.index(40)] = *random.pick(b"0123456789abcdefABCDEF");
        let text = String::from_utf8(text).unwrap();
        if let Ok(read) = CanonicalAddress::parse(ChainId::ETH, &text)
            && text != address
        {
            assert_eq!(read.as_str(), text);
            passed += 1;
        }
    }
    assert!(passed < near_misses() / 1000, "{passed} of {}", near_misses());
}
