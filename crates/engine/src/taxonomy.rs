//! Categories of addresses and counterparties, each with its definition, its default severity and
//! the evidence for that severity.

use std::{fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Lowest severity of risky categories. Dealings with categories below this severity never add to a risk score.
pub const RISKY_FROM: u8 = 25;

/// Fixed properties of a category.
#[derive(Debug)]
pub struct CategoryInfo {
    /// The identifier used in manifests, imports and answers.
    pub id: &'static str,
    /// Definition of the category.
    pub definition: &'static str,
    /// Default severity: the risk of a certain, direct attribution, 0 to 100.
    pub severity: u8,
    /// Evidence for the default severity.
    pub evidence: &'static str,
    /// True if entities of this category move their customers' funds, so that their counterparties say nothing about
    /// the entity itself.
    pub service: bool,
    /// True if such entities are virtual asset service providers (VASP) as FATF defines them; `None` if the answer
    /// depends on the entity.
    pub vasp: Option<bool>,
}

macro_rules! categories {
    ($($(#[$meta:meta])* $variant:ident $id:literal $severity:literal $service:ident $vasp:ident
        $definition:literal $evidence:literal;)+) => {
        /// An entity category. Later versions may add categories.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Category {
            $(#[doc = $definition] $variant,)+
        }

        impl Category {
            /// Every category, highest default severity first.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// Fixed properties of the category.
            #[must_use]
            pub const fn info(self) -> &'static CategoryInfo {
                match self {
                    $(Self::$variant => &CategoryInfo {
                        id: $id,
                        definition: $definition,
                        severity: $severity,
                        evidence: $evidence,
                        service: categories!(@bool $service),
                        vasp: categories!(@vasp $vasp),
                    },)+
                }
            }
        }
    };
    (@bool service) => { true };
    (@bool party) => { false };
    (@vasp vasp) => { Some(true) };
    (@vasp other) => { Some(false) };
    (@vasp depends) => { None };
}

categories! {
    Sanctions "sanctions" 100 party depends
        "Named on an official sanctions list, or controlled by someone who is."
        "Highest level of every provider that publishes one (TRM Severe, Blockaid 1.0, AMLBot high).";
    TerrorismFinancing "terrorism_financing" 100 party other
        "Raises, holds or moves money for terrorism."
        "AMLRegister puts it at 95 and more; other providers call it critical.";
    Csam "csam" 100 party other
        "Sells or pays for material of child sexual abuse."
        "Critical or high with every provider that publishes a level.";
    Ransomware "ransomware" 95 party other
        "Receives or passes on payments extorted by encrypting or threatening to publish data."
        "AMLBot high; treated beside sanctions by screening rules.";
    HumanTrafficking "human_trafficking" 95 party other
        "Trades in people for forced labour or sexual exploitation."
        "A category of its own with Circle; placed beside ransomware for the harm it stands for.";
    SanctionedJurisdiction "sanctioned_jurisdiction" 90 service depends
        "A service located in a comprehensively sanctioned country."
        "Beosin severe.";
    SpecialMeasures "special_measures" 90 service depends
        "Subject to special measures such as FinCEN's under section 311 or 9714."
        "Chainalysis reports it as Severe.";
    StolenFunds "stolen_funds" 90 party other
        "Holds or passes on funds taken by a hack, an exploit or theft."
        "Blockaid 0.9; TRM Severe.";
    DarknetMarket "darknet_market" 85 service other
        "A marketplace for illegal goods reached through anonymising networks."
        "AMLBot high; Beosin high.";
    PhishingDrainer "phishing_drainer" 85 party other
        "Takes funds through fake sites, signatures or token approvals."
        "Webacy high.";
    IssuerFrozen "issuer_frozen" 85 party depends
        "An address whose token balance the issuer has frozen."
        "Forta's freeze detector reports it as critical.";
    DarknetService "darknet_service" 80 service other
        "Offers illegal services through anonymising networks."
        "AMLBot high.";
    FraudShop "fraud_shop" 80 service other
        "Sells stolen identities, cards or accounts."
        "Beosin high.";
    Scam "scam" 80 party other
        "Obtains money by deception: investment fraud, Ponzi schemes, rug pulls, impersonation."
        "AMLBot high; Chainalysis reports 7 % direct exposure as Medium.";
    Malware "malware" 80 party other
        "Operates or sells malicious software."
        "AMLBot high.";
    IllicitActorOrg "illicit_actor_org" 80 party other
        "An organisation known for illicit activity that fits no narrower category."
        "AMLBot high for its counterparts.";
    DrugVendor "drug_vendor" 80 party other
        "Sells illegal drugs."
        "Counted with illicit goods by GraphSense and Chainalysis.";
    Weapons "weapons" 80 party other
        "Sells weapons illegally."
        "Counted with illicit goods by GraphSense.";
    Counterfeit "counterfeit" 80 party other
        "Sells counterfeit goods, documents or money."
        "Counted with illicit goods by GraphSense.";
    ExtortionSextortion "extortion_sextortion" 80 party other
        "Obtains money by threat or blackmail other than ransomware."
        "Flagged by GoPlus as blackmail; AMLBot high for ransom.";
    FraudulentExchange "fraudulent_exchange" 80 service vasp
        "An exchange involved in fraud or other illegal activity."
        "AMLBot high.";
    IllegalService "illegal_service" 75 service other
        "Offers services that are illegal where it operates."
        "AMLBot high.";
    Mixer "mixer" 75 service vasp
        "A service that mixes funds of many users to obscure their origin."
        "Blockaid 0.8; AMLBot high; a low mark in one exchange's own rules.";
    EnforcementAction "enforcement_action" 60 party depends
        "Under legal proceedings or an order of an authority."
        "AMLBot high, with a wide range of causes.";
    PrivacyProtocol "privacy_protocol" 55 service other
        "A protocol without an operator that obscures origin."
        "GraphSense files it under grey usage.";
    Coinjoin "coinjoin" 55 service other
        "A joint transaction of several people that obscures who paid whom."
        "GraphSense files it under grey usage.";
    NoKycExchange "no_kyc_exchange" 50 service vasp
        "An exchange that serves customers without verifying them."
        "Crystal: very high risk; Beosin high.";
    HighRiskExchange "high_risk_exchange" 50 service vasp
        "An exchange with weak verification, licences or controls."
        "Beosin high; AMLBot middle.";
    P2pExchangeHighRisk "p2p_exchange_high_risk" 45 service vasp
        "A peer-to-peer marketplace that lets large sums pass without verification."
        "AMLBot middle.";
    Gambling "gambling" 40 service other
        "Takes wagers."
        "Providers differ: AMLBot high, Beosin medium, others low.";
    Atm "atm" 35 service vasp
        "A machine that exchanges cash and crypto-assets."
        "AMLBot middle.";
    CommunityReport "community_report" 25 party depends
        "Reported by users without further proof."
        "A suspicion only; its evidence tier caps it as well.";
    BlacklistDoubt "blacklist_doubt" 25 party depends
        "Suspected by an automatic source without further proof."
        "GoPlus keeps it apart from its own findings.";
    Bridge "bridge" 20 service depends
        "Moves assets between chains."
        "MistTrack reports it as a kind of its own.";
    UnnamedService "unnamed_service" 20 service depends
        "Behaves like a service but is not attributed."
        "AMLBot spreads it from low to high.";
    Uncategorized "uncategorized" 20 party depends
        "Attributed to a name but to no category."
        "Blockaid counts it as benign.";
    Infrastructure "infrastructure" 20 service other
        "Offers computing infrastructure."
        "AMLBot middle.";
    Hosting "hosting" 20 service other
        "Offers hosting."
        "AMLBot middle, with infrastructure.";
    Vpn "vpn" 20 service other
        "Offers anonymous network access."
        "AMLBot middle, with infrastructure.";
    Dex "dex" 15 service depends
        "Exchanges tokens by smart contract."
        "TRM Medium; AMLBot middle.";
    Defi "defi" 15 service depends
        "Lends, stakes or pools tokens by smart contract."
        "TRM Medium; AMLBot middle.";
    SeizedFunds "seized_funds" 10 party other
        "Held by law enforcement."
        "AMLBot low.";
    HostedWallet "hosted_wallet" 10 service vasp
        "Keeps wallets for its users."
        "AMLBot low.";
    Donation "donation" 10 party other
        "Collects donations."
        "Benign where published so far.";
    Faucet "faucet" 10 service other
        "Gives away small amounts."
        "Benign where published so far.";
    Exchange "exchange" 5 service vasp
        "A custodial exchange that verifies its customers."
        "AMLBot low.";
    PaymentProcessor "payment_processor" 5 service vasp
        "Accepts payments for merchants."
        "AMLBot low.";
    Merchant "merchant" 5 service other
        "Sells goods or services."
        "AMLBot low.";
    Nft "nft" 5 service depends
        "Sells or creates collectible tokens."
        "Benign where published so far.";
    TokenContract "token_contract" 5 service other
        "A token's own contract."
        "Benign where published so far.";
    Miner "miner" 5 party other
        "Mines blocks on its own account."
        "AMLBot low.";
    MiningPool "mining_pool" 5 service other
        "Mines blocks with many members and pays them."
        "AMLBot low; Blockaid counts it as a warning only.";
    Custodian "custodian" 5 service vasp
        "Keeps assets for institutions."
        "AMLBot low for hosted wallets.";
    Staking "staking" 5 service depends
        "Stakes assets for others."
        "Benign where published so far.";
}

impl Category {
    /// True for smart contracts that users' tokens pass, and to which users send tokens by mistake.
    #[must_use]
    pub const fn is_contract(self) -> bool {
        matches!(
            self,
            Self::TokenContract | Self::Dex | Self::Defi | Self::Nft | Self::Staking | Self::Bridge
        )
    }

    /// The identifier used in manifests, imports and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.info().id
    }
}

/// A category identifier that is not in the taxonomy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown category `{0}`")]
pub struct UnknownCategory(pub String);

impl FromStr for Category {
    type Err = UnknownCategory;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|category| category.as_str() == text)
            .ok_or_else(|| UnknownCategory(text.chars().take(64).collect()))
    }
}

impl fmt::Display for Category {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl Serialize for Category {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Category {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Category {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Category".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Entity category; `GET /api/v1/signals` defines each. The list may grow.",
            "examples": ["sanctions", "mixer", "exchange"],
            "x-extensible-enum": Self::ALL.iter().map(|category| category.as_str()).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_unique_and_read_back() {
        let ids: std::collections::BTreeSet<_> = Category::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(ids.len(), Category::ALL.len());
        for category in Category::ALL {
            assert_eq!(category.as_str().parse(), Ok(*category));
            let info = category.info();
            assert!(
                info.severity <= 100
                    && info.definition.ends_with('.')
                    && info.evidence.ends_with('.')
            );
        }
        assert!("Sanctions".parse::<Category>().is_err(), "identifiers are exact");
    }

    #[test]
    fn the_table_falls_in_severity() {
        let severities: Vec<_> = Category::ALL.iter().map(|c| c.info().severity).collect();
        assert!(severities.is_sorted_by(|a, b| a >= b), "{severities:?}");
    }
}
