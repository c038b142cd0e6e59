//! Validation of a `RiskService`.

use std::collections::BTreeSet;

use assay_crds::{
    ConnectionsSpec, ConsoleSpec, ExposureSpec, HttpRouteSpec, IngressSpec, ScalingSpec, SecretKey,
};
use assay_tenancy::pods_problems;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;

use super::{
    build::{CHAIN_SERVERS, FILE},
    demand::{RequiredReplicas, required_replicas},
    fetch::Inputs,
    histories::{self, HistoryCredentials},
    names,
};
use crate::{
    conditions::{ConditionState, ReadyState},
    destinations::{self, Destination},
    egress::Egress,
    network_policy::EgressNetworks,
    owned::{LiveObjects, OwnedKind, Owner},
    pod::{PodDefaults, SecretFile},
    reason::ConditionReason,
    secret_state::SecretState,
};

/// The condition type: the servers know the chain servers of every followed chain, and have the credentials of every source
/// that is read on demand.
pub(super) const CHAINS_CONFIGURED: &str = "ChainsConfigured";

/// A `RiskService` that can run.
#[derive(Clone, Debug)]
pub(super) struct ValidatedService {
    /// The name of the service and of most of its objects.
    pub(super) name: String,
    /// The owner of the service's objects: the service, for the component of servers.
    pub(super) owner: Owner,
    /// The settings of the service's pods.
    pub(super) pods: PodDefaults,
    /// The Secret with the database's URL.
    pub(super) database: SecretFile,
    /// The Secret with the cache's URL.
    pub(super) cache: Option<SecretFile>,
    /// The chain servers that the service's pods query. `None`: no chain servers are known, or the spec names no token.
    pub(super) chain_servers: Option<ChainServers>,
    /// The credentials of sources that the service's pods read on demand.
    pub(super) histories: HistoryCredentials,
    /// The condition that the servers know the chain servers of every followed chain, and have the credentials of every
    /// source that is read on demand. `None` until the chains are known.
    pub(super) chains_configured: Option<ConditionState>,
    /// The name of the migration Job for this image and database.
    pub(super) migration: String,
    /// The destinations to which the service's pods connect.
    pub(super) destinations: BTreeSet<Destination>,
    /// The networks of the service's network policy. `None`: the service has no network policy.
    pub(super) networks: Option<EgressNetworks>,
    /// The exposure of the service outside the cluster. `None`: the service is not exposed.
    pub(super) exposure: Option<Exposure>,
    /// The pages for people. `None`: the service has none.
    pub(super) console: Option<Console>,
    /// The settings of client connections.
    pub(super) connections: ConnectionsSpec,
    /// The settings of the autoscaler.
    pub(super) scaling: ScalingSpec,
    /// The smallest number of replicas that the autoscaler may set.
    pub(super) min_replicas: i32,
    /// The number of replicas that tenants' limits require. `None` until the number is known.
    pub(super) required_replicas: Option<RequiredReplicas>,
}

/// The chain servers that a service queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChainServers {
    /// The value of the setting: `CHAIN=URL`, separated by commas.
    pub(super) urls: String,
    /// The Secret with the token that chain servers demand.
    pub(super) token: SecretFile,
}

/// The pages for people of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Console {
    /// The URL at which people reach the service.
    pub(super) url: String,
    /// The issuer at which people sign in, and the roles of people.
    pub(super) spec: ConsoleSpec,
    /// The Secret with the client secret.
    pub(super) client_secret: Option<SecretFile>,
}

impl Console {
    /// Parses the console in a spec. `None` if nothing says at which URL people reach the service.
    fn parse(spec: &ConsoleSpec, exposure: Option<&Exposure>) -> Option<Self> {
        let exposed = exposure.map(|exposure| format!("https://{}", exposure.host));
        let client_secret = spec.client_secret.clone().map(Into::into);
        Some(Self {
            url: spec.url.clone().or(exposed)?,
            client_secret: client_secret.map(|key| SecretFile::needed("console-client", key)),
            spec: spec.clone(),
        })
    }
}

/// The exposure of a service outside the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exposure {
    /// The host name.
    pub(super) host: String,
    /// The object that routes requests.
    pub(super) route: Route,
}

/// The object that routes requests to a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// A route of a Gateway.
    HttpRoute(HttpRouteSpec),
    /// An Ingress.
    Ingress(IngressSpec),
}

impl Exposure {
    /// Parses the exposure in a spec. `None` if the spec does not name exactly one of the two routes.
    fn parse(spec: &ExposureSpec) -> Option<Self> {
        let ExposureSpec { host, http_route, ingress } = spec.clone();
        let route = match (http_route, ingress) {
            (Some(route), None) => Route::HttpRoute(route),
            (None, Some(ingress)) => Route::Ingress(ingress),
            _ => return None,
        };
        Some(Self { host, route })
    }
}

/// Validates a service.
pub(super) fn validate(inputs: &Inputs) -> Result<ValidatedService, ReadyState> {
    let (name, spec) = (inputs.object.name_any(), &inputs.object.spec);
    if let Some(problem) = names::problem(&name) {
        return Err(ReadyState::Stalled(ConditionReason::InvalidName, problem));
    }
    let invalid = |message: &str| ReadyState::Stalled(ConditionReason::Invalid, message.to_owned());
    let egress = Egress::parse(&spec.egress)
        .ok_or_else(|| invalid("spec.egress.caBundle: name either a configMap or a secret"))?;
    if let Some((path, message)) = pods_problems(&spec.pods).into_iter().next() {
        return Err(invalid(&format!("spec.pods{path}: {message}")));
    }
    let exposure = match &spec.exposure {
        Some(exposure) => Some(
            Exposure::parse(exposure)
                .ok_or_else(|| invalid("spec.exposure: name either an httpRoute or an ingress"))?,
        ),
        None => None,
    };
    let console = match &spec.console {
        Some(console) => Some(Console::parse(console, exposure.as_ref()).ok_or_else(|| {
            invalid("spec.console: name a url, or a host in spec.exposure, at which people reach the pages")
        })?),
        None => None,
    };
    let (database_uid, mut destinations) =
        present_secret(&inputs.database, &spec.database_secret, "a URL")?;
    if let (Some(cache), Some(key)) = (&inputs.cache, &spec.cache_secret) {
        destinations.extend(present_secret(cache, key, "a URL")?.1);
    }
    if let (Some(state), Some(file)) =
        (&inputs.console_client, console.iter().find_map(|console| console.client_secret.as_ref()))
    {
        present_secret(state, &file.source, "the client secret")?;
    }
    let chain_servers = chain_servers(inputs)?;
    let has = |kind| match exposure.as_ref().map(|exposure| &exposure.route) {
        Some(Route::HttpRoute(_)) => kind != OwnedKind::Ingress,
        Some(Route::Ingress(_)) => kind != OwnedKind::HttpRoute,
        None => kind != OwnedKind::HttpRoute && kind != OwnedKind::Ingress,
    };
    if let Some((kind, name)) = inputs.live.foreign(&inputs.owner, has) {
        let kind = kind.resource().kind;
        let message = format!(
            "{kind} `{name}` was not created for this RiskService: delete it, or create a \
             RiskService of another name"
        );
        return Err(ReadyState::Stalled(ConditionReason::NameTaken, message));
    }
    destinations.extend(egress.destinations());
    destinations.extend(destinations::of_collector(&spec.telemetry));
    let issuer = console.iter().flat_map(|console| destinations::of_url(&console.spec.issuer));
    destinations.extend(issuer);
    destinations.extend(inputs.demand.iter().flat_map(|demand| demand.endpoints.clone()));
    let required_replicas =
        inputs.demand.as_ref().map(|demand| required_replicas(demand, &spec.scaling));
    // Until the demand is known, the last reported number stays in force.
    let reported = inputs.object.status.as_ref().and_then(|status| status.required_replicas);
    let minimum =
        required_replicas.as_ref().map(|required| required.replicas).or(reported).unwrap_or(1);
    Ok(ValidatedService {
        owner: inputs.owner.clone(),
        pods: PodDefaults {
            image: spec.image.clone(),
            pull_secrets: spec.image_pull_secrets.clone(),
            egress,
            telemetry: spec.telemetry.clone(),
            pull_policy: spec.image_pull_policy,
            shape: spec.pods.clone(),
        },
        database: SecretFile::needed("database", spec.database_secret.clone()),
        cache: spec.cache_secret.clone().map(|source| SecretFile::needed("cache", source)),
        chain_servers,
        histories: histories::credentials(inputs),
        chains_configured: chains_configured(inputs),
        migration: names::migration(&name, spec, database_uid),
        destinations,
        networks: inputs.networks.clone(),
        exposure,
        console,
        connections: spec.connections.clone(),
        scaling: spec.scaling.clone(),
        min_replicas: minimum.max(spec.scaling.min_replicas).min(spec.scaling.max_replicas),
        required_replicas,
        name,
    })
}

/// The chain servers of every followed chain.
fn chain_servers(inputs: &Inputs) -> Result<Option<ChainServers>, ReadyState> {
    let (Some(key), Some(token)) = (&inputs.object.spec.chain_token_secret, &inputs.chain_token)
    else {
        return Ok(None);
    };
    let urls = match &inputs.demand {
        Some(demand) => {
            let pairs = demand.chain_servers.iter().map(|(chain, url)| format!("{chain}={url}"));
            pairs.collect::<Vec<_>>().join(",")
        }
        // Until the chains are known, the last setting stays: another one would replace the pods.
        None => last_chain_servers(&inputs.live, &inputs.owner).unwrap_or_default(),
    };
    if urls.is_empty() {
        return Ok(None);
    }
    present_secret(token, key, "the token")?;
    Ok(Some(ChainServers { urls, token: SecretFile::chain_token(key.clone()) }))
}

/// The chain servers in the settings that were applied last.
fn last_chain_servers(live: &LiveObjects, owner: &Owner) -> Option<String> {
    let settings = live.owned::<ConfigMap>(owner).ok()??;
    let data = settings.data?;
    let start = format!("{CHAIN_SERVERS} = \"");
    let value = data.get(FILE)?.lines().find_map(|text| text.strip_prefix(&start))?;
    value.strip_suffix('"').map(ToOwned::to_owned)
}

/// The condition that the servers know the chain servers of every followed chain, and have the credentials of every source
/// that is read on demand.
fn chains_configured(inputs: &Inputs) -> Option<ConditionState> {
    let chains = &inputs.demand.as_ref()?.chain_servers;
    let names = chains.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let state = |holds, reason, message| {
        Some(ConditionState { kind: CHAINS_CONFIGURED, holds, reason, message })
    };
    if let Some(refusal) = histories::refusal(inputs) {
        return state(false, ConditionReason::CredentialsNotAllowed, refusal);
    }
    if chains.is_empty() {
        let message = "the operator runs no chain servers".to_owned();
        return state(true, ConditionReason::ChainServersKnown, message);
    }
    if inputs.object.spec.chain_token_secret.is_none() {
        let message = format!(
            "the servers do not ask the chain servers of {names}, and trace no money there: name a Secret with \
             the operator's token (--chain-token-secret) in spec.chainTokenSecret"
        );
        return state(false, ConditionReason::ChainTokenMissing, message);
    }
    state(
        true,
        ConditionReason::ChainServersKnown,
        format!("the servers ask the chain servers of {names}"),
    )
}

fn present_secret<'a>(
    state: &'a SecretState,
    key: &SecretKey,
    content: &str,
) -> Result<(&'a str, BTreeSet<Destination>), ReadyState> {
    let problem = match state {
        SecretState::Present { uid, destinations } => return Ok((uid, destinations.clone())),
        SecretState::NoSecret | SecretState::NoKey => state.problem(key, content),
    };
    // Waiting, not stalled: the Secret may be created at any moment.
    Err(ReadyState::Waiting(ConditionReason::SecretNotFound, problem.unwrap_or_default()))
}
