//! `crds/manifests`, and the chart's copy of it, are what the types say. `UPDATE_GENERATED=1` writes them.

use std::{env, fs, path::PathBuf};

use assay_crds::definitions;

/// Where the definitions are; Helm wants them in a folder of its own.
const FOLDERS: [&str; 2] = ["manifests", "../charts/assay/crds"];

#[test]
fn the_manifests_are_what_the_types_say() {
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
