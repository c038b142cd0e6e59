//! The command line of `assay-operator`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use assay_crds::{CaBundle, EgressSpec, ImagePullPolicy, SecretKey, TelemetrySpec};
use assay_tenancy::{Name, manifest::PodsSpec};
use clap::{ArgAction, Parser};

use crate::{
    egress::Egress,
    network_policy::EgressNetworks,
    pod::{PodDefaults, SecretFile},
    scope::WatchScope,
    source::WorkloadSettings,
};

/// Reconciles Assay's custom resources: publishes configuration, issues API keys and runs workloads
#[derive(Clone, Debug, Parser)]
#[command(version)]
pub struct OperatorSettings {
    /// File with the URL of the PostgreSQL database
    #[arg(long, env = "ASSAY_DATABASE_URL_FILE", value_name = "FILE")]
    pub database_url_file: PathBuf,
    /// Address for health checks and metrics
    #[arg(
        long,
        env = "ASSAY_OPERATOR_LISTEN",
        default_value = "0.0.0.0:8081",
        value_name = "ADDRESS:PORT"
    )]
    pub listen: SocketAddr,
    /// Image for the workloads that import lists and for chain servers, in the operator's namespace. Unset: the
    /// operator runs no such workloads; a server with `--feeds on` does their work
    #[arg(long, env = "ASSAY_OPERATOR_IMAGE", requires = "database_secret", value_name = "IMAGE")]
    pub image: Option<String>,
    /// Pull policy of the image: `Always`, `IfNotPresent` or `Never`. Unset: that of Kubernetes
    #[arg(long, requires = "image", value_name = "POLICY")]
    pub image_pull_policy: Option<ImagePullPolicy>,
    /// Secret with credentials for pulling the image; repeatable
    #[arg(long, value_name = "NAME")]
    pub image_pull_secret: Vec<Name>,
    /// Secret, and key in it, with the URL of the database for the workloads, whose login has the rights of
    /// `assay_ingest`
    #[arg(
        long,
        env = "ASSAY_OPERATOR_DATABASE_SECRET",
        requires = "image",
        value_parser = secret_key,
        value_name = "NAME/KEY"
    )]
    pub database_secret: Option<SecretKey>,
    /// Secret, and key in it, with the token that chain servers demand of their callers. Unset: the operator runs no
    /// chain servers
    #[arg(
        long,
        env = "ASSAY_OPERATOR_CHAIN_TOKEN_SECRET",
        requires = "image",
        value_parser = secret_key,
        value_name = "NAME/KEY"
    )]
    pub chain_token_secret: Option<SecretKey>,
    /// File with the token of chain servers, with which the operator asks chain servers for the state of chains. Unset:
    /// the operator does not ask chain servers
    #[arg(
        long,
        env = "ASSAY_OPERATOR_CHAIN_TOKEN_FILE",
        requires = "chain_token_secret",
        value_name = "FILE"
    )]
    pub chain_token_file: Option<PathBuf>,
    /// Proxy of the workloads for https URLs
    #[arg(long, requires = "image", value_name = "URL")]
    pub https_proxy: Option<String>,
    /// Proxy of the workloads for http URLs
    #[arg(long, requires = "image", value_name = "URL")]
    pub http_proxy: Option<String>,
    /// Hosts that the workloads connect to without a proxy: domain names with their subdomains, IP
    /// addresses, networks
    #[arg(long, requires = "image", value_delimiter = ',', value_name = "LIST")]
    pub no_proxy: Vec<String>,
    /// CA bundle (PEM) that the workloads use instead of the system roots
    #[arg(long, requires = "image", value_parser = ca_bundle, value_name = "configmap|secret/NAME/KEY")]
    pub ca_bundle: Option<CaBundle>,
    /// Private networks from which the workloads may fetch lists and labels, such as 10.0.0.0/8, and in which the
    /// `NetworkPolicies` allow hosts of which only the name is known
    #[arg(long, requires = "image", value_delimiter = ',', value_name = "LIST")]
    pub source_networks: Vec<String>,
    /// Create `NetworkPolicies` for the pods of workloads and servers. Without, those that it created are deleted
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "true|false")]
    pub network_policies: bool,
    /// Allow public addresses by the `NetworkPolicies`, on the ports of hosts of which only the name is known
    #[arg(long, default_value_t = true, action = ArgAction::Set, value_name = "true|false")]
    pub public_egress: bool,
    /// Namespace of the operator, its Lease and its workloads
    #[arg(long, env = "POD_NAMESPACE", default_value = "assay-system", value_name = "NAME")]
    pub namespace: String,
    /// Namespaces of tenants' keys. With such namespaces, the operator watches `ApiKey`s in these and in its own
    /// namespace, and `RiskService`s in its own namespace alone. Unset: all namespaces of the cluster
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub watch_namespaces: Vec<Name>,
    /// Instance name of this installation in the cluster: the name of its Installation, recorded in its database and in
    /// the label `assay.dev/instance` of its objects
    #[arg(long, env = "ASSAY_OPERATOR_INSTANCE", default_value = "assay", value_name = "NAME")]
    pub instance: Name,
    /// Identity of this operator in the Lease
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pub name: String,
    /// Duration of the Lease without renewal, in seconds
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(3..=600), value_name = "SECONDS")]
    pub lease_seconds: u32,
    /// Interval at which every object is reconciled while nothing changes, in seconds: the longest delay until the
    /// operator notices changes that it does not watch, such as those of Secrets. A key whose `ApiKey` is absent for
    /// this interval is revoked
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=86400), value_name = "SECONDS")]
    pub resync_seconds: u32,
    /// URL of a collector that receives traces and metrics of the operator and the workloads by OTLP over HTTP
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_parser = collector, value_name = "URL")]
    pub otlp_endpoint: Option<String>,
    /// Write log lines as text instead of JSON
    #[arg(long)]
    pub log_text: bool,
}

impl OperatorSettings {
    /// The namespaces whose objects the operator reconciles.
    pub(crate) fn scope(&self) -> WatchScope {
        WatchScope::new(&self.namespace, &self.watch_namespaces)
    }

    /// The interval between reconciliations while nothing changes.
    pub(crate) fn resync(&self) -> Duration {
        Duration::from_secs(self.resync_seconds.into())
    }

    /// The networks of network policies. `None`: the operator creates no network policies.
    pub(crate) fn networks(&self) -> Option<EgressNetworks> {
        let networks =
            EgressNetworks { public: self.public_egress, private: self.source_networks.clone() };
        self.network_policies.then_some(networks)
    }

    /// The settings of the workloads of sources. `None`: the operator creates no workloads.
    pub(crate) fn workloads(&self) -> Option<WorkloadSettings> {
        let egress = EgressSpec {
            https_proxy: self.https_proxy.clone(),
            http_proxy: self.http_proxy.clone(),
            no_proxy: self.no_proxy.clone(),
            ca_bundle: self.ca_bundle.clone(),
        };
        let pods = PodDefaults {
            image: self.image.clone()?,
            pull_secrets: self.image_pull_secret.clone(),
            egress: Egress::parse(&egress)?.with_source_networks(self.source_networks.clone()),
            telemetry: TelemetrySpec { otlp_endpoint: self.otlp_endpoint.clone() },
            pull_policy: self.image_pull_policy,
            shape: PodsSpec::default(),
        };
        let source = self.database_secret.clone()?;
        let token = self.chain_token_secret.clone();
        Some(WorkloadSettings {
            pods,
            database: SecretFile::needed("database", source),
            chain_token: token.map(SecretFile::chain_token),
        })
    }

    /// The namespace of chain servers. `None`: the operator runs none.
    pub(crate) fn chain_servers_namespace(&self) -> Option<String> {
        let has_chain_servers = self.workloads()?.chain_token.is_some();
        has_chain_servers.then(|| self.namespace.clone())
    }
}

/// Parses the URL of a collector, which must not hold a secret because pods have it in their environment.
fn collector(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split('/').next()).filter(|host| !host.is_empty());
    let is_plain = !text.contains(|letter: char| letter.is_whitespace() || "@?#".contains(letter));
    match host {
        Some(_) if is_plain => Ok(text.to_owned()),
        _ => Err("write it as http://HOST:PORT, without a password".into()),
    }
}

/// Parses `NAME/KEY`.
fn secret_key(text: &str) -> Result<SecretKey, String> {
    let wrong =
        || format!("`{text}` is not NAME/KEY, a Secret and a key in it, such as database/url");
    let (name, key) = text.split_once('/').ok_or_else(wrong)?;
    if key.is_empty() {
        return Err(wrong());
    }
    let name = name.parse().map_err(|_| wrong())?;
    Ok(SecretKey { name, key: key.to_owned() })
}

/// Parses `configmap/NAME/KEY` or `secret/NAME/KEY`.
fn ca_bundle(text: &str) -> Result<CaBundle, String> {
    let wrong = || {
        format!(
            "`{text}` is not configmap/NAME/KEY or secret/NAME/KEY, such as \
             configmap/authorities/ca.crt"
        )
    };
    let (kind, rest) = text.split_once('/').ok_or_else(wrong)?;
    let SecretKey { name, key } = secret_key(rest).map_err(|_| wrong())?;
    match kind {
        "configmap" => Ok(CaBundle { config_map: Some(name), secret: None, key }),
        "secret" => Ok(CaBundle { config_map: None, secret: Some(name), key }),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collectors_url_is_checked_and_passed_to_the_workloads() {
        let parse = |endpoint: &str| {
            OperatorSettings::try_parse_from([
                "assay-operator",
                "--database-url-file=url",
                "--name=one",
                "--image=assay:1",
                "--database-secret=store/url",
                &format!("--otlp-endpoint={endpoint}"),
            ])
        };
        let workloads = parse("http://otel:4318").unwrap().workloads().unwrap();
        assert_eq!(workloads.pods.telemetry.otlp_endpoint.as_deref(), Some("http://otel:4318"));
        for wrong in ["otel:4318", "http:///", "grpc://otel:4317", "http://me:secret@otel:4318"] {
            let said = parse(wrong).unwrap_err().to_string();
            assert!(said.contains("write it as http://HOST:PORT, without a password"), "{said}");
        }
    }

    #[test]
    fn settings_of_workloads_are_complete_or_absent() {
        let parse = |more: &[&str]| {
            let all = ["assay-operator", "--database-url-file", "url", "--name", "one"];
            OperatorSettings::try_parse_from(all.iter().chain(more))
        };
        assert!(parse(&[]).unwrap().workloads().is_none());
        assert!(parse(&["--image", "assay:1"]).is_err());
        assert!(parse(&["--image", "assay:1", "--database-secret", "store"]).is_err());
        let whole = parse(&["--image", "assay:1", "--database-secret", "store/url"]).unwrap();
        assert_eq!(whole.workloads().unwrap().database.source.key, "url");
        assert!(whole.chain_servers_namespace().is_none(), "they need a token");
        assert!(parse(&["--chain-token-secret", "chains/token"]).is_err());
        let token = ["--chain-token-secret", "chains/token", "--namespace", "here"];
        let image = ["--image", "assay:1", "--database-secret", "store/url"];
        assert!(parse(&[&image[..], &["--chain-token-file", "token"]].concat()).is_err());
        let chains = parse(&[&image[..], &token].concat()).unwrap();
        assert_eq!(chains.chain_servers_namespace().as_deref(), Some("here"));
        let egress = ["--no-proxy", ".svc,10.0.0.0/8", "--ca-bundle", "secret/authorities/ca.pem"];
        assert!(parse(&egress).is_err(), "there are no workloads to use it");
        let image = ["--image", "assay:1", "--database-secret", "store/url"];
        let pods = parse(&[&image[..], &egress].concat()).unwrap().workloads().unwrap().pods;
        let spec = EgressSpec {
            no_proxy: vec![".svc".into(), "10.0.0.0/8".into()],
            ca_bundle: Some(CaBundle {
                config_map: None,
                secret: Some("authorities".parse().unwrap()),
                key: "ca.pem".into(),
            }),
            ..EgressSpec::default()
        };
        assert_eq!(Some(pods.egress), Egress::parse(&spec));

        let networks = ["--source-networks", "10.0.0.0/8,fd00::/8"];
        let pods = parse(&[&image[..], &networks].concat()).unwrap().workloads().unwrap().pods;
        let variables = pods.egress.environment();
        assert_eq!(variables[0].name, "ASSAY_SOURCE_NETWORKS");
        assert_eq!(variables[0].value.as_deref(), Some("10.0.0.0/8,fd00::/8"));
        assert!(parse(&[&image[..], &["--ca-bundle", "authorities/ca.pem"]].concat()).is_err());
    }
}
