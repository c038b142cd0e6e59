//! Runs the real Helm, which `tests/run` builds.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::{Cluster, Finished, tools::tool};

/// Helm without settings of this environment.
#[derive(Debug)]
pub struct Helm {
    program: PathBuf,
    home: TempDir,
    kubeconfig: PathBuf,
}

impl Helm {
    /// Helm without a cluster.
    ///
    /// # Panics
    ///
    /// Panics if Helm is not built, or its temporary folder cannot be created.
    #[must_use]
    pub fn find() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let kubeconfig = home.path().join("no-cluster");
        Self { program: tool("helm"), home, kubeconfig }
    }

    /// Connects Helm to a cluster.
    #[must_use]
    pub fn with_cluster(self, cluster: &Cluster) -> Self {
        Self { kubeconfig: cluster.kubeconfig(), ..self }
    }

    /// Runs Helm.
    ///
    /// # Panics
    ///
    /// Panics if Helm cannot be run.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> Finished {
        self.finish(Command::new(&self.program).args(arguments).env_clear())
    }

    /// Runs a shell command in a folder, with Helm and `kubectl` in the path.
    ///
    /// # Panics
    ///
    /// Panics if there is no shell.
    #[must_use]
    pub fn shell(&self, folder: &Path, text: &str) -> Finished {
        let kubectl = tool("kubectl");
        let own = [&self.program, &kubectl].map(|program| program.parent());
        let usual = ["/usr/bin", "/bin"].map(Path::new);
        let path = env::join_paths(own.into_iter().flatten().chain(usual)).expect("plain paths");
        let mut command = Command::new("sh");
        command.args(["-c", text]).current_dir(folder).env_clear().env("PATH", path);
        self.finish(&mut command)
    }

    fn finish(&self, command: &mut Command) -> Finished {
        let home = |name: &str| self.home.path().join(name);
        command
            .env("HOME", self.home.path())
            .env("HELM_CACHE_HOME", home("cache"))
            .env("HELM_CONFIG_HOME", home("config"))
            .env("HELM_DATA_HOME", home("data"))
            .env("KUBECONFIG", &self.kubeconfig)
            .output()
            .expect("helm runs")
            .into()
    }
}
