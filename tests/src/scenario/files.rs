//! Files with the labels, the sanctions list and the policy of the expected answers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use assay_address::ChainId;
use serde_json::json;

use super::{
    cast::address,
    expected::{LISTED, NORTH, SOUTH, THEFT},
};

/// Labels of an investigation: party, category, entity. North's deposit addresses have no labels, so that a trace must
/// follow the sweep.
const LABELS: [(&str, &str, &str); 3] = [
    ("north-hot", "exchange", NORTH),
    ("south", "exchange", SOUTH),
    ("thief", "stolen_funds", THEFT),
];

/// Files to be imported, in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// `assay ingest labels FILE --format csv --source investigators`.
    pub labels_csv: PathBuf,
    /// The labels as JSON lines: `assay ingest labels FILE --format jsonl --source investigators`.
    pub labels_jsonl: PathBuf,
    /// `assay ingest sanctions FILE --format csv --source treasury --published-on 2026-01-31`. The default policy
    /// requires this list.
    pub sanctions: PathBuf,
    /// `assay apply --file FILE`: what amounts of the coin mean, the same on every chain.
    pub policy: PathBuf,
}

impl Files {
    /// Writes the files.
    ///
    /// # Panics
    ///
    /// Panics if they cannot be written.
    #[must_use]
    pub fn write(chain: ChainId, directory: &Path) -> Self {
        let (mut csv, mut jsonl) = (
            "blockchain,address,category,entity,confidence,tier,author\n".to_owned(),
            String::new(),
        );
        for (person, category, entity) in LABELS {
            let address = address(chain, person);
            let row =
                format!("{chain},{address},{category},{entity},100,investigation,The police\n");
            csv.push_str(&row);
            let label = json!({
                "blockchain": chain.as_str(),
                "address": address.as_str(),
                "category": category,
                "entity": entity,
                "confidence": 100,
                "tier": "investigation",
                "author": "The police",
            });
            jsonl.push_str(&label.to_string());
            jsonl.push('\n');
        }
        let code = match chain {
            ChainId::BTC => "XBT",
            other => other.info().native().code,
        };
        let listed = address(chain, "listed");
        let list = format!(
            "list,list_name,entity_id,entity,asset_code,address,programs\n\
             ofac-sdn,SDN List,7001,{LISTED},{code},{listed},CYBER2\n"
        );
        let file = |name: &str, text: String| {
            let path = directory.join(name);
            fs::write(&path, text).expect("a file");
            path
        };
        Self {
            labels_csv: file("labels.csv", csv),
            labels_jsonl: file("labels.jsonl", jsonl),
            sanctions: file("sanctions.csv", list),
            policy: file("policy.yaml", policy(chain)),
        }
    }

    /// Imports the labels and the list into a data directory.
    ///
    /// # Panics
    ///
    /// Panics if an import fails.
    pub fn import(&self, directory: &Path) {
        let labels = self.labels_csv.to_string_lossy();
        let sanctions = self.sanctions.to_string_lossy();
        let policy = self.policy.to_string_lossy();
        let arguments: [&[&str]; 3] = [
            &["ingest", "labels", &labels, "--format", "csv", "--source", "investigators"],
            &[
                "ingest",
                "sanctions",
                &sanctions,
                "--format",
                "csv",
                "--source",
                "treasury",
                "--published-on",
                "2026-01-31",
            ],
            &["apply", "--file", &policy],
        ];
        for arguments in arguments {
            let _ = crate::assay(directory, arguments).ok();
        }
    }
}

/// The default policy, with amounts that are the same on every chain: an unsolicited payment of
/// less than a hundredth of a coin does not count, and a small share is not followed.
fn policy(chain: ChainId) -> String {
    let asset = chain.info().native().code;
    format!(
        "apiVersion: assay.dev/v1alpha1\nkind: RiskPolicy\nmetadata: {{name: default}}\nspec:\n  \
         amounts:\n    {asset}:\n      curve: [{{amount: 0.1, score: 25}}, {{amount: 1, score: 50}}]\n      \
         unsolicitedUpTo: 0.01\n      stopTraceBelow: 0.01\n"
    )
}
