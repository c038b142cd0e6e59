//! Numbers, amounts, shares and identifiers as text.

use assay_address::ChainId;
use assay_engine::account::{decimals_of, whole_units};

use crate::AmountView;

/// Number of characters of an identifier that are shown at its beginning and at its end.
const IDENTIFIER_ENDS: usize = 8;

/// A number with its noun, in the singular or the plural.
#[must_use]
pub fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number.into()), if number == 1 { one } else { several })
}

/// A distance of more than a number of transactions.
#[must_use]
pub fn further_than(transactions: u32) -> String {
    format!("further than {}", counted(transactions.into(), "transaction", "transactions"))
}

/// A number of hops.
#[must_use]
pub fn hops(number: usize) -> String {
    counted(u64::try_from(number).unwrap_or(u64::MAX), "hop", "hops")
}

/// The unit of amounts in an answer about a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit<'a> {
    chain: ChainId,
    /// `USD`, or a ticker.
    name: &'a str,
}

impl<'a> Unit<'a> {
    /// The unit with a name: `USD`, or the ticker of an asset.
    #[must_use]
    pub const fn new(chain: ChainId, name: &'a str) -> Self {
        Self { chain, name }
    }

    /// The coin of the chain.
    #[must_use]
    pub fn native(chain: ChainId) -> Self {
        Self { chain, name: chain.info().native().code }
    }

    /// An amount of base units, or of cents, in the unit: `USD 1,234.50`, `1.50000000 BTC`, `1.5 ETH`.
    #[must_use]
    pub fn text(self, amount: u128) -> String {
        let Self { chain, name } = self;
        let native = chain.info().native();
        if name == native.code && chain.info().outputs().is_some() {
            let decimals = usize::from(native.decimals);
            let unit = 10_u128.saturating_pow(native.decimals.into()).max(1);
            return format!("{}.{:0decimals$} {name}", grouped(amount / unit), amount % unit);
        }
        if name == DOLLARS {
            return format!("{DOLLARS} {}.{:02}", grouped(amount / 100), amount % 100);
        }
        match decimals_of(chain, name) {
            Some(decimals) => format!("{} {name}", with_groups(&whole_units(amount, decimals))),
            None => format!("{amount} base units of {name}"),
        }
    }
}

/// A decimal number with commas between the groups of its whole part.
fn with_groups(number: &str) -> String {
    let (whole, fraction) = number.split_at(number.find('.').unwrap_or(number.len()));
    whole.parse().map_or_else(|_| number.to_owned(), |whole| grouped(whole) + fraction)
}

/// The unit of amounts that have a price.
const DOLLARS: &str = "USD";

/// A number with commas between groups of three digits.
#[must_use]
pub fn grouped(number: u128) -> String {
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

/// Millionths as a percentage with one decimal, cut off as in the answer's texts: a limit that is not reached is not shown.
#[must_use]
pub fn percent(millionths: u64) -> String {
    let tenths = millionths / 1_000;
    if tenths == 0 && millionths > 0 {
        return "<0.1 %".to_owned();
    }
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// The first and last characters of an identifier.
#[must_use]
pub fn short(text: Option<&str>) -> String {
    text.map_or_else(|| "(no address)".to_owned(), |text| with_ends(text, IDENTIFIER_ENDS))
}

/// A number of characters of a text from its beginning, and as many from its end.
pub(crate) fn with_ends(text: &str, ends: usize) -> String {
    let length = text.chars().count();
    if length <= 2 * ends + 3 {
        return text.to_owned();
    }
    let first: String = text.chars().take(ends).collect();
    let last: String = text.chars().skip(length - ends).collect();
    format!("{first}...{last}")
}

/// An amount of an answer.
#[must_use]
pub fn amount(chain: ChainId, amount: &AmountView) -> String {
    Unit::new(chain, &amount.asset).text(amount.base_units())
}

/// Amounts of several assets, without those of zero; `0` of the chain's coin if nothing is left.
#[must_use]
pub fn amounts(chain: ChainId, amounts: &[AmountView]) -> String {
    let texts: Vec<String> =
        amounts.iter().filter(|it| it.value != "0").map(|it| amount(chain, it)).collect();
    if texts.is_empty() { Unit::native(chain).text(0) } else { texts.join(", ") }
}

/// A share of an answer, as a decimal from 0 to 1, in millionths; 0 if the text is no share.
#[must_use]
pub fn millionths(share: &str) -> u64 {
    let (whole, decimals) = share.split_once('.').unwrap_or((share, ""));
    let (whole, digits) = (whole.parse().unwrap_or(0_u64), decimals.get(..6).unwrap_or(decimals));
    let places = u32::try_from(digits.len()).unwrap_or(6);
    let parts =
        digits.parse().unwrap_or(0_u64).saturating_mul(10_u64.pow(6_u32.saturating_sub(places)));
    whole.saturating_mul(1_000_000).saturating_add(parts)
}

/// A text of at most a number of characters; a cut one ends in an ellipsis.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}\u{2026}", kept.trim_end())
}

/// A text in lines of at most `width` characters, broken between words. A text of more than `most` lines ends in an ellipsis,
/// and so does a line of one word that is too long.
#[must_use]
pub(crate) fn lines(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match found.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => found.push(word.to_owned()),
        }
    }
    if found.len() > most {
        let last = found.split_off(most.saturating_sub(1)).join(" ");
        found.push(last);
    }
    found.iter().map(|line| cut(line, width)).collect()
}

/// True if a character changes the direction of the text around it.
#[must_use]
pub const fn is_direction_mark(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// A text in which U+FFFD stands for each character that changes the direction of the text around it.
#[must_use]
pub fn without_direction_marks(text: &str) -> String {
    text.replace(is_direction_mark, "\u{fffd}")
}

/// An identifier of an answer, such as `mixing_service`, in words.
#[must_use]
pub fn words(identifier: &str) -> String {
    identifier.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_shares_are_written_for_people() {
        let bitcoin = Unit::native(ChainId::BTC);
        assert_eq!(bitcoin.text(123_456_789), "1.23456789 BTC");
        assert_eq!(bitcoin.text(5), "0.00000005 BTC");
        assert_eq!(bitcoin.text(123_400_000_000), "1,234.00000000 BTC");
        assert_eq!(counted(1_234, "transfer", "transfers"), "1,234 transfers");
        assert_eq!(percent(249_999), "24.9 %");
        assert_eq!(percent(123_456), "12.3 %");
        assert_eq!(percent(1_000_000), "100.0 %");
        assert_eq!(percent(1), "<0.1 %");
        assert_eq!(percent(0), "0.0 %");
        assert_eq!(short(Some("bc1qft5p2uhsdcdc3l2ua4ap5qqfg4pjaqlp25")), "bc1qft5p...pjaqlp25");
        assert_eq!(short(None), "(no address)");
        assert_eq!((hops(1), hops(2)), ("1 hop".to_owned(), "2 hops".to_owned()));
    }

    #[test]
    fn shares_of_answers_are_read_exactly() {
        let read = ["0", "1", "0.000001", "0.123456", "0.5", "1.000000", "x", "0.1234567"];
        let read = read.map(millionths);
        assert_eq!(read, [0, 1_000_000, 1, 123_456, 500_000, 1_000_000, 0, 123_456]);
    }

    #[test]
    fn long_texts_end_in_an_ellipsis() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab\u{2026}");
        assert_eq!(cut("\u{e9}\u{e9}\u{e9}\u{e9}", 2), "\u{e9}\u{2026}");
    }

    #[test]
    fn a_text_is_broken_between_words() {
        assert_eq!(lines("ab cd  efg", 5, 3), ["ab cd", "efg"]);
        assert_eq!(lines("ab cd efg hij", 5, 2), ["ab cd", "efg\u{2026}"]);
        assert_eq!(lines("abcdefgh i", 5, 2), ["abcd\u{2026}", "i"]);
        assert!(lines(" \n ", 5, 2).is_empty());
    }

    #[test]
    fn amounts_of_account_chains_are_written_in_their_own_unit() {
        let of = |name, amount| Unit::new(ChainId::ETH, name).text(amount);
        assert_eq!(of("ETH", 50_010_000_000_000_000_000), "50.01 ETH");
        assert_eq!(of("ETH", 1), "0.000000000000000001 ETH");
        assert_eq!(of("USDT", 100_000_000_000), "100,000 USDT");
        assert_eq!(of("USDT", 1_234_500_000), "1,234.5 USDT");
        assert_eq!(of("USD", 123_456_705), "USD 1,234,567.05");
        assert_eq!((of("USD", 0), of("USD", 99_999)), ("USD 0.00".into(), "USD 999.99".into()));
        assert_eq!(of("PEPE", 12), "12 base units of PEPE");
    }
}
