//! Locations of sources: programs read no file of their machine, no server of a private network, and no plaintext after
//! a redirect from TLS; messages about locations contain no secrets.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex},
};

use assay_tests::{Authority, Finished, Listener, Server};

use crate::{
    egress::{assay, tls_answers},
    imports::{SMALL, web_server},
    support::wait_until,
};

const HERE: [(&str, &str); 1] = [("ASSAY_SOURCE_NETWORKS", "127.0.0.1/32")];

fn ingest(directory: &Path, url: &str, environment: &[(&str, &str)]) -> Finished {
    assay(directory, &["ingest", "sanctions", url, "--format", "ofac-advanced"], environment)
}

/// A server that redirects every request.
fn redirecting(target: String) -> Listener {
    Listener::start(move |mut stream| {
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let _: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let head = format!(
            "HTTP/1.1 302 Found\r\nlocation: {target}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        Ok(false)
    })
}

fn refused(finished: &Finished, said: &str) {
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    assert!(finished.stderr.contains(said), "{}", finished.stderr);
}

#[test]
fn a_private_address_is_reached_only_in_a_network_of_the_setting() {
    let (server, _) = web_server(SMALL.into(), "200 OK");
    let port = server.address().port();
    let directory = tempfile::tempdir().unwrap();
    let denied = "is not a public address; allow its network with --source-networks, in a cluster with the \
                  chart's networkPolicy.allowedPrivateCidrs";
    // By its address, by a name, and by another form of the address.
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let url = format!("http://{host}:{port}/sdn.xml");
        refused(&ingest(directory.path(), &url, &[]), denied);
        refused(
            &ingest(directory.path(), &url, &[("ASSAY_SOURCE_NETWORKS", "10.0.0.0/8")]),
            denied,
        );
    }
    let url = format!("http://127.0.0.1:{port}/sdn.xml");
    let _ = ingest(directory.path(), &url, &HERE).ok();
}

#[test]
fn a_redirect_leads_nowhere_that_its_url_could_not() {
    let (server, sent) = web_server(SMALL.into(), "200 OK");
    let port = server.address().port();
    let directory = tempfile::tempdir().unwrap();
    let follow = |target: &str, environment: &[(&str, &str)]| {
        let server = redirecting(target.to_owned());
        ingest(directory.path(), &format!("http://{}/list", server.address()), environment)
    };
    // To another address of a private network.
    let other = format!("http://127.0.0.2:{port}/sdn.xml");
    refused(&follow(&other, &HERE), "127.0.0.2 is not a public address");
    refused(&follow("http://169.254.169.254/latest/meta-data", &HERE), "169.254.169.254 is not");
    refused(&follow("file:///etc/passwd", &HERE), "which is no http or https URL");
    assert_eq!(sent.load(std::sync::atomic::Ordering::Relaxed), 0);
    // In a circle.
    refused(&follow("/list", &HERE), "after too many other redirects");
    // To where the URL itself may lead, also by a relative reference.
    let _ = follow(&format!("//127.0.0.1:{port}/sdn.xml"), &HERE).ok();
}

#[test]
fn an_encrypted_location_is_never_fetched_in_plain_text() {
    let (server, sent) = web_server(SMALL.into(), "200 OK");
    let authority = Authority::new();
    let answer = format!(
        "HTTP/1.1 301 Moved\r\nLocation: http://{}/sdn.xml\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        server.address()
    );
    let encrypted: SocketAddr = tls_answers(&authority.server_at(&["localhost"]), answer);
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("bundle.pem"), authority.pem()).unwrap();
    let environment = [HERE[0], ("SSL_CERT_FILE", "bundle.pem")];
    let url = format!("https://localhost:{}/sdn.xml", encrypted.port());
    refused(&ingest(directory.path(), &url, &environment), "which is not encrypted");
    assert_eq!(sent.load(std::sync::atomic::Ordering::Relaxed), 0);
}

#[test]
fn secrets_in_a_location_appear_in_no_message_and_no_database() {
    let (server, _) = web_server(b"sorry".to_vec(), "403 Forbidden");
    let directory = tempfile::tempdir().unwrap();
    let url = |address: SocketAddr| format!("http://name:hush@{address}/list.xml?token=hush#hush");
    let failed = ingest(directory.path(), &url(server.address()), &HERE);
    refused(&failed, &format!("http://{}/list.xml: the server answered 403", server.address()));
    assert!(!failed.stderr.contains("hush"), "{}", failed.stderr);
    let (server, _) = web_server(SMALL.into(), "200 OK");
    let imported = ingest(directory.path(), &url(server.address()), &HERE).ok();
    assert!(!imported.stdout.contains("hush"), "{}", imported.stdout);
    for entry in fs::read_dir(directory.path()).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(4).any(|window| window == b"hush"), "in the data directory");
    }
}

#[test]
fn credentials_in_a_file_are_sent_to_the_server_of_the_location_only() {
    // Given two servers that note the credentials of a request; one redirects to the other.
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noting = |answer: String| {
        let seen = Arc::clone(&seen);
        Listener::start(move |mut stream| {
            let lines = BufReader::new(stream).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let field = head.iter().find(|line| line.to_lowercase().starts_with("authorization"));
            seen.lock().unwrap().push(field.cloned());
            stream.write_all(answer.as_bytes())?;
            Ok(false)
        })
    };
    let length = SMALL.len();
    let list = noting(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{SMALL}"));
    let target = format!("http://{}/sdn.xml", list.address());
    let redirect =
        noting(format!("HTTP/1.1 307 x\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n"));
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("token"), "hush\n").unwrap();
    let url = format!("http://{}/list", redirect.address());
    let arguments =
        ["ingest", "sanctions", &url, "--format", "ofac-advanced", "--credentials-file", "token"];
    // When the list is fetched, then the other server gets none.
    let _ = assay(directory.path(), &arguments, &HERE).ok();
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(seen[0].as_deref().is_some_and(|field| field.ends_with(": Bearer hush")), "{seen:?}");
    assert_eq!(seen[1], None);
}

#[test]
fn a_server_reads_only_files_below_its_folder_of_sources() {
    // Given sources whose location is a file of the machine, one of them in the folder.
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let place = |name: &str| directory.path().join(name);
    fs::create_dir(place("sources")).unwrap();
    fs::write(place("private.csv"), "a secret of the machine,1,2\n").unwrap();
    let labels =
        "blockchain,address,category,entity\nbtc,1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa,scam,Nobody\n";
    fs::write(place("sources/own.csv"), labels).unwrap();
    let source = |name: &str, location: &str| {
        format!(
            "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {{name: {name}}}\nspec: \
             {{location: '{location}', format: labels-csv, schedule: '0 0 1 1 *'}}\n---\n"
        )
    };
    let outside = place("private.csv").display().to_string();
    let manifests =
        [source("own", "own.csv"), source("above", "../private.csv"), source("far", &outside)];
    fs::write(place("sources.yaml"), manifests.concat()).unwrap();
    let run = |arguments: &[&str]| assay(directory.path(), arguments, &[]).ok();
    let _ = run(&["apply", "-f", "sources.yaml"]);
    // When a server fetches them.
    let server = Server::start(Arc::clone(&directory), &["--feeds", "on"]);
    let jobs = || server.assay(&["jobs", "--json"]).ok().stdout;
    wait_until("both are refused", || jobs().matches("is no file below").count() == 2);
    wait_until("the other one is read", || {
        server.assay(&["sources", "--json"]).ok().stdout.contains("\"own\"")
    });
    // Then nothing of the other files is shown.
    assert!(!server.log().contains("a secret"), "{}", server.log());
    assert!(!jobs().contains("a secret"));
}

#[test]
fn a_location_that_a_server_would_not_read_is_told_when_it_is_enabled_or_applied() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    fs::create_dir_all(place("sources/folder")).unwrap();
    fs::write(place("sources/own.xml"), SMALL).unwrap();
    fs::write(place("outside.xml"), SMALL).unwrap();
    let outside = place("outside.xml").display().to_string();
    let enable = |location: &str, environment: &[(&str, &str)]| {
        let run = assay(
            directory.path(),
            &["sources", "enable", "uk", "--location", location],
            environment,
        );
        run.ok().stderr
    };
    let denied = "is not a public address; allow its network with --source-networks";
    for (location, said) in [
        ("nowhere.xml", "is no file below"),
        ("../outside.xml", "is no file below"),
        (&*outside, "is no file below"),
        ("folder", "is a folder, and the format uk-xml reads one file"),
        ("http://127.0.0.1:9/list.xml", denied),
        ("http://localhost:9/list.xml", denied),
        ("http://[::ffff:10.1.2.3]/list.xml", denied),
    ] {
        let told = enable(location, &[]);
        assert!(told.contains(said) && told.contains("`assay serve`"), "{location}: {told}");
    }
    assert_eq!(enable("own.xml", &[]), "");
    assert_eq!(enable("http://127.0.0.1:9/list.xml", &HERE), "");
    // So it is with manifests, and what no server reads is refused.
    let source = |location: &str| {
        let manifest = format!(
            "apiVersion: assay.dev/v1alpha1\nkind: IntelSource\nmetadata: {{name: own}}\nspec: \
             {{location: '{location}', format: labels-csv, schedule: '0 0 1 1 *'}}\n"
        );
        fs::write(place("own.yaml"), manifest).unwrap();
        assay(directory.path(), &["apply", "-f", "own.yaml"], &[])
    };
    let told = source("none.csv").ok().stderr;
    assert!(told.contains("warning: own: the location `none.csv` is no file below"), "{told}");
    assert_eq!(source("folder").ok().stderr, "", "labels may be a folder of files");
    for location in ["https://", "https://lists.example:99999/a", "http://[::1/a", "https://a b/"] {
        let refused = source(location);
        assert_eq!(refused.code, 3, "{location}: {}", refused.stderr);
        assert!(refused.stderr.contains("write it with a host"), "{}", refused.stderr);
    }
    // A list that is no identifier is named where it is written.
    let manifest = fs::read_to_string(place("own.yaml")).unwrap();
    let manifest =
        manifest.replace("https://a b/", "own.xml").replace("schedule", "lists: [SDN 1], schedule");
    fs::write(place("own.yaml"), manifest.replace("labels-csv", "listings-csv")).unwrap();
    let refused = assay(directory.path(), &["apply", "-f", "own.yaml"], &[]);
    let said = "own.yaml: IntelSource own: spec.lists[0]: `SDN 1` is no list's identifier";
    assert!(refused.stderr.contains(said), "{}", refused.stderr);
}
