//! Numbers, amounts, shares, spans of time and identifiers as text; pictures share most of them.

use assay_address::ChainId;
use assay_engine::assessment::Amount;
pub(crate) use assay_picture::text::{Unit, counted, further_than, hops, percent, short};
use jiff::Timestamp;

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

/// The words of a text up to a number of characters.
pub(super) fn beginning(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most).collect();
    let words = cut.rsplit_once(' ').map_or(&*cut, |(words, _)| words);
    format!("{} ...", words.trim_end_matches([',', ';', ':']))
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
    fn a_text_is_cut_between_words() {
        assert_eq!(beginning("one two, three", 10), "one two ...");
        assert_eq!(beginning("one two", 7), "one two");
    }

    #[test]
    fn amounts_of_zero_are_left_out() {
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
