//! Verification that a source serves the requested chain, by well-known blocks.
//!
//! A chain that was split off another chain shares the other chain's first block; blocks after the split distinguish
//! the chains, as far as the source has such blocks. Test networks have first blocks of their own.

use assay_address::ChainId;

use super::{ChainParams, SourceError, TestNetworks};

/// Block at or after a split of chains.
struct Landmark {
    height: u64,
    hash: &'static str,
    /// Chains that have the block.
    chains: &'static [&'static str],
}

/// Landmarks (blocks after splits), as wallets and nodes of the chains have them. Bitcoin Cash split off at the first
/// height of the list, Bitcoin SV from Bitcoin Cash at the second, eCash at the last. Bitcoin Gold has no landmark of
/// its own, and none of these landmarks from height 491,407 on.
static LANDMARKS: [Landmark; 6] = [
    Landmark {
        height: 478_559,
        hash: "00000000000000000019f112ec0a9982926f1258cdcc558dd7c3b7e5dc7fa148",
        chains: &["btc", "btg"],
    },
    Landmark {
        height: 478_559,
        hash: "000000000000000000651ef99cb9fcbe0dadde1d424bd9f15ff20136191a5eec",
        chains: &["bch", "bsv"],
    },
    Landmark {
        height: 556_767,
        hash: "0000000000000000004626ff6e3b936941d341c5932ece4357eeccac44e6d56c",
        chains: &["bch"],
    },
    Landmark {
        height: 556_767,
        hash: "000000000000000001d956714215d96ffc00e0afda4cd0a96c96f8d802b1662b",
        chains: &["bsv"],
    },
    Landmark {
        height: 563_378,
        hash: "0000000000000000000f1c54590ee18d15ec70e68c8cd4cfbadb1b4f11697eee",
        chains: &["btc"],
    },
    Landmark {
        height: 661_648,
        hash: "0000000000000000029e471c41818d24b8b74c911071c4ef0b4a0509f9b5a8ce",
        chains: &["bch"],
    },
];

/// Name of a chain that cannot be identified.
const ANOTHER: &str = "another chain";

/// Checks that `source` serves `chain`, as far as the source's blocks identify the chain. `hash_at` returns the hash of
/// the source's block at a height.
///
/// # Errors
///
/// Returns an error if the source serves another chain or a refused test network, or does not answer.
pub fn check(
    chain: ChainId,
    source: &str,
    test_networks: TestNetworks,
    mut hash_at: impl FnMut(u64) -> Result<Option<[u8; 32]>, SourceError>,
) -> Result<(), SourceError> {
    let Some(params) = ChainParams::for_chain(chain) else { return Ok(()) };
    let other = |found: &'static str| {
        Err(SourceError::OtherChain { url: source.to_owned(), found, wanted: chain })
    };
    match (hash_at(0)?, test_networks) {
        (Some(first), _) if params.begins_with(&first) => {}
        (Some(first), _) if !params.may_begin_with(&first) => {
            let found = ChainParams::chain_of_first_block(&first);
            return other(found.map_or(ANOTHER, |found| found.as_str()));
        }
        (Some(first), TestNetworks::Refused) => {
            return Err(SourceError::TestNetwork { url: source.to_owned(), chain, first });
        }
        // A test network has none of the landmarks.
        (_, TestNetworks::Allowed) => return Ok(()),
        // The source begins at a later block.
        (None, TestNetworks::Refused) => {}
    }
    let id = chain.as_str();
    let mut heights: Vec<u64> = LANDMARKS.iter().map(|landmark| landmark.height).collect();
    heights.dedup();
    if !LANDMARKS.iter().any(|landmark| landmark.chains.contains(&id)) {
        return Ok(());
    }
    for height in heights {
        // The source has no block at this height.
        let Some(found) = hash_at(height)?.map(hex::encode) else { continue };
        let mut here = LANDMARKS.iter().filter(|landmark| landmark.height == height);
        match here.clone().find(|landmark| landmark.hash == found) {
            Some(known) if known.chains.contains(&id) => {}
            Some(known) => return other(known.chains.first().copied().unwrap_or(ANOTHER)),
            None if here.any(|landmark| landmark.chains.contains(&id)) => return other(ANOTHER),
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BITCOIN: &str = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
    const TESTNET: &str = "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943";
    const LITECOIN: &str = "12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2";

    fn hash(text: &str) -> [u8; 32] {
        hex::decode(text).unwrap().try_into().unwrap()
    }

    /// Returns the error message for a source with these blocks.
    fn said(chain: &str, blocks: &[(u64, &str)], test_networks: TestNetworks) -> String {
        let chain = chain.parse().unwrap();
        let checked = check(chain, "http://node", test_networks, |height| {
            let found = blocks.iter().find(|(at, _)| *at == height);
            Ok(found.map(|(_, text)| hash(text)))
        });
        checked.err().map(|error| error.to_string()).unwrap_or_default()
    }

    /// Returns the landmarks of a chain up to a height.
    fn blocks(chain: &str, up_to: u64) -> Vec<(u64, &'static str)> {
        let mut blocks = vec![(0, BITCOIN)];
        let own = LANDMARKS.iter().filter(|landmark| landmark.chains.contains(&chain));
        blocks.extend(own.map(|landmark| (landmark.height, landmark.hash)));
        blocks.retain(|(height, _)| *height <= up_to);
        blocks
    }

    #[test]
    fn chains_with_the_same_first_block_are_distinguished_at_their_fork() {
        for wanted in ["btc", "bch", "bsv", "btg"] {
            for served in ["btc", "bch", "bsv"] {
                let said = said(wanted, &blocks(served, u64::MAX), TestNetworks::Refused);
                let right = match (wanted, served) {
                    _ if wanted == served => String::new(),
                    // The chains split at a later height.
                    ("bsv", "bch") => "http://node serves bch, not bsv".to_owned(),
                    _ => format!(
                        "http://node serves {}, not {wanted}",
                        match served {
                            "bsv" if wanted != "bch" => "bch",
                            served => served,
                        }
                    ),
                };
                assert_eq!(said, right, "{wanted} from {served}");
            }
            // Below that height nothing distinguishes the chains.
            assert_eq!(said(wanted, &blocks("btc", 1), TestNetworks::Refused), "");
        }
        // An unknown chain that split off Bitcoin Cash later.
        let mut unknown = blocks("bch", u64::MAX);
        unknown.last_mut().unwrap().1 = TESTNET;
        let said = said("bch", &unknown, TestNetworks::Refused);
        assert_eq!(said, "http://node serves another chain, not bch");
    }

    #[test]
    fn a_test_network_is_read_only_if_requested() {
        let private = "07".repeat(32);
        for first in [TESTNET, &private] {
            // The blocks of a test network are on no other chain.
            let blocks = [(0, first), (478_559, &*private)];
            let refused = said("btc", &blocks, TestNetworks::Refused);
            assert!(
                refused.contains("is of no main network") && refused.contains(first),
                "{refused}"
            );
            assert!(
                refused.contains("--test-network") && refused.contains("allowTestNetwork: true")
            );
            assert_eq!(said("btc", &blocks, TestNetworks::Allowed), "");
        }
        assert_eq!(said("btc", &[(0, BITCOIN)], TestNetworks::Allowed), "");
        for allowed in [TestNetworks::Refused, TestNetworks::Allowed] {
            let said = said("btc", &[(0, LITECOIN)], allowed);
            assert_eq!(said, "http://node serves ltc, not btc");
        }
    }

    #[test]
    fn a_chain_that_begins_later_is_identified_by_its_blocks() {
        let later = &blocks("bch", u64::MAX)[1..];
        assert_eq!(said("bch", later, TestNetworks::Refused), "");
        assert_eq!(said("btc", later, TestNetworks::Refused), "http://node serves bch, not btc");
        assert_eq!(said("doge", &[], TestNetworks::Refused), "");
    }
}
