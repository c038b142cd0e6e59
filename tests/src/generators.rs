//! Linters of the API's description, and generators that make clients of it, each with its defaults. `tests/run` installs
//! them.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    Finished,
    tools::{folder_of, tool},
};

/// Programs of the tests, which use generated clients, in the folder `tests/clients`.
pub(crate) const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/clients");

/// The linters and generators.
#[derive(Debug)]
pub struct Generators {
    folder: PathBuf,
}

impl Generators {
    /// The linters and generators.
    ///
    /// # Panics
    ///
    /// Panics if they are not installed.
    #[must_use]
    pub fn find() -> Self {
        Self { folder: folder_of("oapi-codegen") }
    }

    /// The folder with the modules that drive a browser and audit its pages.
    ///
    /// # Panics
    ///
    /// Panics if they are not installed.
    #[must_use]
    pub fn browser_modules() -> PathBuf {
        folder_of("playwright-core").join("node_modules")
    }

    /// The folder with the modules of an issuer of identities.
    ///
    /// # Panics
    ///
    /// Panics if they are not installed.
    #[must_use]
    pub fn issuer_modules() -> PathBuf {
        folder_of("oidc-provider").join("node_modules")
    }

    /// Findings of spectral, by its rules for OpenAPI, in a description; empty if it has none.
    ///
    /// # Panics
    ///
    /// Panics if spectral cannot be run.
    #[must_use]
    pub fn spectral(&self, description: &Path) -> String {
        let folder = description.parent().expect("a folder");
        let rules = folder.join("spectral.yaml");
        fs::write(&rules, "extends: [\"spectral:oas\"]\n").expect("rules");
        let mut spectral = self.node("spectral");
        spectral.args(["lint", "--fail-severity", "hint", "--quiet", "--ruleset"]);
        findings(spectral.arg(rules).arg(description))
    }

    /// Findings of redocly, by its strict rules, in a description; empty if it has none.
    ///
    /// # Panics
    ///
    /// Panics if redocly cannot be run.
    #[must_use]
    pub fn redocly(&self, description: &Path) -> String {
        let mut redocly = self.node("redocly");
        redocly.args(["lint", "--extends=recommended-strict", "--format=codeframe"]);
        findings(redocly.arg(description).env("REDOCLY_TELEMETRY", "off"))
    }

    /// Makes a client in Python by openapi-python-client, checks it and the program that uses it by mypy, and returns
    /// the command that runs the program.
    ///
    /// # Panics
    ///
    /// Panics if the client cannot be made or has errors.
    #[must_use]
    pub fn python(&self, description: &Path, folder: &Path) -> Command {
        let client = folder.join("client");
        let environment = self.folder.join("environment/bin");
        let path = env::var("PATH").unwrap_or_default();
        let mut generator = Command::new(environment.join("openapi-python-client"));
        generator.arg("generate").arg("--path").arg(description).arg("--output-path").arg(&client);
        // It formats the client by ruff, which is beside it.
        let _ = run(generator.env("PATH", format!("{}:{path}", environment.display())));
        let program = Path::new(PROGRAMS).join("generated.py");
        let mut mypy = Command::new(environment.join("mypy"));
        mypy.arg("--strict").arg("--cache-dir").arg(folder.join("mypy")).arg(&program);
        let _ = run(mypy.arg(client.join("assay_client")).env("MYPYPATH", &client));
        let mut python = Command::new(environment.join("python"));
        python.arg("-B").arg(program).env("PYTHONPATH", client);
        python
    }

    /// Makes types by openapi-typescript, compiles the program that uses them with openapi-fetch, and returns the
    /// command that runs the program.
    ///
    /// # Panics
    ///
    /// Panics if the types cannot be made, or the program does not compile.
    #[must_use]
    pub fn typescript(&self, description: &Path, folder: &Path) -> Command {
        let modules = self.folder.join("node_modules");
        std::os::unix::fs::symlink(modules, folder.join("node_modules")).expect("modules");
        fs::write(folder.join("package.json"), "{\"type\":\"module\"}").expect("a package");
        fs::copy(Path::new(PROGRAMS).join("generated.ts"), folder.join("generated.ts"))
            .expect("the program");
        let mut generator = self.node("openapi-typescript");
        let _ = run(generator.arg(description).arg("--output").arg(folder.join("api.d.ts")));
        let mut compiler = self.node("tsc");
        compiler.args(["--strict", "--target", "es2022", "--module", "nodenext", "generated.ts"]);
        let _ = run(compiler.current_dir(folder));
        let mut node = Command::new("node");
        node.arg(folder.join("generated.js"));
        node
    }

    /// Makes a client in Go by oapi-codegen, compiles the program that uses it, and returns the command that runs the
    /// program.
    ///
    /// # Panics
    ///
    /// Panics if the client cannot be made, or the program does not compile.
    #[must_use]
    pub fn go(&self, description: &Path, program: &Path, folder: &Path) -> Command {
        let package = folder.join("api");
        fs::create_dir(&package).expect("a package");
        fs::copy(program, folder.join("main.go")).expect("the program");
        for name in ["go.mod", "go.sum"] {
            fs::copy(Path::new(PROGRAMS).join(name), folder.join(name)).expect("the module");
        }
        let mut generator = Command::new(tool("oapi-codegen"));
        generator.args(["-package", "api", "-generate", "types,client", "-o"]);
        let _ = run(generator.arg(package.join("api.go")).arg(description));
        let program = folder.join("program");
        let mut compiler = Command::new("go");
        compiler.args(["build", "-buildvcs=false", "-mod=mod", "-o"]).arg(&program).arg(".");
        let own = |name: &str| self.folder.join("go").join(name);
        compiler
            .current_dir(folder)
            .env("GOMODCACHE", own("modules"))
            .env("GOCACHE", own("objects"))
            .env("GOPROXY", "off")
            .env("GOFLAGS", "")
            .env("GOWORK", "off")
            .env("CGO_ENABLED", "0");
        let _ = run(&mut compiler);
        Command::new(program)
    }

    /// A program of the Python environment.
    pub(crate) fn python_program(&self, name: &str) -> Command {
        Command::new(self.folder.join("environment/bin").join(name))
    }

    /// Packages of Node.js.
    pub(crate) fn node_modules(&self) -> PathBuf {
        self.folder.join("node_modules")
    }

    /// A program of Node.js.
    pub(crate) fn node(&self, name: &str) -> Command {
        let mut command = Command::new(self.folder.join("bin").join(name));
        // Without it, programs ask a server for newer versions of themselves.
        command.env("CI", "true").env("NO_UPDATE_NOTIFIER", "1");
        command
    }
}

/// Runs a command to its end.
///
/// # Panics
///
/// Panics if it cannot be run or fails.
pub fn run(command: &mut Command) -> Finished {
    let finished: Finished = command.output().expect("the program runs").into();
    finished.ok()
}

/// Output of a linter that fails if it finds something.
fn findings(linter: &mut Command) -> String {
    let finished: Finished = linter.output().expect("the linter runs").into();
    if finished.code == 0 { String::new() } else { finished.stdout + &finished.stderr }
}
