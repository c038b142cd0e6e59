//! The OpenID Connect issuer at which people sign in to the console, by the settings.

use std::fs;

use assay_oidc::{Issuer, IssuerSettings, RoleMapping};

use crate::{commands::Failure, settings::CliSettings};

/// Path of the redirect URI.
const CALLBACK: &str = "/console/oidc/callback";

/// Returns the issuer, if one is configured.
pub(super) fn issuer(settings: &CliSettings) -> Result<Option<Issuer>, Failure> {
    let (Some(issuer), Some(url), Some(client_id)) =
        (&settings.oidc_issuer, &settings.console_url, &settings.oidc_client_id)
    else {
        return Ok(None);
    };
    let mapping = mapping(settings)?;
    if let Some(path) = &settings.oidc_client_secret_file {
        // A mistake is told now, and not to the first person who signs in.
        fs::metadata(path).map_err(|error| {
            Failure::Input(format!("oidc-client-secret-file {}: {error}", path.display()))
        })?;
    }
    let settings = IssuerSettings {
        issuer: issuer.clone(),
        client_id: client_id.clone(),
        client_secret_file: settings.oidc_client_secret_file.clone(),
        redirect_url: format!("{url}{CALLBACK}"),
        scopes: settings.oidc_scopes.clone(),
        mapping,
    };
    Issuer::new(settings).map(Some).map_err(|error| Failure::Input(error.to_string()))
}

/// Returns the tenant and role of people.
fn mapping(settings: &CliSettings) -> Result<RoleMapping, Failure> {
    let read = |name: String, text: &str| {
        RoleMapping::read(text).map_err(|error| Failure::Input(format!("{name}: {error}")))
    };
    match (&settings.oidc_role_mapping_file, &settings.oidc_role_mapping) {
        (Some(path), _) => {
            let name = format!("oidc-role-mapping-file {}", path.display());
            let text = fs::read_to_string(path)
                .map_err(|error| Failure::Input(format!("{name}: {error}")))?;
            read(name, &text)
        }
        (None, Some(text)) => read("oidc-role-mapping".into(), text),
        (None, None) => read("oidc-role-mapping-file".into(), ""),
    }
}
