//! A raw HTTP client: plaintext or TLS, HTTP/1.1 or HTTP/2.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use assay_tests::Authority;
use axum::http::{HeaderMap, Request, Version};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName},
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Time limit for an answer.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// Opens a plaintext connection.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream
}

/// Reads until the other side closes, or until `mark` was read.
pub(crate) fn read_until(stream: &mut TcpStream, mark: &str) -> String {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&text).contains(mark) {
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => text.extend_from_slice(&buffer[..count]),
            // The other side is gone, one way or another.
            _ => break,
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Reads until the other side closes the connection.
pub(crate) fn read_to_close(stream: &mut TcpStream) -> String {
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => text.extend_from_slice(&buffer[..count]),
            Err(error) => {
                let waits = [std::io::ErrorKind::WouldBlock, std::io::ErrorKind::TimedOut];
                assert!(!waits.contains(&error.kind()), "it is not closed");
                break;
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Sends bytes and reads the head of the response.
pub(crate) fn ask(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = connect(address);
    stream.write_all(bytes).unwrap();
    read_until(&mut stream, "\r\n\r\n")
}

/// Opens a TLS connection that trusts only this authority, with the application protocol `protocol`.
pub(crate) async fn connect_tls(
    authority: &Authority,
    address: SocketAddr,
    protocol: &str,
) -> std::io::Result<TlsStream<tokio::net::TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(authority.der().to_vec())).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let stream = tokio::net::TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// The certificate of the other side.
pub(crate) fn shown(stream: &TlsStream<tokio::net::TcpStream>) -> Vec<u8> {
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

/// Sends a request by HTTP/1.1 over any stream; returns the head of the answer and the body.
pub(crate) async fn http1<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    method: &str,
    path: &str,
    fields: &[(&str, &str)],
    body: &str,
) -> (String, String) {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{}content-length: {}\r\n\r\n{body}",
        fields.concat(),
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.unwrap_or("0").parse::<usize>().unwrap() {
                return (head.to_owned(), body.to_owned());
            }
        }
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(count > 0, "closed after {text}");
        bytes.extend_from_slice(&buffer[..count]);
    }
}

/// An answer by HTTP/2.
pub(crate) struct Answer2 {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

/// A request for HTTP/2.
pub(crate) fn request2(method: &str, path: &str, fields: &[(&str, &str)]) -> Request<()> {
    let mut request = Request::builder()
        .version(Version::HTTP_2)
        .method(method)
        .uri(format!("http://localhost{path}"));
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(()).unwrap()
}

/// Sends a request by HTTP/2 over any stream.
pub(crate) async fn http2<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    request: Request<()>,
    body: &str,
) -> Answer2 {
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    let driven = tokio::spawn(connection);
    let mut client = client.ready().await.unwrap();
    let (response, mut sending) = client.send_request(request, body.is_empty()).unwrap();
    if !body.is_empty() {
        sending.send_data(body.to_owned().into(), true).unwrap();
    }
    let response = response.await.unwrap();
    let (parts, mut answer) = response.into_parts();
    let mut bytes = Vec::new();
    while let Some(data) = answer.data().await {
        let data = data.unwrap();
        answer.flow_control().release_capacity(data.len()).unwrap();
        bytes.extend_from_slice(&data);
    }
    driven.abort();
    let text = String::from_utf8(bytes).unwrap();
    Answer2 { status: parts.status.as_u16(), headers: parts.headers, text }
}
