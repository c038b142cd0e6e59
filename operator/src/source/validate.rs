//! Validation of a source's workload.

use std::collections::BTreeSet;

use super::{
    credentials::RequestedCredentials,
    fetch::Inputs,
    kind::{Source, TaskInputs},
    names,
    task::{IdleReason, Task},
};
use crate::{
    owned::Owner,
    pod::{PodDefaults, SecretFile},
    ports,
    secret_state::SecretState,
};

/// The URL that gives the default port while the Secret with the database's URL does not exist.
const USUAL_DATABASE: &str = "postgres://database";

/// A source whose workload can run.
#[derive(Clone, Debug)]
pub(super) struct ValidatedSource {
    /// The name of the source.
    pub(super) name: String,
    /// The name of the source's objects.
    pub(super) object_name: String,
    /// The owner of the source's objects: the source.
    pub(super) owner: Owner,
    /// The settings of the source's pods.
    pub(super) pods: PodDefaults,
    /// The Secret with the database's URL.
    pub(super) database: SecretFile,
    /// The ports to which the source's pods connect.
    pub(super) egress_ports: BTreeSet<u16>,
    /// The task of the source's workload.
    pub(super) task: Task,
}

/// Validates a source's workload.
pub(super) fn validate<K: Source>(
    inputs: &Inputs<'_, K::Spec>,
) -> Result<ValidatedSource, IdleReason> {
    let Inputs { name, spec, is_new, owner, settings, .. } = inputs;
    let requested = K::credentials(spec);
    let permitted = |requested: RequestedCredentials<'_>| {
        requested.permitted_by(inputs.credentials.as_ref(), owner.namespace())
    };
    let credentials = requested.map(permitted).transpose();
    let has_volumes = !inputs.claims.is_empty();
    let task_inputs = TaskInputs { credentials, is_new: *is_new, has_volumes, settings };
    let task = K::task(name, spec, task_inputs)?;
    if let Some((kind, name)) = inputs.live.foreign(&inputs.owner, |kind| task.has(kind)) {
        let namespace = inputs.owner.namespace().to_owned();
        return Err(IdleReason::NameTaken { kind: kind.resource().kind, name, namespace });
    }
    let pods = &inputs.settings.pods;
    let mut egress_ports = ports::url_ports(task.url());
    if task.url().starts_with("http://") {
        // The server may redirect to https.
        egress_ports.extend(ports::url_ports("https://redirected"));
    }
    match &inputs.database {
        SecretState::Present { ports, .. } => egress_ports.extend(ports),
        SecretState::NoSecret | SecretState::NoKey => {
            egress_ports.extend(ports::url_ports(USUAL_DATABASE));
        }
    }
    egress_ports.extend(pods.egress.ports());
    egress_ports.extend(ports::collector_ports(&pods.telemetry));
    Ok(ValidatedSource {
        name: inputs.name.to_string(),
        object_name: names::workload(K::COMPONENT, inputs.name.as_str()),
        owner: inputs.owner.clone(),
        pods: pods.clone(),
        database: inputs.settings.database.clone(),
        egress_ports,
        task,
    })
}
