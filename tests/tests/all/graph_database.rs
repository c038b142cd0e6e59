//! Chain graphs in a database of their own.

use std::{fs, path::Path, sync::Arc};

use assay_tests::{Finished, Postgres, Server, assay, tenant};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    chain_tools::{line, of},
    support::wait_until,
};

/// A data directory whose settings name the databases.
fn directory(store: Option<&str>, graphs: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let store = store.map(|url| format!("database-url = \"{url}\"\n")).unwrap_or_default();
    let settings = format!("{store}graph-database-url = \"{graphs}\"\n");
    fs::write(directory.path().join("assay.toml"), settings).unwrap();
    directory
}

/// Ingests a chain of two blocks, or of three.
fn ingest(directory: &Path, blocks: usize, flags: &[String]) -> Finished {
    let spent = json!([{ "txid": hex::encode([1; 32]), "index": 0 }]);
    let lines = [
        line(0, 1, &json!([]), &[("miner", 50)]),
        line(1, 2, &spent, &[("yvonne", 50)]),
        line(2, 3, &json!([]), &[("yvonne", 50)]),
    ];
    fs::write(directory.join("chain.jsonl"), lines[..blocks].concat()).unwrap();
    let arguments = ["ingest", "chain", "btc", "--jsonl", "chain.jsonl"].map(str::to_owned);
    assay(directory, arguments.iter().chain(flags))
}

/// A key of the tenant `acme`, which is created with it.
fn key(directory: &Path) -> String {
    fs::write(directory.join("acme.yaml"), tenant("acme", "enterprise")).unwrap();
    let _ = assay(directory, ["apply", "-f", "acme.yaml"]).ok();
    assay(directory, ["keys", "create", "--tenant", "acme"]).ok().stdout.trim().to_owned()
}

/// The schemas of chains in a database.
fn graphs_in(database: &Postgres) -> String {
    database.query(
        "SELECT coalesce(string_agg(nspname, ','), '') FROM pg_namespace
         WHERE starts_with(nspname, 'chain_')",
    )
}

/// The height of the newest block that an answer rests on.
fn height(server: &Server, key: &str) -> Option<u64> {
    let answer = server.caller(key).check("btc", &of("yvonne")).json();
    let sources = answer["sources"].as_array()?;
    sources.iter().find_map(|source| source["latest_block"]["height"].as_u64())
}

#[test]
fn graphs_are_in_their_database_only_and_keys_and_tenants_in_the_stores_only() {
    let (store, graphs) = (Postgres::shared(None), Postgres::shared(None));
    let here = Arc::new(directory(Some(&store.url()), &graphs.url()));
    assert_eq!(
        assay(here.path(), ["migrate"]).ok().stdout,
        "the database is up to date (production data)\n\
         the roles exist and have their grants\n\
         the database of the chain graphs is ready (chains: none yet)\n\
         the roles of the graph database exist and have their grants\n"
    );
    let _ = ingest(here.path(), 2, &[]).ok();
    let key = key(here.path());
    let server = Server::start(Arc::clone(&here), &[]);
    assert_eq!(height(&server, &key), Some(1), "the server reads the graph");
    let _ = assay(here.path(), ["tx", "btc", &hex::encode([2; 32])]).ok();

    assert_eq!((graphs_in(&store), graphs_in(&graphs)), (String::new(), "chain_btc".to_owned()));
    assert_eq!(graphs.query("SELECT count(*) FROM chain_btc.block"), "2");
    assert_eq!(graphs.query("SELECT count(*) FROM chain_btc.tx"), "2");
    assert_eq!(store.query("SELECT count(*) FROM api_keys"), "1");
    let tenants = "SELECT count(*) FROM manifests WHERE kind = 'Tenant'";
    assert_eq!(store.query(tenants), "1");
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(graphs.query(tables), "0", "nothing of the store is with the graphs");

    // A new block there that pays the address replaces the running server's answer.
    let _ = ingest(here.path(), 3, &[]).ok();
    wait_until("the new block shows", || height(&server, &key) == Some(2));
    let migrated = assay(here.path(), ["migrate"]).ok().stdout;
    assert!(migrated.contains("is ready (chains: btc)"), "{migrated}");
    let label = "assay_dependency_reachable{dependency=\"graph_database\"}";
    assert_eq!(server.metric::<u8>(label), 1);
    assert!(!server.log().contains("secret"), "{}", server.log());
}

#[test]
fn graphs_in_postgresql_may_go_with_an_embedded_store() {
    let graphs = Postgres::shared(None);
    let here = Arc::new(directory(None, &graphs.url()));
    let _ = ingest(here.path(), 2, &[]).ok();
    let key = key(here.path());
    let server = Server::start(Arc::clone(&here), &[]);
    assert_eq!(height(&server, &key), Some(1));
    assert_eq!(graphs_in(&graphs), "chain_btc");
    assert!(!here.path().join("chains").exists(), "no graph is in the directory");
}

#[test]
fn each_role_has_its_rights_in_the_graph_database() {
    // Given two servers, and logins with one role each that both servers know.
    let (store, graphs) = (Postgres::start(), Postgres::start());
    let owner = directory(Some(&store.url()), &graphs.url());
    let _ = assay(owner.path(), ["migrate"]).ok();
    let key = key(owner.path());
    for database in [&store, &graphs] {
        for role in ["serve", "ingest"] {
            database.script(&format!(
                "CREATE ROLE my_{role} LOGIN PASSWORD 'hush' IN ROLE assay_{role};"
            ));
        }
    }
    // A file holds the password of the graph database.
    let in_role = |role: &str| {
        let url =
            |database: &Postgres, user: String| database.url().replace("assay:secret@", &user);
        let directory = directory(
            Some(&url(&store, format!("my_{role}:hush@"))),
            &url(&graphs, format!("my_{role}@")),
        );
        let password = directory.path().join("password").display().to_string();
        fs::write(&password, "hush\n").unwrap();
        (directory, ["--graph-database-password-file".to_owned(), password])
    };

    // When one ingests and the other serves, then each may.
    let (ingesting, password) = in_role("ingest");
    let _ = ingest(ingesting.path(), 2, &password).ok();
    assert_eq!(
        graphs.query("SELECT nspowner::regrole FROM pg_namespace WHERE nspname = 'chain_btc'"),
        "assay_ingest"
    );
    let (serving, password) = in_role("serve");
    let refused = ingest(serving.path(), 3, &password);
    assert!(refused.stderr.contains("permission denied"), "{}", refused.stderr);
    let server = Server::start(Arc::new(serving), &password.each_ref().map(String::as_str));
    assert_eq!(height(&server, &key), Some(1));
}

#[test]
fn an_administrator_can_create_the_roles_of_the_graph_database() {
    let (store, graphs) = (Postgres::shared(None), Postgres::start());
    graphs.script("CREATE ROLE plain LOGIN PASSWORD 'hush';");
    let url = graphs.url().replace("assay:secret@", "plain:hush@");
    let here = directory(Some(&store.url()), &url);
    let migrated = assay(here.path(), ["migrate"]).ok().stdout;
    assert!(migrated.contains("`assay migrate --print-graph-roles`"), "{migrated}");
    graphs.script(&assay(here.path(), ["migrate", "--print-graph-roles"]).ok().stdout);
    let migrated = assay(here.path(), ["migrate"]).ok().stdout;
    assert!(migrated.contains("the roles of the graph database exist"), "{migrated}");
}

#[test]
fn a_graph_database_that_cannot_be_reached_is_named_and_needed_for_chains_only() {
    let store = Postgres::shared(None);
    let here = directory(Some(&store.url()), "postgres://assay:hush@127.0.0.1:1/graphs");
    let _ = assay(here.path(), ["migrate", "--graph-database-url", &store.url()]).ok();
    let _ = key(here.path());
    let _ = assay(here.path(), ["keys", "list"]).ok();
    for arguments in [
        ["check", "btc", &of("yvonne")].as_slice(),
        &["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"],
        &["migrate"],
    ] {
        let run = assay(here.path(), arguments);
        assert_eq!(run.code, 1, "{arguments:?}: {}", run.stderr);
        let text = run.stderr.replace('\n', " ");
        assert!(text.contains("graph-database-url: failed to connect"), "{text}");
        assert!(text.contains("127.0.0.1:1/graphs") && !text.contains("hush"), "{text}");
    }
    let latin = Postgres::start();
    latin.script("CREATE DATABASE graphs TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C';");
    let url = latin.url_of("graphs");
    let run = assay(here.path(), ["check", "btc", &of("yvonne"), "--graph-database-url", &url]);
    assert!(run.stderr.contains("UTF8"), "{}", run.stderr);
}
