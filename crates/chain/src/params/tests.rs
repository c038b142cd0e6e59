use super::*;

#[test]
fn every_chain_of_coins_has_a_row() {
    for chain in ChainId::all() {
        assert_eq!(
            ChainParams::for_chain(chain).is_some(),
            chain.info().outputs().is_some(),
            "{chain}"
        );
    }
}

#[test]
fn a_first_block_identifies_its_chain() {
    let hash = |text: &str| -> [u8; 32] { hex::decode(text).unwrap().try_into().unwrap() };
    let bitcoin = hash(BITCOIN_FIRST);
    let litecoin = hash(PARAMS[1].first_blocks[0]);
    let of = |chain: &str| ChainParams::for_chain(chain.parse().unwrap()).unwrap();
    assert!(of("btc").may_begin_with(&bitcoin) && of("bch").may_begin_with(&bitcoin));
    assert!(!of("btc").may_begin_with(&litecoin) && of("ltc").may_begin_with(&litecoin));
    // A private test network belongs to no chain.
    assert!(of("btc").may_begin_with(&[7; 32]));
    assert_eq!(ChainParams::chain_of_first_block(&litecoin).unwrap().as_str(), "ltc");
    for params in &PARAMS {
        for first in params.first_blocks {
            assert_eq!(first.len(), 64, "{}", params.id);
        }
        assert!(!params.reads_raw() || !params.magics.is_empty(), "{}", params.id);
    }
}

#[test]
fn a_magic_number_names_its_network() {
    let network = |magic| ChainParams::network_of_magic(&magic);
    assert_eq!(network(BITCOIN_MAGIC).unwrap(), "Bitcoin");
    assert_eq!(network([0xfb, 0xc0, 0xb6, 0xdb]).unwrap(), "Litecoin");
    assert_eq!(network([0xbf, 0x0c, 0x6b, 0xbd]).unwrap(), "Dash");
    assert_eq!(network(REGTEST_MAGIC).unwrap(), "a test network of Bitcoin");
    assert_eq!(network(*b"none"), None);
}

#[test]
fn difficulty_limits_are_those_of_the_network() {
    use crate::raw::Header;
    // As node software states `powLimit`: the number of bits that a target may have.
    let bits = |limit| {
        let target = Header { bits: limit, ..Header::default() }.target().unwrap();
        let zeros = target.iter().take_while(|byte| **byte == 0).count();
        256 - 8 * zeros - target[zeros].leading_zeros() as usize
    };
    for (id, expected) in [("btc", 224), ("bch", 224), ("bsv", 224), ("ltc", 236), ("doge", 236)] {
        let params = ChainParams::for_chain(id.parse().unwrap()).unwrap();
        assert_eq!(bits(params.limit_of(TestNetworks::Refused)), expected, "{id}");
        assert_eq!(bits(params.limit_of(TestNetworks::Allowed)), 255, "{id}");
        assert_eq!(bits(params.limit_for_magic(params.magics[0])), expected, "{id}");
        assert_eq!(bits(params.limit_for_magic(REGTEST_MAGIC)), 255, "{id}");
    }
    for (id, expected) in [("zec", 243), ("btg", 243), ("dash", 236), ("xvg", 255)] {
        let params = ChainParams::for_chain(id.parse().unwrap()).unwrap();
        assert_eq!(bits(params.limit_of(TestNetworks::Refused)), expected, "{id}");
    }
}
