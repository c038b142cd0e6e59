//! The first ten minutes of a newcomer: from the archive of a release to a verdict in four languages.

use std::{
    fs,
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use assay_tests::{Caller, Generators, OwnClients, binary, free_port, run, wait_at_most};

use super::{folder, snippets};

/// Time limit for the server's start on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);

/// The program as a newcomer gets it, unpacked from the archive of a release.
fn unpacked(folder: &Path) -> PathBuf {
    let program = folder.join("assay");
    let _ = run(Command::new("strip").arg("-o").arg(&program).arg(binary()));
    let version = env!("CARGO_PKG_VERSION");
    let target = "x86_64-unknown-linux-gnu";
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../release/package.py");
    let mut pack = Command::new(script);
    pack.arg("--program").arg(&program).args(["--version", version, "--target", target]);
    let _ = run(pack.arg(folder));
    let archive = folder.join(format!("assay-{version}-{target}.tar.gz"));
    let _ = run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(folder));
    folder.join(format!("assay-{version}-{target}/bin/assay"))
}

/// A program that runs until it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs API clients"]
#[expect(clippy::print_stdout, reason = "figures are for people")]
fn a_newcomer_gets_from_the_archive_to_a_verdict_in_four_languages() {
    let begun = Instant::now();
    let step = |name: &str| println!("{:>6.1} s  {name}", begun.elapsed().as_secs_f64());
    // Given the archive of a release, and the demo data set that its program serves...
    let release = folder();
    let program = unpacked(release.path());
    step("the archive is unpacked");
    let api = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let mut serve = Command::new(&program);
    serve.args(["serve", "--sample", "--admin-listen", "127.0.0.1:0", "--listen"]);
    let serve = serve.arg(api.to_string()).current_dir(release.path());
    let served = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let _running = Running(served);
    wait_at_most(PATIENCE, "the server listens", || TcpStream::connect(api).is_ok());
    step("the demo data set is served");
    // ...when the newcomer makes a key of the sandbox...
    let mut create = Command::new(&program);
    create.args(["keys", "create", "--sample", "--sandbox", "--tenant", "sample-business"]);
    let key = run(create.current_dir(release.path())).stdout;
    let key = key.trim();
    assert!(key.starts_with("assay_sandbox_"), "{key}");
    wait_at_most(PATIENCE, "the server knows the key", || {
        Caller::new(api, key).get("/api/v1/sources").status != 401
    });
    step("a key of the sandbox is made");
    // ...then each program of the docs prints a verdict with it.
    let told = |mut program: Command| {
        let told =
            run(program.env("ASSAY_URL", format!("http://{api}")).env("ASSAY_KEY", key)).stdout;
        assert!(told.starts_with("block 100"), "{told}");
    };
    let written =
        |language: &str, folder: &Path| snippets::write(snippets::FIRST, language, folder);
    let mut bash = Command::new("bash");
    bash.arg(written("curl", release.path())).current_dir(release.path());
    told(bash);
    step("the first verdict by curl");
    let clients = OwnClients::find();
    let at = folder();
    told(clients.python(&written("python", release.path()), at.path()));
    step("the first verdict in Python, the client's own checks included");
    let at = folder();
    told(clients.typescript(&written("typescript", release.path()), at.path()));
    step("the first verdict in TypeScript, the client's own checks included");
    let at = folder();
    let description = at.path().join("openapi.json");
    fs::write(&description, Caller::new(api, key).get("/openapi.json").text).unwrap();
    let module = at.path().join("module");
    fs::create_dir(&module).unwrap();
    told(Generators::find().go(&description, &written("go", release.path()), &module));
    step("the first verdict in Go, with the generated client");
}
