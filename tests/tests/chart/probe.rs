//! The command of the pod of `helm test`.

use assay_tests::{assay, sample};

#[test]
fn a_probe_exits_0_if_the_server_is_ready_and_names_the_cause_otherwise() {
    let (server, _, _) = sample();
    let directory = tempfile::tempdir().unwrap();
    let probe =
        |path: &str| assay(directory.path(), ["probe", &format!("http://{}{path}", server.admin)]);
    assert!(probe("/readyz").ok().stdout.contains("responds 200"));
    let refused = probe("/nothing");
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("404"), "{}", refused.stderr);
    let nobody = assay(directory.path(), ["probe", "http://127.0.0.1:1/readyz"]);
    assert_eq!(nobody.code, 1);
    assert!(nobody.stderr.contains("http://127.0.0.1:1/readyz"), "{}", nobody.stderr);
}
