//! The field `blockchain`: the chain that a text names, or a problem that suggests similar chains.

use assay_address::{ChainId, UnsupportedChain};

use crate::problem::{Code, Problem};

/// Largest number of edits (letters added, left out, replaced or swapped with their neighbor) of a misspelt name.
const MAX_EDITS: usize = 2;
/// Most names in a message.
const MOST_NAMES: usize = 3;

/// Well-known tokens, by their symbols, and the chains on which most of their money is. Tokens are no blockchains:
/// the caller has to name the chain of the address.
const TOKENS: [(&str, &[&str]); 10] = [
    ("usdt", &["trx", "eth", "bsc", "polygon"]),
    ("usdc", &["eth", "base", "polygon", "arbitrum"]),
    ("dai", &["eth", "polygon", "gnosis"]),
    ("busd", &["bsc", "eth"]),
    ("tusd", &["trx", "eth", "bsc"]),
    ("usdd", &["trx", "eth", "bsc"]),
    ("weth", &["eth", "arbitrum", "base", "optimism"]),
    ("wbtc", &["eth", "arbitrum", "polygon"]),
    ("link", &["eth", "arbitrum", "polygon"]),
    ("shib", &["eth"]),
];

/// Returns the chain that a text names.
///
/// # Errors
///
/// Returns a problem that names the nearest chains; for the symbol of a token, the chains that hold the token.
pub fn parse_chain(blockchain: &str) -> Result<ChainId, Problem> {
    blockchain.parse().map_err(|error: UnsupportedChain| {
        let message = unsupported(&error.submitted);
        Problem::new(Code::UnsupportedChain, &message).field("blockchain", message)
    })
}

/// Describes the problem of a text that names no supported chain, and suggests similar chains.
fn unsupported(submitted: &str) -> String {
    let text = submitted.trim().to_ascii_lowercase();
    if let Some((_, chains)) = TOKENS.iter().find(|(token, _)| *token == text) {
        return format!(
            "`{submitted}` is a token, not a blockchain: send the blockchain that the address is on, such as {}",
            list(chains.iter().copied())
        );
    }
    let nearest = nearest(&text);
    if nearest.is_empty() {
        return format!(
            "unsupported blockchain `{submitted}`: send its identifier, such as `btc`, `eth` or `trx`"
        );
    }
    format!("unsupported blockchain `{submitted}`: did you mean {}?", list(nearest.into_iter()))
}

/// Writes names as `a`, `b` or `c`.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match names.pop() {
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} or {last}", names.join(", ")),
        None => String::new(),
    }
}

/// Returns the identifiers of chains with a name like `text`, the nearest first.
fn nearest(text: &str) -> Vec<&'static str> {
    // Within a short text, as many edits reach any name.
    let most = MAX_EDITS.min(text.chars().count() / 3);
    let mut found: Vec<(usize, ChainId)> = ChainId::all()
        .filter_map(|chain| {
            let info = chain.info();
            let name = info.name.to_ascii_lowercase();
            let names = [info.id, &*name].into_iter().chain(info.aliases.iter().copied());
            let distance = names.map(|name| edits(text, name)).min()?;
            (distance <= most).then_some((distance, chain))
        })
        .collect();
    found.sort_unstable();
    found.truncate(MOST_NAMES);
    found.into_iter().map(|(_, chain)| chain.as_str()).collect()
}

/// Returns the number of edits that turn one text into the other: the restricted Damerau-Levenshtein distance.
fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let width = other.len() + 1;
    // Distances of beginnings of `one` to all beginnings of `other`: two rows back, one row back.
    let (mut before, mut last) = (vec![usize::MAX; width], (0..width).collect::<Vec<usize>>());
    let mut previous = None;
    for (row, letter) in one.chars().enumerate() {
        let mut next = Vec::with_capacity(width);
        next.push(row + 1);
        let mut left = None;
        for (column, letter_of_other) in other.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX);
            let replaced = at(&last, column) + usize::from(letter != *letter_of_other);
            let edited = at(&last, column + 1).min(at(&next, column)) + 1;
            let mut distance = replaced.min(edited);
            if column > 0 && previous == Some(*letter_of_other) && left == Some(letter) {
                distance = distance.min(at(&before, column - 1).saturating_add(1));
            }
            next.push(distance);
            left = Some(*letter_of_other);
        }
        previous = Some(letter);
        before = std::mem::replace(&mut last, next);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(blockchain: &str) -> String {
        parse_chain(blockchain).unwrap_err().details("/", "").detail
    }

    #[test]
    fn a_misspelt_name_is_answered_with_the_nearest_ones() {
        assert_eq!(detail("etherium"), "unsupported blockchain `etherium`: did you mean `eth`?");
        assert_eq!(detail("Bitcion"), "unsupported blockchain `Bitcion`: did you mean `btc`?");
        assert_eq!(detail("btcc"), "unsupported blockchain `btcc`: did you mean `btc`?");
        let many = detail("etx");
        assert!(many.contains("`eth`") && many.split('`').count() <= 9, "{many}");
    }

    #[test]
    fn a_token_is_answered_with_the_chains_that_hold_it() {
        assert_eq!(
            detail("USDT"),
            "`USDT` is a token, not a blockchain: send the blockchain that the address is on, such as \
             `trx`, `eth`, `bsc` or `polygon`"
        );
        for (token, chains) in TOKENS {
            assert!(token.parse::<ChainId>().is_err(), "{token} is a chain");
            for chain in chains {
                assert_eq!(chain.parse::<ChainId>().unwrap().as_str(), *chain);
            }
        }
    }

    #[test]
    fn a_text_like_no_name_is_answered_with_examples() {
        for text in ["", "x", "nochain-at-all", "\u{0}", "123456789"] {
            let detail = detail(text);
            assert!(detail.ends_with("such as `btc`, `eth` or `trx`"), "{detail}");
        }
    }

    #[test]
    fn edits_are_counted() {
        for (one, other, distance) in [
            ("", "", 0),
            ("a", "", 1),
            ("ab", "ba", 1),
            ("abc", "axc", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(
                (edits(one, other), edits(other, one)),
                (distance, distance),
                "{one} {other}"
            );
        }
    }
}
