//! The objects of chain servers. Each server has a volume with the whole graph, follows the chain and answers API
//! servers.

use std::path::Path;

use assay_tenancy::manifest::{ChainProtocol, TRANSFERS_FOLDER, VolumeSpec};
use k8s_openapi::{
    api::{
        apps::v1::{
            StatefulSet, StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetSpec,
            StatefulSetUpdateStrategy,
        },
        core::v1::{
            PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimVolumeSource,
            PodSpec, PodTemplateSpec, Service, ServiceSpec, Volume, VolumeMount,
            VolumeResourceRequirements,
        },
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::database_arguments;
use crate::{
    pod::{DATA_VOLUME, DataVolume, PodSettings, RestartPolicy},
    pod_shape::{self, DefaultRequests, quantities},
    serving::{self, ADMIN, API, DRAIN_SECONDS, GRACE_SECONDS, TERMINATION_SECONDS, service_port},
    source::{
        credentials::SourceCredentials, names, task::ChainServerTask, validate::ValidatedSource,
    },
};

/// The CPU and memory that a server requests.
const REQUESTS: DefaultRequests = DefaultRequests::new(250, 1024);
/// The time for which a server must be ready before the next server is replaced, in seconds. API servers find a new
/// server through the cluster's DNS, which caches answers for some seconds.
const MIN_READY_SECONDS: i32 = 15;
/// The name of the volume with files of transfers.
const FILES_VOLUME: &str = "transfers";
/// The resource name of a volume's size.
pub(in crate::source) const STORAGE: &str = "storage";

/// The headless Service, whose name resolves to all ready servers.
pub(super) fn service(source: &ValidatedSource) -> Service {
    Service {
        metadata: source.owner.metadata(&source.object_name),
        spec: Some(ServiceSpec {
            type_: Some("ClusterIP".to_owned()),
            cluster_ip: Some("None".to_owned()),
            selector: Some(source.owner.match_labels()),
            ports: Some(vec![service_port(API, API.1), service_port(ADMIN, ADMIN.1)]),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// The `StatefulSet` of servers. A new image replaces one server at a time, each only once the server replaced before
/// is ready.
pub(super) fn stateful_set(serve: &ChainServerTask, source: &ValidatedSource) -> StatefulSet {
    let owner = &source.owner;
    let retain = || Some("Retain".to_owned());
    StatefulSet {
        metadata: owner.metadata(&source.object_name),
        spec: Some(StatefulSetSpec {
            replicas: Some(serve.spec.replicas.into()),
            revision_history_limit: Some(2),
            min_ready_seconds: Some(MIN_READY_SECONDS),
            service_name: Some(source.object_name.clone()),
            // A server that is being filled must not keep another one from starting.
            pod_management_policy: Some("Parallel".to_owned()),
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: None,
            }),
            // A graph takes hours to read again.
            persistent_volume_claim_retention_policy: Some(
                StatefulSetPersistentVolumeClaimRetentionPolicy {
                    when_deleted: retain(),
                    when_scaled: retain(),
                },
            ),
            selector: owner.selector(),
            template: pod(serve, source),
            volume_claim_templates: Some(vec![claim(&serve.spec.volume)]),
            ..StatefulSetSpec::default()
        }),
        status: None,
    }
}

fn claim(volume: &VolumeSpec) -> PersistentVolumeClaim {
    PersistentVolumeClaim {
        metadata: ObjectMeta { name: Some(DATA_VOLUME.to_owned()), ..ObjectMeta::default() },
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            storage_class_name: volume.storage_class.clone(),
            resources: Some(VolumeResourceRequirements {
                requests: Some(quantities([(STORAGE, Some(volume.size))])),
                limits: None,
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    }
}

fn pod(serve: &ChainServerTask, source: &ValidatedSource) -> PodTemplateSpec {
    let cookie = followed_with(serve).map(|credentials| &credentials.file);
    let settings = PodSettings {
        defaults: &source.pods,
        arguments: arguments(serve, source),
        secrets: [&source.database, &serve.token].into_iter().chain(cookie).collect(),
        config_map: None,
        data: DataVolume::Claim,
        restart: RestartPolicy::Always,
        grace_seconds: TERMINATION_SECONDS,
        resources: pod_shape::resources(&source.pods.shape.resources, REQUESTS),
    };
    let mut template = settings.template(&source.owner);
    let pod = template.spec.get_or_insert_default();
    if let Some((claim, _)) = mounted_files(serve) {
        add_files(pod, claim);
    }
    serving::add_ports_and_probes(pod);
    let selector = source.owner.selector();
    let usual = serving::spread(&selector, None);
    pod.topology_spread_constraints = Some(pod_shape::spread(&source.pods.shape, &selector, usual));
    template
}

/// The credentials with which servers follow a node. `None` if the servers follow no node.
fn followed_with(serve: &ChainServerTask) -> Option<&SourceCredentials> {
    let is_node = serve.spec.protocol == ChainProtocol::Rpc && serve.pause.is_none();
    serve.credentials.as_ref().filter(|_| is_node)
}

/// The claim with files of transfers, and their folder in the pod. `None` if the servers record no files.
fn mounted_files(serve: &ChainServerTask) -> Option<(&str, &Path)> {
    let claim = serve.spec.files_claim.as_deref().filter(|_| serve.pause.is_none())?;
    Some((claim, serve.spec.files_folder()?))
}

/// Adds the claim with files of transfers to a pod.
fn add_files(pod: &mut PodSpec, claim: &str) {
    let source =
        PersistentVolumeClaimVolumeSource { claim_name: claim.to_owned(), read_only: Some(true) };
    pod.volumes.get_or_insert_default().push(Volume {
        name: FILES_VOLUME.to_owned(),
        persistent_volume_claim: Some(source),
        ..Volume::default()
    });
    for container in &mut pod.containers {
        container.volume_mounts.get_or_insert_default().push(VolumeMount {
            name: FILES_VOLUME.to_owned(),
            mount_path: TRANSFERS_FOLDER.to_owned(),
            read_only: Some(true),
            ..VolumeMount::default()
        });
    }
}

/// The arguments of the `assay` program. A server without arguments about a node answers questions and follows nothing.
fn arguments(serve: &ChainServerTask, source: &ValidatedSource) -> Vec<String> {
    let ChainServerTask { spec, pause, .. } = serve;
    let mut arguments = vec!["chain".to_owned(), "serve".to_owned(), spec.chain.clone()];
    if pause.is_none() {
        let followed = |flag: &str| {
            [format!("--{flag}={}", spec.endpoint), format!("--from={}", spec.start_height)]
        };
        match spec.protocol {
            ChainProtocol::Rpc => arguments.extend(followed("rpc")),
            ChainProtocol::Esplora => arguments.extend(followed("esplora")),
            ChainProtocol::Transfers => {
                let folder = mounted_files(serve).map(|(_, folder)| folder);
                arguments.extend(folder.map(|folder| format!("--transfers={}", folder.display())));
            }
            // These are read on demand, and not by chain servers.
            ChainProtocol::Etherscan | ChainProtocol::Blockscout | ChainProtocol::TronGrid => {}
        }
        if let Some(credentials) = followed_with(serve) {
            arguments.push(format!("--cookie={}", credentials.file.path()));
            arguments.push(format!("--credentials-hosts={}", credentials.server));
        }
        let accepted = spec.accept_branch.iter().map(|hash| format!("--accept-branch={hash}"));
        arguments.extend(accepted);
        arguments.extend(spec.allow_test_network.then(|| "--test-network".to_owned()));
    }
    arguments.extend(database_arguments(source));
    arguments.extend([
        format!("--listen=0.0.0.0:{}", API.1),
        format!("--admin-listen=0.0.0.0:{}", ADMIN.1),
        format!("--chain-token-file={}", serve.token.path()),
        format!("--neighbors={}", names::chain_servers_url(&source.name, source.owner.namespace())),
        "--log-format=json".to_owned(),
        format!("--drain-delay={DRAIN_SECONDS}s"),
        format!("--shutdown-grace={GRACE_SECONDS}s"),
    ]);
    arguments
}
