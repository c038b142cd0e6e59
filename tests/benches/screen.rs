//! Memory of half a million labels, and time of screening a million rows: `cargo bench -p assay-tests --bench screen`.
//! Builds and runs the release program.
//!
//! The labels are real ones and generated ones. Of the rows, every tenth is labelled and every twentieth invalid.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
    process::{Command, Stdio},
};

use assay_address::{CanonicalAddress, ChainId, Payload};
use assay_tests::{TestData, measure, release_program, to_megabytes};
use sha2::{Digest, Sha256};

const LABELS: u64 = 500_000;
/// Number of addresses in the real label sets.
const REAL: u64 = 277_699;
const CATEGORIES: [&str; 4] = ["exchange", "scam", "mixer", "gambling"];
const ROWS: [u64; 3] = [10_000, 100_000, 1_000_000];

fn main() {
    let data = TestData::find();
    let assay = release_program();
    let directory = tempfile::tempdir().expect("a directory");
    let run = |what: &str, arguments: &[&str]| {
        let mut command = Command::new(&assay);
        command.arg("--data-dir").arg(directory.path()).args(arguments).stdout(Stdio::null());
        let (status, seconds, peak) = measure(&mut command);
        assert!(status.success(), "{what} failed");
        println!("{what}: {seconds:.2} s, peak memory {:.1} MB", to_megabytes(peak));
        seconds
    };
    let file = |name: &str| directory.path().join(name).display().to_string();
    let own = file("generated.csv");
    generate_labels(Path::new(&own)).expect("a file");
    for (location, format, source) in [
        (data.path("labels/graphsense-tagpacks").display().to_string(), "tagpack", "tagpacks"),
        (data.path("labels/etherscan").display().to_string(), "explorer", "explorers"),
        (own, "csv", "generated"),
    ] {
        let arguments = ["ingest", "labels", &location, "--format", format, "--source", source];
        run(&format!("importing {source}"), &arguments);
    }
    let check = ["check", "btc", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"];
    run(&format!("loading {LABELS} labels, one check"), &check);
    for rows in ROWS {
        let (input, output) = (file("rows.csv"), file("screened.csv"));
        generate_rows(Path::new(&input), rows).expect("a file");
        let seconds = run(&format!("screening {rows} rows"), &["screen", &input, "-o", &output]);
        let rows = u32::try_from(rows).map_or(0.0, f64::from);
        println!("  {:.0} rows a second, loading included", rows / seconds);
    }
}

/// An address that follows from a number.
fn address(number: u64) -> CanonicalAddress {
    let digest = Sha256::digest(number.to_be_bytes());
    let mut hash = [0; 20];
    hash.iter_mut().zip(digest).for_each(|(byte, digested)| *byte = digested);
    let (chain, payload) = match number % 3 {
        0 => (ChainId::BTC, Payload::PublicKeyHash(hash)),
        1 => (ChainId::ETH, Payload::Account(hash)),
        _ => (ChainId::TRX, Payload::Account(hash)),
    };
    CanonicalAddress::from_payload(chain, payload).expect("the chain has this form")
}

fn generate_labels(path: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "blockchain,address,category,entity,tier,confidence")?;
    for number in 0..LABELS - REAL {
        let category = CATEGORIES
            .iter()
            .cycle()
            .nth(usize::try_from(number % 4).unwrap_or(0))
            .unwrap_or(&"scam");
        let address = address(number);
        let entity = number % 2000;
        writeln!(file, "{},{address},{category},Entity {entity},community,60", address.chain())?;
    }
    file.flush()
}

fn generate_rows(path: &Path, rows: u64) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "id,blockchain,address")?;
    for row in 0..rows {
        let address = address(if row % 10 == 0 { row % 200_000 } else { 1_000_000_000 + row });
        let wrong = if row % 20 == 7 { "x" } else { "" };
        writeln!(file, "{row},{},{address}{wrong}", address.chain())?;
    }
    file.flush()
}
