//! The egress of pods: proxies and a CA bundle, as programs read them from their environment.

use std::collections::BTreeSet;

use assay_crds::EgressSpec;
use assay_tenancy::Name;
use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, EnvVar, KeyToPath, SecretVolumeSource, Volume, VolumeMount,
};

use crate::destinations::{self, Destination};

/// The folder with the CA bundle.
const FOLDER: &str = "/etc/assay-ca";
/// The file name of the CA bundle.
const FILE: &str = "ca.crt";
/// The volume with the CA bundle.
const VOLUME: &str = "authorities";
/// The mode of a file that holds a secret: readable by owner and group.
pub(crate) const SECRET_MODE: i32 = 0o440;

/// The outgoing connections of pods: proxies and trusted certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Egress {
    https_proxy: Option<String>,
    http_proxy: Option<String>,
    no_proxy: Vec<String>,
    ca_bundle: Option<CaBundleSource>,
    source_networks: Vec<String>,
}

/// The object with the CA bundle, and the key in it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CaBundleSource {
    ConfigMap(Name, String),
    Secret(Name, String),
}

impl Egress {
    /// The egress that a spec describes. `None` if the CA bundle of the spec does not name exactly one object.
    pub(crate) fn parse(spec: &EgressSpec) -> Option<Self> {
        let EgressSpec { https_proxy, http_proxy, no_proxy, ca_bundle } = spec.clone();
        let ca_bundle = match ca_bundle {
            None => None,
            Some(bundle) => Some(match (bundle.config_map, bundle.secret) {
                (Some(name), None) => CaBundleSource::ConfigMap(name, bundle.key),
                (None, Some(name)) => CaBundleSource::Secret(name, bundle.key),
                _ => return None,
            }),
        };
        let source_networks = Vec::new();
        Some(Self { https_proxy, http_proxy, no_proxy, ca_bundle, source_networks })
    }

    /// Adds private networks from which lists and labels may be fetched.
    #[must_use]
    pub(crate) fn with_source_networks(self, source_networks: Vec<String>) -> Self {
        Self { source_networks, ..self }
    }

    /// The environment variables with proxies and the CA bundle.
    pub(crate) fn environment(&self) -> Vec<EnvVar> {
        let list = |entries: &[String]| (!entries.is_empty()).then(|| entries.join(","));
        let variables = [
            ("HTTPS_PROXY", self.https_proxy.clone()),
            ("HTTP_PROXY", self.http_proxy.clone()),
            ("NO_PROXY", list(&self.no_proxy)),
            ("SSL_CERT_FILE", self.ca_file()),
            ("ASSAY_SOURCE_NETWORKS", list(&self.source_networks)),
        ];
        variables
            .into_iter()
            .filter(|(_, value)| value.is_some())
            .map(|(name, value)| EnvVar { name: name.to_owned(), value, value_from: None })
            .collect()
    }

    /// The path of the CA bundle in a pod.
    pub(crate) fn ca_file(&self) -> Option<String> {
        self.ca_bundle.is_some().then(|| format!("{FOLDER}/{FILE}"))
    }

    /// The volume with the CA bundle, and its mount.
    pub(crate) fn ca_volume(&self) -> Option<(Volume, VolumeMount)> {
        let items = |key: &String| {
            Some(vec![KeyToPath { key: key.clone(), path: FILE.to_owned(), mode: None }])
        };
        let mut volume = Volume { name: VOLUME.to_owned(), ..Volume::default() };
        match self.ca_bundle.as_ref()? {
            CaBundleSource::ConfigMap(name, key) => {
                volume.config_map = Some(ConfigMapVolumeSource {
                    name: name.to_string(),
                    items: items(key),
                    ..ConfigMapVolumeSource::default()
                });
            }
            CaBundleSource::Secret(name, key) => {
                volume.secret = Some(SecretVolumeSource {
                    secret_name: Some(name.to_string()),
                    items: items(key),
                    default_mode: Some(SECRET_MODE),
                    ..SecretVolumeSource::default()
                });
            }
        }
        let mount = VolumeMount {
            name: VOLUME.to_owned(),
            mount_path: FOLDER.to_owned(),
            read_only: Some(true),
            ..VolumeMount::default()
        };
        Some((volume, mount))
    }

    /// The destinations of the proxies.
    pub(crate) fn destinations(&self) -> BTreeSet<Destination> {
        let proxies = self.https_proxy.iter().chain(&self.http_proxy);
        proxies.flat_map(|proxy| destinations::of_url(proxy)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::destinations::Hosts;

    fn parse(spec: Value) -> Option<Egress> {
        Egress::parse(&serde_json::from_value(spec).unwrap())
    }

    fn egress(spec: Value) -> Egress {
        parse(spec).unwrap()
    }

    #[test]
    fn proxies_and_the_ca_bundle_are_standard_variables() {
        let all = egress(json!({
            "httpsProxy": "http://proxy:3128", "noProxy": [".svc", "10.0.0.0/8"],
            "caBundle": {"configMap": "authorities", "key": "bundle.pem"},
        }));
        let variable = |name: &str, value: &str| json!({"name": name, "value": value});
        assert_eq!(
            json!(all.environment()),
            json!([
                variable("HTTPS_PROXY", "http://proxy:3128"),
                variable("NO_PROXY", ".svc,10.0.0.0/8"),
                variable("SSL_CERT_FILE", "/etc/assay-ca/ca.crt"),
            ])
        );
        let (volume, mount) = all.ca_volume().unwrap();
        let items = json!([{"key": "bundle.pem", "path": "ca.crt"}]);
        assert_eq!(json!(volume)["configMap"], json!({"name": "authorities", "items": items}));
        assert_eq!(mount.mount_path, "/etc/assay-ca");
        let proxy = Destination { hosts: Hosts::Pods(None), port: 3128 };
        assert_eq!(all.destinations(), BTreeSet::from([proxy]));
        let (volume, _) =
            egress(json!({"caBundle": {"secret": "authorities"}})).ca_volume().unwrap();
        assert_eq!(json!(volume)["secret"]["items"][0]["key"], "ca.crt");
    }

    #[test]
    fn without_any_there_are_no_variables_volumes_and_destinations() {
        let none = Egress::default();
        assert!(none.environment().is_empty() && none.ca_volume().is_none());
        assert!(none.destinations().is_empty());
    }

    #[test]
    fn a_ca_bundle_is_in_one_object() {
        assert_eq!(parse(json!({"caBundle": {}})), None);
        assert_eq!(parse(json!({"caBundle": {"configMap": "a", "secret": "b"}})), None);
    }
}
