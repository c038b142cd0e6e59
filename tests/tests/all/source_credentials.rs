//! Credentials of sources: manifests cannot send files of the machine, and servers receive only credentials meant for
//! them.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
};

use assay_tests::{Authority, Finished, Listener, Server, binary};

use crate::{
    egress::{assay, tls_answers},
    imports::SMALL,
    support::wait_until,
};

const HERE: [(&str, &str); 1] = [("ASSAY_SOURCE_NETWORKS", "127.0.0.1/32")];
const MEND: &str =
    "put it there, or name its folder in the setting credentials-dirs (ASSAY_CREDENTIALS_DIRS)";
/// Basic authorization of `node:hush`.
const HUSH: &str = "Basic bm9kZTpodXNo";

/// A server that records requests with their credentials.
struct RecordingServer {
    listener: Listener,
    requests: Arc<Mutex<Vec<Option<String>>>>,
}

impl RecordingServer {
    /// A server that runs `before` and gives every request the same answer.
    fn answering(answer: String, before: impl Fn() + Send + Sync + 'static) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&requests);
        let listener = Listener::start(move |mut stream| {
            let lines = BufReader::new(stream).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let field = head.iter().find_map(|line| {
                line.split_once(": ").filter(|(name, _)| name.eq_ignore_ascii_case("authorization"))
            });
            noted.lock().unwrap().push(field.map(|(_, value)| value.to_owned()));
            before();
            stream.write_all(answer.as_bytes())?;
            Ok(false)
        });
        Self { listener, requests }
    }

    /// A server with a list.
    fn with_list() -> Self {
        let length = SMALL.len();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
        Self::answering(head + SMALL, || ())
    }

    /// A server that redirects.
    fn redirecting(target: &str) -> Self {
        Self::answering(redirect(target), || ())
    }

    fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// The credentials in the requests so far.
    fn requests(&self) -> Vec<Option<String>> {
        self.requests.lock().unwrap().clone()
    }
}

fn redirect(target: &str) -> String {
    format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {target}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
}

fn intel(name: &str, location: &str, credentials: &Path) -> String {
    format!(
        "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {{name: {name}}}\nspec: \
         {{location: '{location}', format: ofac-advanced, schedule: '0 0 1 1 *', credentialsFile: '{}'}}\n---\n",
        credentials.display()
    )
}

fn chain(endpoint: &str, credentials: &Path) -> String {
    format!(
        "apiVersion: assay.dev/v1alpha1\nkind: ChainSource\nmetadata: {{name: bitcoin}}\nspec: {{chain: btc, mode: \
         follow, protocol: rpc, endpoint: '{endpoint}', credentialsFile: '{}'}}\n---\n",
        credentials.display()
    )
}

/// The default source of every installation, which is fetched from the internet.
const READY: &str = "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {name: ofac-sdn}\nspec: {location: \
                     'http://127.0.0.1:9/list.xml', format: ofac-advanced, schedule: '0 0 1 1 *', suspended: true}\n";

/// A data directory that fetches nothing from the internet, and a file with a secret that is no credential of a source.
fn isolated_data_directory() -> (Arc<tempfile::TempDir>, tempfile::TempDir, PathBuf) {
    let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(data.path().join("sources")).unwrap();
    let secret = other.path().join("secret");
    fs::write(&secret, "machine:secret\n").unwrap();
    let _ = apply(data.path(), READY, &[]).ok();
    (Arc::new(data), other, secret)
}

fn apply(data: &Path, manifests: &str, environment: &[(&str, &str)]) -> Finished {
    fs::write(data.join("manifests.yaml"), manifests).unwrap();
    assay(data, &["apply", "-f", "manifests.yaml"], environment)
}

#[test]
fn no_manifest_is_applied_whose_credentials_are_another_file_of_the_machine() {
    let (data, other, secret) = isolated_data_directory();
    let sources = data.path().join("sources");
    symlink(&secret, sources.join("link")).unwrap();
    symlink(other.path(), sources.join("folder")).unwrap();
    fs::write(sources.join("own"), "own:word").unwrap();
    for file in [
        Path::new("/etc/passwd"),
        Path::new("/proc/self/environ"),
        &secret,
        Path::new("link"),
        Path::new("folder/secret"),
        Path::new("../manifests.yaml"),
        &sources.join("../manifests.yaml"),
    ] {
        for manifest in [
            intel("own", "https://lists.example/own", file),
            chain("http://node.example:8332", file),
        ] {
            let refused = apply(data.path(), &manifest, &[]);
            assert_eq!(refused.code, 3, "{file:?}: {}", refused.stderr);
            let stderr = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
            let said = format!("spec.credentialsFile: the credentials file `{}`", file.display());
            assert!(stderr.contains(&said) && stderr.contains(MEND), "{stderr}");
        }
    }
    // All problems are reported, and nothing is applied.
    let both = [
        intel("own", "ftp://lists.example/own", Path::new("own")),
        chain("http://node.example:8332", &secret),
    ];
    let refused = apply(data.path(), &both.concat(), &[]);
    for part in ["spec.location", "spec.credentialsFile"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    let manifests = [
        intel("own", "https://lists.example/own", Path::new("own")),
        chain("http://node.example:8332", &secret),
    ];
    assert_eq!(apply(data.path(), &manifests.concat(), &[]).code, 3);
    let applied = apply(data.path(), &manifests[0], &[]).ok();
    assert!(applied.stdout.contains("IntelSource own created"), "{}", applied.stdout);
    // The operator of the machine may name the folder of a node.
    let folders = other.path().display().to_string();
    let _ = apply(data.path(), &manifests[1], &[("ASSAY_CREDENTIALS_DIRS", &folders)]).ok();
}

#[test]
fn a_server_sends_no_file_that_a_stored_manifest_must_not_name() {
    // Given manifests of sources, one with a file outside the folders, as an earlier release accepted it, one whose
    // file became a link to such a file, and one whose file holds more than credentials.
    let (data, other, secret) = isolated_data_directory();
    let sources = data.path().join("sources");
    let [list, linked, long, node] = [0; 4].map(|_| RecordingServer::with_list());
    fs::write(sources.join("link"), "own:word").unwrap();
    fs::write(sources.join("long"), fs::read("/etc/passwd").unwrap()).unwrap();
    let manifests = [
        intel("list", &list.url(), &secret),
        intel("linked", &linked.url(), Path::new("link")),
        intel("long", &long.url(), Path::new("long")),
        chain(&node.url(), &secret),
    ];
    let folders = other.path().display().to_string();
    let earlier = [("ASSAY_CREDENTIALS_DIRS", &*folders)];
    let _ = apply(data.path(), &manifests.concat(), &earlier).ok();
    fs::remove_file(sources.join("link")).unwrap();
    symlink(&secret, sources.join("link")).unwrap();
    // When a server fetches and follows, and all lists are imported at once.
    let networks = HERE.map(|(name, value)| (name, value.to_owned()));
    let server = Server::start_in(Arc::clone(&data), &["--feeds", "on"], &networks);
    let jobs = || server.assay(&["jobs", "--json"]).ok().stdout;
    wait_until("the sources are refused", || {
        jobs().matches(MEND).count() == 2 && jobs().contains("are not one line")
    });
    wait_until("the chain is refused", || {
        let said = server.log();
        said.contains("no request was sent to") && said.contains(MEND)
    });
    let all = assay(data.path(), &["ingest", "sanctions", "--all"], &HERE);
    assert_eq!(all.code, 1, "{}", all.stdout);
    assert_eq!(all.stdout.matches("does not lie below").count(), 2, "{}", all.stdout);
    // Then no server was sent anything, and nothing shows the content of a file.
    for witness in [&list, &linked, &long, &node] {
        assert_eq!(witness.requests(), []);
    }
    for text in [server.log(), jobs(), all.stdout, all.stderr] {
        assert!(
            !text.contains("secret\\n") && !text.contains("machine:") && !text.contains("root:")
        );
    }
    drop(server);
    // And when the operator of the machine names the folder, then the list is fetched.
    let environment = [HERE[0], earlier[0]];
    let all = assay(data.path(), &["ingest", "sanctions", "--all"], &environment);
    assert_eq!(all.stdout.matches("does not lie below").count(), 0, "{}", all.stdout);
    let shown = Some("Basic bWFjaGluZTpzZWNyZXQ=".to_owned());
    assert_eq!([list.requests(), linked.requests()], [[shown.clone()], [shown]]);
}

#[test]
fn all_lists_are_not_imported_from_files_outside_the_folder() {
    let (data, _other, secret) = isolated_data_directory();
    fs::write(&secret, SMALL).unwrap();
    let location = secret.display().to_string();
    let manifest = intel("far", &location, Path::new("none"));
    let _ = apply(data.path(), &manifest, &[]).ok();
    let refused = assay(data.path(), &["ingest", "sanctions", "--all"], &[]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(refused.stdout.contains("is no file below"), "{}", refused.stdout);
    let folder = secret.parent().unwrap().display().to_string();
    let environment = [("ASSAY_SOURCE_DIR", &*folder)];
    let _ = assay(data.path(), &["ingest", "sanctions", "--all"], &environment).ok();
}

/// Runs `assay ingest chain` with credentials from a file that its caller names.
fn ingest_chain(directory: &Path, url: &str, environment: &[(&str, &str)]) -> Finished {
    fs::write(directory.join("cookie"), "node:hush\n").unwrap();
    assay(directory, &["ingest", "chain", "btc", "--rpc", url, "--cookie", "cookie"], environment)
}

#[test]
fn a_node_that_redirects_does_not_get_its_credentials_sent_elsewhere() {
    let data = tempfile::tempdir().unwrap();
    let other = RecordingServer::with_list();
    // To another port, another host, and an answer of its own.
    let localhost = format!("localhost:{}", other.address().port());
    for (target, told) in [
        (other.url(), other.address().to_string()),
        (format!("http://{localhost}/a/key"), localhost.clone()),
        (format!("//{localhost}/a/key"), localhost),
        ("/elsewhere".to_owned(), "another path of its own".to_owned()),
    ] {
        let node = RecordingServer::redirecting(&target);
        let failed = ingest_chain(data.path(), &node.url(), &[]);
        assert_eq!(failed.code, 1, "{}", failed.stderr);
        let stderr = failed.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = format!(
            "it redirects to {told}, and credentials, paths and queries are for this server only"
        );
        assert!(stderr.contains(&said), "{stderr}");
        assert!(!stderr.contains("/a/key"), "{stderr}");
        assert!(node.requests().iter().all(|shown| shown.as_deref() == Some(HUSH)));
    }
    // From an encrypted connection to plain text.
    let authority = Authority::new();
    fs::write(data.path().join("bundle.pem"), authority.pem()).unwrap();
    let encrypted = tls_answers(&authority.server_at(&["localhost"]), redirect(&other.url()));
    let url = format!("https://localhost:{}", encrypted.port());
    let failed = ingest_chain(data.path(), &url, &[("SSL_CERT_FILE", "bundle.pem")]);
    assert!(failed.stderr.contains("redirects to"), "{}", failed.stderr);
    assert_eq!(other.requests(), []);
}

#[test]
fn a_list_that_is_redirected_gets_its_credentials_sent_to_no_other_server() {
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join("token"), "hush\n").unwrap();
    let list = RecordingServer::with_list();
    let localhost = format!("http://localhost:{}/", list.address().port());
    // To another port, another host, and from there back.
    let first = RecordingServer::redirecting(&list.url());
    let back = RecordingServer::redirecting(&localhost);
    for witness in [&first, &back] {
        let url = witness.url();
        let ingest = [
            "ingest",
            "sanctions",
            &url,
            "--format",
            "ofac-advanced",
            "--credentials-file",
            "token",
        ];
        let networks = [("ASSAY_SOURCE_NETWORKS", "127.0.0.1/32,::1/128")];
        let _ = assay(data.path(), &ingest, &networks).ok();
        assert_eq!(witness.requests(), [Some("Bearer hush".to_owned())]);
    }
    assert_eq!(list.requests(), [None, None]);
}

#[test]
fn credentials_are_sent_to_no_server_but_those_that_they_are_for() {
    let data = tempfile::tempdir().unwrap();
    for (name, content) in [("token", "hush"), ("cookie", "node:hush")] {
        fs::write(data.path().join(name), content).unwrap();
    }
    let list = RecordingServer::with_list();
    let url = list.url();
    let port = list.address().port();
    let named = |hosts: &str| {
        let hosts = format!("--credentials-hosts={hosts}");
        let file = "--credentials-file=token";
        let ingest = ["ingest", "sanctions", &url, "--format", "ofac-advanced", file, &hosts];
        assay(data.path(), &ingest, &HERE)
    };
    for other in ["lists.example:443".to_owned(), format!("localhost:{port}"), "127.0.0.1:1".into()]
    {
        let refused = named(&other);
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        let said = format!("the credentials are for {other} only, and not for 127.0.0.1:{port}");
        assert!(refused.stderr.contains(&said), "{}", refused.stderr);
    }
    assert_eq!(named("lists.example").code, 2, "it has no port");
    assert_eq!(list.requests(), []);
    // A chain server follows no node that its credentials are not for.
    let arguments =
        ["btc", "--rpc", &url, "--cookie", "cookie", "--credentials-hosts=node.example:8332"];
    let directory = Arc::new(data);
    let _ = assay(directory.path(), &["migrate"], &[]).ok();
    let server = Server::start_chain(Arc::clone(&directory), &arguments);
    wait_until("it is refused", || server.log().contains("are for node.example:8332 only"));
    assert_eq!(list.requests(), []);
    drop(server);
    let file = "--credentials-file=token";
    let hosts = format!("--credentials-hosts=other.example:1,127.0.0.1:{port}");
    let ingest = ["ingest", "sanctions", &url, "--format", "ofac-advanced", file, &hosts];
    let _ = assay(directory.path(), &ingest, &HERE).ok();
    assert_eq!(list.requests(), [Some("Bearer hush".to_owned())]);
}

/// Runs `assay` with a file in place of `/etc/hosts`.
fn with_hosts(hosts: &Path, directory: &Path, arguments: &[&str]) -> Finished {
    let script = "mount --bind \"$0\" /etc/hosts && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(hosts).arg(binary()).args(arguments);
    command.envs(HERE).env("ASSAY_DATA_DIR", directory).current_dir(directory);
    command.output().unwrap().into()
}

#[test]
#[ignore = "needs root"]
fn a_name_that_leads_elsewhere_after_the_first_request_is_not_followed() {
    // Given a host whose name leads to a permitted address, and to the machine's own other address once it was asked.
    let data = tempfile::tempdir().unwrap();
    fs::write(data.path().join("token"), "hush").unwrap();
    let hosts = data.path().join("hosts");
    let name = |address: &str| format!("{address} lists.example\n");
    fs::write(&hosts, name("127.0.0.1")).unwrap();
    let changed = hosts.clone();
    let elsewhere = name("127.0.0.2");
    let server = RecordingServer::answering(redirect("/again"), move || {
        fs::write(&changed, &elsewhere).unwrap();
    });
    let url = format!("http://lists.example:{}/list", server.address().port());
    let ingest =
        ["ingest", "sanctions", &url, "--format", "ofac-advanced", "--credentials-file", "token"];
    // When the list is fetched, then it is asked once, and not at the new address.
    let refused = with_hosts(&hosts, data.path(), &ingest);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    let said = "127.0.0.2 is not a public address; allow its network with --source-networks";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
    assert_eq!(server.requests(), [Some("Bearer hush".to_owned())]);
    // And when it is fetched again, then not at all.
    refused_again(&with_hosts(&hosts, data.path(), &ingest), said);
    assert_eq!(server.requests().len(), 1);
}

fn refused_again(finished: &Finished, said: &str) {
    assert!(finished.code == 1 && finished.stderr.contains(said), "{}", finished.stderr);
}
