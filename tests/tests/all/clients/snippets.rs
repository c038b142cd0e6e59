//! The programs of `docs/integrate.md` print the verdict of a check, and those of `docs/cookbook.md` wait for a limit.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use assay_tests::{Generators, OwnClients, run};

use super::{Api, folder};

/// Page with a first check.
pub(super) const FIRST: &str = "integrate.md";
/// Page with checks that wait for a limit.
const WAITING: &str = "cookbook.md";

/// Writes a program of a page into a file of a folder.
pub(super) fn write(page: &str, language: &str, folder: &Path) -> PathBuf {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let page = fs::read_to_string(docs.join(page)).unwrap();
    let mark = format!("<!-- tested: {language} -->\n\n```");
    let (_, rest) = page.split_once(&mark).unwrap_or_else(|| panic!("no program in {language}"));
    let (_, program) = rest.split_once('\n').unwrap();
    let (program, _) = program.split_once("```").unwrap();
    let extension = match language {
        "curl" => "sh",
        "python" => "py",
        "typescript" => "ts",
        other => other,
    };
    let file = folder.join("example").with_extension(extension);
    // The module of the page is that of the tests, which pins versions.
    fs::write(&file, program.replace("example.com/shop", "assay.test/clients")).unwrap();
    file
}

/// Output of a program that finds the API by its environment.
fn output(api: &Api, key: &str, program: &mut Command) -> String {
    run(program.env("ASSAY_URL", api.url()).env("ASSAY_KEY", key)).stdout
}

fn go(api: &Api, page: &str, folder: &Path) -> Command {
    let description = api.description("openapi.json", folder);
    let module = folder.join("module");
    fs::create_dir(&module).unwrap();
    Generators::find().go(&description, &write(page, "go", folder), &module)
}

/// Expects the answer of a program that checks a listed address.
fn expect_answer(api: &Api, mut program: Command) -> String {
    let output = output(api, &api.sandbox_key(), &mut program);
    assert!(output.starts_with("block 100"), "{output}");
    assert!(output.contains("listed on Sandbox Sanctions List"), "{output}");
    output
}

/// Expects that a program under a limit of one request a second has its three checks answered, by the default policy.
fn expect_waiting(api: &Api, mut program: Command) {
    let output = output(api, &api.new_key("quick"), &mut program);
    assert_eq!(output, "review 74.9\n".repeat(3));
}

#[test]
fn the_commands_of_curl_print_verdicts() {
    let (api, folder) = (Api::start(), folder());
    let bash = |page: &str| {
        let mut bash = Command::new("bash");
        bash.arg(write(page, "curl", folder.path())).current_dir(folder.path());
        bash
    };
    expect_answer(&api, bash(FIRST));
    expect_waiting(&api, bash(WAITING));
}

#[test]
#[ignore = "needs API clients"]
fn the_programs_in_python_print_verdicts() {
    let (api, clients) = (Api::start(), OwnClients::find());
    let (first, waiting) = (folder(), folder());
    let python = |page: &str, folder: &Path| clients.python(&write(page, "python", folder), folder);
    let output = expect_answer(&api, python(FIRST, first.path()));
    assert!(output.contains("hold the deposit"), "{output}");
    expect_waiting(&api, python(WAITING, waiting.path()));
}

#[test]
#[ignore = "needs API clients"]
fn the_programs_in_typescript_print_verdicts() {
    let (api, clients) = (Api::start(), OwnClients::find());
    let (first, waiting) = (folder(), folder());
    let typescript =
        |page: &str, folder: &Path| clients.typescript(&write(page, "typescript", folder), folder);
    let output = expect_answer(&api, typescript(FIRST, first.path()));
    assert!(output.contains("hold the deposit"), "{output}");
    expect_waiting(&api, typescript(WAITING, waiting.path()));
}

#[test]
#[ignore = "needs API clients"]
fn the_programs_in_go_print_verdicts() {
    let (api, first, waiting) = (Api::start(), folder(), folder());
    let output = expect_answer(&api, go(&api, FIRST, first.path()));
    assert!(output.contains("hold the deposit"), "{output}");
    expect_waiting(&api, go(&api, WAITING, waiting.path()));
}
