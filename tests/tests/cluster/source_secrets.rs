//! Given people who may write sources but not read Secrets, when their sources name a Secret, then its content is sent
//! only to servers that the Secret's owner named.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    pages::{GOLD, key, tenant},
    platform::{Platform, wait_until},
    service::DATABASE,
    sources::{CHAIN, FEED, platform, with_workloads},
};

const WORKING: &str = ".status.conditions[?(@.type==\"Working\")].reason";
const MESSAGE: &str = ".status.conditions[?(@.type==\"Working\")].message";
const REFUSED: &str = "CredentialsNotAllowed";
/// The kinds of objects that have pods.
const WORKLOADS: &str = "cronjobs,jobs,statefulsets,deployments,pods";

/// `kubectl` flag for an account that may only write sources.
const WRITER: &str = "--as=system:serviceaccount:default:writer";
const WRITERS: &str = "
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: source-writer}
rules:
  - apiGroups: [assay.dev]
    resources: [chainsources, intelsources]
    verbs: [create, delete, get, list, patch, update]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: source-writer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: source-writer}
subjects: [{kind: ServiceAccount, name: writer, namespace: default}]
";

/// Applies YAML as the account that may only write sources.
fn write(platform: &Platform, yaml: &str) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), yaml).unwrap();
    let path = file.path().display().to_string();
    platform.cluster.kubectl(&["apply", WRITER, "-f", &path]);
}

fn list(location: &str, secret: &str, key: &str) -> String {
    format!(
        "
---
apiVersion: assay.dev/v1alpha1
kind: IntelSource
metadata: {{name: own}}
spec:
  location: '{location}'
  format: listings-csv
  schedule: '0 0 1 1 *'
  credentialsSecret: {{name: {secret}, key: {key}}}
"
    )
}

fn node(endpoint: &str, secret: &str, key: &str) -> String {
    format!(
        "
---
apiVersion: assay.dev/v1alpha1
kind: ChainSource
metadata: {{name: bitcoin}}
spec:
  chain: btc
  mode: follow
  protocol: rpc
  endpoint: '{endpoint}'
  credentialsSecret: {{name: {secret}, key: {key}}}
"
    )
}

/// A Secret, with the label and annotation that permit its use.
fn secret(name: &str, label: &str, hosts: &str) -> String {
    format!(
        "
---
apiVersion: v1
kind: Secret
metadata:
  name: {name}
  namespace: default
  labels: {{assay.dev/source-credentials: '{label}'}}
  annotations: {{assay.dev/source-hosts: '{hosts}'}}
stringData: {{token: 'user:hush'}}
"
    )
}

/// The names of the objects of sources that mount a Secret.
fn objects_mounting(platform: &Platform, secret: &str) -> Vec<String> {
    let objects = platform.cluster.list(WORKLOADS, "default", "");
    let mounts = |object: &&Value| {
        object["spec"].to_string().contains(&format!("\"secretName\":\"{secret}\""))
    };
    let names = objects.iter().filter(mounts);
    names.map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

/// The kinds of objects that the operator wrote after an entry of the audit log.
fn written_kinds(platform: &Platform, since: usize) -> BTreeSet<String> {
    let requests = platform.cluster.audit().into_iter().skip(since);
    let of_operator = requests.filter(|request| {
        let user = request["user"]["username"].as_str().unwrap_or_default();
        user.ends_with(":assay-operator")
            && ["create", "patch"].contains(&request["verb"].as_str().unwrap())
    });
    of_operator
        .filter_map(|request| Some(request["objectRef"]["resource"].as_str()?.to_owned()))
        .collect()
}

#[test]
#[ignore = "needs Kubernetes"]
fn the_name_of_a_secret_does_not_open_it() {
    // Given the Secrets of an installation, and somebody who may not read them.
    let platform = platform();
    let pages = [GOLD, &tenant("acme", "gold"), &key("backend", "acme"), WRITERS, DATABASE];
    let chain_token = secret("chains", "false", "evil.example:81");
    platform.cluster.apply(&[&pages.concat(), &*chain_token].concat());
    platform.wait_for_reason(&["apikey", "backend"], "KeyReady");
    // What chain servers of another test left behind, others would serve.
    platform.cluster.kubectl(&["delete", "pod,persistentvolumeclaim", "--all", "-n", "default"]);
    for name in ["database", "chains", "backend"] {
        let denied = platform.cluster.try_kubectl(&["get", "secret", name, WRITER]);
        assert!(denied.stderr.contains("Forbidden"), "{}", denied.stderr);
    }
    let begun = platform.cluster.audit().len();
    // When sources name them, and one that does not exist, with a server of their author,
    let mut said = Vec::new();
    for (name, key) in
        [("database", "url"), ("chains", "token"), ("backend", "api-key"), ("none", "token")]
    {
        write(&platform, &list("http://evil.example:81/x", name, key));
        write(&platform, &node("http://evil.example:81", name, key));
        for source in [FEED, CHAIN] {
            platform.wait_for_publication(&source, "Published");
            platform.wait_for(&source, WORKING, REFUSED);
            wait_until("the message names the Secret", || {
                platform.cluster.field(&source, MESSAGE).contains(&format!("Secret `{name}`"))
            });
            said.push(platform.cluster.field(&source, MESSAGE).replace(name, "NAME"));
        }
        assert_eq!(objects_mounting(&platform, name).len(), 0, "{name}");
    }
    // then nothing runs, and the conditions do not tell which of them exist.
    let mend = "there is no Secret `NAME` for sources in namespace `default`, and nothing is sent to evil.example:81: \
                if it holds the credentials for that server and no others, `kubectl label secret NAME -n default \
                assay.dev/source-credentials=true` and `kubectl annotate secret NAME -n default \
                assay.dev/source-hosts=evil.example:81`";
    assert_eq!(said, vec![mend; said.len()]);
    let kinds = written_kinds(&platform, begun);
    for kind in ["cronjobs", "jobs", "statefulsets", "services"] {
        assert!(!kinds.contains(kind), "{kinds:?}");
    }
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_secret_for_sources_is_sent_to_its_hosts_alone() {
    // Given a Secret that its owner marked for two servers,
    let platform = platform();
    platform.cluster.apply(&[WRITERS, DATABASE].concat());
    let servers = "lists.example:443, node.example:8332";
    platform.cluster.apply(&secret("shared", "true", servers));
    // when sources name other servers, other ports, or names that look like it,
    for other in [
        "https://evil.example/x",
        "https://lists.example:8443/x",
        "http://lists.example/x",
        "https://lists.example.evil.example/x",
        "https://evil.example/?https://lists.example:443/",
    ] {
        write(&platform, &list(other, "shared", "token"));
        write(&platform, &node(other, "shared", "token"));
        for source in [FEED, CHAIN] {
            platform.wait_for(&source, WORKING, REFUSED);
            assert!(platform.cluster.field(&source, MESSAGE).contains("is not for "));
        }
        assert_eq!(objects_mounting(&platform, "shared").len(), 0, "{other}");
    }
    // then only sources with its servers run, and their pods know the server.
    write(&platform, &list("https://lists.example/own.csv", "shared", "token"));
    write(&platform, &node("http://node.example:8332", "shared", "token"));
    let pod_of = |object: &[&str], path: &str| platform.cluster.get(object).pointer(path).cloned();
    wait_until("both run", || {
        // The chain servers of before are there without a source.
        platform.cluster.has(&["cronjob", "intel-own"])
            && platform.cluster.has(&["statefulset", "chain-bitcoin"])
            && template(&platform).contains("--credentials-hosts=")
    });
    let import = pod_of(&["cronjob", "intel-own"], "/spec/jobTemplate/spec/template/spec").unwrap();
    assert!(import.to_string().contains("--credentials-hosts=lists.example:443"), "{import}");
    let server = pod_of(&["statefulset", "chain-bitcoin"], "/spec/template/spec").unwrap();
    assert!(server.to_string().contains("--credentials-hosts=node.example:8332"), "{server}");

    // And when their author changes the server, or the owner of the Secret takes the label away,
    write(&platform, &list("https://evil.example/x", "shared", "token"));
    platform.wait_for(&FEED, WORKING, REFUSED);
    platform.cluster.kubectl(&["label", "secret", "shared", "assay.dev/source-credentials-"]);
    platform.cluster.kubectl(&["annotate", "chainsource", "bitcoin", "looked=again"]);
    platform.wait_for(&CHAIN, WORKING, REFUSED);
    // then nothing runs any more with the Secret.
    wait_until("nothing mounts it", || objects_mounting(&platform, "shared").is_empty());
    // And the mend is that which the condition says.
    platform.cluster.kubectl(&["label", "secret", "shared", "assay.dev/source-credentials=true"]);
    wait_until("the chain is followed again", || {
        template(&platform).contains("--credentials-hosts=node.example:8332")
    });
}

/// The pod template of the chain servers' `StatefulSet`.
fn template(platform: &Platform) -> String {
    let stateful_set = platform.cluster.find(&["statefulset", "chain-bitcoin"]);
    stateful_set.map_or_else(String::new, |found| found["spec"]["template"].to_string())
}

#[test]
#[ignore = "needs Kubernetes"]
fn workloads_of_an_earlier_release_with_an_unmarked_secret_end() {
    // Given sources with a Secret whose workloads run, and whose Secret is as it was before it had to be marked,
    let mut platform = platform();
    platform.cluster.apply(&[DATABASE, &secret("old", "true", "here.example:80")].concat());
    let sources = [
        list("http://here.example/own.csv", "old", "token"),
        node("http://here.example", "old", "token"),
    ];
    platform.cluster.apply(&sources.concat());
    wait_until("the workloads run", || {
        let names = objects_mounting(&platform, "old");
        let has = |start: &str| names.iter().any(|name| name.starts_with(start));
        has("intel-own-first") && has("chain-bitcoin")
    });
    platform.operator.stop();
    let key = ["assay.dev/source-credentials-", "assay.dev/source-hosts-"];
    platform.cluster.kubectl(&["label", "secret", "old", key[0]]);
    platform.cluster.kubectl(&["annotate", "secret", "old", key[1]]);
    // when an operator starts,
    platform.operator = with_workloads(&platform, "upgraded");
    // then both sources keep their specs and get the condition, and nothing runs with the Secret;
    for source in [FEED, CHAIN] {
        platform.wait_for(&source, WORKING, REFUSED);
        platform.wait_for_publication(&source, "Published");
    }
    wait_until("nothing mounts it", || objects_mounting(&platform, "old").is_empty());
    // chain servers answer from the blocks that they have.
    wait_until("there are other servers", || {
        platform.cluster.has(&["statefulset", "chain-bitcoin"])
    });
    assert!(!template(&platform).contains("--rpc") && !template(&platform).contains("--cookie"));
    wait_until("and a pod", || platform.cluster.has(&["pod", "chain-bitcoin-0"]));
    let said = platform.cluster.field(&CHAIN, MESSAGE);
    let servers = "of 1 chain server ready: they answer from the blocks that they have";
    assert!(
        said.contains("there is no Secret `old` for sources") && said.contains(servers),
        "{said}"
    );
}
