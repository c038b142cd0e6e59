//! Linters of manifests: kubeconform, checkov and kube-score. `tests/run --full` fetches them.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{
    Finished,
    tools::{folder_of, tool},
};

/// The linters, with the custom resource definitions of third parties that the chart uses.
#[derive(Debug)]
pub struct Linters {
    checkov: PathBuf,
    kubeconform: PathBuf,
    kube_score: PathBuf,
    definitions: PathBuf,
}

impl Linters {
    /// The linters.
    ///
    /// # Panics
    ///
    /// Panics if the linters were not fetched.
    #[must_use]
    pub fn find() -> Self {
        Self {
            checkov: tool("checkov"),
            kubeconform: tool("kubeconform"),
            kube_score: tool("kube-score"),
            definitions: folder_of("checkov").join("definitions"),
        }
    }

    /// The folder with third parties' custom resource definitions.
    #[must_use]
    pub fn definitions(&self) -> PathBuf {
        self.definitions.clone()
    }

    /// Result of kubeconform for the objects in a folder. `schemas` contains the schemas, with the
    /// names `GROUP_KIND_VERSION.json`, the kind in small letters.
    ///
    /// # Panics
    ///
    /// Panics if kubeconform cannot be run.
    #[must_use]
    pub fn kubeconform(&self, schemas: &Path, objects: &Path) -> Finished {
        let location = "{{.Group}}_{{.ResourceKind}}_{{.ResourceAPIVersion}}.json";
        let location = format!("{}/{location}", schemas.display());
        Command::new(&self.kubeconform)
            .args(["-strict", "-summary", "-verbose", "-schema-location", &location])
            .arg(objects)
            .output()
            .expect("kubeconform runs")
            .into()
    }

    /// Findings of checkov in a file of objects: the rule and the object of each.
    ///
    /// # Panics
    ///
    /// Panics if checkov cannot be run, or examines no object.
    #[must_use]
    pub fn checkov(&self, file: &Path) -> Vec<(String, String)> {
        let finished: Finished = Command::new(&self.checkov)
            .args(["--framework", "kubernetes", "--output", "json", "--skip-download", "--file"])
            .arg(file)
            .output()
            .expect("checkov runs")
            .into();
        let said = finished.json();
        assert!(said["summary"]["passed"].as_u64() > Some(100), "{said}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let failed = said["results"]["failed_checks"].as_array().expect("findings");
        failed.iter().map(|found| (text(&found["check_id"]), text(&found["resource"]))).collect()
    }

    /// Findings of kube-score in a file of objects: the rule and the object of each.
    ///
    /// # Panics
    ///
    /// Panics if kube-score cannot be run, or examines no object.
    #[must_use]
    pub fn kube_score(&self, file: &Path) -> Vec<(String, String)> {
        /// The grade of a check without a finding.
        const BEST: u64 = 10;
        let finished: Finished = Command::new(&self.kube_score)
            .args(["score", "--output-format", "json"])
            .arg(file)
            .output()
            .expect("kube-score runs")
            .into();
        let said = finished.json();
        let objects = said.as_array().expect("objects");
        assert!(objects.len() > 5, "{said}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let found = objects.iter().flat_map(|object| {
            let checks = object["checks"].as_array().into_iter().flatten();
            let failed = checks
                .filter(|check| check["skipped"] == false && check["grade"].as_u64() < Some(BEST));
            failed.map(|check| (text(&check["check"]["id"]), text(&object["object_meta"]["name"])))
        });
        found.collect()
    }
}
