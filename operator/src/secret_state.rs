//! The state of Secrets that pods need: URLs and tokens.

use std::collections::BTreeSet;

use assay_crds::SecretKey;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};

use crate::destinations::{self, Destination};

/// The state of a Secret that holds a URL or a token. The value of the Secret is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SecretState {
    /// The Secret has the key.
    Present {
        /// The Secret's UID.
        uid: String,
        /// The destinations in the URL; empty for a token.
        destinations: BTreeSet<Destination>,
    },
    /// The Secret does not exist.
    NoSecret,
    /// The Secret lacks the key.
    NoKey,
}

impl SecretState {
    /// Reads the state of a key.
    ///
    /// # Errors
    ///
    /// Returns an error if the API server fails.
    pub(crate) async fn read(secrets: &Api<Secret>, key: &SecretKey) -> Result<Self, kube::Error> {
        let Some(secret) = secrets.get_opt(key.name.as_str()).await? else {
            return Ok(Self::NoSecret);
        };
        let value = secret.data.as_ref().and_then(|data| data.get(&key.key));
        Ok(value.map_or(Self::NoKey, |value| Self::Present {
            uid: secret.uid().unwrap_or_default(),
            destinations: destinations::of_url(&String::from_utf8_lossy(&value.0)),
        }))
    }

    /// Describes an absent Secret or key, with advice. `content` is what the key is to hold.
    pub(crate) fn problem(&self, key: &SecretKey, content: &str) -> Option<String> {
        let (name, key) = (&key.name, &key.key);
        match self {
            Self::Present { .. } => None,
            Self::NoSecret => Some(format!(
                "Secret `{name}` does not exist: create it with {content} under `{key}`"
            )),
            Self::NoKey => Some(format!(
                "Secret `{name}` has no key `{key}`: add it with {content} as its value"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_absent_secret_or_key_is_named_with_what_to_do() {
        let key: SecretKey = serde_json::from_value(json!({"name": "db", "key": "url"})).unwrap();
        let problem = |state: SecretState| state.problem(&key, "a URL");
        assert_eq!(
            problem(SecretState::NoSecret).as_deref(),
            Some("Secret `db` does not exist: create it with a URL under `url`")
        );
        assert_eq!(
            problem(SecretState::NoKey).as_deref(),
            Some("Secret `db` has no key `url`: add it with a URL as its value")
        );
        let present = SecretState::Present { uid: "1".into(), destinations: BTreeSet::new() };
        assert_eq!(problem(present), None);
    }
}
