//! The chain servers of every chain, parsed from the setting that names their URLs.

use std::{collections::BTreeMap, sync::Arc};

use assay_address::ChainId;

use super::{credentials::ChainServerCredentials, set::ServerSet, url::ServerUrl};

/// A list of chain servers that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidServers {
    /// An entry is not of the form `CHAIN=URL`.
    #[error(
        "`{0}` is not CHAIN=URL, such as btc=http://chain-btc:8080: http or https, a host and a port"
    )]
    Form(String),
    /// An entry names an unsupported chain, or a chain without graphs.
    #[error("`{0}` names a chain that is not supported or has no graphs")]
    Chain(String),
}

/// The chain servers, by chain.
#[derive(Clone, Debug, Default)]
pub struct ChainServers(BTreeMap<ChainId, Arc<ServerSet>>);

impl ChainServers {
    /// Parses `CHAIN=URL` entries. A chain may have several URLs.
    ///
    /// # Errors
    ///
    /// Returns an error with the first entry that cannot be parsed.
    pub fn parse<'a>(
        entries: impl IntoIterator<Item = &'a str>,
        credentials: &ChainServerCredentials,
    ) -> Result<Self, InvalidServers> {
        let mut urls: BTreeMap<ChainId, Vec<ServerUrl>> = BTreeMap::new();
        for entry in entries {
            let form = || InvalidServers::Form(entry.to_owned());
            let (chain, url) = entry.split_once('=').ok_or_else(form)?;
            let chain: ChainId = chain
                .trim()
                .parse()
                .ok()
                .filter(|chain: &ChainId| chain.info().has_graph())
                .ok_or_else(|| InvalidServers::Chain(entry.to_owned()))?;
            let url = ServerUrl::parse(url.trim()).ok_or_else(form)?;
            urls.entry(chain).or_default().push(url);
        }
        let set =
            |(chain, urls)| (chain, Arc::new(ServerSet::new(chain, urls, credentials.clone())));
        Ok(Self(urls.into_iter().map(set).collect()))
    }

    /// The servers of a chain.
    #[must_use]
    pub fn servers_of(&self, chain: ChainId) -> Option<&Arc<ServerSet>> {
        self.0.get(&chain)
    }

    /// Iterates over the chains with their servers.
    pub fn iter(&self) -> impl Iterator<Item = (ChainId, &Arc<ServerSet>)> {
        self.0.iter().map(|(chain, set)| (*chain, set))
    }

    /// True if no chain has a server.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<String>, String> {
        let entries = text.split(',').filter(|it| !it.is_empty());
        let servers = ChainServers::parse(entries, &ChainServerCredentials::default());
        let servers = servers.map_err(|error| error.to_string())?;
        Ok(servers.iter().map(|(chain, set)| format!("{chain} {set}")).collect())
    }

    #[test]
    fn chains_have_urls_and_problems_say_what_is_wrong() {
        assert_eq!(parse("").unwrap(), [""; 0]);
        let entries = "ltc=https://[::1]:1,btc=http://chain-btc.assay.svc:8080/,ltc=http://b:2";
        let two = parse(entries).unwrap();
        assert_eq!(two, ["btc http://chain-btc.assay.svc:8080", "ltc https://[::1]:1, http://b:2"]);
        assert_eq!(parse("polygon-zkevm=http://x:1").unwrap(), ["polygon-zkevm http://x:1"]);
        for wrong in [
            "http://x:1",
            "btc=x:1",
            "btc=ftp://x:1",
            "btc=http://x",
            "btc=http://a@x:1",
            "btc=http://x:1/p",
        ] {
            let error = parse(wrong).unwrap_err();
            assert!(error.contains(wrong) && error.contains("is not CHAIN=URL"), "{error}");
        }
        assert!(parse("sol=http://x:1").unwrap_err().contains("has no graphs"));
    }
}
