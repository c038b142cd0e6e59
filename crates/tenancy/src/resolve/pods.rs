//! Validation of the pods of an object.

use std::collections::BTreeSet;

use super::{ManifestProblem, ValidManifest};
use crate::manifest::{
    LABEL_FORM, LOG_LEVEL, MOST_ENTRIES, ONE_GROUP, ONE_REFERENCE, ONE_SOURCE, ONE_VALUE,
    PREFIX_FORM, PodsSpec, RESERVED_ANNOTATION, RESERVED_ANNOTATIONS, RESERVED_LABEL,
    RESERVED_VARIABLE, RESERVED_VARIABLES, RESERVED_VOLUME, SUB_PATH_FORM, folder_form,
    is_free_folder, is_free_prefix, is_label, is_reserved_label, is_reserved_volume,
};

/// A problem of pods: the field below `spec.pods`, such as `.env[0].name`, and the message.
pub type PodsProblem = (String, String);

/// The problems of the pods of an object that its schema cannot exclude in a file, in the order of the fields.
#[must_use]
pub fn pods_problems(pods: &PodsSpec) -> Vec<PodsProblem> {
    let mut problems = Problems::default();
    problems.require(
        pods.resources.is_consistent(),
        ".resources.limits",
        "must not be smaller than the requests",
    );
    for (name, count) in [
        ("nodeSelector", pods.node_selector.len()),
        ("tolerations", pods.tolerations.len()),
        ("topologySpreadConstraints", pods.topology_spread_constraints.len()),
        ("labels", pods.labels.len()),
        ("annotations", pods.annotations.len()),
        ("env", pods.env.len()),
        ("envFrom", pods.env_from.len()),
        ("volumes", pods.volumes.len()),
        ("volumeMounts", pods.volume_mounts.len()),
    ] {
        let message = format!("has more than {MOST_ENTRIES} entries");
        problems.require(count <= MOST_ENTRIES, &format!(".{name}"), &message);
    }
    let is_free = !pods.labels.keys().any(|name| is_reserved_label(name));
    problems.require(is_free, ".labels", RESERVED_LABEL);
    let is_well_formed = pods.labels.iter().all(|(name, value)| is_label(name, value));
    problems.require(is_well_formed, ".labels", LABEL_FORM);
    let is_reserved =
        |name: &String| RESERVED_ANNOTATIONS.iter().any(|start| name.starts_with(start));
    problems.require(
        !pods.annotations.keys().any(is_reserved),
        ".annotations",
        RESERVED_ANNOTATION,
    );
    check_environment(pods, &mut problems);
    check_volumes(pods, &mut problems);
    problems.0
}

/// Adds the problems of the pods of a manifest.
pub(super) fn check<S>(
    pods: &PodsSpec,
    manifest: &ValidManifest<'_, S>,
    problems: &mut Vec<ManifestProblem>,
) {
    let found = pods_problems(pods);
    problems.extend(
        found
            .into_iter()
            .map(|(path, message)| manifest.problem(&format!("spec.pods{path}"), message)),
    );
}

#[derive(Default)]
struct Problems(Vec<PodsProblem>);

impl Problems {
    fn require(&mut self, holds: bool, path: &str, message: &str) {
        if !holds {
            self.0.push((path.to_owned(), message.to_owned()));
        }
    }
}

fn check_environment(pods: &PodsSpec, problems: &mut Problems) {
    let mut names = BTreeSet::new();
    for (index, variable) in pods.env.iter().enumerate() {
        let path = format!(".env[{index}]");
        let name = variable.name.as_str();
        let is_reserved =
            name != LOG_LEVEL && RESERVED_VARIABLES.iter().any(|start| name.starts_with(start));
        problems.require(!is_reserved, &format!("{path}.name"), RESERVED_VARIABLE);
        let is_new = names.insert(name);
        problems.require(is_new, &format!("{path}.name"), "is the name of another variable too");
        let has_one = variable.value.is_some() != variable.value_from.is_some();
        problems.require(has_one, &path, ONE_VALUE);
        let one_reference = variable.value_from.as_ref().is_none_or(|source| {
            let [config_map, secret, field] = [
                source.config_map_key_ref.is_some(),
                source.secret_key_ref.is_some(),
                source.field_ref.is_some(),
            ];
            u8::from(config_map) + u8::from(secret) + u8::from(field) == 1
        });
        problems.require(one_reference, &format!("{path}.valueFrom"), ONE_REFERENCE);
    }
    for (index, group) in pods.env_from.iter().enumerate() {
        let path = format!(".envFrom[{index}]");
        let has_one = group.config_map_ref.is_some() != group.secret_ref.is_some();
        problems.require(has_one, &path, ONE_GROUP);
        let is_free = is_free_prefix(&group.prefix);
        problems.require(is_free, &format!("{path}.prefix"), PREFIX_FORM);
    }
}

fn check_volumes(pods: &PodsSpec, problems: &mut Problems) {
    let mut names = BTreeSet::new();
    for (index, volume) in pods.volumes.iter().enumerate() {
        let path = format!(".volumes[{index}]");
        let name = volume.name.as_str();
        problems.require(!is_reserved_volume(name), &format!("{path}.name"), RESERVED_VOLUME);
        let is_new = names.insert(name);
        problems.require(is_new, &format!("{path}.name"), "is the name of another volume too");
        let sources = [
            volume.config_map.is_some(),
            volume.secret.is_some(),
            volume.empty_dir.is_some(),
            volume.persistent_volume_claim.is_some(),
        ];
        let count = sources.into_iter().filter(|is_named| *is_named).count();
        problems.require(count == 1, &path, ONE_SOURCE);
    }
    let mut folders = BTreeSet::new();
    for (index, mount) in pods.volume_mounts.iter().enumerate() {
        let path = format!(".volumeMounts[{index}]");
        let is_known = names.contains(mount.name.as_str());
        let message = "is no volume of `volumes`";
        problems.require(is_known, &format!("{path}.name"), message);
        let folder = mount.mount_path.as_str();
        problems.require(is_free_folder(folder), &format!("{path}.mountPath"), &folder_form());
        let message = "is the folder of another mount too";
        problems.require(folders.insert(folder), &format!("{path}.mountPath"), message);
        let is_inside = mount
            .sub_path
            .as_deref()
            .is_none_or(|path| !path.starts_with('/') && path.split('/').all(|part| part != ".."));
        problems.require(is_inside, &format!("{path}.subPath"), SUB_PATH_FORM);
    }
}
