//! Linters find nothing in the descriptions of the API, and clients that generators make of them work.

use assay_tests::{Generators, OwnClients};

use super::{Api, expected, folder};

const VERSIONS: [&str; 2] = ["openapi.json", "openapi-3.0.json"];

#[test]
#[ignore = "needs API clients"]
fn linters_find_nothing_in_the_descriptions() {
    let (api, generators, folder) = (Api::start(), Generators::find(), folder());
    for version in VERSIONS {
        let description = api.description(version, folder.path());
        assert_eq!(generators.spectral(&description), "", "{version}");
        assert_eq!(generators.redocly(&description), "", "{version}");
    }
}

#[test]
#[ignore = "needs API clients"]
fn a_client_in_python_works() {
    let (api, generators) = (Api::start(), Generators::find());
    // Of version 3.0, this generator misreads `nullable` beside a reference.
    let folder = folder();
    let description = api.description("openapi.json", folder.path());
    let program = generators.python(&description, folder.path());
    assert_eq!(api.told_by(program), expected());
}

#[test]
#[ignore = "needs API clients"]
fn a_client_in_typescript_works() {
    let (api, generators) = (Api::start(), Generators::find());
    for version in VERSIONS {
        let folder = folder();
        let description = api.description(version, folder.path());
        let program = generators.typescript(&description, folder.path());
        assert_eq!(api.told_by(program), expected(), "{version}");
    }
}

#[test]
#[ignore = "needs API clients"]
fn a_client_in_go_works() {
    let (api, generators) = (Api::start(), Generators::find());
    for version in VERSIONS {
        let folder = folder();
        let description = api.description(version, folder.path());
        let program =
            generators.go(&description, &OwnClients::program("generated.go"), folder.path());
        assert_eq!(api.told_by(program), expected(), "{version}");
    }
}
