//! A faulty proxy between the operator and the API server.

use std::{
    io::Read,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use assay_tests::Cluster;
use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    http::{Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use tokio::{runtime::Runtime, sync::mpsc, task::spawn_blocking};
use ureq::{
    Agent,
    tls::{Certificate, RootCerts, TlsConfig},
};

/// Duration of a watch.
const WATCH: Duration = Duration::from_secs(1);

/// Numbers of faulty responses to the operator.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    requests: AtomicU64,
    watches: AtomicU64,
    /// 429: try again later.
    pub(crate) refused: AtomicU64,
    /// Executed requests whose response was lost.
    pub(crate) lost: AtomicU64,
    /// 410: the version from which a watch was to continue is gone.
    pub(crate) gone: AtomicU64,
    /// 409: another client was faster.
    pub(crate) conflicts: AtomicU64,
}

/// A proxy to the API server, in which every third request fails and watches end after a second.
pub(crate) struct FlakyApiServer {
    pub(crate) url: String,
    pub(crate) faults: Arc<Faults>,
    /// Runtime of the proxy, until the value is dropped.
    server: Option<Runtime>,
}

impl FlakyApiServer {
    pub(crate) fn start(cluster: &Cluster) -> Self {
        let authority = Certificate::from_pem(cluster.authority().as_bytes()).unwrap();
        let trusted = RootCerts::Specific(Arc::new(vec![authority]));
        let agent: Agent = Agent::config_builder()
            .tls_config(TlsConfig::builder().root_certs(trusted).build())
            .http_status_as_error(false)
            .build()
            .into();
        let (real, faults) = (cluster.url(), Arc::<Faults>::default());
        let counted = Arc::clone(&faults);
        let proxy = Router::new().fallback(move |request: Request| {
            answer(agent.clone(), real.clone(), Arc::clone(&counted), request)
        });
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, proxy).await });
        Self { url, faults, server: Some(runtime) }
    }
}

impl Drop for FlakyApiServer {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            // Watches without events would be read until the API server ends them.
            server.shutdown_background();
        }
    }
}

/// A failure in the format of the API server.
fn failure(status: StatusCode, reason: &str) -> Response {
    let said = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": reason,
        "message": "for a test", "code": status.as_u16(),
    });
    (status, axum::Json(said)).into_response()
}

/// A failure as an event of a watch.
async fn within_watch(failure: Response) -> Response {
    let said = axum::body::to_bytes(failure.into_body(), 1 << 16).await.unwrap();
    let said: Value = serde_json::from_slice(&said).unwrap();
    axum::Json(json!({"type": "ERROR", "object": said})).into_response()
}

async fn answer(agent: Agent, real: String, faults: Arc<Faults>, request: Request) -> Response {
    let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    // Makes lists longer than one page.
    let path = path.replace("limit=500", "limit=10");
    let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
    let is_write = request.method() != Method::GET;
    let is_watch = path.contains("watch=true");
    // Requests for the Lease are excluded.
    let mut is_lost = false;
    if is_watch {
        let number = count(&faults.watches);
        if number % 3 == 2 {
            count(&faults.gone);
            let said = failure(StatusCode::GONE, "Expired");
            // The error arrives within a running watch: its objects must be listed again.
            return if number % 2 == 0 { said } else { within_watch(said).await };
        }
    } else if !path.contains("/leases") {
        match count(&faults.requests) % 9 {
            0 => {
                count(&faults.refused);
                return failure(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests");
            }
            3 if is_write => {
                count(&faults.conflicts);
                return failure(StatusCode::CONFLICT, "Conflict");
            }
            6 if is_write => is_lost = true,
            _ => {}
        }
    }
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 24).await.unwrap();
    let (sender, mut receiver) = mpsc::channel::<Result<Bytes, std::io::Error>>(16);
    let asked = spawn_blocking(move || {
        let mut asked = ureq::http::Request::builder().method(head.method).uri(real + &path);
        for (name, value) in &head.headers {
            if ![header::HOST, header::CONTENT_LENGTH, header::ACCEPT_ENCODING].contains(name) {
                asked = asked.header(name, value);
            }
        }
        let answer = agent.run(asked.body(&body[..]).unwrap()).unwrap();
        let (head, body) = answer.into_parts();
        // The rest is read beside: a watch has no end.
        let mut reader = body.into_reader();
        tokio::task::spawn_blocking(move || {
            let (begun, mut buffer) = (Instant::now(), [0; 1 << 14]);
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                let chunk = Bytes::copy_from_slice(&buffer[..count]);
                let is_over = is_watch && begun.elapsed() > WATCH;
                if is_over || sender.blocking_send(Ok(chunk)).is_err() {
                    break;
                }
            }
        });
        head
    });
    let head = asked.await.unwrap();
    if is_lost {
        while receiver.recv().await.is_some() {}
        count(&faults.lost);
        return failure(StatusCode::INTERNAL_SERVER_ERROR, "InternalError");
    }
    let stream = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context));
    let mut answer = Response::new(Body::from_stream(stream));
    *answer.status_mut() = head.status;
    if let Some(kind) = head.headers.get(header::CONTENT_TYPE) {
        answer.headers_mut().insert(header::CONTENT_TYPE, kind.clone());
    }
    answer
}
