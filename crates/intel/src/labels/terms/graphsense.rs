//! The words of a TagPack for what an address is, and for how it is known.

use assay_engine::{evidence::Tier, score::Confidence, taxonomy::Category};

use super::Term;

/// `market` is any place of sale to GraphSense. What its packs call so are darknet markets (Hydra,
/// `AlphaBay`, Silk Road), except where the word is an explorer's: those are tokens and contracts of
/// ordinary marketplaces.
pub(super) const EXCEPTIONS: &[Term] = &[Term {
    word: "market",
    category: Category::Uncategorized,
    only_from: &["etherscan.io", "bscscan.com", "polygonscan.com", "arbiscan.io"],
}];

pub(super) const GROUPS: &[(Category, &[&str])] = &[
    (Category::Sanctions, &["sanction", "sanctions"]),
    (Category::TerrorismFinancing, &["terrorism", "terrorism_financing"]),
    (Category::Csam, &["child_sexual_abuse", "csam"]),
    (Category::Ransomware, &["ransomware"]),
    (Category::HumanTrafficking, &["human_trafficking"]),
    (Category::StolenFunds, &["service_hack", "hack", "theft"]),
    (Category::DarknetMarket, &["market", "darknet_market"]),
    (Category::PhishingDrainer, &["phishing"]),
    (Category::IssuerFrozen, &["black_list", "blacklist"]),
    (Category::DarknetService, &["dark_web"]),
    (Category::FraudShop, &["payment_card_fraud", "carding"]),
    (Category::Scam, &["scam", "ponzi_scheme", "pyramid_scheme", "investment_fraud"]),
    (Category::Malware, &["malware"]),
    // Crime that is named no closer.
    (
        Category::IllicitActorOrg,
        &[
            "abuse",
            "extremism",
            "financial_crime",
            "money_laundering",
            "perpetrator",
            "sexual_abuse",
            "torture",
            "violence",
        ],
    ),
    (Category::DrugVendor, &["drugs", "drug_vendor"]),
    (Category::Weapons, &["weapons"]),
    (Category::Counterfeit, &["counterfeit"]),
    (Category::ExtortionSextortion, &["extortion", "sextortion"]),
    (Category::Mixer, &["mixing_service", "mixing"]),
    (Category::Coinjoin, &["coinjoin"]),
    (Category::Gambling, &["gambling"]),
    (Category::Atm, &["atm"]),
    (Category::Bridge, &["defi_bridge", "bridge"]),
    (
        Category::UnnamedService,
        &["service", "filesharing", "index", "messaging_service", "search_engine"],
    ),
    (Category::Hosting, &["hosting"]),
    (Category::Vpn, &["vpn"]),
    (Category::Dex, &["defi_dex"]),
    (Category::Defi, &["defi", "defi_lending", "defi_derivative", "defi_derivatives"]),
    (Category::HostedWallet, &["wallet_service", "escrow_wallet"]),
    (Category::Donation, &["donation"]),
    (Category::Faucet, &["faucet"]),
    (Category::Exchange, &["exchange"]),
    (Category::PaymentProcessor, &["payment_processor"]),
    (Category::Merchant, &["shop"]),
    (Category::Nft, &["collectible"]),
    (Category::Miner, &["miner"]),
    (Category::MiningPool, &["mining_service"]),
    // Words for what an address is used as, or for whoever it may be.
    (
        Category::Uncategorized,
        &[
            "behaviour",
            "cold_wallet",
            "deployer",
            "deposit_wallet",
            "entity",
            "forum_mention",
            "funder",
            "gray_usage",
            "hot_wallet",
            "ico_wallet",
            "item",
            "mention",
            "organization",
            "user",
            "victim",
            "warm_wallet",
            "website_mention",
            "white_list",
            "white_usage",
        ],
    ),
];

/// What a TagPack's word for its confidence means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfidenceWord {
    /// The word.
    pub word: &'static str,
    /// How probable it is that such a claim holds.
    pub confidence: Confidence,
    /// How strong such evidence is.
    pub tier: Tier,
}

const fn sure(word: &'static str, percent: u8, tier: Tier) -> ConfidenceWord {
    ConfidenceWord { word, confidence: Confidence::from_percent(percent), tier }
}

/// GraphSense's words for how a tag is known. Its own numbers rank sources against each other (a
/// sanctions authority has 60 of 100) and are no probabilities; these are.
pub static CONFIDENCES: [ConfidenceWord; 14] = [
    sure("override", 95, Tier::Investigation),
    sure("ownership", 95, Tier::Investigation),
    sure("ledger_immanent", 100, Tier::OnChainProof),
    sure("manual_transaction", 95, Tier::Investigation),
    sure("service_api", 90, Tier::Investigation),
    sure("forensic_investigation", 90, Tier::Investigation),
    sure("authority_data", 95, Tier::Investigation),
    sure("trusted_provider", 80, Tier::Investigation),
    sure("service_data", 90, Tier::Investigation),
    sure("forensic", 85, Tier::Investigation),
    sure("untrusted_transaction", 60, Tier::Community),
    sure("web_crawl", 65, Tier::Community),
    sure("heuristic", 40, Tier::Heuristic),
    UNKNOWN,
];

/// What no word, or one of no table, stands for.
const UNKNOWN: ConfidenceWord = sure("unknown", 30, Tier::Community);

impl ConfidenceWord {
    /// What `word` means, if it is one of the fourteen.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        CONFIDENCES.iter().find(|known| super::same(known.word, word)).copied()
    }

    /// What it means that nothing is said.
    #[must_use]
    pub const fn unknown() -> Self {
        UNKNOWN
    }
}
