//! Builds images from programs of this machine, without a registry: Assay's programs, and Debian's PostgreSQL and Redis
//! under the chart's names.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::process;

/// Image of the container that holds a pod's namespaces.
pub(super) const PAUSE: &str = "localhost/pause:1";

/// Source of the pause program, which waits for SIGTERM and reaps orphaned processes.
const PAUSE_SOURCE: &str = "\
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void stop(int signal) { (void)signal; _exit(0); }
static void bury(int signal) { (void)signal; while (waitpid(-1, 0, WNOHANG) > 0) {} }
int main(void) {
  signal(SIGTERM, stop);
  signal(SIGCHLD, bury);
  for (;;) pause();
}
";

/// Contents of an image.
#[derive(Debug)]
pub(super) struct Image {
    name: String,
    /// Programs of this machine, with their paths in the image. The first program is the entry point.
    programs: Vec<(PathBuf, String)>,
    /// Folders that are copied unchanged.
    trees: Vec<PathBuf>,
    user: u32,
}

impl Image {
    /// An image of programs.
    pub(super) fn new(name: &str, programs: &[(impl AsRef<Path>, &str)]) -> Self {
        let programs = programs.iter();
        let programs = programs.map(|(from, to)| (from.as_ref().to_owned(), (*to).to_owned()));
        Self { name: name.into(), programs: programs.collect(), trees: vec![], user: 65532 }
    }

    /// Builds the image, and returns the path of its archive.
    pub(super) fn build(&self, directory: &Path) -> PathBuf {
        let file = self.name.replace(['/', ':'], "-");
        let archive = directory.join(format!("{file}.tar"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../release/image.py");
        let mut command = Command::new(script);
        command.args(["--name", &self.name, "--user", &self.user.to_string()]);
        for (from, to) in &self.programs {
            command.arg(format!("--program={}={to}", from.display()));
        }
        for tree in &self.trees {
            command.arg("--tree").arg(tree);
        }
        let made = command.arg(&archive).output().expect("the script runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        archive
    }
}

/// Builds all images of the chart, and returns the paths of their archives.
pub(super) fn build_images(directory: &Path) -> Vec<PathBuf> {
    let version = env!("CARGO_PKG_VERSION");
    let own = ["assay", "assay-operator"].map(|name| {
        let program = (process::built_program(name), &*format!("/usr/bin/{name}"));
        Image::new(&format!("docker.io/assay/{name}:{version}"), &[program])
    });
    let pause = Image::new(PAUSE, &[(pause(directory), "/pause")]);
    let all = own.into_iter().chain([pause, postgresql(), redis()]);
    all.map(|image| image.build(directory)).collect()
}

fn pause(directory: &Path) -> PathBuf {
    let (source, program) = (directory.join("pause.c"), directory.join("pause"));
    fs::write(&source, PAUSE_SOURCE).expect("a file");
    let mut compiler = Command::new("cc");
    compiler.args(["-static", "-Os", "-s", "-o"]).arg(&program).arg(&source);
    assert!(compiler.status().expect("cc runs").success());
    program
}

fn redis() -> Image {
    let program = ("/usr/bin/redis-server", "/usr/bin/redis-server");
    Image { user: 999, ..Image::new("docker.io/library/redis:8", &[program]) }
}

/// The image of the newest installed PostgreSQL, built as docs/releasing.md describes.
fn postgresql() -> Image {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL");
    let library = versions.map(|version| version.expect("a version").path()).max();
    let library = library.expect("a version");
    let version = library.file_name().expect("a version");
    let own = ["postgres", "initdb", "pg_isready"].map(|name| library.join("bin").join(name));
    let usual = ["sh", "cat", "mv", "rm"].map(|name| Path::new("/bin").join(name));
    let programs = own.into_iter().chain(usual);
    Image {
        name: "docker.io/library/postgres:17".into(),
        programs: programs.map(|path| (path.clone(), path.display().to_string())).collect(),
        trees: vec![
            Path::new("/usr/share/postgresql").join(version),
            library.join("lib"),
            "/usr/share/zoneinfo".into(),
        ],
        user: 999,
    }
}
