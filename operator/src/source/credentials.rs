//! The permission of a source to use a Secret: the Secret's owner labels it for sources, and names in an annotation the
//! servers that may receive it. Without the label and the annotation, a source cannot use the Secret. Pure.

use std::fmt;

use assay_crds::SecretKey;
use assay_egress::ServerName;
use kube::ResourceExt;

use crate::pod::SecretFile;

/// The label of Secrets that sources may use; its value is `true`.
pub(super) const LABEL: &str = "assay.dev/source-credentials";
/// The annotation with the servers that may receive the credentials, separated by commas: `host:port`, or
/// `https://host:port` for TLS only. Port 443 implies TLS.
pub(super) const HOSTS: &str = "assay.dev/source-hosts";
/// The name of the volume with the credentials.
pub(super) const VOLUME: &str = "credentials";

/// The credentials that a source names, and the URL of the server that is to receive them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestedCredentials<'a> {
    /// The key of the Secret.
    pub(crate) secret: &'a SecretKey,
    /// The URL of the server.
    pub(crate) url: &'a str,
}

/// Credentials that a source may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceCredentials {
    /// The file with the credentials in a pod.
    pub(crate) file: SecretFile,
    /// The only server that may receive the credentials.
    pub(crate) server: ServerName,
}

/// Refusal of a source's use of a Secret, with advice for the Secret's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CredentialsRefusal {
    secret: String,
    namespace: String,
    server: Option<ServerName>,
    cause: RefusalCause,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RefusalCause {
    /// No Secret of that name has the label for sources. The status of a source reveals nothing else about Secrets.
    NotForSources,
    /// The annotation is missing, or names other servers.
    OtherServer,
    /// The annotation names the server, which is reached over TLS alone, and the URL is plain http.
    Plaintext,
    /// The annotation is invalid.
    Annotation(String),
    /// The URL has no host.
    NoServer,
}

impl RequestedCredentials<'_> {
    /// Checks that the Secret exists and permits its use.
    pub(crate) fn permitted_by(
        self,
        secret: Option<&impl ResourceExt>,
        namespace: &str,
    ) -> Result<SourceCredentials, CredentialsRefusal> {
        let server = ServerName::of_url(self.url);
        let refused = |cause| CredentialsRefusal {
            secret: self.secret.name.to_string(),
            namespace: namespace.to_owned(),
            server: server.clone(),
            cause,
        };
        let mark = secret.and_then(|secret| secret.labels().get(LABEL));
        let is_for_sources = mark.is_some_and(|value| value == "true");
        let secret = secret
            .filter(|_| is_for_sources)
            .ok_or_else(|| refused(RefusalCause::NotForSources))?;
        let hosts = secret.annotations().get(HOSTS).map_or("", String::as_str);
        let hosts = ServerName::parse_list(hosts)
            .map_err(|error| refused(RefusalCause::Annotation(error.to_string())))?;
        let server = server.clone().ok_or_else(|| refused(RefusalCause::NoServer))?;
        if !hosts.iter().any(|host| host.permits(&server)) {
            let is_named = hosts.iter().any(|host| host.is_same_server(&server));
            let cause = if is_named { RefusalCause::Plaintext } else { RefusalCause::OtherServer };
            return Err(refused(cause));
        }
        let file = SecretFile::needed(VOLUME, self.secret.clone());
        Ok(SourceCredentials { file, server })
    }
}

impl fmt::Display for CredentialsRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { secret, namespace, server, cause } = self;
        let Some(server) = server.as_ref().filter(|_| *cause != RefusalCause::NoServer) else {
            return write!(
                formatter,
                "the URL names no server, so that Secret `{secret}` is not sent: write it as https://lists.example/list"
            );
        };
        let label = format!("`kubectl label secret {secret} -n {namespace} {LABEL}=true`");
        let annotate =
            format!("`kubectl annotate secret {secret} -n {namespace} {HOSTS}={server}`");
        match cause {
            RefusalCause::NotForSources => write!(
                formatter,
                "there is no Secret `{secret}` for sources in namespace `{namespace}`, and nothing is sent to {server}: \
                 if it holds the credentials for that server and no others, {label} and {annotate}"
            ),
            RefusalCause::Annotation(error) => write!(
                formatter,
                "nothing is sent to {server}: the annotation {HOSTS} of Secret `{secret}` cannot be read: {error}; if it \
                 is for {server}, {annotate} --overwrite"
            ),
            RefusalCause::Plaintext => write!(
                formatter,
                "Secret `{secret}` is for {server} over TLS alone, and nothing is sent: write the URL with https"
            ),
            RefusalCause::OtherServer | RefusalCause::NoServer => write!(
                formatter,
                "Secret `{secret}` is not for {server}, and nothing is sent: if its credentials are for that server, \
                 {annotate}; if the annotation names others already, add it to them after a comma, with --overwrite"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use kube::core::PartialObjectMeta;
    use serde_json::{Value, json};

    use super::*;

    const URL: &str = "https://lists.example/own.csv";

    fn secret(labels: &Value, annotations: &Value) -> PartialObjectMeta<Secret> {
        let metadata = json!({"name": "list", "labels": labels, "annotations": annotations});
        serde_json::from_value(json!({"metadata": metadata})).unwrap()
    }

    fn permitted(
        url: &str,
        secret: Option<&PartialObjectMeta<Secret>>,
    ) -> Result<SourceCredentials, String> {
        let key = serde_json::from_value(json!({"name": "list", "key": "token"})).unwrap();
        let requested = RequestedCredentials { secret: &key, url };
        requested.permitted_by(secret, "assay").map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_secret_is_used_for_the_servers_that_it_names() {
        let marked =
            secret(&json!({LABEL: "true"}), &json!({HOSTS: "node:8332, lists.example:443"}));
        for url in [URL, "https://LISTS.example:443/x", "http://node:8332"] {
            let credentials = permitted(url, Some(&marked)).unwrap();
            assert_eq!(Some(credentials.server), ServerName::of_url(url));
            assert_eq!(credentials.file.source.name.as_str(), "list");
        }
        for other in [
            "http://lists.example/own.csv",
            "https://lists.example:8443",
            "https://lists.example.evil.example",
            "https://evil.example/lists.example:443",
            "http://node:8332@evil.example",
        ] {
            let said = permitted(other, Some(&marked)).unwrap_err();
            let server = ServerName::of_url(other).unwrap();
            assert!(said.starts_with(&format!("Secret `list` is not for {server}, ")), "{said}");
        }
        let said = permitted("http://lists.example:443/own.csv", Some(&marked)).unwrap_err();
        assert_eq!(
            said,
            "Secret `list` is for lists.example:443 over TLS alone, and nothing is sent: write the URL with https"
        );
        let said = permitted("https://", Some(&marked)).unwrap_err();
        assert!(said.starts_with("the URL names no server"), "{said}");
    }

    #[test]
    fn a_secret_that_is_not_marked_is_refused_as_if_it_did_not_exist() {
        let hosts = json!({HOSTS: "lists.example:443"});
        let unmarked = [
            None,
            Some(secret(&json!({}), &hosts)),
            Some(secret(&json!({LABEL: "false"}), &hosts)),
            Some(secret(&json!({LABEL: ""}), &hosts)),
            Some(secret(&json!({HOSTS: "true"}), &json!({LABEL: "true"}))),
        ];
        for secret in unmarked {
            assert_eq!(
                permitted(URL, secret.as_ref()).unwrap_err(),
                "there is no Secret `list` for sources in namespace `assay`, and nothing is sent to \
                 lists.example:443: if it holds the credentials for that server and no others, `kubectl label \
                 secret list -n assay assay.dev/source-credentials=true` and `kubectl annotate secret list -n assay \
                 assay.dev/source-hosts=lists.example:443`"
            );
        }
    }

    #[test]
    fn a_marked_secret_without_hosts_or_with_wrong_ones_is_refused_with_the_mend() {
        let label = json!({LABEL: "true"});
        for annotations in [json!({}), json!({HOSTS: ""}), json!({HOSTS: "lists.example:80"})] {
            assert_eq!(
                permitted(URL, Some(&secret(&label, &annotations))).unwrap_err(),
                "Secret `list` is not for lists.example:443, and nothing is sent: if its credentials are for that \
                 server, `kubectl annotate secret list -n assay assay.dev/source-hosts=lists.example:443`; if the \
                 annotation names others already, add it to them after a comma, with --overwrite"
            );
        }
        for wrong in ["lists.example", "*:443", "http://lists.example:443", "*.example:443"] {
            let said = permitted(URL, Some(&secret(&label, &json!({HOSTS: wrong})))).unwrap_err();
            let mend = format!("cannot be read: `{wrong}` is no host and port: ");
            assert!(said.contains(&mend) && said.ends_with("--overwrite"), "{said}");
        }
    }
}
