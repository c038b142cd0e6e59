//! Servers: settings, Deployment and autoscaler.

use std::collections::BTreeMap;

use assay_crds::ConnectionsSpec;
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment},
        autoscaling::v2::{
            CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec,
            MetricIdentifier, MetricSpec, MetricTarget, PodsMetricSource, ResourceMetricSource,
        },
        core::v1::{ConfigMap, PodTemplateSpec},
    },
    apimachinery::pkg::{api::resource::Quantity, util::intstr::IntOrString},
};

use serde_json::json;

use super::migration::MIGRATED_BY;
use crate::{
    owned::digest,
    pod::{CONFIG, DATA, DataVolume, PodSettings, RestartPolicy},
    pod_shape::{self, DefaultRequests},
    risk_service::validate::{Console, ValidatedService},
    serving::{self, ADMIN, API, DRAIN_SECONDS, GRACE_SECONDS, STARTUP, TERMINATION_SECONDS},
};

/// The key of the settings in their `ConfigMap`, and the file's name.
pub(in crate::risk_service) const FILE: &str = "assay.toml";
/// The name of the setting with the chain servers' URLs.
pub(in crate::risk_service) const CHAIN_SERVERS: &str = "chain-servers";
/// The name of the setting with the credentials of sources that are read on demand.
pub(in crate::risk_service) const SOURCE_CREDENTIALS: &str = "source-credentials";
/// The annotation on pods with the digest of the settings: changed settings replace the pods.
const SETTINGS: &str = "assay.dev/settings";
/// The CPU and memory that a server requests.
const REQUESTS: DefaultRequests = DefaultRequests::new(250, 512);
/// The servers' metric of requests in flight.
const IN_FLIGHT: &str = "assay_http_requests_in_flight";
/// The text of the settings file. Servers fetch no lists and chains: separate workloads fetch these for all servers.
pub(super) fn settings_text(service: &ValidatedService) -> String {
    let mut lines = vec![
        ("listen", format!("0.0.0.0:{}", API.1)),
        ("admin-listen", format!("0.0.0.0:{}", ADMIN.1)),
        ("data-dir", DATA.to_owned()),
        ("database-url-file", service.database.path()),
        ("feeds", "off".to_owned()),
        ("log-format", "json".to_owned()),
        ("drain-delay", format!("{DRAIN_SECONDS}s")),
        ("shutdown-grace", format!("{GRACE_SECONDS}s")),
    ];
    if let Some(cache) = &service.cache {
        lines.push(("redis-url-file", cache.path()));
        lines.extend(service.pods.egress.ca_file().map(|path| ("redis-ca-file", path)));
    }
    if let Some(chains) = &service.chain_servers {
        lines.push((CHAIN_SERVERS, chains.urls.clone()));
        lines.push(("chain-token-file", chains.token.path()));
    }
    if !service.histories.setting.is_empty() {
        lines.push((SOURCE_CREDENTIALS, service.histories.setting.clone()));
    }
    lines.extend(service.console.iter().flat_map(console_settings));
    lines.extend(connection_settings(&service.connections));
    let lines: Vec<String> =
        lines.iter().map(|(name, value)| format!("{name} = {}", toml_text(value))).collect();
    lines.join("\n") + "\n"
}

/// A text in TOML. JSON writes it in the same way, but for the one control character that it does not escape.
fn toml_text(text: &str) -> String {
    json!(text).to_string().replace('\u{7f}', "\\u007f")
}

/// The settings of the pages for people. JSON is YAML too.
fn console_settings(console: &Console) -> Vec<(&'static str, String)> {
    let Console { url, spec, client_secret } = console;
    let secret = client_secret.iter().map(|file| ("oidc-client-secret-file", file.path()));
    let mapping = json!({"rules": spec.role_mapping}).to_string();
    [
        ("console-url", url.clone()),
        ("oidc-issuer", spec.issuer.clone()),
        ("oidc-client-id", spec.client_id.clone()),
        ("oidc-scopes", spec.scopes.join(" ")),
        ("oidc-role-mapping", mapping),
    ]
    .into_iter()
    .chain(secret)
    .collect()
}

/// The settings of client connections that differ from the defaults.
fn connection_settings(connections: &ConnectionsSpec) -> Vec<(&'static str, String)> {
    let ConnectionsSpec { backlog, max, max_per_peer, trusted_proxies, proxy_protocol } =
        connections;
    let number = |number: &Option<i32>| number.map(|number| number.to_string());
    let proxies = (!trusted_proxies.is_empty()).then(|| trusted_proxies.join(","));
    let settings = [
        ("listen-backlog", number(backlog)),
        ("max-connections", number(max)),
        ("max-connections-per-peer", number(max_per_peer)),
        ("trusted-proxies", proxies),
        ("proxy-protocol", proxy_protocol.then(|| "on".to_owned())),
    ];
    settings.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// The `ConfigMap` with the settings.
pub(super) fn settings(service: &ValidatedService, text: String) -> ConfigMap {
    ConfigMap {
        metadata: service.owner.metadata(&service.name),
        data: Some(BTreeMap::from([(FILE.to_owned(), text)])),
        ..ConfigMap::default()
    }
}

/// The Deployment of servers. The autoscaler sets the number of replicas.
pub(super) fn deployment(service: &ValidatedService, settings: &str) -> Deployment {
    let owner = &service.owner;
    let mut metadata = owner.metadata(&service.name);
    metadata.annotations = Some(annotation(MIGRATED_BY, service.migration.clone()));
    let mut template = pod(service);
    let template_metadata = template.metadata.get_or_insert_default();
    let annotations = template_metadata.annotations.get_or_insert_default();
    annotations.extend(annotation(SETTINGS, digest(&[settings])));
    Deployment {
        metadata,
        spec: Some(DeploymentSpec {
            revision_history_limit: Some(3),
            progress_deadline_seconds: Some(STARTUP.0 * STARTUP.1 + 60),
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateDeployment {
                    max_unavailable: Some(IntOrString::Int(0)),
                    max_surge: Some(IntOrString::Int(1)),
                }),
            }),
            selector: owner.selector(),
            template,
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

fn annotation(name: &str, value: String) -> BTreeMap<String, String> {
    BTreeMap::from([(name.to_owned(), value)])
}

fn pod(service: &ValidatedService) -> PodTemplateSpec {
    let settings = PodSettings {
        defaults: &service.pods,
        arguments: vec!["serve".into(), format!("--config={CONFIG}/{FILE}")],
        secrets: [&service.database]
            .into_iter()
            .chain(&service.cache)
            .chain(service.chain_servers.as_ref().map(|chains| &chains.token))
            .chain(&service.histories.files)
            .chain(service.console.iter().filter_map(|console| console.client_secret.as_ref()))
            .collect(),
        config_map: Some(&service.name),
        restart: RestartPolicy::Always,
        data: DataVolume::Scratch,
        grace_seconds: TERMINATION_SECONDS,
        resources: pod_shape::resources(&service.pods.shape.resources, REQUESTS),
    };
    let mut template = settings.template(&service.owner);
    let pod = template.spec.get_or_insert_default();
    serving::add_ports_and_probes(pod);
    let selector = service.owner.selector();
    let usual = serving::spread(&selector, Some("pod-template-hash"));
    let spread = pod_shape::spread(&service.pods.shape, &selector, usual);
    pod.topology_spread_constraints = Some(spread);
    template
}

/// The autoscaler, by CPU utilization, and by requests in flight if the spec sets a target.
pub(super) fn autoscaler(service: &ValidatedService) -> HorizontalPodAutoscaler {
    let scaling = &service.scaling;
    let cpu = MetricSpec {
        type_: "Resource".to_owned(),
        resource: Some(ResourceMetricSource {
            name: "cpu".to_owned(),
            target: MetricTarget {
                type_: "Utilization".to_owned(),
                average_utilization: Some(scaling.cpu_percent),
                ..MetricTarget::default()
            },
        }),
        ..MetricSpec::default()
    };
    let in_flight = scaling.requests_in_flight.map(|most| MetricSpec {
        type_: "Pods".to_owned(),
        pods: Some(PodsMetricSource {
            metric: MetricIdentifier { name: IN_FLIGHT.to_owned(), selector: None },
            target: MetricTarget {
                type_: "AverageValue".to_owned(),
                average_value: Some(Quantity(most.to_string())),
                ..MetricTarget::default()
            },
        }),
        ..MetricSpec::default()
    });
    HorizontalPodAutoscaler {
        metadata: service.owner.metadata(&service.name),
        spec: Some(HorizontalPodAutoscalerSpec {
            scale_target_ref: CrossVersionObjectReference {
                api_version: Some("apps/v1".to_owned()),
                kind: "Deployment".to_owned(),
                name: service.name.clone(),
            },
            min_replicas: Some(service.min_replicas),
            max_replicas: scaling.max_replicas,
            metrics: Some([cpu].into_iter().chain(in_flight).collect()),
            behavior: None,
        }),
        status: None,
    }
}
