//! The chart's copies of other files are equal to them. `UPDATE_GENERATED=1` writes them.

use std::{env, fs};

use crate::{file, rendered::documents, text, values::documented};

/// Compares a file with its expected contents, or writes it.
fn expect(name: &str, wanted: &str) {
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(file(name), wanted).unwrap();
    }
    assert!(text(name) == wanted, "{name} is out of date: run `just generate`");
}

#[test]
fn the_files_of_others() {
    expect("charts/assay/files/rights.yaml", &text("operator/rights.yaml"));
    for name in ["plans", "policy", "feeds"] {
        let wanted = text(&format!("crates/service/manifests/{name}.yaml"));
        expect(&format!("charts/assay/files/{name}.yaml"), &wanted);
    }
}

#[test]
fn the_table_of_values() {
    let (name, begin, end) =
        ("charts/assay/README.md", "<!-- generated: values -->", "<!-- end: values -->");
    let rows = documented()
        .into_iter()
        .map(|value| format!("| `{}` | `{}` | {} |\n", value.path, value.default, value.meaning));
    let table: String = ["| value | default | meaning |\n|---|---|---|\n".to_owned()]
        .into_iter()
        .chain(rows)
        .collect();
    let text = text(name);
    let (before, rest) = text.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    expect(name, &format!("{before}{begin}\n\n{table}\n{end}{after}"));
}

#[test]
fn the_version_of_chart_and_programs_is_one() {
    let chart = &documents(&text("charts/assay/Chart.yaml"))[0];
    for name in ["version", "appVersion"] {
        assert_eq!(chart[name], env!("CARGO_PKG_VERSION"), "{name}");
    }
}
