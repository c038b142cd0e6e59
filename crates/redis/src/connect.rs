//! Establishing connections.

use std::{fs, path::Path};

use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo,
    IntoConnectionInfo, RedisConnectionInfo, TlsCertificates, TlsMode,
    aio::{ConnectionLike, MultiplexedConnection, PubSub},
    cluster::{ClusterClient, ClusterClientBuilder},
    cluster_async::ClusterConnection,
    sentinel::{SentinelClientBuilder, SentinelServerType},
};

use crate::{
    RedisClientError, RedisSettings, Topology,
    settings::{RedisCredentials, RedisTlsFiles},
    url::Host,
};

/// A connection for concurrent callers.
#[derive(Clone)]
pub(crate) enum Connection {
    /// Connection to one server.
    Single(MultiplexedConnection),
    /// Connection to a Cluster.
    Cluster(ClusterConnection),
}

/// Connects to the server, the present master, or the Cluster.
pub(crate) async fn connect(settings: &RedisSettings) -> Result<Connection, RedisClientError> {
    let credentials = credentials(settings)?;
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(settings.connect_timeout))
        .set_response_timeout(Some(settings.response_timeout));
    match &settings.url.topology {
        Topology::Cluster(nodes) => Ok(Connection::Cluster(
            cluster(settings, nodes, &credentials)?.get_async_connection().await?,
        )),
        Topology::Single(host) => {
            let client = single(settings, host, &credentials)?;
            Ok(Connection::Single(
                client.get_multiplexed_async_connection_with_config(&config).await?,
            ))
        }
        Topology::Sentinel { sentinels, master } => {
            let client = find_master(settings, sentinels, master, &credentials).await?;
            Ok(Connection::Single(
                client.get_multiplexed_async_connection_with_config(&config).await?,
            ))
        }
    }
}

/// Connects for a subscription; in a Cluster any node delivers all messages.
pub(crate) async fn subscribe(settings: &RedisSettings) -> Result<PubSub, RedisClientError> {
    let credentials = credentials(settings)?;
    let client = match &settings.url.topology {
        Topology::Single(host) => single(settings, host, &credentials)?,
        Topology::Sentinel { sentinels, master } => {
            find_master(settings, sentinels, master, &credentials).await?
        }
        Topology::Cluster(nodes) => {
            let mut last = None;
            for node in nodes {
                match single(settings, node, &credentials)?.get_async_pubsub().await {
                    Ok(pubsub) => return Ok(pubsub),
                    Err(error) => last = Some(error),
                }
            }
            return Err(last.map_or(RedisClientError::Timeout, RedisClientError::Redis));
        }
    };
    Ok(client.get_async_pubsub().await?)
}

fn credentials(settings: &RedisSettings) -> Result<RedisCredentials, RedisClientError> {
    settings.credentials().map_err(RedisClientError::Credentials)
}

fn address(settings: &RedisSettings, (name, port): &Host) -> ConnectionAddr {
    if settings.url.tls {
        let (host, port) = (name.clone(), *port);
        ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
    } else {
        ConnectionAddr::Tcp(name.clone(), *port)
    }
}

fn single(
    settings: &RedisSettings,
    host: &Host,
    credentials: &RedisCredentials,
) -> Result<Client, RedisClientError> {
    let mut identity = RedisConnectionInfo::default().set_db(settings.url.database);
    if let Some(user) = &credentials.user {
        identity = identity.set_username(user);
    }
    if let Some(password) = &credentials.password {
        identity = identity.set_password(password);
    }
    let info: ConnectionInfo =
        address(settings, host).into_connection_info()?.set_redis_settings(identity);
    match certificates(settings)? {
        Some(certificates) => Ok(Client::build_with_tls(info, certificates)?),
        None => Ok(Client::open(info)?),
    }
}

async fn find_master(
    settings: &RedisSettings,
    sentinels: &[Host],
    master: &str,
    credentials: &RedisCredentials,
) -> Result<Client, RedisClientError> {
    let addresses = sentinels.iter().map(|host| address(settings, host));
    let mut builder = SentinelClientBuilder::new(addresses, master, SentinelServerType::Master)?
        .set_client_to_redis_db(settings.url.database);
    if settings.url.tls {
        builder = builder
            .set_client_to_redis_tls_mode(TlsMode::Secure)
            .set_client_to_sentinel_tls_mode(TlsMode::Secure);
    }
    if let Some(certificates) = certificates(settings)? {
        builder = builder
            .set_client_to_redis_certificates(certificates.clone())
            .set_client_to_sentinel_certificates(certificates);
    }
    if let Some(user) = &credentials.user {
        builder = builder.set_client_to_redis_username(user);
    }
    if let Some(password) = &credentials.password {
        builder = builder.set_client_to_redis_password(password);
    }
    Ok(builder.build()?.async_get_client().await?)
}

fn cluster(
    settings: &RedisSettings,
    nodes: &[Host],
    credentials: &RedisCredentials,
) -> Result<ClusterClient, RedisClientError> {
    let nodes: Vec<ConnectionInfo> = nodes
        .iter()
        .map(|host| address(settings, host).into_connection_info())
        .collect::<Result<_, _>>()?;
    let mut builder = ClusterClientBuilder::new(nodes)
        .connection_timeout(settings.connect_timeout)
        .response_timeout(settings.response_timeout)
        // A moved slot is looked up again; an unavailable node is not waited for.
        .retries(2);
    if settings.url.tls {
        builder = builder.tls(TlsMode::Secure);
    }
    if let Some(certificates) = certificates(settings)? {
        builder = builder.certs(certificates);
    }
    if let Some(user) = &credentials.user {
        builder = builder.username(user);
    }
    if let Some(password) = &credentials.password {
        builder = builder.password(password);
    }
    Ok(builder.build()?)
}

/// Returns the CA bundle and client certificate, if any. Without TLS, the files are not read.
fn certificates(settings: &RedisSettings) -> Result<Option<TlsCertificates>, RedisClientError> {
    let files = &settings.tls;
    let read = |file: &Path| {
        fs::read(file)
            .map_err(|error| {
                std::io::Error::new(error.kind(), format!("{}: {error}", file.display()))
            })
            .map_err(RedisClientError::Credentials)
    };
    if !settings.url.tls || *files == RedisTlsFiles::default() {
        return Ok(None);
    }
    let client_tls = match &files.client {
        None => None,
        Some((certificate, key)) => {
            Some(ClientTlsConfig { client_cert: read(certificate)?, client_key: read(key)? })
        }
    };
    let root_cert = files.ca_bundle.as_deref().map(read).transpose()?;
    Ok(Some(TlsCertificates { client_tls, root_cert }))
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(
        &'a mut self,
        command: &'a redis::Cmd,
    ) -> redis::RedisFuture<'a, redis::Value> {
        match self {
            Self::Single(single) => single.req_packed_command(command),
            Self::Cluster(cluster) => cluster.req_packed_command(command),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        commands: &'a redis::Pipeline,
        offset: usize,
        count: usize,
    ) -> redis::RedisFuture<'a, Vec<redis::Value>> {
        match self {
            Self::Single(single) => single.req_packed_commands(commands, offset, count),
            Self::Cluster(cluster) => cluster.req_packed_commands(commands, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Self::Single(single) => single.get_db(),
            Self::Cluster(cluster) => cluster.get_db(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RedisUrl;

    #[test]
    fn ca_bundles_are_read_only_for_tls() {
        for url in ["redis://a", "redis+sentinel://a/main", "redis+cluster://a"] {
            let parsed: RedisUrl = url.parse().unwrap();
            let mut settings = RedisSettings::new(parsed);
            settings.tls.ca_bundle = Some("/nowhere/ca.crt".into());
            assert!(certificates(&settings).unwrap().is_none(), "{url}");
            settings.url.tls = true;
            assert!(certificates(&settings).is_err(), "{url}: the file is read");
        }
        let parsed: RedisUrl = "redis+cluster://a".parse().unwrap();
        let mut settings = RedisSettings::new(parsed);
        settings.tls.ca_bundle = Some("/nowhere/ca.crt".into());
        let nodes = [("a".to_owned(), 6379)];
        let credentials = RedisCredentials { user: None, password: None };
        assert!(cluster(&settings, &nodes, &credentials).is_ok());
        assert!(single(&settings, &nodes[0], &credentials).is_ok());
    }
}
