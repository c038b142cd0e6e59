//! The chains Assay knows: one row each. A further chain is a row here and, where its addresses have
//! rules of their own, one file under `address/`.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::address::{AddressRules, cosmos, networks, substrate};

/// Fixed properties of a chain.
#[derive(Debug)]
pub struct Chain {
    /// The lowercase identifier used in requests and answers.
    pub id: &'static str,
    /// The name people use.
    pub name: &'static str,
    /// Other identifiers that callers may send, lowercase.
    pub aliases: &'static [&'static str],
    /// The ticker of the native coin.
    pub asset: &'static str,
    /// Decimals of the native coin: base units in one coin are 10 to this power.
    pub decimals: u8,
    /// The asset codes by which sanctions lists name this chain.
    pub list_codes: &'static [&'static str],
    /// Format and checks of this chain's addresses.
    pub rules: AddressRules,
    /// Most blocks of a branch that a reorganisation replaces without an operator's word, by a source or by another
    /// chain server. `None` for chains whose blocks are not recorded.
    ///
    /// Bitcoin's is six, after which its payments count as settled. Chains with more blocks an hour have more natural
    /// forks, but no longer ones in time: twice as many blocks at intervals of 2.5 minutes, four times as many at about
    /// one minute, eight times as many at half a minute. The nodes of Bitcoin Cash and Bitcoin Gold themselves refuse
    /// more than ten.
    pub reorganization_bound: Option<u64>,
}

/// Script forms that a Bitcoin-like chain recognizes beyond Bitcoin's first ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScriptForms {
    /// Segregated witness.
    pub(crate) witness: bool,
    /// Bitcoin Cash's tokens and long script hashes.
    pub(crate) cash: bool,
    /// Litecoin's extension blocks.
    pub(crate) extension_blocks: bool,
}

impl Chain {
    /// True if the chain's money is coins: outputs of transactions that later ones spend.
    #[must_use]
    pub const fn has_coins(&self) -> bool {
        matches!(
            self.rules,
            AddressRules::Bitcoin(_)
                | AddressRules::BitcoinCash
                | AddressRules::BitcoinSv
                | AddressRules::Zcash
        )
    }

    /// The parts of an answer that Assay can give on this chain.
    #[must_use]
    pub const fn coverage(&self) -> ChainCoverage {
        let coins = self.has_coins();
        let known = !matches!(self.rules, AddressRules::Opaque);
        ChainCoverage {
            addresses: known,
            lists: true,
            labels: true,
            flows: coins,
            tokens: false,
            patterns: coins,
            transfers: coins,
            clusters: coins,
        }
    }

    pub(crate) fn script_forms(&self) -> ScriptForms {
        ScriptForms {
            witness: matches!(self.rules, AddressRules::Bitcoin(rules) if rules.has_witness()),
            cash: matches!(self.rules, AddressRules::BitcoinCash),
            extension_blocks: self.id == "ltc",
        }
    }
}

/// The parts of an answer that Assay can give on a chain.
#[expect(clippy::struct_excessive_bools, reason = "each is a column of a table")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChainCoverage {
    /// Addresses are validated by the chain's own rules.
    pub addresses: bool,
    /// Lists are searched for an address.
    pub lists: bool,
    /// Labels are searched for an address.
    pub labels: bool,
    /// Flows of the native coin are traced.
    pub flows: bool,
    /// Flows of tokens are traced.
    pub tokens: bool,
    /// Behavior patterns are detected.
    pub patterns: bool,
    /// Single transfers are assessed.
    pub transfers: bool,
    /// Addresses of one owner are clustered.
    pub clusters: bool,
}

macro_rules! evm {
    ($id:literal, $name:literal, [$($alias:literal),*], $asset:literal, [$($code:literal),*]) => {
        Chain {
            id: $id,
            name: $name,
            aliases: &[$($alias),*],
            asset: $asset,
            decimals: 18,
            list_codes: &[$($code),*],
            rules: AddressRules::Evm,
            reorganization_bound: None,
        }
    };
}

/// Every supported chain. Rows are only ever appended.
static CHAINS: [Chain; 92] = [
    Chain {
        id: "btc",
        name: "Bitcoin",
        aliases: &["bitcoin", "xbt"],
        asset: "BTC",
        decimals: 8,
        list_codes: &["XBT", "BTC"],
        rules: AddressRules::Bitcoin(&networks::BITCOIN),
        reorganization_bound: Some(6),
    },
    evm!("eth", "Ethereum", ["ethereum", "ether", "eth-mainnet"], "ETH", ["ETH"]),
    Chain {
        id: "trx",
        name: "TRON",
        aliases: &["tron"],
        asset: "TRX",
        decimals: 6,
        list_codes: &["TRX"],
        rules: AddressRules::Tron,
        reorganization_bound: None,
    },
    evm!("etc", "Ethereum Classic", ["ethereum-classic", "ethereumclassic"], "ETC", ["ETC"]),
    evm!(
        "bsc",
        "BNB Smart Chain",
        ["bnb", "binance-smart-chain", "bnb-smart-chain", "binancesmartchain"],
        "BNB",
        ["BSC"]
    ),
    evm!("polygon", "Polygon", ["matic", "pol", "polygon-pos"], "POL", ["MATIC", "POL"]),
    evm!("arbitrum", "Arbitrum One", ["arb", "arbitrum-one"], "ETH", ["ARB"]),
    evm!("optimism", "OP Mainnet", ["op", "op-mainnet"], "ETH", ["OP"]),
    evm!("base", "Base", ["base-mainnet"], "ETH", ["BASE"]),
    evm!("avalanche", "Avalanche C-Chain", ["avax", "avalanche-c", "avaxc"], "AVAX", ["AVAX"]),
    Chain {
        id: "ltc",
        name: "Litecoin",
        aliases: &["litecoin"],
        asset: "LTC",
        decimals: 8,
        list_codes: &["LTC"],
        rules: AddressRules::Bitcoin(&networks::LITECOIN),
        reorganization_bound: Some(12),
    },
    Chain {
        id: "bch",
        name: "Bitcoin Cash",
        aliases: &["bitcoin-cash", "bitcoincash"],
        asset: "BCH",
        decimals: 8,
        list_codes: &["BCH"],
        rules: AddressRules::BitcoinCash,
        reorganization_bound: Some(10),
    },
    Chain {
        id: "bsv",
        name: "Bitcoin SV",
        aliases: &["bitcoin-sv", "bitcoinsv"],
        asset: "BSV",
        decimals: 8,
        list_codes: &["BSV"],
        rules: AddressRules::BitcoinSv,
        reorganization_bound: Some(6),
    },
    Chain {
        id: "btg",
        name: "Bitcoin Gold",
        aliases: &["bitcoin-gold", "bitcoingold"],
        asset: "BTG",
        decimals: 8,
        list_codes: &["BTG"],
        rules: AddressRules::Bitcoin(&networks::BITCOIN_GOLD),
        reorganization_bound: Some(10),
    },
    Chain {
        id: "doge",
        name: "Dogecoin",
        aliases: &["dogecoin", "xdg"],
        asset: "DOGE",
        decimals: 8,
        list_codes: &["DOGE"],
        rules: AddressRules::Bitcoin(&networks::DOGECOIN),
        reorganization_bound: Some(24),
    },
    Chain {
        id: "dash",
        name: "Dash",
        aliases: &["dashcoin"],
        asset: "DASH",
        decimals: 8,
        list_codes: &["DASH"],
        rules: AddressRules::Bitcoin(&networks::DASH),
        reorganization_bound: Some(12),
    },
    Chain {
        id: "zec",
        name: "Zcash",
        aliases: &["zcash"],
        asset: "ZEC",
        decimals: 8,
        list_codes: &["ZEC"],
        rules: AddressRules::Zcash,
        reorganization_bound: Some(24),
    },
    Chain {
        id: "xvg",
        name: "Verge",
        aliases: &["verge"],
        asset: "XVG",
        decimals: 6,
        list_codes: &["XVG"],
        rules: AddressRules::Bitcoin(&networks::VERGE),
        reorganization_bound: Some(48),
    },
    Chain {
        id: "sol",
        name: "Solana",
        aliases: &["solana"],
        asset: "SOL",
        decimals: 9,
        list_codes: &["SOL"],
        rules: AddressRules::Solana,
        reorganization_bound: None,
    },
    Chain {
        id: "xrp",
        name: "XRP Ledger",
        aliases: &["ripple", "xrpl"],
        asset: "XRP",
        decimals: 6,
        list_codes: &["XRP"],
        rules: AddressRules::Xrp,
        reorganization_bound: None,
    },
    Chain {
        id: "xmr",
        name: "Monero",
        aliases: &["monero"],
        asset: "XMR",
        decimals: 12,
        list_codes: &["XMR"],
        rules: AddressRules::Monero,
        reorganization_bound: None,
    },
    Chain {
        id: "bep2",
        name: "BNB Beacon Chain",
        aliases: &["bnb-beacon", "bnb-beacon-chain", "binance-chain"],
        asset: "BNB",
        decimals: 8,
        list_codes: &["BEP2"],
        rules: AddressRules::Beacon,
        reorganization_bound: None,
    },
    evm!("linea", "Linea", [], "ETH", []),
    evm!("scroll", "Scroll", [], "ETH", []),
    evm!("zksync", "ZKsync Era", ["zksync-era"], "ETH", []),
    evm!("polygon-zkevm", "Polygon zkEVM", ["zkevm"], "ETH", []),
    evm!("arbitrum-nova", "Arbitrum Nova", [], "ETH", []),
    evm!("opbnb", "opBNB", [], "BNB", []),
    evm!("mantle", "Mantle", ["mnt"], "MNT", []),
    evm!("blast", "Blast", [], "ETH", []),
    evm!("gnosis", "Gnosis Chain", ["xdai"], "XDAI", []),
    evm!("fantom", "Fantom Opera", ["ftm"], "FTM", []),
    evm!("sonic", "Sonic", ["sonic-mainnet"], "S", []),
    evm!("celo", "Celo", [], "CELO", []),
    evm!("cronos", "Cronos", ["cro"], "CRO", []),
    evm!("moonbeam", "Moonbeam", ["glmr"], "GLMR", []),
    evm!("moonriver", "Moonriver", ["movr"], "MOVR", []),
    evm!("aurora", "Aurora", [], "ETH", []),
    evm!("kaia", "Kaia", ["klaytn", "klay"], "KAIA", []),
    evm!("metis", "Metis Andromeda", ["metis-andromeda"], "METIS", []),
    evm!("zora", "Zora", [], "ETH", []),
    evm!("unichain", "Unichain", [], "ETH", []),
    evm!("worldchain", "World Chain", ["world-chain"], "ETH", []),
    evm!("berachain", "Berachain", ["bera"], "BERA", []),
    evm!("ink", "Ink", [], "ETH", []),
    evm!("soneium", "Soneium", [], "ETH", []),
    evm!("abstract", "Abstract", [], "ETH", []),
    evm!("mode", "Mode", [], "ETH", []),
    evm!("manta", "Manta Pacific", ["manta-pacific"], "ETH", []),
    evm!("taiko", "Taiko", [], "ETH", []),
    evm!("pulsechain", "PulseChain", ["pls"], "PLS", []),
    evm!("flare", "Flare", ["flr"], "FLR", []),
    evm!("ethw", "EthereumPoW", ["ethereumpow", "ethereum-pow"], "ETHW", []),
    evm!("hyperevm", "HyperEVM", ["hyperliquid"], "HYPE", []),
    evm!("monad", "Monad", [], "MON", []),
    evm!("plasma", "Plasma", ["xpl"], "XPL", []),
    evm!("apechain", "ApeChain", [], "APE", []),
    evm!("ronin", "Ronin", ["ron"], "RON", []),
    Chain {
        id: "ada",
        name: "Cardano",
        aliases: &["cardano"],
        asset: "ADA",
        decimals: 6,
        list_codes: &["ADA"],
        rules: AddressRules::Cardano,
        reorganization_bound: None,
    },
    Chain {
        id: "xlm",
        name: "Stellar",
        aliases: &["stellar"],
        asset: "XLM",
        decimals: 7,
        list_codes: &["XLM"],
        rules: AddressRules::Stellar,
        reorganization_bound: None,
    },
    Chain {
        id: "ton",
        name: "The Open Network",
        aliases: &["toncoin", "the-open-network"],
        asset: "TON",
        decimals: 9,
        list_codes: &["TON"],
        rules: AddressRules::Ton,
        reorganization_bound: None,
    },
    Chain {
        id: "dot",
        name: "Polkadot",
        aliases: &["polkadot"],
        asset: "DOT",
        decimals: 10,
        list_codes: &["DOT"],
        rules: AddressRules::Substrate(&substrate::POLKADOT),
        reorganization_bound: None,
    },
    Chain {
        id: "ksm",
        name: "Kusama",
        aliases: &["kusama"],
        asset: "KSM",
        decimals: 12,
        list_codes: &["KSM"],
        rules: AddressRules::Substrate(&substrate::KUSAMA),
        reorganization_bound: None,
    },
    Chain {
        id: "tao",
        name: "Bittensor",
        aliases: &["bittensor"],
        asset: "TAO",
        decimals: 9,
        list_codes: &["TAO"],
        rules: AddressRules::Substrate(&substrate::GENERIC),
        reorganization_bound: None,
    },
    Chain {
        id: "cosmos",
        name: "Cosmos Hub",
        aliases: &["atom", "cosmos-hub"],
        asset: "ATOM",
        decimals: 6,
        list_codes: &["ATOM"],
        rules: AddressRules::Cosmos(&cosmos::COSMOS),
        reorganization_bound: None,
    },
    Chain {
        id: "osmo",
        name: "Osmosis",
        aliases: &["osmosis"],
        asset: "OSMO",
        decimals: 6,
        list_codes: &["OSMO"],
        rules: AddressRules::Cosmos(&cosmos::OSMOSIS),
        reorganization_bound: None,
    },
    Chain {
        id: "celestia",
        name: "Celestia",
        aliases: &["tia"],
        asset: "TIA",
        decimals: 6,
        list_codes: &["TIA"],
        rules: AddressRules::Cosmos(&cosmos::CELESTIA),
        reorganization_bound: None,
    },
    Chain {
        id: "dydx",
        name: "dYdX Chain",
        aliases: &["dydx-chain"],
        asset: "DYDX",
        decimals: 18,
        list_codes: &["DYDX"],
        rules: AddressRules::Cosmos(&cosmos::DYDX),
        reorganization_bound: None,
    },
    Chain {
        id: "noble",
        name: "Noble",
        aliases: &[],
        asset: "USDC",
        decimals: 6,
        list_codes: &[],
        rules: AddressRules::Cosmos(&cosmos::NOBLE),
        reorganization_bound: None,
    },
    Chain {
        id: "axelar",
        name: "Axelar",
        aliases: &["axl"],
        asset: "AXL",
        decimals: 6,
        list_codes: &["AXL"],
        rules: AddressRules::Cosmos(&cosmos::AXELAR),
        reorganization_bound: None,
    },
    Chain {
        id: "sei",
        name: "Sei",
        aliases: &[],
        asset: "SEI",
        decimals: 6,
        list_codes: &["SEI"],
        rules: AddressRules::Cosmos(&cosmos::SEI),
        reorganization_bound: None,
    },
    Chain {
        id: "terra",
        name: "Terra",
        aliases: &["luna"],
        asset: "LUNA",
        decimals: 6,
        list_codes: &["LUNA"],
        rules: AddressRules::Cosmos(&cosmos::TERRA),
        reorganization_bound: None,
    },
    Chain {
        id: "thor",
        name: "THORChain",
        aliases: &["thorchain", "rune"],
        asset: "RUNE",
        decimals: 8,
        list_codes: &["RUNE"],
        rules: AddressRules::Cosmos(&cosmos::THOR),
        reorganization_bound: None,
    },
    Chain {
        id: "kava",
        name: "Kava",
        aliases: &[],
        asset: "KAVA",
        decimals: 6,
        list_codes: &["KAVA"],
        rules: AddressRules::Cosmos(&cosmos::KAVA),
        reorganization_bound: None,
    },
    Chain {
        id: "juno",
        name: "Juno",
        aliases: &[],
        asset: "JUNO",
        decimals: 6,
        list_codes: &["JUNO"],
        rules: AddressRules::Cosmos(&cosmos::JUNO),
        reorganization_bound: None,
    },
    Chain {
        id: "stars",
        name: "Stargaze",
        aliases: &["stargaze"],
        asset: "STARS",
        decimals: 6,
        list_codes: &["STARS"],
        rules: AddressRules::Cosmos(&cosmos::STARGAZE),
        reorganization_bound: None,
    },
    Chain {
        id: "scrt",
        name: "Secret Network",
        aliases: &["secret", "secret-network"],
        asset: "SCRT",
        decimals: 6,
        list_codes: &["SCRT"],
        rules: AddressRules::Cosmos(&cosmos::SECRET),
        reorganization_bound: None,
    },
    Chain {
        id: "akt",
        name: "Akash",
        aliases: &["akash"],
        asset: "AKT",
        decimals: 6,
        list_codes: &["AKT"],
        rules: AddressRules::Cosmos(&cosmos::AKASH),
        reorganization_bound: None,
    },
    Chain {
        id: "inj",
        name: "Injective",
        aliases: &["injective"],
        asset: "INJ",
        decimals: 18,
        list_codes: &["INJ"],
        rules: AddressRules::Cosmos(&cosmos::INJECTIVE),
        reorganization_bound: None,
    },
    Chain {
        id: "algo",
        name: "Algorand",
        aliases: &["algorand"],
        asset: "ALGO",
        decimals: 6,
        list_codes: &["ALGO"],
        rules: AddressRules::Algorand,
        reorganization_bound: None,
    },
    Chain {
        id: "near",
        name: "NEAR",
        aliases: &["near-protocol"],
        asset: "NEAR",
        decimals: 24,
        list_codes: &["NEAR"],
        rules: AddressRules::Near,
        reorganization_bound: None,
    },
    Chain {
        id: "xtz",
        name: "Tezos",
        aliases: &["tezos"],
        asset: "XTZ",
        decimals: 6,
        list_codes: &["XTZ"],
        rules: AddressRules::Tezos,
        reorganization_bound: None,
    },
    Chain {
        id: "eos",
        name: "EOS (Vaulta)",
        aliases: &["vaulta"],
        asset: "A",
        decimals: 4,
        list_codes: &["EOS"],
        rules: AddressRules::Eos,
        reorganization_bound: None,
    },
    Chain {
        id: "hbar",
        name: "Hedera",
        aliases: &["hedera"],
        asset: "HBAR",
        decimals: 8,
        list_codes: &["HBAR"],
        rules: AddressRules::Hedera,
        reorganization_bound: None,
    },
    Chain {
        id: "fil",
        name: "Filecoin",
        aliases: &["filecoin"],
        asset: "FIL",
        decimals: 18,
        list_codes: &["FIL"],
        rules: AddressRules::Filecoin,
        reorganization_bound: None,
    },
    Chain {
        id: "neo",
        name: "NEO",
        aliases: &["neo-n3", "neo3"],
        asset: "NEO",
        decimals: 0,
        list_codes: &["NEO"],
        rules: AddressRules::Neo,
        reorganization_bound: None,
    },
    Chain {
        id: "sui",
        name: "Sui",
        aliases: &[],
        asset: "SUI",
        decimals: 9,
        list_codes: &["SUI"],
        rules: AddressRules::Move,
        reorganization_bound: None,
    },
    Chain {
        id: "apt",
        name: "Aptos",
        aliases: &["aptos"],
        asset: "APT",
        decimals: 8,
        list_codes: &["APT"],
        rules: AddressRules::Move,
        reorganization_bound: None,
    },
    Chain {
        id: "icp",
        name: "Internet Computer",
        aliases: &["internet-computer", "dfinity"],
        asset: "ICP",
        decimals: 8,
        list_codes: &["ICP"],
        rules: AddressRules::InternetComputer,
        reorganization_bound: None,
    },
    Chain {
        id: "stx",
        name: "Stacks",
        aliases: &["stacks"],
        asset: "STX",
        decimals: 6,
        list_codes: &["STX"],
        rules: AddressRules::Stacks,
        reorganization_bound: None,
    },
    Chain {
        id: "kas",
        name: "Kaspa",
        aliases: &["kaspa"],
        asset: "KAS",
        decimals: 8,
        list_codes: &["KAS"],
        rules: AddressRules::Kaspa,
        reorganization_bound: None,
    },
    Chain {
        id: "other",
        name: "Other chains, without rules",
        aliases: &["opaque"],
        asset: "",
        decimals: 0,
        list_codes: &["OTHER"],
        rules: AddressRules::Opaque,
        reorganization_bound: None,
    },
];

/// A supported chain.
///
/// Ordered by its place in the table, compared and hashed by it; shown and serialised as its
/// identifier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(u8);

impl ChainId {
    /// Bitcoin.
    pub const BTC: Self = Self(0);
    /// Ethereum.
    pub const ETH: Self = Self(1);
    /// TRON.
    pub const TRX: Self = Self(2);
    /// Zcash.
    pub const ZEC: Self = Self(16);

    /// Every supported chain, in the table's order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0_u8..).take(CHAINS.len()).map(Self)
    }

    /// The chain's fixed facts.
    #[must_use]
    pub fn info(self) -> &'static Chain {
        // Values are made here only, from indices of the table; the fallback is never reached.
        CHAINS.get(usize::from(self.0)).unwrap_or(&CHAINS[0])
    }

    /// The lowercase identifier.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.info().id
    }

    /// The chain that `code` names on sanctions lists: by a code of the table, else by its identifier in
    /// capitals.
    #[must_use]
    pub fn from_list_code(code: &str) -> Option<Self> {
        let by_code = Self::all().find(|chain| chain.info().list_codes.contains(&code));
        by_code.or_else(|| {
            let is_capitals = !code.bytes().any(|byte| byte.is_ascii_lowercase());
            Self::all().find(|chain| is_capitals && chain.as_str().eq_ignore_ascii_case(code))
        })
    }

    /// The code by which a sanctions list names the chain.
    #[must_use]
    pub fn list_code(self) -> String {
        match self.info().list_codes {
            [first, ..] => (*first).to_owned(),
            [] => self.as_str().to_ascii_uppercase(),
        }
    }
}

/// A blockchain identifier that names no supported chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unsupported blockchain `{submitted}`: supported are {supported}", supported = supported())]
pub struct UnsupportedChain {
    /// Submitted name, shortened to 64 characters.
    pub submitted: String,
}

fn supported() -> String {
    ChainId::all().map(ChainId::as_str).collect::<Vec<_>>().join(", ")
}

impl FromStr for ChainId {
    type Err = UnsupportedChain;

    /// Reads an identifier or a well-known alias in any letter case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = text.to_ascii_lowercase();
        Self::all()
            .find(|chain| chain.info().id == wanted || chain.info().aliases.contains(&&*wanted))
            .ok_or_else(|| UnsupportedChain { submitted: text.chars().take(64).collect() })
    }
}

impl fmt::Display for ChainId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl fmt::Debug for ChainId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for ChainId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ChainId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for ChainId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ChainId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Lowercase identifier of a blockchain. The list may grow.",
            "examples": Self::all().map(Self::as_str).collect::<Vec<_>>(),
        })
    }
}

/// Chains for which an asset code on a sanctions list is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssetScope {
    /// The code names one chain.
    Chain(ChainId),
    /// The code names a token that lives on many chains (USDT, USDC): the address is listed on every
    /// chain on which its form is valid.
    EveryValidForm,
    /// The code names a chain that Assay does not read yet.
    Unsupported,
}

impl AssetScope {
    /// Codes that name a token, or a coin of more than one chain, and not a chain.
    const TOKENS: [&'static str; 3] = ["USDT", "USDC", "BNB"];
    /// Code of an entry whose list states an address without its asset: the address is listed on every
    /// chain on which its form is valid.
    pub const UNSTATED: &'static str = "UNSTATED";

    /// The scope of `code` as sanctions lists write it.
    #[must_use]
    pub fn of(code: &str) -> Self {
        match ChainId::from_list_code(code) {
            Some(chain) => Self::Chain(chain),
            None if Self::TOKENS.contains(&code) || code == Self::UNSTATED => Self::EveryValidForm,
            None => Self::Unsupported,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_aliases_and_list_codes_are_unambiguous() {
        let mut seen = std::collections::BTreeSet::new();
        for chain in ChainId::all() {
            for name in chain.info().aliases.iter().chain([&chain.info().id]) {
                assert!(seen.insert(*name), "{name} twice");
                assert_eq!(name.to_uppercase().parse(), Ok(chain));
            }
            for code in chain.info().list_codes {
                assert_eq!(AssetScope::of(code), AssetScope::Chain(chain));
            }
        }
        // Every asset code that OFAC has used.
        for code in
            "ARB BCH BSC BSV BTG DASH DOGE ETC ETH LTC SOL TRX XBT XMR XRP XVG ZEC".split(' ')
        {
            assert!(matches!(AssetScope::of(code), AssetScope::Chain(_)), "{code}");
        }
        for code in ["USDT", "USDC"] {
            assert_eq!(AssetScope::of(code), AssetScope::EveryValidForm);
        }
        assert_eq!(ChainId::BTC.as_str(), "btc");
        assert_eq!(ChainId::ETH.as_str(), "eth");
        assert_eq!(ChainId::TRX.as_str(), "trx");
        assert_eq!(ChainId::ZEC.as_str(), "zec");
    }

    #[test]
    fn an_unknown_chain_is_named_with_the_supported_ones() {
        let error = "dogecoin2".parse::<ChainId>().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("unsupported blockchain `dogecoin2`: supported are btc, eth, trx")
        );
        assert_eq!(AssetScope::of("KDA"), AssetScope::Unsupported);
        assert_eq!(AssetScope::of("USDT"), AssetScope::EveryValidForm);
    }
}
