//! Row-level security between tenants, and the rights of each role.

use std::{collections::BTreeMap, env};

use assay_engine::facts::Environment;
use assay_store::{
    ControlStore, FetchedStore, IntelStore, JobStore, PostgresStore, QuotaStore, SlotStore, Store,
    StoreError, UsageStore,
    checks::{CheckFilter, CheckQuery},
    fetched::{FetchedKind, FetchedRecord},
    jobs::{JobClaim, JobId, JobOutcome, NewJob},
    postgres::Roles,
    usage::{ChargeKey, KeptCheck, Operation, Purge, UsageBatch, UsageCount},
};
use assay_tenancy::{
    Name,
    key::{KeyId, Scope},
};
use assay_test_random::Random;
use assay_test_servers::PostgresServer;
use jiff::civil::date;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};

use super::{PATIENCE, at, key};

/// Default number of probes; `ASSAY_PROBES` sets another one.
const PROBES: usize = 2_000;
const TENANTS: usize = 12;
const KEYS: u64 = 4;
const CHECKS: usize = 10;

fn tenant(number: usize) -> Name {
    format!("tenant-{number}").parse().unwrap()
}

fn check_id(number: usize, check: usize) -> String {
    format!("check-{number}-{check}")
}

fn key_id(number: usize, id: u64) -> u64 {
    number as u64 * KEYS + id
}

/// A database with roles: its URL for a superuser, and for a login of each role.
struct Database {
    superuser: String,
    logins: BTreeMap<&'static str, String>,
}

impl Database {
    async fn new() -> Self {
        let server = PostgresServer::shared_by_process();
        let superuser = server.database();
        open_or_create(&superuser).await.close().await;
        let (_, name) = superuser.rsplit_once('/').unwrap();
        let mut logins = BTreeMap::new();
        for role in ["serve", "ingest", "control", "migrate"] {
            let options = format!("IN ROLE assay_{role}");
            let login = server.login(&superuser, &format!("{role}_{name}"), &options);
            logins.insert(role, login);
        }
        Self { superuser, logins }
    }

    /// The store as every program opens it.
    async fn store(&self, role: &str) -> PostgresStore {
        open_or_create(&self.logins[role]).await
    }

    async fn connection(&self, role: &str) -> PgConnection {
        PgConnection::connect(&self.logins[role]).await.unwrap()
    }
}

async fn open_or_create(url: &str) -> PostgresStore {
    PostgresStore::open_or_create(url, Environment::Production).await.unwrap()
}

/// Tenants with keys, answers and usage, written by the programs whose task that is.
async fn inhabited() -> Database {
    let database = Database::new().await;
    let (control, serve) = (database.store("control").await, database.store("serve").await);
    for number in 0..TENANTS {
        for id in 0..KEYS {
            control.add_key(&key(key_id(number, id), tenant(number).as_str()), None).await.unwrap();
        }
    }
    let checks: Vec<KeptCheck> = (0..TENANTS)
        .flat_map(|number| (0..CHECKS).map(move |check| (number, check)))
        .map(|(number, check)| {
            let answer = format!(
                r#"{{"tenant":"{}","blockchain":"btc","address":"a","verdict":"review","risk_score":50,
                    "reasons":[{{"code":"exposure"}}]}}"#,
                tenant(number)
            );
            KeptCheck::new(check_id(number, check), tenant(number), at(0), answer)
        })
        .collect();
    serve.keep_checks(&checks).await.unwrap();
    let counts: Vec<UsageCount> =
        (0..TENANTS).map(|number| UsageCount { charged: charged(number), count: 1 }).collect();
    let batch = UsageBatch { writer: 1, number: 1, made_at: at(0), counts };
    serve.add_usage(&batch).await.unwrap();
    serve.add_usage(&batch).await.unwrap();
    database
}

fn charged(number: usize) -> ChargeKey {
    ChargeKey {
        tenant: tenant(number),
        day: date(2026, 1, 1),
        key: key(key_id(number, 0), "any").id,
        plan: "business".parse().unwrap(),
        operation: Operation::Check,
        verdict: "allow".into(),
    }
}

/// Queries by which a faulty or tricked request of one tenant could read rows of another tenant; each query counts such
/// rows.
fn raw_probes(theirs: &Name, check: &str, key: &KeyId) -> [String; 17] {
    let key = key.as_str();
    [
        format!("SELECT count(*) FROM checks WHERE id = '{check}'"),
        format!("SELECT count(*) FROM checks WHERE tenant = '{theirs}'"),
        format!("SELECT count(*) FROM checks WHERE tenant = '' OR tenant = '{theirs}' --'"),
        format!("SELECT count(*) FROM check_summaries WHERE id = '{check}'"),
        format!("SELECT count(*) FROM check_summaries WHERE tenant = '{theirs}' AND chain = 'btc'"),
        format!("SELECT count(*) FROM check_rules WHERE tenant = '{theirs}' AND rule = 'exposure'"),
        format!("SELECT count(*) FROM usage WHERE tenant = '{theirs}'"),
        format!("SELECT count(*) FROM usage WHERE key_id = '{key}'"),
        format!("SELECT coalesce(sum(count), 0)::bigint FROM usage WHERE tenant LIKE '{theirs}'"),
        format!("SELECT count(*) FROM api_keys WHERE id = '{key}'"),
        format!("SELECT count(*) FROM api_keys WHERE tenant = '{theirs}'"),
        format!(
            "SELECT count(*) FROM (SELECT hash FROM api_keys WHERE id >= '{key}' AND id <= '{key}') k"
        ),
        format!("SELECT count(*) FROM checks JOIN usage USING (tenant) WHERE tenant = '{theirs}'"),
        format!(
            "SELECT count(*) FROM usage WHERE EXISTS (SELECT FROM checks WHERE id = '{check}')"
        ),
        format!(
            "SELECT count(*) FROM checks WHERE id IN ('{check}') UNION ALL
                 SELECT count(*) FROM usage WHERE tenant IN ('{theirs}') ORDER BY 1 DESC LIMIT 1"
        ),
        format!(
            "WITH changed AS (UPDATE api_keys SET last_used_at = 1 WHERE id = '{key}' RETURNING 1)
                 SELECT count(*) FROM changed"
        ),
        format!(
            "WITH locked AS (SELECT FROM api_keys WHERE id = '{key}' FOR NO KEY UPDATE)
                 SELECT count(*) FROM locked"
        ),
    ]
}

async fn count(connection: &mut PgConnection, query: &str) -> i64 {
    let row = connection.fetch_one(AssertSqlSafe(query.to_owned())).await;
    row.unwrap_or_else(|error| panic!("{query}: {error}")).get(0)
}

/// Begins a transaction of one tenant.
async fn begin_as(connection: &mut PgConnection, tenant: &Name) {
    let begin = format!("BEGIN; SELECT set_config('assay.tenant', '{tenant}', true)");
    connection.execute(AssertSqlSafe(begin)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_tenant_sees_anothers_rows() {
    let probes = env::var("ASSAY_PROBES").map_or(PROBES, |text| text.parse().unwrap());
    let database = inhabited().await;
    let store = database.store("serve").await;
    let mut connection = database.connection("serve").await;
    let mut wall_less = PgConnection::connect(&database.superuser).await.unwrap();
    let mut dice = Random::new(6);
    let mut made = 0;
    while made < probes {
        let mine = dice.index(TENANTS);
        begin_as(&mut connection, &tenant(mine)).await;
        for _ in 0..20 {
            let other = (mine + 1 + dice.index(TENANTS - 1)) % TENANTS;
            let check = check_id(other, dice.index(CHECKS));
            let id = key(key_id(other, dice.below(4)), "any").id;
            let with_usage = key(key_id(other, 0), "any").id;
            if made == 0 {
                // Without row-level security the following probes find rows.
                for probe in raw_probes(&tenant(other), &check, &with_usage) {
                    assert!(count(&mut wall_less, &probe).await > 0, "{probe}");
                }
            }
            let id = if dice.one_in(2) { id } else { with_usage };
            for probe in raw_probes(&tenant(other), &check, &id) {
                assert_eq!(count(&mut connection, &probe).await, 0, "{mine}: {probe}");
                made += 1;
            }
            // Valid calls with the wrong tenant.
            assert_eq!(store.kept_check(&tenant(mine), &check).await.unwrap(), None);
            let filter = CheckFilter { rule: Some("exposure".into()), ..CheckFilter::default() };
            let query = CheckQuery { filter, after: None, limit: 100 };
            let page = store.find_checks(&tenant(mine), &query).await.unwrap();
            assert_eq!(page.checks.len(), CHECKS);
            assert!(
                page.checks.iter().all(|found| found.key.id.starts_with(&check_id(mine, 0)[..8]))
            );
            made += 1;
        }
        let own = format!("SELECT count(*) FROM checks WHERE tenant = '{}'", tenant(mine));
        assert_eq!(count(&mut connection, &own).await, i64::try_from(CHECKS).unwrap());
        connection.execute("COMMIT").await.unwrap();
        let usage = store.usage(Some(&tenant(mine)), date(2026, 1, 1), date(2026, 1, 1)).await;
        assert!(usage.unwrap().iter().all(|count| count.charged.tenant == tenant(mine)));
        made += 1;
    }
    let touched = "SELECT count(*) FROM api_keys WHERE last_used_at IS NOT NULL";
    assert_eq!(count(&mut wall_less, touched).await, 1, "the one without a wall before it");
}

#[tokio::test]
async fn each_tenant_sees_its_own() {
    let database = inhabited().await;
    let store = database.store("serve").await;
    for number in 0..TENANTS {
        let id = check_id(number, 0);
        let kept = store.kept_check(&tenant(number), &id).await.unwrap().unwrap();
        assert!(kept.answer.to_string().contains(tenant(number).as_str()));
        let day = date(2026, 1, 1);
        let usage = store.usage(Some(&tenant(number)), day, day).await.unwrap();
        assert_eq!(usage, [UsageCount { charged: charged(number), count: 1 }]);
        let keys = store.keys_of(&tenant(number)).await.unwrap();
        assert_eq!(keys.len(), usize::try_from(KEYS).unwrap());
        assert!(keys.iter().all(|key| key.tenant == tenant(number)));
    }
    let keys = store.control().await.unwrap().keys;
    assert_eq!(keys.len(), TENANTS * usize::try_from(KEYS).unwrap(), "the directory has every key");
    let all = store.usage(None, date(2026, 1, 1), date(2026, 1, 1)).await.unwrap();
    assert_eq!(all.len(), TENANTS);
}

#[tokio::test]
async fn a_session_without_a_tenant_sees_nothing() {
    let database = inhabited().await;
    for role in ["serve", "control", "migrate"] {
        let mut connection = database.connection(role).await;
        for table in ["api_keys", "usage", "checks", "check_summaries", "check_rules"] {
            let query = format!("SELECT count(*) FROM {table}");
            assert_eq!(count(&mut connection, &query).await, 0, "{role} {table}");
            // Nor does a transaction after one with the scope.
            begin_as(&mut connection, &tenant(1)).await;
            assert!(count(&mut connection, &query).await > 0, "{role} {table}");
            connection.execute("COMMIT").await.unwrap();
            assert_eq!(count(&mut connection, &query).await, 0, "{role} {table}");
        }
    }
}

#[tokio::test]
async fn no_session_writes_for_another_tenant() {
    let database = inhabited().await;
    let mut connection = database.connection("control").await;
    let refused = [
        "INSERT INTO api_keys (id, tenant, name, hash, scopes, created_at)
         VALUES ('x', 'tenant-2', 'x', sha256('x'), '[]', 0)",
        "INSERT INTO checks (id, tenant, made_at, answer) VALUES ('x', 'tenant-2', 0, '{}')",
        "INSERT INTO check_summaries (tenant, made_at, id, chain, address, verdict, score, rules)
         VALUES ('tenant-2', 0, 'x', 'btc', 'a', 'allow', 0, ' ')",
        "INSERT INTO check_rules (tenant, rule, made_at, id, chain, address, verdict, score, rules)
         VALUES ('tenant-2', 'x', 0, 'x', 'btc', 'a', 'allow', 0, ' ')",
        "INSERT INTO usage (tenant, day, key_id, plan, operation, outcome, count)
         VALUES ('tenant-2', '2026-01-01', 'x', 'x', 'check', 'allow', 1)",
        // Nor does a tenant give a row to another one.
        "UPDATE api_keys SET tenant = 'tenant-2' WHERE tenant = 'tenant-1'",
    ];
    for statement in refused {
        begin_as(&mut connection, &tenant(1)).await;
        let error = connection.execute(statement).await.unwrap_err();
        let code = error.as_database_error().unwrap().code().unwrap().into_owned();
        assert_eq!(code, "42501", "{statement}: {error}");
        connection.execute("ROLLBACK").await.unwrap();
    }
    begin_as(&mut connection, &tenant(1)).await;
    for table in ["usage", "checks", "check_summaries", "check_rules"] {
        let delete = format!(
            "WITH gone AS (DELETE FROM {table} WHERE tenant = 'tenant-2' RETURNING 1)
                              SELECT count(*) FROM gone"
        );
        assert_eq!(count(&mut connection, &delete).await, 0);
    }
    connection.execute("COMMIT").await.unwrap();

    // A key does not take another tenant's place.
    let control = database.store("control").await;
    let other = key(key_id(2, 0), "tenant-2").id;
    let error = control.add_key(&key(9_999, "tenant-1"), Some((&other, at(1)))).await.unwrap_err();
    assert!(matches!(error, StoreError::UnknownKey(id) if id == other));
}

#[tokio::test]
async fn each_program_does_its_task_with_its_role() {
    let database = inhabited().await;
    let (serve, control) = (database.store("serve").await, database.store("control").await);
    let ingest = database.store("ingest").await;

    serve.record_key_use(&[(key(0, "any").id, at(5))]).await.unwrap();
    serve.revoke_key(&key(1, "any").id, at(6)).await.unwrap();
    control.update_key(&key(2, "any").id, &[Scope::Usage], Some(at(9))).await.unwrap();
    let fetched = FetchedRecord {
        chain: "btc".parse().unwrap(),
        kind: FetchedKind::History,
        key: "x".into(),
        content: "{}".into(),
        fetched_at: at(0),
    };
    serve.put_fetched(std::slice::from_ref(&fetched)).await.unwrap();
    serve.put_fetched(&[fetched]).await.unwrap();
    assert!(serve.claim_slot("one", PATIENCE).await.unwrap().is_held);
    assert!(serve.renew_slot("one", PATIENCE).await.unwrap().is_held);
    serve.release_slot("one").await.unwrap();
    serve.reserve(&[]).await.unwrap();
    assert!(serve.first_epoch("bucket").await.unwrap());
    serve.intel(None, None).await.unwrap();

    let job = NewJob { id: JobId::new("a", "k"), payload: String::new(), due_at: at(0) };
    assert!(serve.enqueue_job(&job, at(0)).await.unwrap());
    let claim = JobClaim { worker: "w".into(), until: at(2) };
    assert_eq!(serve.claim_jobs(&["a"], &claim, 1, at(0)).await.unwrap().len(), 1);
    assert!(serve.extend_claim(&job.id, &claim).await.unwrap());
    assert!(serve.finish_job(&job.id, "w", &JobOutcome::Done, at(1)).await.unwrap());
    assert_eq!(serve.job_counts().await.unwrap().len(), 1);
    let error = serve.purge_jobs(at(2)).await.unwrap_err();
    assert!(error.to_string().contains("permission denied for table jobs"), "{error}");
    let error = ingest.jobs(None).await.unwrap_err();
    assert!(error.to_string().contains("permission denied for table jobs"), "{error}");

    let source = "ofac-sdn".parse().unwrap();
    ingest.confirm_fetch(&source, at(0), None).await.unwrap();
    ingest.source_history(&source).await.unwrap();
    ingest.suppressions().await.unwrap();
    // A chain server reads these.
    assert_eq!(ingest.environment().await.unwrap(), Environment::Production);
    let intel = ingest.intel(None, None).await.unwrap();
    assert_eq!(ingest.revisions().await.unwrap().intel, intel.generation);
    ingest.subscribe().unwrap().changed().await;

    let purge = Purge { tenant: tenant(3), checks_before: at(10), usage_before: date(2026, 1, 2) };
    let purged = control.purge_tenant(&purge).await.unwrap();
    assert_eq!((purged.checks, purged.usage), (u64::try_from(CHECKS).unwrap(), 1));
    assert_eq!(control.purge_fetched(at(1)).await.unwrap(), 1);
    control.purge_usage_writers(at(1)).await.unwrap();
    control.purge_quotas().await.unwrap();
    assert_eq!(control.purge_jobs(at(2)).await.unwrap(), 1);
    let keys = control.control().await.unwrap().keys;
    let of = |number: u64| keys.iter().find(|found| found.id == key(number, "any").id).unwrap();
    assert_eq!((of(0).last_used_at, of(1).revoked_at), (Some(at(5)), Some(at(6))));
    assert_eq!((&*of(2).scopes, of(2).expires_at), (&[Scope::Usage][..], Some(at(9))));

    for (role, store) in [("serve", &serve), ("ingest", &ingest)] {
        let error = store.add_key(&key(9_999, "tenant-1"), None).await.unwrap_err();
        assert!(error.to_string().contains("permission denied"), "{role}: {error}");
    }
    let error = ingest.control().await.unwrap_err();
    assert!(error.to_string().contains("permission denied for table api_keys"), "{error}");
}

/// Statements that would make a revoked key valid again, or turn the key into another one.
fn revivals(id: &KeyId) -> [String; 4] {
    let changed = [
        "revoked_at = NULL",
        "revoked_at = 9223372036854775807",
        "revoked_at = NULL, last_used_at = 1",
        "hash = sha256('another')",
    ];
    changed.map(|changed| format!("UPDATE api_keys SET {changed} WHERE id = '{id}'"))
}

#[tokio::test]
async fn no_role_revives_a_revoked_key() {
    // Given a revoked key, and logins of every role, and a superuser.
    let database = inhabited().await;
    let control = database.store("control").await;
    let id = key(key_id(1, 0), "any").id;
    control.revoke_key(&id, at(6)).await.unwrap();
    let logins = ["serve", "control", "migrate"].map(|role| &database.logins[role]);
    for login in logins.into_iter().chain([&database.superuser]) {
        let mut connection = PgConnection::connect(login).await.unwrap();
        for scope in
            ["assay.tenant', 'tenant-1", "assay.reach', 'directory", "assay.reach', 'record"]
        {
            for statement in revivals(&id) {
                // When it tries to take the revocation back.
                let begin = format!("BEGIN; SELECT set_config('{scope}', true)");
                connection.execute(AssertSqlSafe(begin)).await.unwrap();
                let refused = connection.execute(AssertSqlSafe(statement.clone())).await;
                // Then the database refuses the statement.
                let error = refused.expect_err(&format!("{login}: {statement}"));
                let code = error.as_database_error().unwrap().code().unwrap().into_owned();
                assert_eq!(code, "42501", "{statement}: {error}");
                connection.execute("ROLLBACK").await.unwrap();
            }
        }
    }
    // And what a server does with revoked keys goes on: another revocation, and the time of the last use.
    let serve = database.store("serve").await;
    serve.revoke_key(&id, at(7)).await.unwrap();
    serve.record_key_use(&[(id.clone(), at(8))]).await.unwrap();
    let keys = serve.keys_of(&tenant(1)).await.unwrap();
    let found = keys.iter().find(|found| found.id == id).unwrap();
    assert_eq!((found.revoked_at, found.last_used_at), (Some(at(6)), Some(at(8))));
}

/// Rights of each role on each table: s(elect), i(nsert), d(elete), and the columns that it may
/// update. Every table must be listed.
const RIGHTS: [(&str, [&str; 3]); 25] = [
    // serve, ingest, control
    ("_sqlx_migrations", ["s", "s", "s"]),
    ("api_keys", ["s last_used_at revoked_at", "", "si expires_at revoked_at scopes"]),
    ("check_rules", ["si", "", "sd"]),
    ("check_summaries", ["si", "", "sd"]),
    ("checks", ["si", "", "sd"]),
    ("console_sessions", ["sid used_at", "", "sd"]),
    ("fetched", ["si content fetched_at", "", "sd fetched_at"]),
    ("idempotency_keys", ["sid answer body_digest expires_at holder", "", "sd"]),
    (
        "installation",
        [
            "s control_revision key_changes",
            "s data_hash data_number intel_generation label_generation price_generation",
            "s control_revision instance key_changes manifest_changes",
        ],
    ),
    (
        "jobs",
        [
            "si claimed_until due_at failures finished_at last_error payload status succeeded_at worker",
            "",
            "sd",
        ],
    ),
    ("label_suppressions", ["s", "si lifted_at", "s"]),
    ("labels", ["s", "si recorded_to", "s"]),
    ("limiter_epochs_seen", ["si", "", ""]),
    ("listings", ["s", "si recorded_to", "s"]),
    ("manifests", ["s", "s", "sid applied_at spec"]),
    (
        "price_sources",
        [
            "s",
            "si digest entries etag fetched_at file_digest format imported_at last_modified newest_day origin url",
            "s",
        ],
    ),
    ("prices", ["s", "si recorded_at source usd", "s"]),
    ("publications", ["s", "si", "s"]),
    ("quota_windows", ["si allowed granted reserved", "", "sd reserved"]),
    ("receivers", ["si first_checked_at last_checked_at", "", "sd"]),
    ("schema_versions", ["s", "s", "s"]),
    ("seats", ["s claimed_at expires_at holder previous_expiry", "", ""]),
    ("sources", ["s", "si etag fetched_at last_modified url", "s"]),
    ("usage", ["si count", "", "sd"]),
    ("usage_writers", ["si batch written_at", "", "sd"]),
];

/// True if the server permits a statement. `EXPLAIN` plans and checks the statement without running it.
async fn allows(connection: &mut PgConnection, statement: String) -> bool {
    match connection.execute(AssertSqlSafe(format!("EXPLAIN {statement}"))).await {
        Ok(_) => true,
        Err(error) => {
            let code = error.as_database_error().unwrap().code().unwrap().into_owned();
            // Not permitted; or a generated column.
            assert!(["42501", "428C9"].contains(&&*code), "{statement}: {error}");
            false
        }
    }
}

#[tokio::test]
async fn each_role_may_do_what_it_needs_and_no_more() {
    let database = Database::new().await;
    let mut superuser = PgConnection::connect(&database.superuser).await.unwrap();
    let rows = superuser
        .fetch_all(
            "SELECT table_name::text, array_agg(column_name::text ORDER BY column_name::text)
             FROM information_schema.columns WHERE table_schema = 'public' GROUP BY 1 ORDER BY 1",
        )
        .await
        .unwrap();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for role in ["serve", "ingest", "control"] {
        let mut connection = database.connection(role).await;
        for row in &rows {
            let (table, columns): (String, Vec<String>) = (row.get(0), row.get(1));
            let mut said = String::new();
            for (letter, statement) in [
                ('s', format!("SELECT * FROM {table}")),
                ('i', format!("INSERT INTO {table} DEFAULT VALUES")),
                ('d', format!("DELETE FROM {table}")),
            ] {
                if allows(&mut connection, statement).await {
                    said.push(letter);
                }
            }
            for column in columns {
                if allows(&mut connection, format!("UPDATE {table} SET {column} = NULL")).await {
                    said = format!("{said} {column}");
                }
            }
            for forbidden in [
                format!("TRUNCATE {table}"),
                format!("DROP TABLE {table}"),
                format!("ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"),
                format!("ALTER TABLE {table} OWNER TO CURRENT_USER"),
            ] {
                let refused = connection.execute(AssertSqlSafe(forbidden.clone())).await;
                assert!(refused.is_err(), "{role}: {forbidden}");
            }
            found.entry(table).or_default().push(said);
        }
    }
    let expected: BTreeMap<String, Vec<String>> = RIGHTS
        .iter()
        .map(|(table, rights)| ((*table).to_owned(), rights.map(ToOwned::to_owned).to_vec()))
        .collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn only_the_migrating_role_creates_schemas() {
    // Given a database whose ingesting role was once allowed to.
    let database = Database::new().await;
    let mut superuser = PgConnection::connect(&database.superuser).await.unwrap();
    let (_, name) = database.superuser.rsplit_once('/').unwrap();
    let once = format!("GRANT CREATE ON DATABASE {name} TO assay_ingest");
    superuser.execute(AssertSqlSafe(once)).await.unwrap();
    // When the grants are set again, then it is not allowed to any more.
    let store = open_or_create(&database.superuser).await;
    assert_eq!(store.ensure_roles().await.unwrap(), Roles::Ready);
    for role in ["serve", "ingest", "control", "migrate"] {
        let created = database.connection(role).await.execute("CREATE SCHEMA another").await;
        assert_eq!(created.is_ok(), role == "migrate", "{role}");
    }
}

#[tokio::test]
async fn the_migrating_role_owns_the_tables_and_is_bound_by_their_policies() {
    let database = inhabited().await;
    let mut superuser = PgConnection::connect(&database.superuser).await.unwrap();
    let others = "SELECT count(*) FROM pg_tables
                  WHERE schemaname = 'public' AND tableowner <> 'assay_migrate'";
    assert_eq!(count(&mut superuser, others).await, 0);
    let bound = "SELECT count(*) FROM pg_class WHERE relrowsecurity AND relforcerowsecurity
                 AND relname IN ('api_keys', 'usage', 'checks')";
    assert_eq!(count(&mut superuser, bound).await, 3);
    // The migrating role sees the tables and not their rows.
    let mut migrate = database.connection("migrate").await;
    assert_eq!(count(&mut migrate, "SELECT count(*) FROM checks").await, 0);
    // No role is above the wall, or can make roles.
    let mighty = "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'assay\\_%'
                  AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolcanlogin)";
    assert_eq!(count(&mut superuser, mighty).await, 0);
}

#[tokio::test]
async fn a_user_without_the_right_to_create_roles_is_warned_and_can_migrate() {
    // A server that has none yet.
    let server = PostgresServer::start();
    let owner = server.owned_database();
    let store = open_or_create(&owner).await;
    assert_eq!(store.ensure_roles().await.unwrap(), Roles::Missing);
    store.add_key(&key(1, "acme"), None).await.unwrap();
    assert_eq!(store.control().await.unwrap().keys.len(), 1);
    let mut connection = PgConnection::connect(&owner).await.unwrap();
    let seen = "SELECT count(*) FROM api_keys";
    assert_eq!(count(&mut connection, seen).await, 0, "the wall stands before the owner, too");

    // An administrator runs the printed statements.
    let (_, name) = owner.rsplit_once('/').unwrap();
    let mut superuser = PgConnection::connect(&server.url(name)).await.unwrap();
    let statements = assay_store::postgres::roles_sql();
    superuser.execute(AssertSqlSafe(statements)).await.unwrap();
    let serve = server.login(&server.url(name), "y", "IN ROLE assay_serve");
    let serve = PostgresStore::open(&serve).await.unwrap();
    assert_eq!(serve.control().await.unwrap().keys.len(), 1);
    assert!(serve.add_key(&key(2, "acme"), None).await.is_err());
}
