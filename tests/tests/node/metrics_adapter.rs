//! A metrics adapter: it serves the metrics of pods, as these report them, to autoscalers (`custom.metrics.k8s.io`).

use std::{
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use assay_tests::{Authority, Caller, CertificateWithKey, Helm};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::{Value, json};

use crate::world::{World, file};

const API: &str = "custom.metrics.k8s.io/v1beta2";
/// The metric that discovery names.
const METRIC: &str = "assay_http_requests_in_flight";
/// Port of the pods' metrics.
const METRICS_PORT: u16 = 9090;

/// Registration of the adapter at the API server.
fn registration(port: u16) -> String {
    format!(
        "
apiVersion: v1
kind: Service
metadata: {{name: metrics-adapter, namespace: kube-system}}
spec: {{type: ExternalName, externalName: localhost}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{name: v1beta2.custom.metrics.k8s.io}}
spec:
  group: custom.metrics.k8s.io
  version: v1beta2
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {{name: metrics-adapter, namespace: kube-system, port: {port}}}
"
    )
}

fn server_config(certified: &CertificateWithKey) -> ServerConfig {
    let chain = CertificateDer::from_pem_slice(certified.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(certified.key.as_bytes()).unwrap();
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(ring).with_safe_default_protocol_versions();
    config.unwrap().with_no_client_auth().with_single_cert(vec![chain], key).unwrap()
}

impl World {
    /// Starts a metrics adapter, which runs until the program of the tests ends, and registers it.
    pub(crate) fn add_metrics_adapter(&self) {
        let config = Arc::new(server_config(&Authority::new().server()));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let helm = Arc::new(Helm::find().with_cluster(&self.cluster));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                let helm = Arc::clone(&helm);
                thread::spawn(move || answer(StreamOwned::new(connection, stream), &helm));
            }
        });
        self.cluster.apply(&registration(port));
        let registered = "apiservice/v1beta2.custom.metrics.k8s.io";
        self.cluster.kubectl(&["wait", "--for=condition=Available", registered, "--timeout=3m"]);
    }

    /// Removes the registration of the metrics adapter.
    pub(crate) fn remove_metrics_adapter(&self) {
        self.cluster.kubectl(&["delete", "apiservice", "v1beta2.custom.metrics.k8s.io"]);
    }
}

/// Answers one request of the API server.
fn answer(stream: StreamOwned<ServerConnection, TcpStream>, helm: &Helm) {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        // A client that disconnects sent no request.
        if !stream.read_line(&mut head).is_ok_and(|length| length > 0) {
            return;
        }
    }
    let target = head.split(' ').nth(1).unwrap_or_default();
    let (status, body) = match respond(target, helm) {
        Some(body) => ("200 OK", body.to_string()),
        None => ("404 Not Found", "{}".to_owned()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n"
    );
    let stream = stream.get_mut();
    let _ = stream.write_all((head + &body).as_bytes());
    stream.conn.send_close_notify();
    let _ = stream.flush();
}

/// Body of the answer about a path with its query; `None` if nothing is there.
fn respond(target: &str, helm: &Helm) -> Option<Value> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let rest = path.strip_prefix("/apis/")?.strip_prefix(API)?;
    let parts: Vec<&str> = rest.split('/').skip(1).collect();
    match parts[..] {
        [] => Some(resources()),
        // The name is a wildcard, which the query narrows down.
        ["namespaces", namespace, "pods", _, metric] => {
            let pods = pods(helm, namespace, query);
            let items: Vec<Value> =
                pods.iter().filter_map(|pod| metric_value(pod, namespace, metric)).collect();
            Some(json!({
                "kind": "MetricValueList",
                "apiVersion": API,
                "metadata": {},
                "items": items,
            }))
        }
        _ => None,
    }
}

/// Resources of the API, for discovery.
fn resources() -> Value {
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": API,
        "resources": [{
            "name": format!("pods/{METRIC}"),
            "singularName": "",
            "namespaced": true,
            "kind": "MetricValueList",
            "verbs": ["get"],
        }],
    })
}

/// The pods of a namespace that the label selector of a query selects.
fn pods(helm: &Helm, namespace: &str, query: &str) -> Vec<Value> {
    let selector = query.split('&').find(|pair| pair.starts_with("labelSelector="));
    let selector = selector.unwrap_or_default();
    let path = format!("/api/v1/namespaces/{namespace}/pods?{selector}");
    let list = helm.shell(&file("."), &format!("kubectl get --raw '{path}'")).ok().json();
    list["items"].as_array().unwrap().clone()
}

/// Value of a metric of a pod; `None` if the pod does not answer yet.
#[expect(clippy::disallowed_methods, reason = "autoscalers are told the time of a value")]
fn metric_value(pod: &Value, namespace: &str, metric: &str) -> Option<Value> {
    let address = format!("{}:{METRICS_PORT}", pod["status"]["podIP"].as_str()?);
    let caller = Caller::new(address.parse().unwrap(), "");
    let metrics = caller.try_send("GET", "/metrics", "", []).ok()?.text;
    let prefix = format!("{metric} ");
    let value = metrics.lines().find_map(|line| line.strip_prefix(&prefix))?;
    Some(json!({
        "describedObject": {
            "kind": "Pod",
            "namespace": namespace,
            "name": pod["metadata"]["name"],
            "apiVersion": "/v1",
        },
        "metric": {"name": metric, "selector": null},
        "timestamp": jiff::Timestamp::now().to_string(),
        "value": value,
    }))
}
