//! `crds/manifests` is what the types say. `UPDATE_GENERATED=1` writes it.

use std::{env, fs, path::PathBuf};

use assay_crds::definitions;

#[test]
fn the_manifests_are_what_the_types_say() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("manifests");
    let mut expected: Vec<(String, String)> = definitions::all()
        .iter()
        .map(|definition| {
            let text = serde_saphyr::to_string(&definitions::content(definition)).unwrap();
            (format!("{}.yaml", definition.spec.names.plural), text)
        })
        .collect();
    expected.sort();
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in &expected {
            fs::write(folder.join(name), text).unwrap();
        }
    }
    let mut found: Vec<(String, String)> = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    found.sort();
    assert!(found == expected, "crds/manifests is out of date: run `just generate`");
}
