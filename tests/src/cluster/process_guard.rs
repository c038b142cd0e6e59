//! Processes that are killed when the test program ends, even if it crashes.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

/// Shell script: reads the ids of processes. When its input ends, it kills these processes, and removes a folder, and
/// the control groups of the folder's name once these groups are empty.
const SCRIPT: &str = "\
while read -r process; do processes=\"$processes $process\"; done
[ -z \"$processes\" ] || kill -9 $processes 2>/dev/null
sleep 0.2
for try in $(seq 100); do
  groups=$(find /sys/fs/cgroup/*/\"${1##*/}\" -depth -type d 2>/dev/null)
  [ -n \"$groups\" ] || break
  rmdir $groups 2>/dev/null || sleep 0.1
done
rm -rf \"$1\"";

/// Owner of processes, which kills them and removes their folder when dropped.
#[derive(Debug)]
pub(super) struct ProcessGuard {
    shell: Child,
    children: BTreeMap<String, Child>,
}

impl ProcessGuard {
    /// A guard that removes `directory` at the end.
    pub(super) fn new(directory: &Path) -> Self {
        let shell = Command::new("sh")
            .args(["-c", SCRIPT, "process_guard"])
            .arg(directory)
            // A signal to this process's group must leave the script to clean up.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh runs");
        Self { shell, children: BTreeMap::new() }
    }

    /// Starts a program.
    pub(super) fn start_process(&mut self, name: &str, mut command: Command) {
        let child = command.process_group(0).spawn().expect("the program runs");
        let input = self.shell.stdin.as_mut().expect("the guard's input");
        writeln!(input, "{}", child.id()).expect("the guard listens");
        self.children.insert(name.to_owned(), child);
    }

    /// The process id of a program.
    pub(super) fn id(&self, name: &str) -> u32 {
        self.children.get(name).expect("it was started").id()
    }

    /// Kills a program.
    pub(super) fn kill(&mut self, name: &str) {
        let mut child = self.children.remove(name).expect("it was started");
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }

    /// Panics, with the end of the program's log, if a program exited.
    pub(super) fn check(&mut self, name: &str, directory: &Path) {
        let child = self.children.get_mut(name).expect("it was started");
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            let log = fs::read_to_string(directory.join(format!("{name}.log"))).unwrap_or_default();
            let from = log.len().saturating_sub(2000);
            panic!("{name} ended ({status}): {}", log.get(from..).unwrap_or(&log));
        }
    }

    /// Panics, with the end of its log, if any program exited.
    pub(super) fn check_all(&mut self, directory: &Path) {
        let names: Vec<String> = self.children.keys().cloned().collect();
        for name in names {
            self.check(&name, directory);
        }
    }
}

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        for child in self.children.values_mut() {
            // It may be gone already.
            let _ = child.kill();
            let _ = child.wait();
        }
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}
