//! The APIs of explorers that come with Assay: public ones that provide histories of accounts on demand. All are off until they
//! are enabled.
//!
//! Enabling one stores a `ChainSource` manifest of mode `on_demand`.

use assay_tenancy::manifest::Document;
use serde::Serialize;
use serde_json::json;

/// An API that comes with Assay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReadyChainSource {
    /// Name of the source. Its manifests have the name and the chain, such as `etherscan-eth`.
    pub name: &'static str,
    /// Name of the operator of the API.
    pub publisher: &'static str,
    /// Protocol of the manifest.
    pub protocol: &'static str,
    /// The chains, each with the URL of its API.
    pub endpoints: &'static [(&'static str, &'static str)],
    /// True if the API refuses requests without a key.
    pub needs_key: bool,
    /// Limits of a free key.
    pub terms: &'static str,
}

const ETHERSCAN: &str = "https://api.etherscan.io/v2/api";

/// Every API that comes with Assay.
pub static READY_CHAIN_SOURCES: [ReadyChainSource; 4] = [
    ReadyChainSource {
        name: "etherscan",
        publisher: "Etherscan",
        protocol: "etherscan",
        endpoints: &[
            ("eth", ETHERSCAN),
            ("polygon", ETHERSCAN),
            ("arbitrum", ETHERSCAN),
            ("linea", ETHERSCAN),
            ("celo", ETHERSCAN),
        ],
        needs_key: true,
        terms: "free key: 3 requests a second, 100,000 a day over all chains",
    },
    ReadyChainSource {
        name: "blockscout",
        publisher: "Blockscout",
        protocol: "blockscout",
        endpoints: &[
            ("eth", "https://eth.blockscout.com/api"),
            ("base", "https://base.blockscout.com/api"),
            ("gnosis", "https://gnosis.blockscout.com/api"),
        ],
        needs_key: true,
        terms: "free key: 5 requests a second, 5,000 a day",
    },
    ReadyChainSource {
        name: "routescan",
        publisher: "Routescan",
        protocol: "etherscan",
        endpoints: &[(
            "avalanche",
            "https://api.routescan.io/v2/network/mainnet/evm/43114/etherscan/api",
        )],
        needs_key: false,
        terms: "without a key: 2 requests a second, 10,000 a day; free key: 5 a second, 100,000 a day",
    },
    ReadyChainSource {
        name: "trongrid",
        publisher: "TronGrid",
        protocol: "trongrid",
        endpoints: &[("trx", "https://api.trongrid.io")],
        needs_key: true,
        terms: "free key: 15 requests a second, 100,000 a day",
    },
];

/// Reason why an API cannot be enabled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnableChainError {
    /// No API has the name.
    #[error("no such ready-made chain source: `{name}` (known: {known})", known = names())]
    Unknown {
        /// Name that the caller gave.
        name: String,
    },
    /// The API does not have the chain.
    #[error("`{name}` is not ready-made for chain `{chain}` (known: {known})")]
    Chain {
        /// Name of the source.
        name: &'static str,
        /// Chain that the caller gave.
        chain: String,
        /// Chains of the source.
        known: String,
    },
    /// The API needs a key.
    #[error(
        "`{name}` needs a key ({terms}): write it to a file in one line, and name the file with --key-file"
    )]
    NeedsKey {
        /// Name of the source.
        name: &'static str,
        /// Limits of a free key.
        terms: &'static str,
    },
}

fn names() -> String {
    READY_CHAIN_SOURCES.map(|source| source.name).join(", ")
}

/// Returns the API with a name.
///
/// # Errors
///
/// Returns an error if no API has the name.
pub fn by_name(name: &str) -> Result<&'static ReadyChainSource, EnableChainError> {
    READY_CHAIN_SOURCES
        .iter()
        .find(|source| source.name == name)
        .ok_or_else(|| EnableChainError::Unknown { name: name.chars().take(64).collect() })
}

impl ReadyChainSource {
    /// Returns the manifest of the API for a chain. `endpoint` replaces the source's URL; `key_file` is the path of the file with the
    /// key.
    ///
    /// # Errors
    ///
    /// Returns an error if the source does not have the chain, or needs a key.
    pub fn manifest(
        &self,
        chain: &str,
        endpoint: Option<&str>,
        key_file: Option<&str>,
    ) -> Result<Document, EnableChainError> {
        let Self { name, protocol, terms, .. } = *self;
        let of_chain = self.endpoints.iter().find(|(known, _)| *known == chain);
        let Some((_, usual)) = of_chain else {
            let known: Vec<&str> = self.endpoints.iter().map(|(chain, _)| *chain).collect();
            let chain = chain.chars().take(64).collect();
            return Err(EnableChainError::Chain { name, chain, known: known.join(", ") });
        };
        if self.needs_key && key_file.is_none() {
            return Err(EnableChainError::NeedsKey { name, terms });
        }
        let mut spec = json!({
            "chain": chain,
            "mode": "on_demand",
            "protocol": protocol,
            "endpoint": endpoint.unwrap_or(usual),
        });
        if let (Some(file), Some(spec)) = (key_file, spec.as_object_mut()) {
            spec.insert("credentialsFile".to_owned(), file.into());
        }
        Ok(Document {
            origin: format!("ready-made chain source {name}"),
            content: json!({
                "apiVersion": "assay.dev/v1alpha1",
                "kind": "ChainSource",
                "metadata": {"name": format!("{name}-{chain}")},
                "spec": spec,
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifests::resolve;

    #[test]
    fn every_ready_made_chain_source_is_a_manifest() {
        for source in &READY_CHAIN_SOURCES {
            for (chain, _) in source.endpoints {
                let manifest = source.manifest(chain, None, Some("/keys/key")).unwrap();
                let directory = resolve(&[manifest]).unwrap().directory;
                let feed = directory.chains.get(*chain).unwrap();
                assert_eq!(feed.name.to_string(), format!("{}-{chain}", source.name));
            }
        }
    }

    #[test]
    fn an_api_is_enabled_with_what_it_needs() {
        let etherscan = by_name("etherscan").unwrap();
        let error = etherscan.manifest("eth", None, None).unwrap_err().to_string();
        assert_eq!(
            error,
            "`etherscan` needs a key (free key: 3 requests a second, 100,000 a day over all chains): write it to a \
             file in one line, and name the file with --key-file"
        );
        let error = etherscan.manifest("bsc", None, Some("x")).unwrap_err().to_string();
        assert_eq!(
            error,
            "`etherscan` is not ready-made for chain `bsc` (known: eth, polygon, arbitrum, linea, celo)"
        );
        let error = by_name("x").unwrap_err().to_string();
        assert!(error.starts_with("no such ready-made chain source: `x` (known: etherscan, "));
    }
}
