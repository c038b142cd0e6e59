//! The chart in a cluster: a real API server validates every object, and `kwok` simulates pods.

use std::{
    collections::HashSet,
    fs,
    process::Command,
    sync::{Arc, Mutex, MutexGuard, OnceLock},
    thread,
    time::Duration,
};

use assay_tests::{
    Cluster, Finished, Helm, Operator, Postgres, Server, binary, migrated_database, wait_at_most,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    chart, file,
    rendered::{EVERYTHING, NAMESPACES, PRODUCTION, objects},
    text,
};

/// The chart's objects in force, with the reasons of their `Ready`, while nothing has fetched the list.
const PUBLISHED: [(&str, &str); 3] = [
    ("plan/business", "Published"),
    ("riskpolicy/default", "Published"),
    ("intelsource/ofac-sdn", "NeverFetched"),
];
/// A list with one address, in place of OFAC's.
const LIST: &str = "list,entity_id,entity,asset_code,address\n\
                    ofac-sdn,1,Somebody,XBT,1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\n";

/// A namespace in which only restricted pods run.
const NAMESPACE: &str = "
apiVersion: v1
kind: Namespace
metadata:
  name: assay
  labels:
    pod-security.kubernetes.io/enforce: restricted
    pod-security.kubernetes.io/warn: restricted
";

/// The tenants' objects.
const TENANT: &str = "
apiVersion: assay.dev/v1alpha1
kind: Tenant
metadata: {name: acme}
spec: {displayName: Acme, plan: business, policy: default, namespaces: [assay]}
---
apiVersion: assay.dev/v1alpha1
kind: ApiKey
metadata: {name: acme, namespace: assay}
spec: {tenant: acme}
";

const ADDRESS: &str = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";

/// The cluster, used by one test at a time because custom resources are cluster-wide.
struct World {
    cluster: MutexGuard<'static, Cluster>,
    helm: Helm,
    folder: TempDir,
    /// Jobs whose program ran, by their identifiers.
    ran: Mutex<HashSet<String>>,
}

impl World {
    /// A cluster without anything of Assay.
    fn new() -> Self {
        static CLUSTER: OnceLock<Mutex<Cluster>> = OnceLock::new();
        let helm = Helm::find();
        let cluster = CLUSTER.get_or_init(|| Mutex::new(Cluster::start()));
        let cluster = cluster.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = cluster.try_kubectl(&["delete", "namespace", "assay", "--ignore-not-found"]);
        let kinds = cluster.kubectl(&["get", "crd", "-o", "name"]);
        for kind in kinds.lines() {
            cluster.kubectl(&["delete", kind, "--timeout=60s"]);
        }
        let others = "clusterrole,clusterrolebinding,validatingadmissionpolicy,\
                      validatingadmissionpolicybinding";
        cluster.kubectl(&["delete", others, "--selector", "app.kubernetes.io/part-of=assay"]);
        cluster.apply(NAMESPACE);
        let helm = helm.with_cluster(&cluster);
        let folder = tempfile::tempdir().unwrap();
        Self { cluster, helm, folder, ran: Mutex::default() }
    }

    /// Helm on the release `assay`.
    fn helm(&self, command: &[&str], more: &[&str]) -> Finished {
        let all = [command, &["--namespace", "assay"], more].concat();
        self.beside_jobs(|| self.helm.run(&all))
    }

    /// A command of a shell.
    fn shell(&self, command: &str) -> Finished {
        self.beside_jobs(|| self.helm.shell(&file("."), command))
    }

    /// Runs something while the programs of Jobs that generate Secrets run.
    fn beside_jobs<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let running = scope.spawn(run);
            while !running.is_finished() {
                self.generate_secrets();
                thread::sleep(Duration::from_millis(500));
            }
            self.generate_secrets();
            running.join().unwrap()
        })
    }

    fn install(&self, more: &[&str]) -> Finished {
        self.helm(&["install", "assay", &chart(), "--wait", "--timeout", "2m"], more)
    }

    fn upgrade(&self, more: &[&str]) -> Finished {
        self.helm(&["upgrade", "assay", &chart(), "--wait", "--timeout", "2m"], more)
    }

    /// A field of an object, as text.
    fn field(&self, object: &[&str], path: &str) -> String {
        let template = format!("jsonpath={{{path}}}");
        let all = [&["get", "--namespace", "assay", "-o", &template], object].concat();
        self.cluster.kubectl(&all)
    }

    /// The chart, packaged as a later version.
    fn next_version(&self) -> String {
        let folder = self.folder.path().to_str().unwrap();
        let version = ["--version", "9.9.9", "--app-version", "9.9.9", "--destination", folder];
        let _ = self.helm.run(&[&["package", &chart()], &version[..]].concat()).ok();
        format!("{folder}/assay-9.9.9.tgz")
    }

    /// Name of the database's pod.
    fn database(&self) -> String {
        let pods = ["pods", "--selector", "app.kubernetes.io/component=postgresql"];
        self.field(&pods, ".items[*].metadata.uid")
    }

    fn password(&self) -> String {
        self.field(&["secret", "assay-evaluation"], ".data.password")
    }

    /// Runs the program of new Jobs that generate Secrets, with their arguments and rights. `kwok` runs no containers.
    fn generate_secrets(&self) {
        let jobs = self.cluster.list("jobs", "assay", "app.kubernetes.io/component=secrets");
        let is_new = |job: &&Value| {
            self.ran.lock().unwrap().insert(job["metadata"]["uid"].as_str().unwrap().to_owned())
        };
        jobs.iter().filter(is_new).for_each(|job| self.run_program_of(job));
    }

    fn run_program_of(&self, job: &Value) {
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        let arguments: Vec<String> = serde_json::from_value(container["args"].clone()).unwrap();
        let config = self.folder.path().join("secrets-kubeconfig");
        fs::write(&config, self.cluster.config_of_account("assay", "assay-secrets")).unwrap();
        let output = Command::new(binary().with_file_name("assay-operator"))
            .args(arguments)
            .env_clear()
            .envs([("KUBECONFIG", config.to_str().unwrap()), ("POD_NAMESPACE", "assay")])
            .output()
            .unwrap();
        let _ = Finished::from(output).ok();
    }
}

#[test]
#[ignore = "needs Helm, Kubernetes"]
fn the_api_server_takes_every_object_and_warns_of_none() {
    let world = World::new();
    let definitions = file("crds/manifests").display().to_string();
    world.cluster.kubectl(&["apply", "--server-side", "-f", &definitions]);
    world.cluster.kubectl(&["wait", "--for=condition=Established", "crd", "--all"]);
    let _ = world.cluster.try_kubectl(&["create", "namespace", "payments"]);
    for arguments in [&[], EVERYTHING, NAMESPACES, PRODUCTION] {
        let mut rendered = objects(&world.helm, arguments);
        // Kinds that are not the cluster's own, nor ours.
        rendered.retain(|object| {
            let group = object["apiVersion"].as_str().unwrap();
            !group.starts_with("monitoring.coreos.com/")
        });
        assert!(rendered.len() > 15, "{}", rendered.len());
        let list = json!({"apiVersion": "v1", "kind": "List", "items": rendered});
        let taken = world.cluster.try_create_dry(&list.to_string()).ok();
        assert_eq!(taken.stdout.lines().count(), rendered.len());
        assert_eq!(taken.stderr, "", "no warning");
    }
}

#[test]
#[ignore = "needs Helm, Kubernetes"]
fn a_release_can_be_upgraded_and_removed_without_the_tenants_objects() {
    let world = World::new();
    let notes = world.install(&[]).ok().stdout;
    let ready = world.field(&["deployment", "assay-operator"], ".status.readyReplicas");
    assert_eq!(ready, "2", "restricted pods run");
    for (what, path, wanted) in [
        ("riskservice/assay", ".spec.image", concat!("assay/assay:", env!("CARGO_PKG_VERSION"))),
        ("plan/business", ".spec.displayName", "Business"),
        ("riskpolicy/default", ".spec.thresholds.block", "75"),
        ("intelsource/ofac-sdn", ".spec.format", "ofac-advanced"),
        ("poddisruptionbudget/assay-operator", ".status.currentHealthy", "2"),
    ] {
        assert_eq!(world.field(&[what], path), wanted, "{what}");
    }
    let test = world.helm(&["test", "assay", "--timeout", "2m"], &[]).ok();
    assert!(test.stdout.contains("Succeeded"), "{}", test.stdout);
    world.cluster.apply(TENANT);
    assert!(notes.contains("kubectl apply --filename - <<'END'"), "{notes}");

    let token = || world.field(&["secret", "assay-chain-token"], ".data.token");
    let (password, chain_token) = (world.password(), token());
    assert_ne!(password, chain_token);
    assert!(password.len() > 64 && chain_token.len() > 64, "{password} {chain_token}");
    let database = world.database();
    let next = world.next_version();
    let upgrade = ["upgrade", "assay", &next, "--wait", "--timeout", "2m"];
    // What a user changed stays as it is, by an upgrade and by a rollback.
    let mirror = "https://mirror.example/sdn_advanced.xml";
    let patch = json!({"spec": {"location": mirror, "schedule": "1 1 * * *"}}).to_string();
    world.cluster.kubectl(&["patch", "intelsource", "ofac-sdn", "--type=merge", "-p", &patch]);
    let changed = |when: &str| {
        let source = world.field(&["intelsource/ofac-sdn"], ".spec.location");
        assert_eq!(source, mirror, "after {when}");
    };
    let more = ["--set", "operator.replicas=3", "--set", "defaults.sources={uk}"];
    let _ = world.helm(&upgrade, &more).ok();
    changed("an upgrade");
    assert_eq!(world.field(&["intelsource/uk"], ".spec.format"), "uk-xml", "a new source is made");
    assert_eq!(world.field(&["deployment", "assay-operator"], ".status.readyReplicas"), "3");
    assert_eq!(world.field(&["riskservice/assay"], ".spec.image"), "assay/assay:9.9.9");
    assert_eq!(world.password(), password, "an upgrade makes no new password");
    assert_eq!(token(), chain_token, "nor another token");
    assert_eq!(world.database(), database, "nor another database, which would be empty");
    let refused = world.upgrade(PRODUCTION);
    assert!(
        refused.stderr.contains("cannot become mode=production in place"),
        "{}",
        refused.stderr
    );
    let _ = world.helm(&["rollback", "assay", "1", "--wait", "--timeout", "2m"], &[]).ok();
    assert_eq!(world.field(&["deployment", "assay-operator"], ".spec.replicas"), "2");
    assert_eq!((world.password(), token()), (password, chain_token), "nor does a rollback");
    changed("a rollback");

    let _ = world.helm(&["uninstall", "assay", "--wait"], &[]).ok();
    for kept in [
        "tenant/acme",
        "apikey/acme",
        "plan/business",
        "riskpolicy/default",
        "intelsource/ofac-sdn",
    ] {
        assert_eq!(world.field(&[kept], ".metadata.deletionTimestamp"), "", "{kept}");
    }
    assert_eq!(world.cluster.kubectl(&["get", "crd", "-o", "name"]).lines().count(), 9);
    let left = world.cluster.kubectl(&[
        "get",
        "deployment,job,secret,service,networkpolicy,pdb,riskservice",
        "-n",
        "assay",
        "-o",
        "name",
    ]);
    let left: Vec<&str> = left.lines().filter(|name| !name.contains("helm.release")).collect();
    assert!(left.is_empty(), "{left:?}");

    // A new release of the same name adopts the remaining objects.
    let _ = world.install(PRODUCTION).ok();
    let refused = world.upgrade(&["--set", "mode=evaluation"]);
    assert!(
        refused.stderr.contains("cannot become mode=evaluation in place"),
        "{}",
        refused.stderr
    );
    let _ = world.helm(&["uninstall", "assay", "--wait"], &[]).ok();
}

/// The flag of the installed operator with the namespaces that it watches.
fn watched(world: &World) -> Vec<String> {
    let arguments =
        world.field(&["deployment", "assay-operator"], ".spec.template.spec.containers[0].args[*]");
    let is_it = |argument: &&str| argument.starts_with("--watch-namespaces=");
    arguments.split(' ').filter(is_it).map(str::to_owned).collect()
}

/// An operator outside the cluster, with the rights and namespaces of the chart.
fn operator_beside(world: &World, postgres: &Postgres) -> Operator {
    let watched = watched(world);
    let flags: Vec<&str> = watched.iter().map(String::as_str).collect();
    Operator::start_in(&world.cluster, "assay", &postgres.url(), "beside", &flags)
}

/// Values of a production installation without a cache.
const WITHOUT_CACHE: &[&str] = &["--set", "mode=production,database.secret.name=database"];

/// Uninstalls the release, deletes its namespace, and installs it again, in both modes. `kwok` runs no containers: the
/// operator and the API run outside the cluster. In production the database stays.
#[test]
#[ignore = "needs Helm, Kubernetes"]
fn a_release_can_be_installed_again_after_its_namespace_was_deleted() {
    let world = World::new();
    let kubectl = |arguments: &[&str]| world.cluster.kubectl(arguments);
    let elsewhere = ["create", "namespace", "elsewhere"];
    let _ = world.cluster.try_kubectl(&elsewhere);
    let tenant = TENANT.replace("namespaces: [assay]", "namespaces: [assay, elsewhere]");
    let kept = "
apiVersion: assay.dev/v1alpha1
kind: ApiKey
metadata: {name: kept, namespace: elsewhere}
spec: {tenant: acme}
";
    let key = |namespace: &str, name: &str| {
        let reason = ".status.conditions[?(@.type==\"Ready\")].reason";
        wait_at_most(Duration::from_mins(1), "the key is ready", || {
            world.cluster.field(&["apikey", name, "-n", namespace], reason) == "KeyReady"
        });
        let template = "go-template={{index .data \"api-key\" | base64decode}}";
        kubectl(&["get", "secret", "-n", namespace, name, "-o", template])
    };
    for arguments in [&[][..], WITHOUT_CACHE] {
        let is_production = !arguments.is_empty();
        let mut postgres = migrated_database();
        let mut before: Option<[String; 2]> = None;
        for _ in 0..2 {
            // Given a release with an operator and a tenant whose keys are in two namespaces,
            let _ = world.install(&[arguments, &["--create-namespace"]].concat()).ok();
            let directory = Arc::new(tempfile::tempdir().unwrap());
            postgres.connect_directory(directory.path());
            let server = Server::start(directory, &[]);
            let mut operator =
                Operator::start_in(&world.cluster, "assay", &postgres.url(), "beside", &[]);
            operator.wait_until_it_works();
            let answer = |key: &str| server.caller(key).check("btc", ADDRESS).status;
            let page = [&tenant, "---", kept].concat();
            world.cluster.apply(&page);
            let keys = [key("assay", "acme"), key("elsewhere", "kept")];
            for text in &keys {
                wait_at_most(Duration::from_mins(1), "the key is valid", || answer(text) == 200);
            }
            // then what was kept is adopted, and what is gone is not valid again.
            if let Some([acme, kept]) = &before {
                assert_ne!(*acme, keys[0], "its Secret was deleted with the namespace");
                assert_eq!(*kept, keys[1], "its Secret stayed");
                wait_at_most(Duration::from_mins(1), "the key is refused", || answer(acme) == 401);
            }
            let reason = ".status.conditions[?(@.type==\"Ready\")].reason";
            for (object, wanted) in PUBLISHED {
                wait_at_most(Duration::from_mins(1), object, || {
                    world.cluster.field(&[object], reason) == wanted
                });
            }
            // When it is uninstalled, and its namespace deleted without an operator,
            operator.stop();
            let _ = world.helm(&["uninstall", "assay", "--wait"], &[]).ok();
            kubectl(&["delete", "namespace", "assay", "--timeout=90s"]);
            assert!(world.cluster.has(&["tenant", "acme"]));
            before = Some(keys);
            if !is_production {
                // The database went with the release.
                postgres = migrated_database();
            }
        }
    }
    // Another release is told that the objects are not its own.
    let refused = world.helm.run(&["install", "assay", &chart(), "--namespace", "elsewhere"]);
    let words = "the instance name `assay` belongs to the installation in namespace `assay`";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);
    kubectl(&["create", "namespace", "assay"]);
    let refused = world.helm.run(&["install", "other", &chart(), "--namespace", "assay"]);
    let words = "the namespace `assay` belongs to the instance `assay`";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);
    // Without any operator, the documented command lets the objects go.
    let page = text("docs/kubernetes.md");
    let section = page.split_once("### Uninstalling").map(|(_, rest)| rest).unwrap();
    let command = section.split("```").nth(1).unwrap();
    let _ = world.helm.shell(&file("."), command).ok();
    kubectl(&["delete", "tenant,plan,riskpolicy,intelsource", "--all", "--timeout=60s"]);
    kubectl(&["delete", "namespace", "elsewhere", "--timeout=90s"]);
}

/// Runs the README's commands up to a key that the API accepts. `kwok` runs no containers: the operator, with the
/// rights of the chart, and the API run outside the cluster.
#[test]
#[ignore = "needs Helm, Kubernetes"]
fn the_commands_of_the_readme_lead_to_a_key_that_the_api_takes() {
    the_readme_leads_to_a_key("");
}

#[test]
#[ignore = "needs Helm, Kubernetes"]
fn the_commands_of_the_readme_lead_to_a_key_with_rights_in_a_few_namespaces() {
    the_readme_leads_to_a_key("--set operator.scope=namespaces");
}

/// Runs the README's commands up to a key that the API accepts. `kwok` runs no containers: the operator, with the
/// rights of the chart, and the API run outside the cluster.
fn the_readme_leads_to_a_key(more: &str) {
    let world = World::new();
    let readme = text("README.md");
    let block = readme.split_once("## In a cluster").and_then(|(_, rest)| rest.split("```").nth(1));
    let block = block.unwrap().replace("\\\n", "");
    let commands: Vec<&str> = block.trim().lines().collect();
    let [install, apply, wait, forward, check] = commands[..] else { panic!("{commands:?}") };
    let shell = |command: &str| world.shell(command).ok().stdout;

    shell(&format!("{install} {more}"));
    let postgres = Postgres::start();
    let directory = Arc::new(tempfile::tempdir().unwrap());
    postgres.connect_directory(directory.path());
    let server = Server::start(directory, &[]);
    let operator = operator_beside(&world, &postgres);
    operator.wait_until_it_works();
    shell(apply);
    for (object, wanted) in PUBLISHED {
        let reason = ".status.conditions[?(@.type==\"Ready\")].reason";
        wait_at_most(Duration::from_mins(1), object, || world.field(&[object], reason) == wanted);
    }
    // The source's Job fetches the list here.
    let list = server.directory().path().join("list.csv");
    fs::write(&list, LIST).unwrap();
    let list = list.display().to_string();
    let ingest = ["ingest", "sanctions", &list, "--format", "csv", "--source", "ofac-sdn"];
    let _ = server.assay(&ingest).ok();
    let said = shell(wait);
    for object in ["apikey.assay.dev/acme", "intelsource.assay.dev/ofac-sdn"] {
        assert!(said.contains(&format!("{object} condition met")), "{said}");
    }
    assert!(forward.contains("service/assay 8080:80"), "the Service is called as the RiskService");

    let (_, key) = check.split_once("X-API-Key: ").unwrap();
    let (key, _) = key.split_once(")\"").unwrap();
    let key = shell(&format!("printf %s \"{key})\""));
    let body = check.rsplit_once("--data '").unwrap().1.trim_end_matches('\'');
    let caller = server.caller(&key);
    wait_at_most(Duration::from_secs(30), "the API takes the key", || {
        caller.post("/api/v1/check/address", body, &[]).status == 200
    });
    // Objects with a finalizer of the operator are deleted while it runs.
    world.cluster.kubectl(&["delete", "apikey,tenant", "--all", "--namespace", "assay"]);
    world.cluster.kubectl(&["delete", "plan,riskpolicy,intelsource", "--all"]);
    let _ = world.helm(&["uninstall", "assay"], &[]).ok();
}

/// A release whose operator had rights in the whole cluster keeps its keys when it is restricted to namespaces.
#[test]
#[ignore = "needs Helm, Kubernetes"]
fn an_upgrade_to_a_few_namespaces_takes_rights_away_and_keeps_keys() {
    let world = World::new();
    let _ = world.install(&[]).ok();
    let postgres = Postgres::start();
    let directory = Arc::new(tempfile::tempdir().unwrap());
    postgres.connect_directory(directory.path());
    let server = Server::start(directory, &[]);
    let mut operator = operator_beside(&world, &postgres);
    world.cluster.apply(TENANT);
    let ready = ["wait", "--for=condition=Ready", "apikey/acme", "-n", "assay", "--timeout=60s"];
    world.cluster.kubectl(&ready);
    let key = || {
        let template = "go-template={{index .data \"api-key\" | base64decode}}";
        world.cluster.kubectl(&["get", "secret", "acme", "-n", "assay", "-o", template])
    };
    let text = key();
    let may = |question: &[&str]| {
        let account = "--as=system:serviceaccount:assay:assay-operator";
        let all = [&["auth", "can-i", account], question].concat();
        world.cluster.try_kubectl(&all).stdout.trim() == "yes"
    };
    let elsewhere = ["get", "secret/any", "-n", "kube-system"];
    assert!(may(&elsewhere));

    let few = ["--set", "operator.scope=namespaces", "--reset-then-reuse-values"];
    let _ = world.upgrade(&few).ok();
    assert_eq!(operator.stop(), Some(0));
    let operator = operator_beside(&world, &postgres);
    operator.wait_until_it_works();
    wait_at_most(Duration::from_mins(1), "the tenant is told what is watched", || {
        let reason = ".status.conditions[?(@.type==\"KeysWatched\")].reason";
        world.field(&["tenant", "acme"], reason) == "NamespacesWatched"
    });
    assert!(!may(&elsewhere), "it lost the rights in the cluster");
    assert!(may(&["get", "secret/acme", "-n", "assay"]));
    assert_eq!(key(), text);
    let body = "{\"blockchain\": \"btc\", \"address\": \"1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\"}";
    wait_at_most(Duration::from_secs(30), "the API takes the key", || {
        server.caller(&text).post("/api/v1/check/address", body, &[]).status == 200
    });
    world.cluster.kubectl(&["delete", "apikey,tenant", "--all", "--namespace", "assay"]);
    world.cluster.kubectl(&["delete", "plan,riskpolicy,intelsource", "--all"]);
    let _ = world.helm(&["uninstall", "assay"], &[]).ok();
}

#[test]
#[ignore = "needs Helm, Kubernetes"]
fn users_of_a_namespace_have_rights_on_its_keys_as_their_roles_say() {
    let world = World::new();
    let _ = world.install(&[]).ok();
    for role in ["view", "edit", "admin"] {
        let (bound, user) = (format!("--clusterrole={role}"), format!("--user={role}"));
        let bind = ["create", "rolebinding", role, &bound, &user, "--namespace", "assay"];
        world.cluster.kubectl(&bind);
    }
    let may = |user: &str, namespace: &str, question: &[&str]| {
        let account = format!("--as={user}");
        let all = [&["auth", "can-i", &account, "-n", namespace], question].concat();
        world.cluster.try_kubectl(&all).stdout.trim() == "yes"
    };
    let create = ["create", "apikeys.assay.dev"];
    wait_at_most(Duration::from_mins(1), "the roles are aggregated", || {
        may("edit", "assay", &create) && may("admin", "assay", &create)
    });
    for role in ["view", "edit", "admin"] {
        for kind in ["apikeys.assay.dev", "riskservices.assay.dev"] {
            assert!(may(role, "assay", &["list", kind]), "{role} {kind}");
            assert_eq!(may(role, "assay", &["patch", kind]), role != "view", "{role} {kind}");
            assert!(!may(role, "assay", &["patch", kind, "--subresource=status"]), "{role} {kind}");
            assert!(!may(role, "default", &["list", kind]), "{role} {kind}");
        }
        for kind in
            ["tenants", "plans", "riskpolicies", "ratelimits", "intelsources", "chainsources"]
        {
            let kind = format!("{kind}.assay.dev");
            assert!(!may(role, "assay", &["get", &kind]), "{role} {kind}");
        }
    }
    assert!(!may("view", "assay", &["get", "secrets"]), "its keys are in Secrets");
    let _ = world.helm(&["uninstall", "assay"], &[]).ok();
}

/// The commands in the chart's notes work when pasted into a shell.
#[test]
#[ignore = "needs Helm, Kubernetes"]
fn the_commands_of_the_notes_work_as_printed() {
    let world = World::new();
    let notes = world.install(&[]).ok().stdout;
    // Everything from the first `kubectl apply` to where the page ends.
    let (_, page) = notes.split_once("kubectl apply").unwrap();
    let (page, rest) = page.split_once("\nEND\n").unwrap();
    let page = format!("kubectl apply{page}\nEND\n");
    let applied = world.shell(&page).ok().stdout;
    assert_eq!(applied, "tenant.assay.dev/acme created\napikey.assay.dev/acme created\n");
    // No server answers here; the shell must only parse the rest.
    let understood = format!("set -n\n{rest}");
    let _ = world.shell(&understood).ok();
    let test = notes.lines().find(|line| line.starts_with("helm test")).unwrap();
    let _ = world.shell(test).ok();
    for resource in ["riskservice/assay", "apikey/acme"] {
        assert!(notes.contains(resource), "{notes}");
        let found: Value = world.cluster.get(&["--namespace", "assay", resource]);
        assert!(found["metadata"]["uid"].is_string());
    }
    let _ = world.helm(&["uninstall", "assay"], &[]).ok();
}
