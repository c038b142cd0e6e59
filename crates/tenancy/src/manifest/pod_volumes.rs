//! Environment and volumes of the pods of an object, in the forms of Kubernetes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pods::MOST_ENTRIES;
use crate::schema::{field_rule, rule};

/// The names of volumes of the operator.
const RESERVED_VOLUMES: &[&str] = &[
    "authorities",
    "cache",
    "chain-token",
    "config",
    "credentials",
    "data",
    "database",
    "scratch",
    "transfers",
];
/// The beginning of the names of the operator's volumes with credentials of sources.
const RESERVED_START: &str = "histories-";
/// The folders and files of the operator, of the program, its loader and its certificates in a container.
const RESERVED_FOLDERS: &[&str] = &[
    "/bin",
    "/etc/assay",
    "/etc/assay-ca",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/ssl",
    "/lib",
    "/lib64",
    "/run/secrets",
    "/tmp",
    "/transfers",
    "/usr",
    "/var/lib/assay",
    "/var/run",
];
/// The one setting of programs that is a variable of users.
pub(crate) const LOG_LEVEL: &str = "ASSAY_LOG";
/// The beginnings of names of variables that the operator sets, that load code into programs, or that complete the URLs
/// of databases.
pub(crate) const RESERVED_VARIABLES: &[&str] = &[
    "ALL_PROXY",
    "ASSAY_",
    "GLIBC_",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LD_",
    "NO_PROXY",
    "OTEL_",
    "PG",
    "SSL_CERT_",
    "all_proxy",
    "https_proxy",
    "http_proxy",
    "no_proxy",
];

/// The rule about names of variables.
pub(crate) const RESERVED_VARIABLE: &str =
    "the operator sets the settings of programs; of theirs, only ASSAY_LOG is allowed";
/// The rule about values of variables.
pub(crate) const ONE_VALUE: &str = "give a value or valueFrom";
/// The rule about references of variables.
pub(crate) const ONE_REFERENCE: &str = "name one of configMapKeyRef, secretKeyRef and fieldRef";
/// The rule about groups of variables.
pub(crate) const ONE_GROUP: &str = "name either a configMapRef or a secretRef";
/// The rule about prefixes of groups of variables: keys of an object are not known to the rules.
pub(crate) const PREFIX_FORM: &str =
    "give a prefix with which no name of a setting, proxy or loader begins, such as EXTRA_";
/// The rule about names of volumes.
pub(crate) const RESERVED_VOLUME: &str = "is the name of a volume of the operator: choose another";
/// The rule about sources of volumes.
pub(crate) const ONE_SOURCE: &str =
    "name one of configMap, secret, emptyDir and persistentVolumeClaim; no others are allowed";
/// The rule about paths in volumes.
pub(crate) const SUB_PATH_FORM: &str = "write a relative path without `..`";

/// An environment variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [
    field_rule(".name", &variable_rule(), RESERVED_VARIABLE),
    rule("has(self.value) != has(self.valueFrom)", ONE_VALUE),
]))]
pub struct EnvironmentVariable {
    /// Name of the variable. Names that begin with `ASSAY_` (but `ASSAY_LOG`), `LD_`, `GLIBC_`, `OTEL_`, `PG` or
    /// `SSL_CERT_`, and those of proxies, are refused.
    #[schemars(length(min = 1, max = 128), regex(pattern = "^[A-Za-z_][A-Za-z0-9_.-]*$"))]
    pub name: String,
    /// Value of the variable. Exactly one of `value` and `valueFrom`.
    #[schemars(length(max = 4096))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Source of the value. Exactly one of `value` and `valueFrom`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<ValueSource>,
}

/// Source of the value of an environment variable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [rule(
    "[has(self.configMapKeyRef), has(self.secretKeyRef), has(self.fieldRef)].filter(is, is).size() == 1",
    ONE_REFERENCE,
)]))]
pub struct ValueSource {
    /// Key of a `ConfigMap` in the namespace of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<KeyReference>,
    /// Key of a Secret in the namespace of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<KeyReference>,
    /// Field of the pod, such as `metadata.name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<FieldReference>,
}

/// Key of a `ConfigMap` or Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyReference {
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Key in the object.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// Lets the pod start without the key. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// Field of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FieldReference {
    /// Path of the field, such as `metadata.name` or `status.hostIP`.
    #[schemars(length(min = 1, max = 256))]
    pub field_path: String,
}

/// A `ConfigMap` or Secret whose keys are environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(extend("x-kubernetes-validations" = [
    rule("has(self.configMapRef) != has(self.secretRef)", ONE_GROUP),
    field_rule(".prefix", &prefix_rule(), PREFIX_FORM),
]))]
pub struct EnvironmentSource {
    /// Text before each key in the names of the variables, such as `EXTRA_`. Required: a prefix of which no refused
    /// name of `env` can result.
    #[schemars(length(max = 64), regex(pattern = "^([A-Za-z_][A-Za-z0-9_.-]*)?$"))]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prefix: String,
    /// `ConfigMap` in the namespace of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<ObjectReference>,
    /// Secret in the namespace of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<ObjectReference>,
}

/// A `ConfigMap` or Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectReference {
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Lets the pod start without the object. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// A volume of a pod: exactly one of its sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [
    field_rule(".name", &volume_rule(), RESERVED_VOLUME),
    rule(
        "[has(self.configMap), has(self.secret), has(self.emptyDir), has(self.persistentVolumeClaim)]\
         .filter(is, is).size() == 1",
        ONE_SOURCE,
    ),
]))]
pub struct PodVolume {
    /// Name of the volume, by which `volumeMounts` refer to it.
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: String,
    /// `ConfigMap` in the namespace of the pod, as files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapVolume>,
    /// Secret in the namespace of the pod, as files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretVolume>,
    /// Empty folder that is deleted with the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty_dir: Option<EmptyDirVolume>,
    /// `PersistentVolumeClaim` in the namespace of the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persistent_volume_claim: Option<ClaimVolume>,
}

/// A `ConfigMap` as files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfigMapVolume {
    /// Name of the `ConfigMap`.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Keys to mount, with their paths. Default: all keys, by their names.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<KeyPath>,
    /// Lets the pod start without the `ConfigMap`. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// A Secret as files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretVolume {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub secret_name: String,
    /// Keys to mount, with their paths. Default: all keys, by their names.
    #[schemars(length(max = MOST_ENTRIES))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<KeyPath>,
    /// Lets the pod start without the Secret. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// A key of a `ConfigMap` or Secret, and the path of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyPath {
    /// Key in the object.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// Relative path of the file in the volume.
    #[schemars(length(min = 1, max = 1024))]
    pub path: String,
}

/// An empty folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct EmptyDirVolume {
    /// Largest size of the folder, such as `1Gi`. Unset: that of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_limit: Option<crate::ResourceQuantity>,
}

/// A claim of a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimVolume {
    /// Name of the claim.
    #[schemars(length(min = 1, max = 253))]
    pub claim_name: String,
    /// Mounts the volume read-only. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// A folder of the container at which a volume is mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [
    field_rule(".mountPath", &folder_rule(), &folder_form()),
    field_rule(
        ".subPath",
        "!has(self.subPath) || !(self.subPath.startsWith('/') || self.subPath.contains('..'))",
        SUB_PATH_FORM,
    ),
]))]
pub struct PodVolumeMount {
    /// Name of a volume of `volumes`.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Absolute path of the folder. Folders of Assay are refused: `/etc/assay`, `/run/secrets`, `/tmp`, `/transfers`,
    /// `/var/lib/assay`; those of programs and certificates: `/bin`, `/lib`, `/usr`, `/etc/ssl`; and those that hold
    /// them.
    #[schemars(length(min = 1, max = 1024))]
    pub mount_path: String,
    /// Path in the volume. Default: all of the volume.
    #[schemars(length(min = 1, max = 1024))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_path: Option<String>,
    /// Mounts the volume read-only. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// Says whether a name is that of a volume of the operator.
pub(crate) fn is_reserved_volume(name: &str) -> bool {
    RESERVED_VOLUMES.contains(&name) || name.starts_with(RESERVED_START)
}

/// Says whether a prefix is one with which no reserved name of a variable begins, nor the prefix with one.
pub(crate) fn is_free_prefix(prefix: &str) -> bool {
    RESERVED_VARIABLES.iter().all(|start| !prefix.starts_with(start) && !start.starts_with(prefix))
}

/// Says whether a path is an absolute one that shares no folder with the operator's.
pub(crate) fn is_free_folder(path: &str) -> bool {
    let is_plain = path.starts_with('/')
        && path.len() > 1
        && !path.contains(':')
        && !path.ends_with('/')
        && path.split('/').skip(1).all(|part| !part.is_empty() && !part.starts_with('.'));
    let is_in = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_plain && RESERVED_FOLDERS.iter().all(|folder| !is_in(path, folder) && !is_in(folder, path))
}

/// The rule that a name of a variable is not reserved.
fn variable_rule() -> String {
    let others = RESERVED_VARIABLES.iter().map(|start| format!("!self.name.startsWith('{start}')"));
    format!("self.name == '{LOG_LEVEL}' || ({})", others.collect::<Vec<_>>().join(" && "))
}

/// The rule that no reserved name of a variable can begin with a prefix.
fn prefix_rule() -> String {
    let others = RESERVED_VARIABLES.iter().map(|start| {
        format!("!self.prefix.startsWith('{start}') && !'{start}'.startsWith(self.prefix)")
    });
    format!("has(self.prefix) && {}", others.collect::<Vec<_>>().join(" && "))
}

/// The rule that a name of a volume is not reserved.
fn volume_rule() -> String {
    let names: Vec<String> = RESERVED_VOLUMES.iter().map(|name| format!("'{name}'")).collect();
    let listed = names.join(", ");
    format!("!(self.name in [{listed}] || self.name.startsWith('{RESERVED_START}'))")
}

/// The rule about folders of volumes.
pub(crate) fn folder_form() -> String {
    let folders = RESERVED_FOLDERS.join(", ");
    format!(
        "write an absolute path, such as /extra, that neither holds nor is in a folder of Assay, of programs or of \
         certificates: {folders}"
    )
}

/// The rule that a folder is free, as far as a pattern can say it.
fn folder_rule() -> String {
    let folders = RESERVED_FOLDERS.iter().flat_map(|folder| {
        [
            format!("!(self.mountPath + '/').startsWith('{folder}/')"),
            format!("!'{folder}/'.startsWith(self.mountPath + '/')"),
        ]
    });
    let form = "self.mountPath.matches('^(/[^/:]+)+$') && !self.mountPath.contains('/.')";
    [form.to_owned()].into_iter().chain(folders).collect::<Vec<_>>().join(" && ")
}
