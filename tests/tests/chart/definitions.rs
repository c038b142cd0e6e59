//! Given a chart from before, with older definitions in its `crds/` folder, when its release is upgraded, then the
//! definitions are those of this version, and belong to the release.

use std::{fs, path::Path};

use assay_tests::{Cluster, Finished, Helm};
use serde_json::Value;

use crate::{chart, file, rendered::documents};

/// The namespace of the release.
const NAMESPACE: &[&str] = &["--namespace", "definitions"];
/// Values without objects that need an operator.
const VALUES: &[&str] =
    &["--set", "defaults.plans=false,defaults.policy=false,defaults.feeds=false"];
/// A text of the definition of chain sources, and that of the version before.
const TEXTS: [&str; 2] = ["Default 0, the whole chain.", "Default 0."];

/// A copy of the chart without the template that updates definitions, and with an older definition.
fn chart_from_before(folder: &Path) -> String {
    let copied = std::process::Command::new("cp").arg("-R").arg(chart()).arg(folder).status();
    assert!(copied.unwrap().success());
    let chart = folder.join("assay");
    fs::remove_file(chart.join("templates/definitions.yaml")).unwrap();
    let definition = chart.join("crds/chainsources.yaml");
    let text = fs::read_to_string(&definition).unwrap();
    let [now, before] = TEXTS;
    assert!(text.contains(now), "the definition says otherwise: choose another text");
    fs::write(&definition, text.replace(now, before)).unwrap();
    chart.display().to_string()
}

/// A cluster without definitions, and Helm on it.
struct World {
    cluster: Cluster,
    helm: Helm,
}

impl World {
    fn helm(&self, command: &[&str], more: &[&str]) -> Finished {
        self.helm.run(&[command, NAMESPACE, more].concat())
    }

    fn upgrade(&self, more: &[&str]) -> Finished {
        self.helm(&["upgrade", "assay", &chart()], &[VALUES, more].concat())
    }

    /// The names of the releases that own the definitions.
    fn owners(&self) -> Vec<Option<String>> {
        let all = self.cluster.kubectl(&["get", "crd", "--output", "json"]);
        let all: Value = serde_json::from_str(&all).unwrap();
        let found = all["items"].as_array().unwrap().iter().map(|definition| {
            let release = &definition["metadata"]["annotations"]["meta.helm.sh/release-name"];
            release.as_str().map(str::to_owned)
        });
        found.collect()
    }

    /// True if the definition of chain sources is that of this version.
    fn is_current(&self) -> bool {
        let text = self.cluster.kubectl(&["get", "crd", "chainsources.assay.dev", "-o", "json"]);
        text.contains(TEXTS[0])
    }
}

#[test]
#[ignore = "needs Helm, Kubernetes"]
fn an_upgrade_takes_over_and_updates_the_definitions_of_the_chart_before() {
    let world = {
        let cluster = Cluster::start();
        let helm = Helm::find().with_cluster(&cluster);
        World { cluster, helm }
    };
    let folder = tempfile::tempdir().unwrap();
    let before = chart_from_before(folder.path());
    // Given a release of the chart before, with a password in its manifest and an object of the older definition,
    let password = ["--set", "evaluation.password=0123456789abcdef"];
    let install = ["install", "assay", &before, "--create-namespace"];
    let _ = world.helm(&install, &[VALUES, &password].concat()).ok();
    let source = "{apiVersion: assay.dev/v1alpha1, kind: ChainSource, metadata: {name: kept}, \
                  spec: {chain: btc, mode: follow, protocol: rpc, endpoint: 'http://node:8332'}}";
    world.cluster.apply(source);
    assert!(!world.is_current());
    // when it is upgraded without consent, then nothing changes, and Helm names a definition.
    let refused = world.upgrade(&[]);
    assert!(refused.code != 0, "{refused:?}");
    let words = [".assay.dev\"", "exists and cannot be imported"];
    assert!(words.iter().all(|words| refused.stderr.contains(words)), "{}", refused.stderr);
    assert!(!world.is_current());
    // With consent, all definitions are the release's, and those of this version.
    let _ = world.upgrade(&["--take-ownership"]).ok();
    assert!(world.is_current());
    let wanted = fs::read_dir(file("crds/manifests")).unwrap().count();
    assert_eq!(world.owners(), vec![Some("assay".to_owned()); wanted]);
    assert!(world.cluster.has(&["chainsource", "kept"]));
    let secret = ["secret", "assay-evaluation", "-n", "definitions", "-o"];
    let text = "go-template={{.data.password | base64decode}}";
    let kept = world.cluster.kubectl(&[&["get"], &secret[..], &[text]].concat());
    assert_eq!(kept, "0123456789abcdef", "an upgrade without the value keeps the password");
    // Another upgrade needs no consent, and creates a definition that is absent.
    world.cluster.kubectl(&["delete", "crd", "ratelimits.assay.dev"]);
    let _ = world.upgrade(&[]).ok();
    assert_eq!(world.owners().len(), wanted);
    // Another release refuses definitions of another version, and uses those of this version as they are.
    let other = |chart: &str| {
        let namespace = ["--namespace", "elsewhere", "--create-namespace", "--skip-crds"];
        world.helm.run(&[&["install", "other", chart], &namespace[..], VALUES].concat())
    };
    let template = "templates/definitions.yaml";
    fs::copy(file("charts/assay").join(template), Path::new(&before).join(template)).unwrap();
    let refused = other(&before);
    let words = "belongs to the release `assay` in namespace `definitions`: upgrade that release";
    assert!(refused.stderr.contains(words), "{}", refused.stderr);
    let _ = other(&chart()).ok();
    let _ = world.helm.run(&["uninstall", "other", "--namespace", "elsewhere"]).ok();
    // Uninstalled, the release leaves its definitions and their objects.
    let _ = world.helm(&["uninstall", "assay"], &[]).ok();
    assert_eq!(world.owners().len(), wanted);
    assert!(world.cluster.has(&["chainsource", "kept"]));
}

#[test]
#[ignore = "needs Helm"]
fn definitions_are_in_crds_alone_where_there_is_no_cluster() {
    let helm = Helm::find();
    for upgrade in [&[][..], &["--is-upgrade"]] {
        let chart = chart();
        let all = [&["template", "assay", &chart], upgrade].concat();
        let rendered = documents(&helm.run(&all).ok().stdout);
        assert!(rendered.iter().all(|object| object["kind"] != "CustomResourceDefinition"));
    }
}
