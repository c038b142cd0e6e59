//! Magic numbers of other networks, as errors describe them.

use std::fmt;

use crate::{ChainParams, TestNetworks};

/// Magic number of another network than the requested one. The error's text also states the expected magic numbers.
#[derive(Clone, Debug)]
pub struct OtherMagic {
    found: [u8; 4],
    params: &'static ChainParams,
    test_networks: TestNetworks,
}

impl OtherMagic {
    pub(super) const fn new(
        found: [u8; 4],
        params: &'static ChainParams,
        test_networks: TestNetworks,
    ) -> Self {
        Self { found, params, test_networks }
    }

    /// Returns the magic number in the file.
    #[must_use]
    pub const fn found(&self) -> [u8; 4] {
        self.found
    }
}

impl fmt::Display for OtherMagic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, params, test_networks } = self;
        let network = ChainParams::network_of_magic(found);
        let network = network.as_deref().unwrap_or("of no network that is known here");
        let expected: Vec<String> =
            params.magics_of(*test_networks).iter().map(hex::encode).collect();
        write!(
            formatter,
            "{} ({network}): blocks of {} stand behind {}",
            hex::encode(found),
            params.name(),
            expected.join(" or ")
        )?;
        if params.magics.contains(found) {
            formatter.write_str(
                ". To read a test network as this chain, allow it: --test-network, or \
                 `allowTestNetwork: true` in the ChainSource",
            )?;
        }
        Ok(())
    }
}
