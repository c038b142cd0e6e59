//! The HTTP API of a node: questions as JSON, and answers that may be errors although their status is 200.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    SourceError,
    http::{AttemptError, Request, Response, Server},
};

/// Words by which a node refuses a request because it gets too many.
const TOO_MANY: &str = "lack of computing resources";

/// A client of a node.
#[derive(Clone, Debug)]
pub(super) struct Api {
    server: Server,
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(rename = "Error")]
    error: Option<String>,
}

impl Api {
    pub(super) const fn new(server: Server) -> Self {
        Self { server }
    }

    /// The node's URL for messages.
    pub(super) fn url(&self) -> &str {
        self.server.url()
    }

    /// Asks a question, by its path and parameters. `most` bounds the bytes of the answer. `None` if the node does not have what is
    /// asked for.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no answer, or if the node refuses.
    pub(super) fn ask<T: DeserializeOwned>(
        &self,
        path: &'static str,
        parameters: &Value,
        most: u64,
    ) -> Result<Option<T>, SourceError> {
        let body = parameters.to_string();
        let request = Request { path, body: Some(body.as_bytes()), most };
        self.server.ask(request, |answer| self.read(path, answer))
    }

    fn read<T: DeserializeOwned>(
        &self,
        path: &str,
        answer: &Response,
    ) -> Result<Option<T>, AttemptError> {
        let passing =
            |reason: String| AttemptError::Transient { reason, after: answer.retry_after };
        let body = answer.body.trim_ascii();
        if answer.status >= 500 {
            return Err(passing(format!("it fails ({})", answer.status)));
        }
        match body.first() {
            None => return Err(passing("it answers with nothing".to_owned())),
            Some(b'{' | b'[') => {}
            // Pages of proxies, and the sentence of a node that keeps no old blocks.
            Some(_) => return Err(self.refused(path, answer, &String::from_utf8_lossy(body))),
        }
        if body == b"{}" {
            return Ok(None);
        }
        let broken = |error: &serde_json::Error| passing(format!("its JSON is broken: {error}"));
        if body.starts_with(b"{") {
            let Refusal { error } = serde_json::from_slice(body).map_err(|error| broken(&error))?;
            match error {
                Some(said) if said.contains(TOO_MANY) => {
                    return Err(passing("it is asked too often".to_owned()));
                }
                Some(said) => return Err(self.refused(path, answer, &said)),
                None => {}
            }
        }
        match serde_json::from_slice(body) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.is_eof() || error.is_syntax() => Err(broken(&error)),
            Err(error) => Err(AttemptError::Permanent(SourceError::Unreadable {
                url: self.url().to_owned(),
                what: path.to_owned(),
                reason: self.server.quoted(&error.to_string()),
            })),
        }
    }

    fn refused(&self, path: &str, answer: &Response, said: &str) -> AttemptError {
        AttemptError::Permanent(SourceError::Refused {
            url: self.url().to_owned(),
            what: path.to_owned(),
            code: answer.status.into(),
            message: self.server.quoted(said),
        })
    }
}
