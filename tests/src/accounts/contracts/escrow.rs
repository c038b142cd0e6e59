//! Sales of a token against a price that waits in a contract: a buyer bids, and the seller or the buyer completes the sale.

use assay_engine::account::{AccountAddress, Asset};

use super::Call;

/// The completion of a sale: the token goes to the buyer, the price from the contract to the seller, less a fee for the
/// market of a fortieth.
pub fn complete_sale(
    market: AccountAddress,
    [buyer, seller, owner]: [AccountAddress; 3],
    token: Asset,
    (asset, price): (Asset, u128),
) -> Call {
    let fee = price / 40;
    Call::new(
        seller,
        &[
            (seller, buyer, token, 1),
            (market, seller, asset, price - fee),
            (market, owner, asset, fee),
        ],
    )
}
