//! Numbers, amounts, shares, spans of time and identifiers as text.

use assay_address::Chain;
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

/// An amount in whole coins.
pub(crate) fn coins(chain: &Chain, amount: u128) -> String {
    let unit = 10_u128.saturating_pow(chain.native().decimals.into()).max(1);
    let decimals = usize::from(chain.native().decimals);
    format!("{}.{:0decimals$} {}", amount / unit, amount % unit, chain.native().code)
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
        let bitcoin = assay_address::ChainId::BTC.info();
        assert_eq!(coins(bitcoin, 123_456_789), "1.23456789 BTC");
        assert_eq!(coins(bitcoin, 5), "0.00000005 BTC");
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
