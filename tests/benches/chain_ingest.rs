//! Speed and memory of ingesting a chain: `cargo bench -p assay-tests --bench chain_ingest`. The
//! benchmark builds and runs the release program. With `ASSAY_FULL` set, it ingests a million
//! transactions instead of two hundred thousand.
//!
//! On PostgreSQL, in turn: our ingest of a file of JSON lines, and `COPY` of the same rows into the
//! same tables, with the same indexes built before and after. The result is the ratio.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use std::{
    fmt::Write,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use assay_tests::{
    Postgres,
    big_chain::{BigChain, Shape},
    is_full, measure, release_program, to_megabytes,
};

/// Blocks: so many that the ingest is a backfill, which builds what reading needs at the end.
const BLOCKS: u64 = 5_200;
const ROUNDS: usize = 3;
const TABLES: [&str; 9] = [
    "graph",
    "block",
    "tx",
    "output",
    "input",
    "holder",
    "cluster_link",
    "cluster_confirmation",
    "undo",
];
const SCHEMA: &str = concat!(
    include_str!("../../crates/graph/migrations/postgres/0001_graph.sql"),
    include_str!("../../crates/graph/migrations/postgres/0002_cluster.sql")
);

fn main() {
    let full = is_full();
    let transactions = if full { 200 } else { 40 };
    let shape = Shape { seed: 1, blocks: BLOCKS, transactions, hub: None };
    let assay = release_program();
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("chain.jsonl");
    let count = BigChain::new(shape).write(&file).expect("a file");
    let size = file.metadata().expect("a file").len();
    println!("{BLOCKS} blocks, {count} transactions, {:.0} MB of JSON lines", to_megabytes(size));

    // Ingests up to a height and says how long that took and what memory it needed.
    let ingest = |directory: &Path, to: u64| {
        let mut command = Command::new(&assay);
        command.env_clear().current_dir(directory).arg("--data-dir").arg(directory);
        command.args(["ingest", "chain", "btc", "--to", &to.to_string(), "--jsonl"]).arg(&file);
        let (status, seconds, peak) = measure(command.stdout(Stdio::null()).stderr(Stdio::null()));
        assert!(status.success(), "the ingest failed");
        (seconds, peak)
    };

    let mut peaks = Vec::new();
    for to in [BLOCKS / 4 - 1, BLOCKS - 1] {
        let directory = tempfile::tempdir().expect("a directory");
        let (seconds, peak) = ingest(directory.path(), to);
        let blocks = u32::try_from(to + 1).map_or(0.0, f64::from);
        println!(
            "SQLite, {blocks} blocks: {seconds:.1} s, {:.0} blocks a second, {:.0} transactions a \
             second, peak memory {:.0} MB",
            blocks / seconds,
            rate(count, seconds) * blocks / u32::try_from(BLOCKS).map_or(0.0, f64::from),
            to_megabytes(peak)
        );
        peaks.push(peak);
    }

    let database = Postgres::start();
    let directory = tempfile::tempdir().expect("a directory");
    database.used_by(directory.path());
    let mut migrate = Command::new(&assay);
    migrate.env_clear().arg("--data-dir").arg(directory.path()).arg("migrate");
    let migrated = migrate.current_dir(directory.path()).stdout(Stdio::null()).status();
    assert!(migrated.expect("it runs").success(), "the database was not made");

    let (mut ours, mut copies) = (Vec::new(), Vec::new());
    let mut script = None;
    for round in 1..=ROUNDS {
        database.script("DROP SCHEMA IF EXISTS chain_btc CASCADE; CHECKPOINT");
        let (seconds, peak) = ingest(directory.path(), BLOCKS - 1);
        ours.push(seconds);
        peaks.push(peak);

        let script = script.get_or_insert_with(|| copy_script(&database, folder.path()));
        database.script("DROP SCHEMA IF EXISTS copied CASCADE; CHECKPOINT");
        let begun = Instant::now();
        database.script(script);
        copies.push(begun.elapsed().as_secs_f64());
        println!(
            "PostgreSQL, round {round}: ingest {seconds:.1} s = {:.0} transactions a second, peak \
             memory {:.0} MB; COPY {:.1} s",
            rate(count, seconds),
            to_megabytes(peak),
            copies.last().copied().unwrap_or(0.0)
        );
    }
    expect_equal(&database);
    let (ours, theirs) = (median(&mut ours), median(&mut copies));
    println!(
        "PostgreSQL: ingest {ours:.1} s, COPY of the same rows {theirs:.1} s: {:.2} of its speed, from \
         JSON to indexes (medians of {ROUNDS}, in turn)",
        theirs / ours
    );
    let peak = peaks.iter().max().copied().unwrap_or(0);
    assert!(peak < 512 << 20, "an ingest took {:.0} MB", to_megabytes(peak));
}

/// A script that copies the rows of the graph that was ingested, in the order in which they were made.
fn copy_script(database: &Postgres, folder: &Path) -> String {
    let at = |table: &str| folder.join(format!("{table}.rows")).display().to_string();
    let mut export = String::new();
    for table in TABLES {
        let _ = writeln!(export, "\\copy chain_btc.{table} TO '{}' (FORMAT binary)", at(table));
    }
    database.script(&export);

    let mut script = format!(
        "CREATE SCHEMA copied; SET search_path TO copied; SET synchronous_commit = off;
         SET maintenance_work_mem = '256MB';\n{SCHEMA}\n"
    );
    // Indexes that are built after the rows are written, because the tables do not begin with them.
    database.script(&script);
    let indexes = database.query(
        "SELECT replace(indexdef, 'chain_btc.', 'copied.') || ';' FROM pg_indexes
         WHERE schemaname = 'chain_btc' AND tablename <> '_sqlx_migrations' AND indexname NOT IN
             (SELECT indexname FROM pg_indexes WHERE schemaname = 'copied')",
    );
    for table in TABLES {
        let _ = writeln!(script, "\\copy {table} FROM '{}' (FORMAT binary)", at(table));
    }
    let _ = writeln!(script, "{indexes}");
    for table in TABLES {
        let _ = writeln!(script, "ANALYZE {table};");
    }
    script
}

/// Checks that both have the same rows.
fn expect_equal(database: &Postgres) {
    for table in TABLES {
        let count =
            |schema: &str| database.query(&format!("SELECT count(*) FROM {schema}.{table}"));
        assert_eq!(count("chain_btc"), count("copied"), "{table}");
    }
    let held = |schema: &str| {
        database.query(&format!("SELECT sum(received - sent), sum(holder_id) FROM {schema}.holder"))
    };
    assert_eq!(held("chain_btc"), held("copied"));
}

fn rate(count: u64, seconds: f64) -> f64 {
    u32::try_from(count).map_or(0.0, f64::from) / seconds
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}
