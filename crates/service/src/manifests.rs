//! Manifests: from YAML to a resolved directory, and the manifests that come with Assay.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    slice,
    sync::Arc,
};

pub use assay_egress::AllowedSourcePaths;
use assay_engine::policy::Policy;
pub use assay_manifests::resolve;
use assay_manifests::{Manifest, Manifests, resolve_manifests, resolve_onto};
use assay_store::{
    ControlStore, Store, StoreError,
    control::{ManifestRecord, ManifestSet},
};
use assay_tenancy::{
    Directory, FieldProblem, ManifestProblem, Name,
    manifest::{API_VERSION, Document, FormerTenantSpec, Kind, ManifestSpec, RetentionSpec},
    unusable_fields,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Largest file of manifests.
const LARGEST_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Kind of the record that the store keeps of a deleted Tenant.
const FORMER_TENANT: &str = Kind::FormerTenant.as_str();

/// The plans, the policy and the feeds that every new installation starts with.
const READY: &[(&str, &str)] = &[
    ("plans.yaml", include_str!("../manifests/plans.yaml")),
    ("policy.yaml", include_str!("../manifests/policy.yaml")),
    ("feeds.yaml", include_str!("../manifests/feeds.yaml")),
];

/// Error of reading manifests.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file or folder cannot be read.
    #[error("failed to read {path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// A file is not YAML.
    #[error("{origin} is not valid YAML: {detail}")]
    Yaml {
        /// The file.
        origin: String,
        /// Description of the problem and of its position.
        detail: String,
    },
    /// A file has a manifest of a kind that only the operator writes.
    #[error(
        "{origin} has kind {FORMER_TENANT}, which the operator writes when a Tenant is deleted: apply a \
         Tenant instead"
    )]
    Reserved {
        /// The file.
        origin: String,
    },
    /// A folder holds no manifests.
    #[error("{0} holds no .yaml, .yml or .json file")]
    NothingThere(PathBuf),
}

/// Parses the documents of one text; problems name the text by `origin`.
///
/// # Errors
///
/// Returns an error if the text is not YAML or contains a kind or field that only Assay writes.
pub fn parse(origin: &str, text: &str) -> Result<Vec<Document>, ReadError> {
    let contents: Vec<Value> = serde_saphyr::from_multiple(text)
        .map_err(|error| ReadError::Yaml { origin: origin.into(), detail: error.to_string() })?;
    let several = contents.len() > 1;
    let documents = contents.into_iter().zip(1..).filter(|(content, _)| !content.is_null());
    documents
        .map(|(content, number)| {
            let origin =
                if several { format!("{origin}, document {number}") } else { origin.to_owned() };
            if content.get("kind").and_then(Value::as_str) == Some(FORMER_TENANT) {
                return Err(ReadError::Reserved { origin });
            }
            Ok(Document { origin, content })
        })
        .collect()
}

fn check_size(bytes: u64) -> io::Result<()> {
    if bytes > LARGEST_FILE_BYTES {
        let message = format!("larger than {LARGEST_FILE_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(())
}

/// Reads the documents of a file, of all manifest files below a folder in the order of their names, or of standard
/// input (`-`).
///
/// # Errors
///
/// Returns an error if a file cannot be read or is not YAML.
pub fn read(path: &Path) -> Result<Vec<Document>, ReadError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| ReadError::Io { path, source }
    };
    if path == Path::new("-") {
        let mut text = String::new();
        let read = io::stdin().take(LARGEST_FILE_BYTES + 1).read_to_string(&mut text);
        let read = read.and_then(|_| check_size(text.len() as u64));
        read.map_err(failed(Path::new("standard input")))?;
        return parse("standard input", &text);
    }
    if path.is_dir() {
        let mut files = Vec::new();
        collect_files(path, &mut files).map_err(failed(path))?;
        if files.is_empty() {
            return Err(ReadError::NothingThere(path.to_owned()));
        }
        files.sort();
        let mut documents = Vec::new();
        for file in files {
            documents.extend(read(&file)?);
        }
        return Ok(documents);
    }
    let text = fs::metadata(path).and_then(|metadata| {
        check_size(metadata.len())?;
        fs::read_to_string(path)
    });
    parse(&path.display().to_string(), &text.map_err(failed(path))?)
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            collect_files(&path, files)?;
        } else if matches!(extension, Some("yaml" | "yml" | "json")) {
            files.push(path);
        }
    }
    Ok(())
}

/// Result of applying one manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyOutcome {
    /// The manifest is new.
    Created,
    /// The manifest has changed.
    Configured,
    /// The manifest has not changed.
    Unchanged,
}

impl ApplyOutcome {
    /// Returns the word that `kubectl` prints.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
        }
    }
}

/// Error of applying manifests, of which none was stored.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The manifests have problems.
    #[error("{} problem(s)", .0.len())]
    Problems(Vec<ManifestProblem>),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Adds `documents` to the stored manifests if all of them together resolve and refer only to permitted files.
///
/// # Errors
///
/// Returns an error if a manifest is invalid or the store fails.
pub async fn apply(
    store: &dyn ControlStore,
    documents: Vec<Document>,
    files: &AllowedSourcePaths,
    now: Timestamp,
) -> Result<Vec<(ManifestRecord, ApplyOutcome)>, ApplyError> {
    let unusable = unusable(&documents, files);
    loop {
        let ManifestSet { revision, manifests } = store.manifests().await?;
        let stored = parse_stored(manifests);
        let applied = match overlay(&stored, &documents) {
            Ok(applied) if unusable.is_empty() => applied,
            Ok(_) => return Err(ApplyError::Problems(unusable)),
            Err(problems) => {
                return Err(ApplyError::Problems([problems, unusable].concat()));
            }
        };
        let records: Vec<(ManifestRecord, ApplyOutcome)> = applied
            .into_iter()
            .map(|(key, manifest)| {
                let outcome = match stored.get(&key) {
                    None => ApplyOutcome::Created,
                    Some(before) if before.source == manifest.source => ApplyOutcome::Unchanged,
                    Some(_) => ApplyOutcome::Configured,
                };
                let ((kind, name), spec) = (key, manifest.source.value());
                (ManifestRecord { kind, name, spec }, outcome)
            })
            .collect();
        let changed: Vec<ManifestRecord> = records
            .iter()
            .filter(|(_, outcome)| *outcome != ApplyOutcome::Unchanged)
            .map(|(record, _)| record.clone())
            .collect();
        if changed.is_empty() {
            return Ok(records);
        }
        // A tenant that comes back is no former one.
        let tenants = changed.iter().filter(|record| record.kind == Kind::Tenant);
        let former = tenants.map(|record| (Kind::FormerTenant, record.name.clone()));
        let former: Vec<_> = former.filter(|key| stored.contains_key(key)).collect();
        match store.put_manifests(&changed, &former, revision, now).await {
            Ok(()) => return Ok(records),
            // Another program changed the manifests: read them again.
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns the problems of sources that no program could read: credentials in a file that a manifest must not name, and
/// fields that have the right form alone.
fn unusable(documents: &[Document], files: &AllowedSourcePaths) -> Vec<ManifestProblem> {
    let problems = |document: &Document| {
        let manifest = Manifest::parse(document).ok()?;
        let spec = manifest.spec.ok()?;
        let credentials = match &spec {
            ManifestSpec::IntelSource(spec) => spec.credentials_file.as_deref(),
            ManifestSpec::ChainSource(spec) => spec.credentials_file.as_deref(),
            _ => None,
        };
        let outside = credentials.and_then(|path| files.credentials_path(path).err());
        let outside =
            outside.map(|error| FieldProblem::invalid("spec.credentialsFile", error.to_string()));
        let (origin, kind, name) = (document.origin.clone(), manifest.kind, manifest.name);
        let problem = move |field| ManifestProblem {
            origin: origin.clone(),
            manifest: Some((kind, name.clone())),
            field,
        };
        Some(unusable_fields(&spec).into_iter().chain(outside).map(problem).collect::<Vec<_>>())
    };
    documents.iter().filter_map(problems).flatten().collect()
}

/// Resolves the stored manifests to a directory.
///
/// # Errors
///
/// Returns all problems of the manifests.
pub fn resolve_stored(
    records: Vec<ManifestRecord>,
) -> Result<Directory<Policy>, Vec<ManifestProblem>> {
    resolve_manifests(&parse_stored(records))
}

fn parse_stored(records: Vec<ManifestRecord>) -> Manifests {
    let parse = |record: ManifestRecord| {
        let manifest = record.parse();
        (manifest.key(), Arc::new(manifest))
    };
    records.into_iter().map(parse).collect()
}

/// Returns the manifests of the added documents if they and the stored manifests are valid together.
fn overlay(stored: &Manifests, added: &[Document]) -> Result<Manifests, Vec<ManifestProblem>> {
    let mut manifests = resolve_onto(stored, added)?.manifests;
    manifests.retain(|_, manifest| added.iter().any(|document| document.origin == manifest.origin));
    Ok(manifests)
}

/// A stored manifest with what refers to it.
#[derive(Clone, Debug)]
pub struct StoredManifest {
    /// The manifest.
    pub record: ManifestRecord,
    /// Manifests that could not exist without it, as `Kind name`.
    pub used_by: Vec<String>,
    /// Its problems. An operator stores valid manifests beside invalid ones.
    pub problems: Vec<String>,
}

impl StoredManifest {
    /// The manifest as a document that [`apply`] takes.
    #[must_use]
    pub fn document(&self) -> Value {
        let ManifestRecord { kind, name, spec } = &self.record;
        json!({
            "apiVersion": API_VERSION, "kind": kind.as_str(), "metadata": { "name": name }, "spec": spec,
        })
    }
}

/// Returns the stored manifests, by kind and name.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn stored(store: &dyn ControlStore) -> Result<Vec<StoredManifest>, StoreError> {
    let mut records = store.manifests().await?.manifests;
    records.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
    let all = parse_stored(records.clone());
    let present = problems_of(&all);
    let described = records.into_iter().map(|record| {
        let key = (record.kind, record.name.clone());
        let is_own = |problem: &&ManifestProblem| problem.manifest.as_ref() == Some(&key);
        let problems = present
            .iter()
            .filter(is_own)
            .map(|it| format!("{}: {}", it.field.path, it.field.message))
            .collect();
        let used_by = users(&all, &key, &present);
        StoredManifest { record, used_by, problems }
    });
    Ok(described.collect())
}

/// Error of deleting a manifest, which stays.
#[derive(Debug, thiserror::Error)]
pub enum DeleteError {
    /// There is no such manifest; those of the kind.
    #[error("there is no such manifest")]
    Unknown(Vec<String>),
    /// Others could not exist without it.
    #[error("{} refer to it: change or delete them first", .0.join(", "))]
    InUse(Vec<String>),
    /// Only Assay writes such manifests.
    #[error(
        "it is forgotten when its retention has ended: `assay purge --tenant NAME --all` deletes its records now"
    )]
    Reserved,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Deletes a manifest that no other one refers to. A deleted tenant becomes a former one, whose keys are refused and whose records
/// are kept for as long as its plan says.
///
/// # Errors
///
/// Returns an error if the manifest is unknown or in use, or if the store fails.
pub async fn delete(
    store: &dyn ControlStore,
    kind: Kind,
    name: &Name,
    now: Timestamp,
) -> Result<(), DeleteError> {
    if kind == Kind::FormerTenant {
        return Err(DeleteError::Reserved);
    }
    let key = (kind, name.clone());
    loop {
        let ManifestSet { revision, manifests } = store.manifests().await?;
        let stored = parse_stored(manifests);
        if !stored.contains_key(&key) {
            let names = stored.keys().filter(|(other, _)| *other == kind);
            return Err(DeleteError::Unknown(names.map(|(_, name)| name.to_string()).collect()));
        }
        let users = users(&stored, &key, &problems_of(&stored));
        if !users.is_empty() {
            return Err(DeleteError::InUse(users));
        }
        let former = (kind == Kind::Tenant).then(|| former_tenant(&stored, name, now));
        match store.put_manifests(former.as_slice(), slice::from_ref(&key), revision, now).await {
            // Another program changed the manifests: read them again.
            Err(StoreError::Conflict) => {}
            done => return Ok(done?),
        }
    }
}

/// The record of a deleted tenant. Of a tenant whose plan is unknown, records are kept as long as new plans do.
fn former_tenant(stored: &Manifests, name: &Name, now: Timestamp) -> ManifestRecord {
    let directory = resolve_manifests(stored).ok();
    let tenant = directory.as_ref().and_then(|directory| directory.tenants.get(name));
    let retention = tenant.map_or_else(RetentionSpec::default, |tenant| tenant.plan.retention);
    let former = FormerTenantSpec { deleted_at: now, retention };
    ManifestRecord { kind: Kind::FormerTenant, name: name.clone(), spec: json!(former) }
}

/// The manifests that get a problem if one is deleted.
fn users(stored: &Manifests, key: &(Kind, Name), before: &[ManifestProblem]) -> Vec<String> {
    let mut without = stored.clone();
    without.remove(key);
    let after = problems_of(&without);
    let new = after.iter().filter(|problem| !before.contains(problem));
    let mut users: Vec<String> = new
        .filter_map(|problem| problem.manifest.as_ref())
        .map(|(kind, name)| format!("{} {name}", kind.as_str()))
        .collect();
    users.sort();
    users.dedup();
    users
}

fn problems_of(manifests: &Manifests) -> Vec<ManifestProblem> {
    resolve_manifests(manifests).err().unwrap_or_default()
}

/// Stores the initial plans, policy and feeds, unless the installation has manifests already.
///
/// # Errors
///
/// Returns an error if the store fails.
pub async fn seed(store: &dyn Store, now: Timestamp) -> Result<(), ApplyError> {
    // Every role may read the revision; the ingest role may not read keys.
    if store.revisions().await?.control > 0 {
        return Ok(());
    }
    let documents = READY.iter().filter_map(|(name, text)| parse(name, text).ok()).flatten();
    apply(store, documents.collect(), &AllowedSourcePaths::default(), now).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use assay_engine::policy::Policy;

    use super::*;

    #[test]
    fn the_ready_manifests_resolve() {
        let documents: Vec<Document> =
            READY.iter().flat_map(|(name, text)| parse(name, text).unwrap()).collect();
        let directory = resolve(&documents).unwrap().directory;
        let plans: Vec<&str> = directory.plans.keys().map(assay_tenancy::Name::as_str).collect();
        assert_eq!(plans, ["business", "enterprise"]);
        assert_eq!(
            *directory.policies["default"],
            Policy::default(),
            "the file shows the defaults"
        );
    }

    #[test]
    fn a_broken_file_is_named_with_the_position() {
        let error = parse("bad.yaml", "kind: Plan\n  name: [").unwrap_err().to_string();
        assert!(error.starts_with("bad.yaml is not valid YAML: "), "{error}");
        let documents = parse("two.yaml", "a: 1\n---\n---\nb: 2\n").unwrap();
        let origins: Vec<&str> = documents.iter().map(|d| d.origin.as_str()).collect();
        assert_eq!(
            origins,
            ["two.yaml, document 1", "two.yaml, document 2"],
            "empty ones do not count"
        );
    }

    #[test]
    fn former_tenants_are_not_read_from_files() {
        let text = "apiVersion: assay.dev/v1alpha1\nkind: FormerTenant\nmetadata: {name: acme}\nspec: {}\n";
        let error = parse("acme.yaml", text).unwrap_err().to_string();
        let expected = "acme.yaml has kind FormerTenant, which the operator writes when a Tenant is \
                        deleted: apply a Tenant instead";
        assert_eq!(error, expected);
    }

    #[test]
    fn a_policy_problem_names_its_manifest_and_field() {
        let text = "apiVersion: assay.dev/v1alpha1\nkind: RiskPolicy\nmetadata: {name: p}\nspec: {severities: {mixers: 5}, thresholds: {high: 10}}\n";
        let problems = resolve(&parse("p.yaml", text).unwrap()).unwrap_err();
        let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(
            messages[0]
                .starts_with("p.yaml: RiskPolicy p: spec.severities.mixers: no such category")
        );
        assert!(
            messages[1].starts_with(
                "p.yaml: RiskPolicy p: spec.thresholds.high: 10.0 must be above medium"
            )
        );
    }
}
