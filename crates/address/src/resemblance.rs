//! Addresses that look alike to a person who compares the ends that wallets show, or who mistypes a character.

use crate::{AddressRules, CanonicalAddress, ChainId};

/// Number of characters at each end that wallets show.
pub const SHOWN: usize = 4;
/// Number of characters at one end that an edit at the other end leaves as they are.
const HALF: usize = 8;
/// Length from which a single edit leaves [`HALF`] characters at one of both ends.
const LONG: usize = 2 * HALF + 1;

/// Way in which two addresses look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resemblance {
    /// They differ by one edit: a character that was replaced, inserted or left out, or two neighbors that were
    /// swapped.
    OneEdit,
    /// They have the same first and last characters.
    Ends,
}

/// Texts by which addresses that look alike are found: two of them share one of the three texts, if they have the same
/// form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResemblanceKeys {
    /// Form of the address: all EVM chains share one.
    pub form: &'static str,
    /// The first and last characters that wallets show.
    pub ends: String,
    /// The first half that an edit behind it leaves as it is; for a short address the whole address.
    pub head: String,
    /// The last half that an edit before it leaves as it is; for a short address the whole address.
    pub tail: String,
}

impl CanonicalAddress {
    /// Returns the address after the part that all addresses of its form share ([`distinctive_part`]).
    #[must_use]
    pub fn distinctive_part(&self) -> &str {
        distinctive_part(self.chain(), self.as_str())
    }

    /// Returns the texts by which addresses that look like this one are found; `None` for an address of which the ends
    /// are the whole, and for texts of chains without a form of addresses.
    #[must_use]
    pub fn resemblance_keys(&self) -> Option<ResemblanceKeys> {
        let body = self.distinctive_part().to_ascii_lowercase();
        let has_form = !matches!(self.chain().info().rules, AddressRules::Opaque);
        if !has_form || !body.is_ascii() || body.len() < 3 * SHOWN {
            return None;
        }
        let (half, is_long) = (HALF, body.len() >= LONG);
        let head = if is_long { body.get(..half) } else { Some(&*body) }?;
        let tail = if is_long { body.get(body.len() - half..) } else { Some(&*body) }?;
        Some(ResemblanceKeys {
            form: form(self.chain()),
            ends: format!("{}{}", body.get(..SHOWN)?, body.get(body.len() - SHOWN..)?),
            head: head.to_owned(),
            tail: tail.to_owned(),
        })
    }

    /// Returns the way in which another address looks like this one; `None` if they are the same address, on any EVM
    /// chain, or do not look alike.
    #[must_use]
    pub fn resembles(&self, other: &Self) -> Option<Resemblance> {
        let (keys, others) = (self.resemblance_keys()?, other.resemblance_keys()?);
        if keys.form != others.form || self.as_str() == other.as_str() {
            return None;
        }
        let (one, two) = (self.distinctive_part(), other.distinctive_part());
        let is_long = one.len().min(two.len()) >= LONG;
        if is_long && is_one_edit(one.as_bytes(), two.as_bytes()) {
            return Some(Resemblance::OneEdit);
        }
        (keys.ends == others.ends).then_some(Resemblance::Ends)
    }
}

/// Returns the form of a chain's addresses: one for all EVM chains, whose accounts are the same text.
fn form(chain: ChainId) -> &'static str {
    if matches!(chain.info().rules, AddressRules::Evm) { "evm" } else { chain.as_str() }
}

/// Returns a canonical address without the parts that all addresses of its form share: `0x`, the prefix of bech32 with
/// the version of its program, the prefix of `CashAddr`, the `T` of TRON, the `.near` of a name.
#[must_use]
pub fn distinctive_part(chain: ChainId, text: &str) -> &str {
    let rules = chain.info().rules;
    let text = match rules {
        AddressRules::Near => text.strip_suffix(".near").unwrap_or(text),
        _ => text,
    };
    if let Some((_, rest)) = text.split_once(':') {
        return rest;
    }
    if let Some(rest) = fixed_prefixes(rules).iter().find_map(|prefix| text.strip_prefix(prefix)) {
        return rest;
    }
    let is_bech32 = !text.bytes().any(|byte| byte.is_ascii_uppercase());
    match (rules, text.rsplit_once('1').filter(|_| is_bech32)) {
        (AddressRules::Cosmos(_), Some((_, rest))) => rest,
        (AddressRules::Bitcoin(_), Some((prefix, rest))) if !prefix.is_empty() => {
            rest.get(1..).unwrap_or(rest)
        }
        _ => text,
    }
}

/// The prefixes of a family's forms that are fixed texts, a longer one before a shorter one that it begins with.
const fn fixed_prefixes(rules: AddressRules) -> &'static [&'static str] {
    match rules {
        AddressRules::Evm | AddressRules::Move | AddressRules::Near => &["0x"],
        AddressRules::Tron => &["T"],
        AddressRules::Beacon => &["bnb1"],
        // Of Byron's addresses the header and the network fix the first characters.
        AddressRules::Cardano => &["addr1", "stake1", "DdzFFzCqrh", "Ae2tdPwUPEZ"],
        AddressRules::Filecoin => &["f410f", "f0", "f1", "f2", "f3", "f4"],
        AddressRules::Tezos => &["tz1", "tz2", "tz3", "tz4", "KT1", "sr1"],
        AddressRules::Zcash => &["t1", "t3", "zs1", "u1"],
        AddressRules::Stellar => &["G", "M", "C"],
        AddressRules::Stacks => &["SP", "SM"],
        AddressRules::Xrp => &["r", "X"],
        _ => &[],
    }
}

/// True if two texts are equal but for letter case and at most one edit.
fn is_one_edit(one: &[u8], other: &[u8]) -> bool {
    let same = |(a, b): &(&u8, &u8)| a.eq_ignore_ascii_case(b);
    let shortest = one.len().min(other.len());
    let first = one.iter().zip(other).take_while(same).count();
    let last = one.iter().rev().zip(other.iter().rev()).take_while(same).count();
    match one.len().abs_diff(other.len()) {
        0 => first + last + 1 >= shortest || is_swapped(one, other, first, last),
        1 => first + last >= shortest,
        _ => false,
    }
}

/// True if two texts of one length differ by two neighbors that are swapped behind the first `first` characters.
fn is_swapped(one: &[u8], other: &[u8], first: usize, last: usize) -> bool {
    let pair = |text: &[u8]| Some([*text.get(first)?, *text.get(first + 1)?]);
    first + last + 2 == one.len()
        && pair(one)
            .zip(pair(other))
            .is_some_and(|([a, b], other)| [b, a].eq_ignore_ascii_case(&other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(chain: &str, text: &str) -> CanonicalAddress {
        CanonicalAddress::parse(chain.parse().unwrap(), text).unwrap()
    }

    #[test]
    fn the_fixed_prefix_of_a_form_is_left_out() {
        for (chain, text, part) in [
            (
                "eth",
                "0x189f40034be7a199f1fa9891668ee3ab6049f82d",
                "189f40034BE7a199f1fA9891668eE3aB6049F82d",
            ),
            (
                "btc",
                "bc1q9e7jcqaf2pawye0v7k6n26y955ee8gsztpqggj",
                "9e7jcqaf2pawye0v7k6n26y955ee8gsztpqggj",
            ),
            ("btc", "1KUCzSr49wPWckUDouJLybJuRYtViF5hfM", "1KUCzSr49wPWckUDouJLybJuRYtViF5hfM"),
            ("trx", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "R7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"),
            (
                "bch",
                "qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
                "qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a",
            ),
            ("tezos", "tz1VSUr8wwNhLAzempoch5d6hLRiTh8Cjcjb", "VSUr8wwNhLAzempoch5d6hLRiTh8Cjcjb"),
            ("near", "alice-of-the-lake.near", "alice-of-the-lake"),
            (
                "atom",
                "cosmos1depk54cuajgkzea6zpgkq36tnjwdzv4afc3d27",
                "depk54cuajgkzea6zpgkq36tnjwdzv4afc3d27",
            ),
            (
                "fil",
                "f1abjxfbp274xpdqcpuaykwkfb43omjotacm2p3za",
                "abjxfbp274xpdqcpuaykwkfb43omjotacm2p3za",
            ),
            (
                "ada",
                "Ae2tdPwUPEZFRbyhz3cpfC2CumGzNkFBN2L42rcUc2yjQpEkxDbkPodpMAi",
                "FRbyhz3cpfC2CumGzNkFBN2L42rcUc2yjQpEkxDbkPodpMAi",
            ),
            (
                "bep2",
                "bnb1grpf0955h0ykzq3ar5nmum7y6gdfl6lxfn46h2",
                "grpf0955h0ykzq3ar5nmum7y6gdfl6lxfn46h2",
            ),
        ] {
            let parsed = address(chain, text);
            assert!(parsed.distinctive_part().eq_ignore_ascii_case(part), "{parsed}");
        }
    }

    #[test]
    fn accounts_with_the_same_ends_or_one_other_digit_look_alike_on_any_evm_chain() {
        let one = address("eth", "0x189f40034be7a199f1fa9891668ee3ab6049f82d");
        for (other, found) in [
            ("0x189f00000000000000000000000000000000f82d", Some(Resemblance::Ends)),
            ("0x189f00000000000000000000000000000000f82e", None),
            ("0x089f00000000000000000000000000000000f82d", None),
            ("0x089f40034be7a199f1fa9891668ee3ab6049f82d", Some(Resemblance::OneEdit)),
            ("0x189f40034be7a199f1fa9891668ee3ab6049f82c", Some(Resemblance::OneEdit)),
            ("0x189f40034be7a199f1af9891668ee3ab6049f82d", Some(Resemblance::OneEdit)),
            ("0x819f40034be7a199f1fa9891668ee3ab6049f82d", Some(Resemblance::OneEdit)),
            ("0x819f40034be7a199f1fa9891668ee3ab6049f8d2", None),
            ("0x189f40034be7a199f1fa9891668ee3ab6049f82d", None),
        ] {
            assert_eq!(one.resembles(&address("polygon", other)), found, "{other}");
        }
        assert_eq!(one.resembles(&address("btc", "1KUCzSr49wPWckUDouJLybJuRYtViF5hfM")), None);
    }

    #[test]
    fn characters_are_inserted_or_left_out() {
        for (one, other, expected) in [
            ("abcdef", "abcxdef", true),
            ("abcdef", "bcdef", true),
            ("abcdef", "abcde", true),
            ("aaaaaa", "aaaaa", true),
            ("abcdef", "bcdefg", false),
            ("abcdef", "abcd", false),
            ("abcdef", "ABCDEF", true),
            ("abcdef", "bacdfe", false),
        ] {
            assert_eq!(is_one_edit(one.as_bytes(), other.as_bytes()), expected, "{one} {other}");
        }
    }

    #[test]
    fn addresses_that_look_alike_share_a_key() {
        // Given every single edit of an account.
        let text = "189f40034be7a199f1fa9891668ee3ab6049f82d";
        let one = address("eth", &format!("0x{text}"));
        let keys = one.resemblance_keys().unwrap();
        for position in 0..text.len() {
            let mut edited = text.as_bytes().to_vec();
            edited[position] = if edited[position] == b'0' { b'1' } else { b'0' };
            let other = address("eth", &format!("0x{}", String::from_utf8(edited).unwrap()));
            // When they look alike, then they are found by a key.
            assert!(one.resembles(&other).is_some(), "{other}");
            let found = other.resemblance_keys().unwrap();
            assert!(found.head == keys.head || found.tail == keys.tail || found.ends == keys.ends);
        }
    }

    #[test]
    fn texts_without_a_form_have_no_keys() {
        assert_eq!(address("other", "some-text-that-is-long-enough").resemblance_keys(), None);
    }
}
