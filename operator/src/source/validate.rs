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
    destinations::{self, Destination},
    network_policy::EgressNetworks,
    owned::Owner,
    pod::{PodDefaults, SecretFile},
    secret_state::SecretState,
};

/// The port of https.
const HTTPS: u16 = 443;

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
    /// The destinations to which the source's pods connect.
    pub(super) destinations: BTreeSet<Destination>,
    /// The networks of the source's network policy. `None`: the source has no network policy.
    pub(super) networks: Option<EgressNetworks>,
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
    let mut destinations = destinations::of_url(task.url());
    if task.url().starts_with("http://") {
        // The server may redirect to https.
        let over_tls = |it: &Destination| Destination { hosts: it.hosts.clone(), port: HTTPS };
        let redirected: Vec<Destination> = destinations.iter().map(over_tls).collect();
        destinations.extend(redirected);
    }
    match &inputs.database {
        SecretState::Present { destinations: named, .. } => destinations.extend(named.clone()),
        // Without the Secret no pod starts.
        SecretState::NoSecret | SecretState::NoKey => {}
    }
    destinations.extend(pods.egress.destinations());
    destinations.extend(destinations::of_collector(&pods.telemetry));
    Ok(ValidatedSource {
        name: inputs.name.to_string(),
        object_name: names::workload(K::COMPONENT, inputs.name.as_str()),
        owner: inputs.owner.clone(),
        pods: PodDefaults { shape: K::pods(spec).clone(), ..pods.clone() },
        database: inputs.settings.database.clone(),
        destinations,
        networks: inputs.networks.clone(),
        task,
    })
}
