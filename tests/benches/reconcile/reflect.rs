//! A program that keeps tenants and keys in memory and does nothing else.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use assay_crds::{ApiKey, Tenant};
use assay_tests::Cluster;
use futures_util::{StreamExt, future};
use kube::{
    Api, Resource,
    runtime::{WatchStreamExt, reflector, watcher},
};
use serde::de::DeserializeOwned;

use super::{
    anonymous_memory,
    objects::{ACCOUNT, client},
};

/// Environment variable with the path of the reflector's kubeconfig.
pub(super) const CONFIG: &str = "ASSAY_BENCH_REFLECT";

/// Starts this program as a reflector, and returns its anonymous memory once it holds all objects.
pub(super) fn measure(cluster: &Cluster) -> u64 {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), cluster.config_of_account("default", ACCOUNT)).expect("a kubeconfig");
    let mut child = Command::new(env::current_exe().expect("this program"))
        .env(CONFIG, file.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = String::new();
    let output = child.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut said).expect("a line");
    let memory = anonymous_memory(child.id());
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    println!("reflector: {}", said.trim());
    memory
}

/// Keeps the objects in memory until the process is killed, and prints a line once it has all objects.
#[tokio::main]
pub(super) async fn run(kubeconfig: &Path) {
    let config = fs::read_to_string(kubeconfig).expect("a kubeconfig");
    let client = client(&config).await;
    let (tenants, keys) =
        future::join(hold::<Tenant>(Api::all(client.clone())), hold::<ApiKey>(Api::all(client)))
            .await;
    println!("holds {} tenants and {} keys", tenants.state().len(), keys.state().len());
    future::pending::<()>().await;
}

async fn hold<K>(api: Api<K>) -> reflector::Store<K>
where
    K: Resource<DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static,
{
    let (store, writer) = reflector::store();
    let watching = watcher(api, watcher::Config::default()).default_backoff();
    let reflecting = reflector::reflector(writer, watching);
    tokio::spawn(reflecting.for_each(|_| future::ready(())));
    store.wait_until_ready().await.expect("the writer lives");
    store
}
