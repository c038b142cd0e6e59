//! The version of a graph's tables.

use assay_database::DatabaseError;
use assay_engine::chain::ChainId;

use crate::GraphError;

/// The version of the newest migration.
pub(super) const SCHEMA_VERSION: i64 = 2;

/// True if a graph of this schema version can be read; `has_blocks` is `None` for one that is being created.
///
/// # Errors
///
/// Returns an error for a graph of a newer program, and [`GraphError::Outdated`] for one whose blocks were
/// recorded by an earlier version.
pub(super) fn is_readable(
    chain: ChainId,
    version: Option<i64>,
    has_blocks: Option<bool>,
) -> Result<bool, GraphError> {
    match (version, has_blocks) {
        (Some(version), _) if version > SCHEMA_VERSION => {
            Err(DatabaseError::NewerSchema(version).into())
        }
        (Some(SCHEMA_VERSION), has_blocks) => Ok(has_blocks.is_some()),
        (_, Some(true)) => Err(GraphError::Outdated(chain)),
        _ => Ok(false),
    }
}
