//! Our own clients: what they send, wait for and read.

use assay_tests::OwnClients;
use serde_json::{Value, json};

use super::{Api, expected, folder};

/// Answers that our own clients get: those of every client; checks that waited for a limit; a repeated check; a
/// withdrawal that is not sent yet; two addresses at once; an earlier check that is found; rows that were read while
/// others were not sent; and the other operations.
fn expected_of_own() -> Value {
    let mut expected = expected();
    expected["retried"] = json!(true);
    expected["streamed"] = json!([true, true]);
    expected["account"] = json!("sample-enterprise");
    expected["others"] = json!([true, true, true]);
    expected["repeated"] = json!(true);
    expected["withdrawal"] = json!("block");
    expected["many"] = json!(["block", "invalid_address"]);
    expected["found"] = json!(true);
    expected["usage"] = json!(true);
    expected
}

#[test]
#[ignore = "needs API clients"]
fn the_client_in_python_works() {
    let (api, folder) = (Api::start(), folder());
    let program = OwnClients::find().python(&OwnClients::program("own.py"), folder.path());
    assert_eq!(api.told_by(program), expected_of_own());
}

#[test]
#[ignore = "needs API clients"]
fn the_client_in_typescript_works() {
    let (api, folder) = (Api::start(), folder());
    let program = OwnClients::find().typescript(&OwnClients::program("own.ts"), folder.path());
    assert_eq!(api.told_by(program), expected_of_own());
}
