//! One key of a Secret.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Name;

/// One key of a Secret in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKey {
    /// Name of the Secret.
    pub name: Name,
    /// Key in the Secret. Default `url`.
    #[serde(default = "default_key")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

fn default_key() -> String {
    "url".into()
}

/// The key of a Secret with credentials. It differs from [`SecretKey`] in its default.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CredentialsKey {
    /// Name of the Secret.
    name: Name,
    /// Key in the Secret. Default `credentials`.
    #[serde(default = "default_credentials_key")]
    #[schemars(length(min = 1, max = 253))]
    key: String,
}

fn default_credentials_key() -> String {
    "credentials".into()
}

/// Reads the key of a Secret with credentials.
pub(super) fn credentials_key<'d, D: Deserializer<'d>>(
    deserializer: D,
) -> Result<Option<SecretKey>, D::Error> {
    let read = Option::<CredentialsKey>::deserialize(deserializer)?;
    Ok(read.map(|CredentialsKey { name, key }| SecretKey { name, key }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::manifest::{ChainSourceSpec, IntelSourceSpec};

    #[test]
    fn the_default_key_of_credentials_is_not_that_of_a_url() {
        let list = json!({
            "location": "https://lists.example/x", "format": "listings-csv", "schedule": "17 * * * *",
        });
        let node = json!({
            "chain": "btc", "endpoint": "http://node:8332", "mode": "follow", "protocol": "rpc",
        });
        for (named, key) in [
            (json!({"name": "node"}), "credentials"),
            (json!({"name": "node", "key": "cookie"}), "cookie"),
        ] {
            let with = |spec: &Value| {
                let mut spec = spec.clone();
                spec["credentialsSecret"] = named.clone();
                spec
            };
            let list: IntelSourceSpec = serde_json::from_value(with(&list)).unwrap();
            let node: ChainSourceSpec = serde_json::from_value(with(&node)).unwrap();
            for secret in [list.credentials_secret, node.credentials_secret] {
                assert_eq!(secret.unwrap().key, key);
            }
        }
        let without: ChainSourceSpec = serde_json::from_value(node).unwrap();
        assert!(without.credentials_secret.is_none());
    }
}
