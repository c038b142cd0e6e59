//! Numbers, amounts, shares, spans of time and identifiers as text.

use assay_address::ChainId;
use assay_engine::{
    account::{decimals_of, whole_units},
    assessment::Amount,
};
use jiff::Timestamp;

/// Number of characters of an identifier that are shown at its beginning and at its end.
const IDENTIFIER_ENDS: usize = 8;

/// A number with its noun, in the singular or the plural.
pub(crate) fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

/// A distance of more than a number of transactions.
pub(super) fn further_than(transactions: u32) -> String {
    format!("further than {}", counted(transactions.into(), "transaction", "transactions"))
}

/// A number of hops.
pub(super) fn hops(number: usize) -> String {
    counted(u64::try_from(number).unwrap_or(u64::MAX), "hop", "hops")
}

/// The unit of amounts in an answer about a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unit<'a> {
    chain: ChainId,
    /// `USD`, or a ticker.
    name: &'a str,
}

impl<'a> Unit<'a> {
    /// The unit with a name: `USD`, or the ticker of an asset.
    pub(crate) const fn new(chain: ChainId, name: &'a str) -> Self {
        Self { chain, name }
    }

    /// The coin of the chain.
    pub(crate) fn native(chain: ChainId) -> Self {
        Self { chain, name: chain.info().native().code }
    }

    /// An amount of base units, or of cents, in the unit: `USD 1,234.50`, `1.50000000 BTC`, `1.5 ETH`.
    pub(crate) fn text(self, amount: u128) -> String {
        let Self { chain, name } = self;
        let native = chain.info().native();
        if name == native.code && chain.info().outputs().is_some() {
            let decimals = usize::from(native.decimals);
            let unit = 10_u128.saturating_pow(native.decimals.into()).max(1);
            return format!("{}.{:0decimals$} {name}", amount / unit, amount % unit);
        }
        if name == DOLLARS {
            return format!("{DOLLARS} {}.{:02}", grouped(amount / 100), amount % 100);
        }
        match decimals_of(chain, name) {
            Some(decimals) => format!("{} {name}", whole_units(amount, decimals)),
            None => format!("{amount} base units of {name}"),
        }
    }
}

/// The unit of amounts that have a price.
const DOLLARS: &str = "USD";

/// A number with commas between groups of three digits.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An amount of an answer.
pub(super) fn amount(chain: ChainId, amount: &Amount) -> String {
    Unit::new(chain, &amount.asset).text(amount.value.parse().unwrap_or_default())
}

/// Amounts of several assets, without those of zero; `0` of the chain's coin if nothing is left.
pub(super) fn amounts(chain: ChainId, amounts: &[Amount]) -> String {
    let texts: Vec<String> =
        amounts.iter().filter(|it| it.value != "0").map(|it| amount(chain, it)).collect();
    if texts.is_empty() { Unit::native(chain).text(0) } else { texts.join(", ") }
}

/// Millionths as a percentage with one decimal.
pub(super) fn percent(millionths: u64) -> String {
    let tenths = (millionths + 500) / 1_000;
    if tenths == 0 && millionths > 0 {
        return "<0.1 %".to_owned();
    }
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// The words of a text up to a number of characters.
pub(super) fn beginning(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most).collect();
    let words = cut.rsplit_once(' ').map_or(&*cut, |(words, _)| words);
    format!("{} ...", words.trim_end_matches([',', ';', ':']))
}

/// The first and last characters of an identifier.
pub(super) fn short(text: Option<&str>) -> String {
    let Some(text) = text else { return "(no address)".to_owned() };
    let (length, ends) = (text.chars().count(), IDENTIFIER_ENDS);
    if length <= 2 * ends + 3 {
        return text.to_owned();
    }
    let first: String = text.chars().take(ends).collect();
    let last: String = text.chars().skip(length - ends).collect();
    format!("{first}...{last}")
}

/// The time since a moment, in its largest unit.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(then).as_secs();
    match seconds {
        ..0 => "in the future".to_owned(),
        0..60 => "just now".to_owned(),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_shares_are_written_for_people() {
        let bitcoin = Unit::native(ChainId::BTC);
        assert_eq!(bitcoin.text(123_456_789), "1.23456789 BTC");
        assert_eq!(bitcoin.text(5), "0.00000005 BTC");
        assert_eq!(percent(123_456), "12.3 %");
        assert_eq!(percent(1_000_000), "100.0 %");
        assert_eq!(percent(1), "<0.1 %");
        assert_eq!(percent(0), "0.0 %");
        assert_eq!(short(Some("bc1qft5p2uhsdcdc3l2ua4ap5qqfg4pjaqlp25")), "bc1qft5p...pjaqlp25");
        assert_eq!(short(None), "(no address)");
        assert_eq!(beginning("one two, three", 10), "one two ...");
        assert_eq!(beginning("one two", 7), "one two");
        assert_eq!((hops(1), hops(2)), ("1 hop".to_owned(), "2 hops".to_owned()));
    }

    #[test]
    fn amounts_of_account_chains_are_written_in_their_own_unit() {
        let of = |name, amount| Unit::new(ChainId::ETH, name).text(amount);
        assert_eq!(of("ETH", 50_010_000_000_000_000_000), "50.01 ETH");
        assert_eq!(of("ETH", 1), "0.000000000000000001 ETH");
        assert_eq!(of("USDT", 100_000_000_000), "100000 USDT");
        assert_eq!(of("USD", 123_456_705), "USD 1,234,567.05");
        assert_eq!((of("USD", 0), of("USD", 99_999)), ("USD 0.00".into(), "USD 999.99".into()));
        assert_eq!(of("PEPE", 12), "12 base units of PEPE");
        let amount = |asset: &str, value: &str| Amount {
            value: value.to_owned(),
            asset: asset.to_owned(),
            usd: None,
            price_day: None,
        };
        let several = [amount("ETH", "10"), amount("USDC", "0"), amount("USDT", "2500000")];
        assert_eq!(amounts(ChainId::ETH, &several), "0.00000000000000001 ETH, 2.5 USDT");
        assert_eq!(amounts(ChainId::ETH, &several[1..2]), "0 ETH");
    }

    #[test]
    fn elapsed_time_is_given_in_its_largest_unit() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        for (seconds, text) in [
            (0, "just now"),
            (90, "1 min ago"),
            (7200, "2 h ago"),
            (200_000, "2 days ago"),
            (-5, "in the future"),
        ] {
            let then = Timestamp::from_second(1_000_000 - seconds).unwrap();
            assert_eq!(ago(then, now), text);
        }
    }
}
