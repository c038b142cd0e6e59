//! The two kinds of sources: `IntelSource` and `ChainSource`.

use std::{collections::BTreeSet, fmt::Debug};

use assay_address::ChainId;
use assay_crds::{
    ChainSource, IntelSource,
    status::{ChainSourceStatus, IntelSourceStatus, Status},
};
use assay_tenancy::{
    Name,
    manifest::{
        ChainMode, ChainProtocol, ChainSourceSpec, FetchSchedule, IntelSourceSpec, Kind, PodsSpec,
    },
};
use jiff::SignedDuration;
use kube::Resource;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    CHAIN_SERVER, DesiredSources, WorkloadSettings,
    credentials::{CredentialsRefusal, RequestedCredentials, SourceCredentials},
    names,
    ready::SourceData,
    status::{self, Replicas},
    task::{ChainServerTask, IdleReason, ImportTask, PauseReason, Task},
};
use crate::owned::OwnedKind;

/// A kind of sources. The operator watches only the objects' metadata; their specs in force come from the store.
pub(super) trait Source:
    Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static
{
    /// The kind.
    const KIND: Kind;
    /// The component of the source's objects in labels and names.
    const COMPONENT: &'static str;
    /// True if the source's pods have volumes of their own.
    const HAS_VOLUMES: bool;
    /// The kind's spec.
    type Spec: Debug + Send + Sync;
    /// The kind's status.
    type Status: Status + Serialize + DeserializeOwned + Send + Sync;

    /// The spec of the source of that name, if it is in force.
    fn desired(desired: &DesiredSources, name: &Name) -> Option<Self::Spec>;

    /// The kinds and names of the objects that a source may have.
    fn object_names(name: &str) -> Vec<(OwnedKind, String)>;

    /// The credentials that the source's pods need, in a Secret.
    fn credentials(spec: &Self::Spec) -> Option<RequestedCredentials<'_>>;

    /// The parts of the source's pods that its spec shapes.
    fn pods(spec: &Self::Spec) -> &PodsSpec;

    /// The task of the source's workload.
    fn task(name: &Name, spec: &Self::Spec, inputs: TaskInputs<'_>) -> Result<Task, IdleReason>;

    /// The status fields about the pods of the source's workload.
    fn workload_status(replicas: Option<Replicas>) -> Self::Status;

    /// The data of the source of that name. `imported` are the names of sources that were ever imported; `None` until the
    /// store was read.
    fn data(
        name: &Name,
        spec: &Self::Spec,
        status: &Self::Status,
        imported: Option<&BTreeSet<String>>,
    ) -> SourceData;
}

/// The inputs of a task, except the spec.
#[derive(Clone, Debug)]
pub(super) struct TaskInputs<'a> {
    /// The credentials that the source's pods need, if the Secret permits their use.
    pub(super) credentials: Result<Option<SourceCredentials>, CredentialsRefusal>,
    /// True if the source was never imported. `None` until the store was read.
    pub(super) is_new: Option<bool>,
    /// True if volumes of earlier pods of the source exist.
    pub(super) has_volumes: bool,
    /// The settings of workloads.
    pub(super) settings: &'a WorkloadSettings,
}

impl Source for IntelSource {
    const KIND: Kind = Kind::IntelSource;
    const COMPONENT: &'static str = "intel";
    const HAS_VOLUMES: bool = false;
    type Spec = IntelSourceSpec;
    type Status = IntelSourceStatus;

    fn desired(desired: &DesiredSources, name: &Name) -> Option<Self::Spec> {
        desired.feeds.get(name).cloned()
    }

    fn object_names(name: &str) -> Vec<(OwnedKind, String)> {
        let name = names::workload(Self::COMPONENT, name);
        vec![
            (OwnedKind::Job, names::first_job(&name)),
            (OwnedKind::NetworkPolicy, name.clone()),
            (OwnedKind::CronJob, name),
        ]
    }

    fn credentials(spec: &Self::Spec) -> Option<RequestedCredentials<'_>> {
        let is_url = spec.location.contains("://");
        let secret = spec.credentials_secret.as_ref().filter(|_| is_url)?;
        Some(RequestedCredentials { secret, url: &spec.location })
    }

    fn pods(spec: &Self::Spec) -> &PodsSpec {
        &spec.pods
    }

    fn task(name: &Name, spec: &Self::Spec, inputs: TaskInputs<'_>) -> Result<Task, IdleReason> {
        let credentials = inputs.credentials.map_err(IdleReason::CredentialsRefused)?;
        if !spec.location.contains("://") {
            return Err(IdleReason::File);
        }
        let has_first_job = inputs.is_new == Some(true) && !spec.suspended;
        let (source, spec) = (name.clone(), spec.clone());
        Ok(Task::Import(Box::new(ImportTask { source, spec, credentials, has_first_job })))
    }

    fn workload_status(_: Option<Replicas>) -> Self::Status {
        IntelSourceStatus::default()
    }

    fn data(
        name: &Name,
        spec: &Self::Spec,
        status: &Self::Status,
        imported: Option<&BTreeSet<String>>,
    ) -> SourceData {
        match (imported, status.verified_at) {
            (Some(imported), _) if !imported.contains(name.as_str()) => SourceData::NeverFetched,
            (Some(_), Some(at)) => {
                let schedule = FetchSchedule::parse(&spec.schedule).ok();
                let next = |time| schedule.as_ref()?.next_after(time);
                let missed_from = next(at).filter(|_| !spec.suspended).and_then(next);
                SourceData::Fetched { at, missed_from }
            }
            _ => SourceData::Unread,
        }
    }
}

impl Source for ChainSource {
    const KIND: Kind = Kind::ChainSource;
    const COMPONENT: &'static str = CHAIN_SERVER;
    const HAS_VOLUMES: bool = true;
    type Spec = ChainSourceSpec;
    type Status = ChainSourceStatus;

    fn desired(desired: &DesiredSources, name: &Name) -> Option<Self::Spec> {
        desired.chains.get(name).cloned()
    }

    fn object_names(name: &str) -> Vec<(OwnedKind, String)> {
        let name = names::workload(Self::COMPONENT, name);
        let kinds = [
            OwnedKind::NetworkPolicy,
            OwnedKind::Service,
            OwnedKind::PodDisruptionBudget,
            OwnedKind::StatefulSet,
            // Of releases before chain servers.
            OwnedKind::Deployment,
        ];
        kinds.map(|kind| (kind, name.clone())).into()
    }

    /// Returns credentials only for a chain that is followed from a node.
    fn credentials(spec: &Self::Spec) -> Option<RequestedCredentials<'_>> {
        let asks = spec.mode == ChainMode::Follow && spec.protocol == ChainProtocol::Rpc;
        let secret = spec.credentials_secret.as_ref().filter(|_| asks && !spec.suspended)?;
        Some(RequestedCredentials { secret, url: &spec.endpoint })
    }

    fn pods(spec: &Self::Spec) -> &PodsSpec {
        &spec.pods
    }

    fn task(_: &Name, spec: &Self::Spec, inputs: TaskInputs<'_>) -> Result<Task, IdleReason> {
        if spec.mode == ChainMode::OnDemand {
            return Err(IdleReason::OnDemand);
        }
        let token = inputs.settings.chain_token.clone();
        let (credentials, pause) = match inputs.credentials {
            Ok(credentials) => (credentials, spec.suspended.then_some(PauseReason::Suspended)),
            // Servers that have blocks go on answering from them.
            Err(refusal) if inputs.has_volumes && token.is_some() => {
                (None, Some(PauseReason::CredentialsRefused(refusal)))
            }
            Err(refusal) => return Err(IdleReason::CredentialsRefused(refusal)),
        };
        let token = token.ok_or(IdleReason::NoChainToken)?;
        let spec = spec.clone();
        Ok(Task::ServeChain(Box::new(ChainServerTask { spec, credentials, pause, token })))
    }

    fn workload_status(replicas: Option<Replicas>) -> Self::Status {
        status::replica_fields(replicas)
    }

    fn data(
        _: &Name,
        spec: &Self::Spec,
        status: &Self::Status,
        _: Option<&BTreeSet<String>>,
    ) -> SourceData {
        match spec.mode {
            ChainMode::OnDemand if spec.suspended => return SourceData::Suspended,
            ChainMode::OnDemand => return SourceData::OnDemand,
            ChainMode::Follow => {}
        }
        let chain = spec.chain.parse::<ChainId>().ok();
        let seconds = chain.map_or(0, |chain| chain.info().longest_tip_age_seconds());
        let rate = status.blocks_per_second.filter(|rate| *rate > 0.0);
        SourceData::Followed {
            newest: status.tip_height.zip(status.tip_time),
            source_height: status.source_height,
            blocks_per_second: rate.map(|rate| rate.to_string()),
            longest_age: SignedDuration::from_secs(seconds),
        }
    }
}
