//! The addresses that the cell of a list names: read by the asset code beside the cell, and by the form of the text.

use assay_address::{
    AddressError, AddressRules, AssetScope, CanonicalAddress, ChainId, SHORTEST_ADDRESS,
    published_parts,
};

/// Length from which a part of a cell for a chain without rules is listed by itself, in bytes.
const SHORTEST_TEXT: usize = 8;

/// The addresses that a list's entry names on the chains that Assay supports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedAddresses {
    /// The addresses, each of a chain on which a check finds the entry.
    pub addresses: Vec<CanonicalAddress>,
    /// The reason why a text is no address of the chain that the asset code names, although it is an address of other
    /// chains. The list's mistake does not hide the address.
    pub misfiled: Option<AddressError>,
    /// A text that no check of the chain that the asset code names can match.
    pub unmatched: Option<UnmatchedText>,
}

/// A text that is not an address of the chain for which a list states it, nor of any other chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmatchedText {
    /// The chain that the asset code names; the other chains if the code names none.
    pub chain: ChainId,
    /// The reason why the text is no address of the chain.
    pub error: AddressError,
}

impl ListedAddresses {
    /// True if the text has the form of no chain's addresses, so that only a check of the other chains finds it.
    #[must_use]
    pub fn is_formless(&self) -> bool {
        self.unmatched.is_none()
            && self.addresses.iter().all(|address| address.chain() == ChainId::OTHER)
    }

    /// Reads the cell of a list: one address or several, beside the list's code for the asset.
    pub(super) fn read(asset_code: &str, cell: &str) -> Self {
        let scope = AssetScope::for_code(asset_code);
        let mut listed = Self::default();
        if is_address(scope, cell) {
            listed.add(scope, cell);
            return listed;
        }
        let parts = published_parts(cell, |part| is_address(scope, part));
        if !parts.iter().any(|part| is_address(scope, part)) {
            listed.add(scope, cell);
            if !matches!(scope, AssetScope::Chain(_)) {
                // Each of several texts for a chain without rules.
                let others =
                    parts.iter().filter(|part| **part != cell && part.len() >= SHORTEST_TEXT);
                others.for_each(|part| listed.add_other(part));
            }
            return listed;
        }
        for part in parts {
            if is_address(scope, part) || part.chars().count() >= SHORTEST_ADDRESS {
                listed.add(scope, part);
            }
        }
        listed
    }

    fn add(&mut self, scope: AssetScope, text: &str) {
        match scope {
            AssetScope::Chain(chain) => match CanonicalAddress::parse_published(chain, text) {
                Ok(address) => self.addresses.push(address),
                Err(error) => {
                    let elsewhere = valid_on(text, |rules| !rules.is_ambiguous());
                    if elsewhere.is_empty() {
                        self.add_other(text);
                        self.unmatched = Some(UnmatchedText { chain, error });
                    } else {
                        self.addresses.extend(elsewhere);
                        self.misfiled = Some(error);
                    }
                }
            },
            AssetScope::EveryValidForm => {
                let mut valid = valid_on(text, |rules| !rules.is_ambiguous());
                if valid.is_empty() {
                    // Tokens also live on chains whose addresses have no checksum.
                    valid = valid_on(text, |rules| {
                        matches!(rules, AddressRules::Move | AddressRules::Near)
                    });
                }
                if valid.is_empty() {
                    self.add_other(text);
                }
                self.addresses.extend(valid);
            }
            AssetScope::Unknown => {
                let mut valid = valid_on(text, |rules| !rules.is_ambiguous());
                // A word such as `unknown` has the form of names on EOS, and means no account.
                if valid.is_empty() && text.bytes().any(|byte| byte.is_ascii_digit()) {
                    valid = valid_on(text, |rules| {
                        rules.is_ambiguous() && !matches!(rules, AddressRules::Opaque)
                    });
                }
                self.addresses.extend(valid);
                self.add_other(text);
            }
        }
    }

    /// Adds a text as an address of the chains without rules.
    fn add_other(&mut self, text: &str) {
        match CanonicalAddress::parse_published(ChainId::OTHER, text) {
            Ok(address) => self.addresses.push(address),
            Err(error) => {
                self.unmatched = Some(UnmatchedText { chain: ChainId::OTHER, error });
            }
        }
    }
}

/// The addresses that a text is on the chains with the wanted rules.
fn valid_on(text: &str, wanted: fn(AddressRules) -> bool) -> Vec<CanonicalAddress> {
    let chains = ChainId::all().filter(|chain| wanted(chain.info().rules));
    chains.filter_map(|chain| CanonicalAddress::read_published(chain, text)).collect()
}

/// True if a whole text is an address of the chain that a code names, or has the form of one chain's addresses.
fn is_address(scope: AssetScope, text: &str) -> bool {
    let fits = |chain| CanonicalAddress::read_published(chain, text).is_some();
    let is_named = matches!(scope, AssetScope::Chain(chain) if fits(chain));
    is_named || ChainId::all().filter(|chain| !chain.info().rules.is_ambiguous()).any(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCOUNT: &str = "0x2f389ce8bd8ff92de3402ffce4691d17fc4f6535";
    const TRON: &str = "TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq";
    const BITCOIN: &str = "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h";

    /// The chains of the addresses, and the problems.
    fn read(code: &str, cell: &str) -> String {
        let ListedAddresses { addresses, misfiled, unmatched } = ListedAddresses::read(code, cell);
        let mut said: Vec<String> =
            addresses.iter().map(|address| address.chain().to_string()).collect();
        said.extend(misfiled.map(|error| format!("although {}", error.reason())));
        said.extend(
            unmatched.map(|text| format!("unmatched {}: {}", text.chain, text.error.reason())),
        );
        said.join(" ")
    }

    #[test]
    fn a_code_decides_on_which_chains_an_address_is_listed() {
        assert_eq!(read("XBT", BITCOIN), "btc");
        assert_eq!(
            read("XBT", TRON),
            "trx although other_chain",
            "OFAC printed a TRON address under Bitcoin's code"
        );
        assert_eq!(read("ETH", ACCOUNT), "eth");
        assert_eq!(read("BSC", ACCOUNT), "bsc");
        let everywhere = "eth etc bsc polygon arbitrum optimism base avalanche linea scroll";
        assert!(read("USDT", ACCOUNT).starts_with(everywhere));
        assert_eq!(read("USDT", "TX5GV4DyfxNB3rPkzZJhmqZ1efVmL4rEqG"), "trx");
        assert_eq!(read("USDT", "3LtcaPbCj87CwJHnRX3vh7c2y9RZQqeSy8"), "btc ltc bch bsv");
        assert_eq!(read("USDC", "7UVttrLkRkZFn4FsTuihX5zCJ1ounF5Ts8CkSqPGN2Dh"), "sol");
    }

    #[test]
    fn a_code_counts_in_any_spelling_and_an_account_without_its_prefix() {
        for code in ["eth", "Ethereum", "ERC20", "erc-20", " ETH "] {
            assert_eq!(read(code, ACCOUNT), "eth", "{code}");
        }
        for text in [&ACCOUNT[2..], &ACCOUNT[2..].to_uppercase(), &ACCOUNT.replace("0x", "0X")] {
            assert_eq!(read("ETH", text), "eth", "{text}");
        }
    }

    #[test]
    fn an_unknown_code_lists_every_form_and_the_other_chains() {
        let listed = read("DAI", ACCOUNT);
        assert!(
            listed.starts_with("eth etc bsc polygon") && listed.ends_with(" other"),
            "{listed}"
        );
        assert_eq!(read("USDT-TRC20", TRON), "trx other");
        assert_eq!(read("WAVES", "3P2uzAzX9XTu1t32GkWw68YFFLwtapWvds6"), "other");
        assert_eq!(read("KDA", "k:85abc7701c01fc724c1dd92ba836493d48b123b2"), "other");
        assert_eq!(read("", "anything"), "other");
        assert_eq!(read("FOO", "alice123"), "eos other");
        assert_eq!(read("XDC", &ACCOUNT.replacen("0x", "xdc", 1)), read("XDC", ACCOUNT));
        assert_eq!(read("KDA", "k:85abc7701c01 (main)"), "other other");
    }

    #[test]
    fn an_address_is_read_among_what_surrounds_it() {
        let everywhere = read("USDT", ACCOUNT);
        for cell in [
            format!("USDT:{ACCOUNT}"),
            format!("wallet:{ACCOUNT}"),
            format!("{ACCOUNT}#"),
            format!("*{ACCOUNT}*"),
            format!("https://etherscan.io/address/{ACCOUNT}#code"),
            format!("https://etherscan.io/token/x?a={ACCOUNT}"),
            format!("ethereum:{ACCOUNT}@1"),
            format!("eip155:1:{ACCOUNT}"),
        ] {
            assert_eq!(read("USDT", &cell), everywhere, "{cell}");
            assert_eq!(read("ETH", &cell), "eth", "{cell}");
        }
        for cell in [format!("TRC20-{TRON}"), format!("TRC20_{TRON}"), format!("{TRON}、")] {
            assert_eq!(read("USDT", &cell), "trx", "{cell}");
        }
        assert_eq!(read("USDT", &format!("{ACCOUNT}→{TRON}")), format!("{everywhere} trx"));
        assert_eq!(read("XRP", "rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh:12345"), "xrp");
        assert_eq!(read("OTHER", "anything"), "other");
    }

    #[test]
    fn each_address_of_a_cell_is_listed() {
        assert_eq!(read("ETH", &format!("{ACCOUNT}, {TRON}")), "eth trx although other_chain");
        assert_eq!(
            read("XBT", &format!("{BITCOIN}\n1KUCzSr49wPWckUDouJLybJuRYtViF5hfM")),
            "btc btc"
        );
        assert_eq!(read("TRX", &format!("{TRON} (USDT)")), "trx");
        assert_eq!(read("XBT", &format!("bitcoin:{BITCOIN}?amount=0.1")), "btc");
        assert_eq!(read("ETH", &format!("\"{ACCOUNT}\";")), "eth");
        assert_eq!(
            read("XBT", &format!("{BITCOIN} / 1KUCzSr49wPWckUDouJLybJuRYtViF5hfX")),
            "btc other unmatched btc: wrong_checksum",
            "the second address is mistyped"
        );
    }

    #[test]
    fn a_text_that_is_no_address_of_its_chain_is_told() {
        assert_eq!(read("XMR", "anything"), "other unmatched xmr: unknown_form");
        assert_eq!(
            read("XBT", "12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9i"),
            "other unmatched btc: wrong_checksum"
        );
        assert_eq!(read("ETH", "0x123"), "other unmatched eth: wrong_length");
        assert_eq!(read("KDA", "字字字"), "unmatched other: character_not_in_alphabet");
    }
}
