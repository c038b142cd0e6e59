//! Time and memory of importing OFAC's whole list: `cargo bench -p assay-tests --bench import`. The
//! benchmark builds and runs the release program.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::process::{Command, Stdio};

use assay_tests::{TestData, measure, release_program, to_megabytes};

const LISTS: [&str; 2] = ["2024-09-26", "2025-05-29"];
const RUNS: usize = 5;

fn main() {
    let data = TestData::find();
    let assay = release_program();
    for day in LISTS {
        let list = data.ofac(day);
        let mut runs: Vec<(f64, u64)> = Vec::new();
        for _ in 0..RUNS {
            let directory = tempfile::tempdir().expect("a directory");
            let mut import = Command::new(&assay);
            import
                .arg("--data-dir")
                .arg(directory.path())
                .args(["ingest", "sanctions", "--format", "ofac-advanced"])
                .arg(&list)
                .stdout(Stdio::null());
            let (status, seconds, peak) = measure(&mut import);
            assert!(status.success(), "the import failed");
            runs.push((seconds, peak));
        }
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (Some(fastest), Some(slowest)) = (runs.first(), runs.last()) else { continue };
        let median = runs.get(RUNS / 2).map_or(0.0, |run| run.0);
        let peak = runs.iter().map(|run| run.1).max().unwrap_or(0);
        println!(
            "OFAC SDN Advanced {day} (bzip2): {median:.2} s (median of {RUNS}, {:.2} to {:.2}), peak \
             memory {:.1} MB",
            fastest.0,
            slowest.0,
            to_megabytes(peak)
        );
    }
}
