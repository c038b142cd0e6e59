//! The names of currencies and networks in the free text of lists.

use assay_address::SHORTEST_ADDRESS;

/// Currency that a text names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Currency {
    /// Asset code of the currency.
    pub(crate) code: &'static str,
    /// True if nothing but punctuation, and words such as `wallet`, stand between the name and the address.
    pub(crate) is_adjacent: bool,
}

/// Names of currencies, lowercase, with the asset code. A network, such as TRC20, is more precise than the
/// token on it.
const NAMES: [(&str, &str); 97] = [
    ("ada", "ADA"),
    ("algo", "ALGO"),
    ("algorand", "ALGO"),
    ("apt", "APT"),
    ("aptos", "APT"),
    ("arb", "ARB"),
    ("arbitrum", "ARB"),
    ("atom", "ATOM"),
    ("avalanche", "AVAX"),
    ("avax", "AVAX"),
    ("bch", "BCH"),
    ("bep2", "BEP2"),
    ("bep20", "BSC"),
    ("bitcoin", "XBT"),
    ("bitcoins", "XBT"),
    ("bnb", "BNB"),
    ("bsc", "BSC"),
    ("bsv", "BSV"),
    ("btc", "XBT"),
    ("btg", "BTG"),
    ("cardano", "ADA"),
    ("cosmos", "ATOM"),
    ("dash", "DASH"),
    ("doge", "DOGE"),
    ("dogecoin", "DOGE"),
    ("dot", "DOT"),
    ("erc20", "ETH"),
    ("etc", "ETC"),
    ("eth", "ETH"),
    ("ether", "ETH"),
    ("ethereum", "ETH"),
    ("fil", "FIL"),
    ("filecoin", "FIL"),
    ("hbar", "HBAR"),
    ("hedera", "HBAR"),
    ("icp", "ICP"),
    ("kas", "KAS"),
    ("kaspa", "KAS"),
    ("litecoin", "LTC"),
    ("ltc", "LTC"),
    ("matic", "MATIC"),
    ("monero", "XMR"),
    ("near", "NEAR"),
    ("neo", "NEO"),
    ("omni", "XBT"),
    ("osmo", "OSMO"),
    ("polkadot", "DOT"),
    ("polygon", "MATIC"),
    ("ripple", "XRP"),
    ("sol", "SOL"),
    ("solana", "SOL"),
    ("stacks", "STX"),
    ("stellar", "XLM"),
    ("stx", "STX"),
    ("sui", "SUI"),
    ("tether", "USDT"),
    ("tezos", "XTZ"),
    ("ton", "TON"),
    ("toncoin", "TON"),
    ("trc20", "TRX"),
    ("tron", "TRX"),
    ("trx", "TRX"),
    ("usdc", "USDC"),
    ("usdt", "USDT"),
    ("verge", "XVG"),
    ("xbt", "XBT"),
    ("xlm", "XLM"),
    ("xmr", "XMR"),
    ("xrp", "XRP"),
    ("xtz", "XTZ"),
    ("xvg", "XVG"),
    ("zcash", "ZEC"),
    ("zec", "ZEC"),
    // In the languages of the lists.
    ("биткоин", "XBT"),
    ("биткойн", "XBT"),
    ("эфириум", "ETH"),
    ("bitcoin's", "XBT"),
    ("ethereum's", "ETH"),
    ("ethers", "ETH"),
    ("bitcoïn", "XBT"),
    ("éther", "ETH"),
    ("ethereums", "ETH"),
    ("ビットコイン", "XBT"),
    ("イーサリアム", "ETH"),
    ("イーサ", "ETH"),
    ("テザー", "USDT"),
    ("トロン", "TRX"),
    ("ライトコイン", "LTC"),
    ("モネロ", "XMR"),
    ("ביטקוין", "XBT"),
    ("את׳ריום", "ETH"),
    ("אתריום", "ETH"),
    ("טרון", "TRX"),
    ("טתר", "USDT"),
    ("bitcoincash", "BCH"),
    ("bnbchain", "BSC"),
    ("usdte", "USDT"),
];

/// Names that are also English words: they count only in capitals.
const ALSO_WORDS: [&str; 9] = ["dash", "dot", "near", "etc", "sol", "ton", "verge", "omni", "algo"];

/// Words that may stand between the name of a currency and an address.
const FILLERS: [&str; 14] = [
    "address",
    "addresses",
    "adresse",
    "adresses",
    "wallet",
    "wallets",
    "account",
    "currency",
    "digital",
    "virtual",
    "no",
    "number",
    "portefeuille",
    "token",
];

/// The currencies that a text names for an address: the one in parentheses right after the address, then the currencies
/// named before the address, the nearest first.
pub(crate) fn currencies_near(before: &str, after: &str) -> Vec<Currency> {
    let mut named = Vec::new();
    let bracket = after.trim_start().strip_prefix(['(', '[']);
    if let Some(code) = bracket.and_then(|rest| words(rest).take(2).find_map(code_of)) {
        named.push(Currency { code, is_adjacent: true });
    }
    let mut is_adjacent = true;
    let spoken: Vec<&str> = words(before).collect();
    for word in spoken.into_iter().rev() {
        if let Some(code) = code_of(word) {
            named.push(Currency { code, is_adjacent });
            is_adjacent = false;
        } else {
            let plain = word.to_lowercase();
            // Of several addresses, each stands beside the currency.
            is_adjacent &= FILLERS.contains(&&*plain) || is_address_like(word);
        }
    }
    named
}

/// True for a word of the length of an address, with digits.
fn is_address_like(word: &str) -> bool {
    word.chars().count() >= SHORTEST_ADDRESS && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// The words of a text; a hyphen joins (`TRC-20`).
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| {
        !(character.is_alphanumeric() || matches!(character, '-' | '\'' | '׳'))
    })
    .map(|word| word.trim_matches(['-', '\'']))
    .filter(|word| !word.is_empty())
}

/// The code of a word, or of the last of its parts that names one (`USDT-TRC20`).
fn code_of(word: &str) -> Option<&'static str> {
    if word.len() > 40 {
        return None;
    }
    code_of_name(word).or_else(|| word.rsplit('-').find_map(code_of_name))
}

fn code_of_name(word: &str) -> Option<&'static str> {
    let plain: String =
        word.chars().filter(|character| *character != '-').flat_map(char::to_lowercase).collect();
    let is_shouted = !word.chars().any(char::is_lowercase);
    NAMES
        .iter()
        .find(|(name, _)| *name == plain)
        .filter(|(name, _)| is_shouted || !ALSO_WORDS.contains(name))
        .map(|(_, code)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first() {
        let codes = |before: &str, after: &str| {
            currencies_near(before, after)
                .iter()
                .map(|named| named.code)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(codes("Bitcoin wallet: ", ""), "XBT");
        assert_eq!(codes("USDT (TRC-20): ", ""), "TRX USDT");
        assert_eq!(codes("BTC 1 / ETH: ", " (BSC)"), "BSC ETH XBT");
        assert_eq!(codes("a dash near the dot, etc. ", ""), "", "English words");
        assert_eq!(codes("DASH ", ""), "DASH");
        assert!(currencies_near("Bitcoin wallet address: ", "")[0].is_adjacent);
        assert!(!currencies_near("Bitcoin was used by the passport holder ", "")[0].is_adjacent);
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::HashSet<_> = NAMES.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), NAMES.len());
    }
}
