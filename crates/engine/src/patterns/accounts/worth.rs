//! Values of payments in micro-dollars of their day.

use jiff::Timestamp;

use crate::account::{MICROS_IN_DOLLAR, MoneyUnit, Prices, ScoredAsset, Valuation};

/// Values of amounts. An asset without a price of the day counts by its order of worth; one without an order of worth is
/// left out.
pub(super) struct Worth<'p> {
    values: Valuation<'p>,
    /// False if an amount was left out.
    pub(super) is_whole: bool,
}

impl<'p> Worth<'p> {
    pub(super) const fn new(prices: &'p Prices) -> Self {
        Self { values: Valuation::new(prices), is_whole: true }
    }

    /// The value of an amount at a time.
    pub(super) fn of(
        &mut self,
        asset: &'static ScoredAsset,
        amount: u128,
        time: Timestamp,
    ) -> u128 {
        match self.values.value(asset, amount, time) {
            (MoneyUnit::Dollars, micros) => micros,
            (MoneyUnit::Asset(asset), _) => {
                let of_a_dollar = asset.largest_dust();
                let micros = amount.saturating_mul(MICROS_IN_DOLLAR).checked_div(of_a_dollar);
                self.is_whole &= micros.is_some();
                micros.unwrap_or(0)
            }
        }
    }
}
