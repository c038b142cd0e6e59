//! Rows of manifests, keys and the installation.

use assay_engine::facts::Environment;
use assay_tenancy::{
    Name,
    key::{KeyHash, Scope},
    manifest::Kind,
};

use super::Row;
use crate::{
    Revisions, StoreError,
    control::{Control, KeyRecord, KeySet, ManifestRecord, ManifestSet},
    value,
};

pub(crate) fn environment(row: &Row) -> Result<Environment, StoreError> {
    value::environment(row.text("environment")?)
}

pub(crate) fn instance(row: &Row) -> Result<Name, StoreError> {
    Ok(value::parsed("installation.instance", row.text("instance")?)?)
}

pub(crate) fn revisions(row: &Row) -> Result<Revisions, StoreError> {
    Ok(Revisions {
        intel: value::unsigned("installation.intel_generation", row.integer("intel_generation")?)?,
        control: revision(row)?,
        manifests: revision_without(row, "key_changes")?,
        keys: revision_without(row, "manifest_changes")?,
    })
}

fn revision(row: &Row) -> Result<u64, StoreError> {
    Ok(value::unsigned("installation.control_revision", row.integer("control_revision")?)?)
}

/// The revision of manifests or of keys: the number of all control changes except those of the `other` part alone.
fn revision_without(row: &Row, other: &'static str) -> Result<u64, StoreError> {
    let changes = row.integer("control_revision")?.saturating_sub(row.integer(other)?);
    Ok(value::unsigned("installation.control_revision", changes)?)
}

pub(crate) fn control(
    revisions: &Row,
    manifests: &[Row],
    keys: &[Row],
) -> Result<Control, StoreError> {
    Ok(Control {
        manifests_revision: revision_without(revisions, "key_changes")?,
        keys_revision: revision_without(revisions, "manifest_changes")?,
        manifests: self::manifests(manifests)?,
        keys: self::keys(keys)?,
    })
}

pub(crate) fn manifest_set(revisions: &Row, rows: &[Row]) -> Result<ManifestSet, StoreError> {
    let revision = revision_without(revisions, "key_changes")?;
    Ok(ManifestSet { revision, manifests: manifests(rows)? })
}

fn manifests(rows: &[Row]) -> Result<Vec<ManifestRecord>, StoreError> {
    rows.iter().map(manifest).collect()
}

pub(crate) fn key_set(revisions: &Row, rows: &[Row]) -> Result<KeySet, StoreError> {
    let revision = revision_without(revisions, "manifest_changes")?;
    Ok(KeySet { revision, keys: keys(rows)? })
}

pub(crate) fn keys(rows: &[Row]) -> Result<Vec<KeyRecord>, StoreError> {
    rows.iter().map(key).collect()
}

fn manifest(row: &Row) -> Result<ManifestRecord, StoreError> {
    let kind = row.text("kind")?;
    Ok(ManifestRecord {
        kind: Kind::ALL
            .into_iter()
            .find(|known| known.as_str() == kind)
            .ok_or_else(|| StoreError::unreadable("manifests.kind", kind))?,
        name: value::parsed("manifests.name", row.text("name")?)?,
        spec: value::json("manifests.spec", row.text("spec")?)?,
    })
}

pub(crate) fn key(row: &Row) -> Result<KeyRecord, StoreError> {
    let hash = row.optional_bytes("hash")?.unwrap_or_default();
    Ok(KeyRecord {
        id: value::parsed("api_keys.id", row.text("id")?)?,
        tenant: value::parsed("api_keys.tenant", row.text("tenant")?)?,
        name: row.text("name")?.to_owned(),
        environment: value::parsed("api_keys.environment", row.text("environment")?)?,
        hash: KeyHash::from_bytes(
            hash.try_into().map_err(|error| StoreError::unreadable("api_keys.hash", error))?,
        ),
        scopes: value::json("api_keys.scopes", row.text("scopes")?)?,
        created_at: value::time("api_keys.created_at", row.integer("created_at")?)?,
        expires_at: value::optional_time(
            "api_keys.expires_at",
            row.optional_integer("expires_at")?,
        )?,
        revoked_at: value::optional_time(
            "api_keys.revoked_at",
            row.optional_integer("revoked_at")?,
        )?,
        last_used_at: value::optional_time(
            "api_keys.last_used_at",
            row.optional_integer("last_used_at")?,
        )?,
    })
}

/// The stored text of scopes.
pub(crate) fn scopes(scopes: &[Scope]) -> Result<String, StoreError> {
    serde_json::to_string(scopes).map_err(|error| StoreError::unreadable("api_keys.scopes", error))
}
