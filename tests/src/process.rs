//! Running the `assay` program.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};

use crate::holds_within;

/// The `assay` program that was built with the tests.
///
/// # Panics
///
/// Panics if the program was not built.
#[must_use]
pub fn binary() -> PathBuf {
    if let Some(path) = env::var_os("ASSAY_BIN") {
        return path.into();
    }
    built_program("assay")
}

/// A program that was built with the tests.
pub(crate) fn built_program(name: &str) -> PathBuf {
    let test = env::current_exe().expect("the test's own path");
    let built = test.ancestors().nth(2).expect("target folder").join(name);
    let command = "cargo build --bins --package assay-cli --package assay-operator";
    assert!(built.is_file(), "{} is not there: run `{command}`", built.display());
    built
}

/// Sends a program a signal, such as `TERM`.
pub(crate) fn signal(program: &Child, name: &str) {
    // The shell's own: a system need not have it as a program.
    let kill = format!("kill -{name} {}", program.id());
    let sent = Command::new("sh").args(["-c", &kill]).status();
    assert!(sent.expect("sh runs").success());
}

/// Result of a run of the program.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Finished {
    /// The run, if its exit code is 0.
    ///
    /// # Panics
    ///
    /// Panics if the exit code is not 0.
    #[must_use]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Standard output, parsed as JSON.
    ///
    /// # Panics
    ///
    /// Panics if the output is not JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs `assay` with the data directory `directory`, without settings of this environment.
///
/// # Panics
///
/// Panics if the program cannot be run.
pub fn assay<A: AsRef<OsStr>>(
    directory: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Finished {
    command(directory, arguments).output().expect("assay runs").into()
}

/// Starts `assay` as [`assay()`] runs it, and does not wait. Its output is discarded.
///
/// # Panics
///
/// Panics if the program cannot be run.
pub fn start_assay<A: AsRef<OsStr>>(
    directory: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Child {
    let mut command = command(directory, arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("assay runs")
}

/// Runs `assay` as [`assay()`] does, and measures its memory; its output is discarded.
///
/// # Panics
///
/// Panics if the program cannot be run.
pub fn measure_assay<A: AsRef<OsStr>>(
    directory: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> (ExitStatus, f64, u64) {
    measure(command(directory, arguments).stdout(Stdio::null()).stderr(Stdio::null()))
}

pub(crate) fn command<A: AsRef<OsStr>>(
    directory: &Path,
    arguments: impl IntoIterator<Item = A>,
) -> Command {
    let mut command = Command::new(binary());
    command
        .env_clear()
        .env("ASSAY_DATA_DIR", directory)
        // Servers of lists in tests are on this machine.
        .env("ASSAY_SOURCE_NETWORKS", "127.0.0.0/8")
        .current_dir(directory)
        .args(arguments)
        .stdin(Stdio::null());
    command
}

/// Runs a command and measures its memory: exit status, seconds, peak resident bytes.
///
/// # Panics
///
/// Panics if the command cannot be run.
pub fn measure(command: &mut Command) -> (ExitStatus, f64, u64) {
    let start = Instant::now();
    let mut child = command.spawn().expect("the command runs");
    let mut peak = 0;
    let mut status = None;
    let _ = holds_within(Duration::from_millis(2), Duration::MAX, || {
        // The kernel keeps the peak itself, so that looking now and then misses little.
        peak = peak_resident_bytes(child.id()).unwrap_or(0).max(peak);
        status = child.try_wait().expect("the command can be waited for");
        status.is_some()
    });
    (status.expect("it ended"), start.elapsed().as_secs_f64(), peak)
}

fn peak_resident_bytes(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Builds the release program, for benchmarks, and returns its path.
///
/// # Panics
///
/// Panics if the program cannot be built.
#[must_use]
pub fn release_program() -> PathBuf {
    release("assay-cli", "assay")
}

/// Builds the release operator, for benchmarks, and returns its path.
///
/// # Panics
///
/// Panics if the program cannot be built.
#[must_use]
pub fn release_operator() -> PathBuf {
    release("assay-operator", "assay-operator")
}

fn release(package: &str, program: &str) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "-p", package]);
    // The variables that `cargo bench` sets for this package do not describe this build. A
    // dependency reads them, and it and its dependents would be rebuilt here, and again by the next
    // `cargo bench`.
    let of_this_package = ["CARGO_MANIFEST_", "CARGO_PKG_"];
    for (name, _) in env::vars_os() {
        if of_this_package.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
    let built = cargo.status().expect("cargo runs");
    assert!(built.success(), "the release build failed");
    let bench = std::env::current_exe().expect("a path");
    bench.ancestors().nth(2).expect("the release folder").join(program)
}

/// Bytes in megabytes (2 to the power of 20), for printing.
#[must_use]
pub fn to_megabytes(bytes: u64) -> f64 {
    f64::from(u32::try_from(bytes / 1024).unwrap_or(u32::MAX)) / 1024.0
}
