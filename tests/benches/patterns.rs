//! Speed of pattern counts beside Snap ML's graph feature preprocessor, a library in C++:
//! `cargo bench -p assay-tests --bench patterns`. It needs Python 3.11 and installs `snapml` from the usual package
//! index into `ASSAY_CACHE` (default `~/.cache/assay`), once.
//!
//! Both count, for each of 200,000 transfers among 20,000 owners, the fans, degrees and cycles that it is in, by size:
//! once for all transfers in one batch, and once in batches of 2,048, as a stream of them would be counted. Rounds of
//! both take turns, each on one thread. A time is CPU time from the list of transfers to the table of counts: building
//! the graph is part of it, starting Python and reading the file are not. Printed: for each pattern the sums of all
//! counts and the number of cells that differ, then the median times and their ratio.
//!
//! The definitions agree as follows.
//!
//! - A pattern ends with its last transfer and is counted for all its transfers in the batch of the last one.
//! - Fan and degree: Snap ML's window of length `w` holds the times above `t - w`, ours those from `t - w` on. Times
//!   are whole seconds here, so that its `w` is ours plus 1 second.
//! - Cycle: both windows hold the times from `t - w` on, and times strictly increase. Cycles over the same owners that
//!   end with the same transfer are one. There is no limit of length.
//! - Transfers at the same time may be told apart by us, by their positions, and are not by Snap ML: there are none
//!   here.
//! - Sizes: the last range has no end in both. Ranges before it hold one size each, because Snap ML's ranges end with
//!   the size that its documentation says they begin with.
//! - Scatter-gather is not compared. Snap ML counts it also if an intermediary pays before it is paid; ours must pay
//!   later, as money that passes on does.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a program for people at a terminal"
)]

use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use assay_engine::{
    patterns::transfers::{
        Transfer, TransferGraph,
        counts::{CountRules, PatternCounts, Sizes, count_patterns},
    },
    reading::{OwnerNumber, TransactionNumber},
};
use assay_tests::{Figures, cpu_time};
use jiff::Timestamp;

const SNAPML: &str = "1.17.2";
const TRANSFERS: u64 = 200_000;
const OWNERS: u64 = 20_000;
/// Cycles that are planted, and as many scatter-gathers.
const PLANTED: u64 = 1_000;
/// Mean seconds between transfers: all of them take 28 days.
const SPACING: u64 = 12;
const BATCH: u32 = 2_048;
const FAN_WITHIN: u64 = 24 * 60 * 60;
const CYCLE_WITHIN: u64 = 24 * 60 * 60;
const FAN_SIZES: [u32; 15] = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const CYCLE_SIZES: [u32; 6] = [2, 3, 4, 5, 6, 7];
const ROUNDS: usize = 3;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let transfers = transfers(1);
    let file = folder.path().join("transfers");
    fs::write(&file, as_numbers(&transfers)).expect("a file of transfers");
    let mut snapml = SnapMl::start(&installed(), folder.path());
    for batch in [0, BATCH] {
        println!(
            "{}",
            if batch == 0 { "One batch".to_owned() } else { format!("Batches of {batch}") }
        );
        let all = Patterns { fans: true, cycles: true };
        compare(&count(&transfers, all, batch), &rules(all, batch), &snapml.counts(all, batch));
        for patterns in [Patterns { cycles: false, ..all }, Patterns { fans: false, ..all }, all] {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let begun = cpu_time();
                let counts = count(&transfers, patterns, batch);
                ours.push(cpu_time().saturating_sub(begun));
                drop(counts);
                theirs.push(snapml.time(patterns, batch));
            }
            let ours = Figures::of_times(ours).part(50);
            let theirs = Figures::of_times(theirs).part(50);
            println!(
                "  {}: {ours:.0} ms, Snap ML {theirs:.0} ms: {:.1} times as much",
                patterns.title(),
                theirs / ours
            );
        }
    }
}

/// What is counted.
#[derive(Clone, Copy)]
struct Patterns {
    /// Fans and degrees.
    fans: bool,
    cycles: bool,
}

impl Patterns {
    const fn title(self) -> &'static str {
        match (self.fans, self.cycles) {
            (true, true) => "fans, degrees and cycles",
            (true, false) => "fans and degrees",
            (false, _) => "cycles",
        }
    }
}

fn rules(patterns: Patterns, batch: u32) -> CountRules {
    let sizes = |is_counted, sizes: &[u32]| {
        Sizes::new(if is_counted { sizes.to_vec() } else { Vec::new() })
    };
    CountRules {
        fan_within: Duration::from_secs(FAN_WITHIN - 1),
        fan_sizes: sizes(patterns.fans, &FAN_SIZES),
        cycle_within: Duration::from_secs(CYCLE_WITHIN),
        cycle_sizes: sizes(patterns.cycles, &CYCLE_SIZES),
        longest: if patterns.cycles { u8::MAX } else { 0 },
        batch,
    }
}

fn count(transfers: &[Transfer], patterns: Patterns, batch: u32) -> PatternCounts {
    count_patterns(&TransferGraph::new(transfers.to_vec()), &rules(patterns, batch))
}

/// Prints sums of both and the cells that differ, for each pattern, and stops at a difference.
fn compare(ours: &PatternCounts, rules: &CountRules, theirs: &[u32]) {
    let columns = rules.columns();
    assert_eq!(ours.cells().len(), theirs.len(), "tables have the same size");
    for pattern in ["fan_in", "fan_out", "degree_in", "degree_out", "cycle"] {
        let (mut sums, mut differing) = ([0_u64; 2], 0);
        let rows = ours.cells().chunks(columns.len()).zip(theirs.chunks(columns.len()));
        for (our_row, their_row) in rows {
            for ((column, one), other) in columns.iter().zip(our_row).zip(their_row) {
                if column.rsplit_once('_').is_some_and(|(name, _)| name == pattern) {
                    sums = [sums[0] + u64::from(*one), sums[1] + u64::from(*other)];
                    differing += u64::from(one != other);
                }
            }
        }
        let [one, other] = sums;
        println!("  {pattern}: {one} and {other} in all, {differing} cells differ");
        assert_eq!(differing, 0, "counts are equal");
    }
}

/// Transfers with payers and payees of very different activity, planted cycles and scatter-gathers among them. All
/// times are distinct.
fn transfers(seed: u64) -> Vec<Transfer> {
    let mut numbers = Numbers(seed);
    // Slot of time, payer, payee.
    let mut rows: Vec<(u64, u64, u64)> = Vec::new();
    for nth in 0..PLANTED {
        let spread = CYCLE_WITHIN / SPACING / 8;
        let start = numbers.below(TRANSFERS - 8 * spread);
        let members = numbers.distinct(3 + nth % 5);
        let mut slot = start;
        if nth % 2 == 0 {
            for (index, payer) in members.iter().enumerate() {
                slot += 1 + numbers.below(spread);
                let payee = members.get(index + 1).or(members.first()).expect("a member");
                rows.push((slot, *payer, *payee));
            }
        } else if let [payer, payee, intermediaries @ ..] = members.as_slice() {
            for intermediary in intermediaries {
                slot += 1 + numbers.below(spread);
                rows.push((slot, *payer, *intermediary));
                rows.push((slot + 1 + numbers.below(spread), *intermediary, *payee));
            }
        }
    }
    while (rows.len() as u64) < TRANSFERS {
        let row = (numbers.below(TRANSFERS), numbers.owner(), numbers.owner());
        if row.1 != row.2 {
            rows.push(row);
        }
    }
    rows.sort_unstable();
    let transfer = |(position, (_, payer, payee)): (u64, (u64, u64, u64))| {
        let seconds = position * SPACING + numbers.below(SPACING);
        Transfer {
            transaction: TransactionNumber(position),
            position,
            time: Timestamp::from_second(seconds.cast_signed()).expect("a time"),
            payer: OwnerNumber(payer),
            payee: OwnerNumber(payee),
            amount: 1,
        }
    };
    (0..).zip(rows).map(transfer).collect()
}

/// The rows of a preprocessor: number, payer, payee, seconds, as little-endian floating point numbers.
fn as_numbers(transfers: &[Transfer]) -> Vec<u8> {
    let row = |transfer: &Transfer| {
        let seconds = transfer.time.as_second().cast_unsigned();
        [transfer.position, transfer.payer.0, transfer.payee.0, seconds]
    };
    let numbers = transfers.iter().flat_map(row);
    numbers.flat_map(|number| (number as f64).to_le_bytes()).collect()
}

/// Numbers that look random, from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// An owner: the most active one pays about 600 transfers, most pay fewer than 10.
    fn owner(&mut self) -> u64 {
        let [one, two, three] = [(); 3].map(|()| self.below(OWNERS));
        one * two / OWNERS * three / OWNERS
    }

    fn distinct(&mut self, count: u64) -> Vec<u64> {
        let mut owners = Vec::new();
        while (owners.len() as u64) < count {
            let owner = self.below(OWNERS);
            if !owners.contains(&owner) {
                owners.push(owner);
            }
        }
        owners
    }
}

/// The program that counts with Snap ML. Each line of its input asks for one round.
const PROGRAM: &str = r#"
import sys, time
from pathlib import Path
import numpy as np
from snapml import GraphFeaturePreprocessor

folder = Path(sys.argv[1])
transfers = np.fromfile(folder / "transfers", dtype="<f8").reshape(-1, 4)
fan_within, cycle_within = int(sys.argv[2]), int(sys.argv[3])
fan_sizes, cycle_sizes = ([int(size) for size in sizes.split(",")] for sizes in sys.argv[4:6])
print("ready", flush=True)
for line in sys.stdin:
    fans, cycles, batch, file = line.split()
    parameters = {"num_threads": 1, "vertex_stats": False, "scatter-gather": False, "lc-cycle": False}
    parameters |= {"fan": fans == "1", "degree": fans == "1", "temp-cycle": cycles == "1"}
    parameters |= {"fan_tw": fan_within, "degree_tw": fan_within, "temp-cycle_tw": cycle_within}
    parameters |= {"fan_bins": fan_sizes, "degree_bins": fan_sizes, "temp-cycle_bins": cycle_sizes}
    # Transfers that no window holds any more are removed: without, batches take several times as long.
    parameters["time_window"] = cycle_within if cycles == "1" else fan_within
    preprocessor = GraphFeaturePreprocessor()
    preprocessor.set_params(parameters)
    rows = int(batch) or len(transfers)
    parts = [transfers[start:start + rows] for start in range(0, len(transfers), rows)]
    begun = time.process_time()
    counted = [preprocessor.transform(part) for part in parts]
    spent = time.process_time() - begun
    if file != "-":
        np.vstack(counted)[:, 4:].astype("<u4").tofile(folder / file)
    print(spent, flush=True)
"#;

/// A running program.
struct SnapMl {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    folder: PathBuf,
}

impl SnapMl {
    fn start(python: &Path, folder: &Path) -> Self {
        let list = |sizes: &[u32]| sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let mut child = Command::new(python)
            .args(["-c", PROGRAM])
            .arg(folder)
            .args([FAN_WITHIN.to_string(), CYCLE_WITHIN.to_string()])
            .args([list(&FAN_SIZES), list(&CYCLE_SIZES)])
            .env("OMP_NUM_THREADS", "1")
            .env("OPENBLAS_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let requests = child.stdin.take().expect("its input");
        let answers = BufReader::new(child.stdout.take().expect("its output"));
        let mut started = Self { child, requests, answers, folder: folder.to_owned() };
        assert_eq!(started.line(), "ready");
        started
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        line.trim().to_owned()
    }

    fn run(&mut self, patterns: Patterns, batch: u32, file: &str) -> Duration {
        let (fans, cycles) = (u8::from(patterns.fans), u8::from(patterns.cycles));
        writeln!(self.requests, "{fans} {cycles} {batch} {file}").expect("a request");
        Duration::from_secs_f64(self.line().parse().expect("seconds"))
    }

    fn time(&mut self, patterns: Patterns, batch: u32) -> Duration {
        self.run(patterns, batch, "-")
    }

    fn counts(&mut self, patterns: Patterns, batch: u32) -> Vec<u32> {
        self.run(patterns, batch, "counts");
        let bytes = fs::read(self.folder.join("counts")).expect("counts");
        let (cells, _) = bytes.as_chunks::<4>();
        cells.iter().map(|cell| u32::from_le_bytes(*cell)).collect()
    }
}

impl Drop for SnapMl {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Python with Snap ML, from the cache; it is installed if it is not there.
fn installed() -> PathBuf {
    let set = |variable: &str| env::var_os(variable).map(PathBuf::from);
    let cache = set("ASSAY_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("assay")))
        .or_else(|| Some(set("HOME")?.join(".cache/assay")))
        .expect("ASSAY_CACHE or HOME is set");
    let folder = cache.join(format!("snapml-{SNAPML}"));
    let python = folder.join("environment/bin/python");
    if folder.join("complete").is_file() {
        return python;
    }
    fs::create_dir_all(&folder).expect("a folder of the cache");
    let run = |command: &mut Command| {
        let status = command.status().expect("a program that starts");
        assert!(status.success(), "{command:?} fails: {status}");
    };
    run(Command::new("python3.11").args(["-m", "venv", "--clear"]).arg(folder.join("environment")));
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
    run(Command::new(&python).args(install).arg(format!("snapml=={SNAPML}")));
    fs::write(folder.join("complete"), "").expect("a mark");
    python
}
