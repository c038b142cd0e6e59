//! Which source of blocks a location stands for.

use std::path::{Path, PathBuf};

use assay_engine::chain::ChainId;
use assay_ingest::chain::{BlockSource, SourceError, jsonl::JsonLines};

/// Where blocks come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockLocation {
    /// A file in the JSON-lines format.
    JsonLines(PathBuf),
    /// Block files, raw blocks, or folders with them.
    Files(Vec<PathBuf>),
    /// A node's JSON-RPC.
    Node {
        /// Where.
        url: String,
        /// How it lets us in.
        credentials: Credentials,
    },
    /// An Esplora server.
    Esplora(String),
}

/// How a node lets us in.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// Without.
    None,
    /// By a file with `user:password` or the node's cookie, read again for every connection.
    File(PathBuf),
    /// By `user:password`.
    Given(String),
}

/// Never shows a password.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::None => "None",
            Self::File(_) => "File",
            Self::Given(_) => "Given",
        })
    }
}

/// Opens a source of blocks. It may read or connect at once.
///
/// # Errors
///
/// Where it cannot be read.
pub fn open(chain: ChainId, location: &BlockLocation) -> Result<Box<dyn BlockSource>, SourceError> {
    Ok(match location {
        BlockLocation::JsonLines(path) => Box::new(JsonLines::open(chain, Path::new(path))?),
        _ => return Err(SourceError::Unsupported { chain, how: "yet", instead: "soon" }),
    })
}
