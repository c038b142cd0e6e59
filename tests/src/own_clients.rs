//! The project's own clients of the API, in the folder `clients`: checked, tested by their own tests, and packed as they
//! would be published.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    generators::{Generators, PROGRAMS},
    run,
};

/// The clients.
const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../clients");

/// The clients, with the tools that check and run them.
#[derive(Debug)]
pub struct OwnClients {
    tools: Generators,
}

impl OwnClients {
    /// The clients.
    ///
    /// # Panics
    ///
    /// Panics if the tools are not installed.
    #[must_use]
    pub fn find() -> Self {
        Self { tools: Generators::find() }
    }

    /// Checks the client in Python by mypy, runs its tests, and installs its package into a folder. Returns the
    /// command that runs a program with this package.
    ///
    /// # Panics
    ///
    /// Panics if the client has errors.
    #[must_use]
    pub fn python(&self, program: &Path, folder: &Path) -> Command {
        let client = folder.join("python");
        copy(&Path::new(CLIENTS).join("python"), &client);
        let python = |arguments: &[&str]| {
            let mut command = self.tools.python_program("python");
            command.arg("-B").args(arguments).current_dir(&client).env("PYTHONPATH", "src");
            command
        };
        let _ = run(python(&["-m", "mypy", "--strict", "src", "tests"])
            .arg(program)
            .env("MYPYPATH", "src"));
        let _ = run(&mut python(&["-m", "unittest", "discover", "--quiet", "-s", "tests"]));
        let offline = ["--no-build-isolation", "--no-deps", "--no-index", "--quiet"];
        let mut install = python(&["-m", "pip", "install", "--target", "../installed", "."]);
        let _ = run(install.args(offline));
        let installed = folder.join("installed");
        assert!(installed.join("assay_risk/py.typed").is_file(), "the package has no types");
        let mut command = self.tools.python_program("python");
        command.arg("-B").arg(program).env("PYTHONPATH", installed);
        command
    }

    /// Compiles the client in TypeScript, runs its tests, and installs what its package holds into a folder. Returns
    /// the command that runs a program, which is compiled with this package.
    ///
    /// # Panics
    ///
    /// Panics if the client has errors.
    #[must_use]
    pub fn typescript(&self, program: &Path, folder: &Path) -> Command {
        let client = folder.join("typescript");
        copy(&Path::new(CLIENTS).join("typescript"), &client);
        symlink(self.tools.node_modules(), client.join("node_modules")).expect("modules");
        let _ = run(self.tools.node("tsc").current_dir(&client));
        let _ = run(Command::new("node").args(["--test", "test/"]).current_dir(&client));
        let mut pack = Command::new("npm");
        pack.args(["pack", "--ignore-scripts", "--silent", "--offline"]).current_dir(&client);
        let packed = run(&mut pack).stdout;
        let modules = folder.join("node_modules");
        let installed = modules.join("assay-risk");
        fs::create_dir_all(&installed).expect("a folder");
        let mut unpack = Command::new("tar");
        unpack.arg("-xzf").arg(client.join(packed.trim())).args(["--strip-components=1", "-C"]);
        let _ = run(unpack.arg(installed));
        symlink(self.tools.node_modules().join("@types"), modules.join("@types")).expect("types");
        fs::write(folder.join("package.json"), "{\"type\":\"module\"}").expect("a package");
        fs::copy(program, folder.join("program.ts")).expect("the program");
        let mut compiler = self.tools.node("tsc");
        compiler.args(["--strict", "--target", "es2022", "--module", "nodenext", "program.ts"]);
        let _ = run(compiler.current_dir(folder));
        let mut node = Command::new("node");
        node.arg(folder.join("program.js"));
        node
    }

    /// A program of the tests.
    #[must_use]
    pub fn program(name: &str) -> PathBuf {
        Path::new(PROGRAMS).join(name)
    }
}

/// Copies a folder, because builds write into it.
fn copy(from: &Path, to: &Path) {
    let _ = run(Command::new("cp").arg("-r").arg(from).arg(to));
}
