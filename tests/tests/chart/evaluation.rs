//! The database and the cache of an evaluation, started with the commands of their containers.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use assay_tests::{Helm, assay, free_port, tenant, wait_at_most};

use crate::{
    file,
    rendered::{generated_texts, objects},
};

const PATIENCE: Duration = Duration::from_mins(1);

/// A program that is killed at the end of the test.
struct RunningProgram(Child);

impl RunningProgram {
    /// Stops the program and its child processes, as a container runtime does.
    fn stop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let kill = format!("kill -INT -{}", self.0.id());
            let _ = Command::new("sh").args(["-c", &kill]).status();
            let _ = self.0.wait();
        }
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Directory of Debian's newest PostgreSQL programs.
fn postgresql() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").unwrap();
    versions.map(|version| version.unwrap().path().join("bin")).max().unwrap()
}

/// Starts a database in a folder, on a port.
fn start(folder: &Path, port: u16) -> RunningProgram {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let mut command = Command::new(if is_root { "setpriv" } else { "sh" });
    if is_root {
        // PostgreSQL refuses to run as root.
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "sh"]);
    }
    let path = format!("{}:{}", postgresql().display(), std::env::var("PATH").unwrap());
    let child = command
        .arg(file("charts/assay/files/postgresql.sh").canonicalize().unwrap())
        .args(["-c", &format!("port={port}"), "-c", "fsync=off"])
        .env("PATH", path)
        .env("DATA", folder.join("data"))
        .env("PASSWORD", folder.join("password"))
        .current_dir("/")
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.join("log")).unwrap())
        .spawn()
        .unwrap();
    RunningProgram(child)
}

/// Result of a query by a login.
fn query(url: &str, statement: &str) -> Result<String, String> {
    let output =
        Command::new(postgresql().join("psql")).args([url, "-Atc", statement]).output().unwrap();
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    } else {
        Err(String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn the_database_is_assays_alone_and_its_password_is_the_secrets() {
    let folder = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
    let owner = Command::new("id").args(["-u", "postgres"]).output().unwrap().stdout;
    let owner: Option<u32> = String::from_utf8(owner).unwrap().trim().parse().ok();
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        chown(folder.path(), owner, None).unwrap();
    }
    let port = free_port();
    let login =
        |user: &str, password: &str| format!("postgres://{user}:{password}@127.0.0.1:{port}/assay");
    let ready = |url: &str| {
        wait_at_most(PATIENCE, "the database", || query(url, "SELECT 1").is_ok());
    };
    let directory = tempfile::tempdir().unwrap();
    let run = |password: &str, arguments: &[&str]| {
        let url = login("assay", password);
        assay(directory.path(), [arguments, &["--database-url", &url]].concat()).ok().stdout
    };

    fs::write(folder.path().join("password"), "before0123456789").unwrap();
    let mut running = start(folder.path(), port);
    // Its pod and the migration's start at the same time.
    let said = run("before0123456789", &["migrate", "--wait=1m"]);
    assert!(said.contains("the roles exist and have their grants"), "{said}");
    let rights = "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user";
    assert_eq!(query(&login("assay", "before0123456789"), rights).unwrap(), "f|f");
    assert!(
        query(&login("postgres", "x"), "SELECT 1").unwrap_err().contains("no pg_hba.conf entry")
    );
    fs::write(directory.path().join("acme.yaml"), tenant("acme", "business")).unwrap();
    run("before0123456789", &["apply", "-f", "acme.yaml"]);
    running.stop();

    fs::write(folder.path().join("password"), "after0123456789").unwrap();
    let _running = start(folder.path(), port);
    ready(&login("assay", "after0123456789"));
    assert!(query(&login("assay", "before0123456789"), "SELECT 1").is_err());
    assert!(run("after0123456789", &["keys", "create", "--tenant", "acme"]).starts_with("assay_"));
}

#[test]
#[ignore = "needs Helm"]
fn the_cache_takes_the_password_and_never_evicts() {
    let helm = Helm::find();
    let rendered = objects(&helm, &[]);
    let password = "ab".repeat(32);
    let secret = generated_texts(&rendered, "assay-evaluation", &password);
    assert_eq!(secret["password"], password);
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("redis.conf");
    fs::write(&settings, &secret["redis.conf"]).unwrap();
    let port = free_port();
    let child = Command::new("redis-server")
        .arg(&settings)
        .args(["--port", &port.to_string()])
        .process_group(0)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let _running = RunningProgram(child);
    let url = secret["redis-url"].replace("assay-redis:6379", &format!("127.0.0.1:{port}"));
    assert!(url.contains(&format!(":{password}@")), "{url}");
    let ask = |url: &str, words: &[&str]| {
        let asked = Command::new("redis-cli").args(["-u", url]).args(words).output().unwrap();
        String::from_utf8(asked.stdout).unwrap()
    };
    wait_at_most(PATIENCE, "the cache", || ask(&url, &["ping"]).contains("PONG"));
    assert!(ask(&url, &["config", "get", "maxmemory-policy"]).contains("noeviction"));
    let stranger = format!("redis://127.0.0.1:{port}");
    assert!(ask(&stranger, &["ping"]).contains("NOAUTH"));
}
