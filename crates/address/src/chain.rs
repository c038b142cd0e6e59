//! The table of supported chains. A new chain is a row of the table and, if its addresses have rules of their own, a
//! module.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{
    AddressRules as Rules,
    cosmos::{self, CosmosPrefix},
    networks, substrate,
};

/// Fixed properties of a chain.
#[derive(Debug)]
pub struct Chain {
    /// The lowercase identifier used in requests and answers.
    pub id: &'static str,
    /// Common name of the chain.
    pub name: &'static str,
    /// Other identifiers that callers may send, lowercase.
    pub aliases: &'static [&'static str],
    /// Assets, the native coin first; empty if Assay has no rules for the chain.
    pub assets: &'static [AssetCode],
    /// The asset codes by which sanctions lists name this chain.
    pub list_codes: &'static [&'static str],
    /// Format and checks of this chain's addresses.
    pub rules: Rules,
    /// Kind of the chain's ledger, as far as Assay reads it.
    pub ledger: LedgerKind,
}

/// The ticker and decimals of an asset of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssetCode {
    /// The ticker.
    pub code: &'static str,
    /// Decimals: one unit of the asset has 10 to this power base units.
    pub decimals: u8,
}

/// The kind of a chain's ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerKind {
    /// Unspent transaction outputs (UTXO).
    Utxo(UtxoLedger),
    /// Balances of accounts.
    Account,
    /// Not read: only lists and labels are searched for addresses.
    ListsOnly,
}

/// Properties of a UTXO chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UtxoLedger {
    /// Most blocks that a reorganization may replace without an operator's confirmation.
    ///
    /// For Bitcoin it is six blocks, after which its payments count as settled. Chains with more blocks an hour have
    /// more natural forks, but these forks do not last longer: the bound is twice as many blocks at intervals of 2.5
    /// minutes, four times as many at about one minute, eight times as many at half a minute. The nodes of Bitcoin Cash
    /// and Bitcoin Gold themselves refuse more than ten.
    pub reorganization_bound: u64,
    /// The largest output that by convention carries an inscription or token, in base units: wallets use 330, 546,
    /// 1,000 or 10,000 on Bitcoin and Litecoin, 1,000 on Bitcoin Cash, 1 on Bitcoin SV and 100,000 on Dogecoin. The
    /// value includes a margin for other wallets. `None` on chains without inscriptions and tokens.
    pub largest_carrier: Option<u64>,
    /// True if blocks have extension blocks (MWEB).
    pub has_extension_blocks: bool,
}

impl UtxoLedger {
    const fn bounded(reorganization_bound: u64) -> Self {
        Self { reorganization_bound, largest_carrier: None, has_extension_blocks: false }
    }

    const fn carriers(self, largest: u64) -> Self {
        Self { largest_carrier: Some(largest), ..self }
    }

    const fn extension_blocks(self) -> Self {
        Self { has_extension_blocks: true, ..self }
    }
}

/// Script types that a Bitcoin-like chain has in addition to Bitcoin's first script types.
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptForms {
    /// Segregated witness.
    pub witness: bool,
    /// Bitcoin Cash's tokens and long script hashes.
    pub cash: bool,
    /// Litecoin's extension blocks.
    pub extension_blocks: bool,
    /// True if a script that begins with `OP_RETURN` may be spent, and scripts may have any length (Bitcoin SV since
    /// 2020).
    pub spendable_return: bool,
}

impl Chain {
    /// A chain whose ledger Assay does not read.
    const fn lists_only(
        id: &'static str,
        name: &'static str,
        aliases: &'static [&'static str],
        assets: &'static [AssetCode],
        list_codes: &'static [&'static str],
        rules: Rules,
    ) -> Self {
        Self { id, name, aliases, assets, list_codes, rules, ledger: LedgerKind::ListsOnly }
    }

    const fn with_ledger(self, ledger: LedgerKind) -> Self {
        Self { ledger, ..self }
    }

    const fn utxo(self, ledger: UtxoLedger) -> Self {
        self.with_ledger(LedgerKind::Utxo(ledger))
    }

    /// The native coin; an asset without a code if Assay has no rules for the chain.
    #[must_use]
    pub const fn native(&self) -> AssetCode {
        match self.assets {
            [native, ..] => *native,
            [] => coin("", 0),
        }
    }

    /// Properties of a UTXO chain; `None` for other chains.
    #[must_use]
    pub const fn outputs(&self) -> Option<UtxoLedger> {
        match self.ledger {
            LedgerKind::Utxo(ledger) => Some(ledger),
            LedgerKind::Account | LedgerKind::ListsOnly => None,
        }
    }

    /// True for a chain whose blocks or transfers can be recorded in a graph.
    #[must_use]
    pub const fn has_graph(&self) -> bool {
        matches!(self.ledger, LedgerKind::Utxo(_) | LedgerKind::Account)
    }

    /// Most blocks that a reorganization may replace without an operator's confirmation
    /// ([`UtxoLedger::reorganization_bound`]); 0 for chains whose blocks are not recorded.
    ///
    /// For account chains it is three epochs of Ethereum: a block that is older is final while validators agree. Blocks
    /// that the source called final are never replaced without the confirmation, however few they are.
    #[must_use]
    pub const fn reorganization_bound(&self) -> u64 {
        match self.ledger {
            LedgerKind::Utxo(ledger) => ledger.reorganization_bound,
            LedgerKind::Account => 96,
            LedgerKind::ListsOnly => 0,
        }
    }

    /// Seconds after which the newest known block is stale.
    #[must_use]
    pub const fn longest_tip_age_seconds(&self) -> i64 {
        if self.outputs().is_some() { 2 * 60 * 60 } else { 30 * 60 }
    }

    /// The features of an assessment that Assay supports on this chain.
    #[must_use]
    pub const fn coverage(&self) -> ChainCoverage {
        let coins = self.outputs().is_some();
        let accounts = matches!(self.ledger, LedgerKind::Account);
        let known = !matches!(self.rules, Rules::Opaque);
        ChainCoverage {
            addresses: known,
            lists: true,
            labels: true,
            flows: coins || accounts,
            tokens: accounts,
            patterns: coins || accounts,
            transfers: coins || accounts,
            clusters: coins,
        }
    }

    /// The script types of the chain's outputs.
    #[must_use]
    pub const fn script_forms(&self) -> ScriptForms {
        ScriptForms {
            witness: matches!(self.rules, Rules::Bitcoin(rules) if rules.has_witness()),
            cash: matches!(self.rules, Rules::BitcoinCash),
            extension_blocks: matches!(self.outputs(), Some(ledger) if ledger.has_extension_blocks),
            spendable_return: matches!(self.rules, Rules::BitcoinSv),
        }
    }
}

/// The features of an assessment that Assay supports on a chain.
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

/// An asset with this many decimals.
const fn coin(code: &'static str, decimals: u8) -> AssetCode {
    AssetCode { code, decimals }
}

/// A chain with Ethereum's accounts.
const fn evm(
    id: &'static str,
    name: &'static str,
    aliases: &'static [&'static str],
    assets: &'static [AssetCode],
    list_codes: &'static [&'static str],
) -> Chain {
    Chain::lists_only(id, name, aliases, assets, list_codes, Rules::Evm)
        .with_ledger(LedgerKind::Account)
}

/// A chain with bech32 accounts of the Cosmos SDK.
const fn cosmos_sdk(
    id: &'static str,
    name: &'static str,
    aliases: &'static [&'static str],
    assets: &'static [AssetCode],
    list_codes: &'static [&'static str],
    rules: &'static CosmosPrefix,
) -> Chain {
    Chain::lists_only(id, name, aliases, assets, list_codes, Rules::Cosmos(rules))
}

/// All supported chains. New rows are appended; existing ones keep their positions.
static CHAINS: [Chain; 92] = [
    Chain::lists_only(
        "btc",
        "Bitcoin",
        &["bitcoin", "xbt"],
        &[coin("BTC", 8)],
        &["XBT", "BTC"],
        Rules::Bitcoin(&networks::BITCOIN),
    )
    .utxo(UtxoLedger::bounded(6).carriers(20_000)),
    evm("eth", "Ethereum", &["ethereum", "ether", "eth-mainnet"], &[coin("ETH", 18)], &["ETH"]),
    Chain::lists_only("trx", "TRON", &["tron"], &[coin("TRX", 6)], &["TRX"], Rules::Tron)
        .with_ledger(LedgerKind::Account),
    evm(
        "etc",
        "Ethereum Classic",
        &["ethereum-classic", "ethereumclassic"],
        &[coin("ETC", 18)],
        &["ETC"],
    ),
    evm(
        "bsc",
        "BNB Smart Chain",
        &["bnb", "binance-smart-chain", "bnb-smart-chain", "binancesmartchain"],
        &[coin("BNB", 18)],
        &["BSC"],
    ),
    evm(
        "polygon",
        "Polygon",
        &["matic", "pol", "polygon-pos"],
        &[coin("POL", 18)],
        &["MATIC", "POL"],
    ),
    evm("arbitrum", "Arbitrum One", &["arb", "arbitrum-one"], &[coin("ETH", 18)], &["ARB"]),
    evm("optimism", "OP Mainnet", &["op", "op-mainnet"], &[coin("ETH", 18)], &["OP"]),
    evm("base", "Base", &["base-mainnet"], &[coin("ETH", 18)], &["BASE"]),
    evm(
        "avalanche",
        "Avalanche C-Chain",
        &["avax", "avalanche-c", "avaxc"],
        &[coin("AVAX", 18)],
        &["AVAX"],
    ),
    Chain::lists_only(
        "ltc",
        "Litecoin",
        &["litecoin"],
        &[coin("LTC", 8)],
        &["LTC"],
        Rules::Bitcoin(&networks::LITECOIN),
    )
    .utxo(UtxoLedger::bounded(12).carriers(20_000).extension_blocks()),
    Chain::lists_only(
        "bch",
        "Bitcoin Cash",
        &["bitcoin-cash", "bitcoincash"],
        &[coin("BCH", 8)],
        &["BCH"],
        Rules::BitcoinCash,
    )
    .utxo(UtxoLedger::bounded(10).carriers(1_000)),
    Chain::lists_only(
        "bsv",
        "Bitcoin SV",
        &["bitcoin-sv", "bitcoinsv"],
        &[coin("BSV", 8)],
        &["BSV"],
        Rules::BitcoinSv,
    )
    .utxo(UtxoLedger::bounded(6).carriers(1)),
    Chain::lists_only(
        "btg",
        "Bitcoin Gold",
        &["bitcoin-gold", "bitcoingold"],
        &[coin("BTG", 8)],
        &["BTG"],
        Rules::Bitcoin(&networks::BITCOIN_GOLD),
    )
    .utxo(UtxoLedger::bounded(10)),
    Chain::lists_only(
        "doge",
        "Dogecoin",
        &["dogecoin", "xdg"],
        &[coin("DOGE", 8)],
        &["DOGE"],
        Rules::Bitcoin(&networks::DOGECOIN),
    )
    .utxo(UtxoLedger::bounded(24).carriers(1_000_000)),
    Chain::lists_only(
        "dash",
        "Dash",
        &["dashcoin"],
        &[coin("DASH", 8)],
        &["DASH"],
        Rules::Bitcoin(&networks::DASH),
    )
    .utxo(UtxoLedger::bounded(12)),
    Chain::lists_only("zec", "Zcash", &["zcash"], &[coin("ZEC", 8)], &["ZEC"], Rules::Zcash)
        .utxo(UtxoLedger::bounded(24)),
    Chain::lists_only(
        "xvg",
        "Verge",
        &["verge"],
        &[coin("XVG", 6)],
        &["XVG"],
        Rules::Bitcoin(&networks::VERGE),
    )
    .utxo(UtxoLedger::bounded(48)),
    Chain::lists_only("sol", "Solana", &["solana"], &[coin("SOL", 9)], &["SOL"], Rules::Solana),
    Chain::lists_only(
        "xrp",
        "XRP Ledger",
        &["ripple", "xrpl"],
        &[coin("XRP", 6)],
        &["XRP"],
        Rules::Xrp,
    ),
    Chain::lists_only("xmr", "Monero", &["monero"], &[coin("XMR", 12)], &["XMR"], Rules::Monero),
    Chain::lists_only(
        "bep2",
        "BNB Beacon Chain",
        &["bnb-beacon", "bnb-beacon-chain", "binance-chain"],
        &[coin("BNB", 8)],
        &["BEP2"],
        Rules::Beacon,
    ),
    evm("linea", "Linea", &[], &[coin("ETH", 18)], &[]),
    evm("scroll", "Scroll", &[], &[coin("ETH", 18)], &[]),
    evm("zksync", "ZKsync Era", &["zksync-era"], &[coin("ETH", 18)], &[]),
    evm("polygon-zkevm", "Polygon zkEVM", &["zkevm"], &[coin("ETH", 18)], &[]),
    evm("arbitrum-nova", "Arbitrum Nova", &[], &[coin("ETH", 18)], &[]),
    evm("opbnb", "opBNB", &[], &[coin("BNB", 18)], &[]),
    evm("mantle", "Mantle", &["mnt"], &[coin("MNT", 18)], &[]),
    evm("blast", "Blast", &[], &[coin("ETH", 18)], &[]),
    evm("gnosis", "Gnosis Chain", &["xdai"], &[coin("XDAI", 18)], &[]),
    evm("fantom", "Fantom Opera", &["ftm"], &[coin("FTM", 18)], &[]),
    evm("sonic", "Sonic", &["sonic-mainnet"], &[coin("S", 18)], &[]),
    evm("celo", "Celo", &[], &[coin("CELO", 18)], &[]),
    evm("cronos", "Cronos", &["cro"], &[coin("CRO", 18)], &[]),
    evm("moonbeam", "Moonbeam", &["glmr"], &[coin("GLMR", 18)], &[]),
    evm("moonriver", "Moonriver", &["movr"], &[coin("MOVR", 18)], &[]),
    evm("aurora", "Aurora", &[], &[coin("ETH", 18)], &[]),
    evm("kaia", "Kaia", &["klaytn", "klay"], &[coin("KAIA", 18)], &[]),
    evm("metis", "Metis Andromeda", &["metis-andromeda"], &[coin("METIS", 18)], &[]),
    evm("zora", "Zora", &[], &[coin("ETH", 18)], &[]),
    evm("unichain", "Unichain", &[], &[coin("ETH", 18)], &[]),
    evm("worldchain", "World Chain", &["world-chain"], &[coin("ETH", 18)], &[]),
    evm("berachain", "Berachain", &["bera"], &[coin("BERA", 18)], &[]),
    evm("ink", "Ink", &[], &[coin("ETH", 18)], &[]),
    evm("soneium", "Soneium", &[], &[coin("ETH", 18)], &[]),
    evm("abstract", "Abstract", &[], &[coin("ETH", 18)], &[]),
    evm("mode", "Mode", &[], &[coin("ETH", 18)], &[]),
    evm("manta", "Manta Pacific", &["manta-pacific"], &[coin("ETH", 18)], &[]),
    evm("taiko", "Taiko", &[], &[coin("ETH", 18)], &[]),
    evm("pulsechain", "PulseChain", &["pls"], &[coin("PLS", 18)], &[]),
    evm("flare", "Flare", &["flr"], &[coin("FLR", 18)], &[]),
    evm("ethw", "EthereumPoW", &["ethereumpow", "ethereum-pow"], &[coin("ETHW", 18)], &[]),
    evm("hyperevm", "HyperEVM", &["hyperliquid"], &[coin("HYPE", 18)], &[]),
    evm("monad", "Monad", &[], &[coin("MON", 18)], &[]),
    evm("plasma", "Plasma", &["xpl"], &[coin("XPL", 18)], &[]),
    evm("apechain", "ApeChain", &[], &[coin("APE", 18)], &[]),
    evm("ronin", "Ronin", &["ron"], &[coin("RON", 18)], &[]),
    Chain::lists_only("ada", "Cardano", &["cardano"], &[coin("ADA", 6)], &["ADA"], Rules::Cardano),
    Chain::lists_only("xlm", "Stellar", &["stellar"], &[coin("XLM", 7)], &["XLM"], Rules::Stellar),
    Chain::lists_only(
        "ton",
        "The Open Network",
        &["toncoin", "the-open-network"],
        &[coin("TON", 9)],
        &["TON"],
        Rules::Ton,
    ),
    Chain::lists_only(
        "dot",
        "Polkadot",
        &["polkadot"],
        &[coin("DOT", 10)],
        &["DOT"],
        Rules::Substrate(&substrate::POLKADOT),
    ),
    Chain::lists_only(
        "ksm",
        "Kusama",
        &["kusama"],
        &[coin("KSM", 12)],
        &["KSM"],
        Rules::Substrate(&substrate::KUSAMA),
    ),
    Chain::lists_only(
        "tao",
        "Bittensor",
        &["bittensor"],
        &[coin("TAO", 9)],
        &["TAO"],
        Rules::Substrate(&substrate::GENERIC),
    ),
    cosmos_sdk(
        "cosmos",
        "Cosmos Hub",
        &["atom", "cosmos-hub"],
        &[coin("ATOM", 6)],
        &["ATOM"],
        &cosmos::COSMOS,
    ),
    cosmos_sdk("osmo", "Osmosis", &["osmosis"], &[coin("OSMO", 6)], &["OSMO"], &cosmos::OSMOSIS),
    cosmos_sdk("celestia", "Celestia", &["tia"], &[coin("TIA", 6)], &["TIA"], &cosmos::CELESTIA),
    cosmos_sdk(
        "dydx",
        "dYdX Chain",
        &["dydx-chain"],
        &[coin("DYDX", 18)],
        &["DYDX"],
        &cosmos::DYDX,
    ),
    cosmos_sdk("noble", "Noble", &[], &[coin("USDC", 6)], &[], &cosmos::NOBLE),
    cosmos_sdk("axelar", "Axelar", &["axl"], &[coin("AXL", 6)], &["AXL"], &cosmos::AXELAR),
    cosmos_sdk("sei", "Sei", &[], &[coin("SEI", 6)], &["SEI"], &cosmos::SEI),
    cosmos_sdk("terra", "Terra", &["luna"], &[coin("LUNA", 6)], &["LUNA"], &cosmos::TERRA),
    cosmos_sdk(
        "thor",
        "THORChain",
        &["thorchain", "rune"],
        &[coin("RUNE", 8)],
        &["RUNE"],
        &cosmos::THOR,
    ),
    cosmos_sdk("kava", "Kava", &[], &[coin("KAVA", 6)], &["KAVA"], &cosmos::KAVA),
    cosmos_sdk("juno", "Juno", &[], &[coin("JUNO", 6)], &["JUNO"], &cosmos::JUNO),
    cosmos_sdk(
        "stars",
        "Stargaze",
        &["stargaze"],
        &[coin("STARS", 6)],
        &["STARS"],
        &cosmos::STARGAZE,
    ),
    cosmos_sdk(
        "scrt",
        "Secret Network",
        &["secret", "secret-network"],
        &[coin("SCRT", 6)],
        &["SCRT"],
        &cosmos::SECRET,
    ),
    cosmos_sdk("akt", "Akash", &["akash"], &[coin("AKT", 6)], &["AKT"], &cosmos::AKASH),
    cosmos_sdk(
        "inj",
        "Injective",
        &["injective"],
        &[coin("INJ", 18)],
        &["INJ"],
        &cosmos::INJECTIVE,
    ),
    Chain::lists_only(
        "algo",
        "Algorand",
        &["algorand"],
        &[coin("ALGO", 6)],
        &["ALGO"],
        Rules::Algorand,
    ),
    Chain::lists_only(
        "near",
        "NEAR",
        &["near-protocol"],
        &[coin("NEAR", 24)],
        &["NEAR"],
        Rules::Near,
    ),
    Chain::lists_only("xtz", "Tezos", &["tezos"], &[coin("XTZ", 6)], &["XTZ"], Rules::Tezos),
    Chain::lists_only("eos", "EOS (Vaulta)", &["vaulta"], &[coin("A", 4)], &["EOS"], Rules::Eos),
    Chain::lists_only("hbar", "Hedera", &["hedera"], &[coin("HBAR", 8)], &["HBAR"], Rules::Hedera),
    Chain::lists_only(
        "fil",
        "Filecoin",
        &["filecoin"],
        &[coin("FIL", 18)],
        &["FIL"],
        Rules::Filecoin,
    ),
    Chain::lists_only("neo", "NEO", &["neo-n3", "neo3"], &[coin("NEO", 0)], &["NEO"], Rules::Neo),
    Chain::lists_only("sui", "Sui", &[], &[coin("SUI", 9)], &["SUI"], Rules::Move),
    Chain::lists_only("apt", "Aptos", &["aptos"], &[coin("APT", 8)], &["APT"], Rules::Move),
    Chain::lists_only(
        "icp",
        "Internet Computer",
        &["internet-computer", "dfinity"],
        &[coin("ICP", 8)],
        &["ICP"],
        Rules::InternetComputer,
    ),
    Chain::lists_only("stx", "Stacks", &["stacks"], &[coin("STX", 6)], &["STX"], Rules::Stacks),
    Chain::lists_only("kas", "Kaspa", &["kaspa"], &[coin("KAS", 8)], &["KAS"], Rules::Kaspa),
    Chain::lists_only(
        "other",
        "Other chains, without rules",
        &["opaque"],
        &[],
        &["OTHER"],
        Rules::Opaque,
    ),
];

/// Token standards by which lists and label sets name a chain.
static TOKEN_STANDARDS: [(&str, ChainId); 3] =
    [("ERC20", ChainId::ETH), ("TRC20", ChainId::TRX), ("BEP20", ChainId::BSC)];

/// A supported chain.
///
/// A chain is compared, ordered and hashed by its position in the table, and displayed and serialized as the
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
    /// BNB Smart Chain.
    pub const BSC: Self = Self(4);
    /// Zcash.
    pub const ZEC: Self = Self(16);
    /// Other chains, without rules.
    pub const OTHER: Self = Self(91);

    /// Every supported chain, in the table's order.
    pub fn all() -> impl Iterator<Item = Self> {
        (0_u8..).take(CHAINS.len()).map(Self)
    }

    /// Fixed properties of the chain.
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

    /// The chain that a code for an asset or a network names, in any letter case: by the codes of sanctions lists in the
    /// table, by a token standard such as `TRC-20`, otherwise by the identifier, an alias or the common name.
    #[must_use]
    pub fn from_list_code(code: &str) -> Option<Self> {
        let code = code.trim();
        let names = |known: &&str| known.eq_ignore_ascii_case(code);
        let by_code = || Self::all().find(|chain| chain.info().list_codes.iter().any(names));
        let by_standard = || {
            let letters: String =
                code.chars().filter(|character| !matches!(character, '-' | ' ')).collect();
            let standard =
                TOKEN_STANDARDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(&letters));
            standard.map(|(_, chain)| *chain)
        };
        let by_name = || Self::all().find(|chain| names(&chain.info().name));
        by_code().or_else(by_standard).or_else(|| code.parse().ok()).or_else(by_name)
    }

    /// The asset code by which sanctions lists name the chain.
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
        let names = |name: &&str| name.eq_ignore_ascii_case(text);
        Self::all()
            .find(|chain| names(&chain.info().id) || chain.info().aliases.iter().any(names))
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
            "examples": ["btc", "eth", "trx"],
            "x-extensible-enum": Self::all().map(Self::as_str).collect::<Vec<_>>(),
        })
    }
}

/// The chains that an asset code on a sanctions list names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssetScope {
    /// The code names one chain.
    Chain(ChainId),
    /// The code names a token that exists on many chains (USDT, USDC): the address is listed on every chain on which
    /// the address is valid.
    EveryValidForm,
    /// The code names no supported chain and no known token: it may be a token or a chain of its own. The address is
    /// listed on every chain on which it is valid, and among the other chains.
    Unknown,
}

impl AssetScope {
    /// Codes that name a token, or a coin of more than one chain, and not a chain.
    const TOKENS: [&'static str; 3] = ["USDT", "USDC", "BNB"];
    /// Code of an entry whose list states an address without its asset: the address is listed on every chain on which
    /// the address is valid.
    pub const UNSTATED: &'static str = "UNSTATED";

    /// The chains that `code` names, an asset code as sanctions lists write it, in any letter case.
    #[must_use]
    pub fn for_code(code: &str) -> Self {
        let names = |known: &&str| known.eq_ignore_ascii_case(code.trim());
        if Self::TOKENS.iter().any(names) || names(&Self::UNSTATED) {
            return Self::EveryValidForm;
        }
        ChainId::from_list_code(code).map_or(Self::Unknown, Self::Chain)
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
                assert_eq!(AssetScope::for_code(code), AssetScope::Chain(chain));
            }
        }
        // Every asset code that OFAC has used.
        for code in
            "ARB BCH BSC BSV BTG DASH DOGE ETC ETH LTC SOL TRX XBT XMR XRP XVG ZEC".split(' ')
        {
            assert!(matches!(AssetScope::for_code(code), AssetScope::Chain(_)), "{code}");
        }
        for code in ["USDT", "USDC"] {
            assert_eq!(AssetScope::for_code(code), AssetScope::EveryValidForm);
        }
        assert_eq!(ChainId::BTC.as_str(), "btc");
        assert_eq!(ChainId::ETH.as_str(), "eth");
        assert_eq!(ChainId::TRX.as_str(), "trx");
        assert_eq!(ChainId::ZEC.as_str(), "zec");
        assert_eq!((ChainId::BSC.as_str(), ChainId::OTHER.as_str()), ("bsc", "other"));
    }

    #[test]
    fn a_code_names_its_chain_in_any_spelling() {
        for (code, chain) in [
            ("eth", "eth"),
            ("Eth ", "eth"),
            ("Ethereum", "eth"),
            ("ERC-20", "eth"),
            ("xbt", "btc"),
            ("Bitcoin", "btc"),
            ("trc20", "trx"),
            ("TRON", "trx"),
            ("BEP 20", "bsc"),
            ("BNB Smart Chain", "bsc"),
            ("matic", "polygon"),
            ("linea", "linea"),
            ("other", "other"),
        ] {
            let scope = AssetScope::for_code(code);
            assert_eq!(scope, AssetScope::Chain(chain.parse().unwrap()), "{code}");
        }
        for token in ["usdt", " USDC", "Bnb", "unstated"] {
            assert_eq!(AssetScope::for_code(token), AssetScope::EveryValidForm, "{token}");
        }
        for unknown in ["DAI", "KDA", "USDT-TRC20", "ETH/BSC", ""] {
            assert_eq!(AssetScope::for_code(unknown), AssetScope::Unknown, "{unknown}");
        }
    }

    #[test]
    fn an_unknown_chain_is_named_with_the_supported_ones() {
        let error = "dogecoin2".parse::<ChainId>().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("unsupported blockchain `dogecoin2`: supported are btc, eth, trx")
        );
    }
}
