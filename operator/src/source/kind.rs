//! The two kinds of sources.

use std::fmt::Debug;

use assay_crds::{ChainSource, IntelSource};
use assay_tenancy::{
    Name,
    manifest::{ChainMode, ChainProtocol, ChainSourceSpec, IntelSourceSpec, Kind},
};
use kube::Resource;

use super::{
    CHAIN_SERVER, DesiredSources, WorkloadSettings, names,
    task::{Endpoint, Idle, Import, ServeChain, Task},
};
use crate::{owned::OwnedKind, pod::SecretFile};

/// A kind of sources. Only the metadata of its objects is watched: their specs come from the store,
/// once they are in force.
pub(super) trait Source:
    Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static
{
    /// The kind.
    const KIND: Kind;
    /// The component of its objects in labels and names.
    const COMPONENT: &'static str;
    /// Says whether its pods have volumes of their own.
    const HAS_VOLUMES: bool;
    /// The kind's spec.
    type Spec: Debug + Send + Sync;

    /// The source of that name, if it is in force.
    fn desired(desired: &DesiredSources, name: &Name) -> Option<Self::Spec>;

    /// The kinds and names of the objects that a source may have.
    fn object_names(name: &str) -> Vec<(OwnedKind, String)>;

    /// The task of its workload. `is_new`: whether the store never held anything of the source, if
    /// that is known.
    fn task(
        name: &Name,
        spec: &Self::Spec,
        is_new: Option<bool>,
        settings: &WorkloadSettings,
    ) -> Result<Task, Idle>;
}

impl Source for IntelSource {
    const KIND: Kind = Kind::IntelSource;
    const COMPONENT: &'static str = "intel";
    const HAS_VOLUMES: bool = false;
    type Spec = IntelSourceSpec;

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

    fn task(
        name: &Name,
        spec: &Self::Spec,
        is_new: Option<bool>,
        _: &WorkloadSettings,
    ) -> Result<Task, Idle> {
        if !spec.location.contains("://") {
            return Err(Idle::File);
        }
        Ok(Task::Import(Import {
            source: name.clone(),
            format: spec.format,
            accept_digest: spec.accept_digest.clone().filter(|_| !spec.format.is_labels()),
            location: spec.location.clone(),
            credentials: spec
                .credentials_secret
                .clone()
                .map(|source| SecretFile { name: "credentials", source }),
            schedule: spec.schedule.clone(),
            is_suspended: spec.suspended,
            has_first_job: is_new == Some(true) && !spec.suspended,
        }))
    }
}

impl Source for ChainSource {
    const KIND: Kind = Kind::ChainSource;
    const COMPONENT: &'static str = CHAIN_SERVER;
    const HAS_VOLUMES: bool = true;
    type Spec = ChainSourceSpec;

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

    fn task(
        _: &Name,
        spec: &Self::Spec,
        _: Option<bool>,
        settings: &WorkloadSettings,
    ) -> Result<Task, Idle> {
        if spec.mode == ChainMode::OnDemand {
            return Err(Idle::OnDemand);
        }
        let token = settings.chain_token.clone().ok_or(Idle::NoChainToken)?;
        let credentials = || spec.credentials_secret.clone();
        let endpoint = match spec.protocol {
            ChainProtocol::Rpc => Endpoint::Rpc {
                cookie: credentials().map(|source| SecretFile { name: "credentials", source }),
            },
            ChainProtocol::Esplora => Endpoint::Esplora,
        };
        Ok(Task::ServeChain(Box::new(ServeChain {
            chain: spec.chain.clone(),
            endpoint,
            url: spec.endpoint.clone(),
            start_height: spec.start_height,
            is_test_network: spec.allow_test_network,
            is_suspended: spec.suspended,
            replicas: spec.replicas.into(),
            volume: spec.volume.clone(),
            pods: spec.pods.clone(),
            token,
        })))
    }
}
