//! Given a stolen token of the operator, then its holder can read no Secret without its name, change no foreign object,
//! and run no privileged pod.

use std::sync::MutexGuard;

use assay_tests::{Cluster, Finished};
use serde_json::{Value, json};

use crate::{
    cluster,
    modes::{CLUSTER, Mode, NAMESPACES},
    platform::wait_until,
};

/// Objects that the operator does not own.
const THEIRS: &str = "
apiVersion: v1
kind: Secret
metadata: {name: theirs, namespace: kube-public}
stringData: {password: secret}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: theirs, namespace: kube-public}
spec: {defaultBackend: {service: {name: theirs, port: {number: 80}}}}
";

/// Somebody with the operator's token.
struct Thief {
    cluster: MutexGuard<'static, Cluster>,
    config: String,
}

impl Thief {
    fn with_token_of(mode: &Mode) -> Self {
        let cluster = cluster();
        cluster.apply(THEIRS);
        let mut theirs = workload("Deployment", pod());
        theirs["metadata"] = json!({"name": "theirs", "namespace": "kube-public"});
        theirs["spec"]["replicas"] = 0.into();
        cluster.apply(&theirs.to_string());
        let config = cluster.config_of_account("default", mode.account);
        let thief = Self { cluster, config };
        // The API server learns of the policies some time after they were created.
        let mut unlabelled = workload("Deployment", pod());
        unlabelled["metadata"]["labels"] = Value::Null;
        wait_until("the policies are in force", || {
            let mut rooted = pod();
            rooted["hostPID"] = true.into();
            let attempts = [&unlabelled, &workload("Deployment", rooted)];
            attempts.iter().all(|object| thief.create(object).stderr.contains("denied request"))
        });
        thief
    }

    fn attempt(&self, arguments: &[&str], input: &str) -> Finished {
        self.cluster.try_kubectl_by(&self.config, arguments, input)
    }

    /// Tries to create an object in a dry run.
    fn create(&self, object: &Value) -> Finished {
        self.attempt(&["create", "--dry-run=server", "-f", "-"], &object.to_string())
    }

    /// Asserts that the API server refuses requests for lack of rights.
    fn may_not(&self, attempts: &[&[&str]]) {
        for arguments in attempts {
            let finished = self.attempt(arguments, "");
            let is_refused = finished.code != 0 && finished.stderr.contains("orbidden");
            assert!(is_refused, "{arguments:?}: {}{}", finished.stdout, finished.stderr);
        }
    }

    /// Asserts that the API server refuses an object with this message.
    fn is_refused(&self, what: &str, object: &Value, words: &str) {
        let finished = self.create(object);
        let is_refused = finished.code != 0 && finished.stderr.contains(words);
        assert!(is_refused, "{what}: {}{}", finished.stdout, finished.stderr);
    }
}

/// A pod as the operator creates it.
fn pod() -> Value {
    json!({
        "automountServiceAccountToken": false,
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "restartPolicy": "Always",
        "containers": [{
            "name": "assay",
            "image": "assay.test/assay:1.0",
            "securityContext": {
                "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
            },
        }],
        "volumes": [
            {"name": "a", "emptyDir": {}},
            {"name": "b", "secret": {"secretName": "database"}},
            {"name": "c", "configMap": {"name": "api"}},
            {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        ],
    })
}

/// A workload with a pod, labelled like the operator's.
fn workload(kind: &str, mut pod: Value) -> Value {
    let labels = json!({
        "app.kubernetes.io/name": "assay", "app.kubernetes.io/component": "attempt",
    });
    let (group, spec) = match kind {
        "Job" | "CronJob" => {
            pod["restartPolicy"] = "Never".into();
            let job = json!({"template": {"metadata": {"labels": labels}, "spec": pod}});
            let cron_job = json!({"schedule": "0 0 1 1 *", "jobTemplate": {"spec": job.clone()}});
            ("batch/v1", if kind == "Job" { job } else { cron_job })
        }
        _ => {
            let template = json!({"metadata": {"labels": labels}, "spec": pod});
            let selector = json!({"matchLabels": labels});
            let spec =
                json!({"serviceName": "attempt", "selector": selector, "template": template});
            ("apps/v1", spec)
        }
    };
    let mut spec = spec;
    if kind == "Deployment" {
        spec.as_object_mut().unwrap().remove("serviceName").unwrap();
    }
    json!({
        "apiVersion": group, "kind": kind, "spec": spec,
        "metadata": {
            "name": "attempt", "namespace": "default",
            "labels": {"app.kubernetes.io/managed-by": "assay-operator"},
        },
    })
}

/// The security context of the first container.
const CONTEXT: &str = "/containers/0/securityContext";

/// Changes of a pod that violate the standard `restricted` or the operator's policies: description, path, value, and
/// message.
fn changes() -> Vec<(&'static str, Value, &'static str)> {
    let node = "the pod uses a network, processes or IPC of the node";
    let token = "the pod has a token for the API server";
    let volume = "a volume is none of configMap, emptyDir, persistentVolumeClaim and secret";
    let root = "the pod may run as root";
    let seccomp = "another seccomp profile than RuntimeDefault or Localhost";
    let options = "sets SELinux or Windows options, or has no AppArmor profile";
    let gains = "a container may gain privileges or has capabilities";
    let host = "a probe or hook of a container names a host";
    let named = |source: Value| {
        let mut volume = source;
        volume["name"] = "e".into();
        json!([volume])
    };
    let token_file =
        json!({"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}});
    let privileged = json!({"privileged": true, "capabilities": {"drop": ["ALL"]}});
    let with_more = |more: Value| {
        let mut context =
            json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
        context.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        context
    };
    let container =
        |context: Value| json!([{"name": "first", "image": "x", "securityContext": context}]);
    let asks = json!({"httpGet": {"host": "10.0.0.1", "port": 80}});
    let connects = json!({"tcpSocket": {"host": "10.0.0.1", "port": 80}});
    vec![
        ("/hostNetwork", true.into(), node),
        ("/hostPID", true.into(), node),
        ("/hostIPC", true.into(), node),
        ("/nodeName", "node".into(), "the pod names the node that it runs on"),
        ("/automountServiceAccountToken", true.into(), token),
        ("/automountServiceAccountToken", Value::Null, token),
        ("/serviceAccountName", "assay-operator".into(), token),
        ("/serviceAccount", "assay-operator".into(), token),
        ("/volumes", named(json!({"hostPath": {"path": "/"}})), volume),
        ("/volumes", named(token_file), volume),
        ("/volumes", named(json!({"nfs": {"server": "10.0.0.1", "path": "/"}})), volume),
        ("/volumes", named(json!({"csi": {"driver": "secrets.example"}})), volume),
        (
            "/resourceClaims",
            json!([{"name": "a", "resourceClaimName": "a"}]),
            "the pod claims devices",
        ),
        ("/securityContext/runAsNonRoot", Value::Null, root),
        ("/securityContext/runAsUser", 0.into(), root),
        (CONTEXT, with_more(json!({"runAsNonRoot": false})), root),
        (CONTEXT, with_more(json!({"runAsUser": 0})), root),
        (
            "/securityContext/sysctls",
            json!([{"name": "kernel.shm_rmid_forced", "value": "1"}]),
            "sets kernel parameters",
        ),
        ("/securityContext/seccompProfile", Value::Null, seccomp),
        ("/securityContext/seccompProfile/type", "Unconfined".into(), seccomp),
        (CONTEXT, with_more(json!({"seccompProfile": {"type": "Unconfined"}})), seccomp),
        ("/securityContext/seLinuxOptions", json!({"type": "spc_t"}), options),
        (CONTEXT, with_more(json!({"seLinuxOptions": {"user": "u"}})), options),
        (CONTEXT, with_more(json!({"windowsOptions": {"runAsUserName": "u"}})), options),
        ("/securityContext/appArmorProfile", json!({"type": "Unconfined"}), options),
        (CONTEXT, with_more(json!({"appArmorProfile": {"type": "Unconfined"}})), options),
        (CONTEXT, Value::Null, gains),
        (CONTEXT, privileged.clone(), gains),
        (CONTEXT, json!({"capabilities": {"drop": ["ALL"]}}), gains),
        (CONTEXT, json!({"allowPrivilegeEscalation": false}), gains),
        (CONTEXT, with_more(json!({"capabilities": {"drop": ["NET_RAW"]}})), gains),
        (
            CONTEXT,
            with_more(json!({"capabilities": {"drop": ["ALL"], "add": ["SYS_PTRACE"]}})),
            gains,
        ),
        ("/initContainers", container(privileged), gains),
        ("/initContainers", container(Value::Null), gains),
        (
            "/containers/0/ports",
            json!([{"containerPort": 80, "hostPort": 80}]),
            "a port of the node",
        ),
        ("/containers/0/livenessProbe", asks.clone(), host),
        ("/containers/0/readinessProbe", connects.clone(), host),
        ("/containers/0/startupProbe", asks.clone(), host),
        ("/containers/0/lifecycle", json!({"preStop": asks}), host),
        ("/containers/0/lifecycle", json!({"postStart": connects}), host),
    ]
}

/// Sets the value at a path, whose last part may be missing. Null removes it.
fn set(object: &mut Value, path: &str, value: Value) {
    let (above, name) = path.rsplit_once('/').unwrap();
    let fields = object.pointer_mut(above).unwrap().as_object_mut().unwrap();
    if value.is_null() {
        fields.remove(name);
    } else {
        fields.insert(name.to_owned(), value);
    }
}

#[test]
#[ignore = "needs Kubernetes"]
fn the_token_reads_no_secret_by_listing_and_gains_no_right() {
    let thief = Thief::with_token_of(&CLUSTER);
    thief.may_not(&[
        &["get", "secrets", "--all-namespaces"],
        &["get", "secrets", "--namespace=kube-system"],
        &["get", "secrets", "--namespace=default"],
        &["get", "--raw", "/api/v1/namespaces/default/secrets?watch=true&timeoutSeconds=1"],
        &["delete", "secret", "theirs", "--namespace=kube-public"],
        &["get", "configmaps", "--all-namespaces"],
        &["create", "clusterrolebinding", "mine", "--clusterrole=cluster-admin", "--user=me"],
        &["create", "rolebinding", "mine", "--clusterrole=admin", "--user=me"],
        &["create", "role", "mine", "--verb=list", "--resource=secrets"],
        &["create", "token", "default", "--namespace=kube-system"],
        &["get", "nodes", "--as=system:admin", "--as-group=system:masters"],
        &["create", "serviceaccount", "mine"],
        &["run", "mine", "--image=mine"],
        &["get", "statefulsets", "--namespace=kube-system"],
        &["delete", "deployment", "theirs", "--namespace=kube-public"],
        &["delete", "validatingadmissionpolicybinding", "assay-operator-pods"],
    ]);
}

#[test]
#[ignore = "needs Kubernetes"]
fn the_token_of_a_few_namespaces_is_worth_nothing_in_others() {
    let thief = Thief::with_token_of(&NAMESPACES);
    thief.may_not(&[
        &["get", "secret", "theirs", "--namespace=kube-public"],
        &["get", "secrets", "--namespace=payments"],
        &["get", "secrets", "--namespace=default"],
        &["get", "apikeys", "--all-namespaces"],
        &["get", "riskservices", "--all-namespaces"],
        &["get", "riskservices", "--namespace=payments"],
        &["get", "pods", "--all-namespaces"],
        &["get", "pods", "--namespace=payments"],
        &["get", "deployments", "--all-namespaces"],
        &["get", "services", "--namespace=kube-public"],
        &["patch", "deployment", "theirs", "--namespace=kube-public", "-p", "{}"],
        &["create", "deployment", "mine", "--namespace=kube-public", "--image=mine"],
        &["create", "deployment", "mine", "--namespace=payments", "--image=mine"],
        &["create", "job", "mine", "--namespace=kube-system", "--image=mine"],
        &["create", "secret", "generic", "mine", "--namespace=kube-public"],
        &["create", "clusterrolebinding", "mine", "--clusterrole=cluster-admin", "--user=me"],
        &["create", "rolebinding", "mine", "--clusterrole=admin", "--user=me"],
        &["get", "nodes", "--as=system:admin", "--as-group=system:masters"],
    ]);
    // Its own namespace and those of tenants are open to it, as its work needs.
    for allowed in [
        &["get", "apikeys", "--namespace=payments"][..],
        &["get", "deployments", "--namespace=default"],
        &["get", "tenants"],
    ] {
        assert_eq!(thief.attempt(allowed, "").code, 0, "{allowed:?}");
    }
    let mut privileged = pod();
    privileged["hostNetwork"] = true.into();
    thief.is_refused("host network", &workload("Deployment", privileged), "denied request");
}

#[test]
#[ignore = "needs Kubernetes"]
fn the_token_runs_only_restricted_pods() {
    let thief = Thief::with_token_of(&CLUSTER);
    // Given a pod as the operator creates it, then every kind of workload may have it,
    let kinds = ["Deployment", "StatefulSet", "Job", "CronJob"];
    for kind in kinds {
        let finished = thief.create(&workload(kind, pod()));
        assert_eq!(finished.code, 0, "{kind}: {}", finished.stderr);
    }
    // and none may have one that goes beyond it.
    for (path, value, words) in changes() {
        let mut changed = pod();
        set(&mut changed, path, value.clone());
        thief.is_refused(&format!("{path} = {value}"), &workload("Deployment", changed), words);
    }
    for kind in kinds {
        let mut changed = pod();
        changed["hostPID"] = true.into();
        thief.is_refused(kind, &workload(kind, changed), "processes or IPC of the node");
    }
    // Of labels, it may have those that the installation permits.
    let mut permitted = workload("Deployment", pod());
    permitted["spec"]["template"]["metadata"]["labels"]["team"] = "risk".into();
    let finished = thief.create(&permitted);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    let mut posing = workload("Deployment", pod());
    posing["spec"]["template"]["metadata"]["labels"]["app"] = "theirs".into();
    thief.is_refused("a label", &posing, "the pod has labels of another application");
    let mut annotated = workload("Deployment", pod());
    let annotation = json!({"container.apparmor.security.beta.kubernetes.io/assay": "unconfined"});
    annotated["spec"]["template"]["metadata"]["annotations"] = annotation;
    thief.is_refused("annotation", &annotated, "has no AppArmor profile");
}

#[test]
#[ignore = "needs Kubernetes"]
fn the_token_changes_only_objects_of_the_operator() {
    let thief = Thief::with_token_of(&CLUSTER);
    let mut unlabelled = workload("Deployment", pod());
    unlabelled["metadata"]["labels"] = Value::Null;
    thief.is_refused("no label", &unlabelled, "lacks the label app.kubernetes.io/managed-by");

    // Objects of others cannot be taken over, nor deleted,
    let label = r#"{"metadata": {"labels": {"app.kubernetes.io/managed-by": "assay-operator"}}}"#;
    for kind in ["deployment", "secret", "ingress"] {
        let patch = ["patch", kind, "theirs", "--namespace=kube-public", "-p", label];
        let finished = thief.attempt(&patch, "");
        assert!(finished.stderr.contains("was not created by the operator"), "{finished:?}");
    }
    let delete = ["delete", "ingress", "theirs", "--namespace=kube-public"];
    let finished = thief.attempt(&delete, "");
    assert!(finished.stderr.contains("was not created by the operator"), "{finished:?}");
    assert!(thief.cluster.has(&["ingress", "theirs", "-n", "kube-public"]));

    // pods of others cannot be opened or exposed,
    let selects = |kind: &str, group: &str, spec: Value| {
        let labels = json!({"app.kubernetes.io/managed-by": "assay-operator"});
        let metadata = json!({"name": "mine", "namespace": "kube-public", "labels": labels});
        json!({"apiVersion": group, "kind": kind, "metadata": metadata, "spec": spec})
    };
    let theirs = json!({"app": "theirs"});
    for (kind, group, spec) in [
        ("NetworkPolicy", "networking.k8s.io/v1", json!({"podSelector": {}, "ingress": [{}]})),
        ("NetworkPolicy", "networking.k8s.io/v1", json!({"podSelector": {"matchLabels": theirs}})),
        ("Service", "v1", json!({"selector": theirs, "ports": [{"port": 80}]})),
        ("Service", "v1", json!({"ports": [{"port": 80}]})),
    ] {
        let words = "selects pods of another application";
        thief.is_refused(kind, &selects(kind, group, spec), words);
    }

    // and a Secret in which the cluster would put a token of another account cannot be created.
    let token = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {
            "name": "mine", "namespace": "kube-system",
            "labels": {"app.kubernetes.io/managed-by": "assay-operator"},
            "annotations": {
                "kubernetes.io/service-account.name": "clusterrole-aggregation-controller",
            },
        },
    });
    thief.is_refused("a token", &token, "the Secret is not of the type Opaque");
}
