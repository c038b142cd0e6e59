//! Processes that are killed when the test program ends, even if it crashes.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

/// Shell script: reads the ids of processes that begin (`+`) and end (`-`). When its input ends, it kills those that did not
/// end, and removes a folder, and the control groups of the folder's name once these groups are empty. The id of a process
/// that ended may be another one's soon, which must live.
const SCRIPT: &str = "\
while read -r change process; do
  kept=
  for one in $processes; do [ \"$one\" = \"$process\" ] || kept=\"$kept $one\"; done
  processes=$kept
  [ \"$change\" = - ] || processes=\"$processes $process\"
done
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
        writeln!(input, "+ {}", child.id()).expect("the guard listens");
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
        self.forget(&child);
        child.wait().expect("it ends");
    }

    /// Tells the script that a program was killed. Its id is its own until it is waited for.
    fn forget(&mut self, child: &Child) {
        if let Some(input) = &mut self.shell.stdin {
            // The script may be gone.
            let _ = writeln!(input, "- {}", child.id());
        }
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
        for (_, mut child) in std::mem::take(&mut self.children) {
            // It may be gone already.
            let _ = child.kill();
            self.forget(&child);
            let _ = child.wait();
        }
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, thread, time::Duration};

    use super::*;

    /// A program that runs for a minute.
    fn sleeper() -> Command {
        let mut command = Command::new("sleep");
        command.arg("60");
        command
    }

    fn is_alive(process: u32) -> bool {
        let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    }

    #[test]
    fn a_process_with_the_id_of_one_that_ended_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let folder: PathBuf = directory.path().join("guarded");
        // Given a process that the guard is told of, and told to have ended,
        let mut other = sleeper().spawn().unwrap();
        let mut guard = ProcessGuard::new(&folder);
        guard.start_process("own", sleeper());
        guard.start_process("killed", sleeper());
        let own = guard.id("own");
        guard.kill("killed");
        writeln!(guard.shell.stdin.as_mut().unwrap(), "+ {}", other.id()).unwrap();
        guard.forget(&other);
        // when the guard's input ends as after a crash, then it kills its own process and not the other one.
        drop(guard.shell.stdin.take());
        guard.shell.wait().unwrap();
        for _ in 0..100 {
            if !is_alive(own) {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        assert!(!is_alive(own));
        assert!(is_alive(other.id()));
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
