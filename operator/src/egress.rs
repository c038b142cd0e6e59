//! The way out of pods: proxies and certificates, as programs read them from their environment.

use std::collections::BTreeSet;

use assay_crds::EgressSpec;
use serde_json::{Value, json};

use crate::ports;

/// Where the certificates are.
const FOLDER: &str = "/etc/assay-ca";
/// What their file is called there.
const FILE: &str = "ca.crt";
/// What their volume is called.
const VOLUME: &str = "authorities";

/// The variables that name it.
pub(crate) fn environment(egress: &EgressSpec) -> Vec<Value> {
    let bypass = (!egress.no_proxy.is_empty()).then(|| egress.no_proxy.join(","));
    let variables = [
        ("HTTPS_PROXY", egress.https_proxy.clone()),
        ("HTTP_PROXY", egress.http_proxy.clone()),
        ("NO_PROXY", bypass),
        ("SSL_CERT_FILE", certificates_file(egress)),
    ];
    let named = variables.into_iter().filter_map(|(name, value)| Some((name, value?)));
    named.map(|(name, value)| json!({"name": name, "value": value})).collect()
}

/// The file with the certificates that are believed.
pub(crate) fn certificates_file(egress: &EgressSpec) -> Option<String> {
    egress.ca_bundle.is_some().then(|| format!("{FOLDER}/{FILE}"))
}

/// The volume with the certificates, and where it is.
pub(crate) fn certificates(egress: &EgressSpec) -> Option<(Value, Value)> {
    let bundle = egress.ca_bundle.as_ref()?;
    let items = json!([{"key": bundle.key, "path": FILE}]);
    let volume = match (&bundle.config_map, &bundle.secret) {
        (Some(name), _) => json!({"name": VOLUME, "configMap": {"name": name, "items": items}}),
        (None, Some(name)) => json!({
            "name": VOLUME,
            "secret": {"secretName": name, "items": items, "defaultMode": 0o440},
        }),
        // The definition refuses it.
        (None, None) => return None,
    };
    let mount = json!({"name": VOLUME, "mountPath": FOLDER, "readOnly": true});
    Some((volume, mount))
}

/// The ports of the proxies.
pub(crate) fn ports(egress: &EgressSpec) -> BTreeSet<u16> {
    let proxies = egress.https_proxy.iter().chain(&egress.http_proxy);
    proxies.flat_map(|proxy| ports::of_url(proxy)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn egress(spec: Value) -> EgressSpec {
        serde_json::from_value(spec).unwrap()
    }

    #[test]
    fn proxies_and_certificates_are_named_as_programs_know_them() {
        let all = egress(json!({
            "httpsProxy": "http://proxy:3128", "noProxy": [".svc", "10.0.0.0/8"],
            "caBundle": {"configMap": "authorities", "key": "bundle.pem"},
        }));
        let variable = |name: &str, value: &str| json!({"name": name, "value": value});
        assert_eq!(
            environment(&all),
            [
                variable("HTTPS_PROXY", "http://proxy:3128"),
                variable("NO_PROXY", ".svc,10.0.0.0/8"),
                variable("SSL_CERT_FILE", "/etc/assay-ca/ca.crt"),
            ]
        );
        let (volume, mount) = certificates(&all).unwrap();
        let items = json!([{"key": "bundle.pem", "path": "ca.crt"}]);
        assert_eq!(volume["configMap"], json!({"name": "authorities", "items": items}));
        assert_eq!(mount["mountPath"], "/etc/assay-ca");
        assert_eq!(ports(&all), BTreeSet::from([3128]));
        let secret = egress(json!({"caBundle": {"secret": "authorities"}}));
        let (volume, _) = certificates(&secret).unwrap();
        assert_eq!(volume["secret"]["items"][0]["key"], "ca.crt");
    }

    #[test]
    fn without_them_nothing_is_named() {
        let none = EgressSpec::default();
        assert!(environment(&none).is_empty() && certificates(&none).is_none());
        assert!(ports(&none).is_empty());
    }
}
