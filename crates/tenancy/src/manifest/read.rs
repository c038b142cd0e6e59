//! Parsing of documents into typed manifests.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    ChainSourceSpec, FormerTenantSpec, IntelSourceSpec, Kind, PlanSpec, RateLimitSpec, TenantSpec,
};
use crate::{CompactJson, FieldProblem, ManifestProblem, Name};

/// The API version of every kind.
pub const API_VERSION: &str = "assay.dev/v1alpha1";

/// One YAML document that was not parsed as a manifest yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The file or object that the document comes from, such as `tenants.yaml, document 2`. Problems of the document
    /// name the origin.
    pub origin: String,
    /// The content.
    pub content: Value,
}

/// The spec of a manifest. `R` is the spec of a risk policy, which the engine defines.
#[derive(Clone, Debug, PartialEq)]
pub enum ManifestSpec<R> {
    /// A plan.
    Plan(PlanSpec),
    /// A list, label set or file of prices that is fetched on a schedule.
    IntelSource(Box<IntelSourceSpec>),
    /// The node, the indexer or the files of a chain.
    ChainSource(Box<ChainSourceSpec>),
    /// A risk policy.
    RiskPolicy(R),
    /// A tenant.
    Tenant(TenantSpec),
    /// New numbers for limits.
    RateLimit(RateLimitSpec),
    /// A deleted tenant.
    FormerTenant(FormerTenantSpec),
}

impl<R: DeserializeOwned> ManifestSpec<R> {
    /// Parses the spec of a manifest of a kind.
    fn parse(kind: Kind, spec: &Value) -> Result<Self, Vec<FieldProblem>> {
        let parsed = match kind {
            Kind::Plan => parse_spec_as(spec).map(Self::Plan),
            Kind::IntelSource => parse_spec_as(spec).map(Self::IntelSource),
            Kind::ChainSource => parse_spec_as(spec).map(Self::ChainSource),
            Kind::RiskPolicy => parse_spec_as(spec).map(Self::RiskPolicy),
            Kind::Tenant => parse_spec_as(spec).map(Self::Tenant),
            Kind::RateLimit => parse_spec_as(spec).map(Self::RateLimit),
            Kind::FormerTenant => parse_spec_as(spec).map(Self::FormerTenant),
        };
        parsed.map_err(|problem| vec![problem])
    }
}

fn parse_spec_as<T: DeserializeOwned>(spec: &Value) -> Result<T, FieldProblem> {
    serde_path_to_error::deserialize(spec).map_err(|error| {
        let path = match error.path().to_string() {
            path if path == "." => "spec".to_owned(),
            path => format!("spec.{path}"),
        };
        FieldProblem::invalid(path, error.inner().to_string())
    })
}

/// A manifest that was parsed once: its kind and name are valid.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedManifest<R> {
    /// The file, object or record that the manifest comes from. Problems of the manifest name the origin.
    pub origin: String,
    /// Kind of the manifest.
    pub kind: Kind,
    /// Name of the manifest.
    pub name: Name,
    /// The spec of the manifest, or its problems.
    pub spec: Result<ManifestSpec<R>, Vec<FieldProblem>>,
    /// The spec as it was written, without defaults. The store keeps the spec in this form.
    pub source: CompactJson,
}

impl<R> ParsedManifest<R> {
    /// Kind and name of the manifest.
    #[must_use]
    pub fn key(&self) -> (Kind, Name) {
        (self.kind, self.name.clone())
    }

    /// A problem of this manifest.
    #[must_use]
    pub fn problem(&self, field: FieldProblem) -> ManifestProblem {
        ManifestProblem { origin: self.origin.clone(), manifest: Some(self.key()), field }
    }
}

impl<R: DeserializeOwned> ParsedManifest<R> {
    /// Parses the spec of a manifest of a kind and name.
    #[must_use]
    pub fn parse_spec(origin: String, kind: Kind, name: Name, spec: &Value) -> Self {
        let source = CompactJson::from(spec);
        Self { origin, kind, name, spec: ManifestSpec::parse(kind, spec), source }
    }

    /// Parses a document.
    ///
    /// # Errors
    ///
    /// Returns the problem of the document's version, kind or name. Problems of the spec are in the manifest.
    pub fn parse(document: &Document) -> Result<Self, ManifestProblem> {
        let problem = |path: &str, message: String| ManifestProblem {
            origin: document.origin.clone(),
            manifest: None,
            field: FieldProblem::invalid(path, message),
        };
        let frame: Envelope = serde_path_to_error::deserialize(&document.content)
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
        let name = frame.metadata.name.parse().map_err(|error: crate::InvalidManifestName| {
            problem("metadata.name", error.to_string())
        })?;
        Ok(Self::parse_spec(document.origin.clone(), kind, name, &frame.spec))
    }
}

/// The envelope of every manifest, as in Kubernetes. A cluster adds `status`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Envelope {
    api_version: String,
    kind: String,
    metadata: Metadata,
    spec: Value,
    #[serde(default, rename = "status")]
    _status: Option<Value>,
}

/// Metadata of a manifest. Only the name is used; labels, annotations and other fields are ignored.
#[derive(Deserialize)]
struct Metadata {
    name: String,
}
