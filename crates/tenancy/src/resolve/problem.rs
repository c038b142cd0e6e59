//! What can be wrong with manifests.

use std::fmt;

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// The field, such as `spec.limits[0].requests`.
    pub path: String,
    /// What is wrong and what would be right.
    pub message: String,
}

/// What is wrong with one manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where the manifest comes from.
    pub origin: String,
    /// Its kind and name, where they could be read.
    pub manifest: Option<String>,
    /// What is wrong.
    pub field: FieldProblem,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, manifest, field } = self;
        match manifest {
            Some(manifest) => write!(formatter, "{origin}: {manifest}: ")?,
            None => write!(formatter, "{origin}: ")?,
        }
        write!(formatter, "{}: {}", field.path, field.message)
    }
}
