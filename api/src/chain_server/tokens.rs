//! Authentication at a chain server: a client sends a token of the server's token file.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use assay_chain_protocol::{
    client::credentials::{InvalidCredentials, read_tokens},
    message::{RefusalCode, RefusedQuestion},
};
use axum::{
    extract::{Request, State},
    http::header::AUTHORIZATION,
    middleware::Next,
    response::Response,
};
use sha2::{Digest, Sha256};

use super::{ChainApp, questions};
use crate::connection::table::ConnectionMark;

/// Interval after which the file is read again.
const READ_AGAIN: Duration = Duration::from_secs(2);

/// Tokens that clients may send, from a token file that may change.
#[derive(Debug)]
pub struct Tokens {
    path: PathBuf,
    current: Mutex<TokenDigests>,
}

/// Digests of the valid tokens. Comparing digests discloses nothing about a token by its duration.
#[derive(Debug)]
struct TokenDigests {
    digests: Vec<[u8; 32]>,
    read_at: Instant,
}

impl TokenDigests {
    fn read(path: &Path) -> Result<Self, InvalidCredentials> {
        let digests = read_tokens(path)?.iter().map(|token| digest(token)).collect();
        Ok(Self { digests, read_at: Instant::now() })
    }
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

impl Tokens {
    /// Reads the tokens.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, has no token, or has a token that is too short.
    pub fn read(path: &Path) -> Result<Self, InvalidCredentials> {
        Ok(Self { path: path.to_owned(), current: Mutex::new(TokenDigests::read(path)?) })
    }

    /// True if a token is in the file. While the file cannot be read, or has a token that is too short, the tokens of
    /// the last valid read apply.
    fn contains(&self, token: &str) -> bool {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.read_at.elapsed() >= READ_AGAIN {
            match TokenDigests::read(&self.path) {
                Ok(read) => *current = read,
                Err(error) => {
                    tracing::error!(%error, "failed to read the tokens again: those read before are valid");
                    current.read_at = Instant::now();
                }
            }
        }
        let wanted = digest(token);
        current.digests.contains(&wanted)
    }
}

/// Refuses requests without a valid token.
pub(super) async fn expect_token(
    State(app): State<Arc<ChainApp>>,
    request: Request,
    next: Next,
) -> Response {
    let is_allowed = app.tokens.as_ref().is_none_or(|tokens| {
        let shown = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|value| value.strip_prefix("Bearer "));
        shown.is_some_and(|token| tokens.contains(token))
    });
    if !is_allowed {
        let detail = "the token is missing or not valid: see --chain-token-file".to_owned();
        return questions::refusal(RefusedQuestion { code: RefusalCode::Unauthorized, detail });
    }
    if let Some(connection) = request.extensions().get::<ConnectionMark>() {
        connection.record_key();
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ONE: &str = "the first token, for tests alone";
    const TWO: &str = "the second token, for tests alone";

    #[test]
    fn every_line_of_the_file_is_a_token() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), format!("{ONE}\n{TWO}\n")).unwrap();
        let tokens = Tokens::read(file.path()).unwrap();
        assert!(tokens.contains(ONE) && tokens.contains(TWO));
        assert!(!tokens.contains("three") && !tokens.contains(""));
    }

    #[test]
    fn a_short_token_is_refused_at_the_start_and_changes_nothing_later() {
        // Given tokens that were read, and a file that then gets a short one,
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), ONE).unwrap();
        let tokens = Tokens::read(file.path()).unwrap();
        fs::write(file.path(), format!("{TWO}\nabc\n")).unwrap();
        let past = Instant::now().checked_sub(READ_AGAIN).unwrap();
        // when they are read again, then the previous tokens are valid,
        tokens.current.lock().unwrap().read_at = past;
        assert!(tokens.contains(ONE) && !tokens.contains(TWO) && !tokens.contains("abc"));
        // and a server does not start with such a file.
        assert!(Tokens::read(file.path()).is_err());
        // Once the line is corrected, the tokens of the file are valid.
        fs::write(file.path(), TWO).unwrap();
        tokens.current.lock().unwrap().read_at = past;
        assert!(tokens.contains(TWO) && !tokens.contains(ONE));
    }
}
