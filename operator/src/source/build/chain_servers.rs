//! The workload that follows a chain.

use k8s_openapi::api::{
    apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy},
    core::v1::PodTemplateSpec,
};

use super::database_arguments;
use crate::{
    pod::{PodSettings, RestartPolicy},
    source::{
        task::{Endpoint, Follow},
        validate::ValidatedSource,
    },
};

/// The Deployment that follows a chain. It never has two pods at once: a chain has one writer.
pub(super) fn deployment(follow: &Follow, source: &ValidatedSource) -> Deployment {
    let Follow { chain, endpoint, url, start_height, is_test_network, is_suspended } = follow;
    let (flag, cookie) = match endpoint {
        Endpoint::Rpc { cookie } => ("rpc", cookie.as_ref()),
        Endpoint::Esplora => ("esplora", None),
    };
    let mut arguments = vec![
        "ingest".to_owned(),
        "chain".to_owned(),
        chain.clone(),
        format!("--{flag}={url}"),
        format!("--from={start_height}"),
        "--follow".to_owned(),
    ];
    arguments.extend(cookie.map(|cookie| format!("--cookie={}", cookie.path())));
    arguments.extend(is_test_network.then(|| "--test-network".to_owned()));
    arguments.extend(database_arguments(source));
    let pod = PodSettings {
        defaults: &source.pods,
        arguments,
        secrets: [&source.database].into_iter().chain(cookie).collect(),
        config_map: None,
        restart: RestartPolicy::Always,
        // A batch of blocks is one transaction: blocks that were not committed are read again.
        grace_seconds: 30,
        requests: ["250m", "512Mi"],
    };
    let owner = &source.owner;
    Deployment {
        metadata: owner.metadata(&source.object_name),
        spec: Some(DeploymentSpec {
            replicas: Some(i32::from(!is_suspended)),
            revision_history_limit: Some(2),
            strategy: Some(DeploymentStrategy {
                type_: Some("Recreate".to_owned()),
                rolling_update: None,
            }),
            selector: owner.selector(),
            template: PodTemplateSpec {
                metadata: Some(owner.template_metadata()),
                spec: Some(pod.spec()),
            },
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}
