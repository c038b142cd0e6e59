//! Warnings about locations that a server would refuse to read.
//!
//! Manifests are stored where they are applied, and read where `assay serve` runs, which may be another machine: what
//! this machine refuses is told and stored nevertheless.

use std::{fs, io::Write, path::Path, time::Duration};

use assay_input::{FetchError, check_access};
use assay_intel::formats;
use assay_store::control::ManifestRecord;
use assay_tenancy::manifest::{IntelSourceSpec, ManifestSpec};
use serde_json::Value;

use super::{
    Context, Failure,
    terminal::{error_width, wrapped},
};

/// Time for resolving the name of a server.
const RESOLVE_TIME: Duration = Duration::from_secs(3);

/// Warns on standard error of sources whose location this machine would not read.
pub(super) async fn warn_of_locations(
    records: impl IntoIterator<Item = &ManifestRecord>,
    context: &Context,
) -> Result<(), Failure> {
    for record in records {
        let manifest = record.clone().parse::<Value>();
        let Ok(ManifestSpec::IntelSource(spec)) = manifest.spec else { continue };
        if let Some(problem) = problem(&spec, context).await {
            let text = format!(
                "warning: {}: {problem}; `assay serve` with these settings does not read it",
                record.name
            );
            write!(anstream::stderr(), "{}", wrapped(error_width(), &text))?;
        }
    }
    Ok(())
}

/// The reason why this machine would not read a location; `None` if it would, or if only the attempt can tell.
async fn problem(spec: &IntelSourceSpec, context: &Context) -> Option<String> {
    let location = match context.allowed_source_paths().location(&spec.location) {
        Ok(location) => location,
        Err(error) => return Some(error.to_string()),
    };
    if !location.contains("://") {
        return unreadable(Path::new(&location), spec);
    }
    let networks = context.settings.source_networks.clone();
    let checking = tokio::task::spawn_blocking(move || check_access(&location, &networks));
    match tokio::time::timeout(RESOLVE_TIME, checking).await {
        Ok(Ok(Err(error @ (FetchError::PrivateAddressError { .. } | FetchError::Scheme(_))))) => {
            Some(error.to_string())
        }
        _ => None,
    }
}

/// The reason why a file cannot be read, or why its format reads no folder.
fn unreadable(path: &Path, spec: &IntelSourceSpec) -> Option<String> {
    let shown = path.display();
    let format = formats::by_id(spec.format.as_str()).ok()?;
    if path.is_dir() {
        if !format.files.several {
            return Some(format!(
                "{shown} is a folder, and the format {} reads one file",
                format.id
            ));
        }
        return fs::read_dir(path).err().map(|error| format!("failed to read {shown}: {error}"));
    }
    if !path.is_file() {
        return Some(format!("{shown} is no file"));
    }
    fs::File::open(path).err().map(|error| format!("failed to read {shown}: {error}"))
}
