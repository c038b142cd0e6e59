//! Given a network whose only egress is a proxy that terminates TLS, when a program fetches something, then the request
//! goes through that proxy, and certificates of the private CA are trusted.

use std::{
    io::{BufRead, BufReader, Read, Write, copy},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

use assay_tests::{Authority, CertificateWithKey, Finished, binary};
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::imports::SMALL;

/// A forward proxy that connects every request to the same server, and records the requested
/// targets.
struct Proxy {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&requests);
        thread::spawn(move || {
            for caller in listener.incoming().flatten() {
                let noted = Arc::clone(&noted);
                thread::spawn(move || pass(caller, server, &noted));
            }
        });
        Self { address, requests }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests that the proxy received since the last call.
    fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }
}

fn pass(caller: TcpStream, server: SocketAddr, noted: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(caller.try_clone().unwrap());
    let mut first = String::new();
    // A client that disconnects sent no request.
    let _ = reader.read_line(&mut first);
    while reader.read_line(&mut String::new()).is_ok_and(|length| length > 2) {}
    noted.lock().unwrap().push(first.split(" HTTP").next().unwrap_or_default().to_owned());
    let mut caller = caller;
    let Ok(mut to) = TcpStream::connect(server) else { return };
    let _ = caller.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
    let (mut back, mut answers) = (caller.try_clone().unwrap(), to.try_clone().unwrap());
    thread::spawn(move || {
        let _ = copy(&mut answers, &mut back);
        let _ = back.shutdown(Shutdown::Both);
    });
    let _ = copy(&mut reader, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

/// A server that answers every request over TLS with the same text.
fn tls_server(certified: &CertificateWithKey, text: &'static str) -> SocketAddr {
    let length = text.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    tls_answers(certified, head + text)
}

/// A server that answers every request over TLS with the same bytes.
pub(crate) fn tls_answers(certified: &CertificateWithKey, answer: String) -> SocketAddr {
    tls_answers_ending(certified, answer, true)
}

/// A server that answers every request over TLS with the same bytes, and tells that they end or breaks the connection.
pub(crate) fn tls_answers_ending(
    certified: &CertificateWithKey,
    answer: String,
    is_end_told: bool,
) -> SocketAddr {
    let chain = CertificateDer::from_pem_slice(certified.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(certified.key.as_bytes()).unwrap();
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(ring).with_safe_default_protocol_versions();
    let config = config.unwrap().with_no_client_auth().with_single_cert(vec![chain], key).unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for caller in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, caller);
            let mut request = [0; 4096];
            // A client that does not trust the certificate disconnects.
            if stream.read(&mut request).is_ok() {
                let _ = stream.write_all(answer.as_bytes());
                if is_end_told {
                    stream.conn.send_close_notify();
                }
                let _ = stream.flush();
            }
        }
    });
    address
}

pub(crate) fn assay(
    directory: &Path,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Finished {
    let mut command = Command::new(binary());
    command.env_clear().envs(environment.iter().copied()).current_dir(directory);
    command.env("ASSAY_DATA_DIR", directory).args(arguments).output().unwrap().into()
}

#[test]
fn a_list_is_fetched_through_the_proxy_from_a_host_with_a_private_certificate() {
    let authority = Authority::new();
    let proxy = Proxy::start(tls_server(&authority.server_at(&["lists.example"]), SMALL));
    let directory = tempfile::tempdir().unwrap();
    let bundle = directory.path().join("bundle.pem");
    // As usual bundles do, it contains other certificates too.
    std::fs::write(&bundle, [Authority::new().pem(), authority.pem()].concat()).unwrap();
    let bundle = bundle.display().to_string();
    let url = "https://lists.example/sdn.xml";
    let ingest = ["ingest", "sanctions", url, "--format", "ofac-advanced"];
    let by_proxy = proxy.url();
    let way = [("HTTPS_PROXY", &*by_proxy), ("SSL_CERT_FILE", &*bundle)];

    // No other CA issued that server's certificate.
    let refused = assay(directory.path(), &ingest, &way[..1]);
    assert!(refused.code == 1 && refused.stderr.contains("certificate"), "{}", refused.stderr);
    assert_eq!(proxy.take_requests(), ["CONNECT lists.example:443"]);

    let _ = assay(directory.path(), &ingest, &way).ok();
    assert_eq!(proxy.take_requests(), ["CONNECT lists.example:443"]);

    // Without the proxy there is no such name, and the proxy is not for other schemes' URLs.
    let near = [way[0], way[1], ("NO_PROXY", "10.0.0.0/8,.example")];
    assert_eq!(assay(directory.path(), &ingest, &near).code, 1);
    let other = [("HTTP_PROXY", &*by_proxy), way[1]];
    assert_eq!(assay(directory.path(), &ingest, &other).code, 1);
    assert_eq!(proxy.take_requests(), Vec::<String>::new());
}

#[test]
fn an_explorer_is_requested_through_the_proxy() {
    let authority = Authority::new();
    let proxy = Proxy::start(tls_server(&authority.server_at(&["esplora.example"]), "no block"));
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("bundle.pem"), authority.pem()).unwrap();
    let url = "https://esplora.example/api";
    let ingest = ["ingest", "chain", "btc", "--esplora", url, "--test-network"];
    let way = [("https_proxy", &*proxy.url()), ("SSL_CERT_FILE", "bundle.pem")];
    let finished = assay(directory.path(), &ingest, &way);
    // The server is reached; its response is not that of an explorer.
    assert!(finished.code != 0 && !finished.stderr.contains("certificate"), "{}", finished.stderr);
    assert_eq!(proxy.take_requests()[0], "CONNECT esplora.example:443");
}

#[test]
fn an_invalid_proxy_setting_is_reported_at_once() {
    let directory = tempfile::tempdir().unwrap();
    for (name, value, said) in [
        (
            "SSL_CERT_FILE",
            "missing.pem",
            "failed to read the CA bundle missing.pem, named by SSL_CERT_FILE",
        ),
        (
            "HTTPS_PROXY",
            "ftp://proxy",
            "HTTPS_PROXY is not a proxy URL: write it as http://HOST:PORT",
        ),
    ] {
        let ingest = ["ingest", "sanctions", "list.csv", "--format", "csv"];
        let finished = assay(directory.path(), &ingest, &[(name, value)]);
        assert!(finished.code == 2 && finished.stderr.contains(said), "{}", finished.stderr);
    }
}
