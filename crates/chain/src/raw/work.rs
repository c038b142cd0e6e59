//! Proof of work: the hash of a header that must meet the header's target.

use scrypt::{Params, scrypt};

use super::{Header, RawError, reversed};
use crate::{
    hash::hash_text,
    params::{ChainParams, HeaderForm, WorkHash},
};

/// log2 of scrypt's N, its r and its p: Litecoin's parameters, which other chains adopted.
const COST: (u8, u32, u32) = (10, 1, 1);

impl WorkHash {
    /// Computes the hash of a header, in display order; `None` if it cannot be computed.
    #[must_use]
    pub fn hash_header(self, header: &Header) -> Option<[u8; 32]> {
        match self {
            Self::DoubleSha256 => Some(header.hash()),
            Self::Scrypt => {
                let (log_n, r, p) = COST;
                let cost = Params::new(log_n, r, p).ok()?;
                let (bytes, mut hash) = (header.bytes(), [0; 32]);
                scrypt(&bytes, &bytes, &cost, &mut hash).ok()?;
                Some(reversed(hash))
            }
        }
    }
}

impl Header {
    /// True if the header's work meets its own target.
    #[must_use]
    pub fn has_work(&self, work: WorkHash) -> bool {
        self.meets_with(work, self)
    }

    /// True if the work of `other` meets the target of this header.
    pub(super) fn meets_with(&self, work: WorkHash, other: &Self) -> bool {
        work.hash_header(other).is_some_and(|hash| self.is_met_by(&hash))
    }

    /// Checks that a header has the work that its target requires, by the hash function of its chain.
    pub(super) fn check_work(&self, work: WorkHash, params: &ChainParams) -> Result<(), RawError> {
        if self.has_work(work) {
            return Ok(());
        }
        let hash = hex::encode(self.hash());
        Err(match work {
            WorkHash::DoubleSha256 => RawError::Proof { hash },
            WorkHash::Scrypt => RawError::ScryptProof { hash, chain: params.name() },
        })
    }

    /// Checks a header that a server describes by its fields: its target, and, on chains with headers of Bitcoin's
    /// form, its hash and its work. The work of merge-mined blocks is in another chain's block. Errors are texts.
    pub(crate) fn check(
        &self,
        params: &ChainParams,
        limit: u32,
        hash: &[u8; 32],
    ) -> Result<(), String> {
        let own_work = match params.header {
            HeaderForm::Plain { work } => Some(work),
            HeaderForm::AuxPow => (!self.has_auxpow()).then_some(WorkHash::Scrypt),
            HeaderForm::Equihash | HeaderForm::Other => {
                return self.check_target(limit).map_err(|error| error.to_string());
            }
        };
        if self.hash() != *hash {
            return Err(format!("its header has the hash {}", hash_text(&self.hash())));
        }
        let work = own_work.map_or(Ok(()), |work| self.check_work(work, params));
        self.check_target(limit).and(work).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(merkle_root: &str, time: u32, bits: u32, nonce: u32) -> Header {
        let merkle_root = hex::decode(merkle_root).unwrap().try_into().unwrap();
        Header { version: 1, parent: [0; 32], merkle_root, time, bits, nonce }
    }

    /// Returns the first blocks of the scrypt chains, with their hashes.
    fn firsts() -> [(&'static str, Header, &'static str); 2] {
        let litecoin = "97ddfbbae6be97fd6cdf3e7ca13232a3afff2353e29badfab7f73011edd4ced9";
        let dogecoin = "5b2a3f53f605d62c53e62932dac6925e3d74afa5a4b459745c36d42d0ed26a69";
        [
            (
                "ltc",
                header(litecoin, 1_317_972_665, 0x1e0f_fff0, 2_084_524_493),
                "12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2",
            ),
            (
                "doge",
                header(dogecoin, 1_386_325_540, 0x1e0f_fff0, 99_943),
                "1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691",
            ),
        ]
    }

    #[test]
    fn first_blocks_of_scrypt_chains_have_their_work() {
        for (id, header, hash) in firsts() {
            assert_eq!(hex::encode(header.hash()), hash);
            // The hash itself is far from the target; scrypt of the header meets it.
            assert!(!header.has_work(WorkHash::DoubleSha256), "{id}");
            assert!(header.has_work(WorkHash::Scrypt), "{id}");
            let other = Header { nonce: header.nonce + 1, ..header };
            assert!(!other.has_work(WorkHash::Scrypt), "{id}");
        }
    }

    #[test]
    fn a_described_header_is_checked_for_its_chain() {
        let params = |id: &str| ChainParams::for_chain(id.parse().unwrap()).unwrap();
        let check = |id, header: &Header, limit| header.check(params(id), limit, &header.hash());
        let [(_, litecoin, _), _] = firsts();
        let limit = 0x1e0f_ffff;
        assert_eq!(check("ltc", &litecoin, limit), Ok(()));
        // The same header is invalid for Bitcoin, because its target is too easy.
        let said = check("btc", &litecoin, 0x1d00_ffff).unwrap_err();
        assert!(said.contains("its difficulty limit is 0x1d00ffff"), "{said}");
        // A header with the work of Bitcoin is invalid for Litecoin, and for Dogecoin without a merge-mined block.
        let root = "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b";
        let bitcoin = header(root, 1_231_006_505, 0x1d00_ffff, 2_083_236_893);
        assert_eq!(check("btc", &bitcoin, 0x1d00_ffff), Ok(()));
        for id in ["ltc", "doge"] {
            let said = check(id, &bitcoin, limit).unwrap_err();
            assert!(said.contains("which is a chain of scrypt"), "{said}");
        }
        // A merge-mined block has its work in another chain's header, which fields do not show.
        let merged = Header { version: 0x0062_0104, ..bitcoin };
        assert_eq!(check("doge", &merged, limit), Ok(()));
        assert!(check("doge", &Header { bits: 0x207f_ffff, ..merged }, limit).is_err());
        // The work of other hash functions is not computed; the target is limited nevertheless.
        assert_eq!(check("dash", &Header { nonce: 1, ..litecoin }, limit), Ok(()));
        assert!(check("dash", &Header { bits: 0x207f_ffff, ..litecoin }, limit).is_err());
    }
}
