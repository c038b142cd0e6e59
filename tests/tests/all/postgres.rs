//! The program with a shared PostgreSQL database.

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    sync::Arc,
    thread,
};

use assay_tests::{Postgres, Server, assay, tenant};
use serde_json::json;

use crate::{imports::SMALL, support::wait_until};

const LISTED: &str = "1BoatSLRHtKNngkdXEeobR76b53LETtpyT";

#[test]
fn two_servers_on_one_database_show_the_same() {
    let database = Postgres::shared(None);
    let directory = || {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        database.connect_directory(directory.path());
        directory
    };
    let here = directory();
    let nothing = assay(here.path(), ["sources"]);
    assert_eq!(nothing.code, 1);
    assert!(nothing.stderr.contains("run `assay migrate`"), "{}", nothing.stderr);
    assert!(!nothing.stderr.contains("secret"), "{}", nothing.stderr);
    let made = assay(here.path(), ["migrate"]).ok();
    assert_eq!(
        made.stdout,
        "the database is up to date (production data)\nthe roles exist and have their grants\n"
    );

    let acme = tenant("acme", "enterprise");
    std::fs::write(here.path().join("acme.yaml"), acme).unwrap();
    let _ = assay(here.path(), ["apply", "-f", "acme.yaml"]).ok();
    let key = assay(here.path(), ["keys", "create", "--tenant", "acme", "--json"]).ok().json();
    let servers = [Server::start(Arc::clone(&here), &[]), Server::start(directory(), &[])];
    let callers = servers.each_ref().map(|server| server.caller(key["key"].as_str().unwrap()));
    for caller in &callers {
        assert_eq!(caller.check("btc", LISTED).json()["verdict"], "indeterminate");
    }

    // A list shows in both within a second, and the answer of one can be looked up at the other.
    std::fs::write(here.path().join("small.xml"), SMALL).unwrap();
    let import = ["ingest", "sanctions", "small.xml", "--format", "ofac-advanced", "--json"];
    assert_eq!(assay(here.path(), import).ok().json()["outcome"], "imported");
    assert_eq!(assay(here.path(), import).ok().json()["outcome"], "unchanged");
    for caller in &callers {
        wait_until("the list shows", || caller.check("btc", LISTED).json()["verdict"] == "block");
    }
    let answer = callers[0].check("btc", LISTED);
    let digests: Vec<_> = callers
        .iter()
        .map(|caller| caller.check("btc", LISTED).json()["assessment_digest"].clone())
        .collect();
    assert_eq!(digests[0], digests[1]);
    let path = format!("/api/v1/checks/{}", answer.json()["check_id"].as_str().unwrap());
    wait_until("the answer is written", || callers[1].get(&path).text == answer.text);

    // Usage of both adds up; a key that dies, dies at both.
    let checks = |caller: &assay_tests::Caller| caller.get("/api/v1/usage").json()["total"].clone();
    wait_until("usage of both is written", || checks(&callers[0]) == checks(&callers[1]));
    // A server writes its charges a moment after it answered.
    wait_until("and nothing else", || {
        let counted = database.query("SELECT sum(count) FROM usage");
        checks(&callers[0]) == json!(counted.parse::<u64>().unwrap())
    });
    let _ = assay(here.path(), ["keys", "revoke", key["id"].as_str().unwrap()]).ok();
    for caller in &callers {
        wait_until("the key is dead", || caller.get("/api/v1/sources").status == 401);
    }
    for server in servers {
        assert!(!server.log().contains("secret"), "{}", server.log());
    }
}

#[test]
fn a_nul_in_a_text_is_refused_and_never_reaches_the_database() {
    // Given a server on PostgreSQL, whose texts hold no NUL.
    let database = Postgres::shared(None);
    let directory = Arc::new(tempfile::tempdir().unwrap());
    database.connect_directory(directory.path());
    let run = |arguments: &[&str]| assay(directory.path(), arguments).ok();
    let _ = run(&["migrate"]);
    std::fs::write(directory.path().join("acme.yaml"), tenant("acme", "enterprise")).unwrap();
    let _ = run(&["apply", "-f", "acme.yaml"]);
    let key = run(&["keys", "create", "--tenant", "acme"]).stdout;
    let server = Server::start(Arc::clone(&directory), &[]);
    let caller = server.caller(key.trim());
    let post = |path: &str, body: &str| caller.post(path, body, &[]).status;
    let address = "/api/v1/check/address";
    let transfer = "/api/v1/check/transfer";
    // When a caller sends one in each text of each request, then it is refused as what it is.
    let refused = [
        ("check_id", caller.get("/api/v1/checks/abc%00").status, 404),
        ("from", caller.get("/api/v1/usage?from=2026-01-01%00").status, 400),
        ("path", caller.get("/api/v1/no%00where").status, 404),
        ("blockchain", post(address, r#"{"blockchain":"btc\u0000","address":"1"}"#), 422),
        ("address", post(address, r#"{"blockchain":"btc","address":"1\u0000"}"#), 422),
        (
            "transaction",
            post(transfer, r#"{"blockchain":"btc","transaction":"\u0000","direction":"deposit"}"#),
            400,
        ),
    ];
    for (text, status, expected) in refused {
        assert_eq!(status, expected, "{text}");
    }
    // A reference is the caller's own, and is kept with the answer.
    let body = format!(r#"{{"blockchain":"btc","address":"{LISTED}","reference":"a\u0000b"}}"#);
    let answer = caller.post(address, &body, &[]);
    assert_eq!((answer.status, &answer.json()["reference"]), (200, &json!("a\0b")));
    let path = format!("/api/v1/checks/{}", answer.json()["check_id"].as_str().unwrap());
    let written = format!("SELECT count(*) FROM checks WHERE id = '{}'", &path[15..]);
    wait_until("the answer is written", || database.query(&written) == "1");
    assert_eq!(caller.get(&path).text, answer.text);
    assert!(!server.log().contains("ERROR"), "{}", server.log());
}

#[test]
fn a_restored_database_does_not_revive_a_revoked_key() {
    let database = Postgres::shared(None);
    let directory = tempfile::tempdir().unwrap();
    database.connect_directory(directory.path());
    let run = |arguments: &[&str]| assay(directory.path(), arguments).ok();
    let _ = run(&["migrate"]);
    let acme = tenant("acme", "enterprise");
    std::fs::write(directory.path().join("acme.yaml"), acme).unwrap();
    let _ = run(&["apply", "-f", "acme.yaml"]);
    let create = ["keys", "create", "--tenant", "acme", "--json"];
    let (dead, good) = (run(&create).json(), run(&create).json());
    let backup = directory.path().join("backup");
    database.dump(&backup);
    let _ = run(&["keys", "revoke", dead["id"].as_str().unwrap()]);
    database.restore(&backup);
    let server = Server::start(
        Arc::new(tempfile::tempdir().unwrap()),
        &{
            let url = database.url();
            let list = directory.path().join("revoked-keys.jsonl").display().to_string();
            ["--database-url".to_owned(), url, "--revocations".to_owned(), list]
        }
        .each_ref()
        .map(String::as_str),
    );
    let code = |key: &serde_json::Value| {
        server.caller(key["key"].as_str().unwrap()).get("/api/v1/sources").status
    };
    assert_eq!((code(&dead), code(&good)), (401, 200));

    drop(server);
    database.restore(&backup);
    let reconciled = run(&["keys", "reconcile"]);
    assert_eq!(reconciled.stdout, "1 key revoked by the list of revoked keys\n");
    let embedded_only = assay(directory.path(), ["backup", "copy"]);
    assert_eq!(embedded_only.code, 2);
    assert!(embedded_only.stderr.contains("assay keys reconcile"), "{}", embedded_only.stderr);
}

#[test]
fn each_program_works_with_the_rights_of_its_role() {
    let database = Postgres::start();
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let file = |name: &str| directory.path().join(name).display().to_string();
    database.connect_directory(directory.path());
    let _ = assay(directory.path(), ["migrate"]).ok();
    std::fs::remove_file(directory.path().join("assay.toml")).unwrap();
    // Each with a login of its own, and its password in a file.
    std::fs::write(file("password"), "hush\n").unwrap();
    for role in ["serve", "ingest", "control"] {
        database
            .script(&format!("CREATE ROLE my_{role} LOGIN PASSWORD 'hush' IN ROLE assay_{role};"));
        let url = database.url().replace("assay:secret@", &format!("my_{role}@"));
        std::fs::write(file(role), url).unwrap();
    }
    let flags = |role: &str| {
        ["--database-url-file", &file(role), "--database-password-file", &file("password")]
            .map(str::to_owned)
    };
    let run = |role: &str, arguments: &[&str]| {
        let flags = flags(role);
        let arguments = arguments.iter().copied().chain(flags.iter().map(String::as_str));
        assay(directory.path(), arguments.collect::<Vec<_>>())
    };

    let acme = tenant("acme", "enterprise");
    std::fs::write(file("acme.yaml"), acme).unwrap();
    let _ = run("control", &["apply", "-f", "acme.yaml"]).ok();
    let create = ["keys", "create", "--tenant", "acme", "--json"];
    let key = run("control", &create).ok().json();
    std::fs::write(file("small.xml"), SMALL).unwrap();
    let import = ["ingest", "sanctions", "small.xml", "--format", "ofac-advanced", "--json"];
    assert_eq!(run("ingest", &import).ok().json()["outcome"], "imported");

    let flags = flags("serve");
    let flags: Vec<&str> = flags.iter().map(String::as_str).chain(["--feeds", "off"]).collect();
    let server = Server::start(Arc::clone(&directory), &flags);
    let caller = server.caller(key["key"].as_str().unwrap());
    let answer = caller.check("btc", LISTED);
    assert_eq!(answer.json()["verdict"], "block");
    let path = format!("/api/v1/checks/{}", answer.json()["check_id"].as_str().unwrap());
    wait_until("the answer is written", || caller.get(&path).text == answer.text);
    assert_eq!(caller.get("/api/v1/usage").json()["total"], 1);
    wait_until("usage is written", || {
        run("control", &["usage", "--json"]).ok().json()[0]["count"] == 1
    });
    // The answer may be written after its charge.
    wait_until("the answer is deleted", || {
        let _ = run("control", &["purge", "--tenant", "acme", "--all"]).ok();
        caller.get(&path).status == 404
    });
    let _ = run("control", &["keys", "revoke", key["id"].as_str().unwrap()]).ok();
    wait_until("the key is dead", || caller.get("/api/v1/sources").status == 401);

    // And with nothing more.
    for (role, refused) in [("serve", &import[..]), ("serve", &create), ("ingest", &create)] {
        let said = run(role, refused);
        assert_eq!(said.code, 1, "{role} {refused:?}");
        assert!(said.stderr.contains("permission denied"), "{role}: {}", said.stderr);
        assert!(!said.stderr.contains("hush"), "{}", said.stderr);
    }
    assert!(!server.log().contains("hush") && !server.log().contains("permission"));
}

/// The Jobs of a `RiskService` migrate and purge with the login of its servers.
#[test]
fn a_login_that_serves_and_migrates_also_erases() {
    let database = Postgres::start();
    let directory = tempfile::tempdir().unwrap();
    database.connect_directory(directory.path());
    let owner = |arguments: &[&str]| assay(directory.path(), arguments).ok();
    let _ = owner(&["migrate"]);
    std::fs::write(directory.path().join("acme.yaml"), tenant("acme", "enterprise")).unwrap();
    let _ = owner(&["apply", "-f", "acme.yaml"]);
    let _ = owner(&["keys", "create", "--tenant", "acme"]);
    database.script(
        "CREATE ROLE api LOGIN PASSWORD 'hush' IN ROLE assay_serve, assay_migrate;
         INSERT INTO checks (id, tenant, made_at, answer) VALUES ('old', 'acme', 0, '{}');
         DELETE FROM manifests WHERE kind = 'Tenant';
         INSERT INTO manifests (kind, name, spec, applied_at) VALUES ('FormerTenant', 'acme',
             '{\"deletedAt\": \"2020-01-01T00:00:00Z\", \"retention\": {\"usage\": \"1d\"}}', 0);",
    );
    let url = database.url().replace("assay:secret@", "api:hush@");
    let _ = owner(&["migrate", "--database-url", &url]);
    let purged = owner(&["purge", "--database-url", &url]).stdout;
    assert!(purged.contains("acme: 1 answers") && purged.contains("acme: deleted"), "{purged}");
    assert_eq!(database.query("SELECT count(*) FROM api_keys WHERE revoked_at IS NULL"), "0");
    assert_eq!(database.query("SELECT count(*) FROM manifests WHERE kind = 'FormerTenant'"), "0");
    // Keys that are dead are noted outside the database, so that no backup revives them.
    let noted = std::fs::read_to_string(directory.path().join("revoked-keys.jsonl")).unwrap();
    assert_eq!(noted.lines().count(), 1);
}

#[test]
fn a_server_older_than_the_schema_starts_if_compatible_and_names_the_reason_otherwise() {
    let database = Postgres::shared(None);
    let directory = Arc::new(tempfile::tempdir().unwrap());
    database.connect_directory(directory.path());
    let _ = assay(directory.path(), ["migrate"]).ok();
    let newer = |version: u16, kind: &str, compatible_from: u16| {
        database.script(&format!(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES ({version}, 'from the future', TRUE, '', 0);
             INSERT INTO schema_versions VALUES ({version}, '{kind}', {compatible_from});"
        ));
    };
    newer(9_998, "expand", 1);
    let server = Server::start(Arc::clone(&directory), &["--feeds", "off"]);
    assert_eq!(server.caller("").get("/api/v1/sources").status, 401);
    drop(server);
    newer(9_999, "contract", 9_998);
    let serve = ["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"];
    let refused = assay(directory.path(), serve);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("schema version 9999, with which"), "{}", refused.stderr);
}

#[test]
fn the_roles_can_be_created_by_an_administrator() {
    let database = Postgres::start();
    database
        .script("CREATE ROLE owner LOGIN PASSWORD 'hush'; GRANT CREATE ON SCHEMA public TO owner;");
    let directory = tempfile::tempdir().unwrap();
    let url = database.url().replace("assay:secret@", "owner:hush@");
    let migrate = |arguments: &[&str]| {
        let arguments = ["migrate", "--database-url", &url].into_iter().chain(arguments.to_vec());
        assay(directory.path(), arguments.collect::<Vec<_>>()).ok().stdout
    };
    assert!(migrate(&[]).contains("`assay migrate --print-roles`"));
    database.script(&migrate(&["--print-roles"]));
    assert!(migrate(&[]).contains("the roles exist and have their grants"));
    let owner = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(database.query(owner), "assay_migrate");
}

#[test]
fn a_database_that_cannot_be_reached_is_named_without_its_password() {
    let directory = tempfile::tempdir().unwrap();
    let run = assay(
        directory.path(),
        ["migrate", "--database-url", "postgres://assay:hush@127.0.0.1:1/nowhere"],
    );
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("127.0.0.1") && !run.stderr.contains("hush"), "{}", run.stderr);
    let run = assay(directory.path(), ["migrate", "--database-url", "mysql://hush@x/y"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("must begin with postgres://"), "{}", run.stderr);
    assert!(!run.stderr.contains("hush"), "{}", run.stderr);
}

/// A port of `[::1]` that leads to one of 127.0.0.1.
fn ipv6_port(to: u16) -> u16 {
    let listener = TcpListener::bind("[::1]:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let pass = |mut from: TcpStream, mut to: TcpStream| {
        thread::spawn(move || {
            // Either side may hang up.
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    };
    thread::spawn(move || {
        for caller in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { break };
            pass(caller.try_clone().unwrap(), server.try_clone().unwrap());
            pass(server, caller);
        }
    });
    port
}

#[test]
fn a_database_at_an_ipv6_address_is_reached() {
    let database = Postgres::shared(None);
    let directory = tempfile::tempdir().unwrap();
    let port = ipv6_port(database.port());
    let there = format!("[::1]:{port}");
    let url = database.url().replace(&format!("127.0.0.1:{}", database.port()), &there);
    assert!(url.contains(&there), "{url}");
    // As the only server, and after one that does not answer.
    let second = url.replace(&there, &format!("[::1]:1,{there}"));
    for url in [&url, &second] {
        let made = assay(directory.path(), ["migrate", "--database-url", url]).ok();
        assert!(made.stdout.starts_with("the database is up to date"), "{}", made.stdout);
    }
    let bare = url.replace(&there, &format!("::1:{port}"));
    let refused = assay(directory.path(), ["migrate", "--database-url", &bare]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("write an IPv6 address in brackets"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("secret"), "{}", refused.stderr);
}
