//! Assets as bytes.

use assay_engine::account::{AccountAddress, Asset};

const NATIVE: u8 = 0;
const TOKEN: u8 = 1;
const NUMBERED: u8 = 2;

/// The bytes of an asset.
pub(super) fn asset_bytes(asset: Asset) -> Vec<u8> {
    match asset {
        Asset::Native => vec![NATIVE],
        Asset::Token(contract) => [&[TOKEN], &contract.0[..]].concat(),
        Asset::Numbered(number) => [&[NUMBERED], &number.to_be_bytes()[..]].concat(),
    }
}

/// The asset of bytes; `None` for bytes that are none.
pub(super) fn parse_asset(bytes: &[u8]) -> Option<Asset> {
    let (kind, rest) = bytes.split_first()?;
    match *kind {
        NATIVE => rest.is_empty().then_some(Asset::Native),
        TOKEN => Some(Asset::Token(AccountAddress(rest.try_into().ok()?))),
        NUMBERED => Some(Asset::Numbered(u32::from_be_bytes(rest.try_into().ok()?))),
        _ => None,
    }
}
