//! A node that gives answers of its memory.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::Value;

use super::blocks::NodeAnswers;

/// A server of a chain's answers, in threads of its own.
pub(super) struct Server {
    address: SocketAddr,
    /// CPU time of its threads, in nanoseconds.
    spent: Arc<AtomicU64>,
}

impl Server {
    pub(super) fn start(answers: Vec<NodeAnswers>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (answers, spent) = (Arc::new(answers), Arc::new(AtomicU64::new(0)));
        let all = Arc::clone(&spent);
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let (answers, spent) = (Arc::clone(&answers), Arc::clone(&all));
                thread::spawn(move || serve(&connection, &answers, &spent));
            }
        });
        Self { address, spent }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn cpu_time(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Ordering::Relaxed))
    }
}

/// Serves a connection until it ends.
fn serve(connection: &TcpStream, answers: &[NodeAnswers], spent: &AtomicU64) -> Option<()> {
    let mut reading = BufReader::new(connection);
    let mut noted = Duration::ZERO;
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reading.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(stated) = line.strip_prefix("content-length:") {
                length = stated.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reading.read_exact(&mut body).ok()?;
        let body = match serde_json::from_slice(&body).ok()? {
            Value::Array(calls) => {
                let replies: Vec<_> = calls.iter().map(|call| reply(call, answers)).collect();
                format!("[{}]", replies.join(","))
            }
            call => reply(&call, answers),
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let mut writing = connection;
        writing.write_all(head.as_bytes()).ok()?;
        writing.write_all(body.as_bytes()).ok()?;
        let now = assay_tests::cpu_time();
        let more = u64::try_from(now.saturating_sub(noted).as_nanos()).ok()?;
        spent.fetch_add(more, Ordering::Relaxed);
        noted = now;
    }
}

fn reply(call: &Value, answers: &[NodeAnswers]) -> String {
    let (first, second) = (call["params"][0].as_str().unwrap_or_default(), &call["params"][1]);
    let by_hash = || answers.iter().find(|it| it.hash == first);
    let result = match call["method"].as_str().unwrap_or_default() {
        "eth_chainId" => Some("\"0x539\""),
        "eth_getCode" => Some("\"0x6000\""),
        "eth_getBlockByNumber" => {
            let height = first.strip_prefix("0x").and_then(|it| usize::from_str_radix(it, 16).ok());
            let found = match height {
                Some(height) => answers.get(height),
                None if first == "latest" => answers.last(),
                None => None,
            };
            found.map(|it| if *second == true { &*it.block } else { &*it.name })
        }
        "eth_getBlockByHash" => by_hash().map(|it| &*it.block),
        "eth_getBlockReceipts" => by_hash().map(|it| &*it.receipts),
        "debug_traceBlockByHash" => by_hash().map(|it| &*it.traces),
        _ => None,
    };
    let result = result.unwrap_or("null");
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", call["id"])
}
