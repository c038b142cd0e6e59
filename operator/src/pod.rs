//! Pods as the operator makes them: one container, restricted, with secrets as files.
//!
//! They meet the pod security standard `restricted`. Nothing secret is in their environment, where
//! crash reports and owned processes would see it, and they cannot speak to the API server.

use assay_crds::{EgressSpec, SecretKey, TelemetrySpec};
use assay_tenancy::Name;
use serde_json::{Value, json};

use crate::egress;

/// Who programs run as in a container. A number, because a name could stand for root.
const USER: u32 = 65532;
/// Where a program may write.
pub(crate) const DATA: &str = "/var/lib/assay";
/// Where settings are.
pub(crate) const CONFIG: &str = "/etc/assay";
/// Where secrets are.
const SECRETS: &str = "/run/secrets/assay";

/// Names the collector, as every program knows it that sends by OTLP.
const COLLECTOR: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// A key of a Secret as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SecretFile {
    /// What it is, such as `database`.
    pub(crate) what: &'static str,
    /// The Secret.
    pub(crate) secret: String,
    /// The key in it.
    pub(crate) key: String,
}

impl SecretFile {
    /// The key of a Secret, as the file of something.
    pub(crate) fn new(what: &'static str, from: &SecretKey) -> Self {
        Self { what, secret: from.name.to_string(), key: from.key.clone() }
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> String {
        format!("{SECRETS}/{}/value", self.what)
    }

    fn volume(&self) -> Value {
        let items = json!([{"key": self.key, "path": "value"}]);
        let source = json!({"secretName": self.secret, "items": items, "defaultMode": 0o440});
        json!({"name": self.what, "secret": source})
    }

    fn mount(&self) -> Value {
        json!({"name": self.what, "mountPath": format!("{SECRETS}/{}", self.what), "readOnly": true})
    }
}

/// What a pod is for.
#[derive(Clone, Debug)]
pub(crate) struct Pod<'a> {
    /// The image.
    pub(crate) image: &'a str,
    /// Secrets that let it be pulled.
    pub(crate) pull_secrets: &'a [Name],
    /// What `assay` is told.
    pub(crate) arguments: Vec<String>,
    /// Its secrets.
    pub(crate) secrets: Vec<SecretFile>,
    /// The `ConfigMap` with its settings.
    pub(crate) config_map: Option<&'a str>,
    /// How it reaches what is outside the cluster.
    pub(crate) egress: &'a EgressSpec,
    /// Where it sends what it tells about itself.
    pub(crate) telemetry: &'a TelemetrySpec,
    /// What becomes of a container that ended.
    pub(crate) restart: Restart,
    /// Longest time from the signal to stop to the end, in seconds.
    pub(crate) grace_seconds: u32,
    /// CPU and memory that it needs.
    pub(crate) requests: [&'static str; 2],
}

/// What becomes of a container that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restart {
    /// It is started again.
    Always,
    /// Nothing: whoever made the pod decides.
    Never,
}

impl Pod<'_> {
    /// The pod's `spec`; `container` and `more` say what else is to be known of the container and the
    /// pod.
    pub(crate) fn spec(&self, container: Value, more: Value) -> Value {
        let mut mounts = vec![
            json!({"name": "data", "mountPath": DATA}),
            json!({"name": "scratch", "mountPath": "/tmp"}),
        ];
        let mut volumes = vec![
            json!({"name": "data", "emptyDir": {}}),
            json!({"name": "scratch", "emptyDir": {}}),
        ];
        if let Some(name) = self.config_map {
            mounts.push(json!({"name": "config", "mountPath": CONFIG, "readOnly": true}));
            volumes.push(json!({"name": "config", "configMap": {"name": name}}));
        }
        mounts.extend(self.secrets.iter().map(SecretFile::mount));
        volumes.extend(self.secrets.iter().map(SecretFile::volume));
        if let Some((volume, mount)) = egress::certificates(self.egress) {
            mounts.push(mount);
            volumes.push(volume);
        }
        let [cpu, memory] = self.requests;
        let own = json!({
            "name": "assay",
            "image": self.image,
            "args": self.arguments,
            "workingDir": DATA,
            // What it said last is to be read where it ended, also once its log is gone.
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "env": self.environment(),
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": true,
            },
            // No limits: what is short of CPU answers late, and memory grows with lists and labels.
            "resources": {"requests": {"cpu": cpu, "memory": memory}},
            "volumeMounts": mounts,
        });
        let pull: Vec<Value> = self.pull_secrets.iter().map(|name| json!({"name": name})).collect();
        let restart = match self.restart {
            Restart::Always => "Always",
            Restart::Never => "Never",
        };
        let spec = json!({
            "automountServiceAccountToken": false,
            // A Service could otherwise set variables that look like settings.
            "enableServiceLinks": false,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": USER,
                "runAsGroup": USER,
                "fsGroup": USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "imagePullSecrets": pull,
            "restartPolicy": restart,
            "terminationGracePeriodSeconds": self.grace_seconds,
            "containers": [with(own, container)],
            "volumes": volumes,
        });
        with(spec, more)
    }

    fn environment(&self) -> Vec<Value> {
        let mut variables = egress::environment(self.egress);
        let collector = self.telemetry.otlp_endpoint.as_ref();
        variables.extend(collector.map(|url| json!({"name": COLLECTOR, "value": url})));
        variables
    }
}

/// An object with the fields of another one.
fn with(mut object: Value, more: Value) -> Value {
    if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
        object.extend(more);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> Value {
        let key = SecretKey { name: "store".parse().unwrap(), key: "url".into() };
        let pod = Pod {
            image: "assay:1",
            pull_secrets: &["registry".parse().unwrap()],
            arguments: vec!["migrate".into()],
            secrets: vec![SecretFile::new("database", &key)],
            config_map: Some("settings"),
            egress: &EgressSpec::default(),
            telemetry: &TelemetrySpec::default(),
            restart: Restart::Never,
            grace_seconds: 7,
            requests: ["100m", "64Mi"],
        };
        pod.spec(json!({"ports": []}), json!({"hostNetwork": false}))
    }

    #[test]
    fn it_is_restricted() {
        let pod = pod();
        let container = &pod["containers"][0];
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["securityContext"]["runAsUser"], 65532);
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false);
        assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
        assert_eq!(container["resources"]["requests"]["memory"], "64Mi");
    }

    #[test]
    fn secrets_are_files_and_never_variables() {
        let pod = pod();
        let container = &pod["containers"][0];
        assert_eq!(container["env"], json!([]));
        assert!(container.get("envFrom").is_none());
        let volume = &pod["volumes"][3];
        assert_eq!(volume["secret"]["secretName"], "store");
        assert_eq!(volume["secret"]["items"], json!([{"key": "url", "path": "value"}]));
        assert_eq!(container["volumeMounts"][3]["mountPath"], "/run/secrets/assay/database");
        assert_eq!(container["volumeMounts"][2]["mountPath"], "/etc/assay");
    }
}
