//! Reads objects from the API server without `kubectl`, which would take twenty times the processor time in tests that
//! poll.

use std::{fs, path::Path, sync::Mutex, time::Duration};

use jsonpath_rust::JsonPath;
use serde_json::Value;
use ureq::{
    Agent,
    tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig},
};

use super::PATIENCE;
use crate::wait_every;

/// Interval between two requests to the API server.
const POLL: Duration = Duration::from_millis(100);
/// Media type by which the API server lists all kinds of all groups in one response.
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Reads objects as the administrator of a cluster.
#[derive(Debug)]
pub(super) struct Objects {
    agent: Agent,
    url: String,
    kinds: Mutex<Vec<Kind>>,
}

/// A kind of object that the API server knows.
#[derive(Clone, Debug)]
struct Kind {
    /// Every name that `kubectl` accepts for the kind.
    names: Vec<String>,
    /// Path of the kind's group and version, as `/apis/GROUP/VERSION`.
    path: String,
    plural: String,
    is_namespaced: bool,
}

impl Objects {
    /// A reader of the API server at `url`, by the certificates in a directory.
    pub(super) fn new(directory: &Path, url: &str) -> Self {
        let read = |name: &str| fs::read(directory.join(name)).expect("a certificate");
        let certificate = |name: &str| Certificate::from_pem(&read(name)).expect("a certificate");
        let key = PrivateKey::from_pem(&read("admin.key")).expect("a key");
        let client = ClientCert::new_with_certs(&[certificate("admin.pem")], key);
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&[certificate("ca.pem")]))
            .client_cert(Some(client))
            .build();
        let config = Agent::config_builder().tls_config(tls).http_status_as_error(false).build();
        Self { agent: config.into(), url: url.to_owned(), kinds: Mutex::default() }
    }

    /// An object by `KIND/NAME` or `KIND NAME`, with `-n NAMESPACE` for another namespace than `default`. `None` if the
    /// kind or the object does not exist.
    pub(super) fn find(&self, object: &[&str]) -> Option<Value> {
        let (words, namespace) = split(object);
        let (kind, name) = match words[..] {
            [word] => word.split_once('/').expect("KIND/NAME"),
            [kind, name] => (kind, name),
            _ => panic!("not one object: {object:?}"),
        };
        let kind = self.kind(kind)?;
        self.ask(&format!("{}/{name}", kind.collection(namespace)), "application/json")
    }

    /// All objects of some kinds, separated by commas, with a label selector, which may be empty.
    pub(super) fn list(&self, kinds: &str, namespace: &str, selector: &str) -> Vec<Value> {
        let selector = selector.replace('/', "%2F").replace('=', "%3D");
        let kinds = kinds.split(',').filter_map(|kind| self.kind(kind));
        kinds.flat_map(|kind| self.items(&kind, namespace, &selector)).collect()
    }

    /// Deletes all objects of some kinds, separated by commas, in all namespaces, and removes their finalizers.
    pub(super) fn remove_all(&self, kinds: &str) {
        for kind in kinds.split(',').filter_map(|kind| self.kind(kind)) {
            for object in self.items(&kind, "", "") {
                let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
                let path =
                    format!("{}{}/{}", self.url, kind.collection(text("namespace")), text("name"));
                // It may be gone by then.
                let _ = self.agent.delete(&path).call();
                let _ = self
                    .agent
                    .patch(&path)
                    .header("content-type", "application/merge-patch+json")
                    .send(r#"{"metadata":{"finalizers":null}}"#);
            }
        }
    }

    fn items(&self, kind: &Kind, namespace: &str, selector: &str) -> Vec<Value> {
        let path = format!("{}?labelSelector={selector}", kind.collection(namespace));
        let mut list = self.ask(&path, "application/json").unwrap_or_default();
        match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        }
    }

    fn kind(&self, name: &str) -> Option<Kind> {
        let name = name.to_lowercase();
        let mut kinds = self.kinds.lock().expect("the kinds");
        let find = |kinds: &[Kind]| kinds.iter().find(|kind| kind.names.contains(&name)).cloned();
        // Kinds are added to a cluster while it runs.
        find(&kinds).or_else(|| {
            *kinds = ["/api", "/apis"].iter().flat_map(|path| self.discover(path)).collect();
            find(&kinds)
        })
    }

    fn discover(&self, path: &str) -> Vec<Kind> {
        let groups = self.ask(path, DISCOVERY).unwrap_or_default();
        let groups = groups["items"].as_array().into_iter().flatten();
        groups.flat_map(|group| kinds_of(path, group)).collect()
    }

    /// Response of the API server; `None` if there is no such object. The request is repeated while
    /// the server starts, or prepares to store objects of a new kind.
    fn ask(&self, path: &str, accept: &str) -> Option<Value> {
        let mut answer = None;
        wait_every(POLL, PATIENCE, path, || {
            let request = self.agent.get(format!("{}{path}", self.url)).header("accept", accept);
            let Ok(mut got) = request.call() else { return false };
            answer = match got.status().as_u16() {
                404 => None,
                200 => Some(got.body_mut().read_json().expect("JSON")),
                _ => return false,
            };
            true
        });
        answer
    }
}

impl Kind {
    fn collection(&self, namespace: &str) -> String {
        let Self { path, plural, is_namespaced, .. } = self;
        if *is_namespaced && !namespace.is_empty() {
            format!("{path}/namespaces/{namespace}/{plural}")
        } else {
            format!("{path}/{plural}")
        }
    }
}

/// The kinds in the preferred version of a group.
fn kinds_of(path: &str, group: &Value) -> Vec<Kind> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (name, version) = (text(&group["metadata"]["name"]), &group["versions"][0]);
    let path = [path, &name, &text(&version["version"])];
    let path = path.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    let resources = version["resources"].as_array().into_iter().flatten();
    resources
        .map(|resource| {
            let plural = text(&resource["resource"]);
            let singular = text(&resource["singularResource"]);
            let short = resource["shortNames"].as_array().into_iter().flatten().map(text);
            let long = [plural.clone(), singular.clone(), format!("{singular}.{name}")];
            let names = long.into_iter().chain(short).collect();
            let is_namespaced = resource["scope"] == "Namespaced";
            Kind { names, path: path.clone(), plural, is_namespaced }
        })
        .collect()
}

/// Splits the words that name an object into those without the namespace, and the namespace.
fn split<'a>(object: &[&'a str]) -> (Vec<&'a str>, &'a str) {
    let mut words = object.to_vec();
    let namespace = match words.iter().position(|word| ["-n", "--namespace"].contains(word)) {
        Some(flag) => words.drain(flag..flag + 2).next_back().unwrap_or_default(),
        None => "default",
    };
    (words, namespace)
}

/// Values at a path of `kubectl -o jsonpath` in an object, without quotes and separated by spaces.
pub(super) fn text_at(object: &Value, path: &str) -> String {
    let found = object.query(&format!("${path}")).unwrap_or_else(|error| panic!("{path}: {error}"));
    let texts = found.into_iter().map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    texts.collect::<Vec<_>>().join(" ")
}
