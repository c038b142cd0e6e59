//! Credentials of the sources from which servers read histories on demand: Secrets in the service's namespace, each
//! mounted if its owner permits that the source's server receives it.

use assay_crds::SecretKey;
use assay_egress::NamedCredentials;
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Secret, Volume},
};
use kube::Api;

use super::{
    build::{FILE, SOURCE_CREDENTIALS},
    demand::OnDemandSource,
    fetch::Inputs,
};
use crate::{
    owned::{LiveObjects, Owner},
    pod::SecretFile,
    source::{RequestedCredentials, SourceCredentials},
};

/// Start of the names of volumes with credentials of sources; the chain follows.
const VOLUME: &str = "histories-";

/// The credentials of sources that servers of a service read on demand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HistoryCredentials {
    /// The value of the setting with their files and servers.
    pub(super) setting: String,
    /// Their Secrets, as files in the pods.
    pub(super) files: Vec<SecretFile>,
}

/// A source with credentials, and its Secret, if it exists. Of the content only the keys are looked at.
pub(super) type SourceSecret = (OnDemandSource, Option<Secret>);

/// Reads the Secrets of sources.
pub(super) async fn secrets_of(
    sources: &[OnDemandSource],
    secrets: &Api<Secret>,
) -> Result<Vec<SourceSecret>, kube::Error> {
    let mut found = Vec::new();
    for source in sources {
        let secret = secrets.get_opt(source.secret.name.as_str()).await?;
        found.push((source.clone(), secret));
    }
    Ok(found)
}

/// The credentials that servers get. Until the sources are known, the last ones stay: others would replace the pods.
pub(super) fn credentials(inputs: &Inputs) -> HistoryCredentials {
    if inputs.demand.is_none() {
        return last_credentials(&inputs.live, &inputs.owner).unwrap_or_default();
    }
    let (mut entries, mut files) = (Vec::new(), Vec::new());
    for (source, secret) in &inputs.source_secrets {
        let Ok(credentials) = permitted(source, secret.as_ref(), inputs.namespace()) else {
            continue;
        };
        let name = format!("{VOLUME}{}", source.chain);
        let file = SecretFile::optional(name, source.secret.clone());
        let entry = NamedCredentials {
            source: source.name.clone(),
            file: file.path().into(),
            server: credentials.server,
        };
        entries.push(entry.to_string());
        files.push(file);
    }
    HistoryCredentials { setting: entries.join(","), files }
}

/// The first reason why servers do not get credentials, with advice.
pub(super) fn refusal(inputs: &Inputs) -> Option<String> {
    let mut permitted = inputs
        .source_secrets
        .iter()
        .map(|(source, secret)| permitted(source, secret.as_ref(), inputs.namespace()));
    permitted.find_map(Result::err)
}

/// The credentials of a source, if the owner of the Secret permits their use, and the Secret has them.
fn permitted(
    source: &OnDemandSource,
    secret: Option<&Secret>,
    namespace: &str,
) -> Result<SourceCredentials, String> {
    let OnDemandSource { name, secret: key, endpoint, .. } = source;
    let requested = RequestedCredentials { secret: key, url: endpoint };
    let credentials =
        requested.permitted_by(secret, namespace).map_err(|refusal| refusal.to_string())?;
    let has_key = secret.and_then(|secret| secret.data.as_ref()?.get(&key.key)).is_some();
    if !has_key {
        return Err(format!(
            "Secret `{}` in namespace `{namespace}` has no key `{}`, and nothing is sent for ChainSource `{name}`: add it \
             with the key of the API as its value",
            key.name, key.key
        ));
    }
    Ok(credentials)
}

/// The credentials in the objects that were applied last.
fn last_credentials(live: &LiveObjects, owner: &Owner) -> Option<HistoryCredentials> {
    let settings = live.owned::<ConfigMap>(owner).ok()??.data?;
    let start = format!("{SOURCE_CREDENTIALS} = \"");
    let value = settings.get(FILE)?.lines().find_map(|line| line.strip_prefix(&start))?;
    let setting = value.strip_suffix('"')?.to_owned();
    let pod = live.owned::<Deployment>(owner).ok()??.spec?.template.spec?;
    let files = pod.volumes.unwrap_or_default().iter().filter_map(file_of_volume).collect();
    Some(HistoryCredentials { setting, files })
}

fn file_of_volume(volume: &Volume) -> Option<SecretFile> {
    let secret = volume.secret.as_ref().filter(|_| volume.name.starts_with(VOLUME))?;
    let name = secret.secret_name.as_ref()?.parse().ok()?;
    let key = secret.items.as_ref()?.first()?.key.clone();
    Some(SecretFile::optional(volume.name.clone(), SecretKey { name, key }))
}
