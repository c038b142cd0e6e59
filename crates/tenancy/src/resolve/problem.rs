//! Problems of manifests.

use std::fmt;

use crate::{Name, manifest::Kind};

/// Cause of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The value of the field is not allowed, regardless of other manifests.
    InvalidValue,
    /// The field names a plan that does not exist.
    PlanNotFound,
    /// The field names a risk policy that does not exist.
    PolicyNotFound,
    /// The field names a tenant that does not exist.
    TenantNotFound,
    /// The field names a limit that the plan does not have.
    LimitNotFound,
    /// The number is above the ceiling that the plan sets.
    AboveCeiling,
    /// One limit can never be reached because of another limit, or two limits are nearly the same.
    LimitsContradict,
}

/// A problem of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// Cause of the problem.
    pub cause: Cause,
    /// The field, such as `spec.limits[0].requests`.
    pub path: String,
    /// Description of the problem and of the allowed values.
    pub message: String,
}

impl FieldProblem {
    /// A field whose value is not allowed.
    #[must_use]
    pub fn invalid(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { cause: Cause::InvalidValue, path: path.into(), message: message.into() }
    }
}

/// A problem of one manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestProblem {
    /// The file, object or record that the manifest comes from.
    pub origin: String,
    /// The manifest's kind and name, if they could be read.
    pub manifest: Option<(Kind, Name)>,
    /// The field.
    pub field: FieldProblem,
}

impl ManifestProblem {
    /// Returns the problem with another cause.
    pub(crate) const fn with_cause(mut self, cause: Cause) -> Self {
        self.field.cause = cause;
        self
    }
}

impl fmt::Display for ManifestProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, manifest, field } = self;
        match manifest {
            Some((kind, name)) => write!(formatter, "{origin}: {} {name}: ", kind.as_str())?,
            None => write!(formatter, "{origin}: ")?,
        }
        write!(formatter, "{}: {}", field.path, field.message)
    }
}
