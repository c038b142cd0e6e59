//! Real Helm. `tests/helm.sh` builds it.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::{Cluster, Finished, cache};

/// There once it was built.
const COMPLETE: &str = "complete";

/// Helm with nothing of this environment's settings.
#[derive(Debug)]
pub struct Helm {
    program: PathBuf,
    home: TempDir,
    kubeconfig: PathBuf,
}

impl Helm {
    /// Helm without a cluster; `None`, with a word about it, where it was not built.
    ///
    /// # Panics
    ///
    /// Where there can be no folder for it.
    #[must_use]
    pub fn find() -> Option<Self> {
        let built = || cache::newest("helm", COMPLETE)?.parent().map(Path::to_owned);
        let root = env::var_os("ASSAY_HELM").map(PathBuf::from).or_else(built);
        let Some(root) = root.filter(|root| root.join(COMPLETE).is_file()) else {
            #[expect(clippy::print_stderr, reason = "a skipped test must say so")]
            {
                eprintln!("SKIPPED: no Helm here: ./tests/run --full builds it, or set ASSAY_HELM");
            }
            return None;
        };
        let home = tempfile::tempdir().expect("a directory");
        let kubeconfig = home.path().join("no-cluster");
        Some(Self { program: root.join("bin/helm"), home, kubeconfig })
    }

    /// The same, of a cluster.
    #[must_use]
    pub fn of(self, cluster: &Cluster) -> Self {
        Self { kubeconfig: cluster.kubeconfig(), ..self }
    }

    /// Runs it.
    ///
    /// # Panics
    ///
    /// Where it cannot be run.
    #[must_use]
    pub fn run(&self, arguments: &[&str]) -> Finished {
        self.finish(Command::new(&self.program).args(arguments).env_clear())
    }

    /// Runs what a person types into a shell of a folder, with Helm and `kubectl` at hand.
    ///
    /// # Panics
    ///
    /// Where there is no shell.
    #[must_use]
    pub fn shell(&self, cluster: &Cluster, folder: &Path, text: &str) -> Finished {
        let own = self.program.parent().map(Path::to_owned);
        let usual = ["/usr/bin", "/bin"].map(PathBuf::from);
        let places = own.into_iter().chain([cluster.programs().to_owned()]).chain(usual);
        let path = env::join_paths(places).expect("plain paths");
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
