//! Tests of valid and mistyped addresses.

use assay_test_random::Random;
use proptest::prelude::*;

use super::*;

fn parse(chain: &str, text: &str) -> Result<CanonicalAddress, AddressError> {
    CanonicalAddress::parse(chain.parse().unwrap(), text)
}

fn refusal(chain: &str, text: &str) -> (&'static str, String) {
    let error = parse(chain, text).expect_err(text);
    (error.reason(), error.to_string())
}

/// The rows of a table without its comments. Bars separate the columns.
fn rows<const N: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let columns: Vec<&str> = row.splitn(N, " | ").collect();
        columns.try_into().unwrap_or_else(|_| panic!("no row of {N} columns: {row}"))
    })
}

/// Table of chain, submitted text, kind and canonical form; `=` stands for the submitted text.
const FORMS: &str = "\
btc | 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa | p2pkh | =
btc | 3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy | p2sh | =
btc | BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4 | p2wpkh | bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4
btc | bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0 | p2tr | =
btc | BC1SW50QGDZ25J | witness_unknown | bc1sw50qgdz25j
eth | 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed | account | 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
bsc | 0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED | account | 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed
eth | 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed | account | =
trx | TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg3r | account | =
# It begins as a bech32 address does.
ltc | LTc1ficWPCLXX3BPdC1EJC1SdpgdQXyYxi | p2pkh | =
trx | 41a614f803b6fd780986a42c78ec9c7f77e6ded13c | account | TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t
ltc | LVg2kJoFNg45Nbpy53h7Fe1wKyeXVRhMH9 | p2pkh | =
ltc | MQMcJhpWHYVeQArcZR3sBgyPZxxRtnH441 | p2sh | =
# The older way to write a script hash; the address that it is on Bitcoin too.
ltc | 3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy | p2sh | MQMHBtvnBfxTzt3K2bdxgSE7qZPHSXWsGM
bch | BITCOINCASH:QPM2QSZNHKS23Z7629MMS6S4CWEF74VCWVY22GDX6A | p2pkh | bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a
bch | 1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu | p2pkh | bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a
bch | 3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC | p2sh | bitcoincash:ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq
bsv | qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a | p2pkh | 1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu
zec | t1Hsc1LR8yKnbbe3twRp88p6vFfC5t7DLbs | p2pkh | =
zec | t3JZcvsuaXE6ygokL4XUiZSTrQBUoPYFnXJ | p2sh | =
# ZIP 320's own example.
zec | tex1s2rt77ggv6q989lr49rkgzmh5slsksa9khdgte | p2pkh | t1VmmGiyjVNeCjxDZzg7vZmd99WyzVby9yC
zec | zs1z7rejlpsa98s2rrrfkwmaxu53e4ue0ulcrw0h4x5g8jl04tak0d3mm47vdtahatqrlkngh9slya | sapling | =
zec | u1l8xunezsvhq8fgzfl7404m450nwnd76zshscn6nfys7vyz2ywyh4cc5daaq0c7q2su5lqfh23sp7fkf3kt27ve5948mzpfdvckzaect2jtte308mkwlycj2u0eac077wu70vqcetkxf | unified | =
xrp | rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh | account | =
# XLS-5d's own examples: without a tag, and with tag 1.
xrp | XVLhHMPHU98es4dbozjVtdWzVrDjtV5fdx1mHp98tDMoQXb | account | rGWrZyQqhTp9Xu7G5Pkayo7bXjH4k4QYpf
xrp | XVLhHMPHU98es4dbozjVtdWzVrDjtV8xvjGQTYPiAx6gwDC | account | rGWrZyQqhTp9Xu7G5Pkayo7bXjH4k4QYpf
";

#[test]
fn every_written_form_has_one_canonical_form() {
    for [chain, text, kind, canonical] in rows(FORMS) {
        let address = parse(chain, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let canonical = if canonical == "=" { text } else { canonical };
        assert_eq!((address.kind().as_str(), address.as_str()), (kind, canonical), "{text}");
        assert_eq!(parse(chain, canonical).unwrap(), address, "the canonical form reads as itself");
    }
}

#[test]
fn tron_hexadecimal_and_base58_are_one_address() {
    let base58 = parse("trx", "TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg3r").unwrap();
    let Payload::Account(account) = base58.payload else { panic!("not an account") };
    let digits = hex::encode_upper(account);
    for text in
        [format!("41{digits}"), format!("41{}", digits.to_lowercase()), format!("0x41{digits}")]
    {
        assert_eq!(parse("trx", &text).unwrap(), base58);
    }
}

/// Table of chain, submitted text, reason and message.
const REFUSALS: &str = "\
btc | 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb | wrong_checksum | wrong base58check checksum: at least one character was mistyped
btc | 1A1zP1eP5QGefi2DMPTfTL5SLmv7Div | wrong_length | wrong length: 23 bytes when decoded, expected 25 bytes (26 to 34 characters)
btc | 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfN0 | character_not_in_alphabet | character 34 is `0`, which is not in the base58 alphabet
btc | mzBc4XEFSdzCDcTxAgf6EZXgsZWpztRhef | test_network | this is a Bitcoin testnet or signet address: test coins have no value and are not assessed
btc | tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7 | test_network | this is a Bitcoin testnet or signet address: test coins have no value and are not assessed
btc | bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5 | wrong_checksum | wrong bech32 checksum: at least one character was mistyped
btc | bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3b4 | character_not_in_alphabet | character 41 is `b`, which is not in the bech32 alphabet
btc | bc1qW508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4 | mixed_case | mixed upper and lower case: this form of address uses one case only
btc | bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh | wrong_checksum_variant | witness version 0 needs a bech32 checksum (BIP 350), this one has bech32m
btc | bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7k7grplx | wrong_checksum_variant | witness version 1 needs a bech32m checksum (BIP 350), this one has bech32
btc | LaizKtS5DUhPuP1nTQcc83MS7HwK6vk85z | other_chain | this is an LTC address (`ltc`): ask for that blockchain
btc | hello | unknown_form | not a form of address that this chain uses: expected `1...` (P2PKH), `3...` (P2SH) or `bc1...` (segregated witness)
btc | TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg3r | other_chain | this is a TRX address (`trx`): ask for that blockchain
eth | 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa | other_chain | this is an address of btc, bch, bsv: ask for that blockchain
trx | 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed | other_chain | this is an address of eth, etc, bsc, polygon, arbitrum, optimism, base, avalanche, linea, scroll, zksync, polygon-zkevm, arbitrum-nova, opbnb, mantle, blast, gnosis, fantom, sonic, celo, cronos, moonbeam, moonriver, aurora, kaia, metis, zora, unichain, worldchain, berachain, ink, soneium, abstract, mode, manta, taiko, pulsechain, flare, ethw, hyperevm, monad, plasma, apechain, ronin: ask for that blockchain
eth | 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD | case_mismatch | wrong EIP-55 checksum: the case of the letters does not match the address (first at character 42); check the address, and only if it is right submit it in lower case
eth | 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae | wrong_length | wrong length: 39 hexadecimal digits, expected 40 after the prefix
eth | 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeg | character_not_in_alphabet | character 42 is `g`, which is not in the hexadecimal alphabet
eth | 5aaeb6053f3e94c9b9a09f33669435e7ef1beaed | unknown_form | not a form of address that this chain uses: expected `0x` and 40 hexadecimal digits
eth | 0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b | not_an_address | this is 32 bytes in hexadecimal: a transaction id or a private key
eth | vitalik.eth | not_an_address | this is a name, not an address: resolve it and submit the address
btc | bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa | not_an_address | this is a payment link or prefixed text (`bitcoin:`): submit only the address, `1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa`
btc | bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4?amount=0.1 | not_an_address | `?amount=0.1` follows the address: submit only the address, `bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4`
btc | bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa?amount=0.1&label=x | not_an_address | this is a payment link or prefixed text (`bitcoin:`): submit only the address, `1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa`
btc | https://mempool.space/address/1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa | not_an_address | this is a link: submit only the address, `1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa`
btc | 1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa. | not_an_address | `.` follows the address: submit only the address, `1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa`
btc | bitcoin:hello | not_an_address | this is a link, a payment link or prefixed text: submit only an address
eth | 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed, | not_an_address | `,` follows the address: submit only the address, `0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed`
eth | ethereum:0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed@1/transfer | not_an_address | this is a payment link or prefixed text (`ethereum:`): submit only the address, `0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed`
eth | ethereum:0xdac17f958d2ee523a2206206994597c13d831ec7@1/transfer?address=0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed&uint256=1 | not_an_address | this is a payment link or prefixed text (`ethereum:`): submit only the address, that one of `0xdac17f958d2ee523a2206206994597c13d831ec7`, `0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed` which is meant
eth | eip155:1:0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed | not_an_address | this is a payment link or prefixed text (`eip155:`): submit only the address, `0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed`
eth | etherscan.io/address/0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed#code | not_an_address | there is more than an address: submit only the address, `0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed`
eth | bitcoin:1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa | not_an_address | this is a payment link or prefixed text (`bitcoin:`): submit only the address, `1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa`, which is of another blockchain than eth
trx | tron:TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg3r | not_an_address | this is a payment link or prefixed text (`tron:`): submit only the address, `TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg3r`
trx | https://tronscan.org/#/address/TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg3r/transfers | not_an_address | this is a link: submit only the address, `TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg3r`
xrp | rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh?dt=33722 | not_an_address | `?dt=33722` follows the address: submit only the address, `rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh`
xrp | rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh:33722 | not_an_address | `:33722` follows the address: submit only the address, `rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh`
xlm | GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7?memo=12 | not_an_address | `?memo=12` follows the address: submit only the address, `GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7`
btc | 5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ | not_an_address | this is a private key: it was not kept, but treat it as exposed and move its funds
trx | TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg31 | wrong_checksum | wrong base58check checksum: at least one character was mistyped
";

#[test]
fn a_refusal_names_the_cause_and_the_position() {
    for [chain, text, reason, message] in rows(REFUSALS) {
        assert_eq!(refusal(chain, text), (reason, message.to_owned()), "{text}");
    }
    for (text, reason, message) in [
        ("", "empty", "the address is empty"),
        ("1A1z ", "white_space", "character 5 is white space (U+0020): remove it"),
    ] {
        assert_eq!(refusal("btc", text), (reason, message.to_owned()));
    }
}

#[test]
fn a_list_is_read_by_the_notation_of_its_author() {
    let chain = ChainId::ETH;
    let expected = parse("eth", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed").unwrap();
    for dirty in [
        " 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed\n",
        "0x5aaeb6053f3e94c9b9a09f33\u{200B}669435e7ef1beaed",
        "0x5\u{430}aeb6053f3e94c9b9a09f33669435e7ef1beaed",
        "0X5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD",
    ] {
        assert_eq!(CanonicalAddress::parse_published(chain, dirty).unwrap(), expected, "{dirty:?}");
    }
    let broken =
        CanonicalAddress::parse_published(ChainId::BTC, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb");
    assert_eq!(broken.unwrap_err().reason(), "wrong_checksum");
}

#[test]
fn one_key_is_recognised_in_all_its_addresses() {
    // BIP 141's example key: the P2WPKH and the P2SH-P2WPKH address of one public key hash.
    let native = parse("btc", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4").unwrap();
    let legacy = parse("btc", "1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH").unwrap();
    let nested = parse("btc", "3JvL6Ymt8MVWiCNHC7oWU6nLeHNJKLZGLN").unwrap();
    let other = parse("btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa").unwrap();
    let shared = |a: &CanonicalAddress, b: &CanonicalAddress| {
        a.key_identities().iter().any(|identity| b.key_identities().contains(identity))
    };
    assert!(shared(&native, &legacy) && shared(&native, &nested) && shared(&legacy, &nested));
    assert!(!shared(&native, &other));

    // Its P2PKH script as P2SH, P2WSH and P2SH-P2WSH, computed by another program.
    for wrapped in [
        "3LRW7jeCvQCRdPF8S3yUCfRAx4eqXFmdcr",
        "bc1q8a9wr6e7whe40py3sywj066euga9zt8ep3emz0r2e4zfna7y629s6kegdt",
        "3MMqVMJYAmTUecVoS5Uo4VFj1pNYL1s3to",
    ] {
        let wrapped = parse("btc", wrapped).unwrap();
        let spendable = |address: &CanonicalAddress| {
            let identities = address.spendable_identities();
            wrapped.spendable_identities().iter().any(|identity| identities.contains(identity))
        };
        assert!(spendable(&native) && spendable(&legacy) && !spendable(&other), "{wrapped}");
    }
    let long = hex::decode("10bed02da0f0bf20aefff0720e3d18753492efa335451a97768f9fd83b7a145b");
    let long = KeyIdentity::LongScriptHash(long.unwrap().try_into().unwrap());
    assert!(legacy.spendable_identities().contains(&long));

    let tron = parse("trx", "TNDzfERDpxLDS2w1q6yaFC7pzqaSQ3Bg3r").unwrap();
    let ethereum = CanonicalAddress::from_payload(ChainId::ETH, tron.payload.clone()).unwrap();
    assert!(shared(&tron, &ethereum));
}

#[test]
fn an_address_does_not_reach_a_debug_log() {
    let address = parse("btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa").unwrap();
    assert_eq!(format!("{address:?}"), "CanonicalAddress(btc, p2pkh)");
}

fn chain() -> impl Strategy<Value = ChainId> {
    prop::sample::select(ChainId::all().collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn no_text_is_fatal(chain in chain(), text in "\\PC{0,100}") {
        let _ = CanonicalAddress::parse(chain, &text);
        let _ = CanonicalAddress::parse_published(chain, &text);
    }

    #[test]
    fn written_addresses_read_back(chain in chain(), hash in any::<[u8; 20]>(), program in any::<[u8; 32]>()) {
        let payloads = [
            Payload::PublicKeyHash(hash),
            Payload::ScriptHash(hash),
            Payload::Account(hash),
            Payload::Witness { version: 0, program: hash.to_vec() },
            Payload::Witness { version: 0, program: program.to_vec() },
            Payload::Witness { version: 1, program: program.to_vec() },
        ];
        for payload in payloads {
            if let Some(written) = CanonicalAddress::from_payload(chain, payload.clone()) {
                let read = CanonicalAddress::parse(chain, written.as_str()).unwrap();
                prop_assert_eq!(&read, &written);
                prop_assert_eq!(read.payload, payload);
            }
        }
    }

    #[test]
    fn one_changed_character_fails_the_checksum(
        hash in any::<[u8; 20]>(), place in any::<prop::sample::Index>(), replacement in "[1-9A-HJ-NP-Za-km-z]", kind in 0..3_u8,
    ) {
        let (chain, payload) = match kind {
            0 => (ChainId::BTC, Payload::PublicKeyHash(hash)),
            1 => (ChainId::TRX, Payload::Account(hash)),
            _ => (ChainId::BTC, Payload::Witness { version: 0, program: hash.to_vec() }),
        };
        let original = CanonicalAddress::from_payload(chain, payload).unwrap();
        let mut text: Vec<char> = original.as_str().chars().collect();
        let place = place.index(text.len());
        text[place] = replacement.chars().next().unwrap();
        let text: String = text.into_iter().collect();
        prop_assume!(text != original.as_str());
        let read = CanonicalAddress::parse(chain, &text);
        prop_assert!(read.is_err(), "{} read as an address", text);
    }
}

#[test]
fn one_key_is_recognised_across_families_of_chains() {
    // Given one public key hash on the chains that hash keys alike.
    let hash = Payload::PublicKeyHash([7; 20]);
    let all: Vec<_> = ChainId::all()
        .filter_map(|chain| CanonicalAddress::from_payload(chain, hash.clone()))
        .collect();
    let chains: Vec<_> = all.iter().map(|address| address.chain().as_str()).collect();
    assert_eq!(
        chains,
        "btc ltc bch bsv btg doge dash zec xvg xrp bep2 cosmos osmo celestia dydx noble axelar sei terra \
         thor kava juno stars scrt akt stx"
            .split_whitespace()
            .collect::<Vec<_>>()
    );
    for address in &all {
        assert_eq!(address.key_identities(), all[0].key_identities());
    }
}

/// Writes a unified address of these receivers: type and content (ZIP 316).
fn unified(items: &[(u8, &[u8])]) -> String {
    let mut bytes = Vec::new();
    for (kind, content) in items {
        bytes.extend([*kind, u8::try_from(content.len()).unwrap()]);
        bytes.extend_from_slice(content);
    }
    bytes.extend(b"u\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    let jumbled = f4jumble::f4jumble(&bytes).unwrap();
    bech32::encode::<bech32::Bech32m>(bech32::Hrp::parse("u").unwrap(), &jumbled).unwrap()
}

#[test]
fn a_unified_address_shares_the_keys_of_its_receivers() {
    let sapling = [9; 43];
    let text = unified(&[(0, &[7; 20]), (2, &sapling), (3, &[8; 43])]);
    let address = parse("zec", &text).unwrap();
    assert_eq!((address.kind(), address.as_str()), (AddressKind::Unified, &*text));
    let transparent =
        CanonicalAddress::from_payload(ChainId::ZEC, Payload::PublicKeyHash([7; 20])).unwrap();
    let shielded = bech32::encode::<bech32::Bech32>(bech32::Hrp::parse("zs").unwrap(), &sapling);
    let shielded = parse("zec", &shielded.unwrap()).unwrap();
    assert_eq!(shielded.kind(), AddressKind::Sapling);
    for receiver in [transparent, shielded] {
        let shared = receiver.key_identities();
        assert!(shared.iter().any(|identity| address.key_identities().contains(identity)));
    }
}

#[test]
fn a_unified_address_must_keep_the_rules_of_its_revision() {
    type Items<'a> = &'a [(u8, &'a [u8])];
    let refusals: [(Items<'_>, &str); 5] = [
        (&[(3, &[8; 43]), (2, &[9; 43])], "not in order"),
        (&[(0, &[7; 20]), (1, &[7; 20]), (2, &[9; 43])], "two transparent receivers"),
        (&[(0, &[7; 20]), (0xC1, &[7; 20])], "an item that this revision does not allow"),
        (&[(2, &[9; 42])], "the wrong length"),
        (&[(1, &[7; 20])], "at least 38 bytes"),
    ];
    for (items, expected) in refusals {
        let text = match items {
            [(1, _)] => {
                bech32::encode::<bech32::Bech32m>(bech32::Hrp::parse("u").unwrap(), &[7; 37])
                    .unwrap()
            }
            items => unified(items),
        };
        let (_, message) = refusal("zec", &text);
        assert!(message.contains(expected), "{message}");
    }
}

/// Chains with addresses of each form, from the specifications and public samples, and their canonical forms.
const MORE_FORMS: &str = "\
# CIP-19, test vectors of the main network.
ada | addr1qx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3n0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2wywfgse35a3x | =
ada | addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzers66hrl8 | =
ada | stake1uyehkck0lajq8gr28t9uxnuvgcqrc6070x3k9r8048z8y5gh6ffgw | =
ada | addr1gx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer5pnz75xxcrzqf96k | =
ada | Ae2tdPwUPEZ1aXoiiRE6CHf7d4zFL2PwtC5WV5E7Cp7Dfjr9J9cL3pwywRU | =
# SEP-23.
xlm | GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ | =
xlm | MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK | GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ
xlm | CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE | =
# TEP-2.
ton | EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF | =
ton | UQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPuwA | EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF
ton | 0:ca6e321c7cce9ecedf0a8ca2492ec8592494aa5fb5ce0387dff96ef6af982a3e | EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHF
dot | 12bzRJfh7arnnfPPUZHeJUaE62QLEwhK48QnH9LXeK2m1iZU | =
# The well-known development account of Substrate, on the generic network.
tao | 5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY | =
cosmos | cosmos1fl48vsnmsdzcv85q5d2q4z5ajdha8yu34mf0eh | =
inj | inj132pvsgfc44t5wjsnx6ul2ukrqe6qcrz4x4hag0 | =
algo | 7ZUECA7HFLZTXENRV24SHLU4AVPUTMTTDUFUBNBD64C73F3UHRTHAIOF6Q | =
near | 49c93960fd3f49e671b4a712d3e95c5ae3d8e66552cb97879c897374599a22c1 | =
near | alice-2.example.near | =
xtz | tz1NPgUeafMfD7VZbsKkzoJiR8pRynViiTE3 | =
xtz | KT1PWx2mnDueood7fEmfbBDKx1D9BAnnXitn | =
eos | eosio.token | =
# HIP-15, the main network.
hbar | 0.0.123 | =
hbar | 0.0.123-vfmkw | 0.0.123
fil | f1hqdqidehi276cscqehffoyr7qzxn2foumjpq5zq | =
fil | f01729 | =
fil | f3vvmn62lofvhjd2ugzca6sof2j2ubwok6cj4xxbfzz4yuxfkgobpihhd2thlanmsh3w2ptld2gqkn2jvlss4a | =
neo | NLfpGcsubYLnTqb9UfAxCYe9S5xniGSZyR | =
neo | AMJm3XvdgZdHMK4T8XsWxKbrnPbTAC5ka7 | =
sui | 0x2 | 0x0000000000000000000000000000000000000000000000000000000000000002
apt | 0x03aa1ceed625af8407d25e5894a165272b5d196dcdb8dc66456d2ac039bcf198 | =
# The ledger of ICP, and the management canister.
icp | ryjl3-tyaaa-aaaaa-aaaba-cai | =
icp | aaaaa-aa | =
# SIP-005.
stx | SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ7 | =
stx | SP000000000000000000002Q6VF78 | =
kas | kaspa:qqkqkzjvr7zwxxmjxjkmxxdwju9kjs6e9u82uh59z07vgaks6gg62v8707g73 | =
other | k:e7f4c9f0 | =
";

#[test]
fn further_chains_read_the_addresses_of_their_specifications() {
    for [chain, text, canonical] in rows(MORE_FORMS) {
        let chain: ChainId = chain.parse().unwrap();
        let address = CanonicalAddress::parse(chain, text)
            .unwrap_or_else(|error| panic!("{chain} {text}: {error}"));
        let expected = if canonical == "=" { text } else { canonical };
        assert_eq!(address.as_str(), expected);
        assert_eq!(CanonicalAddress::parse(chain, address.as_str()).as_ref(), Ok(&address));
        if let Some(again) = CanonicalAddress::from_payload(chain, address.payload().clone()) {
            assert_eq!(again, address, "written from what it commits to");
        }
    }
}

/// Table of chain, submitted text and reason.
const MORE_REFUSALS: &str = "\
ada | addr1qx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3n0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2wywfgse35a3y | wrong_checksum
ada | addr_test1vz2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzerspjrlsz | test_network
ada | 37btjrVyb4KDXBNC4haBVPCrro8AQPHwvCMp3RFhhSVWwfFmZ6wwzSK6JK1hY6wHNmtrpTf1kdbva8TCneM2YsiXT7mrzT21EacHnPpz5YyUdj64na | test_network
ada | Ae2tdPwUPEZ1aXoiiRE6CHf7d4zFL2PwtC5WV5E7Cp7Dfjr9J9cL3pwywRV | wrong_checksum
xlm | GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGA | wrong_checksum
# SEP-23: the unused bits of a muxed account are not zero; a wrong algorithm.
xlm | MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLA | wrong_checksum
ton | EQDKbjIcfM6ezt8KjKJJLshZJJSqX7XOA4ff-W72r5gqPrHG | wrong_checksum
dot | 5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY | other_chain
dot | 12bzRJfh7arnnfPPUZHeJUaE62QLEwhK48QnH9LXeK2m1iZV | wrong_checksum
cosmos | cosmosvaloper1fl48vsnmsdzcv85q5d2q4z5ajdha8yu34mf0eh | unknown_form
cosmos | cosmos1fl48vsnmsdzcv85q5d2q4z5ajdha8yu34mf0ea | wrong_checksum
algo | 7ZUECA7HFLZTXENRV24SHLU4AVPUTMTTDUFUBNBD64C73F3UHRTHAIOF6A | wrong_checksum
near | alice.testnet | test_network
near | Alice.near | unknown_form
near | a..near | unknown_form
xtz | tz1NPgUeafMfD7VZbsKkzoJiR8pRynViiTE4 | wrong_checksum
eos | UPPER | unknown_form
eos | abcdefghijklz | unknown_form
hbar | 0.0.123-vfmkx | wrong_checksum
hbar | 0.0.0123 | unknown_form
fil | f1hqdqidehi276cscqehffoyr7qzxn2foumjpq5za | wrong_checksum
fil | t1hqdqidehi276cscqehffoyr7qzxn2foumjpq5zq | test_network
neo | NLfpGcsubYLnTqb9UfAxCYe9S5xniGSZyS | wrong_checksum
sui | 0x189f40034be7a199f1fa9891668ee3ab6049f82d | other_chain
icp | ryjl3-tyaaa-aaaaa-aaaba-caj | wrong_checksum
icp | ryjl3tyaaa-aaaaa-aaaba-cai | invalid_payload
stx | SP2J6ZY48GV1EZ5V2V5RB9MP66SW86PYKKNRV9EJ8 | wrong_checksum
kas | kaspa:qqkqkzjvr7zwxxmjxjkmxxdwju9kjs6e9u82uh59z07vgaks6gg62v8707g74 | wrong_checksum
kas | kaspatest:qqkqkzjvr7zwxxmjxjkmxxdwju9kjs6e9u82uh59z07vgaks6gg62v8707g73 | test_network
other | two words | white_space
";

#[test]
fn further_chains_refuse_with_the_cause() {
    for [chain, text, reason] in rows(MORE_REFUSALS) {
        let chain: ChainId = chain.parse().unwrap();
        let error = CanonicalAddress::parse(chain, text).unwrap_err();
        assert_eq!(error.reason(), reason, "{chain} {text}: {error}");
    }
}

#[test]
fn the_same_key_is_found_on_chains_that_write_it_differently() {
    let identities = |chain: &str, text: &str| {
        CanonicalAddress::parse(chain.parse().unwrap(), text).unwrap().key_identities()
    };
    let generic = identities("tao", "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY");
    assert_eq!(identities("dot", "15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5"), generic);
}

/// Random near-misses: valid addresses with one to three characters replaced by others of the same alphabet. Each
/// accepted near-miss must be a different address.
#[test]
#[expect(clippy::print_stdout, reason = "the figure is the answer")]
fn near_misses_are_accepted_at_no_more_than_the_checksums_rate() {
    const TRIES: u32 = 100_000;
    let tries = if cfg!(debug_assertions) { TRIES / 20 } else { TRIES };
    let mut random = Random::new(1);
    let checked = rows(MORE_FORMS).filter(|[chain, text, _]| {
        let chain: ChainId = chain.parse().unwrap();
        chain.info().rules.has_checksum() && !text.starts_with("f0") && !text.starts_with("0:")
    });
    for [chain, text, _] in checked {
        let chain: ChainId = chain.parse().unwrap();
        let letters: Vec<char> = text.chars().collect();
        let separator =
            text.rfind(['1', ':']).filter(|_| text.contains(':') || text.starts_with("addr"));
        let first = separator.map_or(1, |place| place + 1);
        let address = CanonicalAddress::parse(chain, text).unwrap();
        let mut accepted = 0;
        for _ in 0..tries {
            let mut changed = letters.clone();
            for _ in 0..=random.below(3) {
                let place = first + random.index(letters.len() - first);
                changed[place] = *random.pick(&letters[first..]);
            }
            if changed == letters {
                continue;
            }
            let changed: String = changed.into_iter().collect();
            if let Ok(other) = CanonicalAddress::parse(chain, &changed) {
                // TON writes one address in two ways, which differ in more than three characters.
                assert_ne!(other, address, "{chain} {changed}");
                accepted += 1;
            }
        }
        println!("{chain} {text}: {accepted} of {tries}");
        // Two bytes of checksum let 1 in 65,536 pass; all others are longer.
        assert!(accepted <= 8, "{chain} {text}: {accepted} of {tries}");
    }
}

#[test]
fn random_texts_are_no_addresses() {
    let mut random = Random::new(2);
    let alphabet: Vec<char> =
        "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0OIl-:._".chars().collect();
    let chains: Vec<ChainId> =
        ChainId::all().filter(|chain| chain.info().rules.has_checksum()).collect();
    let tries = if cfg!(debug_assertions) { 2_000 } else { 100_000 };
    for _ in 0..tries {
        let length = random.number(20..80);
        let text: String = (0..length).map(|_| random.pick(&alphabet)).collect();
        for chain in &chains {
            assert!(CanonicalAddress::parse_plain(*chain, &text).is_err(), "{chain} {text}");
        }
    }
}
