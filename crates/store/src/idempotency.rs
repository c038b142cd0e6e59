//! Idempotency keys: which request has a key, and the answer that a repetition of it gets.

use assay_tenancy::Name;
use async_trait::async_trait;
use jiff::Timestamp;

use crate::StoreError;

/// The store of idempotency keys.
///
/// A key belongs to the request that claimed it until the claim expires, it is freed, or its answer has been kept for
/// long enough. All changes are made by the database, so that the servers of an installation agree.
#[async_trait]
pub trait IdempotencyStore: std::fmt::Debug + Send + Sync {
    /// Claims a key for a request at `now`, unless another request has it.
    async fn claim_key(
        &self,
        request: &KeyedRequest,
        claim: &KeyClaim,
        now: Timestamp,
    ) -> Result<KeyState, StoreError>;

    /// Keeps the answer of the request that claimed a key, until a time. False if its claim expired and another request
    /// has the key: then nothing is kept.
    async fn keep_answer(
        &self,
        request: &KeyedRequest,
        holder: &str,
        answer: &str,
        until: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Frees a key whose request got no answer that is kept.
    async fn free_key(&self, request: &KeyedRequest, holder: &str) -> Result<(), StoreError>;

    /// Deletes the keys of a tenant whose time is over. Returns how many.
    async fn purge_keys(&self, tenant: &Name, now: Timestamp) -> Result<u64, StoreError>;
}

/// A request with an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedRequest {
    /// The tenant, which has keys of its own.
    pub tenant: Name,
    /// Identifier of the operation, which has keys of its own.
    pub operation: &'static str,
    /// The key, without quotes.
    pub key: String,
    /// Digest of the body: another body with the same key is another request.
    pub body_digest: String,
}

/// Claim of a request to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyClaim {
    /// Random text that names the request that claims the key.
    pub holder: String,
    /// Time at which the claim expires.
    pub until: Timestamp,
}

/// State of a key after the attempt to claim it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// The request has the key now.
    Claimed,
    /// An equal request has the key and has no answer yet.
    InUse,
    /// An equal request has this answer.
    Answered(String),
    /// A request with another body has the key.
    OtherBody,
}
