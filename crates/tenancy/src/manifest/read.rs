//! From a document to a typed manifest.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{FieldProblem, Name, Problem};

/// The API version of every kind.
pub const API_VERSION: &str = "assay.dev/v1alpha1";

/// One YAML document, or one stored manifest, before anybody looked at it.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Where it comes from, such as `tenants.yaml, document 2`: how a problem names it.
    pub origin: String,
    /// The content.
    pub content: Value,
}

/// What a manifest describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A [`PlanSpec`](super::PlanSpec).
    Plan,
    /// An [`IntelSourceSpec`](super::IntelSourceSpec).
    IntelSource,
    /// A [`ChainSourceSpec`](super::ChainSourceSpec).
    ChainSource,
    /// A risk policy, whose content the engine knows.
    RiskPolicy,
    /// A [`TenantSpec`](super::TenantSpec).
    Tenant,
    /// A [`RateLimitSpec`](super::RateLimitSpec).
    RateLimit,
    /// A [`FormerTenantSpec`](super::FormerTenantSpec), which the operator writes and nobody else.
    FormerTenant,
}

impl Kind {
    /// Every kind, in the order in which they build on each other.
    pub const ALL: [Self; 7] = [
        Self::Plan,
        Self::IntelSource,
        Self::ChainSource,
        Self::RiskPolicy,
        Self::Tenant,
        Self::RateLimit,
        Self::FormerTenant,
    ];

    /// The kind's name in manifests.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "Plan",
            Self::IntelSource => "IntelSource",
            Self::ChainSource => "ChainSource",
            Self::RiskPolicy => "RiskPolicy",
            Self::Tenant => "Tenant",
            Self::RateLimit => "RateLimit",
            Self::FormerTenant => "FormerTenant",
        }
    }
}

/// A manifest whose kind and name are known and whose content was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest<T> {
    /// Where it comes from.
    pub origin: String,
    /// What it describes.
    pub kind: Kind,
    /// Its name.
    pub name: Name,
    /// What it says.
    pub spec: T,
}

impl<T> Manifest<T> {
    /// A problem with this manifest.
    pub(crate) fn problem(&self, path: &str, message: impl Into<String>) -> Problem {
        Problem {
            origin: self.origin.clone(),
            manifest: Some(format!("{} {}", self.kind.as_str(), self.name)),
            field: FieldProblem::invalid(path, message),
        }
    }

    fn with<U>(&self, spec: U) -> Manifest<U> {
        Manifest { origin: self.origin.clone(), kind: self.kind, name: self.name.clone(), spec }
    }

    /// The frame, and what is in it.
    pub(crate) fn split(self) -> (Manifest<()>, T) {
        (self.with(()), self.spec)
    }
}

impl Manifest<Value> {
    /// Reads the frame of a document: version, kind and name.
    pub(crate) fn read(document: &Document) -> Result<Self, Problem> {
        let problem = |path: &str, message: String| Problem {
            origin: document.origin.clone(),
            manifest: None,
            field: FieldProblem::invalid(path, message),
        };
        let frame: Frame = serde_path_to_error::deserialize(&document.content)
            .map_err(|error| problem(&error.path().to_string(), error.inner().to_string()))?;
        if frame.api_version != API_VERSION {
            return Err(problem(
                "apiVersion",
                format!("`{}` is unknown; expected `{API_VERSION}`", frame.api_version),
            ));
        }
        let kind =
            Kind::ALL.into_iter().find(|kind| kind.as_str() == frame.kind).ok_or_else(|| {
                let for_people = Kind::ALL.iter().filter(|kind| **kind != Kind::FormerTenant);
                let known: Vec<_> = for_people.map(|kind| kind.as_str()).collect();
                problem(
                    "kind",
                    format!("`{}` is unknown; expected one of {}", frame.kind, known.join(", ")),
                )
            })?;
        let name = frame
            .metadata
            .name
            .parse()
            .map_err(|error: crate::InvalidName| problem("metadata.name", error.to_string()))?;
        Ok(Self { origin: document.origin.clone(), kind, name, spec: frame.spec })
    }

    /// Reads the content.
    pub(crate) fn typed<T: DeserializeOwned>(&self) -> Result<Manifest<T>, Problem> {
        match serde_path_to_error::deserialize(&self.spec) {
            Ok(spec) => Ok(self.with(spec)),
            Err(error) => {
                let path = match error.path().to_string() {
                    path if path == "." => "spec".to_owned(),
                    path => format!("spec.{path}"),
                };
                Err(self.problem(&path, error.inner().to_string()))
            }
        }
    }
}

/// The frame of every manifest, as Kubernetes writes it. `status` is what a cluster adds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Frame {
    api_version: String,
    kind: String,
    metadata: Metadata,
    spec: Value,
    #[serde(default, rename = "status")]
    _status: Option<Value>,
}

/// Only the name counts; labels, annotations and what a cluster adds are let through.
#[derive(Deserialize)]
struct Metadata {
    name: String,
}
