//! C1: values of amounts, in dollars, at the prices of the day before.

use assay_address::ChainId;
use assay_engine::account::{Prices, scored_assets};
use jiff::civil::Date;
use num_bigint::BigInt;
use num_traits::pow;

use super::{super::Exact, state::AssetIndex};

/// The dollars of one base unit of each scored asset, for the transactions of a day.
#[derive(Debug)]
pub(super) struct Values(Vec<Option<Exact>>);

impl Values {
    pub(super) fn on(chain: ChainId, prices: &Prices, day: Date) -> Self {
        let before = day.yesterday().expect("a day");
        let of_asset = scored_assets(chain).map(|asset| {
            let price = prices.on(asset.id, before)?.price.attodollars();
            let units = pow(BigInt::from(10), usize::from(asset.decimals) + 18);
            Some(Exact::new(price.into(), units))
        });
        Self(of_asset.collect())
    }

    /// The dollars of one base unit. The economies of the oracle have prices for all that they move.
    pub(super) fn unit(&self, coin: AssetIndex) -> &Exact {
        self.0[coin].as_ref().expect("a price")
    }

    pub(super) fn of(&self, coin: AssetIndex, amount: &Exact) -> Exact {
        amount * self.unit(coin)
    }

    /// The amount of a value.
    pub(super) fn amount(&self, coin: AssetIndex, value: &Exact) -> Exact {
        value / self.unit(coin)
    }
}
