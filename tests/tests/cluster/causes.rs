//! Given pods that are not created or do not start, then the object that its user looks at tells the cause, with what to
//! do. Pods have no programs here: their states are written as a kubelet writes them.

use std::time::{Duration, Instant};

use assay_tests::{Cluster, wait_every};
use serde_json::json;

use crate::{
    platform::{Platform, wait_until},
    service::{DATABASE, service},
    sources::{CHAIN, FEED, FOLLOW, chain, feed, platform},
};

const SERVICE: [&str; 2] = ["riskservice", "api"];
const WORKING: &str = ".status.conditions[?(@.type==\"Working\")].reason";

/// Time within which the user of an object is told the cause.
const TOLD_WITHIN: Duration = Duration::from_secs(30);

/// The pod of a chain server that no node gets.
const BY_HAND: &str = "
---
apiVersion: v1
kind: Pod
metadata:
  name: by-hand
  namespace: default
  labels:
    app.kubernetes.io/name: assay
    app.kubernetes.io/instance: bitcoin
    app.kubernetes.io/component: chain
    app.kubernetes.io/managed-by: assay-operator
spec:
  schedulerName: nobody
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: assay
      image: assay.test/assay:1.0
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
";

/// The event that a kubelet records about a pod with a Secret that lacks a key.
const MOUNT: &str = "
---
apiVersion: v1
kind: Event
metadata: {name: by-hand.mount, namespace: default}
involvedObject: {apiVersion: v1, kind: Pod, name: by-hand, namespace: default}
type: Warning
reason: FailedMount
message: 'MountVolume.SetUp failed for volume \"token\" : references non-existent secret key: token'
source: {component: kubelet}
firstTimestamp: '2099-01-01T00:00:00Z'
lastTimestamp: '2099-01-01T00:00:00Z'
count: 1
";

/// A quota by which no pod can be created in `default`, until it is dropped.
struct Quota<'a>(&'a Cluster);

impl<'a> Quota<'a> {
    fn use_up(cluster: &'a Cluster) -> Self {
        cluster.apply(
            "
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: few, namespace: default}
spec: {hard: {pods: '0'}}
",
        );
        wait_until("the quota is in force", || {
            cluster.field(&["resourcequota", "few"], ".status.hard.pods") == "0"
        });
        Self(cluster)
    }
}

impl Drop for Quota<'_> {
    fn drop(&mut self) {
        let _ = self.0.try_kubectl(&["delete", "resourcequota", "few", "-n", "default"]);
    }
}

/// Waits until the condition `Ready` of an object has all of the words, for at most the time within which it must.
fn wait_for_words(platform: &Platform, object: &[&str], words: &[&str]) {
    let since = Instant::now();
    let told = || {
        let message = platform.message(object);
        words.iter().all(|part| message.contains(part))
    };
    let what = format!("{object:?} says {words:?}");
    let _ = wait_every(Duration::from_millis(50), TOLD_WITHIN, &what, told);
    eprintln!("{object:?} said it after {:.1?}: {}", since.elapsed(), platform.message(object));
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_missing_secret_and_a_used_up_quota_are_told_with_what_to_do() {
    // Given a service that is ready,
    let platform = platform();
    let _ = platform.cluster.try_kubectl(&["delete", "pod", "--all", "-n", "default"]);
    platform.cluster.apply(&[DATABASE, &service("1.0", "")].concat());
    platform.wait_for_reason(&SERVICE, "ServiceReady");
    let quota = Quota::use_up(&platform.cluster);
    // when its pods are to be replaced, or its database migrated, and the quota is used up, then it says so.
    let quota_words = ["exceeded quota: few", "raise the ResourceQuota of the namespace"];
    platform.cluster.apply(&service("1.0", "  connections: {backlog: 512}"));
    wait_for_words(&platform, &SERVICE, &[&["`api`"][..], &quota_words].concat());
    platform.wait_for_reason(&SERVICE, "RollingOut");
    platform.cluster.apply(&service("2.0", ""));
    platform.wait_for_reason(&SERVICE, "Migrating");
    wait_for_words(&platform, &SERVICE, &quota_words);
    // When sources have no Secret with the database's URL, or it lacks the key, then both say so before all else,
    platform.cluster.kubectl(&["delete", "secret", "database", "-n", "default"]);
    platform.cluster.apply(&[feed(""), chain(FOLLOW)].concat());
    let absent = "in namespace `default`, Secret `database` does not exist: create it";
    for source in [&FEED, &CHAIN] {
        wait_for_words(&platform, source, &[absent, "under `url`"]);
        platform.wait_for(source, WORKING, "SecretNotFound");
    }
    platform.cluster.apply(&DATABASE.replace("{url:", "{address:"));
    for source in [&FEED, &CHAIN] {
        wait_for_words(&platform, source, &["Secret `database` has no key `url`: add it"]);
    }
    // and once it has, that their pods are not created.
    platform.cluster.apply(DATABASE);
    for (source, creator) in [(&FEED, "`intel-own-first`"), (&CHAIN, "`chain-bitcoin`")] {
        wait_for_words(&platform, source, &[&[creator][..], &quota_words].concat());
    }
    drop(quota);
    platform.wait_for_reason(&SERVICE, "ServiceReady");
}

#[test]
#[ignore = "needs Kubernetes"]
fn a_pod_without_its_volume_or_image_is_told_as_soon_as_it_reports_that() {
    // Given the pod of a chain server that does not start,
    let platform = platform();
    let _ = platform.cluster.try_kubectl(&["delete", "pod", "--all", "-n", "default"]);
    platform.cluster.apply(&[DATABASE, BY_HAND].concat());
    let _quota = Quota::use_up(&platform.cluster);
    platform.cluster.apply(&[&chain(FOLLOW), MOUNT].concat());
    // when a key of its Secret does not exist, then the source says so.
    let volume =
        "pod `by-hand` does not get a volume; create the Secret, ConfigMap or key that it lacks";
    wait_for_words(&platform, &CHAIN, &[volume, "references non-existent secret key: token"]);
    // When its image cannot be pulled, or it lacks what its environment names, then the source says that.
    let wait = |reason: &str, message: &str| {
        let waiting = json!({"waiting": {"reason": reason, "message": message}});
        let container = json!({
            "name": "assay", "image": "assay.test/assay:1.0", "imageID": "", "restartCount": 0,
            "ready": false, "state": waiting,
        });
        let status = json!({"status": {"containerStatuses": [container]}}).to_string();
        let patch =
            ["patch", "pod", "by-hand", "--subresource=status", "--type=merge", "-p", &status];
        platform.cluster.kubectl(&patch);
    };
    wait("ErrImagePull", "not found");
    let image =
        "pod `by-hand` does not get its image; correct its name, or the Secrets for pulling it";
    wait_for_words(&platform, &CHAIN, &[image, "ImagePullBackOff: not found"]);
    wait("CreateContainerConfigError", "secret \"chains\" not found");
    wait_for_words(
        &platform,
        &CHAIN,
        &["pod `by-hand` lacks a Secret", "secret \"chains\" not found"],
    );
    platform.cluster.kubectl(&["delete", "pod", "by-hand", "-n", "default", "--force"]);
    platform.cluster.kubectl(&["delete", "event", "by-hand.mount", "-n", "default"]);
}
