//! The process of a node, with its log.

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{holds_within, process, wait_at_most};

/// Time limit for the start or stop of a node on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// The process of a node, killed when it is dropped.
#[derive(Debug)]
pub(crate) struct NodeProcess {
    program: PathBuf,
    log_file: PathBuf,
    /// `None` while the node does not run.
    child: Option<Child>,
}

impl NodeProcess {
    /// A process of a program that does not run yet. Its output is appended to a file.
    pub(crate) const fn new(program: PathBuf, log_file: PathBuf) -> Self {
        Self { program, log_file, child: None }
    }

    /// Starts the program and waits until it answers.
    pub(crate) fn launch(&mut self, arguments: &[String], mut answers: impl FnMut() -> bool) {
        let name = self.program.display().to_string();
        assert!(self.child.is_none(), "{name} runs already");
        let log = File::options().create(true).append(true).open(&self.log_file).expect("a log");
        // Some nodes create a folder at home: two that start at the same time would both create it.
        let home = self.log_file.parent().expect("a folder");
        let mut child = Command::new(&self.program)
            .args(arguments)
            .env("HOME", home)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a second handle"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut ended = None;
        let has_started = holds_within(Duration::from_millis(20), PATIENCE, || {
            ended = child.try_wait().ok().flatten();
            ended.is_some() || answers()
        });
        self.child = Some(child);
        let is_there = has_started && ended.is_none();
        assert!(is_there, "{name} did not start ({ended:?}):\n{}", self.log());
    }

    /// Asks the program to stop and waits until it has stopped.
    pub(crate) fn stop(&mut self) {
        let mut child = self.child.take().expect("it runs");
        process::signal(&child, "TERM");
        wait_at_most(PATIENCE, "the node stops", || {
            child.try_wait().expect("it can be waited for").is_some()
        });
    }

    /// Kills the program (`kill -9`), so that it cannot write anything.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().expect("it can be killed");
        child.wait().expect("it can be waited for");
    }

    /// Output of the program so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log_file).unwrap_or_default()
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may be gone already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
