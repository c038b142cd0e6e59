//! `crds/manifests` and the chart's copy of it equal the definitions. `UPDATE_GENERATED=1` writes them.

use std::{env, fs, path::PathBuf};

use assay_crds::definitions;

/// The folders with the definitions: Helm requires a copy inside the chart.
const FOLDERS: [&str; 2] = ["manifests", "../charts/assay/crds"];

#[test]
fn manifests_equal_the_definitions() {
    let mut expected: Vec<(String, String)> = definitions::all()
        .iter()
        .map(|definition| {
            let text = serde_saphyr::to_string(&definitions::content(definition)).unwrap();
            (format!("{}.yaml", definition.spec.names.plural), text)
        })
        .collect();
    expected.sort();
    for folder in FOLDERS {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder);
        if env::var_os("UPDATE_GENERATED").is_some() {
            fs::create_dir_all(&path).unwrap();
            for (name, text) in &expected {
                fs::write(path.join(name), text).unwrap();
            }
        }
        let mut found: Vec<(String, String)> = fs::read_dir(&path)
            .unwrap()
            .map(|file| file.unwrap().path())
            .map(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, fs::read_to_string(path).unwrap())
            })
            .collect();
        found.sort();
        assert!(found == expected, "crds/{folder} is out of date: run `just generate`");
    }
}
