//! A caller of the API.

use std::{collections::BTreeMap, net::SocketAddr};

use serde_json::{Value, json};
use ureq::{Agent, http::Request};

/// A caller with an API key.
#[derive(Clone, Debug)]
pub struct Caller {
    agent: Agent,
    base: String,
    /// The key.
    pub key: String,
}

/// An answer with any status.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Header fields by lowercase name.
    pub headers: BTreeMap<String, String>,
    /// The body as text.
    pub text: String,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// Panics if the body is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// A header field; empty if it is absent.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// The status and the problem's code.
    ///
    /// # Panics
    ///
    /// Panics if the answer is not a problem document.
    #[must_use]
    pub fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", self.text);
        let body = self.json();
        let code = body.get("code").and_then(Value::as_str);
        (self.status, code.expect("a code").to_owned())
    }
}

impl Caller {
    /// A caller of the API at `api`.
    #[must_use]
    pub fn new(api: SocketAddr, key: &str) -> Self {
        let agent = Agent::config_builder().http_status_as_error(false).build().into();
        Self { agent, base: format!("http://{api}"), key: key.to_owned() }
    }

    /// Checks an address.
    #[must_use]
    pub fn check(&self, chain: &str, address: &str) -> Answer {
        let body = json!({ "blockchain": chain, "address": address });
        self.post("/api/v1/check/address", &body.to_string(), &[])
    }

    /// Checks an address, and returns an error if there is no answer.
    ///
    /// # Errors
    ///
    /// Returns the error of the connection.
    pub fn try_check(&self, chain: &str, address: &str) -> Result<Answer, ureq::Error> {
        let body = json!({ "blockchain": chain, "address": address }).to_string();
        let fields = [("x-api-key", self.key.as_str()), ("content-type", "application/json")];
        self.try_send("POST", "/api/v1/check/address", &body, fields)
    }

    /// True if both callers have the same server.
    #[must_use]
    pub fn has_same_server(&self, other: &Self) -> bool {
        self.base == other.base
    }

    /// Posts JSON, with further header fields.
    #[must_use]
    pub fn post(&self, path: &str, body: &str, headers: &[(&str, &str)]) -> Answer {
        let own = [("x-api-key", self.key.as_str()), ("content-type", "application/json")];
        let own =
            own.into_iter().filter(|(name, _)| headers.iter().all(|(other, _)| other != name));
        self.send("POST", path, body, own.chain(headers.iter().copied()))
    }

    /// Posts bytes of a content type, with a content coding unless it is empty.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer.
    #[must_use]
    pub fn post_bytes(&self, path: &str, body: Vec<u8>, kind: &str, coding: &str) -> Answer {
        let fields =
            [("x-api-key", &*self.key), ("content-type", kind), ("content-encoding", coding)];
        self.try_send_bytes("POST", path, body, fields).expect("an answer")
    }

    /// Gets a path with the key.
    #[must_use]
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", [("x-api-key", self.key.as_str())])
    }

    /// Sends any request. Fields with an empty value are omitted.
    ///
    /// # Panics
    ///
    /// Panics if the server does not answer.
    #[must_use]
    pub fn send<'a>(
        &self,
        method: &str,
        path: &str,
        body: &str,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Answer {
        self.try_send(method, path, body, headers).expect("an answer")
    }

    /// Sends any request, and returns an error if there is no answer.
    ///
    /// # Errors
    ///
    /// Returns the error of the connection.
    pub fn try_send<'a>(
        &self,
        method: &str,
        path: &str,
        body: &str,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Answer, ureq::Error> {
        self.try_send_bytes(method, path, body.as_bytes().to_vec(), headers)
    }

    fn try_send_bytes<'a>(
        &self,
        method: &str,
        path: &str,
        body: Vec<u8>,
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Answer, ureq::Error> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        for (name, value) in headers.into_iter().filter(|(_, value)| !value.is_empty()) {
            request = request.header(name, value);
        }
        let mut response = if body.is_empty() {
            self.agent.run(request.body(())?)?
        } else {
            self.agent.run(request.body(body)?)?
        };
        let headers = response.headers().iter().map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let headers = headers.collect();
        let status = response.status().as_u16();
        Ok(Answer { status, headers, text: response.body_mut().read_to_string()? })
    }
}
