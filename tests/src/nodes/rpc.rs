//! Calls to a node's JSON-RPC, one by one.

use std::{
    fs,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use ureq::Agent;

/// Credentials of a node's callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credentials {
    /// A cookie file that the node rewrites at every start.
    Cookie(PathBuf),
    /// A name and a password.
    Password {
        /// The name.
        user: String,
        /// The password.
        password: String,
    },
    /// None.
    None,
    /// The secret of which geth's Engine API wants a fresh proof with every call.
    Secret([u8; 32]),
}

/// A caller of one node.
#[derive(Clone, Debug)]
pub struct Rpc {
    agent: Agent,
    address: String,
    credentials: Credentials,
}

/// Error of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RpcError {
    /// There was no answer, or no valid JSON-RPC answer.
    NoAnswer(String),
    /// The node refused: code and message.
    Refused(i64, String),
}

impl Rpc {
    /// A caller of the node that listens on `port`.
    pub(crate) fn new(port: u16, credentials: Credentials) -> Self {
        let agent = Agent::config_builder().http_status_as_error(false).build().into();
        Self { agent, address: format!("127.0.0.1:{port}"), credentials }
    }

    /// Calls a method.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no answer or the node refuses.
    pub fn call(&self, method: &str, parameters: &[Value]) -> Result<Value, RpcError> {
        let no_answer = |what: &dyn std::fmt::Display| RpcError::NoAnswer(what.to_string());
        let (login, version) = match &self.credentials {
            Credentials::Cookie(file) => (
                fs::read_to_string(file).map_err(|e| no_answer(&e))?.trim().to_owned() + "@",
                "1.0",
            ),
            Credentials::Password { user, password } => (format!("{user}:{password}@"), "1.0"),
            Credentials::None | Credentials::Secret(_) => (String::new(), "2.0"),
        };
        // btcd answers nothing at all to a request that does not name its version.
        let request =
            json!({ "jsonrpc": version, "id": 1, "method": method, "params": parameters });
        let mut call = self.agent.post(format!("http://{login}{}/", self.address));
        if let Credentials::Secret(secret) = &self.credentials {
            call = call.header("authorization", format!("Bearer {}", token(secret)));
        }
        let mut response = call.send_json(request).map_err(|error| no_answer(&error))?;
        let body = response.body_mut();
        let text = body
            .with_config()
            .limit(1 << 30)
            .read_to_string()
            .map_err(|error| no_answer(&error))?;
        let mut answer: Value = serde_json::from_str(&text)
            .map_err(|error| no_answer(&format!("{}: {error}: {text}", response.status())))?;
        let error = answer.get("error").filter(|error| !error.is_null());
        if let Some(error) = error {
            let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
            let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
            return Err(RpcError::Refused(code, message.to_owned()));
        }
        Ok(answer.get_mut("result").map(Value::take).unwrap_or_default())
    }
}

/// A JSON web token of this moment, signed with a secret (HS256).
#[expect(clippy::disallowed_methods, reason = "geth compares it with its own clock")]
fn token(secret: &[u8; 32]) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time").as_secs();
    let part = |value: Value| URL_SAFE.encode(value.to_string());
    let signed = format!(
        "{}.{}",
        part(json!({ "alg": "HS256", "typ": "JWT" })),
        part(json!({ "iat": now }))
    );
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("any length is valid");
    mac.update(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE.encode(mac.finalize().into_bytes()))
}
