//! Instructions and allocations of a server for each warm check, which Valgrind counts. This program starts itself again,
//! with the server under Valgrind, for two numbers of checks: their difference has nothing of the server's start.

use std::{
    collections::HashMap,
    env, fs, io,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

use assay_tests::Connection;

use super::{installation, request_for};

/// Environment variable that makes this program send checks to a server under Valgrind; its value is their number.
const CHECKS: &str = "ASSAY_BENCH_COUNTED_CHECKS";
/// Environment variable with the path of the program that tests start.
const PROGRAM: &str = "ASSAY_BIN";
/// Numbers of checks.
const RUNS: [u32; 2] = [500, 2_500];
/// Functions that allocate.
const ALLOCATING: [&str; 3] = ["__rust_alloc", "__rust_alloc_zeroed", "__rust_realloc"];

/// Work of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Number of instructions.
    pub(crate) instructions: f64,
    /// Number of allocations.
    pub(crate) allocations: f64,
}

/// Returns the work of a release program for one warm check.
pub(crate) fn of_a_warm_check(program: &Path) -> io::Result<Work> {
    let [fewer, more] = RUNS;
    let (first, second) = (run(program, fewer)?, run(program, more)?);
    let of_each =
        |count: fn(&Work) -> f64| (count(&second) - count(&first)) / f64::from(more - fewer);
    Ok(Work {
        instructions: of_each(|work| work.instructions),
        allocations: of_each(|work| work.allocations),
    })
}

fn run(program: &Path, checks: u32) -> io::Result<Work> {
    let folder = tempfile::tempdir()?;
    let (script, counts) = (folder.path().join("assay"), folder.path().join("counts"));
    fs::write(
        &script,
        format!(
            "#!/bin/sh\nexec valgrind --tool=callgrind --callgrind-out-file={} {} \"$@\"\n",
            counts.join("%p").display(),
            program.display()
        ),
    )?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    fs::create_dir(&counts)?;
    let output = Command::new(env::current_exe()?)
        .env(PROGRAM, &script)
        .env(CHECKS, checks.to_string())
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other("the server under Valgrind failed"));
    }
    let server = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(work(&fs::read_to_string(counts.join(server))?))
}

/// Sends checks to a server under Valgrind and prints its process identifier, if the environment says so. Returns true
/// if it did.
#[expect(clippy::print_stdout, reason = "the program that started this one reads it")]
pub(crate) fn check_if_asked() -> bool {
    let Some(checks) = env::var(CHECKS).ok().and_then(|checks| checks.parse::<u32>().ok()) else {
        return false;
    };
    let (platform, key) = installation();
    let mut server = platform.server(&["--log-format", "json"]);
    let mut connection = Connection::open(server.api);
    let warm = request_for(&key, u64::MAX);
    for _ in 0..checks {
        let status = connection.ask(&warm);
        assert!(status == 200, "status {status}");
    }
    println!("{}", server.process());
    server.signal("TERM");
    let _ = server.wait();
    true
}

/// Reads what Valgrind counted: the totals, and the calls of functions that allocate.
fn work(counts: &str) -> Work {
    let (mut names, mut called) = (HashMap::new(), "");
    let (mut instructions, mut allocations) = (0.0, 0.0);
    for line in counts.lines() {
        if let Some(total) = line.strip_prefix("totals: ") {
            instructions = total.trim().parse().unwrap_or(0.0);
        } else if let Some(function) =
            line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn="))
        {
            // A name follows its number only once.
            let (number, name) = function.split_once(' ').unwrap_or((function, ""));
            if !name.is_empty() {
                names.insert(number, name);
            }
            called = number;
        } else if let Some(calls) = line.strip_prefix("calls=") {
            let name = names.get(called).copied().unwrap_or_default();
            if ALLOCATING.iter().any(|allocating| name.ends_with(allocating)) {
                let count = calls.split(' ').next().and_then(|count| count.parse::<f64>().ok());
                allocations += count.unwrap_or(0.0);
            }
        }
    }
    Work { instructions, allocations }
}
