//! The note of a follower about a problem with its source, a small file beside the graph that other programs of the data
//! directory read.

use std::{fs, io, path::PathBuf};

use assay_address::ChainId;
use jiff::Timestamp;

use super::{EmbeddedGraphs, file_error};
use crate::GraphError;

/// Kinds of problems with the source of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceProblemKind {
    /// The source does not answer.
    Unreachable,
    /// The source refuses the credentials, or they must not be sent to it.
    CredentialsRefused,
    /// The source serves another chain, or a test network.
    OtherNetwork,
    /// The source has fewer blocks than the graph.
    Behind,
    /// The source lacks the next blocks, which it had once.
    Pruned,
    /// The source is on a branch that is not followed until it is accepted.
    BranchRefused,
    /// Statements of the source are invalid, or another failure.
    Failed,
}

impl SourceProblemKind {
    const ALL: [Self; 7] = [
        Self::Unreachable,
        Self::CredentialsRefused,
        Self::OtherNetwork,
        Self::Behind,
        Self::Pruned,
        Self::BranchRefused,
        Self::Failed,
    ];

    /// The kind as a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::CredentialsRefused => "credentials_refused",
            Self::OtherNetwork => "other_network",
            Self::Behind => "behind",
            Self::Pruned => "pruned",
            Self::BranchRefused => "branch_refused",
            Self::Failed => "failed",
        }
    }
}

/// A problem with the source of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceProblem {
    /// Time at which it was found.
    pub at: Timestamp,
    /// Its kind.
    pub kind: SourceProblemKind,
    /// Description of the problem.
    pub text: String,
}

impl EmbeddedGraphs {
    /// Notes a problem with the source of a chain, which other programs of the data directory then tell; `None`: it is over.
    ///
    /// # Errors
    ///
    /// Returns an error if the note cannot be written or removed.
    pub fn note_source_problem(
        &self,
        chain: ChainId,
        problem: Option<&SourceProblem>,
    ) -> Result<(), GraphError> {
        let path = self.source_problem_path(chain);
        let noted = match problem {
            Some(SourceProblem { at, kind, text }) => fs::create_dir_all(&self.folder)
                .and_then(|()| fs::write(&path, format!("{at}\n{}\n{text}\n", kind.as_str()))),
            None => match fs::remove_file(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
        };
        noted.map_err(|error| file_error(&path, error))
    }

    /// The problem with the source of a chain; `None` while there is none.
    #[must_use]
    pub fn source_problem(&self, chain: ChainId) -> Option<SourceProblem> {
        let noted = fs::read_to_string(self.source_problem_path(chain)).ok()?;
        let (at, rest) = noted.split_once('\n')?;
        let (word, text) = rest.split_once('\n')?;
        let kind = SourceProblemKind::ALL.into_iter().find(|kind| kind.as_str() == word)?;
        Some(SourceProblem { at: at.parse().ok()?, kind, text: text.trim().to_owned() })
    }

    fn source_problem_path(&self, chain: ChainId) -> PathBuf {
        self.folder.join(format!("{chain}.problem"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_of_each_kind_is_told_until_it_is_over() {
        let folder = tempfile::tempdir().unwrap();
        let graphs = EmbeddedGraphs::new(folder.path());
        for kind in SourceProblemKind::ALL {
            let text = "the first line\nand another one".to_owned();
            let problem = SourceProblem { at: Timestamp::UNIX_EPOCH, kind, text };
            graphs.note_source_problem(ChainId::ETH, Some(&problem)).unwrap();
            assert_eq!(graphs.source_problem(ChainId::ETH), Some(problem));
            assert_eq!(graphs.source_problem(ChainId::BTC), None);
        }
        for _ in 0..2 {
            graphs.note_source_problem(ChainId::ETH, None).unwrap();
            assert_eq!(graphs.source_problem(ChainId::ETH), None);
        }
    }
}
