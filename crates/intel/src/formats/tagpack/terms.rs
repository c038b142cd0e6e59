//! The terms of TagPacks for categories and for confidence.

use assay_engine::{evidence::Tier, score::Confidence, taxonomy::Category};

use crate::labels::terms::{Term, TermTable, is_same};

/// Terms of TagPacks: the concepts of GraphSense and INTERPOL's working group.
pub static TERMS: TermTable = TermTable { exceptions: EXCEPTIONS, groups: GROUPS };

/// GraphSense defines `market` as any place of sale. The packs use it for darknet markets (Hydra,
/// `AlphaBay`, Silk Road), and explorers use it for tokens and contracts of ordinary marketplaces.
const EXCEPTIONS: &[Term] = &[Term {
    word: "market",
    category: Category::Uncategorized,
    only_from: &["etherscan.io", "bscscan.com", "polygonscan.com", "arbiscan.io"],
}];

const GROUPS: &[(Category, &[&str])] = &[
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
    // Crime without a more specific category.
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
    // Words for the use of an address, or for any owner.
    (
        Category::Uncategorized,
        &[
            "behavior",
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

/// Term of a TagPack for the confidence of a tag, with its meaning in Assay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfidenceTerm {
    /// Word of the TagPack.
    pub word: &'static str,
    /// Probability that such a tag is right.
    pub confidence: Confidence,
    /// Tier of such evidence.
    pub tier: Tier,
}

const fn term(word: &'static str, percent: u8, tier: Tier) -> ConfidenceTerm {
    ConfidenceTerm { word, confidence: Confidence::from_percent(percent), tier }
}

/// GraphSense's terms for confidence. GraphSense's own numbers rank sources (a sanctions authority has 60
/// of 100); the numbers here are probabilities.
pub static CONFIDENCES: [ConfidenceTerm; 14] = [
    term("override", 95, Tier::Investigation),
    term("ownership", 95, Tier::Investigation),
    term("ledger_immanent", 100, Tier::OnChainProof),
    term("manual_transaction", 95, Tier::Investigation),
    term("service_api", 90, Tier::Investigation),
    term("forensic_investigation", 90, Tier::Investigation),
    term("authority_data", 95, Tier::Investigation),
    term("trusted_provider", 80, Tier::Investigation),
    term("service_data", 90, Tier::Investigation),
    term("forensic", 85, Tier::Investigation),
    term("untrusted_transaction", 60, Tier::Community),
    term("web_crawl", 65, Tier::Community),
    term("heuristic", 40, Tier::Heuristic),
    ConfidenceTerm::UNKNOWN,
];

impl ConfidenceTerm {
    /// Meaning of a missing or unknown term.
    pub const UNKNOWN: Self = term("unknown", 30, Tier::Community);

    /// The meaning of a word; `None` if it is no term for confidence.
    #[must_use]
    pub fn find(word: &str) -> Option<Self> {
        CONFIDENCES.iter().find(|known| is_same(known.word, word)).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_terms_for_confidence_are_fourteen() {
        let words: BTreeSet<_> = CONFIDENCES.iter().map(|known| known.word).collect();
        assert_eq!(words.len(), 14);
        assert_eq!(ConfidenceTerm::find("unknown"), Some(ConfidenceTerm::UNKNOWN));
        assert_eq!(
            ConfidenceTerm::find("Service Data").map(|known| known.confidence.percent()),
            Some(90)
        );
        assert_eq!(ConfidenceTerm::find("sure"), None);
    }
}
