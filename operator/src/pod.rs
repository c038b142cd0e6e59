//! Pods as the operator creates them: one container that meets the pod security standard
//! `restricted`, with secrets as files.
//!
//! No secret is in the environment, where crash reports and child processes would see it, and no pod
//! can reach the API server.

use std::{borrow::Cow, collections::BTreeMap};

use assay_crds::{ImagePullPolicy, SecretKey, TelemetrySpec};
use assay_tenancy::{Name, manifest::PodsSpec};
use k8s_openapi::{
    api::core::v1::{
        Capabilities, ConfigMapVolumeSource, Container, EmptyDirVolumeSource, EnvVar, KeyToPath,
        LocalObjectReference, PodSecurityContext, PodSpec, PodTemplateSpec, ResourceRequirements,
        SeccompProfile, SecretVolumeSource, SecurityContext, Volume, VolumeMount,
    },
    apimachinery::pkg::api::resource::Quantity,
};

use crate::{
    egress::{Egress, SECRET_MODE},
    owned::Owner,
    pod_shape,
};

/// The numeric user and group of containers. A name could resolve to root.
const USER: i64 = 65532;
/// The data directory of programs, to which they may write.
pub(crate) const DATA: &str = "/var/lib/assay";
/// The name of the volume of the data directory.
pub(crate) const DATA_VOLUME: &str = "data";
/// The folder with settings.
pub(crate) const CONFIG: &str = "/etc/assay";
/// The folder with secrets.
const SECRETS: &str = "/run/secrets/assay";
/// The environment variable with the collector's URL, as OpenTelemetry defines it.
const COLLECTOR: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// A key of a Secret as a file in a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SecretFile {
    /// The name of the volume and of the folder, such as `database`.
    pub(crate) name: Cow<'static, str>,
    /// The key, and the Secret that it is in.
    pub(crate) source: SecretKey,
    /// True if the pod starts without the Secret.
    pub(crate) is_optional: bool,
}

impl SecretFile {
    /// A file without which the pod does not start.
    pub(crate) const fn needed(name: &'static str, source: SecretKey) -> Self {
        Self { name: Cow::Borrowed(name), source, is_optional: false }
    }

    /// A file without which the pod starts too.
    pub(crate) const fn optional(name: String, source: SecretKey) -> Self {
        Self { name: Cow::Owned(name), source, is_optional: true }
    }

    /// The token that chain servers demand of their callers.
    pub(crate) const fn chain_token(source: SecretKey) -> Self {
        Self::needed("chain-token", source)
    }

    /// The file's path in a pod.
    pub(crate) fn path(&self) -> String {
        format!("{SECRETS}/{}/value", self.name)
    }

    fn volume(&self) -> Volume {
        let item = KeyToPath { key: self.source.key.clone(), path: "value".to_owned(), mode: None };
        Volume {
            name: self.name.to_string(),
            secret: Some(SecretVolumeSource {
                secret_name: Some(self.source.name.to_string()),
                items: Some(vec![item]),
                default_mode: Some(SECRET_MODE),
                optional: self.is_optional.then_some(true),
            }),
            ..Volume::default()
        }
    }

    fn mount(&self) -> VolumeMount {
        mount(&self.name, &format!("{SECRETS}/{}", self.name), Some(true))
    }
}

/// The settings that all pods of an owner share.
#[derive(Clone, Debug)]
pub(crate) struct PodDefaults {
    /// The image with the `assay` program.
    pub(crate) image: String,
    /// The Secrets that allow pulling the image.
    pub(crate) pull_secrets: Vec<Name>,
    /// The outgoing connections of pods.
    pub(crate) egress: Egress,
    /// The export of traces and metrics.
    pub(crate) telemetry: TelemetrySpec,
    /// The pull policy of the image. `None`: that of Kubernetes.
    pub(crate) pull_policy: Option<ImagePullPolicy>,
    /// The parts of the pods that their owner's spec shapes.
    pub(crate) shape: PodsSpec,
}

/// The settings of one pod.
#[derive(Clone, Debug)]
pub(crate) struct PodSettings<'a> {
    /// The settings that all pods of the owner share.
    pub(crate) defaults: &'a PodDefaults,
    /// The arguments of the `assay` program.
    pub(crate) arguments: Vec<String>,
    /// The secrets that the pod reads.
    pub(crate) secrets: Vec<&'a SecretFile>,
    /// The `ConfigMap` with the program's settings.
    pub(crate) config_map: Option<&'a str>,
    /// The volume of the data directory.
    pub(crate) data: DataVolume,
    /// Condition under which an exited container is restarted.
    pub(crate) restart: RestartPolicy,
    /// The longest time from SIGTERM to the end of the program, in seconds.
    pub(crate) grace_seconds: u32,
    /// The CPU and memory of the container.
    pub(crate) resources: ResourceRequirements,
}

/// The volume of the data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataVolume {
    /// An empty folder that is deleted with the pod.
    Scratch,
    /// The claim `data` of a `StatefulSet`.
    Claim,
}

/// Condition under which an exited container is restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestartPolicy {
    /// The container is always restarted.
    Always,
    /// The container is never restarted: the Job creates another pod.
    Never,
}

impl<'a> PodSettings<'a> {
    /// The settings of a pod of a Job.
    pub(crate) fn for_job(
        defaults: &'a PodDefaults,
        arguments: Vec<String>,
        secrets: Vec<&'a SecretFile>,
        resources: ResourceRequirements,
    ) -> Self {
        let (data, restart) = (DataVolume::Scratch, RestartPolicy::Never);
        let (config_map, grace_seconds) = (None, 30);
        Self { defaults, arguments, secrets, config_map, data, restart, grace_seconds, resources }
    }

    /// The template of the pod, for an owner.
    pub(crate) fn template(&self, owner: &Owner) -> PodTemplateSpec {
        let (mut metadata, mut spec) = (owner.template_metadata(), self.spec());
        let shape = &self.defaults.shape;
        pod_shape::shape(shape, &owner.selector(), &mut metadata, &mut spec);
        PodTemplateSpec { metadata: Some(metadata), spec: Some(spec) }
    }

    /// The spec of the pod, without the parts that its owner's spec shapes.
    fn spec(&self) -> PodSpec {
        let mut mounts = vec![mount(DATA_VOLUME, DATA, None), mount("scratch", "/tmp", None)];
        let mut volumes = vec![empty_volume("scratch")];
        if self.data == DataVolume::Scratch {
            volumes.insert(0, empty_volume(DATA_VOLUME));
        }
        if let Some(name) = self.config_map {
            mounts.push(mount("config", CONFIG, Some(true)));
            volumes.push(Volume {
                name: "config".to_owned(),
                config_map: Some(ConfigMapVolumeSource {
                    name: name.to_owned(),
                    ..ConfigMapVolumeSource::default()
                }),
                ..Volume::default()
            });
        }
        mounts.extend(self.secrets.iter().map(|secret| secret.mount()));
        volumes.extend(self.secrets.iter().map(|secret| secret.volume()));
        if let Some((volume, mount)) = self.defaults.egress.ca_volume() {
            mounts.push(mount);
            volumes.push(volume);
        }
        let pull_secrets = self.defaults.pull_secrets.iter();
        let pull_secrets = pull_secrets.map(|name| LocalObjectReference { name: name.to_string() });
        let restart = match self.restart {
            RestartPolicy::Always => "Always",
            RestartPolicy::Never => "Never",
        };
        PodSpec {
            automount_service_account_token: Some(false),
            // A Service could otherwise set variables that look like settings.
            enable_service_links: Some(false),
            security_context: Some(PodSecurityContext {
                run_as_non_root: Some(true),
                run_as_user: Some(USER),
                run_as_group: Some(USER),
                fs_group: Some(USER),
                // A large volume whose folder has the right group is not walked through at each start.
                fs_group_change_policy: (self.data == DataVolume::Claim)
                    .then(|| "OnRootMismatch".to_owned()),
                seccomp_profile: Some(SeccompProfile {
                    type_: "RuntimeDefault".to_owned(),
                    localhost_profile: None,
                }),
                ..PodSecurityContext::default()
            }),
            image_pull_secrets: Some(pull_secrets.collect()),
            restart_policy: Some(restart.to_owned()),
            termination_grace_period_seconds: Some(self.grace_seconds.into()),
            containers: vec![self.container(mounts)],
            volumes: Some(volumes),
            ..PodSpec::default()
        }
    }

    fn container(&self, mounts: Vec<VolumeMount>) -> Container {
        Container {
            name: "assay".to_owned(),
            image: Some(self.defaults.image.clone()),
            image_pull_policy: self.defaults.pull_policy.map(|policy| policy.as_str().to_owned()),
            args: Some(self.arguments.iter().map(|argument| escaped(argument)).collect()),
            working_dir: Some(DATA.to_owned()),
            // The last lines of the log stay readable in the pod's status once the log is gone.
            termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
            env: Some(self.environment()),
            security_context: Some(SecurityContext {
                allow_privilege_escalation: Some(false),
                capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
                read_only_root_filesystem: Some(true),
                ..SecurityContext::default()
            }),
            resources: Some(self.resources.clone()),
            volume_mounts: Some(mounts),
            ..Container::default()
        }
    }

    fn environment(&self) -> Vec<EnvVar> {
        let mut variables = self.defaults.egress.environment();
        variables.extend(self.defaults.telemetry.otlp_endpoint.as_ref().map(|url| EnvVar {
            name: COLLECTOR.to_owned(),
            value: Some(url.clone()),
            value_from: None,
        }));
        variables
    }
}

/// Escapes `$(NAME)` in an argument, which the kubelet would replace by a variable of the container.
fn escaped(argument: &str) -> String {
    argument.replace("$(", "$$(")
}

/// Requests of CPU and memory. No limits: throttled CPU delays answers, and memory grows with lists and labels.
pub(crate) fn requests(cpu: &str, memory: &str) -> ResourceRequirements {
    let requests = [("cpu", cpu), ("memory", memory)];
    let requests = requests.map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())));
    ResourceRequirements {
        requests: Some(BTreeMap::from(requests)),
        ..ResourceRequirements::default()
    }
}

fn mount(name: &str, path: &str, read_only: Option<bool>) -> VolumeMount {
    let (name, mount_path) = (name.to_owned(), path.to_owned());
    VolumeMount { name, mount_path, read_only, ..VolumeMount::default() }
}

fn empty_volume(name: &str) -> Volume {
    let empty_dir = Some(EmptyDirVolumeSource::default());
    Volume { name: name.to_owned(), empty_dir, ..Volume::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod() -> Value {
        let defaults = PodDefaults {
            image: "assay:1".into(),
            pull_secrets: vec!["registry".parse().unwrap()],
            egress: Egress::default(),
            telemetry: TelemetrySpec::default(),
            pull_policy: None,
            shape: PodsSpec::default(),
        };
        let source = SecretKey { name: "store".parse().unwrap(), key: "url".into() };
        let database = SecretFile::needed("database", source);
        let pod = PodSettings {
            defaults: &defaults,
            arguments: vec!["migrate".into()],
            secrets: vec![&database],
            config_map: Some("settings"),
            data: DataVolume::Scratch,
            restart: RestartPolicy::Never,
            grace_seconds: 7,
            resources: requests("100m", "64Mi"),
        };
        json!(pod.spec())
    }

    #[test]
    fn pods_meet_the_restricted_standard() {
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
    fn arguments_are_passed_on_as_they_are() {
        assert_eq!(escaped("https://a/$(HTTPS_PROXY)?$x"), "https://a/$$(HTTPS_PROXY)?$x");
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
