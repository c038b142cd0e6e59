//! The programs of `docs/integrate.md` print the verdict of a check.

use std::{fs, path::Path, process::Command};

use assay_tests::{Generators, OwnClients, run};

use super::{Api, folder};

/// Writes a program of the page into a file.
fn write(language: &str, file: &Path) {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/integrate.md"));
    let page = page.unwrap();
    let mark = format!("<!-- tested: {language} -->\n\n```");
    let (_, rest) = page.split_once(&mark).unwrap_or_else(|| panic!("no program in {language}"));
    let (_, program) = rest.split_once('\n').unwrap();
    let (program, _) = program.split_once("```").unwrap();
    // The module of the page is that of the tests, which pins versions.
    fs::write(file, program.replace("example.com/shop", "assay.test/clients")).unwrap();
}

/// Output of a program that finds the API by its environment.
fn output(api: &Api, program: &mut Command) -> String {
    run(program.env("ASSAY_URL", api.url()).env("ASSAY_KEY", &api.key)).stdout
}

fn is_answer(output: &str) {
    assert!(output.starts_with("block 100"), "{output}");
    assert!(output.contains("listed on Sample Sanctions List"), "{output}");
}

#[test]
fn the_command_of_curl_prints_the_verdict() {
    let (api, folder) = (Api::start(), folder());
    let file = folder.path().join("program.sh");
    write("curl", &file);
    is_answer(&output(&api, Command::new("bash").arg(file)));
}

#[test]
#[ignore = "needs API clients"]
fn the_program_in_python_prints_the_verdict() {
    let (api, folder) = (Api::start(), folder());
    let file = folder.path().join("example.py");
    write("python", &file);
    let output = output(&api, &mut OwnClients::find().python(&file, folder.path()));
    is_answer(&output);
    assert!(output.contains("hold the deposit"), "{output}");
}

#[test]
#[ignore = "needs API clients"]
fn the_program_in_typescript_prints_the_verdict() {
    let (api, folder) = (Api::start(), folder());
    let file = folder.path().join("example.ts");
    write("typescript", &file);
    let output = output(&api, &mut OwnClients::find().typescript(&file, folder.path()));
    is_answer(&output);
    assert!(output.contains("hold the deposit"), "{output}");
}

#[test]
#[ignore = "needs API clients"]
fn the_program_in_go_prints_the_verdict() {
    let (api, folder) = (Api::start(), folder());
    let file = folder.path().join("example.go");
    write("go", &file);
    let description = api.description("openapi.json", folder.path());
    let module = folder.path().join("module");
    fs::create_dir(&module).unwrap();
    let output = output(&api, &mut Generators::find().go(&description, &file, &module));
    is_answer(&output);
    assert!(output.contains("hold the deposit"), "{output}");
}
