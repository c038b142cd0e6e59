//! Finding addresses in the free text of a list: remarks, reasons and other information.
//!
//! An address is a whole word that a chain's rules accept with its checksum. Forms without a checksum count
//! only if the text names their currency, because passport, account and registration numbers look like them.
//! The currency that the text names before the address, or in parentheses after it, decides between chains.

use std::{collections::HashSet, ops::Range};

use assay_address::{AddressRules, AssetScope, CanonicalAddress, ChainId};

use super::currency::{self, Currency};

/// Shortest word that is examined, in characters. The shortest address with a checksum has 26 characters.
const SHORTEST: usize = 25;
/// Longest word that is examined, in characters. A unified address of Zcash has several hundred.
const LONGEST: usize = 512;
/// Largest number of characters before an address that are searched for its currency.
const CONTEXT: usize = 400;
/// Largest number of characters of a sentence that is kept as evidence.
const LONGEST_SENTENCE: usize = 600;

/// Address that a text holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundAddress {
    /// Code of the asset that the text names, else of the asset whose chain has such addresses.
    pub(crate) asset_code: String,
    /// The address as the text prints it.
    pub(crate) text: String,
    /// The sentence around the address.
    pub(crate) sentence: String,
}

/// Addresses of a text, in their order and each once. A word that should have been an address is one of them: the list
/// means an address, even if no check can match it.
pub(crate) fn find(text: &str) -> Vec<FoundAddress> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for word in words(text) {
        let printed = text.get(word.clone()).unwrap_or_default();
        let named = currency::currencies_near(context(text, &word), after(text, &word));
        if let Some(asset_code) = read(printed, &named)
            && seen.insert((asset_code.clone(), printed.to_owned()))
        {
            let (text, sentence) = (printed.to_owned(), sentence(text, &word));
            found.push(FoundAddress { asset_code, text, sentence });
        }
    }
    found
}

/// Addresses of a text that states wallets: if none of its words is an address, its words of the length of an address
/// are taken for one, because the list means them so.
pub(crate) fn find_stated(text: &str) -> Vec<FoundAddress> {
    let found = find(text);
    if !found.is_empty() {
        return found;
    }
    let meant = words(text).into_iter().filter_map(|word| text.get(word)).filter(|word| {
        is_letters_and_digits(word) && !word.chars().any(|character| matches!(character, '@' | '/'))
    });
    let unread = |word: &str| FoundAddress {
        asset_code: AssetScope::UNSTATED.to_owned(),
        text: word.to_owned(),
        sentence: text.trim().to_owned(),
    };
    meant.map(unread).collect()
}

/// The asset code of a word that is an address, or that stands right beside the name of a currency and should have been
/// one; `None` for an ordinary word.
fn read(word: &str, named: &[Currency]) -> Option<String> {
    let beside = named.first().filter(|currency| currency.is_adjacent);
    if CanonicalAddress::is_bare_account(word) && beside.is_none() {
        // A fingerprint of a key, or another hash.
        return None;
    }
    let fits = |chain: ChainId| CanonicalAddress::read_published(chain, word).is_some();
    for currency in named {
        match AssetScope::for_code(currency.code) {
            AssetScope::Chain(chain) if fits(chain) => return Some(currency.code.to_owned()),
            AssetScope::EveryValidForm if distinct_chains().any(fits) => {
                return Some(currency.code.to_owned());
            }
            _ => {}
        }
    }
    let valid: Vec<ChainId> = distinct_chains()
        .filter(|chain| chain.info().rules.has_checksum() && fits(*chain))
        .collect();
    match valid.as_slice() {
        [] => {}
        [first, ..] if *first == ChainId::BTC => return Some("XBT".to_owned()),
        [only] if !matches!(only.info().rules, AddressRules::Evm) => return Some(only.list_code()),
        _ => return Some(AssetScope::UNSTATED.to_owned()),
    }
    let meant = beside
        .filter(|currency| may_be_meant(word) && ChainId::from_list_code(currency.code).is_some());
    meant.map(|currency| currency.code.to_owned())
}

/// True for a word that may be a damaged address: letters and digits, but neither a hash of 32 bytes, such as the number
/// of a transaction, nor all in capitals, as account and registration numbers are.
fn may_be_meant(word: &str) -> bool {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let is_hash = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_shouted = !word.chars().any(char::is_lowercase);
    is_letters_and_digits(word) && !is_hash && !is_shouted
}

/// One chain for each kind of address rules: an EVM account is valid on every EVM chain.
fn distinct_chains() -> impl Iterator<Item = ChainId> {
    ChainId::all()
        .filter(|chain| *chain == ChainId::ETH || !matches!(chain.info().rules, AddressRules::Evm))
}

fn is_letters_and_digits(word: &str) -> bool {
    let (mut letters, mut digits) = (false, false);
    for character in word.chars() {
        letters |= character.is_alphabetic();
        digits |= character.is_ascii_digit();
    }
    letters && digits
}

/// The reason to reject a base58 address whose letters were all made lowercase: the address cannot be restored. Only
/// one of many millions of real addresses of this length has no uppercase letter.
pub(crate) fn case_lost(word: &str) -> Option<&'static str> {
    let starts_as_base58 = word.starts_with(['1', '3', 't', 'l', 'm', 'd', 'x', 'r', 'q']);
    let letters = word.bytes().filter(u8::is_ascii_lowercase).count();
    let is_lowercase = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    (starts_as_base58 && is_lowercase && letters >= 10 && (26..=35).contains(&word.len()))
        .then_some(
            "all letters are lowercase, but base58 depends on their case: use a list that keeps it",
        )
}

/// The words of a text that are long enough for an address. The separators of some forms, such as
/// `bitcoincash:` and the hyphens of TON, belong to the word.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    let ends = text.char_indices().chain([(text.len(), ' ')]);
    for (index, character) in ends {
        let inside =
            CanonicalAddress::may_contain(character) || matches!(character, '_' | '-' | ':' | '.');
        match (start, inside) {
            (None, true) => start = Some(index),
            (Some(from), false) => {
                split_word(text, from..index, &mut words);
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// Takes a run of characters as one word if it has the form of an address with separators, else as the
/// words between the separators.
fn split_word(text: &str, run: Range<usize>, words: &mut Vec<Range<usize>>) {
    let whole = text.get(run.clone()).unwrap_or_default();
    // A user-friendly address of TON may end in a hyphen, and stand right behind its currency.
    if let Some(at) = ["EQ", "UQ"].iter().find_map(|start| whole.find(start))
        && let Some(friendly) = whole.get(at..at + 48)
        && has_inner_separators(friendly)
        && distinct_chains()
            .any(|chain| CanonicalAddress::read_published(chain, friendly).is_some())
    {
        words.push(run.start + at..run.start + at + 48);
        return;
    }
    let trimmed = whole.trim_matches([':', '.', '-']);
    let from = run.start + (whole.len() - whole.trim_start_matches([':', '.', '-']).len());
    let separators = trimmed.contains(['_', '-', ':', '.']);
    if separators && has_inner_separators(trimmed) {
        words.push(from..from + trimmed.len());
        return;
    }
    let mut start = run.start;
    for part in whole.split(['_', '-', ':', '.']) {
        let length = part.chars().count();
        if (SHORTEST..=LONGEST).contains(&length) {
            words.push(start..start + part.len());
        }
        start += part.len() + 1;
    }
}

/// True for the forms of addresses that have separators: CashAddr and Kaspa with their prefixes, TON in
/// both forms, and principals of the Internet Computer.
fn has_inner_separators(word: &str) -> bool {
    let prefixed = ["bitcoincash:", "kaspa:", "0:", "-1:"].iter().any(|prefix| {
        word.strip_prefix(prefix)
            .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphanumeric()))
    });
    let is_friendly = word.len() == 48
        && (word.starts_with("EQ") || word.starts_with("UQ"))
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    let is_principal = word.len() >= 27
        && word.split('-').all(|part| (1..=5).contains(&part.len()))
        && word
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    prefixed || is_friendly || is_principal
}

/// The text before a word in which its currency may be named.
fn context<'a>(text: &'a str, word: &Range<usize>) -> &'a str {
    let before = text.get(..word.start).unwrap_or_default();
    let start = before.char_indices().rev().nth(CONTEXT).map_or(0, |(index, _)| index);
    before.get(start..).unwrap_or_default()
}

/// The text after a word in which its currency may be named in parentheses.
fn after<'a>(text: &'a str, word: &Range<usize>) -> &'a str {
    let rest = text.get(word.end..).unwrap_or_default();
    let end = rest.char_indices().nth(24).map_or(rest.len(), |(index, _)| index);
    rest.get(..end).unwrap_or_default()
}

/// The sentence around a word, on one line and of bounded length.
fn sentence(text: &str, word: &Range<usize>) -> String {
    let before = text.get(..word.start).unwrap_or_default();
    let rest = text.get(word.end..).unwrap_or_default();
    let ends = ["\n", ". ", "; ", "。"];
    let start = ends.iter().filter_map(|end| before.rfind(end).map(|at| at + end.len())).max();
    let end = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
    let mut lead: String = before.get(start.unwrap_or(0)..).unwrap_or_default().to_owned();
    let room = LONGEST_SENTENCE / 2;
    let length = lead.chars().count();
    if length > room {
        lead = lead.chars().skip(length - room).collect();
    }
    let tail: String = rest.get(..end).unwrap_or_default().chars().take(room).collect();
    let printed = text.get(word.clone()).unwrap_or_default();
    let whole = format!("{lead}{printed}{tail}");
    whole.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BTC: &str = "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h";
    const EVM: &str = "0x2f389ce8bd8ff92de3402ffce4691d17fc4f6535";
    const TRON: &str = "TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq";

    fn found(text: &str) -> Vec<(String, String)> {
        find(text).into_iter().map(|found| (found.asset_code, found.text)).collect()
    }

    fn pair(code: &str, text: &str) -> (String, String) {
        (code.to_owned(), text.to_owned())
    }

    #[test]
    fn the_currency_beside_an_address_decides_its_chain() {
        assert_eq!(found(&format!("wallet {EVM}.")), [pair("UNSTATED", EVM)]);
        assert_eq!(found(&format!("ETH: {EVM}")), [pair("ETH", EVM)]);
        assert_eq!(
            found(&format!("({EVM} (BSC), BTC {BTC}")),
            [pair("BSC", EVM), pair("XBT", BTC)]
        );
        assert_eq!(found(&format!("USDT {EVM}; {TRON}")), [pair("USDT", EVM), pair("USDT", TRON)]);
        assert_eq!(found(&format!("USDT (TRC20): {TRON}")), [pair("TRX", TRON)]);
        assert_eq!(
            found(&format!("ETH: {EVM} / BTC: {BTC} / TRX: {TRON}")),
            [pair("ETH", EVM), pair("XBT", BTC), pair("TRX", TRON)]
        );
    }

    #[test]
    fn the_sentence_is_the_evidence() {
        let text = format!("Born 1980. Uses the Bitcoin\nwallet {BTC}, since 2019. Speaks French.");
        assert_eq!(find(&text)[0].sentence, format!("wallet {BTC}, since 2019"));
    }

    #[test]
    fn numbers_of_other_kinds_are_no_addresses() {
        let text = "IBAN GB29NWBK60161331926819, DE89370400440532013000, BIC DEUTDEFF500, \
                    MT84MALT011000012345MTLCAST001S, passport T1307262, ID 99489165270, IMO 9187629, \
                    OGRN 1157746078984, INN 7703380158, phone +7 495 123-45-67, \
                    NO9386011117947, FR1420041010050500013M02606, LC55HEMM000100010012001200023015, \
                    account 562068017069499754, SHA-256 \
                    9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08, \
                    https://www.interpol.int/en/How-we-work/Notices/View-UN-Notices-Individuals, \
                    550e8400-e29b-41d4-a716-446655440000";
        assert_eq!(find(text), vec![]);
    }

    #[test]
    fn an_address_is_a_whole_word() {
        assert_eq!(found(&format!("x{BTC}")), []);
        assert_eq!(found(&format!("{BTC}7")), []);
        assert_eq!(
            found(&format!("https://example.org/address/{EVM}?a=1")),
            [pair("UNSTATED", EVM)]
        );
        assert_eq!(found(&format!("ビットコイン{BTC}を使用")), [pair("XBT", BTC)]);
    }

    #[test]
    fn a_look_alike_is_read_and_a_broken_address_kept() {
        let disguised = TRON.replacen('T', "Т", 1);
        assert_eq!(found(&format!("TRX {disguised}")), [pair("TRX", &disguised)]);
        let zero_width = "12Qt\u{200B}D5BFwRsdNsAZY76UVE1xyCGNTojH9h";
        assert_eq!(found(&format!("BTC {zero_width}")), [pair("XBT", zero_width)]);

        // A list means these as addresses, too, although no check can match them.
        let mistyped = "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9i";
        assert_eq!(found(&format!("BTC: {mistyped}")), [pair("XBT", mistyped)]);
        let lower = BTC.to_lowercase();
        assert_eq!(found(&format!("BTC {lower}")), [pair("XBT", &lower)]);
        assert_eq!(found(&format!("reference {mistyped}")), []);
    }

    #[test]
    fn an_address_of_ton_may_end_in_a_hyphen_and_stand_behind_its_currency() {
        for address in [
            "EQAYJTI_TFlmc4CNmqe0wc7b6PUCDxwpNkNQXWp3hJEBKN--",
            "EQAADRonNEFOW2h1go-cqbbD0N3q9wQRHis4RVJfbHkAAMIL",
        ] {
            assert_eq!(found(&format!("TON: {address}")), [pair("TON", address)]);
            assert_eq!(found(&format!("TON:{address}, used")), [pair("TON", address)]);
        }
    }

    #[test]
    fn numbers_beside_a_currency_are_no_damaged_addresses() {
        for text in [
            "Known to use BTC, MT84MALT011000012345MTLCAST001S",
            "received 2 BTC (4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b)",
            "Tx (ETH) 0x4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn each_of_several_addresses_stands_beside_the_currency() {
        let bare = EVM.trim_start_matches("0x");
        assert_eq!(found(&format!("ETH: {EVM}, {bare}")), [pair("ETH", EVM), pair("ETH", bare)]);
    }

    #[test]
    fn forty_digits_are_an_account_right_beside_its_currency_only() {
        let bare = EVM.trim_start_matches("0x");
        assert_eq!(found(&format!("ETH {bare}")), [pair("ETH", bare)]);
        assert_eq!(found(&format!("PGP fingerprint {bare}")), []);
        assert_eq!(found(&format!("paid in ETH by the holder of the key {bare}")), []);
    }

    proptest! {
        #[test]
        fn no_text_stops_the_finder(text in any::<String>()) {
            find(&text);
        }

        #[test]
        fn an_address_between_any_words_is_found(
            before in "[A-Za-z0-9 ,.\n]{0,60}",
            after in "[A-Za-z0-9 ,.\n]{0,60}",
        ) {
            let text = format!("{before} {BTC} {after}");
            prop_assert!(find(&text).iter().any(|found| found.text == BTC));
        }
    }
}
