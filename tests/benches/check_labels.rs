//! Processor time of `assay check` with few and many labels, read from their index, beside reading all labels from the
//! store: `cargo bench -p assay-tests --bench check_labels`. Builds and runs the release program.
//!
//! The largest set is a real one, the others are generated.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::Path,
    process::{Command, Stdio},
};

use assay_tests::{TestData, release_program};

/// Numbers of generated labels.
const GENERATED: [u64; 2] = [1, 50_000];
/// Checks with the index, and as many of labels that are read, in turn.
const ROUNDS: u32 = 10;
const INDEX: &str = "labels.index";

fn main() {
    let (data, assay) = (TestData::find(), release_program());
    for number in GENERATED {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("generated.csv");
        generate_labels(&file, number).expect("a file");
        ingest(&assay, directory.path(), &file, "csv");
        measure(&assay, directory.path(), &format!("labels: {number}"));
    }
    let directory = tempfile::tempdir().expect("a directory");
    ingest(&assay, directory.path(), &data.path("labels/graphsense-tagpacks"), "tagpack");
    measure(&assay, directory.path(), "labels: those of the tag packs");
}

fn ingest(assay: &Path, directory: &Path, labels: &Path, format: &str) {
    let labels = labels.display().to_string();
    run(assay, directory, &["ingest", "labels", &labels, "--format", format, "--source", "labels"]);
}

/// Runs a command, and returns its processor time in milliseconds.
fn run(assay: &Path, directory: &Path, arguments: &[&str]) -> f64 {
    let before = processor_time_of_children();
    let mut command = Command::new(assay);
    command.arg("--data-dir").arg(directory).args(arguments).stdout(Stdio::null());
    let status = command.status().expect("the program runs");
    assert!(status.success(), "{arguments:?} failed");
    processor_time_of_children() - before
}

/// Processor time in milliseconds of all programs that this one has waited for, to a hundredth of a second.
fn processor_time_of_children() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("stat");
    // Fields 16 and 17, behind the name, which may hold spaces.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(13);
    fields.take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() * 10.0
}

fn measure(assay: &Path, directory: &Path, what: &str) {
    let check = ["check", "btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"];
    let (index, kept) = (directory.join(INDEX), directory.join("kept.index"));
    let first = run(assay, directory, &check);
    let (mut indexed, mut read) = (0.0, 0.0);
    for _ in 0..ROUNDS {
        indexed += run(assay, directory, &check);
        // A folder of this name keeps the index in memory.
        let has_index = fs::rename(&index, &kept).is_ok();
        fs::create_dir(&index).expect("a folder");
        read += run(assay, directory, &check);
        fs::remove_dir(&index).expect("an empty folder");
        if has_index {
            fs::rename(&kept, &index).expect("the index");
        }
    }
    let (indexed, read) = (indexed / f64::from(ROUNDS), read / f64::from(ROUNDS));
    println!(
        "{what}: {indexed:.0} ms of processor time a check from the index, {read:.0} ms reading all labels, \
         {first:.0} ms the first check ({ROUNDS} checks each)"
    );
}

fn generate_labels(path: &Path, number: u64) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "blockchain,address,category,entity,tier,confidence")?;
    for label in 0..number {
        writeln!(file, "eth,0x{label:040x},exchange,Entity {},community,60", label % 2_000)?;
    }
    file.flush()
}
