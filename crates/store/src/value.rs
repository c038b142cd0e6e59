//! Stored values as the engine's types.

pub(crate) use assay_database::value::*;
use assay_engine::{evidence::Tier, facts::Environment};

use crate::StoreError;

pub(crate) fn environment(text: &str) -> Result<Environment, StoreError> {
    match text {
        "production" => Ok(Environment::Production),
        "sample" => Ok(Environment::Sample),
        other => Err(StoreError::unreadable("installation.environment", other)),
    }
}

pub(crate) fn tier(text: &str) -> Result<Tier, StoreError> {
    Tier::ALL
        .into_iter()
        .find(|tier| tier.as_str() == text)
        .ok_or_else(|| StoreError::unreadable("labels.tier", text))
}
